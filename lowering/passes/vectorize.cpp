//===- vectorize.cpp - innermost loops become vector code -----------------===//
//
// The innermost loops that lingon-loops makes are of few kinds: loads and
// stores of consecutive elements, elements that are the same in all iterations,
// operations that work element by element, and accumulators. Such a loop is
// written as operations on vectors here, in a time linear in its length, and
// marked so that LLVM's vectorizer has nothing to do with it. All others are
// left as they are, for LLVM.
//
// Elementary functions get a second form that works on vectors, one for each
// width. The last elements are a masked iteration where the target has masked
// memory accesses, else narrower vectors and single elements.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "loop_shape.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace lingon;

namespace {

/// Operations from which a loop is not interleaved, nor written a second time
/// for the last elements.
constexpr int64_t kLong = 48;
/// Operations on vectors that are written one after the other, without a loop.
constexpr int64_t kStraight = 64;
/// Operations from which a loop calls elementary functions instead of
/// containing them.
constexpr int64_t kCalls = 400;

/// The operation `op` on vectors of `width` elements.
Value widen(OpBuilder &builder, Operation *op, IRMapping &mapping,
            int64_t width) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto type = VectorType::get(width, constant.getType());
    Value value = arith::ConstantOp::create(
        builder, op->getLoc(),
        cast<TypedAttr>(DenseElementsAttr::get(type, constant.getValue())));
    mapping.map(constant.getResult(), value);
    return value;
  }
  Operation *clone = builder.clone(*op, mapping);
  for (Value result : clone->getResults())
    result.setType(VectorType::get(width, result.getType()));
  return clone->getNumResults() == 1 ? clone->getResult(0) : Value();
}

/// Elementary functions, as they are and on vectors.
class Functions {
public:
  explicit Functions(ModuleOp module) : symbols(module) {}

  /// Operations in the function, if it has nothing but operations that work
  /// element by element; else nothing.
  std::optional<Length> length(StringAttr name) {
    auto [entry, isNew] = lengths.try_emplace(name);
    if (!isNew)
      return entry->second;
    std::optional<Length> found = compute(symbols.lookup<func::FuncOp>(name));
    lengths[name] = found;
    return found;
  }

  /// The form of the function for vectors of `width` elements.
  func::FuncOp onVectors(StringAttr name, int64_t width, bool called) {
    std::string newName =
        (name.getValue() + "_x" + Twine(width) + (called ? "_called" : ""))
            .str();
    if (auto known = symbols.lookup<func::FuncOp>(newName))
      return known;
    auto scalar = symbols.lookup<func::FuncOp>(name);
    FunctionType type = scalar.getFunctionType();
    SmallVector<Type> inputs, results;
    for (Type input : type.getInputs())
      inputs.push_back(VectorType::get(width, input));
    for (Type result : type.getResults())
      results.push_back(VectorType::get(width, result));
    OpBuilder builder(scalar->getContext());
    auto function = cast<func::FuncOp>(scalar->cloneWithoutRegions());
    function.setName(newName);
    if (called)
      function->removeAttr("passthrough");
    function.setFunctionType(builder.getFunctionType(inputs, results));
    symbols.insert(function);
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IRMapping mapping;
    for (auto [from, to] :
         llvm::zip(scalar.getArguments(), block->getArguments()))
      mapping.map(from, to);
    for (Operation &op : scalar.getBody().front()) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        func::FuncOp callee =
            onVectors(call.getCalleeAttr().getAttr(), width, /*called=*/false);
        SmallVector<Value> operands;
        for (Value operand : call.getOperands())
          operands.push_back(mapping.lookup(operand));
        auto widened =
            func::CallOp::create(builder, call.getLoc(), callee, operands);
        mapping.map(call.getResults(), widened.getResults());
      } else {
        widen(builder, &op, mapping, width);
      }
    }
    return function;
  }

  /// Removes the functions that only loops called which call others now.
  void removeUnused() {
    llvm::DenseMap<StringAttr, int64_t> uses;
    Operation *module = symbols.getOp();
    module->walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op))
        ++uses[call.getCalleeAttr().getAttr()];
      else if (auto constant = dyn_cast<func::ConstantOp>(op))
        ++uses[constant.getValueAttr().getAttr()];
    });
    SmallVector<StringAttr> unused;
    for (auto &[name, length] : lengths)
      if (length && uses.lookup(name) == 0)
        unused.push_back(name);
    while (!unused.empty()) {
      auto function = symbols.lookup<func::FuncOp>(unused.pop_back_val());
      function.walk([&](func::CallOp call) {
        StringAttr name = call.getCalleeAttr().getAttr();
        if (--uses[name] == 0)
          unused.push_back(name);
      });
      symbols.erase(function);
    }
  }

