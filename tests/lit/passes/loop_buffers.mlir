// RUN: mlir-dump %s --passes 'func.func(lingon-loop-buffers)' | FileCheck %s

// A carry that stays in one buffer is that buffer.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for
// CHECK:           memref.store %arg1, %arg0[%{{.*}}]
// CHECK:         memref.load %arg0
func.func @stays(%m: memref<8xf32>, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %m) -> (memref<8xf32>) {
    memref.store %v, %a[%i] : memref<8xf32>
    scf.yield %a : memref<8xf32>
  }
  %x = memref.load %r[%c0] : memref<8xf32>
  return %x : f32
}

// What is handed on in another buffer is copied at the end of the iteration.
// CHECK-LABEL: func.func @moves
// CHECK:         %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK-NEXT:    memref.copy %arg0, %[[B]]
// CHECK:         scf.for
// CHECK:           %[[N:.*]] = memref.alloc()
// CHECK:           memref.load %[[B]]
// CHECK:           memref.store %{{.*}}, %[[N]]
// CHECK:           memref.copy %[[N]], %[[B]]
// CHECK:         memref.load %[[B]]
func.func @moves(%m: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %m) -> (memref<8xf32>) {
    %n = memref.alloc() : memref<8xf32>
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %n[%c0] : memref<8xf32>
    scf.yield %n : memref<8xf32>
  }
  %x = memref.load %r[%c0] : memref<8xf32>
  return %x : f32
}

// Carries that change places: the one that is overwritten first is saved.
// CHECK-LABEL: func.func @swap
// CHECK:         %[[A:.*]] = memref.alloc()
// CHECK-NEXT:    memref.copy %arg0, %[[A]]
// CHECK:         %[[B:.*]] = memref.alloc()
// CHECK-NEXT:    memref.copy %arg1, %[[B]]
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = memref.alloc()
// CHECK-NEXT:      memref.copy %[[A]], %[[S]]
// CHECK-NEXT:      memref.copy %[[B]], %[[A]]
// CHECK-NEXT:      memref.copy %[[S]], %[[B]]
func.func @swap(%m: memref<8xf32>, %n: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %m, %b = %n) -> (memref<8xf32>, memref<8xf32>) {
    scf.yield %b, %a : memref<8xf32>, memref<8xf32>
  }
  %x = memref.load %r#0[%c0] : memref<8xf32>
  return %x : f32
}

// A while loop, too: it works in the buffer that it starts from.
// CHECK-LABEL: func.func @while
// CHECK-NOT:     memref.alloc
// CHECK:         scf.while
// CHECK:           memref.load %arg0
// CHECK:           memref.store %{{.*}}, %arg0
func.func @while(%m: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %r = scf.while (%a = %m) : (memref<8xf32>) -> memref<8xf32> {
    %x = memref.load %a[%c0] : memref<8xf32>
    %p = arith.cmpf olt, %x, %v : f32
    scf.condition(%p) %a : memref<8xf32>
  } do {
  ^bb0(%a: memref<8xf32>):
    %x = memref.load %a[%c0] : memref<8xf32>
    %y = arith.addf %x, %v : f32
    memref.store %y, %a[%c0] : memref<8xf32>
    scf.yield %a : memref<8xf32>
  }
  return
}
