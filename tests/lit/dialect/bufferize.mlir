// RUN: mlir-dump %s --passes eliminate-empty-tensors,empty-tensor-to-alloc-tensor,one-shot-bufferize,canonicalize | FileCheck %s

// The last result is computed in the caller's buffer; nothing is copied. `rev` reads and writes
// different buffers, since a kernel may read an input after it wrote an output.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>, %[[O:.*]]: memref<4xf32>)
// CHECK-NOT:     memref.copy
// CHECK:         %[[T:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK-NEXT:    lingon.kernel_call "sort" ins(%[[X]] : memref<4xf32>) outs(%[[T]] : memref<4xf32>) {config = array<i64: 7>, dtypes = array<i32: 13, 13>}
// CHECK-NEXT:    lingon.kernel_call "rev" ins(%[[T]] : memref<4xf32>) outs(%[[O]] : memref<4xf32>)
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @chain(%xm: memref<4xf32>, %om: memref<4xf32>) {
  %x = bufferization.to_tensor %xm restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %0 = lingon.kernel_call "sort" ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {config = array<i64: 7>, dtypes = array<i32: 13, 13>} -> tensor<4xf32>
  %1 = lingon.kernel_call "rev" ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {dtypes = array<i32: 13, 13>} -> tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %om : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// An output whose initial contents are read is copied if the program still needs the original.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>, %[[O:.*]]: memref<4xf32>)
// CHECK:         memref.copy %[[X]], %[[T:.*]] : memref<4xf32>
// CHECK:         lingon.kernel_call "add" outs(%[[T]] : memref<4xf32>) {dtypes = array<i32: 13>, reads_outputs}
// CHECK:         lingon.kernel_call "mul" ins(%[[X]], %[[T]] : memref<4xf32>, memref<4xf32>)
func.func @accumulate(%xm: memref<4xf32>, %om: memref<4xf32>) {
  %x = bufferization.to_tensor %xm restrict : memref<4xf32> to tensor<4xf32>
  %0 = lingon.kernel_call "add" outs(%x : tensor<4xf32>) {dtypes = array<i32: 13>, reads_outputs} -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %1 = lingon.kernel_call "mul" ins(%x, %0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {dtypes = array<i32: 13, 13, 13>} -> tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %om : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// The results of a barrier are the buffers of its operands.
// CHECK-LABEL: func.func @barrier(
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>, %[[O:.*]]: memref<4xf32>)
// CHECK-NOT:     memref.copy
// CHECK-NOT:     lingon.barrier
// CHECK:         lingon.kernel_call "rev" ins(%[[X]] : memref<4xf32>) outs(%[[O]] : memref<4xf32>)
func.func @barrier(%xm: memref<4xf32>, %om: memref<4xf32>) {
  %x = bufferization.to_tensor %xm restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = lingon.barrier %x : tensor<4xf32> -> tensor<4xf32>
  %0 = lingon.kernel_call "rev" ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>) {dtypes = array<i32: 13, 13>} -> tensor<4xf32>
  bufferization.materialize_in_destination %0 in restrict writable %om : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// A call with side effects and no results keeps its place.
// CHECK-LABEL: func.func @effects(
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>, %[[O:.*]]: memref<4xf32>)
// CHECK:         lingon.kernel_call "callback" ins(%[[X]] : memref<4xf32>) {config = array<i64: 0, 1>, dtypes = array<i32: 13>, side_effects}
// CHECK:         lingon.kernel_call "rev" ins(%[[X]] : memref<4xf32>) outs(%[[O]] : memref<4xf32>)
// CHECK:         lingon.kernel_call "callback" ins(%[[O]] : memref<4xf32>) {config = array<i64: 1, 1>, dtypes = array<i32: 13>, side_effects}
func.func @effects(%xm: memref<4xf32>, %om: memref<4xf32>) {
  %x = bufferization.to_tensor %xm restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  lingon.kernel_call "callback" ins(%x : tensor<4xf32>) {config = array<i64: 0, 1>, dtypes = array<i32: 13>, side_effects}
  %0 = lingon.kernel_call "rev" ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {dtypes = array<i32: 13, 13>} -> tensor<4xf32>
  lingon.kernel_call "callback" ins(%0 : tensor<4xf32>) {config = array<i64: 1, 1>, dtypes = array<i32: 13>, side_effects}
  bufferization.materialize_in_destination %0 in restrict writable %om : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
