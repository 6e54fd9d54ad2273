// x*x + exp(x) on tensors, as emitted.
func.func @main(%arg0: memref<8x128xf32>, %out0: memref<8x128xf32>) {
  %x = bufferization.to_tensor %arg0 restrict : memref<8x128xf32> to tensor<8x128xf32>
  %e = tensor.empty() : tensor<8x128xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<8x128xf32>) outs(%e : tensor<8x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    %t = arith.mulf %a, %a : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<8x128xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out0
    : (tensor<8x128xf32>, memref<8x128xf32>) -> ()
  return
}
