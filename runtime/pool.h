//===- pool.h - caching allocator of 64-byte aligned blocks ---------------===//
//
// Blocks come in size classes (multiples of 64 bytes up to 1 KiB, then eight
// per power of two). A freed block is kept for the next request of its class,
// so that large results do not fault in fresh pages on every call. What is kept
// is bounded; the least recently freed blocks go first.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_POOL_H
#define LINGON_RUNTIME_POOL_H

#include <cstddef>
#include <cstdint>

namespace lingon {

struct PoolStats {
  uint64_t allocs;      ///< requests served
  uint64_t hits;        ///< ... of which from the cache
  uint64_t liveBlocks;  ///< blocks in use
  uint64_t liveBytes;   ///< their capacity
  uint64_t peakBytes;   ///< the largest liveBytes so far
  uint64_t cachedBytes; ///< capacity of the blocks kept for reuse
  uint64_t cacheLimit;  ///< bound of cachedBytes
  uint64_t memoryLimit; ///< bound of liveBytes + cachedBytes
};

/// Returns at least `size` bytes at a 64-byte boundary with undefined contents,
/// or null when the memory limit or the system denies it. Thread-safe.
void *poolAlloc(size_t size);
/// Gives a block back; null is allowed. Thread-safe.
void poolFree(void *ptr);
/// Returns cached blocks to the system until at most `keepBytes` are kept.
void poolTrim(size_t keepBytes);
PoolStats poolStats();
void poolResetPeak();
void poolSetCacheLimit(size_t bytes);
void poolSetMemoryLimit(size_t bytes);

/// Hooks for fork(): hold the lock across it.
void poolBeforeFork();
void poolAfterFork();

} // namespace lingon

#endif // LINGON_RUNTIME_POOL_H
