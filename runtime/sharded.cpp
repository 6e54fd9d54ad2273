//===- sharded.cpp - arrays that lie on several devices -------------------===//
#include "sharded.h"
#include "module.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstring>

namespace nb = nanobind;

namespace lingon {
namespace {

/// Parts that were cut out of another layout or put together, since the start.
int64_t numTransfers = 0;

void hashIn(uint64_t &hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  hash ^= hash >> 32;
}

/// Copies a block between two dense row-major arrays of `ndim` dimensions, of
/// which one is the block itself.
void copyBlock(char *to, const int64_t *toShape, const int64_t *toStart,
               const char *from, const int64_t *fromShape,
               const int64_t *fromStart, const int64_t *block, size_t ndim,
               size_t itemBytes) {
  int64_t toOffset = 0, fromOffset = 0;
  for (size_t d = 0; d < ndim; ++d) {
    toOffset = toOffset * toShape[d] + (toStart ? toStart[d] : 0);
    fromOffset = fromOffset * fromShape[d] + (fromStart ? fromStart[d] : 0);
  }
  to += toOffset * int64_t(itemBytes);
  from += fromOffset * int64_t(itemBytes);
  // The innermost dimensions that are whole on both sides are one run.
  size_t outer = ndim;
  int64_t run = int64_t(itemBytes);
  while (outer > 0) {
    --outer;
    run *= block[outer];
    if (block[outer] != toShape[outer] || block[outer] != fromShape[outer])
      break;
  }
  int64_t toStride[maxRank], fromStride[maxRank], index[maxRank] = {};
  int64_t toStep = int64_t(itemBytes), fromStep = int64_t(itemBytes);
  for (size_t d = ndim; d-- > 0;) {
    toStride[d] = toStep;
    fromStride[d] = fromStep;
    toStep *= toShape[d];
    fromStep *= fromShape[d];
  }
  for (;;) {
    memcpy(to, from, size_t(run));
    size_t d = outer;
    for (;;) {
      if (d == 0)
        return;
      --d;
      to += toStride[d];
      from += fromStride[d];
      if (++index[d] < block[d])
        break;
      index[d] = 0;
      to -= toStride[d] * block[d];
      from -= fromStride[d] * block[d];
    }
  }
}

} // namespace

ShardLayout::~ShardLayout() { Py_XDECREF(sharding); }

bool ShardLayout::samePlacement(const ShardLayout &other) const {
  return this == &other ||
         (placementHash == other.placementHash && devices == other.devices &&
          shape == other.shape && shardShape == other.shardShape &&
          starts == other.starts);
}

ShardLayout *layoutOf(const ArrayObject *array) {
  return array->layout ? nb::inst_ptr<ShardLayout>(nb::handle(array->layout))
                       : nullptr;
}

PyObject *wrapShards(Aval *aval, PyObject *shards, PyObject *layout) {
  auto *first = asArray(PyTuple_GET_ITEM(shards, 0));
  auto *self = PyObject_New(ArrayObject, arrayType);
  if (!self) {
    aval->release();
    Py_DECREF(shards);
    return nullptr;
  }
  self->aval = aval;
  self->buffer = nullptr;
  self->data = nullptr;
  self->view = nullptr;
  self->weakrefs = nullptr;
  self->deviceId = first->deviceId;
  self->committed = true;
  Py_INCREF(layout);
  self->layout = layout;
  self->shards = shards;
  enlist(self);
  return asPy(self);
}

bool gatherShards(ArrayObject *array) {
  ShardLayout &layout = *layoutOf(array);
  PyObject *shards = array->shards;
  for (size_t i = 0; i < layout.numShards(); ++i)
    if (!checkAlive(asArray(PyTuple_GET_ITEM(shards, Py_ssize_t(i)))))
      return false;
  if (layout.replicated) {
    ArrayObject *first = asArray(PyTuple_GET_ITEM(shards, 0));
    first->buffer->retain();
    array->buffer = first->buffer;
    array->data = first->data;
    return true;
  }
  if (!layout.complete) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "Fetching value for `jax.Array` that spans non-addressable (non "
        "process local) devices is not possible. You can use "
        "`jax.experimental.multihost_utils.process_allgather` to print the "
        "global array or use `.addressable_shards` method of jax.Array to "
        "inspect the addressable (process local) shards.");
    return false;
  }
  ++numTransfers;
  int64_t bytes = array->aval->nbytes;
  Buffer *buffer = Buffer::allocate(size_t(bytes));
  if (!buffer) {
    PyErr_Format(PyExc_MemoryError, "out of memory allocating %lld bytes",
                 (long long)bytes);
    return false;
  }
  for (size_t i = 0; i < layout.numShards(); ++i)
    if (layout.primary[i] && bytes)
      copyBlock(static_cast<char *>(buffer->data), layout.shape.data(),
                layout.startOf(i),
                asArray(PyTuple_GET_ITEM(shards, Py_ssize_t(i)))->data,
                layout.shardShape.data(), nullptr, layout.shardShape.data(),
                layout.ndim(), itemsizeOf(array->aval->dtype));
  array->buffer = buffer;
  array->data = static_cast<char *>(buffer->data);
  return true;
}

