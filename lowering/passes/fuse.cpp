//===- fuse.cpp - elementwise fusion on tensors ---------------------------===//
//
// Partitions the linalg.generic operations of each block into clusters over one
// iteration space and emits each cluster as one operation: elementwise chains,
// siblings that share inputs, elementwise producers of reductions, several
// results. Broadcasts, transposes, iotas, fills and splat constants are read
// through their indexing maps and need no memory.
//
// Every cluster has a depth, larger than that of all clusters whose results it
// reads, directly or through other operations. Members join only a cluster of a
// depth that this allows, so the graph of clusters has no cycle, and one pass
// over the block is enough. Clusters that meet in one operation become one
// where neither can depend on the other.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "remarks.h"
#include "structured.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <memory>
#include <numeric>

using namespace mlir;

namespace {

/// Bounds of one fused operation: more streams or code than this do not pay.
constexpr unsigned kMaxOperands = 32;
constexpr unsigned kMaxResults = 12;
constexpr unsigned kMaxCost = 1000;
/// Producers as cheap as this are computed again for each broadcast element.
constexpr unsigned kCheapCost = 4;
constexpr unsigned kCheapIotaCost = 16;
constexpr unsigned kMaxInlineDepth = 16;

/// A tensor read at `map` (loop dimensions -> indices).
struct Source {
  Value tensor;
  AffineMap map;
};

struct Node {
  linalg::GenericOp op;
  unsigned order = 0;
  SmallVector<int64_t> extents;
  bool elementwise = false;
  unsigned cost = 0;
  unsigned inlineDepth = 0;
  /// Read without being stored wherever it is used: views and iotas.
  bool alwaysInline = false;
  bool cheap = false;
  int cluster = -1;
  bool live = false;
  /// Loop dimension -> dimension of the cluster, -1 for extent one.
  SmallVector<int> alignment;
  /// What the body reads, through inlined producers, and all else it depends
  /// on.
  SmallVector<Source> sources;
  SmallVector<Value> others;
};

struct Cluster {
  SmallVector<Node *> members;
  SmallVector<int64_t> extents;
  SmallVector<bool> reduced;
  bool hasReduction = false;
  int depth = 0;
  unsigned cost = 0;
  llvm::SmallDenseSet<Value, 8> inputs;
};

/// An operation, or a cluster of them, in the order of emission.
struct Unit {
  Operation *op = nullptr;
  int cluster = -1;
  SmallVector<unsigned> dependencies;
  bool started = false;
};

class BlockFuser {
public:
  explicit BlockFuser(Block &block)
      : block(block), context(block.getParentOp()->getContext()) {}
  void run();

private:
  void collect();
  void classify(Node &node);
  void plan();
  bool align(const Node &node, int id, bool sibling,
             SmallVectorImpl<int> &alignment);
  bool tryJoin(Node &node, int id, bool sibling);
  bool isRead(const Cluster &cluster);
  bool merge(const Node &node, int &into, int from);
  void place(Node &node);
  void findSources(Node &reader, Value tensor, AffineMap map);
  bool inlineAt(const Node &producer, AffineMap toDims, const Node &reader);
  std::optional<AffineMap> producerDims(const Node &producer, unsigned result,
                                        AffineMap map);
  int levelOf(Value value);
  void findNeeded();
  void schedule();
  void emit(Cluster &cluster);

  Node *nodeOf(Value value) {
    Operation *op = value.getDefiningOp();
    auto found = op ? nodes.find(op) : nodes.end();
    return found == nodes.end() ? nullptr : found->second.get();
  }
  bool needed(Value value) const { return neededValues.contains(value); }
  void need(Value value) {
    // Through a reshape that was skipped because only fused operations use it.
    if (!neededValues.insert(value).second)
      return;
    Operation *op = value.getDefiningOp();
    if (op && !nodes.contains(op) && op->getBlock() == &block)
      for (Value operand : usedValues(op))
        need(operand);
  }
  static SetVector<Value> usedValues(Operation *op) {
    SetVector<Value> values(op->operand_begin(), op->operand_end());
    if (op->getNumRegions() > 0)
      getUsedValuesDefinedAbove(op->getRegions(), values);
    return values;
  }
  bool onlyLookedThrough(Operation *op) {
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) {
             return nodes.contains(user) ||
                    (user->getBlock() == &block && onlyLookedThrough(user));
           });
  }

  Block &block;
  MLIRContext *context;
  StringRef refusal; ///< why the last tryJoin failed
  DenseMap<Operation *, std::unique_ptr<Node>> nodes;
  SmallVector<Node *> ordered;
  std::vector<Cluster> clusters;
  DenseMap<Operation *, int> levels;
  DenseMap<Value, SmallVector<int, 2>> readers;
  DenseSet<Value> neededValues;
  SmallVector<Operation *> original;
  SmallVector<std::pair<Value, Value>> replacements;
};

