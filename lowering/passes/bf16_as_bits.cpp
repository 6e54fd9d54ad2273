//===- bf16_as_bits.cpp - bf16 values are 16 bits -------------------------===//
//
// Programs compute with bf16 as f32 and convert by integer operations: a bf16
// is only loaded, chosen, moved and stored. For CPUs without instructions for
// it LLVM does that through f32, element by element, with calls of conversions.
// Here such values become i16; what else has a bf16 is left as it is, between
// bitcasts.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace {

/// `type` with i16 in place of bf16; null if it has none.
Type bitsOf(Type type) {
  if (type.isBF16())
    return IntegerType::get(type.getContext(), 16);
  if (auto vector = dyn_cast<VectorType>(type))
    if (vector.getElementType().isBF16())
      return vector.clone(IntegerType::get(type.getContext(), 16));
  return {};
}

/// Whether `op` treats its values as bits, whatever their type.
bool movesBits(Operation *op) {
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MaskedLoadOp,
             LLVM::MaskedStoreOp, LLVM::SelectOp, LLVM::InsertElementOp,
             LLVM::ExtractElementOp, LLVM::ShuffleVectorOp, LLVM::BitcastOp,
             LLVM::ConstantOp, LLVM::PoisonOp, LLVM::UndefOp, LLVM::ZeroOp,
             LLVM::BrOp, LLVM::CondBrOp>(op);
}

struct BF16AsBitsPass
    : public PassWrapper<BF16AsBitsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BF16AsBitsPass)
  StringRef getArgument() const final { return "lingon-bf16-as-bits"; }
  StringRef getDescription() const final {
    return "load, move and store bf16 values as integers";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> movers;
    SmallVector<BlockArgument> arguments;
    SmallVector<std::pair<OpOperand *, Type>> others;
    auto hasAny = [](TypeRange types) {
      return llvm::any_of(types, [](Type type) { return bool(bitsOf(type)); });
    };
    getOperation().walk([&](Operation *op) {
      if (movesBits(op)) {
        if (hasAny(op->getResultTypes()) || hasAny(op->getOperandTypes()))
          movers.push_back(op);
      } else {
        for (OpOperand &operand : op->getOpOperands())
          if (bitsOf(operand.get().getType()))
            others.emplace_back(&operand, operand.get().getType());
      }
      for (Region &region : op->getRegions())
        for (Block &block : llvm::drop_begin(region))
          for (BlockArgument argument : block.getArguments())
            if (bitsOf(argument.getType()))
              arguments.push_back(argument);
    });
    for (BlockArgument argument : arguments)
      argument.setType(bitsOf(argument.getType()));
    for (Operation *op : movers)
      retype(op);
    OpBuilder builder(&getContext());
    for (auto [operand, type] : others)
      cast(builder, *operand, type);
    for (Operation *op : movers)
      for (OpOperand &operand : op->getOpOperands())
        if (Type bits = bitsOf(operand.get().getType()))
          cast(builder, operand, bits);
    for (Operation *op : movers)
      if (auto same = dyn_cast<LLVM::BitcastOp>(op);
          same && same.getArg().getType() == same.getType()) {
        same.replaceAllUsesWith(same.getArg());
        same.erase();
      }
  }

  static void retype(Operation *op) {
    for (Value result : op->getResults())
      if (Type bits = bitsOf(result.getType()))
        result.setType(bits);
    auto constant = dyn_cast<LLVM::ConstantOp>(op);
    if (!constant)
      return;
    auto i16 = IntegerType::get(op->getContext(), 16);
    Attribute value = constant.getValue();
    if (auto number = dyn_cast<FloatAttr>(value))
      value = IntegerAttr::get(i16, number.getValue().bitcastToAPInt());
    else if (auto numbers = dyn_cast<DenseElementsAttr>(value))
      value = numbers.bitcast(i16);
    constant->setAttr(constant.getValueAttrName(), value);
  }

  static void cast(OpBuilder &builder, OpOperand &operand, Type wanted) {
    if (operand.get().getType() == wanted)
      return;
    builder.setInsertionPoint(operand.getOwner());
    operand.set(LLVM::BitcastOp::create(builder, operand.getOwner()->getLoc(),
                                        wanted, operand.get()));
  }
};

} // namespace

LINGON_REGISTER_PASS(BF16AsBitsPass)
