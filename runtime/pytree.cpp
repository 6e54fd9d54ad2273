//===- pytree.cpp - Flattening and unflattening ---------------------------===//

#include "pytree_internal.h"

#include <algorithm>

namespace lingon {
namespace pytree {

Globals globals;

namespace {
/// Open-addressing map from types to registrations; entries are never removed.
/// Every leaf is looked up in it, which a std::unordered_map makes noticeable.
class Registry {
public:
  const Registration *find(PyObject *type) const {
    for (size_t i = slotOf(type);; i = (i + 1) & mask()) {
      if (!slots[i] || slots[i]->type == type)
        return slots[i];
    }
  }
  void add(const Registration *reg) {
    if (2 * ++count > slots.size()) {
      std::vector<const Registration *> old(2 * slots.size());
      old.swap(slots);
      for (const Registration *moved : old)
        if (moved)
          insert(moved);
    }
    insert(reg);
  }

private:
  size_t mask() const { return slots.size() - 1; }
  size_t slotOf(PyObject *type) const {
    size_t bits = reinterpret_cast<uintptr_t>(type) >> 4;
    return (bits ^ (bits >> 9)) & mask();
  }
  void insert(const Registration *reg) {
    size_t i = slotOf(reg->type);
    while (slots[i])
      i = (i + 1) & mask();
    slots[i] = reg;
  }

  std::vector<const Registration *> slots =
      std::vector<const Registration *>(64);
  size_t count = 0;
};
} // namespace

static Registry &registry() {
  // Never destroyed: the interpreter may be gone by then.
  static Registry *instance = new Registry();
  return *instance;
}

void raiseFrom(PyObject *type, const char *message) {
  PyObject *causeType, *cause, *trace;
  PyErr_Fetch(&causeType, &cause, &trace);
  PyErr_NormalizeException(&causeType, &cause, &trace);
  if (trace)
    PyException_SetTraceback(cause, trace);
  PyErr_SetString(type, message);
  PyObject *newType, *value, *newTrace;
  PyErr_Fetch(&newType, &value, &newTrace);
  PyErr_NormalizeException(&newType, &value, &newTrace);
  Py_XINCREF(cause);
  PyException_SetCause(value, cause);
  PyException_SetContext(value, cause);
  PyErr_Restore(newType, value, newTrace);
  Py_XDECREF(causeType);
  Py_XDECREF(trace);
}

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
// Registry
//===----------------------------------------------------------------------===//

const Registration *findRegistration(PyTypeObject *type) {
  return registry().find((PyObject *)type);
}

bool addRegistration(Registration *reg) {
  PyObject *type = reg->type;
  bool builtin = type == (PyObject *)&PyTuple_Type ||
                 type == (PyObject *)&PyList_Type ||
                 type == (PyObject *)&PyDict_Type ||
                 type == (PyObject *)Py_TYPE(Py_None) ||
                 type == globals.orderedDict || type == globals.defaultDict;
  if (builtin || findRegistration((PyTypeObject *)type)) {
    PyErr_Format(PyExc_ValueError,
                 "The type %R is already a pytree node: a type can be "
                 "registered only once.",
                 type);
    return false;
  }
  registry().add(reg);
  return true;
}

int classify(PyObject *obj, const Registration *&reg) {
  PyTypeObject *type = Py_TYPE(obj);
  reg = nullptr;
  if (type == &PyTuple_Type)
    return static_cast<int>(Kind::Tuple);
  if (type == &PyDict_Type)
    return static_cast<int>(Kind::Dict);
  if (type == &PyList_Type)
    return static_cast<int>(Kind::List);
  if (obj == Py_None)
    return static_cast<int>(Kind::None);
  reg = findRegistration(type);
  if (reg)
    return static_cast<int>(reg->kind);
  if (PyTuple_Check(obj)) {
    PyObject *fields = PyObject_GetAttr((PyObject *)type, globals.fieldsName);
    if (!fields) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
      PyErr_Clear();
      return static_cast<int>(Kind::Leaf);
    }
    Py_ssize_t size = PySequence_Size(fields);
    Py_DECREF(fields);
    if (size < 0)
      PyErr_Clear();
    if (size != PyTuple_GET_SIZE(obj)) {
      PyErr_Format(PyExc_ValueError,
                   "The _fields attribute of the namedtuple type %R must have "
                   "one entry for each "
                   "of the %zd elements.",
                   type, PyTuple_GET_SIZE(obj));
      return -1;
    }
    return static_cast<int>(Kind::NamedTuple);
  }
  if (PyDict_Check(obj)) {
    if ((PyObject *)type == globals.orderedDict)
      return static_cast<int>(Kind::OrderedDict);
    if ((PyObject *)type == globals.defaultDict)
      return static_cast<int>(Kind::DefaultDict);
  }
  return static_cast<int>(Kind::Leaf);
}

//===----------------------------------------------------------------------===//
// Children of one node
//===----------------------------------------------------------------------===//

static bool expandDictGeneral(PyObject *dict, bool sort, bool wrapError,
                              PyObject *&keys,
                              std::vector<PyObject *> &children) {
  PyObject *list = PyDict_Keys(dict);
  if (!list)
    return false;
  if (sort && PyList_Sort(list) < 0) {
    Py_DECREF(list);
    if (wrapError && PyErr_ExceptionMatches(PyExc_Exception))
      raiseFrom(PyExc_ValueError,
                "The keys of a dictionary that is a pytree node must be "
                "sortable: comparing them raised an exception.");
    return false;
  }
  keys = PyList_AsTuple(list);
  Py_DECREF(list);
  if (!keys)
    return false;
  Py_ssize_t size = PyTuple_GET_SIZE(keys);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject *value = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(keys, i));
    if (!value) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "dictionary changed while it was flattened");
      return false;
    }
    Py_INCREF(value);
    children.push_back(value);
  }
  return true;
}

