"""Functions for the tests of mlir-dump."""

import lingon.numpy as jnp

SIZE = 3


def affine(x, w, b):
    return jnp.dot(x, w) + b


def half(x):
    return x * 0.5


def total(x):
    return jnp.sum(jnp.sin(x))


def pair(p):
    return p[0] + p[1]
