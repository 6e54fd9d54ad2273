//===- pytree_bindings.cpp - the Python submodule _runtime.pytree ---------===//

#include "module.h"
#include "pytree_internal.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>

namespace nb = nanobind;

namespace lingon {
namespace pytree {

namespace {
struct DictKey {
  nb::object key;
};
struct SequenceKey {
  Py_ssize_t idx;
};
struct GetAttrKey {
  nb::str name;
};
struct FlattenedIndexKey {
  Py_ssize_t key;
};
struct PyTreeRegistry {};

/// Owned references that are dropped on the way out.
class Refs {
public:
  ~Refs() {
    for (PyObject *obj : items)
      Py_DECREF(obj);
  }
  /// Moves the references into a list.
  nb::list takeList() {
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(items.size()));
    if (!list)
      throw nb::python_error();
    for (size_t i = 0; i < items.size(); ++i)
      PyList_SET_ITEM(list, i, items[i]);
    items.clear();
    return nb::steal<nb::list>(list);
  }
  std::vector<PyObject *> items;
};
} // namespace

static void check(bool ok) {
  if (!ok)
    throw nb::python_error();
}

static nb::object checked(PyObject *newReference) {
  check(newReference != nullptr);
  return nb::steal<nb::object>(newReference);
}

static PyObject *predicate(const nb::object &isLeaf) {
  if (isLeaf.is_none())
    return nullptr;
  if (!PyCallable_Check(isLeaf.ptr())) {
    PyErr_Format(PyExc_TypeError, "is_leaf must be callable or None, got %R.",
                 isLeaf.ptr());
    throw nb::python_error();
  }
  return isLeaf.ptr();
}

static std::string text(const PyTreeDef &def) {
  std::string out = "PyTreeDef(";
  check(toString(def.root(), out));
  return out + ")";
}

static PyTreeDef subtree(const Node *root) {
  PyTreeDef def;
  def.structure.append(root, static_cast<size_t>(root->numNodes));
  return def;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static nb::tuple flattenPy(nb::handle tree, const nb::object &isLeaf) {
  Refs leaves;
  PyTreeDef def;
  check(flatten(tree.ptr(), leaves.items, def.structure, predicate(isLeaf)));
  return nb::make_tuple(leaves.takeList(), nb::cast(std::move(def)));
}

static nb::list leavesPy(nb::handle tree, const nb::object &isLeaf) {
  Refs leaves;
  Structure structure;
  check(flatten(tree.ptr(), leaves.items, structure, predicate(isLeaf)));
  return leaves.takeList();
}

static nb::tuple flattenWithPathPy(nb::handle tree, const nb::object &isLeaf,
                                   bool isLeafTakesPath) {
  Refs leaves, paths;
  PyTreeDef def;
  check(flattenWithPath(tree.ptr(), leaves.items, paths.items, def.structure,
                        predicate(isLeaf), isLeafTakesPath));
  nb::list pairs;
  for (size_t i = 0; i < leaves.items.size(); ++i)
    pairs.append(nb::make_tuple(nb::borrow(paths.items[i]),
                                nb::borrow(leaves.items[i])));
  return nb::make_tuple(pairs, nb::cast(std::move(def)));
}

/// Exactly `expected` items of an iterable, or ValueError.
static void takeLeaves(const PyTreeDef &def, nb::handle iterable, Refs &out) {
  size_t expected = def.numLeaves();
  nb::object iterator = checked(PyObject_GetIter(iterable.ptr()));
  while (PyObject *item = PyIter_Next(iterator.ptr())) {
    out.items.push_back(item);
    if (out.items.size() > expected)
      break;
  }
  check(!PyErr_Occurred());
  size_t got = out.items.size();
  if (got == expected)
    return;
  std::string structure = text(def);
  PyErr_Format(PyExc_ValueError,
               "Too %s leaves for PyTreeDef; expected %zu, got %s%zu. The "
               "structure is %.1000s%s",
               got < expected ? "few" : "many", expected,
               got < expected ? "" : "at least ", got, structure.c_str(),
               structure.size() > 1000 ? "..." : "");
  throw nb::python_error();
}

static nb::object unflattenPy(const PyTreeDef &def, nb::handle leaves) {
  PyObject *obj = leaves.ptr();
  if (PyTuple_CheckExact(obj) &&
      static_cast<size_t>(PyTuple_GET_SIZE(obj)) == def.numLeaves())
    return checked(unflatten(def.root(), ((PyTupleObject *)obj)->ob_item));
  if (!PyObject_HasAttrString(obj, "__iter__") && !PySequence_Check(obj)) {
    PyErr_Format(PyExc_TypeError,
                 "unflatten needs an iterable of leaves, got an object of "
                 "type %R.",
                 Py_TYPE(obj));
    throw nb::python_error();
  }
  Refs items;
  takeLeaves(def, leaves, items);
  return checked(unflatten(def.root(), items.items.data()));
}

static nb::list flattenUpToPy(const PyTreeDef &def, nb::handle tree,
                              const std::string &treeName,
                              const std::string &structureName) {
  Refs out;
  check(flattenUpTo(def.root(), tree.ptr(), out.items, treeName.c_str(),
                    structureName.c_str()));
  return out.takeList();
}

/// One node expanded, or false if `obj` is a leaf.
static bool expandOne(PyObject *obj, Node &node, Refs &children, Refs &data) {
  const Registration *reg;
  int kind = classify(obj, reg);
  check(kind >= 0);
  node = {static_cast<Kind>(kind), 0, 1, 0, nullptr, reg};
  if (node.kind == Kind::Leaf)
    return false;
  bool ok = expand(obj, node, children.items);
  if (node.data)
    data.items.push_back(node.data);
  check(ok);
  return true;
}

/// The auxiliary data of one node as flatten_one_level shows it.
static nb::object oneLevelData(const Node &node) {
  return node.data ? nb::borrow(node.data) : nb::none();
}

static nb::object flattenOneLevel(nb::handle tree) {
  Node node;
  Refs children, data;
  if (!expandOne(tree.ptr(), node, children, data))
    return nb::none();
  nb::object aux = oneLevelData(node);
  nb::object list = children.takeList();
  if (node.kind == Kind::Tuple || node.kind == Kind::None ||
      node.kind == Kind::Dict)
    list = nb::tuple(list);
  return nb::make_tuple(list, aux);
}

static nb::object flattenOneLevelWithKeys(nb::handle tree) {
  Node node;
  Refs children, data;
  if (!expandOne(tree.ptr(), node, children, data))
    return nb::none();
  nb::object keys = checked(childKeys(tree.ptr(), node));
  nb::list pairs;
  for (size_t i = 0; i < children.items.size(); ++i)
    pairs.append(nb::make_tuple(keys[i], nb::borrow(children.items[i])));
  nb::object aux = oneLevelData(node);
  return nb::make_tuple(pairs, aux);
}

static bool allLeaves(nb::handle iterable) {
  for (nb::handle item : nb::iter(iterable)) {
    const Registration *reg;
    int kind = classify(item.ptr(), reg);
    check(kind >= 0);
    if (kind != static_cast<int>(Kind::Leaf))
      return false;
  }
  return true;
}

static bool isNode(nb::type_object type) {
  auto *ptr = (PyTypeObject *)type.ptr();
  if (ptr == &PyTuple_Type || ptr == &PyList_Type || ptr == &PyDict_Type ||
      ptr == Py_TYPE(Py_None) || (PyObject *)ptr == globals.orderedDict ||
      (PyObject *)ptr == globals.defaultDict || findRegistration(ptr))
    return true;
  return PyType_IsSubtype(ptr, &PyTuple_Type) && nb::hasattr(type, "_fields");
}

static void registerNode(nb::type_object type, nb::callable flatten,
                         nb::callable unflatten, nb::object withKeys) {
  auto reg = std::make_unique<Registration>();
  reg->kind = Kind::Custom;
  reg->type = type.ptr();
  check(addRegistration(reg.get()));
  type.inc_ref();
  reg->flatten = flatten.release().ptr();
  reg->unflatten = unflatten.release().ptr();
  if (!withKeys.is_none())
    reg->flattenWithKeys = withKeys.release().ptr();
  reg.release(); // the registry keeps it for good
}

static void registerDataclass(nb::type_object type, nb::sequence dataFields,
                              nb::sequence metaFields) {
  auto intern = [](const nb::sequence &fields) {
    nb::object names = checked(PySequence_Tuple(fields.ptr()));
    PyObject *out = PyTuple_New(PyTuple_GET_SIZE(names.ptr()));
    check(out != nullptr);
    nb::object result = nb::steal(out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); ++i) {
      PyObject *name = PyTuple_GET_ITEM(names.ptr(), i);
      if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "Field names must be strings, got %R.",
                     name);
        throw nb::python_error();
      }
      Py_INCREF(name);
      PyUnicode_InternInPlace(&name);
      PyTuple_SET_ITEM(out, i, name);
    }
    return result;
  };
  nb::object data = intern(dataFields), meta = intern(metaFields);
  nb::object all = checked(PySequence_Concat(data.ptr(), meta.ptr()));
  auto reg = std::make_unique<Registration>();
  reg->kind = Kind::Dataclass;
  reg->type = type.ptr();
  check(addRegistration(reg.get()));
  type.inc_ref();
  reg->dataFields = data.release().ptr();
  reg->metaFields = meta.release().ptr();
  reg->allFields = all.release().ptr();
  reg.release();
}

