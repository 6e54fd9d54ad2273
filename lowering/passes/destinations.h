//===- destinations.h - where tensors will lie ------------------*- C++ -*-===//

#ifndef LINGON_PASSES_DESTINATIONS_H
#define LINGON_PASSES_DESTINATIONS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace lingon {

inline bool isConditional(mlir::Operation *op) {
  return llvm::isa_and_present<mlir::scf::IfOp, mlir::scf::IndexSwitchOp>(op);
}

inline mlir::Operation *terminatorOf(mlir::Region &region) {
  return region.front().getTerminator();
}

/// The operand that result `number` of a loop or another operation updates.
inline mlir::OpOperand *updatedOperand(mlir::Operation *op, unsigned number) {
  using namespace mlir;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return &loop.getInitArgsMutable()[number];
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return loop.getInits().size() == loop.getNumResults()
               ? &loop.getInitsMutable()[number]
               : nullptr;
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return &loop.getOutputsMutable()[number];
  // The two casts by which lingon-cut-updates cuts chains of updates.
  if (auto tensor = dyn_cast<bufferization::ToTensorOp>(op)) {
    auto buffer = tensor.getBuffer().getDefiningOp<bufferization::ToBufferOp>();
    return buffer ? &buffer.getTensorMutable() : nullptr;
  }
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return destination.getTiedOpOperand(op->getResult(number));
  return nullptr;
}

/// Where the contents of a tensor lie if everything on the way is done in
/// place.
struct Origin {
  mlir::Value root; ///< null where branches differ
  /// Where the first operation on the way takes the root.
  mlir::OpOperand *first = nullptr;
};

inline Origin originOf(mlir::Value value) {
  using namespace mlir;
  Origin origin{value};
  for (;;) {
    auto result = dyn_cast<OpResult>(origin.root);
    if (!result)
      return origin;
    Operation *op = result.getOwner();
    if (isConditional(op)) {
      Value common;
      for (Region &region : op->getRegions()) {
        if (region.empty())
          return {};
        Value root =
            originOf(terminatorOf(region)->getOperand(result.getResultNumber()))
                .root;
        if (!root || (common && common != root))
          return {};
        common = root;
      }
      // Made inside of the branches: not the same one.
      if (op->isAncestor(common.getParentBlock()->getParentOp()))
        return {};
      origin.root = common;
      origin.first = nullptr;
      continue;
    }
    OpOperand *next = updatedOperand(op, result.getResultNumber());
    if (!next)
      return origin;
    origin.root = next->get();
    origin.first = next;
  }
}

/// The casts that hide tensors from eliminate-empty-tensors.
constexpr llvm::StringLiteral kHidden = "lingon.hidden";

/// Where, inside of `scope`, a value is computed into an empty tensor; or null.
inline mlir::OpOperand *emptyOperand(mlir::Value value,
                                     mlir::Operation *scope) {
  Origin origin = originOf(value);
  return origin.first && origin.root.getDefiningOp<mlir::tensor::EmptyOp>() &&
                 scope->isProperAncestor(origin.first->getOwner())
             ? origin.first
             : nullptr;
}

} // namespace lingon

#endif // LINGON_PASSES_DESTINATIONS_H
