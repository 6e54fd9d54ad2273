// RUN: mlir-dump %s --passes canonicalize,cse | FileCheck %s
// RUN: not mlir-dump %S/Inputs/barrier_type.mlir --passes cse 2>&1 | FileCheck %s --check-prefix=TYPE

// What is computed behind a barrier is computed again; a barrier that nothing reads is removed.
// CHECK-LABEL: func.func @repeated
// CHECK:         %[[B:.*]] = lingon.barrier %[[X:.*]] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NOT:     lingon.barrier
// CHECK-DAG:     math.sin %[[X]]
// CHECK-DAG:     math.sin %[[B]]
// CHECK-NOT:     math.sin
func.func @repeated(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = lingon.barrier %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>
  %w = lingon.barrier %x : tensor<4xf32> -> tensor<4xf32>
  %unused = lingon.barrier %x : tensor<4xf32> -> tensor<4xf32>
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.sin %x : tensor<4xf32>
  %2 = math.sin %w : tensor<4xf32>
  %3 = arith.addf %0, %1 : tensor<4xf32>
  return %3, %2 : tensor<4xf32>, tensor<4xf32>
}

// TYPE: 'lingon.barrier' op expects results of the operands' types