//===----------------------------------------------------------------------===//
// PyTreeDef
//===----------------------------------------------------------------------===//

static nb::list childrenOf(const PyTreeDef &def) {
  nb::list out;
  const Node *child = def.root() + 1;
  for (int32_t i = 0; i < def.root()->arity; ++i) {
    out.append(nb::cast(subtree(child)));
    child += child->numNodes;
  }
  return out;
}

static int32_t composeInto(const Node *&outer, const PyTreeDef &inner,
                           Structure &out) {
  const Node &here = *outer++;
  if (here.kind == Kind::Leaf) {
    out.append(inner.root(), inner.numNodes());
    return inner.root()->numLeaves;
  }
  size_t index = out.nodes.size();
  out.append(&here, 1);
  RecursionGuard guard(" while composing pytree structures");
  check(guard.ok);
  int32_t leaves = 0;
  for (int32_t i = 0; i < here.arity; ++i)
    leaves += composeInto(outer, inner, out);
  out.nodes[index].numNodes = static_cast<int32_t>(out.nodes.size() - index);
  out.nodes[index].numLeaves = leaves;
  return leaves;
}

static PyTreeDef compose(const PyTreeDef &outer, const PyTreeDef &inner) {
  PyTreeDef def;
  const Node *node = outer.root();
  composeInto(node, inner, def.structure);
  return def;
}

