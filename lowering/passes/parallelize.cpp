//===- parallelize.cpp - parallel loops run on the thread pool ------------===//
//
// An outermost scf.parallel becomes a private function over a range of
// iterations, called at once or, above a threshold of work, through
// lingon_rt_parallel_for. Buffers are arguments of that function, noalias where
// they certainly do not overlap. Small loops stay where they are, serial.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"
#include "callbacks.h"
#include "remarks.h"

#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace {

constexpr StringLiteral kPassName = "lingon-parallelize";
constexpr StringLiteral kParallelFor = "lingon_rt_parallel_for";

/// Work is counted in scalar operations; a vectorised one takes about 0.1 ns.
constexpr int64_t kElementaryFunctionWork = 12;
constexpr int64_t kUnknownTripCount = 16;
/// Of a library kernel, for each element of its operands.
constexpr int64_t kKernelWork = 8;
/// The runtime's code of 8-bit integers.
constexpr int32_t kByte = 3;

int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  return llvm::MulOverflow(a, b, result)
             ? std::numeric_limits<int64_t>::max() / 4
             : std::min(result, std::numeric_limits<int64_t>::max() / 4);
}

std::optional<int64_t> tripCount(Value lower, Value upper, Value step) {
  std::optional<int64_t> low = getConstantIntValue(lower);
  std::optional<int64_t> high = getConstantIntValue(upper);
  std::optional<int64_t> by = getConstantIntValue(step);
  if (!low || !high || !by || *by <= 0)
    return std::nullopt;
  return std::max<int64_t>(0, llvm::divideCeil(*high - *low, *by));
}

/// The trip count of a loop; of `i to min(i + n, m)` it is n.
int64_t estimatedTripCount(scf::ForOp loop) {
  if (auto count =
          tripCount(loop.getLowerBound(), loop.getUpperBound(), loop.getStep()))
    return *count;
  Value upper = loop.getUpperBound();
  if (auto min = upper.getDefiningOp<arith::MinSIOp>())
    upper = min.getLhs();
  if (auto add = upper.getDefiningOp<arith::AddIOp>())
    if (add.getLhs() == loop.getLowerBound())
      if (auto size = getConstantIntValue(add.getRhs()))
        return *size;
  return kUnknownTripCount;
}

int64_t workOf(Block &block) {
  int64_t work = 0;
  for (Operation &op : block) {
    int64_t own = 1;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      own = saturatingMul(workOf(*loop.getBody()), estimatedTripCount(loop));
    } else if (auto loop = dyn_cast<scf::ParallelOp>(op)) {
      own = workOf(*loop.getBody());
      for (auto [low, high, step] : llvm::zip(
               loop.getLowerBound(), loop.getUpperBound(), loop.getStep()))
        own = saturatingMul(
            own, tripCount(low, high, step).value_or(kUnknownTripCount));
    } else if (isa<lingon::KernelCallOp>(op)) {
      for (Value operand : op.getOperands())
        if (auto type = dyn_cast<MemRefType>(operand.getType());
            type && type.hasStaticShape())
          own += saturatingMul(type.getNumElements(), kKernelWork);
    } else if (op.getNumRegions() > 0) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          own += workOf(inner);
    } else if (isa<func::CallOp>(op) ||
               (isa_and_present<math::MathDialect>(op.getDialect()) &&
                !isa<math::AbsFOp, math::FmaOp, math::CopySignOp>(op))) {
      own = kElementaryFunctionWork;
    } else if (op.hasTrait<OpTrait::ConstantLike>() ||
               op.hasTrait<OpTrait::IsTerminator>()) {
      own = 0;
    }
    work = std::min(work + own, std::numeric_limits<int64_t>::max() / 4);
  }
  return work;
}

