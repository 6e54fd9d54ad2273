//===- pytree.cpp - Flattening and unflattening ---------------------------===//

#include "pytree_internal.h"

namespace lingon {
namespace pytree {

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

void Structure::clear() {
  // Dropping data may run Python code that looks at this structure.
  std::vector<Node> dropped;
  dropped.swap(nodes);
  for (Node &node : dropped)
    Py_XDECREF(node.data);
  dropped.clear();
  if (nodes.empty())
    nodes.swap(dropped);
}

void Structure::append(const Node *first, size_t count) {
  nodes.reserve(nodes.size() + count);
  for (size_t i = 0; i < count; ++i) {
    Py_XINCREF(first[i].data);
    nodes.push_back(first[i]);
  }
}

//===----------------------------------------------------------------------===//
// Flatten
//===----------------------------------------------------------------------===//

namespace {
class Flattener {
public:
  Flattener(std::vector<PyObject *> &leaves, Structure &out, PyObject *isLeaf)
      : leaves(leaves), nodes(out.nodes), isLeaf(isLeaf) {}
  ~Flattener() {
    for (PyObject *obj : pending)
      Py_DECREF(obj);
    for (PyObject *key : path)
      Py_DECREF(key);
  }

  std::vector<PyObject *> *paths = nullptr;
  bool isLeafTakesPath = false;

  bool visit(PyObject *obj);

private:
  PyObject *pathTuple();
  int askIsLeaf(PyObject *obj);
  bool addLeaf(PyObject *obj);

  std::vector<PyObject *> &leaves;
  std::vector<Node> &nodes;
  PyObject *isLeaf;
  std::vector<PyObject *> pending; ///< children not visited yet, owned
  std::vector<PyObject *> path;    ///< keys from the root, owned
};
} // namespace

PyObject *Flattener::pathTuple() {
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(path.size()));
  if (!tuple)
    return nullptr;
  for (size_t i = 0; i < path.size(); ++i) {
    Py_INCREF(path[i]);
    PyTuple_SET_ITEM(tuple, i, path[i]);
  }
  return tuple;
}

int Flattener::askIsLeaf(PyObject *obj) {
  PyObject *result;
  if (isLeafTakesPath) {
    PyObject *tuple = pathTuple();
    if (!tuple)
      return -1;
    result = PyObject_CallFunctionObjArgs(isLeaf, tuple, obj, nullptr);
    Py_DECREF(tuple);
  } else {
    result = PyObject_CallOneArg(isLeaf, obj);
  }
  if (!result)
    return -1;
  int answer = result == Py_True ? 1 : 0;
  if (result != Py_True && result != Py_False) {
    PyErr_Format(PyExc_ValueError,
                 "is_leaf must return True or False, but returned %R.", result);
    answer = -1;
  }
  Py_DECREF(result);
  return answer;
}

bool Flattener::addLeaf(PyObject *obj) {
  if (paths) {
    PyObject *tuple = pathTuple();
    if (!tuple)
      return false;
    paths->push_back(tuple);
  }
  Py_INCREF(obj);
  leaves.push_back(obj);
  nodes.push_back({Kind::Leaf, 0, 1, 1, nullptr, nullptr});
  return true;
}

bool Flattener::visit(PyObject *obj) {
  if (isLeaf) {
    int answer = askIsLeaf(obj);
    if (answer < 0)
      return false;
    if (answer)
      return addLeaf(obj);
  }
  const Registration *reg;
  int kind = classify(obj, reg);
  if (kind < 0)
    return false;
  if (kind == static_cast<int>(Kind::Leaf))
    return addLeaf(obj);

  size_t index = nodes.size();
  nodes.push_back({static_cast<Kind>(kind), 0, 1, 0, nullptr, reg});
  if (kind == static_cast<int>(Kind::None))
    return true;
  RecursionGuard guard(" while flattening a pytree");
  if (!guard.ok)
    return false;

  size_t leafBase = leaves.size(), base = pending.size();
  Node node = nodes[index];
  bool ok = expand(obj, node, pending);
  nodes[index] = node;
  if (!ok)
    return false;
  PyObject *keys = nullptr;
  if (paths && !(keys = childKeys(obj, node)))
    return false;
  for (int32_t i = 0; ok && i < node.arity; ++i) {
    if (keys) {
      PyObject *key = PyTuple_GET_ITEM(keys, i);
      Py_INCREF(key);
      path.push_back(key);
    }
    ok = visit(pending[base + static_cast<size_t>(i)]);
    if (keys) {
      Py_DECREF(path.back());
      path.pop_back();
    }
  }
  Py_XDECREF(keys);
  if (!ok)
    return false;
  while (pending.size() > base) {
    PyObject *child = pending.back();
    pending.pop_back();
    Py_DECREF(child);
  }
  nodes[index].numNodes = static_cast<int32_t>(nodes.size() - index);
  nodes[index].numLeaves = static_cast<int32_t>(leaves.size() - leafBase);
  return true;
}

bool flatten(PyObject *tree, std::vector<PyObject *> &leaves, Structure &out,
             PyObject *isLeaf) {
  Flattener flattener(leaves, out, isLeaf);
  return flattener.visit(tree);
}

bool flattenWithPath(PyObject *tree, std::vector<PyObject *> &leaves,
                     std::vector<PyObject *> &paths, Structure &out,
                     PyObject *isLeaf, bool isLeafTakesPath) {
  Flattener flattener(leaves, out, isLeaf);
  flattener.paths = &paths;
  flattener.isLeafTakesPath = isLeafTakesPath;
  return flattener.visit(tree);
}

//===----------------------------------------------------------------------===//
// Unflatten
//===----------------------------------------------------------------------===//

static PyObject *makeMapping(PyObject *mapping, PyObject *keys,
                             PyObject **children) {
  if (!mapping)
    return nullptr;
  bool plain = PyDict_CheckExact(mapping);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    PyObject *key = PyTuple_GET_ITEM(keys, i);
    int failed = plain ? PyDict_SetItem(mapping, key, children[i])
                       : PyObject_SetItem(mapping, key, children[i]);
    if (failed) {
      Py_DECREF(mapping);
      return nullptr;
    }
  }
  return mapping;
}

