"""custom_jvp, custom_vjp and closure_convert beside jax."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS, Failed, fails, run, same
from jax_oracle import jaxpr_text

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(3, 2) / 4 - 0.5


def jvp_sin(m: Any, factor: float = 2.0) -> Any:
    """sin with a derivative that is `factor` times too large, to be seen."""

    @m.jax.custom_jvp
    def f(x: Any) -> Any:
        return m.jnp.sin(x)

    @f.defjvp
    def f_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), factor * m.jnp.cos(x) * t

    return f


def vjp_sin(m: Any, factor: float = 2.0) -> Any:
    @m.jax.custom_vjp
    def f(x: Any) -> Any:
        return m.jnp.sin(x)

    f.defvjp(lambda x: (f(x), m.jnp.cos(x)), lambda c, g: (factor * c * g,))
    return f


def jvp_two(m: Any) -> Any:
    @m.jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y, {"s": x + y}

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (a, b) = primals, tangents
        return f(x, y), (10 * (a * y + x * b), {"s": a + b})

    return f


def vjp_two(m: Any) -> Any:
    @m.jax.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y, {"s": x + y}

    def bwd(res: Any, g: Any) -> Any:
        x, y = res
        return 10 * g[0] * y + g[1]["s"], 10 * g[0] * x + g[1]["s"]

    f.defvjp(lambda x, y: (f(x, y), (x, y)), bwd)
    return f


def vjp_tree(m: Any) -> Any:
    @m.jax.custom_vjp
    def f(p: Any, n: Any) -> Any:
        return m.jnp.sum(p["w"] * p["b"][0]) * n

    f.defvjp(
        lambda p, n: (f(p, n), (p, n)),
        lambda r, g: ({"w": g * r[0]["b"][0], "b": (r[0]["b"][0] * g * 7.0,)}, None),
    )
    return f


def jvp_defjvps(m: Any) -> Any:
    @m.jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * m.jnp.sin(y)

    f.defjvps(lambda t, out, x, y: 3 * t * m.jnp.sin(y), lambda t, out, x, y: out * t)
    return f


def jvp_none(m: Any) -> Any:
    f = m.jax.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, out, x, y: t * y, None)
    return f


def jvp_all_none(m: Any) -> Any:
    f = m.jax.custom_jvp(lambda x: (x * 2, {"k": x}))
    f.defjvps(None)
    return f


def jvp_nondiff(m: Any) -> Any:
    @functools.partial(m.jax.custom_jvp, nondiff_argnums=(0,))
    def apply(fn: Any, x: Any) -> Any:
        return fn(x)

    @apply.defjvp
    def rule(fn: Any, primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return apply(fn, x), 5.0 * t

    return apply


def vjp_nondiff(m: Any) -> Any:
    @functools.partial(m.jax.custom_vjp, nondiff_argnums=(0, 2))
    def apply(fn: Any, x: Any, n: Any) -> Any:
        return fn(x) * n

    apply.defvjp(lambda fn, x, n: (apply(fn, x, n), x), lambda fn, n, res, g: (g * n * 5.0 + res,))
    return apply


def jvp_named(m: Any) -> Any:
    @functools.partial(m.jax.custom_jvp, nondiff_argnames=("mode",))
    def f(x: Any, mode: str = "a") -> Any:
        return x * len(mode)

    @f.defjvp
    def rule(mode: str, primals: Any, tangents: Any) -> Any:
        return f(primals[0], mode), 9.0 * tangents[0]

    return f


def vjp_named(m: Any) -> Any:
    @functools.partial(m.jax.custom_vjp, nondiff_argnames=("mode",))
    def f(x: Any, mode: str = "a") -> Any:
        return x * len(mode)

    f.defvjp(lambda x, mode: (f(x, mode), None), lambda mode, res, g: (g * 9.0 * len(mode),))
    return f


def jvp_symbolic(m: Any) -> Any:
    """The tangent's factor tells which tangents were symbolic zeros."""
    f = m.jax.custom_jvp(lambda x, y: x * y)

    def rule(primals: Any, tangents: Any) -> Any:
        x, y = primals
        zero = [type(t).__name__ == "SymbolicZero" for t in tangents]
        out = f(x, y)
        if all(zero):
            return out, m.jnp.zeros_like(out)
        a, b = (0.0 if z else t for t, z in zip(tangents, zero, strict=True))
        return out, (1 + 10 * zero[0] + 100 * zero[1]) * (a * y + x * b)

    f.defjvp(rule, symbolic_zeros=True)
    return f


