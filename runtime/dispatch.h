//===- dispatch.h - The call path of jitted functions ---------------------===//
//
// A jitted function is a JitDispatch object: a cache from call signatures to
// compiled programs, and a Python function for everything else.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_DISPATCH_H
#define LINGON_RUNTIME_DISPATCH_H

#include "executable.h"
#include "leaves.h"
#include "pytree.h"

#include <list>
#include <string>
#include <unordered_map>

namespace lingon {
namespace dispatch {

/// Everything a call is looked up by.
struct Signature {
  uint64_t hash = 0;
  size_t numPositional = 0;
  CallSettings settings = {};
  std::vector<PyObject *> names; ///< keyword names: dynamic, then static
  size_t numDynamicNames = 0;
  std::vector<PyObject *> statics; ///< positional, then by sorted name
  std::vector<Aval *> avals;       ///< of the leaves
  pytree::Structure structure;     ///< of the dynamic arguments, in order
  /// Layouts of the leaves, null for those on one device; empty if all are.
  std::vector<PyObject *> layouts;
};

/// One compiled signature; owns all references in it. Counted, with the GIL.
struct Entry {
  Signature key;
  PyObject *executableObject = nullptr;
  Executable *executable = nullptr;
  PyObject *outTreeObject = nullptr;
  const pytree::PyTreeDef *outTree = nullptr;
  std::vector<uint32_t> kept;    ///< leaves that are inputs of the program
  std::vector<uint32_t> donated; ///< leaves that are deleted by the call

  void retain() { ++refs; }
  void release() {
    if (--refs == 0)
      delete this;
  }
  int visit(visitproc visit, void *arg) const;

  std::list<Entry *>::iterator position; ///< in the LRU list, if `cached`
  bool cached = false;

private:
  ~Entry();
  int64_t refs = 1;
};

/// The entries of one function, the least recently used ones bounded.
class Cache {
public:
  ~Cache() { clear(); }
  /// The entry of a signature (a new reference), made the most recent, or null;
  /// `failed` is set if Python code raised while values were compared.
  Entry *find(const Signature &key, bool &failed);
  /// Takes over the reference. Replaces an entry of an equal key.
  bool insert(Entry *entry);
  void clear();
  size_t size() const { return order.size(); }
  void setLimit(size_t newLimit);
  size_t getLimit() const { return limit; }
  int visit(visitproc visit, void *arg) const;

private:
  void evictOver(size_t count);
  void evict(Entry *entry);

  std::unordered_multimap<uint64_t, Entry *> entries;
  std::list<Entry *> order; ///< most recent first; owns the references
  size_t limit = 4096;
};

/// The Python object.
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

inline DispatchObject *asDispatch(PyObject *object) {
  return reinterpret_cast<DispatchObject *>(object);
}

/// The vectorcall function of the type.
PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf,
               PyObject *kwnames);

} // namespace dispatch
} // namespace lingon

#endif // LINGON_RUNTIME_DISPATCH_H
