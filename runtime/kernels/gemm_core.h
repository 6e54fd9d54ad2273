//===- gemm_core.h - Packed matrix product of any dtype -------------------===//
//
// C[m, n] = sum over k of A[m, k] * B[k, n], with arbitrary element strides on
// all three and conversion of the operands while packing. The product is cut
// into blocks that fit the caches; a micro-kernel keeps a tile of C in vector
// registers.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_KERNELS_GEMM_CORE_H
#define LINGON_RUNTIME_KERNELS_GEMM_CORE_H

#include "convert.h"

#include <type_traits>

namespace lingon {
namespace {

#if LINGON_KERNEL_LEVEL >= 4
constexpr int VectorBytes = 64, TileRows = 12, TileVectors = 2;
#elif LINGON_KERNEL_LEVEL >= 3
constexpr int VectorBytes = 32, TileRows = 6, TileVectors = 2;
#elif defined(__aarch64__)
constexpr int VectorBytes = 16, TileRows = 8, TileVectors = 2;
#else
constexpr int VectorBytes = 16, TileRows = 4, TileVectors = 2;
#endif

template <class T> struct VectorOf {
  typedef T type
      __attribute__((vector_size(VectorBytes), aligned(alignof(T)), may_alias));
  static constexpr int lanes = VectorBytes / int(sizeof(T));
};

/// A strided matrix. Functions that may not be inlined take it by reference:
/// GCC copies one to the stack in halves that it reads back as a whole, which
/// waits for all stores before.
template <class T> struct Matrix {
  T *data;
  int64_t rowStride, colStride;
  T &at(int64_t i, int64_t j) const {
    return data[i * rowStride + j * colStride];
  }
  Matrix block(int64_t i, int64_t j) const {
    return {data + i * rowStride + j * colStride, rowStride, colStride};
  }
  Matrix transposed() const { return {data, colStride, rowStride}; }
};

template <class A, class B> struct SameType {
  static constexpr bool value = false;
};
template <class A> struct SameType<A, A> {
  static constexpr bool value = true;
};

/// The unsigned integer with the size of T.
template <int Bytes> struct BitsOfSize;
template <> struct BitsOfSize<1> {
  typedef uint8_t type;
};
template <> struct BitsOfSize<2> {
  typedef uint16_t type;
};
template <> struct BitsOfSize<4> {
  typedef uint32_t type;
};
template <> struct BitsOfSize<8> {
  typedef uint64_t type;
};

/// Transposes squares of side x side elements, a vector of each row: side lanes
/// after the other; a template, since shuffles want constants.
template <class U, int side, int width = 1>
inline void transposeSquares(typename VectorOf<U>::type *rows) {
  typedef typename VectorOf<U>::type V;
  constexpr int lanes = VectorOf<U>::lanes;
  V low, high;
#pragma GCC unroll 64
  for (int l = 0; l < lanes; ++l) {
    low[l] = U(l & width ? lanes + l - width : l);
    high[l] = U(l & width ? lanes + l : l + width);
  }
#pragma GCC unroll 64
  for (int i = 0; i < side; ++i)
    if (!(i & width)) {
      V x = rows[i], y = rows[i + width];
      rows[i] = __builtin_shuffle(x, y, low);
      rows[i + width] = __builtin_shuffle(x, y, high);
    }
  if constexpr (2 * width < side)
    transposeSquares<U, side, 2 * width>(rows);
}

/// Packs the first depths of a panel whose rows are contiguous, in squares of
/// 16 bytes, which need no shuffle across the parts of a vector; returns how
/// many.
template <class W, int Width>
inline int64_t packSquares(W *__restrict dst, const W *__restrict src,
                           int64_t width, int64_t depth, int64_t widthStride) {
  typedef typename BitsOfSize<sizeof(W)>::type U;
  typedef typename VectorOf<U>::type V;
  constexpr int lanes = VectorOf<U>::lanes, side = 16 / int(sizeof(W));
  int64_t d = 0;
  for (; d + lanes <= depth; d += lanes)
#pragma GCC unroll 16
    for (int w = 0; w < Width; w += side) {
      V rows[side];
#pragma GCC unroll 4
      for (int i = 0; i < side; ++i)
        rows[i] =
            w + i < Width && w + i < width
                ? *reinterpret_cast<const V *>(src + (w + i) * widthStride + d)
                : V{};
      transposeSquares<U, side>(rows);
#pragma GCC unroll 4
      for (int i = 0; i < side; ++i)
#pragma GCC unroll 8
        for (int q = 0; q < lanes; q += side) {
          W *to = dst + (d + q + i) * Width + w;
          memcpy(to, reinterpret_cast<const char *>(&rows[i]) + q * sizeof(W),
                 w + side <= Width ? 16 : size_t(Width % side) * sizeof(W));
        }
    }
  return d;
}

/// Packs a width x depth panel as depth groups of Width elements, the missing
/// ones zero. element(w, d) is src[w * widthStride + d * depthStride].
template <class W, int Width, class S>
void packPanel(W *__restrict dst, const S *__restrict src, int64_t width,
               int64_t depth, int64_t widthStride, int64_t depthStride) {
  if (width == Width && widthStride == 1) {
    for (int64_t d = 0; d < depth; ++d, dst += Width, src += depthStride)
#pragma GCC unroll 64
      for (int w = 0; w < Width; ++w)
        dst[w] = convert<W>(src[w]);
    return;
  }
  if (width < Width)
    memset(dst, 0, size_t(depth) * Width * sizeof(W));
  if (depthStride == 1) {
    int64_t d = 0;
    if constexpr (SameType<W, S>::value && sizeof(W) >= 4)
      d = packSquares<W, Width>(dst, src, width, depth, widthStride);
    // Blocks of eight reads per row keep both sides within a few cache lines.
    for (; d + 8 <= depth; d += 8)
      for (int64_t w = 0; w < width; ++w) {
        const S *from = src + w * widthStride + d;
        for (int i = 0; i < 8; ++i)
          dst[(d + i) * Width + w] = convert<W>(from[i]);
      }
    for (; d < depth; ++d)
      for (int64_t w = 0; w < width; ++w)
        dst[d * Width + w] = convert<W>(src[w * widthStride + d]);
    return;
  }
  for (int64_t d = 0; d < depth; ++d)
    for (int64_t w = 0; w < width; ++w)
      dst[d * Width + w] = convert<W>(src[w * widthStride + d * depthStride]);
}

/// tile[row][:] = sum over depth of a[d][row] * b[d][:], rows tileStride apart;
/// with `accumulate` added to what is there.
template <class W, int Rows, int Vectors>
inline void microKernel(const W *__restrict a, const W *__restrict b,
                        int64_t depth, W *__restrict tile, int64_t tileStride,
                        bool accumulate) {
  using V = typename VectorOf<W>::type;
  constexpr int lanes = VectorOf<W>::lanes;
  V acc[Rows][Vectors];
  if (accumulate) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        acc[i][v] = *reinterpret_cast<V *>(tile + i * tileStride + v * lanes);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        acc[i][v] = V{};
  }
  for (int64_t d = 0; d < depth; ++d) {
    V bv[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      bv[v] = *reinterpret_cast<const V *>(b + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        acc[i][v] += a[i] * bv[v];
    a += Rows;
    b += Vectors * lanes;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      *reinterpret_cast<V *>(tile + i * tileStride + v * lanes) = acc[i][v];
}

/// As microKernel, with both operands where they are: a[i] is a row of A whose
/// elements are aStep apart, rows of B are bStep apart and contiguous.
template <class W, int Rows, int Vectors>
inline void directKernel(const W *const *rows, int64_t aStep,
                         const W *__restrict b, int64_t bStep, int64_t depth,
                         W *__restrict tile, int64_t tileStride, int count,
                         bool accumulate) {
  using V = typename VectorOf<W>::type;
  constexpr int lanes = VectorOf<W>::lanes;
  const W *a[Rows];
  V acc[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    a[i] = rows[i];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      acc[i][v] =
          accumulate && i < count
              ? *reinterpret_cast<V *>(tile + i * tileStride + v * lanes)
              : V{};
  }
  for (int64_t d = 0, at = 0; d < depth; ++d, at += aStep) {
    V bv[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      bv[v] = *reinterpret_cast<const V *>(b + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        acc[i][v] += a[i][at] * bv[v];
    b += bStep;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
    if (i < count)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        *reinterpret_cast<V *>(tile + i * tileStride + v * lanes) = acc[i][v];
}

/// Writes or adds a rows x cols tile to c.
template <class W, class O>
inline void storeTile(const W *__restrict tile, int64_t tileCols,
                      const Matrix<O> &c, int64_t rows, int64_t cols,
                      bool accumulate) {
  for (int64_t i = 0; i < rows; ++i) {
    O *row = c.data + i * c.rowStride;
    const W *from = tile + i * tileCols;
    if (accumulate && c.colStride == 1) {
      for (int64_t j = 0; j < cols; ++j)
        row[j] = convert<O>(W(convert<W>(row[j]) + from[j]));
    } else if (accumulate) {
      for (int64_t j = 0; j < cols; ++j)
        row[j * c.colStride] =
            convert<O>(W(convert<W>(row[j * c.colStride]) + from[j]));
    } else if (c.colStride == 1) {
      for (int64_t j = 0; j < cols; ++j)
        row[j] = convert<O>(from[j]);
    } else {
      for (int64_t j = 0; j < cols; ++j)
        row[j * c.colStride] = convert<O>(from[j]);
    }
  }
}

constexpr int HalfRows = (TileRows + 1) / 2, QuarterRows = (TileRows + 3) / 4;

/// The panel height that `rows` remaining rows are packed with.
inline int64_t panelRowsFor(int64_t rows) {
  return rows > HalfRows      ? TileRows
         : rows > QuarterRows ? HalfRows
                              : QuarterRows;
}

/// The work of one tile column: all row panels of packed A against one panel
/// of packed B.
template <class W, int Vectors, class O>
void rowPanels(const W *packedA, const W *panelB, const Matrix<O> &c, int64_t m,
               int64_t cols, int64_t depth, bool accumulate) {
  constexpr int tileCols = Vectors * VectorOf<W>::lanes;
  W local[TileRows * tileCols];
  const bool direct =
      SameType<W, O>::value && cols == tileCols && c.colStride == 1;
  for (int64_t i = 0; i < m; i += TileRows) {
    int64_t rows = minOf<int64_t>(TileRows, m - i);
    const W *panelA = packedA + i * depth;
    int64_t panelRows = panelRowsFor(rows);
    // A tile whose every element is wanted goes straight to C.
    bool whole = direct && rows == panelRows;
    W *tile = whole ? reinterpret_cast<W *>(&c.at(i, 0)) : local;
    int64_t stride = whole ? c.rowStride : tileCols;
    bool add = whole && accumulate;
    if (panelRows == TileRows)
      microKernel<W, TileRows, Vectors>(panelA, panelB, depth, tile, stride,
                                        add);
    else if (panelRows == HalfRows)
      microKernel<W, HalfRows, Vectors>(panelA, panelB, depth, tile, stride,
                                        add);
    else
      microKernel<W, QuarterRows, Vectors>(panelA, panelB, depth, tile, stride,
                                           add);
    if (!whole)
      storeTile<W>(tile, tileCols, c.block(i, 0), rows, cols, accumulate);
  }
}

/// Packs row panels as rowPanels expects them.
template <class W, class S>
void packRows(W *packed, Matrix<const S> a, int64_t m, int64_t depth) {
  for (int64_t i = 0; i < m; i += TileRows) {
    int64_t rows = minOf<int64_t>(TileRows, m - i);
    W *panel = packed + i * depth;
    const S *from = &a.at(i, 0);
    int64_t panelRows = panelRowsFor(rows);
    if (panelRows == TileRows)
      packPanel<W, TileRows>(panel, from, rows, depth, a.rowStride,
                             a.colStride);
    else if (panelRows == HalfRows)
      packPanel<W, HalfRows>(panel, from, rows, depth, a.rowStride,
                             a.colStride);
    else
      packPanel<W, QuarterRows>(panel, from, rows, depth, a.rowStride,
                                a.colStride);
  }
}

/// Up to `DirectRows` rows of A packing B takes longer than it saves while B
/// has at most DirectBytes; with at most CachedBytes of B, in whole vectors,
/// that is so for any A whose rows are contiguous (measured: up to 20 % faster;
/// with 1 MiB up to 20 % slower), with ColumnBytes for any other. With so few
/// rows, and at most DirectPanels panels of columns, A is read where it is.
constexpr int64_t DirectRows = 3 * TileRows, DirectBytes = 1 << 20,
                  CachedBytes = 1 << 18, ColumnBytes = 1 << 14,
                  DirectPanels = 4;

/// One tile of `rows` rows and `cols` columns of C, at most Vectors vectors; A
/// is not packed, rows of B are bStep apart. More rows than that are computed
/// where no kernel has that many.
template <class W, int Vectors>
void directTile(const Matrix<const W> &a, const W *b, int64_t bStep,
                const Matrix<W> &c, int64_t rows, int64_t cols, int64_t depth,
                bool accumulate) {
  constexpr int tileCols = Vectors * VectorOf<W>::lanes;
  const W *start[TileRows];
  for (int i = 0; i < TileRows; ++i)
    start[i] = a.data + minOf<int64_t>(i, rows - 1) * a.rowStride;
  W local[TileRows * tileCols];
  bool whole = cols == tileCols && c.colStride == 1;
  W *tile = whole ? c.data : local;
  int64_t stride = whole ? c.rowStride : tileCols;
  int count = int(rows);
  bool add = whole && accumulate;
  if (rows > (TileRows * 2 + 2) / 3)
    directKernel<W, TileRows, Vectors>(start, a.colStride, b, bStep, depth,
                                       tile, stride, count, add);
  else if (rows > HalfRows)
    directKernel<W, (TileRows * 2 + 2) / 3, Vectors>(
        start, a.colStride, b, bStep, depth, tile, stride, count, add);
  else if (rows > (TileRows + 2) / 3)
    directKernel<W, HalfRows, Vectors>(start, a.colStride, b, bStep, depth,
                                       tile, stride, count, add);
  else
    directKernel<W, (TileRows + 2) / 3, Vectors>(
        start, a.colStride, b, bStep, depth, tile, stride, count, add);
  if (!whole)
    storeTile<W>(tile, tileCols, c, rows, cols, accumulate);
}

/// Packs a panel of columns of B, at most TileVectors vectors.
template <class W, class S>
void packColumns(W *to, Matrix<const S> b, int64_t cols, int64_t depth) {
  constexpr int lanes = VectorOf<W>::lanes;
  if (cols > lanes)
    packPanel<W, TileVectors * lanes>(to, b.data, cols, depth, b.colStride,
                                      b.rowStride);
  else
    packPanel<W, lanes>(to, b.data, cols, depth, b.colStride, b.rowStride);
}

/// Packs all panels of n columns of B, one after the other.
template <class W, class S>
void packAllColumns(W *to, Matrix<const S> b, int64_t n, int64_t depth) {
  constexpr int Cols = TileVectors * VectorOf<W>::lanes;
  for (int64_t j = 0; j < n; j += Cols)
    packColumns<W>(to + j * depth, b.block(0, j), minOf<int64_t>(Cols, n - j),
                   depth);
}

/// Depth of one block: the longest sum that stays in registers.
template <class W> constexpr int64_t depthBlockOf() {
  return 2048 / int64_t(sizeof(W)) < 256 ? 256 : 2048 / int64_t(sizeof(W));
}

/// Bytes of a packed block of B; with at most PanelRows rows it is one panel,
/// that is used at once.
constexpr int64_t PackedBytes = 1 << 20, PanelRows = 6 * TileRows;

/// One thread's product. W is the arithmetic type. A floating O narrower than
/// W needs k <= depthBlockOf<W>(), since partial sums would be rounded. A block
/// of B is packed; C is computed a row of tiles after the other, which is the
/// order that memory likes.
template <class W, class S, class O>
void packedProduct(Matrix<const S> a, Matrix<const S> b, Matrix<O> c, int64_t m,
                   int64_t n, int64_t k) {
  constexpr int lanes = VectorOf<W>::lanes;
  constexpr int Cols = TileVectors * lanes;
  constexpr int64_t depthBlock = depthBlockOf<W>();
  const int64_t kb = minOf(depthBlock, k);
  const bool few = m <= PanelRows;
  const int64_t mb = few ? (m + TileRows - 1) / TileRows * TileRows : TileRows;
  const int64_t nb =
      few ? Cols
          : minOf(PackedBytes / (kb * int64_t(sizeof(W))) / Cols * Cols,
                  (n + Cols - 1) / Cols * Cols);
  constexpr int64_t onStack = 24576 / int64_t(sizeof(W));
  alignas(VectorBytes) W stackA[onStack], stackB[onStack];
  Scratch<W> heapA(mb * kb > onStack ? mb * kb : 0);
  Scratch<W> heapB(nb * kb > onStack ? nb * kb : 0);
  W *packedA = mb * kb > onStack ? heapA : stackA;
  W *packedB = nb * kb > onStack ? heapB : stackB;
  for (int64_t k0 = 0; k0 < k; k0 += depthBlock) {
    int64_t kk = minOf(depthBlock, k - k0);
    for (int64_t j0 = 0; j0 < n; j0 += nb) {
      int64_t nn = minOf(nb, n - j0);
      packAllColumns<W>(packedB, b.block(k0, j0), nn, kk);
      for (int64_t i = 0; i < m; i += mb) {
        int64_t rows = minOf(mb, m - i);
        if (!few || j0 == 0)
          packRows<W>(packedA, a.block(i, k0), rows, kk);
        for (int64_t j = 0; j < nn; j += Cols) {
          int64_t cols = minOf<int64_t>(Cols, nn - j);
          if (cols > lanes)
            rowPanels<W, TileVectors>(packedA, packedB + j * kk,
                                      c.block(i, j0 + j), rows, cols, kk,
                                      k0 != 0);
          else
            rowPanels<W, 1>(packedA, packedB + j * kk, c.block(i, j0 + j), rows,
                            cols, kk, k0 != 0);
        }
      }
    }
  }
}

/// Rows of the tiles that m rows are cut into, as equal as possible.
inline int64_t tileHeight(int64_t m) {
  int64_t tiles = (m + TileRows - 1) / TileRows;
  return (m + tiles - 1) / tiles;
}

/// A product with few columns: B is packed, A is read where it is.
template <class W>
void panelProduct(Matrix<const W> a, Matrix<const W> b, Matrix<W> c, int64_t m,
                  int64_t n, int64_t k) {
  constexpr int lanes = VectorOf<W>::lanes;
  constexpr int Cols = TileVectors * lanes;
  constexpr int64_t depthBlock = depthBlockOf<W>();
  int64_t panels = (n + Cols - 1) / Cols, height = tileHeight(m);
  constexpr int64_t onStack = 8192 / int64_t(sizeof(W));
  int64_t size = panels * Cols * minOf(depthBlock, k);
  W stack[onStack];
  Scratch<W> heap(size > onStack ? size : 0);
  W *packed = size > onStack ? heap : stack;
  for (int64_t k0 = 0; k0 < k; k0 += depthBlock) {
    int64_t depth = minOf(depthBlock, k - k0);
    packAllColumns<W>(packed, b.block(k0, 0), n, depth);
    for (int64_t i = 0; i < m; i += height)
      for (int64_t j = 0; j < n; j += Cols) {
        int64_t rows = minOf(height, m - i), cols = minOf<int64_t>(Cols, n - j);
        if (cols > lanes)
          directTile<W, TileVectors>(a.block(i, k0), packed + j * depth, Cols,
                                     c.block(i, j), rows, cols, depth, k0 != 0);
        else
          directTile<W, 1>(a.block(i, k0), packed + j * depth, lanes,
                           c.block(i, j), rows, cols, depth, k0 != 0);
      }
  }
}

/// A product with few rows of A, or a small B: both operands are read where
/// they are, except for columns that do not fill a vector.
template <class W>
void directProduct(Matrix<const W> a, Matrix<const W> b, Matrix<W> c, int64_t m,
                   int64_t n, int64_t k) {
  constexpr int lanes = VectorOf<W>::lanes;
  constexpr int Cols = TileVectors * lanes;
  constexpr int64_t depthBlock = depthBlockOf<W>();
  int64_t height = tileHeight(m);
  int64_t full = n / lanes * lanes;
  for (int64_t k0 = 0; k0 < k; k0 += depthBlock) {
    int64_t depth = minOf(depthBlock, k - k0);
    auto column = [&](int64_t j, int64_t first, int64_t last) {
      bool wide = full - j >= Cols;
      for (int64_t i = first; i < last; i += height) {
        int64_t rows = minOf(height, m - i);
        if (wide)
          directTile<W, TileVectors>(a.block(i, k0), &b.at(k0, j), b.rowStride,
                                     c.block(i, j), rows, Cols, depth, k0 != 0);
        else
          directTile<W, 1>(a.block(i, k0), &b.at(k0, j), b.rowStride,
                           c.block(i, j), rows, lanes, depth, k0 != 0);
      }
      return wide ? Cols : lanes;
    };
    // What is larger passes through the cache once.
    if (m > k || m > n)
      for (int64_t i = 0; i < m; i += height)
        for (int64_t j = 0; j < full;)
          j += column(j, i, minOf(i + height, m));
    else
      for (int64_t j = 0; j < full;)
        j += column(j, 0, m);
  }
  if (full < n)
    panelProduct<W>(a, b.block(0, full), c.block(0, full), m, n - full, k);
}

/// The fastest of the above for one thread.
template <class W, class S, class O>
void serialProduct(Matrix<const S> a, Matrix<const S> b, Matrix<O> c, int64_t m,
                   int64_t n, int64_t k) {
  if constexpr (std::is_floating_point<W>::value && SameType<W, S>::value &&
                SameType<W, O>::value) {
    int64_t bytes = k * n * int64_t(sizeof(W));
    bool cached = bytes <= (a.colStride == 1 ? CachedBytes : ColumnBytes) &&
                  n % VectorOf<W>::lanes == 0;
    if (b.colStride == 1 &&
        (m <= TileRows || cached || (m <= DirectRows && bytes <= DirectBytes)))
      return directProduct<W>(a, b, c, m, n, k);
    if (n <= DirectPanels * TileVectors * VectorOf<W>::lanes &&
        a.colStride == 1 && m <= DirectRows)
      return panelProduct<W>(a, b, c, m, n, k);
  }
  packedProduct<W>(a, b, c, m, n, k);
}

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_GEMM_CORE_H
