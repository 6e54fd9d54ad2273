//===- fuse_products.cpp - one loop over blocks of rows through kernels ---===//
//
// A product, what is computed from its rows, and further products of those:
// one scf.forall over blocks of rows, so that a matrix between two products
// (attention's scores) never exists as a whole. The body works on blocks that
// fit the cache; lingon-fuse-rows then finds the single rows in it.
//
// Kernel calls say with `lingon.parallel` how they can be cut: a list of
// arrays, one for each loop, with the dimension of each operand (inputs, then
// outputs) that belongs to it, or -1. A part of the loop reads and writes just
// that part of the operands.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"
#include "Registration.h"
#include "remarks.h"
#include "structured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace {

constexpr StringLiteral kPassName = "lingon-fuse-products";
constexpr StringLiteral kParallel = "lingon.parallel";

/// Rows of a block: a product of fewer packs its other operand too often, and
/// one of more gains nothing.
constexpr int64_t kFewestRows = 16, kMostRows = 64;

SetVector<Value> usedValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() > 0)
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

int64_t tensorBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  int64_t size = element.isIntOrFloat()
                     ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                     : 16;
  return type.getNumElements() * size;
}

/// The loops of a kernel call that can be cut: for each the operands' dims.
SmallVector<ArrayRef<int64_t>> parallelLoops(lingon::KernelCallOp call) {
  SmallVector<ArrayRef<int64_t>> loops;
  auto attribute = call->getAttrOfType<ArrayAttr>(kParallel);
  if (!attribute || call.getReadsOutputs() || call.getSideEffects() ||
      !call.onTensors())
    return loops;
  for (Attribute entry : attribute) {
    auto dims = dyn_cast<DenseI64ArrayAttr>(entry);
    if (!dims || dims.size() != static_cast<int64_t>(call->getNumOperands()))
      return {};
    loops.push_back(dims.asArrayRef());
  }
  return loops;
}

/// Where a group ends: after so many members, and after so many operations in a
/// row that are none. Else the time grows with the square of the program.
constexpr size_t kMostMembers = 64;
constexpr size_t kMostOthers = 200;

struct Member {
  Operation *op;
  /// For each axis of the group: the loop of a linalg.generic, or the position
  /// in `parallelLoops` of a kernel call.
  SmallVector<unsigned> loops;
};

struct Group {
  SmallVector<Member> members;
  /// The extents of the axes; blocks are cut along the last one.
  SmallVector<int64_t> extents;
  /// The dimensions of each member's results that are the axes.
  DenseMap<Value, SmallVector<int64_t>> axes;
  /// What depends on members and is not one.
  DenseSet<Operation *> after;
  unsigned calls = 0;

  bool has(Value value) const { return axes.contains(value); }
  bool hasOp(Operation *op) const {
    return op->getNumResults() > 0 && has(op->getResult(0));
  }
  bool isExternal(Value value) const {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return !hasOp(user); });
  }
  /// Bytes that are never stored as a whole, of what lies between two calls.
  /// What is computed from the last call needs no blocks: the kernel calls it.
  int64_t savedBytes() const {
    int64_t bytes = 0;
    DenseSet<Value> between;
    for (const Member &member : llvm::reverse(members)) {
      ResultRange results = member.op->getResults();
      bool needed = isa<lingon::KernelCallOp>(member.op) ||
                    llvm::any_of(results, [&](Value result) {
                      return between.contains(result);
                    });
      for (Value result : results)
        if (between.contains(result) && !isExternal(result))
          bytes += tensorBytes(result);
      if (needed)
        for (Value value : usedValues(member.op))
          if (has(value))
            between.insert(value);
    }
    return bytes;
  }
};

class ProductFuser {
public:
  ProductFuser(Block &block, int64_t leastBytes, int64_t blockBytes)
      : block(block), context(block.getParentOp()->getContext()),
        leastBytes(leastBytes), blockBytes(blockBytes) {}

