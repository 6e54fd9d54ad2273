//===- executable.cpp - a compiled program and how it is called -----------===//
#include "executable.h"
#include "leaves.h"
#include "module.h"
#include "pool.h"
#include "run_context.h"

#include <nanobind/nanobind.h>

#include <cstdio>
#include <cstring>

namespace nb = nanobind;

namespace lingon {
namespace {

/// An array on the stack for the usual small counts.
template <class T, size_t N> class SmallArray {
public:
  explicit SmallArray(size_t count)
      : items(count <= N ? local : new T[count]()) {}
  ~SmallArray() {
    if (items != local)
      delete[] items;
  }
  SmallArray(const SmallArray &) = delete;
  SmallArray &operator=(const SmallArray &) = delete;
  T &operator[](size_t i) { return items[i]; }
  T *data() { return items; }

private:
  T local[N] = {};
  T *items;
};

bool sameLayout(const Aval *a, const Aval *b) {
  return a == b || (a->dtype == b->dtype && a->ndim == b->ndim &&
                    memcmp(a->dims, b->dims, a->ndim * sizeof(int64_t)) == 0);
}

bool checkArguments(const Executable &executable, PyObject *const *args,
                    size_t numArgs) {
  if (numArgs != executable.numInputs()) {
    PyErr_Format(PyExc_TypeError, "the program takes %zu arguments, got %zu",
                 executable.numInputs(), numArgs);
    return false;
  }
  for (size_t i = 0; i < numArgs; ++i) {
    if (!isArray(args[i])) {
      PyErr_Format(PyExc_TypeError,
                   "argument %zu of the program must be an ArrayImpl, got %s",
                   i, Py_TYPE(args[i])->tp_name);
      return false;
    }
    const Aval *given = asArray(args[i])->aval;
    const Aval *wanted = executable.inAvals[i];
    if (!sameLayout(given, wanted)) {
      PyErr_Format(PyExc_TypeError,
                   "argument %zu of the program must be %s, got %s", i,
                   describe(wanted).c_str(), describe(given).c_str());
      return false;
    }
    if (!checkAlive(asArray(args[i])))
      return false;
  }
  return true;
}

/// Whether input `index` may be overwritten: only the caller's array sees it.
bool canOverwrite(PyObject *const *args, size_t numArgs, size_t index) {
  ArrayObject *array = asArray(args[index]);
  for (size_t i = 0; i < numArgs; ++i)
    if (i != index && asArray(args[i])->buffer == array->buffer)
      return false;
  return isExclusive(array);
}

/// The class lingon.errors.JaxRuntimeError.
PyObject *programFailed = nullptr;

/// An array may be passed once if it is donated.
bool checkDonatedOnce(const Executable &executable, PyObject *const *args,
                      size_t numArgs) {
  auto isDonated = [&](size_t index) {
    for (uint32_t input : executable.donated)
      if (input == index)
        return true;
    return false;
  };
  for (uint32_t input : executable.donated)
    for (size_t i = 0; i < numArgs; ++i) {
      if (i == input || args[i] != args[input])
        continue;
      size_t first = i < input ? i : input, second = i < input ? input : i;
      const char *what, *toy;
      if (isDonated(i)) {
        what = "Attempt to donate the same buffer twice in Execute()";
        toy = "f(donate(a), donate(a))";
      } else if (first == input) {
        what = "Attempt to use a buffer that was previously donated in the "
               "same call to Execute()";
        toy = "f(donate(a), a)";
      } else {
        what = "Attempt to donate a buffer which is also used by the same "
               "call to Execute()";
        toy = "f(a, donate(a))";
      }
      PyErr_Format(programFailed,
                   "%s (flattened argument %zu, first use: %zu). Toy example "
                   "for this bug: `%s`.",
                   what, second, first, toy);
      return false;
    }
  return true;
}

/// The contents of a donated input that could not be given away, on their way
/// to where the code looks for them.
struct Transfer {
  void *to;
  const void *from;
  size_t bytes;
};

struct Call {
  EntryFunction entry;
  void **pointers;
  const Transfer *transfers;
  size_t numTransfers;
};

} // namespace

Executable::~Executable() {
  for (Aval *aval : inAvals)
    aval->release();
  for (Aval *aval : outAvals)
    aval->release();
  for (Buffer *buffer : constBuffers)
    buffer->release();
  for (PyObject *constant : consts)
    Py_DECREF(constant);
  for (PyObject *callback : callbacks)
    Py_DECREF(callback);
  Py_XDECREF(keepalive);
}

bool Executable::run(PyObject *const *args, size_t numArgs, PyObject **outs,
                     int32_t deviceId) {
  if (!checkArguments(*this, args, numArgs) ||
      (!donated.empty() && !checkDonatedOnce(*this, args, numArgs)))
    return false;
  if (deviceId < 0)
    deviceId = numArgs ? asArray(args[0])->deviceId : defaultDeviceId();
  size_t numConsts = constPointers.size(), numOuts = outAvals.size();
  SmallArray<void *, 48> pointers(numConsts + numArgs + numOuts + 1);
  SmallArray<Buffer *, 16> outBuffers(numOuts);
  SmallArray<Buffer *, 32> inBuffers(numArgs);
  for (size_t i = 0; i < numConsts; ++i)
    pointers[i] = constPointers[i];

  void **in = pointers.data() + numConsts, **out = in + numArgs;
  // A donated buffer leaves its array before the GIL is released, so that no
  // other thread can see it change.
  for (auto [input, output] : aliases) {
    if (outBuffers[output] || !canOverwrite(args, numArgs, input))
      continue;
    ArrayObject *array = asArray(args[input]);
    array->buffer->retain();
    outBuffers[output] = inBuffers[input] = array->buffer;
    in[input] = out[output] = array->data;
    deleteArray(array);
  }
  bool ok = true;
  int64_t wanted = 0;
  SmallArray<Transfer, 8> transfers(aliases.size() + overwritten.size());
  size_t numTransfers = 0;
  for (uint32_t input : overwritten) {
    ArrayObject *array = asArray(args[input]);
    if (canOverwrite(args, numArgs, input)) {
      array->buffer->retain();
      inBuffers[input] = array->buffer;
      in[input] = array->data;
      deleteArray(array);
      continue;
    }
    wanted = inAvals[input]->nbytes;
    inBuffers[input] = Buffer::allocate(size_t(wanted));
    ok = inBuffers[input] != nullptr;
    if (!ok)
      break;
    in[input] = inBuffers[input]->data;
    transfers[numTransfers++] = {in[input], array->data, size_t(wanted)};
  }
  for (size_t i = 0; i < numOuts && ok; ++i) {
    if (outBuffers[i])
      continue;
    wanted = outAvals[i]->nbytes;
    outBuffers[i] = Buffer::allocate(size_t(wanted));
    ok = outBuffers[i] != nullptr;
    out[i] = ok ? outBuffers[i]->data : nullptr;
  }
  void *scratch = nullptr;
  if (ok && scratchBytes) {
    wanted = int64_t(scratchBytes);
    scratch = out[numOuts] = poolAlloc(scratchBytes);
    ok = scratch != nullptr;
  }
  if (!ok) {
    for (size_t i = 0; i < numOuts; ++i)
      if (outBuffers[i])
        outBuffers[i]->release();
    for (uint32_t input : overwritten)
      if (inBuffers[input])
        inBuffers[input]->release();
    PyErr_Format(PyExc_MemoryError, "out of memory allocating %lld bytes",
                 (long long)wanted);
    return false;
  }
  // Other threads may delete the inputs while the program runs.
  for (size_t i = 0; i < numArgs; ++i) {
    if (inBuffers[i])
      continue; // donated
    ArrayObject *array = asArray(args[i]);
    inBuffers[i] = array->buffer;
    inBuffers[i]->retain();
    in[i] = array->data;
  }

  for (auto [input, output] : aliases)
    if (in[input] != out[output])
      transfers[numTransfers++] = {out[output], in[input],
                                   size_t(outAvals[output]->nbytes)};

  RunResult result;
  Call call{entry, pointers.data(), transfers.data(), numTransfers};
  Py_BEGIN_ALLOW_THREADS;
  runProgram(
      [](void *argument) {
        auto *call = static_cast<Call *>(argument);
        for (size_t i = 0; i < call->numTransfers; ++i)
          memcpy(call->transfers[i].to, call->transfers[i].from,
                 call->transfers[i].bytes);
        call->entry(call->pointers);
      },
      &call, result, RunEnvironment{&callbacks, deviceId});
  Py_END_ALLOW_THREADS;

  poolFree(scratch);
  for (size_t i = 0; i < numArgs; ++i) {
    bool aliased = false;
    for (size_t j = 0; j < numOuts && !aliased && !aliases.empty(); ++j)
      aliased = outBuffers[j] == inBuffers[i];
    if (!aliased)
      inBuffers[i]->release();
  }
  for (uint32_t input : donated)
    deleteArray(asArray(args[input]));
  if (result.error != RunError::None) {
    for (size_t i = 0; i < numOuts; ++i)
      outBuffers[i]->release();
    if (result.error == RunError::Callback) {
      PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(result.exception)),
                      result.exception);
      Py_DECREF(result.exception);
    } else {
      PyErr_SetString(result.error == RunError::OutOfMemory
                          ? PyExc_MemoryError
                          : PyExc_RuntimeError,
                      result.message);
    }
    return false;
  }
  for (size_t i = 0; i < numOuts; ++i) {
    outAvals[i]->retain();
    outs[i] = wrapBuffer(outAvals[i], outBuffers[i], deviceId);
    if (!outs[i]) {
      for (size_t j = 0; j < i; ++j)
        Py_CLEAR(outs[j]);
      for (size_t j = i + 1; j < numOuts; ++j)
        outBuffers[j]->release();
      return false;
    }
  }
  return true;
}

