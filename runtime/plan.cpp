//===- plan.cpp - a program that is a list of calls of C functions --------===//
#include "plan.h"
#include "leaves.h"
#include "module.h"
#include "numpy_api.h"
#include "pool.h"
#include "run_context.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <map>
#include <new>
#include <string>

#include <numpy/ufuncobject.h>

namespace nb = nanobind;

extern "C" void *lingon_kernel_address(const char *name);

namespace lingon {
namespace {

std::map<std::string, LoopFunction> &loopTable() {
  static auto *table = new std::map<std::string, LoopFunction>();
  return *table;
}
std::map<std::string, MoveFunction> &moveTable() {
  static auto *table = new std::map<std::string, MoveFunction>();
  return *table;
}

constexpr size_t maxOperands = 16;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void runLoop(const PlanStep &step, char **buffers) {
  char *args[maxOperands];
  size_t n = step.operands.size(), rank = step.extents.size();
  for (size_t i = 0; i < n; ++i)
    args[i] = buffers[step.operands[i].buffer] + step.operands[i].offset;
  const intptr_t *inner = &step.extents[rank - 1];
  const intptr_t *innerStrides = &step.strides[(rank - 1) * n];
  if (rank == 1) {
    step.loop(args, inner, innerStrides, step.data);
    return;
  }
  intptr_t index[maxRank] = {};
  for (;;) {
    // Loops may change the addresses that they are given.
    char *here[maxOperands];
    memcpy(here, args, n * sizeof(char *));
    step.loop(here, inner, innerStrides, step.data);
    size_t d = rank - 1;
    for (;;) {
      if (d == 0)
        return;
      --d;
      const intptr_t *strides = &step.strides[d * n];
      if (++index[d] < step.extents[d]) {
        for (size_t i = 0; i < n; ++i)
          args[i] += strides[i];
        break;
      }
      index[d] = 0;
      for (size_t i = 0; i < n; ++i)
        args[i] -= strides[i] * (step.extents[d] - 1);
    }
  }
}

void runKernel(const PlanStep &step, char **buffers) {
  LingonBuffer operands[maxOperands];
  size_t n = step.operands.size();
  for (size_t i = 0; i < n; ++i) {
    operands[i] = step.buffers[i];
    operands[i].data =
        buffers[step.operands[i].buffer] + step.operands[i].offset;
  }
  step.kernel(operands, int64_t(n), step.config.data(),
              int64_t(step.config.size()));
}

/// Calls compiled code on the operands: inputs, outputs, scratch memory.
void runCode(const PlanStep &step, char **buffers) {
  const std::vector<void *> &consts = step.program->constPointers;
  void *pointers[maxOperands + 48];
  size_t n = 0;
  for (void *constant : consts)
    pointers[n++] = constant;
  for (const PlanOperand &operand : step.operands)
    pointers[n++] = buffers[operand.buffer] + operand.offset;
  step.program->entry(pointers);
}

PyObject *viewOf(const Aval *aval, const std::vector<intptr_t> &strides,
                 char *data, bool writable) {
  npy_intp dims[maxRank];
  for (uint32_t i = 0; i < aval->ndim; ++i)
    dims[i] = npy_intp(aval->dims[i]);
  PyObject *descr = descrOf(aval->dtype);
  Py_INCREF(descr);
  return PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr *>(descr), int(aval->ndim),
      dims, strides.data(), data, writable ? NPY_ARRAY_WRITEABLE : 0, nullptr);
}

/// Calls the Python function with ndarrays, and copies what it returns.
bool runPython(const PlanStep &step, char **buffers) {
  auto address = [&](size_t i) {
    return buffers[step.operands[i].buffer] + step.operands[i].offset;
  };
  size_t numOutputs = step.operands.size() - step.numInputs;
  PyObject *args = PyTuple_New(Py_ssize_t(step.numInputs));
  if (!args)
    return false;
  for (size_t i = 0; i < step.numInputs; ++i) {
    PyObject *view = viewOf(step.avals[i], step.views[i], address(i), false);
    if (!view) {
      Py_DECREF(args);
      return false;
    }
    PyTuple_SET_ITEM(args, Py_ssize_t(i), view);
  }
  PyObject *returned = PyObject_CallObject(step.function, args);
  Py_DECREF(args);
  if (!returned)
    return false;
  PyObject *made =
      PySequence_Fast(returned, "a reference must return a sequence");
  Py_DECREF(returned);
  if (!made)
    return false;
  bool ok = size_t(PySequence_Fast_GET_SIZE(made)) == numOutputs;
  if (!ok)
    PyErr_SetString(PyExc_AssertionError,
                    "a reference returned another number of results");
  for (size_t k = 0; ok && k < numOutputs; ++k) {
    size_t i = step.numInputs + k;
    PyObject *target = viewOf(step.avals[i], step.views[i], address(i), true);
    ok = target &&
         PyArray_CopyObject(reinterpret_cast<PyArrayObject *>(target),
                            PySequence_Fast_GET_ITEM(made, Py_ssize_t(k))) == 0;
    Py_XDECREF(target);
  }
  Py_DECREF(made);
  return ok;
}

} // namespace

