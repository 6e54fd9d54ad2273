//===- processes.h - collectives between processes ------------------------===//
//
// A program may run on devices of several processes, each of which runs its
// own devices' part. In a collective whose group spans processes, the last
// device of the process to come exchanges messages with the other processes
// for all of them. How messages travel is the transport's business: a Python
// object, which has
//
//   exchange(tag, header, failed, peers)
//   abort(mesh, run, processes, error)
//
// `header` is (mesh, run, program, step, site): messages of equal tags that do
// not have equal headers are of different collectives. `failed` is a memory
// view of one byte, which becomes true when the exchange is in vain. `peers`
// are tuples (process, bytes-like to send or None, memory to fill or None).
// `abort` tells processes that the run has failed here with an exception.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_PROCESSES_H
#define LINGON_RUNTIME_PROCESSES_H

#include "rendezvous_abi.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

struct _object;

namespace lingon {

class Buffer;

/// What identifies one run to all its processes, and where its devices are.
struct RunPlaces {
  std::vector<int32_t> processes; ///< by position; empty: all are here
  int32_t self = 0;
  int64_t mesh = 0;    ///< the devices
  int64_t run = 0;     ///< number of the run on them
  int64_t program = 0; ///< what is run

  bool span() const { return !processes.empty(); }
  bool isHere(size_t position) const {
    return processes.empty() || processes[position] == self;
  }
};

/// Memory that grows; its contents are lost then.
class Staging {
public:
  Staging() = default;
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;
  ~Staging();
  /// Null when memory runs out.
  char *reserve(size_t bytes);

private:
  Buffer *buffer = nullptr;
};

/// One collective of a group that spans processes, for its leader.
struct GroupExchange {
  /// The members of the group in one process, by rank.
  struct Part {
    int32_t process;
    std::vector<int64_t> ranks;
  };

  const RunPlaces *places;
  const std::vector<Part> *parts; ///< in order of their first ranks
  int64_t tag, step, site;
  const std::atomic<bool> *failed;
};

// Both return false when the exchange has failed, with the exception noted in
// the current run. They must be called without the GIL.

/// Fetches the operands of other processes, of `bytes` bytes each, into
/// `received` and sets their `data`. With `sources`, which has a rank or -1 for
/// each member, only those that the members here need.
bool gatherOperands(const GroupExchange &exchange,
                    std::vector<LingonBuffer> &operands, int64_t bytes,
                    const int64_t *sources, Staging &received);
/// Combines all operands, each of `bytes` bytes, into `result`: those of each
/// process in order of rank, then what they give in order of the processes'
/// first ranks, whatever the timing.
bool combineOperands(const GroupExchange &exchange,
                     const std::vector<LingonBuffer> &operands, int64_t bytes,
                     const LingonCombine &combine, Staging &scratch,
                     Staging &result);

/// Tells the other processes of a run that it has failed with the Python error
/// that is set, which stays so unless telling fails. With the GIL.
void abortRun(const RunPlaces &places);

} // namespace lingon

#endif // LINGON_RUNTIME_PROCESSES_H
