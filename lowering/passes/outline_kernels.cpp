//===- outline_kernels.cpp - many kernel calls become functions
//------------===//
//
// A kernel call fills descriptors of its buffers, some fifty instructions. A
// function with hundreds of them takes LLVM's code generation a time that grows
// with their square. Where there are many, each becomes a function of its
// buffers, of which lingon-merge-functions leaves one for each shape.
//
// A function takes the address of a buffer and no more. Of a buffer that is a
// part of another it takes the address of the whole, where the part begins, and
// whatever of its shape and strides its type does not say.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace {

/// What a function takes of a buffer.
struct Parts {
  SmallVector<Value> values;
  bool whole = true;
};

Parts partsOf(OpBuilder &builder, Location loc, Value operand) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type || (type.hasStaticShape() && type.getLayout().isIdentity()))
    return {{operand}, true};
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, operand);
  Parts parts{{metadata.getBaseBuffer()}, false};
  auto [strides, offset] = type.getStridesAndOffset();
  auto add = [&](int64_t known, Value value) {
    if (ShapedType::isDynamic(known))
      parts.values.push_back(value);
  };
  add(offset, metadata.getOffset());
  for (auto [known, value] : llvm::zip(type.getShape(), metadata.getSizes()))
    add(known, value);
  for (auto [known, value] : llvm::zip(strides, metadata.getStrides()))
    add(known, value);
  return parts;
}

/// The buffer of type `type` that `arguments` are the parts of.
Value assemble(OpBuilder &builder, Location loc, MemRefType type,
               ValueRange arguments) {
  auto [strides, offset] = type.getStridesAndOffset();
  size_t next = 1;
  auto part = [&](int64_t known) -> OpFoldResult {
    if (ShapedType::isDynamic(known))
      return arguments[next++];
    return builder.getIndexAttr(known);
  };
  OpFoldResult start = part(offset);
  SmallVector<OpFoldResult> sizes, steps;
  for (int64_t known : type.getShape())
    sizes.push_back(part(known));
  for (int64_t known : strides)
    steps.push_back(part(known));
  return memref::ReinterpretCastOp::create(builder, loc, type, arguments[0],
                                           start, sizes, steps);
}

struct OutlineKernelsPass
    : public PassWrapper<OutlineKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernelsPass)
  OutlineKernelsPass() = default;
  OutlineKernelsPass(const OutlineKernelsPass &other) : PassWrapper(other) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<func::FuncDialect, memref::MemRefDialect>();
  }
  StringRef getArgument() const final { return "lingon-outline-kernels"; }
  StringRef getDescription() const final {
    return "make functions of kernel calls where there are many";
  }
  Option<int64_t> most{
      *this, "most", llvm::cl::init(16),
      llvm::cl::desc("kernel calls that stay where they are, at most")};

  void runOnOperation() override {
    SmallVector<lingon::KernelCallOp> calls;
    getOperation().walk([&](lingon::KernelCallOp call) {
      if (call->getNumResults() == 0)
        calls.push_back(call);
    });
    if (int64_t(calls.size()) <= most)
      return;
    SymbolTable symbols(getOperation());
    for (lingon::KernelCallOp call : calls) {
      OpBuilder builder(call);
      SmallVector<Parts> operands;
      SmallVector<Value> passed;
      for (Value operand : call->getOperands()) {
        operands.push_back(partsOf(builder, call.getLoc(), operand));
        llvm::append_range(passed, operands.back().values);
      }
      builder.clearInsertionPoint();
      auto function = func::FuncOp::create(
          builder, call.getLoc(), "kernel",
          builder.getFunctionType(TypeRange(ValueRange(passed)), {}));
      function.setPrivate();
      symbols.insert(function);
      builder.setInsertionPointToStart(function.addEntryBlock());
      IRMapping mapping;
      ValueRange arguments = function.getArguments();
      for (auto [operand, parts] : llvm::zip(call->getOperands(), operands)) {
        ValueRange own = arguments.take_front(parts.values.size());
        arguments = arguments.drop_front(parts.values.size());
        mapping.map(operand,
                    parts.whole
                        ? own[0]
                        : assemble(builder, call.getLoc(),
                                   cast<MemRefType>(operand.getType()), own));
      }
      builder.clone(*call, mapping);
      func::ReturnOp::create(builder, call.getLoc());
      builder.setInsertionPoint(call);
      func::CallOp::create(builder, call.getLoc(), function, passed);
      call.erase();
    }
  }
};

} // namespace

LINGON_REGISTER_PASS(OutlineKernelsPass)
