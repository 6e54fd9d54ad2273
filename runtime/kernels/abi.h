//===- abi.h - how compiled code calls a library kernel -------------------===//
//
// For files that define kernels without what kernel.h has to write them with.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_KERNELS_ABI_H
#define LINGON_RUNTIME_KERNELS_ABI_H

#include <cstdint>

extern "C" {

/// One operand. Strides count elements; a stride may be zero or negative.
struct LingonBuffer {
  void *data;
  int64_t rank;
  const int64_t *shape;
  const int64_t *strides;
  int32_t dtype;
};

/// bufs: inputs, then outputs. config: the integers of the kernel_call.
typedef void (*LingonKernelFn)(const LingonBuffer *bufs, int64_t nbufs,
                               const int64_t *config, int64_t nconfig);

} // extern "C"

/// Instruction set level of this translation unit (0 baseline, 3: AVX2,
/// 4: AVX-512), set by the build.
#ifndef LINGON_KERNEL_LEVEL
#define LINGON_KERNEL_LEVEL 0
#endif

namespace lingon {

/// A node of the registry's list; lives in static storage.
struct KernelEntry {
  const char *name;
  LingonKernelFn fn;
  int level;
  bool usesBlas;
  KernelEntry *next;
};

void registerKernel(KernelEntry *entry);

} // namespace lingon

#define LINGON_KERNEL(NAME, FN) LINGON_KERNEL_WITH_BLAS(NAME, FN, false)
#define LINGON_KERNEL_WITH_BLAS(NAME, FN, USES_BLAS)                           \
  static ::lingon::KernelEntry lingonEntry_##NAME = {                          \
      #NAME, FN, LINGON_KERNEL_LEVEL, USES_BLAS, nullptr};                     \
  __attribute__((constructor)) static void lingonRegister_##NAME() {           \
    ::lingon::registerKernel(&lingonEntry_##NAME);                             \
  }

#endif // LINGON_RUNTIME_KERNELS_ABI_H
