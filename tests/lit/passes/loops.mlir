// RUN: mlir-dump %s --passes 'func.func(lingon-loops),canonicalize,cse' | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#tr = affine_map<(i, j) -> (j, i)>

// Contiguous in all operands: one loop.
// CHECK-LABEL: func.func @collapsed
// CHECK-COUNT-2: memref.collapse_shape
// CHECK:         scf.parallel (%[[I:.*]]) = (%{{.*}}) to (%c120)
// CHECK-NEXT:      memref.load %{{.*}}[%[[I]]] : memref<120xf32>
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @collapsed(%x: memref<12x10xf32>, %o: memref<12x10xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<12x10xf32>) outs(%o : memref<12x10xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  }
  return
}

// The sum of a row is carried in a register, from the value of the fill; only the accumulating
// operation is relaxed.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[Z:.*]] = arith.constant 0.000000e+00
// CHECK-NOT:     memref.store
// CHECK:         scf.parallel (%[[I:.*]]) =
// CHECK-NEXT:      %[[S:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[Z]]) -> (f32)
// CHECK-NEXT:        %[[X:.*]] = memref.load
// CHECK-NEXT:        %[[M:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT:        %[[N:.*]] = arith.addf %[[A]], %[[M]] fastmath<reassoc> : f32
// CHECK-NEXT:        scf.yield %[[N]]
// CHECK:           memref.store %[[S]], %{{.*}}[%[[I]]]
func.func @rows(%x: memref<12x10xf32>, %o: memref<12xf32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%o : memref<12xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<12x10xf32>) outs(%o : memref<12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %a : f32
    %r = arith.addf %b, %m : f32
    linalg.yield %r : f32
  }
  return
}

// Over the outer dimension the innermost loop runs along rows, four rows at once; the maximum
// needs no relaxation.
// CHECK-LABEL: func.func @columns
// CHECK:         memref.store %{{.*}}, %arg1
// CHECK:         scf.for %{{.*}} = %c0 to %c12 step %c4
// CHECK-NEXT:      scf.for %[[J:.*]] = %c0 to %c10 step %c1
// CHECK-COUNT-4:     arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK:             memref.store %{{.*}}, %arg1[%[[J]]]
func.func @columns(%x: memref<12x10xf32>, %o: memref<10xf32>) {
  %z = arith.constant 0xFF800000 : f32
  linalg.fill ins(%z : f32) outs(%o : memref<10xf32>)
  linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]} ins(%x : memref<12x10xf32>) outs(%o : memref<10xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  }
  return
}

// Everything, large: blocks with partial sums that run in parallel, then their sum.
// CHECK-LABEL: func.func @everything
// CHECK:         %[[P:.*]] = memref.alloca() : memref<16xf32>
// CHECK:         scf.parallel {{.*}} to (%c16)
// CHECK:           scf.for {{.*}} iter_args
// CHECK:           memref.store %{{.*}}, %[[P]]
// CHECK:         scf.for {{.*}} iter_args
// CHECK-NEXT:      memref.load %[[P]]
// CHECK-NEXT:      arith.addf
func.func @everything(%x: memref<512x1024xf32>, %o: memref<f32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%o : memref<f32>)
  linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : memref<512x1024xf32>) outs(%o : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  }
  return
}

// Operands that disagree on the contiguous dimension: square tiles.
// CHECK-LABEL: func.func @transpose
// CHECK:         scf.parallel (%[[BI:.*]], %[[BJ:.*]]) = (%c0, %c0) to (%c3, %c2)
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               memref.load
// CHECK:               memref.store
func.func @transpose(%x: memref<64x96xf32>, %o: memref<96x64xf32>) {
  linalg.transpose ins(%x : memref<64x96xf32>) outs(%o : memref<96x64xf32>) permutation = [1, 0]
  return
}

// A fill that something reads in between stays.
// CHECK-LABEL: func.func @fill_is_read
// CHECK:         memref.store %{{.*}}, %arg1[] : memref<f32>
// CHECK:         memref.load %arg1[] : memref<f32>
// CHECK:         memref.store %{{.*}}, %arg2[] : memref<f32>
// CHECK:         memref.load %arg1[] : memref<f32>
func.func @fill_is_read(%x: memref<8xf32>, %o: memref<f32>, %p: memref<f32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%o : memref<f32>)
  %v = memref.load %o[] : memref<f32>
  memref.store %v, %p[] : memref<f32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<8xf32>) outs(%o : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  }
  return
}

// Strided copies become loops, copies onto themselves disappear.
// CHECK-LABEL: func.func @copies
// CHECK-NOT:     memref.copy
// CHECK:         memref.load
// CHECK:         memref.store
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @copies(%x: memref<8x8xf32>, %o: memref<8xf32>) {
  %s = memref.subview %x[0, 2] [8, 1] [1, 1] : memref<8x8xf32> to memref<8xf32, strided<[8], offset: 2>>
  memref.copy %s, %o : memref<8xf32, strided<[8], offset: 2>> to memref<8xf32>
  memref.copy %o, %o : memref<8xf32> to memref<8xf32>
  return
}

// An empty reduction leaves what the output was filled with.
// CHECK-LABEL: func.func @empty
// CHECK:         scf.parallel
// CHECK:           memref.store
// CHECK-NOT:     memref.load
// CHECK:         return
func.func @empty(%x: memref<4x0xf32>, %o: memref<4xf32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%o : memref<4xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x0xf32>) outs(%o : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  }
  return
}

// A sum over eleven elements: the rows are the innermost loop, and the sum is in
// registers.
// CHECK-LABEL: func.func @short_rows
// CHECK:         scf.parallel
// CHECK:         scf.for %[[I:.*]] = {{.*}} {
// CHECK-NOT:       scf.for
// CHECK-COUNT-11:  arith.addf
// CHECK:           memref.store {{.*}}[%[[I]]]
// CHECK-NOT:     arith.addf
// CHECK:         return
func.func @short_rows(%x: memref<4096x11xf32>, %out: memref<4096xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<4096xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4096x11xf32>) outs(%out : memref<4096xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// So does a transposition of rows of five: consecutive elements are stored, and
// loads are interleaved.
// CHECK-LABEL: func.func @short_columns
// CHECK:         scf.for %[[I:.*]] = {{.*}} {
// CHECK-NOT:       scf.for
// CHECK-COUNT-5:   memref.store {{.*}}, %[[I]]]
// CHECK:         return
func.func @short_columns(%x: memref<4096x5xf32>, %out: memref<5x4096xf32>) {
  linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4096x5xf32>) outs(%out : memref<5x4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
