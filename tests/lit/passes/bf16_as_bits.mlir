// bf16 values are loaded, chosen and stored as integers; what computes with them gets them back.
// RUN: mlir-dump %s --passes 'lingon-bf16-as-bits' | FileCheck %s

// CHECK-LABEL: llvm.func @copy
// CHECK:         llvm.mlir.constant(dense<16256> : vector<8xi16>)
// CHECK:         llvm.intr.masked.load {{.*}} -> vector<8xi16>
// CHECK-NOT:     bitcast
// CHECK:         llvm.select {{.*}} : vector<8xi1>, vector<8xi16>
// CHECK:         llvm.intr.masked.store {{.*}} : vector<8xi16>
llvm.func @copy(%from: !llvm.ptr, %to: !llvm.ptr, %mask: vector<8xi1>) {
  %one = llvm.mlir.constant(dense<1.0> : vector<8xbf16>) : vector<8xbf16>
  %x = llvm.intr.masked.load %from, %mask, %one {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xbf16>) -> vector<8xbf16>
  %y = llvm.select %mask, %x, %one : vector<8xi1>, vector<8xbf16>
  %bits = llvm.bitcast %y : vector<8xbf16> to vector<8xi16>
  %z = llvm.bitcast %bits : vector<8xi16> to vector<8xbf16>
  llvm.intr.masked.store %z, %to, %mask {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr
  llvm.return
}

// Values that go through blocks, and an argument of the function.
// CHECK-LABEL: llvm.func @blocks
// CHECK:         %[[A:.*]] = llvm.bitcast %{{.*}} : bf16 to i16
// CHECK:         llvm.cond_br %{{.*}}, ^bb1(%[[A]] : i16), ^bb1(%{{.*}} : i16)
// CHECK:       ^bb1(%[[X:.*]]: i16):
// CHECK:         %[[B:.*]] = llvm.bitcast %[[X]] : i16 to bf16
// CHECK:         %[[WIDE:.*]] = llvm.fpext %[[B]] : bf16 to f32
// CHECK:         %[[C:.*]] = llvm.fptrunc %[[WIDE]] : f32 to bf16
// CHECK:         %[[BITS:.*]] = llvm.bitcast %[[C]] : bf16 to i16
// CHECK:         llvm.store %[[BITS]], %{{.*}} : i16, !llvm.ptr
llvm.func @blocks(%a: bf16, %p: !llvm.ptr, %c: i1) {
  %zero = llvm.mlir.constant(0.0 : bf16) : bf16
  llvm.cond_br %c, ^bb1(%a : bf16), ^bb1(%zero : bf16)
^bb1(%x: bf16):
  %wide = llvm.fpext %x : bf16 to f32
  %y = llvm.fptrunc %wide : f32 to bf16
  llvm.store %y, %p : bf16, !llvm.ptr
  llvm.return
}
