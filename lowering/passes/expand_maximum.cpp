//===- expand_maximum.cpp - maximum and minimum in few instructions -------===//
//
// arith.maximumf and minimumf of f32 and f64, which count NaNs and the sign of
// zero. LLVM's code for them on x86 swaps the operands by their signs before it
// compares them. The instructions of the CPU give the second operand where both
// are zero; so the bits of both orders are put together, which are the same for
// all other numbers.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace {

Value expand(OpBuilder &builder, Location loc, Value a, Value b, bool maximum) {
  using arith::CmpFPredicate;
  Type type = a.getType(), element = getElementTypeOrSelf(type);
  Type integer = builder.getIntegerType(element.getIntOrFloatBitWidth());
  Type bits = integer;
  if (auto vector = dyn_cast<VectorType>(type))
    bits = vector.clone(integer);
  // One machine instruction: the second operand, unless the first one is more.
  auto bitsOf = [&](Value x, Value y) -> Value {
    auto more = arith::CmpFOp::create(
        builder, loc, maximum ? CmpFPredicate::OGT : CmpFPredicate::OLT, x, y);
    return arith::BitcastOp::create(
        builder, loc, bits, arith::SelectOp::create(builder, loc, more, x, y));
  };
  Value one = bitsOf(a, b), other = bitsOf(b, a), both;
  if (maximum)
    both = arith::AndIOp::create(builder, loc, one, other);
  else
    both = arith::OrIOp::create(builder, loc, one, other);
  Value extreme = arith::BitcastOp::create(builder, loc, type, both);
  TypedAttr nan = FloatAttr::get(
      element, APFloat::getQNaN(cast<FloatType>(element).getFloatSemantics()));
  if (auto vector = dyn_cast<VectorType>(type))
    nan = DenseElementsAttr::get(vector, nan);
  return arith::SelectOp::create(
      builder, loc,
      arith::CmpFOp::create(builder, loc, CmpFPredicate::UNO, a, b),
      arith::ConstantOp::create(builder, loc, nan), extreme);
}

struct ExpandMaximumPass
    : public PassWrapper<ExpandMaximumPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMaximumPass)
  StringRef getArgument() const final { return "lingon-expand-maximum"; }
  StringRef getDescription() const final {
    return "maximum and minimum of floats as comparison and bits";
  }

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op))
        return;
      Type element = getElementTypeOrSelf(op->getResult(0).getType());
      Value a = op->getOperand(0), b = op->getOperand(1);
      if (!element.isF32() && !element.isF64())
        return;
      // With a constant LLVM needs less; it knows maxima that loops accumulate.
      if (llvm::any_of(op->getOperands(), [](Value value) {
            return isa<BlockArgument>(value) ||
                   matchPattern(value, m_Constant());
          }))
        return;
      OpBuilder builder(op);
      op->getResult(0).replaceAllUsesWith(
          expand(builder, op->getLoc(), a, b, isa<arith::MaximumFOp>(op)));
      op->erase();
    });
  }
};

} // namespace

LINGON_REGISTER_PASS(ExpandMaximumPass)
