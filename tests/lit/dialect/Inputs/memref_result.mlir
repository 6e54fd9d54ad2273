func.func @f(%y: memref<4xf32>) {
  %0 = lingon.kernel_call "k" outs(%y : memref<4xf32>) {dtypes = array<i32: 13>} -> tensor<4xf32>
  return
}
