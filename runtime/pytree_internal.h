//===- pytree_internal.h - Shared by the pytree sources ---------*- C++ -*-===//

#ifndef LINGON_RUNTIME_PYTREE_INTERNAL_H
#define LINGON_RUNTIME_PYTREE_INTERNAL_H

#include "pytree.h"

namespace lingon {
namespace pytree {

/// Python objects used throughout, set up once at import.
struct Globals {
  PyObject *orderedDict;
  PyObject *defaultDict;
  PyObject *fieldsName;         ///< "_fields"
  PyObject *defaultFactoryName; ///< "default_factory"
  PyObject *dictKey;            ///< the key entry classes
  PyObject *sequenceKey;
  PyObject *getAttrKey;
  PyObject *flattenedIndexKey;
};
extern Globals globals;

/// Counts a recursion for Python's limit; RecursionError is set if not `ok`.
struct RecursionGuard {
  bool ok;
  explicit RecursionGuard(const char *where)
      : ok(Py_EnterRecursiveCall(where) == 0) {}
  ~RecursionGuard() {
    if (ok)
      Py_LeaveRecursiveCall();
  }
};

/// The registration of a type, or null. Builtin containers have none.
const Registration *findRegistration(PyTypeObject *type);
/// Takes over `reg` and its references. False with ValueError if its type is
/// registered already or is one of the builtin containers.
bool addRegistration(Registration *reg);

/// What kind of node an object is. -1 on error, else a Kind.
int classify(PyObject *obj, const Registration *&reg);

/// Fills in `node` for `obj` (all but the counts) and appends its children to
/// `children` as owned references. The node must not be a leaf.
bool expand(PyObject *obj, Node &node, std::vector<PyObject *> &children);

/// The keys (DictKey, SequenceKey, ...) of the children of `obj`, which must be
/// a node of the kind that `node` says. New reference to a tuple.
PyObject *childKeys(PyObject *obj, const Node &node);

/// flatten, with the path of each leaf (a tuple of keys, owned) in `paths`.
bool flattenWithPath(PyObject *tree, std::vector<PyObject *> &leaves,
                     std::vector<PyObject *> &paths, Structure &out,
                     PyObject *isLeaf, bool isLeafTakesPath);

/// Appends to `out` the subtrees of `tree` at the leaves of the structure at
/// `root` (owned). `treeName` and `structureName` are used in the message of
/// the ValueError.
bool flattenUpTo(const Node *root, PyObject *tree, std::vector<PyObject *> &out,
                 const char *treeName, const char *structureName);

/// Makes one node with `children` already unflattened (owned references,
/// stolen).
PyObject *makeNode(const Node &node, PyObject **children);

/// `data` as `node_data()` shows it, with the type. New reference, None for a
/// leaf.
PyObject *nodeData(const Node &node);

/// Replaces the current exception with one of `type` that has it as its cause.
void raiseFrom(PyObject *type, const char *message);

} // namespace pytree
} // namespace lingon

#endif // LINGON_RUNTIME_PYTREE_INTERNAL_H
