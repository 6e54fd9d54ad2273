"""Jaxprs print exactly as jax prints them: names, nesting, sharing, line breaks."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lingon
import lingon.lax
import lingon.nn
import lingon.numpy
import lingon.random

JAX = SimpleNamespace(
    jax=jax, jnp=jnp, lax=jax.lax, nn=jax.nn, random=jax.random, tree_util=jax.tree_util
)
OURS = SimpleNamespace(
    jax=lingon,
    jnp=lingon.numpy,
    lax=lingon.lax,
    nn=lingon.nn,
    random=lingon.random,
    tree_util=lingon.tree_util,
)

V = np.arange(1.0, 4.0, dtype=np.float32)
M = np.arange(12.0, dtype=np.float32).reshape(3, 4)
S = np.float32(0.5)


def named(f: Any, name: str) -> Any:
    f.__name__ = f.__qualname__ = name
    return f


def repeated(m: Any, times: int, name: str = "f") -> Any:
    """A jitted function of `times` equations."""

    def f(x: Any) -> Any:
        for _ in range(times):
            x = m.lax.sin(x)
        return x

    return m.jax.jit(named(f, name))


def mlp(m: Any) -> Any:
    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = m.jnp.tanh(x @ p["w"] + p["b"])
        return m.jnp.mean((hidden @ p["v"] - y) ** 2)

    return loss


PARAMS = {"w": M.T.copy(), "b": V, "v": np.ones((3, 2), np.float32)}
DATA = np.ones((5, 4), np.float32), np.zeros((5, 2), np.float32)


def custom_jvp(m: Any) -> Any:
    @m.jax.custom_jvp
    def f(x: Any) -> Any:
        return m.lax.sin(x)

    @f.defjvp
    def f_jvp(primals: Any, tangents: Any) -> Any:
        return f(primals[0]), tangents[0] * m.lax.cos(primals[0])

    return f


def custom_vjp(m: Any) -> Any:
    @m.jax.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return m.lax.sin(x) * y

    def fwd(x: Any, y: Any) -> Any:
        return f(x, y), (x, y)

    def bwd(res: Any, ct: Any) -> Any:
        x, y = res
        return ct * m.lax.cos(x) * y, ct * m.lax.sin(x)

    f.defvjp(fwd, bwd)
    return f


def twice(f: Any) -> Any:
    return lambda x: f(f(x))


def nested(m: Any, f: Any, depth: int) -> Any:
    for i in range(depth):
        f = m.jax.jit(named(lambda x, f=f: f(x) + 1.0, f"level{i}"))
    return f


def nested_in(m: Any, f: Any, name: str) -> Any:
    return m.jax.jit(named(lambda x: f(x), name))


def total(m: Any, f: Any) -> Any:
    return lambda *xs: m.jnp.sum(f(*xs))


#: name -> (function of the library giving the program, its arguments)
PROGRAMS: dict[str, tuple[Any, tuple]] = {
    "identity": (lambda m: lambda x: x, (V,)),
    "nothing": (lambda m: lambda x: (), (V,)),
    "no input": (lambda m: lambda: 1.0, ()),
    "literal outputs": (lambda m: lambda x: (1.0, True, 2, 1j, np.float32(3)), (V,)),
    "one equation": (lambda m: m.lax.sin, (V,)),
    "two equations": (lambda m: lambda x: m.lax.cos(m.lax.sin(x)), (V,)),
    "three equations": (lambda m: lambda x: m.lax.exp(m.lax.cos(m.lax.sin(x))), (V,)),
    "constants": (lambda m: lambda x: x + np.arange(3.0) * 2, (V,)),
    "array constants": (lambda m: lambda x: x * m.jnp.asarray(V) + m.jnp.asarray(2 * V), (V,)),
    "scalar array": (lambda m: lambda x: x * m.jnp.asarray(0.1), (V,)),
    "numpy scalar": (lambda m: lambda x: x * np.float32(0.1), (V,)),
    "special literals": (
        lambda m: lambda x: (x * np.inf, x * np.nan, x * 1e-10, x * 1e30, x * -0.0),
        (V,),
    ),
    "complex literal": (lambda m: lambda x: x * (1 + 2j), (V,)),
    "integer literal": (lambda m: lambda x: x + 3, (np.arange(3),)),
    "boolean literal": (lambda m: lambda x: x & True, (np.ones(3, bool),)),
    "int8 literal": (lambda m: lambda x: x + np.int8(-3), (np.arange(3, dtype=np.int8),)),
    "half literal": (lambda m: lambda x: x * 0.1, (V.astype(np.float16),)),
    "many inputs": (lambda m: lambda *a: a[0], (V,) * 40),
    "many outputs": (lambda m: lambda a: [a] * 60, (V,)),
    "many operands": (lambda m: lambda *a: m.lax.concatenate(a, 0), (V,) * 70),
    "many results": (lambda m: lambda x: m.lax.split(x, (1,) * 30), (np.ones(30, "f"),)),
    "dropped result": (lambda m: lambda x: m.lax.top_k(x, 2)[0], (V,)),
    "dead equation": (lambda m: lambda x: (m.lax.sin(x), m.lax.cos(x))[1], (V,)),
    "jit": (lambda m: m.jax.jit(lambda x: m.lax.sin(x)), (V,)),
    "jit identity": (lambda m: m.jax.jit(lambda x: x), (V,)),
    "jit two outputs": (lambda m: m.jax.jit(lambda x: (x, x)), (V,)),
    "jit swap": (lambda m: lambda x, y: m.jax.jit(lambda a, b: (b, a))(y, x), (V, V)),
    "jit same operand twice": (lambda m: lambda x: m.jax.jit(lambda a, b: a + b)(x, x), (V,)),
    "jit literal operand": (lambda m: lambda x: m.jax.jit(lambda a, b: a + b)(x, 2.0), (V,)),
    "jit literal output": (lambda m: lambda x: m.jax.jit(lambda a: (a * 2, 1.0))(x), (V,)),
    "jit dropped output": (
        lambda m: lambda x: m.jax.jit(lambda a: (a * 2, a + 1.0))(x)[1],
        (V,),
    ),
    "jit output twice": (
        lambda m: lambda x, y: m.jax.jit(lambda a, b: (lambda c: (c, c))(a * b))(y, x),
        (V, V),
    ),
    "jit dropped output that is used": (
        lambda m: (
            lambda x, y: m.jax.jit(lambda a, b: (lambda c: (c, m.lax.sin(c)))(a * b))(y, x)[1]
        ),
        (V, V),
    ),
    "jit in jit": (lambda m: nested(m, m.lax.sin, 2), (V,)),
    "jit in jit in jit": (lambda m: nested(m, m.lax.sin, 4), (V,)),
    "jit over closure": (lambda m: lambda x: m.jax.jit(lambda y: y + x)(x), (V,)),
    "jit over constant": (lambda m: lambda x: m.jax.jit(lambda y: y + V)(x), (V,)),
    "jit donates": (lambda m: m.jax.jit(lambda x: x + 1.0, donate_argnums=0), (V,)),
    "jit keeps unused": (lambda m: m.jax.jit(lambda x, y: x + 1.0, keep_unused=True), (V, V)),
    "jit unused": (lambda m: m.jax.jit(lambda x, y: x + 1.0), (V, V)),
    "jit inline": (lambda m: lambda x: m.jax.jit(lambda x: x + 1.0, inline=True)(x) * 2, (V,)),
    "jit static": (
        lambda m: lambda x: m.jax.jit(lambda x, n: x * n, static_argnums=1)(x, 3),
        (V,),
    ),
    "jit of a tree": (
        lambda m: m.jax.jit(lambda d: {"b": d["a"][0] + d["a"][1]}),
        ({"a": (V, V)},),
    ),
    "shared": (lambda m: twice(repeated(m, 1)), (V,)),
    "shared two shapes": (
        lambda m: (lambda f: lambda x: (f(f(x)), f(f(x[0]))))(repeated(m, 1)),
        (V,),
    ),
    "shared in a shared": (
        lambda m: twice(nested_in(m, repeated(m, 1), "g")),
        (V,),
    ),
    "shared at two depths": (
        lambda m: (lambda f: lambda x: (m.jax.jit(lambda y: f(y))(x), f(x)))(repeated(m, 1)),
        (V,),
    ),
    "shared named as a variable": (lambda m: twice(repeated(m, 1, "a")), (V,)),
    "shared lambda": (lambda m: twice(repeated(m, 1, "<lambda>")), (V,)),
    "several shared": (
        lambda m: (lambda f, g, h: lambda x: (h(x), g(f(f(g(x)))), h(x)))(
            repeated(m, 1, "f"),
            repeated(m, 12, "g"),
            m.jax.jit(named(twice(repeated(m, 2, "k")), "h")),
        ),
        (V,),
    ),
    "ten equations": (lambda m: lambda x: repeated(m, 10)(x), (V,)),
    "eleven equations": (lambda m: lambda x: repeated(m, 11)(x), (V,)),
    "long in jit": (
        lambda m: nested_in(m, repeated(m, 12), "<lambda>"),
        (V,),
    ),
    "long custom_jvp": (
        lambda m: (lambda f: (f.defjvp(lambda p, t: (f(p[0]), t[0])), f)[1])(
            m.jax.custom_jvp(lambda x: [x := m.lax.sin(x) for _ in range(12)][-1])
        ),
        (V,),
    ),
    "grad": (lambda m: m.jax.grad(lambda x: m.lax.sin(x) * x), (S,)),
    "grad of sum": (lambda m: m.jax.grad(total(m, m.lax.sin)), (V,)),
    "grad of weak": (lambda m: m.jax.grad(lambda x: m.lax.sin(x) * 2), (1.0,)),
    "grad of power": (lambda m: m.jax.grad(total(m, lambda x: x**3 + x**2)), (V,)),
    "grad with respect to two": (lambda m: m.jax.grad(total(m, m.lax.mul), (0, 1)), (V, V)),
    "value_and_grad": (lambda m: m.jax.value_and_grad(total(m, m.lax.exp)), (V,)),
    "grad of jit": (lambda m: m.jax.grad(m.jax.jit(lambda x: m.lax.sin(x) * x)), (S,)),
    "grad of identity jit": (lambda m: m.jax.grad(m.jax.jit(lambda x: x)), (S,)),
    "value_and_grad of jit": (lambda m: m.jax.value_and_grad(m.jax.jit(m.lax.exp)), (S,)),
    "grad of jit of two": (lambda m: m.jax.grad(m.jax.jit(m.lax.mul)), (S, S)),
    "grad of nested jit": (
        lambda m: m.jax.grad(m.jax.jit(lambda x: m.jax.jit(m.lax.sin)(x) * x)),
        (S,),
    ),
    "grad of grad of jit": (
        lambda m: m.jax.grad(m.jax.grad(m.jax.jit(lambda x: m.lax.sin(x) * x))),
        (S,),
    ),
    "grad of grad": (lambda m: m.jax.grad(m.jax.grad(lambda x: m.lax.sin(x) * x)), (S,)),
    "grad of shared": (lambda m: m.jax.grad(total(m, twice(repeated(m, 1)))), (V,)),
    "grad of known part": (
        lambda m: m.jax.grad(
            lambda x: m.jnp.sum(m.jax.jit(lambda a, b: a * m.lax.sin(b))(x, V)),
        ),
        (V,),
    ),
    "jvp": (lambda m: lambda x: m.jax.jvp(m.lax.sin, (x,), (x,)), (V,)),
    "jvp of jit": (lambda m: lambda x: m.jax.jvp(m.jax.jit(m.lax.sin), (x,), (x,)), (V,)),
    "jvp of shared": (lambda m: lambda x: m.jax.jvp(twice(repeated(m, 1)), (x,), (x,)), (V,)),
    "vjp": (lambda m: lambda x, c: m.jax.vjp(m.lax.sin, x)[1](c), (V, V)),
    "vjp of three": (
        lambda m: (
            lambda x, y, a, b, c: m.jax.vjp(m.jax.jit(lambda x, y: (x * y, m.lax.exp(x), y)), x, y)[
                1
            ]((a, b, c))
        ),
        (S, S, S, S, S),
    ),
    "linearize": (lambda m: lambda x: m.jax.linearize(m.lax.sin, x)[1](x), (V,)),
    "linearize jit": (lambda m: lambda x: m.jax.linearize(m.jax.jit(m.lax.sin), x)[1](x), (V,)),
    "linear_transpose": (
        lambda m: lambda c: m.jax.linear_transpose(lambda x: x * 2.0, S)(c),
        (S,),
    ),
    "stop_gradient": (
        lambda m: m.jax.grad(total(m, lambda x: m.lax.stop_gradient(x) * x)),
        (V,),
    ),
    "vmap": (lambda m: m.jax.vmap(lambda x, y: m.jnp.dot(x, y), (0, None)), (M, M[0])),
    "vmap out_axes": (lambda m: m.jax.vmap(lambda x: x * 2, out_axes=1), (M,)),
    "vmap in_axes": (lambda m: m.jax.vmap(lambda x: x * 2, in_axes=1), (M,)),
    "vmap unbatched output": (lambda m: m.jax.vmap(lambda x: 1.0), (V,)),
    "vmap of vmap": (lambda m: m.jax.vmap(m.jax.vmap(m.lax.mul, (0, None)), (0, None)), (M, S)),
    "vmap of jit": (lambda m: m.jax.vmap(m.jax.jit(m.lax.sin)), (V,)),
    "vmap of shared": (lambda m: m.jax.vmap(twice(repeated(m, 1))), (V,)),
    "vmap of jit of grad": (
        lambda m: m.jax.vmap(m.jax.jit(m.jax.grad(lambda x: m.lax.sin(x) * 2))),
        (V,),
    ),
    "jit of vmap of grad": (
        lambda m: m.jax.jit(m.jax.vmap(m.jax.grad(lambda x: m.lax.sin(x) * 2))),
        (V,),
    ),
    "grad of vmap of jit": (
        lambda m: m.jax.grad(
            lambda w: m.jnp.sum(
                m.jax.vmap(m.jax.jit(lambda w, x: m.lax.sin(w * x)), (None, 0))(w, V)
            )
        ),
        (S,),
    ),
    "custom_jvp": (custom_jvp, (V,)),
    "custom_jvp twice": (lambda m: twice(custom_jvp(m)), (V,)),
    "custom_jvp in jit": (lambda m: m.jax.jit(custom_jvp(m)), (V,)),
    "grad of custom_jvp": (lambda m: m.jax.grad(custom_jvp(m)), (1.0,)),
    "grad of grad of custom_jvp": (lambda m: m.jax.grad(m.jax.grad(custom_jvp(m))), (1.0,)),
    "grad of jit of custom_jvp": (lambda m: m.jax.grad(m.jax.jit(custom_jvp(m))), (S,)),
    "vmap of custom_jvp": (lambda m: m.jax.vmap(custom_jvp(m)), (V,)),
    "jvp of custom_jvp": (lambda m: lambda x: m.jax.jvp(custom_jvp(m), (x,), (x,)), (V,)),
    "custom_vjp": (custom_vjp, (V, V)),
    "custom_vjp in jit": (lambda m: lambda x: m.jax.jit(custom_vjp(m))(x, x), (V,)),
    "grad of custom_vjp": (lambda m: m.jax.grad(custom_vjp(m)), (1.0, 2.0)),
    "grad of custom_vjp, strong": (lambda m: m.jax.grad(custom_vjp(m), (0, 1)), (S, S)),
    "grad of grad of custom_vjp": (lambda m: m.jax.grad(m.jax.grad(custom_vjp(m))), (S, S)),
    "grad of jit of custom_vjp": (lambda m: m.jax.grad(m.jax.jit(custom_vjp(m))), (S, S)),
    "vmap of custom_vjp": (lambda m: m.jax.vmap(custom_vjp(m), (0, None)), (V, S)),
    "vmap of grad of custom_vjp": (
        lambda m: m.jax.vmap(m.jax.grad(custom_vjp(m)), (0, None)),
        (V, S),
    ),
    "grad of vmap of custom_vjp": (
        lambda m: m.jax.grad(total(m, m.jax.vmap(custom_vjp(m), (0, None))), (0, 1)),
        (V, S),
    ),
    "where": (lambda m: lambda x: m.jnp.where(x > 0, x, 0.0), (V,)),
    "clip": (lambda m: lambda x: m.jnp.clip(x, 0, 1), (V,)),
    "sum": (lambda m: lambda x: m.jnp.sum(x, axis=1), (M,)),
    "mean": (lambda m: lambda x: m.jnp.mean(x), (M,)),
    "max": (lambda m: lambda x: m.jnp.max(x, axis=0), (M,)),
    "max with initial": (lambda m: lambda x: m.jnp.max(x, initial=-np.inf), (M,)),
    "grad of max": (lambda m: m.jax.grad(m.jnp.max), (V,)),
    "grad of cumsum": (lambda m: m.jax.grad(total(m, m.jnp.cumsum)), (V,)),
    "grad of sort": (lambda m: m.jax.grad(lambda x: m.jnp.sort(x)[0]), (V,)),
    "grad of concatenate": (
        lambda m: m.jax.grad(total(m, lambda x: m.jnp.concatenate([x, x * 2]))),
        (V,),
    ),
    "einsum": (lambda m: lambda a, b: m.jnp.einsum("ij,jk->ik", a, b), (M, M.T.copy())),
    "matmul": (lambda m: lambda a, b: a @ b, (M, M.T.copy())),
    "basic index": (lambda m: lambda x: x[1:, ::2], (M,)),
    "row": (lambda m: lambda x: x[1], (M,)),
    "reverse": (lambda m: lambda x: x[:, None, ::-1], (M,)),
    "iteration": (lambda m: lambda x: [r * 2 for r in x], (V,)),
    "dynamic index": (lambda m: lambda x, i: x[i], (V, np.int32(1))),
    "relu": (lambda m: m.nn.relu, (V,)),
    "grad of relu": (lambda m: m.jax.grad(total(m, m.nn.relu)), (V,)),
    "softplus": (lambda m: m.nn.softplus, (V,)),
    "softmax": (lambda m: m.nn.softmax, (V,)),
    "grad of softmax": (lambda m: m.jax.grad(lambda x: m.nn.softmax(x)[0]), (V,)),
    "logsumexp": (lambda m: m.nn.logsumexp, (V,)),
    "mlp": (mlp, (PARAMS, *DATA)),
    "grad of mlp": (lambda m: m.jax.grad(mlp(m)), (PARAMS, *DATA)),
    "jit of grad of jit of mlp": (
        lambda m: m.jax.jit(m.jax.grad(m.jax.jit(mlp(m)))),
        (PARAMS, *DATA),
    ),
    "gradients for each example": (
        lambda m: m.jax.vmap(m.jax.grad(mlp(m)), (None, 0, 0)),
        (PARAMS, *DATA),
    ),
    "split key": (lambda m: lambda s: m.random.split(m.random.PRNGKey(s), 3), (3,)),
    "typed key": (lambda m: lambda s: m.random.split(m.random.key(s)), (3,)),
    "keys": (lambda m: lambda s: [*m.random.split(m.random.key(s))], (3,)),
    "uniform": (lambda m: lambda s: m.random.uniform(m.random.key(s), (3,)), (3,)),
    "uniform of PRNGKey": (lambda m: lambda s: m.random.uniform(m.random.PRNGKey(s), (3,)), (3,)),
    "bernoulli": (lambda m: lambda s: m.random.bernoulli(m.random.key(s), 0.3, (3,)), (3,)),
}


def plain(text: str) -> tuple[str, bool]:
    """The text without what depends on NumPy's repr or on addresses, and whether that changed it."""
    new = re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)
    new = re.sub(r"0x[0-9a-f]+", "0x", new)
    return new, new != text


