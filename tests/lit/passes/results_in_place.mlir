// RUN: mlir-dump %s --passes 'func.func(lingon-results-in-place)' | FileCheck %s

// CHECK-LABEL: func.func @update
// CHECK-SAME:      %[[X:.*]]: memref<8xf32>, %[[V:.*]]: f32, %[[OUT:.*]]: memref<8xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         memref.copy %[[X]], %[[OUT]]
// CHECK:         memref.subview %[[OUT]]
// CHECK:         memref.load %[[OUT]]
// CHECK-NOT:     memref.copy
func.func @update(%x: memref<8xf32>, %v: f32, %out: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  %part = memref.subview %a[2] [3] [1] : memref<8xf32> to memref<3xf32, strided<[1], offset: 2>>
  memref.store %v, %part[%c0] : memref<3xf32, strided<[1], offset: 2>>
  memref.copy %a, %out : memref<8xf32> to memref<8xf32>
  %read = memref.load %a[%c0] : memref<8xf32>
  return %read : f32
}

// Two results: the second is a copy of the first.
// CHECK-LABEL: func.func @twice
// CHECK-SAME:      %[[V:.*]]: f32, %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         memref.store %[[V]], %[[A]]
// CHECK:         memref.copy %[[A]], %[[B]]
func.func @twice(%v: f32, %first: memref<8xf32>, %second: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  memref.store %v, %a[%c0] : memref<8xf32>
  memref.copy %a, %first : memref<8xf32> to memref<8xf32>
  memref.copy %a, %second : memref<8xf32> to memref<8xf32>
  return
}

// What is written after the copy would change the result.
// CHECK-LABEL: func.func @written_later
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @written_later(%v: f32, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  memref.store %v, %a[%c0] : memref<8xf32>
  memref.copy %a, %out : memref<8xf32> to memref<8xf32>
  memref.store %v, %a[%c0] : memref<8xf32>
  return
}

// What a loop carries may be another buffer in each round.
// CHECK-LABEL: func.func @carried
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @carried(%x: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %a, %q = %b)
      -> (memref<8xf32>, memref<8xf32>) {
    scf.yield %q, %p : memref<8xf32>, memref<8xf32>
  }
  memref.copy %a, %out : memref<8xf32> to memref<8xf32>
  return
}

// The result is read before: its contents must survive until the copy.
// CHECK-LABEL: func.func @read_before
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @read_before(%v: f32, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  memref.store %v, %a[%c0] : memref<8xf32>
  %old = memref.load %out[%c0] : memref<8xf32>
  memref.store %old, %a[%c0] : memref<8xf32>
  memref.copy %a, %out : memref<8xf32> to memref<8xf32>
  return
}

// A reshaped result; not one that is reshaped only after the buffer was made.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME:    %[[V:.*]]: f32
// CHECK:         %[[R:.*]] = memref.expand_shape %arg1
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.fill ins(%[[V]] : f32) outs(%[[R]] : memref<2x4xf32>)
// CHECK-NOT:     memref.copy
func.func @reshaped(%v: f32, %out: memref<8xf32>) {
  %r = memref.expand_shape %out [[0, 1]] output_shape [2, 4] : memref<8xf32> into memref<2x4xf32>
  %a = memref.alloc() : memref<2x4xf32>
  linalg.fill ins(%v : f32) outs(%a : memref<2x4xf32>)
  memref.copy %a, %r : memref<2x4xf32> to memref<2x4xf32>
  return
}

// CHECK-LABEL: func.func @reshaped_later
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @reshaped_later(%v: f32, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<2x4xf32>
  linalg.fill ins(%v : f32) outs(%a : memref<2x4xf32>)
  %r = memref.expand_shape %out [[0, 1]] output_shape [2, 4] : memref<8xf32> into memref<2x4xf32>
  memref.copy %a, %r : memref<2x4xf32> to memref<2x4xf32>
  return
}
