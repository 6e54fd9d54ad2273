// RUN: mlir-dump %s --passes 'func.func(lingon-stack-buffers)' | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK:         scf.parallel
// CHECK:           memref.alloca() {alignment = 64 : i64} : memref<1000xf32>
// CHECK:           memref.alloc() : memref<200000xf32>
// CHECK:         scf.for
// CHECK-NOT:       memref.alloc
// CHECK:         memref.alloc() : memref<1000xf32>
func.func @f(%x: memref<200000xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %row = memref.alloc() : memref<1000xf32>
    %large = memref.alloc() : memref<200000xf32>
    memref.store %v, %row[%i] : memref<1000xf32>
    memref.store %v, %large[%i] : memref<200000xf32>
    scf.reduce
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %tiny = memref.alloc() : memref<4xf32>
    memref.store %v, %tiny[%c1] : memref<4xf32>
    memref.dealloc %tiny : memref<4xf32>
  }
  %other = memref.alloc() : memref<1000xf32>
  memref.store %v, %other[%c1] : memref<1000xf32>
  return
}

// What a branch yields outlives the branch: it is left alone.
// CHECK-LABEL: func.func @escapes
// CHECK:         scf.if
// CHECK-NEXT:      memref.alloc()
func.func @escapes(%c: i1, %y: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %r = scf.if %c -> (memref<4xf32>) {
    %a = memref.alloc() : memref<4xf32>
    memref.copy %y, %a : memref<4xf32> to memref<4xf32>
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %y : memref<4xf32>
  }
  %v = memref.load %r[%c0] : memref<4xf32>
  return %v : f32
}
