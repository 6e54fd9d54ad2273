// RUN: mlir-dump %s --passes lingon-plan-buffers,lingon-lower-calls,canonicalize | FileCheck %s
// RUN: not mlir-dump %S/Inputs/unknown_callee.mlir --passes lingon-lower-calls 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: 'lingon.call' op does not pass what @double takes

// The function becomes private, and what it is called with is known not to overlap. It works in a part
// of its caller's scratch memory.
// CHECK-LABEL: func.func private @double(
// CHECK-SAME:    %{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: f32, %{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<4096xi8> {llvm.noalias})
// CHECK-SAME:    attributes {lingon.called, lingon.scratch_bytes = 4096 : i64}
func.func @double(%x: memref<8xf32>, %s: f32, %o: memref<8xf32>) {
  %t = memref.alloc() : memref<1024xf32>
  linalg.fill ins(%s : f32) outs(%t : memref<1024xf32>)
  memref.copy %x, %o : memref<8xf32> to memref<8xf32>
  return
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:.*]]: memref<2x8xf32>, %[[O:.*]]: memref<8xf32>, %[[S:.*]]: memref<4096xi8>)
// CHECK:         memref.extract_aligned_pointer_as_index
// CHECK:         llvm.getelementptr %{{.*}}[8] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK:         call @double(%{{.*}}, %{{.*}}, %[[O]], %[[S]]) : (memref<8xf32>, f32, memref<8xf32>, memref<4096xi8>) -> ()
// CHECK-NOT:     memref.copy
func.func @main(%x: memref<2x8xf32>, %o: memref<8xf32>) {
  %s = arith.constant 2.0 : f32
  %row = memref.subview %x[1, 0] [1, 8] [1, 1] : memref<2x8xf32> to memref<8xf32, strided<[1], offset: 8>>
  lingon.call @double ins(%row, %s : memref<8xf32, strided<[1], offset: 8>>, f32) outs(%o : memref<8xf32>)
  return
}

// Also a buffer whose layout says that it begins at the start has another type than the argument.
// CHECK-LABEL: func.func @first_elements(
// CHECK:         call @double(%{{.*}}) : (memref<8xf32>, f32, memref<8xf32>, memref<4096xi8>) -> ()
func.func @first_elements(%x: memref<16xf32>, %o: memref<8xf32>) {
  %s = arith.constant 2.0 : f32
  %first = memref.subview %x[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  lingon.call @double ins(%first, %s : memref<8xf32, strided<[1]>>, f32) outs(%o : memref<8xf32>)
  return
}
