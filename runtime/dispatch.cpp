//===- dispatch.cpp - A call of a jitted function -------------------------===//
#include "dispatch.h"
#include "borrowed.h"
#include "pytree_internal.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>
#include <new>

namespace nb = nanobind;

namespace lingon {
namespace dispatch {
namespace {

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
  bool conflict = false; ///< arguments are committed to different devices
  bool single = false;   ///< an argument is committed to one device

  void clear() {
    key.structure.clear();
    for (Aval *aval : key.avals)
      aval->release();
    key.avals.clear();
    key.layouts.clear();
    key.names.clear();
    key.statics.clear();
    kinds.clear();
    dropAll(outputs);
    inputs.clear();
    dropAll(leaves);
    deviceId = 0;
    committed = conflict = single = false;
  }

  static void dropAll(std::vector<PyObject *> &refs) {
    while (!refs.empty()) {
      PyObject *obj = refs.back();
      refs.pop_back();
      Py_XDECREF(obj);
    }
  }
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
  s.deviceId = defaultDeviceId();
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
    if (array->layout) {
      s.key.layouts.resize(s.leaves.size(), nullptr);
      s.key.layouts[s.key.avals.size() - 1] = array->layout;
    }
    s.single |= array->committed && !array->layout;
    s.conflict |=
        array->committed && s.committed && array->deviceId != s.deviceId;
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
  for (PyObject *layout : key.layouts)
    pytree::hashCombine(hash, reinterpret_cast<uintptr_t>(layout));
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
  key.layouts = s.key.layouts;
  for (PyObject *layout : key.layouts)
    Py_XINCREF(layout);
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

PyObject *callChecked(PyObject *object, PyObject *const *args, size_t nargsf,
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
  Borrowed<Scratch, 4> borrowed;
  Scratch &s = *borrowed;
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
  if (entry->executable->onDevices() ? s.single : s.conflict) {
    entry->release();
    return callMiss(self, nullptr, args, numArgs, kwnames); // which raises
  }
  PyObject *result = execute(s, entry);
  entry->release();
  return result;
}

} // namespace

PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf,
               PyObject *kwnames) {
  try {
    return callChecked(object, args, nargsf, kwnames);
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

} // namespace dispatch
} // namespace lingon
