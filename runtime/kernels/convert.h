//===- convert.h - Element types and conversions of the kernels ----------===//
#ifndef LINGON_RUNTIME_KERNELS_CONVERT_H
#define LINGON_RUNTIME_KERNELS_CONVERT_H

#include "kernel.h"

namespace lingon {
namespace {

/// Storage types that C++ lacks. Arithmetic on them is done in float.
struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
/// One byte, zero or one.
struct Bool8 {
  uint8_t bits;
};
struct C64 {
  float re, im;
};
struct C128 {
  double re, im;
};

inline uint32_t bitsOf(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
inline float floatOf(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}

inline float toFloat(BF16 x) { return floatOf(uint32_t(x.bits) << 16); }

/// Exact. The exponent is rebased by a multiplication, which also turns
/// half-precision denormals into the right normal floats.
inline float toFloat(F16 x) {
  uint32_t magnitude = uint32_t(x.bits & 0x7fff) << 13;
  uint32_t sign = uint32_t(x.bits & 0x8000) << 16;
  float scaled = floatOf(magnitude) * 5.192296858534828e+33f; // 2^112
  uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  return floatOf(bitsOf(scaled) | special | sign);
}

/// Round to nearest, ties to even.
inline BF16 toBF16(float x) {
  uint32_t u = bitsOf(x);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
  bool nan = (u & 0x7fffffffu) > 0x7f800000u;
  return {uint16_t(nan ? ((u >> 16) | 0x40u) : rounded)};
}

inline F16 toF16(float x) {
  uint32_t u = bitsOf(x);
  uint32_t sign = (u >> 16) & 0x8000u;
  uint32_t magnitude = u & 0x7fffffffu;
  // Normal results: rebase the exponent, add half a step (ties to even).
  uint32_t normal =
      (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  // Denormal results: adding 0.5 moves the last place of the sum to 2^-24.
  uint32_t denormal = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t r = magnitude < 0x38800000u ? denormal : normal;
  r = magnitude >= 0x477ff000u ? 0x7c00u : r;
  r = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : r;
  return {uint16_t(r | sign)};
}

/// A stored element as a type that C++ computes with.
template <class T> inline T decode(T x) { return x; }
inline float decode(BF16 x) { return toFloat(x); }
inline float decode(F16 x) { return toFloat(x); }
inline uint8_t decode(Bool8 x) { return x.bits != 0; }

template <class To> struct Encode {
  template <class From> static To apply(From x) { return To(x); }
};
template <> struct Encode<BF16> {
  template <class From> static BF16 apply(From x) { return toBF16(float(x)); }
};
template <> struct Encode<F16> {
  template <class From> static F16 apply(From x) { return toF16(float(x)); }
};
template <> struct Encode<Bool8> {
  template <class From> static Bool8 apply(From x) {
    return {uint8_t(x != From(0))};
  }
};
template <class To, class Part> struct EncodeComplex {
  template <class From> static To apply(From x) { return {Part(x), Part(0)}; }
  static To apply(C64 x) { return {Part(x.re), Part(x.im)}; }
  static To apply(C128 x) { return {Part(x.re), Part(x.im)}; }
};
template <> struct Encode<C64> : EncodeComplex<C64, float> {};
template <> struct Encode<C128> : EncodeComplex<C128, double> {};

/// Conversion between any two types but complex to real. Integers wrap.
template <class To, class From> inline To convert(From x) {
  return Encode<To>::apply(decode(x));
}

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_CONVERT_H
