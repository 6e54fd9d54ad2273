"""bounded_while_loop: values of while_loop, derivatives in both modes, and what they store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lingon
import lingon.numpy as lnp
from lingon import lax
from lingon.frontend.core.jaxpr import subjaxprs

X = np.linspace(0.2, 1.0, 3).astype(np.float32)
W = np.float32(0.7)


def grown(bound: int) -> Callable:
    """Grow until the sum is large: 13 iterations from X."""

    def f(x: Any, w: Any) -> Any:
        go = lambda s: lnp.sum(s["x"]) < 20
        step = lambda s: {"x": s["x"] * 1.1 + w * 0.3 * lnp.sin(s["x"] + 2), "n": s["n"] + 1}
        return lax.bounded_while_loop(go, step, {"x": x, "n": 0}, bound)

    return f


def oracle(bound: int) -> Callable:
    """The same with jax, as a scan that does nothing after the end."""

    def f(x: Any, w: Any) -> Any:
        def body(s: Any, _: Any) -> Any:
            x, n = s
            new = x * 1.1 + w * 0.3 * jnp.sin(x + 2), n + 1
            on = jnp.sum(x) < 20
            return (jnp.where(on, new[0], x), jnp.where(on, new[1], n)), None

        (x, n), _ = jax.lax.scan(body, (x, 0), None, length=bound)
        return {"x": x, "n": n}

    return f


def close(a: Any, b: Any, tol: float = 2e-4) -> None:
    a, b = lingon.tree_util.tree_leaves(a), jax.tree_util.tree_leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tol, atol=tol)


BOUNDS = [1, 2, 5, 13, 14, 40, 100]


@pytest.mark.parametrize("bound", BOUNDS)
def test_values_and_derivatives(bound: int) -> None:
    f, g = grown(bound), oracle(bound)
    close(f(X, W), g(X, W))
    close(lingon.jit(f)(X, W), g(X, W))
    total = lambda f: lambda x, w: (f(x, w)["x"] ** 2).sum()
    want = jax.grad(total(g), (0, 1))(X, W)
    close(lingon.grad(total(f), (0, 1))(lnp.asarray(X), W), want)
    close(lingon.jit(lingon.grad(total(f), (0, 1)))(X, W), want)
    pushed = lingon.jvp(total(f), (lnp.asarray(X), W), (X, W))
    close(pushed, jax.jvp(total(g), (X, W), (X, W)))


def test_no_iterations() -> None:
    out = grown(0)(X, W)
    close(out["x"], X)
    assert int(out["n"]) == 0 and isinstance(out["x"], lingon.Array)
    close(lingon.grad(lambda x: lnp.sum(grown(0)(x, W)["x"]))(lnp.asarray(X)), np.ones(3))


def test_second_derivatives() -> None:
    f = lambda x, w: lnp.sum(grown(20)(x, w)["x"])
    g = lambda x, w: jnp.sum(oracle(20)(x, w)["x"])
    want = jax.hessian(g, (0, 1))(X, W)
    close(lingon.jit(lingon.hessian(f, (0, 1)))(X, W), want, 2e-3)
    close(lingon.jit(lingon.jacrev(lingon.grad(f), 1))(X, W), want[0][1], 2e-3)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)], ids=str)
def test_vmap(axes: Any) -> None:
    """Each element has its own number of iterations."""
    args = [np.stack([a, 2 * a, 9 * a]) if d == 0 else a for a, d in zip((X, W), axes, strict=True)]
    f = lingon.vmap(grown(30), in_axes=axes)
    g = jax.vmap(oracle(30), in_axes=axes)
    close(f(*args), g(*args))
    total = lambda f: lambda *a: (f(*a)["x"] ** 2).sum()
    close(
        lingon.jit(lingon.grad(total(f), (0, 1)))(*args),
        jax.grad(total(g), (0, 1))(*args),
        1e-3,
    )


def test_integer_carries_and_closures_that_are_not_differentiated() -> None:
    n = lnp.arange(5)

    def f(x: Any) -> Any:
        step = lambda s: (s[0] + 1, s[1] * x + n[s[0]])
        return lax.bounded_while_loop(lambda s: s[0] < 4, step, (0, lnp.float32(1)), 10)[1]

    # ((((1x + 0)x + 1)x + 2)x + 3
    assert float(f(2.0)) == 16 + 4 + 4 + 3
    assert float(lingon.grad(f)(2.0)) == pytest.approx(4 * 8 + 2 * 2 + 2)


def stored(jaxpr: Any) -> int:
    """The number of elements of the largest array that a program makes, at any depth."""
    found = [v.aval.size for e in jaxpr.eqns for v in e.outvars]
    found += [stored(s) for e in jaxpr.eqns for s in subjaxprs(e.params)]
    return max(found, default=0)


def test_memory_grows_as_the_root_of_the_bound() -> None:
    def f(x: Any, bound: int) -> Any:
        go = lambda v: lnp.sum(v) < 1e9
        return lnp.sum(lax.bounded_while_loop(go, lambda v: lnp.sin(v) + v, x, bound))

    x = lnp.ones(10)
    sizes = []
    for bound in (100, 10_000):
        closed = lingon.make_jaxpr(lingon.grad(lambda x: f(x, bound)))(x)
        sizes.append(stored(closed.jaxpr) / 10)
    assert sizes[0] <= 11 and sizes[1] <= 101, sizes


def test_without_differentiation_it_is_a_while_loop() -> None:
    text = str(lingon.make_jaxpr(grown(30))(X, W))
    assert "while[" in text and "scan[" not in text


def test_without_jit() -> None:
    with lingon.disable_jit():
        close(grown(30)(X, W), oracle(30)(X, W))
