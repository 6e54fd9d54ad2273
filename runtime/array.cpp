//===- array.cpp - ArrayImpl, the immutable array -------------------------===//
#include "array.h"
#include "array_protocols.h"
#include "leaves.h"
#include "module.h"
#include "numpy_api.h"
#include "sharded.h"

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <cmath>
#include <cstring>

namespace nb = nanobind;

namespace lingon {

PyTypeObject *arrayType;

namespace {

/// All arrays that are alive; changed with the GIL held.
ArrayObject *firstArray = nullptr;

void delist(ArrayObject *array) {
  (array->previous ? array->previous->next : firstArray) = array->next;
  if (array->next)
    array->next->previous = array->previous;
}

/// Keeps a buffer alive on behalf of an ndarray view, as its base.
struct BufferRefObject {
  PyObject_HEAD Buffer *buffer;
};
PyTypeObject *bufferRefType;

void bufferRefDealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<BufferRefObject *>(self)->buffer->release();
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot bufferRefSlots[] = {{Py_tp_dealloc, (void *)bufferRefDealloc},
                                {0, nullptr}};
PyType_Spec bufferRefSpec = {
    "lingon.runtime._runtime.BufferRef", sizeof(BufferRefObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, bufferRefSlots};

/// An ndarray over `data` that keeps `buffer` alive.
PyObject *makeNdarray(const Aval *aval, Buffer *buffer, char *data,
                      bool writable) {
  npy_intp dims[maxRank];
  for (uint32_t i = 0; i < aval->ndim; ++i)
    dims[i] = npy_intp(aval->dims[i]);
  PyObject *descr = descrOf(aval->dtype);
  Py_INCREF(descr);
  int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED |
              (writable ? NPY_ARRAY_WRITEABLE : 0);
  PyObject *array = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr *>(descr), int(aval->ndim),
      dims, nullptr, data, flags, nullptr);
  if (!array)
    return nullptr;
  auto *ref = PyObject_New(BufferRefObject, bufferRefType);
  if (!ref) {
    Py_DECREF(array);
    return nullptr;
  }
  buffer->retain();
  ref->buffer = buffer;
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array),
                            reinterpret_cast<PyObject *>(ref)) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

/// Copies `bytes`, without the GIL where that takes a while.
void copyBytes(void *to, const void *from, size_t bytes) {
  if (bytes < (size_t(1) << 20)) {
    memcpy(to, from, bytes);
    return;
  }
  Py_BEGIN_ALLOW_THREADS;
  memcpy(to, from, bytes);
  Py_END_ALLOW_THREADS;
}

PyObject *raiseNoMemory(int64_t bytes) {
  PyErr_Format(PyExc_MemoryError, "out of memory allocating %lld bytes",
               (long long)bytes);
  return nullptr;
}

} // namespace

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

void enlist(ArrayObject *array) {
  array->previous = nullptr;
  array->next = firstArray;
  if (firstArray)
    firstArray->previous = array;
  firstArray = array;
}

PyObject *wrapBuffer(Aval *aval, Buffer *buffer, int32_t deviceId, char *data) {
  auto *self = PyObject_New(ArrayObject, arrayType);
  if (!self) {
    aval->release();
    buffer->release();
    return nullptr;
  }
  self->aval = aval;
  self->buffer = buffer;
  self->data = data ? data : static_cast<char *>(buffer->data);
  self->view = nullptr;
  self->weakrefs = nullptr;
  self->deviceId = deviceId;
  self->committed = false;
  self->layout = nullptr;
  self->shards = nullptr;
  enlist(self);
  return asPy(self);
}

PyObject *newArray(Aval *aval, int32_t deviceId) {
  Buffer *buffer = Buffer::allocate(size_t(aval->nbytes));
  if (!buffer) {
    int64_t bytes = aval->nbytes;
    aval->release();
    return raiseNoMemory(bytes);
  }
  return wrapBuffer(aval, buffer, deviceId);
}

