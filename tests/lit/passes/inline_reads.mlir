// RUN: mlir-dump %s --passes 'func.func(lingon-inline-reads)' | FileCheck %s

#id = affine_map<(i) -> (i)>
#t = affine_map<(i, j) -> (j, i)>
#all = affine_map<(i, j) -> (i, j)>
#unit = affine_map<(i) -> (i, 0)>

// Indices that count from the end, in the loop that reads them.
// CHECK-LABEL: func.func @scatter
// CHECK-SAME:    %[[I:.*]]: tensor<64xi32>
// CHECK-NOT:     linalg.generic
// CHECK:         scf.for %[[K:[a-z0-9]*]] =
// CHECK:           %[[E:.*]] = tensor.extract %[[I]][%[[K]]]
// CHECK:           arith.cmpi slt, %[[E]]
// CHECK:           arith.select
// CHECK:           tensor.insert
func.func @scatter(%i: tensor<64xi32>, %x: tensor<8xf32>, %u: f32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %n = arith.constant 8 : i32
  %e = tensor.empty() : tensor<64x1xi32>
  %0 = linalg.generic {indexing_maps = [#id, #unit], iterator_types = ["parallel"]} ins(%i : tensor<64xi32>) outs(%e : tensor<64x1xi32>) {
  ^bb0(%a: i32, %o: i32):
    %negative = arith.cmpi slt, %a, %zero : i32
    %from_end = arith.addi %a, %n : i32
    %r = arith.select %negative, %from_end, %a : i32
    linalg.yield %r : i32
  } -> tensor<64x1xi32>
  %1 = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %x) -> (tensor<8xf32>) {
    %p = tensor.extract %0[%k, %c0] : tensor<64x1xi32>
    %at = arith.index_cast %p : i32 to index
    %r = tensor.insert %u into %s[%at] : tensor<8xf32>
    scf.yield %r : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}

// The iteration that made the element: positions and other operands are its own.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[P:.*]]: tensor<3xindex>
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<3xindex>)
// CHECK:           ^bb0(%[[A:.*]]: index, %{{.*}}: f32):
// CHECK:           %[[E:.*]] = tensor.extract %[[X]][%{{.*}}, %[[A]]]
// CHECK:           %[[I:.*]] = arith.index_cast %[[A]] : index to i32
// CHECK:           arith.addf %[[E]]
// CHECK-NOT:     linalg.generic
func.func @transposed(%x: tensor<4x8xf32>, %p: tensor<3xindex>) -> tensor<3xf32> {
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<8x4xf32>
  %e3 = tensor.empty() : tensor<3xf32>
  %0 = linalg.generic {indexing_maps = [#all, #t], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %f = arith.sitofp %k : i32 to f32
    %r = arith.addf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%p : tensor<3xindex>) outs(%e3 : tensor<3xf32>) {
  ^bb0(%a: index, %o: f32):
    %r = tensor.extract %0[%a, %c2] : tensor<8x4xf32>
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// More reads than elements: they are stored.
// CHECK-LABEL: func.func @read_often
// CHECK:         linalg.generic
// CHECK:           arith.addf
// CHECK:         linalg.generic
// CHECK:           tensor.extract
func.func @read_often(%x: tensor<8xf32>, %p: tensor<64xindex>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %e64 = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%p : tensor<64xindex>) outs(%e64 : tensor<64xf32>) {
  ^bb0(%a: index, %o: f32):
    %r = tensor.extract %0[%a] : tensor<8xf32>
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// What the loop updates would be copied if it were still read.
// CHECK-LABEL: func.func @updated
// CHECK:         linalg.generic
// CHECK:         scf.for
// CHECK:           tensor.extract
// CHECK-NOT:       arith.addi
func.func @updated(%x: tensor<8xi32>) -> tensor<8xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<8xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %r = arith.addi %a, %a : i32
    linalg.yield %r : i32
  } -> tensor<8xi32>
  %1 = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %x) -> (tensor<8xi32>) {
    %p = tensor.extract %0[%k] : tensor<8xi32>
    %r = tensor.insert %p into %s[%k] : tensor<8xi32>
    scf.yield %r : tensor<8xi32>
  }
  return %1 : tensor<8xi32>
}
