//===- array_protocols.cpp - buffer protocol, __array__, pickling ---------===//
#include "array_protocols.h"
#include "array.h"
#include "numpy_api.h"

namespace lingon {
namespace {

/// The struct-module code of a dtype, or null where there is none.
const char *formatOf(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "?";
  case DType::Int8:
    return "b";
  case DType::UInt8:
    return "B";
  case DType::Int16:
    return "h";
  case DType::UInt16:
    return "H";
  case DType::Int32:
    return "i";
  case DType::UInt32:
    return "I";
  case DType::Int64:
    return sizeof(long) == 8 ? "l" : "q";
  case DType::UInt64:
    return sizeof(long) == 8 ? "L" : "Q";
  case DType::Float16:
    return "e";
  case DType::Float32:
    return "f";
  case DType::Float64:
    return "d";
  case DType::Complex64:
    return "Zf";
  case DType::Complex128:
    return "Zd";
  default:
    return nullptr;
  }
}

/// What an exported Py_buffer points into.
struct Export {
  Buffer *buffer;
  Py_ssize_t shape[maxRank];
  Py_ssize_t strides[maxRank];
};

} // namespace

int arrayGetBuffer(PyObject *self, Py_buffer *view, int flags) {
  ArrayObject *array = asArray(self);
  view->obj = nullptr;
  if (array->shards && !checkAlive(array))
    return -1;
  if (!array->buffer) {
    PyErr_SetString(PyExc_BufferError, "Array has been deleted.");
    return -1;
  }
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "arrays are immutable: the buffer of an "
                                       "array can only be read");
    return -1;
  }
  const Aval *aval = array->aval;
  const char *format = formatOf(aval->dtype);
  if (!format) {
    PyErr_Format(PyExc_BufferError,
                 "the buffer protocol has no format for dtype %s",
                 nameOf(aval->dtype));
    return -1;
  }
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && aval->ndim > 1) {
    PyErr_SetString(PyExc_BufferError, "the buffer is not Fortran contiguous");
    return -1;
  }
  auto *exported = static_cast<Export *>(PyMem_Malloc(sizeof(Export)));
  if (!exported) {
    PyErr_NoMemory();
    return -1;
  }
  exported->buffer = array->buffer;
  exported->buffer->retain();
  Py_ssize_t stride = Py_ssize_t(itemsizeOf(aval->dtype));
  for (uint32_t i = aval->ndim; i-- > 0;) {
    exported->shape[i] = Py_ssize_t(aval->dims[i]);
    exported->strides[i] = stride;
    stride *= exported->shape[i];
  }
  Py_INCREF(self);
  view->obj = self;
  view->buf = array->data;
  view->len = Py_ssize_t(aval->nbytes);
  view->readonly = 1;
  view->itemsize = Py_ssize_t(itemsizeOf(aval->dtype));
  view->format = flags & PyBUF_FORMAT ? const_cast<char *>(format) : nullptr;
  view->ndim = int(aval->ndim);
  bool withShape = (flags & PyBUF_ND) == PyBUF_ND;
  bool withStrides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  view->shape = withShape ? exported->shape : nullptr;
  view->strides = withStrides ? exported->strides : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported;
  return 0;
}

void arrayReleaseBuffer(PyObject *, Py_buffer *view) {
  auto *exported = static_cast<Export *>(view->internal);
  exported->buffer->release();
  PyMem_Free(exported);
}

PyObject *arrayToNumpy(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"dtype", "copy", nullptr};
  PyObject *dtypeObject = Py_None, *copyObject = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__",
                                   const_cast<char **>(names), &dtypeObject,
                                   &copyObject))
    return nullptr;
  int copy = copyObject == Py_None ? -1 : PyObject_IsTrue(copyObject);
  if (copy < 0 && copyObject != Py_None)
    return nullptr;
  PyArray_Descr *descr = nullptr;
  if (dtypeObject != Py_None && !PyArray_DescrConverter(dtypeObject, &descr))
    return nullptr;
  PyObject *view = numpyView(asArray(self));
  if (!view) {
    Py_XDECREF(descr);
    return nullptr;
  }
  auto *ndarray = reinterpret_cast<PyArrayObject *>(view);
  bool convert = descr && !PyArray_EquivTypes(descr, PyArray_DESCR(ndarray));
  if (!convert && copy <= 0) {
    Py_XDECREF(descr);
    return view;
  }
  PyObject *result = nullptr;
  if (copy == 0) {
    PyErr_Format(PyExc_ValueError,
                 "__array__: an array of dtype %S cannot become dtype %S "
                 "without a copy",
                 PyArray_DESCR(ndarray), descr);
  } else {
    PyArray_Descr *target = descr ? descr : PyArray_DESCR(ndarray);
    Py_INCREF(target);
    result = PyArray_CastToType(ndarray, target, 0);
    if (result == view) { // NumPy gives the array itself where dtypes agree
      Py_DECREF(result);
      result = PyArray_NewCopy(ndarray, NPY_CORDER);
    }
  }
  Py_DECREF(view);
  Py_XDECREF(descr);
  return result;
}

PyObject *arrayReduce(PyObject *self, PyObject *protocol) {
  PyObject *module = PyImport_ImportModule("lingon.runtime.pickling");
  if (!module)
    return nullptr;
  PyObject *result =
      PyObject_CallMethod(module, "reduce_array", "OO", self, protocol);
  Py_DECREF(module);
  return result;
}

} // namespace lingon
