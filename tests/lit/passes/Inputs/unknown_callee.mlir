func.func @double(%x: memref<8xf32>, %o: memref<4xf32>) {
  return
}
func.func @main(%x: memref<8xf32>, %o: memref<8xf32>) {
  lingon.call @double ins(%x : memref<8xf32>) outs(%o : memref<8xf32>)
  return
}
