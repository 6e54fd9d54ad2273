func.func @f(%x: tensor<4xf32>, %y: memref<4xf32>) {
  lingon.kernel_call "k" ins(%x : tensor<4xf32>) outs(%y : memref<4xf32>) {dtypes = array<i32: 13, 13>}
  return
}
