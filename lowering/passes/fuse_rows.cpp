//===- fuse_rows.cpp - one loop over rows for softmax-like groups ---------===//
//
// Groups linalg.generic operations that are connected through rows: every row
// of a consumer needs only the same row of its producers. Each group becomes
// one scf.forall over the shared parallel dimensions; the body works on single
// rows, so that what lies between the members is row-sized.
//
// As in lingon-fuse a depth per group keeps the graph of groups free of cycles.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "remarks.h"
#include "structured.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <memory>

using namespace mlir;

namespace {

constexpr StringLiteral kPassName = "lingon-fuse-rows";

constexpr unsigned kMaxMembers = 64;
constexpr unsigned kMaxGroupOperands = 48;
/// Rows of this length or less are better computed many at once.
constexpr int64_t kShortestRow = 12;
/// `bodyCost` of an elementary function.
constexpr unsigned kFunctionCost = 48;

struct Node {
  linalg::GenericOp op;
  SmallVector<int64_t> extents;
  SmallVector<bool> parallel;
  bool reduces = false;
  int group = -1;
  /// Row dimension of the group -> loop dimension of the operation.
  SmallVector<unsigned> rowDims;
};

struct Group {
  SmallVector<Node *> members;
  SmallVector<int64_t> rows;
  int depth = 0;
};

struct Unit {
  Operation *op = nullptr;
  int group = -1;
  SmallVector<unsigned> dependencies;
  bool done = false;
};

SetVector<Value> usedValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() > 0)
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

std::optional<unsigned> plainDim(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition();
  return std::nullopt;
}

/// Whether every operand is indexed by a dimension plainly or not at all.
bool hasWholeRows(linalg::GenericOp op, unsigned dim) {
  for (AffineMap map : op.getIndexingMapsArray()) {
    unsigned plain = 0, other = 0;
    for (AffineExpr expr : map.getResults())
      if (expr.isFunctionOfDim(dim))
        ++(plainDim(expr) == dim ? plain : other);
    if (other > 0 || plain > 1)
      return false;
  }
  return true;
}

class BlockGrouper {
public:
  BlockGrouper(Block &block, int64_t maxRowBytes)
      : block(block), context(block.getParentOp()->getContext()),
        maxRowBytes(maxRowBytes) {}
  void run();

private:
  void collect();
  void place(Node &node);
  bool tryJoin(Node &node, int id);
  std::string pairRows(const Node &node, const Group &group, int id,
                       SmallVectorImpl<unsigned> &keptRows,
                       SmallVectorImpl<unsigned> &nodeDims);
  bool worthwhile(const Group &group);
  int64_t rowBytes(const Group &group);
  int levelOf(Value value);
  void splitScalars();
  void schedule();
  void emit(Group &group);
  void refuse(const Node &node, StringRef reason) {
    lingon::missed(linalg::GenericOp(node.op).getLoc(), lingon::kNotFused,
                   kPassName)
        << StringRef("not in the row loop of its producers: ") << reason;
  }

  Node *nodeOf(Value value) {
    Operation *op = value.getDefiningOp();
    auto found = op ? nodes.find(op) : nodes.end();
    return found == nodes.end() ? nullptr : found->second.get();
  }
  Operation *ownerOf(Value value) {
    Operation *op = value.getDefiningOp();
    return op ? block.findAncestorOpInBlock(*op) : nullptr;
  }

  Block &block;
  MLIRContext *context;
  int64_t maxRowBytes;
  DenseMap<Operation *, std::unique_ptr<Node>> nodes;
  std::vector<Group> groups;
  DenseMap<Operation *, int> levels;
  SmallVector<Operation *> original;
  SmallVector<std::pair<Value, Value>> replacements;
};

void BlockGrouper::collect() {
  for (Operation &op : block) {
    original.push_back(&op);
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !lingon::isStaticTensorGeneric(generic))
      continue;
    // A destination read element by element must be one we can cut in rows.
    auto node = std::make_unique<Node>();
    node->op = generic;
    node->extents = generic.getStaticLoopRanges();
    for (utils::IteratorType type : generic.getIteratorTypesArray()) {
      node->parallel.push_back(type == utils::IteratorType::parallel);
      node->reduces |= type == utils::IteratorType::reduction;
    }
    nodes[&op] = std::move(node);
  }
}

