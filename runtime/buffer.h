//===- buffer.h - reference counted memory of arrays ----------------------===//
#ifndef LINGON_RUNTIME_BUFFER_H
#define LINGON_RUNTIME_BUFFER_H

#include <atomic>
#include <cstddef>
#include <cstdint>

struct _object;

namespace lingon {

/// Memory that arrays, views and exports share. The pool owns it, or another
/// object from which it is borrowed. retain() and release() are thread-safe and
/// need no GIL.
class Buffer {
public:
  using Deleter = void (*)(void *context);

  /// A pool block of `bytes` bytes, or null when memory runs out.
  static Buffer *allocate(size_t bytes);
  /// Borrows memory of a Python object, of which a reference is kept.
  static Buffer *borrow(void *data, size_t bytes, _object *owner);
  /// Borrows memory; `deleter(context)` runs, with the GIL, on the last
  /// release. Null when memory runs out; the deleter has not run then.
  static Buffer *adopt(void *data, size_t bytes, Deleter deleter,
                       void *context);

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy();
  }
  bool isUnique() const { return refs.load(std::memory_order_acquire) == 1; }
  /// Whether the pool owns the memory: aligned, and nobody else can write to
  /// it.
  bool isPooled() const { return !deleter; }

  void *const data;
  const size_t bytes;

private:
  Buffer(void *data, size_t bytes, Deleter deleter, void *context)
      : data(data), bytes(bytes), refs(1), deleter(deleter), context(context) {}
  void destroy();

  std::atomic<int64_t> refs;
  Deleter deleter;
  void *context;
};

} // namespace lingon

#endif // LINGON_RUNTIME_BUFFER_H
