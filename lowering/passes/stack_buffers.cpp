//===- stack_buffers.cpp - small temporaries live on the stack ------------===//
//
// Buffers made in the body of a parallel loop go to the stack of the thread
// that runs it, up to a bound; so do tiny ones elsewhere, in the entry block of
// the function. What remains is placed by lingon-plan-buffers.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"
#include "buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace {

struct StackBuffersPass
    : public PassWrapper<StackBuffersPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StackBuffersPass)
  StackBuffersPass() = default;
  StackBuffersPass(const StackBuffersPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "lingon-stack-buffers"; }
  StringRef getDescription() const final {
    return "put small static buffers on the stack";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<memref::MemRefDialect>();
  }
  Option<int64_t> parallelBytes{
      *this, "parallel-bytes", llvm::cl::init(512 * 1024),
      llvm::cl::desc("bytes in the body of one parallel loop, at most")};
  Option<int64_t> smallBytes{
      *this, "small-bytes", llvm::cl::init(256),
      llvm::cl::desc("size of a buffer that goes to the stack anywhere")};
  Option<int64_t> totalBytes{
      *this, "total-bytes", llvm::cl::init(16 * 1024),
      llvm::cl::desc("bytes of such buffers in one function, at most")};

  void runOnOperation() override {
    DenseMap<Operation *, int64_t> usedInLoop;
    int64_t used = 0;
    SmallVector<memref::AllocOp> allocs;
    getOperation().walk([&](memref::AllocOp alloc) {
      MemRefType type = alloc.getType();
      if (type.hasStaticShape() && type.getLayout().isIdentity() &&
          alloc.getSymbolOperands().empty())
        allocs.push_back(alloc);
    });
    // Small ones first: they profit most.
    llvm::stable_sort(allocs, [](memref::AllocOp a, memref::AllocOp b) {
      return lingon::bufferBytes(a.getType()) <
             lingon::bufferBytes(b.getType());
    });
    for (memref::AllocOp alloc : allocs) {
      int64_t bytes = llvm::alignTo(lingon::bufferBytes(alloc.getType()), 64);
      if (!lingon::staysLocal(alloc))
        continue;
      OpBuilder builder(alloc);
      if (Operation *loop = outermostParallel(alloc)) {
        int64_t &inLoop = usedInLoop[loop];
        if (inLoop + bytes > parallelBytes)
          continue;
        inLoop += bytes;
      } else {
        if (bytes > smallBytes || used + bytes > totalBytes)
          continue;
        used += bytes;
        builder.setInsertionPointToStart(&getOperation().getBody().front());
      }
      Value space =
          memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType(),
                                   builder.getI64IntegerAttr(64));
      for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      alloc.replaceAllUsesWith(space);
      alloc.erase();
    }
  }

  static Operation *outermostParallel(Operation *op) {
    Operation *found = nullptr;
    for (Operation *parent = op->getParentOp(); parent;
         parent = parent->getParentOp())
      if (isa<scf::ParallelOp, scf::ForallOp>(parent))
        found = parent;
    return found;
  }
};

} // namespace

LINGON_REGISTER_PASS(StackBuffersPass)