/// The smallest depth of a group that may read `value` from outside.
int BlockGrouper::levelOf(Value value) {
  Operation *op = ownerOf(value);
  if (!op)
    return 0;
  if (auto found = nodes.find(op); found != nodes.end())
    return groups[found->second->group].depth + 1;
  return levels.lookup(op);
}

/// Which rows of the group remain if the node joins, and the node's dimensions
/// for them. Returns why not, or an empty string.
std::string BlockGrouper::pairRows(const Node &node, const Group &group, int id,
                                   SmallVectorImpl<unsigned> &keptRows,
                                   SmallVectorImpl<unsigned> &nodeDims) {
  linalg::GenericOp op = node.op;
  SmallVector<int> paired(group.rows.size(), -1);
  SmallVector<bool> broken(group.rows.size(), false);
  bool connected = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Node *producer = nodeOf(operand.get());
    if (!producer || producer->group != id)
      continue;
    connected = true;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    AffineMap resultMap =
        producer->op.getMatchingIndexingMap(producer->op.getDpsInitOperand(
            cast<OpResult>(operand.get()).getResultNumber()));
    for (unsigned row = 0; row < group.rows.size(); ++row) {
      bool fits = false;
      for (auto [position, expr] : llvm::enumerate(resultMap.getResults())) {
        if (plainDim(expr) != producer->rowDims[row])
          continue;
        auto dim = plainDim(map.getResult(position));
        if (dim && node.parallel[*dim] &&
            (paired[row] == -1 || paired[row] == static_cast<int>(*dim))) {
          paired[row] = *dim;
          fits = true;
        }
        break;
      }
      broken[row] = broken[row] || !fits;
    }
  }
  if (!connected)
    return "it reads none of their results";
  for (unsigned row = 0; row < group.rows.size(); ++row) {
    if (broken[row] || paired[row] == -1)
      continue;
    if (llvm::is_contained(nodeDims, static_cast<unsigned>(paired[row])))
      continue;
    keptRows.push_back(row);
    nodeDims.push_back(paired[row]);
  }
  if (keptRows.empty())
    return "they share no parallel dimension";

  for (unsigned dim : nodeDims)
    if (!hasWholeRows(op, dim))
      return "an operand is not indexed by whole rows";
  return {};
}

/// Bytes of the row-sized temporaries of the group.
int64_t BlockGrouper::rowBytes(const Group &group) {
  int64_t rows = 1, bytes = 0;
  for (int64_t extent : group.rows)
    rows *= extent;
  for (Node *member : group.members)
    for (OpResult result : member->op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      Type element = type.getElementType();
      int64_t size = element.isIntOrFloat()
                         ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                         : 16;
      bytes += type.getNumElements() / std::max<int64_t>(rows, 1) * size;
    }
  return bytes;
}

/// Rows must not cut the contiguous dimension of the large operands: a loop
/// over columns would touch one cache line per element.
bool BlockGrouper::worthwhile(const Group &group) {
  for (Node *member : group.members)
    for (OpOperand &operand : member->op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      AffineMap map = member->op.getMatchingIndexingMap(&operand);
      if (!type || map.getNumResults() < 2)
        continue;
      // The last dimension that is longer than one.
      for (int64_t p = type.getRank() - 1; p >= 0; --p) {
        if (type.getDimSize(p) == 1)
          continue;
        auto dim = plainDim(map.getResult(p));
        bool outerIsRow = true;
        for (int64_t q = 0; q < p; ++q)
          if (type.getDimSize(q) != 1) {
            auto outer = plainDim(map.getResult(q));
            outerIsRow &= outer && llvm::is_contained(member->rowDims, *outer);
          }
        if (dim && llvm::is_contained(member->rowDims, *dim) && !outerIsRow)
          return false;
        break;
      }
    }
  return true;
}

