//===- eager_type.cpp - the Python type EagerFunction ---------------------===//
#include "eager.h"
#include "function_type.h"
#include "module.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace lingon {
namespace eager {
namespace {

using Type = FunctionType<FunctionObject, clearEntries>;

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"fun", "miss", "numbers", "sizes", nullptr};
  PyObject *fun, *miss;
  int numbers = 0, sizes = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|ip:EagerFunction",
                                   const_cast<char **>(names), &fun, &miss,
                                   &numbers, &sizes))
    return nullptr;
  if (!PyCallable_Check(fun) || !PyCallable_Check(miss)) {
    PyErr_SetString(PyExc_TypeError,
                    "EagerFunction: fun and miss must be callable");
    return nullptr;
  }
  if (numbers < 0 || numbers > int(Numbers::Floats)) {
    PyErr_SetString(PyExc_ValueError,
                    "EagerFunction: numbers must be 0, 1 or 2");
    return nullptr;
  }
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    return nullptr;
  FunctionObject *self = asFunction(object);
  self->vectorcall = call;
  Py_INCREF(fun);
  self->fun = fun;
  Py_INCREF(miss);
  self->miss = miss;
  self->numbers = Numbers(numbers);
  self->sizes = sizes != 0;
  self->entries = new std::unordered_multimap<uint64_t, Entry *>();
  Type::live().insert(self);
  return object;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  FunctionObject *self = asFunction(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->fun);
  Py_VISIT(self->miss);
  if (self->entries)
    for (auto &item : *self->entries) {
      Py_VISIT(item.second->programObject);
      Py_VISIT(item.second->outTreeObject);
      Py_VISIT(item.second->wrappers);
    }
  return 0;
}

int clearObject(PyObject *object) {
  FunctionObject *self = asFunction(object);
  clearEntries(self);
  Py_CLEAR(self->dict);
  return 0;
}

void dealloc(PyObject *object) {
  FunctionObject *self = asFunction(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Type::live().erase(self);
  if (self->weakrefs)
    PyObject_ClearWeakRefs(object);
  clearObject(object);
  Py_CLEAR(self->fun);
  Py_CLEAR(self->miss);
  delete self->entries;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject *repr(PyObject *object) {
  return PyObject_Repr(asFunction(object)->fun);
}

PyObject *numEntries(PyObject *object, PyObject *) {
  return PyLong_FromSize_t(asFunction(object)->entries->size());
}

PyObject *numPrograms(PyObject *object, PyObject *) {
  size_t count = 0;
  for (auto &item : *asFunction(object)->entries)
    count += item.second->state == Entry::State::Ready;
  return PyLong_FromSize_t(count);
}

PyMethodDef methods[] = {
    {"cache_size", numEntries, METH_NOARGS, "The number of known calls."},
    {"num_programs", numPrograms, METH_NOARGS,
     "The number of known calls that have a program."},
    {"clear_all", Type::clearAll, METH_NOARGS | METH_STATIC,
     "Forgets the calls of all functions."},
    {"__reduce__", Type::reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

const char docstring[] =
    "EagerFunction(fun, miss, numbers=0, sizes=False)\n--\n\n"
    "A function of the library: calls `fun`, or a program in its place.\n\n"
    "Arrays, ndarrays, with `numbers` 1 Python's and NumPy's numbers, with 2\n"
    "floats are\n"
    "operands; other numbers, strings, types, dtypes and tuples, lists and\n"
    "slices of them are part of what is called. The fourth call that differs "
    "in\n"
    "the operands' values alone, or the first if it is large, asks for a "
    "program\n"
    "by `miss(args, kwargs, operands, large)`, which returns None or\n"
    "(program, out_tree, kept, wrappers), where `kept` are the positions "
    "among\n"
    "the operands of the program's inputs and `wrappers` is None or has for\n"
    "each result a function to call on it, or None. With `sizes`, a large "
    "integer\n"
    "makes a call large.";

PyType_Slot slots[] = {{Py_tp_new, (void *)create},
                       {Py_tp_dealloc, (void *)dealloc},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clearObject},
                       {Py_tp_call, (void *)PyVectorcall_Call},
                       {Py_tp_descr_get, (void *)Type::bind},
                       {Py_tp_repr, (void *)repr},
                       {Py_tp_methods, methods},
                       {Py_tp_members, Type::members},
                       {Py_tp_getset, Type::getset},
                       {Py_tp_doc, (void *)docstring},
                       {0, nullptr}};

PyType_Spec spec = {"lingon.runtime._runtime.EagerFunction",
                    sizeof(FunctionObject), 0, Type::flags, slots};

ModuleInit registerEager([](nb::module_ &m) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  m.attr("EagerFunction") = nb::steal(type);
  m.attr("LARGE_SIZE") = largeSize;
});

} // namespace
} // namespace eager
} // namespace lingon
