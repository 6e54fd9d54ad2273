//===- buffer.cpp - reference counted memory of arrays --------------------===//
#include "buffer.h"
#include "pool.h"

#include <Python.h>

#include <new>

namespace lingon {

Buffer *Buffer::allocate(size_t bytes) {
  void *data = poolAlloc(bytes);
  if (!data)
    return nullptr;
  Buffer *buffer = new (std::nothrow) Buffer(data, bytes, nullptr, nullptr);
  if (!buffer)
    poolFree(data);
  return buffer;
}

Buffer *Buffer::adopt(void *data, size_t bytes, Deleter deleter,
                      void *context) {
  return new (std::nothrow) Buffer(data, bytes, deleter, context);
}

Buffer *Buffer::borrow(void *data, size_t bytes, PyObject *owner) {
  Buffer *buffer = adopt(
      data, bytes, [](void *object) { Py_DECREF((PyObject *)object); }, owner);
  if (buffer)
    Py_INCREF(owner);
  return buffer;
}

void Buffer::destroy() {
  if (!deleter) {
    poolFree(data);
  } else if (Py_IsInitialized()) {
    // The last user may be a foreign thread, through a DLPack export. Once the
    // interpreter is gone there is no owner left to give the memory back to.
    PyGILState_STATE state = PyGILState_Ensure();
    deleter(context);
    PyGILState_Release(state);
  }
  delete this;
}

} // namespace lingon
