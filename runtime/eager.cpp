//===- eager.cpp - calls of the library outside of any transformation -----===//
//
// A library function is an EagerFunction object. A call whose arguments are
// arrays, numbers and values that can be compared without running Python code
// has a key. The first calls of a key run the Python function; then Python is
// asked for a program that computes the same from the arrays (a Plan, or a
// compiled program), which serves all further calls. A call without a key, or
// while the thread traces, is a call of the Python function.
//
//===----------------------------------------------------------------------===//
#include "leaves.h"
#include "module.h"
#include "numpy_api.h"
#include "plan.h"
#include "pytree.h"

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <climits>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace nb = nanobind;

namespace lingon {
namespace eager {
namespace {

constexpr size_t maxLeaves = 32;
constexpr size_t maxEntries = 2048;
/// Calls of one key that are made before a program is asked for, which costs as
/// much as many calls do.
constexpr uint32_t callsBefore = 3;
/// A call that names, or has an argument of, more elements than this asks for a
/// program at once: it will be a compiled one.
constexpr int64_t largeSize = 1 << 16;

/// Types of objects that are the same value if they are the same object, and
/// the type of typed keys with the name of the attribute that is their words.
std::unordered_set<PyTypeObject *> &identityTypes() {
  static auto *set = new std::unordered_set<PyTypeObject *>();
  return *set;
}
PyTypeObject *keyType = nullptr;
PyObject *keyAttribute = nullptr;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

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

struct Leaf {
  PyObject
      *object; ///< borrowed from the call; of a typed key: its words, owned
  LeafKind kind;
  Aval *aval; ///< owned unless it is an array's
  bool ownsObject;
};

/// The key of one call. Words that stand for objects are their addresses, which
/// an entry keeps alive.
struct Key {
  std::vector<uint64_t> words;
  std::vector<Leaf> leaves;
  std::vector<PyObject *> objects; ///< borrowed
  std::vector<PyObject *> owned;   ///< some of them
  uint64_t hash = 0;
  int32_t deviceId = 0;
  bool haveDevice = false, committed = false, large = false;

