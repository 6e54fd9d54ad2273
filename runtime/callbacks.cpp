//===- callbacks.cpp - compiled code calls Python functions ---------------===//
//
// The library kernels `callback` and `buffer_callback` call a Python function
// of the program that is running. Their configuration is the position of the
// function among the program's callbacks (Executable::callbacks) and the number
// of inputs, so that object code holds no address and may be kept on disk.
//
// The function of `callback` gets new arrays, which it may keep, and returns a
// sequence of arrays whose shapes and dtypes are checked against the outputs.
// That of `buffer_callback` gets memoryviews of the program's own memory, of
// the inputs and then of the outputs, in bytes: what is not contiguous is
// copied. It returns nothing and must have released the views when it returns.
//
// When a function raises, the exception ends the program and comes out of its
// call. May be called on any thread, inside of parallel regions too, without
// the GIL.
//
//===----------------------------------------------------------------------===//
#include "array.h"
#include "kernels/abi.h"
#include "run_context.h"

#include <cstring>
#include <memory>
#include <vector>

extern "C" void lingon_rt_set_error(const char *message);

namespace lingon {
namespace {

/// Copies between the strided memory of a buffer and dense memory.
void copyDense(const LingonBuffer &buffer, size_t itemsize, int64_t dim,
               char *strided, char *&dense, bool toDense) {
  if (dim == buffer.rank) {
    memcpy(toDense ? dense : strided, toDense ? strided : dense, itemsize);
    dense += itemsize;
    return;
  }
  int64_t step = buffer.strides[dim] * int64_t(itemsize);
  for (int64_t i = 0; i < buffer.shape[dim]; ++i)
    copyDense(buffer, itemsize, dim + 1, strided + i * step, dense, toDense);
}

/// Whether the elements lie one after the other; also gives their number.
bool isContiguous(const LingonBuffer &buffer, int64_t &size) {
  size = 1;
  bool contiguous = true;
  for (int64_t d = buffer.rank - 1; d >= 0; --d) {
    contiguous &= buffer.shape[d] == 1 || buffer.strides[d] == size;
    size *= buffer.shape[d];
  }
  return contiguous || size == 0;
}

/// copyDense, at once where the buffer is contiguous.
void copyBuffer(const LingonBuffer &buffer, size_t itemsize, char *dense,
                bool toDense) {
  auto *data = static_cast<char *>(buffer.data);
  int64_t size;
  bool contiguous = isContiguous(buffer, size);
  if (size == 0)
    return;
  if (contiguous)
    memcpy(toDense ? dense : data, toDense ? data : dense,
           size_t(size) * itemsize);
  else
    copyDense(buffer, itemsize, 0, data, dense, toDense);
}

PyObject *toArray(const LingonBuffer &buffer, int32_t deviceId) {
  auto dtype = static_cast<DType>(buffer.dtype);
  Aval *aval = internAval(dtype, false, buffer.shape, size_t(buffer.rank));
  PyObject *array = aval ? newArray(aval, deviceId) : nullptr;
  if (array)
    copyBuffer(buffer, itemsizeOf(dtype), asArray(array)->data, true);
  return array;
}

bool storeResult(const LingonBuffer &buffer, PyObject *result, int64_t index) {
  if (!isArray(result)) {
    PyErr_Format(PyExc_TypeError, "result %lld of a callback is no array: %R",
                 (long long)index, result);
    return false;
  }
  ArrayObject *array = asArray(result);
  if (!checkAlive(array))
    return false;
  const Aval *aval = array->aval;
  auto dtype = static_cast<DType>(buffer.dtype);
  if (aval->dtype != dtype || int64_t(aval->ndim) != buffer.rank ||
      (aval->ndim &&
       memcmp(aval->dims, buffer.shape, aval->ndim * sizeof(int64_t)) != 0)) {
    PyErr_Format(PyExc_TypeError,
                 "result %lld of a callback has another shape or dtype than "
                 "the program expects: %R",
                 (long long)index, result);
    return false;
  }
  copyBuffer(buffer, itemsizeOf(dtype), array->data, false);
  return true;
}

/// The function that the configuration names, held by the program, which its
/// caller holds. Null with a Python error set.
PyObject *functionOf(const RunEnvironment &environment, int64_t numBuffers,
                     const int64_t *config, int64_t numConfig) {
  if (numConfig == 2 && config[0] >= 0 && environment.callbacks &&
      config[0] < int64_t(environment.callbacks->size()) && config[1] >= 0 &&
      config[1] <= numBuffers)
    return (*environment.callbacks)[size_t(config[0])];
  PyErr_SetString(PyExc_SystemError,
                  "the program calls a Python function that it does not own");
  return nullptr;
}

/// With the GIL. False with a Python error set.
bool callPython(const RunEnvironment &environment, const LingonBuffer *buffers,
                int64_t numBuffers, const int64_t *config, int64_t numConfig) {
  PyObject *function = functionOf(environment, numBuffers, config, numConfig);
  if (!function)
    return false;
  int64_t numInputs = config[1];
  PyObject *args = PyTuple_New(Py_ssize_t(numInputs));
  if (!args)
    return false;
  for (int64_t i = 0; i < numInputs; ++i) {
    PyObject *array = toArray(buffers[i], environment.deviceId);
    if (!array) {
      Py_DECREF(args);
      return false;
    }
    PyTuple_SET_ITEM(args, i, array);
  }
  PyObject *answer = PyObject_Call(function, args, nullptr);
  Py_DECREF(args);
  if (!answer)
    return false;
  PyObject *results =
      PySequence_Fast(answer, "a callback of a program must return a sequence");
  Py_DECREF(answer);
  if (!results)
    return false;
  int64_t count = PySequence_Fast_GET_SIZE(results);
  bool ok = count == numBuffers - numInputs;
  if (!ok)
    PyErr_Format(PyExc_TypeError,
                 "a callback returned %lld arrays where the program expects "
                 "%lld",
                 (long long)count, (long long)(numBuffers - numInputs));
  for (int64_t i = 0; ok && i < count; ++i)
    ok = storeResult(buffers[numInputs + i],
                     PySequence_Fast_GET_ITEM(results, i), i);
  Py_DECREF(results);
  return ok;
}

/// With the GIL. False with a Python error set.
bool callOnBuffers(const RunEnvironment &environment,
                   const LingonBuffer *buffers, int64_t numBuffers,
                   const int64_t *config, int64_t numConfig) {
  PyObject *function = functionOf(environment, numBuffers, config, numConfig);
  PyObject *views = function ? PyTuple_New(Py_ssize_t(numBuffers)) : nullptr;
  if (!views)
    return false;
  // Dense copies of what is not contiguous.
  std::vector<std::unique_ptr<char[]>> copies{size_t(numBuffers)};
  bool ok = true;
  for (int64_t i = 0; ok && i < numBuffers; ++i) {
    const LingonBuffer &buffer = buffers[i];
    size_t itemsize = itemsizeOf(static_cast<DType>(buffer.dtype));
    int64_t size;
    auto *data = static_cast<char *>(buffer.data);
    if (!isContiguous(buffer, size)) {
      copies[size_t(i)].reset(new char[size_t(size) * itemsize]);
      data = copies[size_t(i)].get();
      copyBuffer(buffer, itemsize, data, true);
    }
    PyObject *view = PyMemoryView_FromMemory(
        data, Py_ssize_t(size_t(size) * itemsize), PyBUF_WRITE);
    ok = view != nullptr;
    if (ok)
      PyTuple_SET_ITEM(views, i, view);
  }
  PyObject *answer = ok ? PyObject_Call(function, views, nullptr) : nullptr;
  Py_DECREF(views);
  if (!answer)
    return false;
  Py_DECREF(answer);
  for (int64_t i = config[1]; i < numBuffers; ++i)
    if (copies[size_t(i)])
      copyBuffer(buffers[i], itemsizeOf(static_cast<DType>(buffers[i].dtype)),
                 copies[size_t(i)].get(), false);
  return true;
}

/// The pending Python error as an exception object.
PyObject *takeException() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace)
    PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
}

using PythonCall = bool (*)(const RunEnvironment &, const LingonBuffer *,
                            int64_t, const int64_t *, int64_t);

template <PythonCall call>
void callback(const LingonBuffer *buffers, int64_t numBuffers,
              const int64_t *config, int64_t numConfig) {
  RunContext *run = currentRun();
  if (!run) {
    lingon_rt_set_error("a Python function was called outside of a program");
    return;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  bool ok = call(environmentOf(run), buffers, numBuffers, config, numConfig);
  if (!ok) {
    PyObject *unused;
    failWithException(run, takeException(), unused);
    Py_XDECREF(unused);
  }
  PyGILState_Release(state);
  if (!ok)
    leaveRun();
}

} // namespace
} // namespace lingon

LINGON_KERNEL(callback, lingon::callback<lingon::callPython>)
LINGON_KERNEL(buffer_callback, lingon::callback<lingon::callOnBuffers>)
