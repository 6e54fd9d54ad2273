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
    Scratch<E> keys(2 * n);
    for (int64_t r = begin; r < end; ++r) {
      const U *src = reinterpret_cast<const U *>(from.row(r));
      U *dst = reinterpret_cast<U *>(to.row(r));
      bool merged = false;
      E *data = keys;
      for (int64_t i = 0; i < n; ++i) {
        U bits = src[i * fs];
        merged |= codec.merged(bits);
        data[i].key = codec.sortKey(bits);
      }
      E *sorted = sortElements(data, data + n, n, E::keyBits, single);
      for (int64_t i = 0; i < n; ++i)
        dst[i * ts] = codec.fromKey(sorted[i].key);
      if (merged)
        restoreMerged(codec, src, fs, dst, ts, n);
    }
  };
  if (single)
    return sortRows(0, rows);
  parallelFor(rows, maxOf<int64_t>(1, 4096 / n), sortRows);
}

/// Stable sort of index[0, n) by one key: the row's element index[i].
/// `part` (0 or 1) selects the real or imaginary half of a complex element.
template <class U, KeyKind Kind>
void sortIndexBy(KeyCodec<U, Kind> codec, const char *row, int64_t stride,
                 int64_t itemBytes, int part, uint32_t *index, bool first,
                 char *scratch, int64_t n, bool parallel) {
  using E = typename IndexedOf<U>::type;
  E *data = reinterpret_cast<E *>(scratch);
  const U *src = reinterpret_cast<const U *>(row) + part;
  const int64_t step = stride * (itemBytes / int64_t(sizeof(U)));
  if (first) {
    for (int64_t i = 0; i < n; ++i)
      data[i] = E::make(codec.sortKey(src[i * step]), uint32_t(i));
    E *sorted = sortElements(data, data + n, n, 8 * int(sizeof(U)), parallel);
    for (int64_t i = 0; i < n; ++i)
      index[i] = sorted[i].index();
    return;
  }
  // The element remembers its place in the present order, which must survive
  // among equal keys; `next` then maps places to original indices.
  for (int64_t i = 0; i < n; ++i)
    data[i] = E::make(codec.sortKey(src[index[i] * step]), uint32_t(i));
  E *sorted = sortElements(data, data + n, n, 8 * int(sizeof(U)), parallel);
  Scratch<uint32_t> next(n);
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
    Scratch<uint32_t> index(n);
    Scratch<char> scratch(2 * n * int64_t(sizeof(Key64)));
    for (int64_t r = begin; r < end; ++r) {
      bool first = true;
      for (int64_t k = keys - 1; k >= 0; --k) {
        Rows key(in[k], axis);
        const char *row = key.row(r);
        bool complex = in[k].dtype == Complex64 || in[k].dtype == Complex128;
        for (int part = complex ? 1 : 0; part >= 0; --part) {
          withCodec(in[k].dtype, [&](auto codec) {
            sortIndexBy(codec, row, key.stride(), key.itemBytes, part, index,
                        first, scratch, n, single);
          });
          first = false;
        }
      }
      for (int64_t i = 0; i < operands; ++i) {
        Rows from(in[i], axis), to(out[i], axis);
        permute(to.row(r), to.stride(), from.row(r), from.stride(), index, n,
                from.itemBytes);
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
