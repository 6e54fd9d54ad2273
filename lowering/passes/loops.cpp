//===- loops.cpp - linalg on memrefs becomes loop nests -------------------===//
//
// Every linalg operation becomes one nest. Adjacent dimensions that are
// contiguous in all operands are collapsed, the innermost loop runs over the
// contiguous dimension, outer parallel dimensions form one scf.parallel.
// Reductions over inner loops are carried in registers, with reassoc on the
// accumulating operation alone; reductions over outer loops accumulate rows.
// Full reductions of many elements are cut into blocks with partial results.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "buffers.h"
#include "remarks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace {

constexpr StringLiteral kPassName = "lingon-loops";

/// Elements per block where an innermost parallel loop is cut.
constexpr int64_t kSmallestInnerBlock = 256, kLargestInnerBlock = 2048;
/// Outer parallel iterations that are enough for all cores.
constexpr int64_t kEnoughIterations = 64;
/// Elements per partial result of a full reduction, at least.
constexpr int64_t kReductionBlock = 32768;
/// Side of the square tiles where operands disagree on the contiguous
/// dimension.
constexpr int64_t kTransposeTile = 32;
/// Rows that an outer reduction folds into the accumulators at once.
constexpr int64_t kRowUnroll = 4;
/// Rows of an outer reduction that are folded without a loop, if the body has
/// at most so many operations; of many rows as many are folded at once.
constexpr int64_t kWholeUnroll = 8, kSmallBody = 8, kManyRows = 64;
/// Dimensions that are unrolled inside of the loop over their rows, and rows
/// that are enough for that; and those that LLVM loads and stores interleaved.
constexpr int64_t kShortDim = 12, kShortRows = 64, kInterleaved = 8;

struct Operand {
  Value value;
  AffineMap map;
  bool isBuffer() const { return isa<MemRefType>(value.getType()); }
};

enum class LoopKind { Plain, Blocks, Inside };
struct Loop {
  unsigned dim;
  LoopKind kind;
  int64_t block = 0;
};

/// The operation that folds a value into the accumulator `argument`, or null if
/// the result is computed in any other way.
Operation *combinerOf(Block &body, BlockArgument argument, Value yielded) {
  Operation *op = yielded.getDefiningOp();
  if (!op || op->getBlock() != &body || op->getNumOperands() != 2 ||
      op->getNumResults() != 1 || !argument.hasOneUse() ||
      *argument.user_begin() != op)
    return nullptr;
  return op;
}

/// True if `value` uses the dimension `dim`.
bool uses(AffineMap map, unsigned dim) { return map.isFunctionOfDim(dim); }

/// The dimension that runs over neighbouring elements of an operand, or none.
std::optional<unsigned> fastestDim(AffineMap map) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  if (auto dim = dyn_cast<AffineDimExpr>(map.getResults().back()))
    return dim.getPosition();
  return std::nullopt;
}

/// The map of `operand` without its last dimensions, where those have size one.
AffineMap withoutUnits(const Operand &operand) {
  auto type = cast<MemRefType>(operand.value.getType());
  unsigned last = operand.map.getNumResults();
  while (last > 1 && type.getDimSize(last - 1) == 1 &&
         isa<AffineConstantExpr>(operand.map.getResult(last - 1)))
    --last;
  return operand.map.getMajorSubMap(last);
}

class NestBuilder {
public:
  NestBuilder(linalg::LinalgOp op, bool allowParallel)
      : op(op), builder(op), loc(op.getLoc()), allowParallel(allowParallel),
        body(*op.getBlock()), context(op.getContext()) {}

  LogicalResult run();

private:
  void readOperation();
  void absorbFills();
  void dropUnitDims();
  void collapseDims();
  bool mergeDims(unsigned a, unsigned b);
  std::optional<unsigned> rowsOfShort(unsigned inner);
  void chooseOrder();
  void emitLevel(unsigned level, SmallVector<Value> &accumulators);
  void emitFor(unsigned level, int64_t step, Value lower, Value upper,
               SmallVector<Value> &accumulators);
  void emitParallel();
  void emitBody(SmallVector<Value> &accumulators);
  void emitFillLoops(unsigned output, unsigned level);
  void emitPartials();
  void saySerial();
  std::pair<Value, Value> bounds(const Loop &loop);