/// Appends `node` (whose data is stolen) with the children.
static PyTreeDef assemble(Node node,
                          const std::vector<const PyTreeDef *> &children) {
  PyTreeDef def;
  node.arity = static_cast<int32_t>(children.size());
  node.numNodes = 1;
  node.numLeaves = 0;
  for (const PyTreeDef *child : children) {
    node.numNodes += child->root()->numNodes;
    node.numLeaves += child->root()->numLeaves;
  }
  def.structure.nodes.push_back(node);
  for (const PyTreeDef *child : children)
    def.structure.append(child->root(), child->numNodes());
  return def;
}

static std::vector<const PyTreeDef *> castDefs(const nb::tuple &defs) {
  std::vector<const PyTreeDef *> out;
  for (nb::handle def : defs) {
    const PyTreeDef *ptr;
    if (!nb::try_cast(def, ptr) || !ptr) {
      PyErr_Format(PyExc_TypeError, "Expected PyTreeDef objects, got %R.",
                   def.ptr());
      throw nb::python_error();
    }
    out.push_back(ptr);
  }
  return out;
}

static PyTreeDef treedefTuple(nb::handle defs) {
  nb::tuple items(checked(PySequence_Tuple(defs.ptr())));
  return assemble({Kind::Tuple, 0, 0, 0, nullptr, nullptr}, castDefs(items));
}

[[noreturn]] static void badNodeData(PyObject *type, PyObject *data) {
  PyErr_Format(PyExc_ValueError,
               "%R is not the node data of a pytree node of type %R with the "
               "given number of children.",
               data, type);
  throw nb::python_error();
}

