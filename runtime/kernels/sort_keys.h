//===- sort_keys.h - Order-preserving integer keys and radix sorting ------===//
#ifndef LINGON_RUNTIME_KERNELS_SORT_KEYS_H
#define LINGON_RUNTIME_KERNELS_SORT_KEYS_H

#include "convert.h"
#include "sort_avx512.h"

namespace lingon {
namespace {

template <int Bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> {
  using type = uint8_t;
};
template <> struct UnsignedOf<2> {
  using type = uint16_t;
};
template <> struct UnsignedOf<4> {
  using type = uint32_t;
};
template <> struct UnsignedOf<8> {
  using type = uint64_t;
};

/// How the bits of a dtype order.
enum class KeyKind { Unsigned, Signed, Float };

/// Bits of the value +infinity, by width of the float; f16 and bf16 differ, so
/// a float's key takes it as an argument.
template <class U, KeyKind Kind> struct KeyCodec {
  static constexpr U top = U(U(1) << (8 * sizeof(U) - 1));
  U infinity;

  bool isNan(U bits) const { return U(bits & U(~top)) > infinity; }

  /// Key of the sort order: -0 equals +0, every NaN equals every other and
  /// follows all else.
  U sortKey(U bits) const {
    if (Kind == KeyKind::Unsigned)
      return bits;
    if (Kind == KeyKind::Signed)
      return U(bits ^ top);
    U b = bits == top ? U(0) : bits;
    U flipped = U(b & top) ? U(~b) : U(b | top);
    return isNan(bits) ? U(~U(0)) : flipped;
  }

  /// Key of the total order on bits: -NaN < -inf < ... < -0 < +0 < ... < NaN.
  U totalKey(U bits) const {
    if (Kind == KeyKind::Float)
      return U(bits & top) ? U(~bits) : U(bits | top);
    return sortKey(bits);
  }

  /// Inverse of both but for -0 and NaN, which sortKey merges.
  U fromKey(U key) const {
    if (Kind == KeyKind::Unsigned)
      return key;
    if (Kind == KeyKind::Signed)
      return U(key ^ top);
    return U(key & top) ? U(key ^ top) : U(~key);
  }

  /// Whether sortKey forgets which value this was.
  bool merged(U bits) const {
    return Kind == KeyKind::Float && (bits == top || isNan(bits));
  }
};

/// Calls fn(codec, U{}) for a real dtype. Complex keys use the float of half
/// the width.
template <class Fn> void withCodec(int32_t dtype, Fn fn) {
  switch (dtype) {
  case Bool:
  case UInt8:
    return fn(KeyCodec<uint8_t, KeyKind::Unsigned>{0});
  case UInt16:
    return fn(KeyCodec<uint16_t, KeyKind::Unsigned>{0});
  case UInt32:
    return fn(KeyCodec<uint32_t, KeyKind::Unsigned>{0});
  case UInt64:
    return fn(KeyCodec<uint64_t, KeyKind::Unsigned>{0});
  case Int8:
    return fn(KeyCodec<uint8_t, KeyKind::Signed>{0});
  case Int16:
    return fn(KeyCodec<uint16_t, KeyKind::Signed>{0});
  case Int32:
    return fn(KeyCodec<uint32_t, KeyKind::Signed>{0});
  case Int64:
    return fn(KeyCodec<uint64_t, KeyKind::Signed>{0});
  case Float16:
    return fn(KeyCodec<uint16_t, KeyKind::Float>{0x7c00});
  case BFloat16:
    return fn(KeyCodec<uint16_t, KeyKind::Float>{0x7f80});
  case Float32:
  case Complex64:
    return fn(KeyCodec<uint32_t, KeyKind::Float>{0x7f800000u});
  case Float64:
  case Complex128:
    return fn(KeyCodec<uint64_t, KeyKind::Float>{0x7ff0000000000000ull});
  }
}

//===----------------------------------------------------------------------===//
// Elements to sort: bare keys, or keys with the index they came from
//===----------------------------------------------------------------------===//

template <class U> struct KeyOnly {
  U key;
  static constexpr int keyBits = 8 * int(sizeof(U));
  static KeyOnly make(U key, uint32_t) { return {key}; }
  uint64_t digits() const { return key; }
  bool operator<(KeyOnly o) const { return key < o.key; }
};

/// A key of at most 32 bits above its index: one 64-bit comparison orders both.
struct Key32 {
  uint64_t packed;
  static constexpr int keyBits = 32;
  static Key32 make(uint64_t key, uint32_t index) {
    return {key << 32 | index};
  }
  uint32_t index() const { return uint32_t(packed); }
  uint64_t digits() const { return packed >> 32; }
  bool operator<(Key32 o) const { return packed < o.packed; }
};

struct Key64 {
  uint64_t key;
  uint64_t position;
  static constexpr int keyBits = 64;
  static Key64 make(uint64_t key, uint32_t index) { return {key, index}; }
  uint32_t index() const { return uint32_t(position); }
  uint64_t digits() const { return key; }
  bool operator<(Key64 o) const {
    return key < o.key || (key == o.key && position < o.position);
  }
};

template <class U> struct IndexedOf {
  using type = Key32;
};
template <> struct IndexedOf<uint64_t> {
  using type = Key64;
};

template <class E> void insertionSort(E *data, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    E x = data[i];
    int64_t j = i;
    for (; j > 0 && x < data[j - 1]; --j)
      data[j] = data[j - 1];
    data[j] = x;
  }
}

constexpr int64_t InsertionLimit = 48;
/// Elements above which one sort uses several threads.
constexpr int64_t ParallelSort = 1 << 17;

/// Least significant digit radix sort, stable, with digits of Bits bits.
/// Digits that are equal everywhere are skipped. Returns data or scratch,
/// whichever holds the result.
template <int Bits, class E>
E *radixSerial(E *data, E *scratch, int64_t n, int keyBits) {
  constexpr int radix = 1 << Bits;
  constexpr int maxPasses = (E::keyBits + Bits - 1) / Bits;
  const int passes = (keyBits + Bits - 1) / Bits;
  uint32_t counts[maxPasses][radix];
  memset(counts, 0, sizeof(counts[0]) * size_t(passes));
  for (int64_t i = 0; i < n; ++i) {
    uint64_t key = data[i].digits();
    for (int p = 0; p < passes; ++p)
      ++counts[p][(key >> (p * Bits)) & (radix - 1)];
  }
  for (int p = 0; p < passes; ++p) {
    uint32_t *count = counts[p];
    const int shift = p * Bits;
    if (count[(data[0].digits() >> shift) & (radix - 1)] == n)
      continue;
    uint32_t sum = 0;
    for (int d = 0; d < radix; ++d) {
      uint32_t c = count[d];
      count[d] = sum;
      sum += c;
    }
    for (int64_t i = 0; i < n; ++i) {
      E x = data[i];
      scratch[count[(x.digits() >> shift) & (radix - 1)]++] = x;
    }
    E *t = data;
    data = scratch;
    scratch = t;
  }
  return data;
}

/// The same on several threads: each counts and moves its own part.
template <int Bits, class E>
E *radixParallel(E *data, E *scratch, int64_t n, int keyBits) {
  constexpr int radix = 1 << Bits;
  const int64_t parts = minOf<int64_t>(lingon_rt_num_threads(), 64);
  const int64_t part = (n + parts - 1) / parts;
  Scratch<uint32_t> storage(parts * radix);
  uint32_t *counts = storage;
  for (int shift = 0; shift < keyBits; shift += Bits) {
    parallelFor(parts, 1, [=](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        uint32_t *count = counts + t * radix;
        memset(count, 0, radix * sizeof(uint32_t));
        for (int64_t i = t * part, e = minOf(n, (t + 1) * part); i < e; ++i)
          ++count[(data[i].digits() >> shift) & (radix - 1)];
      }
    });
    uint32_t sum = 0;
    bool trivial = false;
    for (int d = 0; d < radix; ++d) {
      uint32_t before = sum;
      for (int64_t t = 0; t < parts; ++t) {
        uint32_t c = counts[t * radix + d];
        counts[t * radix + d] = sum;
        sum += c;
      }
      trivial |= sum - before == uint32_t(n);
    }
    if (trivial)
      continue;
    parallelFor(parts, 1, [=](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        uint32_t *count = counts + t * radix;
        for (int64_t i = t * part, e = minOf(n, (t + 1) * part); i < e; ++i) {
          E x = data[i];
          scratch[count[(x.digits() >> shift) & (radix - 1)]++] = x;
        }
      }
    });
    E *t = data;
    data = scratch;
    scratch = t;
  }
  return data;
}

