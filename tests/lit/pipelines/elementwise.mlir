// An elementwise program becomes one vectorised loop that writes the caller's buffer: no temporary,
// no copy, no call.
// RUN: mlir-dump %s --to loops | FileCheck %s --check-prefix=LOOPS
// RUN: mlir-dump %s --to llvm-opt | FileCheck %s --check-prefix=OPT
// RUN: mlir-dump %s --stats | FileCheck %s --check-prefix=STATS

#id = affine_map<(i) -> (i)>
func.func @main(%arg0: memref<1000xf32>, %arg1: memref<1000xf32>, %out0: memref<1000xf32>) {
  %x = bufferization.to_tensor %arg0 restrict : memref<1000xf32> to tensor<1000xf32>
  %y = bufferization.to_tensor %arg1 restrict : memref<1000xf32> to tensor<1000xf32>
  %e = tensor.empty() : tensor<1000xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<1000xf32>, tensor<1000xf32>) outs(%e : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1000xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%1, %y : tensor<1000xf32>, tensor<1000xf32>) outs(%e : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1000xf32>
  bufferization.materialize_in_destination %2 in restrict writable %out0
    : (tensor<1000xf32>, memref<1000xf32>) -> ()
  return
}
// LOOPS-NOT:   memref.alloc
// LOOPS-NOT:   memref.copy
// LOOPS:       scf.for
// LOOPS:         arith.mulf {{.*}} fastmath<contract>
// LOOPS:         arith.addf {{.*}} fastmath<contract>
// LOOPS:         {{(memref|vector)}}.store
// LOOPS-NOT:   memref.alloc
// LOOPS-NOT:   memref.copy

// OPT-NOT:   call {{.*}}@{{[^l]}}
// OPT:       load <{{[0-9]+}} x float>
// OPT:       fmul contract <{{[0-9]+}} x float>
// OPT:       store <{{[0-9]+}} x float>

// STATS: flops: 2000
// STATS: bytes_accessed: 12000
// STATS: kernels: 1
// STATS: allocations: 0
// STATS: copies: 0
