// RUN: mlir-dump %s --passes 'func.func(lingon-fuse-rows)' | FileCheck %s

// The last operation reads its own row of %y as an operand, and others in its body: all of %y is there
// before it.
// CHECK-LABEL: func.func @rows_by_numbers_of_rows
// CHECK:         %[[R:.*]]:2 = scf.forall
// CHECK:           math.tanh
// CHECK:           scf.forall.in_parallel
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK:           tensor.extract %[[R]]#0[
// CHECK:         return
func.func @rows_by_numbers_of_rows(%x: tensor<6x64xf32>) -> tensor<6x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x64xf32>) outs(%e : tensor<6x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<6x64xf32>
  %es = tensor.empty() : tensor<6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%es : tensor<6xf32>) -> tensor<6xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<6x64xf32>) outs(%fill : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%s, %y : tensor<6xf32>, tensor<6x64xf32>) outs(%e : tensor<6x64xf32>) {
  ^bb0(%in: f32, %own: f32, %out: f32):
    %positive = arith.cmpf ogt, %in, %zero : f32
    %number = arith.extui %positive : i1 to i32
    %row = arith.index_cast %number : i32 to index
    %j = linalg.index 1 : index
    %other = tensor.extract %y[%row, %j] : tensor<6x64xf32>
    %t = arith.addf %own, %other : f32
    linalg.yield %t : f32
  } -> tensor<6x64xf32>
  return %r : tensor<6x64xf32>
}