bool BlockGrouper::tryJoin(Node &node, int id) {
  Group &group = groups[id];
  if (group.members.size() >= kMaxMembers) {
    refuse(node, "the group has as many members as allowed");
    return false;
  }
  SmallVector<unsigned> keptRows, nodeDims;
  std::string reason = pairRows(node, group, id, keptRows, nodeDims);
  if (!reason.empty()) {
    refuse(node, reason);
    return false;
  }
  // Without a reduction, rows of single elements, or nothing that is carried
  // over, separate loops are as good.
  Group trial = group;
  SmallVector<SmallVector<unsigned>> saved;
  for (Node *member : trial.members) {
    saved.push_back(member->rowDims);
    SmallVector<unsigned> dims;
    for (unsigned row : keptRows)
      dims.push_back(member->rowDims[row]);
    member->rowDims = dims;
  }
  trial.rows.clear();
  for (unsigned row : keptRows)
    trial.rows.push_back(group.rows[row]);
  node.rowDims = nodeDims;
  trial.members.push_back(&node);

  bool reduces = false, longer = false;
  for (Node *member : trial.members) {
    reduces |= member->reduces;
    longer |= member->extents.size() > member->rowDims.size();
  }
  StringRef problem;
  if (!reduces || !longer)
    problem = "no reduction is shared";
  else if (llvm::all_of(trial.members, [](Node *member) {
             int64_t length = 1;
             for (auto [d, extent] : llvm::enumerate(member->extents))
               if (!llvm::is_contained(member->rowDims,
                                       static_cast<unsigned>(d)))
                 length *= extent;
             return length <= kShortestRow;
           }))
    problem = "its rows are too short for vector code";
  else if (rowBytes(trial) > maxRowBytes)
    problem = "the temporaries of a row are too large for the stack";
  else if (!worthwhile(trial))
    problem = "rows would cut the contiguous dimension";
  if (!problem.empty()) {
    for (auto [member, dims] : llvm::zip(group.members, saved))
      member->rowDims = dims;
    node.rowDims.clear();
    refuse(node, problem);
    return false;
  }
  group = std::move(trial);
  node.group = id;
  return true;
}

void BlockGrouper::place(Node &node) {
  linalg::GenericOp op = node.op;
  int best = -1;
  for (Value operand : op->getOperands())
    if (Node *producer = nodeOf(operand))
      if (best < 0 || groups[producer->group].depth > groups[best].depth)
        best = producer->group;
  // What the body reads by itself it reads at any row: all of that is there
  // before the group, also where it is an operand besides.
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  int required = 0, requiredBesides = 0;
  for (Value value : usedValues(op)) {
    int level = levelOf(value);
    required = std::max(required, level);
    Node *producer = nodeOf(value);
    if (!producer || producer->group != best || captured.contains(value))
      requiredBesides = std::max(requiredBesides, level);
  }
  if (best >= 0 && requiredBesides <= groups[best].depth && tryJoin(node, best))
    return;
  Group group;
  group.depth = required;
  for (auto [d, extent] : llvm::enumerate(node.extents))
    if (node.parallel[d] && extent > 1 && hasWholeRows(op, d)) {
      group.rows.push_back(extent);
      node.rowDims.push_back(d);
    }
  group.members.push_back(&node);
  node.group = groups.size();
  groups.push_back(std::move(group));
}