  unsigned outputCount() const { return operands.size() - inputCount; }
  Operand &output(unsigned i) { return operands[inputCount + i]; }
  BlockArgument outputArgument(unsigned i) {
    return body.getArgument(inputCount + i);
  }
  Value yielded(unsigned i) { return body.getTerminator()->getOperand(i); }
  bool isReduced(unsigned i) {
    for (unsigned d = 0; d < extents.size(); ++d)
      if (extents[d] != 1 && reduction[d] && !uses(output(i).map, d))
        return true;
    return false;
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value evaluate(AffineExpr expr);
  SmallVector<Value> indices(const Operand &operand) {
    SmallVector<Value> values;
    for (AffineExpr expr : operand.map.getResults())
      values.push_back(evaluate(expr));
    return values;
  }
  Value load(const Operand &operand) {
    if (!operand.isBuffer())
      return operand.value;
    return memref::LoadOp::create(builder, loc, operand.value,
                                  indices(operand));
  }
  Value initial(unsigned i) { return fills[i] ? fills[i] : load(output(i)); }
  void store(Value value, unsigned i) {
    memref::StoreOp::create(builder, loc, value, output(i).value,
                            indices(output(i)));
  }

  linalg::LinalgOp op;
  OpBuilder builder;
  Location loc;
  bool allowParallel;
  Block &body;
  MLIRContext *context;

  SmallVector<Operand> operands;
  unsigned inputCount = 0;
  SmallVector<int64_t> extents;
  SmallVector<bool> reduction;
  /// The scalar that an output is filled with before the nest, or null.
  SmallVector<Value> fills;
  SmallVector<Operation *> absorbed;

  SmallVector<Loop> loops;
  unsigned parallelLoops = 0;
  /// Per output: the first loop of the suffix that its accumulator is carried
  /// through, or loops.size().
  SmallVector<unsigned> carriedFrom;
  SmallVector<Value> dimValues, blockStarts;
  unsigned unrollDim = ~0u;
  int64_t unrollBy = 1;
  bool whollyUnrolled = false;
  bool partialMode = false;
  SmallVector<TypedAttr> neutral;
  SmallVector<Value> partials;
};

void NestBuilder::readOperation() {
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back({operand.get(), op.getMatchingIndexingMap(&operand)});
  inputCount = op.getNumDpsInputs();
  extents = op.getStaticLoopRanges();
  for (utils::IteratorType type : op.getIteratorTypesArray())
    reduction.push_back(type == utils::IteratorType::reduction);
  fills.assign(outputCount(), Value());
}

void NestBuilder::absorbFills() {
  for (unsigned i = 0; i < outputCount(); ++i) {
    Value buffer = output(i).value;
    Value root = lingon::bufferRoot(buffer);
    // Another operand that shares the buffer must see the filled contents.
    bool shared = false;
    for (auto [position, operand] : llvm::enumerate(operands))
      if (position != inputCount + i && operand.isBuffer() &&
          lingon::rootsMayAlias(lingon::bufferRoot(operand.value), root))
        shared = true;
    if (shared)
      continue;
    int budget = 64;
    for (Operation *before = op->getPrevNode(); before && budget-- > 0;
         before = before->getPrevNode()) {
      auto fill = dyn_cast<linalg::FillOp>(before);
      if (fill && fill.getOutputs()[0] == buffer) {
        fills[i] = fill.getInputs()[0];
        absorbed.push_back(fill);
        break;
      }
      if (lingon::mayTouch(before, root))
        break;
    }
  }
}

void NestBuilder::dropUnitDims() {
  SmallVector<AffineExpr> replacements;
  for (unsigned d = 0; d < extents.size(); ++d)
    replacements.push_back(extents[d] == 1 ? getAffineConstantExpr(0, context)
                                           : getAffineDimExpr(d, context));
  for (Operand &operand : operands)
    operand.map =
        operand.map.replaceDimsAndSymbols(replacements, {}, extents.size(), 0);
}

/// Merges dimension b into a (a just outside b) if every operand is contiguous
/// over the pair or uses neither.
bool NestBuilder::mergeDims(unsigned a, unsigned b) {
  if (reduction[a] != reduction[b])
    return false;
  struct Change {
    Operand *operand;
    SmallVector<ReassociationIndices> groups;
    AffineMap map;
  };
  SmallVector<Change> changes;
  AffineExpr exprA = getAffineDimExpr(a, context);
  AffineExpr exprB = getAffineDimExpr(b, context);
  for (Operand &operand : operands) {
    if (!uses(operand.map, a) && !uses(operand.map, b))
      continue;
    if (!operand.isBuffer())
      return false;
    SmallVector<ReassociationIndices> groups;
    SmallVector<AffineExpr> results;
    unsigned rank = operand.map.getNumResults();
    unsigned found = 0;
    for (unsigned p = 0; p < rank; ++p) {
      AffineExpr expr = operand.map.getResult(p);
      if (expr == exprA && p + 1 < rank &&
          operand.map.getResult(p + 1) == exprB) {
        groups.push_back({p, p + 1});
        results.push_back(exprA);
        ++p;
        ++found;
        continue;
      }
      if (expr.isFunctionOfDim(a) || expr.isFunctionOfDim(b))
        return false;
      groups.push_back({p});
      results.push_back(expr);
    }
    auto type = cast<MemRefType>(operand.value.getType());
    if (found != 1 ||
        !memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups))
      return false;
    changes.push_back({&operand, groups,
                       AffineMap::get(extents.size(), 0, results, context)});
  }
  if (changes.empty())
    return false;
  DenseMap<Value, SmallVector<std::pair<AffineMap, Value>>> made;
  for (Change &change : changes) {
    Value source = change.operand->value;
    // The same buffer read twice through the same map shares one view.
    Value view;
    for (auto &[map, known] : made[source])
      if (map == change.map)
        view = known;
    if (!view) {
      view =
          memref::CollapseShapeOp::create(builder, loc, source, change.groups);
      made[source].push_back({change.map, view});
    }
    change.operand->value = view;
    change.operand->map = change.map;
  }
  extents[a] *= extents[b];
  extents[b] = 1;
  return true;
}