private:
  std::optional<Length> compute(func::FuncOp function) {
    if (!function || function.isExternal() ||
        !function->hasAttr("passthrough") || !function.getBody().hasOneBlock())
      return std::nullopt;
    Length length;
    for (Operation &op : function.getBody().front()) {
      if (isa<func::ReturnOp>(op))
        continue;
      if (auto call = dyn_cast<func::CallOp>(op)) {
        std::optional<Length> inner =
            this->length(call.getCalleeAttr().getAttr());
        if (!inner)
          return std::nullopt;
        length.add(*inner);
        continue;
      }
      if (!widens(&op))
        return std::nullopt;
      if (!op.hasTrait<OpTrait::ConstantLike>())
        length.add(op.getResult(0).getType());
    }
    for (Type type : function.getFunctionType().getInputs())
      if (!isElement(type))
        return std::nullopt;
    return length;
  }

  SymbolTable symbols;
  llvm::DenseMap<StringAttr, std::optional<Length>> lengths;
};

/// What is known of the machine.
struct Machine {
  int64_t bits;
  bool masks;
};

/// Writes a loop as vector code, in front of it, and removes it.
class VectorLoop {
public:
  using VectorFunction = function_ref<func::FuncOp(StringAttr, int64_t)>;

  VectorLoop(LoopShape &shape, Machine machine, VectorFunction onVectors)
      : shape(shape), machine(machine), onVectors(onVectors), loop(shape.loop),
        b(loop.getLoc(), loop), accumulators(shape.accumulators) {}

  void emit() {
    emitSame();
    results = SmallVector<Value>(loop.getInitArgs());
    if (shape.trips)
      emitKnown(*shape.trips);
    else
      emitUnknown();
    loop.replaceAllUsesWith(results);
    loop.erase();
  }

private:
  /// What is accumulated: a vector for each copy of the body and each
  /// accumulator; nothing where nothing was accumulated yet.
  struct State {
    int64_t copies = 0;
    SmallVector<Value> vectors;
  };

  //===--- the whole loop -------------------------------------------------===//

  void emitKnown(int64_t trips) {
    int64_t full = machine.bits / shape.widest;
    int64_t vectorWidth = full;
    while (vectorWidth > 1 &&
           (machine.masks ? vectorWidth / 2 >= trips : vectorWidth > trips))
      vectorWidth /= 2;
    beginWidth(vectorWidth);
    int64_t rest = trips % width;
    Value from = loop.getLowerBound();
    int64_t first = *getConstantIntValue(from);
    int64_t vectors = trips / width;
    if (machine.masks && rest > 0 && shape.length >= kLong && vectors > 0) {
      State state = begin(1);
      loopOver(from, loop.getUpperBound(), state, /*masked=*/true);
      finish(state);
      return;
    }
    // One element is no vector: see masksUnknown.
    bool tail = machine.masks && rest > 1;
    State state = begin(copiesFor(vectors));
    int64_t total = vectors + tail;
    int64_t done = 0;
    if (vectors > state.copies && total * shape.length > kStraight) {
      done = vectors / state.copies * state.copies;
      loopOver(from, index(first + done * width), state, /*masked=*/false);
    }
    // A short body again, one after the other, or a loop with one vector each.
    int64_t left = total - done;
    if (left > 1 && left * shape.length > kStraight && machine.masks) {
      loopOver(index(first + done * width),
               tail ? loop.getUpperBound() : index(first + vectors * width),
               state, /*masked=*/tail, /*single=*/true);
    } else {
      while (done < vectors) {
        int64_t now = std::min(state.copies, vectors - done);
        emitCopies(index(first + done * width), now, {}, state);
        done += now;
      }
      if (tail)
        emitCopies(index(first + done * width), 1, constantMask(rest), state);
    }
    first += vectors * width;
    finish(state);
    if (tail)
      return;
    // Narrower vectors for short bodies, single elements for what is left.
    while (rest > 1 && shape.length * width <= kStraight * 4) {
      beginWidth(width / 2);
      if (rest < width)
        continue;
      State narrow = begin(1);
      emitCopies(index(first), 1, {}, narrow);
      finish(narrow);
      rest -= width;
      first += width;
    }
    if (rest > 0)
      emitScalars(index(first));
  }

