// RUN: mlir-dump %s --passes 'func.func(lingon-compute-in-place)' | FileCheck %s

#both = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0) -> (d0)>

// The product lies in the result from the start.
// CHECK-LABEL: func.func @bias
// CHECK-SAME:      %[[X:.*]]: memref<8x8xf32>, %[[OUT:.*]]: memref<8x8xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         lingon.kernel_call "k" ins(%[[X]] : {{.*}}) outs(%[[OUT]] :
// CHECK:         linalg.generic {{.*}} ins(%[[OUT]] : {{.*}}) outs(%[[OUT]] :
func.func @bias(%x: memref<8x8xf32>, %out: memref<8x8xf32>) {
  %a = memref.alloc() : memref<8x8xf32>
  lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%out : memref<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  return
}

// Two temporaries, one after the other, become one; a third is needed.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[A:.*]] = memref.alloc
// CHECK-NOT:     memref.alloc
// CHECK:         lingon.kernel_call "k" {{.*}} outs(%[[A]] :
// CHECK:         linalg.generic {{.*}} ins(%[[A]] : {{.*}}) outs(%[[A]] :
// CHECK:         lingon.kernel_call "k" ins(%[[A]] :
func.func @chain(%x: memref<8x8xf32>, %out: memref<8x8xf32>) {
  %a = memref.alloc() : memref<8x8xf32>
  lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  %b = memref.alloc() : memref<8x8xf32>
  linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  lingon.kernel_call "k" ins(%b : memref<8x8xf32>) outs(%out : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  return
}

// Row by row: all of the row is read before it is written.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:      %[[X:.*]]: memref<8x8xf32>, %[[OUT:.*]]: memref<8x8xf32>
// CHECK-NOT:     memref.alloc() : memref<8x8xf32>
// CHECK:         lingon.kernel_call "k" ins(%[[X]] : {{.*}}) outs(%[[OUT]] :
func.func @rows(%x: memref<8x8xf32>, %out: memref<8x8xf32>) {
  %a = memref.alloc() : memref<8x8xf32>
  lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  scf.forall (%i) in (8) {
    %from = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %row = memref.alloc() : memref<8xf32>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%from : memref<8xf32, strided<[1], offset: ?>>) outs(%row : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = arith.negf %in : f32
      linalg.yield %0 : f32
    }
    %to = memref.subview %out[%i, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%row : memref<8xf32>) outs(%to : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %o: f32):
      %0 = arith.negf %in : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// Other elements are read than are written; what was in the result is read; the
// temporary is read once more.
// CHECK-LABEL: func.func @refused
// CHECK-COUNT-3: memref.alloc
func.func @refused(%x: memref<8x8xf32>, %o1: memref<8x8xf32>, %o2: memref<8x8xf32>, %o3: memref<8x8xf32>, %o4: memref<8x8xf32>) {
  %a = memref.alloc() : memref<8x8xf32>
  lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  linalg.generic {indexing_maps = [#turned, #both], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%o1 : memref<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  %b = memref.alloc() : memref<8x8xf32>
  lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%b : memref<8x8xf32>) outs(%o2 : memref<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %o : f32
    linalg.yield %0 : f32
  }
  %c = memref.alloc() : memref<8x8xf32>
  lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%c : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%c : memref<8x8xf32>) outs(%o3 : memref<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  lingon.kernel_call "k" ins(%c : memref<8x8xf32>) outs(%o4 : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
  return
}

// In the body of a loop, too.
// CHECK-LABEL: func.func @body
// CHECK:         scf.forall
// CHECK:           memref.alloc
// CHECK-NOT:       memref.alloc
// CHECK:           return
func.func @body(%x: memref<8x8xf32>, %out: memref<4x8x8xf32>) {
  scf.forall (%i) in (4) {
    %a = memref.alloc() : memref<8x8xf32>
    lingon.kernel_call "k" ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {dtypes = array<i32: 13, 13>}
    %b = memref.alloc() : memref<8x8xf32>
    linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = arith.negf %in : f32
      linalg.yield %0 : f32
    }
    %to = memref.subview %out[%i, 0, 0] [1, 8, 8] [1, 1, 1] : memref<4x8x8xf32> to memref<8x8xf32, strided<[8, 1], offset: ?>>
    lingon.kernel_call "k" ins(%b : memref<8x8xf32>) outs(%to : memref<8x8xf32, strided<[8, 1], offset: ?>>) {dtypes = array<i32: 13, 13>}
  }
  return
}