def assert_same(ours: Any, theirs: Any) -> None:
    (a, _), (b, changed) = plain(str(ours)), plain(str(theirs))
    if changed:  # lines that were longer there may be broken elsewhere
        a, b = (re.sub(r"\s+", " ", s).replace("[ ", "[").replace(" ]", "]") for s in (a, b))
    assert a == b, f"\n{a}\n--- where jax prints\n{b}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    make, args = PROGRAMS[name]
    to = lambda m: m.tree_util.tree_map(
        lambda x: m.jnp.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else x, args
    )
    theirs = jax.make_jaxpr(make(JAX))(*to(JAX))
    ours = lingon.make_jaxpr(make(OURS))(*to(OURS))
    assert_same(ours, theirs)


def test_samplers_name_their_own_functions() -> None:
    """`erf_inv` as jax's sampler computes it has a name of its own here."""
    text = str(lingon.make_jaxpr(lambda k: lingon.random.normal(k, (3,)))(lingon.random.key(0)))
    theirs = str(jax.make_jaxpr(lambda k: jax.random.normal(k, (3,)))(jax.random.key(0)))
    assert "= sampler_erf_inv " in text
    assert text.replace("sampler_erf_inv", "erf_inv") == theirs


def test_there_are_many_programs() -> None:
    assert len(PROGRAMS) > 100


