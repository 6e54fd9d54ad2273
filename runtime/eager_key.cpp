//===- eager_key.cpp - what calls of the library are looked up by ---------===//
#include "eager.h"
#include "module.h"
#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <climits>
#include <cstring>

namespace nb = nanobind;

namespace lingon {
namespace eager {
namespace {

/// Types of objects that are the same value if they are the same object, and
/// the type of typed keys with the name of the attribute that is their words.
std::unordered_set<PyTypeObject *> &identityTypes() {
  static auto *set = new std::unordered_set<PyTypeObject *>();
  return *set;
}
PyTypeObject *keyType = nullptr;
PyObject *keyAttribute = nullptr;

enum Tag : uint64_t {
  TagArray = 1,
  TagScalar,
  TagNdarray,
  TagKey,
  TagInt,
  TagBool,
  TagFloat,
  TagNone,
  TagEllipsis,
  TagTuple,
  TagList,
  TagSlice,
  TagObject,
  TagName,
};

Outcome addArray(Key &key, PyObject *object, Tag tag, bool owned) {
  ArrayObject *array = asArray(object);
  if (array->layout || !array->buffer || key.leaves.size() >= maxLeaves) {
    if (owned)
      Py_DECREF(object);
    return Outcome::Unknown;
  }
  key.leaves.push_back({object, LeafKind::Array, array->aval, owned});
  key.words.push_back(tag);
  key.words.push_back(reinterpret_cast<uintptr_t>(array->aval));
  key.large |= array->aval->size > largeSize;
  if (array->committed) {
    if (key.committed && key.deviceId != array->deviceId)
      return Outcome::Unknown; // Python code raises
    key.deviceId = array->deviceId;
    key.committed = key.haveDevice = true;
  } else if (!key.haveDevice) {
    key.deviceId = array->deviceId;
    key.haveDevice = true;
  }
  return Outcome::Known;
}

Outcome addNumber(Key &key, PyObject *object, bool x64) {
  if (key.leaves.size() >= maxLeaves)
    return Outcome::Unknown;
  LeafKind kind;
  Aval *aval;
  if (!classifyLeaf(object, x64, kind, aval))
    return Outcome::Failed;
  if (kind == LeafKind::Other)
    return Outcome::Unknown;
  key.leaves.push_back({object, kind, aval, false});
  key.words.push_back(kind == LeafKind::Ndarray ? TagNdarray : TagScalar);
  key.words.push_back(reinterpret_cast<uintptr_t>(aval));
  key.large |= aval->size > largeSize;
  return Outcome::Known;
}

void addObject(Key &key, PyObject *object, Tag tag) {
  key.words.push_back(tag);
  key.words.push_back(reinterpret_cast<uintptr_t>(object));
  key.objects.push_back(object);
}

/// `numbers`: which Python numbers here are operands.
/// `numpyNumbers`: whether NumPy's are.
Outcome add(Key &key, PyObject *object, Numbers numbers, bool numpyNumbers,
            bool top, bool x64) {
  PyTypeObject *type = Py_TYPE(object);
  if (type == arrayType)
    return addArray(key, object, TagArray, false);
  if (type == &PyLong_Type) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow)
      return Outcome::Unknown;
    if (numbers == Numbers::All && value >= INT32_MIN && value <= INT32_MAX)
      return addNumber(key, object, x64);
    key.words.push_back(TagInt);
    key.words.push_back(uint64_t(value));
    return Outcome::Known;
  }
  if (type == &PyFloat_Type) {
    double value = PyFloat_AS_DOUBLE(object);
    if (numbers != Numbers::None && value > -3e38 && value < 3e38)
      return addNumber(key, object, x64);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    key.words.push_back(TagFloat);
    key.words.push_back(bits);
    return Outcome::Known;
  }
  if (object == Py_None) {
    key.words.push_back(TagNone);
    return Outcome::Known;
  }
  if (type == &PyBool_Type) {
    if (numbers == Numbers::All)
      return addNumber(key, object, x64);
    key.words.push_back(TagBool);
    key.words.push_back(object == Py_True);
    return Outcome::Known;
  }
  if (type == &PyTuple_Type || type == &PyList_Type) {
    Py_ssize_t n = Py_SIZE(object);
    key.words.push_back(type == &PyTuple_Type ? TagTuple : TagList);
    key.words.push_back(uint64_t(n));
    size_t before = key.leaves.size();
    int64_t product = 1;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject *item = PySequence_Fast_GET_ITEM(object, i);
      Outcome outcome = add(key, item, Numbers::None, false, false, x64);
      if (outcome != Outcome::Known)
        return outcome;
      // A shape, maybe.
      if (key.leaves.size() == before && product <= largeSize &&
          PyLong_CheckExact(item)) {
        int64_t extent = int64_t(key.words.back());
        product = extent > largeSize ? extent : product * extent;
      }
    }
    if (n > 0 && top && key.leaves.size() == before)
      key.large |= product > largeSize;
    return Outcome::Known;
  }
  if (type == &PyUnicode_Type) {
    Py_INCREF(object);
    if (!PyUnicode_CHECK_INTERNED(object))
      PyUnicode_InternInPlace(&object);
    key.owned.push_back(object);
    addObject(key, object, TagObject);
    return Outcome::Known;
  }
  if (type == &PySlice_Type) {
    key.words.push_back(TagSlice);
    auto *slice = reinterpret_cast<PySliceObject *>(object);
    for (PyObject *part : {slice->start, slice->stop, slice->step}) {
      Outcome outcome = add(key, part, Numbers::None, false, false, x64);
      if (outcome != Outcome::Known)
        return outcome;
    }
    return Outcome::Known;
  }
  if (object == Py_Ellipsis) {
    key.words.push_back(TagEllipsis);
    return Outcome::Known;
  }
  if (type == keyType) {
    PyObject *words = PyObject_GetAttr(object, keyAttribute);
    if (!words)
      return Outcome::Failed;
    if (!isArray(words)) {
      Py_DECREF(words);
      return Outcome::Unknown;
    }
    return addArray(key, words, TagKey, true);
  }
  // What is known of a single number may decide what is computed.
  if (type == &PyArray_Type &&
      PyArray_NDIM(reinterpret_cast<PyArrayObject *>(object)) > 0)
    return addNumber(key, object, x64);
  if (numpyNumbers && PyArray_IsScalar(object, Generic))
    return addNumber(key, object, x64);
  if (PyTuple_Check(object)) { // a named one
    size_t before = key.leaves.size();
    addObject(key, reinterpret_cast<PyObject *>(type), TagObject);
    key.words.push_back(uint64_t(Py_SIZE(object)));
    for (Py_ssize_t i = 0; i < Py_SIZE(object); ++i) {
      Outcome outcome = add(key, PyTuple_GET_ITEM(object, i), Numbers::None,
                            false, false, x64);
      if (outcome != Outcome::Known)
        return outcome;
    }
    return key.leaves.size() == before ? Outcome::Known : Outcome::Unknown;
  }
  if (PyType_Check(object) || PyArray_DescrCheck(object) ||
      identityTypes().count(type) || identityTypes().count(Py_TYPE(type))) {
    addObject(key, object, TagObject);
    return Outcome::Known;
  }
  return Outcome::Unknown;
}

