//===- compute_in_place.cpp - temporaries in what is computed from them ---===//
//
// A temporary whose last reader computes a buffer of the same type from it,
// element by element or row by row, is that buffer from the start: a product
// lies where its bias is added and its softmax computed. One array less passes
// through the caches.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "sharing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace {

struct ComputeInPlacePass
    : public PassWrapper<ComputeInPlacePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ComputeInPlacePass)
  StringRef getArgument() const final { return "lingon-compute-in-place"; }
  StringRef getDescription() const final {
    return "build temporaries in what is computed from them";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SetVector<Block *> blocks;
    function.walk([&](memref::AllocOp op) { blocks.insert(op->getBlock()); });
    for (Block *block : blocks) {
      SmallVector<memref::AllocOp> temporaries(
          block->getOps<memref::AllocOp>());
      // The last ones first: a chain ends up in one buffer.
      DenseSet<Operation *> erased;
      for (memref::AllocOp temporary : llvm::reverse(temporaries))
        if (!erased.contains(temporary))
          place(temporary, *block, erased);
    }
  }

private:
  /// The operations of `block` that use the buffer, in themselves or in their
  /// regions.
  static void collectUsers(Value buffer, Block &block,
                           SetVector<Operation *> &users) {
    for (Operation *user : buffer.getUsers()) {
      if (isa<ViewLikeOpInterface>(user))
        for (Value view : user->getResults())
          collectUsers(view, block, users);
      else
        users.insert(block.findAncestorOpInBlock(*user));
    }
  }

  static void place(memref::AllocOp temporary, Block &block,
                    DenseSet<Operation *> &erased) {
    if (!temporary.getDynamicSizes().empty() || !lingon::staysLocal(temporary))
      return;
    SetVector<Operation *> users;
    collectUsers(temporary, block, users);
    if (users.size() < 2)
      return;
    Operation *last = *llvm::max_element(users, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Value made : written(last)) {
      if (made == temporary || made.getType() != temporary.getType() ||
          !begins(made, last, block) ||
          !lingon::Sharing(temporary, made).elementByElement(last))
        continue;
      if (auto alloc = made.getDefiningOp<memref::AllocOp>()) {
        erased.insert(alloc);
        made.replaceAllUsesWith(temporary);
        alloc.erase();
      } else {
        erased.insert(temporary);
        temporary.getResult().replaceAllUsesWith(made);
        temporary.erase();
      }
      return;
    }
  }

  /// The buffers, as a whole, that an operation or what is in it writes to.
  static SetVector<Value> written(Operation *op) {
    SetVector<Value> buffers;
    op->walk([&](DestinationStyleOpInterface inner) {
      for (Value init : inner.getDpsInits())
        if (isa<MemRefType>(init.getType()))
          buffers.insert(lingon::bufferRoot(init));
    });
    return buffers;
  }

  /// Whether `made` begins with `last`, which overwrites it and reads nothing
  /// of it.
  static bool begins(Value made, Operation *last, Block &block) {
    auto alloc = made.getDefiningOp<memref::AllocOp>();
    if (!(alloc ? alloc->getBlock() == &block
                : lingon::isEntryArgument(made) && block.isEntryBlock() &&
                      isa<func::FuncOp>(block.getParentOp())) ||
        !lingon::staysLocal(made) || !isOverwritten(made, last))
      return false;
    SetVector<Operation *> users;
    collectUsers(made, block, users);
    return llvm::none_of(
        users, [&](Operation *user) { return user->isBeforeInBlock(last); });
  }

  /// Whether all that `last` and what is in it do with a buffer is to overwrite
  /// it.
  static bool isOverwritten(Value buffer, Operation *last) {
    return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (!last->isAncestor(user) && !isa<ViewLikeOpInterface>(user))
        return true;
      if (isa<ViewLikeOpInterface>(user))
        return llvm::all_of(user->getResults(), [&](Value view) {
          return isOverwritten(view, last);
        });
      if (auto generic = dyn_cast<linalg::GenericOp>(user))
        return generic.isDpsInit(&use) &&
               generic.getMatchingBlockArgument(&use).use_empty();
      return false;
    });
  }
};

} // namespace

LINGON_REGISTER_PASS(ComputeInPlacePass)
