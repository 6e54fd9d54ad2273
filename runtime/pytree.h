//===- pytree.h - Trees of Python containers ------------------------------===//
//
// Flattening of nested Python containers into leaves and a structure, and the
// way back. A structure is the preorder list of its nodes. Errors follow the
// CPython convention: false or null is returned with a Python exception set.
//
//===----------------------------------------------------------------------===//

#ifndef LINGON_RUNTIME_PYTREE_H
#define LINGON_RUNTIME_PYTREE_H

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lingon {
namespace pytree {

enum class Kind : uint8_t {
  Leaf,
  None,
  Tuple,
  List,
  Dict,
  NamedTuple,
  OrderedDict,
  DefaultDict,
  Custom,
  Dataclass,
};

/// A type registered as a node. Registrations live as long as the process.
struct Registration {
  Kind kind;
  PyObject *type;
  PyObject *flatten = nullptr;         ///< object -> (children, aux)
  PyObject *unflatten = nullptr;       ///< (aux, children) -> object
  PyObject *flattenWithKeys = nullptr; ///< object -> ((key, child)..., aux)
  PyObject *dataFields = nullptr;      ///< dataclasses: tuple of names
  PyObject *metaFields = nullptr;
  PyObject *allFields = nullptr; ///< dataFields + metaFields
};

/// One node of a structure. `data` is an owned reference: the tuple of keys
/// (Dict, OrderedDict), (default_factory, keys) (DefaultDict), the class
/// (NamedTuple), the auxiliary data (Custom), the values of the metadata
/// fields (Dataclass), or null.
struct Node {
  Kind kind;
  int32_t arity;
  int32_t numNodes; ///< in the subtree, this node included
  int32_t numLeaves;
  PyObject *data;
  const Registration *reg;
};

/// A list of nodes that owns its references.
class Structure {
public:
  Structure() = default;
  Structure(Structure &&other) noexcept : nodes(std::move(other.nodes)) {
    other.nodes.clear();
  }
  Structure &operator=(Structure &&other) noexcept {
    std::swap(nodes, other.nodes);
    return *this;
  }
  Structure(const Structure &) = delete;
  Structure &operator=(const Structure &) = delete;
  ~Structure() { clear(); }

  /// Drops all nodes and keeps the capacity.
  void clear();
  /// Appends a copy of `count` nodes.
  void append(const Node *first, size_t count);

  std::vector<Node> nodes;
};

/// The Python object `PyTreeDef`.
struct PyTreeDef {
  Structure structure;

  const Node *root() const { return structure.nodes.data(); }
  size_t numNodes() const { return structure.nodes.size(); }
  size_t numLeaves() const { return static_cast<size_t>(root()->numLeaves); }
};

/// Appends the leaves of `tree` (as owned references) and its nodes.
/// `isLeaf` is null or a predicate. On failure what was appended stays.
bool flatten(PyObject *tree, std::vector<PyObject *> &leaves, Structure &out,
             PyObject *isLeaf = nullptr);

/// Builds the tree of the structure at `root` from its leaves (borrowed).
PyObject *unflatten(const Node *root, PyObject *const *leaves);

/// Compares two node lists of equal length. 1, 0, or -1 with an exception set
/// (the `__eq__` of a key or of auxiliary data raised).
int equalNodes(const Node *a, const Node *b, size_t count);
/// As equalNodes but never runs Python code: 1, 0, or 2 for "needs Python".
int equalNodesFast(const Node *a, const Node *b, size_t count);
/// A hash of a node list, consistent with equalNodes. Unhashable auxiliary
/// data does not contribute. False if a `__hash__` raised anything else than
/// TypeError.
bool hashNodes(const Node *nodes, size_t count, uint64_t &seed);

/// The text of a structure, without the surrounding `PyTreeDef()`.
bool toString(const Node *root, std::string &out);

inline void hashCombine(uint64_t &seed, uint64_t value) {
  uint64_t x = (seed ^ value) * 0x9E3779B97F4A7C15ull;
  seed = x ^ (x >> 29);
}

} // namespace pytree

} // namespace lingon

#endif // LINGON_RUNTIME_PYTREE_H
