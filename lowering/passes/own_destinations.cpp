//===- own_destinations.cpp - every result has a destination of its own
//----===//
//
// CSE makes one `tensor.empty` of all that have the same type. Bufferization
// then takes the results that are written to it for aliases of one another: it
// has to prove for each pair that the one may overwrite the other, in time that
// grows with the cube of the program. Here each use gets its own again.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace {

struct OwnDestinationsPass
    : public PassWrapper<OwnDestinationsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OwnDestinationsPass)
  StringRef getArgument() const final { return "lingon-own-destinations"; }
  StringRef getDescription() const final {
    return "give every use of a tensor.empty its own";
  }

  void runOnOperation() override {
    SmallVector<Operation *> shared;
    getOperation().walk([&](Operation *op) {
      if (isa<tensor::EmptyOp>(op) ||
          (isReadOnly(op) && op->getResult(0).hasNUsesOrMore(manyReaders)))
        shared.push_back(op);
    });
    for (Operation *op : shared) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : op->getUses())
        uses.push_back(&use);
      for (OpOperand *use : uses) {
        if (use == uses.back()) // it has the original
          break;
        OpBuilder builder(use->getOwner());
        use->set(builder.clone(*op)->getResult(0));
      }
    }
  }

  static constexpr unsigned manyReaders = 8;

  /// Whether an operation gives the contents of a buffer that is not written.
  static bool isReadOnly(Operation *op) {
    auto contents = dyn_cast<bufferization::ToTensorOp>(op);
    return contents && contents.getRestrict() && !contents.getWritable() &&
           isa<BlockArgument>(contents.getBuffer());
  }
};

} // namespace

LINGON_REGISTER_PASS(OwnDestinationsPass)
