//===- work.cpp - what it takes to compile a function ---------------------===//
//
// Measured on loops, kernel calls and long straight code: LLVM takes some 60
// microseconds, which are one unit, for two instructions, and six units more
// for each block, since blocks come from loops with what is before and after.
// Code that only passes addresses on is generated the quick way.
//
//===----------------------------------------------------------------------===//

#include "functions.h"

#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace {

constexpr size_t kUnitsOfBlock = 6;
constexpr size_t kInstructionsOfUnit = 2;
constexpr size_t kQuickInstructionsOfUnit = 8;
constexpr int kDeepestCall = 4;

size_t work(const Function &function, int depth) {
  size_t instructions = function.getInstructionCount();
  size_t units = lingon::onlyPassesOn(function)
                     ? instructions / kQuickInstructionsOfUnit
                     : instructions / kInstructionsOfUnit +
                           kUnitsOfBlock * (function.size() - 1);
  if (depth == kDeepestCall)
    return units;
  for (const BasicBlock &block : function)
    for (const Instruction &instruction : block)
      if (const auto *call = dyn_cast<CallBase>(&instruction))
        if (const Function *callee = call->getCalledFunction();
            callee && !callee->isDeclaration() &&
            callee->hasFnAttribute(Attribute::AlwaysInline) &&
            !call->isNoInline())
          units += work(*callee, depth + 1);
  return units;
}

} // namespace

/// Estimate of the time that LLVM will need for a defined function, with what
/// is always inlined into it; 60 microseconds are one unit.
extern "C" size_t lingon_work(const Function *function) {
  return work(*function, 0);
}
