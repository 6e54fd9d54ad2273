//===- lower_kernels.cpp - library kernel calls become C calls ------------===//
//
// A bufferized lingon.kernel_call becomes a call of lingon_kernel_<name> with
// an array of buffer descriptors. The descriptors live in the entry block of
// the function, shapes and strides that are static in constant globals: no
// heap, no growth of the stack in loops.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

#include <map>
#include <vector>

using namespace mlir;

namespace {

struct LowerKernelsPass
    : public PassWrapper<LowerKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerKernelsPass)
  StringRef getArgument() const final { return "lingon-lower-kernels"; }
  StringRef getDescription() const final {
    return "lower lingon.kernel_call on memrefs to calls of the C functions";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, memref::MemRefDialect,
                    arith::ArithDialect>();
  }

  void runOnOperation() override {
    SmallVector<lingon::KernelCallOp> calls;
    getOperation().walk([&](lingon::KernelCallOp op) { calls.push_back(op); });
    if (calls.empty())
      return;
    SymbolTable table(getOperation());
    symbols = &table;
    tables.clear();
    for (lingon::KernelCallOp call : calls)
      if (failed(lower(call)))
        return signalPassFailure();
  }

  /// A private constant global that holds `values`; shared between the calls.
  LLVM::GlobalOp constantTable(Location loc, ArrayRef<int64_t> values) {
    std::vector<int64_t> key(values.begin(), values.end());
    if (auto known = tables.find(key); known != tables.end())
      return known->second;
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), values.size());
    auto value = DenseElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(values.size())},
                              builder.getI64Type()),
        values);
    auto global = LLVM::GlobalOp::create(
        builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Private,
        "lingon_kernel_table", value);
    symbols->insert(global);
    tables[key] = global;
    return global;
  }

  LLVM::LLVMFuncOp kernelFunction(Location loc, StringRef name) {
    if (auto known = symbols->lookup<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    Type ptr = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {ptr, i64, ptr, i64});
    auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
    function.setPrivate();
    symbols->insert(function);
    return function;
  }

  LogicalResult lower(lingon::KernelCallOp call) {
    Location loc = call.getLoc();
    SmallVector<Value> operands(call.getInputs());
    llvm::append_range(operands, call.getOutputs());
    for (Value operand : operands)
      if (!isa<MemRefType>(operand.getType()))
        return call.emitOpError("must be bufferized before "
                                "lingon-lower-kernels, has an operand of type ")
               << operand.getType();
    if (Operation *other = symbols->lookup(call.getSymbol());
        other && !isa<LLVM::LLVMFuncOp>(other))
      return call.emitOpError("symbol '")
             << call.getSymbol() << "' is already defined otherwise";

    MLIRContext *context = &getContext();
    auto function = call->getParentOfType<FunctionOpInterface>();
    if (!function)
      return call.emitOpError("must be inside a function");
    OpBuilder entry(context);
    entry.setInsertionPointToStart(&function.getFunctionBody().front());
    OpBuilder builder(call);
    Type ptr = LLVM::LLVMPointerType::get(context);
    Type i64 = builder.getI64Type();
    auto descriptor = LLVM::LLVMStructType::getLiteral(
        context, {ptr, i64, ptr, ptr, builder.getI32Type()});
    auto number = [&](OpBuilder &at, int64_t value) -> Value {
      return LLVM::ConstantOp::create(at, loc, i64,
                                      at.getI64IntegerAttr(value));
    };
    auto tableAddress = [&](ArrayRef<int64_t> values) -> Value {
      if (values.empty())
        return LLVM::ZeroOp::create(builder, loc, ptr);
      return LLVM::AddressOfOp::create(builder, loc,
                                       constantTable(loc, values));
    };
    auto toI64 = [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, i64, value);
    };

    Value buffers = LLVM::AllocaOp::create(entry, loc, ptr, descriptor,
                                           number(entry, operands.size()), 8);
    auto field = [&](int32_t index, int32_t position) -> Value {
      return LLVM::GEPOp::create(builder, loc, ptr, descriptor, buffers,
                                 ArrayRef<LLVM::GEPArg>{index, position});
    };
    for (auto [index, operand] : llvm::enumerate(operands)) {
      auto type = cast<MemRefType>(operand.getType());
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(type.getStridesAndOffset(strides, offset)))
        return call.emitOpError("operand ")
               << index << " has a layout that is not strided: " << type;
      bool staticLayout = type.hasStaticShape() &&
                          llvm::none_of(strides, ShapedType::isDynamic);
      memref::ExtractStridedMetadataOp metadata;
      if (!staticLayout || offset != 0)
        metadata =
            memref::ExtractStridedMetadataOp::create(builder, loc, operand);

      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, operand);
      Value data = LLVM::IntToPtrOp::create(builder, loc, ptr, toI64(address));
      if (offset != 0) {
        Value distance = toI64(metadata.getOffset());
        data = LLVM::GEPOp::create(builder, loc, ptr, storageType(type), data,
                                   ArrayRef<LLVM::GEPArg>{distance});
      }
      Value shapeAddress, strideAddress;
      if (staticLayout) {
        shapeAddress = tableAddress(type.getShape());
        strideAddress = tableAddress(strides);
      } else {
        auto spill = [&](ValueRange values) -> Value {
          Value space = LLVM::AllocaOp::create(entry, loc, ptr, i64,
                                               number(entry, values.size()), 8);
          for (auto [position, value] : llvm::enumerate(values)) {
            Value slot = LLVM::GEPOp::create(
                builder, loc, ptr, i64, space,
                ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(position)});
            LLVM::StoreOp::create(builder, loc, toI64(value), slot);
          }
          return space;
        };
        shapeAddress = spill(metadata.getSizes());
        strideAddress = spill(metadata.getStrides());
      }
      int32_t at = static_cast<int32_t>(index);
      LLVM::StoreOp::create(builder, loc, data, field(at, 0));
      LLVM::StoreOp::create(builder, loc, number(builder, type.getRank()),
                            field(at, 1));
      LLVM::StoreOp::create(builder, loc, shapeAddress, field(at, 2));
      LLVM::StoreOp::create(builder, loc, strideAddress, field(at, 3));
      Value code = LLVM::ConstantOp::create(
          builder, loc, builder.getI32Type(),
          builder.getI32IntegerAttr(call.getDtypes()[index]));
      LLVM::StoreOp::create(builder, loc, code, field(at, 4));
    }
    LLVM::CallOp::create(builder, loc, kernelFunction(loc, call.getSymbol()),
                         ValueRange{buffers, number(builder, operands.size()),
                                    tableAddress(call.getConfig()),
                                    number(builder, call.getConfig().size())});
    call.erase();
    return success();
  }

  /// An LLVM type with the size of the memref's elements.
  Type storageType(MemRefType type) {
    Type element = type.getElementType();
    auto integer = [&](unsigned bits) {
      return IntegerType::get(&getContext(), std::max(bits, 8u));
    };
    if (auto complex = dyn_cast<ComplexType>(element))
      return integer(2 * complex.getElementType().getIntOrFloatBitWidth());
    if (element.isIndex())
      return integer(64);
    return integer(element.getIntOrFloatBitWidth());
  }

  SymbolTable *symbols = nullptr;
  std::map<std::vector<int64_t>, LLVM::GlobalOp> tables;
};

} // namespace

LINGON_REGISTER_PASS(LowerKernelsPass)
