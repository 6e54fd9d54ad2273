//===- rendezvous_abi.h - what the collective kernels call ----------------===//
#ifndef LINGON_RUNTIME_RENDEZVOUS_ABI_H
#define LINGON_RUNTIME_RENDEZVOUS_ABI_H

#include "kernels/abi.h"

extern "C" {

/// Where the calling thread meets the others of its group in a collective.
struct LingonMeeting {
  const LingonBuffer *const *operands; ///< of each member, in order of rank
  int64_t rank, size;
  void *group;
  /// The others' inputs are copies, and they may have left already: only this
  /// device's own output may be written.
  bool copied;
};

/// Position of the calling thread's device in the run, or -1 outside of one.
int64_t lingon_rt_device_position();
/// Returns when all devices of the group have come. `groups` and `ranks` hold
/// for each of `count` positions the number of its group and the rank in it.
/// `site` tells collectives of one program apart. `bytes` is the size of the
/// first operand, which is dense; a small one is copied, so that the devices
/// need not wait for each other again. Does not return where the
/// others will not come: the program is left with an error.
void lingon_rt_meet(LingonMeeting *meeting, const LingonBuffer *operands,
                    int64_t bytes, int64_t site, const int64_t *groups,
                    const int64_t *ranks, int64_t count);
/// Returns when all members of the meeting have called it.
void lingon_rt_part(LingonMeeting *meeting);

} // extern "C"

#endif // LINGON_RUNTIME_RENDEZVOUS_ABI_H
