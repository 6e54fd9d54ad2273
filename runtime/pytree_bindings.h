//===- pytree_bindings.h - Shared by the sources of _runtime.pytree -------===//

#ifndef LINGON_RUNTIME_PYTREE_BINDINGS_H
#define LINGON_RUNTIME_PYTREE_BINDINGS_H

#include "pytree_internal.h"

#include <nanobind/nanobind.h>

namespace lingon {
namespace pytree {

/// The Python object `default_registry`; there is one registry only.
struct PyTreeRegistry {};

/// Owned references that are dropped on the way out.
class Refs {
public:
  ~Refs() {
    for (PyObject *obj : items)
      Py_DECREF(obj);
  }
  /// Moves the references into a list.
  nanobind::list takeList() {
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(items.size()));
    if (!list)
      throw nanobind::python_error();
    for (size_t i = 0; i < items.size(); ++i)
      PyList_SET_ITEM(list, i, items[i]);
    items.clear();
    return nanobind::steal<nanobind::list>(list);
  }
  std::vector<PyObject *> items;
};

/// Throws the Python error that is set unless `ok`.
inline void check(bool ok) {
  if (!ok)
    throw nanobind::python_error();
}

inline nanobind::object checked(PyObject *newReference) {
  check(newReference != nullptr);
  return nanobind::steal<nanobind::object>(newReference);
}

/// A tuple of the given size, or ValueError.
inline nanobind::tuple pickledTuple(nanobind::handle object, Py_ssize_t size) {
  if (!PyTuple_Check(object.ptr()) || PyTuple_GET_SIZE(object.ptr()) != size)
    throw nanobind::value_error("The pickled PyTreeDef is malformed.");
  return nanobind::borrow<nanobind::tuple>(object);
}

/// The leaves of an iterable for unflattening; ValueError if their number is
/// wrong.
void takeLeaves(const PyTreeDef &def, nanobind::handle iterable, Refs &out);
nanobind::list flattenUpToPy(const PyTreeDef &def, nanobind::handle tree,
                             const std::string &treeName,
                             const std::string &structureName);
PyTreeDef treedefTuple(nanobind::handle defs);

void bindTreeDef(nanobind::module_ &m);
/// Adds the classes of keys and sets them in `globals`.
void bindKeys(nanobind::module_ &m);

} // namespace pytree
} // namespace lingon

#endif // LINGON_RUNTIME_PYTREE_BINDINGS_H
