//===- kernel.h - ABI and registration of the library kernels ------------===//
//
// A library kernel is a C function that compiled programs call in
// destination-passing style. Each kernel registers itself under its name, so
// adding one edits no list: put a .cpp file in this folder and end it with
// LINGON_KERNEL(name, function).
//
// On x86-64 every kernel file is compiled once per instruction set level
// (kernels.cmake), and the registry hands out the best one that the machine
// runs. For that reason kernel files keep everything in anonymous namespaces
// and use no std:: templates or inline functions, which the linker would merge
// across levels.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_KERNELS_KERNEL_H
#define LINGON_RUNTIME_KERNELS_KERNEL_H

#include "abi.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {

/// Number, names and addresses of the registered kernels. The address is that
/// of the best variant for this machine, or null for an unknown name.
int64_t lingon_kernel_count();
const char *lingon_kernel_name(int64_t index);
void *lingon_kernel_address(const char *name);

/// Whether the kernel, as this machine runs it, calls the BLAS routines: they
/// have to be given before it is called.
int lingon_kernel_uses_blas(const char *name);
/// Level of the kernel that is used (see LINGON_KERNEL_LEVEL); -1 if there is
/// none.
int lingon_kernel_level(const char *name);

/// Gives the kernels a BLAS routine ("sgemm", ...; LP64, by-reference
/// Fortran ABI). Returns 0 when the name is not one that they use.
int lingon_kernels_set_blas(const char *name, void *address);

/// From the runtime: scratch memory and the thread pool. fn(ctx, begin, end)
/// is called for disjoint ranges that cover [0, n).
/// Makes the program's call fail with this message, a string literal.
void lingon_rt_set_error(const char *message);
void *lingon_rt_alloc(size_t size);
void lingon_rt_free(void *ptr);
int64_t lingon_rt_num_threads();
void lingon_rt_parallel_for(void (*fn)(void *, int64_t, int64_t), void *ctx,
                            int64_t n, int64_t grain);

} // extern "C"

namespace lingon {

/// The BLAS routines that were given, by position in blasNames.
enum BlasRoutine { Sgemm, Dgemm, Cgemm, Zgemm, NumBlas };
extern void *blasTable[NumBlas];

namespace {

enum DType : int32_t {
  Bool = 0,
  Int4,
  UInt4,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128
};

/// Bytes of one element of the dtypes that kernels take.
inline int64_t itemSize(int32_t dtype) {
  switch (dtype) {
  case Int16:
  case UInt16:
  case Float16:
  case BFloat16:
    return 2;
  case Int32:
  case UInt32:
  case Float32:
    return 4;
  case Int64:
  case UInt64:
  case Float64:
  case Complex64:
    return 8;
  case Complex128:
    return 16;
  default:
    return 1;
  }
}

template <class Fn> void rangeThunk(void *ctx, int64_t begin, int64_t end) {
  (*static_cast<Fn *>(ctx))(begin, end);
}

/// Runs fn(begin, end) over [0, n), on several threads when n > grain.
template <class Fn> void parallelFor(int64_t n, int64_t grain, Fn fn) {
  if (n <= 0)
    return;
  if (n <= grain)
    return fn(int64_t(0), n);
  lingon_rt_parallel_for(&rangeThunk<Fn>, &fn, n, grain);
}

template <class T> T minOf(T a, T b) { return b < a ? b : a; }
template <class T> T maxOf(T a, T b) { return a < b ? b : a; }

/// Scratch memory of `count` elements, freed at scope end; null for none.
template <class T> class Scratch {
public:
  explicit Scratch(int64_t count)
      : ptr(count > 0
                ? static_cast<T *>(lingon_rt_alloc(size_t(count) * sizeof(T)))
                : nullptr) {}
  ~Scratch() {
    if (ptr)
      lingon_rt_free(ptr);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  operator T *() const { return ptr; }

private:
  T *ptr;
};

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_KERNEL_H
