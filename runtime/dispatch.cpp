//===- dispatch.cpp - The Python type JitDispatch -------------------------===//
#include "dispatch.h"
#include "module.h"
#include "pytree_internal.h"

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace nb = nanobind;

namespace lingon {
namespace dispatch {
namespace {

struct DispatchObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *dict;
  PyObject *weakrefs;
  PyObject *miss; ///< (args, kwargs) -> (result, entry or None)
  PyObject *fun;
  std::vector<Py_ssize_t> *staticNums;
  std::vector<PyObject *> *staticNames; ///< owned
  Cache *cache;
};

DispatchObject *asDispatch(PyObject *object) {
  return reinterpret_cast<DispatchObject *>(object);
}

/// All live objects, for clear_all().
std::unordered_set<DispatchObject *> &liveObjects() {
  static auto *set = new std::unordered_set<DispatchObject *>();
  return *set;
}

//===----------------------------------------------------------------------===//
// Working storage of one call
//===----------------------------------------------------------------------===//

/// Kept between calls for its capacity; calls nest, so each takes its own.
struct Scratch {
  Signature key;
  std::vector<PyObject *> leaves; ///< owned
  std::vector<LeafKind> kinds;
  std::vector<PyObject *> inputs;  ///< owned where converted
  std::vector<PyObject *> outputs; ///< owned
  std::vector<uint32_t> order;     ///< positions of keyword arguments
  int32_t deviceId = 0;
  bool committed = false;

  void clear() {
    key.structure.clear();
    for (Aval *aval : key.avals)
      aval->release();
    key.avals.clear();
    key.names.clear();
    key.statics.clear();
    kinds.clear();
    dropAll(outputs);
    inputs.clear();
    dropAll(leaves);
    deviceId = 0;
    committed = false;
  }

  static void dropAll(std::vector<PyObject *> &refs) {
    while (!refs.empty()) {
      PyObject *obj = refs.back();
      refs.pop_back();
      Py_XDECREF(obj);
    }
  }
};

thread_local std::vector<std::unique_ptr<Scratch>> freeScratch;

class ScratchHolder {
public:
  ScratchHolder() {
    if (freeScratch.empty()) {
      scratch = std::make_unique<Scratch>();
    } else {
      scratch = std::move(freeScratch.back());
      freeScratch.pop_back();
    }
  }
  ~ScratchHolder() {
    if (PyErr_Occurred()) {
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      scratch->clear();
      PyErr_Restore(type, value, trace);
    } else {
      scratch->clear();
    }
    if (freeScratch.size() < 4)
      freeScratch.push_back(std::move(scratch));
  }
  Scratch &operator*() { return *scratch; }

private:
  std::unique_ptr<Scratch> scratch;
};

enum class Outcome { Known, AskPython, Failed };

//===----------------------------------------------------------------------===//
// The signature of a call
//===----------------------------------------------------------------------===//

bool addLeaves(Scratch &s, PyObject *arg) {
  if (isArray(arg)) {
    Py_INCREF(arg);
    s.leaves.push_back(arg);
    s.key.structure.nodes.push_back(
        {pytree::Kind::Leaf, 0, 1, 1, nullptr, nullptr});
    return true;
  }
  return pytree::flatten(arg, s.leaves, s.key.structure);
}

/// Hashes a static value; ValueError if it is not hashable.
bool hashStatic(DispatchObject *self, PyObject *value, uint64_t &seed) {
  Py_hash_t hash = PyObject_Hash(value);
  if (hash == -1) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyObject *type, *error, *trace;
      PyErr_Fetch(&type, &error, &trace);
      PyErr_NormalizeException(&type, &error, &trace);
      PyErr_Format(PyExc_ValueError,
                   "Non-hashable static arguments are not supported: hash() "
                   "of an object of type %R, passed as a static argument of "
                   "%R, raised TypeError: %S. Pass a hashable value, or do "
                   "not make the argument static. The value is %R.",
                   Py_TYPE(value), self->fun, error, value);
      Py_XDECREF(type);
      Py_XDECREF(error);
      Py_XDECREF(trace);
    }
    return false;
  }
  pytree::hashCombine(seed, static_cast<uint64_t>(hash));
  pytree::hashCombine(seed, reinterpret_cast<uintptr_t>(Py_TYPE(value)));
  return true;
}

