//===- sort.cpp - Stable sort of several operands by one or more keys -----===//
//
// config = [axis, number of keys]; the first operands are the keys, the most
// significant first. Always stable. Floats order with -0 equal to +0 and NaNs
// last; complex numbers by real, then imaginary part.
//
//===----------------------------------------------------------------------===//
#include "rows.h"
#include "sort_keys.h"

namespace lingon {
namespace {

/// Rewrites the merged values of a run of equal keys in a sorted row with the
/// originals in their order: zeros of either sign, or NaNs.
template <class U, KeyKind Kind>
void restoreMerged(KeyCodec<U, Kind> codec, const U *src, int64_t srcStride,
                   U *dst, int64_t dstStride, int64_t n) {
  constexpr U top = KeyCodec<U, Kind>::top;
  int64_t below = 0, nans = 0;
  for (int64_t i = 0; i < n; ++i) {
    U bits = src[i * srcStride];
    nans += codec.isNan(bits);
    below += U(bits & top) && bits != top && !codec.isNan(bits);
  }
  int64_t zero = below, nan = n - nans;
  for (int64_t i = 0; i < n; ++i) {
    U bits = src[i * srcStride];
    if (U(bits & U(~top)) == 0)
      dst[zero++ * dstStride] = bits;
    else if (codec.isNan(bits))
      dst[nan++ * dstStride] = bits;
  }
}

/// One operand that is its own key: sorts keys alone and maps them back.
template <class U, KeyKind Kind>
void sortValues(KeyCodec<U, Kind> codec, const LingonBuffer &in,
                const LingonBuffer &out, int64_t axis) {
  using E = KeyOnly<U>;
  Rows from(in, axis), to(out, axis);
  const int64_t n = from.length(), rows = from.count();
  const int64_t fs = from.stride(), ts = to.stride();
  const bool single = rows < lingon_rt_num_threads() && n >= ParallelSort;
  auto sortRows = [&](int64_t begin, int64_t end) {
    Scratch<E> keys(2 * n + SortSlack);
    for (int64_t r = begin; r < end; ++r) {
      const U *src = reinterpret_cast<const U *>(from.row(r));
      U *dst = reinterpret_cast<U *>(to.row(r));
      U merged = 0;
      E *data = keys;
      auto encode = [&](int64_t stride) {
        for (int64_t i = 0; i < n; ++i) {
          U bits = src[i * stride];
          merged |= U(codec.merged(bits));
          data[i].key = codec.sortKey(bits);
        }
      };
      fs == 1 ? encode(1) : encode(fs);
      E *sorted = sortElements(data, data + n, n, E::keyBits, single);
      auto decode = [&](int64_t stride) {
        for (int64_t i = 0; i < n; ++i)
          dst[i * stride] = codec.fromKey(sorted[i].key);
      };
      ts == 1 ? decode(1) : decode(ts);
      if (merged)
        restoreMerged(codec, src, fs, dst, ts, n);
    }
  };
  if (single)
    return sortRows(0, rows);
  parallelFor(rows, maxOf<int64_t>(1, 4096 / n), sortRows);
}

/// Sorts positions [0, n) by keys of at most 32 bits, into data or scratch.
template <class U, class KeyAt>
Key32 *sortPositions(U, KeyAt keyAt, Key32 *data, Key32 *scratch, uint64_t *,
                     int64_t n, bool parallel) {
  for (int64_t i = 0; i < n; ++i)
    data[i] = Key32::make(keyAt(i), uint32_t(i));
  return sortElements(data, scratch, n, 8 * int(sizeof(U)), parallel);
}

/// 64-bit keys: by the high half first, then each run of equal ones by the low.
template <class KeyAt>
Key32 *sortPositions(uint64_t, KeyAt keyAt, Key32 *data, Key32 *scratch,
                     uint64_t *keys, int64_t n, bool parallel) {
  for (int64_t i = 0; i < n; ++i) {
    keys[i] = keyAt(i);
    data[i] = Key32::make(keys[i] >> 32, uint32_t(i));
  }
  Key32 *sorted = sortElements(data, scratch, n, 32, parallel);
  Key32 *room = sorted == data ? scratch : data;
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && sorted[end].digits() == sorted[i].digits())
      ++end;
    if (end - i > 1) {
      Key32 *run = sorted + i;
      for (int64_t j = 0; j < end - i; ++j)
        run[j] = Key32::make(uint32_t(keys[run[j].index()]), run[j].index());
      Key32 *by = sortElements(run, room, end - i, 32, parallel);
      if (by != run)
        memcpy(run, by, size_t(end - i) * sizeof(Key32));
    }
    i = end;
  }
  return sorted;
}