PyObject *arrayFromNumpy(PyObject *object, bool weakType, bool copy,
                         int32_t deviceId) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError,
                 "from_numpy: array must be a numpy.ndarray, got %s",
                 Py_TYPE(object)->tp_name);
    return nullptr;
  }
  auto *ndarray = reinterpret_cast<PyArrayObject *>(object);
  auto *descr = reinterpret_cast<PyObject *>(PyArray_DESCR(ndarray));
  DType dtype = dtypeOfDescr(descr);
  if (dtype == DType::Invalid) {
    // A number of foreign byte order is copied; anything else is refused.
    PyArray_Descr *swapped =
        PyArray_DescrNewByteorder(PyArray_DESCR(ndarray), NPY_NATIVE);
    if (!swapped)
      return nullptr;
    dtype = dtypeOfDescr(reinterpret_cast<PyObject *>(swapped));
    Py_DECREF(swapped);
    if (dtype == DType::Invalid) {
      setInvalidDTypeError(descr);
      return nullptr;
    }
  }
  static_assert(sizeof(npy_intp) == sizeof(int64_t), "64-bit machines only");
  int ndim = PyArray_NDIM(ndarray);
  Aval *aval = internAval(
      dtype, weakType, reinterpret_cast<const int64_t *>(PyArray_DIMS(ndarray)),
      size_t(ndim));
  if (!aval)
    return nullptr;
  bool swapped = PyDataType_ISBYTESWAPPED(PyArray_DESCR(ndarray));
  bool dense = !swapped && PyArray_IS_C_CONTIGUOUS(ndarray) &&
               PyArray_ISALIGNED(ndarray);
  if (dense && !copy) {
    void *data = PyArray_DATA(ndarray);
    // An ndarray made by empty_ndarray: share the pool buffer itself.
    PyObject *base = PyArray_BASE(ndarray);
    if (base && Py_TYPE(base) == bufferRefType &&
        !(PyArray_FLAGS(ndarray) & NPY_ARRAY_WRITEABLE)) {
      Buffer *buffer = reinterpret_cast<BufferRefObject *>(base)->buffer;
      buffer->retain();
      return wrapBuffer(aval, buffer, deviceId, static_cast<char *>(data));
    }
    Buffer *buffer = Buffer::borrow(data, size_t(aval->nbytes), object);
    if (!buffer) {
      aval->release();
      return PyErr_NoMemory();
    }
    return wrapBuffer(aval, buffer, deviceId);
  }
  PyObject *result = newArray(aval, deviceId);
  if (!result)
    return nullptr;
  ArrayObject *array = asArray(result);
  if (dense) {
    copyBytes(array->data, PyArray_DATA(ndarray), size_t(array->aval->nbytes));
    return result;
  }
  PyObject *target = makeNdarray(array->aval, array->buffer, array->data, true);
  if (!target || PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(target),
                                  ndarray) < 0) {
    Py_XDECREF(target);
    Py_DECREF(result);
    return nullptr;
  }
  Py_DECREF(target);
  return result;
}

bool storeScalar(void *to, PyObject *value, DType dtype) {
  switch (dtype) {
  case DType::Bool:
    if (!PyBool_Check(value))
      return false;
    *static_cast<uint8_t *>(to) = value == Py_True;
    return true;
  case DType::Int32:
  case DType::Int64: {
    if (!PyLong_CheckExact(value))
      return false;
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
      return false;
    if (dtype == DType::Int64) {
      *static_cast<int64_t *>(to) = number;
      return true;
    }
    if (number < INT32_MIN || number > INT32_MAX)
      return false;
    *static_cast<int32_t *>(to) = int32_t(number);
    return true;
  }
  case DType::Float32:
  case DType::Float64: {
    if (!PyFloat_CheckExact(value))
      return false;
    double number = PyFloat_AS_DOUBLE(value);
    if (dtype == DType::Float64)
      *static_cast<double *>(to) = number;
    else if (std::fabs(number) <= 3.4028234663852886e38 ||
             !std::isfinite(number))
      *static_cast<float *>(to) = float(number);
    else
      return false; // rounds to infinity or the largest float: NumPy decides
    return true;
  }
  default:
    return false;
  }
}