bool isStaticName(DispatchObject *self, PyObject *name) {
  for (PyObject *candidate : *self->staticNames)
    if (candidate == name || PyUnicode_Compare(candidate, name) == 0)
      return true;
  return false;
}

/// Collects the leaves, the structure and the static values.
Outcome collect(DispatchObject *self, Scratch &s, PyObject *const *args,
                size_t numArgs, PyObject *kwnames) {
  bool anyStatic = !self->staticNums->empty();
  for (size_t i = 0; i < numArgs; ++i) {
    bool isStatic = false;
    if (anyStatic)
      for (Py_ssize_t num : *self->staticNums)
        isStatic |=
            (num < 0 ? num + Py_ssize_t(numArgs) : num) == Py_ssize_t(i);
    if (isStatic)
      s.key.statics.push_back(args[i]);
    else if (!addLeaves(s, args[i]))
      return Outcome::Failed;
  }
  s.key.numPositional = numArgs;
  s.key.numDynamicNames = 0;
  if (!kwnames)
    return Outcome::Known;
  size_t numNames = static_cast<size_t>(PyTuple_GET_SIZE(kwnames));
  auto name = [&](uint32_t i) { return PyTuple_GET_ITEM(kwnames, i); };
  s.order.resize(numNames);
  for (size_t i = 0; i < numNames; ++i)
    s.order[i] = static_cast<uint32_t>(i);
  std::sort(s.order.begin(), s.order.end(), [&](uint32_t a, uint32_t b) {
    return PyUnicode_Compare(name(a), name(b)) < 0;
  });
  for (uint32_t i : s.order) {
    if (isStaticName(self, name(i)))
      continue;
    s.key.names.push_back(name(i));
    if (!addLeaves(s, args[numArgs + i]))
      return Outcome::Failed;
  }
  s.key.numDynamicNames = s.key.names.size();
  if (s.key.numDynamicNames == numNames)
    return Outcome::Known;
  for (uint32_t i : s.order) {
    if (!isStaticName(self, name(i)))
      continue;
    s.key.names.push_back(name(i));
    s.key.statics.push_back(args[numArgs + i]);
  }
  return Outcome::Known;
}

/// Finds the avals of the leaves and the device of the call.
Outcome classifyLeaves(Scratch &s) {
  bool haveDevice = false;
  s.kinds.reserve(s.leaves.size());
  s.key.avals.reserve(s.leaves.size());
  for (PyObject *leaf : s.leaves) {
    LeafKind kind;
    Aval *aval;
    if (!classifyLeaf(leaf, s.key.settings.x64, kind, aval))
      return Outcome::Failed;
    if (kind == LeafKind::Other)
      return Outcome::AskPython;
    s.kinds.push_back(kind);
    s.key.avals.push_back(aval);
    if (kind != LeafKind::Array)
      continue;
    const ArrayObject *array = asArray(leaf);
    if (array->committed && s.committed && array->deviceId != s.deviceId)
      return Outcome::AskPython; // which raises
    if (!haveDevice || (array->committed && !s.committed))
      s.deviceId = array->deviceId;
    haveDevice = true;
    s.committed |= array->committed;
  }
  return Outcome::Known;
}