  void emitUnknown() {
    int64_t most = tripsAtMost(loop).value_or(ShapedType::kDynamic);
    int64_t vectorWidth = machine.bits / shape.widest;
    while (most != ShapedType::kDynamic &&
           vectorWidth > std::max<int64_t>(most, 2))
      vectorWidth /= 2;
    beginWidth(vectorWidth);
    Value from = loop.getLowerBound(), to = loop.getUpperBound();
    bool masks = machine.masks && masksUnknown();
    if (masks && shape.length >= kLong) {
      State state = begin(1);
      loopOver(from, to, state, /*masked=*/true);
      finish(state);
      return;
    }
    int64_t copies =
        copiesFor(most == ShapedType::kDynamic ? most : most / vectorWidth);
    State state = begin(copies);
    Value count = arith::SubIOp::create(b, to, from);
    Value rest = arith::AndIOp::create(b, count, index(copies * width - 1));
    Value end = arith::SubIOp::create(b, to, rest);
    loopOver(from, end, state, /*masked=*/false);
    Value last = arith::MaxSIOp::create(b, end, from);
    if (masks)
      loopOver(last, to, state, /*masked=*/true);
    finish(state);
    if (!masks)
      emitScalars(last);
  }

  /// Whether the last elements may be masked where their number is not known.
  /// LLVM 22 writes four bytes where a mask of one lane, known to be constant,
  /// stores integers of fewer bits that are truncated ones.
  bool masksUnknown() const {
    return llvm::none_of(shape.stores(), [](memref::StoreOp store) {
      return store.getMemRefType().getElementTypeBitWidth() < 32;
    });
  }

  /// How many vectors an iteration works on.
  int64_t copiesFor(int64_t vectors) const {
    bool reduces = !accumulators.empty();
    int64_t copies = 1;
    if (reduces && shape.length < 16)
      copies = 4;
    else if (shape.length < (reduces ? kLong : 6))
      copies = 2;
    while (vectors != ShapedType::kDynamic &&
           copies > std::max<int64_t>(vectors, 1))
      copies /= 2;
    return copies;
  }

  /// A loop from `from` to `to`, by the vectors of `state`.
  /// With masks or `single`, by one.
  void loopOver(Value from, Value to, State &state, bool masked,
                bool single = false) {
    int64_t copies = masked || single ? 1 : state.copies;
    fill(state);
    auto made =
        scf::ForOp::create(b, from, to, index(copies * width), state.vectors);
    markDone(made);
    {
      OpBuilder::InsertionGuard guard(b);
      Block *body = made.getBody();
      // Where nothing is carried, it has a terminator already.
      if (body->empty())
        b.setInsertionPointToStart(body);
      else
        b.setInsertionPoint(body->getTerminator());
      state.vectors = SmallVector<Value>(made.getRegionIterArgs());
      Value mask;
      if (masked)
        mask = maskBelow(arith::SubIOp::create(b, to, made.getInductionVar()));
      emitCopies(made.getInductionVar(), copies, mask, state);
      if (!state.vectors.empty())
        scf::YieldOp::create(b, state.vectors);
    }
    state.vectors = SmallVector<Value>(made.getResults());
  }

  /// The loop as it was, from `from` on.
  void emitScalars(Value from) {
    IRMapping mapping;
    mapping.map(loop.getLowerBound(), from);
    auto rest = cast<scf::ForOp>(b.clone(*loop));
    rest.setLowerBound(from);
    rest.getInitArgsMutable().assign(results);
    markDone(rest);
    results = SmallVector<Value>(rest.getResults());
  }

  //===--- values ---------------------------------------------------------===//

