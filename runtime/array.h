//===- array.h - ArrayImpl, the immutable array ---------------------------===//
#ifndef LINGON_RUNTIME_ARRAY_H
#define LINGON_RUNTIME_ARRAY_H

#include <Python.h>

#include "aval.h"
#include "buffer.h"

namespace lingon {

/// The Python object: a dense row-major piece of a buffer with an aval. A plain
/// CPython type rather than a bound class, for creation costs as little as
/// possible. The fields are read-only after creation, but for deletion.
struct ArrayObject {
  PyObject_HEAD Aval *aval;
  Buffer *buffer; ///< null once deleted
  char *data;     ///< first element, inside of the buffer
  PyObject *view; ///< cached read-only ndarray, or null
  PyObject *weakrefs;
  int32_t deviceId;
  bool committed; ///< placed on its device by the program's explicit wish
  /// On several devices (sharded.h): a ShardLayout and the tuple of parts, else
  /// null. The buffer is then null until somebody needs the whole.
  PyObject *layout, *shards;
  ArrayObject *previous, *next; ///< neighbours in the list of all arrays
};

extern PyTypeObject *arrayType;

inline bool isArray(PyObject *object) { return Py_TYPE(object) == arrayType; }
inline ArrayObject *asArray(PyObject *object) {
  return reinterpret_cast<ArrayObject *>(object);
}
inline PyObject *asPy(ArrayObject *array) {
  return reinterpret_cast<PyObject *>(array);
}

// All of the following need the GIL and return a new reference, or null with a
// Python error set.

/// Puts a new array in the list of all arrays, from which its deallocation
/// takes it. Whoever creates an ArrayObject calls this.
void enlist(ArrayObject *array);
/// Wraps a piece of a buffer; takes over one reference to `aval` and one to
/// `buffer`, also on failure. `data` null means the start of the buffer.
PyObject *wrapBuffer(Aval *aval, Buffer *buffer, int32_t deviceId,
                     char *data = nullptr);
/// A new array of undefined contents, to be filled before anybody sees it.
/// Takes over the reference to `aval`.
PyObject *newArray(Aval *aval, int32_t deviceId);
/// Borrows the ndarray's memory where it is C-contiguous, aligned and of native
/// byte order and `copy` is false; else copies.
PyObject *arrayFromNumpy(PyObject *ndarray, bool weakType, bool copy,
                         int32_t deviceId);
/// Stores a Python scalar of the exact kind; returns false when `value` takes
/// the general path.
bool storeScalar(void *to, PyObject *value, DType dtype);
/// Rank-0 array of a Python or NumPy scalar. OverflowError for a Python int
/// that the dtype cannot hold.
PyObject *arrayFromScalar(PyObject *value, DType dtype, bool weakType,
                          int32_t deviceId);
/// The cached read-only ndarray view.
PyObject *numpyView(ArrayObject *array);
/// Sees to it that the array has its buffer. Sets RuntimeError and returns
/// false for a deleted array, MemoryError where parts cannot be put together.
bool checkAlive(ArrayObject *array);
/// Whether nobody but this one array can see its buffer, which is a whole pool
/// block: then a program may write its result there. Drops an unused view.
bool isExclusive(ArrayObject *array);
/// Gives up the buffer. Later uses of the array raise.
void deleteArray(ArrayObject *array);

} // namespace lingon

#endif // LINGON_RUNTIME_ARRAY_H