void NestBuilder::collapseDims() {
  llvm::SmallDenseSet<unsigned> indexed;
  body.walk([&](linalg::IndexOp index) { indexed.insert(index.getDim()); });
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned a = 0; a < extents.size(); ++a)
      for (unsigned b = 0; b < extents.size(); ++b)
        if (a != b && extents[a] != 1 && extents[b] != 1 &&
            !indexed.contains(a) && !indexed.contains(b) && mergeDims(a, b))
          changed = true;
  }
}

bool smallBody(Block &body) {
  return std::distance(body.begin(), body.end()) <= kSmallBody;
}

/// If the dimension `inner`, contiguous in some operand, is so short that its
/// loop would not be vector code: the parallel dimension outside of it there,
/// which takes its place. The short one is unrolled, and the rows are loaded
/// interleaved. Other operands may have the rows as their contiguous dimension.
std::optional<unsigned> NestBuilder::rowsOfShort(unsigned inner) {
  if (extents[inner] > kShortDim || !smallBody(body))
    return std::nullopt;
  std::optional<unsigned> rows;
  for (Operand &operand : operands) {
    if (!operand.isBuffer() || fastestDim(operand.map) != inner)
      continue;
    unsigned rank = operand.map.getNumResults();
    if (rank < 2)
      return std::nullopt;
    auto outer = dyn_cast<AffineDimExpr>(operand.map.getResult(rank - 2));
    if (!outer || (rows && *rows != outer.getPosition()))
      return std::nullopt;
    rows = outer.getPosition();
  }
  if (!rows || reduction[*rows] || extents[*rows] < kShortRows)
    return std::nullopt;
  for (unsigned d = 0; d < extents.size(); ++d)
    if (d != inner && d != *rows && reduction[d] && extents[d] != 1)
      return std::nullopt;
  for (Operand &operand : operands)
    if (operand.isBuffer() && fastestDim(operand.map) != inner &&
        (uses(operand.map, inner) || uses(operand.map, *rows)) &&
        fastestDim(extents[inner] <= kInterleaved ? withoutUnits(operand)
                                                  : operand.map) != rows)
      return std::nullopt;
  return rows;
}

