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

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<memref::CastOp>())
    value = cast.getSource();
  return value;
}

struct LoopBuffersPass
    : public PassWrapper<LoopBuffersPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopBuffersPass)
  StringRef getArgument() const final { return "lingon-loop-buffers"; }
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

  /// A contiguous buffer with the contents of `init`, made before `loop`.
  static Value ownBuffer(OpBuilder &builder, Location loc, Value init) {
    auto type = cast<MemRefType>(init.getType());
    Value buffer = memref::AllocOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        builder.getI64IntegerAttr(64));
    memref::CopyOp::create(builder, loc, init, buffer);
    return buffer;
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
        sources[i] = ownBuffer(builder, loc, source);
    }
    for (auto [source, target] : llvm::zip(sources, targets))
      memref::CopyOp::create(builder, loc, source, target);
  }

  LogicalResult rewriteFor(scf::ForOp loop) {
    Location loc = loop.getLoc();
    OpBuilder before(loop), after(loop.getContext()),
        end(loop.getBody()->getTerminator());
    after.setInsertionPointAfter(loop);
    Operation *yield = loop.getBody()->getTerminator();
    SmallVector<unsigned> moving;
    SmallVector<Value> values, targets;
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      Value carry = loop.getRegionIterArgs()[i];
      if (!isa<MemRefType>(carry.getType()))
        continue;
      Value buffer = loop.getInitArgs()[i];
      if (withoutCasts(yield->getOperand(i)) != carry) {
        buffer = ownBuffer(before, loc, buffer);
        moving.push_back(i);
        targets.push_back(buffer);
        loop.getInitArgsMutable()[i].set(
            asType(before, loc, buffer, carry.getType()));
      }
      carry.replaceAllUsesWith(asType(before, loc, buffer, carry.getType()));
      loop.getResult(i).replaceAllUsesWith(
          asType(before, loc, buffer, loop.getResult(i).getType()));
    }
    // Only now, when no carry is left among what is handed on.
    for (unsigned i : moving)
      values.push_back(yield->getOperand(i));
    copyAll(end, loc, values, targets);
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
      if (Value carry = loop.getRegionIterArgs()[i];
          isa<MemRefType>(carry.getType()))
        yield->setOperand(i, carry);
    return success();
  }

  LogicalResult rewriteWhile(scf::WhileOp loop) {
    Location loc = loop.getLoc();
    OpBuilder before(loop), decide(loop.getConditionOp()),
        end(loop.getYieldOp());
    Operation *condition = loop.getConditionOp(), *yield = loop.getYieldOp();
    // The arguments of the first region, each in a buffer.
    SmallVector<unsigned> moving;
    SmallVector<Value> values, targets;
    SmallVector<Value> buffers(loop.getInits().size());
    for (unsigned i = 0; i < loop.getInits().size(); ++i) {
      Value carry = loop.getBeforeArguments()[i];
      if (!isa<MemRefType>(carry.getType()))
        continue;
      Value next = withoutCasts(yield->getOperand(i));
      Value buffer = loop.getInits()[i];
      auto argument = dyn_cast<BlockArgument>(next);
      bool same =
          argument && argument.getOwner() == loop.getAfterBody() &&
          withoutCasts(condition->getOperand(argument.getArgNumber() + 1)) ==
              carry;
      if (!same) {
        buffer = ownBuffer(before, loc, buffer);
        moving.push_back(i);
        targets.push_back(buffer);
      }
      buffers[i] = buffer;
    }
    // Those of the second region are among them, or copied where the loop
    // decides.
    for (unsigned i = 0; i < loop.getNumResults(); ++i) {
      Value carry = loop.getAfterArguments()[i];
      if (!isa<MemRefType>(carry.getType()))
        continue;
      Value handed = withoutCasts(condition->getOperand(i + 1));
      auto argument = dyn_cast<BlockArgument>(handed);
      Value buffer;
      if (argument && argument.getOwner() == loop.getBeforeBody()) {
        buffer = buffers[argument.getArgNumber()];
      } else if (loop->getParentRegion()->isAncestor(
                     handed.getParentRegion()) &&
                 loop->isAncestor(handed.getParentRegion()->getParentOp())) {
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
    // Only now, when no argument of the second region is left among them.
    for (unsigned i : moving)
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