  Value index(int64_t value) {
    Value &known = indices[value];
    if (!known) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop);
      if (widthStart)
        b.setInsertionPointAfterValue(widthStart);
      known = arith::ConstantIndexOp::create(b, value);
    }
    return known;
  }

  Value splatOf(Attribute value, Type element) {
    auto type = VectorType::get(width, element);
    return constant(DenseElementsAttr::get(type, value));
  }

  /// A constant of this width, made once.
  Value constant(Attribute value) {
    Value &known = constants[value];
    if (!known) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(widthStart);
      known = arith::ConstantOp::create(b, cast<TypedAttr>(value));
    }
    return known;
  }

  /// 0, 1, 2, ...
  Value iota(Type element) {
    SmallVector<Attribute> numbers;
    for (int64_t i = 0; i < width; ++i)
      numbers.push_back(IntegerAttr::get(element, i));
    auto type = VectorType::get(width, element);
    return constant(DenseElementsAttr::get(type, numbers));
  }

  Value constantMask(int64_t count) {
    SmallVector<bool> bits(width, false);
    std::fill_n(bits.begin(), count, true);
    auto type = VectorType::get(width, b.getI1Type());
    return constant(DenseElementsAttr::get(type, bits));
  }

  /// True in the first `count` elements.
  Value maskBelow(Value count) {
    count = arith::MinSIOp::create(b, count, index(width));
    // In numbers as large as the elements: one comparison of one vector.
    Type number = b.getIntegerType(std::max<int64_t>(machine.bits / width, 8));
    Value limit = arith::IndexCastOp::create(b, number, count);
    limit =
        vector::BroadcastOp::create(b, VectorType::get(width, number), limit);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, iota(number),
                                 limit);
  }

  /// Computes what is the same in all iterations.
  void emitSame() {
    for (Operation &op : loop.getBody()->without_terminator())
      if (op.getNumResults() == 1 &&
          shape.courseOf(op.getResult(0)) == Course::Same)
        b.clone(op, same);
  }

  /// Vectors have `newWidth` elements from now on. Those of what is the same in
  /// all iterations are made now.
  void beginWidth(int64_t newWidth) {
    width = newWidth;
    splats.clear();
    constants.clear();
    indices.clear();
    widthStart = Value();
    widthStart = index(0);
    for (Operation &op : *loop.getBody()) {
      if (isa<memref::LoadOp>(op) ||
          (op.getNumResults() == 1 &&
           shape.courseOf(op.getResult(0)) != Course::Any))
        continue;
      ValueRange operands = op.getOperands();
      if (isa<memref::StoreOp>(op))
        operands = operands.take_front(1);
      for (Value operand : operands)
        if (shape.courseOf(operand) == Course::Same && !splats.count(operand))
          splats[operand] = splat(same.lookupOrDefault(operand));
    }
  }

  Value splat(Value scalar) {
    Attribute constant;
    if (matchPattern(scalar, m_Constant(&constant)))
      return splatOf(constant, scalar.getType());
    return vector::BroadcastOp::create(
        b, VectorType::get(width, scalar.getType()), scalar);
  }

  //===--- the body -------------------------------------------------------===//

  /// The body for `copies` vectors from number `from` on.
  void emitCopies(Value from, int64_t copies, Value mask, State &state) {
    for (int64_t copy = 0; copy < copies; ++copy) {
      Value at = from;
      if (copy > 0)
        at = arith::AddIOp::create(b, from, index(copy * width));
      emitBody(at, mask,
               MutableArrayRef(state.vectors)
                   .slice(copy * accumulators.size(), accumulators.size()));
    }
  }

  void emitBody(Value at, Value mask, MutableArrayRef<Value> sums) {
    IRMapping vectors;
    same.map(loop.getInductionVar(), at);
    auto vectorOf = [&](Value value) -> Value {
      if (Value known = vectors.lookupOrNull(value))
        return known;
      if (shape.courseOf(value) == Course::Same)
        return splats.lookup(value);
      // It counts.
      Value first = vector::BroadcastOp::create(
          b, VectorType::get(width, value.getType()), same.lookup(value));
      Value numbers = arith::AddIOp::create(b, first, iota(value.getType()));
      vectors.map(value, numbers);
      return numbers;
    };
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto load = dyn_cast<memref::LoadOp>(op)) {
        if (shape.courseOf(load.getResult()) != Course::Same)
          vectors.map(load.getResult(), emitLoad(load, mask));
        continue;
      }
      if (auto store = dyn_cast<memref::StoreOp>(op)) {
        emitStore(store, vectorOf(store.getValue()), mask);
        continue;
      }
      Value result = op.getResult(0);
      Course course = shape.courseOf(result);
      if (course == Course::Same)
        continue;
      if (course == Course::Counting) {
        b.clone(op, same);
        continue;
      }
      int number = shape.accumulatorOf(&op);
      if (number >= 0) {
        accumulate(accumulators[number], vectorOf(shape.addend(&op)), mask,
                   sums[number]);
        continue;
      }
      for (Value operand : op.getOperands())
        vectors.map(operand, vectorOf(operand));
      if (auto call = dyn_cast<func::CallOp>(op)) {
        SmallVector<Value> operands;
        for (Value operand : op.getOperands())
          operands.push_back(vectors.lookup(operand));
        auto made = func::CallOp::create(
            b, op.getLoc(), onVectors(call.getCalleeAttr().getAttr(), width),
            operands);
        vectors.map(result, made.getResult(0));
      } else {
        widen(b, &op, vectors, width);
      }
    }
  }

  SmallVector<Value> indicesOf(ValueRange indices) {
    SmallVector<Value> found;
    for (Value index : indices)
      found.push_back(same.lookupOrDefault(index));
    return found;
  }

  Value emitLoad(memref::LoadOp load, Value mask) {
    auto type = VectorType::get(width, load.getType());
    SmallVector<Value> indices = indicesOf(load.getIndices());
    if (!mask)
      return vector::LoadOp::create(b, load.getLoc(), type, load.getMemRef(),
                                    indices);
    Value zero = splatOf(b.getZeroAttr(load.getType()), load.getType());
    return vector::MaskedLoadOp::create(b, load.getLoc(), type,
                                        load.getMemRef(), indices, mask, zero);
  }

  void emitStore(memref::StoreOp store, Value value, Value mask) {
    SmallVector<Value> indices = indicesOf(store.getIndices());
    if (mask)
      vector::MaskedStoreOp::create(b, store.getLoc(), store.getMemRef(),
                                    indices, mask, value);
    else
      vector::StoreOp::create(b, store.getLoc(), value, store.getMemRef(),
                              indices);
  }

  //===--- accumulators ---------------------------------------------------===//

  Value neutralOf(const Accumulator &accumulator) {
    using Kind = vector::CombiningKind;
    Type type = accumulator.chain.front()->getResult(0).getType();
    if (auto real = dyn_cast<FloatType>(type)) {
      const llvm::fltSemantics &semantics = real.getFloatSemantics();
      bool add = accumulator.kind == Kind::ADD;
      APFloat number =
          accumulator.kind == Kind::MUL ? APFloat::getOne(semantics)
          : add
              ? APFloat::getZero(semantics, /*Negative=*/true)
              : APFloat::getInf(semantics, accumulator.kind == Kind::MAXIMUMF);
      return splatOf(FloatAttr::get(type, number), type);
    }
    unsigned bits = type.getIntOrFloatBitWidth();
    APInt number = APInt::getZero(bits);
    switch (accumulator.kind) {
    case Kind::MUL:
      number = APInt(bits, 1);
      break;
    case Kind::MAXSI:
      number = APInt::getSignedMinValue(bits);
      break;
    case Kind::MINSI:
      number = APInt::getSignedMaxValue(bits);
      break;
    case Kind::MINUI:
    case Kind::AND:
      number = APInt::getAllOnes(bits);
      break;
    default:
      break;
    }
    return splatOf(IntegerAttr::get(type, number), type);
  }

  State begin(int64_t copies) {
    State state;
    state.copies = copies;
    state.vectors.resize(copies * accumulators.size());
    return state;
  }

  /// A loop carries vectors: those that are not there yet are neutral ones.
  void fill(State &state) {
    for (auto [i, vector] : llvm::enumerate(state.vectors))
      if (!vector)
        vector = neutralOf(accumulators[i % accumulators.size()]);
  }

  /// `x op y`, as the accumulator does it.
  Value combine(const Accumulator &accumulator, Value x, Value y) {
    Operation *op = accumulator.chain.front();
    IRMapping mapping;
    mapping.map(op->getOperand(0), x);
    mapping.map(op->getOperand(1), y);
    return widen(b, op, mapping, width);
  }

  void accumulate(const Accumulator &accumulator, Value x, Value mask,
                  Value &sum) {
    Value next = sum ? combine(accumulator, x, sum) : x;
    if (mask)
      next = arith::SelectOp::create(b, mask, next,
                                     sum ? sum : neutralOf(accumulator));
    sum = next;
  }

  /// Takes the vectors of `state` together, and to the results.
  void finish(State &state) {
    size_t number = accumulators.size();
    for (auto [i, accumulator] : llvm::enumerate(accumulators)) {
      SmallVector<Value> parts;
      for (int64_t copy = 0; copy < state.copies; ++copy)
        if (Value part = state.vectors[copy * number + i])
          parts.push_back(part);
      while (parts.size() > 1) {
        for (size_t k = 0; k < parts.size() / 2; ++k)
          parts[k] =
              combine(accumulator, parts[k], parts[parts.size() - 1 - k]);
        parts.resize((parts.size() + 1) / 2);
      }
      results[i] = vector::ReductionOp::create(b, accumulator.kind, parts[0],
                                               results[i], accumulator.flags);
    }
  }

  LoopShape &shape;
  Machine machine;
  VectorFunction onVectors;
  scf::ForOp loop;
  ImplicitLocOpBuilder b;
  ArrayRef<Accumulator> accumulators;

  int64_t width = 0;
  Value widthStart; // stands in front of what has this width
  IRMapping same;   // scalars: those in front, and those that count
  llvm::DenseMap<Value, Value> splats; // of those in front
  llvm::DenseMap<int64_t, Value> indices;
  llvm::DenseMap<Attribute, Value> constants;
  SmallVector<Value> results;
};

