//===- leaves.cpp - What a Python object is as an array -------------------===//
#include "leaves.h"
#include "module.h"
#include "numpy_api.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <climits>

namespace nb = nanobind;

namespace lingon {

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

namespace {
struct ThreadSettings {
  bool tracing = false;
  int8_t x64 = -1; ///< -1: as the global setting
  int64_t fingerprint = 0;
  int32_t device = -1; ///< -1: as the global setting
};
} // namespace

static thread_local ThreadSettings threadSettings;
static int64_t globalFingerprint = 0;
static bool globalX64 = false;
static int32_t globalDevice = 0;

int32_t defaultDeviceId() {
  return threadSettings.device < 0 ? globalDevice : threadSettings.device;
}

bool isTracing() { return threadSettings.tracing; }

CallSettings callSettings() {
  const ThreadSettings &local = threadSettings;
  return {globalFingerprint, local.fingerprint,
          local.x64 < 0 ? globalX64 : local.x64 != 0};
}

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

DType canonicalDType(DType dtype, bool x64) {
  if (x64)
    return dtype;
  switch (dtype) {
  case DType::Int64:
    return DType::Int32;
  case DType::UInt64:
    return DType::UInt32;
  case DType::Float64:
    return DType::Float32;
  case DType::Complex128:
    return DType::Complex64;
  default:
    return dtype;
  }
}

/// The avals of Python numbers, interned once and kept.
static Aval *scalarAval(DType wide, bool weak, bool x64) {
  static Aval *cache[numDTypes][2] = {};
  DType dtype = canonicalDType(wide, x64);
  Aval *&aval = cache[size_t(dtype)][weak];
  if (!aval && !(aval = internAval(dtype, weak, nullptr, 0)))
    return nullptr;
  aval->retain();
  return aval;
}

static bool classifyInt(PyObject *leaf, bool x64, LeafKind &kind, Aval *&aval) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(leaf, &overflow);
  if (value == -1 && !overflow && PyErr_Occurred())
    return false;
  if (overflow || (!x64 && (value < INT32_MIN || value > INT32_MAX))) {
    kind = LeafKind::Other; // Python code raises, with the argument's name
    return true;
  }
  kind = LeafKind::Scalar;
  return (aval = scalarAval(DType::Int64, true, x64)) != nullptr;
}

/// The dtype of a NumPy scalar; Invalid also on failure, with an error set.
static DType dtypeOfScalar(PyObject *scalar) {
  PyArray_Descr *descr = PyArray_DescrFromScalar(scalar);
  if (!descr)
    return DType::Invalid;
  DType dtype = dtypeOfDescr(reinterpret_cast<PyObject *>(descr));
  Py_DECREF(descr);
  return dtype;
}

static bool classifyNumpyScalar(PyObject *leaf, bool x64, LeafKind &kind,
                                Aval *&aval) {
  DType dtype = dtypeOfScalar(leaf);
  if (dtype == DType::Invalid)
    return !PyErr_Occurred();
  kind = LeafKind::Scalar;
  return (aval = scalarAval(dtype, false, x64)) != nullptr;
}

bool classifyLeaf(PyObject *leaf, bool x64, LeafKind &kind, Aval *&aval) {
  kind = LeafKind::Other;
  aval = nullptr;
  PyTypeObject *type = Py_TYPE(leaf);
  if (type == arrayType) {
    kind = LeafKind::Array;
    aval = asArray(leaf)->aval;
    aval->retain();
    return true;
  }
  if (type == &PyArray_Type) {
    auto *ndarray = reinterpret_cast<PyArrayObject *>(leaf);
    DType dtype =
        dtypeOfDescr(reinterpret_cast<PyObject *>(PyArray_DESCR(ndarray)));
    if (dtype == DType::Invalid)
      return true;
    kind = LeafKind::Ndarray;
    int64_t dims[maxRank];
    size_t ndim = size_t(PyArray_NDIM(ndarray));
    for (size_t i = 0; i < ndim; ++i)
      dims[i] = PyArray_DIM(ndarray, int(i));
    aval = internAval(canonicalDType(dtype, x64), false, dims, ndim);
    return aval != nullptr;
  }
  if (type == &PyLong_Type)
    return classifyInt(leaf, x64, kind, aval);
  if (type == &PyBool_Type) {
    kind = LeafKind::Scalar;
    return (aval = scalarAval(DType::Bool, false, x64)) != nullptr;
  }
  if (PyArray_IsScalar(leaf, Generic)) // before float: np.float64 is a float
    return classifyNumpyScalar(leaf, x64, kind, aval);
  if (PyFloat_Check(leaf)) {
    kind = LeafKind::Scalar;
    return (aval = scalarAval(DType::Float64, true, x64)) != nullptr;
  }
  if (PyComplex_Check(leaf)) {
    kind = LeafKind::Scalar;
    return (aval = scalarAval(DType::Complex128, true, x64)) != nullptr;
  }
  if (PyLong_Check(leaf))
    return classifyInt(leaf, x64, kind, aval);
  return true;
}

