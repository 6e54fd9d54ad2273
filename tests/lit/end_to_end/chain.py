# A chain of 20 elementwise operations is one loop, without temporaries or copies.
# RUN: mlir-dump %s::chain --args 'f32[100,1000]' --to fused | FileCheck %s --check-prefix=FUSED
# RUN: mlir-dump %s::chain --args 'f32[100,1000]' --stats | FileCheck %s --check-prefix=STATS

from lingon import lax


# FUSED-COUNT-1: linalg.generic
# FUSED-COUNT-20: arith.
# FUSED-NOT: linalg.generic
# STATS: flops: 2000000
# STATS: bytes_accessed: 800000
# STATS: kernels: 1
# STATS: library_kernels: 0
# STATS: allocations: 0
# STATS: stack_buffers: 0
# STATS: copies: 0
def chain(x):
    for _ in range(10):
        x = lax.sub(lax.mul(x, x), x)
    return x
