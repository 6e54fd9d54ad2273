//===- Bufferization.cpp - how lingon operations become memref operations -===//

#include "LingonDialect.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {

/// The analysis asks about each operand as often as its value is read, and what
/// the operation's own interface answers takes the making of an attribute.
bool isOutput(Operation *op, OpOperand &operand) {
  return operand.getOperandNumber() >=
         cast<lingon::KernelCallOp>(op).getInputs().size();
}

struct KernelCallModel
    : DstBufferizableOpInterfaceExternalModel<KernelCallModel,
                                              lingon::KernelCallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !isOutput(op, operand) ||
           cast<lingon::KernelCallOp>(op).getReadsOutputs();
  }
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &) const {
    return isOutput(op, operand);
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    if (!isOutput(op, operand))
      return {};
    unsigned inputs = cast<lingon::KernelCallOp>(op).getInputs().size();
    return {{op->getResult(operand.getOperandNumber() - inputs),
             BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<lingon::KernelCallOp>(op);
    if (!call.onTensors())
      return success();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> inputs, outputs;
    for (Value value : call.getInputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      inputs.push_back(*buffer);
    }
    for (Value value : call.getOutputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      outputs.push_back(*buffer);
    }
    auto created = lingon::KernelCallOp::create(
        rewriter, op->getLoc(), TypeRange{}, call.getCalleeAttr(), inputs,
        outputs, call.getConfigAttr(), call.getDtypesAttr(),
        call.getReadsOutputsAttr(), call.getSideEffectsAttr());
    created->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    replaceOpWithBufferizedValues(rewriter, op, outputs);
    return success();
  }
};

/// The results are the operands' buffers.
struct BarrierModel
    : BufferizableOpInterface::ExternalModel<BarrierModel, lingon::BarrierOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    return {{op->getResult(operand.getOperandNumber()),
             BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    SmallVector<Value> buffers;
    for (Value value : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    replaceOpWithBufferizedValues(rewriter, op, buffers);
    return success();
  }
};

} // namespace

void lingon::attachBufferizationModels(MLIRContext &context) {
  KernelCallOp::attachInterface<KernelCallModel>(context);
  BarrierOp::attachInterface<BarrierModel>(context);
}
