//===- threads.h - the pool of worker threads -----------------------------===//
#ifndef LINGON_RUNTIME_THREADS_H
#define LINGON_RUNTIME_THREADS_H

#include <cstdint>

namespace lingon {

using RangeFunction = void (*)(void *context, int64_t begin, int64_t end);

/// Calls fn(context, begin, end) for disjoint ranges that cover [0, n), on this
/// thread and the workers, and returns when all are done. Ranges have at least
/// `grain` elements but for the last. Runs fn(context, 0, n) here when n <=
/// grain or inside of another parallelFor. fn must not throw. Thread-safe.
void parallelFor(RangeFunction fn, void *context, int64_t n, int64_t grain);

/// Bounds the threads of parallelFor calls of this thread, itself included;
/// 0 for no bound. For threads that run the program of one of several devices.
void setThreadShare(int count);

/// Number of threads that parallelFor uses, this one included.
int numThreads();
/// Sets it; count >= 1. Workers start when they are first needed.
void setNumThreads(int count);
/// Cores that this process may use: affinity mask and control group quota.
int availableCores();

} // namespace lingon

#endif // LINGON_RUNTIME_THREADS_H
