//===- gemv.h - Matrix-vector, dot and outer products ---------------------===//
#ifndef LINGON_RUNTIME_KERNELS_GEMV_H
#define LINGON_RUNTIME_KERNELS_GEMV_H

#include "gemm_core.h"

namespace lingon {
namespace {

/// Elements of a matrix below which a product stays on one thread.
constexpr int64_t SerialElements = 1 << 16;

/// Loads a vector of W from storage type S.
template <class W, class S>
inline typename VectorOf<W>::type loadVector(const S *src) {
  constexpr int lanes = VectorOf<W>::lanes;
  W tmp[lanes];
  for (int l = 0; l < lanes; ++l)
    tmp[l] = convert<W>(src[l]);
  typename VectorOf<W>::type v;
  memcpy(&v, tmp, sizeof v);
  return v;
}

/// The sum of the lanes, in halves; a template, since shuffles want constants.
template <class W, int width = VectorOf<W>::lanes / 2>
inline W sumOfLanes(typename VectorOf<W>::type v) {
  if constexpr (width == 0) {
    return v[0];
  } else {
    typedef typename BitsOfSize<sizeof(W)>::type U;
    constexpr int lanes = VectorOf<W>::lanes;
    typename VectorOf<U>::type other;
#pragma GCC unroll 64
    for (int l = 0; l < lanes; ++l)
      other[l] = U((l + width) % lanes);
    return sumOfLanes<W, width / 2>(v + __builtin_shuffle(v, other));
  }
}

/// Dot products of Rows rows of `a` (unit column stride) with x.
template <class W, int Rows, class S>
inline void rowDots(const S *a, int64_t rowStride, const W *x, int64_t k,
                    W *out) {
  using V = typename VectorOf<W>::type;
  constexpr int lanes = VectorOf<W>::lanes;
  constexpr int Chains = Rows >= 4 ? 2 : 4;
  V acc[Rows][Chains];
  for (int r = 0; r < Rows; ++r)
    for (int c = 0; c < Chains; ++c)
      acc[r][c] = V{};
  int64_t i = 0;
  for (; i + Chains * lanes <= k; i += Chains * lanes)
#pragma GCC unroll 4
    for (int c = 0; c < Chains; ++c) {
      V xv = *reinterpret_cast<const V *>(x + i + c * lanes);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
        acc[r][c] += loadVector<W>(a + r * rowStride + i + c * lanes) * xv;
    }
  for (; i + lanes <= k; i += lanes) {
    V xv = *reinterpret_cast<const V *>(x + i);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
      acc[r][0] += loadVector<W>(a + r * rowStride + i) * xv;
  }
  for (int r = 0; r < Rows; ++r) {
    V sum = acc[r][0];
    for (int c = 1; c < Chains; ++c)
      sum += acc[r][c];
    W total = sumOfLanes<W>(sum);
    for (int64_t j = i; j < k; ++j)
      total = W(total + W(convert<W>(a[r * rowStride + j]) * x[j]));
    out[r] = total;
  }
}

/// y[i] = sum over k of a(i, k) * x[k], for i in [begin, end); x contiguous.
template <class W, class S, class O>
void gemvRange(Matrix<const S> a, const W *x, O *y, int64_t yStride,
               int64_t begin, int64_t end, int64_t k) {
  using V = typename VectorOf<W>::type;
  constexpr int lanes = VectorOf<W>::lanes;
  int64_t i = begin;
  if (a.colStride == 1 || k == 1) {
    W sums[4];
    for (; i + 4 <= end; i += 4) {
      rowDots<W, 4>(&a.at(i, 0), a.rowStride, x, k, sums);
      for (int r = 0; r < 4; ++r)
        y[(i + r) * yStride] = convert<O>(sums[r]);
    }
    for (; i < end; ++i) {
      rowDots<W, 1>(&a.at(i, 0), a.rowStride, x, k, sums);
      y[i * yStride] = convert<O>(sums[0]);
    }
    return;
  }
  if (a.rowStride == 1) {
    constexpr int Vectors = 4;
    W sums[Vectors * lanes];
    for (; i + Vectors * lanes <= end; i += Vectors * lanes) {
      V acc[Vectors] = {};
      const S *col = &a.at(i, 0);
      for (int64_t d = 0; d < k; ++d, col += a.colStride)
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
          acc[v] += x[d] * loadVector<W>(col + v * lanes);
      memcpy(sums, acc, sizeof acc);
      for (int l = 0; l < Vectors * lanes; ++l)
        y[(i + l) * yStride] = convert<O>(sums[l]);
    }
    for (; i + lanes <= end; i += lanes) {
      V acc = {};
      const S *col = &a.at(i, 0);
      for (int64_t d = 0; d < k; ++d, col += a.colStride)
        acc += x[d] * loadVector<W>(col);
      memcpy(sums, &acc, sizeof acc);
      for (int l = 0; l < lanes; ++l)
        y[(i + l) * yStride] = convert<O>(sums[l]);
    }
  }
  for (; i < end; ++i) {
    W total = W(0);
    const S *row = &a.at(i, 0);
    for (int64_t d = 0; d < k; ++d)
      total = W(total + W(convert<W>(row[d * a.colStride]) * x[d]));
    y[i * yStride] = convert<O>(total);
  }
}

/// Fixed-size partial sums in order: the result does not depend on threads.
template <class W, class S>
W longDot(const S *a, int64_t stride, const W *x, int64_t k) {
  constexpr int64_t chunk = 1 << 14;
  int64_t chunks = (k + chunk - 1) / chunk;
  Scratch<W> partial(chunks);
  W *out = partial;
  parallelFor(chunks, SerialElements / chunk, [=](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      gemvRange<W, S, W>({a + c * chunk * stride, 0, stride}, x + c * chunk,
                         out + c, 1, 0, 1, minOf(chunk, k - c * chunk));
  });
  W total = W(0);
  for (int64_t c = 0; c < chunks; ++c)
    total = W(total + out[c]);
  return total;
}

template <class W, class S, class O>
void gemv(Matrix<const S> a, const S *x, int64_t xStride, O *y, int64_t yStride,
          int64_t m, int64_t k, bool parallel) {
  const bool inPlace = SameType<W, S>::value && xStride == 1;
  W small[256];
  Scratch<W> large(k > 256 && !inPlace ? k : 0);
  const W *xw = reinterpret_cast<const W *>(x);
  if (!inPlace) {
    W *copy = k > 256 ? large : small;
    for (int64_t i = 0; i < k; ++i)
      copy[i] = convert<W>(x[i * xStride]);
    xw = copy;
  }
  if (m == 1 && k > (1 << 14)) {
    *y = convert<O>(longDot<W>(a.data, a.colStride, xw, k));
    return;
  }
  if (!parallel || m * k <= SerialElements)
    return gemvRange<W>(a, xw, y, yStride, 0, m, k);
  // Whole vectors of rows per thread, for the unit row stride case.
  constexpr int64_t rows = 4 * VectorOf<W>::lanes;
  parallelFor(
      (m + rows - 1) / rows, maxOf<int64_t>(1, SerialElements / (rows * k)),
      [=](int64_t begin, int64_t end) {
        gemvRange<W>(a, xw, y, yStride, begin * rows, minOf(end * rows, m), k);
      });
}

/// C[i, j] = a[i] * b[j]: one product, no sum.
template <class W, class S, class O>
void outerProduct(const S *a, int64_t aStride, const S *b, int64_t bStride,
                  Matrix<O> c, int64_t m, int64_t n, bool parallel) {
  auto rows = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      W x = convert<W>(a[i * aStride]);
      O *row = c.data + i * c.rowStride;
      if (bStride == 1 && c.colStride == 1) {
        for (int64_t j = 0; j < n; ++j)
          row[j] = convert<O>(W(x * convert<W>(b[j])));
      } else {
        for (int64_t j = 0; j < n; ++j)
          row[j * c.colStride] = convert<O>(W(x * convert<W>(b[j * bStride])));
      }
    }
  };
  if (parallel)
    parallelFor(m, maxOf<int64_t>(1, SerialElements / n), rows);
  else
    rows(0, m);
}

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_GEMV_H
