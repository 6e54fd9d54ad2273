//===- dlpack.cpp - exchange of memory with other array libraries ---------===//
//
// The layout of the structures is the public DLPack ABI, version 1.
//
//===----------------------------------------------------------------------===//
#include "array.h"
#include "array_protocols.h"
#include "module.h"

#include <nanobind/nanobind.h>

#include <cstring>
#include <new>

namespace nb = nanobind;

namespace lingon {
namespace {

struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byteOffset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(DLManagedTensor *);
};
struct DLVersion {
  uint32_t major;
  uint32_t minor;
};
struct DLManagedTensorVersioned {
  DLVersion version;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor tensor;
};

constexpr int32_t deviceCpu = 1;
constexpr int32_t deviceCudaHost = 3;
constexpr int32_t deviceRocmHost = 11;
constexpr uint64_t flagReadOnly = 1;
constexpr uint64_t flagIsCopied = 2;

/// Indexed by DType; code 255 where DLPack has no equal of our storage form.
constexpr DLDataType dlTypes[numDTypes] = {
    {6, 8, 1},   // bool
    {255, 0, 0}, // int4: one per byte here, packed in DLPack
    {255, 0, 0}, // uint4
    {0, 8, 1},   {0, 16, 1},  {0, 32, 1}, {0, 64, 1}, // int
    {1, 8, 1},   {1, 16, 1},  {1, 32, 1}, {1, 64, 1}, // uint
    {2, 16, 1},                                       // float16
    {4, 16, 1},                                       // bfloat16
    {2, 32, 1},  {2, 64, 1},                          // float
    {5, 64, 1},  {5, 128, 1},                         // complex
    {10, 8, 1},                                       // float8_e4m3fn
    {12, 8, 1},                                       // float8_e5m2
    {9, 8, 1},                                        // float8_e4m3b11fnuz
    {11, 8, 1},                                       // float8_e4m3fnuz
    {13, 8, 1},                                       // float8_e5m2fnuz
    {7, 8, 1},                                        // float8_e3m4
    {8, 8, 1},                                        // float8_e4m3
    {14, 8, 1},                                       // float8_e8m0fnu
};

DType dtypeOfDL(DLDataType type) {
  if (type.lanes == 1)
    for (unsigned i = 0; i < numDTypes; ++i)
      if (dlTypes[i].code == type.code && dlTypes[i].bits == type.bits)
        return static_cast<DType>(i);
  return DType::Invalid;
}

/// A managed tensor of either version with what it points to.
template <class Managed> struct Export {
  Managed managed;
  Buffer *buffer;
  int64_t shape[maxRank];
  int64_t strides[maxRank];
};

template <class Managed> struct CapsuleNames;
template <> struct CapsuleNames<DLManagedTensor> {
  static constexpr const char *fresh = "dltensor", *used = "used_dltensor";
};
template <> struct CapsuleNames<DLManagedTensorVersioned> {
  static constexpr const char *fresh = "dltensor_versioned",
                              *used = "used_dltensor_versioned";
};

/// Destructor of a capsule that nobody consumed.
template <class Managed> void dropCapsule(PyObject *capsule) {
  const char *name = CapsuleNames<Managed>::fresh;
  if (!PyCapsule_IsValid(capsule, name))
    return;
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter)
    managed->deleter(managed);
}

template <class Managed>
Export<Managed> *makeExport(const Aval *aval, Buffer *buffer, char *data,
                            int32_t deviceId) {
  auto *exported = new (std::nothrow) Export<Managed>();
  if (!exported)
    return nullptr;
  buffer->retain();
  exported->buffer = buffer;
  int64_t stride = 1;
  for (uint32_t i = aval->ndim; i-- > 0;) {
    exported->shape[i] = aval->dims[i];
    exported->strides[i] = stride;
    stride *= aval->dims[i];
  }
  // CPU memory has one address space: the number of our device means nothing
  // to others.
  (void)deviceId;
  exported->managed.tensor = {data,
                              {deviceCpu, 0},
                              int32_t(aval->ndim),
                              dlTypes[unsigned(aval->dtype)],
                              exported->shape,
                              exported->strides,
                              0};
  exported->managed.context = exported;
  exported->managed.deleter = [](Managed *managed) {
    auto *self = static_cast<Export<Managed> *>(managed->context);
    self->buffer->release();
    delete self;
  };
  return exported;
}

