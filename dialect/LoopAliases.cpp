//===- LoopAliases.cpp - what the carries of a loop share, in little time -===//
//
// Bufferization asks for each carry of an scf.for which operand it may share
// memory with, once for each value that leads to it. MLIR's answer compares all
// operands with all results, so that the analysis of a loop takes the third
// power of the number of its carries: 12 s for the gradient of a scan over 200
// arrays. Here operand, region argument, yielded value and result are found by
// their number. The answers are the same.
//
//===----------------------------------------------------------------------===//

#include "LingonDialect.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {

using Model = BufferizableOpInterface::Concept;

/// That `other`, the initial value or the result of a carry, is the same buffer
/// as the other of the two if the body yields the buffer that it got.
template <typename Alias, typename Other>
Alias aliasOf(scf::ForOp loop, unsigned carry, Other other,
              const AnalysisState &state) {
  bool same = state.areEquivalentBufferizedValues(
      loop.getRegionIterArg(carry), loop.getYieldedValues()[carry]);
  return Alias(other,
               same ? BufferRelation::Equivalent : BufferRelation::Unknown,
               /*isDefinite=*/same);
}

AliasingValueList aliasingValues(const Model *, Operation *op,
                                 OpOperand &operand,
                                 const AnalysisState &state) {
  auto loop = cast<scf::ForOp>(op);
  unsigned carry = operand.getOperandNumber() - loop.getNumControlOperands();
  return {aliasOf<AliasingValue>(loop, carry, loop->getResult(carry), state)};
}

AliasingOpOperandList aliasingOperands(const Model *, Operation *op,
                                       Value value,
                                       const AnalysisState &state) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return {};
  auto loop = cast<scf::ForOp>(op);
  unsigned carry = result.getResultNumber();
  return {aliasOf<AliasingOpOperand>(loop, carry,
                                     &loop.getInitArgsMutable()[carry], state)};
}

bool readsOperand(const Model *, Operation *op, OpOperand &operand,
                  const AnalysisState &state) {
  auto loop = cast<scf::ForOp>(op);
  return state.isValueRead(loop.getRegionIterArg(operand.getOperandNumber() -
                                                 loop.getNumControlOperands()));
}

} // namespace

void lingon::attachLoopAliases(MLIRContext &context) {
  context.getOrLoadDialect<scf::SCFDialect>();
  Model *model =
      RegisteredOperationName::lookup(scf::ForOp::getOperationName(), &context)
          ->getInterface<BufferizableOpInterface>();
  model->getAliasingValues = aliasingValues;
  model->getAliasingOpOperands = aliasingOperands;
  model->bufferizesToMemoryRead = readsOperand;
}
