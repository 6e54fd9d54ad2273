//===- loop_shape.h - what an innermost loop consists of --------*- C++ -*-===//
//
// Says of the body of an innermost loop which values are the same in all
// iterations, which count up with them, and which have to become vectors; what
// is accumulated; and whether iterations are independent of each other.
//
//===----------------------------------------------------------------------===//

#ifndef LINGON_PASSES_LOOP_SHAPE_H
#define LINGON_PASSES_LOOP_SHAPE_H

#include "buffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lingon {

constexpr llvm::StringLiteral kAnnotation = "llvm.loop_annotation";

/// LLVM's vectorizer leaves `loop` alone.
inline void markDone(mlir::scf::ForOp loop) {
  mlir::MLIRContext *context = loop->getContext();
  loop->setAttr(kAnnotation,
                mlir::LLVM::LoopAnnotationAttr::get(
                    context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                    mlir::BoolAttr::get(context, true), {}, {}, {}));
}

/// The loops below `root` that contain no other loop or condition.
inline llvm::SmallVector<mlir::scf::ForOp>
innermostLoops(mlir::Operation *root) {
  llvm::SmallVector<mlir::scf::ForOp> loops;
  root->walk([&](mlir::scf::ForOp loop) {
    if (llvm::none_of(*loop.getBody(), [](mlir::Operation &op) {
          return op.getNumRegions() > 0;
        }))
      loops.push_back(loop);
  });
  return loops;
}

/// Moves pure operations that are the same in all iterations in front of the
/// loop, of those that `which` is true for.
inline void moveInvariants(mlir::scf::ForOp loop,
                           llvm::function_ref<bool(mlir::Operation &)> which) {
  for (mlir::Operation &op :
       llvm::make_early_inc_range(loop.getBody()->without_terminator()))
    if (which(op) && mlir::isPure(&op) &&
        llvm::all_of(op.getOperands(), [&](mlir::Value operand) {
          return loop.isDefinedOutsideOfLoop(operand);
        }))
      loop.moveOutOfLoop(&op);
}

/// The number of iterations at most, where the upper bound says it: a number
/// more than the lower one, or less.
inline std::optional<int64_t> tripsAtMost(mlir::scf::ForOp loop) {
  mlir::Value upper = loop.getUpperBound();
  llvm::SmallVector<mlir::Value> bounds = {upper};
  if (auto least = upper.getDefiningOp<mlir::arith::MinSIOp>())
    bounds = {least.getLhs(), least.getRhs()};
  for (mlir::Value bound : bounds)
    if (auto sum = bound.getDefiningOp<mlir::arith::AddIOp>();
        sum && sum.getLhs() == loop.getLowerBound())
      return mlir::getConstantIntValue(sum.getRhs());
  return std::nullopt;
}

/// Numbers that vectors can hold.
inline bool isElement(mlir::Type type) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16() ||
         type.isIndex();
}

/// Whether `op` is a constant or works element by element, whatever the values.
inline bool widens(mlir::Operation *op) {
  if (op->getNumRegions() > 0 || op->getNumResults() != 1 ||
      !isElement(op->getResult(0).getType()))
    return false;
  if (llvm::isa<mlir::arith::ConstantOp>(op))
    return true;
  for (mlir::Type type : op->getOperandTypes())
    if (!isElement(type))
      return false;
  return mlir::OpTrait::hasElementwiseMappableTraits(op) && mlir::isPure(op);
}

/// An accumulator: `acc op x`, or a chain `(acc op x) op y` of the same kind.
struct Accumulator {
  mlir::vector::CombiningKind kind;
  mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;
  llvm::SmallVector<mlir::Operation *> chain;
};

/// How a value of the body depends on the iteration.
enum class Course {
  Same,     // the same in all iterations
  Counting, // a number of the first iteration plus the iteration's
  Any,
};

inline bool isWide(mlir::Type type) {
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 64;
}

/// Operations, and those of them whose result has 64 bits.
struct Length {
  int64_t all = 0;
  int64_t wide = 0;

  void add(mlir::Type result) {
    ++all;
    wide += isWide(result);
  }
  void add(Length other) {
    all += other.all;
    wide += other.wide;
  }
};