def vjp_symbolic(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x, y: (x * y, x + y))

    def fwd(x: Any, y: Any) -> Any:
        return (x.value * y.value, x.value + y.value), (x.value, y.value, x.perturbed, y.perturbed)

    def bwd(res: Any, g: Any) -> Any:
        x, y, *_ = res
        zero = [type(t).__name__ == "SymbolicZero" for t in g]
        a, b = (0.0 if z else t for t, z in zip(g, zero, strict=True))
        factor = 1 + 10 * zero[0] + 100 * zero[1]
        return factor * (a * y + b), factor * (a * x + b)

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f


def clipped(m: Any) -> Any:
    """Clips the gradient that flows through."""

    @functools.partial(m.jax.custom_vjp, nondiff_argnums=(0, 1))
    def clip(lo: float, hi: float, x: Any) -> Any:
        return x

    clip.defvjp(lambda lo, hi, x: (x, None), lambda lo, hi, _, g: (m.jnp.clip(g, lo, hi),))
    return clip


def fixed_point(m: Any) -> Any:
    """Python loop as the function, closed form as the rule."""

    @m.jax.custom_vjp
    def root(a: Any) -> Any:
        x = m.jnp.ones_like(a)
        for _ in range(8):
            x = 0.5 * (x + a / x)
        return x

    root.defvjp(lambda a: (lambda r: (r, r))(root(a)), lambda r, g: (g / (2 * r),))
    return root


MAKERS: dict[str, tuple[Callable, Callable]] = {
    # name: (maker, how it becomes a function of one array of three floats)
    "jvp": (jvp_sin, lambda f, m: f),
    "vjp": (vjp_sin, lambda f, m: f),
    "jvp of two": (jvp_two, lambda f, m: lambda x: f(x, x * 2)[0] + f(x, x)[1]["s"]),
    "vjp of two": (vjp_two, lambda f, m: lambda x: f(x, x * 2)[0] + f(x, x)[1]["s"]),
    "vjp, one constant": (vjp_two, lambda f, m: lambda x: f(x, 3.0)[0] * f(2.0, x)[0]),
    "vjp of a tree": (vjp_tree, lambda f, m: lambda x: f({"w": x, "b": (x * 2,)}, 3) * x),
    "defjvps": (jvp_defjvps, lambda f, m: lambda x: f(x, x * 2)),
    "defjvps None": (jvp_none, lambda f, m: lambda x: f(x, x * 2)),
    "nondiff jvp": (jvp_nondiff, lambda f, m: lambda x: f(m.jnp.sin, x)),
    "nondiff jvp keyword": (jvp_nondiff, lambda f, m: lambda x: f(x=x, fn=m.jnp.sin)),
    "nondiff vjp": (vjp_nondiff, lambda f, m: lambda x: f(m.jnp.sin, x, 3)),
    "nondiff jvp by name": (jvp_named, lambda f, m: lambda x: f(x, mode="abc") * f(x)),
    "nondiff vjp by name": (vjp_named, lambda f, m: lambda x: f(x, mode="abc") * f(x)),
    "symbolic jvp": (jvp_symbolic, lambda f, m: lambda x: f(x, 2.0) + f(x, x)),
    "symbolic vjp": (vjp_symbolic, lambda f, m: lambda x: f(x, x * x)[0] + f(x, x)[1]),
    "clipped": (clipped, lambda f, m: lambda x: f(-0.1, 0.2, x) ** 3),
    "implicit": (fixed_point, lambda f, m: lambda x: f(x * x + 1)),
    "in a jit": (jvp_sin, lambda f, m: lambda x: m.jax.jit(f)(x) * x),
    "vjp in a jit": (vjp_sin, lambda f, m: lambda x: m.jax.jit(f)(x) * x),
    "composed": (vjp_sin, lambda f, m: lambda x: f(f(x) * 2)),
}  # fmt: skip


