# Recomputation reads its operands behind a barrier, which it needs only where somebody else reads
# them; names and calls with rules leave nothing behind.
# RUN: mlir-dump %s::recomputed --args 'f32[64,64]' --to linalg | FileCheck %s --check-prefix=AGAIN
# RUN: mlir-dump %s::allowed --args 'f32[64,64]' --to linalg | FileCheck %s --check-prefix=ALLOWED
# RUN: mlir-dump %s::fenced --args 'f32[64]' --to fused | FileCheck %s --check-prefix=FENCED
# RUN: mlir-dump %s::named --args 'f32[64]' --to linalg | FileCheck %s --check-prefix=NAMED

from lingon import checkpoint, custom_gradient, lax, value_and_grad
from lingon import numpy as jnp
from lingon.ad_checkpoint import checkpoint_name


def loss(x):
    return jnp.sin(jnp.sin(x) @ x).sum()


# AGAIN-COUNT-1: lingon.barrier %{{[0-9]+}} : tensor<64x64xf32> -> tensor<64x64xf32>
# AGAIN-NOT: lingon.barrier
def recomputed(x):
    return value_and_grad(checkpoint(loss))(x)


# ALLOWED-NOT: lingon.barrier
def allowed(x):
    return value_and_grad(checkpoint(loss, prevent_cse=False))(x)


# FENCED-COUNT-2: math.sin
# FENCED-NOT: math.sin
def fenced(x):
    return jnp.sin(x), jnp.sin(x), jnp.sin(lax.optimization_barrier(x))


# NAMED: math.sin
# NAMED-NEXT: arith.addf
# NAMED-NOT: call
def named(x):
    return custom_gradient(lambda y: (checkpoint_name(jnp.sin(y), "s"), None))(x) + 1