  void run() {
    SmallVector<lingon::KernelCallOp> calls;
    for (Operation &op : block)
      if (auto call = dyn_cast<lingon::KernelCallOp>(op))
        calls.push_back(call);
    DenseSet<Operation *> done;
    for (lingon::KernelCallOp call : calls) {
      if (done.contains(call))
        continue;
      // Rows of the first operand, or else of the second.
      Group best;
      for (unsigned operand = 0; operand < call.getInputs().size(); ++operand) {
        Group group = grow(call, operand);
        if (group.savedBytes() > best.savedBytes())
          best = std::move(group);
      }
      if (best.calls < 2 || !worthwhile(best))
        continue;
      if (!arrange(best))
        continue;
      for (const Member &member : best.members)
        done.insert(member.op);
      emit(best);
    }
  }

private:
  Group grow(lingon::KernelCallOp seed, unsigned operand);
  bool join(Group &group, Operation *op);
  bool joinGeneric(Group &group, linalg::GenericOp op);
  bool joinCall(Group &group, lingon::KernelCallOp op);
  int64_t rowsOf(const Group &group);
  bool worthwhile(const Group &group);
  bool arrange(Group &group);
  void emit(Group &group);
  SmallVector<Value> emitLoop(Group &group, OpBuilder &builder, Location loc,
                              ArrayRef<Value> results,
                              ArrayRef<Value> destinations, int64_t first,
                              int64_t blocks, int64_t rows);

  Block &block;
  MLIRContext *context;
  int64_t leastBytes, blockBytes;
};

Group ProductFuser::grow(lingon::KernelCallOp seed, unsigned operand) {
  Group group;
  SmallVector<ArrayRef<int64_t>> loops = parallelLoops(seed);
  if (seed.getOutputs().size() != 1)
    return group;
  auto type = cast<RankedTensorType>(seed.getResults()[0].getType());
  unsigned output = seed.getInputs().size();
  Member first{seed, {}};
  SmallVector<int64_t> dims;
  for (auto [position, loop] : llvm::enumerate(loops)) {
    if (loop[operand] < 0 || loop[output] < 0 ||
        type.getDimSize(loop[output]) == 1)
      continue;
    first.loops.push_back(position);
    dims.push_back(loop[output]);
    group.extents.push_back(type.getDimSize(loop[output]));
  }
  if (group.extents.empty() || group.extents.back() < kFewestRows)
    return group;
  group.axes[seed.getResults()[0]] = dims;
  group.members.push_back(first);
  group.calls = 1;
  size_t members = 1, others = 0;
  for (Operation *op = seed->getNextNode(); op; op = op->getNextNode()) {
    if (members == kMostMembers || others == kMostOthers)
      break;
    bool reads = false, late = false;
    for (Value value : usedValues(op)) {
      reads |= group.has(value);
      Operation *owner = value.getDefiningOp();
      owner = owner ? block.findAncestorOpInBlock(*owner) : nullptr;
      late |= owner && group.after.contains(owner);
    }
    if (late || (reads && !join(group, op)))
      group.after.insert(op);
    others = group.members.size() == members ? others + 1 : 0;
    members = group.members.size();
  }
  return group;
}

bool ProductFuser::join(Group &group, Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return joinGeneric(group, generic);
  if (auto call = dyn_cast<lingon::KernelCallOp>(op))
    return joinCall(group, call);
  return false;
}

bool ProductFuser::joinGeneric(Group &group, linalg::GenericOp op) {
  if (!lingon::isStaticTensorGeneric(op))
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (llvm::any_of(captured, [&](Value value) { return group.has(value); }))
    return false;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> loops(group.extents.size(), -1);
  for (OpOperand &operand : op->getOpOperands()) {
    auto known = group.axes.find(operand.get());
    if (known == group.axes.end())
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [axis, position] : llvm::enumerate(known->second)) {
      auto dim = dyn_cast<AffineDimExpr>(map.getResult(position));
      if (!dim || (loops[axis] >= 0 && loops[axis] != dim.getPosition()))
        return false;
      loops[axis] = dim.getPosition();
    }
  }
  Member member{op, {}};
  for (auto [axis, loop] : llvm::enumerate(loops)) {
    if (loop < 0 || iterators[loop] != utils::IteratorType::parallel ||
        extents[loop] != group.extents[axis] ||
        llvm::is_contained(member.loops, static_cast<unsigned>(loop)))
      return false;
    member.loops.push_back(loop);
  }
  SmallVector<std::pair<Value, SmallVector<int64_t>>> made;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<int64_t> positions(member.loops.size(), -1);
    for (auto [position, expr] : llvm::enumerate(map.getResults()))
      for (auto [axis, loop] : llvm::enumerate(member.loops)) {
        if (!expr.isFunctionOfDim(loop))
          continue;
        if (!isa<AffineDimExpr>(expr) || positions[axis] >= 0)
          return false;
        positions[axis] = position;
      }
    if (!op.isDpsInit(&operand))
      continue;
    if (llvm::is_contained(positions, -1))
      return false;
    made.push_back({op.getTiedOpResult(&operand), positions});
  }
  for (auto &[value, positions] : made)
    group.axes[value] = positions;
  group.members.push_back(member);
  return true;
}