struct VectorizePass
    : public PassWrapper<VectorizePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VectorizePass)
  VectorizePass() = default;
  VectorizePass(const VectorizePass &other) : PassWrapper(other) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                    vector::VectorDialect>();
  }
  StringRef getArgument() const final { return "lingon-vectorize"; }
  StringRef getDescription() const final {
    return "make vector code of innermost loops";
  }
  Option<int64_t> bits{*this, "bits", llvm::cl::init(0),
                       llvm::cl::desc("length of the target's vectors; 0 "
                                      "leaves all loops to LLVM")};
  Option<bool> masks{*this, "masks", llvm::cl::init(false),
                     llvm::cl::desc("the target has masked memory accesses")};

  void runOnOperation() override {
    if (bits == 0)
      return;
    Functions functions(getOperation());
    for (scf::ForOp loop : innermostLoops(getOperation())) {
      // Views of buffers are made once.
      moveInvariants(loop, [](Operation &op) {
        return isa<ViewLikeOpInterface>(op) ||
               op.hasTrait<OpTrait::ConstantLike>();
      });
      LoopShape shape(loop,
                      [&](StringAttr name) { return functions.length(name); });
      if (!shape.understood)
        continue;
      for (auto outer = loop->getParentOfType<scf::ForOp>(); outer;
           outer = outer->getParentOfType<scf::ForOp>())
        markDone(outer);
      VectorLoop(shape, {bits, masks}, [&](StringAttr name, int64_t width) {
        return functions.onVectors(name, width, shape.length >= kCalls);
      }).emit();
    }
    functions.removeUnused();
    if (nothingIsLeft())
      getOperation()->setAttr("lingon.vectorized",
                              UnitAttr::get(&getContext()));
  }

  /// Whether LLVM's vectorizer has nothing to do: innermost loops are vector
  /// code, or contain what cannot be.
  bool nothingIsLeft() {
    auto visit = [](Operation *op) {
      auto loop = dyn_cast<LoopLikeOpInterface>(op);
      if (!loop || op->hasAttr(kAnnotation))
        return WalkResult::advance();
      bool other = false;
      loop->walk([&](Operation *inner) {
        other |= (isa<LoopLikeOpInterface>(inner) && inner != op) ||
                 isa<memref::CopyOp, vector::LoadOp, vector::StoreOp,
                     vector::MaskedLoadOp>(inner) ||
                 inner->getName().getDialectNamespace() == "lingon";
      });
      return other ? WalkResult::advance() : WalkResult::interrupt();
    };
    return !getOperation()->walk(visit).wasInterrupted();
  }
};

} // namespace

LINGON_REGISTER_PASS(VectorizePass)