void appendAvals(nb::handle sequence, std::vector<Aval *> &avals) {
  for (nb::handle item : sequence) {
    Aval *aval = internAvalOf(item.ptr());
    if (!aval)
      throw nb::python_error();
    avals.push_back(aval);
  }
}

namespace {

[[noreturn]] void raise(PyObject *type, const char *text) {
  PyErr_SetString(type, text);
  throw nb::python_error();
}

void construct(Executable *memory, uintptr_t entry, nb::handle inAvals,
               nb::handle outAvals, nb::handle consts, nb::object keepalive,
               int64_t scratchBytes, nb::handle donated, nb::handle aliases,
               nb::handle overwritten, nb::handle callbacks) {
  auto *self = new (memory) Executable();
  try {
    if (!entry)
      raise(PyExc_ValueError, "Executable: the entry address is null");
    if (scratchBytes < 0)
      raise(PyExc_ValueError, "Executable: scratch_bytes must not be negative");
    self->entry = reinterpret_cast<EntryFunction>(entry);
    self->scratchBytes = size_t(scratchBytes);
    appendAvals(inAvals, self->inAvals);
    appendAvals(outAvals, self->outAvals);
    for (nb::handle item : consts) {
      if (!isArray(item.ptr()))
        raise(PyExc_TypeError, "Executable: constants must be ArrayImpl");
      ArrayObject *array = asArray(item.ptr());
      if (!checkAlive(array))
        throw nb::python_error();
      // The buffer is kept as well: the program survives a delete().
      array->buffer->retain();
      self->constBuffers.push_back(array->buffer);
      self->constPointers.push_back(array->data);
      Py_INCREF(item.ptr());
      self->consts.push_back(item.ptr());
    }
    for (nb::handle item : donated) {
      size_t index = nb::cast<size_t>(item);
      if (index >= self->inAvals.size())
        raise(PyExc_IndexError, "Executable: no such donated input");
      self->donated.push_back(uint32_t(index));
    }
    for (nb::handle item : aliases) {
      size_t input = nb::cast<size_t>(item[0]);
      size_t output = nb::cast<size_t>(item[1]);
      bool isDonated = false;
      for (uint32_t index : self->donated)
        isDonated |= index == input;
      if (!isDonated || output >= self->outAvals.size())
        raise(PyExc_IndexError, "Executable: an alias must be a pair of a "
                                "donated input and an output");
      if (self->inAvals[input]->nbytes != self->outAvals[output]->nbytes)
        raise(PyExc_ValueError,
              "Executable: the two sides of an alias must have equal sizes");
      self->aliases.emplace_back(uint32_t(input), uint32_t(output));
    }
    for (nb::handle item : overwritten) {
      size_t index = nb::cast<size_t>(item);
      bool isDonated = false;
      for (uint32_t input : self->donated)
        isDonated |= input == index;
      for (auto [input, output] : self->aliases)
        isDonated &= input != index;
      if (!isDonated)
        raise(PyExc_IndexError, "Executable: an overwritten input must be "
                                "donated, and in no alias");
      self->overwritten.push_back(uint32_t(index));
    }
    for (nb::handle item : callbacks) {
      if (!PyCallable_Check(item.ptr()))
        raise(PyExc_TypeError, "Executable: callbacks must be callable");
      Py_INCREF(item.ptr());
      self->callbacks.push_back(item.ptr());
    }
    self->keepalive = keepalive.release().ptr();
  } catch (...) {
    self->~Executable();
    throw;
  }
}

nb::object execute(Executable &self, nb::handle args, int deviceId) {
  PyObject *fast =
      PySequence_Fast(args.ptr(), "execute: args must be a sequence of arrays");
  if (!fast)
    throw nb::python_error();
  // A tuple of its own: another thread might change the caller's list.
  nb::object held = nb::steal(fast);
  if (!PyTuple_CheckExact(fast)) {
    held = nb::steal(PyList_AsTuple(fast));
    if (!held.is_valid())
      throw nb::python_error();
  }
  size_t numArgs = size_t(PyTuple_GET_SIZE(held.ptr()));
  nb::object list = nb::steal(PyList_New(Py_ssize_t(self.numOutputs())));
  if (!list.is_valid())
    throw nb::python_error();
  auto *tuple = reinterpret_cast<PyTupleObject *>(held.ptr());
  auto *result = reinterpret_cast<PyListObject *>(list.ptr());
  if (!self.run(tuple->ob_item, numArgs, result->ob_item, deviceId))
    throw nb::python_error();
  return list;
}

/// A program may be part of a cycle: its Python functions may refer to the
/// jitted function that holds it.
int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  if (!nb::inst_ready(object))
    return 0;
  Executable *self = nb::inst_ptr<Executable>(object);
  for (PyObject *constant : self->consts)
    Py_VISIT(constant);
  for (PyObject *callback : self->callbacks)
    Py_VISIT(callback);
  Py_VISIT(self->keepalive);
  return 0;
}