bool ProductFuser::joinCall(Group &group, lingon::KernelCallOp op) {
  SmallVector<ArrayRef<int64_t>> entries = parallelLoops(op);
  SmallVector<int64_t> loops(group.extents.size(), -1);
  unsigned inputs = op.getInputs().size();
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    auto known = group.axes.find(operand);
    if (known == group.axes.end())
      continue;
    if (number >= inputs)
      return false;
    for (auto [axis, dim] : llvm::enumerate(known->second)) {
      int64_t found = -1;
      for (auto [position, entry] : llvm::enumerate(entries))
        if (entry[number] == dim)
          found = position;
      if (found < 0 || (loops[axis] >= 0 && loops[axis] != found))
        return false;
      loops[axis] = found;
    }
  }
  Member member{op, {}};
  for (int64_t loop : loops) {
    if (loop < 0 ||
        llvm::is_contained(member.loops, static_cast<unsigned>(loop)))
      return false;
    member.loops.push_back(loop);
  }
  SmallVector<std::pair<Value, SmallVector<int64_t>>> made;
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    SmallVector<int64_t> positions;
    for (unsigned loop : member.loops)
      positions.push_back(entries[loop][inputs + number]);
    if (llvm::is_contained(positions, -1))
      return false;
    made.push_back({result, positions});
  }
  for (auto &[value, positions] : made)
    group.axes[value] = positions;
  group.members.push_back(member);
  ++group.calls;
  return true;
}

/// The rows of a block.
int64_t ProductFuser::rowsOf(const Group &group) {
  int64_t bytes = 0, total = 1, extent = group.extents.back();
  for (int64_t each : group.extents)
    total *= each;
  for (const Member &member : group.members)
    for (Value result : member.op->getResults())
      bytes += tensorBytes(result);
  int64_t rows = std::clamp<int64_t>(
      blockBytes / std::max<int64_t>(1, bytes / total), kFewestRows, kMostRows);
  rows = std::min(rows, extent);
  // Equal blocks where that does not make them much smaller.
  for (int64_t fewer = rows; fewer > rows / 2; --fewer)
    if (extent % fewer == 0)
      return fewer;
  return rows;
}

/// Whether what is not written and read again takes longer than to read and
/// pack, for each block again, the operands that blocks of rows share: an
/// element of those takes as long as two bytes.
bool ProductFuser::worthwhile(const Group &group) {
  int64_t shared = 0;
  for (const Member &member : group.members) {
    auto call = dyn_cast<lingon::KernelCallOp>(member.op);
    if (!call)
      continue;
    SmallVector<ArrayRef<int64_t>> loops = parallelLoops(call);
    for (auto [number, input] : llvm::enumerate(call.getInputs())) {
      if (loops[member.loops.back()][number] >= 0)
        continue;
      int64_t elements =
          cast<RankedTensorType>(input.getType()).getNumElements();
      for (auto [axis, loop] : llvm::enumerate(member.loops))
        if (axis + 1 == member.loops.size())
          elements *= llvm::divideCeil(group.extents[axis], rowsOf(group));
        else if (loops[loop][number] < 0)
          elements *= group.extents[axis];
      shared += elements;
    }
  }
  int64_t saved = group.savedBytes();
  return saved >= leastBytes && saved >= 2 * shared;
}

/// Moves what depends on the group behind its last member. False if that would
/// change the order of effects.
bool ProductFuser::arrange(Group &group) {
  Operation *first = group.members.front().op, *last = group.members.back().op;
  SmallVector<Operation *> late;
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (group.after.contains(op)) {
      if (lingon::isOrdered(op))
        return false;
      late.push_back(op);
    }
  Operation *at = last;
  for (Operation *op : late) {
    op->moveAfter(at);
    at = op;
  }
  return true;
}

