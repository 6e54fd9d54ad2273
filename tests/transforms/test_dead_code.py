"""Dead code is removed at any depth, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon import lax
from lingon.frontend.core.jaxpr import check_jaxpr, subjaxprs
from lingon.frontend.core.primitive import registry
from lingon.frontend.transforms.partial_eval import dce_jaxpr

X = np.arange(1, 4, dtype=np.float32)


def pruned(f: Callable, *args: Any) -> Any:
    """The program of a function without dead code, checked against the function."""
    closed = lingon.make_jaxpr(f)(*args)
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), keep_inputs=True)
    check_jaxpr(jaxpr)
    new = closed.replace(jaxpr=jaxpr)
    got = lingon.frontend.core.interpreter.eval_jaxpr(new.jaxpr, new.consts, *args)
    for g, w in zip(got, lingon.tree.leaves(f(*args)), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)
    return new


def names(jaxpr: Any) -> list[str]:
    """The primitives of a jaxpr, at any depth."""
    out = []
    for e in jaxpr.eqns:
        out.append(e.primitive.name)
        for sub in subjaxprs(e.params):
            out += names(sub)
    return out


def two_carries(x: Any) -> Any:
    """A loop of which only one carry matters."""
    return lax.fori_loop(0, 3, lambda i, c: (c[0] + 1, jnp.sin(c[1])), (x, x))[0]


def search(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0][0] < 9, lambda s: (s[0] + 1, jnp.sin(s[1])), (x, x))[0]


def branches(x: Any) -> Any:
    return lax.cond(x[0] > 0, lambda x: (x, jnp.sin(x)), lambda x: (x * 2, jnp.sin(x) ** 2), x)[0]


WRAPPED: dict[str, Callable[[Callable], Callable]] = {
    "jit": lingon.jit,
    "jit of jit": lambda f: lingon.jit(lingon.jit(f)),
    "checkpoint": lambda f: lingon.checkpoint(f),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=2),
    "while": lambda f: lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: f(c) + 1, x),
    "cond": lambda f: lambda x: lax.cond(x[0] > 0, f, lambda x: x, x),
    "custom_jvp": lambda f: _with_jvp(f),
    "custom_vjp": lambda f: _with_vjp(f),
    "custom_vmap": lambda f: lingon.custom_batching.sequential_vmap(f),
    "solve": lambda f: (
        lambda x: lax.custom_linear_solve(
            lambda v: v * 2, x, lambda _, b: f(b) * 0 + b / 2, lambda _, b: b / 2
        )
    ),
}


def _with_jvp(f: Callable) -> Callable:
    g = lingon.custom_jvp(f)
    g.defjvps(lambda t, out, x: t)
    return g


def _with_vjp(f: Callable) -> Callable:
    g = lingon.custom_vjp(f)
    g.defvjp(lambda x: (f(x), None), lambda _, ct: (ct,))
    return g


@pytest.mark.parametrize("inner", [two_carries, search, branches], ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", list(WRAPPED))
def test_inside_of(how: str, inner: Callable) -> None:
    f = WRAPPED[how](inner)
    assert "sin" in names(lingon.make_jaxpr(f)(X))
    assert "sin" not in names(pruned(f, X))
    for got, want in zip(
        lingon.tree.leaves(lingon.jit(f)(X)), lingon.tree.leaves(f(X)), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_operands_that_nothing_reads_any_more() -> None:
    """What is computed for dead code goes with it."""

    @lingon.jit
    def inner(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: (c[0] + 1, c[1] * y), (x, y))[0]

    assert names(pruned(lambda x: inner(x, jnp.exp(x)), X)) == ["jit", "scan", "add"]


def test_effects_stay() -> None:
    @lingon.jit
    def inner(x: Any) -> Any:
        y = jnp.sin(x)
        lingon.debug.callback(lambda y: None, y)
        return lax.fori_loop(0, 3, lambda i, c: (c[0] + 1, jnp.cos(c[1])), (x, x))[0]

    left = names(pruned(inner, X))
    assert "debug_callback" in left and "sin" in left and "cos" not in left


def test_programs_without_dead_code_stay_what_they_are() -> None:
    """Nothing is made anew, so that what was derived from its jaxprs is still there."""

    @lingon.jit
    def f(x: Any) -> Any:
        return lax.scan(lambda c, a: (c + a, lax.cond(c > 1, jnp.sin, jnp.cos, c)), 0.0, x)

    closed = lingon.make_jaxpr(f)(X)
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True, True], keep_inputs=True)
    assert jaxpr.eqns[0] is closed.eqns[0]


def test_deep_programs_take_linear_time() -> None:
    """A jaxpr that occurs often is pruned once."""
    calls = []
    f: Callable = two_carries
    for _ in range(12):
        g = lingon.jit(lambda x, f=f: f(x) + f(x))
        f = g
    rule = registry["scan"].dce

    def counted(eqn: Any, used: Any) -> Any:
        calls.append(1)
        return rule(eqn, used)

    closed = lingon.make_jaxpr(f)(X)
    registry["scan"].dce = counted
    try:
        dce_jaxpr(closed.jaxpr, [True], keep_inputs=True)
    finally:
        registry["scan"].dce = rule
    assert 0 < len(calls) < 10
