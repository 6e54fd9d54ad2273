//===- conversions.cpp - conversions of narrow floats, for compiled code --===//
//
// LLVM calls these, by the names of GCC's and LLVM's runtime libraries, where
// the CPU has no instruction: of f64 to f16, for instance, which it makes of
// two conversions in a row. A narrow float is passed in the lowest bits of a
// register for floats.
//
//===----------------------------------------------------------------------===//
#include "conversions.h"

#include "kernels/convert.h"

#include <cmath>

namespace lingon {
namespace {

/// The nearest float, but of two neighbours the odd one if `x` lies between
/// them: rounding that once more gives what rounding `x` would.
float roundToOdd(double x) {
  float nearest = float(x);
  uint32_t bits = bitsOf(nearest);
  if (std::isnan(x) || double(nearest) == x || (bits & 1))
    return nearest;
  return floatOf(std::fabs(double(nearest)) < std::fabs(x) ? bits + 1
                                                           : bits - 1);
}

float inRegister(uint16_t bits) { return floatOf(bits); }

} // namespace

float truncateToF16(double x) { return inRegister(toF16(roundToOdd(x)).bits); }
float truncateToF16(float x) { return inRegister(toF16(x).bits); }
float truncateToBF16(double x) {
  return inRegister(toBF16(roundToOdd(x)).bits);
}
float truncateToBF16(float x) { return inRegister(toBF16(x).bits); }
float extendF16(float x) { return toFloat(F16{uint16_t(bitsOf(x))}); }

} // namespace lingon
