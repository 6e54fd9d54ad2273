//===- loop_buffers.cpp - loops carry no buffers
//----------------------------===//
//
// After bufferization. A carry that stays in one buffer is that buffer; where
// an iteration hands on another one, its contents are copied at the end of the
// iteration to a buffer from before the loop. After that only scalars are
// carried, and every buffer's lifetime is plain.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "buffers.h"
#include "destinations.h"
#include "remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

constexpr StringLiteral kPassName = "lingon-loop-buffers";

/// The buffer that `value` is, looking through casts and through conditionals
/// whose branches all give the same.
Value resolved(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (auto cast = dyn_cast<memref::CastOp>(op)) {
      value = cast.getSource();
      continue;
    }
    if (!lingon::isConditional(op))
      return value;
    Value common;
    for (Region &region : op->getRegions()) {
      Value one = resolved(
          lingon::terminatorOf(region)->getOperand(result.getResultNumber()));
      if (common && common != one)
        return value;
      common = one;
    }
    if (op->isAncestor(common.getParentBlock()->getParentOp()))
      return value;
    value = common;
  }
  return value;
}

struct LoopBuffersPass
    : public PassWrapper<LoopBuffersPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopBuffersPass)
  StringRef getArgument() const final { return kPassName; }
  StringRef getDescription() const final {
    return "replace buffers carried by loops with buffers made before them";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> loops;
    getOperation().walk([&](Operation *op) {
      if (isa<scf::ForOp, scf::WhileOp>(op))
        loops.push_back(op);
    });
    for (Operation *loop : loops)
      if (failed(isa<scf::ForOp>(loop)
                     ? rewriteFor(cast<scf::ForOp>(loop))
                     : rewriteWhile(cast<scf::WhileOp>(loop))))
        return signalPassFailure();
  }

  /// A contiguous buffer with the contents of `init`, made before `builder`.
  static Value copyOf(OpBuilder &builder, Location loc, Value init) {
    auto type = cast<MemRefType>(init.getType());
    Value buffer = memref::AllocOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        builder.getI64IntegerAttr(64));
    memref::CopyOp::create(
        builder,
        lingon::because(loc, kPassName,
                        "a loop needs memory of its own for what it carries"),
        init, buffer);
    return buffer;
  }

  /// The same for a loop that may write to the buffer: `init` itself if it is
  /// only there for the loop.
  static Value ownBuffer(OpBuilder &builder, Operation *loop, Value init) {
    auto alloc = init.getDefiningOp<memref::AllocOp>();
    bool own = alloc && alloc.getType().getLayout().isIdentity() &&
               alloc->getBlock() == loop->getBlock() &&
               llvm::count(loop->getOperands(), init) == 1;
    if (own)
      for (Operation *user : init.getUsers())
        own &= user == loop || (user->getBlock() == loop->getBlock() &&
                                user->isBeforeInBlock(loop) &&
                                isa<memref::CopyOp, linalg::LinalgOp>(user));
    return own ? init : copyOf(builder, loop->getLoc(), init);
  }

  /// What a loop hands on: where that is a copy which was only made for it, the
  /// original.
  static Value takeOriginal(
      Operation *terminator, unsigned operand,
      function_ref<bool(Value)> mayTake = [](Value) { return true; }) {
    Value value = resolved(terminator->getOperand(operand));
    auto alloc = value.getDefiningOp<memref::AllocOp>();
    if (!alloc || !value.hasNUses(2))
      return value;
    for (Operation *op = terminator->getPrevNode();
         op && isa<memref::CopyOp, memref::AllocOp, memref::CastOp>(op);
         op = op->getPrevNode()) {
      auto copy = dyn_cast<memref::CopyOp>(op);
      if (!copy || copy.getTarget() != value)
        continue;
      Value source = copy.getSource();
      if (!mayTake(source))
        return value;
      terminator->setOperand(operand, source);
      copy.erase();
      return resolved(source);
    }
    return value;
  }

  static Value asType(OpBuilder &builder, Location loc, Value buffer,
                      Type type) {
    if (buffer.getType() == type)
      return buffer;
    return memref::CastOp::create(builder, loc, type, buffer);
  }

  /// Copies `values` to `targets`, as if all at once.
  static void copyAll(OpBuilder &builder, Location loc, ValueRange values,
                      ValueRange targets) {
    SmallVector<Value> sources(values);
    for (auto [i, source] : llvm::enumerate(sources)) {
      bool overwritten = false;
      for (Value target : targets.take_front(i))
        overwritten |= lingon::rootsMayAlias(lingon::bufferRoot(source),
                                             lingon::bufferRoot(target));
      if (overwritten)
        sources[i] = copyOf(builder, loc, source);
    }
    loc = lingon::because(loc, kPassName,
                          "an iteration of the loop makes what it hands on in "
                          "other memory than it was given");
    for (auto [source, target] : llvm::zip(sources, targets))
      memref::CopyOp::create(builder, loc, source, target);
  }

  LogicalResult rewriteFor(scf::ForOp loop) {
    Location loc = loop.getLoc();
    OpBuilder before(loop), after(loop.getContext()),
        end(loop.getBody()->getTerminator());
    after.setInsertionPointAfter(loop);
    Operation *yield = loop.getBody()->getTerminator();
    SmallVector<unsigned> moved;
    SmallVector<Value> targets;
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      Value carry = loop.getRegionIterArgs()[i];
      if (!isa<MemRefType>(carry.getType()))
        continue;
      Value buffer = loop.getInitArgs()[i];
      if (takeOriginal(yield, i) != carry) {
        buffer = ownBuffer(before, loop, buffer);
        moved.push_back(i);
        targets.push_back(buffer);
      }
      carry.replaceAllUsesWith(asType(before, loc, buffer, carry.getType()));
      loop.getResult(i).replaceAllUsesWith(
          asType(before, loc, buffer, loop.getResult(i).getType()));
    }
    SmallVector<Value> values;
    for (unsigned i : moved)
      values.push_back(yield->getOperand(i));
    copyAll(end, loc, values, targets);
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      Value carry = loop.getRegionIterArgs()[i];
      if (isa<MemRefType>(carry.getType()))
        yield->setOperand(i, carry);
    }
    return success();
  }

  LogicalResult rewriteWhile(scf::WhileOp loop) {
    Location loc = loop.getLoc();
    OpBuilder before(loop), decide(loop.getConditionOp()),
        end(loop.getYieldOp());
    Operation *condition = loop.getConditionOp(), *yield = loop.getYieldOp();
    // The arguments of the first region, each in a buffer.
    SmallVector<unsigned> moved;
    SmallVector<Value> targets;
    SmallVector<Value> buffers(loop.getInits().size());
    // One that is handed over twice is still copied: the second region may
    // write to what it gets.
    DenseSet<Value> taken;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (isa<MemRefType>(loop.getResult(i).getType()))
        takeOriginal(condition, i + 1, [&](Value source) {
          auto argument = dyn_cast<BlockArgument>(resolved(source));
          return argument && argument.getOwner() == loop.getBeforeBody() &&
                 taken.insert(argument).second;
        });
    for (unsigned i = 0; i < loop.getInits().size(); ++i) {
      Value carry = loop.getBeforeArguments()[i];
      if (!isa<MemRefType>(carry.getType()))
        continue;
      auto argument = dyn_cast<BlockArgument>(takeOriginal(yield, i));
      buffers[i] = loop.getInits()[i];
      if (argument && argument.getOwner() == loop.getAfterBody() &&
          resolved(condition->getOperand(argument.getArgNumber() + 1)) == carry)
        continue;
      buffers[i] = ownBuffer(before, loop, buffers[i]);
      moved.push_back(i);
      targets.push_back(buffers[i]);
    }
    // Those of the second region are among them, or copied where the loop
    // decides.
    for (unsigned i = 0; i < loop.getNumResults(); ++i) {
      Value carry = loop.getAfterArguments()[i];
      if (!isa<MemRefType>(carry.getType()))
        continue;
      Value handed = resolved(condition->getOperand(i + 1));
      auto argument = dyn_cast<BlockArgument>(handed);
      Value buffer;
      if (argument && argument.getOwner() == loop.getBeforeBody()) {
        buffer = buffers[argument.getArgNumber()];
      } else if (loop->isAncestor(handed.getParentRegion()->getParentOp())) {
        auto type = cast<MemRefType>(handed.getType());
        buffer = memref::AllocOp::create(
            before, loc,
            MemRefType::get(type.getShape(), type.getElementType()),
            before.getI64IntegerAttr(64));
        memref::CopyOp::create(decide, loc, handed, buffer);
      } else {
        buffer = handed;
      }
      carry.replaceAllUsesWith(asType(before, loc, buffer, carry.getType()));
      loop.getResult(i).replaceAllUsesWith(
          asType(before, loc, buffer, loop.getResult(i).getType()));
    }
    SmallVector<Value> values;
    for (unsigned i : moved)
      values.push_back(yield->getOperand(i));
    copyAll(end, loc, values, targets);
    for (unsigned i = 0; i < loop.getInits().size(); ++i) {
      if (!buffers[i])
        continue;
      Value carry = loop.getBeforeArguments()[i];
      Value inside = asType(before, loc, buffers[i], carry.getType());
      loop.getInitsMutable()[i].set(inside);
      carry.replaceAllUsesWith(inside);
      yield->setOperand(i, inside);
    }
    return dropBuffers(loop);
  }

  /// Rebuilds a while loop without its arguments that are buffers; nothing uses
  /// them any more.
  static LogicalResult dropBuffers(scf::WhileOp loop) {
    auto isBuffer = [](Value v) { return isa<MemRefType>(v.getType()); };
    if (llvm::none_of(loop.getInits(), isBuffer) &&
        llvm::none_of(loop.getResults(), isBuffer))
      return success();
    IRRewriter rewriter(loop.getContext());
    rewriter.setInsertionPoint(loop);
    SmallVector<Value> inits, handed, yielded;
    SmallVector<Type> results;
    llvm::BitVector firstDropped(loop.getInits().size()),
        secondDropped(loop.getNumResults());
    Operation *condition = loop.getConditionOp(), *yield = loop.getYieldOp();
    for (auto [i, init] : llvm::enumerate(loop.getInits())) {
      if (isBuffer(init)) {
        firstDropped.set(i);
        continue;
      }
      inits.push_back(init);
      yielded.push_back(yield->getOperand(i));
    }
    for (OpResult result : loop.getResults()) {
      unsigned i = result.getResultNumber();
      if (isBuffer(result)) {
        secondDropped.set(i);
        continue;
      }
      results.push_back(result.getType());
      handed.push_back(condition->getOperand(i + 1));
    }
    cast<scf::ConditionOp>(condition).getArgsMutable().assign(handed);
    cast<scf::YieldOp>(yield).getResultsMutable().assign(yielded);
    loop.getBeforeBody()->eraseArguments(firstDropped);
    loop.getAfterBody()->eraseArguments(secondDropped);
    auto made = scf::WhileOp::create(rewriter, loop.getLoc(), results, inits);
    made.getBefore().takeBody(loop.getBefore());
    made.getAfter().takeBody(loop.getAfter());
    unsigned next = 0;
    for (OpResult result : loop.getResults())
      if (!secondDropped.test(result.getResultNumber()))
        result.replaceAllUsesWith(made.getResult(next++));
    rewriter.eraseOp(loop);
    return success();
  }
};

} // namespace

LINGON_REGISTER_PASS(LoopBuffersPass)