PyObject *leafToArray(PyObject *leaf, LeafKind kind, const Aval *aval,
                      int32_t deviceId) {
  switch (kind) {
  case LeafKind::Array:
    Py_INCREF(leaf);
    return leaf;
  case LeafKind::Scalar:
    if (PyArray_IsScalar(leaf, Generic) && dtypeOfScalar(leaf) != aval->dtype) {
      PyObject *descr = descrOf(aval->dtype);
      Py_INCREF(descr); // taken over
      PyObject *converted =
          PyArray_FromScalar(leaf, reinterpret_cast<PyArray_Descr *>(descr));
      if (!converted)
        return nullptr;
      PyObject *array =
          arrayFromNumpy(converted, aval->weakType, /*copy=*/false, deviceId);
      Py_DECREF(converted);
      return array;
    }
    return arrayFromScalar(leaf, aval->dtype, aval->weakType, deviceId);
  case LeafKind::Ndarray: {
    auto *ndarray = reinterpret_cast<PyArrayObject *>(leaf);
    PyObject *given = reinterpret_cast<PyObject *>(PyArray_DESCR(ndarray));
    if (dtypeOfDescr(given) == aval->dtype)
      return arrayFromNumpy(leaf, aval->weakType, /*copy=*/false, deviceId);
    PyObject *descr = descrOf(aval->dtype);
    Py_INCREF(descr); // the cast takes it over
    PyObject *converted = PyArray_CastToType(
        ndarray, reinterpret_cast<PyArray_Descr *>(descr), 0);
    if (!converted)
      return nullptr;
    PyObject *array =
        arrayFromNumpy(converted, aval->weakType, /*copy=*/false, deviceId);
    Py_DECREF(converted);
    return array;
  }
  case LeafKind::Other:
    break;
  }
  PyErr_Format(PyExc_TypeError, "%R cannot be converted to an array.", leaf);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

static nb::object leafAval(nb::handle leaf) {
  LeafKind kind;
  Aval *aval;
  if (!classifyLeaf(leaf.ptr(), callSettings().x64, kind, aval))
    throw nb::python_error();
  if (!aval)
    return nb::none();
  nb::object result =
      nb::make_tuple(nb::borrow(aval->shape), nb::borrow(descrOf(aval->dtype)),
                     aval->weakType);
  aval->release();
  return result;
}

static ModuleInit registerLeaves([](nb::module_ &m) {
  m.def(
      "set_tracing", [](bool tracing) { threadSettings.tracing = tracing; },
      nb::arg("tracing"),
      "Says whether this thread traces a function at the moment: jitted "
      "functions then go to Python at once.");
  m.def("is_tracing", &isTracing, "What set_tracing said in this thread.");
  m.def(
      "set_global_config",
      [](int64_t fingerprint, bool x64) {
        globalFingerprint = fingerprint;
        globalX64 = x64;
      },
      nb::arg("fingerprint"), nb::arg("x64"),
      "The settings of all threads: a number that stands for every setting "
      "that affects what a call does (equal numbers: equal settings), and "
      "whether 64-bit types are kept.");
  m.def(
      "set_thread_config",
      [](int64_t fingerprint, std::optional<bool> x64) {
        threadSettings.fingerprint = fingerprint;
        threadSettings.x64 = x64 ? int8_t(*x64) : int8_t(-1);
      },
      nb::arg("fingerprint"), nb::arg("x64").none(),
      "What this thread overrides: a number that stands for the overrides (0: "
      "none), and its x64 setting or None for the global one.");
  m.def(
      "set_default_device",
      [](int32_t global, int32_t thread) {
        globalDevice = global;
        threadSettings.device = thread;
      },
      nb::arg("global_device"), nb::arg("thread_device"),
      "Numbers of the device that new arrays are on: of all threads, and what "
      "this thread has instead (-1: nothing).");
  m.def("default_device_id", &defaultDeviceId,
        "Number of the device that new arrays of this thread are on.");
  m.def("leaf_aval", &leafAval, nb::arg("leaf").none(),
        "(shape, dtype, weak_type) that an argument has in a compiled call, or "
        "None where Python code must decide.");
});

} // namespace lingon