def _sum(m: Any, f: Callable) -> Callable:
    return lambda x: m.jnp.sum(f(x))


USES: dict[str, Callable[[Any, Callable], Any]] = {
    "value": lambda m, f: f(m.jnp.asarray(V)),
    "jit": lambda m, f: m.jax.jit(f)(V),
    "vmap": lambda m, f: m.jax.vmap(f)(M),
    "grad": lambda m, f: m.jax.grad(_sum(m, f))(m.jnp.asarray(V)),
    "jit of grad": lambda m, f: m.jax.jit(m.jax.grad(_sum(m, f)))(V),
    "grad of jit": lambda m, f: m.jax.grad(m.jax.jit(_sum(m, f)))(V),
    "vmap of grad": lambda m, f: m.jax.vmap(m.jax.grad(_sum(m, f)))(M),
    "grad of vmap": lambda m, f: m.jax.grad(lambda x: m.jnp.sum(m.jax.vmap(f)(x)))(M),
    "jit of vmap of grad": lambda m, f: m.jax.jit(m.jax.vmap(m.jax.grad(_sum(m, f)), 1))(M),
    "vjp": lambda m, f: (lambda r: (r[0], r[1](m.jnp.ones_like(r[0]))))(m.jax.vjp(f, m.jnp.asarray(V))),
    "grad of grad": lambda m, f: m.jax.grad(
        lambda x: m.jnp.sum(m.jax.grad(_sum(m, f))(x) * x)
    )(m.jnp.asarray(V)),
    "jacrev": lambda m, f: m.jax.jacrev(f)(m.jnp.asarray(V)),
    "jvp": lambda m, f: m.jax.jvp(f, (m.jnp.asarray(V),), (m.jnp.ones(3),)),
    "linearize": lambda m, f: (lambda r: (r[0], r[1](m.jnp.ones(3))))(m.jax.linearize(f, m.jnp.asarray(V))),
    "hessian": lambda m, f: m.jax.hessian(_sum(m, f))(m.jnp.asarray(V)),
    "jacfwd in jit": lambda m, f: m.jax.jit(m.jax.jacfwd(f))(V),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", MAKERS)
def test_uses(name: str, use: str) -> None:
    make, wrap = MAKERS[name]

    def program(m: Any) -> Any:
        return USES[use](m, wrap(make(m), m))

    if isinstance(run(program, JAX), Failed):
        fails(program)  # forward mode of a function with a reverse rule
    else:
        same(program, tol=1e-4)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "symbolic zeros of constants": lambda m: m.jax.jvp(lambda x: jvp_symbolic(m)(3.0, x), (2.0,), (1.0,)),
    "symbolic zeros of outputs": lambda m: m.jax.grad(lambda x: vjp_symbolic(m)(x, 2.0)[1])(3.0),
    "integer argument": lambda m: m.jax.grad(lambda x: _int_vjp(m)(x, 3))(2.0),
    "integer argument of jvp": lambda m: m.jax.grad(lambda x: _int_jvp(m)(x, 3))(2.0),
    "integer output": lambda m: m.jax.grad(lambda x: _int_out(m)(x)[0])(2.0),
    "weak types": lambda m: (jvp_sin(m)(1.0), vjp_sin(m)(1.0)),
    "closure over a constant": lambda m: (lambda c: m.jax.grad(_closing(m, c))(2.0))(m.jnp.float32(3)),
    "closure over jit's argument": lambda m: m.jax.jit(
        lambda x, c: m.jax.grad(_closing(m, c))(x)
    )(2.0, 3.0),
    "closure over vmap's argument": lambda m: m.jax.vmap(
        lambda c: _closing(m, c)(2.0)
    )(V),
    "defaults": lambda m: m.jax.grad(_defaults(m))(2.0),
    "keywords": lambda m: m.jax.grad(lambda x: _defaults(m)(k=x, x=2 * x))(2.0),
    "partial": lambda m: m.jax.grad(functools.partial(_defaults(m), k=5.0))(2.0),
    "residuals None": lambda m: m.jax.grad(_no_residuals(m))(2.0),
    "residuals of a tree": lambda m: m.jax.jit(m.jax.grad(_tree_residuals(m)))(2.0),
    "static residuals": lambda m: m.jax.grad(_static_residual(m))(2.0),
    "None for a tree": lambda m: m.jax.grad(_none_for_tree(m), (0, 1))(2.0, {"a": 1.0, "b": (2.0,)}),
    "list from bwd": lambda m: m.jax.grad(_list_from_bwd(m))(2.0),
    "pair as a list": lambda m: m.jax.jvp(_list_pair(m), (2.0,), (3.0,)),
    "rule runs under jit once": lambda m: _counted(m),
    "vmap over unmapped": lambda m: m.jax.vmap(
        m.jax.grad(lambda x, y: vjp_two(m)(x, y)[0]), (None, 0)
    )(2.0, V),
    "grad of vmap over unmapped": lambda m: m.jax.grad(
        lambda x: m.jnp.sum(m.jax.vmap(lambda y: vjp_two(m)(x, y)[0])(V))
    )(2.0),
    "vmap axis name": lambda m: m.jax.vmap(m.jax.grad(_psum_rule(m)), axis_name="i")(V),
    "nested rules": lambda m: m.jax.grad(_nested(m))(2.0),
    "cotangent of another dtype": lambda m: m.jax.grad(
        _vjp(m, lambda x: (x * 2, None), lambda r, g: (g.astype("float16"),))
    )(1.0),
    "python cotangent": lambda m: m.jax.jit(
        m.jax.grad(_vjp(m, lambda x: (x * 2, None), lambda r, g: (3.5,)))
    )(m.jnp.float32(1)),
    "closures over several mapped": lambda m: m.jax.vmap(
        lambda c: m.jax.grad(lambda y: m.jax.vmap(_closing(m, c))(y).sum())(V)
    )(V),
    "gradient of a closure over mapped": lambda m: m.jax.vmap(lambda c: m.jax.grad(_closing(m, c))(c))(V),
    "closure over mapped in a jit": lambda m: m.jax.vmap(
        m.jax.jit(lambda c: m.jax.grad(_closing(m, c))(c)), axis_name="i"
    )(V),
    "closure_convert": lambda m: _converted(m),
    "stop_gradient": lambda m: m.jax.grad(lambda x: jvp_sin(m)(m.lax.stop_gradient(x)) * x)(2.0),
    "relu at zero": lambda m: m.jax.grad(m.nn.relu)(0.0),
    "logsumexp twice": lambda m: m.jax.hessian(m.nn.logsumexp)(m.jnp.asarray(V)),
}  # fmt: skip


