//===- transpose_tiles.cpp - tiles are transposed in registers ------------===//
//
// Where operands disagree on the contiguous dimension, lingon-loops makes
// square tiles of two loops. Elements of 8 and 16 bits that are read across the
// inner one are copied to a tile on the stack here, in blocks of as many rows
// as a vector of 128 bits has elements, which shuffles transpose; the loops
// read that, row by row. (For larger elements LLVM has gathers.)
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "loop_shape.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace lingon;

namespace {

class Tile {
public:
  explicit Tile(scf::ForOp inner) : inner(inner) {}

  /// Whether there are two loops of which the outer one does nothing else, and
  /// elements that are read across the inner one.
  bool find() {
    outer = dyn_cast<scf::ForOp>(inner->getParentOp());
    if (!outer || outer.getNumResults() > 0 || inner.getNumResults() > 0)
      return false;
    for (memref::LoadOp load : inner.getBody()->getOps<memref::LoadOp>())
      if (isCrossed(load))
        crossed.push_back(load);
    if (crossed.empty() || !onlyInner())
      return false;
    for (scf::ForOp loop : {outer, inner}) {
      auto trips = tripsAtMost(loop);
      if (getConstantIntValue(loop.getStep()) != 1 || !trips ||
          *trips > kLargest)
        return false;
      side = std::max(side, *trips);
    }
    // What is read is not written by the loops.
    for (Operation &op : inner.getBody()->without_terminator()) {
      if (auto store = dyn_cast<memref::StoreOp>(op)) {
        for (memref::LoadOp load : crossed)
          if (rootsMayAlias(bufferRoot(load.getMemRef()),
                            bufferRoot(store.getMemRef())))
            return false;
      } else if (!isa<memref::LoadOp>(op) && !isPure(&op) &&
                 !(isa<func::CallOp>(op) &&
                   llvm::all_of(op.getOperandTypes(), isElement))) {
        return false;
      }
    }
    return true;
  }

  void emit(Block &entry) {
    for (memref::LoadOp load : crossed) {
      OpBuilder atEntry(&entry, entry.begin());
      auto type = MemRefType::get({side, side}, load.getType());
      Value tile = memref::AllocaOp::create(atEntry, load.getLoc(), type,
                                            atEntry.getI64IntegerAttr(64));
      fill(tile, load);
      ImplicitLocOpBuilder b(load.getLoc(), load);
      auto read = memref::LoadOp::create(
          b, tile, place(b, outer.getInductionVar(), inner.getInductionVar()));
      load.replaceAllUsesWith(read.getResult());
      load.erase();
    }
  }

private:
  static constexpr int64_t kLargest = 64, kVector = 128;

  /// Whether the outer loop goes along the elements, the inner one across.
  bool isCrossed(memref::LoadOp load) {
    MemRefType type = load.getMemRefType();
    int64_t offset;
    SmallVector<int64_t> strides;
    if (!load.getType().isIntOrFloat() ||
        !llvm::is_contained({8u, 16u},
                            load.getType().getIntOrFloatBitWidth()) ||
        failed(type.getStridesAndOffset(strides, offset)) ||
        strides.size() < 2 || strides.back() != 1 ||
        load.getIndices().back() != outer.getInductionVar() ||
        !outer.isDefinedOutsideOfLoop(load.getMemRef()))
      return false;
    bool across = false;
    for (Value index : load.getIndices().drop_back()) {
      if (index == inner.getInductionVar() && !across)
        across = true;
      else if (!outer.isDefinedOutsideOfLoop(index))
        return false;
    }
    return across;
  }

  /// Whether the outer loop has nothing but the inner one, once what is the
  /// same in all iterations is in front of it.
  bool onlyInner() {
    moveInvariants(outer, [&](Operation &op) { return &op != inner; });
    return &outer.getBody()->front() == inner &&
           inner->getNextNode() == outer.getBody()->getTerminator();
  }

  /// Where the element of iteration `i`, `j` of the outer and inner loop is in
  /// the tile.
  SmallVector<Value> place(ImplicitLocOpBuilder &b, Value i, Value j) {
    return {arith::SubIOp::create(b, i, outer.getLowerBound()),
            arith::SubIOp::create(b, j, inner.getLowerBound())};
  }

  /// The indices of `load` in iteration `i`, `j`.
  SmallVector<Value> indices(memref::LoadOp load, Value i, Value j) {
    SmallVector<Value> found(load.getIndices());
    for (Value &index : found)
      if (index == inner.getInductionVar())
        index = j;
    found.back() = i;
    return found;
  }

