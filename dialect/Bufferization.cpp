//===- Bufferization.cpp - how lingon operations become memref operations -===//

#include "LingonDialect.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

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

/// The buffer of `value`, in a layout that a function takes: a copy of it,
/// unless its elements lie one after the other.
FailureOr<Value> denseBuffer(RewriterBase &rewriter, Location loc, Value value,
                             bool isRead, const BufferizationOptions &options,
                             BufferizationState &state) {
  FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
  if (failed(buffer))
    return failure();
  auto type = cast<MemRefType>(buffer->getType());
  if (memref::isStaticShapeAndContiguousRowMajor(type))
    return buffer;
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  FailureOr<Value> made =
      options.createAlloc(rewriter, loc, dense, /*dynShape=*/{});
  if (succeeded(made) && isRead &&
      failed(options.createMemCpy(rewriter, loc, *buffer, *made)))
    return failure();
  return made;
}

struct CallModel
    : DstBufferizableOpInterfaceExternalModel<CallModel, lingon::CallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<lingon::CallOp>(op).isDpsInit(&operand);
  }
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &) const {
    return cast<lingon::CallOp>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<lingon::CallOp>(op);
    if (call.getResults().empty())
      return success();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> inputs, outputs, results;
    for (Value value : call.getInputs()) {
      if (!isa<TensorType>(value.getType())) {
        inputs.push_back(value);
        continue;
      }
      FailureOr<Value> buffer = denseBuffer(rewriter, op->getLoc(), value,
                                            /*isRead=*/true, options, state);
      if (failed(buffer))
        return failure();
      inputs.push_back(*buffer);
    }
    for (Value value : call.getOutputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      FailureOr<Value> dense = denseBuffer(rewriter, op->getLoc(), value,
                                           /*isRead=*/false, options, state);
      if (failed(buffer) || failed(dense))
        return failure();
      results.push_back(*buffer);
      outputs.push_back(*dense);
    }
    auto created = lingon::CallOp::create(rewriter, op->getLoc(), TypeRange{},
                                          call.getCalleeAttr(), inputs, outputs,
                                          call.getSideEffectsAttr());
    created->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [made, wanted] : llvm::zip(outputs, results))
      if (made != wanted && made.getType() != wanted.getType() &&
          failed(options.createMemCpy(rewriter, op->getLoc(), made, wanted)))
        return failure();
    replaceOpWithBufferizedValues(rewriter, op, results);
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
  CallOp::attachInterface<CallModel>(context);
  BarrierOp::attachInterface<BarrierModel>(context);
}