PlanLoop::PlanLoop(const char *name, LoopFunction function) {
  loopTable()[name] = function;
}
PlanMove::PlanMove(const char *name, MoveFunction function) {
  moveTable()[name] = function;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Plan::~Plan() {
  for (PlanStep &step : steps) {
    Py_XDECREF(step.function);
    for (Aval *aval : step.avals)
      aval->release();
  }
}

bool Plan::runSteps(char **buffers) {
  for (const PlanStep &step : steps) {
    switch (step.kind) {
    case PlanStep::Kind::Loop:
      runLoop(step, buffers);
      break;
    case PlanStep::Kind::Move: {
      char *operands[maxOperands];
      for (size_t i = 0; i < step.operands.size(); ++i)
        operands[i] =
            buffers[step.operands[i].buffer] + step.operands[i].offset;
      step.move(operands, step.config.data());
      break;
    }
    case PlanStep::Kind::Program:
    case PlanStep::Kind::Kernel: {
      // They may run out of memory, which ends a run.
      struct Argument {
        const PlanStep &step;
        char **buffers;
      } argument{step, buffers};
      RunResult result;
      runProgram(
          [](void *context) {
            auto *argument = static_cast<Argument *>(context);
            if (argument->step.kind == PlanStep::Kind::Kernel)
              runKernel(argument->step, argument->buffers);
            else
              runCode(argument->step, argument->buffers);
          },
          &argument, result);
      if (result.error != RunError::None) {
        PyErr_SetString(result.error == RunError::OutOfMemory
                            ? PyExc_MemoryError
                            : PyExc_RuntimeError,
                        result.message);
        return false;
      }
      break;
    }
    case PlanStep::Kind::Python:
      if (!runPython(step, buffers))
        return false;
      break;
    }
  }
  return true;
}

bool Plan::runOn(void *const *inputs, ArrayObject *const *objects,
                 PyObject **outs, int32_t deviceId) {
  size_t numConsts = constPointers.size(), numInputs = inAvals.size();
  size_t count = numConsts + numInputs + numMade + 1;
  char *local[64];
  std::vector<char *> more;
  char **buffers = local;
  if (count > 64) {
    more.resize(count);
    buffers = more.data();
  }
  for (size_t i = 0; i < numConsts; ++i)
    buffers[i] = static_cast<char *>(constPointers[i]);
  for (size_t i = 0; i < numInputs; ++i)
    buffers[numConsts + i] = static_cast<char *>(inputs[i]);
  size_t made = numConsts + numInputs, numOuts = results.size();
  size_t done = 0;
  bool ok = true;
  for (; ok && done < numOuts; ++done) {
    const PlanResult &result = results[done];
    Aval *aval = outAvals[done];
    if (result.kind == PlanResult::Kind::Made) {
      aval->retain();
      outs[done] = newArray(aval, deviceId);
      ok = outs[done] != nullptr;
      if (ok)
        buffers[made++] = asArray(outs[done])->data;
      continue;
    }
    bool isConst = result.buffer < numConsts;
    ArrayObject *object =
        isConst ? nullptr : objects[result.buffer - numConsts];
    if (object && result.kind == PlanResult::Kind::Same) {
      Py_INCREF(asPy(object));
      outs[done] = asPy(object);
      continue;
    }
    aval->retain();
    if (object || isConst) {
      Buffer *buffer = isConst ? constBuffers[result.buffer] : object->buffer;
      buffer->retain();
      outs[done] = wrapBuffer(aval, buffer, deviceId, buffers[result.buffer]);
    } else {
      outs[done] = newArray(aval, deviceId);
      if (outs[done])
        memcpy(asArray(outs[done])->data, buffers[result.buffer],
               size_t(aval->nbytes));
    }
    ok = outs[done] != nullptr;
  }
  alignas(64) char onStack[4096];
  char *scratch = onStack;
  if (ok && scratchBytes > sizeof(onStack)) {
    scratch = static_cast<char *>(poolAlloc(scratchBytes));
    if (!scratch) {
      PyErr_Format(PyExc_MemoryError, "out of memory allocating %zu bytes",
                   scratchBytes);
      ok = false;
    }
  }
  buffers[made] = scratch;
  // Other threads may delete the inputs while Python code runs.
  std::vector<Buffer *> held;
  if (hasPython)
    for (size_t i = 0; i < numInputs; ++i)
      if (objects[i]) {
        held.push_back(objects[i]->buffer);
        held.back()->retain();
      }
  ok = ok && runSteps(buffers);
  for (Buffer *buffer : held)
    buffer->release();
  if (scratch != onStack)
    poolFree(scratch);
  if (!ok)
    for (size_t i = 0; i < done; ++i)
      Py_CLEAR(outs[i]);
  return ok;
}

bool Plan::run(PyObject *const *args, size_t numArgs, PyObject **outs,
               int32_t deviceId) {
  if (numArgs != inAvals.size()) {
    PyErr_Format(PyExc_TypeError, "the program takes %zu arguments, got %zu",
                 inAvals.size(), numArgs);
    return false;
  }
  std::vector<void *> inputs(numArgs);
  std::vector<ArrayObject *> objects(numArgs);
  for (size_t i = 0; i < numArgs; ++i) {
    if (!isArray(args[i])) {
      PyErr_Format(PyExc_TypeError,
                   "argument %zu of the program must be an ArrayImpl, got %s",
                   i, Py_TYPE(args[i])->tp_name);
      return false;
    }
    objects[i] = asArray(args[i]);
    if (objects[i]->aval != inAvals[i]) {
      PyErr_Format(
          PyExc_TypeError, "argument %zu of the program must be %s, got %s", i,
          describe(inAvals[i]).c_str(), describe(objects[i]->aval).c_str());
      return false;
    }
    if (!checkAlive(objects[i]))
      return false;
    inputs[i] = objects[i]->data;
  }
  if (deviceId < 0)
    deviceId = numArgs ? objects[0]->deviceId : defaultDeviceId();
  return runOn(inputs.data(), objects.data(), outs, deviceId);
}

//===----------------------------------------------------------------------===//
// Making plans
//===----------------------------------------------------------------------===//

namespace {

[[noreturn]] void raise(PyObject *type, const char *text) {
  PyErr_SetString(type, text);
  throw nb::python_error();
}

std::vector<int64_t> integers(nb::handle items) {
  std::vector<int64_t> out;
  for (nb::handle item : items)
    out.push_back(nb::cast<int64_t>(item));
  return out;
}

/// The loop of a ufunc for exactly these dtypes; false if there is none.
bool findUfuncLoop(nb::handle ufunc, nb::handle dtypes, LoopFunction &loop,
                   void *&data) {
  if (strcmp(Py_TYPE(ufunc.ptr())->tp_name, "numpy.ufunc") != 0)
    raise(PyExc_TypeError, "a loop must be a numpy.ufunc or a name");
  auto *self = reinterpret_cast<PyUFuncObject *>(ufunc.ptr());
  int nargs = self->nargs, types[NPY_MAXARGS];
  if (nb::len(dtypes) != size_t(nargs))
    raise(PyExc_ValueError, "a ufunc needs a dtype for each operand");
  int count = 0;
  for (nb::handle item : dtypes) {
    if (!PyArray_DescrCheck(item.ptr()))
      raise(PyExc_TypeError, "dtypes must be numpy.dtype objects");
    types[count++] = reinterpret_cast<PyArray_Descr *>(item.ptr())->type_num;
  }
  for (int i = 0; i < self->ntypes; ++i) {
    bool same = true;
    for (int k = 0; same && k < nargs; ++k) {
      int listed = static_cast<unsigned char>(self->types[i * nargs + k]);
      // C has two names for integers of one size.
      same =
          listed == types[k] ||
          (listed < NPY_FLOAT && types[k] < NPY_FLOAT && listed != NPY_BOOL &&
           types[k] != NPY_BOOL && PyArray_EquivTypenums(listed, types[k]));
    }
    if (!same || !self->functions[i])
      continue;
    loop = reinterpret_cast<LoopFunction>(self->functions[i]);
    data = self->data ? const_cast<void *>(self->data[i]) : nullptr;
    return true;
  }
  return false;
}

std::vector<PlanOperand> parseOperands(nb::handle items, size_t numBuffers) {
  std::vector<PlanOperand> out;
  for (nb::handle item : items) {
    int64_t buffer = nb::cast<int64_t>(item[0]);
    if (buffer < 0 || size_t(buffer) >= numBuffers)
      raise(PyExc_IndexError, "Plan: no such buffer");
    out.push_back({uint32_t(buffer), nb::cast<int64_t>(item[1])});
  }
  if (out.size() > maxOperands)
    raise(PyExc_ValueError, "Plan: a step has too many operands");
  return out;
}

/// ("loop", ufunc or name, dtypes or None, operands, shape, strides of each)
void parseLoop(nb::handle item, PlanStep &step, size_t numBuffers) {
  step.kind = PlanStep::Kind::Loop;
  nb::handle function = item[1];
  if (PyUnicode_Check(function.ptr())) {
    auto found = loopTable().find(nb::cast<std::string>(function));
    if (found == loopTable().end())
      raise(PyExc_KeyError, "Plan: no loop has this name");
    step.loop = found->second;
  } else if (!findUfuncLoop(function, item[2], step.loop, step.data)) {
    raise(PyExc_LookupError, "Plan: the ufunc has no loop for these dtypes");
  }
  step.operands = parseOperands(item[3], numBuffers);
  std::vector<int64_t> shape = integers(item[4]);
  std::vector<std::vector<int64_t>> strides;
  for (nb::handle one : item[5]) {
    strides.push_back(integers(one));
    if (strides.back().size() != shape.size())
      raise(PyExc_ValueError, "Plan: strides of another rank than the shape");
  }
  size_t n = step.operands.size();
  if (strides.size() != n)
    raise(PyExc_ValueError, "Plan: strides are needed for each operand");
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    bool joins = !step.extents.empty();
    for (size_t i = 0; joins && i < n; ++i)
      joins = step.strides[(step.extents.size() - 1) * n + i] ==
              strides[i][d] * shape[d];
    if (joins) {
      step.extents.back() *= shape[d];
      for (size_t i = 0; i < n; ++i)
        step.strides[(step.extents.size() - 1) * n + i] = strides[i][d];
      continue;
    }
    step.extents.push_back(shape[d]);
    for (size_t i = 0; i < n; ++i)
      step.strides.push_back(strides[i][d]);
  }
  if (step.extents.empty()) {
    step.extents.push_back(1);
    step.strides.assign(n, 0);
  }
  if (step.extents.size() > maxRank)
    raise(PyExc_ValueError, "Plan: too many dimensions");
}

/// ("move", name, operands, config)
void parseMove(nb::handle item, PlanStep &step, size_t numBuffers) {
  step.kind = PlanStep::Kind::Move;
  auto found = moveTable().find(nb::cast<std::string>(item[1]));
  if (found == moveTable().end())
    raise(PyExc_KeyError, "Plan: no function has this name");
  step.move = found->second;
  step.operands = parseOperands(item[2], numBuffers);
  step.config = integers(item[3]);
}

/// ("kernel", name, operands, shapes, strides in elements, dtype codes, config)
void parseKernel(nb::handle item, PlanStep &step, size_t numBuffers) {
  step.kind = PlanStep::Kind::Kernel;
  step.kernel = reinterpret_cast<KernelFunction>(
      lingon_kernel_address(nb::cast<std::string>(item[1]).c_str()));
  if (!step.kernel)
    raise(PyExc_KeyError, "Plan: no kernel has this name");
  step.operands = parseOperands(item[2], numBuffers);
  step.config = integers(item[6]);
  size_t n = step.operands.size();
  std::vector<size_t> ranks;
  for (size_t i = 0; i < n; ++i) {
    std::vector<int64_t> shape = integers(item[3][i]);
    std::vector<int64_t> strides = integers(item[4][i]);
    if (shape.size() != strides.size())
      raise(PyExc_ValueError, "Plan: strides of another rank than the shape");
    ranks.push_back(shape.size());
    step.shapes.insert(step.shapes.end(), shape.begin(), shape.end());
    step.shapes.insert(step.shapes.end(), strides.begin(), strides.end());
  }
  const int64_t *at = step.shapes.data();
  for (size_t i = 0; i < n; ++i) {
    step.buffers.push_back({nullptr, int64_t(ranks[i]), at, at + ranks[i],
                            nb::cast<int32_t>(item[5][i])});
    at += 2 * ranks[i];
  }
}

/// ("program", executable, operands)
void parseProgram(nb::handle item, PlanStep &step, size_t numBuffers) {
  step.kind = PlanStep::Kind::Program;
  Executable *program;
  nb::handle object = item[1];
  if (!nb::try_cast(object, program) || !program || !program->entry)
    raise(PyExc_TypeError, "Plan: a program step needs an Executable");
  step.operands = parseOperands(item[2], numBuffers);
  if (!program->donated.empty() || !program->callbacks.empty() ||
      program->constPointers.size() > 47 ||
      step.operands.size() != program->numInputs() + program->numOutputs() +
                                  (program->scratchBytes ? 1 : 0))
    raise(PyExc_ValueError, "Plan: no such program can be a step");
  step.program = program;
  step.function = object.inc_ref().ptr();
}

/// ("python", function, operands, avals, strides in bytes, number of inputs)
void parsePython(nb::handle item, PlanStep &step, size_t numBuffers) {
  step.kind = PlanStep::Kind::Python;
  step.operands = parseOperands(item[2], numBuffers);
  for (nb::handle one : item[3]) {
    Aval *aval = internAvalOf(one.ptr());
    if (!aval)
      throw nb::python_error();
    step.avals.push_back(aval);
  }
  for (nb::handle one : item[4]) {
    std::vector<int64_t> strides = integers(one);
    step.views.emplace_back(strides.begin(), strides.end());
  }
  step.numInputs = nb::cast<size_t>(item[5]);
  if (step.avals.size() != step.operands.size() ||
      step.views.size() != step.operands.size() ||
      step.numInputs > step.operands.size())
    raise(PyExc_ValueError,
          "Plan: avals and strides are needed for each operand");
  if (!PyCallable_Check(nb::handle(item[1]).ptr()))
    raise(PyExc_TypeError, "Plan: a Python step needs a function");
  step.function = nb::handle(item[1]).inc_ref().ptr();
}

void construct(Plan *memory, nb::handle inAvals, nb::handle outAvals,
               nb::handle consts, nb::handle steps, nb::handle results,
               int64_t scratchBytes) {
  auto *self = new (memory) Plan();
  std::vector<int64_t> constBytes;
  try {
    appendAvals(inAvals, self->inAvals);
    appendAvals(outAvals, self->outAvals);
    for (nb::handle item : consts) {
      if (!isArray(item.ptr()))
        raise(PyExc_TypeError, "Plan: constants must be ArrayImpl");
      ArrayObject *array = asArray(item.ptr());
      if (!checkAlive(array))
        throw nb::python_error();
      array->buffer->retain();
      self->constBuffers.push_back(array->buffer);
      self->constPointers.push_back(array->data);
      constBytes.push_back(array->aval->nbytes);
    }
    if (scratchBytes < 0)
      raise(PyExc_ValueError, "Plan: scratch_bytes must not be negative");
    self->scratchBytes = size_t(scratchBytes);
    // The memory is kept, not the arrays, which nobody else knows.
    size_t numConsts = self->constPointers.size();
    size_t known = numConsts + self->inAvals.size();
    for (nb::handle item : results) {
      std::string kind = nb::cast<std::string>(item[0]);
      PlanResult result{PlanResult::Kind::Made, 0};
      if (kind != "made") {
        result.kind =
            kind == "same" ? PlanResult::Kind::Same : PlanResult::Kind::Shared;
        result.buffer = nb::cast<uint32_t>(item[1]);
        if (result.buffer >= known ||
            (kind == "same" && result.buffer < numConsts))
          raise(PyExc_IndexError, "Plan: a result of no such buffer");
        size_t at = self->results.size();
        int64_t bytes = result.buffer < numConsts
                            ? constBytes[result.buffer]
                            : self->inAvals[result.buffer - numConsts]->nbytes;
        if (at >= self->outAvals.size() || bytes != self->outAvals[at]->nbytes)
          raise(PyExc_ValueError, "Plan: a shared result of another size");
      } else {
        ++self->numMade;
      }
      self->results.push_back(result);
    }
    if (self->results.size() != self->outAvals.size())
      raise(PyExc_ValueError, "Plan: results are needed for each out_aval");
    size_t numBuffers = known + self->numMade + 1;
    for (nb::handle item : steps) {
      self->steps.emplace_back();
      PlanStep &step = self->steps.back();
      std::string kind = nb::cast<std::string>(item[0]);
      if (kind == "loop")
        parseLoop(item, step, numBuffers);
      else if (kind == "move")
        parseMove(item, step, numBuffers);
      else if (kind == "kernel")
        parseKernel(item, step, numBuffers);
      else if (kind == "program")
        parseProgram(item, step, numBuffers);
      else if (kind == "python") {
        parsePython(item, step, numBuffers);
        self->hasPython = true;
      } else
        raise(PyExc_ValueError, "Plan: no such kind of step");
    }
  } catch (...) {
    self->~Plan();
    throw;
  }
}

ModuleInit registerPlan(
    [](nb::module_ &m) {
      nb::class_<Plan, Executable>(
          m, "Plan", "A program that is a list of calls of C functions.")
          .def("__init__", &construct, nb::arg("in_avals"),
               nb::arg("out_avals"), nb::arg("consts"), nb::arg("steps"),
               nb::arg("results"), nb::arg("scratch_bytes"),
               "Buffers are numbered: consts, inputs, results that are made, "
               "scratch memory. An operand is (buffer, offset in bytes). Steps "
               "are (\"loop\", numpy.ufunc or name, dtypes, operands, shape, "
               "strides of each operand), (\"move\", name, operands, "
               "config), (\"kernel\", name, operands, shapes, strides in "
               "elements, dtype codes, config), (\"program\", Executable, "
               "operands and scratch memory) or (\"python\", function, "
               "operands, "
               " avals, strides, number of inputs). Results are "
               "(\"made\",), (\"shared\", buffer) or (\"same\", buffer of an "
               "input). LookupError where a ufunc lacks a loop.")
          .def_prop_ro("num_steps",
                       [](const Plan &self) { return self.steps.size(); });
      m.def(
          "has_ufunc_loop",
          [](nb::handle ufunc, nb::handle dtypes) {
            LoopFunction loop;
            void *data;
            return findUfuncLoop(ufunc, dtypes, loop, data);
          },
          nb::arg("ufunc"), nb::arg("dtypes"),
          "Whether a ufunc has a loop for exactly these dtypes.");
      m.def(
          "has_plan_loop",
          [](const std::string &name) { return loopTable().count(name) != 0; },
          nb::arg("name"), "Whether plans have a loop of this name.");
    },
    5);

} // namespace
} // namespace lingon
