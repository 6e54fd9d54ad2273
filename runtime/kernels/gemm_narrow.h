//===- gemm_narrow.h - Products of bfloat16 and 8-bit integers ------------===//
//
// Instructions that multiply groups of elements and add them to 32-bit sums:
// AMX (tiles of 16 x 16 sums), else AVX512-BF16 and AVX512-VNNI. Operands are
// packed into tiles of 16 lanes (rows of A, columns of B) by 16 groups of 32
// bits: two bfloat16 or four bytes for AMX, two 16-bit numbers without it.
//
// Integer sums are exact modulo 2^32. Sums of bfloat16 are rounded in every
// step like those of float, but subnormal operands and sums count as zero.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_KERNELS_GEMM_NARROW_H
#define LINGON_RUNTIME_KERNELS_GEMM_NARROW_H

#include "gemm_core.h"

#if LINGON_KERNEL_LEVEL >= 4 && defined(__linux__)
#define LINGON_NARROW_PRODUCTS 1
#include <cpuid.h>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>
#else
#define LINGON_NARROW_PRODUCTS 0
#endif

namespace lingon {
namespace {

enum class NarrowUnit { None, Dot, Tiles };

/// What the operands of a narrow product are; `known` only for those below.
template <class W, class S> struct NarrowKind {
  static constexpr bool known = false;
};

#if LINGON_NARROW_PRODUCTS

template <> struct NarrowKind<float, BF16> {
  static constexpr bool known = true;
  typedef uint16_t Stored, Wide; // in tiles of AMX, and without it
};
template <> struct NarrowKind<uint32_t, int8_t> {
  static constexpr bool known = true;
  typedef int8_t Stored;
  typedef int16_t Wide;
};
template <> struct NarrowKind<uint32_t, uint8_t> {
  static constexpr bool known = true;
  typedef uint8_t Stored;
  typedef int16_t Wide;
};

/// What this machine, and the operating system, offer.
inline NarrowUnit findNarrowUnit() {
  unsigned a, b, c, d, a1, b1, c1, d1;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
      !__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1))
    return NarrowUnit::None;
  bool bf16 = a1 & (1u << 5), vnni = c & (1u << 11);
  constexpr unsigned amx = (1u << 22) | (1u << 24) | (1u << 25);
  constexpr int requestPermission = 0x1023, tileData = 18;
  if ((d & amx) == amx &&
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0)
    return NarrowUnit::Tiles; // such machines have the others, too
  return bf16 && vnni ? NarrowUnit::Dot : NarrowUnit::None;
}

/// The best unit, or a lesser one that LINGON_MATRIX_UNIT asks for.
inline NarrowUnit narrowUnit() {
  static const NarrowUnit unit = [] {
    const char *most = getenv("LINGON_MATRIX_UNIT");
    if (most && strcmp(most, "none") == 0)
      return NarrowUnit::None;
    NarrowUnit best = findNarrowUnit();
    return most && strcmp(most, "dot") == 0 ? minOf(best, NarrowUnit::Dot)
                                            : best;
  }();
  return unit;
}

constexpr int Lanes = 16, Groups = 16; // of one tile
constexpr int64_t TileWords = Lanes * Groups;
typedef uint32_t Words __attribute__((vector_size(64), aligned(4), may_alias));

