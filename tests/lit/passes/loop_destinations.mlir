// RUN: mlir-dump %s --passes 'func.func(lingon-loop-destinations)' | FileCheck %s

// What becomes of a carry is computed into it, and who reads the old value comes first.
// CHECK-LABEL: func.func @carry
// CHECK:         scf.for {{.*}} iter_args(%[[A:.*]] = %arg0, %[[S:.*]] = %arg1)
// CHECK:           %[[V:.*]] = tensor.extract %[[A]]
// CHECK-NEXT:      %[[Z:.*]] = linalg.fill ins(%[[S]] : f32) outs(%[[A]] : tensor<5xf32>)
// CHECK-NEXT:      %[[N:.*]] = arith.addf %[[S]], %[[V]]
// CHECK-NEXT:      scf.yield %[[Z]], %[[N]]
func.func @carry(%t: tensor<5xf32>, %x: f32) -> (tensor<5xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %t, %s = %x) -> (tensor<5xf32>, f32) {
    %e = tensor.empty() : tensor<5xf32>
    %z = linalg.fill ins(%s : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
    %v = tensor.extract %a[%c0] : tensor<5xf32>
    %n = arith.addf %s, %v : f32
    scf.yield %z, %n : tensor<5xf32>, f32
  }
  return %r#0, %r#1 : tensor<5xf32>, f32
}

// The second region of a while loop does so, too; the branch that hands on the carry does nothing.
// CHECK-LABEL: func.func @branch
// CHECK:         } do {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<5xf32>):
// CHECK:           scf.if
// CHECK:             %[[Z:.*]] = linalg.fill ins(%arg1 : f32) outs(%[[A]] : tensor<5xf32>)
// CHECK-NEXT:        scf.yield %[[Z]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[A]]
func.func @branch(%t: tensor<5xf32>, %x: f32, %p: i1, %q: i1) -> tensor<5xf32> {
  %r = scf.while (%a = %t) : (tensor<5xf32>) -> tensor<5xf32> {
    scf.condition(%p) %a : tensor<5xf32>
  } do {
  ^bb0(%a: tensor<5xf32>):
    %f = scf.if %q -> (tensor<5xf32>) {
      %e = tensor.empty() : tensor<5xf32>
      %z = linalg.fill ins(%x : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
      scf.yield %z : tensor<5xf32>
    } else {
      scf.yield %a : tensor<5xf32>
    }
    scf.yield %f : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// Outside of loops the branches share one new tensor.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[E:.*]] = bufferization.alloc_tensor() : tensor<5xf32>
// CHECK-NEXT:    scf.if
// CHECK:           outs(%[[E]] : tensor<5xf32>)
// CHECK:         } else {
// CHECK:           outs(%[[E]] : tensor<5xf32>)
func.func @shared(%p: i1, %x: f32, %y: f32) -> tensor<5xf32> {
  %f = scf.if %p -> (tensor<5xf32>) {
    %e = tensor.empty() : tensor<5xf32>
    %a = linalg.fill ins(%x : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
    scf.yield %a : tensor<5xf32>
  } else {
    %e = tensor.empty() : tensor<5xf32>
    %a = linalg.fill ins(%y : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
    scf.yield %a : tensor<5xf32>
  }
  return %f : tensor<5xf32>
}

// What is computed in front of the loop stays there, in a tensor of its own.
// CHECK-LABEL: func.func @outside
// CHECK:         %[[E:.*]] = bufferization.alloc_tensor()
// CHECK-NEXT:    %[[Z:.*]] = linalg.fill ins(%arg1 : f32) outs(%[[E]] : tensor<5xf32>)
// CHECK:         scf.for
// CHECK-NEXT:      scf.yield %[[Z]]
func.func @outside(%t: tensor<5xf32>, %x: f32) -> tensor<5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<5xf32>
  %z = linalg.fill ins(%x : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %t) -> (tensor<5xf32>) {
    scf.yield %z : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// The casts that hid results from eliminate-empty-tensors go.
// CHECK-LABEL: func.func @hidden
// CHECK-NOT:     unrealized_conversion_cast
// CHECK:         return %arg0
func.func @hidden(%t: tensor<5xf32>) -> tensor<5xf32> {
  %h = builtin.unrealized_conversion_cast %t : tensor<5xf32> to tensor<5xf32> {lingon.hidden}
  return %h : tensor<5xf32>
}
