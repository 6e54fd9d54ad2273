//===- gemm.cpp - dot_general for every dtype and layout ------------------===//
//
// config = [B, K, lhs batch dims (B), rhs batch dims (B), lhs contracting dims
// (K), rhs contracting dims (K), other lhs dims, other rhs dims]; the output's
// dims are batch, lhs others, rhs others, each in the order given. Operands are
// read through their strides, so transposes cost nothing.
//
// On AVX2 and AVX-512 all go to the packed kernel of gemm_core.h, which equals
// OpenBLAS there and, as it uses the runtime's own threads, does not compete
// with that library's for cores (measured: a product of 128x128 took up to a
// thousand times as long when both cores were busy). On other machines large
// float and complex products go to BLAS.
//
// Two inputs more are a function and its context (lowering/passes/callbacks.h):
// each thread computes whole rows and calls the function for them, while they
// are in its cache.
//
// Both operands have one dtype, and so does the output but for two widening
// cases: float16 and bfloat16 give float32, 8-bit integers may give 32-bit
// ones. Integers wrap; booleans are combined by and, or.
//
//===----------------------------------------------------------------------===//
#include "gemm_narrow.h"
#include "gemv.h"

namespace lingon {
namespace {

constexpr int MaxRank = 64;

/// The dims of one role (batch, row, column, depth) and their strides in the
/// two or three operands that have them. Size-1 dims are dropped.
struct Dims {
  int count = 0;
  int64_t size[MaxRank];
  int64_t stride[3][MaxRank];

