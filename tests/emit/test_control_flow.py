"""cond and while against jax: branches, indices, predicates, dtypes, nesting."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import check, normal
from jax import lax

SOME = ("float32", "bool", "int8", "uint4", "bfloat16", "float8_e4m3fn", "complex64", "float64")


@pytest.mark.parametrize("name", SOME)
def test_cond_of_every_kind_of_value(name):
    x, y, s = normal(name, (3, 4)), normal(name, (3, 4), 1), normal(name, ())

    def choose(p, x, y, s):
        return lax.cond(
            p,
            lambda x, y, s: (jnp.where(x == y, x, y), x[::-1], s, x, y[0, 1]),
            lambda x, y, s: (x, y, x[0, 0], x, s),
            x, y, s,
        )  # fmt: skip

    check(choose, np.bool_(True), x, y, s)
    check(choose, np.bool_(False), x, y, s)


@pytest.mark.parametrize("index", [-(2**31), -1, 0, 1, 2, 3, 4, 5, 2**31 - 1])
def test_switch_clamps_its_index(index):
    x = normal("float32", (5,))
    branches = [lambda x: x * 2, lambda x: x, lambda x: x.at[2].set(7.0), lambda x: x[::-1]]
    scalars = [lambda s: s + 1, lambda s: s * 2, lambda s: -s, lambda s: s - 3.0]
    check(lambda i, x: lax.switch(i, branches, x), np.int32(index), x)
    check(lambda i, x: lax.switch(i, scalars, x[1]), np.int32(index), x)


def test_cond_without_results_operands_or_choice():
    x = normal("float32", (4,))
    check(lambda p, x: lax.cond(p, lambda: x, lambda: x * 2), np.bool_(True), x)
    check(lambda p, x: (lax.cond(p, lambda x: (), lambda x: (), x), x), np.bool_(True), x)
    check(lambda x: lax.switch(2, [lambda x: x], x), x)
    check(lambda x: lax.cond(True, lambda x: x + 1, lambda x: x - 1, x), x)
    empty = np.zeros((0, 3), np.float32)
    check(lambda p, e: lax.cond(p, lambda e: e * 2, lambda e: e, e), np.bool_(True), empty)


def test_what_a_branch_returns_is_read_afterwards():
    x = normal("float32", (6,))

    def both(p, x):
        v = x * 2
        w = lax.cond(p, lambda v: v.at[0].set(9.0), lambda v: v, v)
        return w, v, lax.cond(p, lambda v: v, lambda v: v + 1, w)

    check(both, np.bool_(True), x)
    check(both, np.bool_(False), x)


def test_results_that_share_memory():
    x = normal("float32", (6,))
    check(lambda x: ((v := x * 2).at[1].set(3.0), v), x)
    check(lambda x: (lax.dynamic_update_slice(v := jnp.sin(x), x[:2], (1,)), v), x)
    check(lambda x: (lax.fori_loop(0, 3, lambda i, c: c.at[i].set(0.0), v := x * 2), v), x)


@pytest.mark.parametrize("start", [0, 3, 4, 9])
def test_while_loops(start):
    x = normal("float32", (4,))

    def count(n):
        return lax.while_loop(lambda c: c < 4, lambda c: c + 1, n)

    def arrays(n, x):
        def body(c):
            i, x, y, kept = c
            return i + 1, y + kept, x * 0.5, kept

        return lax.while_loop(lambda c: c[0] < 4, body, (n, x, x[::-1], x * 3))

    check(count, np.int32(start))
    check(arrays, np.int32(start), x)
    check(lambda n, x: lax.fori_loop(n, 7, lambda i, c: c * 0.5 + i, x), np.int32(start), x)


@pytest.mark.parametrize("name", SOME)
def test_while_over_every_kind_of_value(name):
    x, s = normal(name, (2, 3)), normal(name, ())

    def swap(x, s):
        def body(c):
            i, x, y, s, t = c
            return i + 1, y, x, t, s

        return lax.while_loop(lambda c: c[0] < 3, body, (0, x, x[:, ::-1], s, x[0, 0]))

    check(swap, x, s)


def test_predicates_with_dimensions_stop_each_element():
    x = normal("float32", (7,))

    def newton(a):
        def body(c):
            v, n = c
            return 0.5 * (v + a / v), n + 1

        return lax.while_loop(lambda c: jnp.abs(c[0] * c[0] - a) > 1e-3 * a, body, (a, 0))

    check(jax.vmap(newton), np.abs(x) + 1, rtol=1e-6)
    both = jax.vmap(jax.vmap(newton))
    check(both, np.abs(x[:6].reshape(2, 3)) + 1, rtol=1e-6)
    check(jax.vmap(newton), np.zeros(0, np.float32))
    table = normal("float32", (7, 3))
    # A predicate that reads constants of its own, over carries of several ranks.
    check(
        jax.vmap(
            lambda n, x, lim: lax.while_loop(
                lambda c: c[0] < lim, lambda c: (c[0] + 1, c[1] * 0.5, c[1][0]), (n, x, x[1])
            )
        ),
        np.arange(7, dtype=np.int32), table, np.int32([3, 0, 9, 4, 4, 5, 6]),
    )  # fmt: skip


def test_keys_and_zero_size_arrays_are_carried():
    def draw(key):
        def body(i, c):
            key, total, none = c
            key, part = jax.random.split(key)
            return key, total + jax.random.uniform(part, (3,)), none

        key = jax.random.wrap_key_data(key)
        key, total, none = lax.fori_loop(0, 4, body, (key, jnp.zeros(3), jnp.zeros((0, 2))))
        return jax.random.key_data(key), total, none

    check(draw, np.array([1, 2], np.uint32))


def test_calls_inside_of_bodies():
    square = jax.custom_jvp(lambda x: x * x)
    square.defjvps(lambda t, ans, x: 2 * t * x)
    inverse = jax.custom_vjp(lambda x: 1 / x)
    inverse.defvjp(lambda x: (1 / x, x), lambda x, g: (-g / (x * x),))
    inner = jax.jit(lambda x, i: jnp.tanh(square(x) + i) + inverse(x + 3.0))
    again = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))

    def loop(x):
        return lax.fori_loop(0, 3, lambda i, c: again(inner(c, i)), x)

    def branch(x):
        return lax.cond(x.sum() > 0, lambda x: inner(x, 2), again, x)

    x = normal("float32", (5,))
    for fn in (loop, branch):
        check(fn, x, rtol=2e-6)
        check(jax.grad(lambda x: fn(x).sum()), x, rtol=2e-5)


def test_loops_in_branches_in_loops():
    x = normal("float32", (4, 4))

    def program(x, n):
        def inner(k, c):
            return lax.cond(k % 2 == 0, lambda c: c.at[k % 4].set(c[k % 3] * 2), lambda c: c.T, c)

        def outer(i, c):
            y = lax.while_loop(lambda s: s[0] < i, lambda s: (s[0] + 1, inner(s[0], s[1])), (0, c))
            return lax.switch(i % 3, [lambda y: y, lambda y: y * 0.5, lambda y: y + c], y[1])

        return lax.fori_loop(0, n, outer, x)

    check(program, x, np.int32(6), rtol=1e-6)
