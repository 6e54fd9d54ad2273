# A softmax is one fused kernel, and no temporary has the size of the array.
# RUN: mlir-dump %s::softmax --args 'f32[4096,1024]' --stats | FileCheck %s
# CHECK: transcendentals: 4194304
# CHECK: kernels: 1
# CHECK: library_kernels: 0
# CHECK: allocations: 0
# CHECK: copies: 0
# CHECK: vector_width: {{[0-9]+}} x f32

from lingon import lax


def softmax(x):
    largest = lax.broadcast_in_dim(lax.reduce_max(x, (1,)), x.shape, (0,))
    exponentials = lax.exp(lax.sub(x, largest))
    total = lax.broadcast_in_dim(lax.reduce_sum(exponentials, (1,)), x.shape, (0,))
    return lax.div(exponentials, total)
