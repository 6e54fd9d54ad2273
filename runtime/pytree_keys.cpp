//===- pytree_keys.cpp - The Python classes of keys in paths --------------===//

#include "pytree_bindings.h"

#include <nanobind/stl/string.h>

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
} // namespace

static int traverseDictKey(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    Py_VISIT(nb::inst_ptr<DictKey>(self)->key.ptr());
  return 0;
}

static PyType_Slot dictKeySlots[] = {{Py_tp_traverse, (void *)traverseDictKey},
                                     {0, nullptr}};

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

void bindKeys(nb::module_ &m) {
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

} // namespace pytree
} // namespace lingon
