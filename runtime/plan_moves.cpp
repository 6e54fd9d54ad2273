//===- plan_moves.cpp - functions of plans that are no loops --------------===//
//
// Gathers and scatters, positions of extrema, and the threefry generator. The
// integers of each are listed above it; strides are in bytes.
//
//===----------------------------------------------------------------------===//
#include "plan.h"

#include <cstring>

namespace lingon {
namespace {

template <class T> T load(const char *at) {
  T value;
  memcpy(&value, at, sizeof(T));
  return value;
}
template <class T> void store(char *at, T value) {
  memcpy(at, &value, sizeof(T));
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

/// [itemsize, mode, nb, K, R, then
///  nb: batch shape, its strides in the windowed array and in the whole one,
///  K: dimensions that the indices give starts of,
///  R: shape and strides of the whole array, window shape, its strides in the
///     windowed array,
///  2: the bits of the fill value; scatter: the operation]
/// mode 0: starts are moved inside; 1: windows that stick out are skipped.
struct Windows {
  int64_t itemsize, mode, nb, numStarts, rank;
  const int64_t *batchShape, *batchStrides, *batchWhole, *map, *shape, *strides,
      *window, *windowStrides, *rest;

  explicit Windows(const int64_t *c)
      : itemsize(c[0]), mode(c[1]), nb(c[2]), numStarts(c[3]), rank(c[4]) {
    batchShape = c + 5;
    batchStrides = batchShape + nb;
    batchWhole = batchStrides + nb;
    map = batchWhole + nb;
    shape = map + numStarts;
    strides = shape + rank;
    window = strides + rank;
    windowStrides = window + rank;
    rest = windowStrides + rank;
  }

  /// Calls each(start in the whole array or -1, start in the windowed array).
  template <class Each> void forEach(const int64_t *indices, Each each) const {
    int64_t count = 1, index[64] = {}, at = 0, base = 0;
    for (int64_t d = 0; d < nb; ++d)
      count *= batchShape[d];
    for (int64_t b = 0; b < count; ++b, indices += numStarts) {
      int64_t from = base;
      bool inside = true;
      for (int64_t k = 0; k < numStarts; ++k) {
        int64_t d = map[k], start = indices[k], last = shape[d] - window[d];
        if (start < 0 || start > last) {
          inside = false;
          start = start < 0 ? 0 : last;
        }
        from += start * strides[d];
      }
      each(inside || mode == 0 ? from : int64_t(-1), at);
      for (int64_t d = nb; d-- > 0;) {
        at += batchStrides[d];
        base += batchWhole[d];
        if (++index[d] < batchShape[d])
          break;
        at -= batchStrides[d] * batchShape[d];
        base -= batchWhole[d] * batchShape[d];
        index[d] = 0;
      }
    }
  }

  /// Calls each(offset in the whole array, offset in the windowed array).
  /// Whether every window is one element.
  bool single() const {
    for (int64_t d = 0; d < rank; ++d)
      if (window[d] != 1)
        return false;
    return true;
  }

  template <class Each>
  void forElements(int64_t whole, int64_t windowed, int64_t d,
                   Each &each) const {
    if (d == rank) {
      each(whole, windowed);
      return;
    }
    for (int64_t i = 0; i < window[d]; ++i)
      forElements(whole + i * strides[d], windowed + i * windowStrides[d],
                  d + 1, each);
  }
};

template <size_t size> void gatherSingle(const Windows &w, char **operands) {
  const char *from = operands[0];
  char *to = operands[2];
  w.forEach(reinterpret_cast<const int64_t *>(operands[1]),
            [&](int64_t start, int64_t at) {
              const void *source =
                  start >= 0 ? static_cast<const void *>(from + start) : w.rest;
              memcpy(to + at, source, size);
            });
}

/// (operand, indices as int64, out)
void gather(char **operands, const int64_t *config) {
  Windows w(config);
  const char *from = operands[0];
  char *to = operands[2];
  if (w.single() && w.itemsize == 4)
    return gatherSingle<4>(w, operands);
  if (w.single() && w.itemsize == 8)
    return gatherSingle<8>(w, operands);
  w.forEach(reinterpret_cast<const int64_t *>(operands[1]),
            [&](int64_t start, int64_t at) {
              if (start >= 0) {
                auto copy = [&](int64_t a, int64_t b) {
                  memcpy(to + b, from + a, size_t(w.itemsize));
                };
                w.forElements(start, at, 0, copy);
              } else {
                auto fill = [&](int64_t, int64_t b) {
                  memcpy(to + b, w.rest, size_t(w.itemsize));
                };
                w.forElements(0, at, 0, fill);
              }
            });
}
PlanMove registerGather("gather", gather);

/// Calls combine(element of the result, of the updates) for each that is within
/// bounds; the operands are (indices as int64, updates, out, which holds the
/// operand).
template <class Combine>
void forEachUpdate(char **operands, const int64_t *config, Combine combine) {
  Windows w(config);
  const char *from = operands[1];
  char *to = operands[2];
  w.forEach(reinterpret_cast<const int64_t *>(operands[0]),
            [&](int64_t start, int64_t at) {
              if (start < 0)
                return;
              auto one = [&](int64_t a, int64_t b) {
                combine(to + a, from + b, w.itemsize);
              };
              w.forElements(start, at, 0, one);
            });
}

void scatter(char **operands, const int64_t *config) {
  forEachUpdate(operands, config,
                [](char *to, const char *from, int64_t itemsize) {
                  memcpy(to, from, size_t(itemsize));
                });
}
PlanMove registerScatter("scatter", scatter);

struct Add {
  template <class T> static T apply(T a, T b) { return a + b; }
};
struct Mul {
  template <class T> static T apply(T a, T b) { return a * b; }
};

template <class F, class T>
void scatterWith(char **operands, const int64_t *config) {
  forEachUpdate(operands, config, [](char *to, const char *from, int64_t) {
    store<T>(to, F::apply(load<T>(to), load<T>(from)));
  });
}
PlanMove addF32("scatter_add_float32", scatterWith<Add, float>),
    addF64("scatter_add_float64", scatterWith<Add, double>),
    addI32("scatter_add_int32", scatterWith<Add, uint32_t>),
    addI64("scatter_add_int64", scatterWith<Add, uint64_t>),
    addU32("scatter_add_uint32", scatterWith<Add, uint32_t>),
    mulF32("scatter_mul_float32", scatterWith<Mul, float>),
    mulF64("scatter_mul_float64", scatterWith<Mul, double>),
    mulI32("scatter_mul_int32", scatterWith<Mul, uint32_t>);

//===----------------------------------------------------------------------===//
// Positions of extrema
//===----------------------------------------------------------------------===//

/// [outer, n, inner, size of the result's element]; (x, out), both dense.
template <class T, bool largest>
void argExtremum(char **operands, const int64_t *config) {
  int64_t outer = config[0], n = config[1], inner = config[2];
  const T *x = reinterpret_cast<const T *>(operands[0]);
  char *out = operands[1];
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t k = 0; k < inner; ++k) {
      const T *line = x + i * n * inner + k;
      int64_t best = 0;
      T value = line[0];
      for (int64_t j = 1; j < n && value == value; ++j) {
        T other = line[j * inner];
        if ((largest ? other > value : other < value) || other != other) {
          best = j;
          value = other;
        }
      }
      if (config[3] == 8)
        store<int64_t>(out, best);
      else
        store<int32_t>(out, int32_t(best));
      out += config[3];
    }
}
#define LINGON_ARG_EXTREMA(name, type)                                         \
  PlanMove argmax_##name("argmax_" #name, argExtremum<type, true>),            \
      argmin_##name("argmin_" #name, argExtremum<type, false>);
LINGON_ARG_EXTREMA(float32, float)
LINGON_ARG_EXTREMA(float64, double)
LINGON_ARG_EXTREMA(int32, int32_t)
LINGON_ARG_EXTREMA(int64, int64_t)
LINGON_ARG_EXTREMA(uint32, uint32_t)
LINGON_ARG_EXTREMA(uint8, uint8_t)
LINGON_ARG_EXTREMA(bool, uint8_t)
#undef LINGON_ARG_EXTREMA

//===----------------------------------------------------------------------===//
// Running sums and products
//===----------------------------------------------------------------------===//

/// [outer, n, inner, 1 to start at the end]; (x, out), both dense.
template <class F, class T>
void running(char **operands, const int64_t *config) {
  int64_t outer = config[0], n = config[1], inner = config[2];
  const T *x = reinterpret_cast<const T *>(operands[0]);
  T *out = reinterpret_cast<T *>(operands[1]);
  for (int64_t i = 0; i < outer; ++i, x += n * inner, out += n * inner)
    for (int64_t k = 0; k < inner; ++k) {
      int64_t at = (config[3] ? n - 1 : 0) * inner + k;
      int64_t step = config[3] ? -inner : inner;
      T sum = x[at];
      out[at] = sum;
      for (int64_t j = 1; j < n; ++j) {
        at += step;
        sum = F::apply(sum, x[at]);
        out[at] = sum;
      }
    }
}
PlanMove sumF32("running_add_float32", running<Add, float>),
    sumF64("running_add_float64", running<Add, double>),
    sumI32("running_add_int32", running<Add, uint32_t>),
    sumI64("running_add_int64", running<Add, uint64_t>),
    productF32("running_multiply_float32", running<Mul, float>),
    productF64("running_multiply_float64", running<Mul, double>),
    productI32("running_multiply_int32", running<Mul, uint32_t>);

//===----------------------------------------------------------------------===//
// Threefry-2x32 with 20 rounds (Salmon et al., 2011)
//===----------------------------------------------------------------------===//

inline uint32_t rotate(uint32_t x, int by) {
  return (x << by) | (x >> (32 - by));
}

inline void threefry(const uint32_t key[2], uint32_t &a, uint32_t &b) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  a += keys[0];
  b += keys[1];
  for (int i = 0; i < 5; ++i) {
    for (int r : rotations[i % 2]) {
      a += b;
      b = a ^ rotate(b, r);
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + uint32_t(i + 1);
  }
}

/// [keys, bits for each key, bytes of one element]; (words, out): the two words
/// for each counter, xored or, for 64 bits, side by side.
void threefryBits(char **operands, const int64_t *config) {
  int64_t numKeys = config[0], n = config[1], size = config[2];
  char *out = operands[1];
  for (int64_t k = 0; k < numKeys; ++k) {
    uint32_t key[2];
    memcpy(key, operands[0] + 8 * k, 8);
    for (int64_t i = 0; i < n; ++i, out += size) {
      uint32_t a = uint32_t(uint64_t(i) >> 32), b = uint32_t(i);
      threefry(key, a, b);
      uint32_t mixed = a ^ b;
      switch (size) {
      case 1:
        store<uint8_t>(out, uint8_t(mixed));
        break;
      case 2:
        store<uint16_t>(out, uint16_t(mixed));
        break;
      case 4:
        store<uint32_t>(out, mixed);
        break;
      default:
        store<uint64_t>(out, (uint64_t(a) << 32) | b);
      }
    }
  }
}
PlanMove registerBits("threefry_bits", threefryBits);

/// [keys, new keys for each]; (words, out)
void threefrySplit(char **operands, const int64_t *config) {
  char *out = operands[1];
  for (int64_t k = 0; k < config[0]; ++k) {
    uint32_t key[2];
    memcpy(key, operands[0] + 8 * k, 8);
    for (int64_t i = 0; i < config[1]; ++i, out += 8) {
      uint32_t words[2] = {uint32_t(uint64_t(i) >> 32), uint32_t(i)};
      threefry(key, words[0], words[1]);
      memcpy(out, words, 8);
    }
  }
}
PlanMove registerSplit("threefry_split", threefrySplit);

/// [keys, 1 if there is one key, 1 if there is one number]; (words, 32-bit
/// numbers, out)
void threefryFold(char **operands, const int64_t *config) {
  for (int64_t k = 0; k < config[0]; ++k) {
    uint32_t key[2], words[2] = {0, 0};
    memcpy(key, operands[0] + (config[1] ? 0 : 8 * k), 8);
    memcpy(&words[1], operands[1] + (config[2] ? 0 : 4 * k), 4);
    threefry(key, words[0], words[1]);
    memcpy(operands[2] + 8 * k, words, 8);
  }
}
PlanMove registerFold("threefry_fold", threefryFold);

/// [keys]; (32-bit numbers, words)
void threefrySeed(char **operands, const int64_t *config) {
  for (int64_t k = 0; k < config[0]; ++k) {
    uint32_t words[2] = {0, 0};
    memcpy(&words[1], operands[0] + 4 * k, 4);
    memcpy(operands[1] + 8 * k, words, 8);
  }
}
PlanMove registerSeed("threefry_seed", threefrySeed);

} // namespace
} // namespace lingon
