//===- collectives.cpp - Operations between the devices of a program ------===//
//
// Every config ends with [n, group of each of n positions, rank of each in its
// group]; before that
//   axis_index:      nothing; instead of the groups one number per position
//   all_reduce:      site, operation (0 sum, 1 maximum, 2 minimum)
//   all_gather:      site, size before the gathered dimension
//   reduce_scatter:  site, size before the scattered dimension
//   all_to_all:      site, split dimension, concatenated dimension
//   permute:         site; after the groups, for each position the rank that it
//                    gets its value from, or -1 for zeros
// One input, one output; axis_index has only the output.
//
// Results do not depend on the timing: sums are taken in order of rank. In
// all_reduce each device computes a part of the result for all.
//
//===----------------------------------------------------------------------===//
#include "convert.h"

#include "../rendezvous_abi.h"

namespace lingon {
namespace {

enum Operation { Sum, Maximum, Minimum };

int64_t countOf(const LingonBuffer &buf) {
  int64_t n = 1;
  for (int64_t d = 0; d < buf.rank; ++d)
    n *= buf.shape[d];
  return n;
}

bool isDense(const LingonBuffer &buf) {
  int64_t stride = 1;
  for (int64_t d = buf.rank - 1; d >= 0; --d) {
    if (buf.shape[d] != 1 && buf.strides[d] != stride)
      return false;
    stride *= buf.shape[d];
  }
  return true;
}

/// Copies between buffers of one shape, whatever their strides.
void copyStrided(const LingonBuffer &to, const LingonBuffer &from) {
  int64_t itemBytes = itemSize(to.dtype), n = countOf(to);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, toOffset = 0, fromOffset = 0;
    for (int64_t d = to.rank - 1; d >= 0; --d) {
      int64_t index = rest % to.shape[d];
      rest /= to.shape[d];
      toOffset += index * to.strides[d];
      fromOffset += index * from.strides[d];
    }
    memcpy(static_cast<char *>(to.data) + toOffset * itemBytes,
           static_cast<const char *>(from.data) + fromOffset * itemBytes,
           size_t(itemBytes));
  }
}

constexpr int64_t maxRank = 64;

/// The operands of a collective as dense arrays; what is not dense already has
/// a dense copy for the while.
class Operands {
public:
  explicit Operands(const LingonBuffer *bufs) : given(bufs) {
    for (int i = 0; i < 2; ++i) {
      dense[i] = bufs[i];
      if (isDense(bufs[i]))
        continue;
      int64_t stride = 1;
      for (int64_t d = bufs[i].rank - 1; d >= 0; --d) {
        strides[i][d] = stride;
        stride *= bufs[i].shape[d];
      }
      copy[i] = lingon_rt_alloc(
          size_t(maxOf<int64_t>(stride * itemSize(bufs[i].dtype), 1)));
      dense[i].data = copy[i];
      dense[i].strides = strides[i];
    }
    if (copy[0])
      copyStrided(dense[0], bufs[0]);
  }

  void finish() {
    if (copy[1])
      copyStrided(given[1], dense[1]);
    for (void *block : copy)
      lingon_rt_free(block);
  }

