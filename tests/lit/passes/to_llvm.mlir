// RUN: mlir-dump %s --passes 'convert-scf-to-cf,lingon-to-llvm' | FileCheck %s

// Bare pointers, no casts between the dialects, and what is known of the loop is at its latch.
// CHECK-NOT:   {{unrealized_conversion_cast|insertvalue}}
// CHECK-LABEL: llvm.func @main(
// CHECK-SAME:    %[[X:.*]]: !llvm.ptr, %[[Y:.*]]: !llvm.ptr)
// CHECK:         llvm.cond_br
// CHECK:         llvm.load
// CHECK:         llvm.intr.sqrt
// CHECK:         llvm.fmul
// CHECK:         llvm.store
// CHECK:         llvm.br ^{{.*}} {loop_annotation = #{{.*}}}
// CHECK:         llvm.return
// CHECK-NOT:   {{unrealized_conversion_cast|insertvalue}}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %x[%i] : memref<4xf32>
    %b = math.sqrt %a : f32
    %c = arith.mulf %a, %b : f32
    memref.store %c, %y[%i] : memref<4xf32>
  } {llvm.loop_annotation = #llvm.loop_annotation<interleave = <count = 1>>}
  return
}

// CHECK-LABEL: llvm.func @numbers(
// CHECK-SAME:    %{{.*}}: i64, %{{.*}}: !llvm.struct<(f32, f32)>) -> f32
// CHECK:         llvm.extractvalue
func.func @numbers(%n: index, %z: complex<f32>) -> f32 {
  %two = arith.constant 2 : index
  %q = arith.ceildivsi %n, %two : index
  %re = complex.re %z : complex<f32>
  return %re : f32
}
