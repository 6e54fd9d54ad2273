// A temporary that is too large for the stack comes from the runtime's pool and goes back to it.
// RUN: mlir-dump %s --from loops --to llvm-opt | FileCheck %s
// CHECK-NOT:   @malloc
// CHECK:       declare noalias ptr @lingon_rt_alloc(i64)
// CHECK-LABEL: define void @lingon_entry_0000000000000000(
// CHECK:         %[[T:.*]] = call ptr @lingon_rt_alloc(i64
// CHECK:         call void @lingon_rt_free(ptr {{.*}}%[[T]])
// CHECK:         ret void
// CHECK-NOT:   @malloc
func.func @main(%arg0: memref<100000xf32>, %out0: memref<100000xf32>) {
  %t = memref.alloc() : memref<100000xf32>
  memref.copy %arg0, %t : memref<100000xf32> to memref<100000xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000 : index
  %last = arith.constant 99999 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.subi %last, %i : index
    %v = memref.load %t[%j] : memref<100000xf32>
    memref.store %v, %out0[%i] : memref<100000xf32>
  }
  memref.dealloc %t : memref<100000xf32>
  return
}
