//===- plan_buffers.cpp - one block of scratch memory per program ---------===//
//
// Assigns every static memref.alloc of a function to a range of one block of
// memory by liveness; buffers that live at different times share bytes. The
// block is a new last argument of the function, `lingon.scratch_bytes` its
// size: the caller provides it, so that a failed allocation is its to report.
// Functions called inside get a part of the caller's block. Runs while parallel
// loops are still loops, since it must see all uses of a buffer.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"
#include "buffers.h"
#include "remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace {

constexpr int64_t kAlignment = 64;
constexpr StringLiteral kScratchBytes = "lingon.scratch_bytes";

struct Buffer {
  Operation *op = nullptr; ///< the allocation, or a call that needs scratch
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  int64_t offset = 0;
};

struct PlanBuffersPass
    : public PassWrapper<PlanBuffersPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanBuffersPass)
  StringRef getArgument() const final { return "lingon-plan-buffers"; }
  StringRef getDescription() const final {
    return "place static temporaries in one block of scratch memory";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    SymbolTable table(getOperation());
    symbols = &table;
    visited.clear();
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(plan(function)))
        return signalPassFailure();
  }

  LogicalResult plan(func::FuncOp function) {
    if (function.isExternal() || !visited.insert(function).second)
      return success();
    SmallVector<Buffer> buffers;
    SmallVector<Operation *> deallocs;
    LogicalResult calls = success();
    function.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
        MemRefType type = alloc.getType();
        if (type.hasStaticShape() && type.getLayout().isIdentity() &&
            alloc.getSymbolOperands().empty()) {
          buffers.push_back({op, lingon::bufferBytes(type)});
          keepSerial(op);
        }
      } else if (std::optional<StringRef> name = calleeOf(op)) {
        auto callee = symbols->lookup<func::FuncOp>(*name);
        if (!callee || failed(calls))
          return;
        if (failed(plan(callee)))
          calls = failure();
        else if (auto bytes = callee->getAttrOfType<IntegerAttr>(kScratchBytes))
          buffers.push_back({op, bytes.getInt()});
      } else if (isa<func::ConstantOp>(op) && succeeded(calls)) {
        auto callee = symbols->lookup<func::FuncOp>(
            cast<func::ConstantOp>(op).getValue());
        if (callee && failed(plan(callee)))
          calls = failure();
        else if (callee && callee->hasAttr(kScratchBytes)) {
          op->emitOpError("takes the address of @")
              << callee.getName() << ", which needs scratch memory";
          calls = failure();
        }
      }
    });
    if (failed(calls))
      return failure();
    if (buffers.empty())
      return success();
    if (failed(findLifetimes(function, buffers)))
      return failure();
    int64_t total = assign(buffers);
    rewrite(function, buffers, total);
    return success();
  }

  /// The function that `op` calls, if it is a call.
  static std::optional<StringRef> calleeOf(Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return call.getCallee();
    if (auto call = dyn_cast<lingon::CallOp>(op))
      return call.getCallee();
    return std::nullopt;
  }

  /// The iterations of a loop around `alloc` share one buffer: they must follow
  /// each other.
  static void keepSerial(Operation *alloc) {
    for (Operation *parent = alloc->getParentOp(); parent;
         parent = parent->getParentOp())
      if (isa<scf::ParallelOp>(parent)) {
        parent->setAttr("lingon.serial", UnitAttr::get(parent->getContext()));
        lingon::missed(parent->getLoc(), lingon::kSerial, "lingon-plan-buffers")
            << "each iteration makes a buffer that is too large for the stack";
      }
  }

  /// Numbers the operations of the function: [first, last] of an operation
  /// covers all that is nested in it.
  void number(Operation *op, int64_t &next,
              DenseMap<Operation *, std::pair<int64_t, int64_t>> &positions) {
    int64_t first = next++;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner, next, positions);
    positions[op] = {first, next - 1};
  }

  LogicalResult findLifetimes(func::FuncOp function,
                              SmallVectorImpl<Buffer> &buffers) {
    DenseMap<Operation *, std::pair<int64_t, int64_t>> positions;
    int64_t next = 0;
    number(function, next, positions);
    BufferViewFlowAnalysis flow(function);
    for (Buffer &buffer : buffers) {
      if (buffer.op->getNumResults() == 0 || !isa<memref::AllocOp>(buffer.op)) {
        std::tie(buffer.first, buffer.last) = positions[buffer.op];
        continue;
      }
      SmallVector<Operation *> users;
      for (Value alias : flow.resolve(buffer.op->getResult(0)))
        for (Operation *user : alias.getUsers())
          users.push_back(user);
      // The innermost block that holds the allocation and all uses.
      Block *home = buffer.op->getBlock();
      for (Operation *user : users)
        while (!home->findAncestorOpInBlock(*user)) {
          Operation *parent = home->getParentOp();
          if (isa<LoopLikeOpInterface>(parent))
            return buffer.op->emitError("a buffer made in one iteration of a "
                                        "loop is used after it");
          home = parent->getBlock();
        }
      buffer.first = std::numeric_limits<int64_t>::max();
      buffer.last = positions[home->findAncestorOpInBlock(*buffer.op)].first;
      for (Operation *user : users) {
        if (isa<memref::DeallocOp>(user))
          continue;
        auto [first, last] = positions[home->findAncestorOpInBlock(*user)];
        buffer.first = std::min(buffer.first, first);
        buffer.last = std::max(buffer.last, last);
      }
      if (users.empty())
        buffer.first = buffer.last;
    }
    return success();
  }

  /// Large buffers first, each at the lowest offset that is free while it
  /// lives.
  static int64_t assign(SmallVectorImpl<Buffer> &buffers) {
    SmallVector<Buffer *> order;
    for (Buffer &buffer : buffers)
      order.push_back(&buffer);
    llvm::stable_sort(order,
                      [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
    int64_t total = 0;
    SmallVector<Buffer *> placed, overlapping;
    for (Buffer *buffer : order) {
      overlapping.clear();
      for (Buffer *other : placed)
        if (other->first <= buffer->last && buffer->first <= other->last)
          overlapping.push_back(other);
      llvm::sort(overlapping,
                 [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
      int64_t offset = 0;
      for (Buffer *other : overlapping) {
        if (offset + buffer->bytes <= other->offset)
          break;
        offset = std::max<int64_t>(
            offset, llvm::alignTo(other->offset + other->bytes, kAlignment));
      }
      buffer->offset = offset;
      total = std::max(total, offset + buffer->bytes);
      placed.push_back(buffer);
    }
    return std::max<int64_t>(llvm::alignTo(total, kAlignment), kAlignment);
  }

  void rewrite(func::FuncOp function, ArrayRef<Buffer> buffers, int64_t total) {
    OpBuilder builder(&getContext());
    auto arenaType = MemRefType::get({total}, builder.getI8Type());
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(position, arenaType, {}, function.getLoc());
    function->setAttr(kScratchBytes, builder.getI64IntegerAttr(total));
    Value arena = function.getArgument(position);
    for (const Buffer &buffer : buffers) {
      Location loc = buffer.op->getLoc();
      builder.setInsertionPoint(buffer.op);
      Value offset =
          arith::ConstantIndexOp::create(builder, loc, buffer.offset);
      if (calleeOf(buffer.op)) {
        Value part = memref::ViewOp::create(
            builder, loc, MemRefType::get({buffer.bytes}, builder.getI8Type()),
            arena, offset, ValueRange{});
        if (auto call = dyn_cast<lingon::CallOp>(buffer.op))
          call.getOutputsMutable().append(part);
        else
          buffer.op->insertOperands(buffer.op->getNumOperands(), part);
        continue;
      }
      auto alloc = cast<memref::AllocOp>(buffer.op);
      for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      Value view = memref::ViewOp::create(builder, loc, alloc.getType(), arena,
                                          offset, ValueRange{});
      alloc.replaceAllUsesWith(view);
      alloc.erase();
    }
  }

  SymbolTable *symbols = nullptr;
  DenseSet<Operation *> visited;
};

} // namespace

LINGON_REGISTER_PASS(PlanBuffersPass)
