# sort, top_k and running sums are library kernels, called without a copy.
# RUN: mlir-dump %s::argsort --args 'f32[4,8]' --to linalg | FileCheck %s --check-prefix=SORT
# RUN: mlir-dump %s::top --args 'i16[4,8]' --to linalg | FileCheck %s --check-prefix=TOP
# RUN: mlir-dump %s::running --args 'f32[4,8]' --to bufferized | FileCheck %s --check-prefix=RUNNING

from lingon import lax
from lingon import numpy as jnp


# SORT: %[[R:.*]]:2 = lingon.kernel_call "sort" ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xi32>)
# SORT-SAME: config = array<i64: 1, 1>
# SORT: materialize_in_destination %[[R]]#1
def argsort(x):
    return jnp.argsort(x, axis=1)


# TOP: lingon.kernel_call "top_k" ins(%{{.*}} : tensor<4x8xi16>)
# TOP-SAME: config = array<i64: 1, 3>
# TOP-SAME: dtypes = array<i32: 4, 4, 5>
# TOP-SAME: -> tensor<4x3xi16>, tensor<4x3xi32>
def top(x):
    return lax.top_k(x, 3)


# RUNNING-LABEL: func.func @main
# RUNNING-NOT: memref.alloc
# RUNNING: lingon.kernel_call "cumulative" ins(%arg0 : memref<4x8xf32>) outs(%arg1 : memref<4x8xf32>)
# RUNNING-SAME: config = array<i64: 0, 1, 1>
# RUNNING-NOT: memref.copy
def running(x):
    return lax.cumsum(x, axis=1, reverse=True)
