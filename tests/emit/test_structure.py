"""Primitives that move data, against jax."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import DTYPES, check, dtype, normal
from jax import lax

SOME = ("float32", "bool", "bfloat16", "int4", "complex64", "float8_e4m3fn")


@pytest.mark.parametrize("name", SOME)
def test_broadcast_reshape_transpose(name):
    x, s, e, y = (normal(name, n) for n in ((4, 6), (), (0, 3), (2, 3, 4)))
    shapes = (
        (24,), (2, 2, 6), (2, 2, 3, 2), (3, 8), (1, 4, 6), (4, 6, 1), (4, 1, 6), (6, 4), (8, 3),
    )  # fmt: skip
    check(lambda x: [lax.reshape(x, n) for n in shapes], x)
    check(lambda x: lax.reshape(x, (3, 8), (1, 0)), x)
    check(lambda x: (lax.reshape(x[:1, :1], ()), lax.squeeze(x[:1, :1], (0, 1))), x)
    check(lambda s: (lax.reshape(s, (1, 1)), lax.expand_dims(s, (0,)), jnp.full((2, 3), s)), s)
    check(lambda e: (lax.reshape(e, (5, 0, 2)), lax.broadcast_in_dim(e, (2, 0, 3), (1, 2))), e)
    check(lambda x: lax.broadcast_in_dim(x, (2, 4, 6, 3), (1, 2)), x)
    check(lambda x: lax.broadcast_in_dim(x[:1], (2, 4, 6, 3), (1, 2)), x)
    orders = ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0))
    check(lambda y: [lax.transpose(y, p) for p in orders], y)
    check(
        lambda x: (jnp.broadcast_to(x[:, None], (4, 5, 6)).T, lax.transpose(x[None], (1, 0, 2))), x
    )


@pytest.mark.parametrize("name", SOME)
def test_join_and_cut(name):
    x, s, e = normal(name, (4, 6)), normal(name, ()), normal(name, (0, 3))
    check(lambda x, e: lax.concatenate([x[:, :3], e, x[:, 3:]], 0), x, e)
    check(lambda x: (lax.concatenate([x, x], 1), lax.concatenate([x], 0), jnp.stack([x, x], 1)), x)
    check(lambda x: jnp.unstack(x, axis=1), x)
    check(lambda x: lax.split(x, (1, 0, 5), 1), x)
    check(lambda x: (jnp.tile(x, (2, 3)), jnp.tile(x, (2, 1, 1)), jnp.tile(x, (0, 2))), x)
    check(lambda x: [lax.rev(x, d) for d in ((0,), (1,), (0, 1), ())], x)
    cuts = (((0, 1), (4, 5), (1, 2)), ((1, 0), (3, 6), None), ((2, 2), (2, 5), None))
    check(lambda x: [lax.slice(x, *c) for c in cuts], x)
    check(lambda e, s: lax.pad(e, s, ((1, 2, 0), (0, 0, 1))), e, s)


@pytest.mark.parametrize("name", SOME)
def test_pad(name):
    configs = (
        ((1, 2, 0), (0, 0, 0)), ((-1, 2, 0), (0, -3, 0)), ((0, 0, 1), (2, 0, 3)),
        ((-2, -1, 1), (1, -1, 2)), ((-3, 0, 2), (-9, 3, 1)), ((-5, 3, 0), (0, 0, 0)),
        ((0, 0, 0), (0, 0, 0)), ((-4, 0, 0), (0, 0, 0)), ((5, -7, 0), (0, 0, 0)),
        ((0, -8, 3), (-1, 0, 0)),
    )  # fmt: skip
    check(lambda x, s: [lax.pad(x, s, c) for c in configs], normal(name, (4, 6)), normal(name, ()))


def test_constants_are_padded_and_reshaped():
    check(lambda: lax.pad(jnp.zeros(2), 0.0, ((1, 1, 0),)))
    cuts = [((-1, -1, 0),), ((0, -2, 0),), ((-2, 1, 0),), ((-3, -2, 1),)]
    check(lambda s: [lax.pad(jnp.ones(6) * s, 2.0, c) for c in cuts], np.float32(3))
    check(lambda: lax.reshape(jnp.ones((2, 3)), (6,)))
    check(lambda: lax.reshape(lax.broadcasted_iota(int, (3, 1), 0), (1, 3, 1)))
    check(lambda: lax.transpose(lax.broadcasted_iota(int, (2, 3), 1), (1, 0)))


@pytest.mark.parametrize("name", [d for d in DTYPES if d != "bool"])
def test_iota(name):
    t = dtype(name)
    check(lambda: lax.broadcasted_iota(t, (3, 4), 1))
    check(lambda x: lax.broadcasted_iota(t, (3, 1), 0) + x, np.ones((3, 5), t))
