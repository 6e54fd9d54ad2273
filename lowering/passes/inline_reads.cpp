//===- inline_reads.cpp - single elements are computed where they are read ===//
//
// An elementwise operation that costs little, and of whose result nothing but
// single elements is read, not more often than there are elements, is computed
// where these are read, and never stored: indices that count from the end, in
// the loop of a scatter. Vector code for the whole would be quicker than that
// by no more than it takes to write the result and to read it again.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "structured.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace {

constexpr unsigned kMostCost = 4, kMostInputs = 2;

/// How often `op` runs for each time that `block` does, or -1 if that is not
/// known; `inits` are the tensors that the loops on the way update.
int64_t timesIn(Operation *op, Block *block, DenseSet<Value> &inits) {
  int64_t times = 1;
  for (; op->getBlock() != block; op = op->getParentOp()) {
    Operation *around = op->getParentOp();
    int64_t trips = 1;
    if (auto loop = dyn_cast<scf::ForOp>(around)) {
      std::optional<APInt> count = loop.getStaticTripCount();
      trips = count ? count->getSExtValue() : -1;
      inits.insert(loop.getInitArgs().begin(), loop.getInitArgs().end());
    } else if (auto generic = dyn_cast<linalg::GenericOp>(around)) {
      for (int64_t extent : generic.getStaticLoopRanges())
        trips =
            ShapedType::isDynamic(extent) || trips < 0 ? -1 : trips * extent;
      inits.insert(generic.getOutputs().begin(), generic.getOutputs().end());
    } else if (!isa<scf::IfOp>(around)) {
      return -1;
    }
    if (trips < 0 || llvm::MulOverflow(times, trips, times))
      return -1;
  }
  return times;
}

/// True if each element of the only result is made of elements of the inputs,
/// by a few operations.
bool isCheap(linalg::GenericOp op) {
  if (!lingon::isStaticTensorGeneric(op) || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      op.getNumDpsInputs() > kMostInputs)
    return false;
  OpOperand *init = op.getDpsInitOperand(0);
  Block &body = *op.getBody();
  // Dimensions of size one are written at zero.
  unsigned dims = 0;
  AffineMap made = op.getMatchingIndexingMap(init);
  for (AffineExpr expr : made.getResults()) {
    if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
      return false;
    dims += isa<AffineDimExpr>(expr);
  }
  return dims == made.getNumDims() &&
         op.getMatchingBlockArgument(init).use_empty() &&
         lingon::bodyCost(body) <= kMostCost &&
         llvm::all_of(body, [](Operation &inner) {
           return inner.getNumRegions() == 0 && isMemoryEffectFree(&inner) &&
                  !isa<tensor::ExtractOp>(inner);
         });
}

/// The element that `read` reads of the result of `op`.
Value elementOf(linalg::GenericOp op, tensor::ExtractOp read) {
  OpBuilder builder(read);
  Location loc = op.getLoc();
  // The iteration that makes it.
  AffineMap made = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<Value> at(op.getNumLoops());
  for (auto [index, expr] : llvm::zip(read.getIndices(), made.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      at[dim.getPosition()] = index;
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!isa<RankedTensorType>(input->get().getType())) {
      mapping.map(argument, input->get());
      continue;
    }
    if (argument.use_empty())
      continue;
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
      indices.push_back(getValueOrCreateConstantIndexOp(
          builder, loc,
          affine::makeComposedFoldedAffineApply(
              builder, loc, AffineMap::get(at.size(), 0, expr),
              getAsOpFoldResult(at))));
    mapping.map(argument,
                tensor::ExtractOp::create(builder, loc, input->get(), indices)
                    .getResult());
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), at[index.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return mapping.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0));
}

struct InlineReadsPass
    : public PassWrapper<InlineReadsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineReadsPass)
  StringRef getArgument() const final { return "lingon-inline-reads"; }
  StringRef getDescription() const final {
    return "compute single elements of cheap tensors where they are read";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> candidates;
    getOperation().walk([&](linalg::GenericOp op) {
      if (isCheap(op))
        candidates.push_back(op);
    });
    // From the last to the first: what one reads may then be inlined as well.
    for (linalg::GenericOp op : llvm::reverse(candidates)) {
      int64_t times = 0, elements = 1;
      for (int64_t extent : op.getStaticLoopRanges())
        elements *= extent;
      DenseSet<Value> updated;
      bool fits = true;
      for (Operation *user : op->getUsers()) {
        int64_t here = isa<tensor::ExtractOp>(user)
                           ? timesIn(user, op->getBlock(), updated)
                           : -1;
        fits = fits && here >= 0 && !llvm::AddOverflow(times, here, times);
      }
      // What a loop updates is still read as it was: it would be copied.
      for (Value input : op.getInputs())
        fits = fits && !updated.contains(input);
      if (!fits || times > elements)
        continue;
      for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
        auto read = cast<tensor::ExtractOp>(user);
        read.replaceAllUsesWith(elementOf(op, read));
        read.erase();
      }
      op.erase();
    }
  }
};

} // namespace

LINGON_REGISTER_PASS(InlineReadsPass)
