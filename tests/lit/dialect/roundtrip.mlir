// RUN: mlir-dump %s --passes canonicalize | FileCheck %s
// RUN: mlir-dump %s --passes canonicalize > %t.mlir
// RUN: mlir-dump %t.mlir --passes canonicalize | FileCheck %s

// CHECK-LABEL: func.func @tensors
func.func @tensors(%x: tensor<8xf32>, %e: tensor<8xf32>, %i: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  // CHECK: lingon.kernel_call "sort" ins(%arg0 : tensor<8xf32>) outs(%arg1, %arg2 : tensor<8xf32>, tensor<8xi32>) {config = array<i64: 0, 1>, dtypes = array<i32: 13, 13, 5>} -> tensor<8xf32>, tensor<8xi32>
  %0:2 = lingon.kernel_call "sort" ins(%x : tensor<8xf32>) outs(%e, %i : tensor<8xf32>, tensor<8xi32>)
    {config = array<i64: 0, 1>, dtypes = array<i32: 13, 13, 5>} -> tensor<8xf32>, tensor<8xi32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// CHECK-LABEL: func.func @memrefs
func.func @memrefs(%x: memref<8xi8>, %o: memref<8xi8>) {
  // CHECK: lingon.kernel_call "flip" ins(%arg0 : memref<8xi8>) outs(%arg1 : memref<8xi8>) {dtypes = array<i32: 0, 0>, reads_outputs}
  lingon.kernel_call "flip" ins(%x : memref<8xi8>) outs(%o : memref<8xi8>) {dtypes = array<i32: 0, 0>, reads_outputs}
  return
}

// No inputs; the empty config is not printed.
// CHECK-LABEL: func.func @no_inputs
func.func @no_inputs(%o: memref<2xcomplex<f32>>) {
  // CHECK: lingon.kernel_call "zeros" outs(%arg0 : memref<2xcomplex<f32>>) {dtypes = array<i32: 15>}
  lingon.kernel_call "zeros" outs(%o : memref<2xcomplex<f32>>) {config = array<i64>, dtypes = array<i32: 15>}
  return
}

// With side effects there need be no operands, and the call stays.
// CHECK-LABEL: func.func @effects
func.func @effects(%x: tensor<2xi8>) {
  // CHECK: lingon.kernel_call "callback" {config = array<i64: 0, 0>, dtypes = array<i32>, side_effects}
  lingon.kernel_call "callback" {config = array<i64: 0, 0>, dtypes = array<i32>, side_effects}
  // CHECK: lingon.kernel_call "callback" ins(%arg0 : tensor<2xi8>) {config = array<i64: 1, 1>, dtypes = array<i32: 0>, side_effects}
  lingon.kernel_call "callback" ins(%x : tensor<2xi8>) {config = array<i64: 1, 1>, dtypes = array<i32: 0>, side_effects}
  return
}
