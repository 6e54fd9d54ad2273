"""Derivatives of derivatives: all mixtures of modes, third derivatives of elementwise functions,
Jacobians and Hessians over pytrees."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import same

V = np.array([0.5, -0.25, 0.75], np.float32)
M = np.linspace(-0.5, 0.5, 6, dtype=np.float32).reshape(2, 3)

# name in lax or numpy -> interval of arguments in which the function is smooth
UNARY: dict[str, tuple[float, float]] = {
    "exp": (-1, 1), "exp2": (-1, 1), "expm1": (-1, 1), "log": (0.5, 2), "log1p": (-0.4, 1), "sin": (-2, 2),
    "cos": (-2, 2), "tan": (-1, 1), "asin": (-0.7, 0.7), "acos": (-0.7, 0.7), "atan": (-2, 2), "sinh": (-1, 1),
    "cosh": (-1, 1), "tanh": (-2, 2), "asinh": (-1, 1), "acosh": (1.5, 3), "atanh": (-0.7, 0.7), "sqrt": (0.5, 2),
    "rsqrt": (0.5, 2), "cbrt": (0.5, 2), "square": (-2, 2), "reciprocal": (0.5, 2), "logistic": (-2, 2),
    "neg": (-1, 1), "abs": (0.5, 1), "sign": (0.5, 1), "floor": (0.1, 0.9), "ceil": (0.1, 0.9), "round": (0.1, 0.4),
    "erf": (-1, 1), "erfc": (-1, 1), "erf_inv": (-0.7, 0.7), "lgamma": (1.2, 3), "digamma": (1.2, 3),
    "bessel_i0e": (0.2, 1), "bessel_i1e": (0.2, 1), "is_finite": (0, 1), "stop_gradient": (-1, 1),
}  # fmt: skip

BINARY: dict[str, Callable[[Any], Callable]] = {
    "add": lambda m: m.lax.add,
    "sub": lambda m: m.lax.sub,
    "mul": lambda m: m.lax.mul,
    "div": lambda m: m.lax.div,
    "rem": lambda m: lambda x, y: m.lax.rem(x, y + 3),
    "pow": lambda m: m.lax.pow,
    "atan2": lambda m: m.lax.atan2,
    "max": lambda m: m.lax.max,
    "min": lambda m: m.lax.min,
    "nextafter": lambda m: lambda x, y: x * y,
    "igamma": lambda m: lambda x, y: m.lax.igamma(m.lax.stop_gradient(x + 1), y),
    "betainc": lambda m: lambda x, y: m.lax.betainc(2.0, 3.0, x * y / 4),
    "hypot": lambda m: m.jnp.hypot,
    "logaddexp": lambda m: m.jnp.logaddexp,
    "select": lambda m: lambda x, y: m.lax.select(x > y, x * y, x - y),
    "clamp": lambda m: lambda x, y: m.lax.clamp(0.1, x * y, 5.0),
    "integer power": lambda m: lambda x, y: m.lax.integer_pow(x, 4) * y,
}

# jax computes these derivatives less precisely
LOOSE = {"lgamma": 5e-3, "digamma": 5e-3, "igamma": 5e-3, "betainc": 5e-3, "erf_inv": 2e-3}


def fwd(m: Any, f: Callable) -> Callable:
    return lambda x: m.jax.jvp(f, (x,), (m.jnp.ones_like(x),))[1]


def rev(m: Any, f: Callable) -> Callable:
    return lambda x: m.jax.vjp(f, x)[1](m.jnp.ones_like(x))[0]


MODES = {"f": fwd, "r": rev}
THIRD = ["".join(p) for p in itertools.product("fr", repeat=3)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each function has its third derivative in one mixture of modes; in all with --full, where
    nothing is sampled."""
    for name, cases in (("loss_of", list(LOSSES)), ("tree", list(TREES))):
        if name in metafunc.fixturenames:
            if not metafunc.config.getoption("--full"):
                count = len(cases) // 2
                cases = sorted(
                    np.random.default_rng(5).choice(cases, count, replace=False).tolist()
                )
            metafunc.parametrize(name, cases)
    if "third" not in metafunc.fixturenames:
        return
    cases = [(n, THIRD[i % len(THIRD)]) for i, n in enumerate(sorted([*UNARY, *BINARY]))]
    if metafunc.config.getoption("--full"):
        cases = [(n, t) for n, _ in cases for t in THIRD]
    metafunc.parametrize("third", cases, ids=["-".join(c) for c in cases])


