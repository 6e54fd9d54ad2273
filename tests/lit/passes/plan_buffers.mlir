// RUN: mlir-dump %s --passes lingon-plan-buffers | FileCheck %s
// RUN: not mlir-dump %S/Inputs/escaping_buffer.mlir --passes lingon-plan-buffers 2>&1 | FileCheck %s --check-prefix=ESCAPES
// ESCAPES: a buffer made in one iteration of a loop is used after it

// %a and %c live at different times and share bytes; %b lives with both.
// CHECK-LABEL: func.func @share
// CHECK-SAME:    %[[S:[^:]*]]: memref<8192xi8>) attributes {lingon.scratch_bytes = 8192 : i64}
// CHECK:         %[[O:.*]] = arith.constant 0 : index
// CHECK:         memref.view %[[S]][%[[O]]][] : memref<8192xi8> to memref<1024xf32>
// CHECK:         %[[P:.*]] = arith.constant 4096 : index
// CHECK:         memref.view %[[S]][%[[P]]][] : memref<8192xi8> to memref<1024xf32>
// CHECK:         %[[Q:.*]] = arith.constant 0 : index
// CHECK:         memref.view %[[S]][%[[Q]]][] : memref<8192xi8> to memref<1024xf32>
// CHECK-NOT:     memref.dealloc
func.func @share(%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %a = memref.alloc() : memref<1024xf32>
  memref.copy %x, %a : memref<1024xf32> to memref<1024xf32>
  %b = memref.alloc() : memref<1024xf32>
  memref.copy %a, %b : memref<1024xf32> to memref<1024xf32>
  memref.dealloc %a : memref<1024xf32>
  %c = memref.alloc() : memref<1024xf32>
  memref.copy %b, %c : memref<1024xf32> to memref<1024xf32>
  memref.copy %c, %o : memref<1024xf32> to memref<1024xf32>
  return
}

// A buffer that a loop uses lives through the whole loop.
// CHECK-LABEL: func.func @loop
// CHECK-SAME:    memref<8192xi8>) attributes {lingon.scratch_bytes = 8192 : i64}
func.func @loop(%x: memref<1024xf32>, %o: memref<1024xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<1024xf32>
  memref.copy %x, %a : memref<1024xf32> to memref<1024xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.copy %a, %o : memref<1024xf32> to memref<1024xf32>
    %b = memref.alloc() : memref<1024xf32>
    memref.copy %o, %b : memref<1024xf32> to memref<1024xf32>
    memref.copy %b, %o : memref<1024xf32> to memref<1024xf32>
  }
  return
}

// A function called inside works in a part of its caller's block.
// CHECK-LABEL: func.func private @inner
// CHECK-SAME:    %{{.*}}: memref<4096xi8>) attributes {lingon.scratch_bytes = 4096 : i64}
// CHECK-LABEL: func.func @outer
// CHECK-SAME:    %[[S:[^:]*]]: memref<4096xi8>) attributes {lingon.scratch_bytes = 4096 : i64}
// CHECK:         %[[V:.*]] = memref.view %[[S]]
// CHECK:         call @inner(%{{.*}}, %{{.*}}, %[[V]])
func.func private @inner(%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %a = memref.alloc() : memref<1024xf32>
  memref.copy %x, %a : memref<1024xf32> to memref<1024xf32>
  memref.copy %a, %o : memref<1024xf32> to memref<1024xf32>
  return
}
func.func @outer(%x: memref<1024xf32>, %o: memref<1024xf32>) {
  call @inner(%x, %o) : (memref<1024xf32>, memref<1024xf32>) -> ()
  return
}
