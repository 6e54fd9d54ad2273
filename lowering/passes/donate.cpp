//===- donate.cpp - results in the buffers of donated arguments
//------------===//
//
// An argument that carries `lingon.donated` may be overwritten. Where a result
// of its type is written only after the last read of the argument, or element
// by element as the argument is read, the argument is replaced by that result:
// the caller puts the argument's contents there, best by handing over its
// buffer. The pairs are left in the function's attribute `lingon.aliases`, an
// array of argument numbers: donated, result, donated, result... Arguments that
// are written to for other reasons are listed in `lingon.overwritten`.
//
// Pairs that spare a copy, such as the operand and the result of a scatter,
// are taken first.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace {

/// Whether two views cover the same elements in the same order, if the buffers
/// `from` and `to` are one and the same.
bool sameView(Value a, Value b, Value from, Value to) {
  auto isBase = [&](Value v) { return v == from || v == to; };
  if (a == b || (isBase(a) && isBase(b)))
    return true;
  auto viewA = a.getDefiningOp<ViewLikeOpInterface>();
  auto viewB = b.getDefiningOp<ViewLikeOpInterface>();
  if (!viewA || !viewB || a.getType() != b.getType())
    return false;
  return OperationEquivalence::isEquivalentTo(
      viewA, viewB,
      [&](Value x, Value y) { return success(sameView(x, y, from, to)); },
      nullptr, OperationEquivalence::IgnoreLocations);
}

/// Decides whether `result` may share the memory of `argument`.
class Sharing {
public:
  Sharing(Value argument, Value result) : argument(argument), result(result) {}

  bool isSafe(Block &block) const {
    bool written = false;
    for (Operation &op : block) {
      bool reads = lingon::mayTouch(&op, argument);
      bool writes = lingon::mayTouch(&op, result);
      if (reads && (written || (writes && !elementByElement(&op))))
        return false;
      written |= writes;
    }
    return true;
  }

private:
  bool isArgument(Value v) const { return lingon::bufferRoot(v) == argument; }
  bool isResult(Value v) const { return lingon::bufferRoot(v) == result; }
  bool same(Value a, Value b) const { return sameView(a, b, argument, result); }

  /// Whether an operation that reads the argument and writes the result reads
  /// each element before it writes to its place.
  bool elementByElement(Operation *op) const {
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return same(copy.getSource(), copy.getTarget());
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      return elementwise(structured);
    if (isa<scf::ForallOp, scf::ParallelOp>(op))
      return iterationwise(op);
    return false;
  }