PyObject *arrayFromScalar(PyObject *value, DType dtype, bool weakType,
                          int32_t deviceId) {
  Aval *aval = internAval(dtype, weakType, nullptr, 0);
  PyObject *result = aval ? newArray(aval, deviceId) : nullptr;
  if (!result)
    return nullptr;
  ArrayObject *array = asArray(result);
  if (storeScalar(array->data, value, dtype))
    return result;
  memset(array->data, 0, itemsizeOf(dtype));
  if (PyArray_Pack(reinterpret_cast<PyArray_Descr *>(descrOf(dtype)),
                   array->data, value) < 0) {
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Views and deletion
//===----------------------------------------------------------------------===//

bool checkAlive(ArrayObject *array) {
  if (array->buffer)
    return true;
  if (array->shards)
    return gatherShards(array);
  PyErr_Format(PyExc_RuntimeError, "Array has been deleted with shape=%s.",
               describe(array->aval).c_str());
  return false;
}

PyObject *numpyView(ArrayObject *array) {
  if (array->view) {
    Py_INCREF(array->view);
    return array->view;
  }
  if (!checkAlive(array))
    return nullptr;
  PyObject *view = makeNdarray(array->aval, array->buffer, array->data, false);
  if (!view)
    return nullptr;
  array->view = view;
  Py_INCREF(view);
  return view;
}

bool isExclusive(ArrayObject *array) {
  if (!array->buffer || array->shards || !array->buffer->isPooled() ||
      array->data != array->buffer->data ||
      array->buffer->bytes != size_t(array->aval->nbytes))
    return false;
  if (array->view && Py_REFCNT(array->view) == 1)
    Py_CLEAR(array->view);
  return array->buffer->isUnique();
}

void deleteArray(ArrayObject *array) {
  Py_CLEAR(array->view);
  if (Buffer *buffer = array->buffer) {
    array->buffer = nullptr;
    array->data = nullptr;
    buffer->release();
  }
  Py_CLEAR(array->shards);
}

//===----------------------------------------------------------------------===//
// The Python type
//===----------------------------------------------------------------------===//

namespace {

void arrayDealloc(PyObject *self) {
  ArrayObject *array = asArray(self);
  delist(array);
  if (array->weakrefs)
    PyObject_ClearWeakRefs(self);
  deleteArray(array);
  Py_CLEAR(array->layout);
  array->aval->release();
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *newRef(PyObject *object) {
  Py_INCREF(object);
  return object;
}

#define LINGON_GETTER(name, expression)                                        \
  PyObject *get_##name(PyObject *self, void *) {                               \
    ArrayObject *array = asArray(self);                                        \
    return expression;                                                         \
  }
LINGON_GETTER(shape, newRef(array->aval->shape))
LINGON_GETTER(dtype, newRef(descrOf(array->aval->dtype)))
LINGON_GETTER(weakType, PyBool_FromLong(array->aval->weakType))
LINGON_GETTER(ndim, PyLong_FromUnsignedLong(array->aval->ndim))
LINGON_GETTER(size, PyLong_FromLongLong(array->aval->size))
LINGON_GETTER(nbytes, PyLong_FromLongLong(array->aval->nbytes))
LINGON_GETTER(itemsize, PyLong_FromSize_t(itemsizeOf(array->aval->dtype)))
LINGON_GETTER(deviceId, PyLong_FromLong(array->deviceId))
LINGON_GETTER(committed, PyBool_FromLong(array->committed))
LINGON_GETTER(layout, newRef(array->layout ? array->layout : Py_None))
LINGON_GETTER(shards, newRef(array->shards ? array->shards : Py_None))
LINGON_GETTER(dtypeCode, PyLong_FromLong(long(array->aval->dtype)))
#undef LINGON_GETTER

PyObject *get_aval(PyObject *self, void *) {
  PyObject *aval = pyAvalOf(asArray(self)->aval);
  return aval ? newRef(aval) : nullptr;
}

int set_committed(PyObject *self, PyObject *value, void *) {
  int truth = value ? PyObject_IsTrue(value) : 0;
  if (truth < 0)
    return -1;
  asArray(self)->committed = truth;
  return 0;
}

PyGetSetDef arrayGetSet[] = {
    {"shape", get_shape, nullptr, "Tuple of int.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, an np.dtype.", nullptr},
    {"weak_type", get_weakType, nullptr,
     "Whether the dtype gives way to other operands in promotion.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"aval", get_aval, nullptr, "The abstract value of the array.", nullptr},
    {"_device_id", get_deviceId, nullptr, "Number of the device.", nullptr},
    {"_committed", get_committed, set_committed,
     "Whether the program placed the array on its device.", nullptr},
    {"_layout", get_layout, nullptr,
     "The ShardLayout of an array on several devices, else None.", nullptr},
    {"_shards", get_shards, nullptr,
     "The parts of an array on several devices, else None.", nullptr},
    {"_dtype_code", get_dtypeCode, nullptr, "Code of the dtype.", nullptr},
    {nullptr}};

PyObject *array_numpy(PyObject *self, PyObject *) {
  return numpyView(asArray(self));
}

PyObject *array_isDeleted(PyObject *self, PyObject *) {
  return PyBool_FromLong(!asArray(self)->buffer && !asArray(self)->shards);
}

PyObject *array_delete(PyObject *self, PyObject *) {
  deleteArray(asArray(self));
  Py_RETURN_NONE;
}

PyObject *array_pointer(PyObject *self, PyObject *) {
  ArrayObject *array = asArray(self);
  return checkAlive(array) ? PyLong_FromVoidPtr(array->data) : nullptr;
}

PyObject *array_ready(PyObject *self, PyObject *) {
  if (asArray(self)->shards)
    return newRef(self);
  return checkAlive(asArray(self)) ? newRef(self) : nullptr;
}

PyObject *array_isExclusive(PyObject *self, PyObject *) {
  return PyBool_FromLong(isExclusive(asArray(self)));
}

PyObject *array_alias(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"shape",     "dtype",  "weak_type",
                                      "device_id", "offset", nullptr};
  PyObject *shape = Py_None, *dtypeObject = Py_None, *weak = Py_None,
           *device = Py_None;
  Py_ssize_t offset = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOn:_alias",
                                   const_cast<char **>(names), &shape,
                                   &dtypeObject, &weak, &device, &offset))
    return nullptr;
  ArrayObject *array = asArray(self);
  if (!checkAlive(array))
    return nullptr;
  const Aval *old = array->aval;
  DType dtype = old->dtype;
  if (dtypeObject != Py_None) {
    dtype = dtypeFromObject(dtypeObject);
    if (dtype == DType::Invalid)
      return nullptr;
  }
  bool weakType = old->weakType;
  if (weak != Py_None) {
    int truth = PyObject_IsTrue(weak);
    if (truth < 0)
      return nullptr;
    weakType = truth;
  }
  int32_t deviceId = array->deviceId;
  if (device != Py_None) {
    deviceId = int32_t(PyLong_AsLong(device));
    if (deviceId == -1 && PyErr_Occurred())
      return nullptr;
  }
  Aval *aval = shape == Py_None
                   ? internAval(dtype, weakType, old->dims, old->ndim)
                   : internAval(dtype, weakType, shape);
  if (!aval)
    return nullptr;
  if (offset < 0 || offset > old->nbytes ||
      aval->nbytes > old->nbytes - offset ||
      offset % Py_ssize_t(itemsizeOf(dtype)) != 0) {
    PyErr_Format(PyExc_ValueError,
                 "_alias: shape %R of dtype %s at byte offset %zd does not lie "
                 "inside of the array of %lld bytes",
                 aval->shape, nameOf(dtype), offset, (long long)old->nbytes);
    aval->release();
    return nullptr;
  }
  array->buffer->retain();
  PyObject *result =
      wrapBuffer(aval, array->buffer, deviceId, array->data + offset);
  if (result)
    asArray(result)->committed = array->committed;
  return result;
}

PyObject *fromNumpy(PyObject *, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames) {
  PyObject *slots[4] = {nullptr, Py_False, Py_False, nullptr};
  static const char *const names[4] = {"array", "weak_type", "copy",
                                       "device_id"};
  if (nargs > 4) {
    PyErr_Format(PyExc_TypeError,
                 "from_numpy() takes at most 4 arguments (%zd given)", nargs);
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < nargs; ++i)
    slots[i] = args[i];
  for (Py_ssize_t k = 0, n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0; k < n;
       ++k) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, k);
    int at = -1;
    for (int i = 0; i < 4; ++i)
      if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
        at = i;
    if (at < 0 || at < nargs) {
      PyErr_Format(PyExc_TypeError,
                   at < 0 ? "from_numpy() got an unexpected argument %R"
                          : "from_numpy() got multiple values for argument %R",
                   name);
      return nullptr;
    }
    slots[at] = args[nargs + k];
  }
  if (!slots[0]) {
    PyErr_SetString(PyExc_TypeError,
                    "from_numpy() missing the argument 'array'");
    return nullptr;
  }
  int weakType = PyObject_IsTrue(slots[1]), copy = PyObject_IsTrue(slots[2]);
  long device = slots[3] ? PyLong_AsLong(slots[3]) : defaultDeviceId();
  if (weakType < 0 || copy < 0 || (device == -1 && PyErr_Occurred()))
    return nullptr;
  return arrayFromNumpy(slots[0], weakType, copy, int32_t(device));
}

