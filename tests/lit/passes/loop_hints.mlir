// RUN: mlir-dump %s --passes 'lingon-loop-hints{length=5 masks=true}' | FileCheck %s
// RUN: mlir-dump %s --passes 'lingon-loop-hints{length=5}' | FileCheck %s --check-prefix=PLAIN
// RUN: mlir-dump %s --passes 'lingon-loop-hints{reduction=3}' | FileCheck %s --check-prefix=TWICE
// RUN: mlir-dump %s --passes 'lingon-loop-hints' | FileCheck %s --check-prefix=SHORT

// CHECK-DAG: #[[V:.*]] = #llvm.loop_vectorize<predicateEnable = true>
// CHECK-DAG: #[[I:.*]] = #llvm.loop_interleave<count = 1{{.*}}>
// CHECK:     #[[A:.*]] = #llvm.loop_annotation<vectorize = #[[V]], interleave = #[[I]]>
// PLAIN:     #[[I:.*]] = #llvm.loop_interleave<count = 1{{.*}}>
// PLAIN:     #[[A:.*]] = #llvm.loop_annotation<interleave = #[[I]]>
// SHORT-NOT: loop_annotation

// The function that is inlined counts, the outer loop does not matter.
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           func.call @f
// CHECK:         } {llvm.loop_annotation = #[[A]]}
// CHECK-NEXT:  }
// CHECK:       scf.for
// CHECK-NOT:     loop_annotation
// PLAIN:         } {llvm.loop_annotation = #[[A]]}
func.func @main(%x: memref<8x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %a = memref.load %x[%i, %j] : memref<8x4xf32>
      %b = func.call @f(%a) : (f32) -> f32
      memref.store %b, %x[%i, %j] : memref<8x4xf32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i, %c0] : memref<8x4xf32>
    memref.store %a, %x[%i, %c1] : memref<8x4xf32>
  }
  return
}
func.func private @f(%a: f32) -> f32 attributes {passthrough = ["alwaysinline"]} {
  %b = arith.mulf %a, %a : f32
  return %b : f32
}

// TWICE: #[[I:.*]] = #llvm.loop_interleave<count = 2{{.*}}>
// TWICE: #[[A:.*]] = #llvm.loop_annotation<interleave = #[[I]]>
// TWICE-NOT: loop_annotation
// TWICE-LABEL: func.func @sum
// TWICE:   scf.yield
// TWICE:   } {llvm.loop_annotation = #[[A]]}
func.func @sum(%x: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> f32 {
    %a = memref.load %x[%i] : memref<4xf32>
    %s = arith.addf %acc, %a : f32
    scf.yield %s : f32
  }
  return %r : f32
}
