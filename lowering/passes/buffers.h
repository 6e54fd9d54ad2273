//===- buffers.h - where memrefs come from ----------------------*- C++ -*-===//

#ifndef LINGON_PASSES_BUFFERS_H
#define LINGON_PASSES_BUFFERS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace lingon {

/// The buffer that `value` is a view of, looking through view-like operations.
/// A range of the scratch memory (memref.view) is a buffer of its own: those
/// that are in use at the same time do not overlap.
inline mlir::Value bufferRoot(mlir::Value value) {
  while (auto view = value.getDefiningOp<mlir::ViewLikeOpInterface>()) {
    if (llvm::isa<mlir::memref::ViewOp>(view))
      break;
    value = view.getViewSource();
  }
  return value;
}

inline bool isAllocation(mlir::Value root) {
  return root.getDefiningOp<mlir::memref::AllocOp>() ||
         root.getDefiningOp<mlir::memref::AllocaOp>() ||
         root.getDefiningOp<mlir::memref::ViewOp>();
}

/// Marks functions that `lingon.call` calls, once they are private.
constexpr llvm::StringLiteral kCalled = "lingon.called";

/// True for an argument of a public function: the caller of compiled code hands
/// over distinct buffers (or equal ones that are only read), as does
/// `lingon.call`.
inline bool isEntryArgument(mlir::Value root) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(root);
  if (!argument)
    return false;
  auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(
      argument.getOwner()->getParentOp());
  return function && argument.getOwner()->isEntryBlock() &&
         (function.isPublic() || function->hasAttr(kCalled));
}

/// Whether nothing but `root` leads to its memory: a noalias argument.
inline bool isNoAlias(mlir::Value root) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(root);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return false;
  auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(
      argument.getOwner()->getParentOp());
  return function &&
         function.getArgAttr(argument.getArgNumber(),
                             mlir::LLVM::LLVMDialect::getNoAliasAttrName());
}

/// False only if buffers with these roots certainly do not overlap.
inline bool rootsMayAlias(mlir::Value a, mlir::Value b) {
  if (a == b)
    return true;
  auto known = [](mlir::Value v) {
    return isAllocation(v) || isEntryArgument(v) ||
           v.getDefiningOp<mlir::memref::GetGlobalOp>();
  };
  if (known(a) && known(b))
    return false;
  // Scratch memory may be a range of the argument.
  auto apart = [](mlir::Value one, mlir::Value other) {
    if (!isNoAlias(one))
      return false;
    if (auto view = other.getDefiningOp<mlir::memref::ViewOp>())
      return bufferRoot(view.getSource()) != one;
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(other);
    return isAllocation(other) ||
           (argument && argument.getOwner() ==
                            llvm::cast<mlir::BlockArgument>(one).getOwner());
  };
  return !(apart(a, b) || apart(b, a));
}

/// Whether a call passes nothing but numbers: then it touches no buffer.
inline bool passesNumbersOnly(mlir::CallOpInterface call) {
  return llvm::all_of(call.getArgOperands(), [](mlir::Value operand) {
    return operand.getType().isIntOrFloat();
  });
}

/// True unless `op`, with all that it contains, certainly leaves the buffer
/// with the root `root` alone.
inline bool mayTouch(mlir::Operation *op, mlir::Value root) {
  if (mlir::isMemoryEffectFree(op))
    return false;
  return op
      ->walk([&](mlir::Operation *inner) {
        if (auto call = llvm::dyn_cast<mlir::CallOpInterface>(inner)) {
          if (passesNumbersOnly(call))
            return mlir::WalkResult::advance();
          return mlir::WalkResult::interrupt();
        }
        if (inner->getNumRegions() == 0 && mlir::isMemoryEffectFree(inner))
          return mlir::WalkResult::advance();
        for (mlir::Value operand : inner->getOperands())
          if (llvm::isa<mlir::BaseMemRefType>(operand.getType()) &&
              rootsMayAlias(bufferRoot(operand), root))
            return mlir::WalkResult::interrupt();
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Bytes of a buffer with static shape, as laid out in memory.
inline int64_t bufferBytes(mlir::MemRefType type) {
  mlir::Type element = type.getElementType();
  int64_t bits = 64;
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

/// True if the buffer is only used through views in its own function: it is
/// neither yielded, nor carried by a loop, nor passed to a call.
inline bool staysLocal(mlir::Value buffer) {
  for (mlir::Operation *user : buffer.getUsers()) {
    if (user->hasTrait<mlir::OpTrait::IsTerminator>() ||
        llvm::isa<mlir::RegionBranchOpInterface, mlir::CallOpInterface>(user))
      return false;
    if (llvm::isa<mlir::ViewLikeOpInterface>(user))
      for (mlir::Value result : user->getResults())
        if (!staysLocal(result))
          return false;
  }
  return true;
}

} // namespace lingon

#endif // LINGON_PASSES_BUFFERS_H
