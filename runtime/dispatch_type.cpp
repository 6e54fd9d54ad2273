//===- dispatch_type.cpp - The Python type JitDispatch --------------------===//
#include "dispatch.h"
#include "function_type.h"
#include "module.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace lingon {
namespace dispatch {
namespace {

void forget(DispatchObject *self) {
  if (self->cache)
    self->cache->clear();
}

using Type = FunctionType<DispatchObject, forget>;

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"miss", "fun", "static_argnums",
                                "static_argnames", nullptr};
  PyObject *miss, *fun, *nums = nullptr, *strings = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:JitDispatch",
                                   const_cast<char **>(names), &miss, &fun,
                                   &nums, &strings))
    return nullptr;
  if (!PyCallable_Check(miss) || !PyCallable_Check(fun)) {
    PyErr_SetString(PyExc_TypeError,
                    "JitDispatch: miss and fun must be callable");
    return nullptr;
  }
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    return nullptr;
  DispatchObject *self = asDispatch(object);
  self->vectorcall = call;
  Py_INCREF(miss);
  self->miss = miss;
  Py_INCREF(fun);
  self->fun = fun;
  self->staticNums = new std::vector<Py_ssize_t>();
  self->staticNames = new std::vector<PyObject *>();
  self->cache = new Cache();
  Type::live().insert(self);
  PyObject *items = nums ? PySequence_Tuple(nums) : PyTuple_New(0);
  bool ok = items != nullptr;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(items); ++i) {
    Py_ssize_t num =
        PyNumber_AsSsize_t(PyTuple_GET_ITEM(items, i), PyExc_IndexError);
    ok = !(num == -1 && PyErr_Occurred());
    self->staticNums->push_back(num);
  }
  Py_XDECREF(items);
  items = ok ? (strings ? PySequence_Tuple(strings) : PyTuple_New(0)) : nullptr;
  ok = items != nullptr;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(items); ++i) {
    PyObject *name = PyTuple_GET_ITEM(items, i);
    if (!PyUnicode_CheckExact(name)) {
      PyErr_Format(PyExc_TypeError,
                   "JitDispatch: static_argnames must be strings, got %R",
                   name);
      ok = false;
      break;
    }
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    self->staticNames->push_back(name);
  }
  Py_XDECREF(items);
  if (!ok)
    Py_CLEAR(object);
  return object;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  DispatchObject *self = asDispatch(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->miss);
  Py_VISIT(self->fun);
  return self->cache ? self->cache->visit(visit, arg) : 0;
}

int clearObject(PyObject *object) {
  DispatchObject *self = asDispatch(object);
  if (self->cache)
    self->cache->clear();
  Py_CLEAR(self->dict);
  Py_CLEAR(self->miss);
  Py_CLEAR(self->fun);
  return 0;
}

void dealloc(PyObject *object) {
  DispatchObject *self = asDispatch(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Type::live().erase(self);
  if (self->weakrefs)
    PyObject_ClearWeakRefs(object);
  clearObject(object);
  if (self->staticNames)
    for (PyObject *name : *self->staticNames)
      Py_DECREF(name);
  delete self->staticNames;
  delete self->staticNums;
  delete self->cache;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject *reprObject(PyObject *object) {
  PyObject *fun = asDispatch(object)->fun;
  return PyUnicode_FromFormat("<PjitFunction of %R>", fun ? fun : Py_None);
}

PyObject *clearFastCache(PyObject *object, PyObject *) {
  forget(asDispatch(object));
  Py_RETURN_NONE;
}

PyObject *fastCacheSize(PyObject *object, PyObject *) {
  Cache *cache = asDispatch(object)->cache;
  return PyLong_FromSize_t(cache ? cache->size() : 0);
}

PyObject *setFastCacheLimit(PyObject *object, PyObject *value) {
  Py_ssize_t limit = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (limit == -1 && PyErr_Occurred())
    return nullptr;
  if (limit < 1) {
    PyErr_Format(PyExc_ValueError,
                 "the limit of the cache must be at least 1, got %zd", limit);
    return nullptr;
  }
  if (asDispatch(object)->cache)
    asDispatch(object)->cache->setLimit(static_cast<size_t>(limit));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"clear_fast_cache", clearFastCache, METH_NOARGS,
     "Forgets the compiled signatures."},
    {"fast_cache_size", fastCacheSize, METH_NOARGS,
     "The number of compiled signatures."},
    {"set_fast_cache_limit", setFastCacheLimit, METH_O,
     "Bounds the number of compiled signatures (4096 at first); the least "
     "recently used ones go first."},
    {"clear_all", Type::clearAll, METH_NOARGS | METH_STATIC,
     "Forgets the compiled signatures of all functions."},
    {"__reduce__", Type::reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

const char docstring[] =
    "JitDispatch(miss, fun, static_argnums=(), static_argnames=())\n--\n\n"
    "The call path of a jitted function.\n\n"
    "A call whose leaves are arrays or numbers is looked up by the structure\n"
    "of its arguments, the shape, dtype and weak type of the leaves, the\n"
    "static values (== and type) and the settings of set_global_config and\n"
    "set_thread_config. If it is known, its program runs and no Python code\n"
    "does. Otherwise, and whenever the thread is tracing or a leaf is\n"
    "anything else, `miss(args, kwargs)` returns (result, None) or (result,\n"
    "(executable, out_tree, kept, donated)), which makes the signature\n"
    "known: the Executable, the PyTreeDef of its results, the indices of the\n"
    "leaves that are its inputs, and one flag for each leaf (or nothing) that\n"
    "says whether a call deletes it. An entry is disregarded for calls that\n"
    "have no signature.\n\n"
    "The leaves are those of the dynamic positional arguments, then of the\n"
    "dynamic keyword arguments in the order of their names. Negative\n"
    "static_argnums count from the end of the positional arguments given.\n\n"
    "The object owns `miss` and `fun`; cycles through them are collected. It\n"
    "takes attributes, and binds as a method.";

PyType_Slot slots[] = {{Py_tp_new, (void *)create},
                       {Py_tp_dealloc, (void *)dealloc},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clearObject},
                       {Py_tp_call, (void *)PyVectorcall_Call},
                       {Py_tp_descr_get, (void *)Type::bind},
                       {Py_tp_repr, (void *)reprObject},
                       {Py_tp_methods, methods},
                       {Py_tp_members, Type::members},
                       {Py_tp_getset, Type::getset},
                       {Py_tp_doc, (void *)docstring},
                       {0, nullptr}};

PyType_Spec spec = {"lingon.runtime._runtime.JitDispatch",
                    sizeof(DispatchObject), 0, Type::flags, slots};

ModuleInit registerDispatch([](nb::module_ &m) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  m.attr("JitDispatch") = nb::steal(type);
});

} // namespace
} // namespace dispatch
} // namespace lingon
