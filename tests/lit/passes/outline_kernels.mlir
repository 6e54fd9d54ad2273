// RUN: mlir-dump %s --passes 'lingon-outline-kernels{most=1},lingon-merge-functions' | FileCheck %s
// RUN: mlir-dump %s --passes 'lingon-outline-kernels{most=2}' | FileCheck %s --check-prefix=FEW

// CHECK-LABEL: func.func @main
// CHECK:         call @[[F:kernel.*]](%arg0, %arg1)
// CHECK:         call @[[F]](%arg1, %arg2)
// CHECK-NOT:     lingon.kernel_call
// CHECK:         return
// CHECK:       func.func private @[[F]](%[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>)
// CHECK:         lingon.kernel_call "cumsum" ins(%[[X]] : memref<4xf32>) outs(%[[Y]] : memref<4xf32>)
// CHECK-NOT:   func.func private

// FEW-NOT: func.func private
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  lingon.kernel_call "cumsum" ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  lingon.kernel_call "cumsum" ins(%b : memref<4xf32>) outs(%c : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  return
}