/// Keys in sorted order and the values in the same order. Runs no Python code
/// when all keys are exact strings.
static bool expandDict(PyObject *dict, bool wrapError, PyObject *&keys,
                       std::vector<PyObject *> &children) {
  Py_ssize_t size = PyDict_GET_SIZE(dict);
  size_t base = children.size();
  keys = PyTuple_New(size);
  if (!keys)
    return false;
  PyObject *key, *value, *last = nullptr;
  Py_ssize_t pos = 0, count = 0;
  bool sorted = true, strings = true;
  while (PyDict_Next(dict, &pos, &key, &value)) {
    if (!PyUnicode_CheckExact(key) || count == size) {
      strings = false;
      break;
    }
    if (last && PyUnicode_Compare(last, key) > 0)
      sorted = false;
    last = key;
    Py_INCREF(key);
    PyTuple_SET_ITEM(keys, count++, key);
    Py_INCREF(value);
    children.push_back(value);
  }
  if (strings && count == size) {
    if (sorted)
      return true;
    std::vector<std::pair<PyObject *, PyObject *>> items(
        static_cast<size_t>(size));
    for (size_t i = 0; i < items.size(); ++i)
      items[i] = {PyTuple_GET_ITEM(keys, i), children[base + i]};
    std::sort(items.begin(), items.end(), [](const auto &a, const auto &b) {
      return PyUnicode_Compare(a.first, b.first) < 0;
    });
    for (size_t i = 0; i < items.size(); ++i) {
      PyTuple_SET_ITEM(keys, i, items[i].first);
      children[base + i] = items[i].second;
    }
    return true;
  }
  while (children.size() > base) {
    Py_DECREF(children.back());
    children.pop_back();
  }
  Py_CLEAR(keys);
  return expandDictGeneral(dict, /*sort=*/true, wrapError, keys, children);
}

/// Checks the result of a registered flatten function; borrowed results.
static bool checkFlattenResult(PyObject *result, const Registration *reg,
                               PyObject *&children, PyObject *&aux) {
  if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 2) {
    PyErr_Format(PyExc_ValueError,
                 "The flatten function of the pytree node type %R must return "
                 "a pair (children, "
                 "aux_data), but returned %R.",
                 reg->type, result);
    return false;
  }
  children = PyTuple_GET_ITEM(result, 0);
  aux = PyTuple_GET_ITEM(result, 1);
  return true;
}

/// Iterates over the children that a flatten function returned. New reference
/// to a fast sequence.
static PyObject *childSequence(PyObject *children, PyObject *result,
                               const Registration *reg) {
  PyObject *sequence = PySequence_Tuple(children);
  if (!sequence && PyErr_ExceptionMatches(PyExc_TypeError) &&
      !Py_TYPE(children)->tp_iter && !PySequence_Check(children)) {
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError,
                 "The flatten function of the pytree node type %R must return "
                 "a pair (children, "
                 "aux_data) with iterable children, but returned %R.",
                 reg->type, result);
  }
  return sequence;
}

