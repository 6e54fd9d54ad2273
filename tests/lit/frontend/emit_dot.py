# Small products are loops that fuse; others call the library kernel, which takes transposes as strides.
# RUN: mlir-dump %s::small --args 'f32[3,3],f32[3]' --to linalg | FileCheck %s --check-prefix=SMALL
# RUN: mlir-dump %s::large --args 'f32[40,30],f32[50,30]' --to fused | FileCheck %s --check-prefix=LARGE
# RUN: mlir-dump %s::large --args 'bf16[40,30],bf16[50,30]' --to linalg | FileCheck %s --check-prefix=NARROW

from lingon import numpy as jnp


# SMALL-NOT: kernel_call
# SMALL: linalg.generic {{.*}}["parallel", "reduction"]
# SMALL: arith.mulf
# SMALL: arith.addf {{.*}} fastmath<reassoc>
def small(a, x):
    return a @ x


# LARGE-NOT: linalg.transpose
# LARGE: lingon.kernel_call "dot_general" ins(%{{.*}} : tensor<40x30xf32>, tensor<50x30xf32>)
# LARGE-SAME: config = array<i64: 0, 1, 1, 1, 0, 0>
# LARGE-SAME: dtypes = array<i32: 13, 13, 13>
# Sums of bfloat16 are taken and returned in float32, and rounded once.
# NARROW: lingon.kernel_call "dot_general"
# NARROW-SAME: dtypes = array<i32: 12, 12, 13>
# NARROW-SAME: -> tensor<40x50xf32>
# NARROW: linalg.generic
# NARROW: bf16
def large(a, b):
    return jnp.matmul(a, b.T)