@pytest.mark.parametrize("n", range(1, 40))
def test_line_breaks_by_name_length(n: int) -> None:
    """Around the width, every layout decision is the same."""

    def make(m: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            return m.lax.sin(x)

        g = m.jax.jit(named(f, "g" * n))
        return lambda x: g(g(x, x), 2.0)

    def once(m: Any) -> Any:
        return m.jax.jit(named(lambda x: x, "g" * n))

    for program in (make, once):
        ours = lingon.make_jaxpr(program(OURS))(V)
        assert_same(ours, jax.make_jaxpr(program(JAX))(V))


@pytest.mark.parametrize("digits", range(1, 18))
def test_line_breaks_by_shape(digits: int) -> None:
    shape = (1,) * digits

    def text(m: Any) -> Any:
        s = m.jax.ShapeDtypeStruct
        args = [s(shape, np.float32), *[s((3,), np.float32)] * 2]
        flat = m.jax.make_jaxpr(lambda x, *y: m.lax.sin(y[0]))(*args)
        call = m.jax.make_jaxpr(m.jax.jit(lambda x, *y: m.lax.sin(y[0])))(*args)
        many = m.jax.make_jaxpr(lambda x, *y: m.lax.concatenate([*y] * 20, 0))(*args)
        return [flat, call, many]

    for a, b in zip(text(OURS), text(JAX), strict=True):
        assert_same(a, b)


def user_program(m: Any) -> Any:
    def inner(y: Any) -> Any:
        return m.lax.sin(y) * y

    def f(x: Any) -> Any:
        with m.jax.named_scope("scope"):
            z = m.lax.cos(x)
        return m.jax.jit(inner)(z) + 1.0

    return m.jax.make_jaxpr(f)(V)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"source_info": True},
        {"name_stack": True},
        {"source_info": True, "name_stack": True},
        {"print_shapes": False},
        {"print_effects": True},
    ],
)
def test_options(options: dict[str, bool]) -> None:
    ours = user_program(OURS).pretty_print(**options)
    theirs = user_program(JAX).pretty_print(**options)
    assert ours == theirs