def _int_vjp(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x, n: x * n)
    f.defvjp(lambda x, n: (f(x, n), n), lambda n, g: (g * n * 2, np.zeros((), m.jax.float0)))
    return f


def _int_jvp(m: Any) -> Any:
    f = m.jax.custom_jvp(lambda x, n: x * n)
    f.defjvp(lambda p, t: (f(*p), t[0] * p[1] * 2))
    return f


def _int_out(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: (x * 2, m.jnp.int32(3)))
    f.defvjp(lambda x: (f(x), None), lambda _, g: (g[0] * 5,))
    return f


def _closing(m: Any, c: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: x * c)
    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * c * 2,))
    return f


def _defaults(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x, k=3.0: x * k)
    f.defvjp(lambda x, k: (f(x, k), (x, k)), lambda r, g: (g * r[1] * 2, g * r[0] * 4))
    return f


def _with_method(m: Any) -> Any:
    class C:
        def __init__(self, a: float):
            self.a = a

        @functools.partial(m.jax.custom_vjp, nondiff_argnums=(0,))
        def f(self, x: Any) -> Any:
            return self.a * x

    C.f.defvjp(lambda self, x: (self.f(x), None), lambda self, _, g: (g * self.a * 2,))
    return C


def _no_residuals(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * 7,))
    return f