/// Exchanges the two dimensions of a tile.
inline void transposeTile(uint32_t *tile) {
  Words rows[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    rows[i] = *reinterpret_cast<Words *>(tile + 16 * i);
  transposeSquares<uint32_t, Lanes>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    *reinterpret_cast<Words *>(tile + 16 * i) = rows[i];
}

/// Packs `lanes` x `depth` elements into a tile, the missing ones zero.
/// lanesOutside: groups of a lane follow each other, else lanes of a group.
template <class T, class S>
void packTile(uint32_t *tile, const S *src, int64_t lanes, int64_t depth,
              int64_t laneStride, int64_t depthStride, bool lanesOutside) {
  constexpr int G = 4 / int(sizeof(T));
  T *dst = reinterpret_cast<T *>(tile);
  bool whole = lanes == Lanes && depth == Groups * G;
  if (!whole)
    memset(tile, 0, TileWords * 4);
  auto value = [](S x) {
    T result;
    if constexpr (sizeof(T) == sizeof(S))
      memcpy(&result, &x, sizeof x);
    else
      result = T(x);
    return result;
  };
  if (laneStride == 1 && whole) {
    for (int g = 0; g < Groups; ++g, dst += Lanes * G) {
      const S *from = src + int64_t(g) * G * depthStride;
      if constexpr (sizeof(S) == 2) {
        // Two rows as the halves of words; the compiler finds what to do for
        // bytes, but not for these.
        typedef uint16_t Row __attribute__((vector_size(Lanes * 2)));
        Row low, high;
        memcpy(&low, from, sizeof low);
        memcpy(&high, from + depthStride, sizeof high);
        Words words = __builtin_convertvector(low, Words) |
                      __builtin_convertvector(high, Words) << 16;
        memcpy(dst, &words, sizeof words);
        continue;
      }
      for (int l = 0; l < Lanes; ++l)
#pragma GCC unroll 4
        for (int e = 0; e < G; ++e)
          dst[l * G + e] = value(from[l + e * depthStride]);
    }
    if (lanesOutside)
      transposeTile(tile);
    return;
  }
  for (int64_t l = 0; l < lanes; ++l, dst += Groups * G) {
    const S *from = src + l * laneStride;
    if (depthStride == 1 && depth == Groups * G)
      for (int d = 0; d < Groups * G; ++d)
        dst[d] = value(from[d]);
    else
      for (int64_t d = 0; d < depth; ++d)
        dst[d] = value(from[d * depthStride]);
  }
  if (!lanesOutside)
    transposeTile(tile);
}

/// Packs two tiles of lanes for each step of the depth.
template <class T, class S>
void packTiles(uint32_t *to, const S *src, int64_t lanes, int64_t depth,
               int64_t laneStride, int64_t depthStride, bool lanesOutside) {
  constexpr int64_t step = Groups * (4 / int64_t(sizeof(T)));
  for (int64_t d = 0; d < depth; d += step)
    for (int half = 0; half < 2; ++half, to += TileWords) {
      int64_t first = half * Lanes;
      if (first >= lanes)
        continue;
      packTile<T>(to, src + first * laneStride + d * depthStride,
                  minOf<int64_t>(Lanes, lanes - first), minOf(step, depth - d),
                  laneStride, depthStride, lanesOutside);
    }
}

//===----------------------------------------------------------------------===//
// AMX
//===----------------------------------------------------------------------===//

/// All eight tile registers are 16 rows of 64 bytes while this lives.
class TileRegisters {
public:
  TileRegisters() {
    alignas(64) uint8_t config[64] = {1};
    for (int i = 0; i < 8; ++i) {
      config[16 + 2 * i] = 64;
      config[48 + i] = 16;
    }
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  ~TileRegisters() { asm volatile("tilerelease" : : : "memory"); }
  TileRegisters(const TileRegisters &) = delete;
  TileRegisters &operator=(const TileRegisters &) = delete;
};

#define LINGON_TILE_LOAD(N, PTR, STRIDE)                                       \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #N                                 \
               :                                                               \
               : "r"(PTR), "r"(int64_t(STRIDE))                                \
               : "memory")
#define LINGON_TILE_STORE(N, PTR, STRIDE)                                      \
  asm volatile("tilestored %%tmm" #N ", (%0,%1,1)"                             \
               :                                                               \
               : "r"(PTR), "r"(int64_t(STRIDE))                                \
               : "memory")
#define LINGON_TILE_ZERO(N) asm volatile("tilezero %%tmm" #N : : :)

template <class W, class S, int C, int A, int B> inline void tileProduct() {
  if constexpr (SameType<S, BF16>::value)
    asm volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2"
                 :
                 : "i"(B), "i"(A), "i"(C));
  else if constexpr (SameType<S, int8_t>::value)
    asm volatile("tdpbssd %%tmm%c0, %%tmm%c1, %%tmm%c2"
                 :
                 : "i"(B), "i"(A), "i"(C));
  else
    asm volatile("tdpbuud %%tmm%c0, %%tmm%c1, %%tmm%c2"
                 :
                 : "i"(B), "i"(A), "i"(C));
}

