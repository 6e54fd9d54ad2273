//===- function_results.cpp - results are computed where the caller wants them
////
//
// On tensors, before eliminate-empty-tensors. What is computed into an empty
// tensor and becomes a result of the function is computed in the result; where
// a conditional makes it, each branch does so. A reshaped tensor is stored to
// the reshaped result.
//
// The result must not hold anything else while it is being computed: then a
// copy to it could overwrite what is still to be read. So every value on the
// way from the empty tensor has one reader only. eliminate-empty-tensors does
// not see to that, nor does it tell the branches of a conditional apart; casts
// hide both from it, which lingon-loop-destinations removes.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "destinations.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace {

struct FunctionResultsPass
    : public PassWrapper<FunctionResultsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FunctionResultsPass)
  StringRef getArgument() const final { return "lingon-function-results"; }
  StringRef getDescription() const final {
    return "compute results of the function in place, branch by branch";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<bufferization::BufferizationDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &entry = getOperation().getBody().front();
    for (auto placed :
         entry.getOps<bufferization::MaterializeInDestinationOp>()) {
      if (!isa<MemRefType>(placed.getDest().getType()))
        continue;
      reshapeResult(placed, entry);
      SmallVector<OpOperand *> empties;
      findEmpties(placed.getSource(), getOperation(), empties);
      if (empties.empty())
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(&entry);
      if (Operation *reshape = placed.getDest().getDefiningOp())
        builder.setInsertionPointAfter(reshape);
      Value result = bufferization::ToTensorOp::create(
          builder, placed.getLoc(), placed.getSource().getType(),
          placed.getDest(), /*restrict=*/true, /*writable=*/true);
      placed.setRestrict(false);
      for (OpOperand *empty : empties)
        empty->set(result);
    }
    SmallVector<OpOperand *> hidden;
    getOperation().walk([&](Operation *op) {
      if (lingon::isConditional(op)) {
        for (OpOperand &use : op->getUses())
          hidden.push_back(&use);
      } else if (auto placed =
                     dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
        if (isa<MemRefType>(placed.getDest().getType()))
          hidden.push_back(&placed.getSourceMutable());
      }
    });
    for (OpOperand *use : hidden)
      hide(*use);
  }

  /// Reshapes the result in place of the tensor that is stored to it.
  static void reshapeResult(bufferization::MaterializeInDestinationOp placed,
                            Block &entry) {
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    while (Operation *reshape = placed.getSource().getDefiningOp()) {
      Value dest = placed.getDest();
      auto type = cast<MemRefType>(dest.getType());
      if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(reshape) ||
          !type.hasStaticShape() || !type.getLayout().isIdentity())
        return;
      Value before = reshape->getOperand(0);
      auto shape = cast<RankedTensorType>(before.getType()).getShape();
      if (ShapedType::isDynamicShape(shape))
        return;
      if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
        dest =
            memref::ExpandShapeOp::create(builder, placed.getLoc(), shape, dest,
                                          collapse.getReassociationIndices());
      else
        dest = memref::CollapseShapeOp::create(
            builder, placed.getLoc(), dest,
            cast<tensor::ExpandShapeOp>(reshape).getReassociationIndices());
      placed.getSourceMutable().set(before);
      placed.getDestMutable().set(dest);
    }
  }

  /// Where `value` is computed into empty tensors, inside of `scope`.
  static void findEmpties(Value value, Operation *scope,
                          SmallVectorImpl<OpOperand *> &found) {
    Operation *op = value.getDefiningOp();
    if (lingon::isConditional(op)) {
      if (value.hasOneUse() && scope->isProperAncestor(op))
        for (Region &region : op->getRegions())
          findEmpties(lingon::terminatorOf(region)->getOperand(
                          cast<OpResult>(value).getResultNumber()),
                      op, found);
      return;
    }
    OpOperand *empty = lingon::emptyOperand(value, scope);
    if (!empty)
      return;
    for (Value step = value; step != empty->get();) {
      step = lingon::updatedOperand(step.getDefiningOp(),
                                    cast<OpResult>(step).getResultNumber())
                 ->get();
      if (step != empty->get() && !step.hasOneUse())
        return;
    }
    found.push_back(empty);
  }

  static void hide(OpOperand &use) {
    if (!isa<RankedTensorType>(use.get().getType()))
      return;
    OpBuilder builder(use.getOwner());
    auto cast = UnrealizedConversionCastOp::create(
        builder, use.get().getLoc(), use.get().getType(), use.get());
    cast->setAttr(lingon::kHidden, builder.getUnitAttr());
    use.set(cast.getResult(0));
  }
};

} // namespace

LINGON_REGISTER_PASS(FunctionResultsPass)
