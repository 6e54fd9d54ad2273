//===- dtypes.cpp - dtype codes and their NumPy counterparts --------------===//
#include "dtypes.h"
#include "module.h"
#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <vector>

namespace nb = nanobind;

namespace lingon {
namespace {

struct Row {
  const char *name;
  uint8_t itemsize;
  bool fromMlDtypes;
};

constexpr Row rows[numDTypes] = {
    {"bool", 1, false},           {"int4", 1, true},
    {"uint4", 1, true},           {"int8", 1, false},
    {"int16", 2, false},          {"int32", 4, false},
    {"int64", 8, false},          {"uint8", 1, false},
    {"uint16", 2, false},         {"uint32", 4, false},
    {"uint64", 8, false},         {"float16", 2, false},
    {"bfloat16", 2, true},        {"float32", 4, false},
    {"float64", 8, false},        {"complex64", 8, false},
    {"complex128", 16, false},    {"float8_e4m3fn", 1, true},
    {"float8_e5m2", 1, true},     {"float8_e4m3b11fnuz", 1, true},
    {"float8_e4m3fnuz", 1, true}, {"float8_e5m2fnuz", 1, true},
    {"float8_e3m4", 1, true},     {"float8_e4m3", 1, true},
    {"float8_e8m0fnu", 1, true},
};

PyObject *descrs[numDTypes];
/// Code by NumPy type number; NumPy hands out numbers for user types from 256.
std::vector<DType> byTypeNum;

} // namespace

size_t itemsizeOf(DType dtype) {
  return rows[static_cast<unsigned>(dtype)].itemsize;
}

const char *nameOf(DType dtype) {
  return rows[static_cast<unsigned>(dtype)].name;
}

PyObject *descrOf(DType dtype) { return descrs[static_cast<unsigned>(dtype)]; }

DType dtypeOfDescr(PyObject *object) {
  auto *descr = reinterpret_cast<PyArray_Descr *>(object);
  unsigned num = static_cast<unsigned>(descr->type_num);
  if (num >= byTypeNum.size() || PyDataType_ISBYTESWAPPED(descr))
    return DType::Invalid;
  return byTypeNum[num];
}

void setInvalidDTypeError(PyObject *descr) {
  PyErr_Format(PyExc_TypeError,
               "A value with dtype %S is not a valid array: only arrays of "
               "numeric types in native byte order are supported.",
               descr);
}

DType dtypeFromObject(PyObject *object) {
  if (PyLong_CheckExact(object)) {
    long code = PyLong_AsLong(object);
    if (code == -1 && PyErr_Occurred())
      return DType::Invalid;
    if (code < 0 || code >= static_cast<long>(numDTypes)) {
      PyErr_Format(PyExc_TypeError,
                   "dtype code must be between 0 and %u, got %ld",
                   numDTypes - 1, code);
      return DType::Invalid;
    }
    return static_cast<DType>(code);
  }
  PyArray_Descr *descr = nullptr;
  if (PyArray_DescrCheck(object)) {
    Py_INCREF(object);
    descr = reinterpret_cast<PyArray_Descr *>(object);
  } else if (!PyArray_DescrConverter(object, &descr)) {
    return DType::Invalid;
  }
  DType dtype = dtypeOfDescr(reinterpret_cast<PyObject *>(descr));
  if (dtype == DType::Invalid)
    setInvalidDTypeError(reinterpret_cast<PyObject *>(descr));
  Py_DECREF(descr);
  return dtype;
}

bool initDTypes() {
  PyObject *mlDtypes = PyImport_ImportModule("ml_dtypes");
  if (!mlDtypes)
    return false;
  for (unsigned code = 0; code < numDTypes; ++code) {
    const Row &row = rows[code];
    PyObject *spec = row.fromMlDtypes
                         ? PyObject_GetAttrString(mlDtypes, row.name)
                         : PyUnicode_FromString(row.name);
    PyArray_Descr *descr = nullptr;
    if (!spec || !PyArray_DescrConverter(spec, &descr)) {
      Py_XDECREF(spec);
      Py_DECREF(mlDtypes);
      return false;
    }
    Py_DECREF(spec);
    descrs[code] = reinterpret_cast<PyObject *>(descr);
    unsigned num = static_cast<unsigned>(descr->type_num);
    if (num >= byTypeNum.size())
      byTypeNum.resize(num + 1, DType::Invalid);
    byTypeNum[num] = static_cast<DType>(code);
  }
  Py_DECREF(mlDtypes);
  // `long` and `long long` (and `int`, where it has the size of `long`) are
  // different type numbers of NumPy with one meaning.
  auto alias = [](int num, bool isSigned, size_t size) {
    DType s = size == 8 ? DType::Int64 : DType::Int32;
    DType u = size == 8 ? DType::UInt64 : DType::UInt32;
    byTypeNum[num] = isSigned ? s : u;
  };
  alias(NPY_LONG, true, sizeof(long));
  alias(NPY_ULONG, false, sizeof(long));
  alias(NPY_LONGLONG, true, sizeof(long long));
  alias(NPY_ULONGLONG, false, sizeof(long long));
  alias(NPY_INT, true, sizeof(int));
  alias(NPY_UINT, false, sizeof(int));
  return true;
}

static ModuleInit registerDTypes([](nb::module_ &m) {
  m.def(
      "dtype_code",
      [](nb::handle dtype) {
        DType code = dtypeFromObject(dtype.ptr());
        if (code == DType::Invalid)
          throw nb::python_error();
        return static_cast<int>(code);
      },
      nb::arg("dtype"),
      "The code of a dtype (anything np.dtype accepts). TypeError for a dtype "
      "that arrays cannot hold.");
  m.def(
      "dtype_from_code",
      [](int code) {
        if (code < 0 || code >= static_cast<int>(numDTypes))
          throw nb::value_error("dtype_from_code: no such dtype code");
        return nb::borrow(descrs[code]);
      },
      nb::arg("code"), "The np.dtype object of a code.");
  nb::list names;
  for (const Row &row : rows)
    names.append(nb::str(row.name));
  m.attr("dtype_names") = nb::tuple(names);
});

} // namespace lingon
