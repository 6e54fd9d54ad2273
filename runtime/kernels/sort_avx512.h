//===- sort_avx512.h - Vectorised quicksort of unsigned integers ----------===//
//
// Partitions with compressing stores; short pieces go through a bitonic network
// that stays in registers. Not stable, which bare integers do not show.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_KERNELS_SORT_AVX512_H
#define LINGON_RUNTIME_KERNELS_SORT_AVX512_H

#include "kernel.h"

#if LINGON_KERNEL_LEVEL >= 4
#include <immintrin.h>

namespace lingon {
namespace {

template <class U> struct Lanes;

template <> struct Lanes<uint32_t> {
  static constexpr int count = 16, baseVectors = 8;
  using Mask = __mmask16;
  static __m512i broadcast(uint32_t x) { return _mm512_set1_epi32(int(x)); }
  static __m512i least(__m512i a, __m512i b) { return _mm512_min_epu32(a, b); }
  static __m512i most(__m512i a, __m512i b) { return _mm512_max_epu32(a, b); }
  static __m512i choose(Mask m, __m512i a, __m512i b) {
    return _mm512_mask_blend_epi32(m, a, b);
  }
  template <int Stride> static __m512i exchange(__m512i x) {
    const __m512i lane =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(
        _mm512_xor_si512(lane, _mm512_set1_epi32(Stride)), x);
  }
  static Mask notAbove(__m512i x, __m512i pivot) {
    return _mm512_cmple_epu32_mask(x, pivot);
  }
  static Mask below(__m512i x, __m512i pivot) {
    return _mm512_cmplt_epu32_mask(x, pivot);
  }
  static __m512i compress(Mask m, __m512i x) {
    return _mm512_maskz_compress_epi32(m, x);
  }
  static __m512i loadSome(Mask m, __m512i other, const uint32_t *p) {
    return _mm512_mask_loadu_epi32(other, m, p);
  }
  static void storeSome(uint32_t *p, Mask m, __m512i x) {
    _mm512_mask_storeu_epi32(p, m, x);
  }
};

template <> struct Lanes<uint64_t> {
  static constexpr int count = 8, baseVectors = 16;
  using Mask = __mmask8;
  static __m512i broadcast(uint64_t x) {
    return _mm512_set1_epi64((long long)x);
  }
  static __m512i least(__m512i a, __m512i b) { return _mm512_min_epu64(a, b); }
  static __m512i most(__m512i a, __m512i b) { return _mm512_max_epu64(a, b); }
  static __m512i choose(Mask m, __m512i a, __m512i b) {
    return _mm512_mask_blend_epi64(m, a, b);
  }
  template <int Stride> static __m512i exchange(__m512i x) {
    const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi64(
        _mm512_xor_si512(lane, _mm512_set1_epi64(Stride)), x);
  }
  static Mask notAbove(__m512i x, __m512i pivot) {
    return _mm512_cmple_epu64_mask(x, pivot);
  }
  static Mask below(__m512i x, __m512i pivot) {
    return _mm512_cmplt_epu64_mask(x, pivot);
  }
  static __m512i compress(Mask m, __m512i x) {
    return _mm512_maskz_compress_epi64(m, x);
  }
  static __m512i loadSome(Mask m, __m512i other, const uint64_t *p) {
    return _mm512_mask_loadu_epi64(other, m, p);
  }
  static void storeSome(uint64_t *p, Mask m, __m512i x) {
    _mm512_mask_storeu_epi64(p, m, x);
  }
};

/// Lanes that take the larger element in a step of the network with `size` and
/// `stride`, in a vector whose own part of the network ascends.
template <int Count> constexpr uint32_t upperLanes(int size, int stride) {
  uint32_t mask = 0;
  for (int l = 0; l < Count; ++l) {
    bool descending = size < Count && (l & size);
    bool upper = l & stride;
    if (upper != descending)
      mask |= 1u << l;
  }
  return mask;
}

/// One step of a bitonic network over Vectors vectors.
template <class U, int Vectors, int Size, int Stride>
inline __attribute__((always_inline)) void networkStep(__m512i *v) {
  using L = Lanes<U>;
  using Mask = typename L::Mask;
  if constexpr (Stride >= L::count) {
#pragma GCC unroll 16
    for (int r = 0; r < Vectors; ++r) {
      const int partner = r ^ (Stride / L::count);
      if (partner < r)
        continue;
      __m512i low = L::least(v[r], v[partner]);
      __m512i high = L::most(v[r], v[partner]);
      const bool descending = (r * L::count) & Size;
      v[r] = descending ? high : low;
      v[partner] = descending ? low : high;
    }
  } else {
    constexpr uint32_t ascending = upperLanes<L::count>(Size, Stride);
#pragma GCC unroll 16
    for (int r = 0; r < Vectors; ++r) {
      __m512i other = L::template exchange<Stride>(v[r]);
      const bool descending = Size >= L::count && ((r * L::count) & Size);
      v[r] = L::choose(Mask(descending ? ~ascending : ascending),
                       L::least(v[r], other), L::most(v[r], other));
    }
  }
  if constexpr (Stride > 1)
    networkStep<U, Vectors, Size, Stride / 2>(v);
  else if constexpr (Size < Vectors * L::count)
    networkStep<U, Vectors, Size * 2, Size>(v);
}

/// Sorts at most Vectors vectors of elements.
template <class U, int Vectors> void sortNetwork(U *data, int64_t n) {
  using L = Lanes<U>;
  using Mask = typename L::Mask;
  const __m512i last = L::broadcast(U(~U(0)));
  __m512i v[Vectors];
  Mask present[Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Vectors; ++r) {
    int64_t left = n - r * L::count;
    present[r] = left >= L::count ? Mask(~0u)
                 : left > 0       ? Mask((1u << left) - 1)
                                  : Mask(0);
    v[r] = L::loadSome(present[r], last, data + r * L::count);
  }
  networkStep<U, Vectors, 2, 1>(v);
#pragma GCC unroll 16
  for (int r = 0; r < Vectors; ++r)
    L::storeSome(data + r * L::count, present[r], v[r]);
}

/// Elements that one network sorts.
template <class U>
constexpr int64_t networkLimit = Lanes<U>::count * Lanes<U>::baseVectors;

template <class U> void sortShort(U *data, int64_t n) {
  constexpr int count = Lanes<U>::count;
  if (n <= count)
    return sortNetwork<U, 1>(data, n);
  if (n <= 2 * count)
    return sortNetwork<U, 2>(data, n);
  if (n <= 4 * count)
    return sortNetwork<U, 4>(data, n);
  if (n <= 8 * count)
    return sortNetwork<U, 8>(data, n);
  sortNetwork<U, Lanes<U>::baseVectors>(data, n);
}

/// Moves the elements that are <= pivot (< pivot if Strict) to the front;
/// returns their number. scratch has room for n elements and one vector.
template <class U, bool Strict>
int64_t partition(U *data, int64_t n, U pivot, U *scratch) {
  using L = Lanes<U>;
  using Mask = typename L::Mask;
  const __m512i p = L::broadcast(pivot);
  int64_t low = 0, high = 0, i = 0;
  auto split = [&](__m512i x, Mask valid, int64_t size) {
    Mask front = Mask((Strict ? L::below(x, p) : L::notAbove(x, p)) & valid);
    // Whole vectors may be stored: what lies behind has been read already.
    int64_t fronts = __builtin_popcount(front);
    if (size == L::count)
      _mm512_storeu_si512(data + low, L::compress(front, x));
    else
      L::storeSome(data + low, Mask((1u << fronts) - 1), L::compress(front, x));
    _mm512_storeu_si512(scratch + high, L::compress(Mask(valid & ~front), x));
    low += fronts;
    high += size - fronts;
  };
  for (; i + L::count <= n; i += L::count)
    split(_mm512_loadu_si512(data + i), Mask(~0u), L::count);
  if (i < n) {
    Mask valid = Mask((1u << (n - i)) - 1);
    split(L::loadSome(valid, p, data + i), valid, n - i);
  }
  memcpy(data + low, scratch, size_t(high) * sizeof(U));
  return low;
}

/// An element near the median: that of a spread sample.
template <class U> U choosePivot(const U *data, int64_t n) {
  constexpr int most = 64;
  const int size = n > 2048 ? most : Lanes<U>::count;
  U sample[most];
  for (int i = 0; i < size; ++i)
    sample[i] = data[n / size * i + (i * 7919 % (n / size))];
  sortShort(sample, size);
  return sample[size / 2 - 1];
}

/// Splits data into [0, first) and [second, n), all of the former not above any
/// of the latter; what is between is in place already.
template <class U>
void splitPiece(U *data, int64_t n, U *scratch, int64_t &first,
                int64_t &second) {
  U pivot = choosePivot(data, n);
  first = second = partition<U, false>(data, n, pivot, scratch);
  if (first == n) {
    // The pivot is the greatest element: those equal to it are done.
    first = partition<U, true>(data, n, pivot, scratch);
    second = n;
  }
}

/// Sorts with at most `depth` further splits in a row; returns false, with the
/// data permuted, if that was not enough.
template <class U> bool quickSort(U *data, int64_t n, U *scratch, int depth) {
  while (n > networkLimit<U>) {
    if (depth-- == 0)
      return false;
    int64_t first, second;
    splitPiece(data, n, scratch, first, second);
    // Recurse into the shorter side.
    if (first < n - second) {
      if (!quickSort(data, first, scratch, depth))
        return false;
      data += second;
      n -= second;
    } else {
      if (!quickSort(data + second, n - second, scratch, depth))
        return false;
      n = first;
    }
  }
  sortShort(data, n);
  return true;
}

inline int depthLimit(int64_t n) {
  return 2 * (64 - __builtin_clzll(uint64_t(n)));
}

} // namespace
} // namespace lingon

#endif // LINGON_KERNEL_LEVEL >= 4
#endif // LINGON_RUNTIME_KERNELS_SORT_AVX512_H
