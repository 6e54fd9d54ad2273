// RUN: mlir-dump %s --passes 'func.func(lingon-cut-updates)' | FileCheck %s
// RUN: mlir-dump %s --passes 'func.func(lingon-cut-updates),one-shot-bufferize{allow-return-allocs-from-loops},func.func(lingon-loop-buffers),canonicalize' | FileCheck %s --check-prefix=BUFFER

// The eighth update is followed by a cut; what comes next starts from there. Nothing is copied.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-8: tensor.insert
// CHECK-NEXT:    %[[B:.*]] = bufferization.to_buffer %{{.*}} read_only : tensor<99xf32> to memref<99xf32>
// CHECK-NEXT:    %[[T:.*]] = bufferization.to_tensor %[[B]] restrict writable
// CHECK-NEXT:    tensor.insert %arg1 into %[[T]]
// CHECK-NOT:     to_buffer
// CHECK:         return
// BUFFER-LABEL: func.func @chain
// BUFFER-NOT:   memref.copy
// BUFFER-COUNT-12: memref.store
func.func @chain(%m: memref<99xf32>, %x: f32, %i: index) -> f32 {
  %t = bufferization.to_tensor %m restrict writable : memref<99xf32> to tensor<99xf32>
  %1 = tensor.insert %x into %t[%i] : tensor<99xf32>
  %2 = tensor.insert %x into %1[%i] : tensor<99xf32>
  %3 = tensor.insert %x into %2[%i] : tensor<99xf32>
  %4 = tensor.insert %x into %3[%i] : tensor<99xf32>
  %5 = tensor.insert %x into %4[%i] : tensor<99xf32>
  %6 = tensor.insert %x into %5[%i] : tensor<99xf32>
  %7 = tensor.insert %x into %6[%i] : tensor<99xf32>
  %8 = tensor.insert %x into %7[%i] : tensor<99xf32>
  %9 = tensor.insert %x into %8[%i] : tensor<99xf32>
  %10 = tensor.insert %x into %9[%i] : tensor<99xf32>
  %11 = tensor.insert %x into %10[%i] : tensor<99xf32>
  %12 = tensor.insert %x into %11[%i] : tensor<99xf32>
  %r = tensor.extract %12[%i] : tensor<99xf32>
  return %r : f32
}

// A part of an old version is read at the end: all in one piece, until the part has been read.
// CHECK-LABEL: func.func @seen
// CHECK-NOT:     to_buffer
// CHECK:         return
func.func @seen(%m: memref<99xf32>, %x: f32, %i: index) -> (f32, f32) {
  %t = bufferization.to_tensor %m restrict writable : memref<99xf32> to tensor<99xf32>
  %1 = tensor.insert %x into %t[%i] : tensor<99xf32>
  %2 = tensor.insert %x into %1[%i] : tensor<99xf32>
  %3 = tensor.insert %x into %2[%i] : tensor<99xf32>
  %4 = tensor.insert %x into %3[%i] : tensor<99xf32>
  %v = tensor.extract_slice %4[3] [4] [1] : tensor<99xf32> to tensor<4xf32>
  %5 = tensor.insert %x into %4[%i] : tensor<99xf32>
  %6 = tensor.insert %x into %5[%i] : tensor<99xf32>
  %7 = tensor.insert %x into %6[%i] : tensor<99xf32>
  %8 = tensor.insert %x into %7[%i] : tensor<99xf32>
  %9 = tensor.insert %x into %8[%i] : tensor<99xf32>
  %10 = tensor.insert %x into %9[%i] : tensor<99xf32>
  %11 = tensor.insert %x into %10[%i] : tensor<99xf32>
  %12 = tensor.insert %x into %11[%i] : tensor<99xf32>
  %r = tensor.extract %12[%i] : tensor<99xf32>
  %s = tensor.extract %v[%i] : tensor<4xf32>
  return %r, %s : f32, f32
}

// Part of the tensor that a loop starts from may be read in the loop.
// CHECK-LABEL: func.func @outside
// CHECK:         scf.for
// CHECK-NOT:     to_buffer
// CHECK:         return
func.func @outside(%m: memref<99xf32>, %x: f32, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = bufferization.to_tensor %m restrict writable : memref<99xf32> to tensor<99xf32>
  %v = tensor.extract_slice %t[3] [4] [1] : tensor<99xf32> to tensor<4xf32>
  %r:2 = scf.for %k = %c0 to %i step %c1 iter_args(%a = %t, %s = %x) -> (tensor<99xf32>, f32) {
    %1 = tensor.insert %x into %a[%i] : tensor<99xf32>
    %2 = tensor.insert %x into %1[%i] : tensor<99xf32>
    %3 = tensor.insert %x into %2[%i] : tensor<99xf32>
    %4 = tensor.insert %x into %3[%i] : tensor<99xf32>
    %5 = tensor.insert %x into %4[%i] : tensor<99xf32>
    %6 = tensor.insert %x into %5[%i] : tensor<99xf32>
    %7 = tensor.insert %x into %6[%i] : tensor<99xf32>
    %8 = tensor.insert %x into %7[%i] : tensor<99xf32>
    %9 = tensor.insert %x into %8[%i] : tensor<99xf32>
    %y = tensor.extract %v[%c0] : tensor<4xf32>
    scf.yield %9, %y : tensor<99xf32>, f32
  }
  return %r#1 : f32
}

// Updates that are made under a condition count, too, and a loop's carry stays in its buffer.
// CHECK-LABEL: func.func @conditional
// CHECK-COUNT-8: scf.if
// CHECK:           bufferization.to_buffer
// CHECK-NEXT:      bufferization.to_tensor
// BUFFER-LABEL: func.func @conditional
// BUFFER-NOT:   memref.copy
// BUFFER:       return
func.func @conditional(%m: memref<99xf32>, %x: f32, %i: index, %p: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = bufferization.to_tensor %m restrict writable : memref<99xf32> to tensor<99xf32>
  %r = scf.for %k = %c0 to %i step %c1 iter_args(%a = %t) -> (tensor<99xf32>) {
    %1 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %a[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %a : tensor<99xf32>
    }
    %2 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %1[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %1 : tensor<99xf32>
    }
    %3 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %2[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %2 : tensor<99xf32>
    }
    %4 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %3[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %3 : tensor<99xf32>
    }
    %5 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %4[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %4 : tensor<99xf32>
    }
    %6 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %5[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %5 : tensor<99xf32>
    }
    %7 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %6[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %6 : tensor<99xf32>
    }
    %8 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %7[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %7 : tensor<99xf32>
    }
    %9 = scf.if %p -> (tensor<99xf32>) {
      %n = tensor.insert %x into %8[%k] : tensor<99xf32>
      scf.yield %n : tensor<99xf32>
    } else {
      scf.yield %8 : tensor<99xf32>
    }
    scf.yield %9 : tensor<99xf32>
  }
  %z = tensor.extract %r[%i] : tensor<99xf32>
  return %z : f32
}