static bool expandCustom(PyObject *obj, Node &node,
                         std::vector<PyObject *> &children) {
  PyObject *result = PyObject_CallOneArg(node.reg->flatten, obj);
  if (!result)
    return false;
  PyObject *items, *aux;
  PyObject *sequence = nullptr;
  if (checkFlattenResult(result, node.reg, items, aux))
    sequence = childSequence(items, result, node.reg);
  if (!sequence) {
    Py_DECREF(result);
    return false;
  }
  Py_ssize_t size = PyTuple_GET_SIZE(sequence);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject *child = PyTuple_GET_ITEM(sequence, i);
    Py_INCREF(child);
    children.push_back(child);
  }
  node.arity = static_cast<int32_t>(size);
  Py_INCREF(aux);
  node.data = aux;
  Py_DECREF(sequence);
  Py_DECREF(result);
  return true;
}

static bool expandDataclass(PyObject *obj, Node &node,
                            std::vector<PyObject *> &children) {
  const Registration *reg = node.reg;
  Py_ssize_t numMeta = PyTuple_GET_SIZE(reg->metaFields);
  node.data = PyTuple_New(numMeta);
  if (!node.data)
    return false;
  Py_ssize_t numData = PyTuple_GET_SIZE(reg->dataFields);
  for (Py_ssize_t i = 0; i < numData; ++i) {
    PyObject *value =
        PyObject_GetAttr(obj, PyTuple_GET_ITEM(reg->dataFields, i));
    if (!value)
      return false;
    children.push_back(value);
  }
  for (Py_ssize_t i = 0; i < numMeta; ++i) {
    PyObject *value =
        PyObject_GetAttr(obj, PyTuple_GET_ITEM(reg->metaFields, i));
    if (!value)
      return false;
    PyTuple_SET_ITEM(node.data, i, value);
  }
  node.arity = static_cast<int32_t>(numData);
  return true;
}

bool expand(PyObject *obj, Node &node, std::vector<PyObject *> &children) {
  switch (node.kind) {
  case Kind::Leaf:
  case Kind::None:
    node.arity = 0;
    return true;
  case Kind::NamedTuple:
    node.data = (PyObject *)Py_TYPE(obj);
    Py_INCREF(node.data);
    [[fallthrough]];
  case Kind::Tuple:
    node.arity = static_cast<int32_t>(PyTuple_GET_SIZE(obj));
    for (int32_t i = 0; i < node.arity; ++i) {
      PyObject *child = PyTuple_GET_ITEM(obj, i);
      Py_INCREF(child);
      children.push_back(child);
    }
    return true;
  case Kind::List:
    node.arity = static_cast<int32_t>(PyList_GET_SIZE(obj));
    for (int32_t i = 0; i < node.arity; ++i) {
      PyObject *child = PyList_GET_ITEM(obj, i);
      Py_INCREF(child);
      children.push_back(child);
    }
    return true;
  case Kind::Dict:
    if (!expandDict(obj, /*wrapError=*/true, node.data, children))
      return false;
    node.arity = static_cast<int32_t>(PyTuple_GET_SIZE(node.data));
    return true;
  case Kind::OrderedDict: {
    // Its own iteration order can differ from that of the underlying dict
    // (move_to_end).
    node.data = PySequence_Tuple(obj);
    if (!node.data)
      return false;
    node.arity = static_cast<int32_t>(PyTuple_GET_SIZE(node.data));
    for (int32_t i = 0; i < node.arity; ++i) {
      PyObject *value = PyObject_GetItem(obj, PyTuple_GET_ITEM(node.data, i));
      if (!value)
        return false;
      children.push_back(value);
    }
    return true;
  }
  case Kind::DefaultDict: {
    PyObject *keys = nullptr;
    if (!expandDict(obj, /*wrapError=*/false, keys, children)) {
      Py_XDECREF(keys);
      return false;
    }
    node.arity = static_cast<int32_t>(PyTuple_GET_SIZE(keys));
    PyObject *factory = PyObject_GetAttr(obj, globals.defaultFactoryName);
    node.data = factory ? PyTuple_Pack(2, factory, keys) : nullptr;
    Py_XDECREF(factory);
    Py_DECREF(keys);
    return node.data != nullptr;
  }
  case Kind::Custom:
    return expandCustom(obj, node, children);
  case Kind::Dataclass:
    return expandDataclass(obj, node, children);
  }
  return false;
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
