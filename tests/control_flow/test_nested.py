"""Conditionals, loops, scans, jit, vmap, checkpoint and custom rules within one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import same
from scan_programs import floats, line, scalar

import lingon

X = line(4, low=0.3, high=1.2)
N = np.asarray([2, 0, 3], np.int32)


def cond_in_while_in_scan(m: Any) -> Callable:
    def f(n: Any, x: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            def body(s: Any) -> Any:
                k, v = s
                v = m.lax.cond(m.jnp.sum(v) > 2, lambda v: v * 0.5, lambda v: v * t + 1, v)
                return k + 1, v

            k, c = m.lax.while_loop(lambda s: s[0] < n, body, (0, c))
            return c, (m.jnp.sum(c), k)

        return m.lax.scan(step, x, x)

    return f


def scan_in_cond_in_fori(m: Any) -> Callable:
    """Static limits: reverse mode goes through all of it."""

    def f(n: Any, x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            def walk(v: Any) -> Any:
                return m.lax.scan(lambda c, t: (m.jnp.sin(c) + t, c * t), v, x)[0]

            return m.lax.switch(i + n, [walk, lambda v: v * x, m.jnp.tanh], v)

        return m.lax.fori_loop(0, 3, body, x)

    return f


def custom_rules_in_branches(m: Any) -> Callable:
    @m.jax.custom_jvp
    def double(v: Any) -> Any:
        return v * 2

    double.defjvp(lambda p, t: (double(*p), t[0] * 3))

    @m.jax.custom_vjp
    def triple(v: Any) -> Any:
        return v * 3

    triple.defvjp(lambda v: (triple(v), v), lambda v, ct: (ct * m.jnp.cos(v),))

    def f(n: Any, x: Any) -> Any:
        def step(v: Any, t: Any) -> Any:
            return m.lax.cond(n > 0, double, triple, v) * 0.4 + t, None

        return m.lax.scan(step, x, x)[0]

    return f


def checkpoints(m: Any) -> Callable:
    def f(n: Any, x: Any) -> Any:
        @m.jax.checkpoint
        def block(v: Any) -> Any:
            inner = m.jax.checkpoint(lambda v: m.jnp.sin(v) * x)
            return m.lax.cond(n > 0, inner, lambda v: m.jnp.cos(v) + v, v)

        return m.lax.fori_loop(0, 3, lambda i, v: block(v) + i, x)

    return f


def vmapped_inside(m: Any) -> Callable:
    """vmap within the body; its predicate is batched there only."""

    def f(n: Any, x: Any) -> Any:
        one = lambda v: m.lax.cond(v > 0.7, lambda v: v * v, lambda v: v + n * 0.1, v)
        return m.lax.fori_loop(0, 4, lambda i, v: m.jax.vmap(one)(v) * 0.9, x)

    return f


def differentiated_inside(m: Any) -> Callable:
    """Gradients, and forward-mode derivatives of while loops, within loops."""

    def f(n: Any, x: Any) -> Any:
        def loss(v: Any) -> Any:
            go = lambda s: s[0] < 3
            _, w = m.lax.while_loop(go, lambda s: (s[0] + 1, m.jnp.sin(s[1]) + s[1]), (0, v))
            return m.jnp.sum(w * w)

        def step(i: Any, v: Any) -> Any:
            slope = m.jax.jvp(loss, (v,), (m.jnp.ones_like(v),))[1]
            g = m.jax.grad(lambda v: m.jnp.sum(m.lax.cond(n > 0, m.jnp.sin, m.jnp.cos, v)))(v)
            return v - 0.01 * slope * g

        return m.lax.fori_loop(0, 3, step, x)

    return f


PROGRAMS = {
    f.__name__: f
    for f in (
        cond_in_while_in_scan, scan_in_cond_in_fori, custom_rules_in_branches, checkpoints,
        vmapped_inside, differentiated_inside,
    )
}  # fmt: skip
NAMES = sorted(PROGRAMS)
REVERSIBLE = [n for n in NAMES if n not in ("cond_in_while_in_scan", "differentiated_inside")]


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    make = PROGRAMS[name]
    same(lambda m: (make(m)(2, X), m.jax.jit(make(m))(0, X), m.jax.jit(make(m))(1, X)), tol=1e-4)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_vmap(name: str, axes: Any) -> None:
    make = PROGRAMS[name]
    n = N if axes[0] == 0 else 1
    x = np.stack([X, 0.5 * X, -X]) if axes[1] == 0 else X
    same(lambda m: m.jax.jit(m.jax.vmap(make(m), in_axes=axes))(n, x), tol=1e-4)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "custom_rules_in_branches"])
def test_jvp(name: str) -> None:
    make = PROGRAMS[name]

    def program(m: Any) -> Any:
        g = m.jax.jit(lambda n, x, t: m.jax.jvp(lambda x: floats(m, make(m)(n, x)), (x,), (t,)))
        return g(0, X, X), g(2, X, X)

    same(program, tol=1e-4)


@pytest.mark.parametrize("name", REVERSIBLE)
def test_grad(name: str) -> None:
    make = PROGRAMS[name]

    def program(m: Any) -> Any:
        g = m.jax.jit(lambda n, x: m.jax.grad(scalar(m, lambda x: make(m)(n, x)))(x))
        return g(0, X), g(1, X)

    same(program, tol=1e-4)


@pytest.mark.parametrize("axes", [(0, None), (0, 0)], ids=str)
@pytest.mark.parametrize("name", REVERSIBLE)
def test_vmap_of_grad_and_grad_of_vmap(name: str, axes: Any) -> None:
    make = PROGRAMS[name]
    x = np.stack([X, 0.5 * X, -X]) if axes[1] == 0 else X

    def program(m: Any) -> Any:
        f = lambda n, x: m.jax.grad(scalar(m, lambda x: make(m)(n, x)))(x)
        g = scalar(m, lambda x: m.jax.vmap(make(m), in_axes=axes)(N, x))
        return m.jax.jit(m.jax.vmap(f, in_axes=axes))(N, x), m.jax.jit(m.jax.grad(g))(x)

    same(program, tol=1e-4)


@pytest.mark.parametrize("name", ["scan_in_cond_in_fori", "checkpoints", "vmapped_inside"])
def test_second_derivatives(name: str) -> None:
    make = PROGRAMS[name]

    def program(m: Any) -> Any:
        f = scalar(m, lambda x: make(m)(1, x))
        return m.jax.jit(m.jax.hessian(f))(X), m.jax.jit(m.jax.jacrev(m.jax.grad(f)))(X)

    same(program, tol=2e-3)


# --- effects -------------------------------------------------------------------------------


def printed(m: Any, capsys: Any, f: Callable, *args: Any) -> str:
    out = f(*args)
    m.jax.block_until_ready(out)
    m.jax.effects_barrier()
    return capsys.readouterr().out


def test_order_of_effects(capsys: Any) -> None:
    """Ordered effects happen once for each iteration, in the branches that run, in order."""

    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            def small(v: Any) -> Any:
                m.jax.debug.print("small {}", v, ordered=True)
                return v + 1

            def large(v: Any) -> Any:
                m.jax.debug.print("large {}", v, ordered=True)
                return v * 2

            def body(i: Any, v: Any) -> Any:
                m.jax.debug.print("step {}", i, ordered=True)
                return m.lax.cond(v < 3, small, large, v)

            return m.lax.while_loop(lambda v: v < 9, lambda v: body(v, v), x)

        eager = printed(m, capsys, f, 1)
        return eager, printed(m, capsys, m.jax.jit(f), 1)

    ours = same(program)
    assert ours[0] == ours[1] and ours[0].count("step") == 4


def test_effects_of_results_that_are_not_used(capsys: Any) -> None:
    def program(m: Any) -> Any:
        def f(p: Any) -> Any:
            def say(x: Any) -> Any:
                m.jax.debug.print("yes")
                return x

            m.lax.cond(p, say, lambda x: x, 1.0)
            m.lax.while_loop(lambda i: i < 2, lambda i: (say(i), i + 1)[1], 0)
            return 1

        g = m.jax.jit(f)
        return printed(m, capsys, g, True), printed(m, capsys, g, False)

    ours = same(program)
    assert [t.count("yes") for t in ours] == [3, 2]


def test_effects_of_differentiated_conditionals(capsys: Any) -> None:
    """They happen once, with the values."""

    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            def a(x: Any) -> Any:
                m.jax.debug.print("a {}", x)
                return x * x

            return m.lax.cond(x > 0, a, lambda x: x, x)

        return printed(m, capsys, m.jax.grad(f), 2.0), printed(
            m, capsys, m.jax.jit(m.jax.grad(f)), 2.0
        )

    ours = same(program)
    assert all(t.count("a 2.0") == 1 for t in ours)


def test_the_compiled_program_is_shared_by_custom_rules(caplog: pytest.LogCaptureFixture) -> None:
    """Rules that are made anew in every call do not count for what is compiled."""
    x = np.linspace(0.1, 0.9, 17, dtype=np.float32)
    with lingon.log_compiles(), caplog.at_level("WARNING", logger="lingon"):
        for _ in range(3):
            lingon.lax.while_loop(
                lambda c: c[0] < 3, lambda c: (c[0] + 1, lingon.nn.relu(c[1])), (0, x)
            )
    compiled = [r for r in caplog.records if "Compiling jit(while)" in r.getMessage()]
    assert len(compiled) == 1
