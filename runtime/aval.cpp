//===- aval.cpp - interned shape, dtype and weak type ---------------------===//
#include "aval.h"
#include "module.h"
#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <cstring>
#include <new>
#include <vector>

namespace nb = nanobind;

namespace lingon {
namespace {

/// Unreferenced avals stay, for arrays come and go with the same few shapes,
/// until the table reaches this size.
constexpr size_t sweepAt = 16384;

/// Open addressing with linear probing; size is a power of two.
std::vector<Aval *> table(1024, nullptr);
size_t used = 0;
size_t sweepThreshold = sweepAt;
PyObject *avalFactory = nullptr;

uint64_t mix(uint64_t h, uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 32);
}

void insertUnchecked(Aval *aval) {
  size_t mask = table.size() - 1;
  size_t slot = aval->hash & mask;
  while (table[slot])
    slot = (slot + 1) & mask;
  table[slot] = aval;
}

/// Removes unreferenced avals and sizes the table to at most half load.
void rebuild() {
  std::vector<Aval *> keep, drop;
  bool sweep = used >= sweepThreshold;
  for (Aval *aval : table)
    if (aval)
      (sweep && aval->refs == 0 ? drop : keep).push_back(aval);
  size_t size = 1024;
  while (size < keep.size() * 4)
    size *= 2;
  table.assign(size, nullptr);
  for (Aval *aval : keep)
    insertUnchecked(aval);
  used = keep.size();
  if (sweep)
    sweepThreshold = used * 2 > sweepAt ? used * 2 : sweepAt;
  // Last, since a finalizer may intern again.
  for (Aval *aval : drop) {
    PyObject *shape = aval->shape, *pyAval = aval->pyAval;
    free(aval);
    Py_DECREF(shape);
    Py_XDECREF(pyAval);
  }
}

Aval *create(uint64_t hash, DType dtype, bool weakType, const int64_t *dims,
             size_t ndim) {
  int64_t nbytes = int64_t(itemsizeOf(dtype)), size = 1;
  bool empty = false, overflow = false;
  for (size_t i = 0; i < ndim; ++i) {
    if (dims[i] < 0) {
      PyErr_Format(PyExc_ValueError,
                   "shape must be non-negative, got %lld in dimension %zu",
                   (long long)dims[i], i);
      return nullptr;
    }
    if (dims[i] == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(nbytes, dims[i], &nbytes);
    size *= overflow ? 1 : dims[i];
  }
  if (overflow && !empty) {
    PyErr_SetString(PyExc_ValueError,
                    "array is too big: its size in bytes exceeds 2**63 - 1");
    return nullptr;
  }
  if (empty)
    nbytes = size = 0;
  PyObject *shape = PyTuple_New(Py_ssize_t(ndim));
  if (!shape)
    return nullptr;
  for (size_t i = 0; i < ndim; ++i) {
    PyObject *dim = PyLong_FromLongLong(dims[i]);
    if (!dim) {
      Py_DECREF(shape);
      return nullptr;
    }
    PyTuple_SET_ITEM(shape, Py_ssize_t(i), dim);
  }
  void *memory = malloc(sizeof(Aval) + sizeof(int64_t) * ndim);
  if (!memory) {
    Py_DECREF(shape);
    PyErr_NoMemory();
    return nullptr;
  }
  Aval *aval = new (memory) Aval{};
  aval->hash = hash;
  aval->refs = 1;
  aval->size = size;
  aval->nbytes = nbytes;
  aval->shape = shape;
  aval->dtype = dtype;
  aval->weakType = weakType;
  aval->ndim = uint32_t(ndim);
  for (size_t i = 0; i < ndim; ++i)
    aval->dims[i] = dims[i];
  return aval;
}

} // namespace

Aval *internAval(DType dtype, bool weakType, const int64_t *dims, size_t ndim) {
  if (ndim > maxRank) {
    PyErr_Format(PyExc_ValueError,
                 "arrays have at most %zu dimensions, got %zu", maxRank, ndim);
    return nullptr;
  }
  uint64_t hash = mix(uint64_t(dtype) * 2 + weakType, ndim);
  for (size_t i = 0; i < ndim; ++i)
    hash = mix(hash, uint64_t(dims[i]));
  size_t mask = table.size() - 1;
  for (size_t slot = hash & mask; Aval *aval = table[slot];
       slot = (slot + 1) & mask) {
    if (aval->hash == hash && aval->dtype == dtype &&
        aval->weakType == weakType && aval->ndim == ndim &&
        (ndim == 0 || memcmp(aval->dims, dims, ndim * sizeof(int64_t)) == 0)) {
      aval->retain();
      return aval;
    }
  }
  Aval *aval = create(hash, dtype, weakType, dims, ndim);
  if (!aval)
    return nullptr;
  insertUnchecked(aval);
  if (++used * 2 > table.size() || used >= sweepThreshold)
    rebuild();
  return aval;
}

Aval *internAval(DType dtype, bool weakType, PyObject *shape) {
  PyObject *fast =
      PySequence_Fast(shape, "shape must be a sequence of integers");
  if (!fast)
    return nullptr;
  size_t ndim = size_t(PySequence_Fast_GET_SIZE(fast));
  if (ndim > maxRank) {
    Py_DECREF(fast);
    return internAval(dtype, weakType, nullptr, ndim); // sets the error
  }
  int64_t dims[maxRank];
  for (size_t i = 0; i < ndim; ++i) {
    PyObject *item = PySequence_Fast_GET_ITEM(fast, Py_ssize_t(i));
    dims[i] = PyNumber_AsSsize_t(item, PyExc_ValueError);
    if (dims[i] == -1 && PyErr_Occurred()) {
      Py_DECREF(fast);
      return nullptr;
    }
  }
  Py_DECREF(fast);
  return internAval(dtype, weakType, dims, ndim);
}

Aval *internAvalOf(PyObject *object) {
  PyObject *dtypeObject = PyObject_GetAttrString(object, "dtype");
  if (!dtypeObject)
    return nullptr;
  DType dtype = dtypeFromObject(dtypeObject);
  Py_DECREF(dtypeObject);
  if (dtype == DType::Invalid)
    return nullptr;
  bool weakType = false;
  if (PyObject *weak = PyObject_GetAttrString(object, "weak_type")) {
    int truth = PyObject_IsTrue(weak);
    Py_DECREF(weak);
    if (truth < 0)
      return nullptr;
    weakType = truth;
  } else if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear(); // a ShapeDtypeStruct or an ndarray: not weakly typed
  } else {
    return nullptr;
  }
  PyObject *shape = PyObject_GetAttrString(object, "shape");
  if (!shape)
    return nullptr;
  Aval *aval = internAval(dtype, weakType, shape);
  Py_DECREF(shape);
  return aval;
}