def _tree_residuals(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: x * 2)
    f.defvjp(
        lambda x: (f(x), {"a": (x, None), "b": [x * 2, 3]}),
        lambda r, g: (g * r["b"][0] * r["b"][1],),
    )
    return f


def _static_residual(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (f(x), (3, 2.5)), lambda r, g: (g * r[0] * r[1],))
    return f


def _none_for_tree(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x, t: x * t["a"] * t["b"][0])
    f.defvjp(lambda x, t: (f(x, t), None), lambda _, g: (g * 3, None))
    return f


def _list_from_bwd(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: [f(x), None], lambda _, g: [g * 3])
    return f


def _list_pair(m: Any) -> Any:
    f = m.jax.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda p, t: [f(p[0]), t[0] * 7])
    return f


def _counted(m: Any) -> Any:
    n = [0, 0, 0]

    def count(i: int, x: Any) -> Any:
        n[i] += 1
        return x

    f = m.jax.custom_vjp(lambda x: count(0, x * 2))
    f.defvjp(lambda x: count(1, (f(x), None)), lambda _, g: count(2, (g * 3,)))
    j = m.jax.jit(m.jax.grad(f))
    j(1.0), j(2.0)
    return n[1:]


def _psum_rule(m: Any) -> Any:
    f = m.jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * m.lax.psum(x, "i"),))
    return f


def _nested(m: Any) -> Any:
    inner, outer = jvp_sin(m), m.jax.custom_jvp(lambda x: x)
    outer.defjvp(lambda p, t: (inner(p[0]), m.jax.jvp(inner, p, t)[1] * 3))
    return lambda x: outer(x) * m.jax.grad(outer)(x)


def _converted(m: Any) -> Any:
    def outer(a: Any, x: Any) -> Any:
        f, hoisted = m.jax.closure_convert(lambda v: m.jnp.sin(v) * a + V[0], x)
        return f(x * 2, *hoisted) + len(hoisted)

    return m.jax.grad(outer, (0, 1))(2.0, 3.0), m.jax.jit(outer)(2.0, 3.0)


@pytest.mark.parametrize("name", OTHERS)
def test_program(name: str) -> None:
    same(OTHERS[name])


def _vjp(m: Any, fwd: Callable, bwd: Callable, f: Callable = lambda x: x * 2) -> Any:
    g = m.jax.custom_vjp(f)
    g.defvjp(fwd, bwd)
    return g


def _jvp(m: Any, rule: Callable, f: Callable = lambda x: x * 2) -> Any:
    g = m.jax.custom_jvp(f)
    g.defjvp(rule)
    return g