/// The node of a type with its data (as node_data() shows it) and arity.
static Node nodeFrom(PyObject *type, PyObject *data, Py_ssize_t arity) {
  Node node = {Kind::Leaf, static_cast<int32_t>(arity), 1, 0, nullptr, nullptr};
  auto keyCount = [&](PyObject *keys) {
    if (!keys || !PyTuple_Check(keys) || PyTuple_GET_SIZE(keys) != arity)
      badNodeData(type, data);
  };
  if (type == (PyObject *)Py_TYPE(Py_None)) {
    node.kind = Kind::None;
    if (arity)
      badNodeData(type, data);
  } else if (type == (PyObject *)&PyTuple_Type) {
    node.kind = Kind::Tuple;
  } else if (type == (PyObject *)&PyList_Type) {
    node.kind = Kind::List;
  } else if (type == (PyObject *)&PyDict_Type) {
    node.kind = Kind::Dict;
    nb::object keys = checked(PySequence_Tuple(data));
    keyCount(keys.ptr());
    node.data = keys.release().ptr();
  } else if (type == globals.orderedDict) {
    node.kind = Kind::OrderedDict;
    keyCount(data);
  } else if (type == globals.defaultDict) {
    node.kind = Kind::DefaultDict;
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
      badNodeData(type, data);
    keyCount(PyTuple_GET_ITEM(data, 1));
  } else if (PyType_Check(type)) {
    node.reg = findRegistration((PyTypeObject *)type);
    if (node.reg) {
      node.kind = node.reg->kind;
      if (node.kind == Kind::Dataclass &&
          (!PyTuple_Check(data) ||
           arity != PyTuple_GET_SIZE(node.reg->dataFields) ||
           PyTuple_GET_SIZE(data) != PyTuple_GET_SIZE(node.reg->metaFields)))
        badNodeData(type, data);
    } else if (PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type) &&
               PyObject_HasAttr(type, globals.fieldsName)) {
      node.kind = Kind::NamedTuple;
      data = type;
      nb::object fields = checked(PyObject_GetAttr(type, globals.fieldsName));
      if (PySequence_Size(fields.ptr()) != arity) {
        PyErr_Clear();
        badNodeData(type, data);
      }
    }
  }
  if (node.kind == Kind::Leaf) {
    PyErr_Format(PyExc_ValueError, "The type %R is not a pytree node.", type);
    throw nb::python_error();
  }
  if (node.kind >= Kind::NamedTuple) {
    Py_INCREF(data);
    node.data = data;
  }
  return node;
}

static PyTreeDef fromNodeData(const PyTreeRegistry &, const nb::object &pair,
                              nb::handle children) {
  nb::tuple items(checked(PySequence_Tuple(children.ptr())));
  std::vector<const PyTreeDef *> defs = castDefs(items);
  if (pair.is_none()) {
    if (!defs.empty())
      throw nb::value_error("A leaf (node data None) has no children.");
    return assemble({Kind::Leaf, 0, 0, 0, nullptr, nullptr}, defs);
  }
  if (!PyTuple_Check(pair.ptr()) || PyTuple_GET_SIZE(pair.ptr()) != 2)
    throw nb::type_error("node_data must be None or a pair (type, data).");
  Node node =
      nodeFrom(PyTuple_GET_ITEM(pair.ptr(), 0), PyTuple_GET_ITEM(pair.ptr(), 1),
               static_cast<Py_ssize_t>(defs.size()));
  return assemble(node, defs);
}

static nb::tuple getState(const PyTreeDef &def) {
  nb::list nodes;
  for (const Node &node : def.structure.nodes)
    nodes.append(nb::make_tuple(checked(nodeData(node)), node.arity));
  return nb::make_tuple(nb::tuple(nodes));
}

/// A tuple of the given size, or ValueError.
static nb::tuple pickledTuple(nb::handle object, Py_ssize_t size) {
  if (!PyTuple_Check(object.ptr()) || PyTuple_GET_SIZE(object.ptr()) != size)
    throw nb::value_error("The pickled PyTreeDef is malformed.");
  return nb::borrow<nb::tuple>(object);
}

