//===- structured.h - what the fusion passes ask about linalg ---*- C++ -*-===//

#ifndef LINGON_PASSES_STRUCTURED_H
#define LINGON_PASSES_STRUCTURED_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace lingon {

/// A linalg.generic on statically shaped tensors.
inline bool isStaticTensorGeneric(mlir::linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics())
    return false;
  for (int64_t extent : op.getStaticLoopRanges())
    if (mlir::ShapedType::isDynamic(extent))
      return false;
  return true;
}

/// The scalar that fills all of `tensor`, or null: a linalg.fill, or a splat
/// constant (for which a scalar constant is made at the builder).
inline mlir::Value splatValue(mlir::OpBuilder &builder, mlir::Value tensor) {
  if (auto fill = tensor.getDefiningOp<mlir::linalg::FillOp>())
    return fill.getInputs()[0];
  mlir::DenseElementsAttr attr;
  if (!mlir::matchPattern(tensor, mlir::m_Constant(&attr)) || !attr.isSplat())
    return {};
  if (mlir::isa<mlir::ComplexType>(attr.getElementType()))
    return mlir::complex::ConstantOp::create(
        builder, tensor.getLoc(), attr.getElementType(),
        attr.getSplatValue<mlir::ArrayAttr>());
  return mlir::arith::ConstantOp::create(builder, tensor.getLoc(),
                                         attr.getSplatValue<mlir::TypedAttr>());
}

inline bool isSplat(mlir::Value tensor) {
  if (tensor.getDefiningOp<mlir::linalg::FillOp>())
    return true;
  mlir::DenseElementsAttr attr;
  return mlir::matchPattern(tensor, mlir::m_Constant(&attr)) &&
         attr.isSplat() && !mlir::isa<mlir::ComplexType>(attr.getElementType());
}

/// If `tensor` is a reshape that only adds or drops dimensions of size one,
/// rewrites `map` to index the source and returns the source; else null.
inline mlir::Value lookThroughUnitReshape(mlir::Value tensor,
                                          mlir::AffineMap &map) {
  using namespace mlir;
  Operation *op = tensor.getDefiningOp();
  if (!op || !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return {};
  Value source = op->getOperand(0);
  auto from = dyn_cast<RankedTensorType>(source.getType());
  auto to = dyn_cast<RankedTensorType>(tensor.getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape())
    return {};
  auto isUnit = [](int64_t size) { return size == 1; };
  SmallVector<int64_t> a(from.getShape()), b(to.getShape());
  llvm::erase_if(a, isUnit);
  llvm::erase_if(b, isUnit);
  if (a != b)
    return {};
  SmallVector<AffineExpr> kept;
  for (auto [expr, size] : llvm::zip(map.getResults(), to.getShape()))
    if (size != 1)
      kept.push_back(expr);
  SmallVector<AffineExpr> results;
  unsigned next = 0;
  for (int64_t size : from.getShape())
    results.push_back(size == 1 ? getAffineConstantExpr(0, map.getContext())
                                : kept[next++]);
  map = AffineMap::get(map.getNumDims(), 0, results, map.getContext());
  return source;
}

/// Dimensions of the loops whose extent is one become the constant zero.
inline mlir::AffineMap dropUnitDims(mlir::AffineMap map,
                                    mlir::ArrayRef<int64_t> extents) {
  using namespace mlir;
  SmallVector<AffineExpr> replacements;
  for (auto [d, extent] : llvm::enumerate(extents))
    replacements.push_back(extent == 1
                               ? getAffineConstantExpr(0, map.getContext())
                               : getAffineDimExpr(d, map.getContext()));
  return map.replaceDimsAndSymbols(replacements, {}, extents.size(), 0);
}

/// True if `op` must keep its place among the operations with side effects.
/// Reading an argument that nothing else writes is none.
inline bool isOrdered(mlir::Operation *op) {
  if (auto read = mlir::dyn_cast<mlir::bufferization::ToTensorOp>(op))
    return !read.getRestrict();
  return !mlir::isMemoryEffectFree(op);
}

/// Scalar work of a body, elementary functions and divisions weighted.
inline unsigned bodyCost(mlir::Block &body) {
  using namespace mlir;
  unsigned cost = 0;
  body.walk([&](Operation *op) {
    if (isa<linalg::YieldOp, linalg::IndexOp>(op) ||
        op->hasTrait<OpTrait::ConstantLike>())
      return;
    if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp>(op) ||
        (isa<arith::ArithDialect>(op->getDialect()) &&
         !isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
              arith::RemSIOp, arith::RemUIOp>(op)))
      cost += 1;
    else if (isa<math::MathDialect>(op->getDialect()) &&
             !isa<math::SqrtOp, math::RsqrtOp>(op))
      cost += 48; // instructions of an elementary function
    else
      cost += 16;
  });
  return cost;
}

/// The blocks of a function that hold structured operations: all but the bodies
/// of those operations.
inline llvm::SmallVector<mlir::Block *>
blocksAroundStructured(mlir::Operation *function) {
  llvm::SmallVector<mlir::Block *> blocks;
  function->walk([&](mlir::Operation *op) {
    if (mlir::isa<mlir::linalg::LinalgOp>(op))
      return;
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &inner : region)
        blocks.push_back(&inner);
  });
  return blocks;
}

} // namespace lingon

#endif // LINGON_PASSES_STRUCTURED_H