/// A block of 32 x 32 sums, or 16 where `tall` or `wide` is not set.
template <class W, class S, bool tall, bool wide>
void tileBlock(const uint32_t *a, const uint32_t *b, int64_t steps, W *c,
               int64_t cStride, bool accumulate) {
  int64_t bytes = cStride * 4;
  W *below = c + 16 * cStride;
  if (accumulate) {
    LINGON_TILE_LOAD(0, c, bytes);
    if constexpr (wide)
      LINGON_TILE_LOAD(1, c + 16, bytes);
    if constexpr (tall)
      LINGON_TILE_LOAD(2, below, bytes);
    if constexpr (tall && wide)
      LINGON_TILE_LOAD(3, below + 16, bytes);
  } else {
    LINGON_TILE_ZERO(0);
    LINGON_TILE_ZERO(1);
    LINGON_TILE_ZERO(2);
    LINGON_TILE_ZERO(3);
  }
  for (int64_t s = 0; s < steps; ++s, a += 2 * TileWords, b += 2 * TileWords) {
    LINGON_TILE_LOAD(4, a, 64);
    LINGON_TILE_LOAD(6, b, 64);
    tileProduct<W, S, 0, 4, 6>();
    if constexpr (wide) {
      LINGON_TILE_LOAD(7, b + TileWords, 64);
      tileProduct<W, S, 1, 4, 7>();
    }
    if constexpr (tall) {
      LINGON_TILE_LOAD(5, a + TileWords, 64);
      tileProduct<W, S, 2, 5, 6>();
    }
    if constexpr (tall && wide)
      tileProduct<W, S, 3, 5, 7>();
  }
  LINGON_TILE_STORE(0, c, bytes);
  if constexpr (wide)
    LINGON_TILE_STORE(1, c + 16, bytes);
  if constexpr (tall)
    LINGON_TILE_STORE(2, below, bytes);
  if constexpr (tall && wide)
    LINGON_TILE_STORE(3, below + 16, bytes);
}

//===----------------------------------------------------------------------===//
// AVX-512
//===----------------------------------------------------------------------===//

/// sums += products of the pairs at `a`, one for all lanes, and those in `b`.
template <class S, class V>
inline void addPairs(V &sums, const uint32_t &a, Words b) {
  if constexpr (SameType<S, BF16>::value)
    asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(b), "m"(a));
  else
    asm("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(b), "m"(a));
}

/// 8 rows of a block of 32 x 32 sums; both operands hold lanes inside.
template <class W, class S>
void dotRows(const uint32_t *a, const uint32_t *b, int64_t steps, W *c,
             int64_t cStride, bool accumulate) {
  typedef typename VectorOf<W>::type V;
  constexpr int Rows = 8;
  V acc[Rows][2];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v)
      acc[i][v] = accumulate
                      ? *reinterpret_cast<V *>(c + i * cStride + v * Lanes)
                      : V{};
  for (int64_t s = 0; s < steps; ++s, a += 2 * TileWords, b += 2 * TileWords)
    for (int g = 0; g < Groups; ++g) {
      Words b0 = *reinterpret_cast<const Words *>(b + g * Lanes);
      Words b1 = *reinterpret_cast<const Words *>(b + TileWords + g * Lanes);
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) {
        addPairs<S>(acc[i][0], a[g * Lanes + i], b0);
        addPairs<S>(acc[i][1], a[g * Lanes + i], b1);
      }
    }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v)
      *reinterpret_cast<V *>(c + i * cStride + v * Lanes) = acc[i][v];
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// The block at c, at most 32 x 32; it may be computed whole.
template <class W, class S>
void narrowBlock(bool tiles, const uint32_t *a, const uint32_t *b,
                 int64_t steps, W *c, int64_t cStride, int64_t rows,
                 int64_t cols, bool accumulate) {
  if (!tiles) {
    for (int64_t i = 0; i < rows; i += 8)
      dotRows<W, S>(a + i / Lanes * TileWords + i % Lanes, b, steps,
                    c + i * cStride, cStride, accumulate);
    return;
  }
  bool tall = rows > Lanes, wide = cols > Lanes;
  if (tall && wide)
    tileBlock<W, S, true, true>(a, b, steps, c, cStride, accumulate);
  else if (tall)
    tileBlock<W, S, true, false>(a, b, steps, c, cStride, accumulate);
  else if (wide)
    tileBlock<W, S, false, true>(a, b, steps, c, cStride, accumulate);
  else
    tileBlock<W, S, false, false>(a, b, steps, c, cStride, accumulate);
}

