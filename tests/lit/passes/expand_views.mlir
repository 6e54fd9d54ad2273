// RUN: mlir-dump %s --passes lingon-expand-views | FileCheck %s

// A part of a buffer becomes a descriptor with the offset computed; the rest is left alone.

// CHECK-LABEL: func.func @part
// CHECK-SAME: (%[[ARG:.*]]: memref<8x16xf32>, %[[I:.*]]: index)
// CHECK-NOT: memref.subview
// CHECK: %[[BASE:.*]], %{{.*}}, %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata %[[ARG]]
// CHECK: %[[OFFSET:.*]] = arith.muli %[[I]], %{{.*}}
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]], sizes: [1, 16], strides: [16, 1]
func.func @part(%a: memref<8x16xf32>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %v = memref.subview %a[%i, 0] [1, 16] [1, 1]
      : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
  %x = memref.load %v[%c0, %c0] : memref<1x16xf32, strided<[16, 1], offset: ?>>
  return %x : f32
}

// CHECK-LABEL: func.func @merged
// CHECK-NOT: memref.collapse_shape
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [128], strides: [1]
func.func @merged(%a: memref<8x16xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %v = memref.collapse_shape %a [[0, 1]] : memref<8x16xf32> into memref<128xf32>
  %x = memref.load %v[%c0] : memref<128xf32>
  return %x : f32
}

// CHECK-LABEL: func.func @position
// CHECK-NOT: affine.apply
// CHECK: arith.muli
// CHECK: arith.addi
func.func @position(%i: index) -> index {
  %p = affine.apply affine_map<(d0) -> (d0 * 4 + 3)>(%i)
  return %p : index
}

// Nothing else is folded.
// CHECK-LABEL: func.func @nothing
// CHECK: arith.addi
func.func @nothing() -> index {
  %c1 = arith.constant 1 : index
  %x = arith.addi %c1, %c1 : index
  return %x : index
}
