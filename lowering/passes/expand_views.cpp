//===- expand_views.cpp - parts of buffers become descriptors -------------===//
//
// Upstream's patterns of expand-strided-metadata and lower-affine, applied to
// views, to what takes descriptors apart, and to the arithmetic of both.
// Upstream's passes look at every operation of the module, and the first tries
// to fold it and cleans all regions up, for the sake of few.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

struct ExpandViewsPass
    : public PassWrapper<ExpandViewsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandViewsPass)
  StringRef getArgument() const final { return "lingon-expand-views"; }
  StringRef getDescription() const final {
    return "make descriptors and plain arithmetic of views of buffers";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    memref::MemRefDialect>();
  }

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    memref::populateExpandStridedMetadataPatterns(set);
    populateAffineToStdConversionPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> views;
    getOperation().walk([&](Operation *op) {
      if (isa<ViewLikeOpInterface, memref::ExtractStridedMetadataOp,
              memref::ExtractAlignedPointerAsIndexOp, affine::AffineApplyOp,
              affine::AffineMinOp, affine::AffineMaxOp>(op))
        views.push_back(op);
    });
    if (views.empty())
      return;
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(views, patterns, config)))
      signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace

LINGON_REGISTER_PASS(ExpandViewsPass)