/// True if each result is a dimension of its own or zero. The same map over the
/// loops of one operation and over those of its cluster, which has none of
/// extent one, get the same answer, whatever the number of dimensions is.
bool isProjection(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (seen.test(dim.getPosition()))
        return false;
      seen.set(dim.getPosition());
    } else if (expr != 0) {
      return false;
    }
  }
  return true;
}

/// The value's owner inside `block`: its defining operation or an ancestor of
/// it; null for what is defined outside.
Operation *ownerIn(Block &block, Value value) {
  Operation *op = value.getDefiningOp();
  return op ? block.findAncestorOpInBlock(*op) : nullptr;
}

void BlockFuser::collect() {
  unsigned order = 0;
  for (Operation &op : block) {
    original.push_back(&op);
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !lingon::isStaticTensorGeneric(generic))
      continue;
    auto node = std::make_unique<Node>();
    node->op = generic;
    node->order = order++;
    classify(*node);
    ordered.push_back(node.get());
    nodes[&op] = std::move(node);
  }
}

void BlockFuser::classify(Node &node) {
  linalg::GenericOp op = node.op;
  node.extents = op.getStaticLoopRanges();
  node.elementwise = true;
  for (utils::IteratorType type : op.getIteratorTypesArray())
    node.elementwise &= type == utils::IteratorType::parallel;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map =
        lingon::dropUnitDims(op.getMatchingIndexingMap(&init), node.extents);
    if (!isProjection(map))
      node.elementwise = false;
    for (auto [d, extent] : llvm::enumerate(node.extents))
      if (extent != 1 && !map.isFunctionOfDim(d))
        node.elementwise = false;
  }
  Block &body = *op.getBody();
  node.cost = lingon::bodyCost(body);
  bool plain = node.elementwise && op->getNumResults() == 1;
  unsigned tensorInputs = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    tensorInputs += isa<RankedTensorType>(input->get().getType());
    plain &= isProjection(op.getMatchingIndexingMap(input));
  }
  plain &= op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty();
  for (Operation &inner : body) {
    plain &= inner.getNumRegions() == 0 && isMemoryEffectFree(&inner) &&
             !isa<tensor::ExtractOp>(inner);
  }
  node.alwaysInline = plain && (tensorInputs == 0 ? node.cost <= kCheapIotaCost
                                                  : node.cost == 0);
  node.cheap = plain && node.cost <= kCheapCost && tensorInputs <= 2;
}

