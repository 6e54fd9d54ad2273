//===- outline_kernels.cpp - many kernel calls become functions
//------------===//
//
// A kernel call fills descriptors of its buffers, some fifty instructions. A
// function with hundreds of them takes LLVM's code generation a time that grows
// with their square. Where there are many, each becomes a function of its
// buffers, of which lingon-merge-functions leaves one for each shape.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace {

struct OutlineKernelsPass
    : public PassWrapper<OutlineKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernelsPass)
  OutlineKernelsPass() = default;
  OutlineKernelsPass(const OutlineKernelsPass &other) : PassWrapper(other) {}
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
      OpBuilder builder(&getContext());
      auto function = func::FuncOp::create(
          builder, call.getLoc(), "kernel",
          builder.getFunctionType(call->getOperandTypes(), {}));
      function.setPrivate();
      symbols.insert(function);
      Block *body = function.addEntryBlock();
      builder.setInsertionPointToStart(body);
      IRMapping mapping;
      mapping.map(call->getOperands(), body->getArguments());
      builder.clone(*call, mapping);
      func::ReturnOp::create(builder, call.getLoc());
      builder.setInsertionPoint(call);
      func::CallOp::create(builder, call.getLoc(), function,
                           call->getOperands());
      call.erase();
    }
  }
};

} // namespace

LINGON_REGISTER_PASS(OutlineKernelsPass)
