// RUN: mlir-dump %s --passes 'lingon-merge-functions' | FileCheck %s

// CHECK:     func.func private @one(
// CHECK-NOT: func.func private @two(
func.func private @one(%x: memref<4xf32> {llvm.noalias}, %i: index) {
  %c = arith.constant 2.0 : f32
  memref.store %c, %x[%i] : memref<4xf32>
  return
}
func.func private @two(%y: memref<4xf32> {llvm.noalias}, %j: index) {
  %c = arith.constant 2.0 : f32
  memref.store %c, %y[%j] : memref<4xf32>
  return
}

// Another constant, another attribute, another order of operands.
// CHECK: func.func private @constant(
func.func private @constant(%x: memref<4xf32> {llvm.noalias}, %i: index) {
  %c = arith.constant 3.0 : f32
  memref.store %c, %x[%i] : memref<4xf32>
  return
}
// CHECK: func.func private @attribute(
func.func private @attribute(%x: memref<4xf32>, %i: index) {
  %c = arith.constant 2.0 : f32
  memref.store %c, %x[%i] : memref<4xf32>
  return
}
// CHECK: func.func private @minus(
// CHECK: func.func private @minus_turned(
func.func private @minus(%a: f32, %b: f32) -> f32 {
  %r = arith.subf %a, %b : f32
  return %r : f32
}
func.func private @minus_turned(%a: f32, %b: f32) -> f32 {
  %r = arith.subf %b, %a : f32
  return %r : f32
}

// Equal once what they call is one function.
// CHECK:     func.func private @calls_one(
// CHECK:       call @one(
// CHECK-NOT: func.func private @calls_two(
func.func private @calls_one(%x: memref<4xf32>, %i: index) {
  call @one(%x, %i) : (memref<4xf32>, index) -> ()
  return
}
func.func private @calls_two(%x: memref<4xf32>, %i: index) {
  call @two(%x, %i) : (memref<4xf32>, index) -> ()
  return
}

// Public functions stay.
// CHECK:     func.func @main(
// CHECK:       call @one(
// CHECK:       call @one(
// CHECK:       constant @calls_one
// CHECK:       call @calls_one(
// CHECK:     func.func @other(
func.func @main(%x: memref<4xf32>, %i: index) {
  call @one(%x, %i) : (memref<4xf32>, index) -> ()
  call @two(%x, %i) : (memref<4xf32>, index) -> ()
  %f = constant @calls_two : (memref<4xf32>, index) -> ()
  call @calls_two(%x, %i) : (memref<4xf32>, index) -> ()
  return
}
func.func @other(%x: memref<4xf32>, %i: index) {
  call @one(%x, %i) : (memref<4xf32>, index) -> ()
  call @two(%x, %i) : (memref<4xf32>, index) -> ()
  %f = constant @calls_two : (memref<4xf32>, index) -> ()
  call @calls_two(%x, %i) : (memref<4xf32>, index) -> ()
  return
}
