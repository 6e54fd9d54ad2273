// RUN: mlir-dump %s --passes 'func.func(lingon-result-order)' | FileCheck %s

// What lies in the first result's memory is stored to the second one as soon as it is known.
// CHECK-LABEL: func.func @early
// CHECK:         %[[Z:.*]] = linalg.fill
// CHECK-NEXT:    bufferization.materialize_in_destination %[[Z]] in restrict writable %arg2
// CHECK-NEXT:    %[[I:.*]] = tensor.insert %arg0 into %[[Z]]
// CHECK-NEXT:    bufferization.materialize_in_destination %[[I]] in writable %arg1
func.func @early(%x: f32, %r: memref<5xf32>, %s: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %t = bufferization.to_tensor %r restrict writable : memref<5xf32> to tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%t : tensor<5xf32>) -> tensor<5xf32>
  %i = tensor.insert %x into %z[%c0] : tensor<5xf32>
  bufferization.materialize_in_destination %i in writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  bufferization.materialize_in_destination %z in restrict writable %s : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}

// Where something lies in the second result's memory, too, the order of the stores changes.
// CHECK-LABEL: func.func @order
// CHECK:         %[[I:.*]] = tensor.insert
// CHECK:         %[[F:.*]] = scf.if
// CHECK:         materialize_in_destination %[[F]] in writable %arg3
// CHECK-NEXT:    materialize_in_destination %[[I]] in writable %arg2
// CHECK-NEXT:    return
func.func @order(%x: f32, %p: i1, %r: memref<5xf32>, %s: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %t = bufferization.to_tensor %r restrict writable : memref<5xf32> to tensor<5xf32>
  %u = bufferization.to_tensor %s restrict writable : memref<5xf32> to tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%t : tensor<5xf32>) -> tensor<5xf32>
  %i = tensor.insert %x into %z[%c0] : tensor<5xf32>
  %f = scf.if %p -> (tensor<5xf32>) {
    scf.yield %z : tensor<5xf32>
  } else {
    %w = linalg.fill ins(%x : f32) outs(%u : tensor<5xf32>) -> tensor<5xf32>
    scf.yield %w : tensor<5xf32>
  }
  bufferization.materialize_in_destination %i in writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  bufferization.materialize_in_destination %f in writable %s : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}

// Each may lie in the other's memory: one is saved.
// CHECK-LABEL: func.func @copy
// CHECK:         %[[A:.*]] = arith.select
// CHECK:         %[[B:.*]] = arith.select
// CHECK:         %[[C:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK-NEXT:    materialize_in_destination %[[B]] in writable %arg2
// CHECK-NEXT:    materialize_in_destination %[[C]] in writable %arg1
func.func @copy(%p: i1, %r: memref<5xf32>, %s: memref<5xf32>) {
  %x = arith.constant 0.0 : f32
  %t = bufferization.to_tensor %r restrict writable : memref<5xf32> to tensor<5xf32>
  %u = bufferization.to_tensor %s restrict writable : memref<5xf32> to tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%t : tensor<5xf32>) -> tensor<5xf32>
  %w = linalg.fill ins(%x : f32) outs(%u : tensor<5xf32>) -> tensor<5xf32>
  %a = arith.select %p, %z, %w : tensor<5xf32>
  %b = arith.select %p, %w, %z : tensor<5xf32>
  bufferization.materialize_in_destination %a in writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  bufferization.materialize_in_destination %b in writable %s : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}

// Nothing is shared: nothing changes.
// CHECK-LABEL: func.func @apart
// CHECK:         materialize_in_destination %{{.*}} in writable %arg1
// CHECK-NEXT:    materialize_in_destination %{{.*}} in writable %arg2
func.func @apart(%x: f32, %r: memref<5xf32>, %s: memref<5xf32>) {
  %t = bufferization.to_tensor %r restrict writable : memref<5xf32> to tensor<5xf32>
  %u = bufferization.to_tensor %s restrict writable : memref<5xf32> to tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%t : tensor<5xf32>) -> tensor<5xf32>
  %w = linalg.fill ins(%x : f32) outs(%u : tensor<5xf32>) -> tensor<5xf32>
  bufferization.materialize_in_destination %z in writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  bufferization.materialize_in_destination %w in writable %s : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}

// The first store waits for one of two that wait for each other: of these two, one is saved.
// CHECK-LABEL: func.func @behind_a_circle
// CHECK:         %[[A:.*]] = linalg.fill
// CHECK:         %[[C:.*]] = linalg.fill
// CHECK:         %[[B:.*]] = arith.select
// CHECK:         %[[SAVED:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK-NEXT:    materialize_in_destination %[[A]] in writable %arg1
// CHECK-NEXT:    materialize_in_destination %[[C]] in writable %arg3
// CHECK-NEXT:    materialize_in_destination %[[SAVED]] in writable %arg2
func.func @behind_a_circle(%p: i1, %r: memref<5xf32>, %s: memref<5xf32>, %q: memref<5xf32>) {
  %x = arith.constant 0.0 : f32
  %t = bufferization.to_tensor %r restrict writable : memref<5xf32> to tensor<5xf32>
  %u = bufferization.to_tensor %s restrict writable : memref<5xf32> to tensor<5xf32>
  %v = bufferization.to_tensor %q restrict writable : memref<5xf32> to tensor<5xf32>
  %a = linalg.fill ins(%x : f32) outs(%t : tensor<5xf32>) -> tensor<5xf32>
  %c = linalg.fill ins(%x : f32) outs(%u : tensor<5xf32>) -> tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%v : tensor<5xf32>) -> tensor<5xf32>
  %b = arith.select %p, %a, %z : tensor<5xf32>
  bufferization.materialize_in_destination %a in writable %r : (tensor<5xf32>, memref<5xf32>) -> ()
  bufferization.materialize_in_destination %b in writable %s : (tensor<5xf32>, memref<5xf32>) -> ()
  bufferization.materialize_in_destination %c in writable %q : (tensor<5xf32>, memref<5xf32>) -> ()
  return
}
