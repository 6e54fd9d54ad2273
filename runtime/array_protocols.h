//===- array_protocols.h - how other libraries see an array ---------------===//
#ifndef LINGON_RUNTIME_ARRAY_PROTOCOLS_H
#define LINGON_RUNTIME_ARRAY_PROTOCOLS_H

#include <Python.h>

namespace lingon {

// The buffer protocol: read-only; BufferError for dtypes without a format code.
int arrayGetBuffer(PyObject *self, Py_buffer *view, int flags);
void arrayReleaseBuffer(PyObject *self, Py_buffer *view);

// __array__(dtype=None, copy=None)
PyObject *arrayToNumpy(PyObject *self, PyObject *args, PyObject *kwargs);
// __reduce_ex__(protocol): pickling by value.
PyObject *arrayReduce(PyObject *self, PyObject *protocol);
// __dlpack__(*, stream, max_version, dl_device, copy), __dlpack_device__()
PyObject *arrayToDLPack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *arrayDLPackDevice(PyObject *self, PyObject *);

} // namespace lingon

#define LINGON_ARRAY_PROTOCOL_METHODS                                          \
  {"__array__", (PyCFunction)(void *)arrayToNumpy,                             \
   METH_VARARGS | METH_KEYWORDS,                                               \
   "__array__(dtype=None, copy=None)\n\nThe ndarray of the values."},          \
      {"__reduce_ex__", arrayReduce, METH_O, "Pickling by value."},            \
      {"__dlpack__", (PyCFunction)(void *)arrayToDLPack,                       \
       METH_VARARGS | METH_KEYWORDS,                                           \
       "__dlpack__(*, stream=None, max_version=None, dl_device=None, "         \
       "copy=None)\n\nA DLPack capsule that shares the memory."},              \
      {"__dlpack_device__", arrayDLPackDevice, METH_NOARGS,                    \
       "The pair (device type, device number) of DLPack."}

#endif // LINGON_RUNTIME_ARRAY_PROTOCOLS_H