void ProductFuser::emit(Group &group) {
  SmallVector<Location> locations;
  SmallVector<Value> results, destinations;
  Operation *last = group.members.back().op;
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  for (const Member &member : group.members) {
    locations.push_back(member.op->getLoc());
    for (Value result : member.op->getResults())
      if (group.isExternal(result))
        results.push_back(result);
  }
  Location loc = FusedLoc::get(context, locations);
  lingon::achieved(loc, lingon::kNotFused, kPassName);
  for (Value result : results) {
    auto type = cast<RankedTensorType>(result.getType());
    destinations.push_back(tensor::EmptyOp::create(
        builder, loc, type.getShape(), type.getElementType()));
  }
  int64_t extent = group.extents.back(), rows = rowsOf(group);
  int64_t blocks = extent / rows;
  SmallVector<Value> made =
      emitLoop(group, builder, loc, results, destinations, 0, blocks, rows);
  if (int64_t rest = extent % rows)
    made = emitLoop(group, builder, loc, results, made, extent - rest, 1, rest);
  for (auto [from, to] : llvm::zip(results, made))
    from.replaceUsesWithIf(
        to, [&](OpOperand &use) { return !group.hasOp(use.getOwner()); });
  SetVector<Value> inits;
  for (const Member &member : llvm::reverse(group.members)) {
    for (OpOperand &init :
         cast<DestinationStyleOpInterface>(member.op).getDpsInitsMutable())
      inits.insert(init.get());
    member.op->erase();
  }
  for (Value init : inits)
    if (auto fill = init.getDefiningOp<linalg::FillOp>();
        fill && fill->use_empty())
      fill->erase();
}