  void add(int64_t n, int64_t s0, int64_t s1, int64_t s2 = 0) {
    if (n == 1)
      return;
    size[count] = n;
    stride[0][count] = s0;
    stride[1][count] = s1;
    stride[2][count++] = s2;
  }
  int64_t total() const {
    int64_t n = 1;
    for (int i = 0; i < count; ++i)
      n *= size[i];
    return n;
  }
  /// Whether operand `which` walks these dims with one stride; sets it.
  bool collapses(int which, int64_t &result) const {
    if (count == 0) {
      result = 0;
      return true;
    }
    result = stride[which][count - 1];
    for (int i = count - 1; i > 0; --i)
      if (stride[which][i - 1] != stride[which][i] * size[i])
        return false;
    return true;
  }
  /// Outermost first by the strides of operand 0, so that runs collapse.
  void sort() {
    for (int i = 1; i < count; ++i)
      for (int j = i; j > 0 && stride[0][j - 1] < stride[0][j]; --j)
        swap(j - 1, j);
  }
  /// Offset of linear index `index` in operand `which`.
  int64_t offset(int which, int64_t index) const {
    int64_t result = 0;
    for (int i = count - 1; i >= 0; --i) {
      result += index % size[i] * stride[which][i];
      index /= size[i];
    }
    return result;
  }

private:
  static void swapInts(int64_t &a, int64_t &b) {
    int64_t t = a;
    a = b;
    b = t;
  }
  void swap(int i, int j) {
    swapInts(size[i], size[j]);
    for (int w = 0; w < 3; ++w)
      swapInts(stride[w][i], stride[w][j]);
  }
};

/// A batch of matrix products: a is m x k, b is k x n, c is m x n.
struct Problem {
  const void *a, *b;
  void *c;
  int64_t m, n, k, batch;
  int64_t am, ak, bk, bn, cm, cn;
  Dims batchDims; // strides of a, b, c
  bool serial = false;
};

/// Copies a batch x rows x cols operand between a strided and a dense layout.
/// `which` picks the strides in the three groups.
template <class T>
void copyOperand(void *to, const void *from, const Dims &batch, int inBatch,
                 const Dims &rows, int inRows, const Dims &cols, int inCols,
                 bool gather) {
  T *dst = static_cast<T *>(to);
  const T *src = static_cast<const T *>(from);
  int64_t nb = batch.total(), nr = rows.total(), nc = cols.total();
  parallelFor(
      nb * nr, maxOf<int64_t>(1, SerialElements / maxOf<int64_t>(nc, 1)),
      [&](int64_t begin, int64_t end) {
        int64_t inner = cols.count ? cols.size[cols.count - 1] : 1;
        int64_t step = cols.count ? cols.stride[inCols][cols.count - 1] : 0;
        for (int64_t i = begin; i < end; ++i) {
          int64_t base =
              batch.offset(inBatch, i / nr) + rows.offset(inRows, i % nr);
          for (int64_t j = 0; j < nc; j += inner) {
            int64_t at = base + cols.offset(inCols, j);
            for (int64_t l = 0; l < inner; ++l) {
              int64_t dense = i * nc + j + l, strided = at + l * step;
              if (gather)
                dst[dense] = src[strided];
              else
                dst[strided] = src[dense];
            }
          }
        }
      });
}

//===----------------------------------------------------------------------===//
// BLAS
//===----------------------------------------------------------------------===//

typedef void (*GemmFn)(const char *, const char *, const int *, const int *,
                       const int *, const void *, const void *, const int *,
                       const void *, const int *, const void *, void *,
                       const int *);

template <class W> struct BlasOf {
  static constexpr int routine = -1;
};
template <> struct BlasOf<float> {
  static constexpr int routine = Sgemm;
};
template <> struct BlasOf<double> {
  static constexpr int routine = Dgemm;
};
template <> struct BlasOf<C64> {
  static constexpr int routine = Cgemm;
};
template <> struct BlasOf<C128> {
  static constexpr int routine = Zgemm;
};

/// Row-major leading dimension of a rows x cols matrix, or of its transpose.
inline bool leading(int64_t rows, int64_t cols, int64_t rs, int64_t cs,
                    bool &transposed, int64_t &ld) {
  if ((cs == 1 || cols == 1) && (rows == 1 || rs >= maxOf<int64_t>(cols, 1))) {
    transposed = false;
    ld = rows == 1 ? maxOf<int64_t>(cols, 1) : rs;
  } else if ((rs == 1 || rows == 1) &&
             (cols == 1 || cs >= maxOf<int64_t>(rows, 1))) {
    transposed = true;
    ld = cols == 1 ? maxOf<int64_t>(rows, 1) : cs;
  } else {
    return false;
  }
  return ld <= INT32_MAX;
}

/// Calls BLAS for one product; false if the layout or size is not one it takes.
template <class W>
bool blasProduct(Matrix<const W> a, Matrix<const W> b, Matrix<W> c, int64_t m,
                 int64_t n, int64_t k) {
  if (BlasOf<W>::routine < 0 || !blasTable[maxOf(BlasOf<W>::routine, 0)])
    return false;
  if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
    return false;
  bool ta, tb, tc;
  int64_t lda, ldb, ldc;
  if (!leading(m, n, c.rowStride, c.colStride, tc, ldc))
    return false;
  if (tc)
    return blasProduct<W>(b.transposed(), a.transposed(), c.transposed(), n, m,
                          k);
  if (!leading(m, k, a.rowStride, a.colStride, ta, lda) ||
      !leading(k, n, b.rowStride, b.colStride, tb, ldb))
    return false;
  // Column-major BLAS sees our row-major C as its transpose: C' = B' A'.
  int mi = int(m), ni = int(n), ki = int(k), la = int(lda), lb = int(ldb),
      lc = int(ldc);
  W one, zero;
  memset(&zero, 0, sizeof zero);
  one = convert<W>(1.0f);
  reinterpret_cast<GemmFn>(blasTable[BlasOf<W>::routine])(
      tb ? "T" : "N", ta ? "T" : "N", &ni, &mi, &ki, &one, b.data, &lb, a.data,
      &la, &zero, c.data, &lc);
  return true;
}

//===----------------------------------------------------------------------===//
// One product
//===----------------------------------------------------------------------===//

/// Multiplications below which a product stays on one thread.
constexpr int64_t SerialWork = 1 << 18;
constexpr bool PreferBlas = LINGON_KERNEL_LEVEL < 3;

inline int64_t roundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Cuts m x n into rows x cols parts, at most `tasks`, of least perimeter:
/// every part packs its rows of A and its columns of B.
inline void chooseGrid(int64_t m, int64_t n, int64_t tasks, int64_t &rows,
                       int64_t &cols) {
  int64_t best = INT64_MAX;
  for (int64_t r = 1; r <= tasks; ++r) {
    int64_t c = tasks / r;
    // Uneven use of the threads counts as longer parts. Of equal ones those by
    // rows: what takes longer to pack, A, is packed once.
    int64_t cost = ((m + r - 1) / r + (n + c - 1) / c) * tasks / (r * c);
    if (cost <= best) {
      best = cost;
      rows = r;
      cols = c;
    }
  }
}

template <class W, class S, class O> struct Product {
  /// parallel: whether this product may use several threads.
  static void run(Matrix<const S> a, Matrix<const S> b, Matrix<O> c, int64_t m,
                  int64_t n, int64_t k, bool parallel) {
    if (n == 1)
      return gemv<W>(a, b.data, b.rowStride, c.data, c.rowStride, m, k,
                     parallel);
    if (m == 1)
      return gemv<W>(b.transposed(), a.data, a.colStride, c.data, c.colStride,
                     n, k, parallel);
    if (k == 1)
      return outerProduct<W>(a.data, a.rowStride, b.data, b.colStride, c, m, n,
                             parallel);
    if (PreferBlas && parallel && m * n * k >= SerialWork &&
        tryBlas(a, b, c, m, n, k))
      return;
    const bool narrow = isNarrow(m * n * k);
    int64_t tasks =
        parallel ? m * n * k / (narrow ? 8 * SerialWork : SerialWork) : 0;
    if (tasks < 2)
      return onThread(narrow, a, b, c, m, n, k);
    int64_t rows = 1, cols = 1;
    chooseGrid(m, n, minOf(tasks, lingon_rt_num_threads()), rows, cols);
    constexpr int64_t tileCols = TileVectors * VectorOf<W>::lanes;
    int64_t rowPart = roundUp((m + rows - 1) / rows, narrow ? 32 : TileRows);
    int64_t colPart = roundUp((n + cols - 1) / cols, tileCols);
    parallelFor(rows * cols, 1, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t i0 = i / cols * rowPart, j0 = i % cols * colPart;
        if (i0 < m && j0 < n)
          onThread(narrow, a.block(i0, 0), b.block(0, j0), c.block(i0, j0),
                   minOf(rowPart, m - i0), minOf(colPart, n - j0), k);
      }
    });
  }

private:
  static bool isNarrow(int64_t work) {
    return NarrowKind<W, S>::known && work >= NarrowWork &&
           narrowUnit() != NarrowUnit::None;
  }
  static void onThread(bool narrow, Matrix<const S> a, Matrix<const S> b,
                       Matrix<O> c, int64_t m, int64_t n, int64_t k) {
    if constexpr (NarrowKind<W, S>::known)
      if (narrow)
        return narrowProduct<W>(a, b, c, m, n, k);
    serialProduct<W>(a, b, c, m, n, k);
  }
  template <class A>
  static bool tryBlas(Matrix<const A> a, Matrix<const A> b, Matrix<A> c,
                      int64_t m, int64_t n, int64_t k) {
    return blasProduct<A>(a, b, c, m, n, k);
  }
  template <class A, class B>
  static bool tryBlas(Matrix<const A>, Matrix<const A>, Matrix<B>, int64_t,
                      int64_t, int64_t) {
    return false;
  }
};

