# Starts are clamped; a gather is elementwise; a scatter is a loop over the index vectors, in place.
# RUN: mlir-dump %s::slices --args 'f32[8,9],i32[]' --to linalg | FileCheck %s --check-prefix=SLICES
# RUN: mlir-dump %s::gather --args 'f32[40,30],i32[5]' --to linalg | FileCheck %s --check-prefix=GATHER
# RUN: mlir-dump %s::scatter --args 'f32[40,30],i32[5],f32[5,30]' --to linalg | FileCheck %s --check-prefix=SCATTER
# RUN: mlir-dump %s::scatter --args 'f32[40,30],i32[5],f32[5,30]' --to bufferized | FileCheck %s --check-prefix=PLACE

from lingon import lax
from lingon import numpy as jnp


# SLICES: arith.maxsi
# SLICES: arith.minsi
# SLICES: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [2, 9] [1, 1]
def slices(x, i):
    return lax.dynamic_slice_in_dim(x, i, 2)


# GATHER: linalg.generic
# GATHER: arith.cmpi eq
# GATHER: tensor.extract %{{.*}} : tensor<40x30xf32>
# GATHER: arith.select
# GATHER: math.sin
# GATHER-NOT: linalg.generic
# GATHER: materialize_in_destination
def gather(x, i):
    return jnp.sin(jnp.take(x, i, axis=0, mode="fill"))


# SCATTER: scf.for
# SCATTER: tensor.extract
# SCATTER: scf.if
# SCATTER: tensor.extract_slice %{{.*}} : tensor<40x30xf32> to tensor<30xf32>
# SCATTER: arith.addf
# SCATTER: tensor.insert_slice
# PLACE-LABEL: func.func @main
# PLACE-SAME: %[[X:[a-z0-9]*]]: memref<40x30xf32>
# PLACE-SAME: %[[OUT:[a-z0-9]*]]: memref<40x30xf32>)
# PLACE-NOT: memref.alloc{{.*}}40x30
# PLACE: memref.copy %[[X]], %[[OUT]]
# PLACE: scf.for
def scatter(x, i, u):
    return x.at[i].add(u)
