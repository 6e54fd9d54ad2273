//===- dtypes.h - dtype codes and their NumPy counterparts ----------------===//
#ifndef LINGON_RUNTIME_DTYPES_H
#define LINGON_RUNTIME_DTYPES_H

#include <cstddef>
#include <cstdint>

struct _object;
struct _PyArray_Descr;

namespace lingon {

/// The element types of arrays. The numbers are part of the kernel ABI and of
/// the on-disk cache: append, never renumber.
enum class DType : uint8_t {
  Bool = 0,
  Int4 = 1,
  UInt4 = 2,
  Int8 = 3,
  Int16 = 4,
  Int32 = 5,
  Int64 = 6,
  UInt8 = 7,
  UInt16 = 8,
  UInt32 = 9,
  UInt64 = 10,
  Float16 = 11,
  BFloat16 = 12,
  Float32 = 13,
  Float64 = 14,
  Complex64 = 15,
  Complex128 = 16,
  Float8E4M3FN = 17,
  Float8E5M2 = 18,
  Float8E4M3B11FNUZ = 19,
  Float8E4M3FNUZ = 20,
  Float8E5M2FNUZ = 21,
  Float8E3M4 = 22,
  Float8E4M3 = 23,
  Float8E8M0FNU = 24,
  Invalid = 255,
};
constexpr unsigned numDTypes = 25;

/// Bytes per stored element (int4 and bool take one byte).
size_t itemsizeOf(DType dtype);
/// The NumPy name, e.g. "bfloat16".
const char *nameOf(DType dtype);

/// The cached np.dtype object of `dtype`, a borrowed reference.
_object *descrOf(DType dtype);
/// The code of a NumPy descriptor; Invalid when arrays cannot hold it (strings,
/// objects, long double, foreign byte order). Sets no Python error.
DType dtypeOfDescr(_object *descr);
/// The code of anything np.dtype() accepts, or of an int code. On failure sets
/// TypeError and returns Invalid.
DType dtypeFromObject(_object *object);
/// Sets the TypeError for a dtype that arrays cannot hold.
void setInvalidDTypeError(_object *descr);

/// Fills the tables; imports ml_dtypes. Returns false with a Python error set.
bool initDTypes();

} // namespace lingon

#endif // LINGON_RUNTIME_DTYPES_H