/// Complex products as two real ones: [Re A, -Im A] and [Im A, Re A], each
/// times [Re B; Im B], are the real and the imaginary part.
template <class C, class T> struct ComplexProduct {
  static void run(Matrix<const C> a, Matrix<const C> b, Matrix<C> c, int64_t m,
                  int64_t n, int64_t k, bool parallel) {
    if (m * n * k <= 64)
      return loops(a, b, c, m, n, k);
    if (PreferBlas && blasProduct<C>(a, b, c, m, n, k))
      return;
    Scratch<T> storage(4 * m * k + 2 * k * n);
    T *real = storage, *imaginary = real + 2 * m * k;
    T *right = imaginary + 2 * m * k;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t d = 0; d < k; ++d) {
        C x = a.at(i, d);
        real[i * 2 * k + d] = imaginary[i * 2 * k + k + d] = x.re;
        real[i * 2 * k + k + d] = -x.im;
        imaginary[i * 2 * k + d] = x.im;
      }
    for (int64_t d = 0; d < k; ++d)
      for (int64_t j = 0; j < n; ++j) {
        C y = b.at(d, j);
        right[d * n + j] = y.re;
        right[(k + d) * n + j] = y.im;
      }
    for (int part = 0; part < 2; ++part)
      Product<T, T, T>::run({part ? imaginary : real, 2 * k, 1}, {right, n, 1},
                            {reinterpret_cast<T *>(c.data) + part,
                             2 * c.rowStride, 2 * c.colStride},
                            m, n, 2 * k, parallel);
  }

