//===- aval.h - interned shape, dtype and weak type -----------------------===//
//
// Every (dtype, weak_type, shape) that arrays have exists once, so that equal
// avals are equal pointers and attributes such as the shape tuple are built
// once. All functions need the GIL.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_AVAL_H
#define LINGON_RUNTIME_AVAL_H

#include "dtypes.h"

#include <cstdint>
#include <string>

namespace lingon {

constexpr size_t maxRank = 64;

struct Aval {
  uint64_t hash;
  int64_t refs;
  int64_t size;    ///< number of elements
  int64_t nbytes;  ///< size in bytes as stored
  _object *shape;  ///< tuple of int
  _object *pyAval; ///< what the aval factory made of it, or null
  DType dtype;
  bool weakType;
  uint32_t ndim;
  int64_t dims[1]; ///< ndim entries

  void retain() { ++refs; }
  void release() { --refs; }
};

/// Returns a new reference to the aval, or null with a Python error set
/// (ValueError for a negative or overflowing shape or a rank above maxRank).
Aval *internAval(DType dtype, bool weakType, const int64_t *dims, size_t ndim);
/// The same for a Python shape (a sequence of int).
Aval *internAval(DType dtype, bool weakType, _object *shape);
/// The interned aval of an object with shape, dtype and weak_type attributes
/// (weak_type may be missing).
Aval *internAvalOf(_object *object);
/// The Python aval from the factory set by `set_aval_factory`; borrowed.
_object *pyAvalOf(Aval *aval);
/// Dtype and shape, for messages: "float32[2,3]".
std::string describe(const Aval *aval);

} // namespace lingon

#endif // LINGON_RUNTIME_AVAL_H
