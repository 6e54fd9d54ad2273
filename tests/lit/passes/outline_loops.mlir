// RUN: mlir-dump %s --passes 'lingon-outline-loops{most=1},lingon-merge-functions' | FileCheck %s
// RUN: mlir-dump %s --passes 'lingon-outline-loops{most=8}' | FileCheck %s --check-prefix=FEW

// Two loops over other buffers are one function. What starts a reduction is its argument where it is no constant.
// CHECK:       func.func private @[[SCALE:main_loop.*]](%[[X:.*]]: memref<4xf32> {llvm.noalias}, %[[S:.*]]: f32, %[[Y:.*]]: memref<4xf32> {llvm.noalias})
// CHECK:         scf.for
// CHECK:           memref.load %[[X]]
// CHECK:           arith.mulf %{{.*}}, %[[S]]
// CHECK:           memref.store %{{.*}}, %[[Y]]
// CHECK:       func.func private @[[SUM:main_loop.*]](%[[X:.*]]: memref<4xf32>{{.*}}, %[[S:.*]]: f32) -> f32
// CHECK:         %[[R:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[S]])
// CHECK:         return %[[R]] : f32
// CHECK:       func.func @main
// CHECK-NOT:     scf.for
// CHECK:         call @[[SCALE]](%arg0, %[[S:.*]], %arg1)
// CHECK:         call @[[SCALE]](%arg1, %[[S]], %arg2)
// CHECK:         %[[R:.*]] = call @[[SUM]](%arg2, %[[S]])
// CHECK:         memref.store %[[R]], %arg3

// FEW-NOT:     func.func private
// FEW-COUNT-4: scf.for
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %d: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = memref.load %d[] : memref<f32>
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %a[%i] : memref<4xf32>
    %y = arith.mulf %x, %s : f32
    memref.store %y, %b[%i] : memref<4xf32>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %b[%i] : memref<4xf32>
    %y = arith.mulf %x, %s : f32
    memref.store %y, %c[%i] : memref<4xf32>
  }
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %s) -> f32 {
    %x = memref.load %c[%i] : memref<4xf32>
    %y = arith.addf %acc, %x : f32
    scf.yield %y : f32
  }
  memref.store %r, %d[] : memref<f32>
  return
}

// A loop that makes a buffer or calls a kernel stays, the loops in it go.
// CHECK:       func.func private @{{.*}}_loop
// CHECK:       func.func @kernels
// CHECK:         scf.for
// CHECK-NOT:       scf.for
// CHECK:           lingon.kernel_call
// CHECK:           func.call @{{.*}}_loop
// CHECK:           func.call @{{.*}}_loop
func.func @kernels(%a: memref<4xf32>, %b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %c4 step %c1 {
    lingon.kernel_call "cumsum" ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %b[%i] : memref<4xf32>
      memref.store %x, %a[%i] : memref<4xf32>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i] : memref<4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i] : memref<4xf32>
    }
  }
  return
}