void NestBuilder::chooseOrder() {
  SmallVector<double> score(extents.size(), 0.0);
  int64_t total = 1;
  for (int64_t extent : extents)
    total *= extent;
  for (auto [position, operand] : llvm::enumerate(operands)) {
    if (!operand.isBuffer())
      continue;
    auto type = cast<MemRefType>(operand.value.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) || strides.empty() ||
        strides.back() != 1)
      continue;
    double weight = static_cast<double>(type.getNumElements());
    if (auto dim = fastestDim(operand.map))
      score[*dim] += position >= inputCount ? 2 * weight : weight;
  }
  std::optional<unsigned> inner;
  for (unsigned d = 0; d < extents.size(); ++d)
    if (extents[d] != 1 && (!inner || score[d] >= score[*inner]))
      inner = d;
  if (!inner)
    return;
  std::optional<unsigned> shortDim;
  if (auto rows = rowsOfShort(*inner)) {
    shortDim = inner;
    inner = rows;
  }
  if (!shortDim && !reduction[*inner])
    for (Operand &operand : operands)
      if (auto dim = fastestDim(operand.map);
          operand.isBuffer() && dim && dim != inner && extents[*dim] != 1 &&
          !reduction[*dim] && rowsOfShort(*dim) == inner)
        shortDim = dim;

  SmallVector<unsigned> outerParallel, outerReduction;
  for (unsigned d = 0; d < extents.size(); ++d)
    if (extents[d] != 1 && d != *inner && d != shortDim)
      (reduction[d] ? outerReduction : outerParallel).push_back(d);
  // Parallel loops run in the order of the first output's dimensions.
  auto positionIn = [&](unsigned dim) {
    AffineMap map = output(0).map;
    for (unsigned p = 0; p < map.getNumResults(); ++p)
      if (map.getResult(p).isFunctionOfDim(dim))
        return p;
    return map.getNumResults();
  };
  llvm::stable_sort(outerParallel, [&](unsigned a, unsigned b) {
    return positionIn(a) < positionIn(b);
  });

  // Operands that disagree on the contiguous dimension: square tiles.
  std::optional<unsigned> crossed;
  if (!shortDim && outerReduction.empty() && !reduction[*inner] &&
      extents[*inner] >= kTransposeTile)
    for (Operand &operand : operands)
      if (auto dim = fastestDim(operand.map);
          operand.isBuffer() && dim && *dim != *inner &&
          uses(operand.map, *inner) && extents[*dim] >= kTransposeTile)
        crossed = *dim;

  int64_t iterations = 1;
  for (unsigned d : outerParallel)
    iterations *= extents[d];
  if (crossed) {
    for (unsigned d : outerParallel)
      if (d != *crossed)
        loops.push_back({d, LoopKind::Plain});
    loops.push_back({*crossed, LoopKind::Blocks, kTransposeTile});
    loops.push_back({*inner, LoopKind::Blocks, kTransposeTile});
    parallelLoops = loops.size();
    loops.push_back({*crossed, LoopKind::Inside, kTransposeTile});
    loops.push_back({*inner, LoopKind::Inside, kTransposeTile});
  } else {
    for (unsigned d : outerParallel)
      loops.push_back({d, LoopKind::Plain});
    parallelLoops = loops.size();
    bool cut = !reduction[*inner] && iterations < kEnoughIterations &&
               extents[*inner] >= 2 * kSmallestInnerBlock &&
               (shortDim || !outerReduction.empty() || !outerParallel.empty());
    int64_t block = std::clamp<int64_t>(
        llvm::alignTo(llvm::divideCeil(extents[*inner], 8), 64),
        kSmallestInnerBlock, kLargestInnerBlock);
    if (cut) {
      loops.push_back({*inner, LoopKind::Blocks, block});
      parallelLoops = loops.size();
    }
    for (unsigned d : outerReduction)
      loops.push_back({d, LoopKind::Plain});
    if (shortDim)
      loops.push_back({*shortDim, LoopKind::Plain});
    loops.push_back(
        {*inner, cut ? LoopKind::Inside : LoopKind::Plain, cut ? block : 0});
    if (!cut && loops.size() == 1 && !reduction[*inner])
      parallelLoops = 1;
  }

  carriedFrom.assign(outputCount(), loops.size());
  for (unsigned i = 0; i < outputCount(); ++i) {
    if (!isReduced(i))
      continue;
    unsigned from = loops.size();
    while (from > 0 && !uses(output(i).map, loops[from - 1].dim))
      --from;
    carriedFrom[i] = from;
  }

  // A reduction over everything, large: blocks with partial results.
  if (allowParallel && parallelLoops == 0 && reduction[loops.front().dim] &&
      total >= 2 * kReductionBlock) {
    bool all = true;
    neutral.assign(outputCount(), TypedAttr());
    for (unsigned i = 0; i < outputCount() && all; ++i) {
      if (!isReduced(i))
        continue;
      Operation *combiner = combinerOf(body, outputArgument(i), yielded(i));
      std::optional<TypedAttr> value;
      if (combiner && carriedFrom[i] == 0 &&
          isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
              arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp,
              arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp, arith::AndIOp,
              arith::OrIOp, arith::XOrIOp>(combiner))
        value = arith::getNeutralElement(combiner);
      if (!value)
        all = false;
      else
        neutral[i] = *value;
    }
    if (all) {
      Loop first = loops.front();
      int64_t inside = std::max<int64_t>(1, total / extents[first.dim]);
      int64_t block =
          std::max<int64_t>(llvm::divideCeil(kReductionBlock, inside),
                            llvm::divideCeil(extents[first.dim], 256));
      if (block < extents[first.dim]) {
        partialMode = true;
        loops.front() = {first.dim, LoopKind::Inside, block};
        loops.insert(loops.begin(), {first.dim, LoopKind::Blocks, block});
        parallelLoops = 1;
        for (unsigned i = 0; i < outputCount(); ++i)
          carriedFrom[i] = isReduced(i) ? 1 : loops.size();
      }
    }
  }

  // A reduction just outside a parallel innermost loop: fold several rows into
  // the accumulators at once.
  if (loops.size() >= 2) {
    Loop &outer = loops[loops.size() - 2];
    if ((reduction[outer.dim] || outer.dim == shortDim) &&
        !reduction[loops.back().dim] && outer.kind == LoopKind::Plain &&
        extents[outer.dim] > 1) {
      unrollDim = outer.dim;
      int64_t extent = extents[outer.dim];
      bool small = smallBody(body);
      bool whole = outer.dim == shortDim ||
                   extent <= (small ? kWholeUnroll : kRowUnroll);
      unrollBy = whole                          ? extent
                 : small && extent >= kManyRows ? kWholeUnroll
                                                : kRowUnroll;
      // Nothing is accumulated in memory then.
      whollyUnrolled = unrollBy == extent;
      for (const Loop &loop : loops)
        whollyUnrolled &= loop.dim == outer.dim || !reduction[loop.dim];
    }
  }
}

