//===- rendezvous.cpp - where the devices of one program meet -------------===//
#include "rendezvous.h"
#include "run_context.h"
#include "threads.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lingon {
namespace {

/// How long a thread looks for the others before it sleeps.
constexpr int spinCount = 400;
/// Operands of up to this size are copied to where they are shown.
constexpr int64_t smallBytes = 1024;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

thread_local DeviceRun *threadRun = nullptr;
thread_local int64_t threadPosition = -1;

} // namespace

/// Devices that meet in collectives.
class DeviceRun::Group {
public:
  Group(DeviceRun &run, std::vector<int32_t> members)
      : members(std::move(members)), run(run), sites(this->members.size()),
        turn(this->members.size()) {
    const RunPlaces &places = run.places();
    for (size_t rank = 0; rank < this->members.size(); ++rank) {
      size_t position = size_t(this->members[rank]);
      if (places.isHere(position))
        local.push_back(rank);
      if (!places.span())
        continue;
      int32_t process = places.processes[position];
      auto part =
          std::find_if(parts.begin(), parts.end(), [&](const auto &part) {
            return part.process == process;
          });
      if (part == parts.end())
        part = parts.insert(parts.end(), {process, {}});
      part->ranks.push_back(int64_t(rank));
    }
    for (Slot &slot : slots) {
      slot.operands.resize(this->members.size());
      slot.copies.reset(new Copy[this->members.size()]);
    }
    static const int cores = availableCores();
    spins = run.size() <= size_t(cores) ? spinCount : 0;
  }

  /// Waits for all members. The last one to come runs `check`, whose false
  /// makes all of them fail. Returns false on failure.
  template <class Check> bool arrive(Check check) {
    uint64_t now = generation.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        int(local.size())) {
      bool good = check();
      if (!good)
        broken.store(true, std::memory_order_relaxed);
      arrived.store(0, std::memory_order_relaxed);
      std::lock_guard<std::mutex> guard(mutex);
      generation.store(now + 1, std::memory_order_release);
      wake.notify_all();
      return good;
    }
    auto passed = [&] {
      return generation.load(std::memory_order_acquire) != now;
    };
    for (int i = 0; i < spins && !passed(); ++i)
      relax();
    if (!passed()) {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return passed() || hopeless(); });
    }
    return passed() && !broken.load(std::memory_order_relaxed);
  }

  /// Whether somebody who is waited for will not come.
  bool hopeless() const {
    if (run.anyFailed.load(std::memory_order_acquire))
      return true;
    for (size_t rank : local)
      if (run.ended[members[rank]].load(std::memory_order_acquire))
        return true;
    return false;
  }

  /// Whether members are of other processes.
  bool span() const { return local.size() < members.size(); }

  struct Slot;
  /// The leader's part: shows what other processes have.
  bool exchange(Slot &slot, int64_t bytes, int64_t site,
                const LingonNeeds *needs) {
    GroupExchange exchange{&run.places(), &parts, run.names()[members[0]],
                           steps++,       site,   &run.anyFailed};
    LingonBuffer like = slot.operands[local[0]][0];
    slot.shape.assign(like.shape, like.shape + like.rank);
    slot.strides.assign(like.strides, like.strides + like.rank);
    like.shape = slot.shape.data();
    like.strides = slot.strides.data();
    slot.shown.assign(members.size(), like);
    for (size_t rank : local)
      slot.shown[rank].data = slot.operands[rank][0].data;
    slot.combined = nullptr;
    if (needs && needs->combine) {
      if (!combineOperands(exchange, slot.shown, bytes, *needs->combine,
                           scratch, slot.received))
        return false;
      slot.combined = slot.received.reserve(0);
      return true;
    }
    std::vector<int64_t> sources;
    if (needs && needs->sources)
      for (int32_t member : members)
        sources.push_back(needs->sources[member]);
    if (!gatherOperands(exchange, slot.shown, bytes,
                        needs && needs->sources ? sources.data() : nullptr,
                        slot.received))
      return false;
    for (const GroupExchange::Part &part : parts)
      for (int64_t rank : part.ranks)
        if (part.process != run.places().self)
          slot.operands[size_t(rank)] = &slot.shown[size_t(rank)];
    return true;
  }

  void notify() {
    std::lock_guard<std::mutex> guard(mutex);
    wake.notify_all();
  }

  const std::vector<int32_t> members;
  std::vector<size_t> local; ///< ranks of the members of this process
  DeviceRun &run;
  std::vector<int64_t> sites; ///< by rank, as all of the following

  struct alignas(64) Copy {
    char data[smallBytes];
    LingonBuffer operand;
  };
  /// What the members show each other. The meetings use two in turn: when all
  /// have come to a meeting, nobody looks at the last but one any more.
  struct Slot {
    std::vector<const LingonBuffer *> operands;
    std::unique_ptr<Copy[]> copies;
    // Of groups that span processes:
    std::vector<LingonBuffer> shown;
    std::vector<int64_t> shape, strides; ///< of those
    Staging received;
    const void *combined = nullptr;
  } slots[2];
  std::vector<uint64_t> turn;