struct ParallelizePass
    : public PassWrapper<ParallelizePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ParallelizePass)
  ParallelizePass() = default;
  ParallelizePass(const ParallelizePass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return kPassName; }
  StringRef getDescription() const final {
    return "outline parallel loops and run large ones on the thread pool";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  }
  Option<int64_t> threshold{
      *this, "threshold", llvm::cl::init(400000),
      llvm::cl::desc("work from which a loop runs on several threads")};
  Option<int64_t> grain{*this, "grain", llvm::cl::init(100000),
                        llvm::cl::desc("work of one task, at least")};
  Option<int64_t> callback{
      *this, "callback", llvm::cl::init(65536),
      llvm::cl::desc("work from which a kernel may call a loop")};
  Option<int64_t> outline{
      *this, "outline", llvm::cl::init(4096),
      llvm::cl::desc("work from which a loop becomes its own function")};

  void runOnOperation() override {
    SymbolTable table(getOperation());
    symbols = &table;
    SmallVector<scf::ParallelOp> loops;
    getOperation().walk([&](scf::ParallelOp loop) {
      if (!loop->getParentOfType<scf::ParallelOp>())
        loops.push_back(loop);
    });
    for (scf::ParallelOp loop : loops)
      if (failed(handle(loop)))
        return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      hoistStackBuffers(function);
  }

  /// A stack buffer inside of a loop would grow the stack in each iteration.
  static void hoistStackBuffers(func::FuncOp function) {
    if (function.isExternal())
      return;
    Block &entry = function.getBody().front();
    SmallVector<memref::AllocaOp> nested;
    function.walk([&](memref::AllocaOp alloca) {
      if (alloca->getBlock() != &entry && alloca.getDynamicSizes().empty() &&
          alloca.getSymbolOperands().empty())
        nested.push_back(alloca);
    });
    for (memref::AllocaOp alloca : llvm::reverse(nested))
      alloca->moveBefore(&entry, entry.begin());
  }

  LogicalResult handle(scf::ParallelOp loop) {
    if (loop.getNumReductions() != 0)
      return loop.emitOpError("with reductions is not supported by "
                              "lingon-parallelize");
    int64_t iterations = 1;
    SmallVector<int64_t> extents;
    bool isStatic = true;
    for (auto [low, high, step] : llvm::zip(
             loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
      auto count = tripCount(low, high, step);
      isStatic &= count && getConstantIntValue(low) == 0 &&
                  getConstantIntValue(step) == 1;
      extents.push_back(count.value_or(0));
      iterations = saturatingMul(iterations, count.value_or(0));
    }
    int64_t each = std::max<int64_t>(1, workOf(*loop.getBody()));
    int64_t total = saturatingMul(each, iterations);
    if (!isStatic)
      lingon::missed(loop.getLoc(), lingon::kSerial, kPassName)
          << "its bounds are not constants";
    else if (total < threshold)
      lingon::missed(loop.getLoc(), lingon::kSerial, kPassName)
          << remark::add("too little work for several threads: about {0} "
                         "operations, of at least {1}",
                         total, int64_t(threshold));
    else if (iterations == 1)
      lingon::missed(loop.getLoc(), lingon::kSerial, kPassName)
          << "it has one iteration";
    if (!isStatic || total < outline ||
        !outlineLoop(loop, extents, iterations, each, total)) {
      makeSerial(loop);
    }
    return success();
  }

  void makeSerial(scf::ParallelOp loop) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    SmallVector<Value> ivs;
    for (auto [low, high, step] : llvm::zip(
             loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
      auto serial = scf::ForOp::create(builder, loc, low, high, step);
      ivs.push_back(serial.getInductionVar());
      builder.setInsertionPointToStart(serial.getBody());
    }
    moveBody(loop, builder, ivs);
    loop.erase();
  }

  static void moveBody(scf::ParallelOp loop, OpBuilder &builder,
                       ValueRange ivs) {
    Block *body = loop.getBody();
    for (auto [argument, value] : llvm::zip(body->getArguments(), ivs))
      argument.replaceAllUsesWith(value);
    Block *target = builder.getInsertionBlock();
    Block::iterator at = builder.getInsertionPoint();
    target->getOperations().splice(at, body->getOperations(), body->begin(),
                                   std::prev(body->end()));
  }

  bool outlineLoop(scf::ParallelOp loop, ArrayRef<int64_t> extents,
                   int64_t iterations, int64_t each, int64_t total) {
    auto captured = lingon::captures(loop.getRegion());
    if (!captured) {
      lingon::missed(loop.getLoc(), lingon::kSerial, kPassName)
          << "it uses a buffer that is not contiguous";
      return false;
    }
    MLIRContext *context = &getContext();
    Location loc = loop.getLoc();
    auto parent = loop->getParentOfType<FunctionOpInterface>();
    bool threaded =
        total >= threshold && iterations > 1 && !loop->hasAttr("lingon.serial");
    lingon::KernelCallOp caller;
    if (total >= callback)
      caller = lingon::callerOf(loop, captured->getArrayRef());

    OpBuilder builder(context);
    builder.setInsertionPoint(parent);
    Type index = builder.getIndexType();
    SmallVector<Type> inputs{index, index};
    for (Value value : *captured)
      inputs.push_back(value.getType());
    auto kernel =
        func::FuncOp::create(builder, loc, (parent.getName() + "_kernel").str(),
                             builder.getFunctionType(inputs, {}));
    kernel.setPrivate();
    symbols->insert(kernel);
    lingon::markDistinct(kernel, 2, loop.getRegion(), captured->getArrayRef());

    Block *entry = kernel.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    for (auto [i, value] : llvm::enumerate(*captured))
      Value(value).replaceUsesWithIf(entry->getArgument(2 + i),
                                     [&](OpOperand &use) {
                                       return loop.getRegion().isAncestor(
                                           use.getOwner()->getParentRegion());
                                     });
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto range = scf::ForOp::create(builder, loc, entry->getArgument(0),
                                    entry->getArgument(1), one);
    func::ReturnOp::create(builder, loc);
    builder.setInsertionPointToStart(range.getBody());
    SmallVector<Value> ivs(extents.size());
    Value rest = range.getInductionVar();
    for (size_t d = extents.size(); d-- > 1;) {
      Value extent = arith::ConstantIndexOp::create(builder, loc, extents[d]);
      ivs[d] = arith::RemUIOp::create(builder, loc, rest, extent);
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
    }
    ivs[0] = rest;
    moveBody(loop, builder, ivs);

    builder.setInsertionPoint(loop);
    int64_t grainSize = std::max<int64_t>(1, grain / each);
    if (caller) {
      Bound bound = bind(builder, loc, kernel, *captured);
      callBack(builder, caller, bound, iterations,
               threaded ? grainSize : iterations);
    } else if (threaded) {
      Bound bound = bind(builder, loc, kernel, *captured);
      Type i64 = builder.getI64Type();
      auto number = [&](int64_t value) -> Value {
        return LLVM::ConstantOp::create(builder, loc, i64,
                                        builder.getI64IntegerAttr(value));
      };
      Value count = number(iterations), by = number(grainSize);
      LLVM::CallOp::create(
          builder, loc, parallelFor(loc),
          ValueRange{bound.function, bound.context, count, by});
    } else
      callSerial(builder, loc, kernel, *captured, iterations);
    loop.erase();
    return true;
  }

  static void callSerial(OpBuilder &builder, Location loc, func::FuncOp kernel,
                         const SetVector<Value> &captured, int64_t iterations) {
    SmallVector<Value> arguments{
        arith::ConstantIndexOp::create(builder, loc, 0),
        arith::ConstantIndexOp::create(builder, loc, iterations)};
    llvm::append_range(arguments, captured);
    func::CallOp::create(builder, loc, kernel, arguments);
  }

  LLVM::LLVMFuncOp parallelFor(Location loc) {
    if (auto known = symbols->lookup<LLVM::LLVMFuncOp>(kParallelFor))
      return known;
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    Type ptr = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = builder.getI64Type();
    auto function = LLVM::LLVMFuncOp::create(
        builder, loc, kParallelFor,
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {ptr, ptr, i64, i64}));
    function.setPrivate();
    symbols->insert(function);
    return function;
  }

  /// The address of a function over a range of iterations, and of its context.
  struct Bound {
    Value function, context;
  };

  /// The kernel call `caller` moves here and calls the loop.
  static void callBack(OpBuilder &builder, lingon::KernelCallOp caller,
                       Bound bound, int64_t iterations, int64_t grainSize) {
    Location loc = caller.getLoc();
    LLVMTypeConverter converter(builder.getContext());
    SmallVector<Value> inputs(caller.getInputs());
    SmallVector<int32_t> dtypes(caller.getDtypes());
    size_t given = inputs.size();
    for (auto [pointer, size] : {std::pair(bound.function, iterations),
                                 std::pair(bound.context, grainSize)}) {
      auto type = MemRefType::get({size}, builder.getI8Type());
      Value descriptor = MemRefDescriptor::fromStaticShape(
          builder, loc, converter, type, pointer);
      inputs.push_back(
          UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
              .getResult(0));
      dtypes.insert(dtypes.begin() + given, kByte);
    }
    auto call = lingon::KernelCallOp::create(
        builder, loc, TypeRange(), caller.getCallee(), inputs,
        caller.getOutputs(), caller.getConfig(), dtypes, false, false);
    (void)call;
    caller.erase();
  }

  /// Captured values travel in a struct on the stack; a thunk unpacks them.
  Bound bind(OpBuilder &builder, Location loc, func::FuncOp kernel,
             const SetVector<Value> &captured) {
    MLIRContext *context = &getContext();
    LLVMTypeConverter converter(context);
    Type ptr = LLVM::LLVMPointerType::get(context);
    Type i64 = builder.getI64Type();
    SmallVector<Type> fields;
    for (Value value : captured)
      fields.push_back(isa<MemRefType>(value.getType())
                           ? ptr
                           : converter.convertType(value.getType()));
    auto frame = LLVM::LLVMStructType::getLiteral(context, fields);

    // The thunk: void (void *frame, int64_t begin, int64_t end).
    OpBuilder module(context);
    module.setInsertionPointAfter(kernel);
    auto thunk =
        func::FuncOp::create(module, loc, (kernel.getName() + "_thunk").str(),
                             module.getFunctionType({ptr, i64, i64}, {}));
    thunk.setPrivate();
    symbols->insert(thunk);
    Block *entry = thunk.addEntryBlock();
    module.setInsertionPointToStart(entry);
    Type index = module.getIndexType();
    SmallVector<Value> arguments{
        arith::IndexCastOp::create(module, loc, index, entry->getArgument(1)),
        arith::IndexCastOp::create(module, loc, index, entry->getArgument(2))};
    for (auto [i, value] : llvm::enumerate(captured)) {
      Value slot = LLVM::GEPOp::create(
          module, loc, ptr, frame, entry->getArgument(0),
          ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
      Value loaded = LLVM::LoadOp::create(module, loc, fields[i], slot);
      arguments.push_back(fromField(module, loc, converter, value, loaded));
    }
    func::CallOp::create(module, loc, kernel, arguments);
    func::ReturnOp::create(module, loc);

    OpBuilder top(context);
    auto parent = builder.getInsertionBlock()
                      ->getParentOp()
                      ->getParentOfType<FunctionOpInterface>();
    if (auto self = dyn_cast<FunctionOpInterface>(
            builder.getInsertionBlock()->getParentOp()))
      parent = self;
    top.setInsertionPointToStart(&parent.getFunctionBody().front());
    Value oneElement =
        LLVM::ConstantOp::create(top, loc, i64, top.getI64IntegerAttr(1));
    Value space = LLVM::AllocaOp::create(top, loc, ptr, frame, oneElement, 8);
    for (auto [i, value] : llvm::enumerate(captured)) {
      Value slot = LLVM::GEPOp::create(
          builder, loc, ptr, frame, space,
          ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
      LLVM::StoreOp::create(builder, loc,
                            toField(builder, loc, converter, value), slot);
    }
    Value constant = func::ConstantOp::create(
        builder, loc, thunk.getFunctionType(), thunk.getName());
    Value address =
        UnrealizedConversionCastOp::create(builder, loc, ptr, constant)
            .getResult(0);
    return {address, space};
  }

  static Value toField(OpBuilder &builder, Location loc,
                       LLVMTypeConverter &converter, Value value) {
    Type type = converter.convertType(value.getType());
    if (type == value.getType())
      return value;
    Value cast = UnrealizedConversionCastOp::create(builder, loc, type, value)
                     .getResult(0);
    if (isa<MemRefType>(value.getType()))
      return LLVM::ExtractValueOp::create(builder, loc, cast,
                                          ArrayRef<int64_t>{1});
    return cast;
  }

  static Value fromField(OpBuilder &builder, Location loc,
                         LLVMTypeConverter &converter, Value value,
                         Value loaded) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (type)
      loaded = MemRefDescriptor::fromStaticShape(builder, loc, converter, type,
                                                 loaded);
    if (loaded.getType() == value.getType())
      return loaded;
    return UnrealizedConversionCastOp::create(builder, loc, value.getType(),
                                              loaded)
        .getResult(0);
  }

  SymbolTable *symbols = nullptr;
};

} // namespace

LINGON_REGISTER_PASS(ParallelizePass)
