func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  lingon.kernel_call "k" ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {dtypes = array<i32: 13>}
  return
}
