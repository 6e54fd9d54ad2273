// RUN: mlir-dump %s --passes 'lingon-parallelize{threshold=1000 grain=100 outline=50},canonicalize' | FileCheck %s

// Above the threshold: a kernel over a range, a thunk that unpacks its arguments, a call of the
// pool. The buffers do not overlap. The stack buffer is made once per task.
// CHECK-LABEL: func.func private @large_kernel
// CHECK-SAME:    (%[[B:.*]]: index, %[[E:.*]]: index,
// CHECK-SAME:    memref<1000xf32> {llvm.noalias}, %{{.*}}: memref<1000xf32> {llvm.noalias})
// CHECK:         memref.alloca() : memref<8xf32>
// CHECK:         scf.for %{{.*}} = %[[B]] to %[[E]]
// CHECK-NOT:       memref.alloca
// CHECK:         return
// CHECK-LABEL: func.func private @large_kernel_thunk
// CHECK-SAME:    (%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK:         call @large_kernel
// CHECK-LABEL: func.func @large(
// CHECK:         llvm.alloca %{{.*}} x !llvm.struct<(ptr, ptr)>
// CHECK:         llvm.call @lingon_rt_parallel_for
func.func @large(%x: memref<1000xf32>, %o: memref<1000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.alloca() : memref<8xf32>
    %v = memref.load %x[%i] : memref<1000xf32>
    memref.store %v, %t[%c0] : memref<8xf32>
    %w = memref.load %t[%c0] : memref<8xf32>
    memref.store %w, %o[%i] : memref<1000xf32>
    scf.reduce
  }
  return
}

// Some work: a function of its own, called at once. A view of a written buffer may overlap it.
// CHECK-LABEL: func.func private @medium_kernel
// CHECK-NOT:     llvm.noalias
// CHECK-SAME:    {
// CHECK-LABEL: func.func @medium(
// CHECK:         call @medium_kernel(%c0, %c100
func.func @medium(%p: memref<1000xf32>, %q: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100 : index
  %a = memref.alloc() : memref<1000xf32>
  %s = arith.select %q, %a, %p : memref<1000xf32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %s[%i] : memref<1000xf32>
    memref.store %v, %a[%i] : memref<1000xf32>
    scf.reduce
  }
  memref.dealloc %a : memref<1000xf32>
  return
}

// Little work: a plain loop.
// CHECK-LABEL: func.func @small
// CHECK:         scf.for
// CHECK-NOT:     call
// CHECK:         return
func.func @small(%o: memref<1000xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 10 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %o[%i] : memref<1000xf32>
    scf.reduce
  }
  return
}

// Two dimensions become one range.
// CHECK-LABEL: func.func private @two_kernel
// CHECK:         scf.for %[[L:.*]] =
// CHECK-DAG:       %[[J:.*]] = arith.remui %[[L]], %{{.*}}
// CHECK-DAG:       %[[I:.*]] = arith.divui %[[L]], %{{.*}}
// CHECK:           memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
func.func @two(%o: memref<40x50xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 40 : index
  %m = arith.constant 50 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %m) step (%c1, %c1) {
    memref.store %v, %o[%i, %j] : memref<40x50xf32>
    scf.reduce
  }
  return
}

// A kernel that can call back gets a loop over the rows that it has made: the function with its
// 1000 iterations, and its context. The loop keeps to the row of its iteration.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT:     lingon_rt_parallel_for
// CHECK:         lingon.kernel_call "k" ins(%{{[^:]*}} : memref<4xf32>, memref<1000xi8>, memref<{{[0-9]+}}xi8>)
// CHECK-SAME:      dtypes = array<i32: 13, 3, 3, 13>
// CHECK-NOT:     lingon_rt_parallel_for
// CHECK:         return
func.func @rows(%x: memref<4xf32>, %o: memref<1000x70xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  %c70 = arith.constant 70 : index
  lingon.kernel_call "k" ins(%x : memref<4xf32>) outs(%o : memref<1000x70xf32>) {dtypes = array<i32: 13, 13>, lingon.calls_back}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %c70 step %c1 {
      %v = memref.load %o[%i, %j] : memref<1000x70xf32>
      memref.store %v, %o[%i, %j] : memref<1000x70xf32>
    }
    scf.reduce
  }
  return
}

// Not if another row is read, or if the loop writes what the kernel reads.
// CHECK-LABEL: func.func @other_rows(
// CHECK:         lingon.kernel_call "k" ins(%{{[^:]*}} : memref<1000x70xf32>)
// CHECK:         lingon_rt_parallel_for
// CHECK:         lingon.kernel_call "k" ins(%{{[^:]*}} : memref<1000x70xf32>)
// CHECK:         lingon_rt_parallel_for
func.func @other_rows(%x: memref<1000x70xf32>, %o: memref<1000x70xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  %c70 = arith.constant 70 : index
  %a = memref.alloc() : memref<1000x70xf32>
  lingon.kernel_call "k" ins(%x : memref<1000x70xf32>) outs(%a : memref<1000x70xf32>) {dtypes = array<i32: 13, 13>, lingon.calls_back}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %c70 step %c1 {
      %v = memref.load %a[%c0, %j] : memref<1000x70xf32>
      memref.store %v, %o[%i, %j] : memref<1000x70xf32>
    }
    scf.reduce
  }
  lingon.kernel_call "k" ins(%x : memref<1000x70xf32>) outs(%a : memref<1000x70xf32>) {dtypes = array<i32: 13, 13>, lingon.calls_back}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %c70 step %c1 {
      %v = memref.load %a[%i, %j] : memref<1000x70xf32>
      memref.store %v, %x[%i, %j] : memref<1000x70xf32>
    }
    scf.reduce
  }
  return
}
