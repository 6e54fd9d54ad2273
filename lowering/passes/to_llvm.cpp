//===- to_llvm.cpp - everything to the llvm dialect in one conversion -----===//
//
// The conversions of arith, math, complex, index, memref, vector, func and cf
// as one: each alone walks the whole module, converts types at its borders back
// and forth, and leaves casts behind. Functions take bare pointers. Descriptors
// of buffers are taken apart where they are known, so that the translation and
// LLVM see less than half as many operations. What lingon-loop-hints said of
// loops is put where the translation looks for it.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/DialectConversion.h"

#include <optional>

using namespace mlir;

namespace {

struct ToLLVMPass : public PassWrapper<ToLLVMPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToLLVMPass)
  StringRef getArgument() const final { return "lingon-to-llvm"; }
  StringRef getDescription() const final {
    return "convert what is left to the llvm dialect";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  /// The patterns, of which there are hundreds, are made once.
  LogicalResult initialize(MLIRContext *context) override {
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    options.useGenericFunctions = true;
    converter = std::make_shared<LLVMTypeConverter>(context, options);
    symbols = std::make_shared<std::optional<SymbolTableCollection>>();
    symbols->emplace();
    SymbolTableCollection *tables = &**symbols;
    RewritePatternSet set(context);
    arith::populateCeilFloorDivExpandOpsPatterns(set);
    arith::populateArithToLLVMConversionPatterns(*converter, set);
    populateMathToLLVMConversionPatterns(*converter, set);
    populateComplexToLLVMConversionPatterns(*converter, set);
    index::populateIndexToLLVMConversionPatterns(*converter, set);
    populateFinalizeMemRefToLLVMConversionPatterns(*converter, set, tables);
    populateVectorToLLVMConversionPatterns(*converter, set);
    populateFuncToLLVMConversionPatterns(*converter, set, tables);
    cf::populateControlFlowToLLVMConversionPatterns(*converter, set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // In its place, where the patterns look for it: it knows the last module.
    symbols->emplace();
    LLVMConversionTarget target(*context);
    ConversionConfig config;
    // Everything was folded before.
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(
            applyPartialConversion(getOperation(), target, patterns, config)))
      return signalPassFailure();

    foldDescriptors();
    StringAttr hint = StringAttr::get(context, "llvm.loop_annotation");
    getOperation().walk([&](LLVM::BrOp branch) {
      if (auto annotation = dyn_cast_or_null<LLVM::LoopAnnotationAttr>(
              branch->removeDiscardableAttr(hint)))
        branch.setLoopAnnotationAttr(annotation);
    });
  }

  /// What is taken out of a descriptor is what was put into it. Most
  /// descriptors are then read by nobody, and go, together with the casts.
  void foldDescriptors() {
    SmallVector<Operation *> parts;
    getOperation().walk([&](Operation *op) {
      if (auto extract = dyn_cast<LLVM::ExtractValueOp>(op)) {
        if (Value value = partOf(extract))
          extract.getResult().replaceAllUsesWith(value);
        parts.push_back(op);
      } else if (isa<LLVM::InsertValueOp, LLVM::PoisonOp,
                     UnrealizedConversionCastOp>(op)) {
        parts.push_back(op);
      }
    });
    for (Operation *op : llvm::reverse(parts))
      if (op->use_empty())
        op->erase();
  }

  static Value partOf(LLVM::ExtractValueOp extract) {
    Value container = extract.getContainer();
    for (;;) {
      // A descriptor that was cast to a memref and back.
      if (auto back = container.getDefiningOp<UnrealizedConversionCastOp>()) {
        if (back->getNumOperands() != 1)
          return {};
        auto there =
            back.getOperand(0).getDefiningOp<UnrealizedConversionCastOp>();
        if (!there || there->getNumOperands() != 1 ||
            there.getOperand(0).getType() != container.getType())
          return {};
        container = there.getOperand(0);
        continue;
      }
      auto insert = container.getDefiningOp<LLVM::InsertValueOp>();
      if (!insert)
        return {};
      if (insert.getPosition() == extract.getPosition())
        return insert.getValue();
      // One is a part of the other: the types do not say which of them.
      size_t common =
          std::min(insert.getPosition().size(), extract.getPosition().size());
      if (insert.getPosition().take_front(common) ==
          extract.getPosition().take_front(common))
        return {};
      container = insert.getContainer();
    }
  }

  // Shared by the copies of the pass, whose patterns refer to them.
  std::shared_ptr<LLVMTypeConverter> converter;
  std::shared_ptr<std::optional<SymbolTableCollection>> symbols;
  FrozenRewritePatternSet patterns;
};

} // namespace

LINGON_REGISTER_PASS(ToLLVMPass)
