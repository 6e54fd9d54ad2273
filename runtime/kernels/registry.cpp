//===- registry.cpp - The table of library kernels ------------------------===//
//
// Compiled once, for the baseline instruction set.
//
//===----------------------------------------------------------------------===//
#include "kernel.h"

#include <cstdlib>

namespace lingon {

static KernelEntry *entries = nullptr;
void *blasTable[NumBlas];
static const char *const blasNames[NumBlas] = {"sgemm", "dgemm", "cgemm",
                                               "zgemm"};

void registerKernel(KernelEntry *entry) {
  entry->next = entries;
  entries = entry;
}

/// The best level that this machine runs (see abi.h).
static int machineLevel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return 0;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512cd"))
    return 3;
  return 4;
#else
  return 0;
#endif
}

/// The best level, or a lesser one that LINGON_KERNEL_LEVEL asks for.
static int usedLevel() {
  const char *most = getenv("LINGON_KERNEL_LEVEL");
  if (most && strcmp(most, "baseline") == 0)
    return 0;
  int best = machineLevel();
  return most && strcmp(most, "avx2") == 0 && best > 3 ? 3 : best;
}

static const KernelEntry *best(const char *name) {
  static const int level = usedLevel();
  const KernelEntry *found = nullptr;
  for (const KernelEntry *e = entries; e; e = e->next)
    if (e->level <= level && strcmp(e->name, name) == 0 &&
        (!found || found->level < e->level))
      found = e;
  return found;
}

/// Whether e is the entry that stands for its name in the listing.
static bool representative(const KernelEntry *e) {
  for (const KernelEntry *f = entries; f != e; f = f->next)
    if (strcmp(f->name, e->name) == 0)
      return false;
  return true;
}

} // namespace lingon

using namespace lingon;

int64_t lingon_kernel_count() {
  int64_t n = 0;
  for (const KernelEntry *e = entries; e; e = e->next)
    n += representative(e);
  return n;
}

const char *lingon_kernel_name(int64_t index) {
  for (const KernelEntry *e = entries; e; e = e->next)
    if (representative(e) && index-- == 0)
      return e->name;
  return nullptr;
}

void *lingon_kernel_address(const char *name) {
  const KernelEntry *e = best(name);
  return e ? reinterpret_cast<void *>(e->fn) : nullptr;
}

int lingon_kernel_uses_blas(const char *name) {
  const KernelEntry *e = best(name);
  return e && e->usesBlas;
}

int lingon_kernel_level(const char *name) {
  const KernelEntry *e = best(name);
  return e ? e->level : -1;
}

int lingon_kernels_set_blas(const char *name, void *address) {
  for (int i = 0; i < NumBlas; ++i)
    if (strcmp(blasNames[i], name) == 0) {
      blasTable[i] = address;
      return 1;
    }
  return 0;
}
