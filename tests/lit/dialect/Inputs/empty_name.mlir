func.func @f(%x: memref<4xf32>) {
  lingon.kernel_call "" outs(%x : memref<4xf32>) {dtypes = array<i32: 13>}
  return
}
