//===- cumulative.cpp - Running sums, products, maxima, minima ------------===//
//
// config = [operation, axis, reverse], operation one of
//   0 sum, 1 product, 2 maximum, 3 minimum: one input;
//   4 linear recurrence: inputs a, b; y[i] = a[i] * y[i - 1] + b[i], y[-1] = 0.
// Dtypes: 32 and 64-bit integers, floats, complex.
// Sums are taken in blocks of a fixed size, so that the result does not depend
// on the number of threads. Maxima and minima propagate NaN.
//
//===----------------------------------------------------------------------===//
#include "convert.h"
#include "rows.h"

namespace lingon {
namespace {

enum Operation { Sum, Product, Maximum, Minimum, Recurrence };

inline C64 add(C64 x, C64 y) { return {x.re + y.re, x.im + y.im}; }
inline C128 add(C128 x, C128 y) { return {x.re + y.re, x.im + y.im}; }
inline C64 multiply(C64 x, C64 y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
inline C128 multiply(C128 x, C128 y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class W> W add(W x, W y) { return W(x + y); }
template <class W> W multiply(W x, W y) { return W(x * y); }

/// Lexicographic.
template <class W> bool less(W x, W y) { return x < y; }
inline bool less(C64 x, C64 y) {
  return x.re < y.re || (x.re == y.re && x.im < y.im);
}
inline bool less(C128 x, C128 y) {
  return x.re < y.re || (x.re == y.re && x.im < y.im);
}
template <class W> bool isNan(W) { return false; }
inline bool isNan(C64 x) { return x.re != x.re || x.im != x.im; }
inline bool isNan(C128 x) { return x.re != x.re || x.im != x.im; }

template <class W, int Op> inline W combine(W x, W y) {
  if constexpr (Op == Sum)
    return add(x, y);
  else if constexpr (Op == Product)
    return multiply(x, y);
  else if constexpr (Op == Maximum)
    return isNan(x) ? x : (isNan(y) || less(x, y)) ? y : x;
  else
    return isNan(x) ? x : (isNan(y) || less(y, x)) ? y : x;
}

/// The form in which elements are combined: themselves, but for maxima and
/// minima of floats, which are those of integers in the order of the floats
/// (-0 below +0), with NaN at the end that wins.
template <class T, int Op> struct Form {
  using W = T;
  static W load(T x) { return x; }
  static T store(W x) { return x; }
};
template <class T, class Bits, int Op> struct OrderedForm {
  using W = Bits;
  static constexpr int shift = 8 * int(sizeof(T)) - 1;
  static constexpr Bits magnitude = Bits(~(uint64_t(1) << shift));
  static constexpr Bits nan = Op == Maximum ? magnitude : Bits(~magnitude);
  static W load(T x) {
    Bits bits;
    memcpy(&bits, &x, sizeof x);
    Bits key = bits ^ ((bits >> shift) & magnitude);
    return x != x ? nan : key;
  }
  static T store(W key) {
    Bits bits = key ^ ((key >> shift) & magnitude);
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
};
template <>
struct Form<float, Maximum> : OrderedForm<float, int32_t, Maximum> {};
template <>
struct Form<float, Minimum> : OrderedForm<float, int32_t, Minimum> {};
template <>
struct Form<double, Maximum> : OrderedForm<double, int64_t, Maximum> {};
template <>
struct Form<double, Minimum> : OrderedForm<double, int64_t, Minimum> {};
template <class T, int Op> using WorkOf = typename Form<T, Op>::W;

constexpr int64_t Chunk = 256, Chains = 8, Block = Chunk * Chains;
/// Elements of a row that one task of a parallel scan takes.
constexpr int64_t Segment = 1 << 16;

/// Scans x[0, n) in place; returns its last element. n >= 1.
template <class W, int Op> W scanBlock(W *x, int64_t n) {
  if (n < Block) {
    for (int64_t i = 1; i < n; ++i)
      x[i] = combine<W, Op>(x[i - 1], x[i]);
    return x[n - 1];
  }
  // Independent chains hide the latency of the operation; afterwards each
  // chunk takes in the total of those before it.
  W total[Chains];
#pragma GCC unroll 8
  for (int c = 0; c < Chains; ++c)
    total[c] = x[c * Chunk];
  for (int64_t i = 1; i < Chunk; ++i)
#pragma GCC unroll 8
    for (int c = 0; c < Chains; ++c)
      x[c * Chunk + i] = total[c] = combine<W, Op>(total[c], x[c * Chunk + i]);
  W carry = total[0];
  for (int c = 1; c < Chains; ++c) {
    W *chunk = x + c * Chunk;
    for (int64_t i = 0; i < Chunk; ++i)
      chunk[i] = combine<W, Op>(carry, chunk[i]);
    carry = chunk[Chunk - 1];
  }
  return carry;
}

/// A scan of elements [begin, end) of a row in scan order, which is from the
/// last element back when the steps are negative. `carry` is what comes before,
/// if `carried`.
template <class T, int Op>
void scanRange(const T *in, int64_t inStep, T *out, int64_t outStep,
               int64_t begin, int64_t end, bool carried, WorkOf<T, Op> carry) {
  using W = WorkOf<T, Op>;
  W buffer[Block];
  for (int64_t i = begin; i < end; i += Block) {
    int64_t n = minOf(Block, end - i);
    const T *from = in + i * inStep;
    for (int64_t j = 0; j < n; ++j)
      buffer[j] = Form<T, Op>::load(from[j * inStep]);
    W total = scanBlock<W, Op>(buffer, n);
    T *to = out + i * outStep;
    if (carried) {
      for (int64_t j = 0; j < n; ++j)
        to[j * outStep] = Form<T, Op>::store(combine<W, Op>(carry, buffer[j]));
      carry = combine<W, Op>(carry, total);
    } else {
      for (int64_t j = 0; j < n; ++j)
        to[j * outStep] = Form<T, Op>::store(buffer[j]);
      carry = total;
    }
    carried = true;
  }
}

constexpr int64_t SideBySide = 4;

/// Scans of whole rows of `n` elements side by side, which hides the latency of
/// the operation.
template <class T, int Op>
void scanRows(const T *const (&in)[SideBySide], int64_t inStep,
              T *const (&out)[SideBySide], int64_t outStep, int64_t n) {
  WorkOf<T, Op> total[SideBySide];
#pragma GCC unroll 4
  for (int c = 0; c < SideBySide; ++c) {
    total[c] = Form<T, Op>::load(in[c][0]);
    out[c][0] = Form<T, Op>::store(total[c]);
  }
  int64_t i = 0, j = 0;
  for (int64_t k = 1; k < n; ++k) {
    i += inStep;
    j += outStep;
#pragma GCC unroll 4
    for (int c = 0; c < SideBySide; ++c) {
      total[c] =
          combine<WorkOf<T, Op>, Op>(total[c], Form<T, Op>::load(in[c][i]));
      out[c][j] = Form<T, Op>::store(total[c]);
    }
  }
}

/// What the elements [begin, end) of a row combine to; at least `Chains`.
template <class T, int Op>
WorkOf<T, Op> reduceRange(const T *in, int64_t inStep, int64_t begin,
                          int64_t end) {
  using W = WorkOf<T, Op>;
  W total[Chains];
  int64_t i = begin;
  for (int c = 0; c < Chains; ++c)
    total[c] = Form<T, Op>::load(in[(i + c) * inStep]);
  for (i += Chains; i + Chains <= end; i += Chains)
#pragma GCC unroll 8
    for (int c = 0; c < Chains; ++c)
      total[c] =
          combine<W, Op>(total[c], Form<T, Op>::load(in[(i + c) * inStep]));
  W result = total[0];
  for (int c = 1; c < Chains; ++c)
    result = combine<W, Op>(result, total[c]);
  for (; i < end; ++i)
    result = combine<W, Op>(result, Form<T, Op>::load(in[i * inStep]));
  return result;
}

/// One long row: totals of the segments, their scan, then the segments. The
/// same on one thread, so that rounding does not depend on their number.
template <class T, int Op>
void scanSegments(const T *in, int64_t inStep, T *out, int64_t outStep,
                  int64_t n) {
  using W = WorkOf<T, Op>;
  const int64_t segments = (n + Segment - 1) / Segment;
  Scratch<W> storage(segments);
  W *totals = storage;
  parallelFor(segments - 1, 1, [=](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      totals[s] =
          reduceRange<T, Op>(in, inStep, s * Segment, (s + 1) * Segment);
  });
  for (int64_t s = 1; s + 1 < segments; ++s)
    totals[s] = combine<W, Op>(totals[s - 1], totals[s]);
  parallelFor(segments, 1, [=](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      scanRange<T, Op>(in, inStep, out, outStep, s * Segment,
                       minOf(n, (s + 1) * Segment), s > 0,
                       s > 0 ? totals[s - 1] : W{});
  });
}

/// Columns [0, width) of a scan over `n` rows: vectorises along the columns.
template <class T, int Op>
void scanColumns(const T *in, int64_t inStep, T *out, int64_t outStep,
                 int64_t n, int64_t width) {
  using W = WorkOf<T, Op>;
  constexpr int64_t Columns = 512;
  W carry[Columns];
  for (int64_t first = 0; first < width; first += Columns) {
    const int64_t cols = minOf(Columns, width - first);
    const T *from = in + first;
    T *to = out + first;
    for (int64_t j = 0; j < cols; ++j) {
      carry[j] = Form<T, Op>::load(from[j]);
      to[j] = from[j];
    }
    for (int64_t i = 1; i < n; ++i) {
      from += inStep;
      to += outStep;
      for (int64_t j = 0; j < cols; ++j) {
        carry[j] = combine<W, Op>(carry[j], Form<T, Op>::load(from[j]));
        to[j] = Form<T, Op>::store(carry[j]);
      }
    }
  }
}

/// The dimension other than `axis` along which both buffers are contiguous, of
/// at least eight elements, or -1.
int64_t contiguousDim(const LingonBuffer &in, const LingonBuffer &out,
                      int64_t axis) {
  for (int64_t d = in.rank - 1; d >= 0; --d)
    if (d != axis && in.strides[d] == 1 && out.strides[d] == 1 &&
        in.shape[d] >= 8)
      return d;
  return -1;
}

template <class T, int Op>
void scanAs(const LingonBuffer &in, const LingonBuffer &out, int64_t axis,
            bool reverse) {
  const int64_t n = in.shape[axis];
  const int64_t sign = reverse ? -1 : 1, start = reverse ? n - 1 : 0;
  const int64_t inStep = sign * in.strides[axis];
  const int64_t outStep = sign * out.strides[axis];
  const int64_t inStart = start * in.strides[axis];
  const int64_t outStart = start * out.strides[axis];
  Rows from(in, axis), to(out, axis);
  const int64_t vector = contiguousDim(in, out, axis);
  if (vector >= 0) {
    // Rows whose other indices agree are scanned side by side, in parts.
    const int64_t width = in.shape[vector];
    const int64_t parts = maxOf<int64_t>(1, width / 256);
    const int64_t part = (width + parts - 1) / parts;
    int64_t shape[64];
    for (int64_t d = 0; d < in.rank; ++d)
      shape[d] = d == vector ? 1 : in.shape[d];
    const LingonBuffer inOne = {in.data, in.rank, shape, in.strides, in.dtype};
    const LingonBuffer outOne = {out.data, out.rank, shape, out.strides,
                                 out.dtype};
    Rows fromOne(inOne, axis), toOne(outOne, axis);
    parallelFor(
        fromOne.count() * parts, maxOf<int64_t>(1, Segment / (n * part)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t first = i % parts * part;
            if (first >= width)
              continue;
            const T *x = reinterpret_cast<const T *>(fromOne.row(i / parts));
            T *y = reinterpret_cast<T *>(toOne.row(i / parts));
            scanColumns<T, Op>(x + inStart + first, inStep,
                               y + outStart + first, outStep, n,
                               minOf(part, width - first));
          }
        });
    return;
  }
  auto input = [&](int64_t r) {
    return reinterpret_cast<const T *>(from.row(r)) + inStart;
  };
  auto output = [&](int64_t r) {
    return reinterpret_cast<T *>(to.row(r)) + outStart;
  };
  if (n >= 2 * Segment) {
    for (int64_t r = 0, rows = from.count(); r < rows; ++r)
      scanSegments<T, Op>(input(r), inStep, output(r), outStep, n);
    return;
  }
  auto scan = [&](int64_t begin, int64_t end) {
    int64_t r = begin;
    for (; n < Block && r + SideBySide <= end; r += SideBySide)
      scanRows<T, Op>(
          {input(r), input(r + 1), input(r + 2), input(r + 3)}, inStep,
          {output(r), output(r + 1), output(r + 2), output(r + 3)}, outStep, n);
    for (; r < end; ++r)
      scanRange<T, Op>(input(r), inStep, output(r), outStep, 0, n, false,
                       WorkOf<T, Op>{});
  };
  parallelFor(from.count(), maxOf<int64_t>(1, Segment / n), scan);
}

/// y[i] = a[i] * y[i - 1] + b[i], row by row.
template <class T>
void recurrence(const LingonBuffer &a, const LingonBuffer &b,
                const LingonBuffer &out, int64_t axis, bool reverse) {
  const int64_t n = a.shape[axis];
  Rows factors(a, axis), terms(b, axis), to(out, axis);
  parallelFor(to.count(), maxOf<int64_t>(1, Segment / n),
              [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  const T *f = reinterpret_cast<const T *>(factors.row(r));
                  const T *t = reinterpret_cast<const T *>(terms.row(r));
                  T *y = reinterpret_cast<T *>(to.row(r));
                  T state = T{};
                  for (int64_t k = 0; k < n; ++k) {
                    int64_t i = reverse ? n - 1 - k : k;
                    T term = t[i * terms.stride()];
                    state = k == 0
                                ? term
                                : add(multiply(f[i * factors.stride()], state),
                                      term);
                    y[i * to.stride()] = state;
                  }
                }
              });
}

/// T for maxima and minima; U, of the same size, for sums and products, which
/// in integers wrap.
template <class T, class U>
void run(const LingonBuffer *bufs, int64_t operation, int64_t axis,
         bool reverse) {
  switch (operation) {
  case Sum:
    return scanAs<U, Sum>(bufs[0], bufs[1], axis, reverse);
  case Product:
    return scanAs<U, Product>(bufs[0], bufs[1], axis, reverse);
  case Maximum:
    return scanAs<T, Maximum>(bufs[0], bufs[1], axis, reverse);
  case Minimum:
    return scanAs<T, Minimum>(bufs[0], bufs[1], axis, reverse);
  default:
    return recurrence<U>(bufs[0], bufs[1], bufs[2], axis, reverse);
  }
}

void cumulative(const LingonBuffer *bufs, int64_t, const int64_t *config,
                int64_t) {
  const int64_t operation = config[0], axis = config[1];
  const bool reverse = config[2] != 0;
  for (int64_t d = 0; d < bufs[0].rank; ++d)
    if (bufs[0].shape[d] == 0)
      return;
  switch (bufs[0].dtype) {
  case Int32:
    return run<int32_t, uint32_t>(bufs, operation, axis, reverse);
  case UInt32:
    return run<uint32_t, uint32_t>(bufs, operation, axis, reverse);
  case Int64:
    return run<int64_t, uint64_t>(bufs, operation, axis, reverse);
  case UInt64:
    return run<uint64_t, uint64_t>(bufs, operation, axis, reverse);
  case Float32:
    return run<float, float>(bufs, operation, axis, reverse);
  case Float64:
    return run<double, double>(bufs, operation, axis, reverse);
  case Complex64:
    return run<C64, C64>(bufs, operation, axis, reverse);
  case Complex128:
    return run<C128, C128>(bufs, operation, axis, reverse);
  default:
    return lingon_rt_set_error("cumulative: no kernel for this dtype");
  }
}

} // namespace
} // namespace lingon

LINGON_KERNEL(cumulative, lingon::cumulative)