void BlockGrouper::schedule() {
  std::vector<Unit> units;
  DenseMap<Operation *, unsigned> unitOf;
  SmallVector<int> unitOfGroup(groups.size(), -1);
  for (Operation *op : original) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      continue;
    auto found = nodes.find(op);
    Unit unit;
    if (found != nodes.end()) {
      Group &group = groups[found->second->group];
      if (group.members.back() != found->second.get())
        continue;
      unit.group = found->second->group;
      unitOfGroup[unit.group] = units.size();
    } else {
      unit.op = op;
      unitOf[op] = units.size();
    }
    units.push_back(std::move(unit));
  }
  int lastEffect = -1;
  for (auto [position, unit] : llvm::enumerate(units)) {
    auto depend = [&](Value value) {
      Operation *op = ownerOf(value);
      if (!op)
        return;
      auto found = nodes.find(op);
      unsigned on = found != nodes.end() ? unitOfGroup[found->second->group]
                                         : unitOf.lookup(op);
      if (on != position)
        unit.dependencies.push_back(on);
    };
    if (unit.group >= 0) {
      for (Node *member : groups[unit.group].members)
        for (Value value : usedValues(member->op))
          depend(value);
      continue;
    }
    for (Value value : usedValues(unit.op))
      depend(value);
    if (lingon::isOrdered(unit.op)) {
      if (lastEffect >= 0)
        unit.dependencies.push_back(lastEffect);
      lastEffect = position;
    }
  }
  Operation *end =
      block.mightHaveTerminator() ? block.getTerminator() : nullptr;
  SmallVector<std::pair<unsigned, unsigned>> stack;
  for (unsigned start = 0; start < units.size(); ++start) {
    stack.push_back({start, 0});
    while (!stack.empty()) {
      auto &[current, next] = stack.back();
      Unit &unit = units[current];
      if (unit.done) {
        stack.pop_back();
        continue;
      }
      if (next < unit.dependencies.size()) {
        unsigned on = unit.dependencies[next++];
        if (!units[on].done)
          stack.push_back({on, 0});
        continue;
      }
      unit.done = true;
      SmallVector<Operation *> moved;
      if (unit.op)
        moved.push_back(unit.op);
      else
        for (Node *member : groups[unit.group].members)
          moved.push_back(member->op);
      for (Operation *op : moved) {
        if (end)
          op->moveBefore(end);
        else
          op->moveBefore(&block, block.end());
      }
      if (unit.group >= 0 && groups[unit.group].members.size() > 1)
        emit(groups[unit.group]);
      stack.pop_back();
    }
  }
}