/// The producer's loop dimensions in terms of the reader's, if the producer
/// computes result `result` at each of its points.
std::optional<AffineMap>
BlockFuser::producerDims(const Node &producer, unsigned result, AffineMap map) {
  linalg::GenericOp op = producer.op;
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  SmallVector<AffineExpr> exprs(producer.extents.size());
  for (auto [d, extent] : llvm::enumerate(producer.extents))
    if (extent == 1)
      exprs[d] = getAffineConstantExpr(0, context);
  for (auto [position, expr] : llvm::enumerate(resultMap.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && !exprs[dim.getPosition()])
      exprs[dim.getPosition()] = map.getResult(position);
  for (AffineExpr expr : exprs)
    if (!expr)
      return std::nullopt;
  return AffineMap::get(map.getNumDims(), 0, exprs, context);
}

/// True if the reader computes the producer again where it reads it.
bool BlockFuser::inlineAt(const Node &producer, AffineMap toDims,
                          const Node &reader) {
  if (producer.inlineDepth >= kMaxInlineDepth)
    return false;
  if (producer.alwaysInline)
    return true;
  if (!producer.cheap)
    return false;
  // Same number of points: an ordinary member of a cluster serves better.
  int64_t own = 1, its = 1;
  for (int64_t extent : producer.extents)
    own *= extent;
  for (int64_t extent : reader.extents)
    its *= extent;
  return own < its && isProjection(toDims);
}

void BlockFuser::findSources(Node &reader, Value tensor, AffineMap map) {
  while (Value source = lingon::lookThroughUnitReshape(tensor, map))
    tensor = source;
  if (lingon::isSplat(tensor)) {
    if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
      reader.others.push_back(fill.getInputs()[0]);
    return;
  }
  if (Node *producer = nodeOf(tensor)) {
    auto dims =
        producerDims(*producer, cast<OpResult>(tensor).getResultNumber(), map);
    if (dims && inlineAt(*producer, *dims, reader)) {
      reader.inlineDepth =
          std::max(reader.inlineDepth, producer->inlineDepth + 1);
      for (OpOperand *input : producer->op.getDpsInputOperands()) {
        if (isa<RankedTensorType>(input->get().getType()))
          findSources(
              reader, input->get(),
              producer->op.getMatchingIndexingMap(input).compose(*dims));
        else
          reader.others.push_back(input->get());
      }
      SetVector<Value> captured;
      getUsedValuesDefinedAbove(producer->op->getRegions(), captured);
      llvm::append_range(reader.others, captured);
      return;
    }
  }
  for (const Source &known : reader.sources)
    if (known.tensor == tensor && known.map == map)
      return;
  reader.sources.push_back({tensor, map});
}

/// The smallest depth of a cluster that may read `value` from outside.
int BlockFuser::levelOf(Value value) {
  Operation *op = ownerIn(block, value);
  if (!op)
    return 0;
  if (auto found = nodes.find(op); found != nodes.end())
    return clusters[found->second->cluster].depth + 1;
  return levels.lookup(op);
}

/// Finds the dimension of the cluster for each loop dimension of the node, -1
/// for extent one: such that it reads the cluster's results, or, for a sibling,
/// an operand of both, where the cluster's iteration computes or reads them.
bool BlockFuser::align(const Node &node, int id, bool sibling,
                       SmallVectorImpl<int> &alignment) {
  Cluster &cluster = clusters[id];
  auto refuse = [&](StringRef reason) {
    refusal = reason;
    return false;
  };
  unsigned rank = 0;
  for (int64_t extent : node.extents)
    rank += extent != 1;
  if (rank != cluster.extents.size())
    return refuse("the iteration spaces differ");

  alignment.assign(node.extents.size(), -1);
  SmallVector<bool> taken(cluster.extents.size(), false);
  auto align = [&](AffineExpr expr, int dim) {
    auto own = dyn_cast<AffineDimExpr>(expr);
    if (!own)
      return dim < 0;
    if (node.extents[own.getPosition()] == 1)
      return dim < 0;
    if (dim < 0)
      return false;
    int &slot = alignment[own.getPosition()];
    if (slot == dim)
      return true;
    if (slot != -1 || taken[dim] ||
        node.extents[own.getPosition()] != cluster.extents[dim])
      return false;
    slot = dim;
    taken[dim] = true;
    return true;
  };
  for (const Source &source : node.sources) {
    Node *producer = nodeOf(source.tensor);
    if (!producer || producer->cluster != id)
      continue;
    if (!producer->elementwise) {
      // A result of a reduction is complete only after the cluster. Another
      // result of the same operation may be elementwise.
      unsigned number = cast<OpResult>(source.tensor).getResultNumber();
      AffineMap map = producer->op.getMatchingIndexingMap(
          producer->op.getDpsInitOperand(number));
      for (auto [d, extent] : llvm::enumerate(producer->extents))
        if (extent != 1 && !map.isFunctionOfDim(d))
          return refuse("a reduction is complete only after its loop");
    }
    auto dims = producerDims(
        *producer, cast<OpResult>(source.tensor).getResultNumber(), source.map);
    if (!dims)
      return refuse("its producer does not compute one element per iteration");
    for (auto [d, expr] : llvm::enumerate(dims->getResults()))
      if (!align(expr, producer->alignment[d]))
        return refuse("it reads a producer at other places than where the "
                      "producer computes");
  }
  if (sibling) {
    // Line up by an input that both read.
    bool lined = rank == 0;
    for (const Source &source : node.sources) {
      if (lined || !cluster.inputs.contains(source.tensor))
        continue;
      for (Node *member : cluster.members) {
        for (const Source &other : member->sources) {
          if (lined || other.tensor != source.tensor)
            continue;
          SmallVector<int> savedAlignment(alignment.begin(), alignment.end());
          SmallVector<bool> savedTaken = taken;
          bool fits = true;
          for (auto [own, its] :
               llvm::zip(source.map.getResults(), other.map.getResults())) {
            auto dim = dyn_cast<AffineDimExpr>(its);
            int target = dim ? member->alignment[dim.getPosition()] : -1;
            fits &= align(own, target);
          }
          if (fits && llvm::all_of(taken, [](bool t) { return t; })) {
            lined = true;
          } else {
            alignment.assign(savedAlignment.begin(), savedAlignment.end());
            taken = savedTaken;
          }
        }
      }
    }
    if (!lined)
      return refuse("the iteration spaces do not line up");
  }
  for (auto [d, extent] : llvm::enumerate(node.extents))
    if (extent != 1 && alignment[d] == -1)
      return refuse("the iteration spaces do not line up");
  return true;
}

/// Adds the node to the cluster if its iteration space lines up with it.
bool BlockFuser::tryJoin(Node &node, int id, bool sibling) {
  Cluster &cluster = clusters[id];
  auto refuse = [&](StringRef reason) {
    refusal = reason;
    return false;
  };
  if (cluster.cost + node.cost > kMaxCost)
    return refuse("the fused operation would have too much code");
  SmallVector<int> alignment;
  if (!align(node, id, sibling, alignment))
    return false;

  SmallVector<bool> reduced(cluster.extents.size(), false);
  bool reduces = false;
  for (auto [d, type] : llvm::enumerate(node.op.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction && node.extents[d] != 1) {
      reduced[alignment[d]] = true;
      reduces = true;
    }
  if (reduces && cluster.hasReduction && reduced != cluster.reduced)
    return refuse("the reductions run over different dimensions");

  unsigned inputs = cluster.inputs.size();
  for (const Source &source : node.sources) {
    Node *producer = nodeOf(source.tensor);
    if (!(producer && producer->cluster == id) &&
        !cluster.inputs.contains(source.tensor))
      ++inputs;
  }
  if (inputs > kMaxOperands)
    return refuse("the fused operation would read too many operands");
  if (sibling) {
    unsigned results = 0;
    for (Node *member : cluster.members)
      results += member->op->getNumResults();
    if (results + node.op->getNumResults() > kMaxResults)
      return refuse("the fused operation would have too many results");
  }

  if (reduces && !cluster.hasReduction) {
    cluster.hasReduction = true;
    cluster.reduced = reduced;
  }
  node.cluster = id;
  node.alignment = alignment;
  cluster.members.push_back(&node);
  cluster.cost += node.cost;
  return true;
}

/// True if what was placed so far depends on the cluster.
bool BlockFuser::isRead(const Cluster &cluster) {
  for (Node *member : cluster.members)
    for (Operation *user : member->op->getUsers()) {
      Operation *op = block.findAncestorOpInBlock(*user);
      auto found = nodes.find(op);
      if (found == nodes.end() ? levels.contains(op)
                               : found->second->cluster >= 0 &&
                                     found->second->cluster != member->cluster)
        return true;
    }
  return false;
}

/// Makes one cluster, `into`, of two whose results the node reads, if it can be
/// in the loop of either. Clusters of equal depth do not depend on each other;
/// one that nothing reads yet may be computed later.
bool BlockFuser::merge(const Node &node, int &into, int from) {
  int depth = std::max(clusters[into].depth, clusters[from].depth);
  for (int id : {into, from})
    if (clusters[id].depth < depth && isRead(clusters[id]))
      return false;
  if (clusters[from].members.size() > clusters[into].members.size())
    std::swap(into, from);
  Cluster &target = clusters[into], &source = clusters[from];
  SmallVector<int> targetDims, sourceDims;
  if (target.cost + source.cost + node.cost > kMaxCost ||
      !align(node, into, false, targetDims) ||
      !align(node, from, false, sourceDims))
    return false;
  SmallVector<int> moved(source.extents.size());
  SmallVector<bool> reduced(source.extents.size());
  for (auto [to, at] : llvm::zip(targetDims, sourceDims))
    if (at >= 0) {
      moved[at] = to;
      reduced[to] = source.reduced[at];
    }
  if (source.hasReduction && target.hasReduction && reduced != target.reduced)
    return false;
  unsigned inputs = target.inputs.size();
  for (Value input : source.inputs)
    inputs += !target.inputs.contains(input);
  if (inputs > kMaxOperands)
    return false;

  for (Node *member : source.members) {
    member->cluster = into;
    for (int &dim : member->alignment)
      if (dim >= 0)
        dim = moved[dim];
  }
  size_t middle = target.members.size();
  llvm::append_range(target.members, source.members);
  std::inplace_merge(target.members.begin(), target.members.begin() + middle,
                     target.members.end(), [](const Node *a, const Node *b) {
                       return a->order < b->order;
                     });
  for (Value input : source.inputs) {
    SmallVector<int, 2> &ids = readers[input];
    if (target.inputs.insert(input).second)
      llvm::replace(ids, from, into);
    else
      llvm::erase(ids, from);
  }
  if (source.hasReduction)
    target.reduced = reduced;
  target.hasReduction |= source.hasReduction;
  target.depth = depth;
  target.cost += source.cost;
  source = Cluster();
  return true;
}

void BlockFuser::place(Node &node) {
  linalg::GenericOp op = node.op;
  Block &body = *op.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType())) {
      node.others.push_back(operand.get());
      continue;
    }
    AffineMap map =
        lingon::dropUnitDims(op.getMatchingIndexingMap(&operand), node.extents);
    if (op.isDpsInput(&operand)) {
      findSources(node, operand.get(), map);
    } else if (!node.elementwise ||
               !body.getArgument(operand.getOperandNumber()).use_empty()) {
      node.others.push_back(operand.get());
    }
  }
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    node.others.push_back(value);

  // The deepest producer's cluster is the only one of its producers' that the
  // node can join; others may become part of it.
  int best = -1, complete = 0;
  for (const Source &source : node.sources)
    if (Node *producer = nodeOf(source.tensor))
      if (best < 0 || clusters[producer->cluster].depth > clusters[best].depth)
        best = producer->cluster;
  for (Value value : node.others)
    complete = std::max(complete, levelOf(value));
  if (best >= 0 && complete <= clusters[best].depth)
    for (const Source &source : node.sources)
      if (Node *producer = nodeOf(source.tensor))
        if (producer->cluster != best)
          merge(node, best, producer->cluster);
  int required = complete, requiredBesides = complete;
  auto require = [&](Value value) {
    int level = levelOf(value);
    required = std::max(required, level);
    Node *producer = nodeOf(value);
    if (!producer || producer->cluster != best)
      requiredBesides = std::max(requiredBesides, level);
  };
  for (const Source &source : node.sources)
    require(source.tensor);
  if (best >= 0 && requiredBesides <= clusters[best].depth &&
      tryJoin(node, best, false)) {
    // In the cluster of its producers.
  } else {
    if (best >= 0)
      lingon::missed(op.getLoc(), lingon::kNotFused, "lingon-fuse")
          << StringRef("not in the loop of its producer: ")
          << (requiredBesides > clusters[best].depth
                  ? StringRef("another operand needs the producer's result "
                              "first")
                  : refusal);
    for (const Source &source : node.sources) {
      if (node.cluster >= 0)
        break;
      auto found = readers.find(source.tensor);
      if (found == readers.end())
        continue;
      ArrayRef<int> candidates = found->second;
      for (int id : llvm::reverse(candidates.take_back(4)))
        if (clusters[id].depth >= required && tryJoin(node, id, true))
          break;
    }
    if (node.cluster < 0) {
      Cluster cluster;
      cluster.depth = required;
      cluster.cost = node.cost;
      node.alignment.assign(node.extents.size(), -1);
      for (auto [d, extent] : llvm::enumerate(node.extents)) {
        if (extent == 1)
          continue;
        bool isReduction =
            op.getIteratorTypesArray()[d] == utils::IteratorType::reduction;
        node.alignment[d] = cluster.extents.size();
        cluster.extents.push_back(extent);
        cluster.reduced.push_back(isReduction);
        cluster.hasReduction |= isReduction;
      }
      cluster.members.push_back(&node);
      node.cluster = clusters.size();
      clusters.push_back(std::move(cluster));
    }
  }
  for (const Source &source : node.sources) {
    Node *producer = nodeOf(source.tensor);
    if (producer && producer->cluster == node.cluster)
      continue;
    if (clusters[node.cluster].inputs.insert(source.tensor).second)
      readers[source.tensor].push_back(node.cluster);
  }
}

