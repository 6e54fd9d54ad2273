// RUN: mlir-dump %s --passes 'func.func(lingon-donate)' | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#transposed = affine_map<(i, j) -> (j, i)>

// An update of a copy: the copy goes.
// CHECK-LABEL: func.func @update
// CHECK-SAME:      %{{.*}}: memref<8xf32>, %[[V:.*]]: f32, %[[OUT:.*]]: memref<8xf32>)
// CHECK-SAME:      lingon.aliases = array<i64: 0, 2>
// CHECK-NOT:     memref.copy
// CHECK:         memref.store %[[V]], %[[OUT]]
func.func @update(%x: memref<8xf32> {lingon.donated}, %v: f32, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  memref.copy %x, %out : memref<8xf32> to memref<8xf32>
  memref.store %v, %out[%c0] : memref<8xf32>
  return
}

// Without the mark nothing changes.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     lingon.aliases
// CHECK:         memref.copy
func.func @kept(%x: memref<8xf32>, %out: memref<8xf32>) {
  memref.copy %x, %out : memref<8xf32> to memref<8xf32>
  return
}

// Element by element, several at once.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME:      %{{.*}}: memref<4x8xf32>, %{{.*}}: memref<4x8xf32>, %[[A:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<4x8xf32>)
// CHECK-SAME:      lingon.aliases = array<i64: 0, 2, 1, 3>
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[A]], %[[B]]
// CHECK-SAME:      outs(%[[A]], %[[B]]
func.func @elementwise(%x: memref<4x8xf32> {lingon.donated}, %y: memref<4x8xf32> {lingon.donated},
                       %a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : memref<4x8xf32>, memref<4x8xf32>) outs(%a, %b : memref<4x8xf32>, memref<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o0: f32, %o1: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s, %p : f32, f32
  }
  return
}

// An element is read after its place was written.
// CHECK-LABEL: func.func @transposed
// CHECK-NOT:     lingon.aliases
// CHECK:         return
func.func @transposed(%x: memref<8x8xf32> {lingon.donated}, %out: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#transposed, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x8xf32>) outs(%out : memref<8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// The body reads where it likes.
// CHECK-LABEL: func.func @gathered
// CHECK-NOT:     lingon.aliases
// CHECK:         return
func.func @gathered(%x: memref<8x8xf32> {lingon.donated}, %out: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x8xf32>) outs(%out : memref<8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %q = memref.load %x[%i, %c0] : memref<8x8xf32>
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// A later operation reads what was there.
// CHECK-LABEL: func.func @read_later
// CHECK-NOT:     lingon.aliases
// CHECK:         return
func.func @read_later(%x: memref<8xf32> {lingon.donated}, %v: f32, %out: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  memref.store %v, %out[%c0] : memref<8xf32>
  %r = memref.load %x[%c0] : memref<8xf32>
  return %r : f32
}

// A row at a time: all of a row is read before any of it is written.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:      lingon.aliases = array<i64: 0, 1>
func.func @rows(%x: memref<4x8xf32> {lingon.donated}, %out: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %from = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %sum = memref.alloc() : memref<f32>
    linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>], iterator_types = ["reduction"]}
        ins(%from : memref<8xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    }
    %to = memref.subview %out[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> ()>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
        ins(%sum : memref<f32>) outs(%to : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    }
  }
  return
}

// Each row is made from another one.
// CHECK-LABEL: func.func @other_rows
// CHECK-NOT:     lingon.aliases
// CHECK:         return
func.func @other_rows(%x: memref<4x8xf32> {lingon.donated}, %out: memref<4x8xf32>) {
  %c3 = arith.constant 3 : index
  scf.forall (%i) in (4) {
    %k = arith.subi %c3, %i : index
    %from = memref.subview %x[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %to = memref.subview %out[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    memref.copy %from, %to : memref<8xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
  }
  return
}

// The first result of that type is not the one that spares a copy.
// CHECK-LABEL: func.func @copies_first
// CHECK-SAME:      lingon.aliases = array<i64: 0, 2>
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @copies_first(%x: memref<8xf32> {lingon.donated}, %a: memref<8xf32>, %b: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
      ins(%x : memref<8xf32>) outs(%a : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  memref.store %v, %b[%c0] : memref<8xf32>
  return
}