Value NestBuilder::evaluate(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dimValues[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return index(constant.getValue());
  return affine::AffineApplyOp::create(
      builder, loc, AffineMap::get(extents.size(), 0, expr), dimValues);
}

std::pair<Value, Value> NestBuilder::bounds(const Loop &loop) {
  int64_t extent = extents[loop.dim];
  switch (loop.kind) {
  case LoopKind::Plain:
    return {index(0), index(extent)};
  case LoopKind::Blocks:
    return {index(0), index(llvm::divideCeil(extent, loop.block))};
  case LoopKind::Inside: {
    Value start = blockStarts[loop.dim];
    Value end = arith::AddIOp::create(builder, loc, start, index(loop.block));
    if (extent % loop.block != 0)
      end = arith::MinSIOp::create(builder, loc, end, index(extent));
    return {start, end};
  }
  }
  llvm_unreachable("unknown loop kind");
}

void NestBuilder::emitFor(unsigned level, int64_t step, Value lower,
                          Value upper, SmallVector<Value> &accumulators) {
  auto loop =
      scf::ForOp::create(builder, loc, lower, upper, index(step), accumulators);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  const Loop &spec = loops[level];
  if (spec.kind == LoopKind::Blocks)
    blockStarts[spec.dim] = arith::MulIOp::create(
        builder, loc, loop.getInductionVar(), index(spec.block));
  else
    dimValues[spec.dim] = loop.getInductionVar();
  SmallVector<Value> inner(loop.getRegionIterArgs());
  emitLevel(level + 1, inner);
  if (loop.getBody()->mightHaveTerminator())
    loop.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, loc, inner);
  accumulators.assign(loop.getResults().begin(), loop.getResults().end());
}

/// Emits the loops from `level` inwards. `accumulators` are the values of the
/// outputs carried so far, in the order of the outputs.
void NestBuilder::emitLevel(unsigned level, SmallVector<Value> &accumulators) {
  if (level == loops.size())
    return emitBody(accumulators);
  const Loop &spec = loops[level];

  // Outputs that accumulate in memory are filled before the first reduction.
  bool firstReduction = reduction[spec.dim] && spec.kind != LoopKind::Inside;
  for (unsigned l = 0; l < level; ++l)
    firstReduction &= !reduction[loops[l].dim];
  if (firstReduction && !whollyUnrolled)
    for (unsigned i = 0; i < outputCount(); ++i)
      if (isReduced(i) && carriedFrom[i] == loops.size() && fills[i])
        emitFillLoops(i, level + 1);

  SmallVector<Value> carried;
  unsigned next = 0;
  for (unsigned i = 0; i < outputCount(); ++i) {
    if (carriedFrom[i] < level) {
      carried.push_back(accumulators[next++]);
    } else if (carriedFrom[i] == level && level < loops.size()) {
      if (partialMode)
        carried.push_back(arith::ConstantOp::create(builder, loc, neutral[i]));
      else
        carried.push_back(initial(i));
    }
  }
  auto [lower, upper] = bounds(spec);
  if (spec.dim == unrollDim) {
    int64_t extent = extents[spec.dim];
    int64_t main = extent - extent % unrollBy;
    int64_t factor = unrollBy;
    emitFor(level, factor, lower, index(main), carried);
    if (main != extent) {
      unrollBy = 1;
      emitFor(level, 1, index(main), upper, carried);
      unrollBy = factor;
    }
  } else {
    emitFor(level, 1, lower, upper, carried);
  }

  accumulators.clear();
  unsigned position = 0;
  for (unsigned i = 0; i < outputCount(); ++i) {
    if (carriedFrom[i] < level) {
      accumulators.push_back(carried[position++]);
    } else if (carriedFrom[i] == level) {
      if (partialMode) {
        Value block =
            arith::DivUIOp::create(builder, loc, blockStarts[loops.front().dim],
                                   index(loops.front().block));
        memref::StoreOp::create(builder, loc, carried[position++], partials[i],
                                block);
      } else {
        store(carried[position++], i);
      }
    }
  }
}

void NestBuilder::emitFillLoops(unsigned i, unsigned level) {
  SmallVector<Value> savedDims = dimValues;
  OpBuilder::InsertionGuard guard(builder);
  for (unsigned l = level; l < loops.size(); ++l) {
    if (!uses(output(i).map, loops[l].dim))
      continue;
    auto [lower, upper] = bounds(loops[l]);
    auto loop = scf::ForOp::create(builder, loc, lower, upper, index(1));
    builder.setInsertionPointToStart(loop.getBody());
    if (loops[l].kind == LoopKind::Blocks)
      blockStarts[loops[l].dim] = arith::MulIOp::create(
          builder, loc, loop.getInductionVar(), index(loops[l].block));
    else
      dimValues[loops[l].dim] = loop.getInductionVar();
  }
  store(fills[i], i);
  dimValues = savedDims;
}