  void fill(Value tile, memref::LoadOp load) {
    ImplicitLocOpBuilder b(load.getLoc(), outer);
    int64_t lanes = kVector / load.getType().getIntOrFloatBitWidth();
    Value step = arith::ConstantIndexOp::create(b, lanes);
    Value wholeRows = wholeBlocks(b, outer, lanes);
    Value wholeColumns = wholeBlocks(b, inner, lanes);
    nest(b, outer.getLowerBound(), wholeRows, inner.getLowerBound(),
         wholeColumns, step,
         [&](Value i, Value j) { block(b, tile, load, i, j, lanes); });
    Value one = arith::ConstantIndexOp::create(b, 1);
    auto single = [&](Value i, Value j) {
      Value element =
          memref::LoadOp::create(b, load.getMemRef(), indices(load, i, j));
      memref::StoreOp::create(b, element, tile, place(b, i, j));
    };
    nest(b, outer.getLowerBound(), wholeRows, wholeColumns,
         inner.getUpperBound(), one, single);
    nest(b, wholeRows, outer.getUpperBound(), inner.getLowerBound(),
         inner.getUpperBound(), one, single);
  }

  /// Where the blocks of `lanes` iterations end.
  static Value wholeBlocks(ImplicitLocOpBuilder &b, scf::ForOp loop,
                           int64_t lanes) {
    Value count =
        arith::SubIOp::create(b, loop.getUpperBound(), loop.getLowerBound());
    Value mask = arith::ConstantIndexOp::create(b, -lanes);
    return arith::AddIOp::create(b, loop.getLowerBound(),
                                 arith::AndIOp::create(b, count, mask));
  }

  static void nest(ImplicitLocOpBuilder &b, Value fromRow, Value toRow,
                   Value fromColumn, Value toColumn, Value step,
                   function_ref<void(Value, Value)> body) {
    OpBuilder::InsertionGuard guard(b);
    auto rows = scf::ForOp::create(b, fromRow, toRow, step);
    b.setInsertionPoint(rows.getBody()->getTerminator());
    auto columns = scf::ForOp::create(b, fromColumn, toColumn, step);
    b.setInsertionPoint(columns.getBody()->getTerminator());
    body(rows.getInductionVar(), columns.getInductionVar());
    markDone(rows);
    markDone(columns);
  }

  /// `lanes` rows of as many elements become columns: each of log2(lanes) steps
  /// interleaves the rows of the upper half with those of the lower one.
  void block(ImplicitLocOpBuilder &b, Value tile, memref::LoadOp load, Value i,
             Value j, int64_t lanes) {
    auto numbered = [&](Value value, int64_t number) -> Value {
      return arith::AddIOp::create(b, value,
                                   arith::ConstantIndexOp::create(b, number));
    };
    auto type = VectorType::get(lanes, load.getType());
    auto bits = VectorType::get(
        lanes, b.getIntegerType(load.getType().getIntOrFloatBitWidth()));
    SmallVector<Value> rows;
    for (int64_t k = 0; k < lanes; ++k) {
      Value row = vector::LoadOp::create(b, type, load.getMemRef(),
                                         indices(load, i, numbered(j, k)));
      rows.push_back(vector::BitCastOp::create(b, bits, row));
    }
    SmallVector<int64_t> low, high;
    for (int64_t k = 0; k < lanes / 2; ++k) {
      low.append({k, k + lanes});
      high.append({k + lanes / 2, k + lanes / 2 + lanes});
    }
    for (int64_t done = 1; done < lanes; done *= 2) {
      SmallVector<Value> next;
      for (int64_t k = 0; k < lanes / 2; ++k)
        for (const SmallVector<int64_t> &order : {low, high})
          next.push_back(vector::ShuffleOp::create(b, rows[k],
                                                   rows[k + lanes / 2], order));
      rows = next;
    }
    for (auto [k, row] : llvm::enumerate(rows))
      vector::StoreOp::create(b, vector::BitCastOp::create(b, type, row), tile,
                              place(b, numbered(i, k), j));
  }

  scf::ForOp outer, inner;
  int64_t side = 0;
  SmallVector<memref::LoadOp> crossed;
};

struct TransposeTilesPass
    : public PassWrapper<TransposeTilesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TransposeTilesPass)
  TransposeTilesPass() = default;
  TransposeTilesPass(const TransposeTilesPass &other) : PassWrapper(other) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect, vector::VectorDialect>();
  }
  StringRef getArgument() const final { return "lingon-transpose-tiles"; }
  StringRef getDescription() const final {
    return "transpose narrow elements that the loops over a tile read across";
  }
  Option<int64_t> bits{*this, "bits", llvm::cl::init(0),
                       llvm::cl::desc("length of the target's vectors; below "
                                      "128 nothing is done")};

  void runOnOperation() override {
    if (bits < 128)
      return;
    for (scf::ForOp loop : innermostLoops(getOperation()))
      if (Tile tile(loop); tile.find())
        tile.emit(getOperation().getBody().front());
  }
};

} // namespace

LINGON_REGISTER_PASS(TransposeTilesPass)
