// RUN: mlir-dump %s --passes 'func.func(lingon-loop-copies)' | FileCheck %s

// A constant tensor is made anew in every iteration.
// CHECK-LABEL: func.func @constant
// CHECK:         scf.for
// CHECK:           %[[E:.*]] = tensor.empty() : tensor<5xf32>
// CHECK:           %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[E]] : tensor<5xf32>)
// CHECK:           tensor.insert_slice %{{.*}} into %[[Z]][%{{.*}}]
func.func @constant(%c: tensor<5xf32>, %part: tensor<1xf32>) -> tensor<5xf32> {
  %zero = arith.constant 0.0 : f32
  %lo = arith.constant 0 : index
  %hi = arith.constant 4 : index
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %r = scf.for %i = %lo to %hi step %one iter_args(%a = %c) -> (tensor<5xf32>) {
    %w = tensor.insert_slice %part into %zeros[%i] [1] [1] : tensor<1xf32> into tensor<5xf32>
    %s = linalg.add ins(%a, %w : tensor<5xf32>, tensor<5xf32>) outs(%a : tensor<5xf32>) -> tensor<5xf32>
    scf.yield %s : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// Any other tensor is copied, also where the write is in a branch.
// CHECK-LABEL: func.func @computed
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK:             %[[C:.*]] = bufferization.alloc_tensor() copy(%arg1)
// CHECK:             tensor.insert %{{.*}} into %[[C]][%{{.*}}]
func.func @computed(%c: tensor<5xf32>, %x: tensor<5xf32>, %v: f32, %p: i1) -> tensor<5xf32> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 4 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %hi step %one iter_args(%a = %c) -> (tensor<5xf32>) {
    %s = scf.if %p -> (tensor<5xf32>) {
      %w = tensor.insert %v into %x[%i] : tensor<5xf32>
      scf.yield %w : tensor<5xf32>
    } else {
      scf.yield %a : tensor<5xf32>
    }
    scf.yield %s : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// The carry, and what is made in the same iteration, are written as they are.
// CHECK-LABEL: func.func @own
// CHECK-NOT:     alloc_tensor
// CHECK:         return
func.func @own(%c: tensor<5xf32>, %v: f32) -> tensor<5xf32> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 4 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %hi step %one iter_args(%a = %c) -> (tensor<5xf32>) {
    %w = tensor.insert %v into %a[%i] : tensor<5xf32>
    %u = tensor.insert %v into %w[%lo] : tensor<5xf32>
    scf.yield %u : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}