/// Memory of the sort of one row by its keys.
struct RowMemory {
  Scratch<uint32_t> index, next;
  Scratch<Key32> elements;
  Scratch<uint64_t> keys;
  int64_t n;
  explicit RowMemory(int64_t n)
      : index(n), next(n), elements(2 * n + SortSlack), keys(n), n(n) {}
};

/// Stable sort of the order memory.index by one more key: that of the row's
/// element index[i]. `part` (0 or 1) selects the real or imaginary half of a
/// complex element. The first key finds the order not made yet.
template <class U, KeyKind Kind>
void sortIndexBy(KeyCodec<U, Kind> codec, const char *row, int64_t stride,
                 int64_t itemBytes, int part, bool first, RowMemory &memory,
                 bool parallel) {
  const int64_t n = memory.n;
  const U *src = reinterpret_cast<const U *>(row) + part;
  const int64_t step = stride * (itemBytes / int64_t(sizeof(U)));
  uint32_t *index = memory.index, *next = memory.next;
  Key32 *data = memory.elements, *scratch = data + n;
  if (first) {
    Key32 *sorted = sortPositions(
        U(0), [=](int64_t i) { return codec.sortKey(src[i * step]); }, data,
        scratch, memory.keys, n, parallel);
    for (int64_t i = 0; i < n; ++i)
      index[i] = sorted[i].index();
    return;
  }
  // Positions in the present order, which stands among equal keys.
  Key32 *sorted = sortPositions(
      U(0), [=](int64_t i) { return codec.sortKey(src[index[i] * step]); },
      data, scratch, memory.keys, n, parallel);
  for (int64_t i = 0; i < n; ++i)
    next[i] = index[sorted[i].index()];
  memcpy(index, next, size_t(n) * sizeof(uint32_t));
}

void sortOperands(const LingonBuffer *in, const LingonBuffer *out,
                  int64_t operands, int64_t axis, int64_t keys) {
  const Rows shape(in[0], axis);
  const int64_t n = shape.length(), rows = shape.count();
  const bool single = rows < lingon_rt_num_threads() && n >= ParallelSort;
  auto sortRows = [&](int64_t begin, int64_t end) {
    RowMemory memory(n);
    for (int64_t r = begin; r < end; ++r) {
      bool first = true;
      for (int64_t k = keys - 1; k >= 0; --k) {
        Rows key(in[k], axis);
        const char *row = key.row(r);
        bool complex = in[k].dtype == Complex64 || in[k].dtype == Complex128;
        for (int part = complex ? 1 : 0; part >= 0; --part) {
          withCodec(in[k].dtype, [&](auto codec) {
            sortIndexBy(codec, row, key.stride(), key.itemBytes, part, first,
                        memory, single);
          });
          first = false;
        }
      }
      for (int64_t i = 0; i < operands; ++i) {
        Rows from(in[i], axis), to(out[i], axis);
        permute(to.row(r), to.stride(), from.row(r), from.stride(),
                memory.index, n, from.itemBytes);
      }
    }
  };
  if (single)
    return sortRows(0, rows);
  parallelFor(rows, maxOf<int64_t>(1, 4096 / n), sortRows);
}

void sort(const LingonBuffer *bufs, int64_t nbufs, const int64_t *config,
          int64_t) {
  const int64_t operands = nbufs / 2, axis = config[0], keys = config[1];
  for (int64_t d = 0; d < bufs[0].rank; ++d)
    if (bufs[0].shape[d] == 0)
      return;
  bool complex = bufs[0].dtype == Complex64 || bufs[0].dtype == Complex128;
  if (operands == 1 && !complex)
    return withCodec(bufs[0].dtype, [&](auto codec) {
      sortValues(codec, bufs[0], bufs[1], axis);
    });
  sortOperands(bufs, bufs + operands, operands, axis, keys);
}

} // namespace
} // namespace lingon

LINGON_KERNEL(sort, lingon::sort)