PyMethodDef arrayMethods[] = {
    {"from_numpy", (PyCFunction)(void *)fromNumpy,
     METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     "from_numpy(array, weak_type=False, copy=False, device_id=None)\n\nArray "
     "of "
     "an ndarray. Shares its memory if it is C-contiguous, aligned and of "
     "native byte order and copy is false: it must not be written to after."},
    {"_numpy", array_numpy, METH_NOARGS,
     "The read-only ndarray that shares the memory and keeps it alive."},
    {"is_deleted", array_isDeleted, METH_NOARGS,
     "Whether delete() was called or the array was donated."},
    {"delete", array_delete, METH_NOARGS,
     "Gives up the memory; later uses raise RuntimeError."},
    {"_unsafe_data_ptr", array_pointer, METH_NOARGS,
     "Address of the first element."},
    {"unsafe_buffer_pointer", array_pointer, METH_NOARGS,
     "Address of the first element."},
    {"block_until_ready", array_ready, METH_NOARGS,
     "Returns the array; programs have run when their results exist."},
    {"_is_exclusive", array_isExclusive, METH_NOARGS,
     "Whether no other array, view or export shares the memory."},
    {"_alias", (PyCFunction)(void *)array_alias, METH_VARARGS | METH_KEYWORDS,
     "_alias(*, shape=None, dtype=None, weak_type=None, device_id=None, "
     "offset=0)\n\nAnother array over the same memory, from byte `offset`."},
    LINGON_ARRAY_PROTOCOL_METHODS,
    {nullptr}};