void BlockGrouper::emit(Group &group) {
  OpBuilder builder(group.members.back()->op);
  builder.setInsertionPointAfter(group.members.back()->op);
  SmallVector<Location> locations;
  DenseSet<Operation *> inside;
  for (Node *member : group.members) {
    locations.push_back(member->op.getLoc());
    inside.insert(member->op);
  }
  Location loc = FusedLoc::get(context, locations);
  lingon::achieved(loc, lingon::kNotFused, kPassName);

  // The results that are used outside become results of the loop.
  SmallVector<OpResult> external;
  SmallVector<Value> destinations;
  DenseMap<Value, unsigned> externalIndex;
  for (Node *member : group.members)
    for (OpResult result : member->op->getResults()) {
      if (llvm::all_of(result.getUsers(),
                       [&](Operation *user) { return inside.contains(user); }))
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      externalIndex[result] = external.size();
      external.push_back(result);
      destinations.push_back(tensor::EmptyOp::create(
          builder, loc, type.getShape(), type.getElementType()));
    }
  SmallVector<OpFoldResult> bounds;
  for (int64_t extent : group.rows)
    bounds.push_back(builder.getIndexAttr(extent));
  auto forall =
      scf::ForallOp::create(builder, loc, bounds, destinations, std::nullopt);
  forall->setAttr("lingon.rows", builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars();

  struct RowSlice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    SmallVector<int64_t> shape;
    AffineMap map;
  };
  /// What of `tensor`, indexed with `map`, belongs to the current row.
  auto rowOf = [&](const Node &node, RankedTensorType type, AffineMap map) {
    RowSlice slice;
    SmallVector<AffineExpr> kept;
    // Loop dimensions without the rows.
    SmallVector<AffineExpr> renamed(node.extents.size());
    unsigned next = 0;
    for (unsigned d = 0; d < node.extents.size(); ++d)
      renamed[d] = llvm::is_contained(node.rowDims, d)
                       ? getAffineConstantExpr(0, context)
                       : getAffineDimExpr(next++, context);
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      slice.strides.push_back(builder.getIndexAttr(1));
      auto dim = plainDim(expr);
      const unsigned *row =
          dim ? llvm::find(node.rowDims, *dim) : node.rowDims.end();
      if (row != node.rowDims.end()) {
        slice.offsets.push_back(ivs[row - node.rowDims.begin()]);
        slice.sizes.push_back(builder.getIndexAttr(1));
        continue;
      }
      slice.offsets.push_back(builder.getIndexAttr(0));
      slice.sizes.push_back(builder.getIndexAttr(type.getDimSize(position)));
      slice.shape.push_back(type.getDimSize(position));
      kept.push_back(expr.replaceDims(renamed));
    }
    slice.map = AffineMap::get(next, 0, kept, context);
    return slice;
  };
  auto extract = [&](Value tensor, const RowSlice &slice) -> Value {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (static_cast<int64_t>(slice.shape.size()) == type.getRank())
      return tensor;
    auto rowType = RankedTensorType::get(slice.shape, type.getElementType());
    return tensor::ExtractSliceOp::create(builder, loc, rowType, tensor,
                                          slice.offsets, slice.sizes,
                                          slice.strides);
  };

  DenseMap<Value, Value> rowValues;
  std::vector<std::pair<unsigned, RowSlice>> inserts;
  SmallVector<Value> inserted;
  for (Node *member : group.members) {
    linalg::GenericOp op = member->op;
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto type = dyn_cast<RankedTensorType>(input->get().getType());
      AffineMap map = op.getMatchingIndexingMap(input);
      if (!type) {
        inputs.push_back(input->get());
        maps.push_back(rowOf(*member, {}, map).map);
        continue;
      }
      RowSlice slice = rowOf(*member, type, map);
      maps.push_back(slice.map);
      Value known = rowValues.lookup(input->get());
      inputs.push_back(known ? known : extract(input->get(), slice));
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto type = cast<RankedTensorType>(init.get().getType());
      RowSlice slice = rowOf(*member, type, op.getMatchingIndexingMap(&init));
      maps.push_back(slice.map);
      OpResult result = op.getTiedOpResult(&init);
      auto found = externalIndex.find(result);
      bool readsInit = !op.getMatchingBlockArgument(&init).use_empty();
      Value row;
      if (Value known = rowValues.lookup(init.get())) {
        row = known;
      } else if (readsInit && !lingon::isSplat(init.get()) &&
                 !init.get().getDefiningOp<tensor::EmptyOp>()) {
        row = extract(init.get(), slice);
      } else {
        if (found != externalIndex.end())
          row = extract(forall.getRegionIterArgs()[found->second], slice);
        else
          row = tensor::EmptyOp::create(builder, loc, slice.shape,
                                        type.getElementType());
        if (readsInit && lingon::isSplat(init.get()))
          row = linalg::FillOp::create(
                    builder, loc, lingon::splatValue(builder, init.get()), row)
                    .getResult(0);
      }
      outputs.push_back(row);
      if (found != externalIndex.end())
        inserts.push_back({found->second, slice});
    }
    SmallVector<utils::IteratorType> iterators;
    for (auto [d, type] : llvm::enumerate(op.getIteratorTypesArray()))
      if (!llvm::is_contained(member->rowDims, static_cast<unsigned>(d)))
        iterators.push_back(type);
    auto row = linalg::GenericOp::create(builder, op.getLoc(),
                                         TypeRange(ValueRange(outputs)), inputs,
                                         outputs, maps, iterators);
    IRMapping mapping;
    op.getRegion().cloneInto(&row.getRegion(), mapping);
    SmallVector<linalg::IndexOp> indexOps;
    row.getRegion().walk(
        [&](linalg::IndexOp index) { indexOps.push_back(index); });
    for (linalg::IndexOp index : indexOps) {
      unsigned dim = index.getDim();
      const unsigned *at = llvm::find(member->rowDims, dim);
      if (at != member->rowDims.end()) {
        index.replaceAllUsesWith(ivs[at - member->rowDims.begin()]);
        index.erase();
        continue;
      }
      unsigned before =
          llvm::count_if(member->rowDims, [&](unsigned d) { return d < dim; });
      index.setDim(dim - before);
    }
    for (auto [from, to] : llvm::zip(op->getResults(), row->getResults())) {
      rowValues[from] = to;
      if (externalIndex.contains(from))
        inserted.push_back(to);
    }
  }
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [insert, value] : llvm::zip(inserts, inserted)) {
    RowSlice &slice = insert.second;
    tensor::ParallelInsertSliceOp::create(
        builder, loc, value, forall.getRegionIterArgs()[insert.first],
        slice.offsets, slice.sizes, slice.strides);
  }
  for (auto [position, result] : llvm::enumerate(external))
    replacements.push_back({result, forall.getResult(position)});
}

