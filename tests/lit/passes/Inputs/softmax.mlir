#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %z = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<64xf32>
  %e = tensor.empty() : tensor<64x128xf32>
  %i0 = linalg.fill ins(%ninf : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %mx = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%i0 : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %i1 = linalg.fill ins(%z : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %es:2 = linalg.generic {indexing_maps = [#m, #r, #m, #r], iterator_types = ["parallel", "reduction"]} ins(%x, %mx : tensor<64x128xf32>, tensor<64xf32>) outs(%e, %i1 : tensor<64x128xf32>, tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32, %p: f32):
    %s = arith.subf %a, %b : f32
    %t = math.exp %s : f32
    %u = arith.addf %p, %t : f32
    linalg.yield %t, %u : f32, f32
  } -> (tensor<64x128xf32>, tensor<64xf32>)
  %rs = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%es#0, %es#1 : tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  return %rs : tensor<64x128xf32>
}

func.func @over_columns(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %z = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<128xf32>
  %e = tensor.empty() : tensor<64x128xf32>
  %i0 = linalg.fill ins(%z : f32) outs(%er : tensor<128xf32>) -> tensor<128xf32>
  %s = linalg.generic {indexing_maps = [#m, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<64x128xf32>) outs(%i0 : tensor<128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %c = linalg.generic {indexing_maps = [#m, affine_map<(i, j) -> (j)>, #m], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<64x128xf32>, tensor<128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  return %c : tensor<64x128xf32>
}