@pytest.mark.sampled(24)
def test_third_derivative(third: tuple[str, str]) -> None:
    name, modes = third

    def program(m: Any) -> Any:
        if name in UNARY:
            low, high = UNARY[name]
            if name == "stop_gradient":
                f = lambda x: m.lax.stop_gradient(x) * x
            elif name == "is_finite":
                f = lambda x: m.jnp.where(m.lax.is_finite(x), x**3, 0.0)
            else:
                f = getattr(m.lax, name)
            x = np.linspace(low, high, 5, dtype=np.float32)
        else:
            g = BINARY[name](m)
            f = lambda x: g(x, x * 0.5 + 0.3)
            x = np.linspace(0.6, 1.4, 5, dtype=np.float32)
        for mode in modes:
            f = MODES[mode](m, f)
        return f(m.jnp.asarray(x))

    same(program, tol=LOOSE.get(name, 5e-4), weak=False)


LOSSES: dict[str, Callable[[Any], Callable]] = {
    "network": lambda m: lambda x: m.jnp.sum(m.jnp.tanh(m.jnp.asarray(M) @ m.jnp.tanh(x)) ** 2),
    "logsumexp": lambda m: lambda x: m.nn.logsumexp(x * m.jnp.sin(x)),
    "norm": lambda m: lambda x: m.jnp.sqrt(m.jnp.sum(x * x)),
    "products": lambda m: lambda x: m.jnp.prod(x) + m.jnp.cumsum(x * x)[1] * x[0],
    "indexing": lambda m: lambda x: (x.at[0].mul(x[1]) ** 3)[::-1].sum(),
    "jit": lambda m: m.jax.jit(lambda x: m.jnp.sum(m.jnp.sin(x) ** 3)),
    "scan": lambda m: (
        lambda x: m.lax.scan(lambda c, y: (m.jnp.sin(c * y + x[0]), None), x[1], x)[0]
    ),
    "cond": lambda m: lambda x: m.lax.cond(x[0] > 0, lambda y: (y**3).sum(), lambda y: y.sum(), x),
    "checkpoint": lambda m: m.jax.checkpoint(lambda x: m.jnp.sum(m.jnp.sin(m.jnp.sin(x)) * x)),
    "custom_jvp": lambda m: lambda x: m.jnp.sum(_cube(m)(x)),
}


def _cube(m: Any) -> Callable:
    f = m.jax.custom_jvp(lambda x: x**3)
    f.defjvp(lambda p, t: (f(*p), 3 * p[0] ** 2 * t[0]))
    return f


@pytest.mark.sampled(3)
def test_second_derivatives(loss_of: str) -> None:
    def program(m: Any) -> Any:
        f, x = LOSSES[loss_of](m), m.jnp.asarray(V)
        along = m.jnp.array([1.0, -2.0, 0.5])
        return (
            m.jax.hessian(f)(x),
            m.jax.jacrev(m.jax.jacrev(f))(x),
            m.jax.jacfwd(m.jax.jacfwd(f))(x),
            m.jax.jvp(m.jax.grad(f), (x,), (along,))[1],
            m.jax.grad(lambda y: m.jax.grad(f)(y) @ along)(x),
            m.jax.grad(lambda y: m.jax.jvp(f, (y,), (along,))[1])(x),
            m.jax.linearize(m.jax.grad(f), x)[1](along),
        )

    same(program, tol=2e-4, weak=False)


PARAMETERS = {"w": M, "b": (V[:2], np.float32(0.5))}


def _model(m: Any) -> Callable:
    def f(p: Any, x: Any) -> Any:
        h = m.jnp.tanh(p["w"] @ x + p["b"][0])
        return {"h": h, "loss": (h**2).sum() * p["b"][1]}

    return f


