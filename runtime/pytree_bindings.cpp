//===- pytree_bindings.cpp - The Python submodule _runtime.pytree ---------===//

#include "pytree_bindings.h"
#include "module.h"

#include <nanobind/stl/string.h>

#include <memory>

namespace nb = nanobind;

namespace lingon {
namespace pytree {

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
