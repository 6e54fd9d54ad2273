//===- lower_calls.cpp - lingon.call becomes func.call --------------------===//
//
// The functions that are called become private. They take buffers from their
// first element on: of a part of a buffer the call passes the address where it
// begins. Runs after lingon-plan-buffers, which follows buffers to their uses
// and would lose them here.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"
#include "buffers.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace {

/// `operand`, which lies dense in memory, as a buffer of its own.
Value asWhole(OpBuilder &builder, Location loc, LLVMTypeConverter &converter,
              Value operand) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type)
    return operand;
  // A layout that says that the buffer is whole is a type of its own, too.
  auto whole = MemRefType::get(type.getShape(), type.getElementType());
  if (type == whole)
    return operand;
  MLIRContext *context = builder.getContext();
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, operand);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      builder, loc, metadata.getBaseBuffer());
  Type i64 = builder.getI64Type();
  Type ptr = LLVM::LLVMPointerType::get(context);
  Value number = arith::IndexCastOp::create(builder, loc, i64, address);
  Value base = LLVM::IntToPtrOp::create(builder, loc, ptr, number,
                                        LLVM::DereferenceableAttr());
  Value offset =
      arith::IndexCastOp::create(builder, loc, i64, metadata.getOffset());
  Value start = LLVM::GEPOp::create(
      builder, loc, ptr, converter.convertType(type.getElementType()), base,
      ArrayRef<LLVM::GEPArg>{offset});
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, converter, whole, start);
  return UnrealizedConversionCastOp::create(builder, loc, whole, descriptor)
      .getResult(0);
}

struct LowerCallsPass
    : public PassWrapper<LowerCallsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerCallsPass)
  StringRef getArgument() const final { return "lingon-lower-calls"; }
  StringRef getDescription() const final {
    return "call functions of the program with bare buffers";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect>();
  }

  void runOnOperation() override {
    SmallVector<lingon::CallOp> calls;
    getOperation().walk([&](lingon::CallOp call) { calls.push_back(call); });
    if (calls.empty())
      return;
    LLVMTypeConverter converter(&getContext());
    SymbolTable symbols(getOperation());
    for (lingon::CallOp call : calls) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee) {
        call.emitOpError("calls @") << call.getCallee()
                                    << ", which is not "
                                       "there";
        return signalPassFailure();
      }
      OpBuilder builder(call);
      SmallVector<Value> operands;
      for (Value operand : call->getOperands())
        operands.push_back(asWhole(builder, call.getLoc(), converter, operand));
      if (TypeRange(ValueRange(operands)) != callee.getArgumentTypes()) {
        call.emitOpError("does not pass what @")
            << call.getCallee() << " takes";
        return signalPassFailure();
      }
      func::CallOp::create(builder, call.getLoc(), callee, operands);
      call.erase();
      markCalled(callee);
    }
  }

  static void markCalled(func::FuncOp callee) {
    if (callee->hasAttr(lingon::kCalled))
      return;
    auto unit = UnitAttr::get(callee.getContext());
    callee->setAttr(lingon::kCalled, unit);
    callee.setPrivate();
    for (BlockArgument argument : callee.getArguments())
      if (isa<MemRefType>(argument.getType()))
        callee.setArgAttr(argument.getArgNumber(),
                          LLVM::LLVMDialect::getNoAliasAttrName(), unit);
  }
};

} // namespace

LINGON_REGISTER_PASS(LowerCallsPass)