def test_flat_program_with_source_lines() -> None:
    def text(m: Any) -> str:
        f = lambda x: m.lax.sin(m.lax.cos(x))
        return m.jax.make_jaxpr(f)(V).pretty_print(source_info=True)

    ours = text(OURS)
    assert ours == text(JAX)
    assert ours.count(__file__) == 2


def test_plain_rules_show_every_parameter() -> None:
    closed = lingon.make_jaxpr(lingon.jit(lambda x: lingon.lax.sin(x)))(V)
    text = closed.pretty_print(custom_pp_eqn_rules=False)
    for part in ("sin[accuracy=None]", "donated_invars=(False,)", "inline=False"):
        assert part in text
        assert part not in str(closed)


def test_one_equation_and_open_jaxpr() -> None:
    a, b = user_program(OURS), user_program(JAX)
    assert str(a.jaxpr) == str(b.jaxpr) == str(a)
    for ours, theirs in zip(a.eqns, b.eqns, strict=True):
        assert str(ours) == str(theirs)


def test_unknown_option() -> None:
    with pytest.raises(TypeError, match="colour"):
        user_program(OURS).pretty_print(colour=True)


def test_names_in_front_are_unique() -> None:
    """Two functions called `f`, of which one has two shapes, and one called `f1`."""
    f, f1 = repeated(OURS, 1), repeated(OURS, 2, "f1")
    text = str(lingon.make_jaxpr(lambda x: (f1(f1(x)), f(f(x)), f(f(x[0]))))(V))
    heads = re.findall(r"^let (\w+) =", text, re.M)
    assert heads == ["f1", "f", "f2"]
    assert re.findall(r"jit\[name=(\w+) jaxpr=(\w+)\]", text) == [
        ("f1", "f1"),
        ("f1", "f1"),
        ("f", "f"),
        ("f", "f"),
        ("f", "f2"),
        ("f", "f2"),
    ]
