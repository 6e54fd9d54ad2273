// RUN: mlir-dump %s --passes 'func.func(lingon-expand-maximum)' | FileCheck %s

// The greater in either order, which differ by the sign of zero alone; NaN where one is.
// CHECK-LABEL: func.func @maximum
// CHECK-SAME:    %[[P:.*]]: memref<2xf32>
// CHECK:         %[[A:.*]] = memref.load
// CHECK:         %[[B:.*]] = memref.load
// CHECK:         %[[C:.*]] = arith.cmpf ogt, %[[A]], %[[B]]
// CHECK-NEXT:    %[[M:.*]] = arith.select %[[C]], %[[A]], %[[B]]
// CHECK-NEXT:    %[[I:.*]] = arith.bitcast %[[M]] : f32 to i32
// CHECK-NEXT:    %[[D:.*]] = arith.cmpf ogt, %[[B]], %[[A]]
// CHECK-NEXT:    %[[N:.*]] = arith.select %[[D]], %[[B]], %[[A]]
// CHECK-NEXT:    %[[J:.*]] = arith.bitcast %[[N]] : f32 to i32
// CHECK-NEXT:    %[[K:.*]] = arith.andi %[[I]], %[[J]]
// CHECK-NEXT:    %[[R:.*]] = arith.bitcast %[[K]] : i32 to f32
// CHECK:         %[[U:.*]] = arith.cmpf uno, %[[A]], %[[B]]
// CHECK:         %[[S:.*]] = arith.select %[[U]], %{{.*}}, %[[R]]
// CHECK:         return %[[S]]
func.func @maximum(%p: memref<2xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %p[%c0] : memref<2xf32>
  %b = memref.load %p[%c1] : memref<2xf32>
  %r = arith.maximumf %a, %b : f32
  return %r : f32
}

// CHECK-LABEL: func.func @minimum
// CHECK:         arith.cmpf olt
// CHECK:         arith.cmpf olt
// CHECK:         arith.ori %{{.*}} : vector<4xi64>
// CHECK:         arith.constant dense<0x7FF8000000000000> : vector<4xf64>
func.func @minimum(%p: memref<8xf64>) -> vector<4xf64> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = vector.load %p[%c0] : memref<8xf64>, vector<4xf64>
  %b = vector.load %p[%c4] : memref<8xf64>, vector<4xf64>
  %r = arith.minimumf %a, %b : vector<4xf64>
  return %r : vector<4xf64>
}

// Constants, what a loop accumulates and 16-bit floats are left to LLVM.
// CHECK-LABEL: func.func @left
// CHECK:         arith.maximumf
// CHECK:         arith.maximumf
// CHECK:         arith.minimumf
func.func @left(%p: memref<2xf32>, %h: memref<2xf16>, %acc: f32) -> (f32, f32, f16) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = memref.load %p[%c0] : memref<2xf32>
  %0 = arith.maximumf %a, %zero : f32
  %1 = arith.maximumf %acc, %a : f32
  %x = memref.load %h[%c0] : memref<2xf16>
  %y = memref.load %h[%c1] : memref<2xf16>
  %2 = arith.minimumf %x, %y : f16
  return %0, %1, %2 : f32, f32, f16
}
