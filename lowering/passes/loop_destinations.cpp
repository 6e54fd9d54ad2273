//===- loop_destinations.cpp - carries are computed where they are kept
//----===//
//
// On tensors, before bufferization. A loop's carry should stay in one buffer:
//
//  * a new value of a carry that is computed into an empty tensor is computed
//    into the carry instead;
//  * where a conditional makes it, each branch does so, and a branch that hands
//    on the carry does nothing;
//  * results of other conditionals that all branches compute into empty tensors
//    are computed into one that they share;
//  * what reads the old value of a carry moves in front of what writes the new
//    one, where it can.
//
// All other empty tensors become allocations.
//
// Where that is not possible in place, bufferization makes a buffer and a copy:
// what is done here needs no proof.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "destinations.h"
#include "structured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace {

using lingon::emptyOperand;
using lingon::isConditional;
using lingon::terminatorOf;

struct LoopDestinationsPass
    : public PassWrapper<LoopDestinationsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopDestinationsPass)
  StringRef getArgument() const final { return "lingon-loop-destinations"; }
  StringRef getDescription() const final {
    return "let loops compute carries, and branches results, where they are "
           "kept";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<bufferization::BufferizationDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](UnrealizedConversionCastOp cast) {
      if (!cast->hasAttr(lingon::kHidden))
        return;
      cast.replaceAllUsesWith(cast.getInputs());
      cast.erase();
    });
    SmallVector<Operation *> loops, conditionals;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<scf::ForOp, scf::WhileOp>(op))
        loops.push_back(op);
      else if (isConditional(op))
        conditionals.push_back(op);
    });
    for (Operation *loop : loops) {
      if (auto counted = dyn_cast<scf::ForOp>(loop))
        placeCarries(counted.getBody(), counted.getRegionIterArgs());
      else
        placeCarries(cast<scf::WhileOp>(loop).getAfterBody(),
                     cast<scf::WhileOp>(loop).getAfterArguments());
    }
    for (Operation *op : conditionals)
      placeResults(op);
    // What is still empty gets memory. Upstream's pass for this would fold the
    // casts of lingon-cut-updates.
    getOperation().walk([](tensor::EmptyOp empty) {
      OpBuilder builder(empty);
      empty.replaceAllUsesWith(Value(bufferization::AllocTensorOp::create(
          builder, empty.getLoc(), empty.getType(), empty.getDynamicSizes())));
      empty.erase();
    });
  }

  void placeCarries(Block *body, ValueRange carries) {
    Operation *yield = body->getTerminator();
    for (OpOperand &operand : yield->getOpOperands()) {
      Value carry = carries[operand.getOperandNumber()];
      if (!isa<RankedTensorType>(carry.getType()) || operand.get() == carry)
        continue;
      place(operand, carry, body->getParentOp());
      if (Operation *writer = firstWriter(operand.get(), carry, body))
        moveReadersBefore(writer, carry);
    }
  }

  /// Makes what a terminator yields lie in `carry` where it is new.
  static void place(OpOperand &operand, Value carry, Operation *loop) {
    Value value = operand.get();
    Operation *op = value.getDefiningOp();
    if (op && isConditional(op) && value.hasOneUse() &&
        op->getBlock() == operand.getOwner()->getBlock()) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      for (Region &region : op->getRegions())
        place(terminatorOf(region)->getOpOperand(number), carry, loop);
      return;
    }
    if (OpOperand *destination = emptyOperand(value, loop))
      destination->set(carry);
  }

  /// The operation of `body` that starts to write the new value over `carry`.
  static Operation *firstWriter(Value value, Value carry, Block *body) {
    Operation *writer = nullptr;
    for (Value current = value; current != carry;) {
      auto result = dyn_cast<OpResult>(current);
      if (!result || result.getOwner()->getBlock() != body)
        break;
      Operation *op = result.getOwner();
      OpOperand *next = lingon::updatedOperand(op, result.getResultNumber());
      if (!next && !isConditional(op))
        break;
      writer = op;
      if (!next)
        break;
      current = next->get();
    }
    return writer;
  }

  /// Moves operations that read `carry` after `writer`, with what they need, in
  /// front of it, unless they depend on it.
  static void moveReadersBefore(Operation *writer, Value carry) {
    Block *block = writer->getBlock();
    SmallVector<Operation *> readers;
    SmallVector<Value> views{carry};
    while (!views.empty()) {
      Value view = views.pop_back_val();
      for (Operation *user : view.getUsers()) {
        Operation *inBlock = block->findAncestorOpInBlock(*user);
        if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                tensor::CollapseShapeOp>(user))
          views.push_back(user->getResult(0));
        if (inBlock && writer->isBeforeInBlock(inBlock) &&
            !inBlock->hasTrait<OpTrait::IsTerminator>())
          readers.push_back(inBlock);
      }
    }
    llvm::sort(readers, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    readers.erase(llvm::unique(readers), readers.end());
    for (Operation *reader : readers) {
      SetVector<Operation *> slice;
      if (!collectSlice(reader, writer, slice))
        continue;
      SmallVector<Operation *> ordered(slice.begin(), slice.end());
      llvm::sort(ordered, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      for (Operation *op : ordered)
        op->moveBefore(writer);
    }
  }

  /// `op` and what it needs after `writer`; false if that is `writer` itself or
  /// has side effects.
  static bool collectSlice(Operation *op, Operation *writer,
                           SetVector<Operation *> &slice) {
    SmallVector<Operation *> pending{op};
    while (!pending.empty()) {
      Operation *current = pending.pop_back_val();
      if (current == writer || lingon::isOrdered(current))
        return false;
      if (!slice.insert(current))
        continue;
      SetVector<Value> values(current->operand_begin(), current->operand_end());
      if (current->getNumRegions() > 0)
        getUsedValuesDefinedAbove(current->getRegions(), values);
      for (Value value : values)
        if (Operation *made = value.getDefiningOp();
            made && made->getBlock() == writer->getBlock() &&
            !made->isBeforeInBlock(writer))
          pending.push_back(made);
    }
    return true;
  }

  /// Results of a conditional that every branch computes into an empty tensor
  /// share one.
  static void placeResults(Operation *op) {
    for (OpResult result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      SmallVector<OpOperand *> destinations;
      for (Region &region : op->getRegions())
        destinations.push_back(emptyOperand(
            terminatorOf(region)->getOperand(result.getResultNumber()), op));
      if (llvm::is_contained(destinations, nullptr))
        continue;
      OpBuilder builder(op);
      Value shared = tensor::EmptyOp::create(
          builder, op->getLoc(), type.getShape(), type.getElementType());
      for (OpOperand *destination : destinations)
        destination->set(shared);
    }
  }
};

} // namespace

LINGON_REGISTER_PASS(LoopDestinationsPass)
