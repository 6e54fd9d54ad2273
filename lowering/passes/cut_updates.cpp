//===- cut_updates.cpp - long chains of updates are analysed in pieces
//-----===//
//
// On tensors, before bufferization, whose analysis takes time that grows with
// the cube of the updates that follow one another on one tensor. Here such a
// chain is cut every few updates by a pair of casts, to a buffer and back,
// which fold away when it has become a buffer.
//
// To the analysis, what follows a cut looks like new memory. That is so if
// nothing else that lies in the tensor's memory is read behind the cut: the
// tensor has no other use, and neither have those that it was made of, nor
// views of them, behind it.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "destinations.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace {

/// Updates between two cuts.
constexpr unsigned kUpdates = 8;

bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::CastOp>(op);
}

/// The last operation of `block` that uses `value` or a view of it, apart from
/// `next`.
Operation *lastUse(Value value, Block *block, Operation *next) {
  Operation *last = nullptr;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value current = pending.pop_back_val();
    for (Operation *user : current.getUsers()) {
      if (isView(user))
        pending.push_back(user->getResult(0));
      Operation *inBlock = block->findAncestorOpInBlock(*user);
      if (inBlock && inBlock != next &&
          (!last || last->isBeforeInBlock(inBlock)))
        last = inBlock;
    }
  }
  return last;
}

/// Whether views of what a chain of updates in `block` starts with, made
/// outside of the block, may be read in it.
bool mayBeSeen(Value value, Block *block) {
  for (unsigned steps = 0; steps < 64; ++steps) {
    if (value.getParentBlock() != block &&
        llvm::any_of(value.getUsers(), isView))
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      unsigned number = argument.getArgNumber();
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        value = loop.getInitArgs()[number - 1];
      else if (auto loop = dyn_cast<scf::WhileOp>(parent);
               loop && number < loop.getInits().size())
        value = loop.getInits()[number];
      else
        return true;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (isa<tensor::EmptyOp, bufferization::AllocTensorOp,
            bufferization::ToTensorOp>(op))
      return false;
    OpOperand *next =
        lingon::updatedOperand(op, cast<OpResult>(value).getResultNumber());
    if (!next)
      return true;
    value = next->get();
  }
  return true;
}

struct Chain {
  unsigned updates = 0;      ///< since the last cut
  Operation *last = nullptr; ///< behind which no use of earlier tensors is
  bool seen = false;
};

struct CutUpdatesPass
    : public PassWrapper<CutUpdatesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CutUpdatesPass)
  StringRef getArgument() const final { return "lingon-cut-updates"; }
  StringRef getDescription() const final {
    return "cut long chains of updates for the analysis of bufferization";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<bufferization::BufferizationDialect>();
  }

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (!isa<DestinationStyleOpInterface>(block->getParentOp()))
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      cut(block);
  }

  static void cut(Block *block) {
    DenseMap<Value, Chain> chains;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      if (!isa<DestinationStyleOpInterface>(op) && !lingon::isConditional(&op))
        continue;
      for (OpResult result : op.getResults()) {
        if (!isa<RankedTensorType>(result.getType()))
          continue;
        Value before = sourceOf(result);
        if (!before)
          continue;
        Chain chain;
        if (auto known = chains.find(before); known != chains.end())
          chain = known->second;
        else
          chain.seen = mayBeSeen(before, block);
        ++chain.updates;
        if (Operation *use = lastUse(before, block, &op);
            use && (!chain.last || chain.last->isBeforeInBlock(use)))
          chain.last = use;
        if (chain.updates >= kUpdates && !chain.seen &&
            (!chain.last || chain.last->isBeforeInBlock(&op))) {
          chain.updates = 0;
          chains[insertCut(result)] = chain;
        } else {
          chains[result] = chain;
        }
      }
    }
  }

  /// The tensor that an operation updates to make `result`.
  static Value sourceOf(OpResult result) {
    Operation *op = result.getOwner();
    if (!lingon::isConditional(op))
      return lingon::updatedOperand(op, result.getResultNumber())->get();
    Value root = lingon::originOf(result).root;
    if (!root)
      return {};
    // The root of all, from which the chain in front of the conditional leads
    // to what the branches take.
    Value common;
    for (Region &region : op->getRegions()) {
      Value value =
          lingon::terminatorOf(region)->getOperand(result.getResultNumber());
      while (op->isAncestor(value.getParentBlock()->getParentOp())) {
        auto inner = dyn_cast<OpResult>(value);
        OpOperand *next = inner ? lingon::updatedOperand(
                                      inner.getOwner(), inner.getResultNumber())
                                : nullptr;
        if (!next)
          return {};
        value = next->get();
      }
      if (common && common != value)
        return {};
      common = value;
    }
    return common;
  }

  static Value insertCut(OpResult result) {
    OpBuilder builder(result.getContext());
    builder.setInsertionPointAfter(result.getOwner());
    auto type = cast<RankedTensorType>(result.getType());
    Location loc = result.getLoc();
    auto buffer = bufferization::ToBufferOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        result, /*read_only=*/true);
    auto tensor = bufferization::ToTensorOp::create(
        builder, loc, type, buffer, /*restrict=*/true, /*writable=*/true);
    result.replaceAllUsesExcept(tensor, buffer);
    return tensor;
  }
};

} // namespace

LINGON_REGISTER_PASS(CutUpdatesPass)
