"""Concatenations that are read part by part, against jax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import check as check_exactly
from emit_oracle import emitted, normal
from jax import lax

BIG = (96, 128)


def check(fn, *args):
    check_exactly(fn, *args, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("name", ["float32", "bool", "bfloat16", "int8", "complex64"])
def test_elementwise(name):
    x, y, row, column = (normal(name, s) for s in (BIG, BIG, (1, 128), (96, 1)))

    def shifted(x, y, row, column):
        up, left = jnp.roll(x, 1, 0), jnp.roll(x, -3, 1)
        both = jnp.roll(y, (2, 5), (0, 1))
        a = jnp.where(up == left, both, y)
        return a, jnp.where(both == row, a, column), up

    check_exactly(shifted, x, y, row, column)


def test_nested():
    x, y, v = normal("float32", BIG), normal("float32", BIG), normal("float32", (20_000,))

    def joined(x, y):
        rows = jnp.concatenate([x[:10], jnp.exp(y[10:40]), x[40:]])
        whole = jnp.concatenate([rows[:, 100:], y[:, :72], rows[:, :28]], 1)
        return whole * 2 + x, whole[:, 3:20], whole[12:30, 40:60], rows[::2], rows[41:90:3] + 1

    check(joined, x, y)
    check(lambda v: jnp.roll(v, 1) - 2 * v + jnp.roll(v, -1), v)
    check(lambda v: jnp.diff(v, append=0, prepend=1) * v[0], v)
    check(lambda v: jnp.pad(v, 3, mode="reflect") + jnp.pad(v, 3, mode="wrap"), v)
    check(lambda v: jnp.concatenate([v] * 6) * jnp.concatenate([v[:5], *[v] * 5, v[5:]]), v)
    check(lambda x: jnp.sum(jnp.roll(x, 1, 0) * x, axis=1), x)
    check(lambda x: jax.nn.softmax(jnp.roll(x, 1, 1) * 2), x)
    check(lambda x: jnp.roll(x, 1, 0) + jnp.arange(128), x)
    check(lambda x, y: jnp.stack([x, y], -1) * 2 + 1, x, y)
    check(lambda x: jnp.roll(x, 1, 0).T * x.T, x)
    check(lambda x: jnp.roll(x[:, None] * 1, 1, 0) * jnp.roll(x, 1, 0)[:, None], x)


@pytest.mark.parametrize("name", ["float32", "int8", "bool", "bfloat16"])
def test_padded(name):
    x, s, small = normal(name, BIG), normal(name, ()), normal(name, (3, 2))
    configs = (((1, 2, 0), (0, 0, 0)), ((0, 0, 0), (3, 0, 0)), ((1, 1, 0), (2, 3, 0)),
        ((5, -2, 0), (-1, 4, 0)), ((0, 3, 1), (1, 0, 0)), ((200, 0, 0), (0, 100, 0)))  # fmt: skip
    for c in configs:
        check_exactly(
            lambda x, s, c=c: jnp.where(lax.pad(x, s, c) == s, x[0, 0], lax.pad(x, s, c)), x, s
        )
    check_exactly(lambda x, s: lax.pad(x, s, configs[2])[1:97, 2:130] == x, x, s)
    check_exactly(lambda x, s: lax.pad(x, s, configs[2])[:1, 5:9], x, s)
    check_exactly(lambda x, s: lax.concatenate([lax.pad(x, s, configs[0]), x], 0) == s, x, s)
    i = np.array([[0], [2], [1]], np.int32)
    check_exactly(lambda t, i: t[tuple(jnp.pad(i, ((0, 0), (0, 1))).T)], small, i)


def test_loops():
    x, v = normal("float32", BIG), normal("float32", (10_000,))
    laplace = lambda x: sum(jnp.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x
    check(lambda x: lax.fori_loop(0, 5, lambda i, x: x + 0.1 * laplace(x), x), x)
    check(lambda x: lax.scan(lambda c, _: (jnp.roll(c, 1) * 0.5 + x, laplace(c)), x, None, 3), x)
    check(
        lambda v: lax.cond(v[0] > 0, lambda v: jnp.roll(v, 1) - v, lambda v: v - jnp.roll(v, 2), v),
        v,
    )
    grow = lambda s: (jnp.roll(s[0], 1) + s[1], jnp.roll(s[1], -1) - s[0])
    check(
        lambda v: lax.while_loop(lambda s: s[0][0] < 9, grow, (v - v[0] + 1, jnp.ones_like(v))), v
    )


def test_no_copy_is_made():
    """The shifted arrays themselves do not exist: no value is as large but input and result."""
    text = emitted(lambda v: jnp.roll(v, 1) + jnp.roll(v, -1), np.ones(20_000, np.float32))
    assert text.count("tensor.insert_slice") == 3 + 4
    assert text.count("linalg.generic") == 3


def test_index_vectors():
    rng = np.random.default_rng(0)
    x, u = normal("float32", (7, 9)), normal("float32", (50,))
    i, j = (rng.integers(-n - 2, n + 2, 50).astype(np.int32) for n in (7, 9))
    check(lambda x, i, j: (x[i, j], x[i, 2], x[i[:5, None], j]), x, i, j)
    check(lambda x, i, j: x.at[i, j].get(mode="fill", fill_value=7), x, i, j)
    check(lambda x, i, j, u: (x.at[i, j].add(u), x.at[i, j].max(u, mode="clip")), x, i, j, u)
    check(lambda x, i, j, u: x.at[i[:5, None], j[5:9]].set(u[:20].reshape(5, 4)), x, i, j, u)
    cube = normal("float32", (4, 5, 6))
    check(
        lambda c, i, j: (c[i % 4, j % 5, i % 6], c[i % 4, :, j % 6], c[:, i % 5, j % 6]), cube, i, j
    )


@pytest.mark.parametrize("name", ["float32", "bool", "bfloat16", "int8", "complex64"])
def test_constant_parts(name):
    """What consists of a few values is computed from the position, however often it is read."""
    x, s, t = normal(name, BIG), normal(name, ()), normal(name, ())
    frame = lambda s, t: lax.pad(jnp.full((90, 120), s), t, ((2, 4, 0), (8, 0, 0)))
    rows = lambda s, t: jnp.concatenate(
        [jnp.full((n, 128), v) for n, v in ((5, s), (60, t), (31, s))]
    )

    def f(x, s, t):
        a, b = frame(s, t), rows(t, s)
        return jnp.where(x == s, a, b), a[1:40, 5:20], b.T, jnp.roll(x, 1, 1) == a

    check_exactly(f, x, s, t)
    cut = lambda s, t: lax.pad(jnp.full((90, 120), s), t, ((-2, 8, 0), (9, -1, 0)))
    inside = lambda s, t: lax.pad(jnp.full((9, 120), s), t, ((0, 0, 3), (1, 0, 0)))
    check_exactly(lambda s, t: (cut(s, t), inside(s, t), jnp.pad(jnp.full((), s), 0)), s, t)


def test_constant_parts_in_reductions_and_loops():
    x = normal("float32", BIG)

    def f(x):
        one = jnp.pad(jnp.ones((96, 1), x.dtype), ((0, 0), (3, 124)))
        both = one + jnp.sum(-one, axis=1, keepdims=True) * x
        return both, jnp.sum(one * x, axis=0), jnp.max(one, axis=1)

    check(f, x)
    check(lambda x: lax.fori_loop(0, 3, lambda i, c: c * f(x)[0] + jnp.roll(x, 1, 0), x), x)
    check(jax.grad(lambda x: jnp.sum(jax.nn.log_softmax(x)[:, 0])), x)
    check(lambda x: jnp.roll(x, 3, 0) * jnp.arange(96.0)[:, None] + jnp.arange(128), x)


def test_constant_parts_are_not_stored():
    def f(x):
        one = jnp.pad(jnp.ones((100, 1), x.dtype), ((0, 0), (0, 99)))
        return one * jnp.sum(one + 1, axis=1)[:, None] + x

    text = emitted(f, np.ones((100, 100), np.float32))
    assert "tensor.insert_slice" not in text
    assert text.count("linalg.generic") == 2