void BlockFuser::plan() {
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
}

/// Which results must exist outside their clusters, and which members are
/// needed at all.
void BlockFuser::findNeeded() {
  for (Operation *op : original) {
    if (nodes.contains(op))
      continue;
    // A view that the fused operations look through may have no other use.
    if (isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
        onlyLookedThrough(op))
      continue;
    SetVector<Value> captured = usedValues(op);
    neededValues.insert(captured.begin(), captured.end());
  }
  SmallVector<int> byDepth(clusters.size());
  std::iota(byDepth.begin(), byDepth.end(), 0);
  llvm::stable_sort(byDepth, [&](int a, int b) {
    return clusters[a].depth > clusters[b].depth;
  });
  for (int id : byDepth) {
    DenseSet<Value> inside;
    for (Node *member : llvm::reverse(clusters[id].members)) {
      member->live = llvm::any_of(member->op->getResults(), [&](Value value) {
        return needed(value) || inside.contains(value);
      });
      if (!member->live)
        continue;
      for (const Source &source : member->sources) {
        Node *producer = nodeOf(source.tensor);
        if (producer && producer->cluster == id)
          inside.insert(source.tensor);
        else
          need(source.tensor);
      }
      for (Value value : member->others)
        need(value);
    }
  }
}

/// Emits the clusters, and moves everything else, in an order in which every
/// value is defined before its uses, as near to the original as possible.
void BlockFuser::schedule() {
  std::vector<Unit> units;
  DenseMap<Operation *, unsigned> unitOf;
  SmallVector<int> unitOfCluster(clusters.size(), -1);
  DenseSet<Operation *> last;
  for (Cluster &cluster : clusters)
    if (!cluster.members.empty()) // merged
      last.insert(cluster.members.back()->op);
  for (Operation *op : original) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      continue;
    auto found = nodes.find(op);
    if (found != nodes.end() && !last.contains(op))
      continue;
    Unit unit;
    if (found != nodes.end()) {
      unit.cluster = found->second->cluster;
      unitOfCluster[unit.cluster] = units.size();
    } else {
      unit.op = op;
      unitOf[op] = units.size();
    }
    units.push_back(std::move(unit));
  }
  int lastEffect = -1;
  for (auto [position, unit] : llvm::enumerate(units)) {
    auto depend = [&](Value value) {
      Operation *op = ownerIn(block, value);
      if (!op)
        return;
      auto found = nodes.find(op);
      unsigned on = found != nodes.end() ? unitOfCluster[found->second->cluster]
                                         : unitOf.at(op);
      if (on != position)
        unit.dependencies.push_back(on);
    };
    if (unit.cluster >= 0) {
      for (Node *member : clusters[unit.cluster].members) {
        for (const Source &source : member->sources)
          depend(source.tensor);
        for (Value value : member->others)
          depend(value);
      }
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
    if (units[start].started)
      continue;
    units[start].started = true;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      auto &[current, next] = stack.back();
      Unit &unit = units[current];
      if (next < unit.dependencies.size()) {
        unsigned on = unit.dependencies[next++];
        if (!units[on].started) {
          units[on].started = true;
          stack.push_back({on, 0});
        }
        continue;
      }
      if (unit.cluster >= 0)
        emit(clusters[unit.cluster]);
      else if (end)
        unit.op->moveBefore(end);
      else
        unit.op->moveBefore(&block, block.end());
      stack.pop_back();
    }
  }
}

