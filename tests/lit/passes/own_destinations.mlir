// RUN: mlir-dump %s --passes 'func.func(lingon-own-destinations)' | FileCheck %s

// CHECK-LABEL: func.func @shared
// CHECK:         %[[A:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         linalg.fill {{.*}} outs(%[[A]]
// CHECK:         scf.for
// CHECK:           %[[B:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:           linalg.fill {{.*}} outs(%[[B]]
// CHECK-NOT:     tensor.empty
// CHECK:         return
func.func @shared(%x: f32, %y: f32, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %a) -> (tensor<4xf32>) {
    %b = linalg.fill ins(%y : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  return %a, %r : tensor<4xf32>, tensor<4xf32>
}

// One operation with two destinations.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: tensor.empty
// CHECK:         linalg.generic
func.func @two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e, %e : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %o0: f32, %o1: f32):
    %n = arith.negf %in : f32
    linalg.yield %in, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// An argument with many readers; one that is written to stays one value.
// CHECK-LABEL: func.func @readers
// CHECK-COUNT-8: bufferization.to_tensor %arg0 restrict
// CHECK-NOT:     bufferization.to_tensor %arg0
// CHECK:         return
func.func @readers(%x: memref<f32>, %y: memref<f32>) -> (f32, f32) {
  %t = bufferization.to_tensor %x restrict : memref<f32> to tensor<f32>
  %w = bufferization.to_tensor %y restrict writable : memref<f32> to tensor<f32>
  %a = tensor.extract %t[] : tensor<f32>
  %b = tensor.extract %t[] : tensor<f32>
  %c = tensor.extract %t[] : tensor<f32>
  %d = tensor.extract %t[] : tensor<f32>
  %e = tensor.extract %t[] : tensor<f32>
  %f = tensor.extract %t[] : tensor<f32>
  %g = tensor.extract %t[] : tensor<f32>
  %h = tensor.extract %t[] : tensor<f32>
  return %a, %h : f32, f32
}
