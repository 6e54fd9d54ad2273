//===- pytree_treedef.cpp - The Python class PyTreeDef --------------------===//

#include "pytree_bindings.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace lingon {
namespace pytree {

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

/// Exactly `expected` items of an iterable, or ValueError.
void takeLeaves(const PyTreeDef &def, nb::handle iterable, Refs &out) {
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

nb::list flattenUpToPy(const PyTreeDef &def, nb::handle tree,
                       const std::string &treeName,
                       const std::string &structureName) {
  Refs out;
  check(flattenUpTo(def.root(), tree.ptr(), out.items, treeName.c_str(),
                    structureName.c_str()));
  return out.takeList();
}

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

PyTreeDef treedefTuple(nb::handle defs) {
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

// No tp_clear: like a tuple, the object is immutable, so that every cycle
// through it passes through a mutable object that can be cleared.
static PyType_Slot treeDefSlots[] = {{Py_tp_traverse, (void *)traverse},
                                     {0, nullptr}};

void bindTreeDef(nb::module_ &m) {
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

} // namespace pytree
} // namespace lingon
