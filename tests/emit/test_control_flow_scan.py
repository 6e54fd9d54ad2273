"""scan against jax: inputs, carries, stacked results, directions, unrolling, derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import check, normal
from jax import lax

SOME = ("float32", "bool", "int8", "uint4", "bfloat16", "float8_e4m3fn", "complex64", "float64")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 7])
def test_lengths_directions_and_unrolling(length, reverse):
    xs = normal("float32", (length, 2, 3)), normal("float32", (length,))
    init = normal("float32", (2, 3)), np.float32(0.5), np.int32(3)

    def body(c, x):
        a, s, n = c
        m, y = x
        return (a * 0.5 + m, s + y, n + 1), (a + y, s * y, n, m[0])

    for unroll in (1, 2, 3, True):
        if unroll is True and length == 0:
            continue
        check(lambda c, x, u=unroll: lax.scan(body, c, x, reverse=reverse, unroll=u), init, xs)


@pytest.mark.parametrize("name", SOME)
def test_every_kind_of_value(name):
    xs, s = normal(name, (4, 3)), normal(name, ())

    def body(c, x):
        a, s = c
        return (jnp.where(a == x, a, x), x[0]), (a, s, x, x[1])

    check(lambda xs, s: lax.scan(body, (xs[0], s), xs), xs, s)


def test_inputs_that_are_never_made():
    x = normal("float32", (3,))
    n = 5

    def of(xs):
        return lambda x: lax.scan(lambda c, r: (c + r.sum(), r * 2), jnp.float32(0), xs(x))

    check(of(lambda x: jnp.arange(n, dtype=jnp.float32)), x)
    check(of(lambda x: jnp.broadcast_to(x, (n, 3))), x)
    check(of(lambda x: jnp.broadcast_to(x[:, None], (3, 4))), x)
    check(of(lambda x: jnp.broadcast_to(x[:, None], (3, 4)).T), x)
    check(of(lambda x: lax.broadcasted_iota(jnp.float32, (n, 3), 1)), x)
    check(of(lambda x: lax.broadcasted_iota(jnp.float32, (n, 3), 0)), x)
    check(of(lambda x: jnp.full((n, 2), x[1])), x)
    check(of(lambda x: jnp.sin(jnp.broadcast_to(x, (n, 3)))), x, rtol=1e-6)
    check(lambda x: lax.scan(lambda c, _: (c * 0.5, None), x, None, length=n), x)
    check(lambda x: lax.scan(lambda c, e: (c, e * 2), x, jnp.zeros((n, 0))), x)


def test_carries_that_cross():
    x = normal("float32", (6, 6))
    rows = normal("float32", (4, 6))

    def check_body(body, *init):
        check(lambda c, r: lax.scan(body, c, r), init, rows, rtol=2e-6, atol=1e-6)

    a, b, c = x[0], x[1], x[2]
    check_body(lambda s, r: ((s[1], s[0]), s[0] + r), a, b)
    check_body(lambda s, r: ((s[1], s[2], s[0] + s[1]), None), a, b, c)
    check_body(lambda s, r: ((s[0][::-1] + r, s[0]), s[0].sum()), a, b)
    check_body(lambda s, r: ((s[1].reshape(2, 3) + 1, s[0].reshape(6)), None), a.reshape(2, 3), b)
    check_body(lambda s, r: ((s[0] + r, s[0] + r), s[0] + r), a, b)
    check_body(lambda s, r: ((s[0] @ s[0] * 0.1,), s[0][1]), x)
    check_body(lambda s, r: ((s[0].T, s[0]), r * 2), x, x)
    check_body(lambda s, r: ((s[1].at[2].set(s[0][3]), s[0].at[1].set(s[1][0])), s[0] - s[1]), a, b)
    # The old value is read after the new one is known.
    check_body(lambda s, r: (((n := s[0].at[0].set(r[1])), s[1] + jnp.dot(n, s[0])), s[0]), a, b[0])


def test_carries_that_change_places():
    """In circles of several lengths, some of which begin with one array twice."""
    x = normal("float32", (33, 16))

    def f(x):
        y = x * 2
        zeros, ones = jnp.zeros_like(x), jnp.ones_like(x)
        starts = (y, y, x, ones, zeros), (y, x, x + 1, zeros, ones)
        orders = (0, 3, 1, 4, 2), (0, 2, 3, 1, 4), (0, 2, 1, 4, 3), (1, 2, 3, 4, 0), (3, 1, 4, 0, 2)
        return [
            lax.fori_loop(0, 3, lambda i, t, o=order: tuple(t[k] for k in o), start)
            for start in starts for order in orders
        ]  # fmt: skip

    check(f, x)


def test_carries_that_start_as_parts_of_others():
    x = normal("float32", (4, 6))
    check(lambda x: (lax.scan(lambda c, r: (c.at[0].add(r[1]), c[1]), x[:, 1], x), x), x)
    check(lambda x: (lax.scan(lambda c, r: (c.at[0].add(r[1]), c[1]), x.reshape(-1), x), x), x)
    check(lambda x: lax.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (x[0], x[0])), x)


def test_updates_in_long_bodies():
    x = normal("float32", (40,))

    def body(i, c):
        for k in range(30):
            part = lax.dynamic_slice(c, (i + k,), (2,))
            c = lax.dynamic_update_slice(c, part * 0.5 + k, (k,))
        return c

    check(lambda x: lax.fori_loop(0, 3, body, x), x)
    check(lambda x: (body(1, x), x), x)


def test_many_scalar_carries_and_their_derivative():
    names = [f"v{k:02}" for k in range(60)]
    init = {n: np.float32(k * 0.01) for k, n in enumerate(names)}

    def run(init, xs):
        def body(c, x):
            new = {
                n: c[n] * 0.9 + jnp.tanh(c[names[(k + 1) % 60]] * x) for k, n in enumerate(names)
            }
            return new, new[names[0]]

        final, ys = lax.scan(body, init, xs)
        return sum(final.values()) + ys.sum()

    xs = normal("float32", (8,))
    check(run, init, xs, rtol=1e-5)
    check(jax.grad(run, argnums=(0, 1)), init, xs, rtol=1e-4, atol=1e-5)


def test_derivatives():
    w, xs = normal("float32", (4, 4)), normal("float32", (6, 4))

    def loss(w, xs):
        last, hs = lax.scan(lambda h, x: ((n := jnp.tanh(h @ w + x)), n * n), xs[0], xs)
        return last.sum() + hs.sum()

    check(jax.grad(loss, argnums=(0, 1)), w, xs, rtol=1e-4, atol=1e-5)
    check(lambda w, xs, t: jax.jvp(lambda w: loss(w, xs), (w,), (t,)), w, xs, w, rtol=1e-4)
    check(lambda w, xs: jax.grad(lambda w: (jax.grad(loss)(w, xs) ** 2).sum())(w), w, xs, rtol=1e-3)
    batch = normal("float32", (3, 6, 4))
    check(jax.vmap(jax.grad(loss), (None, 0)), w, batch, rtol=1e-4, atol=1e-5)


def test_associative_scan_and_map():
    xs = normal("float32", (9, 3))
    check(lambda x: lax.associative_scan(jnp.maximum, x), xs)
    check(lambda x: lax.associative_scan(jnp.add, x, reverse=True), xs, rtol=1e-5, atol=1e-6)
    check(lambda x: lax.map(lambda r: r.sum() + r, x), xs, rtol=1e-6)
    check(lambda x: lax.map(lambda r: r.sum() + r, x, batch_size=2), xs, rtol=1e-6)