class LoopShape {
public:
  /// Length of a function that works element by element; nothing for others.
  using FunctionLength =
      llvm::function_ref<std::optional<Length>(mlir::StringAttr)>;

  LoopShape(mlir::scf::ForOp loop, FunctionLength lengthOf) : loop(loop) {
    understood = findTripCount() && findAccumulators() && visitBody(lengthOf) &&
                 iterationsAreIndependent();
  }

  mlir::scf::ForOp loop;
  bool understood = false;
  /// Number of iterations, where it is known.
  std::optional<int64_t> trips;
  llvm::SmallVector<Accumulator> accumulators;
  /// Operations in the body, those of called functions counted.
  int64_t length = 0;
  /// Bits of the largest element among loads, stores and what is computed. 64
  /// bits are computed in two vectors where they are a small part of the work,
  /// such as a counter, or most, but not nearly all, of what functions compute.
  unsigned widest = 0;

  Course courseOf(mlir::Value value) const {
    auto found = courses.find(value);
    return found == courses.end() ? Course::Same : found->second;
  }

  /// The stores of the body.
  llvm::ArrayRef<mlir::memref::StoreOp> stores() const { return written; }

  /// The accumulator that `op` adds to, or -1.
  int accumulatorOf(mlir::Operation *op) const {
    auto found = combiners.find(op);
    return found == combiners.end() ? -1 : int(found->second);
  }

  /// What `op`, one of an accumulator's, adds.
  mlir::Value addend(mlir::Operation *op) const {
    return op->getOperand(addends.lookup(op));
  }

private:
  bool findTripCount() {
    if (mlir::getConstantIntValue(loop.getStep()) != 1 ||
        !loop.getInductionVar().getType().isIndex())
      return false;
    auto from = mlir::getConstantIntValue(loop.getLowerBound());
    auto to = mlir::getConstantIntValue(loop.getUpperBound());
    if (from && to)
      trips = *to - *from;
    return !trips || *trips > 1;
  }

  static std::optional<mlir::vector::CombiningKind>
  kindOf(mlir::Operation *op, mlir::arith::FastMathFlags &flags) {
    using Kind = mlir::vector::CombiningKind;
    using namespace mlir::arith;
    if (auto fast = llvm::dyn_cast<ArithFastMathInterface>(op))
      flags = fast.getFastMathFlagsAttr().getValue();
    bool reassoc = bitEnumContainsAll(flags, FastMathFlags::reassoc);
    if (llvm::isa<AddFOp>(op) && reassoc)
      return Kind::ADD;
    if (llvm::isa<MulFOp>(op) && reassoc)
      return Kind::MUL;
    if (llvm::isa<AddIOp>(op))
      return Kind::ADD;
    if (llvm::isa<MulIOp>(op))
      return Kind::MUL;
    if (llvm::isa<MaximumFOp>(op))
      return Kind::MAXIMUMF;
    if (llvm::isa<MinimumFOp>(op))
      return Kind::MINIMUMF;
    if (llvm::isa<MaxSIOp>(op))
      return Kind::MAXSI;
    if (llvm::isa<MinSIOp>(op))
      return Kind::MINSI;
    if (llvm::isa<MaxUIOp>(op))
      return Kind::MAXUI;
    if (llvm::isa<MinUIOp>(op))
      return Kind::MINUI;
    if (llvm::isa<AndIOp>(op))
      return Kind::AND;
    if (llvm::isa<OrIOp>(op))
      return Kind::OR;
    if (llvm::isa<XOrIOp>(op))
      return Kind::XOR;
    return std::nullopt;
  }

