//===- allow_contraction.cpp - a*b+c may become a fused multiply-add ------===//
//
// Sets the fastmath flag `contract` on arith.addf, subf, mulf, divf and negf of
// the program, and no other flag. Runs before the elementary functions are
// inserted: their error-compensated arithmetic must stay as written.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace {

struct AllowContractionPass
    : public PassWrapper<AllowContractionPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AllowContractionPass)
  StringRef getArgument() const final { return "lingon-allow-contraction"; }
  StringRef getDescription() const final {
    return "let multiplications and additions of the program contract to "
           "fused multiply-adds";
  }

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
               arith::NegFOp>(op))
        return;
      auto fast = cast<arith::ArithFastMathInterface>(op);
      arith::FastMathFlags flags =
          fast.getFastMathFlagsAttr().getValue() |
          arith::FastMathFlags::contract;
      op->setAttr(fast.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op->getContext(), flags));
    });
  }
};

} // namespace

LINGON_REGISTER_PASS(AllowContractionPass)
