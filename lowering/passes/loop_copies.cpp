//===- loop_copies.cpp - what a loop writes into is its own ---------------===//
//
// On tensors, before destinations are chosen. An operation in a loop that
// writes a part of a tensor made in front of the loop needs a copy in every
// iteration, since the next one reads the tensor as it was. The copy is made
// explicit: a constant tensor is made anew, any other is copied. Bufferization
// alone takes the part for overwritten in any case, which does not hold for
// another part in the next iteration.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "remarks.h"
#include "structured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace {

struct LoopCopiesPass
    : public PassWrapper<LoopCopiesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopCopiesPass)
  StringRef getArgument() const final { return "lingon-loop-copies"; }
  StringRef getDescription() const final {
    return "copy what was made in front of a loop before a part of it is "
           "written in the loop";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<bufferization::BufferizationDialect, linalg::LinalgDialect,
                    tensor::TensorDialect>();
  }

  void runOnOperation() override {
    SmallVector<OpOperand *> found;
    getOperation().walk([&](Operation *op) {
      if (!isa<tensor::InsertOp, tensor::InsertSliceOp>(op))
        return;
      auto loop = op->getParentOfType<LoopLikeOpInterface>();
      if (!loop)
        return;
      auto destination = cast<DestinationStyleOpInterface>(op);
      OpOperand *written = destination.getDpsInitOperand(0);
      Region *defined = written->get().getParentRegion();
      if (!loop->isAncestor(defined->getParentOp()))
        found.push_back(written);
    });
    for (OpOperand *written : found)
      written->set(copyOf(written->get(), written->getOwner()));
  }

  static Value copyOf(Value value, Operation *user) {
    OpBuilder builder(user);
    Location loc = user->getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    auto fill = value.getDefiningOp<linalg::FillOp>();
    if (!fill || !fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>())
      return bufferization::AllocTensorOp::create(
          builder,
          lingon::because(loc, "lingon-loop-copies",
                          "each iteration of the loop writes to a part of it, "
                          "and the next one reads it as it was"),
          type, ValueRange{}, value);
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    return linalg::FillOp::create(builder, loc, fill.getInputs(),
                                  ValueRange{empty})
        .getResult(0);
  }
};

} // namespace

LINGON_REGISTER_PASS(LoopCopiesPass)
