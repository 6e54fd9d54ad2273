"""Taylor-mode differentiation against jax's jet and against nested derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.experimental.jet
import numpy as np
import pytest
from both import JAX, fails, same

import lingon
import lingon.experimental.jet
import lingon.lax
import lingon.nn
import lingon.numpy as jnp
from lingon.frontend.core.primitive import Primitive, registry, sample_array
from lingon.frontend.core.rules import zero_jvp

V = np.array([0.5, 0.25, 0.75], np.float32)
SERIES = (1.0, 2.0, -3.0, 4.0)


def jet(m: Any, *args: Any, **kwargs: Any) -> Any:
    library = jax if m is JAX else lingon
    return library.experimental.jet.jet(*args, **kwargs)


UNARY: dict[str, Callable[[Any], Callable]] = {
    "sin": lambda m: m.jnp.sin,
    "cos": lambda m: m.jnp.cos,
    "exp": lambda m: m.jnp.exp,
    "log": lambda m: m.jnp.log,
    "tanh": lambda m: m.jnp.tanh,
    "sigmoid": lambda m: m.nn.sigmoid,
    "sinh": lambda m: m.jnp.sinh,
    "cosh": lambda m: m.jnp.cosh,
    "sqrt": lambda m: m.jnp.sqrt,
    "rsqrt": lambda m: m.lax.rsqrt,
    "log1p": lambda m: m.jnp.log1p,
    "expm1": lambda m: m.jnp.expm1,
    "square": lambda m: m.jnp.square,
    "cube": lambda m: lambda x: x**3,
    "power": lambda m: lambda x: x**2.5,
    "reciprocal": lambda m: lambda x: 1 / x,
    "quotient": lambda m: lambda x: m.jnp.sin(x) / (1 + x),
    "erf": lambda m: m.lax.erf,
    "abs": lambda m: lambda x: m.jnp.abs(x - 0.6),
    "maximum": lambda m: lambda x: m.jnp.maximum(x, 0.4),
    "where": lambda m: lambda x: m.jnp.where(x > 0.3, x * x, x),
    "identity": lambda m: lambda x: x,
    "constant": lambda m: lambda x: m.jnp.ones(2),
    "jit": lambda m: m.jax.jit(lambda x: m.jnp.sin(x) * x),
    "grad": lambda m: lambda x: m.jax.grad(lambda y: m.jnp.sum(m.jnp.sin(y)))(x),
    "pytree": lambda m: lambda x: {"a": m.jnp.sin(x), "b": (x, x * x)},
    "conversion": lambda m: lambda x: x.astype(m.jnp.bfloat16).astype(m.jnp.float32) * x,
}

ARRAYS: dict[str, Callable[[Any], Callable]] = {
    "sum": lambda m: lambda x: (x * x).sum(),
    "dot": lambda m: lambda x: x @ m.jnp.sin(x),
    "max": lambda m: lambda x: m.jnp.max(m.jnp.sin(x)),
    "cumsum": lambda m: lambda x: m.jnp.cumsum(m.jnp.sin(x)),
    "gather": lambda m: lambda x: m.jnp.sin(x)[m.jnp.array([2, 0])],
    "set": lambda m: lambda x: x.at[1].add(m.jnp.sin(x[0])),
    "concatenate": lambda m: lambda x: m.jnp.concatenate([x, m.jnp.sin(x)])[::-1],
    "reshape": lambda m: lambda x: m.jnp.sin(x).reshape(1, 3).T,
    "matrix": lambda m: lambda x: m.jnp.outer(x, m.jnp.exp(x)) @ x,
    "slice": lambda m: lambda x: m.lax.dynamic_slice(m.jnp.sin(x), (1,), (2,)),
    "pad": lambda m: lambda x: m.jnp.pad(m.jnp.sin(x), 1),
}


@pytest.mark.parametrize("case", UNARY)
def test_scalar(case: str) -> None:
    same(lambda m: jet(m, UNARY[case](m), (0.5,), (SERIES,)), tol=2e-5, weak=False)


@pytest.mark.parametrize("case", [*UNARY, *ARRAYS])
def test_array(case: str) -> None:
    make = {**UNARY, **ARRAYS}[case]
    terms = [V * c for c in SERIES[:3]]

    def program(m: Any) -> Any:
        return jet(m, make(m), (m.jnp.asarray(V),), ([m.jnp.asarray(t) for t in terms],))

    same(program, tol=2e-5, weak=False)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "two arguments": lambda m: jet(m, lambda x, y: (x * y, m.jnp.sin(x) / y), (0.5, 2.0), ((1.0, 2.0), (3.0, 4.0))),
    "list": lambda m: jet(m, m.jnp.sin, [0.5], [[1.0, 2.0]]),
    "order 0": lambda m: jet(m, m.jnp.sin, (0.5,), ((),)),
    "order 1": lambda m: jet(m, m.jnp.sin, (0.5,), ((2.0,),)),
    "order 7": lambda m: jet(m, lambda x: m.jnp.exp(m.jnp.sin(x)), (0.5,), ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),)),
    "coefficients": lambda m: jet(m, m.jnp.sin, (0.5,), ((1.0, 2.0, 3.0),), factorial_scaled=False),
    "jit": lambda m: m.jax.jit(lambda x: jet(m, m.jnp.sin, (x,), ((1.0, 2.0, 3.0),)))(0.5),
    "vmap": lambda m: m.jax.vmap(lambda x: jet(m, m.jnp.sin, (x,), ((1.0, 2.0, 3.0),)))(m.jnp.asarray(V)),
    "grad": lambda m: m.jax.grad(lambda x: jet(m, m.jnp.sin, (x,), ((1.0, 2.0, 3.0),))[1][2])(1.0),
    "integer primal": lambda m: jet(m, m.jnp.sin, (1,), ((1, 2, 3),)),
    "integer argument": lambda m: jet(m, lambda x, n: x * n, (0.5, 2), ((1.0, 2.0), (0, 0))),
    "integer terms": lambda m: jet(m, m.jnp.sin, (0.5,), ((1, 2, 3),)),
    "complex": lambda m: jet(m, m.jnp.sin, (1 + 2j,), ((1 + 1j, 2.0j, 3.0 + 0j),)),
    "scalar terms": lambda m: jet(m, m.jnp.sin, (m.jnp.asarray(V),), ((m.jnp.ones(3), m.jnp.ones(3)),)),
}  # fmt: skip


@pytest.mark.parametrize("case", PROGRAMS)
def test_program(case: str) -> None:
    same(PROGRAMS[case], tol=2e-5, weak=False)


# --- against nested derivatives -------------------------------------------------------------


def nested(f: Callable, path: Callable, order: int) -> list[Any]:
    """Derivatives of f(path(t)) at t = 0 by nested jvp."""
    g = lambda t: f(path(t))
    out = [g(0.0)]
    for _ in range(order):
        g = (lambda h: lambda t: lingon.jvp(h, (t,), (1.0,))[1])(g)
        out.append(g(0.0))
    return out


def check_against_nested(f: Callable, x: Any, order: int = 3, tol: float = 2e-3) -> None:
    slope = jnp.asarray(np.linspace(0.3, 0.7, x.size, dtype=np.float32).reshape(x.shape))
    terms = [slope] + [jnp.zeros_like(slope)] * (order - 1)
    out, series = lingon.experimental.jet.jet(f, (x,), (terms,))
    want = nested(f, lambda t: x + t * slope, order)
    for got, expected in zip([out, *series], want, strict=True):
        scale = 1 + float(np.max(np.abs(np.asarray(expected, np.float64)), initial=0.0))
        np.testing.assert_allclose(got, expected, rtol=tol, atol=tol * scale)


WITHOUT_RULES: dict[str, Callable] = {
    "arctan": jnp.arctan,
    "tan": jnp.tan,
    "arcsin": jnp.arcsin,
    "arctanh": jnp.arctanh,
    "lgamma": lingon.lax.lgamma,
    "digamma": lingon.lax.digamma,
    "erf_inv": lingon.lax.erf_inv,
    "prod": jnp.prod,
    "sort": lambda x: jnp.sort(jnp.sin(3 * x)),
    "logsumexp": lingon.nn.logsumexp,
    "softmax": lingon.nn.softmax,
    "relu": lambda x: lingon.nn.relu(x - 0.3),
    "softplus": lingon.nn.softplus,
    "cond": lambda x: lingon.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "scan": lambda x: lingon.lax.scan(lambda c, y: (jnp.sin(c * y), c), x[0], x)[1],
    "while": lambda x: lingon.lax.while_loop(lambda c: c[1] < 3, lambda c: (jnp.sin(c[0]), c[1] + 1), (x, 0))[0],
    "checkpoint": lingon.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
    "jit of checkpoint": lingon.jit(lingon.checkpoint(lambda x: jnp.sin(jnp.sin(x)))),
    "vmap": lingon.vmap(lambda x: jnp.sin(x) * x),
}  # fmt: skip


@pytest.mark.parametrize("case", WITHOUT_RULES)
def test_without_a_rule(case: str) -> None:
    """jax has no rules for these."""
    check_against_nested(WITHOUT_RULES[case], jnp.asarray(V))


def test_custom_jvp() -> None:
    f = lingon.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(lambda p, t: (f(*p), 2 * jnp.cos(p[0]) * t[0]))
    check_against_nested(f, jnp.asarray(V))


def test_custom_vjp_has_no_forward_mode() -> None:
    f = lingon.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda r, g: (g,))
    with pytest.raises(TypeError, match="forward-mode"):
        lingon.experimental.jet.jet(f, (1.0,), ((1.0,),))


def _samples() -> list[Any]:
    """A differentiable sample for each primitive with one float operand."""
    out = []
    for name, p in sorted(registry.items()):
        if p.jvp is zero_jvp or not p.jvp or p.axis_names is not None:
            continue
        for s in p.samples:
            spec = s.args[0] if len(s.args) == 1 else None
            if s.grad and isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], tuple):
                if np.dtype(spec[1]) == np.float32 and math.prod(spec[0]) > 0:
                    out.append(pytest.param(p, s, id=name))
                    break
    return out


@pytest.mark.parametrize(("primitive", "sample"), _samples())
def test_primitive(primitive: Primitive, sample: Any) -> None:
    x = sample_array(np.random.default_rng(0), sample.args[0], sample.low, sample.high)

    def f(x: Any) -> Any:
        out = primitive.bind(x, **sample.params)
        outs = out if primitive.multiple_results else [out]
        return sum(jnp.sum(jnp.real(o)) for o in outs if jnp.issubdtype(o.dtype, jnp.inexact))

    try:
        check_against_nested(f, jnp.asarray(x), order=3, tol=5e-3)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            nested(f, lambda t: x + t, 3)


# --- errors ---------------------------------------------------------------------------------

ERRORS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "lengths": (lambda m: jet(m, lambda x, y: x * y, (0.5, 1.0), ((1.0, 2.0), (3.0,))), ("inconsistent lengths",)),
    "number of series": (lambda m: jet(m, m.jnp.sin, (0.5,), ((1.0, 2.0), (3.0,))), ()),
    "primal no array": (lambda m: jet(m, lambda d: d["a"], ({"a": 2.0},), (({"a": 1.0},),)), ("position 0", "not an array")),
    "no function": (lambda m: jet(m, 3, (0.5,), ((1.0,),)), ("callable",)),
    "series no list": (lambda m: jet(m, m.jnp.sin, (0.5,), (1.0,)), ()),
    "primals no list": (lambda m: jet(m, m.jnp.sin, 0.5, ((1.0,),)), ()),
    "shape": (lambda m: jet(m, m.jnp.sin, (m.jnp.ones(3),), ((m.jnp.ones(2),),)), ("(2,)", "(3,)")),
    "output": (lambda m: jet(m, lambda x: "a", (0.5,), ((1.0,),)), ()),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str) -> None:
    program, words = ERRORS[case]
    fails(program, *words)