static PyObject *makeNonSequence(const Node &node, PyObject **children) {
  switch (node.kind) {
  case Kind::Dict:
    return makeMapping(PyDict_New(), node.data, children);
  case Kind::OrderedDict:
    return makeMapping(PyObject_CallNoArgs(globals.orderedDict), node.data,
                       children);
  case Kind::DefaultDict:
    return makeMapping(PyObject_CallOneArg(globals.defaultDict,
                                           PyTuple_GET_ITEM(node.data, 0)),
                       PyTuple_GET_ITEM(node.data, 1), children);
  case Kind::NamedTuple:
    return PyObject_Vectorcall(node.data, children,
                               static_cast<size_t>(node.arity), nullptr);
  case Kind::Custom: {
    PyObject *tuple = PyTuple_New(node.arity);
    if (!tuple)
      return nullptr;
    for (int32_t i = 0; i < node.arity; ++i) {
      Py_INCREF(children[i]);
      PyTuple_SET_ITEM(tuple, i, children[i]);
    }
    PyObject *args[2] = {node.data, tuple};
    PyObject *result =
        PyObject_Vectorcall(node.reg->unflatten, args, 2, nullptr);
    Py_DECREF(tuple);
    return result;
  }
  case Kind::Dataclass: {
    std::vector<PyObject *> args(children, children + node.arity);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node.data); ++i)
      args.push_back(PyTuple_GET_ITEM(node.data, i));
    return PyObject_Vectorcall(node.reg->type, args.data(), 0,
                               node.reg->allFields);
  }
  default:
    PyErr_SetString(PyExc_SystemError, "not a pytree node");
    return nullptr;
  }
}

PyObject *makeNode(const Node &node, PyObject **children) {
  PyObject *result;
  switch (node.kind) {
  case Kind::None:
    Py_RETURN_NONE;
  case Kind::Tuple:
  case Kind::List:
    result = node.kind == Kind::Tuple ? PyTuple_New(node.arity)
                                      : PyList_New(node.arity);
    for (int32_t i = 0; i < node.arity; ++i) {
      if (!result)
        Py_DECREF(children[i]);
      else if (node.kind == Kind::Tuple)
        PyTuple_SET_ITEM(result, i, children[i]);
      else
        PyList_SET_ITEM(result, i, children[i]);
    }
    return result;
  default:
    result = makeNonSequence(node, children);
    for (int32_t i = 0; i < node.arity; ++i)
      Py_DECREF(children[i]);
    return result;
  }
}