/// Rebuilds one subtree from the preorder list of (node data, arity).
static void setNode(const nb::tuple &nodes, size_t &next, Structure &out) {
  if (next >= nodes.size())
    throw nb::value_error("The pickled PyTreeDef is incomplete.");
  nb::tuple pair = pickledTuple(nodes[next++], 2);
  int32_t arity = 0;
  if (!nb::try_cast(nb::handle(pair[1]), arity) || arity < 0)
    throw nb::value_error("The pickled PyTreeDef is malformed.");
  size_t index = out.nodes.size();
  if (nb::handle(pair[0]).is_none()) {
    out.nodes.push_back({Kind::Leaf, 0, 1, 1, nullptr, nullptr});
    return;
  }
  nb::tuple item = pickledTuple(pair[0], 2);
  nb::object type = item[0], data = item[1];
  out.nodes.push_back(nodeFrom(type.ptr(), data.ptr(), arity));
  RecursionGuard guard(" while unpickling a pytree structure");
  check(guard.ok);
  int32_t leaves = 0;
  for (int32_t i = 0; i < arity; ++i) {
    size_t child = out.nodes.size();
    setNode(nodes, next, out);
    leaves += out.nodes[child].numLeaves;
  }
  out.nodes[index].numNodes = static_cast<int32_t>(out.nodes.size() - index);
  out.nodes[index].numLeaves = leaves;
}

static void setState(PyTreeDef &def, const nb::tuple &state) {
  Structure structure;
  size_t next = 0;
  nb::tuple nodes(checked(PySequence_Tuple(pickledTuple(state, 1)[0].ptr())));
  setNode(nodes, next, structure);
  if (next != nodes.size())
    throw nb::value_error("The pickled PyTreeDef is malformed.");
  new (&def) PyTreeDef();
  def.structure = std::move(structure);
}

static nb::object walkNode(const Node *&node, const nb::callable &onNode,
                           const nb::callable &onLeaf, PyObject *const *&leaf) {
  const Node &here = *node++;
  if (here.kind == Kind::Leaf)
    return onLeaf(nb::borrow(*leaf++));
  RecursionGuard guard(" while walking over a pytree structure");
  check(guard.ok);
  nb::list children;
  for (int32_t i = 0; i < here.arity; ++i)
    children.append(walkNode(node, onNode, onLeaf, leaf));
  nb::tuple pair(checked(nodeData(here)));
  return onNode(nb::tuple(children), pair[1]);
}

static nb::object walk(const PyTreeDef &def, const nb::callable &onNode,
                       const nb::callable &onLeaf, nb::handle leaves) {
  Refs items;
  takeLeaves(def, leaves, items);
  const Node *node = def.root();
  PyObject *const *leaf = items.items.data();
  return walkNode(node, onNode, onLeaf, leaf);
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self))
    return 0;
  for (const Node &node : nb::inst_ptr<PyTreeDef>(self)->structure.nodes)
    Py_VISIT(node.data);
  return 0;
}

static int traverseDictKey(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    Py_VISIT(nb::inst_ptr<DictKey>(self)->key.ptr());
  return 0;
}

// No tp_clear: like a tuple, the object is immutable, so that every cycle
// through it passes through a mutable object that can be cleared.
static PyType_Slot treeDefSlots[] = {{Py_tp_traverse, (void *)traverse},
                                     {0, nullptr}};
static PyType_Slot dictKeySlots[] = {{Py_tp_traverse, (void *)traverseDictKey},
                                     {0, nullptr}};