private:
  std::vector<GroupExchange::Part> parts; ///< in order of their first ranks
  Staging scratch;
  int64_t steps = 0; ///< changed by leaders only
  std::atomic<int> arrived{0};
  std::atomic<uint64_t> generation{0};
  std::atomic<bool> broken{false};
  int spins;
  std::mutex mutex;
  std::condition_variable wake;
};

DeviceRun::DeviceRun(const int32_t *names, size_t count,
                     const RunPlaces &places)
    : ended(new std::atomic<bool>[count]), deviceNames(names), count(count),
      where(places) {
  for (size_t i = 0; i < count; ++i)
    ended[i].store(false, std::memory_order_relaxed);
}

DeviceRun::~DeviceRun() = default;

void DeviceRun::enter(size_t position) {
  threadRun = this;
  threadPosition = int64_t(position);
}

void DeviceRun::leave(size_t position, bool failed) {
  threadRun = nullptr;
  threadPosition = -1;
  if (failed)
    anyFailed.store(true, std::memory_order_release);
  ended[position].store(true, std::memory_order_release);
  std::lock_guard<std::mutex> guard(mutex);
  for (const std::unique_ptr<Group> &group : groups)
    group->notify();
}

DeviceRun::Group &DeviceRun::group(const std::vector<int32_t> &members) {
  std::lock_guard<std::mutex> guard(mutex);
  for (const std::unique_ptr<Group> &group : groups)
    if (group->members == members)
      return *group;
  groups.push_back(std::make_unique<Group>(*this, members));
  return *groups.back();
}

namespace {

/// Ends this device's program, because others will not come.
[[noreturn]] void abandon(DeviceRun::Group &group, int64_t rank,
                          const char *why) {
  char text[256];
  if (why)
    snprintf(text, sizeof(text), "%s", why);
  else
    snprintf(text, sizeof(text),
             "device %d waits in a collective for a device that has failed or "
             "ended its program",
             int(group.run.names()[group.members[size_t(rank)]]));
  failRun(currentRun(), why ? RunError::Mismatch : RunError::Abandoned, text);
  leaveRun();
}

} // namespace
} // namespace lingon

using namespace lingon;

extern "C" {

int64_t lingon_rt_device_position() { return threadPosition; }

void lingon_rt_meet(LingonMeeting *meeting, const LingonBuffer *operands,
                    int64_t bytes, int64_t site, const int64_t *groups,
                    const int64_t *ranks, int64_t count,
                    const LingonNeeds *needs) {
  if (!threadRun || int64_t(threadRun->size()) != count) {
    failRun(currentRun(), RunError::Kernel,
            "a collective runs outside of the devices that it is compiled for");
    leaveRun();
  }
  int64_t own = groups[threadPosition], size = 0;
  for (int64_t i = 0; i < count; ++i)
    size += groups[i] == own;
  std::vector<int32_t> members(static_cast<size_t>(size));
  for (int64_t i = 0; i < count; ++i)
    if (groups[i] == own)
      members[size_t(ranks[i])] = int32_t(i);
  DeviceRun::Group &group = threadRun->group(members);
  // What follows may leave by longjmp, which frees nothing.
  std::vector<int32_t>().swap(members);
  int64_t rank = ranks[threadPosition];
  bool copied = bytes <= smallBytes;
  auto &slot = group.slots[group.turn[size_t(rank)]++ % 2];
  std::vector<const LingonBuffer *> &shown = slot.operands;
  if (copied) {
    auto &copy = slot.copies[size_t(rank)];
    memcpy(copy.data, operands[0].data, size_t(bytes));
    copy.operand = operands[0];
    copy.operand.data = copy.data;
    shown[size_t(rank)] = &copy.operand;
  } else {
    shown[size_t(rank)] = operands;
  }
  group.sites[size_t(rank)] = site;
  auto differing = [&] {
    bool differ = false;
    for (size_t other : group.local)
      differ |= group.sites[other] != site;
    return differ;
  };
  bool told = false; // why this device fails
  bool good = group.arrive([&] {
    if (differing())
      return false;
    told = group.span() && !group.exchange(slot, bytes, site, needs);
    return !told;
  });
  if (told)
    leaveRun();
  if (!good) {
    bool differ = differing();
    abandon(group, rank,
            differ && !group.hopeless()
                ? "the devices of one program wait in different collectives: "
                  "all of them must run the same ones in the same order"
                : nullptr);
  }
  // What is combined already need not be waited for again.
  *meeting = {shown.data(), rank, size, &group, copied || slot.combined,
              slot.combined};
}

void lingon_rt_part(LingonMeeting *meeting) {
  if (meeting->copied)
    return;
  auto &group = *static_cast<DeviceRun::Group *>(meeting->group);
  if (!group.arrive([] { return true; }))
    abandon(group, meeting->rank, nullptr);
}

} // extern "C"