template <class Managed> PyObject *makeCapsule(Export<Managed> *exported) {
  if (!exported)
    return PyErr_NoMemory();
  PyObject *capsule = PyCapsule_New(
      &exported->managed, CapsuleNames<Managed>::fresh, dropCapsule<Managed>);
  if (!capsule)
    exported->managed.deleter(&exported->managed);
  return capsule;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

PyObject *importError(const char *what) {
  PyErr_Format(PyExc_BufferError, "from_dlpack: %s", what);
  return nullptr;
}

/// Copies a strided tensor to dense row-major memory.
void copyStrided(char *to, const char *from, const DLTensor &tensor,
                 int32_t dim, size_t itemsize) {
  if (dim == tensor.ndim) {
    memcpy(to, from, itemsize);
    return;
  }
  size_t inner = itemsize;
  for (int32_t i = dim + 1; i < tensor.ndim; ++i)
    inner *= size_t(tensor.shape[i]);
  int64_t step = tensor.strides[dim] * int64_t(itemsize);
  for (int64_t i = 0; i < tensor.shape[dim]; ++i)
    copyStrided(to + size_t(i) * inner, from + i * step, tensor, dim + 1,
                itemsize);
}

bool isDense(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// Makes an array of the capsule's tensor; consumes the capsule on success.
template <class Managed>
PyObject *importCapsule(PyObject *capsule, PyObject *copyObject,
                        int32_t deviceId) {
  using Names = CapsuleNames<Managed>;
  auto *managed =
      static_cast<Managed *>(PyCapsule_GetPointer(capsule, Names::fresh));
  const DLTensor &tensor = managed->tensor;
  if (tensor.device.type != deviceCpu && tensor.device.type != deviceCudaHost &&
      tensor.device.type != deviceRocmHost)
    return importError("the tensor is not in memory that the CPU can read");
  if (tensor.ndim < 0 || size_t(tensor.ndim) > maxRank)
    return importError("the tensor has too many dimensions");
  DType dtype = dtypeOfDL(tensor.dtype);
  if (dtype == DType::Invalid) {
    PyErr_Format(PyExc_BufferError,
                 "from_dlpack: unsupported element type (code %d, %d bits, %d "
                 "lanes)",
                 int(tensor.dtype.code), int(tensor.dtype.bits),
                 int(tensor.dtype.lanes));
    return nullptr;
  }
  Aval *aval = internAval(dtype, false, tensor.shape, size_t(tensor.ndim));
  if (!aval)
    return nullptr;
  char *data = static_cast<char *>(tensor.data) + tensor.byteOffset;
  if (!tensor.data && aval->nbytes != 0) {
    aval->release();
    return importError("the tensor has no data");
  }
  size_t itemsize = itemsizeOf(dtype);
  size_t align = dtype == DType::Complex64 || dtype == DType::Complex128
                     ? itemsize / 2
                     : itemsize;
  bool dense = (aval->size == 0 || isDense(tensor)) &&
               reinterpret_cast<uintptr_t>(data) % align == 0;
  int copy = copyObject == Py_None ? -1 : PyObject_IsTrue(copyObject);
  if (copy == 0 && !dense) {
    aval->release();
    PyErr_SetString(PyExc_ValueError,
                    "from_dlpack: copy=False, but the tensor is not a dense, "
                    "aligned, row-major array and must be copied");
    return nullptr;
  }
  auto release = [](void *context) {
    auto *self = static_cast<Managed *>(context);
    if (self->deleter)
      self->deleter(self);
  };
  if (copy == 1 || !dense || aval->nbytes == 0) {
    PyObject *result = newArray(aval, deviceId);
    if (!result)
      return nullptr;
    ArrayObject *array = asArray(result);
    size_t bytes = size_t(array->aval->nbytes);
    if (bytes != 0) {
      if (isDense(tensor))
        memcpy(array->data, data, bytes);
      else
        copyStrided(array->data, data, tensor, 0, itemsize);
    }
    PyCapsule_SetName(capsule, Names::used);
    release(managed);
    return result;
  }
  Buffer *buffer = Buffer::adopt(data, size_t(aval->nbytes), release, managed);
  if (!buffer) {
    aval->release();
    return PyErr_NoMemory();
  }
  PyCapsule_SetName(capsule, Names::used);
  return wrapBuffer(aval, buffer, deviceId);
}

PyObject *importAny(PyObject *capsule, PyObject *copy, int32_t deviceId) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto *managed = static_cast<DLManagedTensorVersioned *>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (managed->version.major > 1)
      return importError("the capsule is of a DLPack version above 1");
    return importCapsule<DLManagedTensorVersioned>(capsule, copy, deviceId);
  }
  if (PyCapsule_IsValid(capsule, "dltensor"))
    return importCapsule<DLManagedTensor>(capsule, copy, deviceId);
  if (PyCapsule_CheckExact(capsule))
    return importError(
        "the capsule is not a DLPack tensor or has been consumed "
        "before");
  PyErr_Format(PyExc_TypeError, "__dlpack__ returned %s, not a capsule",
               Py_TYPE(capsule)->tp_name);
  return nullptr;
}

