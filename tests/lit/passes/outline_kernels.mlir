// RUN: mlir-dump %s --passes 'lingon-outline-kernels{most=1},lingon-merge-functions' | FileCheck %s
// RUN: mlir-dump %s --passes 'lingon-outline-kernels{most=5}' | FileCheck %s --check-prefix=FEW

// CHECK:       func.func @main
// CHECK:         call @[[F:kernel.*]](%arg0, %arg1)
// CHECK:         call @[[F]](%arg1, %arg2)
// CHECK-NOT:     lingon.kernel_call

// FEW-NOT: func.func private
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  lingon.kernel_call "cumsum" ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  lingon.kernel_call "cumsum" ins(%b : memref<4xf32>) outs(%c : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  return
}

// Parts of buffers go as the whole, where they begin and what else is not known.
// CHECK:       func.func @parts(%{{.*}}: memref<3x4xf32>, %[[OUT:.*]]: memref<4xf32>,
// CHECK:         %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}, %{{.*}} = memref.extract_strided_metadata
// CHECK:         call @[[G:kernel.*]](%[[BASE]], %[[OFFSET]], %[[OUT]]) : (memref<f32>, index, memref<4xf32>) -> ()
// CHECK:         call @[[G]](
// CHECK:         call @[[H:kernel.*]](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (memref<f32>, index, index, memref<f32>, index) -> ()
// CHECK-NOT:     lingon.kernel_call
// CHECK:       func.func private @[[F]](%[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>)
// CHECK:         lingon.kernel_call "cumsum" ins(%[[X]] : memref<4xf32>) outs(%[[Y]] : memref<4xf32>)
// CHECK:       func.func private @[[G]](%[[X:.*]]: memref<f32>, %[[FROM:.*]]: index, %[[Y:.*]]: memref<4xf32>)
// CHECK:         %[[ROW:.*]] = memref.reinterpret_cast %[[X]] to offset: [%[[FROM]]], sizes: [4], strides: [1]
// CHECK:         lingon.kernel_call "cumsum" ins(%[[ROW]] : memref<4xf32, strided<[1], offset: ?>>) outs(%[[Y]] : memref<4xf32>)
// CHECK:       func.func private @[[H]](
// CHECK:         lingon.kernel_call "cumsum" ins(%{{.*}} : memref<?xf32, strided<[1], offset: ?>>) outs(%{{.*}} : memref<?xf32>)
// FEW-NOT: func.func private
func.func @parts(%rows: memref<3x4xf32>, %out: memref<4xf32>, %i: index, %n: index) {
  %row = memref.subview %rows[%i, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  lingon.kernel_call "cumsum" ins(%row : memref<4xf32, strided<[1], offset: ?>>) outs(%out : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  lingon.kernel_call "cumsum" ins(%row : memref<4xf32, strided<[1], offset: ?>>) outs(%out : memref<4xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  %part = memref.subview %rows[%i, 0] [1, %n] [1, 1] : memref<3x4xf32> to memref<?xf32, strided<[1], offset: ?>>
  %sums = memref.alloc(%n) : memref<?xf32>
  lingon.kernel_call "cumsum" ins(%part : memref<?xf32, strided<[1], offset: ?>>) outs(%sums : memref<?xf32>) {config = array<i64: 0>, dtypes = array<i32: 13, 13>}
  return
}
