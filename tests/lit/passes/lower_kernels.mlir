// RUN: mlir-dump %s --passes lingon-lower-kernels | FileCheck %s

// CHECK-DAG: llvm.mlir.global private constant @[[TWO:.*]](dense<[1, 2]> : tensor<2xi64>)
// CHECK-DAG: llvm.mlir.global private constant @[[SHAPE:.*]](dense<4> : tensor<1xi64>)
// CHECK-DAG: llvm.mlir.global private constant @[[STRIDE:.*]](dense<1> : tensor<1xi64>)
// CHECK-DAG: llvm.func @lingon_kernel_sort(!llvm.ptr, i64, !llvm.ptr, i64)

// Static shapes are tables; the descriptors are in the entry block although the call is in a loop.
// CHECK-LABEL: func.func @static(
// CHECK:         %[[D:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64, ptr, ptr, i32)>
// CHECK:         scf.for
// CHECK-NOT:       llvm.alloca
// CHECK:           llvm.call @lingon_kernel_sort(%[[D]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NOT:     lingon.kernel_call
func.func @static(%x: memref<4xf32>, %o: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    lingon.kernel_call "sort" ins(%x : memref<4xf32>) outs(%o : memref<4xf32>) {config = array<i64: 1, 2>, dtypes = array<i32: 13, 13>}
  }
  return
}

// Offsets and strides that are not static are read from the memref.
// CHECK-LABEL: func.func @strided(
// CHECK:         %{{.*}}, %[[OFFSET:.*]], %{{.*}}, %[[STRIDES:.*]] = memref.extract_strided_metadata
// CHECK:         %[[O:.*]] = arith.index_cast %[[OFFSET]] : index to i64
// CHECK:         llvm.getelementptr %{{.*}}[%[[O]]] : (!llvm.ptr, i64) -> !llvm.ptr, i32
// CHECK:         %[[S:.*]] = arith.index_cast %[[STRIDES]] : index to i64
// CHECK:         llvm.store %[[S]]
// CHECK:         llvm.call @lingon_kernel_iota
func.func @strided(%o: memref<4xf32, strided<[?], offset: ?>>) {
  lingon.kernel_call "iota" outs(%o : memref<4xf32, strided<[?], offset: ?>>) {dtypes = array<i32: 13>}
  return
}

// A call with side effects and no operands.
// CHECK-LABEL: func.func @effects(
// CHECK:         llvm.call @lingon_kernel_callback
func.func @effects() {
  lingon.kernel_call "callback" {config = array<i64: 0, 0>, dtypes = array<i32>, side_effects}
  return
}
