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
  /// The operands of all members combined, where that was asked for and the
  /// group spans processes; else null.
  const void *combined;
};

/// to[i] = combination of inputs[0][i], inputs[1][i], ... for i < items.
struct LingonCombine {
  void (*fn)(const void *const *inputs, int64_t count, int64_t items, void *to);
  int64_t itemBytes;
};

/// What a collective needs of operands that other processes have: all by
/// default, or their combination, or only some.
struct LingonNeeds {
  const LingonCombine *combine; ///< or null
  const int64_t *sources;       ///< or null; the rank or -1 for each position
};

/// Position of the calling thread's device in the run, or -1 outside of one.
int64_t lingon_rt_device_position();
/// Returns when all devices of the group have come. `groups` and `ranks` hold
/// for each of `count` positions the number of its group and the rank in it.
/// `site` tells collectives of one program apart. `bytes` is the size of the
/// first operand, which is dense; a small one is copied, so that the devices
/// need not wait for each other again. Members of other processes show copies
/// of their first operands. Does not return where the others will not come: the
/// program is left with an error.
void lingon_rt_meet(LingonMeeting *meeting, const LingonBuffer *operands,
                    int64_t bytes, int64_t site, const int64_t *groups,
                    const int64_t *ranks, int64_t count,
                    const LingonNeeds *needs);
/// Returns when all members of the meeting have called it.
void lingon_rt_part(LingonMeeting *meeting);

} // extern "C"

#endif // LINGON_RUNTIME_RENDEZVOUS_ABI_H