SmallVector<Value> ProductFuser::emitLoop(Group &group, OpBuilder &builder,
                                          Location loc, ArrayRef<Value> results,
                                          ArrayRef<Value> destinations,
                                          int64_t first, int64_t blocks,
                                          int64_t rows) {
  SmallVector<OpFoldResult> bounds;
  for (int64_t extent : ArrayRef(group.extents).drop_back())
    bounds.push_back(builder.getIndexAttr(extent));
  bounds.push_back(builder.getIndexAttr(blocks));
  auto forall =
      scf::ForallOp::create(builder, loc, bounds, destinations, std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> starts(forall.getInductionVars());
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  starts.back() =
      arith::MulIOp::create(builder, loc, starts.back(), constant(rows));
  if (first)
    starts.back() =
        arith::AddIOp::create(builder, loc, starts.back(), constant(first));
  SmallVector<int64_t> sizes(group.extents.size(), 1);
  sizes.back() = rows;

  struct Part {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    SmallVector<int64_t> shape;
  };
  /// The block of a tensor whose dimensions `dims` (-1: none) are the axes.
  auto partOf = [&](RankedTensorType type, ArrayRef<int64_t> dims) {
    Part part;
    part.shape.assign(type.getShape().begin(), type.getShape().end());
    for (unsigned d = 0; d < part.shape.size(); ++d) {
      part.offsets.push_back(builder.getIndexAttr(0));
      part.strides.push_back(builder.getIndexAttr(1));
    }
    for (auto [axis, dim] : llvm::enumerate(dims))
      if (dim >= 0) {
        part.offsets[dim] = starts[axis];
        part.shape[dim] = sizes[axis];
      }
    for (int64_t size : part.shape)
      part.sizes.push_back(builder.getIndexAttr(size));
    return part;
  };
  auto extract = [&](Value tensor, ArrayRef<int64_t> dims) -> Value {
    if (llvm::all_of(dims, [](int64_t dim) { return dim < 0; }))
      return tensor;
    auto type = cast<RankedTensorType>(tensor.getType());
    Part part = partOf(type, dims);
    return tensor::ExtractSliceOp::create(
        builder, loc, RankedTensorType::get(part.shape, type.getElementType()),
        tensor, part.offsets, part.sizes, part.strides);
  };

  DenseMap<Value, Value> blocksOf;
  /// Where the block of a result is computed.
  auto destination = [&](Value result) -> Value {
    auto type = cast<RankedTensorType>(result.getType());
    const SmallVector<int64_t> &dims = group.axes[result];
    for (auto [number, external] : llvm::enumerate(results))
      if (external == result)
        return extract(forall.getRegionIterArgs()[number], dims);
    return tensor::EmptyOp::create(builder, loc, partOf(type, dims).shape,
                                   type.getElementType());
  };
  for (const Member &member : group.members) {
    Operation *op = member.op;
    SmallVector<Value> operands;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    auto call = dyn_cast<lingon::KernelCallOp>(op);
    SmallVector<ArrayRef<int64_t>> entries;
    if (call)
      entries = parallelLoops(call);
    auto destinationStyle = cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (Value known = blocksOf.lookup(value)) {
        operands.push_back(known);
        continue;
      }
      SmallVector<int64_t> dims(group.extents.size(), -1);
      for (auto [axis, loop] : llvm::enumerate(member.loops)) {
        if (call) {
          dims[axis] = entries[loop][operand.getOperandNumber()];
          continue;
        }
        AffineMap map = generic.getMatchingIndexingMap(&operand);
        for (auto [position, expr] : llvm::enumerate(map.getResults()))
          if (expr == getAffineDimExpr(loop, context))
            dims[axis] = position;
      }
      if (!destinationStyle.isDpsInit(&operand)) {
        operands.push_back(isa<RankedTensorType>(value.getType())
                               ? extract(value, dims)
                               : value);
        continue;
      }
      bool reads =
          generic && !generic.getMatchingBlockArgument(&operand).use_empty();
      if (reads && !lingon::isSplat(value) &&
          !value.getDefiningOp<tensor::EmptyOp>()) {
        operands.push_back(extract(value, dims));
        continue;
      }
      Value into = destination(destinationStyle.getTiedOpResult(&operand));
      if (reads && lingon::isSplat(value))
        into = linalg::FillOp::create(builder, loc,
                                      lingon::splatValue(builder, value), into)
                   .getResult(0);
      operands.push_back(into);
    }
    IRMapping mapping;
    for (auto [from, to] : llvm::zip(op->getOperands(), operands))
      mapping.map(from, to);
    Operation *made = builder.clone(*op, mapping);
    made->setOperands(operands);
    for (OpOperand &init :
         cast<DestinationStyleOpInterface>(made).getDpsInitsMutable())
      made->getResult(init.getOperandNumber() -
                      (made->getNumOperands() - made->getNumResults()))
          .setType(init.get().getType());
    made->walk([&](linalg::IndexOp index) {
      const unsigned *axis = llvm::find(member.loops, index.getDim());
      if (axis == member.loops.end())
        return;
      OpBuilder inner(context);
      inner.setInsertionPointAfter(index);
      auto moved =
          arith::AddIOp::create(inner, index.getLoc(), index.getResult(),
                                starts[axis - member.loops.begin()]);
      index.getResult().replaceAllUsesExcept(moved, moved);
    });
    for (auto [from, to] : llvm::zip(op->getResults(), made->getResults()))
      blocksOf[from] = to;
  }
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [number, result] : llvm::enumerate(results)) {
    Part part =
        partOf(cast<RankedTensorType>(result.getType()), group.axes[result]);
    tensor::ParallelInsertSliceOp::create(
        builder, loc, blocksOf[result], forall.getRegionIterArgs()[number],
        part.offsets, part.sizes, part.strides);
  }
  return SmallVector<Value>(forall.getResults());
}

struct FuseProductsPass
    : public PassWrapper<FuseProductsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseProductsPass)
  FuseProductsPass() = default;
  FuseProductsPass(const FuseProductsPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return kPassName; }
  StringRef getDescription() const final {
    return "one loop over blocks of rows for products of products' rows";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, complex::ComplexDialect,
                    linalg::LinalgDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }
  Option<int64_t> leastBytes{
      *this, "least-bytes", llvm::cl::init(2 * 1024 * 1024),
      llvm::cl::desc("bytes that need not be stored, from which it pays")};
  Option<int64_t> blockBytes{
      *this, "block-bytes", llvm::cl::init(768 * 1024),
      llvm::cl::desc("bytes of what a block computes, at most")};

  void runOnOperation() override {
    for (Block *block : lingon::blocksAroundStructured(getOperation()))
      ProductFuser(*block, leastBytes, blockBytes).run();
  }
};

} // namespace

LINGON_REGISTER_PASS(FuseProductsPass)
