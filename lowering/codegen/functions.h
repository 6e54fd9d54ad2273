//===- functions.h - what kind of function LLVM is given --------*- C++ -*-===//

#ifndef LINGON_CODEGEN_FUNCTIONS_H
#define LINGON_CODEGEN_FUNCTIONS_H

#include "llvm/ADT/SCCIterator.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace lingon {

/// One instruction in so many may compute something in a function that
/// `onlyPassesOn`.
constexpr size_t kOthersForComputing = 4;

/// Whether `function` has no loops and does little more than passing addresses
/// and numbers on.
inline bool onlyPassesOn(const llvm::Function &function) {
  size_t instructions = 0, computing = 0;
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block) {
      llvm::Type *type = instruction.getType();
      if (type->isVectorTy() || (type->isFloatingPointTy() &&
                                 !llvm::isa<llvm::LoadInst>(instruction)))
        return false;
      ++instructions;
      computing +=
          llvm::isa<llvm::BinaryOperator, llvm::CmpInst, llvm::SelectInst>(
              instruction);
    }
  if (computing * kOthersForComputing > instructions)
    return false;
  for (auto component = llvm::scc_begin(&function); !component.isAtEnd();
       ++component)
    if (component.hasCycle())
      return false;
  return true;
}

} // namespace lingon

#endif // LINGON_CODEGEN_FUNCTIONS_H
