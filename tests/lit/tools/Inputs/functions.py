"""Functions for the tests of mlir-dump."""

import numpy as np

from lingon import lax

SIZE = 3


def affine(x, w, b):
    return lax.add(lax.dot(x, w), lax.broadcast_in_dim(b, (x.shape[0], w.shape[1]), (1,)))


def half(x):
    return lax.mul(x, np.float32(0.5))


def wave(x):
    return lax.sin(x)


def pair(p):
    return lax.add(p[0], p[1])