void NestBuilder::emitBody(SmallVector<Value> &accumulators) {
  SmallVector<Value> current(outputCount());
  unsigned next = 0;
  for (unsigned i = 0; i < outputCount(); ++i)
    if (carriedFrom[i] < loops.size())
      current[i] = accumulators[next++];

  Value base = unrollDim == ~0u ? Value() : dimValues[unrollDim];
  for (int64_t step = 0; step < unrollBy; ++step) {
    if (step > 0)
      dimValues[unrollDim] =
          arith::AddIOp::create(builder, loc, base, index(step));
    IRMapping mapping;
    for (unsigned i = 0; i < inputCount; ++i)
      if (!body.getArgument(i).use_empty())
        mapping.map(body.getArgument(i), load(operands[i]));
    for (unsigned i = 0; i < outputCount(); ++i) {
      if (outputArgument(i).use_empty() && !current[i])
        continue;
      if (!current[i]) {
        bool fromMemory = isReduced(i) && !whollyUnrolled;
        current[i] = fromMemory ? load(output(i)) : initial(i);
      }
      mapping.map(outputArgument(i), current[i]);
    }
    for (Operation &inner : body.without_terminator()) {
      Operation *clone = builder.clone(inner, mapping);
      SmallVector<linalg::IndexOp> indexOps;
      clone->walk([&](linalg::IndexOp at) { indexOps.push_back(at); });
      for (linalg::IndexOp at : indexOps) {
        Value value = dimValues[at.getDim()];
        at.replaceAllUsesWith(value);
        if (at == clone)
          mapping.map(inner.getResult(0), value);
        at.erase();
      }
    }
    for (unsigned i = 0; i < outputCount(); ++i) {
      Value result = mapping.lookupOrDefault(yielded(i));
      if (isReduced(i)) {
        current[i] = result;
        Operation *combiner = combinerOf(body, outputArgument(i), yielded(i));
        Operation *made = result.getDefiningOp();
        if (carriedFrom[i] < loops.size() && combiner && made) {
          if (auto fast = dyn_cast<arith::ArithFastMathInterface>(made);
              fast && made->getName().stripDialect() != "maximumf" &&
              made->getName().stripDialect() != "minimumf") {
            auto flags = fast.getFastMathFlagsAttr().getValue() |
                         arith::FastMathFlags::reassoc;
            made->setAttr(fast.getFastMathAttrName(),
                          arith::FastMathFlagsAttr::get(context, flags));
          }
        }
      } else {
        store(result, i);
        current[i] = Value();
      }
    }
  }
  if (base)
    dimValues[unrollDim] = base;
  accumulators.clear();
  for (unsigned i = 0; i < outputCount(); ++i) {
    if (carriedFrom[i] < loops.size())
      accumulators.push_back(current[i]);
    else if (isReduced(i))
      store(current[i], i);
  }
}

void NestBuilder::emitPartials() {
  const Loop &blocks = loops.front();
  int64_t count = llvm::divideCeil(extents[blocks.dim], blocks.block);
  OpBuilder::InsertionGuard guard(builder);
  auto function = op->getParentOfType<FunctionOpInterface>();
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  partials.assign(outputCount(), Value());
  for (unsigned i = 0; i < outputCount(); ++i)
    if (isReduced(i))
      partials[i] = memref::AllocaOp::create(
          builder, loc, MemRefType::get({count}, outputArgument(i).getType()));
}

