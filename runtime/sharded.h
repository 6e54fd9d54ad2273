//===- sharded.h - arrays that lie on several devices ---------------------===//
//
// An array on several devices has a layout, which says which part of it each
// device has, and one array for each part. Its own buffer is made by gathering
// the parts when somebody first needs the whole.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_SHARDED_H
#define LINGON_RUNTIME_SHARDED_H

#include "array.h"

#include <vector>

namespace lingon {

/// Which part of an array of one shape each of some devices has. Immutable; a
/// Python object (ShardLayout). The devices are those of this process; others
/// may have further parts.
class ShardLayout {
public:
  size_t numShards() const { return devices.size(); }
  size_t ndim() const { return shape.size(); }
  const int64_t *startOf(size_t shard) const {
    return starts.data() + shard * shape.size();
  }
  /// Equal parts on equal devices, whatever the shardings are called.
  bool samePlacement(const ShardLayout &other) const;

  std::vector<int32_t> devices;
  std::vector<int64_t> shape, shardShape;
  std::vector<int64_t> starts;  ///< numShards() x ndim()
  std::vector<uint8_t> primary; ///< whether no earlier shard is the same part
  bool replicated = false;      ///< every shard is the whole
  bool complete = true;         ///< no part is in other processes only
  /// Whether parts are contiguous pieces of the whole.
  bool contiguous = false;
  PyObject *sharding = nullptr; ///< owned
  uint64_t placementHash = 0;

  ShardLayout() = default;
  ShardLayout(const ShardLayout &) = delete;
  ShardLayout &operator=(const ShardLayout &) = delete;
  ~ShardLayout();
};

/// The layout of an array, or null if it is on one device.
ShardLayout *layoutOf(const ArrayObject *array);

// All of the following need the GIL; the last argument of the first two is
// borrowed. They return a new reference, or null with a Python error set.

/// An array of the parts, a tuple of arrays in the order of the layout's
/// devices. Takes over the references to `aval` and `shards`.
PyObject *wrapShards(Aval *aval, PyObject *shards, PyObject *layout);
/// The parts of an array on the layout's devices, as a tuple: its own if it has
/// this layout already, else copies or, for contiguous parts, pieces.
PyObject *splitArray(ArrayObject *array, PyObject *layout);
/// Fills the buffer of an array that has parts only.
bool gatherShards(ArrayObject *array);

} // namespace lingon

#endif // LINGON_RUNTIME_SHARDED_H