private:
  static void loops(Matrix<const C> a, Matrix<const C> b, Matrix<C> c,
                    int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        C sum = {0, 0};
        for (int64_t d = 0; d < k; ++d) {
          C x = a.at(i, d), y = b.at(d, j);
          sum.re += x.re * y.re - x.im * y.im;
          sum.im += x.re * y.im + x.im * y.re;
        }
        c.at(i, j) = sum;
      }
  }
};
template <> struct Product<C64, C64, C64> : ComplexProduct<C64, float> {};
template <> struct Product<C128, C128, C128> : ComplexProduct<C128, double> {};

template <class W, class S, class O> void runBatch(const Problem &p) {
  const S *a = static_cast<const S *>(p.a), *b = static_cast<const S *>(p.b);
  O *c = static_cast<O *>(p.c);
  auto one = [&](int64_t i, bool parallel) {
    Product<W, S, O>::run({a + p.batchDims.offset(0, i), p.am, p.ak},
                          {b + p.batchDims.offset(1, i), p.bk, p.bn},
                          {c + p.batchDims.offset(2, i), p.cm, p.cn}, p.m, p.n,
                          p.k, parallel);
  };
  int64_t work = p.m * p.n * p.k;
  // With fewer matrices than threads, or large ones, threads share a matrix.
  if (p.serial) {
    for (int64_t i = 0; i < p.batch; ++i)
      one(i, false);
    return;
  }
  if (p.batch == 1 ||
      (p.batch < lingon_rt_num_threads() && work >= SerialWork)) {
    for (int64_t i = 0; i < p.batch; ++i)
      one(i, true);
    return;
  }
  parallelFor(p.batch, maxOf<int64_t>(1, SerialWork / maxOf<int64_t>(work, 1)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  one(i, false);
              });
}

//===----------------------------------------------------------------------===//
// Dtypes
//===----------------------------------------------------------------------===//

typedef void (*BatchFn)(const Problem &);

/// The product of operands of dtype `in` giving `out`; null if there is none.
BatchFn productFor(int32_t in, int32_t out) {
  switch (out) {
  case Float32:
    return in == Float32    ? runBatch<float, float, float>
           : in == BFloat16 ? runBatch<float, BF16, float>
           : in == Float16  ? runBatch<float, F16, float>
                            : nullptr;
  case Float64:
    return in == Float64 ? runBatch<double, double, double> : nullptr;
  case Complex64:
    return in == Complex64 ? runBatch<C64, C64, C64> : nullptr;
  case Complex128:
    return in == Complex128 ? runBatch<C128, C128, C128> : nullptr;
  case Bool:
    return in == Bool ? runBatch<uint32_t, Bool8, Bool8> : nullptr;
  case Int8:
  case UInt8:
    // Sums of 16 bits are enough, but for the instructions with 32-bit ones.
    return in != out ? nullptr
           : narrowUnit() == NarrowUnit::None
               ? runBatch<uint16_t, uint8_t, uint8_t>
               : runBatch<uint32_t, uint8_t, uint8_t>;
  case Int16:
  case UInt16:
    return in == out ? runBatch<uint16_t, uint16_t, uint16_t> : nullptr;
  case Int32:
  case UInt32:
    return in == out     ? runBatch<uint32_t, uint32_t, uint32_t>
           : in == Int8  ? runBatch<uint32_t, int8_t, uint32_t>
           : in == UInt8 ? runBatch<uint32_t, uint8_t, uint32_t>
                         : nullptr;
  case Int64:
  case UInt64:
    return in == out ? runBatch<uint64_t, uint64_t, uint64_t> : nullptr;
  default:
    return nullptr;
  }
}

struct Bytes16 {
  uint64_t parts[2];
};

/// copyOperand by element size.
void copyBytes(int64_t itemBytes, void *to, const void *from, const Dims &batch,
               int inBatch, const Dims &rows, int inRows, const Dims &cols,
               int inCols, bool gather) {
  auto *copy = itemBytes == 1   ? copyOperand<uint8_t>
               : itemBytes == 2 ? copyOperand<uint16_t>
               : itemBytes == 4 ? copyOperand<uint32_t>
               : itemBytes == 8 ? copyOperand<uint64_t>
                                : copyOperand<Bytes16>;
  copy(to, from, batch, inBatch, rows, inRows, cols, inCols, gather);
}

