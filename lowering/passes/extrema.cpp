//===- extrema.cpp - greatest and least floats are found as integers ------===//
//
// The greatest of many floats, where NaN wins and -0 is less than +0, takes
// five to seven vector instructions for each element. Of the bits, read as
// integers, three extremes say the same: the greatest signed and unsigned one
// and the least unsigned one. Negative floats are greater unsigned integers
// than positive ones and run backwards, and NaNs of either sign are beyond the
// infinities:
//
//   greatest: the signed maximum if that is not negative, else the unsigned
//             minimum; NaN if the unsigned maximum is beyond -inf.
//   least:    the unsigned maximum if that is a negative float, else the
//             unsigned minimum; NaN if the signed maximum is beyond +inf.
//
// So chains of maxima (minima), those carried through loops included, become
// three integer reductions, and the float is made once at the end. Of narrow
// floats, which have no maximum of their own, all are found so.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

/// Operands outside of loops, at least: fewer are quicker as floats.
constexpr size_t kFewOperands = 4;

/// The three integers.
struct Bits {
  Value signedMax, unsignedMax, unsignedMin;
};

bool isExtremum(Operation *op) {
  return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(op);
}

/// The types that have an integer of their size in registers and IEEE's layout.
bool hasKnownLayout(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

/// What becomes of one accumulator: folded in by operations of one kind, some
/// of them in loops that carry it.
class Chain {
public:
  /// Follows `value` to `end`; false where anything else happens to it.
  bool follow(Value value, Value end);

  StringRef kind;
};

bool Chain::follow(Value value, Value end) {
  while (value != end) {
    if (!value.hasOneUse())
      return false;
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    if (isExtremum(user)) {
      if (user->getBlock() != end.getParentBlock() ||
          (!kind.empty() && kind != user->getName().getStringRef()))
        return false;
      kind = user->getName().getStringRef();
      value = user->getResult(0);
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(user);
    if (!loop || loop->getBlock() != end.getParentBlock() ||
        use.getOperandNumber() < loop.getNumControlOperands())
      return false;
    unsigned number = use.getOperandNumber() - loop.getNumControlOperands();
    Value yielded = loop.getYieldedValues()[number];
    if (!follow(loop.getRegionIterArg(number), yielded) || !yielded.hasOneUse())
      return false;
    value = loop.getResult(number);
  }
  return true;
}

class Rewriter {
public:
  Rewriter(IRRewriter &rewriter, bool greatest, FloatType type)
      : rewriter(rewriter), greatest(greatest), type(type),
        integer(rewriter.getIntegerType(type.getWidth())) {}

  Value bitsOf(Location loc, Value value) {
    return arith::BitcastOp::create(rewriter, loc, integer, value);
  }

  Bits start(Location loc, Value value) {
    Value bits = bitsOf(loc, value);
    return {bits, bits, bits};
  }

  Bits fold(Location loc, const Bits &bits, Value value) {
    Value more = bitsOf(loc, value);
    return {arith::MaxSIOp::create(rewriter, loc, bits.signedMax, more),
            arith::MaxUIOp::create(rewriter, loc, bits.unsignedMax, more),
            arith::MinUIOp::create(rewriter, loc, bits.unsignedMin, more)};
  }

  Value finish(Location loc, const Bits &bits) {
    APFloat infinity = APFloat::getInf(type.getFloatSemantics());
    auto integerOf = [&](const APFloat &number) -> Value {
      return arith::ConstantOp::create(
          rewriter, loc, IntegerAttr::get(integer, number.bitcastToAPInt()));
    };
    auto choose = [&](arith::CmpIPredicate predicate, Value a, Value b,
                      Value yes, Value no) -> Value {
      Value holds = arith::CmpIOp::create(rewriter, loc, predicate, a, b);
      return arith::SelectOp::create(rewriter, loc, holds, yes, no);
    };
    using Predicate = arith::CmpIPredicate;
    Value zero = integerOf(APFloat::getZero(type.getFloatSemantics()));
    Value found;
    if (greatest) {
      found = choose(Predicate::sge, bits.signedMax, zero, bits.signedMax,
                     bits.unsignedMin);
      found = choose(Predicate::ugt, bits.unsignedMax, integerOf(-infinity),
                     bits.unsignedMax, found);
    } else {
      found = choose(Predicate::slt, bits.unsignedMax, zero, bits.unsignedMax,
                     bits.unsignedMin);
      found = choose(Predicate::sgt, bits.signedMax, integerOf(infinity),
                     bits.signedMax, found);
    }
    return arith::BitcastOp::create(rewriter, loc, type, found);
  }

  /// Does in integers what happens to `value` until `end`, and forgets `value`.
  Bits along(Bits bits, Value value, Value end);
  /// The same through result `number` of a loop, which is replaced.
  Bits through(scf::ForOp &loop, unsigned number, const Bits &bits);

private:
  IRRewriter &rewriter;
  bool greatest;
  FloatType type;
  IntegerType integer;
};

Bits Rewriter::along(Bits bits, Value value, Value end) {
  while (value != end) {
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    if (isExtremum(user)) {
      rewriter.setInsertionPoint(user);
      bits = fold(user->getLoc(), bits,
                  user->getOperand(1 - use.getOperandNumber()));
      value = user->getResult(0);
      continue;
    }
    auto loop = cast<scf::ForOp>(user);
    unsigned number = use.getOperandNumber() - loop.getNumControlOperands();
    bool last = loop.getResult(number) == end;
    bits = through(loop, number, bits);
    value = loop.getResult(number);
    if (last)
      end = value;
  }
  return bits;
}

Bits Rewriter::through(scf::ForOp &loop, unsigned number, const Bits &bits) {
  unsigned before = loop.getNumResults();
  Value inits[] = {bits.signedMax, bits.unsignedMax, bits.unsignedMin};
  // The body is still that of the old loop when this is called.
  auto yields = [&](OpBuilder &, Location,
                    ArrayRef<BlockArgument> arguments) -> SmallVector<Value> {
    Bits after =
        along({arguments[0], arguments[1], arguments[2]},
              loop.getRegionIterArg(number), loop.getYieldedValues()[number]);
    return {after.signedMax, after.unsignedMax, after.unsignedMin};
  };
  rewriter.setInsertionPoint(loop);
  auto made = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yields));
  // The float is handed on as it came, so that its chain has no reader.
  made.getBody()->getTerminator()->setOperand(number,
                                              made.getRegionIterArg(number));
  loop = made;
  return {made.getResult(before), made.getResult(before + 1),
          made.getResult(before + 2)};
}

