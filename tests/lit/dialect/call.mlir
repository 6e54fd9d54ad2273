// RUN: mlir-dump %s --passes canonicalize,cse | FileCheck %s
// RUN: mlir-dump %s --passes one-shot-bufferize,canonicalize | FileCheck %s --check-prefix=BUFFERS

// Equal calls are one, and what is not read is not called; effects are kept.
// CHECK-LABEL: func.func @equal(
// CHECK:         %[[A:.*]]:2 = lingon.call @f ins(%{{.*}}, %{{.*}} : tensor<4xf32>, f32) outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<f32>) -> tensor<4xf32>, tensor<f32>
// CHECK-NEXT:    lingon.call @g ins(%{{.*}} : tensor<4xf32>) outs(%{{.*}} : tensor<4xf32>) {side_effects} -> tensor<4xf32>
// CHECK-NEXT:    return %[[A]]#0, %[[A]]#0
func.func @equal(%x: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %n = tensor.empty() : tensor<f32>
  %a:2 = lingon.call @f ins(%x, %s : tensor<4xf32>, f32) outs(%e, %n : tensor<4xf32>, tensor<f32>) -> tensor<4xf32>, tensor<f32>
  %b:2 = lingon.call @f ins(%x, %s : tensor<4xf32>, f32) outs(%e, %n : tensor<4xf32>, tensor<f32>) -> tensor<4xf32>, tensor<f32>
  %c = lingon.call @g ins(%b#0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {side_effects} -> tensor<4xf32>
  return %a#0, %b#0 : tensor<4xf32>, tensor<4xf32>
}

// A row is passed where it is, a column as a copy; the result is written where it belongs.
// BUFFERS-LABEL: func.func @parts(
// BUFFERS-SAME:    %[[X:.*]]: memref<4x4xf32>, %[[O:.*]]: memref<4xf32>)
// BUFFERS-DAG:     %[[ROW:.*]] = memref.subview %[[X]][1, 0] [1, 4] [1, 1]
// BUFFERS-DAG:     %[[COLUMN:.*]] = memref.subview %[[X]][0, 1] [4, 1] [1, 1]
// BUFFERS-DAG:     %[[COPY:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// BUFFERS:         memref.copy %[[COLUMN]], %[[COPY]]
// BUFFERS-NOT:     memref.copy
// BUFFERS:         lingon.call @h ins(%[[ROW]], %[[COPY]] : memref<4xf32, strided<[1], offset: 4>>, memref<4xf32>) outs(%[[O]] : memref<4xf32>)
// BUFFERS-NOT:     memref.copy
func.func @parts(%xm: memref<4x4xf32>, %om: memref<4xf32>) {
  %x = bufferization.to_tensor %xm restrict : memref<4x4xf32> to tensor<4x4xf32>
  %o = bufferization.to_tensor %om restrict writable : memref<4xf32> to tensor<4xf32>
  %row = tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
  %column = tensor.extract_slice %x[0, 1] [4, 1] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
  %r = lingon.call @h ins(%row, %column : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %r in writable %om : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
