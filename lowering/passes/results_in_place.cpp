//===- results_in_place.cpp - results are built where the caller wants them
//===//
//
// A buffer that is copied to a result of the function at the end, and not
// written afterwards, is that result from the start: the allocation and the
// copy go. Bufferization does this for results that are computed into an empty
// tensor; here it is done for those that start as a copy of something and are
// then updated, such as scatters and loop carries.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace {

struct ResultsInPlacePass
    : public PassWrapper<ResultsInPlacePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ResultsInPlacePass)
  StringRef getArgument() const final { return "lingon-results-in-place"; }
  StringRef getDescription() const final {
    return "build what is copied to a result of the function in the result";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    // What was computed in place is copied to itself.
    function.walk([](memref::CopyOp copy) {
      if (copy.getSource() == copy.getTarget())
        copy.erase();
    });
    SmallVector<memref::CopyOp> copies(
        function.getBody().front().getOps<memref::CopyOp>());
    for (memref::CopyOp copy : copies) {
      if (!isFinal(copy))
        continue;
      auto alloc = copy.getSource().getDefiningOp<memref::AllocOp>();
      Value result = copy.getTarget();
      copy.erase();
      alloc.replaceAllUsesWith(result);
      alloc.erase();
    }
  }

  /// Whether the copy's source may be its target all along.
  static bool isFinal(memref::CopyOp copy) {
    auto alloc = copy.getSource().getDefiningOp<memref::AllocOp>();
    Value result = copy.getTarget();
    if (!alloc || alloc->getBlock() != copy->getBlock() ||
        alloc.getType() != result.getType() || !isResult(result) ||
        !lingon::staysLocal(alloc))
      return false;
    if (Operation *reshape = result.getDefiningOp())
      if (!reshape->isBeforeInBlock(alloc))
        return false;
    for (Operation *op = copy->getNextNode(); op; op = op->getNextNode())
      if (lingon::mayTouch(op, alloc.getResult()) && !onlyReads(op, alloc))
        return false;
    return true;
  }

  /// An argument of the function, or a reshaped one, that is used once.
  static bool isResult(Value value) {
    while (value.hasOneUse() &&
           isa_and_present<memref::ExpandShapeOp, memref::CollapseShapeOp>(
               value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return lingon::isEntryArgument(value) && value.hasOneUse();
  }

  /// Whether an operation that touches the buffer certainly does not write or
  /// free it.
  static bool onlyReads(Operation *op, Value buffer) {
    if (isa<memref::LoadOp>(op))
      return true;
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return !lingon::rootsMayAlias(lingon::bufferRoot(copy.getTarget()),
                                    buffer);
    auto destination = dyn_cast<DestinationStyleOpInterface>(op);
    return destination &&
           llvm::none_of(destination.getDpsInits(), [&](Value init) {
             return isa<BaseMemRefType>(init.getType()) &&
                    lingon::rootsMayAlias(lingon::bufferRoot(init), buffer);
           });
  }
};

} // namespace

LINGON_REGISTER_PASS(ResultsInPlacePass)