Outcome makeSignature(DispatchObject *self, Scratch &s, PyObject *const *args,
                      size_t numArgs, PyObject *kwnames) {
  Signature &key = s.key;
  key.settings = callSettings();
  Outcome outcome = collect(self, s, args, numArgs, kwnames);
  if (outcome == Outcome::Known)
    outcome = classifyLeaves(s);
  if (outcome != Outcome::Known)
    return outcome;
  uint64_t hash = numArgs * 8 + key.settings.x64;
  pytree::hashCombine(hash,
                      static_cast<uint64_t>(key.settings.globalFingerprint));
  pytree::hashCombine(hash,
                      static_cast<uint64_t>(key.settings.threadFingerprint));
  for (const Aval *aval : key.avals)
    pytree::hashCombine(hash, aval->hash);
  for (PyObject *name : key.names)
    pytree::hashCombine(hash, static_cast<uint64_t>(PyObject_Hash(name)));
  for (PyObject *value : key.statics)
    if (!hashStatic(self, value, hash))
      return Outcome::Failed;
  if (!pytree::hashNodes(key.structure.nodes.data(), key.structure.nodes.size(),
                         hash))
    return Outcome::Failed;
  key.hash = hash;
  return Outcome::Known;
}

//===----------------------------------------------------------------------===//
// A known signature
//===----------------------------------------------------------------------===//

PyObject *execute(Scratch &s, Entry *entry) {
  size_t numInputs = entry->kept.size();
  size_t numOutputs = entry->executable->numOutputs();
  // Arrays made for this call alone go to `outputs`' owner below.
  std::vector<PyObject *> converted;
  s.inputs.reserve(numInputs);
  bool ok = true;
  for (size_t i = 0; ok && i < numInputs; ++i) {
    uint32_t index = entry->kept[i];
    PyObject *leaf = s.leaves[index];
    if (s.kinds[index] == LeafKind::Array) {
      s.inputs.push_back(leaf);
      continue;
    }
    PyObject *array =
        leafToArray(leaf, s.kinds[index], s.key.avals[index], s.deviceId);
    ok = array != nullptr;
    if (ok) {
      converted.push_back(array);
      s.inputs.push_back(array);
    }
  }
  s.outputs.resize(ok ? numOutputs : 0, nullptr);
  ok = ok && entry->executable->run(s.inputs.data(), numInputs,
                                    s.outputs.data(), s.deviceId);
  for (PyObject *array : converted)
    Py_DECREF(array);
  if (!ok)
    return nullptr;
  if (s.committed)
    for (PyObject *output : s.outputs)
      asArray(output)->committed = true;
  for (uint32_t index : entry->donated)
    if (s.kinds[index] == LeafKind::Array)
      deleteArray(asArray(s.leaves[index]));
  const pytree::Node *root = entry->outTree->root();
  if (root->kind == pytree::Kind::Leaf) {
    PyObject *result = s.outputs[0];
    s.outputs.clear();
    return result;
  }
  return pytree::unflatten(root, s.outputs.data());
}

//===----------------------------------------------------------------------===//
// An unknown signature
//===----------------------------------------------------------------------===//

bool badEntry(const char *what) {
  PyErr_Format(PyExc_TypeError,
               "JitDispatch: the miss function returned an "
               "entry %s",
               what);
  return false;
}

