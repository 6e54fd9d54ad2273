//===- LingonDialect.h - the lingon dialect ---------------------*- C++ -*-===//

#ifndef LINGON_DIALECT_H
#define LINGON_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "LingonDialect.h.inc"

#define GET_OP_CLASSES
#include "LingonOps.h.inc"

namespace lingon {

/// Attaches the bufferization model of the dialect's operations.
void attachBufferizationModels(mlir::MLIRContext &context);

/// The analysis of loops with many carries takes less time.
void attachLoopAliases(mlir::MLIRContext &context);

/// True if a buffer with elements of `type` may carry the dtype `code` of the
/// runtime's dtype table.
bool dtypeCodeMatches(int32_t code, mlir::Type type);

} // namespace lingon

#endif // LINGON_DIALECT_H
