func.func @f(%x: tensor<4xf32>) {
  lingon.kernel_call "k" outs(%x : tensor<4xf32>) {dtypes = array<i32: 13>}
  return
}
