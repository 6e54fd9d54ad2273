// RUN: mlir-dump %s --passes 'lingon-vectorize{bits=512 masks=true}' | FileCheck %s
// RUN: mlir-dump %s --passes 'lingon-vectorize{bits=128}' | FileCheck %s --check-prefix=NARROW
// RUN: mlir-dump %s --passes 'lingon-vectorize' | FileCheck %s --check-prefix=NONE

// NONE-NOT: vector
// CHECK: #[[DONE:.*]] = #llvm.loop_annotation<isVectorized = true>

// The multiple is a scalar load in front of the loop; the function has a form for
// vectors; the last elements are masked, or narrower vectors and single ones.
// CHECK-LABEL: func.func @scaled
// CHECK:         %[[S:.*]] = memref.load %arg1[] : memref<f32>
// CHECK:         %[[V:.*]] = vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK:         scf.for
// CHECK:           %[[A:.*]] = vector.load %arg0[%[[I:.*]]] : memref<1003xf32>, vector<16xf32>
// CHECK:           %[[B:.*]] = arith.mulf %[[A]], %[[V]] : vector<16xf32>
// CHECK:           %[[C:.*]] = {{.*}}call @square_x16(%[[B]]) : (vector<16xf32>) -> vector<16xf32>
// CHECK:           vector.store %[[C]], %arg0[%[[I]]]
// CHECK:         } {llvm.loop_annotation = #[[DONE]]}
// CHECK:         vector.maskedload %arg0
// CHECK:         vector.maskedstore %arg0
// NARROW-LABEL: func.func @scaled
// NARROW:         scf.for
// NARROW:           vector.load %arg0[%{{.*}}] : memref<1003xf32>, vector<4xf32>
// NARROW:         vector.load %arg0[%{{.*}}] : memref<1003xf32>, vector<2xf32>
// NARROW:         scf.for
// NARROW:           memref.load %arg0
// NARROW:         } {llvm.loop_annotation = #{{.*}}}
func.func @scaled(%x: memref<1003xf32>, %s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1003 : index
  scf.for %i = %c0 to %n step %c1 {
    %f = memref.load %s[] : memref<f32>
    %a = memref.load %x[%i] : memref<1003xf32>
    %b = arith.mulf %a, %f : f32
    %c = func.call @square(%b) : (f32) -> f32
    memref.store %c, %x[%i] : memref<1003xf32>
  }
  return
}
// Nobody calls it any more.
// CHECK-NOT: func.func private @square(
func.func private @square(%a: f32) -> f32 attributes {passthrough = ["alwaysinline"]} {
  %b = arith.mulf %a, %a : f32
  return %b : f32
}

// Bounds that are not known: whole vectors, then masked ones.
// CHECK-LABEL: func.func private @range
// CHECK:         scf.for
// CHECK:           vector.load
// CHECK:         scf.for
// CHECK:           arith.cmpi ult
// CHECK:           vector.maskedload
// CHECK:           vector.maskedstore
func.func private @range(%from: index, %to: index, %x: memref<1000xf64>) {
  %c1 = arith.constant 1 : index
  scf.for %i = %from to %to step %c1 {
    %a = memref.load %x[%i] : memref<1000xf64>
    %b = arith.addf %a, %a : f64
    memref.store %b, %x[%i] : memref<1000xf64>
  }
  return
}

// Accumulators are vectors, several of them; elements that count with the iterations.
// CHECK-LABEL: func.func @sum
// CHECK:         %[[R:.*]]:4 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:         vector.reduction <add>, %{{.*}}, %{{.*}} fastmath<reassoc> : vector<16xf32> into f32
// CHECK:         vector.reduction <maxsi>
func.func @sum(%x: memref<1024xf32>) -> (f32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> f32 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %s = arith.addf %acc, %a fastmath<reassoc> : f32
    scf.yield %s : f32
  }
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %least) -> i32 {
    %k = arith.index_cast %i : index to i32
    %s = arith.maxsi %acc, %k : i32
    scf.yield %s : i32
  }
  return %r, %m : f32, i32
}

// The width is that of the 32-bit numbers, which are most of the work; the
// other way round it is that of the 64-bit ones.
// CHECK-LABEL: func.func @high_words
// CHECK:         arith.shrui %{{.*}} : vector<16xi64>
// CHECK:         vector.store %{{.*}} : memref<64xi32>, vector<16xi32>
// CHECK-LABEL: func.func @wide
// CHECK:         arith.muli %{{.*}} : vector<8xi64>
// CHECK:         vector.store %{{.*}} : memref<64xi32>, vector<8xi32>
func.func @high_words(%x: memref<64xi32>, %y: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %bits = arith.constant 32 : i64
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xi32>
    %k = arith.index_cast %i : index to i64
    %h = arith.shrui %k, %bits : i64
    %t = arith.trunci %h : i64 to i32
    %b = arith.xori %a, %t : i32
    %c = arith.muli %b, %a : i32
    memref.store %c, %y[%i] : memref<64xi32>
  }
  return
}
func.func @wide(%x: memref<64xi32>, %y: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %bits = arith.constant 32 : i64
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xi32>
    %k = arith.extui %a : i32 to i64
    %m = arith.muli %k, %k : i64
    %h = arith.shrui %m, %bits : i64
    %t = arith.trunci %h : i64 to i32
    memref.store %t, %y[%i] : memref<64xi32>
  }
  return
}

// Left to LLVM: sums in order, neighbours in place, columns, other functions.
// CHECK-LABEL: func.func @left
// CHECK-NOT:     vector
func.func @left(%x: memref<64x64xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 63 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> f32 {
    %a = memref.load %x[%c0, %i] : memref<64x64xf32>
    %s = arith.addf %acc, %a : f32
    scf.yield %s : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %i, %c1 : index
    %a = memref.load %x[%c0, %i] : memref<64x64xf32>
    memref.store %a, %x[%c0, %j] : memref<64x64xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i, %c0] : memref<64x64xf32>
    memref.store %a, %x[%c0, %i] : memref<64x64xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%c0, %i] : memref<64x64xf32>
    %b = func.call @outside(%a) : (f32) -> f32
    memref.store %b, %x[%c0, %i] : memref<64x64xf32>
  }
  return %r : f32
}
// CHECK:         func.func private @outside
func.func private @outside(f32) -> f32
