// RUN: mlir-dump %s --passes 'func.func(lingon-function-results)' | FileCheck %s

// What is computed into an empty tensor is computed in the result.
// CHECK-LABEL: func.func @direct
// CHECK-SAME:      %[[X:.*]]: f32, %[[R:.*]]: memref<5xf32>
// CHECK:         %[[T:.*]] = bufferization.to_tensor %[[R]] restrict writable
// CHECK:         linalg.fill ins(%[[X]] : f32) outs(%[[T]] : tensor<5xf32>)
// CHECK:         bufferization.materialize_in_destination %{{.*}} in writable %[[R]]
func.func @direct(%x: f32, %r: memref<5xf32>) {
  %e = tensor.empty() : tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  bufferization.materialize_in_destination %z in restrict writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}

// Each branch of a conditional does so; its result is hidden from upstream's pass for the same.
// CHECK-LABEL: func.func @branches
// CHECK:         %[[T:.*]] = bufferization.to_tensor %arg3 restrict writable
// CHECK:         %[[F:.*]] = scf.if
// CHECK:           linalg.fill ins(%arg1 : f32) outs(%[[T]] : tensor<5xf32>)
// CHECK:         } else {
// CHECK:           linalg.fill ins(%arg2 : f32) outs(%[[T]] : tensor<5xf32>)
// CHECK:         %[[H:.*]] = builtin.unrealized_conversion_cast %[[F]]
// CHECK:         bufferization.materialize_in_destination %{{.*}} in writable %arg3
func.func @branches(%p: i1, %x: f32, %y: f32, %r: memref<5xf32>) {
  %f = scf.if %p -> (tensor<5xf32>) {
    %e = tensor.empty() : tensor<5xf32>
    %a = linalg.fill ins(%x : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
    scf.yield %a : tensor<5xf32>
  } else {
    %e = tensor.empty() : tensor<5xf32>
    %a = linalg.fill ins(%y : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
    scf.yield %a : tensor<5xf32>
  }
  bufferization.materialize_in_destination %f in restrict writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}

// A value on the way that somebody else reads would be overwritten too early.
// CHECK-LABEL: func.func @read
// CHECK:         %[[E:.*]] = tensor.empty()
// CHECK:         linalg.fill ins(%arg0 : f32) outs(%[[E]] : tensor<5xf32>)
// CHECK:         bufferization.materialize_in_destination %{{.*}} in restrict writable %arg1
func.func @read(%x: f32, %r: memref<5xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i = tensor.insert %x into %z[%c0] : tensor<5xf32>
  %old = tensor.extract %z[%c0] : tensor<5xf32>
  bufferization.materialize_in_destination %i in restrict writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  return %old : f32
}

// A reshaped tensor is computed in the reshaped result.
// CHECK-LABEL: func.func @reshaped
// CHECK:         %[[R:.*]] = memref.expand_shape %arg1 {{\[\[}}0, 1]] output_shape [2, 4]
// CHECK:         %[[S:.*]] = memref.collapse_shape %[[R]] {{\[\[}}0, 1]]
// CHECK:         %[[T:.*]] = bufferization.to_tensor %[[S]] restrict writable
// CHECK:         linalg.fill ins(%arg0 : f32) outs(%[[T]] : tensor<8xf32>)
// CHECK:         bufferization.materialize_in_destination %{{.*}} in writable %[[S]]
func.func @reshaped(%x: f32, %r: memref<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %m = tensor.expand_shape %z [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %f = tensor.collapse_shape %m [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  bufferization.materialize_in_destination %f in restrict writable %r : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}
