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
#include "sharing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace {

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
              !lingon::Sharing(argument, result)
                   .isSafe(function.getBody().front()))
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
      if (lingon::sameView(copy.getSource(), copy.getTarget(), base, base))
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
