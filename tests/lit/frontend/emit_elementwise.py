# Elementwise equations over one shape are one generic: broadcasts are maps, scalars are captured,
# bools are i8 in memory, narrow floats are computed in f32 and rounded after each operation.
# RUN: mlir-dump %s::affine --args 'f32[4,8],f32[8],f32[]' --to linalg | FileCheck %s --check-prefix=AFFINE
# RUN: mlir-dump %s::narrow --args 'f16[8]' --to linalg | FileCheck %s --check-prefix=NARROW
# RUN: mlir-dump %s::logic --args 'f32[8],bool[8]' --to linalg | FileCheck %s --check-prefix=LOGIC
# RUN: mlir-dump %s::divide --args 'i32[8],i32[8]' --to linalg | FileCheck %s --check-prefix=DIVIDE

from lingon import lax
from lingon import numpy as jnp


# AFFINE-DAG: affine_map<(d0, d1) -> (d0, d1)>
# AFFINE-DAG: affine_map<(d0, d1) -> (d1)>
# AFFINE: memref.load
# AFFINE: linalg.generic
# AFFINE: arith.mulf
# AFFINE-NEXT: arith.addf
# AFFINE-NEXT: math.exp
# AFFINE-NEXT: linalg.yield
# AFFINE-NOT: linalg.generic
# AFFINE: materialize_in_destination
def affine(x, b, s):
    return jnp.exp(x * s + b)


# NARROW: arith.extf {{.*}} f16 to f32
# NARROW: arith.mulf {{.*}} f32
# NARROW: arith.truncf {{.*}} f32 to f16
# NARROW: arith.extf
# NARROW: arith.addf {{.*}} f32
# NARROW: arith.truncf
def narrow(x):
    return lax.add(lax.mul(x, x), x)


# LOGIC: memref<8xi8>
# LOGIC: linalg.generic
# LOGIC-DAG: arith.cmpf ogt
# LOGIC-DAG: arith.cmpi ne
# LOGIC: arith.andi {{.*}} i1
# LOGIC: arith.extui {{.*}} i1 to i8
# LOGIC-NEXT: linalg.yield
def logic(x, b):
    return (x > 0) & b


# A divisor of zero, or the minimum over minus one, never reaches the division.
# DIVIDE: arith.cmpi eq
# DIVIDE: %[[SAFE:.*]] = arith.select
# DIVIDE: arith.divsi %{{.*}}, %[[SAFE]]
# DIVIDE-NEXT: arith.select
def divide(x, y):
    return lax.div(x, y)