/// Dense batch strides rows * cols, for a packed copy of an operand.
void denseBatch(Dims &batch, int which, int64_t matrix) {
  for (int i = batch.count - 1; i >= 0; --i) {
    batch.stride[which][i] = matrix;
    matrix *= batch.size[i];
  }
}

void zeroOutput(const LingonBuffer &out, int dim, char *at, int64_t item) {
  if (dim == out.rank) {
    memset(at, 0, size_t(item));
    return;
  }
  for (int64_t i = 0; i < out.shape[dim]; ++i)
    zeroOutput(out, dim + 1, at + i * out.strides[dim] * item, item);
}

/// A function over ranges of iterations, each for an equal part of the output.
struct Callback {
  void (*function)(void *, int64_t, int64_t) = nullptr;
  void *context = nullptr;
  int64_t iterations = 0, grain = 1;

  /// For the whole output.
  void all() const {
    if (function && iterations <= grain)
      function(context, 0, iterations);
    else if (function)
      lingon_rt_parallel_for(function, context, iterations, grain);
  }
};

/// Bytes of a part of the output that are to be in the cache when it is handed
/// on, and the fewest rows of a part: its thread packs all of B.
constexpr int64_t PartBytes = 1 << 19, PartRows = 64, ManyRows = 240;

/// The product by rows, of which each part is handed on when it is done; false
/// if that does not pay.
bool productByRows(const Problem &p, BatchFn product, const Callback &then,
                   int64_t inBytes, int64_t outBytes) {
  const int64_t threads = lingon_rt_num_threads(), rows = p.batch * p.m;
  if (p.m * p.n * p.k * p.batch < SerialWork ||
      (rows % then.iterations && then.iterations % rows))
    return false;
  // Parts are whole iterations, and whole tiles.
  const int64_t unit = maxOf<int64_t>(1, rows / then.iterations);
  int64_t part = (p.m + threads - 1) / threads;
  if (p.batch > 1) {
    if (p.batch < threads || p.m % unit)
      return false;
    part = p.m;
  } else {
    while (part * p.n * outBytes > PartBytes && part >= 2 * ManyRows)
      part = (part + 1) / 2;
    part = roundUp(part, unit == 1 ? TileRows : unit);
    if (part < PartRows && part < p.m)
      return false;
  }
  const int64_t perMatrix = (p.m + part - 1) / part;
  if (p.batch == 1 && p.k * p.n * inBytes > CachedBytes) {
    // What a thread packs more than by the best grid is to be less than what
    // it would read and write again (measured: 7 to 20 % slower otherwise).
    int64_t gridRows = 1, gridCols = 1;
    chooseGrid(p.m, p.n, threads, gridRows, gridCols);
    int64_t grid = p.k * p.n / gridCols + p.m * p.k / gridRows;
    int64_t byRows = p.k * p.n * perMatrix / threads + p.m * p.k / threads;
    if (2 * (byRows - grid) > p.m * p.n / threads)
      return false;
  }
  parallelFor(p.batch * perMatrix, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t matrix = i / perMatrix, first = i % perMatrix * part;
      Problem q = p;
      q.batch = 1;
      q.serial = true;
      q.m = minOf(part, p.m - first);
      q.a = static_cast<const char *>(p.a) +
            (p.batchDims.offset(0, matrix) + first * p.am) * inBytes;
      q.b = static_cast<const char *>(p.b) +
            p.batchDims.offset(1, matrix) * inBytes;
      q.c = static_cast<char *>(p.c) +
            (p.batchDims.offset(2, matrix) + first * p.cm) * outBytes;
      product(q);
      int64_t row = matrix * p.m + first;
      then.function(then.context, row * then.iterations / rows,
                    (row + q.m) * then.iterations / rows);
    }
  });
  return true;
}

