//===- bufferizable_form.cpp - what bufferization takes for granted
//--------===//
//
// On tensors, before bufferization, which relies on two things that
// simplified programs need not have:
//
//  * a while loop hands all arguments of its first region, in order, to the
//    second one, and gives them as results;
//  * a carry that starts as a part of a tensor is a copy of it: carries are
//    contiguous, parts may be strided.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

struct BufferizableFormPass
    : public PassWrapper<BufferizableFormPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BufferizableFormPass)
  StringRef getArgument() const final { return "lingon-bufferizable-form"; }
  StringRef getDescription() const final {
    return "make while loops symmetric, copy strided initial values";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<bufferization::BufferizationDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<scf::WhileOp> whiles;
    getOperation().walk([&](scf::WhileOp loop) { whiles.push_back(loop); });
    for (scf::WhileOp loop : whiles)
      makeSymmetric(loop);
    getOperation().walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        copyParts(op, loop.getInitArgsMutable());
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        copyParts(op, loop.getInitsMutable());
    });
  }

  static void makeSymmetric(scf::WhileOp loop) {
    scf::ConditionOp condition = loop.getConditionOp();
    Block *first = loop.getBeforeBody(), *second = loop.getAfterBody();
    if (ValueRange(condition.getArgs()) == ValueRange(first->getArguments()))
      return;
    // All arguments in order, then what the first region computes itself.
    SmallVector<Value> handed(first->getArguments());
    SmallVector<unsigned> positions;
    for (Value value : condition.getArgs()) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == first) {
        positions.push_back(argument.getArgNumber());
        continue;
      }
      positions.push_back(handed.size());
      handed.push_back(value);
    }
    unsigned old = second->getNumArguments();
    for (Value value : handed)
      second->addArgument(value.getType(), value.getLoc());
    for (unsigned i = 0; i < old; ++i)
      second->getArgument(i).replaceAllUsesWith(
          second->getArgument(old + positions[i]));
    second->eraseArguments(0, old);
    condition.getArgsMutable().assign(handed);
    IRRewriter rewriter(loop);
    auto made =
        scf::WhileOp::create(rewriter, loop.getLoc(),
                             TypeRange(ValueRange(handed)), loop.getInits());
    made.getBefore().takeBody(loop.getBefore());
    made.getAfter().takeBody(loop.getAfter());
    for (OpResult result : loop.getResults())
      result.replaceAllUsesWith(
          made.getResult(positions[result.getResultNumber()]));
    rewriter.eraseOp(loop);
  }

  static void copyParts(Operation *loop, MutableOperandRange inits) {
    for (OpOperand &init : inits) {
      if (!isa_and_present<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                           tensor::CollapseShapeOp>(init.get().getDefiningOp()))
        continue;
      OpBuilder builder(loop);
      init.set(bufferization::AllocTensorOp::create(
          builder, loop->getLoc(), cast<RankedTensorType>(init.get().getType()),
          ValueRange{}, init.get()));
    }
  }
};

} // namespace

LINGON_REGISTER_PASS(BufferizableFormPass)
