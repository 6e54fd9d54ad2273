//===- pytree_text.cpp - Keys, paths, texts and error messages ------------===//

#include "pytree_internal.h"

#include <cstring>

namespace lingon {
namespace pytree {

/// Appends str(obj) or repr(obj).
static bool appendText(std::string &out, PyObject *obj, bool repr) {
  PyObject *text = repr ? PyObject_Repr(obj) : PyObject_Str(obj);
  if (!text)
    return false;
  Py_ssize_t size;
  const char *data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data)
    out.append(data, static_cast<size_t>(size));
  Py_DECREF(text);
  return data != nullptr;
}

static std::string shortTypeName(PyObject *type) {
  const char *name = ((PyTypeObject *)type)->tp_name;
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

//===----------------------------------------------------------------------===//
// Keys of children
//===----------------------------------------------------------------------===//

static PyObject *wrapKeys(PyObject *entryClass, PyObject *names) {
  Py_ssize_t size = PyTuple_GET_SIZE(names);
  PyObject *keys = PyTuple_New(size);
  for (Py_ssize_t i = 0; keys && i < size; ++i) {
    PyObject *key = PyObject_CallOneArg(entryClass, PyTuple_GET_ITEM(names, i));
    if (!key)
      Py_CLEAR(keys);
    else
      PyTuple_SET_ITEM(keys, i, key);
  }
  return keys;
}

static PyObject *indexKeys(PyObject *entryClass, int32_t arity) {
  PyObject *keys = PyTuple_New(arity);
  for (int32_t i = 0; keys && i < arity; ++i) {
    PyObject *index = PyLong_FromLong(i);
    PyObject *key = index ? PyObject_CallOneArg(entryClass, index) : nullptr;
    Py_XDECREF(index);
    if (!key)
      Py_CLEAR(keys);
    else
      PyTuple_SET_ITEM(keys, i, key);
  }
  return keys;
}

/// The keys that a registered flatten-with-keys function gives.
static PyObject *customKeys(PyObject *obj, const Node &node) {
  PyObject *result = PyObject_CallOneArg(node.reg->flattenWithKeys, obj);
  if (!result)
    return nullptr;
  PyObject *pairs = nullptr, *keys = nullptr;
  bool good = PyTuple_Check(result) && PyTuple_GET_SIZE(result) == 2;
  if (good) {
    pairs = PySequence_Tuple(PyTuple_GET_ITEM(result, 0));
    if (!pairs && !PyErr_ExceptionMatches(PyExc_TypeError)) {
      Py_DECREF(result);
      return nullptr;
    }
    good = pairs && PyTuple_GET_SIZE(pairs) == node.arity;
  }
  if (good)
    keys = PyTuple_New(node.arity);
  for (int32_t i = 0; keys && good && i < node.arity; ++i) {
    PyObject *pair = PyTuple_GET_ITEM(pairs, i);
    good = PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2;
    if (good) {
      PyObject *key = PyTuple_GET_ITEM(pair, 0);
      Py_INCREF(key);
      PyTuple_SET_ITEM(keys, i, key);
    }
  }
  if (!good) {
    PyErr_Clear();
    Py_CLEAR(keys);
    PyErr_Format(
        PyExc_ValueError,
        "The flatten_with_keys function of the pytree node type %R must return "
        "a pair (children, aux_data) with one pair (key, child) for each of "
        "the %d children, but returned %R.",
        node.reg->type, static_cast<int>(node.arity), result);
  }
  Py_XDECREF(pairs);
  Py_DECREF(result);
  return keys;
}

PyObject *childKeys(PyObject *obj, const Node &node) {
  switch (node.kind) {
  case Kind::Leaf:
  case Kind::None:
    return PyTuple_New(0);
  case Kind::Tuple:
  case Kind::List:
    return indexKeys(globals.sequenceKey, node.arity);
  case Kind::Dict:
  case Kind::OrderedDict:
    return wrapKeys(globals.dictKey, node.data);
  case Kind::DefaultDict:
    return wrapKeys(globals.dictKey, PyTuple_GET_ITEM(node.data, 1));
  case Kind::NamedTuple: {
    PyObject *fields = PyObject_GetAttr(node.data, globals.fieldsName);
    PyObject *names = fields ? PySequence_Tuple(fields) : nullptr;
    Py_XDECREF(fields);
    PyObject *keys = names ? wrapKeys(globals.getAttrKey, names) : nullptr;
    Py_XDECREF(names);
    return keys;
  }
  case Kind::Dataclass:
    return wrapKeys(globals.getAttrKey, node.reg->dataFields);
  case Kind::Custom:
    if (node.reg->flattenWithKeys)
      return customKeys(obj, node);
    return indexKeys(globals.flattenedIndexKey, node.arity);
  }
  return nullptr;
}

PyObject *nodeData(const Node &node) {
  PyObject *type = nullptr, *data = Py_None;
  switch (node.kind) {
  case Kind::Leaf:
    Py_RETURN_NONE;
  case Kind::None:
    type = (PyObject *)Py_TYPE(Py_None);
    break;
  case Kind::Tuple:
    type = (PyObject *)&PyTuple_Type;
    break;
  case Kind::List:
    type = (PyObject *)&PyList_Type;
    break;
  case Kind::Dict: {
    PyObject *keys = PySequence_List(node.data);
    PyObject *pair =
        keys ? PyTuple_Pack(2, (PyObject *)&PyDict_Type, keys) : nullptr;
    Py_XDECREF(keys);
    return pair;
  }
  case Kind::NamedTuple:
    type = node.data;
    break;
  case Kind::OrderedDict:
    type = globals.orderedDict;
    data = node.data;
    break;
  case Kind::DefaultDict:
    type = globals.defaultDict;
    data = node.data;
    break;
  case Kind::Custom:
  case Kind::Dataclass:
    type = node.reg->type;
    data = node.data;
    break;
  }
  return PyTuple_Pack(2, type, data);
}

//===----------------------------------------------------------------------===//
// Text of a structure
//===----------------------------------------------------------------------===//

static bool print(const Node *&node, std::string &out);

static bool printChildren(const Node *&node, int32_t arity, std::string &out) {
  for (int32_t i = 0; i < arity; ++i) {
    if (i)
      out += ", ";
    if (!print(node, out))
      return false;
  }
  return true;
}

static bool printDict(const Node &here, const Node *&node, std::string &out) {
  out += '{';
  for (int32_t i = 0; i < here.arity; ++i) {
    if (i)
      out += ", ";
    if (!appendText(out, PyTuple_GET_ITEM(here.data, i), /*repr=*/true))
      return false;
    out += ": ";
    if (!print(node, out))
      return false;
  }
  out += '}';
  return true;
}

static bool print(const Node *&node, std::string &out) {
  const Node &here = *node++;
  switch (here.kind) {
  case Kind::Leaf:
    out += '*';
    return true;
  case Kind::None:
    out += "None";
    return true;
  default:
    break;
  }
  if (Py_EnterRecursiveCall(" while printing a pytree structure"))
    return false;
  bool ok = true;
  switch (here.kind) {
  case Kind::Tuple:
    out += '(';
    ok = printChildren(node, here.arity, out);
    out += here.arity == 1 ? ",)" : ")";
    break;
  case Kind::List:
    out += '[';
    ok = printChildren(node, here.arity, out);
    out += ']';
    break;
  case Kind::Dict:
    ok = printDict(here, node, out);
    break;
  default:
    out += "CustomNode(";
    if (here.kind == Kind::NamedTuple) {
      out += "namedtuple[" + shortTypeName(here.data);
    } else {
      PyObject *type = here.kind == Kind::OrderedDict   ? globals.orderedDict
                       : here.kind == Kind::DefaultDict ? globals.defaultDict
                                                        : here.reg->type;
      out += shortTypeName(type) + "[";
      ok = appendText(out, here.data, /*repr=*/false);
    }
    out += "], [";
    ok = ok && printChildren(node, here.arity, out);
    out += "])";
  }
  Py_LeaveRecursiveCall();
  return ok;
}

bool toString(const Node *root, std::string &out) { return print(root, out); }

//===----------------------------------------------------------------------===//
// flattenUpTo and its error message
//===----------------------------------------------------------------------===//

namespace {
/// The way from the root to a node, linked through the C stack.
struct Frame {
  const Frame *parent;
  const Node *node;
  PyObject *obj;
  int32_t child;
};

class UpTo {
public:
  UpTo(const Node *root, PyObject *tree, std::vector<PyObject *> &out,
       const char *treeName, const char *structureName)
      : root(root), tree(tree), out(out), treeName(treeName),
        structureName(structureName) {}

  /// Handles the node at `node` and moves it past the subtree.
  bool visit(const Node *&node, PyObject *obj, const Frame *parent);

private:
  bool visitChildren(const Node *&node, const Node &here, PyObject *obj,
                     const Frame *parent, PyObject *const *children);
  bool visitDict(const Node *&node, const Node &here, PyObject *obj,
                 const Frame *parent);
  bool visitGeneral(const Node *&node, const Node &here, PyObject *obj,
                    const Frame *parent);
  bool fail(const Node &expected, PyObject *obj, const Frame *parent);

  const Node *root;
  PyObject *tree;
  std::vector<PyObject *> &out;
  const char *treeName, *structureName;
};
} // namespace

static void appendPath(std::string &out, const Frame *frame) {
  if (!frame)
    return;
  appendPath(out, frame->parent);
  PyObject *keys = childKeys(frame->obj, *frame->node);
  bool ok = keys && appendText(out, PyTuple_GET_ITEM(keys, frame->child),
                               /*repr=*/false);
  Py_XDECREF(keys);
  if (!ok) {
    // Only the text of the message suffers when a user's function fails here.
    PyErr_Clear();
    out += "[<flat index " + std::to_string(frame->child) + ">]";
  }
}

/// "a list of length 3", "a dict with the keys ['a', 'b']", ...
static bool describe(const Node &node, PyObject *obj, std::string &out) {
  std::string count = std::to_string(node.arity);
  switch (node.kind) {
  case Kind::Leaf:
    out += "a leaf of type ";
    return appendText(out, (PyObject *)Py_TYPE(obj), /*repr=*/true);
  case Kind::None:
    out += "None";
    return true;
  case Kind::Tuple:
    out += "a tuple of length " + count;
    return true;
  case Kind::List:
    out += "a list of length " + count;
    return true;
  case Kind::NamedTuple:
    out += "a namedtuple of type ";
    return appendText(out, node.data, /*repr=*/true);
  case Kind::Dict:
  case Kind::OrderedDict:
    out += node.kind == Kind::Dict ? "a dict" : "an OrderedDict";
    out += " with the keys ";
    return appendText(out, node.data, /*repr=*/true);
  case Kind::DefaultDict:
    out += "a defaultdict with the default_factory and keys ";
    return appendText(out, node.data, /*repr=*/true);
  case Kind::Custom:
  case Kind::Dataclass:
    out += "a node of type ";
    if (!appendText(out, node.reg->type, /*repr=*/true))
      return false;
    out += " with " + count + (node.arity == 1 ? " child" : " children") +
           " and the metadata ";
    return appendText(out, node.data, /*repr=*/true);
  }
  return false;
}

static bool describeObject(PyObject *obj, std::string &out) {
  const Registration *reg;
  int kind = classify(obj, reg);
  if (kind < 0)
    return false;
  Node node = {static_cast<Kind>(kind), 0, 1, 0, nullptr, reg};
  std::vector<PyObject *> children;
  bool ok = expand(obj, node, children) && describe(node, obj, out);
  for (PyObject *child : children)
    Py_DECREF(child);
  Py_XDECREF(node.data);
  return ok;
}

/// Appends the keys of `a` that are not in `b`.
static bool appendKeyDifference(PyObject *a, PyObject *b, const char *label,
                                std::string &out) {
  bool any = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    PyObject *key = PyTuple_GET_ITEM(a, i);
    int found = PyDict_Contains(b, key);
    if (found < 0)
      return false;
    if (found)
      continue;
    out += any ? ", " : label;
    any = true;
    if (!appendText(out, key, /*repr=*/true))
      return false;
  }
  return true;
}

static void appendLimited(std::string &out, const std::string &text) {
  constexpr size_t limit = 1000;
  if (text.size() <= limit) {
    out += text;
    return;
  }
  size_t end = limit;
  while (end && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  out += text.substr(0, end) + "...";
}

/// Sets the ValueError and returns false.
bool UpTo::fail(const Node &expected, PyObject *obj, const Frame *parent) {
  std::string text = "Pytree structures differ at the key path ", detail;
  text += treeName;
  appendPath(text, parent);
  text += std::string(": ") + structureName + " has ";
  if (!describe(expected, nullptr, detail))
    return false;
  appendLimited(text, detail);
  detail.clear();
  text += std::string(" there, but ") + treeName + " has ";
  if (!describeObject(obj, detail))
    return false;
  appendLimited(text, detail);
  if (expected.kind == Kind::Dict && PyDict_CheckExact(obj)) {
    detail.clear();
    PyObject *keys = PySequence_Tuple(obj);
    PyObject *expectedDict = PyDict_New();
    bool ok = keys && expectedDict;
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(expected.data); ++i)
      ok = PyDict_SetItem(expectedDict, PyTuple_GET_ITEM(expected.data, i),
                          Py_None) == 0;
    ok = ok &&
         appendKeyDifference(expected.data, obj, "; missing keys: ", detail) &&
         appendKeyDifference(keys, expectedDict, "; unexpected keys: ", detail);
    Py_XDECREF(keys);
    Py_XDECREF(expectedDict);
    if (!ok)
      return false;
    appendLimited(text, detail);
  }
  text += ".";
  if (expected.kind == Kind::None)
    text += " To treat None as a leaf, pass is_leaf=lambda x: x is None.";

  detail.clear();
  if (!toString(root, detail))
    return false;
  text += std::string("\n  ") + structureName + ": PyTreeDef(";
  appendLimited(text, detail);
  text += ")";
  Structure whole;
  std::vector<PyObject *> leaves;
  detail.clear();
  bool ok =
      flatten(tree, leaves, whole) && toString(whole.nodes.data(), detail);
  for (PyObject *leaf : leaves)
    Py_DECREF(leaf);
  if (!ok)
    return false;
  text += std::string("\n  ") + treeName + ": PyTreeDef(";
  appendLimited(text, detail);
  text += ")";
  PyErr_SetString(PyExc_ValueError, text.c_str());
  return false;
}

bool UpTo::visitChildren(const Node *&node, const Node &here, PyObject *obj,
                         const Frame *parent, PyObject *const *children) {
  Frame frame = {parent, &here, obj, 0};
  for (; frame.child < here.arity; ++frame.child)
    if (!visit(node, children[frame.child], &frame))
      return false;
  return true;
}

bool UpTo::visitDict(const Node *&node, const Node &here, PyObject *obj,
                     const Frame *parent) {
  if (!PyDict_CheckExact(obj) || PyDict_GET_SIZE(obj) != here.arity)
    return fail(here, obj, parent);
  Frame frame = {parent, &here, obj, 0};
  for (; frame.child < here.arity; ++frame.child) {
    PyObject *value =
        PyDict_GetItemWithError(obj, PyTuple_GET_ITEM(here.data, frame.child));
    if (!value)
      return PyErr_Occurred() ? false : fail(here, obj, parent);
    Py_INCREF(value);
    bool ok = visit(node, value, &frame);
    Py_DECREF(value);
    if (!ok)
      return false;
  }
  return true;
}

/// Nodes whose children come from Python code or need their data compared.
bool UpTo::visitGeneral(const Node *&node, const Node &here, PyObject *obj,
                        const Frame *parent) {
  const Registration *reg;
  int kind = classify(obj, reg);
  if (kind < 0)
    return false;
  if (kind != static_cast<int>(here.kind) || reg != here.reg)
    return fail(here, obj, parent);
  Node actual = {here.kind, 0, 1, 0, nullptr, reg};
  std::vector<PyObject *> children;
  bool ok = expand(obj, actual, children);
  if (ok) {
    int same = actual.arity == here.arity ? equalNodes(&here, &actual, 1) : 0;
    if (same > 0)
      ok = visitChildren(node, here, obj, parent, children.data());
    else
      ok = same == 0 ? fail(here, obj, parent) : false;
  }
  for (PyObject *child : children)
    Py_DECREF(child);
  Py_XDECREF(actual.data);
  return ok;
}

bool UpTo::visit(const Node *&node, PyObject *obj, const Frame *parent) {
  const Node &here = *node++;
  if (here.kind == Kind::Leaf) {
    Py_INCREF(obj);
    out.push_back(obj);
    return true;
  }
  if (here.kind == Kind::None)
    return obj == Py_None || fail(here, obj, parent);
  if (Py_EnterRecursiveCall(" while matching a pytree with a structure"))
    return false;
  bool ok;
  switch (here.kind) {
  case Kind::Tuple:
    if (!PyTuple_CheckExact(obj) || PyTuple_GET_SIZE(obj) != here.arity)
      ok = fail(here, obj, parent);
    else
      ok = visitChildren(node, here, obj, parent,
                         ((PyTupleObject *)obj)->ob_item);
    break;
  case Kind::Dict:
    ok = visitDict(node, here, obj, parent);
    break;
  default:
    ok = visitGeneral(node, here, obj, parent);
  }
  Py_LeaveRecursiveCall();
  return ok;
}

bool flattenUpTo(const Node *root, PyObject *tree, std::vector<PyObject *> &out,
                 const char *treeName, const char *structureName) {
  UpTo upTo(root, tree, out, treeName, structureName);
  return upTo.visit(root, tree, nullptr);
}

} // namespace pytree
} // namespace lingon
