//===- pytree_node.cpp - What is a node, and its children -----------------===//

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

/// How the keys of dictionaries that were flattened before are sorted, so that
/// those of the next one like it need not be. The strings are known by
/// identity, and kept alive. Read and changed with the GIL.
struct KeyOrder {
  PyObject *given = nullptr;       ///< tuple, in the order of the dictionary
  PyObject *sorted = nullptr;      ///< tuple
  std::vector<uint32_t> positions; ///< of the sorted keys in `given`
};
constexpr size_t numOrders = 256;
constexpr Py_ssize_t maxRemembered = 4096;
static KeyOrder keyOrders[numOrders];

/// Sorts string keys, and remembers how. Takes over the references in `given`;
/// returns the tuple of the sorted keys.
static PyObject *sortKeys(const std::vector<PyObject *> &given,
                          std::vector<uint32_t> &positions, KeyOrder &order) {
  size_t size = given.size();
  positions.resize(size);
  for (size_t i = 0; i < size; ++i)
    positions[i] = uint32_t(i);
  auto less = [&](uint32_t a, uint32_t b) {
    return PyUnicode_Compare(given[a], given[b]) < 0;
  };
  if (!std::is_sorted(positions.begin(), positions.end(), less))
    std::sort(positions.begin(), positions.end(), less);
  // These may collect garbage, and so run any Python code.
  PyObject *sorted = PyTuple_New(Py_ssize_t(size));
  PyObject *tuple = sorted ? PyTuple_New(Py_ssize_t(size)) : nullptr;
  if (!tuple) {
    Py_XDECREF(sorted);
    for (PyObject *key : given)
      Py_DECREF(key);
    return nullptr;
  }
  for (size_t i = 0; i < size; ++i) {
    Py_INCREF(given[positions[i]]);
    PyTuple_SET_ITEM(sorted, Py_ssize_t(i), given[positions[i]]);
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), given[i]);
  }
  if (Py_ssize_t(size) > maxRemembered) {
    Py_DECREF(tuple);
    return sorted;
  }
  Py_XSETREF(order.given, tuple);
  Py_INCREF(sorted);
  Py_XSETREF(order.sorted, sorted);
  order.positions = positions;
  return sorted;
}

/// Keys in sorted order and the values in the same order. Runs no Python code
/// when all keys are exact strings.
static bool expandDict(PyObject *dict, bool wrapError, PyObject *&keys,
                       std::vector<PyObject *> &children) {
  Py_ssize_t size = PyDict_GET_SIZE(dict);
  std::vector<PyObject *> given;
  size_t base = children.size();
  given.reserve(size_t(size));
  PyObject *key, *value;
  Py_ssize_t pos = 0;
  uint64_t hash = uint64_t(size);
  bool strings = true;
  while (PyDict_Next(dict, &pos, &key, &value)) {
    strings &= PyUnicode_CheckExact(key);
    hashCombine(hash, reinterpret_cast<uintptr_t>(key));
    given.push_back(key);
    Py_INCREF(value);
    children.push_back(value);
  }
  auto dropValues = [&] {
    while (children.size() > base) {
      PyObject *last = children.back();
      children.pop_back();
      Py_DECREF(last);
    }
  };
  if (!strings) {
    dropValues();
    return expandDictGeneral(dict, /*sort=*/true, wrapError, keys, children);
  }
  KeyOrder &order = keyOrders[hash % numOrders];
  bool known = order.given && PyTuple_GET_SIZE(order.given) == size;
  for (Py_ssize_t i = 0; known && i < size; ++i)
    known = PyTuple_GET_ITEM(order.given, i) == given[size_t(i)];
  std::vector<uint32_t> made;
  if (known) {
    keys = order.sorted;
    Py_INCREF(keys);
  } else {
    for (PyObject *one : given)
      Py_INCREF(one);
    keys = sortKeys(given, made, order);
    if (!keys) {
      dropValues();
      return false;
    }
  }
  const std::vector<uint32_t> &positions = known ? order.positions : made;
  // `given` is not needed any more: it takes the values.
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = children[base + positions[i]];
  std::copy(given.begin(), given.end(), children.begin() + ptrdiff_t(base));
  return true;
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

} // namespace pytree
} // namespace lingon
