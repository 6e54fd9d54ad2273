// Text that does not parse, and a program that has no LLVM form, are errors that show the place.
// RUN: not mlir-dump %s 2>&1 | FileCheck %s
// CHECK: error: compilation failed (stage linalg, step parse)
// CHECK: use of undeclared SSA value name
func.func @main(%out: memref<4xf32>) {
  memref.store %missing, %out[] : memref<4xf32>
  return
}