/// Builds the body of a fused operation.
class Emitter {
public:
  Emitter(
      OpBuilder &builder, MLIRContext *context, unsigned rank,
      function_ref<Node *(Value)> nodeOf,
      function_ref<bool(const Node &, AffineMap, const Node &)> inlineAt,
      function_ref<std::optional<AffineMap>(const Node &, unsigned, AffineMap)>
          producerDims)
      : builder(builder), context(context), rank(rank), nodeOf(nodeOf),
        inlineAt(inlineAt), producerDims(producerDims) {}

  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  Block *body = nullptr;
  DenseMap<Value, Value> memberResults;

  /// The element of `tensor` at `map` (dimensions of the cluster -> indices).
  Value read(const Node &reader, Location loc, Value tensor, AffineMap map) {
    if (!isa<RankedTensorType>(tensor.getType()))
      return tensor;
    while (Value source = lingon::lookThroughUnitReshape(tensor, map))
      tensor = source;
    if (lingon::isSplat(tensor))
      return lingon::splatValue(builder, tensor);
    if (Node *producer = nodeOf(tensor)) {
      unsigned number = cast<OpResult>(tensor).getResultNumber();
      auto dims = producerDims(*producer, number, map);
      if (dims && inlineAt(*producer, *dims, reader)) {
        auto &known = inlined[producer->op];
        for (auto &[at, value] : known)
          if (at == *dims)
            return value;
        Value value = clone(*producer, *dims, {}, reader)[number];
        inlined[producer->op].push_back({*dims, value});
        return value;
      }
    }
    if (Value known = memberResults.lookup(tensor))
      return known;
    for (auto [position, known] : llvm::enumerate(inputs))
      if (known == tensor && maps[position] == map)
        return body->getArgument(position);
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    Value argument = body->insertArgument(inputs.size(), element, loc);
    inputs.push_back(tensor);
    maps.push_back(map);
    return argument;
  }

