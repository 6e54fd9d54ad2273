//===- dispatch_cache.cpp - The compiled signatures of a function ---------===//
#include "dispatch.h"
#include "pytree_internal.h"

#include <cstring>

namespace lingon {
namespace dispatch {

Entry::~Entry() {
  for (Aval *aval : key.avals)
    aval->release();
  for (PyObject *name : key.names)
    Py_DECREF(name);
  for (PyObject *value : key.statics)
    Py_DECREF(value);
  for (PyObject *layout : key.layouts)
    Py_XDECREF(layout);
  Py_XDECREF(executableObject);
  Py_XDECREF(outTreeObject);
}

int Entry::visit(visitproc visit, void *arg) const {
  for (PyObject *value : key.statics)
    Py_VISIT(value);
  for (const pytree::Node &node : key.structure.nodes)
    Py_VISIT(node.data);
  for (PyObject *layout : key.layouts)
    Py_VISIT(layout);
  Py_VISIT(executableObject);
  Py_VISIT(outTreeObject);
  return 0;
}

/// Equality of static values without running a user's code: 1, 0, 2 (unknown).
static int equalStaticFast(PyObject *a, PyObject *b) {
  if (a == b)
    return 1;
  if (Py_TYPE(a) != Py_TYPE(b))
    return 0;
  if (PyUnicode_CheckExact(a))
    return PyUnicode_Compare(a, b) == 0;
  return 2;
}

/// 1, 0, or 2 if Python code must compare.
static int equalFast(const Signature &a, const Signature &b) {
  if (a.hash != b.hash || a.numPositional != b.numPositional ||
      a.settings.globalFingerprint != b.settings.globalFingerprint ||
      a.settings.threadFingerprint != b.settings.threadFingerprint ||
      a.settings.x64 != b.settings.x64 || a.avals != b.avals ||
      a.layouts != b.layouts ||
      a.names.size() != b.names.size() ||
      a.numDynamicNames != b.numDynamicNames ||
      a.statics.size() != b.statics.size() ||
      a.structure.nodes.size() != b.structure.nodes.size())
    return 0;
  for (size_t i = 0; i < a.names.size(); ++i)
    if (a.names[i] != b.names[i] &&
        PyUnicode_Compare(a.names[i], b.names[i]) != 0)
      return 0;
  int result =
      pytree::equalNodesFast(a.structure.nodes.data(), b.structure.nodes.data(),
                             a.structure.nodes.size());
  for (size_t i = 0; result && i < a.statics.size(); ++i) {
    int one = equalStaticFast(a.statics[i], b.statics[i]);
    if (one != 1)
      result = one;
    if (one == 0)
      break;
  }
  return result;
}

/// The rest of the comparison, which may run any Python code. 1, 0, -1.
static int equalSlow(const Signature &a, const Signature &b) {
  int same =
      pytree::equalNodes(a.structure.nodes.data(), b.structure.nodes.data(),
                         a.structure.nodes.size());
  for (size_t i = 0; same == 1 && i < a.statics.size(); ++i) {
    same = PyObject_RichCompareBool(a.statics[i], b.statics[i], Py_EQ);
    if (same < 0 && PyErr_ExceptionMatches(PyExc_Exception)) {
      std::string text = "Static arguments must be comparable with ==, but "
                         "comparing two objects of type ";
      text += Py_TYPE(a.statics[i])->tp_name;
      text += " raised an exception.";
      pytree::raiseFrom(PyExc_ValueError, text.c_str());
    }
  }
  return same;
}

Entry *Cache::find(const Signature &key, bool &failed) {
  failed = false;
  std::vector<Entry *> unknown;
  Entry *found = nullptr;
  auto [first, last] = entries.equal_range(key.hash);
  for (auto it = first; it != last && !found; ++it) {
    int same = equalFast(key, it->second->key);
    if (same == 1)
      found = it->second;
    else if (same == 2)
      unknown.push_back(it->second);
  }
  if (!found && !unknown.empty()) {
    // Python code may change this cache: only what is held here is touched.
    for (Entry *entry : unknown)
      entry->retain();
    for (Entry *entry : unknown) {
      int same = entry->cached ? equalSlow(key, entry->key) : 0;
      failed = same < 0;
      if (same == 1 && entry->cached)
        found = entry;
      if (same)
        break;
    }
    if (found)
      found->retain();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (Entry *entry : unknown)
      entry->release();
    PyErr_Restore(type, value, trace);
  } else if (found) {
    found->retain();
  }
  if (found && found->cached && found->position != order.begin())
    order.splice(order.begin(), order, found->position);
  return found;
}

/// Removes an entry; the caller must hold a reference of its own.
void Cache::evict(Entry *entry) {
  auto [first, last] = entries.equal_range(entry->key.hash);
  for (auto it = first; it != last; ++it)
    if (it->second == entry) {
      entries.erase(it);
      break;
    }
  order.erase(entry->position);
  entry->cached = false;
  entry->release();
}

bool Cache::insert(Entry *entry) {
  bool failed;
  Entry *old = find(entry->key, failed);
  if (failed) {
    entry->release();
    return false;
  }
  if (old && old->cached)
    evict(old);
  order.push_front(entry);
  entry->position = order.begin();
  entry->cached = true;
  entries.emplace(entry->key.hash, entry);
  if (old)
    old->release(); // may run Python code, as evictOver: last
  evictOver(limit);
  return true;
}

void Cache::evictOver(size_t count) {
  while (order.size() > count) {
    Entry *entry = order.back();
    entry->retain();
    evict(entry);
    entry->release(); // may run Python code
  }
}

void Cache::clear() { evictOver(0); }

void Cache::setLimit(size_t newLimit) {
  limit = newLimit;
  evictOver(limit);
}

int Cache::visit(visitproc visit, void *arg) const {
  for (const Entry *entry : order)
    if (int result = entry->visit(visit, arg))
      return result;
  return 0;
}

} // namespace dispatch
} // namespace lingon