  bool findAccumulators() {
    auto yield =
        llvm::cast<mlir::scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [start, end] :
         llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
      Accumulator accumulator;
      mlir::Value current = start;
      if (!isElement(current.getType()) || current.getType().isIndex())
        return false;
      while (current != end) {
        if (!current.hasOneUse())
          return false;
        mlir::Operation *user = *current.getUsers().begin();
        if (user->getNumOperands() != 2 || user->getNumResults() != 1 ||
            user->getOperand(0) == user->getOperand(1) ||
            user->getBlock() != loop.getBody())
          return false;
        mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;
        auto kind = kindOf(user, flags);
        if (!kind || (!accumulator.chain.empty() && *kind != accumulator.kind))
          return false;
        accumulator.kind = *kind;
        accumulator.flags = flags;
        accumulator.chain.push_back(user);
        addends[user] = user->getOperand(0) == current ? 1 : 0;
        current = user->getResult(0);
      }
      if (accumulator.chain.empty() || !current.hasOneUse())
        return false;
      for (mlir::Operation *op : accumulator.chain)
        combiners[op] = accumulators.size();
      note(current.getType());
      accumulators.push_back(std::move(accumulator));
    }
    return true;
  }

  void note(mlir::Type type) {
    if (!type.isIndex() && !type.isInteger(1))
      widest = std::max(widest, type.getIntOrFloatBitWidth());
  }

  bool visitBody(FunctionLength lengthOf) {
    courses[loop.getInductionVar()] = Course::Counting;
    for (mlir::Value value : loop.getRegionIterArgs())
      courses[value] = Course::Any;
    for (mlir::Operation &op : loop.getBody()->without_terminator())
      if (!visit(&op, lengthOf))
        return false;
    length = work.all;
    if (widest > 0 &&
        (inBody.wide * 4 > work.all || work.wide * 8 > work.all * 7))
      widest = 64;
    // A loop that stores and accumulates nothing is left alone.
    return widest > 0 && (!written.empty() || !accumulators.empty());
  }

  bool visit(mlir::Operation *op, FunctionLength lengthOf) {
    if (auto load = llvm::dyn_cast<mlir::memref::LoadOp>(op)) {
      auto course = courseOf(load.getMemRef(), load.getIndices());
      if (!course)
        return false;
      work.add(load.getType());
      note(load.getType());
      if (*course == Course::Any)
        loads.push_back(load);
      else
        sameLoads.push_back(load);
      courses[load.getResult()] = *course;
      return true;
    }
    if (auto store = llvm::dyn_cast<mlir::memref::StoreOp>(op)) {
      auto course = courseOf(store.getMemRef(), store.getIndices());
      if (!course || *course != Course::Any)
        return false;
      work.add(store.getValue().getType());
      note(store.getValue().getType());
      written.push_back(store);
      return true;
    }
    bool same = llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
      return courseOf(operand) == Course::Same;
    });
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
      auto inner = lengthOf(call.getCalleeAttr().getAttr());
      if (!inner || call.getNumResults() != 1)
        return false;
      courses[call.getResult(0)] = same ? Course::Same : Course::Any;
      if (!same)
        work.add(*inner);
      return true;
    }
    if (!widens(op))
      return false;
    courses[op->getResult(0)] = same         ? Course::Same
                                : counts(op) ? Course::Counting
                                             : Course::Any;
    if (courses[op->getResult(0)] == Course::Any) {
      mlir::Type type = op->getResult(0).getType();
      work.add(type);
      inBody.add(type);
      if (!isWide(type))
        note(type);
    }
    return true;
  }

  /// Whether the result of `op` is larger by one in each iteration.
  bool counts(mlir::Operation *op) const {
    using namespace mlir::arith;
    if (accumulatorOf(op) >= 0)
      return false;
    if (llvm::isa<AddIOp>(op))
      return (courseOf(op->getOperand(0)) == Course::Counting) !=
                 (courseOf(op->getOperand(1)) == Course::Counting) &&
             courseOf(op->getOperand(0)) != Course::Any &&
             courseOf(op->getOperand(1)) != Course::Any;
    if (llvm::isa<SubIOp>(op))
      return courseOf(op->getOperand(0)) == Course::Counting &&
             courseOf(op->getOperand(1)) == Course::Same;
    if (llvm::isa<TruncIOp>(op))
      return courseOf(op->getOperand(0)) == Course::Counting &&
             op->getResult(0).getType().getIntOrFloatBitWidth() >= 8;
    // From index, 64 bits, to as many or fewer.
    if (llvm::isa<IndexCastOp, IndexCastUIOp>(op))
      return courseOf(op->getOperand(0)) == Course::Counting &&
             op->getOperand(0).getType().isIndex() &&
             op->getResult(0).getType().getIntOrFloatBitWidth() >= 8;
    return false;
  }

  /// Course of an element of a buffer: the same one, or (Any) consecutive ones;
  /// nothing for elements that are further apart.
  std::optional<Course> courseOf(mlir::Value buffer,
                                 mlir::ValueRange indices) const {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getType());
    mlir::Type element = type.getElementType();
    if (!isElement(element) || element.isInteger(1) || element.isIndex() ||
        courseOf(buffer) != Course::Same ||
        !mlir::scf::ForOp(loop).isDefinedOutsideOfLoop(buffer))
      return std::nullopt;
    int64_t offset;
    llvm::SmallVector<int64_t> strides;
    if (mlir::failed(type.getStridesAndOffset(strides, offset)))
      return std::nullopt;
    Course course = Course::Same;
    for (auto [index, stride] : llvm::zip(indices, strides)) {
      if (courseOf(index) == Course::Same)
        continue;
      if (courseOf(index) == Course::Any || course == Course::Any ||
          stride != 1)
        return std::nullopt;
      course = Course::Any;
    }
    if (course == Course::Any && strides.back() != 1)
      return std::nullopt;
    return course;
  }

  static bool mayOverlap(mlir::Value a, mlir::Value b) {
    return rootsMayAlias(bufferRoot(a), bufferRoot(b));
  }

  /// Whether elements of `type` in different columns are different ones.
  static bool columnsAreApart(mlir::MemRefType type) {
    int64_t offset;
    llvm::SmallVector<int64_t> strides;
    return type.getRank() > 0 &&
           mlir::succeeded(type.getStridesAndOffset(strides, offset)) &&
           llvm::all_of(llvm::ArrayRef(strides).drop_back(),
                        [&](int64_t stride) {
                          return !mlir::ShapedType::isDynamic(stride) &&
                                 stride >= type.getShape().back();
                        });
  }

  /// No iteration reads or writes what another one writes: buffers are
  /// distinct, or an iteration works on one column. What it does there stays in
  /// order.
  bool iterationsAreIndependent() {
    for (mlir::memref::StoreOp store : written) {
      auto apart = [&](mlir::Value buffer, mlir::ValueRange indices) {
        mlir::ValueRange stored = store.getIndices();
        if (buffer == store.getMemRef() &&
            (indices == stored ||
             (indices.back() == stored.back() &&
              courseOf(indices.back()) == Course::Counting &&
              columnsAreApart(store.getMemRefType()))))
          return true;
        return !mayOverlap(buffer, store.getMemRef());
      };
      for (mlir::memref::LoadOp load : loads)
        if (!apart(load.getMemRef(), load.getIndices()))
          return false;
      for (mlir::memref::LoadOp load : sameLoads)
        if (mayOverlap(load.getMemRef(), store.getMemRef()))
          return false;
      for (mlir::memref::StoreOp other : written)
        if (!apart(other.getMemRef(), other.getIndices()))
          return false;
    }
    // What is loaded once is loaded in front of the loop.
    for (mlir::memref::LoadOp load : sameLoads)
      if (!trips && !isInBounds(load))
        return false;
    return true;
  }

  static bool isInBounds(mlir::memref::LoadOp load) {
    auto type = load.getMemRefType();
    for (auto [index, size] : llvm::zip(load.getIndices(), type.getShape())) {
      auto number = mlir::getConstantIntValue(index);
      if (!number || *number < 0 || mlir::ShapedType::isDynamic(size) ||
          *number >= size)
        return false;
    }
    return true;
  }

  /// All the work, and that of the operations that no function contains.
  Length work, inBody;
  llvm::DenseMap<mlir::Value, Course> courses;
  llvm::DenseMap<mlir::Operation *, unsigned> combiners, addends;
  llvm::SmallVector<mlir::memref::LoadOp> loads, sameLoads;
  llvm::SmallVector<mlir::memref::StoreOp> written;
};

} // namespace lingon

#endif // LINGON_PASSES_LOOP_SHAPE_H