  /// Clones the body of `node` at `dims` (its loop dimensions in terms of the
  /// cluster's) and returns what it yields. `inits` are the accumulators.
  SmallVector<Value> clone(const Node &node, AffineMap dims,
                           ArrayRef<Value> inits, const Node &reader) {
    linalg::GenericOp op = node.op;
    Block &source = *op.getBody();
    IRMapping mapping;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (argument.use_empty())
        continue;
      AffineMap map = op.getMatchingIndexingMap(input).compose(dims);
      mapping.map(argument, read(reader, op.getLoc(), input->get(), map));
    }
    for (auto [i, init] : llvm::enumerate(op.getDpsInitsMutable())) {
      BlockArgument argument = op.getMatchingBlockArgument(&init);
      if (i < inits.size() && inits[i]) {
        mapping.map(argument, inits[i]);
      } else if (!argument.use_empty()) {
        AffineMap map = op.getMatchingIndexingMap(&init).compose(dims);
        mapping.map(argument, read(reader, op.getLoc(), init.get(), map));
      }
    }
    builder.setInsertionPointToEnd(body);
    for (Operation &inner : source.without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
        mapping.map(index.getResult(),
                    indexAt(index.getLoc(), dims.getResult(index.getDim())));
        continue;
      }
      Operation *made = builder.clone(inner, mapping);
      if (made->getNumRegions() == 0)
        continue;
      SmallVector<linalg::IndexOp> nested;
      made->walk([&](linalg::IndexOp index) { nested.push_back(index); });
      for (linalg::IndexOp index : nested) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(made);
        index.replaceAllUsesWith(
            indexAt(index.getLoc(), dims.getResult(index.getDim())));
        index.erase();
      }
    }
    SmallVector<Value> results;
    for (Value value : source.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    return results;
  }

