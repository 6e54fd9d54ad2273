//===- spmd.cpp - one program on several devices --------------------------===//
#include "spmd.h"
#include "module.h"
#include "pool.h"
#include "rendezvous.h"
#include "run_context.h"
#include "workers.h"

#include <nanobind/nanobind.h>

#include <cstring>
#include <unordered_map>

namespace nb = nanobind;

namespace lingon {
namespace {

/// What one device runs.
struct DeviceCall {
  std::vector<void *> pointers;
  RunResult result = {};
};

struct SpmdCall {
  Executable *local;
  DeviceRun *run;
  const SpmdExecutable *program;
  std::vector<DeviceCall> calls;

  int32_t name(size_t index) const {
    return program->names[program->positions[index]];
  }
};

void runDevice(void *context, size_t index) {
  auto &call = *static_cast<SpmdCall *>(context);
  DeviceCall &own = call.calls[index];
  struct Argument {
    EntryFunction entry;
    void **pointers;
  } argument{call.local->entry, own.pointers.data()};
  size_t position = call.program->positions[index];
  call.run->enter(position);
  runProgram(
      [](void *raw) {
        auto *argument = static_cast<Argument *>(raw);
        argument->entry(argument->pointers);
      },
      &argument, own.result,
      RunEnvironment{&call.local->callbacks, call.program->devices[index]});
  call.run->leave(position, own.result.error != RunError::None);
}

/// Releases everything that one call holds.
struct Held {
  ~Held() {
    for (Buffer *buffer : buffers)
      if (buffer)
        buffer->release();
    for (void *block : blocks)
      poolFree(block);
    for (PyObject *object : objects)
      Py_XDECREF(object);
  }
  std::vector<Buffer *> buffers;
  std::vector<void *> blocks;
  std::vector<PyObject *> objects;
};

bool sameLayout(const Aval *a, const Aval *b) {
  return a == b || (a->dtype == b->dtype && a->ndim == b->ndim &&
                    memcmp(a->dims, b->dims, a->ndim * sizeof(int64_t)) == 0);
}

/// Raises the failure of a run: the first one that is not the consequence of
/// another, with the device named.
void raiseFailure(SpmdCall &call) {
  size_t which = call.calls.size();
  for (size_t i = 0; i < call.calls.size(); ++i) {
    RunError error = call.calls[i].result.error;
    if (error == RunError::None)
      continue;
    if (which == call.calls.size() ||
        (call.calls[which].result.error == RunError::Abandoned &&
         error != RunError::Abandoned))
      which = i;
  }
  RunResult &result = call.calls[which].result;
  int device = call.name(which);
  if (result.error == RunError::Callback) {
    PyObject *exception = result.exception;
    Py_INCREF(exception);
    for (DeviceCall &other : call.calls)
      if (other.result.error == RunError::Callback)
        Py_DECREF(other.result.exception);
#if PY_VERSION_HEX >= 0x030B0000
    std::string note = "raised on device cpu:" + std::to_string(device);
    PyObject *done =
        PyObject_CallMethod(exception, "add_note", "s", note.c_str());
    if (done)
      Py_DECREF(done);
    else
      PyErr_Clear(); // an exception without notes is raised as it is
#endif
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception)),
                    exception);
    Py_DECREF(exception);
    return;
  }
  PyErr_Format(result.error == RunError::OutOfMemory ? PyExc_MemoryError
                                                     : PyExc_RuntimeError,
               "on device cpu:%d: %s", device, result.message);
}

/// Number of the next run on devices of several processes, which all count
/// alike. Needs the GIL.
int64_t nextRun(int64_t mesh) {
  static std::unordered_map<int64_t, int64_t> runs;
  return ++runs[mesh];
}

} // namespace

SpmdExecutable::~SpmdExecutable() {
  for (PyObject *layout : inLayouts)
    Py_DECREF(layout);
  for (PyObject *layout : outLayouts)
    Py_DECREF(layout);
  Py_XDECREF(localObject);
}

