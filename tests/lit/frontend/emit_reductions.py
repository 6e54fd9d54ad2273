# A reduction takes in the elementwise equations that only it reads; narrow sums accumulate in f32;
# argmax is an extreme value, then the least index that has it.
# RUN: mlir-dump %s::total --args 'f32[4,8]' --to linalg | FileCheck %s --check-prefix=TOTAL
# RUN: mlir-dump %s::narrow --args 'bf16[4,8]' --to linalg | FileCheck %s --check-prefix=NARROW
# RUN: mlir-dump %s::where --args 'f32[4,8]' --to linalg | FileCheck %s --check-prefix=WHERE

from lingon import lax
from lingon import numpy as jnp


# TOTAL: linalg.generic {{.*}}["parallel", "reduction"]
# TOTAL: math.exp
# TOTAL-NEXT: arith.addf {{.*}} fastmath<reassoc> : f32
# TOTAL-NEXT: linalg.yield
# TOTAL-NOT: linalg.generic
# TOTAL: materialize_in_destination
def total(x):
    return jnp.exp(x).sum(1)


# NARROW: linalg.fill {{.*}} -> tensor<4xf32>
# NARROW: linalg.generic {{.*}}"reduction"
# NARROW: arith.addf {{.*}} fastmath<reassoc> : f32
# NARROW: linalg.generic
# NARROW: to bf16
def narrow(x):
    return jnp.sum(x, axis=1)


# WHERE: arith.maximumf
# WHERE: linalg.generic {{.*}}"reduction"
# WHERE: linalg.index 1
# WHERE: arith.minsi {{.*}} i32
def where(x):
    return lax.argmax(x, 1, "int32")