MISTAKES: dict[str, tuple] = {
    "no jvp rule": (lambda m: m.jax.custom_jvp(lambda x: x)(1.0), "defjvp"),
    "no vjp rule": (lambda m: m.jax.custom_vjp(lambda x: x)(1.0), "defvjp"),
    "no vjp rule, grad": (lambda m: m.jax.grad(m.jax.custom_vjp(lambda x: x))(1.0), "defvjp"),
    "jvp of vjp": (lambda m: m.jax.jvp(vjp_sin(m), (1.0,), (1.0,)), "custom_vjp"),
    "jvp of jit of vjp": (lambda m: m.jax.jvp(m.jax.jit(vjp_sin(m)), (1.0,), (1.0,)), "custom_vjp"),
    "jvp: no pair": (lambda m: m.jax.jvp(_jvp(m, lambda p, t: p[0]), (1.0,), (1.0,)), "pair"),
    "jvp: three": (lambda m: m.jax.jvp(_jvp(m, lambda p, t: (1.0, 2.0, 3.0)), (1.0,), (1.0,)), "pair"),
    "jvp: structures": (
        lambda m: m.jax.jvp(_jvp(m, lambda p, t: (p[0], (t[0], t[0]))), (1.0,), (1.0,)), "structure",
    ),
    "jvp: another structure than f": (
        lambda m: m.jax.jit(m.jax.grad(lambda x: m.jax.jit(_jvp(m, lambda p, t: (p, t)))(x)))(1.0), "structure",
    ),
    "jvp: tangent shape": (
        lambda m: m.jax.jvp(_jvp(m, lambda p, t: (p[0] * 2, m.jnp.ones(3))), (1.0,), (1.0,)), "float32[3]",
    ),
    "jvp: tangent dtype": (
        lambda m: m.jax.jvp(_jvp(m, lambda p, t: (p[0] * 2, m.jnp.ones((), "float16"))), (1.0,), (1.0,)),
        "float16",
    ),
    "jvp: result None": (lambda m: m.jax.jvp(_jvp(m, lambda p, t: None), (1.0,), (1.0,)), "pair"),
    "fwd: no pair": (lambda m: m.jax.grad(_vjp(m, lambda x: x * 2, lambda r, g: (g,)))(1.0), "pair"),
    "fwd: three": (
        lambda m: m.jax.grad(_vjp(m, lambda x: (x, 1, 2), lambda r, g: (g,)))(1.0), "pair",
    ),
    "fwd: another structure": (
        lambda m: m.jax.grad(
            lambda x: m.jnp.sum(m.jax.jit(_vjp(m, lambda x: ((x, x), None), lambda r, g: (g,)))(x))
        )(1.0),
        "structure",
    ),
    "bwd: no tuple": (lambda m: m.jax.grad(_vjp(m, lambda x: (x * 2, None), lambda r, g: g))(1.0), "tuple"),
    "bwd: too many": (
        lambda m: m.jax.grad(_vjp(m, lambda x: (x * 2, None), lambda r, g: (g, g)))(1.0), "length",
    ),
    "bwd: too few": (
        lambda m: m.jax.grad(_vjp(m, lambda x, y: (x * 2, None), lambda r, g: (g,), lambda x, y: x))(1.0, 2.0),
        "length",
    ),
    "bwd: structure": (
        lambda m: m.jax.grad(_vjp(m, lambda x: (x["a"], None), lambda r, g: ((g, g),), lambda x: x["a"]))(
            {"a": 1.0}
        ),
        "structure",
    ),
    "bwd: shape": (
        lambda m: m.jax.grad(_vjp(m, lambda x: (x * 2, None), lambda r, g: (m.jnp.ones(3),)))(1.0), "float32[3]",
    ),
    "defjvps with nondiff": (
        lambda m: m.jax.custom_jvp(lambda x, n: x, nondiff_argnums=(1,)).defjvps(lambda *a: 1), "nondiff_argnums",
    ),
    "string argument": (lambda m: jvp_two(m)(1.0, "a"), "'a'"),
    "string argument of vjp": (lambda m: vjp_two(m)(1.0, "a"), "'a'"),
    "missing argument": (lambda m: jvp_two(m)(1.0), "'y'"),
    "unknown keyword": (lambda m: jvp_sin(m)(1.0, z=2),),
    "keyword only": (lambda m: _keyword_only(m)(1.0, k=2.0),),
    "nondiff out of range": (
        lambda m: (lambda f: (f.defjvp(lambda *a: 1), f(1.0)))(m.jax.custom_jvp(lambda x: x, nondiff_argnums=(4,))),
    ),
    "traced nondiff of vjp": (
        lambda m: m.jax.jit(lambda n: vjp_nondiff(m)(m.jnp.sin, 1.0, n))(2.0), "nondiff_argnums",
    ),
    "vjp closing over differentiated": (
        lambda m: m.jax.grad(lambda c: _closing(m, c)(2.0))(3.0), "tracer",
    ),
    "jvp closing over differentiated": (
        lambda m: m.jax.grad(lambda c: _jvp(m, lambda p, t: (p[0], t[0]), lambda x: x * c)(2.0))(3.0), "tracer",
    ),
    "closing over outer differentiated": (
        lambda m: m.jax.grad(lambda c: m.jax.grad(_closing(m, c))(2.0))(3.0), "tracer",
    ),
    "converted: another structure": (lambda m: m.jax.closure_convert(lambda x: x, 1.0)[0]((1.0, 2.0)),),
}  # fmt: skip