bool SpmdExecutable::run(PyObject *const *args, size_t numArgs, PyObject **outs,
                         int32_t) {
  if (numArgs != numInputs()) {
    PyErr_Format(PyExc_TypeError, "the program takes %zu arguments, got %zu",
                 numInputs(), numArgs);
    return false;
  }
  size_t count = devices.size(), numOuts = numOutputs();
  size_t numConsts = local->constPointers.size();
  Held held;
  SpmdCall call{local, nullptr, this, std::vector<DeviceCall>(count)};
  for (DeviceCall &own : call.calls) {
    own.pointers.resize(numConsts + numArgs + numOuts + 1);
    std::copy(local->constPointers.begin(), local->constPointers.end(),
              own.pointers.begin());
  }
  for (size_t i = 0; i < numArgs; ++i) {
    if (!isArray(args[i])) {
      PyErr_Format(PyExc_TypeError,
                   "argument %zu of the program must be an ArrayImpl, got %s",
                   i, Py_TYPE(args[i])->tp_name);
      return false;
    }
    ArrayObject *array = asArray(args[i]);
    if (!sameLayout(array->aval, inAvals[i])) {
      PyErr_Format(PyExc_TypeError,
                   "argument %zu of the program must be %s, got %s", i,
                   describe(inAvals[i]).c_str(), describe(array->aval).c_str());
      return false;
    }
    PyObject *shards = splitArray(array, inLayouts[i]);
    if (!shards)
      return false;
    held.objects.push_back(shards);
    for (size_t d = 0; d < count; ++d) {
      ArrayObject *shard = asArray(PyTuple_GET_ITEM(shards, Py_ssize_t(d)));
      if (!checkAlive(shard))
        return false;
      shard->buffer->retain(); // somebody may delete the array meanwhile
      held.buffers.push_back(shard->buffer);
      call.calls[d].pointers[numConsts + i] = shard->data;
    }
  }
  size_t firstOut = held.buffers.size();
  for (size_t d = 0; d < count; ++d) {
    void **out = call.calls[d].pointers.data() + numConsts + numArgs;
    int64_t wanted = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < numOuts; ++i) {
      wanted = local->outAvals[i]->nbytes;
      Buffer *buffer = Buffer::allocate(size_t(wanted));
      ok = buffer != nullptr;
      held.buffers.push_back(buffer);
      out[i] = ok ? buffer->data : nullptr;
    }
    if (ok && local->scratchBytes) {
      wanted = int64_t(local->scratchBytes);
      out[numOuts] = poolAlloc(local->scratchBytes);
      ok = out[numOuts] != nullptr;
      held.blocks.push_back(out[numOuts]);
    }
    if (!ok) {
      PyErr_Format(PyExc_MemoryError,
                   "on device cpu:%d: out of memory allocating %lld bytes",
                   int(call.name(d)), (long long)wanted);
      return false;
    }
  }

  bool started;
  RunPlaces runPlaces = places;
  if (places.span() && !independent)
    runPlaces.run = nextRun(places.mesh);
  {
    DeviceRun run(names.data(), names.size(), runPlaces);
    call.run = &run;
    Py_BEGIN_ALLOW_THREADS;
    started =
        runOnDevices(devices.data(), count, &runDevice, &call, independent);
    Py_END_ALLOW_THREADS;
  }
  if (!started) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the threads of the devices cannot be started");
    return false;
  }
  for (uint32_t input : donated)
    deleteArray(asArray(args[input]));
  for (DeviceCall &own : call.calls)
    if (own.result.error != RunError::None) {
      raiseFailure(call);
      if (runPlaces.span() && !independent)
        abortRun(runPlaces);
      return false;
    }

  for (size_t i = 0; i < numOuts; ++i) {
    PyObject *shards = PyTuple_New(Py_ssize_t(count));
    for (size_t d = 0; shards && d < count; ++d) {
      Buffer *&buffer = held.buffers[firstOut + d * numOuts + i];
      Buffer *taken = buffer;
      buffer = nullptr;
      local->outAvals[i]->retain();
      PyObject *shard = wrapBuffer(local->outAvals[i], taken, devices[d]);
      if (!shard) {
        Py_CLEAR(shards);
        break;
      }
      asArray(shard)->committed = true;
      PyTuple_SET_ITEM(shards, Py_ssize_t(d), shard);
    }
    if (shards) {
      outAvals[i]->retain();
      outs[i] = wrapShards(outAvals[i], shards, outLayouts[i]);
    }
    if (!shards || !outs[i]) {
      for (size_t j = 0; j < i; ++j)
        Py_CLEAR(outs[j]);
      return false;
    }
  }
  return true;
}