TREES: dict[str, Callable[[Any, Any], Any]] = {
    "jacfwd": lambda m, p: m.jax.jacfwd(_model(m))(p, m.jnp.asarray(V)),
    "jacrev": lambda m, p: m.jax.jacrev(_model(m))(p, m.jnp.asarray(V)),
    "jacfwd, second argument": lambda m, p: m.jax.jacfwd(_model(m), 1)(p, m.jnp.asarray(V)),
    "jacrev, both arguments": lambda m, p: m.jax.jacrev(_model(m), (0, 1))(p, m.jnp.asarray(V)),
    "jacfwd, arguments in another order": lambda m, p: m.jax.jacfwd(_model(m), (1, 0))(p, m.jnp.asarray(V)),
    "jacrev, negative argnums": lambda m, p: m.jax.jacrev(_model(m), (-1,))(p, m.jnp.asarray(V)),
    "jacfwd, list of argnums": lambda m, p: m.jax.jacfwd(_model(m), [0])(p, m.jnp.asarray(V)),
    "jacfwd, aux": lambda m, p: m.jax.jacfwd(lambda p: (_model(m)(p, m.jnp.asarray(V)), {"n": 3, "p": p}), has_aux=True)(p),
    "jacrev, aux": lambda m, p: m.jax.jacrev(lambda p: (_model(m)(p, m.jnp.asarray(V)), {"n": 3, "p": p}), has_aux=True)(p),
    "hessian": lambda m, p: m.jax.hessian(lambda p: _model(m)(p, m.jnp.asarray(V))["loss"])(p),
    "hessian, both arguments": lambda m, p: m.jax.hessian(lambda p, x: _model(m)(p, x)["loss"], (0, 1))(p, m.jnp.asarray(V)),
    "hessian, aux": lambda m, p: m.jax.hessian(lambda x: ((x**3).sum(), x * 2), has_aux=True)(m.jnp.asarray(V)),
    "keyword": lambda m, p: m.jax.jacrev(lambda p, *, x: _model(m)(p, x)["h"])(p, x=m.jnp.asarray(V)),
    "jit": lambda m, p: m.jax.jit(m.jax.jacrev(_model(m)))(p, m.jnp.asarray(V)),
    "vmap": lambda m, p: m.jax.vmap(m.jax.jacfwd(_model(m), 1), (None, 0))(p, m.jnp.asarray(M)),
    "value_and_grad, aux": lambda m, p: m.jax.value_and_grad(lambda p: (_model(m)(p, m.jnp.asarray(V))["loss"], p["b"]), has_aux=True)(p),
    "vjp, aux": lambda m, p: (lambda o, f, a: (o, f(o), a))(*m.jax.vjp(lambda p: (_model(m)(p, m.jnp.asarray(V)), p["b"]), p, has_aux=True)),
    "vjp, reduce_axes": lambda m, p: m.jax.vjp(lambda x: x * x, 2.0, reduce_axes=())[1](1.0),
    "linearize, aux": lambda m, p: (lambda o, f, a: (o, f(p), a))(*m.jax.linearize(lambda p: (_model(m)(p, m.jnp.asarray(V)), p["b"]), p, has_aux=True)),
    "jvp, aux": lambda m, p: m.jax.jvp(lambda p: (_model(m)(p, m.jnp.asarray(V)), p["b"]), (p,), (p,), has_aux=True),
    "aux as a list": lambda m, p: m.jax.grad(lambda x: [x * x, x], has_aux=True)(2.0),
    "linear_transpose": lambda m, p: m.jax.linear_transpose(lambda d: {"y": d["w"] @ m.jnp.asarray(V) + d["b"][0]}, p)({"y": m.jnp.ones(2)}),
    "maml": lambda m, p: m.jax.grad(lambda q: _adapted(m, q))(p),
}  # fmt: skip


def _adapted(m: Any, p: Any) -> Any:
    loss = lambda p: _model(m)(p, m.jnp.asarray(V))["loss"]
    g = m.jax.grad(loss)(p)
    return loss(m.jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, p, g))


@pytest.mark.sampled(7)
def test_tree(tree: str) -> None:
    def program(m: Any) -> Any:
        p = m.jax.tree_util.tree_map(m.jnp.asarray, PARAMETERS)
        return TREES[tree](m, p)

    same(program, tol=2e-4)
