//===- add_entry.cpp - the uniform entry point of a program ---------------===//
//
// Adds `void lingon_entry_<digits>(void **pointers)`, which loads each pointer
// and calls @main, and marks the pointers of @main `noalias`: results never
// share memory with arguments or each other. If @main wants scratch memory
// (`lingon.scratch_bytes`, set by lingon-plan-buffers), its last argument is a
// block that the entry point takes from the runtime's pool and gives back.
//
// What lingon-donate left at @main moves to the module, where it is found
// without looking at operations.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace {

/// As in lowering/loader.py, which replaces the digits.
constexpr StringLiteral kEntry = "lingon_entry_0000000000000000";
constexpr StringLiteral kMayAlias = "lingon.may_alias";

struct AddEntryPass
    : public PassWrapper<AddEntryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddEntryPass)
  StringRef getArgument() const final { return "lingon-add-entry"; }
  StringRef getDescription() const final {
    return "add the entry point that takes all buffers in one array";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<LLVM::LLVMFuncOp>("main");
    if (!main || main.isExternal()) {
      module.emitError("no function @main");
      return signalPassFailure();
    }
    for (Type type : main.getArgumentTypes())
      if (!isa<LLVM::LLVMPointerType>(type)) {
        main.emitError("@main takes ") << type << ", not only pointers";
        return signalPassFailure();
      }
    markArguments(main);
    for (StringRef name : {"lingon.aliases", "lingon.overwritten"})
      if (Attribute numbers = main->removeAttr(name))
        module->setAttr(name, numbers);
    if (!module.lookupSymbol(kEntry))
      addEntry(module, main);
  }

  void markArguments(LLVM::LLVMFuncOp main) {
    auto unit = UnitAttr::get(&getContext());
    SmallVector<DictionaryAttr> all; // one by one takes quadratic time
    for (unsigned i = 0, n = main.getNumArguments(); i < n; ++i) {
      NamedAttrList attributes(main.getArgAttrDict(i));
      if (!attributes.erase(kMayAlias))
        attributes.set(LLVM::LLVMDialect::getNoAliasAttrName(), unit);
      if (!attributes.get(LLVM::LLVMDialect::getNonNullAttrName()))
        attributes.set(LLVM::LLVMDialect::getNonNullAttrName(), unit);
      all.push_back(attributes.getDictionary(&getContext()));
    }
    main.setAllArgAttrs(all);
  }

  void addEntry(ModuleOp module, LLVM::LLVMFuncOp main) {
    Location loc = main.getLoc();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    Type ptr = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = builder.getI64Type();
    Type none = LLVM::LLVMVoidType::get(&getContext());
    auto function = [&](StringRef name, Type result, Type argument) {
      if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
        return known;
      return LLVM::LLVMFuncOp::create(
          builder, loc, name, LLVM::LLVMFunctionType::get(result, {argument}));
    };
    LLVM::LLVMFuncOp entry = function(kEntry, none, ptr);
    // LLVM's module says so, too.
    if (module->hasAttr("lingon.vectorized"))
      entry.setPassthroughAttr(builder.getStrArrayAttr({"lingon-vectorized"}));
    auto scratch = main->getAttrOfType<IntegerAttr>("lingon.scratch_bytes");
    LLVM::LLVMFuncOp alloc, free;
    if (scratch && scratch.getInt()) {
      alloc = function("lingon_rt_alloc", ptr, i64);
      free = function("lingon_rt_free", none, ptr);
    }

    builder.setInsertionPointToStart(entry.addEntryBlock(builder));
    Value pointers = entry.getArgument(0), block;
    if (alloc) {
      Value size = LLVM::ConstantOp::create(
          builder, loc, i64, builder.getI64IntegerAttr(scratch.getInt()));
      block = LLVM::CallOp::create(builder, loc, alloc, size).getResult();
    }
    SmallVector<Value> values;
    for (unsigned i = 0, n = main.getNumArguments() - (block ? 1 : 0); i < n;
         ++i) {
      Value address =
          LLVM::GEPOp::create(builder, loc, ptr, ptr, pointers,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      values.push_back(LLVM::LoadOp::create(builder, loc, ptr, address));
    }
    if (block)
      values.push_back(block);
    LLVM::CallOp::create(builder, loc, main, values);
    if (block)
      LLVM::CallOp::create(builder, loc, free, block);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }
};

} // namespace

LINGON_REGISTER_PASS(AddEntryPass)