/// Fills `entry` from (executable, out_tree, kept, donated).
bool parseEntry(PyObject *object, size_t numLeaves, Entry *entry) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 4)
    return badEntry("that is not (executable, out_tree, kept, donated)");
  PyObject *executable = PyTuple_GET_ITEM(object, 0);
  PyObject *outTree = PyTuple_GET_ITEM(object, 1);
  if (!nb::try_cast(nb::handle(executable), entry->executable) ||
      !entry->executable)
    return badEntry("without an Executable");
  if (!nb::try_cast(nb::handle(outTree), entry->outTree) || !entry->outTree)
    return badEntry("without a PyTreeDef of the result");
  Py_INCREF(executable);
  entry->executableObject = executable;
  Py_INCREF(outTree);
  entry->outTreeObject = outTree;
  PyObject *kept = PySequence_Tuple(PyTuple_GET_ITEM(object, 2));
  if (!kept)
    return false;
  bool ok = true;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(kept); ++i) {
    Py_ssize_t index =
        PyNumber_AsSsize_t(PyTuple_GET_ITEM(kept, i), PyExc_IndexError);
    ok = !(index == -1 && PyErr_Occurred());
    if (ok && (index < 0 || static_cast<size_t>(index) >= numLeaves))
      ok = badEntry("whose kept indices are not indices of leaves");
    entry->kept.push_back(static_cast<uint32_t>(index));
  }
  Py_DECREF(kept);
  PyObject *donated =
      ok ? PySequence_Tuple(PyTuple_GET_ITEM(object, 3)) : nullptr;
  if (!donated)
    return false;
  size_t numDonated = static_cast<size_t>(PyTuple_GET_SIZE(donated));
  if (numDonated && numDonated != numLeaves)
    ok = badEntry("whose donated flags are not one for each leaf");
  for (size_t i = 0; ok && i < numDonated; ++i) {
    int truth = PyObject_IsTrue(PyTuple_GET_ITEM(donated, i));
    ok = truth >= 0;
    if (truth > 0)
      entry->donated.push_back(static_cast<uint32_t>(i));
  }
  Py_DECREF(donated);
  if (ok && (entry->kept.size() != entry->executable->numInputs() ||
             entry->outTree->numLeaves() != entry->executable->numOutputs()))
    ok = badEntry("whose program has other numbers of inputs and results");
  return ok;
}

/// Moves the signature out of the working storage into an entry.
void takeKey(Scratch &s, Signature &key) {
  key.hash = s.key.hash;
  key.numPositional = s.key.numPositional;
  key.numDynamicNames = s.key.numDynamicNames;
  key.settings = s.key.settings;
  key.names = s.key.names;
  for (PyObject *name : key.names)
    Py_INCREF(name);
  key.statics = s.key.statics;
  for (PyObject *value : key.statics)
    Py_INCREF(value);
  key.avals.swap(s.key.avals);
  key.structure = std::move(s.key.structure);
}

PyObject *callMiss(DispatchObject *self, Scratch *s, PyObject *const *args,
                   size_t numArgs, PyObject *kwnames) {
  PyObject *positional = PyTuple_New(static_cast<Py_ssize_t>(numArgs));
  PyObject *keywords = PyDict_New();
  bool ok = positional && keywords;
  for (size_t i = 0; ok && i < numArgs; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(positional, i, args[i]);
  }
  Py_ssize_t numNames = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; ok && i < numNames; ++i)
    ok = PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i),
                        args[numArgs + static_cast<size_t>(i)]) == 0;
  PyObject *answer = nullptr;
  if (ok) {
    PyObject *miss = self->miss;
    Py_INCREF(miss);
    PyObject *callArgs[2] = {positional, keywords};
    answer = PyObject_Vectorcall(miss, callArgs, 2, nullptr);
    Py_DECREF(miss);
  }
  Py_XDECREF(positional);
  Py_XDECREF(keywords);
  if (!answer)
    return nullptr;
  if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2) {
    PyErr_Format(PyExc_TypeError,
                 "JitDispatch: the miss function must return (result, entry "
                 "or None), got %R",
                 answer);
    Py_DECREF(answer);
    return nullptr;
  }
  PyObject *result = PyTuple_GET_ITEM(answer, 0);
  PyObject *entryObject = PyTuple_GET_ITEM(answer, 1);
  if (s && entryObject != Py_None && self->cache) {
    auto *entry = new Entry();
    if (!parseEntry(entryObject, s->leaves.size(), entry)) {
      entry->release();
      Py_DECREF(answer);
      return nullptr;
    }
    takeKey(*s, entry->key);
    if (!self->cache->insert(entry)) {
      Py_DECREF(answer);
      return nullptr;
    }
  }
  Py_INCREF(result);
  Py_DECREF(answer);
  return result;
}

PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf,
               PyObject *kwnames) {
  DispatchObject *self = asDispatch(object);
  size_t numArgs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  if (!self->miss || !self->cache) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the jitted function has been garbage collected");
    return nullptr;
  }
  if (isTracing())
    return callMiss(self, nullptr, args, numArgs, kwnames);
  ScratchHolder holder;
  Scratch &s = *holder;
  // The caller's reference keeps `self` alive during the call.
  switch (makeSignature(self, s, args, numArgs, kwnames)) {
  case Outcome::Failed:
    return nullptr;
  case Outcome::AskPython:
    return callMiss(self, nullptr, args, numArgs, kwnames);
  case Outcome::Known:
    break;
  }
  bool failed;
  Entry *entry = self->cache->find(s.key, failed);
  if (failed)
    return nullptr;
  if (!entry)
    return callMiss(self, &s, args, numArgs, kwnames);
  PyObject *result = execute(s, entry);
  entry->release();
  return result;
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"miss", "fun", "static_argnums",
                                "static_argnames", nullptr};
  PyObject *miss, *fun, *nums = nullptr, *strings = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:JitDispatch",
                                   const_cast<char **>(names), &miss, &fun,
                                   &nums, &strings))
    return nullptr;
  if (!PyCallable_Check(miss) || !PyCallable_Check(fun)) {
    PyErr_SetString(PyExc_TypeError,
                    "JitDispatch: miss and fun must be callable");
    return nullptr;
  }
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    return nullptr;
  DispatchObject *self = asDispatch(object);
  self->vectorcall = call;
  Py_INCREF(miss);
  self->miss = miss;
  Py_INCREF(fun);
  self->fun = fun;
  self->staticNums = new std::vector<Py_ssize_t>();
  self->staticNames = new std::vector<PyObject *>();
  self->cache = new Cache();
  liveObjects().insert(self);
  PyObject *items = nums ? PySequence_Tuple(nums) : PyTuple_New(0);
  bool ok = items != nullptr;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(items); ++i) {
    Py_ssize_t num =
        PyNumber_AsSsize_t(PyTuple_GET_ITEM(items, i), PyExc_IndexError);
    ok = !(num == -1 && PyErr_Occurred());
    self->staticNums->push_back(num);
  }
  Py_XDECREF(items);
  items = ok ? (strings ? PySequence_Tuple(strings) : PyTuple_New(0)) : nullptr;
  ok = items != nullptr;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(items); ++i) {
    PyObject *name = PyTuple_GET_ITEM(items, i);
    if (!PyUnicode_CheckExact(name)) {
      PyErr_Format(PyExc_TypeError,
                   "JitDispatch: static_argnames must be strings, got %R",
                   name);
      ok = false;
      break;
    }
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    self->staticNames->push_back(name);
  }
  Py_XDECREF(items);
  if (!ok)
    Py_CLEAR(object);
  return object;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  DispatchObject *self = asDispatch(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->miss);
  Py_VISIT(self->fun);
  return self->cache ? self->cache->visit(visit, arg) : 0;
}

int clearObject(PyObject *object) {
  DispatchObject *self = asDispatch(object);
  if (self->cache)
    self->cache->clear();
  Py_CLEAR(self->dict);
  Py_CLEAR(self->miss);
  Py_CLEAR(self->fun);
  return 0;
}