/// Elementary functions of what is one number a row, and is not used in the
/// row, leave their groups: a loop over all of the numbers is vector code.
void BlockGrouper::splitScalars() {
  for (unsigned id = 0, count = groups.size(); id < count; ++id)
    for (unsigned at = groups[id].members.size(); at-- > 1;) {
      Node *node = groups[id].members[at];
      bool scalar = !node->reduces &&
                    lingon::bodyCost(*node->op.getBody()) >= kFunctionCost;
      for (auto [d, extent] : llvm::enumerate(node->extents))
        scalar &= extent == 1 ||
                  llvm::is_contained(node->rowDims, static_cast<unsigned>(d));
      for (Operation *user : node->op->getUsers()) {
        auto found = nodes.find(user);
        scalar &= found == nodes.end() ||
                  found->second->group != static_cast<int>(id);
      }
      if (!scalar)
        continue;
      groups[id].members.erase(groups[id].members.begin() + at);
      node->group = groups.size();
      Group alone;
      alone.members.push_back(node);
      groups.push_back(std::move(alone));
    }
}

void BlockGrouper::run() {
  collect();
  if (nodes.size() < 2)
    return;
  int lastEffect = 0;
  for (Operation *op : original) {
    if (auto found = nodes.find(op); found != nodes.end()) {
      place(*found->second);
      continue;
    }
    int level = 0;
    for (Value value : usedValues(op))
      level = std::max(level, levelOf(value));
    if (lingon::isOrdered(op))
      level = lastEffect = std::max(level, lastEffect);
    levels[op] = level;
  }
  splitScalars();
  if (llvm::all_of(groups,
                   [](const Group &group) { return group.members.size() < 2; }))
    return;
  schedule();
  for (auto &[from, to] : replacements)
    from.replaceAllUsesWith(to);
  for (Operation *op : llvm::reverse(original))
    if (isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp>(op) &&
        op->use_empty())
      op->erase();
}

struct FuseRowsPass
    : public PassWrapper<FuseRowsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseRowsPass)
  FuseRowsPass() = default;
  FuseRowsPass(const FuseRowsPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return kPassName; }
  StringRef getDescription() const final {
    return "one loop over rows for groups such as softmax and layernorm";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, complex::ComplexDialect,
                    linalg::LinalgDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }
  Option<int64_t> maxRowBytes{
      *this, "max-row-bytes", llvm::cl::init(128 * 1024),
      llvm::cl::desc("bound of the temporaries of one row")};

  void runOnOperation() override {
    for (Block *block : lingon::blocksAroundStructured(getOperation()))
      BlockGrouper(*block, maxRowBytes).run();
    unshareFills();
  }

  /// A fill that several operations accumulate into would have to be copied:
  /// each gets its own.
  void unshareFills() {
    SmallVector<linalg::FillOp> fills;
    getOperation().walk([&](linalg::FillOp fill) {
      if (fill->getNumResults() == 1 && !fill->hasOneUse())
        fills.push_back(fill);
    });
    for (linalg::FillOp fill : fills)
      for (OpOperand &use :
           llvm::make_early_inc_range(fill->getResult(0).getUses())) {
        auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
        if (!user || !user.isDpsInit(&use))
          continue;
        OpBuilder builder(use.getOwner());
        auto type = cast<RankedTensorType>(use.get().getType());
        Value empty = tensor::EmptyOp::create(
            builder, fill.getLoc(), type.getShape(), type.getElementType());
        use.set(linalg::FillOp::create(builder, fill.getLoc(),
                                       fill.getInputs()[0], empty)
                    .getResult(0));
      }
  }
};

} // namespace

LINGON_REGISTER_PASS(FuseRowsPass)
