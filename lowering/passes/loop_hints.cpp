//===- loop_hints.cpp - long loops become vector code once ----------------===//
//
// LLVM's vectorizer makes up to seven copies of a loop: interleaved ones, a
// vector loop for the rest and a scalar one for the rest of that. For a long
// body that brings nothing, since iterations overlap in the processor anyway,
// and costs most of the time of a compilation. Such a loop is not interleaved,
// and where the target has masked memory accesses, its last iteration is a
// masked one. Of a reduction the vectorizer makes four copies; beyond a few
// operations two have the same speed.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace {

struct LoopHintsPass
    : public PassWrapper<LoopHintsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopHintsPass)
  LoopHintsPass() = default;
  LoopHintsPass(const LoopHintsPass &other) : PassWrapper(other) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }
  StringRef getArgument() const final { return "lingon-loop-hints"; }
  StringRef getDescription() const final {
    return "tell LLVM which loops are too long for several copies";
  }
  Option<int64_t> length{*this, "length", llvm::cl::init(400),
                         llvm::cl::desc("operations from which a loop is "
                                        "vector code once")};
  Option<int64_t> reduction{*this, "reduction", llvm::cl::init(40),
                            llvm::cl::desc("operations from which a reduction "
                                           "is interleaved twice at most")};
  Option<bool> masks{*this, "masks", llvm::cl::init(false),
                     llvm::cl::desc("the target has masked memory accesses")};

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    Attribute single = parseAttribute(
        "#llvm.loop_annotation<interleave = <count = 1>>", context);
    Attribute masked =
        parseAttribute("#llvm.loop_annotation<vectorize = <predicateEnable = "
                       "true>, interleave = <count = 1>>",
                       context);
    Attribute twice = parseAttribute(
        "#llvm.loop_annotation<interleave = <count = 2>>", context);
    SymbolTable symbols(getOperation());
    llvm::DenseMap<StringAttr, int64_t> lengths;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr("llvm.loop_annotation"))
        return;
      int64_t operations = lengthOf(loop.getRegion(), symbols, lengths);
      bool reduces = loop.getNumResults() > 0;
      if (operations <
          (reduces ? std::min<int64_t>(length, reduction) : length))
        return;
      bool innermost = !loop.getBody()
                            ->walk([](LoopLikeOpInterface) {
                              return WalkResult::interrupt();
                            })
                            .wasInterrupted();
      if (innermost)
        loop->setAttr("llvm.loop_annotation", operations < length ? twice
                                              : masks             ? masked
                                                                  : single);
    });
  }

  /// Operations in `region`, those of functions that are inlined counted where
  /// they are called.
  static int64_t lengthOf(Region &region, SymbolTable &symbols,
                          llvm::DenseMap<StringAttr, int64_t> &lengths) {
    int64_t length = 0;
    region.walk([&](Operation *op) {
      ++length;
      auto call = dyn_cast<func::CallOp>(op);
      if (!call)
        return;
      StringAttr name = call.getCalleeAttr().getAttr();
      auto known = lengths.find(name);
      if (known == lengths.end()) {
        auto function = symbols.lookup<func::FuncOp>(name);
        bool inlined = function && !function.isExternal() &&
                       function->hasAttr("passthrough");
        known = lengths
                    .try_emplace(name, inlined ? lengthOf(function.getBody(),
                                                          symbols, lengths)
                                               : 0)
                    .first;
      }
      length += known->second;
    });
    return length;
  }
};

} // namespace

LINGON_REGISTER_PASS(LoopHintsPass)