void dealloc(PyObject *object) {
  DispatchObject *self = asDispatch(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  liveObjects().erase(self);
  if (self->weakrefs)
    PyObject_ClearWeakRefs(object);
  clearObject(object);
  if (self->staticNames)
    for (PyObject *name : *self->staticNames)
      Py_DECREF(name);
  delete self->staticNames;
  delete self->staticNums;
  delete self->cache;
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

PyObject *reprObject(PyObject *object) {
  PyObject *fun = asDispatch(object)->fun;
  return PyUnicode_FromFormat("<PjitFunction of %R>", fun ? fun : Py_None);
}

PyObject *clearFastCache(PyObject *object, PyObject *) {
  if (asDispatch(object)->cache)
    asDispatch(object)->cache->clear();
  Py_RETURN_NONE;
}

PyObject *fastCacheSize(PyObject *object, PyObject *) {
  Cache *cache = asDispatch(object)->cache;
  return PyLong_FromSize_t(cache ? cache->size() : 0);
}

PyObject *setFastCacheLimit(PyObject *object, PyObject *value) {
  Py_ssize_t limit = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (limit == -1 && PyErr_Occurred())
    return nullptr;
  if (limit < 1) {
    PyErr_Format(PyExc_ValueError,
                 "the limit of the cache must be at least 1, got %zd", limit);
    return nullptr;
  }
  if (asDispatch(object)->cache)
    asDispatch(object)->cache->setLimit(static_cast<size_t>(limit));
  Py_RETURN_NONE;
}

PyObject *clearAll(PyObject *, PyObject *) {
  std::vector<PyObject *> objects;
  for (DispatchObject *object : liveObjects()) {
    Py_INCREF(object);
    objects.push_back(reinterpret_cast<PyObject *>(object));
  }
  for (PyObject *object : objects) {
    if (asDispatch(object)->cache)
      asDispatch(object)->cache->clear();
    Py_DECREF(object);
  }
  Py_RETURN_NONE;
}

/// Pickled, and copied, by its qualified name, as a plain function is.
PyObject *reduce(PyObject *object, PyObject *) {
  return PyObject_GetAttrString(object, "__qualname__");
}

PyMethodDef methods[] = {
    {"clear_fast_cache", clearFastCache, METH_NOARGS,
     "Forgets the compiled signatures."},
    {"fast_cache_size", fastCacheSize, METH_NOARGS,
     "The number of compiled signatures."},
    {"set_fast_cache_limit", setFastCacheLimit, METH_O,
     "Bounds the number of compiled signatures (4096 at first); the least "
     "recently used ones go first."},
    {"clear_all", clearAll, METH_NOARGS | METH_STATIC,
     "Forgets the compiled signatures of all functions."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(DispatchObject, vectorcall),
     READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(DispatchObject, dict), READONLY,
     nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(DispatchObject, weakrefs),
     READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict,
                         PyObject_GenericSetDict, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

const char docstring[] =
    "JitDispatch(miss, fun, static_argnums=(), static_argnames=())\n--\n\n"
    "The call path of a jitted function.\n\n"
    "A call whose leaves are arrays or numbers is looked up by the structure\n"
    "of its arguments, the shape, dtype and weak type of the leaves, the\n"
    "static values (== and type) and the settings of set_global_config and\n"
    "set_thread_config. If it is known, its program runs and no Python code\n"
    "does. Otherwise, and whenever the thread is tracing or a leaf is\n"
    "anything else, `miss(args, kwargs)` returns (result, None) or (result,\n"
    "(executable, out_tree, kept, donated)), which makes the signature\n"
    "known: the Executable, the PyTreeDef of its results, the indices of the\n"
    "leaves that are its inputs, and one flag for each leaf (or nothing) that\n"
    "says whether a call deletes it. An entry is disregarded for calls that\n"
    "have no signature.\n\n"
    "The leaves are those of the dynamic positional arguments, then of the\n"
    "dynamic keyword arguments in the order of their names. Negative\n"
    "static_argnums count from the end of the positional arguments given.\n\n"
    "The object owns `miss` and `fun`; cycles through them are collected. It\n"
    "takes attributes, and binds as a method.";

PyType_Slot slots[] = {{Py_tp_new, (void *)create},
                       {Py_tp_dealloc, (void *)dealloc},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clearObject},
                       {Py_tp_call, (void *)PyVectorcall_Call},
                       {Py_tp_descr_get, (void *)bindMethod},
                       {Py_tp_repr, (void *)reprObject},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {Py_tp_doc, (void *)docstring},
                       {0, nullptr}};

PyType_Spec spec = {
    "lingon.runtime._runtime.JitDispatch", sizeof(DispatchObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    slots};

ModuleInit registerDispatch([](nb::module_ &m) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  m.attr("JitDispatch") = nb::steal(type);
});

} // namespace
} // namespace dispatch
} // namespace lingon