  void clear() {
    words.clear();
    objects.clear();
    for (Leaf &leaf : leaves) {
      if (leaf.kind != LeafKind::Array)
        leaf.aval->release();
      if (leaf.ownsObject)
        Py_DECREF(leaf.object);
    }
    leaves.clear();
    for (PyObject *object : owned)
      Py_DECREF(object);
    owned.clear();
    haveDevice = committed = large = false;
  }
};

enum class Outcome { Known, Unknown, Failed };

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

/// `numbers`: whether Python numbers here are operands.
/// `numpyNumbers`: whether NumPy's are.
Outcome add(Key &key, PyObject *object, bool numbers, bool numpyNumbers,
            bool top, bool x64) {
  PyTypeObject *type = Py_TYPE(object);
  if (type == arrayType)
    return addArray(key, object, TagArray, false);
  if (type == &PyLong_Type) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow)
      return Outcome::Unknown;
    if (numbers && value >= INT32_MIN && value <= INT32_MAX)
      return addNumber(key, object, x64);
    key.words.push_back(TagInt);
    key.words.push_back(uint64_t(value));
    return Outcome::Known;
  }
  if (type == &PyFloat_Type) {
    double value = PyFloat_AS_DOUBLE(object);
    if (numbers && value > -3e38 && value < 3e38)
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
    if (numbers)
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
      Outcome outcome = add(key, item, false, false, false, x64);
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
      Outcome outcome = add(key, part, false, false, false, x64);
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
  if (PyType_Check(object) || PyArray_DescrCheck(object) ||
      identityTypes().count(type) || identityTypes().count(Py_TYPE(type))) {
    addObject(key, object, TagObject);
    return Outcome::Known;
  }
  return Outcome::Unknown;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

struct Entry {
  enum class State { Seen, Plain, Ready };
  State state = State::Seen;
  uint32_t seen = 0;
  std::vector<uint64_t> words;
  std::vector<PyObject *> objects; ///< owned
  std::vector<Aval *> avals;       ///< owned
  PyObject *programObject = nullptr;
  Executable *program = nullptr;
  Plan *plan = nullptr; ///< the program, if it is a plan
  PyObject *outTreeObject = nullptr;
  const pytree::PyTreeDef *outTree = nullptr;
  PyObject *wrappers = nullptr; ///< None, or for each result a function or None
  std::vector<uint32_t> kept;   ///< leaves that are inputs
  int64_t refs = 1;

  void retain() { ++refs; }
  void release() {
    if (--refs)
      return;
    for (PyObject *object : objects)
      Py_DECREF(object);
    for (Aval *aval : avals)
      aval->release();
    Py_XDECREF(programObject);
    Py_XDECREF(outTreeObject);
    Py_XDECREF(wrappers);
    delete this;
  }
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *dict;
  PyObject *weakrefs;
  PyObject *fun;
  PyObject *miss; ///< (args, kwargs, operands, large)
  bool numbers;   ///< Python numbers are operands
  std::unordered_multimap<uint64_t, Entry *> *entries;
};

FunctionObject *asFunction(PyObject *object) {
  return reinterpret_cast<FunctionObject *>(object);
}

std::unordered_set<FunctionObject *> &liveFunctions() {
  static auto *set = new std::unordered_set<FunctionObject *>();
  return *set;
}

void clearEntries(FunctionObject *self) {
  if (!self->entries)
    return;
  std::vector<Entry *> old;
  for (auto &item : *self->entries)
    old.push_back(item.second);
  self->entries->clear();
  for (Entry *entry : old)
    entry->release(); // may run Python code
}

Entry *find(FunctionObject *self, const Key &key) {
  auto [first, last] = self->entries->equal_range(key.hash);
  for (auto it = first; it != last; ++it) {
    Entry *entry = it->second;
    if (entry->words.size() == key.words.size() &&
        memcmp(entry->words.data(), key.words.data(),
               key.words.size() * sizeof(uint64_t)) == 0)
      return entry;
  }
  return nullptr;
}

Entry *insert(FunctionObject *self, const Key &key) {
  if (self->entries->size() >= maxEntries)
    clearEntries(self);
  auto *entry = new Entry();
  entry->words = key.words;
  for (PyObject *object : key.objects) {
    Py_INCREF(object);
    entry->objects.push_back(object);
  }
  for (const Leaf &leaf : key.leaves) {
    leaf.aval->retain();
    entry->avals.push_back(leaf.aval);
  }
  self->entries->emplace(key.hash, entry);
  return entry;
}

/// Fills the entry from (program, out_tree, kept, wrappers).
bool parse(Entry *entry, PyObject *made, size_t numLeaves) {
  if (!PyTuple_Check(made) || PyTuple_GET_SIZE(made) != 4) {
    PyErr_SetString(PyExc_TypeError,
                    "EagerFunction: the miss function must return None or "
                    "(program, out_tree, kept, wrappers)");
    return false;
  }
  PyObject *program = PyTuple_GET_ITEM(made, 0);
  PyObject *tree = PyTuple_GET_ITEM(made, 1);
  if (!nb::try_cast(nb::handle(program), entry->program) || !entry->program ||
      !nb::try_cast(nb::handle(tree), entry->outTree) || !entry->outTree) {
    PyErr_SetString(PyExc_TypeError, "EagerFunction: the miss function must "
                                     "return a program and a PyTreeDef");
    return false;
  }
  if (entry->outTree->numLeaves() != entry->program->numOutputs()) {
    PyErr_SetString(PyExc_ValueError,
                    "EagerFunction: the program has another number of results");
    return false;
  }
  entry->plan = dynamic_cast<Plan *>(entry->program);
  Py_INCREF(program);
  entry->programObject = program;
  Py_INCREF(tree);
  entry->outTreeObject = tree;
  for (nb::handle item : nb::handle(PyTuple_GET_ITEM(made, 2))) {
    size_t index = nb::cast<size_t>(item);
    if (index >= numLeaves) {
      PyErr_SetString(PyExc_IndexError, "EagerFunction: no such leaf");
      return false;
    }
    entry->kept.push_back(uint32_t(index));
  }
  if (entry->kept.size() != entry->program->numInputs()) {
    PyErr_SetString(PyExc_ValueError,
                    "EagerFunction: the program has another number of inputs");
    return false;
  }
  PyObject *wrappers = PyTuple_GET_ITEM(made, 3);
  if (wrappers != Py_None) {
    if (!PyTuple_Check(wrappers) ||
        size_t(PyTuple_GET_SIZE(wrappers)) != entry->program->numOutputs()) {
      PyErr_SetString(PyExc_TypeError,
                      "EagerFunction: wrappers must be one for each result");
      return false;
    }
    Py_INCREF(wrappers);
    entry->wrappers = wrappers;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Stores a number as the dtype; false where the general path has to do it.
bool storeNumber(void *to, PyObject *value, DType dtype) {
  switch (dtype) {
  case DType::Bool:
    if (!PyBool_Check(value))
      return false;
    *static_cast<uint8_t *>(to) = value == Py_True;
    return true;
  case DType::Int32:
  case DType::Int64: {
    if (!PyLong_CheckExact(value))
      return false;
    long long number = PyLong_AsLongLong(value); // fits: it was classified
    if (dtype == DType::Int64)
      *static_cast<int64_t *>(to) = number;
    else
      *static_cast<int32_t *>(to) = int32_t(number);
    return true;
  }
  case DType::Float32:
  case DType::Float64: {
    if (!PyFloat_CheckExact(value))
      return false;
    double number = PyFloat_AS_DOUBLE(value);
    if (dtype == DType::Float64)
      *static_cast<double *>(to) = number;
    else if (number <= 3.4028234663852886e38 &&
             number >= -3.4028234663852886e38)
      *static_cast<float *>(to) = float(number);
    else
      return false;
    return true;
  }
  default:
    return false;
  }
}

struct Dropped {
  PyObject *objects[maxLeaves];
  size_t count = 0;
  ~Dropped() {
    while (count)
      Py_DECREF(objects[--count]);
  }
};

PyObject *execute(const Key &key, Entry *entry) {
  PyObject *outs[maxLeaves];
  std::vector<PyObject *> moreOuts;
  PyObject **results = outs;
  size_t numOuts = entry->program->numOutputs();
  if (numOuts > maxLeaves) {
    moreOuts.resize(numOuts, nullptr);
    results = moreOuts.data();
  }
  Dropped made; // arrays that exist for this call alone
  int32_t deviceId = key.haveDevice ? key.deviceId : defaultDeviceId();
  size_t n = entry->kept.size();
  bool ok = true;
  if (entry->plan) {
    void *inputs[maxLeaves];
    ArrayObject *objects[maxLeaves];
    alignas(16) char numbers[maxLeaves][16];
    for (size_t i = 0; ok && i < n; ++i) {
      const Leaf &leaf = key.leaves[entry->kept[i]];
      objects[i] = nullptr;
      if (leaf.kind == LeafKind::Array) {
        objects[i] = asArray(leaf.object);
        inputs[i] = objects[i]->data;
        continue;
      }
      if (leaf.kind == LeafKind::Scalar &&
          storeNumber(numbers[i], leaf.object, leaf.aval->dtype)) {
        inputs[i] = numbers[i];
        continue;
      }
      PyObject *array =
          leafToArray(leaf.object, leaf.kind, leaf.aval, deviceId);
      ok = array != nullptr;
      if (ok) {
        made.objects[made.count++] = array;
        inputs[i] = asArray(array)->data;
      }
    }
    ok = ok && entry->plan->runOn(inputs, objects, results, deviceId);
  } else {
    PyObject *inputs[maxLeaves];
    for (size_t i = 0; ok && i < n; ++i) {
      const Leaf &leaf = key.leaves[entry->kept[i]];
      inputs[i] = leafToArray(leaf.object, leaf.kind, leaf.aval, deviceId);
      ok = inputs[i] != nullptr;
      if (ok)
        made.objects[made.count++] = inputs[i];
    }
    ok = ok && entry->program->run(inputs, n, results, deviceId);
  }
  if (!ok)
    return nullptr;
  if (key.committed)
    for (size_t i = 0; i < numOuts; ++i)
      asArray(results[i])->committed = true;
  if (entry->wrappers)
    for (size_t i = 0; i < numOuts; ++i) {
      PyObject *wrap = PyTuple_GET_ITEM(entry->wrappers, Py_ssize_t(i));
      if (wrap == Py_None || !ok)
        continue;
      PyObject *wrapped = PyObject_CallOneArg(wrap, results[i]);
      ok = wrapped != nullptr;
      if (ok) {
        Py_DECREF(results[i]);
        results[i] = wrapped;
      }
    }
  const pytree::Node *root = entry->outTree->root();
  if (ok && root->kind == pytree::Kind::Leaf)
    return results[0];
  PyObject *tree = ok ? pytree::unflatten(root, results) : nullptr;
  for (size_t i = 0; i < numOuts; ++i)
    Py_DECREF(results[i]);
  return tree;
}

/// Kept between calls for its capacity; calls nest, so each takes its own.
thread_local std::vector<std::unique_ptr<Key>> freeKeys;

class KeyHolder {
public:
  KeyHolder() {
    if (freeKeys.empty()) {
      key = std::make_unique<Key>();
    } else {
      key = std::move(freeKeys.back());
      freeKeys.pop_back();
    }
  }
  ~KeyHolder() {
    key->clear();
    if (freeKeys.size() < 8)
      freeKeys.push_back(std::move(key));
  }
  Key &operator*() { return *key; }

private:
  std::unique_ptr<Key> key;
};

/// Whether the arrays among the arguments are of dtypes that Python numbers
/// take on without a second rounding or a check of their range.
bool takeNumbers(PyObject *const *args, size_t numArgs) {
  bool any = false;
  for (size_t i = 0; i < numArgs; ++i) {
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
    default:
      return false;
    }
  }
  return any;
}

Outcome makeKey(FunctionObject *self, Key &key, PyObject *const *args,
                size_t numArgs, PyObject *kwnames) {
  CallSettings settings = callSettings();
  bool numbers = self->numbers && takeNumbers(args, numArgs);
  key.words.push_back(uint64_t(settings.globalFingerprint) << 1 | settings.x64);
  key.words.push_back(uint64_t(settings.threadFingerprint));
  for (size_t i = 0; i < numArgs; ++i) {
    Outcome outcome =
        add(key, args[i], numbers, self->numbers, true, settings.x64);
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
                            self->numbers, true, settings.x64);
      if (outcome != Outcome::Known)
        return outcome;
    }
  uint64_t hash = key.words.size();
  for (uint64_t word : key.words)
    pytree::hashCombine(hash, word);
  key.hash = hash;
  return Outcome::Known;
}

/// Asks Python for a program and notes the answer in the entry.
bool askPython(FunctionObject *self, Entry *entry, const Key &key,
               PyObject *const *args, size_t numArgs, PyObject *kwnames) {
  // Whoever calls meanwhile, this very function too, takes the plain way.
  entry->state = Entry::State::Plain;
  PyObject *positional = PyTuple_New(Py_ssize_t(numArgs));
  PyObject *named = PyDict_New();
  PyObject *leaves = PyTuple_New(Py_ssize_t(key.leaves.size()));
  bool ok = positional && named && leaves;
  for (size_t i = 0; ok && i < key.leaves.size(); ++i) {
    Py_INCREF(key.leaves[i].object);
    PyTuple_SET_ITEM(leaves, Py_ssize_t(i), key.leaves[i].object);
  }
  for (size_t i = 0; ok && i < numArgs; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(positional, Py_ssize_t(i), args[i]);
  }
  for (Py_ssize_t k = 0; ok && kwnames && k < PyTuple_GET_SIZE(kwnames); ++k)
    ok = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, k),
                        args[numArgs + size_t(k)]) == 0;
  PyObject *made =
      ok ? PyObject_CallFunctionObjArgs(self->miss, positional, named, leaves,
                                        key.large ? Py_True : Py_False, nullptr)
         : nullptr;
  Py_XDECREF(leaves);
  Py_XDECREF(positional);
  Py_XDECREF(named);
  ok = made != nullptr;
  if (ok && made != Py_None) {
    try {
      ok = parse(entry, made, key.leaves.size());
    } catch (nb::python_error &error) {
      error.restore();
      ok = false;
    }
    if (ok)
      entry->state = Entry::State::Ready;
  }
  Py_XDECREF(made);
  return ok;
}

PyObject *callChecked(FunctionObject *self, PyObject *const *args,
                      size_t nargsf, PyObject *kwnames) {
  size_t numArgs = size_t(PyVectorcall_NARGS(nargsf));
  if (isTracing() || !self->entries)
    return PyObject_Vectorcall(self->fun, args, nargsf, kwnames);
  KeyHolder holder;
  Key &key = *holder;
  Outcome outcome = makeKey(self, key, args, numArgs, kwnames);
  if (outcome == Outcome::Failed)
    return nullptr;
  if (outcome == Outcome::Unknown)
    return PyObject_Vectorcall(self->fun, args, nargsf, kwnames);
  Entry *entry = find(self, key);
  if (!entry)
    entry = insert(self, key);
  if (entry->state == Entry::State::Seen &&
      (key.large || entry->seen++ >= callsBefore)) {
    entry->retain();
    bool ok = askPython(self, entry, key, args, numArgs, kwnames);
    PyObject *result = nullptr;
    if (ok)
      result = entry->state == Entry::State::Ready
                   ? execute(key, entry)
                   : PyObject_Vectorcall(self->fun, args, nargsf, kwnames);
    entry->release();
    return result;
  }
  if (entry->state != Entry::State::Ready)
    return PyObject_Vectorcall(self->fun, args, nargsf, kwnames);
  entry->retain();
  PyObject *result = execute(key, entry);
  entry->release();
  return result;
}

PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf,
               PyObject *kwnames) {
  try {
    return callChecked(asFunction(object), args, nargsf, kwnames);
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

//===----------------------------------------------------------------------===//
// The Python type
//===----------------------------------------------------------------------===//

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"fun", "miss", "numbers", nullptr};
  PyObject *fun, *miss;
  int numbers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:EagerFunction",
                                   const_cast<char **>(names), &fun, &miss,
                                   &numbers))
    return nullptr;
  if (!PyCallable_Check(fun) || !PyCallable_Check(miss)) {
    PyErr_SetString(PyExc_TypeError,
                    "EagerFunction: fun and miss must be callable");
    return nullptr;
  }
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    return nullptr;
  FunctionObject *self = asFunction(object);
  self->vectorcall = call;
  Py_INCREF(fun);
  self->fun = fun;
  Py_INCREF(miss);
  self->miss = miss;
  self->numbers = numbers != 0;
  self->entries = new std::unordered_multimap<uint64_t, Entry *>();
  liveFunctions().insert(self);
  return object;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  FunctionObject *self = asFunction(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->fun);
  Py_VISIT(self->miss);
  if (self->entries)
    for (auto &item : *self->entries) {
      Py_VISIT(item.second->programObject);
      Py_VISIT(item.second->outTreeObject);
      Py_VISIT(item.second->wrappers);
    }
  return 0;
}

