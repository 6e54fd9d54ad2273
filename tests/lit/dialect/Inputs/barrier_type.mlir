func.func @f(%x: tensor<4xf32>) -> tensor<5xf32> {
  %0 = lingon.barrier %x : tensor<4xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
