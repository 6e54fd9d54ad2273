//===- plan_loops.cpp - elementwise loops of plans ------------------------===//
//
// What NumPy has no ufunc for, or one that means something else. Names are
// "<operation>_<dtype>".
//
//===----------------------------------------------------------------------===//
#include "plan.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

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
// Moving elements
//===----------------------------------------------------------------------===//

template <size_t size>
void copyLoop(char **args, const intptr_t *dims, const intptr_t *steps,
              void *) {
  const char *from = args[0];
  char *to = args[1];
  if (steps[0] == intptr_t(size) && steps[1] == intptr_t(size)) {
    memcpy(to, from, size_t(dims[0]) * size);
    return;
  }
  for (intptr_t i = 0; i < dims[0]; ++i, from += steps[0], to += steps[1])
    memcpy(to, from, size);
}
PlanLoop copy1("copy_1", copyLoop<1>), copy2("copy_2", copyLoop<2>),
    copy4("copy_4", copyLoop<4>), copy8("copy_8", copyLoop<8>),
    copy16("copy_16", copyLoop<16>);

/// Side by side, or the same for all.
template <class T> bool isSimple(intptr_t step) {
  return step == intptr_t(sizeof(T)) || step == 0;
}
template <class T> bool isAligned(const char *at) {
  return reinterpret_cast<uintptr_t>(at) % alignof(T) == 0;
}

template <class T, int no, int yes>
void selectDense(const char *which, const T *a, const T *b, T *to, intptr_t n) {
  for (intptr_t i = 0; i < n; ++i) {
    T x = a[i * no], y = b[i * yes];
    to[i] = which[i] ? y : x;
  }
}

/// (which, case 0, case 1) -> out
template <size_t size>
void selectLoop(char **args, const intptr_t *dims, const intptr_t *steps,
                void *) {
  const char *which = args[0], *no = args[1], *yes = args[2];
  char *to = args[3];
  if constexpr (size <= 8) {
    using T = std::conditional_t<
        size == 1, uint8_t,
        std::conditional_t<size == 2, uint16_t,
                           std::conditional_t<size == 4, uint32_t, uint64_t>>>;
    if (steps[0] == 1 && isSimple<T>(steps[1]) && isSimple<T>(steps[2]) &&
        steps[3] == intptr_t(size) && isAligned<T>(no) && isAligned<T>(yes) &&
        isAligned<T>(to)) {
      auto *a = reinterpret_cast<const T *>(no);
      auto *b = reinterpret_cast<const T *>(yes);
      auto *out = reinterpret_cast<T *>(to);
      if (steps[1] && steps[2])
        return selectDense<T, 1, 1>(which, a, b, out, dims[0]);
      if (steps[1])
        return selectDense<T, 1, 0>(which, a, b, out, dims[0]);
      if (steps[2])
        return selectDense<T, 0, 1>(which, a, b, out, dims[0]);
      return selectDense<T, 0, 0>(which, a, b, out, dims[0]);
    }
  }
  for (intptr_t i = 0; i < dims[0]; ++i) {
    memcpy(to, *which ? yes : no, size);
    which += steps[0], no += steps[1], yes += steps[2], to += steps[3];
  }
}
PlanLoop select1("select_1", selectLoop<1>), select2("select_2", selectLoop<2>),
    select4("select_4", selectLoop<4>), select8("select_8", selectLoop<8>),
    select16("select_16", selectLoop<16>);

//===----------------------------------------------------------------------===//
// Unary and binary functions
//===----------------------------------------------------------------------===//

template <class F, class In, class Out>
void unaryLoop(char **args, const intptr_t *dims, const intptr_t *steps,
               void *) {
  const char *from = args[0];
  char *to = args[1];
  if (steps[0] == intptr_t(sizeof(In)) && steps[1] == intptr_t(sizeof(Out)) &&
      isAligned<In>(from) && isAligned<Out>(to)) {
    auto *x = reinterpret_cast<const In *>(from);
    auto *out = reinterpret_cast<Out *>(to);
    for (intptr_t i = 0; i < dims[0]; ++i)
      out[i] = F::apply(x[i], Out());
    return;
  }
  for (intptr_t i = 0; i < dims[0]; ++i, from += steps[0], to += steps[1])
    store<Out>(to, F::apply(load<In>(from), Out()));
}

template <class F, class T, int one, int two>
void binaryDense(const T *x, const T *y, T *out, intptr_t n) {
  for (intptr_t i = 0; i < n; ++i)
    out[i] = F::apply(x[i * one], y[i * two]);
}

