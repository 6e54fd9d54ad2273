// RUN: mlir-dump %s --passes 'func.func(lingon-bufferizable-form)' | FileCheck %s

// The condition hands on all arguments, in order, then what it computed; users of results follow.
// CHECK-LABEL: func.func @symmetric
// CHECK-SAME:      %[[T:.*]]: tensor<5xf32>, %[[N:.*]]: i32
// CHECK:         %[[R:.*]]:3 = scf.while (%[[A:.*]] = %[[T]], %[[I:.*]] = %[[N]]) : (tensor<5xf32>, i32) -> (tensor<5xf32>, i32, f32)
// CHECK:           %[[F:.*]] = arith.sitofp %[[I]]
// CHECK:           scf.condition(%{{.*}}) %[[A]], %[[I]], %[[F]]
// CHECK:         } do {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: tensor<5xf32>, %[[J:.*]]: i32, %[[G:.*]]: f32):
// CHECK:           %[[W:.*]] = tensor.insert %[[G]] into %[[B]]
// CHECK:           arith.addi %[[J]],
// CHECK:           scf.yield %[[W]],
// CHECK:         return %[[R]]#2, %[[R]]#0
func.func @symmetric(%t: tensor<5xf32>, %n: i32) -> (f32, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %r:3 = scf.while (%a = %t, %i = %n) : (tensor<5xf32>, i32) -> (i32, f32, tensor<5xf32>) {
    %f = arith.sitofp %i : i32 to f32
    %p = arith.cmpi slt, %i, %one : i32
    scf.condition(%p) %i, %f, %a : i32, f32, tensor<5xf32>
  } do {
  ^bb0(%j: i32, %g: f32, %b: tensor<5xf32>):
    %w = tensor.insert %g into %b[%c0] : tensor<5xf32>
    %k = arith.addi %j, %one : i32
    scf.yield %w, %k : tensor<5xf32>, i32
  }
  return %r#1, %r#2 : f32, tensor<5xf32>
}

// An argument that the condition drops is handed on, too.
// CHECK-LABEL: func.func @dropped
// CHECK:         %[[R:.*]]:2 = scf.while (%[[A:.*]] = %{{.*}}, %[[I:.*]] = %{{.*}})
// CHECK:           scf.condition(%{{.*}}) %[[A]], %[[I]]
// CHECK:         return %[[R]]#1
func.func @dropped(%t: tensor<i1>, %n: i32) -> i32 {
  %r = scf.while (%a = %t, %i = %n) : (tensor<i1>, i32) -> i32 {
    %p = tensor.extract %a[] : tensor<i1>
    scf.condition(%p) %i : i32
  } do {
  ^bb0(%j: i32):
    scf.yield %t, %j : tensor<i1>, i32
  }
  return %r : i32
}

// A carry that starts as a part of a tensor starts as a copy of it; a whole one stays.
// CHECK-LABEL: func.func @part
// CHECK-SAME:      %[[T:.*]]: tensor<8x4xf32>, %[[U:.*]]: tensor<8xf32>
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[T]]
// CHECK:         %[[C:.*]] = bufferization.alloc_tensor() copy(%[[S]]) : tensor<8xf32>
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[C]], %{{.*}} = %[[U]])
func.func @part(%t: tensor<8x4xf32>, %u: tensor<8xf32>, %v: f32) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tensor.extract_slice %t[0, 1] [8, 1] [1, 1] : tensor<8x4xf32> to tensor<8xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %s, %b = %u) -> (tensor<8xf32>, tensor<8xf32>) {
    %w = tensor.insert %v into %a[%i] : tensor<8xf32>
    %x = tensor.insert %v into %b[%i] : tensor<8xf32>
    scf.yield %w, %x : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// A loop in that form is left alone.
// CHECK-LABEL: func.func @already
// CHECK:         scf.while (%[[A:.*]] = %{{.*}}) : (i32) -> i32
// CHECK:           scf.condition(%{{.*}}) %[[A]] : i32
func.func @already(%n: i32) -> i32 {
  %one = arith.constant 1 : i32
  %r = scf.while (%a = %n) : (i32) -> i32 {
    %p = arith.cmpi slt, %a, %one : i32
    scf.condition(%p) %a : i32
  } do {
  ^bb0(%j: i32):
    %k = arith.addi %j, %one : i32
    scf.yield %k : i32
  }
  return %r : i32
}