/// Which Python numbers may be operands: those that the arrays among the
/// arguments, and dtypes that are asked for, take on without a second rounding
/// or a check of their range.
Numbers takeNumbers(FunctionObject *self, PyObject *const *args, size_t count) {
  bool any = false;
  for (size_t i = 0; self->numbers != Numbers::None && i < count; ++i) {
    if (self->numbers == Numbers::Floats &&
        (PyType_Check(args[i]) || PyArray_DescrCheck(args[i])))
      return Numbers::None;
    if (!isArray(args[i]))
      continue;
    any = true;
    switch (asArray(args[i])->aval->dtype) {
    case DType::Bool:
    case DType::Int32:
    case DType::Int64:
    case DType::Float32:
    case DType::Float64:
      break;
    case DType::UInt32: // words of keys
      if (self->numbers == Numbers::Floats)
        break;
      return Numbers::None;
    default:
      return Numbers::None;
    }
  }
  return any || self->numbers == Numbers::Floats ? self->numbers
                                                 : Numbers::None;
}

} // namespace

Outcome makeKey(FunctionObject *self, Key &key, PyObject *const *args,
                size_t numArgs, PyObject *kwnames) {
  CallSettings settings = callSettings();
  size_t count = numArgs + (kwnames ? size_t(PyTuple_GET_SIZE(kwnames)) : 0);
  Numbers numbers = takeNumbers(self, args, count);
  bool numpyNumbers = self->numbers == Numbers::All;
  key.words.push_back(uint64_t(settings.globalFingerprint) << 1 | settings.x64);
  key.words.push_back(uint64_t(settings.threadFingerprint));
  for (size_t i = 0; i < numArgs; ++i) {
    Outcome outcome =
        add(key, args[i], numbers, numpyNumbers, true, settings.x64);
    if (outcome != Outcome::Known)
      return outcome;
  }
  if (kwnames)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject *name = PyTuple_GET_ITEM(kwnames, k);
      if (!PyUnicode_CHECK_INTERNED(name))
        return Outcome::Unknown;
      addObject(key, name, TagName);
      Outcome outcome = add(key, args[numArgs + size_t(k)], numbers,
                            numpyNumbers, true, settings.x64);
      if (outcome != Outcome::Known)
        return outcome;
    }
  if (self->sizes)
    for (size_t i = 0; i < numArgs + (kwnames ? size_t(Py_SIZE(kwnames)) : 0);
         ++i)
      if (PyLong_CheckExact(args[i]))
        key.large |=
            PyLong_AsLong(args[i]) > largeSize; // it fits: it has a key
  uint64_t hash = key.words.size();
  for (uint64_t word : key.words)
    pytree::hashCombine(hash, word);
  key.hash = hash;
  return Outcome::Known;
}

static ModuleInit registerEagerKeys([](nb::module_ &m) {
  m.def(
      "set_identity_type",
      [](nb::handle type) {
        identityTypes().insert(
            reinterpret_cast<PyTypeObject *>(type.inc_ref().ptr()));
      },
      nb::arg("type"),
      "Objects of this type, or of one that it is the type of, are equal for "
      "EagerFunction if they are the same object. They must be immutable.");
  m.def(
      "set_key_type",
      [](nb::handle type, nb::handle attribute) {
        keyType = reinterpret_cast<PyTypeObject *>(type.inc_ref().ptr());
        keyAttribute = attribute.inc_ref().ptr();
      },
      nb::arg("type"), nb::arg("attribute"),
      "The type of typed keys, and the attribute that is their words.");
});

} // namespace eager
} // namespace lingon
