//===- symbols.cpp - what compiled code may call --------------------------===//
#include "conversions.h"
#include "kernels/kernel.h"
#include "module.h"
#include "pool.h"

#include <nanobind/nanobind.h>

#include <cstring>
#include <string>

namespace nb = nanobind;

extern "C" void lingon_rt_set_error(const char *message);

namespace lingon {
namespace {

template <class Function> uintptr_t addressOf(Function *function) {
  return reinterpret_cast<uintptr_t>(function);
}

nb::dict symbols() {
  nb::dict table;
  auto add = [&](const std::string &name, uintptr_t address) {
    table[nb::str(name.c_str())] = nb::int_(address);
  };
  add("lingon_rt_alloc", addressOf(&lingon_rt_alloc));
  add("lingon_rt_free", addressOf(&lingon_rt_free));
  add("lingon_rt_parallel_for", addressOf(&lingon_rt_parallel_for));
  add("lingon_rt_num_threads", addressOf(&lingon_rt_num_threads));
  add("lingon_rt_set_error", addressOf(&lingon_rt_set_error));
  add("memcpy", addressOf(&::memcpy));
  add("memmove", addressOf(&::memmove));
  add("memset", addressOf(&::memset));
  add("__truncdfhf2", addressOf<float(double)>(&truncateToF16));
  add("__truncsfhf2", addressOf<float(float)>(&truncateToF16));
  add("__truncdfbf2", addressOf<float(double)>(&truncateToBF16));
  add("__truncsfbf2", addressOf<float(float)>(&truncateToBF16));
  add("__extendhfsf2", addressOf<float(float)>(&extendF16));
  for (int64_t i = 0, n = lingon_kernel_count(); i < n; ++i) {
    const char *name = lingon_kernel_name(i);
    // Null: no variant of the kernel runs on this machine.
    if (void *address = lingon_kernel_address(name))
      add(std::string("lingon_kernel_") + name,
          reinterpret_cast<uintptr_t>(address));
  }
  return table;
}

ModuleInit registerSymbols([](nb::module_ &m) {
  m.def("symbols", &symbols,
        "Addresses by name of all that compiled code may call: lingon_rt_*, "
        "the library kernels, the mem* functions and conversions of floats.");
  m.def(
      "kernel_uses_blas",
      [](const char *name) { return lingon_kernel_uses_blas(name) != 0; },
      nb::arg("name"),
      "Whether a library kernel calls BLAS routines on this machine.");
  m.def("kernel_level", &lingon_kernel_level, nb::arg("name"),
        "Instruction set that a library kernel is compiled for: 0 baseline, 3 "
        "AVX2, 4 AVX-512; -1 if there is none that this machine runs.");
  m.def(
      "set_blas_routine",
      [](const char *name, uintptr_t address) {
        return lingon_kernels_set_blas(name,
                                       reinterpret_cast<void *>(address)) != 0;
      },
      nb::arg("name"), nb::arg("address"),
      "Gives the kernels a BLAS routine; False if they do not use `name`.");

  m.def(
      "pool_stats",
      [] {
        PoolStats stats = poolStats();
        nb::dict table;
        table["allocs"] = stats.allocs;
        table["hits"] = stats.hits;
        table["live_blocks"] = stats.liveBlocks;
        table["live_bytes"] = stats.liveBytes;
        table["peak_bytes"] = stats.peakBytes;
        table["cached_bytes"] = stats.cachedBytes;
        table["cache_limit"] = stats.cacheLimit;
        table["memory_limit"] = stats.memoryLimit;
        return table;
      },
      "Counts of the memory pool; bytes are block capacities.");
  m.def("pool_trim", &poolTrim, nb::arg("keep_bytes") = 0,
        "Returns cached memory to the system until at most keep_bytes remain.");
  m.def("pool_reset_peak", &poolResetPeak,
        "Sets peak_bytes to what is live now.");
  m.def("pool_set_cache_limit", &poolSetCacheLimit, nb::arg("bytes"),
        "Bounds the memory that is kept for reuse.");
  m.def("pool_set_memory_limit", &poolSetMemoryLimit, nb::arg("bytes"),
        "Bounds live and cached memory; requests beyond raise MemoryError.");
});

} // namespace
} // namespace lingon