/// One thread's product; T is what is packed, Side the size of a block.
template <class T, class W, class S, class O>
void packedNarrow(bool tiles, Matrix<const S> a, Matrix<const S> b, Matrix<O> c,
                  int64_t m, int64_t n, int64_t k) {
  constexpr int64_t Side = 2 * Lanes;
  constexpr int64_t stepDepth = Groups * (4 / int64_t(sizeof(T)));
  constexpr int64_t depthBlock = 32 * stepDepth, rowBlock = 8 * Side,
                    colBlock = 16 * Side;
  auto blocks = [](int64_t size, int64_t most) {
    return (minOf(size, most) + Side - 1) / Side;
  };
  int64_t stepsMost = (minOf(k, depthBlock) + stepDepth - 1) / stepDepth;
  int64_t panel = stepsMost * 2 * TileWords;
  Scratch<uint32_t> packedA(blocks(m, rowBlock) * panel);
  Scratch<uint32_t> packedB(blocks(n, colBlock) * panel);
  // A panel whose second tile is not packed is read as a whole all the same.
  memset(packedA + (blocks(m, rowBlock) - 1) * panel, 0, size_t(panel) * 4);
  memset(packedB + (blocks(n, colBlock) - 1) * panel, 0, size_t(panel) * 4);
  alignas(64) W local[Side * Side];
  for (int64_t j0 = 0; j0 < n; j0 += colBlock)
    for (int64_t k0 = 0; k0 < k; k0 += depthBlock) {
      int64_t nn = minOf(colBlock, n - j0), kk = minOf(depthBlock, k - k0);
      int64_t steps = (kk + stepDepth - 1) / stepDepth;
      for (int64_t j = 0; j < nn; j += Side)
        packTiles<T>(packedB + j / Side * panel, &b.at(k0, j0 + j),
                     minOf(Side, nn - j), kk, b.colStride, b.rowStride, false);
      for (int64_t i0 = 0; i0 < m; i0 += rowBlock) {
        int64_t mm = minOf(rowBlock, m - i0);
        for (int64_t i = 0; i < mm; i += Side)
          packTiles<T>(packedA + i / Side * panel, &a.at(i0 + i, k0),
                       minOf(Side, mm - i), kk, a.rowStride, a.colStride,
                       tiles);
        for (int64_t j = 0; j < nn; j += Side)
          for (int64_t i = 0; i < mm; i += Side) {
            int64_t rows = minOf(Side, mm - i), cols = minOf(Side, nn - j);
            Matrix<O> to = c.block(i0 + i, j0 + j);
            bool direct = sizeof(O) == 4 && rows == Side && cols == Side &&
                          c.colStride == 1;
            narrowBlock<W, S>(
                tiles, packedA + i / Side * panel, packedB + j / Side * panel,
                steps, direct ? reinterpret_cast<W *>(to.data) : local,
                direct ? c.rowStride : Side, rows, cols, direct && k0 != 0);
            if (!direct)
              storeTile<W>(local, Side, to, rows, cols, k0 != 0);
          }
      }
    }
}

template <class W, class S, class O>
void narrowProduct(Matrix<const S> a, Matrix<const S> b, Matrix<O> c, int64_t m,
                   int64_t n, int64_t k) {
  typedef NarrowKind<W, S> Kind;
  if (narrowUnit() == NarrowUnit::Tiles) {
    TileRegisters registers;
    packedNarrow<typename Kind::Stored, W>(true, a, b, c, m, n, k);
  } else {
    packedNarrow<typename Kind::Wide, W>(false, a, b, c, m, n, k);
  }
}

#else

inline NarrowUnit narrowUnit() { return NarrowUnit::None; }

/// Named by the callers, and never called: NarrowKind knows no kind here.
template <class W, class S, class O>
void narrowProduct(Matrix<const S>, Matrix<const S>, Matrix<O>, int64_t,
                   int64_t, int64_t) {}

#endif // LINGON_NARROW_PRODUCTS

/// Multiplications from which packing into tiles pays.
constexpr int64_t NarrowWork = 1 << 15;

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_GEMM_NARROW_H