namespace {

[[noreturn]] void raise(PyObject *type, const char *text) {
  PyErr_SetString(type, text);
  throw nb::python_error();
}

void appendLayouts(nb::handle sequence, std::vector<PyObject *> &layouts) {
  for (nb::handle item : sequence) {
    ShardLayout *layout;
    if (!nb::try_cast(item, layout) || !layout)
      raise(PyExc_TypeError, "SpmdExecutable: expected a ShardLayout");
    Py_INCREF(item.ptr());
    layouts.push_back(item.ptr());
  }
}

/// Whether the local aval is that of a part, and an aval of the whole.
Aval *wholeAval(const Aval *local, PyObject *layoutObject, size_t devices) {
  auto &layout = *nb::inst_ptr<ShardLayout>(nb::handle(layoutObject));
  if (layout.numShards() != devices || layout.ndim() != local->ndim ||
      memcmp(layout.shardShape.data(), local->dims, local->ndim * 8) != 0) {
    PyErr_Format(PyExc_ValueError,
                 "SpmdExecutable: a layout does not have parts of type %s on "
                 "%zu devices",
                 describe(local).c_str(), devices);
    throw nb::python_error();
  }
  Aval *aval = internAval(local->dtype, local->weakType, layout.shape.data(),
                          layout.ndim());
  if (!aval)
    throw nb::python_error();
  return aval;
}

/// Where the devices are, if some are of other processes.
void fillPlaces(SpmdExecutable &self, nb::handle processes, int32_t process,
                nb::handle names, int64_t program) {
  for (nb::handle item : processes)
    self.places.processes.push_back(nb::cast<int32_t>(item));
  for (nb::handle item : names)
    self.names.push_back(nb::cast<int32_t>(item));
  self.places.self = process;
  self.places.program = program;
  if (self.places.processes.empty() && self.names.empty())
    self.names = self.devices;
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (size_t i = 0; i < self.names.size(); ++i) {
    hash = (hash ^ uint64_t(self.names[i])) * 0x100000001b3ULL;
    if (self.places.processes.empty() || self.places.processes[i] == process)
      self.positions.push_back(i);
  }
  self.places.mesh = int64_t(hash >> 1);
  if (self.positions.size() != self.devices.size() ||
      (self.places.span() && self.places.processes.size() != self.names.size()))
    raise(PyExc_ValueError,
          "SpmdExecutable: processes and names must have an item for each "
          "device of the program, and devices those of this process");
}

void construct(SpmdExecutable *memory, nb::object local, nb::handle devices,
               nb::handle inLayouts, nb::handle outLayouts, nb::handle donated,
               bool independent, nb::handle processes, int32_t process,
               nb::handle names, int64_t program) {
  auto *self = new (memory) SpmdExecutable();
  try {
    if (!nb::try_cast(local, self->local) || !self->local)
      raise(PyExc_TypeError, "SpmdExecutable: local must be an Executable");
    for (nb::handle item : devices) {
      int32_t device = nb::cast<int32_t>(item);
      for (int32_t other : self->devices)
        if (other == device)
          raise(PyExc_ValueError, "SpmdExecutable: a device is given twice");
      if (device < 0)
        raise(PyExc_ValueError, "SpmdExecutable: a device is negative");
      self->devices.push_back(device);
    }
    appendLayouts(inLayouts, self->inLayouts);
    appendLayouts(outLayouts, self->outLayouts);
    if (self->inLayouts.size() != self->local->numInputs() ||
        self->outLayouts.size() != self->local->numOutputs() ||
        self->devices.empty() || !self->local->aliases.empty())
      raise(PyExc_ValueError, "SpmdExecutable: there must be devices, one "
                              "layout for each input and output, and no "
                              "aliases");
    for (size_t i = 0; i < self->inLayouts.size(); ++i)
      self->inAvals.push_back(wholeAval(
          self->local->inAvals[i], self->inLayouts[i], self->devices.size()));
    for (size_t i = 0; i < self->outLayouts.size(); ++i)
      self->outAvals.push_back(wholeAval(
          self->local->outAvals[i], self->outLayouts[i], self->devices.size()));
    for (nb::handle item : donated) {
      size_t index = nb::cast<size_t>(item);
      if (index >= self->inAvals.size())
        raise(PyExc_IndexError, "SpmdExecutable: no such donated input");
      self->donated.push_back(uint32_t(index));
    }
    self->independent = independent;
    fillPlaces(*self, processes, process, names, program);
    self->localObject = local.release().ptr();
  } catch (...) {
    self->~SpmdExecutable();
    throw;
  }
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  if (!nb::inst_ready(object))
    return 0;
  auto *self = nb::inst_ptr<SpmdExecutable>(object);
  Py_VISIT(self->localObject);
  for (PyObject *layout : self->inLayouts)
    Py_VISIT(layout);
  for (PyObject *layout : self->outLayouts)
    Py_VISIT(layout);
  return 0;
}

/// Cycles are broken in the local program and in the layouts.
int clear(PyObject *) { return 0; }

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {0, nullptr}};

ModuleInit registerSpmd(
    [](nb::module_ &m) {
      nb::class_<SpmdExecutable, Executable>(m, "SpmdExecutable",
                                             nb::type_slots(slots),
                                             "One program on several devices.")
          .def("__init__", &construct, nb::arg("local"), nb::arg("devices"),
               nb::arg("in_layouts"), nb::arg("out_layouts"), nb::kw_only(),
               nb::arg("donated") = nb::make_tuple(),
               nb::arg("independent") = false,
               nb::arg("processes") = nb::make_tuple(), nb::arg("process") = 0,
               nb::arg("names") = nb::make_tuple(), nb::arg("program") = 0,
               "local: the Executable that each device runs on its parts. "
               "devices: their numbers. in_layouts, out_layouts: ShardLayouts "
               "of the arguments and results. donated: indices of arguments "
               "that a call deletes. independent: the program has no "
               "collectives. Where devices of other processes take part: "
               "processes, that of each device of the program; process, the "
               "number of this one, to which `devices` and the layouts are "
               "restricted; names, the devices' numbers in all processes; "
               "program, a number that tells programs apart.")
          .def_prop_ro("devices", [](const SpmdExecutable &self) {
            nb::list result;
            for (int32_t device : self.devices)
              result.append(device);
            return nb::tuple(result);
          });
    },
    10);

} // namespace
} // namespace lingon
