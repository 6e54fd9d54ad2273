//===- if_any.cpp - a pass that runs where it has something to do ---------===//
//
// A conversion looks at every operation of a module, also where none is of the
// dialect that it converts.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace {

struct IfAnyPass : public PassWrapper<IfAnyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(IfAnyPass)
  IfAnyPass() = default;
  IfAnyPass(const IfAnyPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "lingon-if-any"; }
  StringRef getDescription() const final {
    return "run a pass if there are operations of a dialect";
  }
  Option<std::string> dialect{*this, "dialect",
                              llvm::cl::desc("the dialect's name")};
  Option<std::string> pass{*this, "pass", llvm::cl::desc("the pass to run")};

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager manager(ModuleOp::getOperationName());
    if (succeeded(parsePassPipeline(pass, manager)))
      manager.getDependentDialects(registry);
  }

  void runOnOperation() override {
    WalkResult found = getOperation().walk([&](Operation *op) {
      return op->getName().getDialectNamespace() == dialect
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      return;
    OpPassManager manager(ModuleOp::getOperationName());
    if (failed(parsePassPipeline(pass, manager)) ||
        failed(runPipeline(manager, getOperation())))
      signalPassFailure();
  }
};

} // namespace

LINGON_REGISTER_PASS(IfAnyPass)
