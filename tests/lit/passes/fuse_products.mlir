// RUN: mlir-dump %s --passes 'func.func(lingon-fuse-products{least-bytes=1024 block-bytes=8192}),canonicalize' | FileCheck %s
// RUN: mlir-dump %s --passes 'func.func(lingon-fuse-products)' | FileCheck %s --check-prefix=SMALL

// One loop over blocks of rows, of equal size, through two products; the
// number of a row is that in the whole.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    %[[A:.*]]: tensor<2x96x8xf32>, %[[B:.*]]: tensor<2x64x8xf32>, %[[C:.*]]: tensor<2x64x8xf32>
// CHECK:         %[[R:.*]] = scf.forall (%[[I:.*]], %[[J:.*]]) in (2, 6) shared_outs(%[[O:.*]] = %{{.*}}) -> (tensor<2x96x8xf32>)
// CHECK:           %[[AT:.*]] = arith.muli %[[J]], %{{.*}}
// CHECK:           %[[ROWS:.*]] = tensor.extract_slice %[[A]][%[[I]], %[[AT]], 0] [1, 16, 8]
// CHECK:           %[[ALL:.*]] = tensor.extract_slice %[[B]][%[[I]], 0, 0] [1, 64, 8]
// CHECK:           lingon.kernel_call "dot_general" ins(%[[ROWS]], %[[ALL]] {{.*}} -> tensor<1x16x64xf32>
// CHECK:           linalg.generic {{.*}} outs({{.*}} : tensor<1x16x64xf32>)
// CHECK:             %[[ROW:.*]] = linalg.index 1
// CHECK:             arith.addi %[[ROW]], %[[AT]]
// CHECK:           %[[PART:.*]] = tensor.extract_slice %[[O]][%[[I]], %[[AT]], 0] [1, 16, 8]
// CHECK:           lingon.kernel_call "dot_general" ins({{.*}}) outs(%[[PART]]
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[I]], %[[AT]], 0] [1, 16, 8]
// CHECK:         return %[[R]]

// 53 rows: three blocks of 16, and one of 5. A result that is used elsewhere
// is stored as well.
// CHECK-LABEL: func.func @rest
// CHECK:         %[[FIRST:.*]]:2 = scf.forall (%{{.*}}) in (3)
// CHECK:         tensor.extract_slice %{{.*}}[48, 0] [5, 8]
// CHECK:         tensor.extract_slice %[[FIRST]]#0[48, 0] [5, 64]

// The second product sums over the rows of the first: blocks of columns.
// CHECK-LABEL: func.func @over_rows
// CHECK-SAME:    %[[A2:.*]]: tensor<64x8xf32>, %[[B2:.*]]: tensor<8x64xf32>
// CHECK:         scf.forall
// CHECK:           tensor.extract_slice %[[B2]][0, %{{.*}}] [8, 16]
// CHECK:           lingon.kernel_call "dot_general" ins(%[[A2]],

// What lies between fits the cache anyway.
// SMALL-NOT: scf.forall

#id3 = affine_map<(b, i, j) -> (b, i, j)>
func.func @chain(%a: tensor<2x96x8xf32>, %b: tensor<2x64x8xf32>, %c: tensor<2x64x8xf32>) -> tensor<2x96x8xf32> {
  %e = tensor.empty() : tensor<2x96x64xf32>
  %s = lingon.kernel_call "dot_general" ins(%a, %b : tensor<2x96x8xf32>, tensor<2x64x8xf32>) outs(%e : tensor<2x96x64xf32>)
    {config = array<i64: 1, 1, 0, 0, 2, 2, 1, 1>, dtypes = array<i32: 13, 13, 13>,
     lingon.parallel = [array<i64: 0, 0, 0>, array<i64: 1, -1, 1>, array<i64: -1, 1, 2>]} -> tensor<2x96x64xf32>
  %p = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x96x64xf32>) outs(%e : tensor<2x96x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %below = arith.cmpi sge, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %y = arith.select %below, %x, %zero : f32
    linalg.yield %y : f32
  } -> tensor<2x96x64xf32>
  %f = tensor.empty() : tensor<2x96x8xf32>
  %r = lingon.kernel_call "dot_general" ins(%p, %c : tensor<2x96x64xf32>, tensor<2x64x8xf32>) outs(%f : tensor<2x96x8xf32>)
    {config = array<i64: 1, 1, 0, 0, 2, 1, 1, 2>, dtypes = array<i32: 13, 13, 13>,
     lingon.parallel = [array<i64: 0, 0, 0>, array<i64: 1, -1, 1>, array<i64: -1, 2, 2>]} -> tensor<2x96x8xf32>
  return %r : tensor<2x96x8xf32>
}

#id2 = affine_map<(i, j) -> (i, j)>
func.func @rest(%a: tensor<53x8xf32>, %b: tensor<8x64xf32>, %c: tensor<64x8xf32>) -> (tensor<53x64xf32>, tensor<53x8xf32>) {
  %e = tensor.empty() : tensor<53x64xf32>
  %s = lingon.kernel_call "dot_general" ins(%a, %b : tensor<53x8xf32>, tensor<8x64xf32>) outs(%e : tensor<53x64xf32>)
    {config = array<i64: 0, 1, 1, 0, 0, 1>, dtypes = array<i32: 13, 13, 13>,
     lingon.parallel = [array<i64: 0, -1, 0>, array<i64: -1, 1, 1>]} -> tensor<53x64xf32>
  %p = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<53x64xf32>) outs(%e : tensor<53x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<53x64xf32>
  %f = tensor.empty() : tensor<53x8xf32>
  %r = lingon.kernel_call "dot_general" ins(%p, %c : tensor<53x64xf32>, tensor<64x8xf32>) outs(%f : tensor<53x8xf32>)
    {config = array<i64: 0, 1, 1, 0, 0, 1>, dtypes = array<i32: 13, 13, 13>,
     lingon.parallel = [array<i64: 0, -1, 0>, array<i64: -1, 1, 1>]} -> tensor<53x8xf32>
  return %p, %r : tensor<53x64xf32>, tensor<53x8xf32>
}

func.func @over_rows(%a: tensor<64x8xf32>, %b: tensor<8x64xf32>, %c: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %s = lingon.kernel_call "dot_general" ins(%a, %b : tensor<64x8xf32>, tensor<8x64xf32>) outs(%e : tensor<64x64xf32>)
    {config = array<i64: 0, 1, 1, 0, 0, 1>, dtypes = array<i32: 13, 13, 13>,
     lingon.parallel = [array<i64: 0, -1, 0>, array<i64: -1, 1, 1>]} -> tensor<64x64xf32>
  %f = tensor.empty() : tensor<64x8xf32>
  %r = lingon.kernel_call "dot_general" ins(%s, %c : tensor<64x64xf32>, tensor<64x8xf32>) outs(%f : tensor<64x8xf32>)
    {config = array<i64: 0, 1, 0, 0, 1, 1>, dtypes = array<i32: 13, 13, 13>,
     lingon.parallel = [array<i64: 1, -1, 0>, array<i64: -1, 1, 1>]} -> tensor<64x8xf32>
  return %r : tensor<64x8xf32>
}
