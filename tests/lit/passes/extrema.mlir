// RUN: mlir-dump %s --passes 'func.func(lingon-extrema),canonicalize' | FileCheck %s

// An accumulator that goes through two loops is three integers in both.
// CHECK-LABEL: func.func @nested
// CHECK-SAME: memref<4x8xf32>, %[[INIT:.*]]: f32)
func.func @nested(%x: memref<4x8xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[LEAST:.*]] = arith.constant -8388608 : i32
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[INIT]] : f32 to i32
  // CHECK: %[[R:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[BITS]], %{{.*}} = %[[BITS]], %{{.*}} = %[[BITS]]) -> (i32, i32, i32) {
  // CHECK-NEXT: scf.for {{.*}} -> (i32, i32, i32) {
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: arith.bitcast
  // CHECK-NEXT: arith.maxsi
  // CHECK-NEXT: arith.maxui
  // CHECK-NEXT: arith.minui
  // CHECK-NOT: arith.maximumf
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %init) -> (f32) {
    %s = scf.for %j = %c0 to %c8 step %c1 iter_args(%b = %a) -> (f32) {
      %e = memref.load %x[%i, %j] : memref<4x8xf32>
      %m = arith.maximumf %e, %b : f32
      scf.yield %m : f32
    }
    scf.yield %s : f32
  }
  // CHECK: %[[POSITIVE:.*]] = arith.cmpi sge, %[[R]]#0, %[[ZERO]] : i32
  // CHECK: %[[NUMBER:.*]] = arith.select %[[POSITIVE]], %[[R]]#0, %[[R]]#2 : i32
  // CHECK: %[[NAN:.*]] = arith.cmpi ugt, %[[R]]#1, %[[LEAST]] : i32
  // CHECK: %[[FOUND:.*]] = arith.select %[[NAN]], %[[R]]#1, %[[NUMBER]] : i32
  // CHECK: %[[FLOAT:.*]] = arith.bitcast %[[FOUND]] : i32 to f32
  // CHECK: return %[[FLOAT]]
  return %r : f32
}

// Operands beside one another, from four on.
// CHECK-LABEL: func.func @four
func.func @four(%a: f64, %b: f64, %c: f64, %d: f64) -> f64 {
  // CHECK-COUNT-3: arith.maxsi {{.*}} : i64
  // CHECK-NOT: arith.minimumf
  // CHECK: arith.cmpi slt
  // CHECK: arith.cmpi sgt
  %0 = arith.minimumf %a, %b : f64
  %1 = arith.minimumf %c, %d : f64
  %2 = arith.minimumf %0, %1 : f64
  return %2 : f64
}

// CHECK-LABEL: func.func @two
func.func @two(%a: f32, %b: f32, %c: bf16, %d: bf16) -> (f32, bf16) {
  // CHECK: arith.maximumf
  // CHECK: arith.maxsi {{.*}} : i16
  %0 = arith.maximumf %a, %b : f32
  %1 = arith.maximumf %c, %d : bf16
  return %0, %1 : f32, bf16
}

// What reads the accumulator on the way needs the float.
// CHECK-LABEL: func.func @read
func.func @read(%x: memref<8xf32>, %y: memref<8xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: arith.maximumf
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %init) -> (f32) {
    %e = memref.load %x[%i] : memref<8xf32>
    %m = arith.maximumf %e, %a : f32
    memref.store %m, %y[%i] : memref<8xf32>
    scf.yield %m : f32
  }
  return %r : f32
}