std::string describe(const Aval *aval) {
  std::string text = nameOf(aval->dtype);
  text += '[';
  for (uint32_t i = 0; i < aval->ndim; ++i) {
    if (i)
      text += ',';
    text += std::to_string(aval->dims[i]);
  }
  return text + ']';
}

PyObject *pyAvalOf(Aval *aval) {
  if (aval->pyAval)
    return aval->pyAval;
  if (!avalFactory) {
    PyErr_SetString(PyExc_RuntimeError,
                    "no aval factory is set: import lingon before using .aval");
    return nullptr;
  }
  PyObject *made = PyObject_CallFunction(avalFactory, "OOO", aval->shape,
                                         descrOf(aval->dtype),
                                         aval->weakType ? Py_True : Py_False);
  if (!made)
    return nullptr;
  if (aval->pyAval) // made meanwhile, by the factory itself or another thread
    Py_DECREF(made);
  else
    aval->pyAval = made;
  return aval->pyAval;
}

static ModuleInit registerAvals([](nb::module_ &m) {
  m.def(
      "set_aval_factory",
      [](nb::object factory) {
        Py_XDECREF(avalFactory);
        avalFactory = factory.release().ptr();
        for (Aval *aval : table)
          if (aval)
            Py_CLEAR(aval->pyAval);
      },
      nb::arg("factory"),
      "Sets factory(shape, dtype, weak_type), which makes what `.aval` "
      "returns; "
      "it is called once for each distinct aval.");
});

} // namespace lingon