private:
  Value indexAt(Location loc, AffineExpr expr) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return linalg::IndexOp::create(builder, loc, dim.getPosition());
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return arith::ConstantIndexOp::create(builder, loc, constant.getValue());
    SmallVector<Value> dims;
    for (unsigned d = 0; d < rank; ++d)
      dims.push_back(linalg::IndexOp::create(builder, loc, d));
    return affine::AffineApplyOp::create(builder, loc,
                                         AffineMap::get(rank, 0, expr), dims);
  }

  OpBuilder &builder;
  MLIRContext *context;
  unsigned rank;
  function_ref<Node *(Value)> nodeOf;
  function_ref<bool(const Node &, AffineMap, const Node &)> inlineAt;
  function_ref<std::optional<AffineMap>(const Node &, unsigned, AffineMap)>
      producerDims;
  DenseMap<Operation *, SmallVector<std::pair<AffineMap, Value>, 1>> inlined;
};

/// True if emitting the cluster would only copy its one operation.
bool isUnchanged(const Cluster &cluster) {
  if (cluster.members.size() != 1)
    return false;
  const Node &node = *cluster.members.front();
  linalg::GenericOp op = node.op;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!isa<RankedTensorType>(input->get().getType()))
      continue;
    AffineMap map =
        lingon::dropUnitDims(op.getMatchingIndexingMap(input), node.extents);
    if (llvm::none_of(node.sources, [&](const Source &source) {
          return source.tensor == input->get() && source.map == map;
        }))
      return false;
  }
  return true;
}