template <class F, class T>
void binaryLoop(char **args, const intptr_t *dims, const intptr_t *steps,
                void *) {
  const char *a = args[0], *b = args[1];
  char *to = args[2];
  if (isSimple<T>(steps[0]) && isSimple<T>(steps[1]) &&
      steps[2] == intptr_t(sizeof(T)) && isAligned<T>(a) && isAligned<T>(b) &&
      isAligned<T>(to) && (steps[0] || steps[1])) {
    auto *x = reinterpret_cast<const T *>(a),
         *y = reinterpret_cast<const T *>(b);
    auto *out = reinterpret_cast<T *>(to);
    if (steps[0] && steps[1])
      return binaryDense<F, T, 1, 1>(x, y, out, dims[0]);
    return steps[0] ? binaryDense<F, T, 1, 0>(x, y, out, dims[0])
                    : binaryDense<F, T, 0, 1>(x, y, out, dims[0]);
  }
  for (intptr_t i = 0; i < dims[0]; ++i) {
    store<T>(to, F::apply(load<T>(a), load<T>(b)));
    a += steps[0], b += steps[1], to += steps[2];
  }
}

template <class T> auto bitsOf(T x) {
  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t> bits;
  memcpy(&bits, &x, sizeof x);
  return bits;
}
template <class T, class Bits> T fromBits(Bits bits) {
  T x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// The larger one; NaN where either is, and 0 rather than -0: of equal numbers
/// only zeros differ, in the bit of the sign.
struct Maximum {
  template <class T> static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      T equal = fromBits<T>(bitsOf(x) & bitsOf(y));
      T larger = x > y ? x : y;
      larger = x == y ? equal : larger;
      return x != x ? x : larger;
    }
    return x >= y ? x : y;
  }
};
struct Minimum {
  template <class T> static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      T equal = fromBits<T>(bitsOf(x) | bitsOf(y));
      T smaller = x < y ? x : y;
      smaller = x == y ? equal : smaller;
      return x != x ? x : smaller;
    }
    return x <= y ? x : y;
  }
};
/// Towards zero; by zero: all bits; the least by -1: itself.
struct Quotient {
  template <class T> static T apply(T x, T y) {
    if (y == 0)
      return T(~T(0));
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1))
        return T(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(x));
    return T(x / y);
  }
};
/// With the dividend's sign; by zero: the dividend.
struct Remainder {
  template <class T> static T apply(T x, T y) {
    if (y == 0)
      return x;
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1))
        return 0;
    return T(x % y);
  }
};
/// The exact remainder with the dividend's sign.
struct FloatRemainder {
  static double apply(double x, double y) { return std::fmod(x, y); }
  static float apply(float x, float y) {
    double a = std::fabs(double(x)), b = std::fabs(double(y));
    if (a < b)
      return x;
    double quotient = a / b;
    if (!(quotient < 1e8)) // large, or not finite
      return std::fmod(x, y);
    // A product of 24 and 27 bits is exact in a double, and so is the rest.
    double rest = a - std::trunc(quotient) * b;
    rest = rest < 0 ? rest + b : rest;
    rest = rest >= b ? rest - b : rest;
    return std::copysign(float(rest), x);
  }
};
/// By an amount below the width; otherwise nothing is left.
struct ShiftLeft {
  template <class T> static T apply(T x, T y) {
    using U = std::make_unsigned_t<T>;
    return U(y) < sizeof(T) * 8 ? T(U(uint64_t(U(x)) << U(y))) : T(0);
  }
};
struct ShiftRightLogical {
  template <class T> static T apply(T x, T y) {
    using U = std::make_unsigned_t<T>;
    return U(y) < sizeof(T) * 8 ? T(U(U(x) >> U(y))) : T(0);
  }
};
struct ShiftRightArithmetic {
  template <class T> static T apply(T x, T y) {
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    return T(S(x) >> (U(y) < sizeof(T) * 8 ? U(y) : sizeof(T) * 8 - 1));
  }
};
/// -1, 0, 1; zeros and NaN are themselves.
struct Sign {
  template <class T> static T apply(T x, T) {
    if (x == 0 || x != x)
      return x;
    return x > 0 ? T(1) : T(-1);
  }
};
/// Truncates and saturates; NaN becomes 0.
struct Cast {
  template <class In, class Out> static Out apply(In x, Out) {
    if constexpr (std::is_same_v<Out, bool>) {
      return x != 0;
    } else if constexpr (std::is_floating_point_v<In> &&
                         std::is_integral_v<Out>) {
      double wide = double(x);
      constexpr double low = double(std::numeric_limits<Out>::min());
      constexpr double high = double(std::numeric_limits<Out>::max());
      if constexpr (sizeof(Out) < 4 || std::is_same_v<Out, int32_t>) {
        // Without branches; a double holds the limits.
        wide = wide == wide ? wide : 0;
        wide = wide > high ? high : wide;
        wide = wide < low ? low : wide;
        return Out(int32_t(wide));
      }
      // The limits that a double cannot hold are powers of two, one above.
      if (wide != wide)
        return 0;
      wide = std::trunc(wide);
      if (wide >= high)
        return std::numeric_limits<Out>::max();
      if (wide <= low)
        return std::numeric_limits<Out>::min();
      return Out(wide);
    } else {
      return Out(x);
    }
  }
};

