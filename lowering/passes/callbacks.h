//===- callbacks.h - loops that a kernel may call as it proceeds -*- C++
//-*-===//
//
// A loop over the rows of a kernel's result, right behind the kernel, can run
// on the rows that are done while those are in the cache: the kernel gets the
// loop as a function, and calls it for ranges of iterations. What the loop
// writes the kernel must not read.
//
//===----------------------------------------------------------------------===//

#ifndef LINGON_PASSES_CALLBACKS_H
#define LINGON_PASSES_CALLBACKS_H

#include "LingonDialect.h"
#include "outlining.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace lingon {

/// Kernels that say so take two more inputs, a function and its context, and
/// call it for the parts of their only output that are done. The inputs are
/// bytes, as many as the function has iterations, each for an equal part of the
/// output, and as many as one task should have at least.
constexpr llvm::StringLiteral kCallsBack = "lingon.calls_back";

/// Whether each iteration of `loop` keeps to its own part of the buffer `view`.
inline bool keepsToRows(mlir::Value view, mlir::scf::ParallelOp loop) {
  auto type = llvm::cast<mlir::MemRefType>(view.getType());
  llvm::SmallVector<mlir::Value> ivs(loop.getInductionVars());
  auto outer = [&](mlir::ValueRange indices) {
    if (indices.size() < ivs.size())
      return false;
    for (auto [d, iv] : llvm::enumerate(ivs)) {
      auto extent = mlir::getConstantIntValue(loop.getUpperBound()[d]);
      if (indices[d] != iv || !extent || type.getDimSize(d) != *extent)
        return false;
    }
    return true;
  };
  auto isRow = [&](mlir::memref::SubViewOp part) {
    auto offsets = part.getMixedOffsets();
    auto sizes = part.getMixedSizes();
    if (offsets.size() < ivs.size())
      return false;
    for (auto [d, iv] : llvm::enumerate(ivs)) {
      auto extent = mlir::getConstantIntValue(loop.getUpperBound()[d]);
      if (llvm::dyn_cast<mlir::Value>(offsets[d]) != iv ||
          mlir::getConstantIntValue(sizes[d]) != 1 || !extent ||
          type.getDimSize(d) != *extent)
        return false;
    }
    return true;
  };
  for (mlir::Operation *user : view.getUsers()) {
    bool inside = loop->isProperAncestor(user);
    if (auto load = llvm::dyn_cast<mlir::memref::LoadOp>(user)) {
      if (inside && !outer(load.getIndices()))
        return false;
    } else if (auto store = llvm::dyn_cast<mlir::memref::StoreOp>(user)) {
      if (inside && !outer(store.getIndices()))
        return false;
    } else if (auto part = llvm::dyn_cast<mlir::memref::SubViewOp>(user)) {
      if (inside && !isRow(part))
        return false;
    } else if (llvm::isa<mlir::memref::ExpandShapeOp,
                         mlir::memref::CollapseShapeOp>(user)) {
      if (inside && !keepsToRows(user->getResult(0), loop))
        return false;
    } else if (inside) {
      return false;
    }
  }
  return true;
}

/// Whether two buffers certainly do not overlap, at any time: ranges of the
/// scratch memory may, where they are not in use at once.
inline bool neverOverlap(mlir::Value a, mlir::Value b) {
  if (rootsMayAlias(a, b))
    return false;
  auto first = a.getDefiningOp<mlir::memref::ViewOp>();
  auto second = b.getDefiningOp<mlir::memref::ViewOp>();
  if (!first || !second)
    return true;
  auto range = [](mlir::memref::ViewOp view) {
    auto shift = mlir::getConstantIntValue(view.getByteShift());
    return std::pair(shift, shift.value_or(0) + bufferBytes(view.getType()));
  };
  auto [start, end] = range(first);
  auto [otherStart, otherEnd] = range(second);
  return start && otherStart && (end <= *otherStart || otherEnd <= *start);
}

/// The kernel call in front of `loop` that may call it; null if there is none.
inline KernelCallOp callerOf(mlir::scf::ParallelOp loop,
                             llvm::ArrayRef<mlir::Value> captured) {
  mlir::Operation *before = loop->getPrevNode();
  while (before && mlir::isMemoryEffectFree(before))
    before = before->getPrevNode();
  auto call = llvm::dyn_cast_or_null<KernelCallOp>(before);
  if (!call || !call->hasAttr(kCallsBack) || call.getOutputs().size() != 1 ||
      call.getReadsOutputs() || call.getSideEffects())
    return nullptr;
  mlir::Value made = call.getOutputs()[0];
  auto type = llvm::cast<mlir::MemRefType>(made.getType());
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return nullptr;
  mlir::Value root = bufferRoot(made);
  bool reads = false;
  for (mlir::Value value : captured) {
    if (llvm::isa<mlir::LLVM::LLVMPointerType>(value.getType()))
      return nullptr;
    auto buffer = llvm::dyn_cast<mlir::MemRefType>(value.getType());
    if (!buffer)
      continue;
    if (bufferRoot(value) == root) {
      // The whole of it, and nothing around it.
      if (buffer.getNumElements() != type.getNumElements() ||
          llvm::cast<mlir::MemRefType>(root.getType()).getNumElements() !=
              type.getNumElements() ||
          !keepsToRows(value, loop))
        return nullptr;
      reads = true;
    } else if (isWritten(loop.getRegion(), value)) {
      for (mlir::Value operand : call->getOperands())
        if (!neverOverlap(bufferRoot(operand), bufferRoot(value)))
          return nullptr;
    }
  }
  return reads ? call : nullptr;
}

} // namespace lingon

#endif // LINGON_PASSES_CALLBACKS_H