def _keyword_only(m: Any) -> Any:
    def f(x: Any, *, k: Any) -> Any:
        return x * k

    g = m.jax.custom_jvp(f)
    g.defjvp(lambda p, t: (p[0], t[0]))
    return g


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    program, *words = MISTAKES[name]
    fails(program, *words)


def test_mistakes_that_jax_lets_pass() -> None:
    for kind in ("custom_jvp", "custom_vjp"):
        fails(lambda m, k=kind: getattr(m.jax, k)(3), "3", theirs=TypeError)
        fails(
            lambda m, k=kind: getattr(m.jax, k)(lambda x: x, nondiff_argnames="n"),
            "nondiff_argnames",
            "'n'",
            theirs=ValueError,
        )


def test_methods_and_no_rules() -> None:
    """What jax cannot do: rules of methods, and `defjvps` of nothing but None."""
    assert lingon.grad(_with_method(OURS)(3.0).f)(2.0) == 6.0
    out, tangent = lingon.jvp(jvp_all_none(OURS), (2.0,), (1.0,))
    assert out == (4.0, {"k": 2.0}) and tangent == (0.0, {"k": 0.0})


def test_it_looks_like_its_function() -> None:
    def f(x: Any) -> Any:
        """Doc."""
        return x

    for kind in (lingon.custom_jvp, lingon.custom_vjp):
        g = kind(f)
        assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Doc.", f)


def test_rules_are_given_arrays() -> None:
    """Rules see zeros as arrays unless they ask for symbolic ones, and float0 for integers."""
    seen: list[Any] = []
    f = lingon.custom_jvp(lambda x, y, n: x * y * n)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        seen[:] = tangents
        return f(*primals), tangents[0] * primals[1]

    lingon.jvp(lambda x: f(x, lnp.ones(3), 2), (2.0,), (1.0,))
    assert seen[0] == 1.0 and isinstance(seen[1], lingon.Array)
    assert seen[1].shape == (3,) and not np.any(seen[1])
    assert seen[2].dtype == lingon.float0


JAXPRS: dict[str, Callable] = {
    "jvp": lambda m: m.jax.make_jaxpr(jvp_sin(m))(V),
    "vjp": lambda m: m.jax.make_jaxpr(vjp_sin(m))(V),
    "grad of vjp": lambda m: m.jax.make_jaxpr(m.jax.grad(vjp_sin(m)))(1.0),
    "grad of jvp": lambda m: m.jax.make_jaxpr(m.jax.grad(jvp_sin(m)))(1.0),
    "vmap of vjp": lambda m: m.jax.make_jaxpr(m.jax.vmap(m.jax.grad(vjp_sin(m))))(V),
}  # fmt: skip


@pytest.mark.parametrize("name", JAXPRS)
def test_jaxprs(name: str) -> None:
    text = lambda m: jaxpr_text(JAXPRS[name](m))
    assert text(OURS) == text(JAX)
