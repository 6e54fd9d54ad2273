//===- LingonDialect.cpp - operations of the lingon dialect ---------------===//

#include "LingonDialect.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

#include "LingonDialect.cpp.inc"

void lingon::LingonDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "LingonOps.cpp.inc"
      >();
  attachBufferizationModels(*getContext());
}

bool lingon::dtypeCodeMatches(int32_t code, Type type) {
  switch (code) {
  case 0:
  case 3:
  case 7:
    return type.isInteger(8);
  case 1:
  case 2:
    return type.isInteger(4) || type.isInteger(8);
  case 4:
  case 8:
    return type.isInteger(16);
  case 5:
  case 9:
    return type.isInteger(32);
  case 6:
  case 10:
    return type.isInteger(64);
  case 11:
    return type.isF16();
  case 12:
    return type.isBF16();
  case 13:
    return type.isF32();
  case 14:
    return type.isF64();
  case 15:
  case 16: {
    auto complex = dyn_cast<ComplexType>(type);
    return complex && (code == 15 ? complex.getElementType().isF32()
                                  : complex.getElementType().isF64());
  }
  case 17:
    return isa<Float8E4M3FNType>(type) || type.isInteger(8);
  case 18:
    return isa<Float8E5M2Type>(type) || type.isInteger(8);
  case 19:
    return isa<Float8E4M3B11FNUZType>(type) || type.isInteger(8);
  case 20:
    return isa<Float8E4M3FNUZType>(type) || type.isInteger(8);
  case 21:
    return isa<Float8E5M2FNUZType>(type) || type.isInteger(8);
  case 22:
    return isa<Float8E3M4Type>(type) || type.isInteger(8);
  case 23:
    return isa<Float8E4M3Type>(type) || type.isInteger(8);
  case 24:
    return isa<Float8E8M0FNUType>(type) || type.isInteger(8);
  default:
    return false;
  }
}

LogicalResult lingon::KernelCallOp::verify() {
  StringRef name = getCallee();
  if (name.empty())
    return emitOpError("expects the name of a kernel, got an empty string");
  for (char c : name)
    if (!llvm::isAlnum(c) && c != '_')
      return emitOpError("kernel name '")
             << name << "' may hold only letters, digits and underscores";
  if (getOutputs().empty() && !getSideEffects())
    return emitOpError("expects at least one 'outs' operand");

  size_t operands = getInputs().size() + getOutputs().size();
  if (getDtypes().size() != operands)
    return emitOpError("expects one dtype code per operand (")
           << operands << "), got " << getDtypes().size();

  bool onTensors = this->onTensors();
  size_t index = 0;
  for (Value operand : llvm::concat<Value>(getInputs(), getOutputs())) {
    auto type = cast<ShapedType>(operand.getType());
    if (isa<RankedTensorType>(type) != onTensors)
      return emitOpError("expects operands that are all tensors or all "
                         "memrefs, operand ")
             << index << " is " << Type(type);
    int32_t code = getDtypes()[index];
    if (!dtypeCodeMatches(code, type.getElementType()))
      return emitOpError("dtype code ")
             << code << " does not describe elements of type "
             << type.getElementType() << " (operand " << index << ")";
    ++index;
  }

  if (!onTensors) {
    if (!getResults().empty())
      return emitOpError("on memrefs has no results, got ")
             << getResults().size();
    return success();
  }
  if (getResults().size() != getOutputs().size())
    return emitOpError("expects one result per 'outs' operand (")
           << getOutputs().size() << "), got " << getResults().size();
  for (auto [position, output, result] :
       llvm::enumerate(getOutputs(), getResults()))
    if (output.getType() != result.getType())
      return emitOpError("expects result ")
             << position << " to have the type of its 'outs' operand, "
             << output.getType() << ", got " << result.getType();
  return success();
}

/// What an operation does to its buffers, inputs and outputs, and whether it
/// has effects beside that.
static void
addEffects(MutableOperandRange inputs, MutableOperandRange outputs,
           bool readsOutputs, bool sideEffects,
           SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
               &effects) {
  auto *resource = SideEffects::DefaultResource::get();
  if (sideEffects) {
    effects.emplace_back(MemoryEffects::Read::get(), resource);
    effects.emplace_back(MemoryEffects::Write::get(), resource);
  }
  for (OpOperand &input : inputs)
    if (isa<MemRefType>(input.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &input, resource);
  for (OpOperand &output : outputs) {
    if (!isa<MemRefType>(output.get().getType()))
      continue;
    if (readsOutputs)
      effects.emplace_back(MemoryEffects::Read::get(), &output, resource);
    effects.emplace_back(MemoryEffects::Write::get(), &output, resource);
  }
}

void lingon::KernelCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(getInputsMutable(), getOutputsMutable(), getReadsOutputs(),
             getSideEffects(), effects);
}

void lingon::CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(getInputsMutable(), getOutputsMutable(), false, getSideEffects(),
             effects);
}

LogicalResult lingon::CallOp::verify() {
  bool buffers = false, tensors = false;
  for (Type type : (*this)->getOperandTypes()) {
    buffers |= isa<BaseMemRefType>(type);
    tensors |= isa<TensorType>(type);
  }
  if (buffers && tensors)
    return emitOpError("expects no memrefs among tensors");
  if (getOutputs().empty() && !getSideEffects())
    return emitOpError("expects at least one 'outs' operand");
  if (buffers && !getResults().empty())
    return emitOpError("on memrefs has no results, got ")
           << getResults().size();
  if (!buffers && getOutputs().getTypes() != getResultTypes())
    return emitOpError("expects results of the types of its 'outs' operands");
  return success();
}

#define GET_OP_CLASSES
#include "LingonOps.cpp.inc"

LogicalResult lingon::BarrierOp::verify() {
  if (getOperands().getTypes() != getResultTypes())
    return emitOpError("expects results of the operands' types");
  return success();
}
