//===- outline_loops.cpp - many loops become functions --------------------===//
//
// The time of LLVM's loop vectorizer grows with the square of the loops in a
// function, that of its code generation with the function's length. Where a
// function has many loops, each nest becomes a function of its buffers and
// scalars, of which lingon-merge-functions leaves one of each kind.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "buffers.h"
#include "outlining.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace {

/// A nest with more loops in a row than this is taken apart.
constexpr int64_t kLoopsOfNest = 4;

/// Loops in `op`, itself included, that contain no other loop.
int64_t innermostLoops(Operation *op) {
  int64_t count = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      count += innermostLoops(&inner);
  return count == 0 && isa<LoopLikeOpInterface>(op) ? 1 : count;
}

/// Whether `loop` does nothing but compute on scalars and elements of buffers.
bool isPlain(scf::ForOp loop) {
  return !loop->walk([](Operation *op) {
                if (isa<memref::LoadOp, memref::StoreOp>(op) ||
                    op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                    isMemoryEffectFree(op))
                  return WalkResult::advance();
                auto call = dyn_cast<CallOpInterface>(op);
                return call && lingon::passesNumbersOnly(call)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

struct OutlineLoopsPass
    : public PassWrapper<OutlineLoopsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineLoopsPass)
  OutlineLoopsPass() = default;
  OutlineLoopsPass(const OutlineLoopsPass &other) : PassWrapper(other) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<func::FuncDialect, LLVM::LLVMDialect, memref::MemRefDialect>();
  }
  StringRef getArgument() const final { return "lingon-outline-loops"; }
  StringRef getDescription() const final {
    return "make functions of the loops of functions that have many";
  }
  Option<int64_t> most{*this, "most", llvm::cl::init(8),
                       llvm::cl::desc("loops that stay in one function, at "
                                      "most")};

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (innermostLoops(function) <= most)
        continue;
      SmallVector<scf::ForOp> nests;
      function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
        if (innermostLoops(loop) > kLoopsOfNest || !isPlain(loop))
          return WalkResult::advance();
        nests.push_back(loop);
        return WalkResult::skip();
      });
      for (scf::ForOp loop : nests)
        outline(loop, function, symbols);
    }
  }

  static void outline(scf::ForOp loop, func::FuncOp parent,
                      SymbolTable &symbols) {
    auto captured = lingon::captures(loop.getRegion());
    if (!captured)
      return;
    // The bounds and what the loop starts with are operands of the loop itself.
    OpBuilder builder(loop);
    SmallVector<Operation *> constants;
    for (Value operand : loop->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op && op->hasTrait<OpTrait::ConstantLike>())
        constants.push_back(op);
      else
        captured->insert(operand);
    }
    for (Value value : *captured)
      if (!value.getType().isIntOrIndexOrFloat() &&
          !isa<MemRefType, ComplexType, LLVM::LLVMPointerType>(value.getType()))
        return;
    Location loc = loop.getLoc();
    builder.setInsertionPoint(parent);
    SmallVector<Type> inputs;
    for (Value value : *captured)
      inputs.push_back(value.getType());
    auto function = func::FuncOp::create(
        builder, loc, (parent.getName() + "_loop").str(),
        builder.getFunctionType(inputs, loop.getResultTypes()));
    function.setPrivate();
    symbols.insert(function);
    lingon::markDistinct(function, 0, loop.getRegion(),
                         captured->getArrayRef());

    builder.setInsertionPointToStart(function.addEntryBlock());
    IRMapping mapping;
    for (auto [value, argument] : llvm::zip(*captured, function.getArguments()))
      mapping.map(value, argument);
    for (Operation *op : constants)
      if (!mapping.contains(op->getResult(0)))
        builder.clone(*op, mapping);
    Operation *moved = builder.clone(*loop, mapping);
    func::ReturnOp::create(builder, loc, moved->getResults());

    builder.setInsertionPoint(loop);
    auto call =
        func::CallOp::create(builder, loc, function, captured->getArrayRef());
    loop.replaceAllUsesWith(call.getResults());
    loop.erase();
  }
};

} // namespace

LINGON_REGISTER_PASS(OutlineLoopsPass)