/// Calls x.__dlpack__, with the version where the producer knows it.
nb::object requestCapsule(nb::handle x) {
  nb::object method = x.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error &error) {
    // Producers from before DLPack 1.0 have no such argument.
    if (!error.matches(PyExc_TypeError))
      throw;
  }
  return method();
}

} // namespace

PyObject *arrayDLPackDevice(PyObject *, PyObject *) {
  return Py_BuildValue("(ii)", int(deviceCpu), 0);
}

PyObject *arrayToDLPack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"stream", "max_version", "dl_device",
                                      "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None,
           *copyObject = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__",
                                   const_cast<char **>(names), &stream,
                                   &version, &device, &copyObject))
    return nullptr;
  ArrayObject *array = asArray(self);
  if (!checkAlive(array))
    return nullptr;
  if (stream != Py_None) {
    PyErr_SetString(PyExc_ValueError,
                    "__dlpack__: stream must be None for an array on the CPU");
    return nullptr;
  }
  if (device != Py_None) {
    int type, id;
    if (!PyArg_ParseTuple(device, "ii:dl_device", &type, &id))
      return nullptr;
    if (type != deviceCpu) {
      PyErr_SetString(PyExc_BufferError,
                      "__dlpack__: an array on the CPU can only be exported to "
                      "dl_device (1, 0)");
      return nullptr;
    }
  }
  long major = 0;
  if (version != Py_None) {
    long minor;
    if (!PyArg_ParseTuple(version, "ll:max_version", &major, &minor))
      return nullptr;
  }
  int copy = copyObject == Py_None ? 0 : PyObject_IsTrue(copyObject);
  if (copy < 0)
    return nullptr;
  const Aval *aval = array->aval;
  if (dlTypes[unsigned(aval->dtype)].code == 255) {
    PyErr_Format(
        PyExc_BufferError,
        "__dlpack__: dtype %s is stored in a form that DLPack does not "
        "have",
        nameOf(aval->dtype));
    return nullptr;
  }
  Buffer *buffer = array->buffer;
  char *data = array->data;
  if (copy) {
    buffer = Buffer::allocate(size_t(aval->nbytes));
    if (!buffer)
      return PyErr_NoMemory();
    memcpy(buffer->data, data, size_t(aval->nbytes));
    data = static_cast<char *>(buffer->data);
  } else {
    buffer->retain();
  }
  PyObject *capsule;
  if (major >= 1) {
    auto *exported = makeExport<DLManagedTensorVersioned>(aval, buffer, data,
                                                          array->deviceId);
    if (exported) {
      exported->managed.version = {1, 0};
      exported->managed.flags = copy ? flagIsCopied : flagReadOnly;
    }
    capsule = makeCapsule(exported);
  } else {
    capsule = makeCapsule(
        makeExport<DLManagedTensor>(aval, buffer, data, array->deviceId));
  }
  buffer->release();
  return capsule;
}

static ModuleInit registerDLPack([](nb::module_ &m) {
  m.def(
      "from_dlpack",
      [](nb::handle x, nb::handle copy, int deviceId) {
        nb::object capsule = PyCapsule_CheckExact(x.ptr())  ? nb::borrow(x)
                             : nb::hasattr(x, "__dlpack__") ? requestCapsule(x)
                                                            : nb::object();
        if (!capsule.is_valid()) {
          PyErr_Format(PyExc_TypeError,
                       "from_dlpack: expected an object with a __dlpack__ "
                       "method or a DLPack capsule, got %s",
                       Py_TYPE(x.ptr())->tp_name);
          throw nb::python_error();
        }
        PyObject *result = importAny(capsule.ptr(), copy.ptr(), deviceId);
        if (!result)
          throw nb::python_error();
        return nb::steal(result);
      },
      nb::arg("x"), nb::arg("copy") = nb::none(), nb::arg("device_id") = 0,
      "Array of a DLPack producer or capsule. Shares its memory unless `copy` "
      "is true or the tensor is not dense; ValueError if copy=False cannot be "
      "kept.");
});

} // namespace lingon
