//===- outlining.h - what a region needs as a function's arguments -*- C++
//-*-===//

#ifndef LINGON_PASSES_OUTLINING_H
#define LINGON_PASSES_OUTLINING_H

#include "buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Transforms/RegionUtils.h"

namespace lingon {

/// Moves into `region` what it needs from outside and what is cheap to compute
/// again; returns what remains to be passed, or nothing if a buffer cannot be
/// passed as a bare pointer.
inline std::optional<llvm::SetVector<mlir::Value>>
captures(mlir::Region &region) {
  mlir::OpBuilder builder(region.getContext());
  llvm::SetVector<mlir::Value> values;
  for (bool changed = true; changed;) {
    changed = false;
    values.clear();
    mlir::getUsedValuesDefinedAbove(region, values);
    for (mlir::Value value : values) {
      mlir::Operation *op = value.getDefiningOp();
      // A range of the scratch memory is passed as it is.
      if (!op || llvm::isa<mlir::memref::ViewOp>(op) ||
          !(op->hasTrait<mlir::OpTrait::ConstantLike>() ||
            llvm::isa<mlir::ViewLikeOpInterface, mlir::memref::GetGlobalOp>(
                op)))
        continue;
      builder.setInsertionPointToStart(&region.front());
      mlir::Operation *clone = builder.clone(*op);
      for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
        mlir::replaceAllUsesInRegionWith(from, to, region);
      changed = true;
    }
  }
  for (mlir::Value value : values) {
    mlir::Type type = value.getType();
    if (auto memref = llvm::dyn_cast<mlir::MemRefType>(type)) {
      if (!mlir::memref::isStaticShapeAndContiguousRowMajor(memref) ||
          !memref.getLayout().isIdentity())
        return std::nullopt;
    } else if (!type.isIntOrIndexOrFloat() &&
               !llvm::isa<mlir::ComplexType, mlir::LLVM::LLVMPointerType>(
                   type)) {
      return std::nullopt;
    }
  }
  return values;
}

/// Whether something in `region` writes to `buffer`, or may do so.
inline bool isWritten(mlir::Region &region, mlir::Value buffer) {
  auto visit = [&](mlir::Operation *op) {
    auto effects = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(op);
    for (mlir::Value operand : op->getOperands()) {
      if (!llvm::isa<mlir::BaseMemRefType>(operand.getType()) ||
          bufferRoot(operand) != buffer ||
          llvm::isa<mlir::ViewLikeOpInterface>(op))
        continue;
      if (!effects)
        return mlir::WalkResult::interrupt();
      llvm::SmallVector<mlir::MemoryEffects::EffectInstance> found;
      effects.getEffectsOnValue(operand, found);
      for (const auto &effect : found)
        if (!llvm::isa<mlir::MemoryEffects::Read>(effect.getEffect()))
          return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  };
  return region.walk(visit).wasInterrupted();
}

/// Marks the arguments of `function` from number `first` on, which stand for
/// `captured` in `region`, noalias where the buffer certainly overlaps with no
/// other one.
inline void markDistinct(mlir::func::FuncOp function, unsigned first,
                         mlir::Region &region,
                         llvm::ArrayRef<mlir::Value> captured) {
  llvm::SmallVector<mlir::Value> roots;
  llvm::SmallVector<bool> written;
  for (mlir::Value value : captured) {
    bool buffer = llvm::isa<mlir::MemRefType>(value.getType());
    roots.push_back(buffer ? bufferRoot(value) : mlir::Value());
    written.push_back(buffer && isWritten(region, value));
  }
  for (size_t i = 0; i < captured.size(); ++i) {
    bool alone = bool(roots[i]);
    for (size_t j = 0; alone && j < captured.size(); ++j)
      alone = i == j || !roots[j] || !(written[i] || written[j]) ||
              !rootsMayAlias(roots[i], roots[j]);
    if (alone)
      function.setArgAttr(first + i,
                          mlir::LLVM::LLVMDialect::getNoAliasAttrName(),
                          mlir::UnitAttr::get(function.getContext()));
  }
}

} // namespace lingon

#endif // LINGON_PASSES_OUTLINING_H