int clearObject(PyObject *object) {
  FunctionObject *self = asFunction(object);
  clearEntries(self);
  Py_CLEAR(self->dict);
  return 0;
}

void dealloc(PyObject *object) {
  FunctionObject *self = asFunction(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  liveFunctions().erase(self);
  if (self->weakrefs)
    PyObject_ClearWeakRefs(object);
  clearObject(object);
  Py_CLEAR(self->fun);
  Py_CLEAR(self->miss);
  delete self->entries;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject *bindMethod(PyObject *self, PyObject *instance, PyObject *) {
  if (!instance || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}

PyObject *repr(PyObject *object) {
  return PyObject_Repr(asFunction(object)->fun);
}

PyObject *numEntries(PyObject *object, PyObject *) {
  return PyLong_FromSize_t(asFunction(object)->entries->size());
}

PyObject *numPrograms(PyObject *object, PyObject *) {
  size_t count = 0;
  for (auto &item : *asFunction(object)->entries)
    count += item.second->state == Entry::State::Ready;
  return PyLong_FromSize_t(count);
}

PyObject *clearAll(PyObject *, PyObject *) {
  std::vector<PyObject *> objects;
  for (FunctionObject *function : liveFunctions()) {
    Py_INCREF(function);
    objects.push_back(reinterpret_cast<PyObject *>(function));
  }
  for (PyObject *object : objects) {
    clearEntries(asFunction(object));
    Py_DECREF(object);
  }
  Py_RETURN_NONE;
}

/// Pickled, and copied, by its qualified name, as a plain function is.
PyObject *reduce(PyObject *object, PyObject *) {
  return PyObject_GetAttrString(object, "__qualname__");
}

PyMethodDef methods[] = {
    {"cache_size", numEntries, METH_NOARGS, "The number of known calls."},
    {"num_programs", numPrograms, METH_NOARGS,
     "The number of known calls that have a program."},
    {"clear_all", clearAll, METH_NOARGS | METH_STATIC,
     "Forgets the calls of all functions."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall),
     READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY,
     nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs),
     READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict,
                         PyObject_GenericSetDict, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

const char docstring[] =
    "EagerFunction(fun, miss, numbers=False)\n--\n\n"
    "A function of the library: calls `fun`, or a program in its place.\n\n"
    "Arrays, ndarrays and NumPy numbers, and with `numbers` Python numbers, "
    "are\n"
    "operands; other numbers, strings, types, dtypes and tuples, lists and\n"
    "slices of them are part of what is called. The fourth call that differs "
    "in\n"
    "the operands' values alone, or the first if it is large, asks for a "
    "program\n"
    "by `miss(args, kwargs, operands, large)`, which returns None or\n"
    "(program, out_tree, kept, wrappers), where `kept` are the positions "
    "among\n"
    "the operands of the program's inputs and `wrappers` is None or has for\n"
    "each result a function to call on it, or None.";

PyType_Slot slots[] = {{Py_tp_new, (void *)create},
                       {Py_tp_dealloc, (void *)dealloc},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clearObject},
                       {Py_tp_call, (void *)PyVectorcall_Call},
                       {Py_tp_descr_get, (void *)bindMethod},
                       {Py_tp_repr, (void *)repr},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {Py_tp_doc, (void *)docstring},
                       {0, nullptr}};

PyType_Spec spec = {
    "lingon.runtime._runtime.EagerFunction", sizeof(FunctionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    slots};

ModuleInit registerEager([](nb::module_ &m) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  m.attr("EagerFunction") = nb::steal(type);
  m.attr("LARGE_SIZE") = largeSize;
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

} // namespace
} // namespace eager
} // namespace lingon
