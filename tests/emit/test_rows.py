"""Loops over rows: what reads rows of its operands in another order is not in the same one."""

from __future__ import annotations

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("softmax", [True, False])
@pytest.mark.parametrize("turned", ["reversed", "rolled", "strided"])
def test_rows_in_another_order(turned, softmax, axis):
    def turn(x):
        if turned == "reversed":
            return x[::-1]
        return jnp.roll(x, 1, 0) if turned == "rolled" else jnp.concatenate([x[::2], x[1::2]])

    def f(ws, x):
        a, b = jnp.cos(x), x * 0.5
        for w in ws:
            a = jnp.tanh(a @ w) + turn(b)
            b = b + a
            b = lingon.nn.softmax(b, axis=axis) if softmax else b - jnp.max(b, axis, keepdims=True)
        return a, b

    rng = np.random.default_rng(15)
    ws = [rng.standard_normal((4, 4)).astype(np.float32) * 0.4 for _ in range(3)]
    x = rng.standard_normal((4, 4)).astype(np.float32)
    for got, expected in zip(
        lingon.jit(f)(ws, x), f(list(map(jnp.asarray, ws)), jnp.asarray(x)), strict=True
    ):
        np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


def doubled_by_largest(y, u):
    y = y * 2
    return y, jnp.argmax(y, axis=1) % 6


def tanh_by_sign(y, u):
    y = jnp.tanh(y)
    return y, (y.sum(1) > 0).astype(jnp.int32)


def shifted_by_least(y, u):
    v = jnp.min(u, axis=1)
    return y * 0.1 + v[:, None], v


@pytest.mark.parametrize("columns", [47, 3])
@pytest.mark.parametrize(
    "read", [lambda y, v: y[v], lambda y, v: y[v, :1], lambda y, v: y[v, v % 3]]
)
@pytest.mark.parametrize("rows", [doubled_by_largest, tanh_by_sign, shifted_by_least])
def test_rows_by_numbers_that_rows_give(rows, read, columns):
    def f(x, u):
        y, v = rows(x, u)
        part = read(y, v)
        y = y + (part if part.ndim == 2 else part[:, None])
        return y, jnp.max(y, axis=1), lingon.nn.softmax(y, axis=1)

    rng = np.random.default_rng(3)
    x = jnp.asarray(rng.standard_normal((6, columns)).astype(np.float32))
    u = jnp.asarray(rng.integers(0, 6, (6, columns)).astype(np.int32))
    for got, expected in zip(lingon.jit(f)(x, u), f(x, u), strict=True):
        np.testing.assert_allclose(got, expected, 1e-5, 1e-5)