/// Integers that order as the elements do, if the elements are nothing else.
template <class E> struct AsInteger {
  static constexpr bool exists = false;
  using type = uint64_t;
};
template <> struct AsInteger<KeyOnly<uint32_t>> {
  static constexpr bool exists = true;
  using type = uint32_t;
};
template <> struct AsInteger<KeyOnly<uint64_t>> {
  static constexpr bool exists = true;
  using type = uint64_t;
};
template <> struct AsInteger<Key32> {
  static constexpr bool exists = true;
  using type = uint64_t;
};

/// Elements of slack that sortElements needs behind its scratch space.
constexpr int64_t SortSlack = 16;

#if LINGON_KERNEL_LEVEL >= 4
template <class E>
E *sortVectors(E *data, E *scratch, int64_t n, bool parallel) {
  using U = typename AsInteger<E>::type;
  struct Piece {
    int64_t begin, size;
  };
  constexpr int64_t most = 512;
  Piece pieces[2 * most];
  int64_t count = 1;
  pieces[0] = {0, n};
  if (parallel && n >= ParallelSort) {
    // Every round splits all pieces; they find their scratch at their own
    // place.
    const int64_t wanted = minOf(4 * lingon_rt_num_threads(), most);
    while (count < wanted) {
      Piece next[2 * most];
      parallelFor(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          auto [at, size] = pieces[i];
          int64_t first = size, second = size;
          Scratch<U> own(size > 4096 ? size + SortSlack : 0);
          if (size > 4096)
            splitPiece(reinterpret_cast<U *>(data) + at, size,
                       static_cast<U *>(own), first, second);
          next[2 * i] = {at, first};
          next[2 * i + 1] = {at + second, size - second};
        }
      });
      count *= 2;
      memcpy(pieces, next, sizeof(Piece) * size_t(count));
    }
  }
  parallelFor(count, 1, [&](int64_t begin, int64_t end) {
    int64_t largest = 0;
    for (int64_t i = begin; i < end; ++i)
      largest = maxOf(largest, pieces[i].size);
    const bool own = count > 1 && largest > 0;
    Scratch<U> storage(own ? largest + SortSlack : 0);
    U *room = own ? storage : reinterpret_cast<U *>(scratch);
    for (int64_t i = begin; i < end; ++i) {
      auto [at, size] = pieces[i];
      E *piece = data + at;
      if (size < 2 ||
          quickSort(reinterpret_cast<U *>(piece), size, room, depthLimit(size)))
        continue;
      // Bad luck with the pivots; only bare integers can be in disorder here
      // without harm, so the index, if there is one, is sorted by too.
      KeyOnly<U> *keys = reinterpret_cast<KeyOnly<U> *>(piece);
      KeyOnly<U> *sorted = radixSerial<8>(
          keys, reinterpret_cast<KeyOnly<U> *>(room), size, 8 * int(sizeof(U)));
      if (sorted != keys)
        memcpy(keys, sorted, size_t(size) * sizeof(U));
    }
  });
  return data;
}
#endif

/// Sorts by (key, index); keys have keyBits bits. Elements with an index come
/// in its order. n < 2^32; scratch has room for n + SortSlack elements. Returns
/// data or scratch, whichever holds the result.
template <class E>
E *sortElements(E *data, E *scratch, int64_t n, int keyBits, bool parallel) {
#if LINGON_KERNEL_LEVEL >= 4
  if constexpr (AsInteger<E>::exists) {
    using U = typename AsInteger<E>::type;
    if (n <= networkLimit<U>) {
      sortShort(reinterpret_cast<U *>(data), n);
      return data;
    }
    if (keyBits > 16 || n < 4096)
      return sortVectors(data, scratch, n, parallel);
  }
#endif
  if (n <= InsertionLimit) {
    insertionSort(data, n);
    return data;
  }
  if (parallel && n >= ParallelSort && lingon_rt_num_threads() > 1)
    return keyBits > 16 ? radixParallel<11>(data, scratch, n, keyBits)
                        : radixParallel<8>(data, scratch, n, keyBits);
  return keyBits > 16 && n >= 4096 ? radixSerial<11>(data, scratch, n, keyBits)
                                   : radixSerial<8>(data, scratch, n, keyBits);
}

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_SORT_KEYS_H
