"""Repeated equations become loops and functions: results as without, and programs that do not grow."""

from __future__ import annotations

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon.lowering.emit import repeats


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def text_of(f, *args, **options):
    return lingon.jit(lambda *a: f(*a), **options).lower(*args).as_text()


def inlined(f, *args):
    """What `f` gives where nothing is taken together."""
    least = repeats.LEAST_SAVING
    repeats.LEAST_SAVING = 10**9
    try:
        return lingon.jit(lambda *a: f(*a))(*args)
    finally:
        repeats.LEAST_SAVING = least


def same(f, *args, tolerance=1e-5):
    got, expected = lingon.jit(lambda *a: f(*a))(*args), inlined(f, *args)
    got, expected = lingon.tree.leaves(got), lingon.tree.leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), tolerance, tolerance)
    return got


W, X = normal(16, 16) * np.float32(0.3), normal(4, 16, seed=1)


def steps(count):
    def f(w, x):
        for _ in range(count):
            x = jnp.tanh(x @ w)
        return x

    return f


def test_unrolled_steps_are_a_loop():
    few, many = text_of(steps(40), W, X), text_of(steps(80), W, X)
    assert len(few.splitlines()) == len(many.splitlines())
    assert "scf.for" in many and many.count("lingon.kernel_call") == 1
    same(steps(40), W, X)


def test_few_steps_and_elementwise_chains_stay_as_they_are():
    assert "scf.for" not in text_of(steps(10), W, X)

    def chain(x):
        for _ in range(100):
            x = jnp.sin(x) * 2 + 1
        return x

    assert "scf.for" not in text_of(chain, X)


def test_what_is_in_front_and_behind_is_kept():
    def f(w, x):
        first = x * 2
        x = jnp.sin(first)
        for _ in range(33):
            x = jnp.tanh(x @ w) + first
        return x, jnp.sum(x * first)

    assert text_of(f, W, X).count("kernel_call") == 1
    same(f, W, X)


def test_several_carries_that_change_places():
    def f(w, x):
        y = x + 1
        for _ in range(30):
            x, y = y, jnp.tanh(x @ w) - 0.5 * y
        return x, y

    same(f, W, X)


def test_scalars_and_integers_are_carried():
    def f(w, x):
        s, n = jnp.sum(x), jnp.int32(0)
        for _ in range(20):
            x = jnp.tanh(x @ w + s)
            s, n = s * 0.5 + jnp.max(x), n + jnp.argmax(x[0]).astype(jnp.int32)
        return x, s, n

    same(f, W, X)


def test_literals_that_differ():
    def f(w, x):
        for k in range(40):
            x = jnp.tanh(x @ w) * (1 + 0.01 * k)
        return x

    same(f, W, X)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_literals_that_are_equal_but_not_the_same(zero):
    def f(w, x):
        for k in range(40):
            x = x @ w + (zero if k % 2 else 0.0)
            x = jnp.copysign(x, 0.0 if k < 20 else zero)
        return x

    same(f, W, X)


def test_values_of_all_steps_are_read_later():
    def f(w, x):
        out = []
        for _ in range(24):
            x = jnp.tanh(x @ w)
            out.append(x)
        return jnp.stack(out), out[3]

    same(f, W, X)


def test_a_value_of_the_step_before_the_last():
    def f(w, x):
        y = x
        for _ in range(30):
            y, x = x, jnp.tanh(x @ w)
        return x, y

    same(f, W, X)


def test_steps_that_read_two_steps_back():
    def f(w, x):
        y = x * 0.5
        for _ in range(30):
            x, y = jnp.tanh(x @ w + y), x
        return x

    same(f, W, X)


def test_gradient_and_vmap():
    loss = lambda w, x: jnp.sum(steps(30)(w, x) ** 2)
    same(lingon.grad(loss, argnums=(0, 1)), W, X, tolerance=1e-4)
    same(lingon.vmap(steps(30), in_axes=(None, 0)), W, normal(3, 4, 16))
    same(lingon.vmap(lingon.grad(loss), in_axes=(None, 0)), W, normal(3, 4, 16), tolerance=1e-4)


def test_effects_keep_their_order(capfd):
    def f(w, x):
        for k in range(20):
            x = jnp.tanh(x @ w)
            lingon.debug.print("step {}", k, ordered=True)
        return x

    lingon.jit(f)(W, X).block_until_ready()
    lingon.effects_barrier()
    assert capfd.readouterr().out.split("\n")[:20] == [f"step {k}" for k in range(20)]


def test_inside_of_a_scan_and_a_conditional():
    def f(w, x):
        body = lambda c, _: (steps(20)(w, c), jnp.sum(c))
        x, sums = lingon.lax.scan(body, x, None, length=3)
        return lingon.lax.cond(sums[0] > 0, steps(25), lambda w, x: x, w, x), sums

    same(f, W, X)


def test_donated_arguments():
    f = lingon.jit(steps(40), donate_argnums=1)
    x = jnp.asarray(X)
    np.testing.assert_allclose(f(W, x), inlined(steps(40), W, X), 1e-5, 1e-5)
    assert x.is_deleted()


def test_stacked_weights():
    def f(ws, x):
        for k in range(20):
            x = jnp.tanh(x @ ws[k % 5])
        return x

    same(f, np.stack([W * (1 + k / 10) for k in range(5)]), X)
