"""custom_linear_solve and custom_root under every transformation, beside jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import OURS, same
from scan_programs import line

import lingon

A = (line(3, 3) + 3 * np.eye(3)).astype(np.float32)
S = (A + A.T) / 2
B = line(3, low=0.5, high=2.0)


def jacobi(m: Any, a: Any) -> Any:
    """A solver that knows the product only: Jacobi's iteration in a while loop."""

    def solve(matvec: Any, b: Any) -> Any:
        d = m.jnp.diagonal(a)
        body = lambda c: (c[0] + 1, c[1] + (b - matvec(c[1])) / d)
        return m.lax.while_loop(lambda c: c[0] < 60, body, (0, b / d))[1]

    return solve


def general(m: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        solve = jacobi(m, a)
        return m.lax.custom_linear_solve(lambda v: a @ v, b, solve, solve)

    return f


def symmetric(m: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        return m.lax.custom_linear_solve(lambda v: a @ v, b, jacobi(m, a), symmetric=True)

    return f


def with_aux(m: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        def solve(matvec: Any, b: Any) -> Any:
            x = jacobi(m, a)(matvec, b)
            return x, {"rest": m.jnp.sum(b - matvec(x)), "b": b}

        x, aux = m.lax.custom_linear_solve(lambda v: a @ v, b, solve, symmetric=True, has_aux=True)
        return x + 0 * aux["rest"]

    return f


def trees(m: Any) -> Any:
    """A structured right-hand side, and a diagonal system."""

    def f(a: Any, b: Any) -> Any:
        matvec = lambda v: {"p": 2 * v["p"], "q": [v["q"][0] * a[0, 0]]}
        solve = lambda _, b: {"p": b["p"] / 2, "q": [b["q"][0] / a[0, 0]]}
        x = m.lax.custom_linear_solve(matvec, {"p": b, "q": [b[0]]}, solve, symmetric=True)
        return x["p"] * x["q"][0]

    return f


PROGRAMS = {
    "general": (general, A),
    "symmetric": (symmetric, S),
    "aux": (with_aux, S),
    "trees": (trees, S),
}
all_programs = pytest.mark.parametrize("name", sorted(PROGRAMS))


@all_programs
def test_linear_solve(name: str) -> None:
    make, a = PROGRAMS[name]

    def program(m: Any) -> Any:
        f = make(m)
        g = lambda a, b: m.jnp.sum(m.jnp.sin(f(a, b)))
        return [
            f(a, B),
            m.jax.jit(f)(a, B),
            m.jax.jvp(f, (a, B), (S, B)),
            m.jax.grad(g, (0, 1))(a, B),
            m.jax.jit(m.jax.grad(g, (0, 1)))(a, B),
        ]

    same(program, tol=1e-3)


@pytest.mark.parametrize("name", ["general", "symmetric", "aux"])
def test_batched_right_hand_side(name: str) -> None:
    make, a = PROGRAMS[name]

    def program(m: Any) -> Any:
        f = make(m)
        g = lambda a, b: m.jnp.sum(m.jnp.sin(f(a, b)))
        both = m.jnp.stack([B, 2 * B])
        return [
            m.jax.vmap(f, in_axes=(None, 0))(a, both),
            m.jax.jit(m.jax.vmap(m.jax.grad(g), in_axes=(None, 0)))(a, both),
        ]

    same(program, tol=1e-3)


def test_batched_trees() -> None:
    """One part of the right-hand side is batched, then all of it is; jax has no rule for that."""
    f, lnp = trees(OURS), lingon.numpy
    many = lnp.stack([S, 2 * S])
    for axes, args in [((0, None), (many, B)), ((None, 0), (S, lnp.stack([B, 2 * B])))]:
        got = lingon.jit(lingon.vmap(f, in_axes=axes))(*args)
        rows = [[x[k] if d == 0 else x for x, d in zip(args, axes, strict=True)] for k in range(2)]
        np.testing.assert_allclose(got, [f(*r) for r in rows], rtol=1e-5)


@pytest.mark.parametrize("name", ["symmetric", "trees"])
def test_second_derivatives(name: str) -> None:
    make, a = PROGRAMS[name]

    def program(m: Any) -> Any:
        g = lambda b: m.jnp.sum(m.jnp.sin(make(m)(a, b)))
        return m.jax.jit(m.jax.hessian(g))(B), m.jax.jacrev(m.jax.grad(g))(B)

    same(program, tol=2e-3)


def test_batched_matrix() -> None:
    def program(m: Any) -> Any:
        f, many = symmetric(m), m.jnp.stack([S, 2 * S])
        return m.jax.vmap(f, in_axes=(0, None))(many, B), m.jax.vmap(f, in_axes=(0, 1))(
            many, m.jnp.stack([B, B + 1], axis=1)
        )

    same(program, tol=1e-3)


def test_auxiliary_data() -> None:
    def program(m: Any) -> Any:
        solve = lambda mv, b: (b / 2, {"n": m.jnp.sum(b)})
        f = lambda b: m.lax.custom_linear_solve(
            lambda v: 2 * v, b, solve, symmetric=True, has_aux=True
        )
        return f(B), m.jax.grad(lambda b: f(b)[1]["n"])(B), m.jax.jvp(f, (B,), (B,))

    same(program)


def test_the_solver_is_not_differentiated() -> None:
    """Reverse mode never meets the solver's while loop, and calls the transposed solver once."""
    f = lambda b: lingon.numpy.sum(general(OURS)(A, b))
    text = str(lingon.make_jaxpr(lingon.grad(f))(B))
    assert text.count("custom_linear_solve[") == 2


def root_of_square(m: Any) -> Any:
    def f(a: Any) -> Any:
        def solve(f: Any, x: Any) -> Any:
            newton = lambda c: (c[0] + 1, c[1] - f(c[1]) / (2 * c[1]))
            return m.lax.while_loop(lambda c: c[0] < 12, newton, (0, x))[1]

        return m.lax.custom_root(lambda x: x * x - a, 1.0 + 0 * a, solve, lambda g, y: y / g(1.0))

    return f


def test_root() -> None:
    def program(m: Any) -> Any:
        f, a = root_of_square(m), np.float32(2)
        many = line(4, low=1.0, high=5.0)
        return [
            f(a),
            m.jax.jit(f)(a),
            m.jax.jvp(f, (a,), (a,)),
            m.jax.grad(f)(a),
            m.jax.jit(m.jax.grad(f))(a),
            m.jax.grad(m.jax.grad(f))(a),
            m.jax.jit(m.jax.jacfwd(m.jax.grad(f)))(a),
            m.jax.vmap(f)(many),
            m.jax.jit(m.jax.vmap(m.jax.grad(f)))(many),
        ]

    same(program, tol=1e-4)


def test_root_of_a_system() -> None:
    """Structured unknowns; the tangent equation is solved through its Jacobian."""

    def program(m: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            fun = lambda x: {"u": x["u"] * 3 - a * x["v"], "v": x["v"] * 2 + m.jnp.tanh(x["u"]) - b}

            def solve(fun: Any, x: Any) -> Any:
                def body(c: Any) -> Any:
                    i, x = c
                    r = fun(x)
                    return i + 1, {"u": x["u"] - r["u"] / 4, "v": x["v"] - r["v"] / 3}

                return m.lax.while_loop(lambda c: c[0] < 60, body, (0, x))[1]

            def tangent(g: Any, y: Any) -> Any:
                flat = lambda p: m.jnp.concatenate([p["u"], p["v"]])
                apart = lambda v: {"u": v[:2], "v": v[2:]}
                jac = m.jnp.stack([flat(g(apart(e))) for e in m.jnp.eye(4)], axis=1)
                inner = lambda mv, b: m.lax.fori_loop(
                    0, 200, lambda i, x: x + 0.2 * (b - jac @ x), b
                )
                return apart(m.lax.custom_linear_solve(lambda v: jac @ v, flat(y), inner, inner))

            zero = {"u": m.jnp.zeros(2), "v": m.jnp.zeros(2)}
            return m.lax.custom_root(fun, zero, solve, tangent)

        a, b = np.asarray([0.3, 0.5], np.float32), np.asarray([1.0, -1.0], np.float32)
        return f(a, b), m.jax.jit(m.jax.jacfwd(f, (0, 1)))(a, b)

    same(program, tol=1e-3)


def test_root_with_auxiliary_data() -> None:
    def program(m: Any) -> Any:
        def f(a: Any) -> Any:
            solve = lambda f, x: (m.jnp.sqrt(a), {"n": x * a})
            return m.lax.custom_root(
                lambda x: x**2 - a, 1.0, solve, lambda g, y: y / g(1.0), has_aux=True
            )

        return [
            f(2.0),
            m.jax.grad(lambda a: f(a)[0])(2.0),
            m.jax.grad(lambda a: f(a)[1]["n"])(2.0),
        ]

    same(program)


def test_guess_has_no_derivative() -> None:
    def program(m: Any) -> Any:
        f = lambda x: m.lax.custom_root(
            lambda x: x**2 - 2, x, lambda f, x: m.jnp.sqrt(2.0) + 0 * x, lambda g, y: y / g(1.0)
        )
        return m.jax.grad(f)(2.0)

    same(program)