PyObject *splitArray(ArrayObject *array, PyObject *layoutObject) {
  ShardLayout &layout = *nb::inst_ptr<ShardLayout>(nb::handle(layoutObject));
  if (array->shards && layoutOf(array)->samePlacement(layout)) {
    Py_INCREF(array->shards);
    return array->shards;
  }
  if (!checkAlive(array))
    return nullptr;
  const Aval *aval = array->aval;
  if (aval->ndim != layout.ndim() ||
      memcmp(aval->dims, layout.shape.data(), layout.ndim() * 8) != 0) {
    PyErr_Format(PyExc_ValueError,
                 "an array of type %s does not have the shape of the layout",
                 describe(aval).c_str());
    return nullptr;
  }
  ++numTransfers;
  size_t itemBytes = itemsizeOf(aval->dtype);
  PyObject *shards = PyTuple_New(Py_ssize_t(layout.numShards()));
  if (!shards)
    return nullptr;
  for (size_t i = 0; i < layout.numShards(); ++i) {
    Aval *shardAval = internAval(aval->dtype, aval->weakType,
                                 layout.shardShape.data(), layout.ndim());
    if (!shardAval) {
      Py_DECREF(shards);
      return nullptr;
    }
    PyObject *shard;
    if (layout.contiguous) {
      int64_t offset = 0;
      for (size_t d = 0; d < layout.ndim(); ++d)
        offset = offset * layout.shape[d] + layout.startOf(i)[d];
      array->buffer->retain();
      shard = wrapBuffer(shardAval, array->buffer, layout.devices[i],
                         array->data + offset * int64_t(itemBytes));
    } else {
      shard = newArray(shardAval, layout.devices[i]);
      if (shard && asArray(shard)->aval->nbytes)
        copyBlock(asArray(shard)->data, layout.shardShape.data(), nullptr,
                  array->data, layout.shape.data(), layout.startOf(i),
                  layout.shardShape.data(), layout.ndim(), itemBytes);
    }
    if (!shard) {
      Py_DECREF(shards);
      return nullptr;
    }
    asArray(shard)->committed = true;
    PyTuple_SET_ITEM(shards, Py_ssize_t(i), shard);
  }
  return shards;
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

namespace {

std::vector<int64_t> numbers(nb::handle sequence) {
  std::vector<int64_t> result;
  for (nb::handle item : sequence)
    result.push_back(nb::cast<int64_t>(item));
  return result;
}

[[noreturn]] void raise(PyObject *type, const std::string &text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

void fill(ShardLayout &self, nb::handle sharding, nb::handle shape,
          nb::handle shardShape, nb::handle devices, nb::handle starts,
          bool complete) {
  self.shape = numbers(shape);
  self.shardShape = numbers(shardShape);
  for (nb::handle item : devices)
    self.devices.push_back(nb::cast<int32_t>(item));
  size_t ndim = self.shape.size();
  if (self.shardShape.size() != ndim || self.devices.empty())
    raise(PyExc_ValueError, "ShardLayout: shape and shard_shape must have the "
                            "same rank and devices must not be empty");
  for (nb::handle item : starts) {
    std::vector<int64_t> start = numbers(item);
    bool inside = start.size() == ndim;
    for (size_t d = 0; inside && d < ndim; ++d)
      inside = start[d] >= 0 && self.shardShape[d] >= 0 &&
               start[d] <= self.shape[d] - self.shardShape[d];
    if (!inside)
      raise(PyExc_ValueError, "ShardLayout: a part lies outside of the array");
    self.starts.insert(self.starts.end(), start.begin(), start.end());
  }
  size_t count = self.devices.size();
  if (self.starts.size() != count * ndim)
    raise(PyExc_ValueError,
          "ShardLayout: there must be one start for each device");
  for (size_t i = 0; i < count; ++i) {
    bool first = true;
    for (size_t j = 0; j < i && first; ++j)
      first =
          !std::equal(self.startOf(i), self.startOf(i) + ndim, self.startOf(j));
    self.primary.push_back(first);
  }
  self.replicated = self.shape == self.shardShape;
  self.complete = complete || self.replicated;
  // Everything before the dimension that is cut has one element, everything
  // after it is whole.
  size_t cut = 0;
  while (cut < ndim && self.shardShape[cut] == 1)
    ++cut;
  self.contiguous = true;
  for (size_t d = cut + 1; d < ndim; ++d)
    self.contiguous &= self.shardShape[d] == self.shape[d];
  uint64_t hash = ndim * 2 + self.complete;
  for (int32_t device : self.devices)
    hashIn(hash, uint64_t(device));
  for (const auto *part : {&self.shape, &self.shardShape, &self.starts})
    for (int64_t value : *part)
      hashIn(hash, uint64_t(value));
  self.placementHash = hash;
  Py_INCREF(sharding.ptr());
  self.sharding = sharding.ptr();
}

ShardLayout *layoutArgument(nb::handle object) {
  ShardLayout *layout;
  if (!nb::try_cast(object, layout) || !layout)
    raise(PyExc_TypeError, "expected a ShardLayout");
  return layout;
}

nb::object assemble(nb::handle parts, nb::handle layoutObject, bool weakType) {
  ShardLayout &layout = *layoutArgument(layoutObject);
  nb::object shards = nb::steal(PySequence_Tuple(parts.ptr()));
  if (!shards.is_valid())
    throw nb::python_error();
  if (size_t(PyTuple_GET_SIZE(shards.ptr())) != layout.numShards())
    raise(PyExc_ValueError, "there must be one part for each device");
  for (size_t i = 0; i < layout.numShards(); ++i) {
    PyObject *part = PyTuple_GET_ITEM(shards.ptr(), Py_ssize_t(i));
    if (!isArray(part) || asArray(part)->layout)
      raise(PyExc_TypeError, "parts must be arrays on one device each");
    const Aval *aval = asArray(part)->aval;
    if (aval->ndim != layout.ndim() ||
        memcmp(aval->dims, layout.shardShape.data(), layout.ndim() * 8) != 0 ||
        aval->dtype != asArray(PyTuple_GET_ITEM(shards.ptr(), 0))->aval->dtype)
      raise(PyExc_ValueError, "a part is " + describe(aval) +
                                  ", which is not what the layout says");
    if (asArray(part)->deviceId != layout.devices[i])
      raise(PyExc_ValueError, "a part is not on its device");
    if (!checkAlive(asArray(part)))
      throw nb::python_error();
  }
  DType dtype = asArray(PyTuple_GET_ITEM(shards.ptr(), 0))->aval->dtype;
  Aval *aval = internAval(dtype, weakType, layout.shape.data(), layout.ndim());
  PyObject *result =
      aval ? wrapShards(aval, shards.release().ptr(), layoutObject.ptr())
           : nullptr;
  if (!result)
    throw nb::python_error();
  return nb::steal(result);
}

nb::object shard(nb::handle array, nb::handle layoutObject) {
  layoutArgument(layoutObject);
  if (!isArray(array.ptr()))
    raise(PyExc_TypeError, "shard_array: expected an ArrayImpl");
  ArrayObject *whole = asArray(array.ptr());
  PyObject *shards = splitArray(whole, layoutObject.ptr());
  if (!shards)
    throw nb::python_error();
  whole->aval->retain();
  PyObject *result = wrapShards(whole->aval, shards, layoutObject.ptr());
  if (!result)
    throw nb::python_error();
  // What is there already need not be gathered again.
  if (whole->buffer && layoutArgument(layoutObject)->complete) {
    whole->buffer->retain();
    asArray(result)->buffer = whole->buffer;
    asArray(result)->data = whole->data;
  }
  return nb::steal(result);
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  if (nb::inst_ready(object))
    Py_VISIT(nb::inst_ptr<ShardLayout>(object)->sharding);
  return 0;
}

int clear(PyObject *object) {
  if (nb::inst_ready(object))
    Py_CLEAR(nb::inst_ptr<ShardLayout>(object)->sharding);
  return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {0, nullptr}};

ModuleInit registerSharded([](nb::module_ &m) {
  nb::class_<ShardLayout>(m, "ShardLayout", nb::type_slots(slots),
                          "Which part of an array each of some devices has.")
      .def(
          "__init__",
          [](ShardLayout *self, nb::handle sharding, nb::handle shape,
             nb::handle shardShape, nb::handle devices, nb::handle starts,
             bool complete) {
            new (self) ShardLayout();
            try {
              fill(*self, sharding, shape, shardShape, devices, starts,
                   complete);
            } catch (...) {
              self->~ShardLayout();
              throw;
            }
          },
          nb::arg("sharding"), nb::arg("shape"), nb::arg("shard_shape"),
          nb::arg("devices"), nb::arg("starts"), nb::arg("complete") = true,
          "sharding: what arrays of this layout say theirs is. devices: "
          "numbers. starts: for each device the indices at which its part "
          "begins. complete: whether no part is in other processes only.")
      .def_prop_ro("complete",
                   [](const ShardLayout &self) { return self.complete; })
      .def_prop_ro("sharding",
                   [](const ShardLayout &self) {
                     return nb::borrow(self.sharding ? self.sharding : Py_None);
                   })
      .def_prop_ro("replicated",
                   [](const ShardLayout &self) { return self.replicated; })
      .def("same_placement", &ShardLayout::samePlacement, nb::arg("other"),
           "Whether both put equal parts on equal devices.");
  m.def("assemble_array", &assemble, nb::arg("parts"), nb::arg("layout"),
        nb::arg("weak_type") = false,
        "The array whose parts are the given arrays, in the order of the "
        "layout's devices. ValueError where they do not fit.");
  m.def("shard_array", &shard, nb::arg("array"), nb::arg("layout"),
        "The array in another layout. Contiguous parts share its memory.");
  m.def(
      "transfer_count", [] { return numTransfers; },
      "How often an array has been cut into parts or put together.");
});

} // namespace
} // namespace lingon