struct ExtremaPass
    : public PassWrapper<ExtremaPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExtremaPass)
  StringRef getArgument() const final { return "lingon-extrema"; }
  StringRef getDescription() const final {
    return "find maxima and minima of floats as those of integers";
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    visit(rewriter, getOperation().getBody());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isExtremum(op))
        ops.push_back(op);
    });
    for (Operation *op : llvm::reverse(ops))
      rewriteTree(rewriter, op);
  }

  /// Loops from the outermost inwards: an accumulator goes through all of them.
  void visit(IRRewriter &rewriter, Region &region) {
    for (Block &block : region)
      for (Operation &each : llvm::make_early_inc_range(block)) {
        Operation *op = &each;
        if (auto loop = dyn_cast<scf::ForOp>(op))
          op = rewriteLoop(rewriter, loop);
        for (Region &inner : op->getRegions())
          visit(rewriter, inner);
      }
  }

  /// Replaces what `loop` carries; returns the loop that took its place.
  scf::ForOp rewriteLoop(IRRewriter &rewriter, scf::ForOp loop) {
    unsigned count = loop.getNumRegionIterArgs();
    for (unsigned number = 0; number < count; ++number) {
      auto type = dyn_cast<FloatType>(loop.getResult(number).getType());
      Value yielded = loop.getYieldedValues()[number];
      Chain chain;
      if (!type || !hasKnownLayout(type) || !yielded.hasOneUse() ||
          !chain.follow(loop.getRegionIterArg(number), yielded) ||
          chain.kind.empty())
        continue;
      Value init = loop.getInitArgs()[number];
      Rewriter bits(rewriter, isGreatest(chain.kind), type);
      rewriter.setInsertionPoint(loop);
      Bits start = bits.start(loop.getLoc(), init);
      Bits found = bits.through(loop, number, start);
      rewriter.setInsertionPointAfter(loop);
      Value result = bits.finish(loop.getLoc(), found);
      rewriter.replaceAllUsesWith(loop.getResult(number), result);
    }
    return loop;
  }

  static bool isGreatest(StringRef kind) {
    return kind == arith::MaximumFOp::getOperationName();
  }

  /// Whether all that reads `op` is one operation of the same kind beside it.
  static bool isInner(Operation *op) {
    return op->hasOneUse() && op->user_begin()->getName() == op->getName() &&
           op->user_begin()->getBlock() == op->getBlock();
  }

  static void collect(Operation *op, SmallVector<Value> &leaves) {
    for (Value operand : op->getOperands()) {
      Operation *made = operand.getDefiningOp();
      if (made && made->getName() == op->getName() && isInner(made))
        collect(made, leaves);
      else
        leaves.push_back(operand);
    }
  }

  /// Many operands of operations that read one another, without a loop.
  void rewriteTree(IRRewriter &rewriter, Operation *op) {
    auto type = dyn_cast<FloatType>(op->getResult(0).getType());
    if (!type || !hasKnownLayout(type) || op->use_empty() || isInner(op))
      return;
    SmallVector<Value> leaves;
    collect(op, leaves);
    // Narrow types have no maximum of their own.
    if (leaves.size() < kFewOperands && type.getWidth() > 16)
      return;
    Rewriter bits(rewriter, isGreatest(op->getName().getStringRef()), type);
    rewriter.setInsertionPoint(op);
    Bits found = bits.start(op->getLoc(), leaves.front());
    for (Value leaf : ArrayRef<Value>(leaves).drop_front())
      found = bits.fold(op->getLoc(), found, leaf);
    rewriter.replaceOp(op, bits.finish(op->getLoc(), found));
  }
};

} // namespace

LINGON_REGISTER_PASS(ExtremaPass)
