//===- eager.cpp - a call of the library ----------------------------------===//
#include "eager.h"
#include "borrowed.h"

#include <nanobind/nanobind.h>

#include <cstring>
#include <memory>
#include <new>

namespace nb = nanobind;

namespace lingon {
namespace eager {

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

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

namespace {

constexpr size_t maxEntries = 2048;
/// Calls of one key that are made before a program is asked for, which costs as
/// much as many calls do.
constexpr uint32_t callsBefore = 3;

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
          storeScalar(numbers[i], leaf.object, leaf.aval->dtype)) {
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

/// Asks Python for a program and notes the answer in the entry.
bool askPython(FunctionObject *self, Entry *entry, const Key &key,
               PyObject *const *args, size_t numArgs, PyObject *kwnames) {
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
  // Another thread may have asked meanwhile. It cannot take the plain way: a
  // large call is compiled from the first one on.
  if (ok && entry->state == Entry::State::Seen)
    entry->state = Entry::State::Plain;
  if (ok && made != Py_None && entry->state == Entry::State::Plain) {
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
  Borrowed<Key, 8> borrowed;
  Key &key = *borrowed;
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

} // namespace

PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf,
               PyObject *kwnames) {
  try {
    return callChecked(asFunction(object), args, nargsf, kwnames);
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

} // namespace eager
} // namespace lingon
