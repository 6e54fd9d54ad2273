//===- conversions.h - conversions of narrow floats, for compiled code ----===//
#ifndef LINGON_RUNTIME_CONVERSIONS_H
#define LINGON_RUNTIME_CONVERSIONS_H

namespace lingon {

// The results of `truncate...`, and the argument of `extend...`, have the
// narrow float in their lowest 16 bits.
float truncateToF16(double x);
float truncateToF16(float x);
float truncateToBF16(double x);
float truncateToBF16(float x);
float extendF16(float x);

} // namespace lingon

#endif // LINGON_RUNTIME_CONVERSIONS_H
