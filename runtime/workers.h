//===- workers.h - the threads that run programs of several devices -------===//
#ifndef LINGON_RUNTIME_WORKERS_H
#define LINGON_RUNTIME_WORKERS_H

#include <cstddef>
#include <cstdint>

namespace lingon {

using DeviceFunction = void (*)(void *context, size_t index);

/// Calls fn(context, i) for all i < count at once, each on the worker thread of
/// devices[i], and returns when all are done. The numbers of the devices must
/// differ. Calls of several threads are run in one order by all devices, so
/// that functions which wait for each other cannot block those of another call.
/// Each worker uses its share of the cores for parallel loops. fn must not
/// throw. Must be called without the GIL. Returns false, having done nothing,
/// when a thread cannot be started.
///
/// If the functions are `independent`, none waits for another: then the caller
/// runs those that take a few microseconds itself, one after the other, rather
/// than wake up the workers.
bool runOnDevices(const int32_t *devices, size_t count, DeviceFunction fn,
                  void *context, bool independent);

} // namespace lingon

#endif // LINGON_RUNTIME_WORKERS_H
