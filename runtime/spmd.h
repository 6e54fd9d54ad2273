//===- spmd.h - one program on several devices ----------------------------===//
#ifndef LINGON_RUNTIME_SPMD_H
#define LINGON_RUNTIME_SPMD_H

#include "executable.h"
#include "processes.h"
#include "sharded.h"

namespace lingon {

/// A program that each of some devices runs on its parts of the arguments,
/// giving its parts of the results. `inAvals` and `outAvals` are those of the
/// whole arrays; the other fields of the base are not used.
class SpmdExecutable : public Executable {
public:
  ~SpmdExecutable() override;

  /// Arguments that are on the devices in the wanted layout are used as they
  /// are, others are cut into parts. Results have layouts, but those of a
  /// program on one device.
  bool run(PyObject *const *args, size_t numArgs, PyObject **outs,
           int32_t deviceId = -1) override;

  bool onDevices() const override { return true; }

  PyObject *localObject = nullptr; ///< owned; each device's program
  Executable *local = nullptr;
  std::vector<int32_t> devices; ///< of this process
  /// Numbers, for messages, and processes of all devices by position; those of
  /// this process are at `positions`.
  std::vector<int32_t> names;
  std::vector<size_t> positions;
  RunPlaces places;
  bool independent = false; ///< the devices do not meet in collectives
  std::vector<PyObject *> inLayouts, outLayouts; ///< owned ShardLayouts
};

} // namespace lingon

#endif // LINGON_RUNTIME_SPMD_H