/// Keeps the number of callbacks, which the code relies on.
int clear(PyObject *object) {
  if (!nb::inst_ready(object))
    return 0;
  for (PyObject *&callback : nb::inst_ptr<Executable>(object)->callbacks) {
    PyObject *old = callback;
    Py_INCREF(Py_None);
    callback = Py_None;
    Py_DECREF(old);
  }
  return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {0, nullptr}};

ModuleInit registerExecutable([](nb::module_ &m) {
  programFailed = PyErr_NewExceptionWithDoc(
      "lingon.errors.JaxRuntimeError",
      "A program failed while it ran: a Python function that it called "
      "raised, or an array was donated twice.",
      PyExc_RuntimeError, nullptr);
  if (!programFailed)
    throw nb::python_error();
  m.attr("JaxRuntimeError") = nb::borrow(programFailed);

  nb::class_<Executable>(m, "Executable", nb::type_slots(slots),
                         "A compiled program.")
      .def("__init__", &construct, nb::arg("entry"), nb::arg("in_avals"),
           nb::arg("out_avals"), nb::arg("consts") = nb::make_tuple(),
           nb::arg("keepalive") = nb::none(), nb::kw_only(),
           nb::arg("scratch_bytes") = 0, nb::arg("donated") = nb::make_tuple(),
           nb::arg("aliases") = nb::make_tuple(),
           nb::arg("overwritten") = nb::make_tuple(),
           nb::arg("callbacks") = nb::make_tuple(),
           "entry: address of void entry(void **). in_avals, out_avals: "
           "objects with shape, dtype and maybe weak_type. consts: arrays that "
           "are passed before the inputs. keepalive: what owns the code. "
           "scratch_bytes: size of the memory passed after the outputs. "
           "donated: indices of inputs that a call deletes. aliases: pairs "
           "(donated input, output): the code finds the input in the output's "
           "memory. overwritten: other donated inputs that the code "
           "writes to. callbacks: what the code may call, see "
           "callbacks.cpp.")
      .def("execute", &execute, nb::arg("args"), nb::arg("device_id") = -1,
           "Runs the program on a sequence of ArrayImpl and returns the list "
           "of its results. The GIL is released meanwhile. TypeError for a "
           "wrong number, shape or dtype of arguments; RuntimeError for a "
           "deleted argument or one that is donated and passed again; "
           "MemoryError when memory runs out.")
      .def_prop_ro("num_inputs", &Executable::numInputs)
      .def_prop_ro("num_outputs", &Executable::numOutputs)
      .def_prop_ro("scratch_bytes",
                   [](const Executable &self) { return self.scratchBytes; })
      .def_prop_ro("keepalive", [](const Executable &self) {
        return nb::borrow(self.keepalive ? self.keepalive : Py_None);
      });
});

} // namespace
} // namespace lingon
