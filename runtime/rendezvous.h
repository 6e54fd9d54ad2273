//===- rendezvous.h - where the devices of one program meet ---------------===//
//
// The devices that run one program, each on its own thread, meet in its
// collectives: all of a group show each other their operands, then each works
// on its part of the result, then they part again. All memory is shared.
//
// When a device has failed or has ended its program, those that wait for it
// leave theirs with an error instead.
//
// Some of the devices may be of other processes (processes.h). Positions and
// ranks count all of them; those of a group that are here meet as ever, and the
// last one to come exchanges operands with the other processes.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_RENDEZVOUS_H
#define LINGON_RUNTIME_RENDEZVOUS_H

#include "processes.h"
#include "rendezvous_abi.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lingon {

/// One run of a program on `count` devices.
class DeviceRun {
public:
  /// `names` are the numbers of the devices, for messages.
  DeviceRun(const int32_t *names, size_t count, const RunPlaces &places);
  ~DeviceRun();

  /// Says that the calling thread is the one at `position`, until `leave`.
  void enter(size_t position);
  /// The program of the device has ended; those that wait for it fail.
  void leave(size_t position, bool failed);

  class Group;
  Group &group(const std::vector<int32_t> &members);
  const int32_t *names() const { return deviceNames; }
  size_t size() const { return count; }
  const RunPlaces &places() const { return where; }

  std::atomic<bool> anyFailed{false};
  /// One flag for each position whose program has ended.
  std::unique_ptr<std::atomic<bool>[]> ended;

private:
  const int32_t *deviceNames;
  size_t count;
  const RunPlaces &where;
  std::mutex mutex; ///< of the list of groups
  std::vector<std::unique_ptr<Group>> groups;
};

} // namespace lingon

#endif // LINGON_RUNTIME_RENDEZVOUS_H
