//===- function_type.h - what types of functions have in common -----------===//
#ifndef LINGON_RUNTIME_FUNCTION_TYPE_H
#define LINGON_RUNTIME_FUNCTION_TYPE_H

#include <Python.h>
#include <structmember.h>

#include <unordered_set>
#include <vector>

namespace lingon {

/// Parts of a Python type whose objects are called as functions are, bind as
/// methods and take attributes. `Object` has the members `vectorcall`, `dict`
/// and `weakrefs`; `forget` drops what an object learned from its calls.
template <typename Object, void (*forget)(Object *)> struct FunctionType {
  static constexpr unsigned long flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
      Py_TPFLAGS_METHOD_DESCRIPTOR;

  /// All live objects.
  static std::unordered_set<Object *> &live() {
    static auto *set = new std::unordered_set<Object *>();
    return *set;
  }

  static PyObject *bind(PyObject *self, PyObject *instance, PyObject *) {
    if (!instance || instance == Py_None) {
      Py_INCREF(self);
      return self;
    }
    return PyMethod_New(self, instance);
  }

  /// Pickled, and copied, by its qualified name, as a plain function is.
  static PyObject *reduce(PyObject *object, PyObject *) {
    return PyObject_GetAttrString(object, "__qualname__");
  }

  static PyObject *clearAll(PyObject *, PyObject *) {
    std::vector<PyObject *> objects;
    for (Object *object : live()) {
      Py_INCREF(object);
      objects.push_back(reinterpret_cast<PyObject *>(object));
    }
    for (PyObject *object : objects) {
      forget(reinterpret_cast<Object *>(object));
      Py_DECREF(object);
    }
    Py_RETURN_NONE;
  }

  static PyMemberDef members[];
  static PyGetSetDef getset[];
};

template <typename Object, void (*forget)(Object *)>
PyMemberDef FunctionType<Object, forget>::members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Object, vectorcall), READONLY,
     nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Object, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Object, weakrefs), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <typename Object, void (*forget)(Object *)>
PyGetSetDef FunctionType<Object, forget>::getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr,
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

} // namespace lingon

#endif // LINGON_RUNTIME_FUNCTION_TYPE_H