/// NumPy's product of complex numbers rounds differently for other strides.
template <class T> struct Complex {
  T re, im;
};
struct Product {
  template <class T> static Complex<T> apply(Complex<T> x, Complex<T> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
};

/// 16-bit floats, which are only converted.
struct Bfloat16 {
  uint16_t bits;
  operator float() const { return fromBits<float>(uint32_t(bits) << 16); }
  static Bfloat16 of(float x) {
    uint32_t b = bitsOf(x);
    uint32_t nearest = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
    return {uint16_t(x == x ? nearest : (b >> 16) | 0x40)};
  }
};
struct Narrow {
  static float apply(Bfloat16 x, float) { return x; }
  static Bfloat16 apply(float x, Bfloat16) { return Bfloat16::of(x); }
#ifdef __FLT16_MAX__
  static float apply(_Float16 x, float) { return float(x); }
  static _Float16 apply(float x, _Float16) { return _Float16(x); }
#endif
};

/// Registers loops for a list of dtypes.
struct Register {
  template <class F, class T>
  static void binary(const char *name, const char *dtype) {
    PlanLoop((std::string(name) + "_" + dtype).c_str(), binaryLoop<F, T>);
  }
  template <class F> static void binaryIntegers(const char *name) {
    binary<F, int8_t>(name, "int8");
    binary<F, int16_t>(name, "int16");
    binary<F, int32_t>(name, "int32");
    binary<F, int64_t>(name, "int64");
    binary<F, uint8_t>(name, "uint8");
    binary<F, uint16_t>(name, "uint16");
    binary<F, uint32_t>(name, "uint32");
    binary<F, uint64_t>(name, "uint64");
  }
  template <class F> static void binaryReals(const char *name) {
    binaryIntegers<F>(name);
    binary<F, float>(name, "float32");
    binary<F, double>(name, "float64");
  }
  template <class In, class Out>
  static void cast(const char *from, const char *to) {
    PlanLoop((std::string("cast_") + from + "_" + to).c_str(),
             unaryLoop<Cast, In, Out>);
  }
  template <class In> static void castsFrom(const char *from) {
    cast<In, bool>(from, "bool");
    cast<In, int8_t>(from, "int8");
    cast<In, int16_t>(from, "int16");
    cast<In, int32_t>(from, "int32");
    cast<In, int64_t>(from, "int64");
    cast<In, uint8_t>(from, "uint8");
    cast<In, uint16_t>(from, "uint16");
    cast<In, uint32_t>(from, "uint32");
    cast<In, uint64_t>(from, "uint64");
    cast<In, float>(from, "float32");
    cast<In, double>(from, "float64");
  }
  Register() {
    binary<Product, Complex<float>>("product", "complex64");
    binary<Product, Complex<double>>("product", "complex128");
    binaryReals<Maximum>("max");
    binaryReals<Minimum>("min");
    binary<FloatRemainder, float>("remainder", "float32");
    binary<FloatRemainder, double>("remainder", "float64");
    binaryIntegers<Quotient>("quotient");
    binaryIntegers<Remainder>("remainder");
    binaryIntegers<ShiftLeft>("shift_left");
    binaryIntegers<ShiftRightLogical>("shift_right_logical");
    binaryIntegers<ShiftRightArithmetic>("shift_right_arithmetic");
    PlanLoop("sign_float32", unaryLoop<Sign, float, float>);
    PlanLoop("sign_float64", unaryLoop<Sign, double, double>);
    PlanLoop("sign_int32", unaryLoop<Sign, int32_t, int32_t>);
    PlanLoop("sign_int64", unaryLoop<Sign, int64_t, int64_t>);
    PlanLoop("cast_bfloat16_float32", unaryLoop<Narrow, Bfloat16, float>);
    PlanLoop("cast_float32_bfloat16", unaryLoop<Narrow, float, Bfloat16>);
#ifdef __FLT16_MAX__
    PlanLoop("cast_float16_float32", unaryLoop<Narrow, _Float16, float>);
    PlanLoop("cast_float32_float16", unaryLoop<Narrow, float, _Float16>);
#endif
    castsFrom<bool>("bool");
    castsFrom<int8_t>("int8");
    castsFrom<int16_t>("int16");
    castsFrom<int32_t>("int32");
    castsFrom<int64_t>("int64");
    castsFrom<uint8_t>("uint8");
    castsFrom<uint16_t>("uint16");
    castsFrom<uint32_t>("uint32");
    castsFrom<uint64_t>("uint64");
    castsFrom<float>("float32");
    castsFrom<double>("float64");
  }
};
Register registered;

} // namespace
} // namespace lingon
