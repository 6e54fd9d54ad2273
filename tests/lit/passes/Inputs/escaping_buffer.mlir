func.func @f(%y: memref<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %y) -> (memref<4xf32>) {
    %a = memref.alloc() : memref<4xf32>
    memref.copy %b, %a : memref<4xf32> to memref<4xf32>
    scf.yield %a : memref<4xf32>
  }
  %v = memref.load %r[%c0] : memref<4xf32>
  return %v : f32
}