  bool elementwise(linalg::LinalgOp op) const {
    if (op.getNumLoops() != op.getNumParallelLoops() || readsInside(op))
      return false;
    OpOperand *written = nullptr;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (isArgument(init.get()) || (written && isResult(init.get())))
        return false;
      if (isResult(init.get()))
        written = &init;
    }
    if (!written || !op.getMatchingIndexingMap(written).isPermutation())
      return false;
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (!isArgument(input->get()) && !isResult(input->get()))
        continue;
      if (!same(input->get(), written->get()) ||
          op.getMatchingIndexingMap(input) !=
              op.getMatchingIndexingMap(written))
        return false;
    }
    return true;
  }

  /// Whether the body of an operation reaches for the buffers by itself.
  bool readsInside(Operation *op) const {
    return op
        ->walk([&](Operation *inner) {
          if (inner != op)
            for (Value operand : inner->getOperands())
              if (isa<BaseMemRefType>(operand.getType()) &&
                  (isArgument(operand) || isResult(operand)))
                return WalkResult::interrupt();
          return WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// A parallel loop whose iterations each keep to one part of the buffers:
  /// what one iteration writes no other one reads.
  bool iterationwise(Operation *loop) const {
    Value part;
    bool onePart = !loop->walk([&](Operation *inner) {
                          if (isa<ViewLikeOpInterface>(inner))
                            return WalkResult::advance();
                          for (Value operand : inner->getOperands()) {
                            if (!isa<BaseMemRefType>(operand.getType()) ||
                                !(isArgument(operand) || isResult(operand)))
                              continue;
                            if (!part)
                              part = operand;
                            if (!same(operand, part))
                              return WalkResult::interrupt();
                          }
                          return WalkResult::advance();
                        })
                        .wasInterrupted();
    // An access to the whole buffer says nothing about elements.
    if (!onePart || !part || !part.getDefiningOp() ||
        !loop->isProperAncestor(part.getDefiningOp()))
      return false;
    return isSafe(loop->getRegion(0).front());
  }

  Value argument, result;
};

/// Whether an operation writes to the buffer or to a view of it.
bool isWritten(Value buffer) {
  for (OpOperand &use : buffer.getUses()) {
    Operation *user = use.getOwner();
    if (auto copy = dyn_cast<memref::CopyOp>(user)) {
      if (copy.getTarget() == buffer)
        return true;
    } else if (auto store = dyn_cast<memref::StoreOp>(user)) {
      if (store.getMemRef() == buffer)
        return true;
    } else if (auto op = dyn_cast<DestinationStyleOpInterface>(user)) {
      if (op.isDpsInit(&use))
        return true;
    } else if (isa<ViewLikeOpInterface>(user)) {
      for (Value view : user->getResults())
        if (isWritten(view))
          return true;
    }
  }
  return false;
}

struct DonatePass
    : public PassWrapper<DonatePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DonatePass)
  StringRef getArgument() const final { return "lingon-donate"; }
  StringRef getDescription() const final {
    return "build results in the buffers of donated arguments";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    SmallVector<BlockArgument> donated;
    for (BlockArgument argument : function.getArguments())
      if (function.removeArgAttr(argument.getArgNumber(), "lingon.donated"))
        donated.push_back(argument);
    if (donated.empty() || !function.getBody().hasOneBlock())
      return;
    SmallVector<BlockArgument> results;
    for (BlockArgument argument : function.getArguments())
      if (!llvm::is_contained(donated, argument) && isWritten(argument) &&
          lingon::staysLocal(argument))
        results.push_back(argument);

    SmallVector<int64_t> pairs;
    for (bool copiesOnly : {true, false})
      for (BlockArgument &argument : donated) {
        if (!argument || argument.use_empty() || !lingon::staysLocal(argument))
          continue;
        for (BlockArgument &result : results) {
          if (!result || result.getType() != argument.getType() ||
              (copiesOnly && !isCopied(argument, result)) ||
              !Sharing(argument, result).isSafe(function.getBody().front()))
            continue;
          pairs.push_back(argument.getArgNumber());
          pairs.push_back(result.getArgNumber());
          argument.replaceAllUsesWith(result);
          argument = result = nullptr;
          break;
        }
      }
    Builder builder(&getContext());
    SmallVector<int64_t> overwritten;
    for (BlockArgument argument : donated)
      if (argument && (isWritten(argument) || !lingon::staysLocal(argument)))
        overwritten.push_back(argument.getArgNumber());
    if (!overwritten.empty())
      function->setAttr("lingon.overwritten",
                        builder.getDenseI64ArrayAttr(overwritten));
    if (pairs.empty())
      return;
    function->setAttr("lingon.aliases", builder.getDenseI64ArrayAttr(pairs));
    function.walk([](memref::CopyOp copy) {
      Value base = lingon::bufferRoot(copy.getTarget());
      if (sameView(copy.getSource(), copy.getTarget(), base, base))
        copy.erase();
    });
  }

  static bool isCopied(Value argument, Value result) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      auto copy = dyn_cast<memref::CopyOp>(user);
      return copy && copy.getSource() == argument && copy.getTarget() == result;
    });
  }
};

} // namespace

LINGON_REGISTER_PASS(DonatePass)
