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