static void bindTreeDef(nb::module_ &m) {
  nb::class_<PyTreeDef>(m, "PyTreeDef", nb::type_slots(treeDefSlots),
                        "The structure of a pytree.")
      .def("unflatten", &unflattenPy, nb::arg("leaves"),
           "The tree of this structure with the given leaves. ValueError if "
           "their number is wrong.")
      .def(
          "flatten_up_to",
          [](const PyTreeDef &def, nb::handle tree) {
            return flattenUpToPy(def, tree, "the tree", "the structure");
          },
          nb::arg("tree").none(),
          "The subtrees of `tree` at the leaves of this structure. ValueError "
          "if this structure is not a prefix of the tree.")
      .def("compose", &compose, nb::arg("inner"),
           "This structure with every leaf replaced by `inner`.")
      .def("walk", &walk, nb::arg("f_node"), nb::arg("f_leaf"),
           nb::arg("leaves"),
           "Calls f_leaf(leaf) and f_node(children, node_data), bottom up.")
      .def("children", &childrenOf, "The structures of the root's children.")
      .def(
          "node_data",
          [](const PyTreeDef &def) { return checked(nodeData(*def.root())); },
          "None for a leaf, else (type, data) of the root.")
      .def_static("from_node_data_and_children", &fromNodeData,
                  nb::arg("registry"), nb::arg("node_data").none(),
                  nb::arg("children"), "The inverse of the two.")
      .def_prop_ro("num_leaves", &PyTreeDef::numLeaves)
      .def_prop_ro("num_nodes", &PyTreeDef::numNodes)
      .def("__repr__", &text)
      .def(
          "__eq__",
          [](const PyTreeDef &a, nb::handle other) {
            const PyTreeDef *b;
            if (!nb::try_cast(other, b) || !b)
              return false;
            if (a.numNodes() != b->numNodes())
              return false;
            int same = equalNodes(a.root(), b->root(), a.numNodes());
            check(same >= 0);
            return same == 1;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PyTreeDef &def) {
             uint64_t seed = 0;
             check(hashNodes(def.root(), def.numNodes(), seed));
             return static_cast<Py_hash_t>(seed >> 1);
           })
      .def("__getstate__", &getState)
      .def("__setstate__", &setState);
}

template <typename Key, typename Value>
static void bindKey(nb::class_<Key> &cls, const char *field, Value Key::*member,
                    const char *prefix, const char *suffix, bool repr) {
  std::string name = nb::cast<std::string>(cls.attr("__name__"));
  cls.def(nb::init<Value>(), nb::arg(field))
      .def_ro(field, member)
      .def(
          "__eq__",
          [member](const Key &self, nb::handle other) {
            const Key *key;
            if (!nb::try_cast(other, key) || !key)
              return false;
            return nb::cast(self.*member).equal(nb::cast(key->*member));
          },
          nb::arg("other").none())
      .def("__hash__",
           [member](const Key &self) {
             return nb::hash(nb::cast(self.*member));
           })
      .def("__repr__",
           [=](const Key &self) {
             return name + "(" + field + "=" +
                    nb::repr(nb::cast(self.*member)).c_str() + ")";
           })
      .def("__str__",
           [=](const Key &self) {
             nb::object value = nb::cast(self.*member);
             nb::str shown = repr ? nb::repr(value) : nb::str(value);
             return prefix + std::string(shown.c_str()) + suffix;
           })
      .def("__getstate__",
           [member](const Key &self) { return nb::make_tuple(self.*member); })
      .def("__setstate__", [](Key &self, const nb::tuple &state) {
        nb::tuple item = pickledTuple(state, 1);
        Value value;
        if (!nb::try_cast(nb::handle(item[0]), value))
          throw nb::value_error("The pickled key is malformed.");
        new (&self) Key{value};
      });
  cls.attr("__match_args__") = nb::make_tuple(field);
}

static void bindKeys(nb::module_ &m) {
  nb::class_<DictKey> dictKey(m, "DictKey", nb::type_slots(dictKeySlots),
                              "The key of a child of a dictionary.");
  dictKey.def(nb::init<nb::object>(), nb::arg("key").none());
  bindKey(dictKey, "key", &DictKey::key, "[", "]", true);
  nb::class_<SequenceKey> sequenceKey(m, "SequenceKey",
                                      "The index of a child of a sequence.");
  bindKey(sequenceKey, "idx", &SequenceKey::idx, "[", "]", false);
  nb::class_<GetAttrKey> getAttrKey(m, "GetAttrKey",
                                    "The attribute name of a child.");
  bindKey(getAttrKey, "name", &GetAttrKey::name, ".", "", false);
  nb::class_<FlattenedIndexKey> flattenedIndexKey(
      m, "FlattenedIndexKey",
      "The position of a child of a node that gives no keys.");
  bindKey(flattenedIndexKey, "key", &FlattenedIndexKey::key, "[<flat index ",
          ">]", false);
  globals.dictKey = dictKey.inc_ref().ptr();
  globals.sequenceKey = sequenceKey.inc_ref().ptr();
  globals.getAttrKey = getAttrKey.inc_ref().ptr();
  globals.flattenedIndexKey = flattenedIndexKey.inc_ref().ptr();
}