void dotGeneral(const LingonBuffer *bufs, int64_t nbufs, const int64_t *config,
                int64_t) {
  const LingonBuffer &lhs = bufs[0], &rhs = bufs[1], &out = bufs[nbufs - 1];
  Callback then;
  if (nbufs == 5) {
    memcpy(&then.function, &bufs[2].data, sizeof(void *));
    then.context = bufs[3].data;
    then.iterations = bufs[2].shape[0];
    then.grain = bufs[3].shape[0];
  }
  int64_t nb = config[0], nk = config[1];
  const int64_t *lhsBatch = config + 2, *rhsBatch = lhsBatch + nb;
  const int64_t *lhsDepth = rhsBatch + nb, *rhsDepth = lhsDepth + nk;

  Problem p;
  Dims rows, cols,
      depth; // rows: (lhs, out), cols: (rhs, out), depth: (lhs, rhs)
  int64_t at = 0;
  for (int64_t i = 0; i < nb; ++i, ++at) {
    p.batchDims.add(out.shape[at], lhs.strides[lhsBatch[i]],
                    rhs.strides[rhsBatch[i]], out.strides[at]);
  }
  for (int64_t i = 0; i < nk; ++i) {
    depth.add(lhs.shape[lhsDepth[i]], lhs.strides[lhsDepth[i]],
              rhs.strides[rhsDepth[i]]);
  }
  const int64_t *lhsFree = rhsDepth + nk;
  const int64_t *rhsFree = lhsFree + (lhs.rank - nb - nk);
  for (const int64_t *d = lhsFree; d != rhsFree; ++d, ++at)
    rows.add(lhs.shape[*d], lhs.strides[*d], out.strides[at]);
  for (const int64_t *d = rhsFree; at < out.rank; ++d, ++at)
    cols.add(rhs.shape[*d], rhs.strides[*d], out.strides[at]);
  depth.sort();
  p.m = rows.total();
  p.n = cols.total();
  p.k = depth.total();
  p.batch = p.batchDims.total();
  if (p.m == 0 || p.n == 0 || p.batch == 0)
    return;
  if (p.k == 0) {
    zeroOutput(out, 0, static_cast<char *>(out.data), itemSize(out.dtype));
    return then.all();
  }

  BatchFn product =
      lhs.dtype == rhs.dtype ? productFor(lhs.dtype, out.dtype) : nullptr;
  if (!product)
    return lingon_rt_set_error("dot_general: no kernel for these dtypes");
  bool lhsFits = rows.collapses(0, p.am) & depth.collapses(0, p.ak);
  bool rhsFits = cols.collapses(0, p.bn) & depth.collapses(1, p.bk);
  bool outFits = rows.collapses(1, p.cm) & cols.collapses(1, p.cn);
  const Dims batch = p.batchDims;
  const int64_t inBytes = itemSize(lhs.dtype), outBytes = itemSize(out.dtype);
  Scratch<char> a(lhsFits ? 0 : p.batch * p.m * p.k * inBytes);
  Scratch<char> b(rhsFits ? 0 : p.batch * p.k * p.n * inBytes);
  Scratch<char> c(outFits ? 0 : p.batch * p.m * p.n * outBytes);
  p.a = lhs.data;
  p.b = rhs.data;
  p.c = out.data;
  if (!lhsFits) {
    copyBytes(inBytes, a, lhs.data, batch, 0, rows, 0, depth, 0, true);
    denseBatch(p.batchDims, 0, p.m * p.k);
    p.a = a;
    p.am = p.k;
    p.ak = 1;
  }
  if (!rhsFits) {
    copyBytes(inBytes, b, rhs.data, batch, 1, depth, 1, cols, 0, true);
    denseBatch(p.batchDims, 1, p.k * p.n);
    p.b = b;
    p.bk = p.n;
    p.bn = 1;
  }
  if (!outFits) {
    denseBatch(p.batchDims, 2, p.m * p.n);
    p.c = c;
    p.cm = p.n;
    p.cn = 1;
  }
  if (then.function && outFits &&
      productByRows(p, product, then, inBytes, outBytes))
    return;
  product(p);
  if (!outFits)
    copyBytes(outBytes, out.data, c, batch, 2, rows, 1, cols, 1, false);
  then.all();
}

/// Which instructions multiply narrow types: 0 the common ones, 1 dot products
/// of AVX-512, 2 tiles of AMX.
void matrixUnit(const LingonBuffer *bufs, int64_t, const int64_t *, int64_t) {
  *static_cast<int64_t *>(bufs[0].data) = int64_t(narrowUnit());
}

} // namespace
} // namespace lingon

LINGON_KERNEL(matrix_unit, lingon::matrixUnit)
LINGON_KERNEL_WITH_BLAS(dot_general, lingon::dotGeneral, lingon::PreferBlas)