PyMemberDef arrayMembers[] = {{"__weaklistoffset__", T_PYSSIZET,
                               offsetof(ArrayObject, weakrefs), READONLY,
                               nullptr},
                              {nullptr}};

PyType_Slot arraySlots[] = {
    {Py_tp_dealloc, (void *)arrayDealloc},
    {Py_tp_getset, arrayGetSet},
    {Py_tp_methods, arrayMethods},
    {Py_tp_members, arrayMembers},
    {Py_tp_hash, (void *)PyObject_HashNotImplemented},
    {Py_bf_getbuffer, (void *)arrayGetBuffer},
    {Py_bf_releasebuffer, (void *)arrayReleaseBuffer},
    {Py_tp_doc,
     (void *)"An immutable, dense, row-major array in memory of a device."},
    {0, nullptr}};
PyType_Spec arraySpec = {
    "lingon.runtime._runtime.ArrayImpl", sizeof(ArrayObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, arraySlots};

PyMethodDef fromNumpyDef = arrayMethods[0];

} // namespace

static ModuleInit registerArray(
    [](nb::module_ &m) {
      bufferRefType = (PyTypeObject *)PyType_FromSpec(&bufferRefSpec);
      arrayType = (PyTypeObject *)PyType_FromSpec(&arraySpec);
      if (!bufferRefType || !arrayType)
        throw nb::python_error();
      m.attr("ArrayImpl") = nb::borrow((PyObject *)arrayType);
      fromNumpyDef.ml_flags = METH_FASTCALL | METH_KEYWORDS;
      m.attr("from_numpy") = nb::steal(PyCFunction_New(&fromNumpyDef, nullptr));
      m.def(
          "from_scalar",
          [](nb::handle value, nb::handle dtype, bool weakType, int deviceId) {
            if (deviceId < 0)
              deviceId = defaultDeviceId();
            DType code = dtypeFromObject(dtype.ptr());
            PyObject *result =
                code == DType::Invalid
                    ? nullptr
                    : arrayFromScalar(value.ptr(), code, weakType, deviceId);
            if (!result)
              throw nb::python_error();
            return nb::steal(result);
          },
          nb::arg("value"), nb::arg("dtype"), nb::arg("weak_type") = false,
          nb::arg("device_id") = -1,
          "Rank-0 array of a Python or NumPy scalar. OverflowError for an int "
          "that the dtype cannot hold.");
      m.def(
          "live_arrays",
          [] {
            nb::list result;
            for (ArrayObject *array = firstArray; array; array = array->next)
              result.append(nb::borrow(asPy(array)));
            return result;
          },
          "All arrays that exist, deleted ones among them, newest first.");
      m.def(
          "empty_ndarray",
          [](nb::handle shape, nb::handle dtype) {
            DType code = dtypeFromObject(dtype.ptr());
            Aval *aval = code == DType::Invalid
                             ? nullptr
                             : internAval(code, false, shape.ptr());
            if (!aval)
              throw nb::python_error();
            Buffer *buffer = Buffer::allocate(size_t(aval->nbytes));
            PyObject *result =
                buffer ? makeNdarray(aval, buffer,
                                     static_cast<char *>(buffer->data), true)
                       : raiseNoMemory(aval->nbytes);
            if (buffer)
              buffer->release();
            aval->release();
            if (!result)
              throw nb::python_error();
            return nb::steal(result);
          },
          nb::arg("shape"), nb::arg("dtype"),
          "A writable ndarray of undefined contents in pool memory. After "
          "`setflags(write=False)`, from_numpy shares its buffer.");
    },
    -10);

} // namespace lingon