  LingonBuffer dense[2];

private:
  const LingonBuffer *given;
  void *copy[2] = {nullptr, nullptr};
  int64_t strides[2][maxRank];
};

/// The devices of a collective, met.
class Meeting {
public:
  /// `layout` is the part of the config from the number of positions on.
  Meeting(const LingonBuffer *bufs, int64_t site, const int64_t *layout,
          const LingonNeeds *needs = nullptr)
      : operands(bufs) {
    const LingonBuffer &in = operands.dense[0];
    lingon_rt_meet(&meeting, operands.dense, countOf(in) * itemSize(in.dtype),
                   site, layout + 1, layout + 1 + layout[0], layout[0], needs);
  }
  void finish() {
    lingon_rt_part(&meeting);
    operands.finish();
  }
  int64_t rank() const { return meeting.rank; }
  int64_t size() const { return meeting.size; }
  const LingonBuffer &input(int64_t rank) const {
    return meeting.operands[rank][0];
  }
  /// Of another device: only if `sharesOutputs`.
  const LingonBuffer &output(int64_t rank) const {
    return rank == meeting.rank ? operands.dense[1] : meeting.operands[rank][1];
  }
  bool sharesOutputs() const { return !meeting.copied; }
  template <class T> const T *in(int64_t rank) const {
    return static_cast<const T *>(input(rank).data);
  }
  template <class T> T *out(int64_t rank) const {
    return static_cast<T *>(output(rank).data);
  }
  const LingonBuffer &ownInput() const { return operands.dense[0]; }
  const LingonBuffer &ownOutput() const { return operands.dense[1]; }
  /// All inputs combined, or null.
  template <class T> const T *combined() const {
    return static_cast<const T *>(meeting.combined);
  }

private:
  Operands operands;
  LingonMeeting meeting;
};

inline C64 add(C64 x, C64 y) { return {x.re + y.re, x.im + y.im}; }
inline C128 add(C128 x, C128 y) { return {x.re + y.re, x.im + y.im}; }
template <class W> W add(W x, W y) { return W(x + y); }

/// A NaN wins.
template <class W> W larger(W x, W y) { return x > y || x != x ? x : y; }
template <class W> W smaller(W x, W y) { return x < y || x != x ? x : y; }

template <class W, int Op> inline W combine(W x, W y) {
  if constexpr (Op == Sum)
    return add(x, y);
  else if constexpr (Op == Maximum)
    return larger(x, y);
  else
    return smaller(x, y);
}

constexpr int64_t blockSize = 1024;

/// to[i] = combination over r < size of in(r)[i].
template <class T, int Op, class Inputs>
void reduceInputs(Inputs in, int64_t size, int64_t n, T *to) {
  using W = decltype(decode(T()));
  W total[blockSize];
  for (int64_t start = 0; start < n; start += blockSize) {
    int64_t count = minOf(blockSize, n - start);
    const T *first = in(0) + start;
    for (int64_t i = 0; i < count; ++i)
      total[i] = decode(first[i]);
    for (int64_t r = 1; r < size; ++r) {
      const T *from = in(r) + start;
      for (int64_t i = 0; i < count; ++i)
        total[i] = combine<W, Op>(total[i], decode(from[i]));
    }
    for (int64_t i = 0; i < count; ++i)
      to[start + i] = Encode<T>::apply(total[i]);
  }
}

/// to[i] = combination over the members of in(member)[begin + i].
template <class T, int Op>
void reduceRange(const Meeting &m, int64_t begin, int64_t n, T *to) {
  reduceInputs<T, Op>([&](int64_t r) { return m.in<T>(r) + begin; }, m.size(),
                      n, to);
}

/// Sets how the operands of other processes are combined.
template <class T, int Op> struct Combining {
  static void run(LingonCombine &combine) {
    combine.itemBytes = sizeof(T);
    combine.fn = [](const void *const *inputs, int64_t count, int64_t items,
                    void *to) {
      reduceInputs<T, Op>(
          [&](int64_t r) { return static_cast<const T *>(inputs[r]); }, count,
          items, static_cast<T *>(to));
    };
  }
};

template <class T, int Op> struct AllReduce {
  static void run(const Meeting &m) {
    int64_t n = countOf(m.ownOutput());
    if (const T *combined = m.combined<T>()) {
      if (n)
        memcpy(static_cast<void *>(m.out<T>(m.rank())), combined,
               size_t(n) * sizeof(T));
      return;
    }
    if (!m.sharesOutputs()) {
      reduceRange<T, Op>(m, 0, n, m.out<T>(m.rank()));
      return;
    }
    // Pieces that do not share cache lines.
    int64_t line = 64 / int64_t(sizeof(T));
    int64_t piece = ((n + m.size() - 1) / m.size() + line - 1) / line * line;
    int64_t begin = minOf(n, m.rank() * piece);
    int64_t end = minOf(n, begin + piece);
    T *own = m.out<T>(m.rank());
    reduceRange<T, Op>(m, begin, end - begin, own + begin);
    for (int64_t r = 0; r < m.size(); ++r)
      if (r != m.rank() && end > begin)
        memcpy(static_cast<void *>(m.out<T>(r) + begin), own + begin,
               size_t(end - begin) * sizeof(T));
  }
};

template <class T, int Op> struct ReduceScatter {
  static void run(const Meeting &m, int64_t outer) {
    int64_t inner = countOf(m.ownOutput()) / maxOf<int64_t>(outer, 1);
    if (const T *combined = m.combined<T>()) {
      for (int64_t o = 0; inner && o < outer; ++o)
        memcpy(static_cast<void *>(m.out<T>(m.rank()) + o * inner),
               combined + (o * m.size() + m.rank()) * inner,
               size_t(inner) * sizeof(T));
      return;
    }
    for (int64_t o = 0; o < outer; ++o)
      reduceRange<T, Op>(m, (o * m.size() + m.rank()) * inner, inner,
                         m.out<T>(m.rank()) + o * inner);
  }
};

template <template <class, int> class Run, int Op, class... Arguments>
void forDType(int32_t dtype, Arguments &&...arguments) {
  switch (dtype) {
  case Bool:
    if constexpr (Op != Sum)
      return Run<Bool8, Op>::run(arguments...);
    break;
  case Int4:
  case Int8:
    return Run<int8_t, Op>::run(arguments...);
  case Int16:
    return Run<int16_t, Op>::run(arguments...);
  case Int32:
    return Run<int32_t, Op>::run(arguments...);
  case Int64:
    return Run<int64_t, Op>::run(arguments...);
  case UInt4:
  case UInt8:
    return Run<uint8_t, Op>::run(arguments...);
  case UInt16:
    return Run<uint16_t, Op>::run(arguments...);
  case UInt32:
    return Run<uint32_t, Op>::run(arguments...);
  case UInt64:
    return Run<uint64_t, Op>::run(arguments...);
  case Float16:
    return Run<F16, Op>::run(arguments...);
  case BFloat16:
    return Run<BF16, Op>::run(arguments...);
  case Float32:
    return Run<float, Op>::run(arguments...);
  case Float64:
    return Run<double, Op>::run(arguments...);
  case Complex64:
    if constexpr (Op == Sum)
      return Run<C64, Op>::run(arguments...);
    break;
  case Complex128:
    if constexpr (Op == Sum)
      return Run<C128, Op>::run(arguments...);
    break;
  default:
    break;
  }
  lingon_rt_set_error("a collective does not reduce this dtype");
}

void axisIndex(const LingonBuffer *bufs, int64_t, const int64_t *config,
               int64_t) {
  int64_t position = lingon_rt_device_position();
  if (position < 0 || position >= config[0]) {
    lingon_rt_set_error("axis_index outside of the devices of its mesh");
    position = 0;
  }
  *static_cast<int32_t *>(bufs[0].data) = int32_t(config[1 + position]);
}

/// What a reduction needs of other processes.
template <int Op> struct Reduction {
  explicit Reduction(int32_t dtype) {
    forDType<Combining, Op>(dtype, combine);
    if (combine.fn)
      needs.combine = &combine;
  }
  LingonCombine combine = {nullptr, 0};
  LingonNeeds needs = {nullptr, nullptr};
};

template <int Op>
void allReduceWith(const LingonBuffer *bufs, const int64_t *config) {
  Reduction<Op> reduction(bufs[0].dtype);
  Meeting m(bufs, config[0], config + 2, &reduction.needs);
  forDType<AllReduce, Op>(bufs[0].dtype, m);
  m.finish();
}

void allReduce(const LingonBuffer *bufs, int64_t, const int64_t *config,
               int64_t) {
  switch (config[1]) {
  case Sum:
    return allReduceWith<Sum>(bufs, config);
  case Maximum:
    return allReduceWith<Maximum>(bufs, config);
  default:
    return allReduceWith<Minimum>(bufs, config);
  }
}

void reduceScatter(const LingonBuffer *bufs, int64_t, const int64_t *config,
                   int64_t) {
  Reduction<Sum> reduction(bufs[0].dtype);
  Meeting m(bufs, config[0], config + 2, &reduction.needs);
  forDType<ReduceScatter, Sum>(bufs[0].dtype, m, config[1]);
  m.finish();
}

void allGather(const LingonBuffer *bufs, int64_t, const int64_t *config,
               int64_t) {
  Meeting m(bufs, config[0], config + 2);
  int64_t outer = maxOf<int64_t>(config[1], 1);
  int64_t bytes = countOf(m.ownInput()) / outer * itemSize(bufs[0].dtype);
  char *to = m.out<char>(m.rank());
  for (int64_t o = 0; bytes && o < config[1]; ++o)
    for (int64_t r = 0; r < m.size(); ++r)
      memcpy(to + (o * m.size() + r) * bytes, m.in<char>(r) + o * bytes,
             size_t(bytes));
  m.finish();
}

/// Seen as (a, s, b, c, d) with the split dimension s and the concatenated one
/// c, or the other way round: the part of s that is this device's goes to the
/// part of c that is the sender's.
void allToAll(const LingonBuffer *bufs, int64_t, const int64_t *config,
              int64_t) {
  Meeting m(bufs, config[0], config + 3);
  const LingonBuffer &to = m.ownOutput();
  int64_t split = config[1], concat = config[2], rank = to.rank;
  int64_t itemBytes = itemSize(to.dtype), size = m.size();
  // The block that each sender sends: its input with the split dimension cut.
  int64_t block[maxRank], n = 1, run = itemBytes, tail = rank;
  const LingonBuffer &from = m.ownInput();
  for (int64_t d = 0; d < rank; ++d) {
    block[d] = d == split ? from.shape[d] / size : from.shape[d];
    n *= block[d];
  }
  // Runs that are contiguous on both sides.
  while (tail > 0 && tail - 1 != split && tail - 1 != concat)
    run *= block[--tail];
  if (tail > 0)
    run *= block[--tail];
  int64_t runs = n == 0 ? 0 : n * itemBytes / run;
  for (int64_t r = 0; r < size; ++r) {
    const char *source = m.in<char>(r);
    for (int64_t i = 0; i < runs; ++i) {
      int64_t rest = i, index[maxRank];
      for (int64_t d = tail - 1; d >= 0; --d) {
        index[d] = rest % block[d];
        rest /= block[d];
      }
      int64_t fromOffset = 0, toOffset = 0;
      for (int64_t d = 0; d < rank; ++d) {
        int64_t at = d < tail ? index[d] : 0;
        int64_t fromAt = at + (d == split ? m.rank() * block[d] : 0);
        int64_t toAt = at + (d == concat ? r * block[d] : 0);
        fromOffset = fromOffset * from.shape[d] + fromAt;
        toOffset = toOffset * to.shape[d] + toAt;
      }
      memcpy(static_cast<char *>(to.data) + toOffset * itemBytes,
             source + fromOffset * itemBytes, size_t(run));
    }
  }
  m.finish();
}

void permute(const LingonBuffer *bufs, int64_t, const int64_t *config,
             int64_t) {
  int64_t n = config[1];
  LingonNeeds needs = {nullptr, config + 2 + 2 * n};
  Meeting m(bufs, config[0], config + 1, &needs);
  int64_t source = needs.sources[lingon_rt_device_position()];
  size_t bytes = size_t(countOf(m.ownOutput()) * itemSize(bufs[1].dtype));
  char *to = m.out<char>(m.rank());
  if (bytes && source < 0)
    memset(to, 0, bytes);
  else if (bytes)
    memcpy(to, m.in<char>(source), bytes);
  m.finish();
}

} // namespace
} // namespace lingon

LINGON_KERNEL(axis_index, lingon::axisIndex)
LINGON_KERNEL(all_reduce, lingon::allReduce)
LINGON_KERNEL(reduce_scatter, lingon::reduceScatter)
LINGON_KERNEL(all_gather, lingon::allGather)
LINGON_KERNEL(all_to_all, lingon::allToAll)
LINGON_KERNEL(permute, lingon::permute)
