//===- pool.cpp - caching allocator of 64-byte aligned blocks -------------===//
#include "pool.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)0)
#endif

namespace lingon {
namespace {

constexpr size_t alignment = 64;
constexpr size_t hugePage = size_t(2) << 20;
/// From here on blocks are mapped rather than taken from malloc.
constexpr size_t mapThreshold = size_t(1) << 20;
constexpr uint32_t liveMagic = 0x4c494e47;
constexpr uint32_t freeMagic = 0x46524545;
constexpr unsigned smallClasses = 16;
constexpr unsigned numClasses = smallClasses + 8 * (48 - 10);

/// Precedes the data of every block.
struct alignas(alignment) Block {
  size_t capacity;
  uint32_t sizeClass;
  uint32_t magic;
  // Only while cached: neighbours in the stack of the class ...
  Block *classPrev, *classNext;
  // ... and in the list of all cached blocks, most recently freed first.
  Block *lruPrev, *lruNext;

  void *data() { return this + 1; }
};
static_assert(sizeof(Block) == alignment, "data must stay aligned");

/// Rounds `size` up to the capacity of its class. Returns false when the size
/// is beyond every class.
bool classify(size_t size, unsigned &sizeClass, size_t &capacity) {
  if (size <= 1024) {
    sizeClass = size == 0 ? 0 : unsigned((size - 1) / 64);
    capacity = size_t(sizeClass + 1) * 64;
    return true;
  }
  unsigned log = 63 - __builtin_clzll(size - 1);
  if (log >= 48)
    return false;
  size_t step = (size - 1) >> (log - 3);
  sizeClass = smallClasses + (log - 10) * 8 + unsigned(step - 8);
  capacity = (step + 1) << (log - 3);
  return true;
}

size_t readLimitFile(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    return SIZE_MAX;
  unsigned long long value = 0;
  bool ok = fscanf(file, "%llu", &value) == 1; // "max" does not parse
  fclose(file);
  return ok ? size_t(value) : SIZE_MAX;
}

/// The memory that this process may use: physical, or its control group's.
size_t availableMemory() {
  size_t bytes = size_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  size_t group = readLimitFile("/sys/fs/cgroup/memory.max");
  size_t groupV1 = readLimitFile("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  return bytes < group ? (bytes < groupV1 ? bytes : groupV1)
                       : (group < groupV1 ? group : groupV1);
}

size_t defaultCacheLimit(size_t memory) {
  size_t limit = memory / 8;
  size_t most = size_t(4) << 30, least = size_t(256) << 20;
  return limit > most ? most : limit < least ? least : limit;
}

size_t totalBytes(size_t capacity) { return capacity + sizeof(Block); }

size_t mappedBytes(size_t capacity) {
  static const size_t page = size_t(sysconf(_SC_PAGESIZE));
  return (totalBytes(capacity) + page - 1) / page * page;
}

void *mapPages(size_t bytes) {
  constexpr int prot = PROT_READ | PROT_WRITE;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (bytes < hugePage) {
    void *ptr = mmap(nullptr, bytes, prot, flags, -1, 0);
    return ptr == MAP_FAILED ? nullptr : ptr;
  }
  // Start at a huge page boundary: map more, and return both ends.
  size_t length = bytes + hugePage;
  void *ptr = mmap(nullptr, length, prot, flags, -1, 0);
  if (ptr == MAP_FAILED)
    return nullptr;
  uintptr_t base = reinterpret_cast<uintptr_t>(ptr);
  uintptr_t start = (base + hugePage - 1) / hugePage * hugePage;
  if (start > base)
    munmap(ptr, start - base);
  if (base + length > start + bytes)
    munmap(reinterpret_cast<void *>(start + bytes),
           base + length - start - bytes);
  ptr = reinterpret_cast<void *>(start);
#ifdef MADV_HUGEPAGE
  madvise(ptr, bytes, MADV_HUGEPAGE); // a hint; refusal costs only speed
#endif
  return ptr;
}

Block *systemAlloc(size_t capacity) {
  if (capacity >= mapThreshold)
    return static_cast<Block *>(mapPages(mappedBytes(capacity)));
  void *ptr = nullptr;
  if (posix_memalign(&ptr, alignment, totalBytes(capacity)) != 0)
    return nullptr;
  return static_cast<Block *>(ptr);
}

void systemFree(Block *block) {
  size_t capacity = block->capacity;
  ASAN_UNPOISON_MEMORY_REGION(block->data(), capacity);
  if (capacity >= mapThreshold)
    munmap(block, mappedBytes(capacity));
  else
    free(block);
}

class Pool {
public:
  Pool() {
    stats.memoryLimit = availableMemory();
    stats.cacheLimit = defaultCacheLimit(stats.memoryLimit);
    lru.lruPrev = lru.lruNext = &lru;
  }

  void *alloc(size_t size) {
    unsigned sizeClass;
    size_t capacity;
    if (!classify(size, sizeClass, capacity))
      return nullptr;
    Block *evicted = nullptr;
    Block *block;
    {
      std::lock_guard<std::mutex> guard(mutex);
      block = classes[sizeClass];
      if (block) {
        unlink(block);
        ++stats.hits;
      } else {
        size_t limit = stats.memoryLimit;
        if (capacity > limit || stats.liveBytes > limit - capacity)
          return nullptr;
        size_t room = limit - capacity - stats.liveBytes;
        evicted = evict(room);
      }
      countAlloc(capacity);
    }
    release(evicted);
    if (!block) {
      block = systemAlloc(capacity);
      if (!block) {
        trim(0);
        block = systemAlloc(capacity);
      }
      if (!block) {
        std::lock_guard<std::mutex> guard(mutex);
        --stats.allocs;
        --stats.liveBlocks;
        stats.liveBytes -= capacity;
        return nullptr;
      }
      block->capacity = capacity;
      block->sizeClass = sizeClass;
    }
    block->magic = liveMagic;
    ASAN_UNPOISON_MEMORY_REGION(block->data(), capacity);
    ASAN_POISON_MEMORY_REGION(static_cast<char *>(block->data()) + size,
                              capacity - size);
    return block->data();
  }

  void dealloc(void *ptr) {
    Block *block = static_cast<Block *>(ptr) - 1;
    if (block->magic != liveMagic) {
      // Freed twice, or not ours: going on would corrupt the heap.
      fprintf(stderr, "lingon: invalid pointer %p given back to the pool\n",
              ptr);
      abort();
    }
    ASAN_UNPOISON_MEMORY_REGION(ptr, block->capacity);
    ASAN_POISON_MEMORY_REGION(ptr, block->capacity);
    block->magic = freeMagic;
    Block *evicted;
    {
      std::lock_guard<std::mutex> guard(mutex);
      --stats.liveBlocks;
      stats.liveBytes -= block->capacity;
      link(block);
      evicted = evict(stats.cacheLimit);
    }
    release(evicted);
  }

  void trim(size_t keep) {
    Block *evicted;
    {
      std::lock_guard<std::mutex> guard(mutex);
      evicted = evict(keep);
    }
    release(evicted);
  }

  PoolStats read() {
    std::lock_guard<std::mutex> guard(mutex);
    return stats;
  }

  std::mutex mutex;
  PoolStats stats = {};

private:
  void countAlloc(size_t capacity) {
    ++stats.allocs;
    ++stats.liveBlocks;
    stats.liveBytes += capacity;
    if (stats.liveBytes > stats.peakBytes)
      stats.peakBytes = stats.liveBytes;
  }

  void link(Block *block) {
    Block *&head = classes[block->sizeClass];
    block->classPrev = nullptr;
    block->classNext = head;
    if (head)
      head->classPrev = block;
    head = block;
    block->lruPrev = &lru;
    block->lruNext = lru.lruNext;
    lru.lruNext->lruPrev = block;
    lru.lruNext = block;
    stats.cachedBytes += block->capacity;
  }

  void unlink(Block *block) {
    if (block->classPrev)
      block->classPrev->classNext = block->classNext;
    else
      classes[block->sizeClass] = block->classNext;
    if (block->classNext)
      block->classNext->classPrev = block->classPrev;
    block->lruPrev->lruNext = block->lruNext;
    block->lruNext->lruPrev = block->lruPrev;
    stats.cachedBytes -= block->capacity;
  }

  /// Takes blocks out of the cache until it holds at most `keep` bytes and
  /// returns them as a list over classNext, to be freed without the lock.
  Block *evict(size_t keep) {
    Block *list = nullptr;
    while (stats.cachedBytes > keep) {
      Block *oldest = lru.lruPrev;
      unlink(oldest);
      oldest->classNext = list;
      list = oldest;
    }
    return list;
  }

  static void release(Block *list) {
    while (list) {
      Block *next = list->classNext;
      systemFree(list);
      list = next;
    }
  }

  Block *classes[numClasses] = {};
  Block lru = {};
};

/// Never destroyed: arrays may outlive static destructors.
Pool &pool() {
  static Pool *instance = new Pool;
  return *instance;
}

} // namespace

void *poolAlloc(size_t size) { return pool().alloc(size); }

void poolFree(void *ptr) {
  if (ptr)
    pool().dealloc(ptr);
}

void poolTrim(size_t keepBytes) { pool().trim(keepBytes); }

PoolStats poolStats() { return pool().read(); }

void poolResetPeak() {
  std::lock_guard<std::mutex> guard(pool().mutex);
  pool().stats.peakBytes = pool().stats.liveBytes;
}

void poolSetCacheLimit(size_t bytes) {
  {
    std::lock_guard<std::mutex> guard(pool().mutex);
    pool().stats.cacheLimit = bytes;
  }
  pool().trim(bytes);
}

void poolSetMemoryLimit(size_t bytes) {
  std::lock_guard<std::mutex> guard(pool().mutex);
  pool().stats.memoryLimit = bytes;
}

void poolBeforeFork() { pool().mutex.lock(); }
void poolAfterFork() { pool().mutex.unlock(); }

} // namespace lingon
