"""Functions for the tests of mlir-dump --why."""

from lingon import lax
from lingon import numpy as jnp


def softmax(x):
    y = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return y / jnp.sum(y, axis=1, keepdims=True)


def over_columns(x):
    total = jnp.sum(x, axis=0)
    return x / total


def first_row(x):
    return x.at[0].set(1.0)


def returned(x):
    return x


def carried(x, y):
    return lax.fori_loop(0, 5, lambda i, c: (c[1], c[0]), (x, y))


def few(x):
    return jnp.sin(x)


def halving(x):
    return lax.scan(lambda c, v: (c * 0.5 + v, c), 0.0, x)