void NestBuilder::emitParallel() {
  SmallVector<Value> lower, upper, step;
  for (unsigned l = 0; l < parallelLoops; ++l) {
    auto [low, high] = bounds(loops[l]);
    lower.push_back(low);
    upper.push_back(high);
    step.push_back(index(1));
  }
  auto parallel = scf::ParallelOp::create(builder, loc, lower, upper, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(parallel.getBody());
  for (unsigned l = 0; l < parallelLoops; ++l) {
    Value iv = parallel.getInductionVars()[l];
    if (loops[l].kind == LoopKind::Blocks)
      blockStarts[loops[l].dim] =
          arith::MulIOp::create(builder, loc, iv, index(loops[l].block));
    else
      dimValues[loops[l].dim] = iv;
  }
  SmallVector<Value> accumulators;
  emitLevel(parallelLoops, accumulators);
}

/// Why a nest that stands alone has no parallel loop.
void NestBuilder::saySerial() {
  int64_t total = 1;
  for (int64_t extent : extents)
    total *= extent;
  auto remark = lingon::missed(loc, lingon::kSerial, kPassName);
  unsigned inner = loops.back().dim;
  if (!reduction[inner])
    remark << remark::add("the only dimension that is not reduced is the "
                          "innermost one, of {0} elements",
                          extents[inner]);
  else if (total < 2 * kReductionBlock)
    remark << remark::add("too little work for several threads: a reduction "
                          "of {0} elements, of at least {1}",
                          total, 2 * kReductionBlock);
  else
    remark << "partial results of this reduction cannot be combined";
}

LogicalResult NestBuilder::run() {
  readOperation();
  for (int64_t extent : extents) {
    if (ShapedType::isDynamic(extent))
      return op->emitOpError("lingon-loops needs static shapes");
    if (extent == 0) {
      // Nothing to do: what is filled beforehand keeps its fill.
      op->erase();
      return success();
    }
  }
  absorbFills();
  dropUnitDims();
  collapseDims();
  chooseOrder();
  dimValues.assign(extents.size(), Value());
  blockStarts.assign(extents.size(), Value());
  Value zero = index(0);
  for (Value &value : dimValues)
    value = zero;

  if (loops.empty()) {
    // One iteration: no loop at all.
    carriedFrom.assign(outputCount(), 0);
    SmallVector<Value> accumulators;
    emitBody(accumulators);
  } else {
    if (partialMode)
      emitPartials();
    else if (allowParallel && parallelLoops == 0)
      saySerial();
    SmallVector<Value> accumulators;
    if (parallelLoops > 0 && allowParallel)
      emitParallel();
    else
      emitLevel(0, accumulators);
    if (partialMode) {
      int64_t count =
          llvm::divideCeil(extents[loops.front().dim], loops.front().block);
      SmallVector<Value> inits;
      SmallVector<unsigned> reduced;
      for (unsigned i = 0; i < outputCount(); ++i)
        if (isReduced(i)) {
          reduced.push_back(i);
          inits.push_back(initial(i));
        }
      for (Value &value : dimValues)
        value = zero;
      auto loop = scf::ForOp::create(builder, loc, index(0), index(count),
                                     index(1), inits);
      {
        OpBuilder::InsertionGuard guard(builder);
        if (loop.getBody()->mightHaveTerminator())
          loop.getBody()->getTerminator()->erase();
        builder.setInsertionPointToEnd(loop.getBody());
        SmallVector<Value> results;
        for (auto [position, i] : llvm::enumerate(reduced)) {
          Operation *combiner = combinerOf(body, outputArgument(i), yielded(i));
          Value partial = memref::LoadOp::create(builder, loc, partials[i],
                                                 loop.getInductionVar());
          IRMapping mapping;
          for (Value operand : combiner->getOperands())
            mapping.map(operand, operand == outputArgument(i)
                                     ? loop.getRegionIterArgs()[position]
                                     : partial);
          results.push_back(builder.clone(*combiner, mapping)->getResult(0));
        }
        scf::YieldOp::create(builder, loc, results);
      }
      for (auto [position, i] : llvm::enumerate(reduced))
        store(loop.getResult(position), i);
    }
  }
  op->erase();
  for (Operation *fill : absorbed)
    fill->erase();
  return success();
}

/// Copies that memcpy cannot do, or should not do on one core.
constexpr int64_t kCopyBytes = 1 << 18;

struct LoopsPass : public PassWrapper<LoopsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopsPass)
  StringRef getArgument() const final { return kPassName; }
  StringRef getDescription() const final {
    return "lower linalg on memrefs to loops that vectorise";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, affine::AffineDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    scf::SCFDialect>();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk<WalkOrder::PreOrder>([](Operation *op) {
      if (isa<linalg::LinalgOp>(op))
        return WalkResult::skip();
      if (isa<scf::ForOp, scf::WhileOp>(op))
        lingon::missed(op->getLoc(), lingon::kSerial, kPassName)
            << "a loop of the program: its iterations follow one another";
      return WalkResult::advance();
    });
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp copy : copies)
      rewriteCopy(rewriter, copy);

    SmallVector<scf::ForallOp> foralls;
    getOperation().walk([&](scf::ForallOp op) { foralls.push_back(op); });
    for (scf::ForallOp forall : foralls)
      if (failed(rewriteForall(rewriter, forall)))
        return signalPassFailure();

    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    // Fills first stay, so that the reductions after them can absorb them.
    SmallVector<Operation *> fills;
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics()) {
        op->emitOpError("must be bufferized before lingon-loops");
        return signalPassFailure();
      }
      if (isa<linalg::FillOp>(op.getOperation()))
        continue;
      if (failed(lower(rewriter, op)))
        return signalPassFailure();
    }
    getOperation().walk([&](linalg::FillOp op) { fills.push_back(op); });
    for (Operation *op : fills)
      if (failed(lower(rewriter, cast<linalg::LinalgOp>(op))))
        return signalPassFailure();
  }

  LogicalResult lower(IRRewriter &rewriter, linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation())) {
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(generic))
        return op->emitOpError("cannot be made a linalg.generic");
      op = cast<linalg::LinalgOp>(generic->getOperation());
    }
    bool allowParallel = !op->getParentOfType<scf::ParallelOp>();
    return NestBuilder(op, allowParallel).run();
  }

  void rewriteCopy(IRRewriter &rewriter, memref::CopyOp copy) {
    auto source = dyn_cast<MemRefType>(copy.getSource().getType());
    auto target = dyn_cast<MemRefType>(copy.getTarget().getType());
    if (copy.getSource() == copy.getTarget())
      return rewriter.eraseOp(copy);
    if (!source || !target || !source.hasStaticShape())
      return;
    sayCopy(copy);
    auto contiguous = [](MemRefType type) {
      return memref::isStaticShapeAndContiguousRowMajor(type);
    };
    int64_t bytes = source.getNumElements();
    Type element = source.getElementType();
    if (element.isIntOrFloat())
      bytes *= llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    if (contiguous(source) && contiguous(target) && bytes < kCopyBytes)
      return;
    rewriter.setInsertionPoint(copy);
    AffineMap map = rewriter.getMultiDimIdentityMap(source.getRank());
    SmallVector<utils::IteratorType> iterators(source.getRank(),
                                               utils::IteratorType::parallel);
    linalg::GenericOp::create(rewriter, copy.getLoc(), copy.getSource(),
                              copy.getTarget(), ArrayRef<AffineMap>{map, map},
                              iterators,
                              [](OpBuilder &b, Location loc, ValueRange args) {
                                linalg::YieldOp::create(b, loc, args[0]);
                              });
    rewriter.eraseOp(copy);
  }

  static bool isDonated(Value argument) {
    auto number = cast<BlockArgument>(argument).getArgNumber();
    auto function =
        cast<FunctionOpInterface>(argument.getParentBlock()->getParentOp());
    return static_cast<bool>(function.getArgAttr(number, "lingon.donated"));
  }

  /// Says that a copy is made, and why. What bufferization inserts has no
  /// reason with it: then it follows from the buffers.
  static void sayCopy(memref::CopyOp copy) {
    auto because = lingon::reasonOf(copy.getLoc());
    auto remark =
        lingon::missed(copy.getLoc(), lingon::kCopy,
                       because ? because->first : "one-shot-bufferize");
    if (!remark)
      return;
    auto type = cast<MemRefType>(copy.getSource().getType());
    Value source = lingon::bufferRoot(copy.getSource());
    Value target = lingon::bufferRoot(copy.getTarget());
    auto isPart = [](Value value, Value root) {
      auto all = cast<MemRefType>(root.getType());
      auto part = cast<MemRefType>(value.getType());
      return part.getNumElements() != all.getNumElements();
    };
    std::string reason;
    if (because)
      reason = because->second.str();
    else if (isPart(copy.getTarget(), target))
      reason = "it becomes a part of a larger array";
    else if (isPart(copy.getSource(), source))
      reason = "it is a part of a larger array";
    else if (lingon::isEntryArgument(source) &&
             lingon::isEntryArgument(target) && target.hasOneUse())
      reason = "an argument is returned as it is, and a result has memory of "
               "its own";
    else if (lingon::isEntryArgument(source))
      reason = isDonated(source)
                   ? "a donated argument is updated, and read or returned later"
                   : "an argument is updated that the caller keeps: it is not "
                     "donated";
    else if (source.getDefiningOp<memref::GetGlobalOp>())
      reason = "a constant is updated";
    else
      reason = "it is read again after it is updated, or is the result more "
               "than once";
    remark << remark::add("{0} bytes: {1}", lingon::bufferBytes(type), reason);
  }

  /// scf.forall over [0, n) with step 1, without results -> scf.parallel.
  LogicalResult rewriteForall(IRRewriter &rewriter, scf::ForallOp forall) {
    if (forall.getNumResults() != 0 || !forall.isNormalized())
      return forall.emitOpError(
          "expected a bufferized, normalised loop in lingon-loops");
    rewriter.setInsertionPoint(forall);
    Location loc = forall.getLoc();
    if (forall->getParentOfType<scf::ParallelOp>()) {
      // Inside a parallel loop: plain loops.
      SmallVector<Value> ivs;
      for (OpFoldResult upper : forall.getMixedUpperBound()) {
        Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
        Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
        auto loop = scf::ForOp::create(
            rewriter, loc, zero,
            getValueOrCreateConstantIndexOp(rewriter, loc, upper), one);
        ivs.push_back(loop.getInductionVar());
        rewriter.setInsertionPointToStart(loop.getBody());
      }
      Operation *terminator = rewriter.getInsertionBlock()->getTerminator();
      forall.getBody()->getTerminator()->erase();
      rewriter.inlineBlockBefore(forall.getBody(), terminator, ivs);
      rewriter.eraseOp(forall);
      return success();
    }
    SmallVector<Value> lower, upper, step;
    for (OpFoldResult bound : forall.getMixedUpperBound()) {
      lower.push_back(arith::ConstantIndexOp::create(rewriter, loc, 0));
      upper.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, bound));
      step.push_back(arith::ConstantIndexOp::create(rewriter, loc, 1));
    }
    auto parallel = scf::ParallelOp::create(rewriter, loc, lower, upper, step);
    forall.getBody()->getTerminator()->erase();
    rewriter.inlineBlockBefore(forall.getBody(),
                               parallel.getBody()->getTerminator(),
                               parallel.getInductionVars());
    rewriter.eraseOp(forall);
    return success();
  }
};

} // namespace

LINGON_REGISTER_PASS(LoopsPass)
