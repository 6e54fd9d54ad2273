# Scalars are carried in registers, arrays as tensors; rows of stacked results go where they belong.
# RUN: mlir-dump %s::cumulate --args 'f32[],f32[9],f32[9,4]' --to linalg | FileCheck %s --check-prefix=SCAN
# RUN: mlir-dump %s::cumulate --args 'f32[],f32[9],f32[9,4]' --to bufferized | FileCheck %s --check-prefix=ROWS
# RUN: mlir-dump %s::unrolled --args 'f32[],f32[9]' --to linalg | FileCheck %s --check-prefix=UNROLL
# RUN: mlir-dump %s::newton --args 'f32[],f32[4]' --to linalg | FileCheck %s --check-prefix=WHILE
# RUN: mlir-dump %s::lanes --args 'f32[4]' --to linalg | FileCheck %s --check-prefix=LANES
# RUN: mlir-dump %s::choose --args 'bool[],f32[4],f32[]' --to linalg | FileCheck %s --check-prefix=COND
# RUN: mlir-dump %s::branches --args 'bool[],f32[4]' --to bufferized | FileCheck %s --check-prefix=BRANCH
# RUN: mlir-dump %s::switch --args 'i32[],f32[]' --to linalg | FileCheck %s --check-prefix=SWITCH
# RUN: mlir-dump %s::switch --args 'i32[],f32[4]' --to linalg | FileCheck %s --check-prefix=ARRAYS
# RUN: mlir-dump %s::update --args 'f32[500],i32[]' --to loops | FileCheck %s --check-prefix=UPDATE

import lingon
from lingon import lax
from lingon import numpy as jnp


# SCAN:     %[[S:.*]] = memref.load %arg0[]
# SCAN:     tensor.empty() : tensor<9x4xf32>
# SCAN:     scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[C:.*]] = %[[S]], %[[Y:.*]] = %{{.*}}) -> (f32, tensor<9x4xf32>)
# SCAN:       tensor.extract %{{.*}}[%{{.*}}] : tensor<9xf32>
# SCAN:       tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 4] [1, 1] : tensor<9x4xf32> to tensor<4xf32>
# SCAN:       %[[N:.*]] = arith.addf %[[C]]
# SCAN:       linalg.generic
# SCAN:       %[[T:.*]] = tensor.insert_slice %{{.*}} into %[[Y]]
# SCAN:       scf.yield %[[N]], %[[T]]
# ROWS:     scf.for %[[I:[a-z0-9]*]] = {{.*}} -> (f32) {
# ROWS:       %[[X:.*]] = memref.subview %arg2[%[[I]], 0]
# ROWS:       %[[Y:.*]] = memref.subview %arg4[%[[I]], 0]
# ROWS:       linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs(%[[Y]]
# ROWS-NOT:   memref.copy
# ROWS:     return
def cumulate(total, xs, rows):
    return lax.scan(lambda c, x: (c + x[0], x[1] * c), total, (xs, rows))


# Four iterations in one of the loop, the ninth behind it.
# UNROLL:         scf.for
# UNROLL-COUNT-4: tensor.extract
# UNROLL:         scf.yield
# UNROLL:         }
# UNROLL:         tensor.extract
def unrolled(total, xs):
    return lax.scan(lambda c, x: (c + x, None), total, xs, unroll=4)


# The array that the loop hands on unchanged is not carried.
# WHILE: scf.while (%[[A:.*]] = %{{.*}}, %[[N:.*]] = %{{.*}}) : (f32, i32) -> (f32, i32)
# WHILE:   scf.condition(%{{.*}}) %[[A]], %[[N]] : f32, i32
# WHILE: } do {
# WHILE: ^bb0(%{{.*}}: f32, %{{.*}}: i32):
# WHILE:   scf.yield
def newton(a, table):
    def step(c):
        x, n, table = c
        return 0.5 * (x + a / x) + table[0], n + 1, table

    return lax.while_loop(lambda c: jnp.abs(c[0] * c[0] - a) > 1e-3, step, (a, 0, table))


# The loop runs while any lane does; finished lanes keep their values.
# LANES: scf.while
# LANES:   linalg.generic {{.*}} iterator_types = ["reduction"]
# LANES:   arith.ori
# LANES: } do {
# LANES:   arith.cmpf olt
# LANES:   arith.select
def lanes(x):
    return lingon.vmap(lambda x: lax.while_loop(lambda x: x < 9, lambda x: x * 2, x))(x)


# COND: scf.if %{{.*}} -> (tensor<4xf32>, f32) {
# COND:   math.sin
# COND: } else {
# COND:   arith.negf
# COND: }
def choose(p, x, s):
    return lax.cond(p, lambda x, s: (jnp.sin(x), s), lambda x, s: (-x, s * 2), x, s)


# Each branch writes the result.
# BRANCH:      scf.if
# BRANCH:        linalg.generic {{.*}} ins(%arg1 : {{.*}}) outs(%arg2 :
# BRANCH:      } else {
# BRANCH-NEXT:   linalg.generic {{.*}} ins(%arg1 : {{.*}}) outs(%arg2 :
# BRANCH-NOT:  memref.copy
# BRANCH:      return
def branches(p, x):
    return lax.cond(p, lambda x: jnp.sin(x), lambda x: x * 2, x)


# Bufferization does not see that a result of scf.index_switch may be what a branch hands on.
# SWITCH: scf.index_switch %{{.*}} -> f32
# ARRAYS-NOT: scf.index_switch
# ARRAYS: scf.if
# ARRAYS: scf.if
def switch(i, x):
    return lax.switch(i, [lambda x: x, lambda x: x * 2, lambda x: x + 1], x)


# One store for each iteration, straight into the result.
# UPDATE:     memref.copy %arg0, %arg2
# UPDATE:     scf.for
# UPDATE-NOT: memref.copy
# UPDATE:       memref.store %{{.*}}, %arg2[%{{.*}}]
# UPDATE-NOT: memref.copy
# UPDATE:     return
def update(x, n):
    return lax.fori_loop(0, 500, lambda i, x: x.at[i].set(x[i - 1] * 2), x)
