# Data movement: a transposition, reassociated shapes, parts put into one new tensor, a calls' bodies
# in place.
# RUN: mlir-dump %s::moved --args 'f32[4,6]' --to linalg | FileCheck %s --check-prefix=MOVED
# RUN: mlir-dump %s::joined --args 'f32[4,6],f32[4,2]' --to linalg | FileCheck %s --check-prefix=JOINED
# RUN: mlir-dump %s::padded --args 'f32[4],f32[]' --to linalg | FileCheck %s --check-prefix=PADDED
# RUN: mlir-dump %s::called --args 'f32[4]' --to linalg | FileCheck %s --check-prefix=CALLED

from lingon import jit, lax
from lingon import numpy as jnp


# MOVED: linalg.transpose {{.*}} permutation = [1, 0]
# MOVED: tensor.collapse_shape {{.*}} tensor<6x4xf32> into tensor<24xf32>
def moved(x):
    return x.T.reshape(24)


# JOINED: tensor.empty() : tensor<4x8xf32>
# JOINED: tensor.insert_slice {{.*}}[0, 0] [4, 6] [1, 1]
# JOINED: tensor.insert_slice {{.*}}[0, 6] [4, 2] [1, 1]
def joined(x, y):
    return jnp.concatenate([x, y], 1)


# PADDED: tensor.extract_slice {{.*}}[1] [3] [1]
# PADDED: linalg.fill
# PADDED: tensor.insert_slice {{.*}}[0] [3] [3]
def padded(x, fill):
    return lax.pad(x, fill, ((-3, 1, 2),))


# CALLED: linalg.generic
# CALLED: math.sin
# CALLED-NEXT: arith.addf
# CALLED-NOT: call
def called(x):
    return jit(jnp.sin)(x) + 1