void BlockFuser::emit(Cluster &cluster) {
  Operation *end =
      block.mightHaveTerminator() ? block.getTerminator() : nullptr;
  auto moveToEnd = [&](Operation *op) {
    if (end)
      op->moveBefore(end);
    else
      op->moveBefore(&block, block.end());
  };
  SmallVector<OpResult> roots;
  SmallVector<Location> locations;
  for (Node *member : cluster.members) {
    if (!member->live)
      continue;
    locations.push_back(member->op.getLoc());
    for (OpResult result : member->op->getResults())
      if (!member->elementwise || needed(result))
        roots.push_back(result);
  }
  if (roots.empty() || isUnchanged(cluster)) {
    for (Node *member : cluster.members) {
      // What a destination holds is no dependency where it is not read, so the
      // operation may have moved in front of it.
      OpBuilder builder(context);
      for (OpOperand &init : member->op.getDpsInitsMutable()) {
        if (!member->elementwise ||
            !member->op.getMatchingBlockArgument(&init).use_empty() ||
            !ownerIn(block, init.get()))
          continue;
        auto type = cast<RankedTensorType>(init.get().getType());
        builder.setInsertionPoint(member->op);
        auto empty =
            tensor::EmptyOp::create(builder, member->op.getLoc(),
                                    type.getShape(), type.getElementType());
        moveToEnd(empty);
        init.set(empty);
      }
      moveToEnd(member->op);
    }
    return;
  }

  unsigned rank = cluster.extents.size();
  Location loc = locations.size() == 1 ? locations.front()
                                       : FusedLoc::get(context, locations);
  OpBuilder builder(context);
  if (end)
    builder.setInsertionPoint(end);
  else
    builder.setInsertionPointToEnd(&block);

  auto dimsOf = [&](const Node &node) {
    SmallVector<AffineExpr> exprs;
    for (int dim : node.alignment)
      exprs.push_back(dim < 0 ? getAffineConstantExpr(0, context)
                              : getAffineDimExpr(dim, context));
    return AffineMap::get(rank, 0, exprs, context);
  };

  // Destinations, and what they are indexed with.
  SmallVector<Value> outputs;
  SmallVector<AffineMap> outputMaps;
  DenseMap<Value, unsigned> outputOf;
  for (OpResult root : roots) {
    auto op = cast<linalg::GenericOp>(root.getOwner());
    Node *node = nodeOf(root);
    OpOperand *init = op.getDpsInitOperand(root.getResultNumber());
    bool reads =
        !node->elementwise || !op.getMatchingBlockArgument(init).use_empty();
    Value destination = init->get();
    auto type = cast<RankedTensorType>(root.getType());
    if (!reads)
      destination = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType());
    outputOf[root] = outputs.size();
    outputs.push_back(destination);
    outputMaps.push_back(
        op.getMatchingIndexingMap(init).compose(dimsOf(*node)));
  }

  // The body is built in a region of its own, since the inputs are found on
  // the way.
  Region region;
  Block *body = new Block();
  region.push_back(body);
  for (Value output : outputs)
    body->addArgument(cast<RankedTensorType>(output.getType()).getElementType(),
                      loc);
  OpBuilder inner(context);
  inner.setInsertionPointToEnd(body);
  // Named, because the emitter keeps references to them.
  auto find = [&](Value value) { return nodeOf(value); };
  auto inlineRead = [&](const Node &producer, AffineMap dims,
                        const Node &reader) {
    return inlineAt(producer, dims, reader);
  };
  auto dimsAt = [&](const Node &producer, unsigned result, AffineMap map) {
    return producerDims(producer, result, map);
  };
  Emitter emitter(inner, context, rank, find, inlineRead, dimsAt);
  emitter.body = body;
  for (Node *member : cluster.members) {
    if (!member->live)
      continue;
    SmallVector<Value> inits(member->op->getNumResults());
    for (OpResult result : member->op->getResults())
      if (auto found = outputOf.find(result); found != outputOf.end())
        inits[result.getResultNumber()] =
            body->getArgument(emitter.inputs.size() + found->second);
    // Reading inserts arguments in front; the values stay the same objects.
    SmallVector<Value> values =
        emitter.clone(*member, dimsOf(*member), inits, *member);
    for (auto [result, value] : llvm::zip(member->op->getResults(), values))
      emitter.memberResults[result] = value;
  }
  SmallVector<Value> yielded;
  for (OpResult root : roots)
    yielded.push_back(emitter.memberResults.lookup(root));
  linalg::YieldOp::create(inner, loc, yielded);

  // Every loop needs an operand that gives its extent.
  SmallVector<AffineMap> maps = emitter.maps;
  SmallVector<Value> inputs = emitter.inputs;
  llvm::append_range(maps, outputMaps);
  bool determined = true;
  for (unsigned d = 0; d < rank; ++d)
    determined &= llvm::any_of(maps, [&](AffineMap map) {
      return llvm::is_contained(map.getResults(), getAffineDimExpr(d, context));
    });
  if (!determined) {
    Type element = builder.getI8Type();
    inputs.push_back(
        tensor::EmptyOp::create(builder, loc, cluster.extents, element));
    maps.insert(maps.begin() + emitter.maps.size(),
                AffineMap::getMultiDimIdentityMap(rank, context));
    body->insertArgument(emitter.inputs.size(), element, loc);
  }

  SmallVector<utils::IteratorType> iterators;
  for (unsigned d = 0; d < rank; ++d)
    iterators.push_back(cluster.hasReduction && cluster.reduced[d]
                            ? utils::IteratorType::reduction
                            : utils::IteratorType::parallel);
  auto fused =
      linalg::GenericOp::create(builder, loc, TypeRange(ValueRange(outputs)),
                                inputs, outputs, maps, iterators);
  fused.getRegion().takeBody(region);
  for (OpResult root : roots)
    replacements.push_back({root, fused->getResult(outputOf[root])});
}

void BlockFuser::run() {
  collect();
  if (ordered.empty())
    return;
  plan();
  findNeeded();
  schedule();
  for (auto &[from, to] : replacements)
    from.replaceAllUsesWith(to);
  for (Operation *op : llvm::reverse(original))
    if (isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) &&
        op->use_empty())
      op->erase();
}

struct FusePass : public PassWrapper<FusePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FusePass)
  FusePass() = default;
  FusePass(const FusePass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "lingon-fuse"; }
  StringRef getDescription() const final {
    return "fuse elementwise operations and reductions on tensors";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    complex::ComplexDialect, linalg::LinalgDialect,
                    tensor::TensorDialect>();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> named;
    getOperation().walk([&](Operation *op) {
      if (isa<linalg::BroadcastOp, linalg::TransposeOp, linalg::MapOp,
              linalg::ReduceOp, linalg::CopyOp>(op))
        named.push_back(cast<linalg::LinalgOp>(op));
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      if (op.hasPureTensorSemantics())
        (void)linalg::generalizeNamedOp(rewriter, op);
    }
    for (Block *block : lingon::blocksAroundStructured(getOperation()))
      BlockFuser(*block).run();
  }
};

} // namespace

LINGON_REGISTER_PASS(FusePass)
