//===- leaves.h - What a Python object is as an array ---------------------===//
//
// Classification of the leaves that users pass to functions, and their
// conversion to arrays. All functions need the GIL.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_LEAVES_H
#define LINGON_RUNTIME_LEAVES_H

#include "array.h"

namespace lingon {

enum class LeafKind : uint8_t {
  Array,  ///< an ArrayImpl
  Scalar, ///< a Python or NumPy number
  Ndarray,
  /// Anything else: tracers, strings, subclasses of ndarray, dtypes that arrays
  /// cannot hold, integers out of range. Python code decides about it.
  Other,
};

/// The dtype that values of `dtype` get: 64-bit types become 32-bit ones unless
/// `x64` is set.
DType canonicalDType(DType dtype, bool x64);

/// Classifies an object. `aval` receives a new reference unless the kind is
/// Other. False with a Python error set on failure.
bool classifyLeaf(PyObject *leaf, bool x64, LeafKind &kind, Aval *&aval);

/// The array of a classified leaf: a new reference, or null with an error set.
/// Suitable memory of an ndarray is borrowed.
PyObject *leafToArray(PyObject *leaf, LeafKind kind, const Aval *aval,
                      int32_t deviceId);

/// What decides, beside its arguments, how a function call is carried out.
struct CallSettings {
  int64_t globalFingerprint;
  int64_t threadFingerprint;
  bool x64;
};
/// The settings of this thread.
CallSettings callSettings();
/// Whether this thread traces a function at the moment.
bool isTracing();

/// Number of the device that new arrays of this thread are on.
int32_t defaultDeviceId();

} // namespace lingon

#endif // LINGON_RUNTIME_LEAVES_H