static PyObject *unflattenNode(const Node *&node, PyObject *const *&leaf) {
  const Node &here = *node++;
  if (here.kind == Kind::Leaf) {
    PyObject *value = *leaf++;
    Py_INCREF(value);
    return value;
  }
  if (here.kind == Kind::None)
    Py_RETURN_NONE;
  RecursionGuard guard(" while unflattening a pytree");
  if (!guard.ok)
    return nullptr;
  constexpr int32_t inlineSize = 16;
  PyObject *inlined[inlineSize];
  std::vector<PyObject *> spilled;
  PyObject **children = inlined;
  if (here.arity > inlineSize) {
    spilled.resize(static_cast<size_t>(here.arity));
    children = spilled.data();
  }
  for (int32_t i = 0; i < here.arity; ++i) {
    children[i] = unflattenNode(node, leaf);
    if (!children[i]) {
      while (i-- > 0)
        Py_DECREF(children[i]);
      return nullptr;
    }
  }
  return makeNode(here, children);
}

PyObject *unflatten(const Node *root, PyObject *const *leaves) {
  return unflattenNode(root, leaves);
}

//===----------------------------------------------------------------------===//
// Comparison and hash
//===----------------------------------------------------------------------===//

/// Equality of data without running Python code, with 2 for "unknown".
static int equalDataFast(PyObject *a, PyObject *b, bool nested = false) {
  if (a == b)
    return 1;
  if (!a || !b)
    return 0;
  if (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b))
    return PyUnicode_Compare(a, b) == 0;
  if (!nested && PyTuple_CheckExact(a) && PyTuple_CheckExact(b)) {
    Py_ssize_t size = PyTuple_GET_SIZE(a);
    if (size != PyTuple_GET_SIZE(b))
      return 0;
    int result = 1;
    for (Py_ssize_t i = 0; i < size; ++i) {
      int one = equalDataFast(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i),
                              /*nested=*/true);
      if (one == 0)
        return 0;
      if (one == 2)
        result = 2;
    }
    return result;
  }
  return 2;
}

int equalNodesFast(const Node *a, const Node *b, size_t count) {
  int result = 1;
  for (size_t i = 0; i < count; ++i) {
    if (a[i].kind != b[i].kind || a[i].arity != b[i].arity ||
        a[i].reg != b[i].reg)
      return 0;
    if (a[i].data == b[i].data)
      continue;
    int one =
        a[i].kind == Kind::NamedTuple ? 0 : equalDataFast(a[i].data, b[i].data);
    if (one == 0)
      return 0;
    if (one == 2)
      result = 2;
  }
  return result;
}

int equalNodes(const Node *a, const Node *b, size_t count) {
  int fast = equalNodesFast(a, b, count);
  if (fast != 2)
    return fast;
  for (size_t i = 0; i < count; ++i) {
    if (a[i].data == b[i].data)
      continue;
    int one = PyObject_RichCompareBool(a[i].data, b[i].data, Py_EQ);
    if (one < 0) {
      if (PyErr_ExceptionMatches(PyExc_Exception))
        raiseFrom(PyExc_ValueError, "Comparing the metadata of two pytree "
                                    "nodes with == raised an exception. "
                                    "Metadata must be hashable and == must "
                                    "give a bool; an array cannot be "
                                    "metadata.");
      return -1;
    }
    if (!one)
      return 0;
  }
  return 1;
}

bool hashNodes(const Node *nodes, size_t count, uint64_t &seed) {
  for (size_t i = 0; i < count; ++i) {
    const Node &node = nodes[i];
    hashCombine(seed, (static_cast<uint64_t>(node.kind) << 32) |
                          static_cast<uint32_t>(node.arity));
    if (!node.data)
      continue;
    Py_hash_t hash = PyObject_Hash(node.data);
    if (hash == -1) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
      PyErr_Clear();
    }
    hashCombine(seed, static_cast<uint64_t>(hash));
  }
  return true;
}

} // namespace pytree
} // namespace lingon
