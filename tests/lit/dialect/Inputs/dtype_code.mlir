func.func @f(%x: memref<4xf32>, %y: memref<4xi32>) {
  lingon.kernel_call "k" ins(%x : memref<4xf32>) outs(%y : memref<4xi32>) {dtypes = array<i32: 13, 13>}
  return
}
