//===- sharing.h - whether two buffers may be one ---------------*- C++ -*-===//

#ifndef LINGON_PASSES_SHARING_H
#define LINGON_PASSES_SHARING_H

#include "buffers.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"

namespace lingon {

/// Whether two views cover the same elements in the same order, if the buffers
/// `from` and `to` are one and the same.
inline bool sameView(mlir::Value a, mlir::Value b, mlir::Value from,
                     mlir::Value to) {
  auto isBase = [&](mlir::Value v) { return v == from || v == to; };
  if (a == b || (isBase(a) && isBase(b)))
    return true;
  auto viewA = a.getDefiningOp<mlir::ViewLikeOpInterface>();
  auto viewB = b.getDefiningOp<mlir::ViewLikeOpInterface>();
  if (!viewA || !viewB || a.getType() != b.getType())
    return false;
  return mlir::OperationEquivalence::isEquivalentTo(
      viewA, viewB,
      [&](mlir::Value x, mlir::Value y) {
        return mlir::success(sameView(x, y, from, to));
      },
      nullptr, mlir::OperationEquivalence::IgnoreLocations);
}

/// Decides whether `result` may share the memory of `argument`: a function's,
/// or any other two buffers.
class Sharing {
public:
  Sharing(mlir::Value argument, mlir::Value result)
      : argument(argument), result(result) {}

  bool isSafe(mlir::Block &block) const {
    bool written = false;
    for (mlir::Operation &op : block) {
      bool reads = mayTouch(&op, argument);
      bool writes = mayTouch(&op, result);
      if (reads && (written || (writes && !elementByElement(&op))))
        return false;
      written |= writes;
    }
    return true;
  }

  /// Whether an operation that reads the argument and writes the result reads
  /// each element before it writes to its place.
  bool elementByElement(mlir::Operation *op) const {
    if (auto copy = llvm::dyn_cast<mlir::memref::CopyOp>(op))
      return same(copy.getSource(), copy.getTarget());
    if (auto structured = llvm::dyn_cast<mlir::linalg::LinalgOp>(op))
      return elementwise(structured);
    if (llvm::isa<mlir::scf::ForallOp, mlir::scf::ParallelOp>(op))
      return iterationwise(op);
    return false;
  }

private:
  bool isArgument(mlir::Value v) const { return bufferRoot(v) == argument; }
  bool isResult(mlir::Value v) const { return bufferRoot(v) == result; }
  bool same(mlir::Value a, mlir::Value b) const {
    return sameView(a, b, argument, result);
  }

  bool elementwise(mlir::linalg::LinalgOp op) const {
    if (op.getNumLoops() != op.getNumParallelLoops() || readsInside(op))
      return false;
    mlir::OpOperand *written = nullptr;
    for (mlir::OpOperand &init : op.getDpsInitsMutable()) {
      if (isArgument(init.get()) || (written && isResult(init.get())))
        return false;
      if (isResult(init.get()))
        written = &init;
    }
    if (!written || !op.getMatchingIndexingMap(written).isPermutation())
      return false;
    for (mlir::OpOperand *input : op.getDpsInputOperands()) {
      if (!isArgument(input->get()) && !isResult(input->get()))
        continue;
      if (!same(input->get(), written->get()) ||
          op.getMatchingIndexingMap(input) !=
              op.getMatchingIndexingMap(written))
        return false;
    }
    return true;
  }

  /// Whether the body of an operation reaches for the buffers by itself.
  bool readsInside(mlir::Operation *op) const {
    return op
        ->walk([&](mlir::Operation *inner) {
          if (inner != op)
            for (mlir::Value operand : inner->getOperands())
              if (llvm::isa<mlir::BaseMemRefType>(operand.getType()) &&
                  (isArgument(operand) || isResult(operand)))
                return mlir::WalkResult::interrupt();
          return mlir::WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// A parallel loop whose iterations each keep to one part of the buffers:
  /// what one iteration writes no other one reads.
  bool iterationwise(mlir::Operation *loop) const {
    mlir::Value part;
    bool onePart =
        !loop->walk([&](mlir::Operation *inner) {
               if (llvm::isa<mlir::ViewLikeOpInterface>(inner))
                 return mlir::WalkResult::advance();
               for (mlir::Value operand : inner->getOperands()) {
                 if (!llvm::isa<mlir::BaseMemRefType>(operand.getType()) ||
                     !(isArgument(operand) || isResult(operand)))
                   continue;
                 if (!part)
                   part = operand;
                 if (!same(operand, part))
                   return mlir::WalkResult::interrupt();
               }
               return mlir::WalkResult::advance();
             })
             .wasInterrupted();
    // An access to the whole buffer says nothing about elements.
    if (!onePart || !part || !part.getDefiningOp() ||
        !loop->isProperAncestor(part.getDefiningOp()))
      return false;
    return isSafe(loop->getRegion(0).front());
  }

  mlir::Value argument, result;
};

} // namespace lingon

#endif // LINGON_PASSES_SHARING_H