static void bindRegistry(nb::module_ &m) {
  nb::class_<PyTreeRegistry>(m, "PyTreeRegistry",
                             "The registered pytree node types.")
      .def(
          "flatten",
          [](const PyTreeRegistry &, nb::handle tree, nb::object isLeaf) {
            return flattenPy(tree, isLeaf);
          },
          nb::arg("tree").none(), nb::arg("leaf_predicate") = nb::none())
      .def(
          "flatten_with_path",
          [](const PyTreeRegistry &, nb::handle tree, nb::object isLeaf) {
            return flattenWithPathPy(tree, isLeaf, /*isLeafTakesPath=*/true);
          },
          nb::arg("tree").none(), nb::arg("leaf_predicate") = nb::none())
      .def(
          "flatten_one_level",
          [](const PyTreeRegistry &, nb::handle tree) {
            return flattenOneLevel(tree);
          },
          nb::arg("tree").none())
      .def(
          "flatten_one_level_with_keys",
          [](const PyTreeRegistry &, nb::handle tree) {
            return flattenOneLevelWithKeys(tree);
          },
          nb::arg("tree").none())
      .def(
          "is_node",
          [](const PyTreeRegistry &, nb::type_object type) {
            return isNode(type);
          },
          nb::arg("type"))
      .def(
          "register_node",
          [](const PyTreeRegistry &, nb::type_object type, nb::callable flatten,
             nb::callable unflatten, nb::object withKeys) {
            registerNode(type, flatten, unflatten, withKeys);
          },
          nb::arg("type"), nb::arg("to_iterable"), nb::arg("from_iterable"),
          nb::arg("to_iterable_with_keys") = nb::none())
      .def(
          "register_dataclass_node",
          [](const PyTreeRegistry &, nb::type_object type, nb::sequence data,
             nb::sequence meta) { registerDataclass(type, data, meta); },
          nb::arg("type"), nb::arg("data_fields"), nb::arg("meta_fields"));
  m.attr("default_registry") = nb::cast(PyTreeRegistry());
}

static void bind(nb::module_ &module) {
  nb::module_ m = module.def_submodule("pytree", "Trees of Python containers.");
  globals.orderedDict =
      nb::module_::import_("collections").attr("OrderedDict").inc_ref().ptr();
  globals.defaultDict =
      nb::module_::import_("collections").attr("defaultdict").inc_ref().ptr();
  globals.fieldsName =
      checked(PyUnicode_InternFromString("_fields")).release().ptr();
  globals.defaultFactoryName =
      checked(PyUnicode_InternFromString("default_factory")).release().ptr();
  bindKeys(m);
  bindTreeDef(m);
  bindRegistry(m);
  m.def("flatten", &flattenPy, nb::arg("tree").none(),
        nb::arg("is_leaf") = nb::none(), "(leaves, structure) of a tree.");
  m.def("leaves", &leavesPy, nb::arg("tree").none(),
        nb::arg("is_leaf") = nb::none(), "The leaves of a tree.");
  m.def("flatten_with_path", &flattenWithPathPy, nb::arg("tree").none(),
        nb::arg("is_leaf") = nb::none(), nb::arg("is_leaf_takes_path") = false,
        "([(path, leaf), ...], structure) of a tree.");
  m.def("flatten_up_to", &flattenUpToPy, nb::arg("treedef"),
        nb::arg("tree").none(), nb::arg("tree_name"), nb::arg("structure_name"),
        "PyTreeDef.flatten_up_to with names for the error message.");
  m.def("all_leaves", &allLeaves, nb::arg("iterable"),
        "Whether no element is a pytree node.");
  m.def("treedef_tuple", &treedefTuple, nb::arg("treedefs"),
        "The structure of a tuple of trees of the given structures.");
}

} // namespace pytree

static ModuleInit registerPytree(&pytree::bind, -10);

} // namespace lingon
