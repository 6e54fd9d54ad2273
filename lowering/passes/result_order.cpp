//===- result_order.cpp - results are stored before they are overwritten --===//
//
// On tensors, right before bufferization. A tensor may be computed in the
// memory of a result of the function. If it, or another one that may be made of
// it in place, is stored to a second result, too, that has to happen before
// the first result is stored: bufferization does not see that storing to memory
// overwrites the tensors that lie there. Results are stored in an order in
// which that holds; as soon as they are known where that spares a copy; and
// from a copy where each of them lies in the other's memory.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using bufferization::MaterializeInDestinationOp;

namespace {

/// The values whose memory `value` may lie in, one step back.
SmallVector<Value> sourcesOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned n = argument.getArgNumber();
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return n == 0 ? SmallVector<Value>{}
                    : SmallVector<Value>{loop.getInitArgs()[n - 1],
                                         loop.getYieldedValues()[n - 1]};
    if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      if (argument.getOwner() == loop.getBeforeBody())
        return {loop.getInits()[n], loop.getYieldOp()->getOperand(n)};
      return {loop.getConditionOp().getArgs()[n]};
    }
    if (auto loop = dyn_cast<scf::ForallOp>(parent))
      if (OpOperand *output = loop.getTiedOpOperand(argument))
        return {output->get()};
    return {};
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  unsigned n = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getInitArgs()[n], loop.getYieldedValues()[n]};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getArgs()[n]};
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return {loop.getOutputs()[n]};
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
    SmallVector<Value> values;
    for (Region &region : op->getRegions())
      if (!region.empty())
        values.push_back(region.front().getTerminator()->getOperand(n));
    return values;
  }
  if (isa<tensor::EmptyOp, bufferization::AllocTensorOp>(op))
    return {};
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return {destination.getTiedOpOperand(result)->get()};
  // Views, selections, and whatever may be one.
  SmallVector<Value> values;
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()))
      values.push_back(operand);
  return values;
}

struct ResultOrderPass
    : public PassWrapper<ResultOrderPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ResultOrderPass)
  StringRef getArgument() const final { return "lingon-result-order"; }
  StringRef getDescription() const final {
    return "store results before their memory is overwritten";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<bufferization::BufferizationDialect>();
  }

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    SmallVector<MaterializeInDestinationOp> stores;
    llvm::DenseMap<Value, unsigned> number;
    Block &entry = getOperation().getBody().front();
    for (auto op : entry.getOps<MaterializeInDestinationOp>())
      if (isa<BaseMemRefType>(op.getDest().getType())) {
        number[op.getDest()] = stores.size();
        stores.push_back(op);
      }
    // The tensors that begin in the memory of a result.
    llvm::DenseMap<Value, unsigned> roots;
    llvm::BitVector occupied(stores.size());
    getOperation().walk([&](bufferization::ToTensorOp op) {
      auto found = number.find(op.getBuffer());
      if (found == number.end())
        return;
      roots[op.getResult()] = found->second;
      occupied.set(found->second);
    });
    if (stores.size() < 2 || roots.empty())
      return;

    // before[i]: the stores that have to come before store i.
    SmallVector<llvm::SmallSetVector<unsigned, 4>> before(stores.size());
    SmallVector<bool> early(stores.size());
    bool misplaced = false;
    for (auto [j, store] : llvm::enumerate(stores)) {
      llvm::BitVector hosts = hostsOf(store.getSource(), roots, stores.size());
      hosts.reset(j);
      if (hosts.none())
        continue;
      Operation *made = store.getSource().getDefiningOp();
      if (!occupied.test(j) && made && made->getBlock() == &entry) {
        store->moveAfter(made);
        early[j] = true;
        continue;
      }
      for (unsigned i : hosts.set_bits()) {
        before[i].insert(j);
        misplaced |= i < j;
      }
    }
    if (misplaced)
      reorder(stores, before, early);
  }

  /// The numbers of the results in whose memory `value` may lie.
  static llvm::BitVector hostsOf(Value value,
                                 const llvm::DenseMap<Value, unsigned> &roots,
                                 unsigned count) {
    llvm::BitVector hosts(count);
    llvm::SmallPtrSet<Value, 16> seen;
    SmallVector<Value> todo{value};
    while (!todo.empty()) {
      Value v = todo.pop_back_val();
      if (!isa<TensorType>(v.getType()) || !seen.insert(v).second)
        continue;
      if (auto found = roots.find(v); found != roots.end())
        hosts.set(found->second);
      else
        todo.append(sourcesOf(v));
    }
    return hosts;
  }

  static void reorder(ArrayRef<MaterializeInDestinationOp> stores,
                      MutableArrayRef<llvm::SmallSetVector<unsigned, 4>> before,
                      ArrayRef<bool> early) {
    SmallVector<unsigned> left;
    for (unsigned i = 0; i < stores.size(); ++i)
      if (!early[i])
        left.push_back(i);
    if (left.empty())
      return;
    // All of them go behind the last one, copies in front of the first.
    Operation *last = stores[left.front()];
    for (unsigned i : left)
      if (last->isBeforeInBlock(stores[i]))
        last = stores[i];
    Operation *end = last->getNextNode(), *begin = end;
    auto awaited = [&](unsigned i) { // a store that store i waits for
      return llvm::find_if(before[i], [&](unsigned j) {
        return j != i && llvm::is_contained(left, j);
      });
    };
    while (!left.empty()) {
      auto ready = llvm::find_if(
          left, [&](unsigned i) { return awaited(i) == before[i].end(); });
      if (ready == left.end()) {
        // Each waits for another: the tensor of one in a circle is saved. The
        // others wait no more for it, so that there is one wait less each time.
        unsigned j = left.front();
        for (llvm::SmallDenseSet<unsigned> seen; seen.insert(j).second;)
          j = *awaited(j);
        for (unsigned i : left)
          before[i].remove(j);
        MaterializeInDestinationOp store = stores[j];
        OpBuilder builder(begin);
        Location loc =
            lingon::because(store.getLoc(), "lingon-result-order",
                            "results are computed in each other's memory");
        store.getSourceMutable().set(bufferization::AllocTensorOp::create(
            builder, loc, cast<RankedTensorType>(store.getSource().getType()),
            ValueRange{}, store.getSource()));
        continue;
      }
      Operation *store = stores[*ready];
      store->moveBefore(end);
      if (begin == end)
        begin = store;
      left.erase(ready);
    }
  }
};

} // namespace

LINGON_REGISTER_PASS(ResultOrderPass)
