"""vmap beside jax: axes as pytrees, names, sizes, nesting, every order with jit and grad."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS, fails, same
from jax_oracle import jaxpr_text

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(3, 2) / 4 - 0.5
T = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8 - 1
D = {"w": M, "b": (V, np.float32(0.25))}
Pair = collections.namedtuple("Pair", "first second")


def arrays(m: Any, tree: Any) -> Any:
    return m.tree_util.tree_map(m.jnp.asarray, tree)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "one argument": lambda m: m.jax.vmap(lambda x: m.jnp.sin(x) * 2)(V),
    "rows": lambda m: m.jax.vmap(lambda x: m.jnp.sum(x))(M),
    "columns": lambda m: m.jax.vmap(lambda x: m.jnp.sum(x), in_axes=1)(M),
    "last": lambda m: m.jax.vmap(lambda x: m.jnp.sum(x, 0), in_axes=-1)(T),
    "negative": lambda m: m.jax.vmap(lambda x: m.jnp.sum(x, 0), in_axes=-2)(T),
    "out_axes": lambda m: m.jax.vmap(lambda x: x * 2, in_axes=1, out_axes=1)(T),
    "negative out_axes": lambda m: m.jax.vmap(lambda x: x * 2, out_axes=-1)(T),
    "unmapped argument": lambda m: m.jax.vmap(lambda x, y: x @ y, (0, None))(M, np.ones(2, np.float32)),
    "None and 1": lambda m: m.jax.vmap(lambda x, y: x + y, (None, 1))(V, T[0]),
    "list of axes": lambda m: m.jax.vmap(lambda x, y: x * y, [0, None])(V, 2.0),
    "dict argument": lambda m: m.jax.vmap(lambda d: d["a"] * d["b"])({"a": V, "b": V}),
    "dict axes": lambda m: m.jax.vmap(lambda d: d["a"] @ d["b"], ({"a": 0, "b": None},))(
        {"a": M, "b": np.ones(2, np.float32)}
    ),
    "prefix": lambda m: m.jax.vmap(lambda p, x: (p[0] + x, p[1]["k"]), ((0, 1), None))(
        (V, {"k": T[0].T}), 1.0
    ),
    "namedtuple axes": lambda m: m.jax.vmap(lambda p: p.first * p.second, (Pair(0, None),))(
        Pair(V, 2.0)
    ),
    "None in the tree": lambda m: m.jax.vmap(lambda d: d["x"] + 1)({"x": V, "y": None}),
    "None argument": lambda m: m.jax.vmap(lambda x, y: x if y is None else y)(V, None),
    "keywords are mapped": lambda m: m.jax.vmap(lambda x, *, k: x * k)(V, k=V),
    "keywords with axes": lambda m: m.jax.vmap(lambda x, *, k: x * k.sum(), in_axes=None)(2.0, k=M),
    "tree out_axes": lambda m: m.jax.vmap(
        lambda x: (x, {"a": x * 2, "b": x[0]}), out_axes=(1, {"a": 0, "b": 0})
    )(T),
    "prefix out_axes": lambda m: m.jax.vmap(lambda x: (x, {"a": x * 2, "b": x + 1}), out_axes=(0, 1))(T),
    "out_axes None": lambda m: m.jax.vmap(lambda x: (x, 3.0), out_axes=(0, None))(V),
    "unbatched output": lambda m: m.jax.vmap(lambda x: m.jnp.ones(2))(V),
    "unbatched output at the end": lambda m: m.jax.vmap(lambda x: m.jnp.arange(2), out_axes=1)(V),
    "python output": lambda m: m.jax.vmap(lambda x: (1, 2.5, True))(V),
    "no outputs": lambda m: m.jax.vmap(lambda x: ())(V),
    "None output": lambda m: m.jax.vmap(lambda x: None)(V),
    "axis_size": lambda m: m.jax.vmap(lambda: m.jnp.arange(2.0), axis_size=3)(),
    "axis_size alone": lambda m: m.jax.vmap(lambda x: x * 2, in_axes=None, axis_size=4)(V),
    "axis_size that agrees": lambda m: m.jax.vmap(lambda x: x * 2, axis_size=3)(V),
    "size 0": lambda m: m.jax.vmap(lambda x: m.jnp.sin(x))(np.zeros((0, 3), np.float32)),
    "size 1": lambda m: m.jax.vmap(lambda x: m.jnp.sort(x))(V[None]),
    "dtypes": lambda m: m.jax.vmap(lambda a, b, c: (a, b + 1, c))(
        V.astype(np.float16), V.astype(np.int8), V > 0
    ),
    "nested": lambda m: m.jax.vmap(m.jax.vmap(lambda x, y: x * y, (None, 0)), (0, None))(V, M[:, 0]),
    "outer product": lambda m: m.jax.vmap(
        m.jax.vmap(lambda x, y: x * y, (0, None)), (None, 0), out_axes=1
    )(V, V),
    "three levels": lambda m: m.jax.vmap(m.jax.vmap(m.jax.vmap(lambda x: x + 1, out_axes=0), 1, 1), 2)(
        T
    ),
    "matrix products": lambda m: m.jax.vmap(m.jnp.matmul, (0, None))(T, np.ones((4, 2), np.float32)),
    "matmul both": lambda m: m.jax.vmap(lambda x, y: m.jnp.dot(x, y.T), (1, 1))(T, T),
    "closure": lambda m: (lambda c: m.jax.vmap(lambda x: x + c)(V))(m.jnp.arange(2.0)[1]),
    "closure over outer": lambda m: m.jax.vmap(lambda x: m.jax.vmap(lambda y: x * y)(V))(V),
    "indexing": lambda m: m.jax.vmap(lambda x, i: x[i])(M, np.array([0, 1, 1])),
    "indexing one array": lambda m: m.jax.vmap(lambda x, i: x[i], (None, 0))(m.jnp.asarray(V), np.array([2, 0])),
    "index out of bounds": lambda m: m.jax.vmap(lambda x, i: x[i], (None, 0))(m.jnp.asarray(V), np.array([5, -1])),
    "updates": lambda m: m.jax.vmap(lambda x, i, v: x.at[i].set(v))(M, np.array([0, 1, 1]), V),
    "added updates": lambda m: m.jax.vmap(lambda x, i: x.at[i].add(1.0), (None, 0))(
        m.jnp.asarray(V), np.array([[0, 0], [1, 2]])
    ),
    "dynamic slice": lambda m: m.jax.vmap(lambda x, i: m.lax.dynamic_slice(x, (i,), (2,)), (None, 0))(
        V, np.array([0, 1, 5])
    ),
    "sort": lambda m: m.jax.vmap(lambda x: (m.jnp.sort(x), m.jnp.argsort(x)), 1)(M),
    "reductions": lambda m: m.jax.vmap(lambda x: (x.max(), x.min(0), x.argmax(), x.prod(1)))(T),
    "cumulative": lambda m: m.jax.vmap(lambda x: m.jnp.cumsum(x, 0), 2)(T),
    "reshape": lambda m: m.jax.vmap(lambda x: x.reshape(2, 3), 2)(T),
    "transposed": lambda m: m.jax.vmap(lambda x: x.T, 1)(T),
    "concatenate": lambda m: m.jax.vmap(lambda x, y: m.jnp.concatenate([x, y]), (0, None))(M, V),
    "where": lambda m: m.jax.vmap(lambda c, x: m.jnp.where(c, x, 0.0))(V > 0, M),
    "scalar condition": lambda m: m.jax.vmap(lambda c, x: m.jnp.where(c, x, -x), (0, None))(V > 0, V),
    "random": lambda m: m.jax.vmap(lambda k: m.random.normal(k, (2,)))(
        m.random.split(m.random.PRNGKey(0), 3)
    ),
    "typed keys": lambda m: m.jax.vmap(lambda k: m.random.uniform(k, (2,)))(
        m.random.split(m.random.key(0), 3)
    ),
    "softmax": lambda m: m.jax.vmap(m.nn.softmax, 1, 1)(M),
    "einsum": lambda m: m.jax.vmap(lambda x, y: m.jnp.einsum("ij,kj->ik", x, y))(T, T),
    "custom rules inside": lambda m: m.jax.vmap(m.jax.grad(lambda x: m.nn.relu(x) ** 2))(V),
    "string unmapped": lambda m: m.jax.vmap(lambda x, s: x * len(s), (0, None))(V, "abc"),
    "partial": lambda m: m.jax.vmap(functools.partial(lambda a, x: a * x, 2.0))(V),
    "shape seen inside": lambda m: m.jax.vmap(lambda x: (x.ndim, x.shape, x.size, x * 1))(T)[3],
    "per example gradients": lambda m: m.jax.vmap(
        m.jax.grad(lambda p, x: m.jnp.sum(m.jnp.tanh(x @ p["w"] + p["b"][1]))), (None, 0)
    )(arrays(m, D), np.ones((4, 3), np.float32)),
    "hessians": lambda m: m.jax.vmap(m.jax.hessian(lambda x: m.jnp.sum(x**3) * x[0]))(M),
    "jacobians": lambda m: m.jax.vmap(m.jax.jacrev(m.jnp.sin), out_axes=-1)(M),
    "of spmd_axis_name": lambda m: m.jax.vmap(lambda x: x + 1, spmd_axis_name="d")(V),
    # collectives over the mapped axis
    "psum": lambda m: m.jax.vmap(lambda x: m.lax.psum(x, "i"), axis_name="i")(V),
    "psum of a tree": lambda m: m.jax.vmap(lambda x: m.lax.psum((x, {"k": x * 2}), "i"), axis_name="i")(V),
    "psum unmapped out": lambda m: m.jax.vmap(
        lambda x: m.lax.psum(x, "i"), axis_name="i", out_axes=None
    )(V),
    "psum of 1": lambda m: m.jax.vmap(lambda x: x * m.lax.psum(1, "i"), axis_name="i")(V),
    "pmean": lambda m: m.jax.vmap(lambda x: x - m.lax.pmean(x, "i"), axis_name="i")(M),
    "pmax and pmin": lambda m: m.jax.vmap(
        lambda x: (m.lax.pmax(x, "i"), m.lax.pmin(x, "i")), axis_name="i"
    )(M),
    "axis_index": lambda m: m.jax.vmap(lambda x: x * m.lax.axis_index("i"), axis_name="i")(V),
    "axis_size inside": lambda m: m.jax.vmap(lambda x: x * m.lax.axis_size("i"), axis_name="i")(V),
    "all_gather": lambda m: m.jax.vmap(lambda x: m.lax.all_gather(x, "i"), axis_name="i")(M),
    "ppermute": lambda m: m.jax.vmap(
        lambda x: m.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i"
    )(M),
    "all_to_all": lambda m: m.jax.vmap(lambda x: m.lax.all_to_all(x, "i", 0, 0), axis_name="i")(
        np.arange(9.0, dtype=np.float32).reshape(3, 3)
    ),
    "two names": lambda m: m.jax.vmap(
        m.jax.vmap(lambda x: m.lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i"
    )(M),
    "outer name": lambda m: m.jax.vmap(
        m.jax.vmap(lambda x: m.lax.psum(x, "i"), axis_name="j"), axis_name="i"
    )(M),
    "name shadowed": lambda m: m.jax.vmap(
        m.jax.vmap(lambda x: m.lax.psum(x, "i"), axis_name="i"), axis_name="i"
    )(M),
    "grad of psum": lambda m: m.jax.vmap(
        m.jax.grad(lambda x: m.lax.psum(x * x, "i")), axis_name="i"
    )(V),
    "grad outside psum": lambda m: m.jax.grad(
        lambda x: m.jnp.sum(m.jax.vmap(lambda v: m.lax.psum(v, "i") * v, axis_name="i")(x))
    )(V),
    "psum in jit": lambda m: m.jax.vmap(m.jax.jit(lambda x: m.lax.psum(x, "i")), axis_name="i")(V),
    "jit of psum": lambda m: m.jax.jit(m.jax.vmap(lambda x: m.lax.psum(x, "i"), axis_name="i"))(V),
    "batch norm": lambda m: m.jax.vmap(
        lambda x: (x - m.lax.pmean(x, "b")) / m.jnp.sqrt(m.lax.pmean(x**2, "b") + 1), axis_name="b"
    )(M),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    def program(m: Any) -> Any:
        # results that are the argument itself are NumPy arrays there and arrays here, or vice versa
        return m.tree_util.tree_map(m.jnp.asarray, PROGRAMS[name](m))

    same(program)


MISTAKES: dict[str, tuple] = {
    "no arguments": (lambda m: m.jax.vmap(lambda: 1)(), "axis_size"),
    "sizes": (lambda m: m.jax.vmap(lambda x, y: x)(V, M[:2]), "inconsistent", "x", "y", "3", "2"),
    "sizes of many": (lambda m: m.jax.vmap(lambda a, b, c: a)(V, V, M[:2]), "most axes", "c of type"),
    "size and axis_size": (lambda m: m.jax.vmap(lambda x: x, axis_size=4)(V), "axis_size", "4", "3"),
    "sizes in a tree": (lambda m: m.jax.vmap(lambda d: 1)({"a": V, "b": M[:2]}), "d['b']"),
    "nothing mapped": (lambda m: m.jax.vmap(lambda x: x, in_axes=None)(V), "in_axes", "axis_size"),
    "scalar": (lambda m: m.jax.vmap(lambda x: x)(1.0), "rank should be at least 1", "()"),
    "rank too small": (lambda m: m.jax.vmap(lambda x: x, in_axes=1)(V), "axis 1", "2", "(3,)"),
    "rank too small, negative": (lambda m: m.jax.vmap(lambda x: x, in_axes=-2)(V), "-2"),
    "number of axes": (lambda m: m.jax.vmap(lambda x, y: x, in_axes=(0,))(V, V), "in_axes"),
    "axes of another structure": (
        lambda m: m.jax.vmap(lambda x: x, in_axes=({"a": 0},))({"b": V}), "in_axes",
    ),
    "axes too deep": (lambda m: m.jax.vmap(lambda x: x, in_axes=((0, 0),))(V), "in_axes"),
    "axes of a wrong type": (lambda m: m.jax.vmap(lambda x: x, in_axes="a")(V), "in_axes", "a"),
    "float axes": (lambda m: m.jax.vmap(lambda x: x, in_axes=1.0)(V), "in_axes", "1.0"),
    "dict axes": (lambda m: m.jax.vmap(lambda x: x, in_axes={"a": 0})(V), "in_axes"),
    "float leaves": (lambda m: m.jax.vmap(lambda x: x, in_axes=(0.5,))(V), "in_axes", "0.5"),
    "float out_axes": (lambda m: m.jax.vmap(lambda x: x, out_axes=0.5)(V), "out_axes", "0.5"),
    "out_axes too large": (lambda m: m.jax.vmap(lambda x: x, out_axes=2)(V), "2"),
    "out_axes too small": (lambda m: m.jax.vmap(lambda x: x, out_axes=-3)(M), "-3"),
    "out_axes of another structure": (
        lambda m: m.jax.vmap(lambda x: (x, x), out_axes=(0,))(V), "out_axes",
    ),
    "out_axes None of a mapped": (lambda m: m.jax.vmap(lambda x: x, out_axes=None)(V), "out_axes", "None"),
    "not callable": (lambda m: m.jax.vmap(3), "callable"),
    "string argument": (lambda m: m.jax.vmap(lambda x: x)("abc"), "str"),
    "string result": (lambda m: m.jax.vmap(lambda x: "a")(V), "str"),
    "branch": (lambda m: m.jax.vmap(lambda x: x if x > 0 else -x)(V), "bool"),
    "float()": (lambda m: m.jax.vmap(lambda x: float(x))(V), "float"),
    "numpy": (lambda m: m.jax.vmap(lambda x: np.sin(x))(V), "__array__"),
    "index": (lambda m: m.jax.vmap(lambda x: [1, 2, 3][x])(np.arange(3)), "__index__"),
    "leaked": (lambda m: _leaked(m), "tracer"),
    "unbound axis name": (lambda m: m.jax.vmap(lambda x: m.lax.psum(x, "j"), axis_name="i")(V), "j"),
    "axis name out of scope": (lambda m: m.lax.psum(m.jnp.ones(2), "i"), "i"),
    "axis_index out of scope": (lambda m: m.lax.axis_index("i"), "i"),
    "shapes inside": (lambda m: m.jax.vmap(lambda x: x + np.ones(3, np.float32))(M), "(2,)", "(3,)"),
    "missing argument": (lambda m: m.jax.vmap(lambda x, y: x)(V), "'y'"),
    "bool axes": (lambda m: m.jax.vmap(lambda x: x, in_axes=("a",))(V), "in_axes"),
}  # fmt: skip


def _leaked(m: Any) -> Any:
    kept = []
    m.jax.vmap(lambda x: kept.append(x * 1))(V)
    return kept[0] + 1


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    program, *words = MISTAKES[name]
    fails(program, *words)


# --- every order with jit and grad -------------------------------------------------------------

W, X, Y = M.T.copy(), np.ones((4, 2), np.float32) * 0.3, np.linspace(-1, 1, 4).astype(np.float32)


def loss(m: Any) -> Callable:
    def f(w: Any, x: Any, y: Any) -> Any:
        h = m.jnp.tanh(x @ w)
        return (m.jnp.mean(h**2) - y) ** 2

    return f


ORDERS = sorted(
    {p for n in (2, 3, 4) for p in itertools.permutations(("jit", "grad", "vmap", "jit"), n)}
)


@pytest.mark.parametrize("order", [o for o in ORDERS if "vmap" in o], ids=".".join)
def test_orders(order: tuple[str, ...]) -> None:
    """`vmap(jit(grad(f)))` and so on; grad outside of vmap takes the sum of the results."""

    def program(m: Any) -> Any:
        f = loss(m)
        mapped = False
        for name in reversed(order):
            if name == "vmap":
                f, mapped = m.jax.vmap(f, (None, 0, 0)), True
            elif name == "jit":
                f = m.jax.jit(f)
            else:
                total = (lambda g: lambda *a: m.jnp.sum(g(*a)))(f) if mapped else f
                f = m.jax.grad(total)
        return f(W, X, Y)

    same(program)


def test_equals_a_loop() -> None:
    f = lambda x, y: lnp.stack([lnp.sum(lnp.sin(x) @ y), lnp.max(x * 2)])
    xs, ys = T.transpose(1, 0, 2), np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    stacked = np.stack([np.asarray(f(x, y)) for x, y in zip(xs, ys, strict=True)])
    np.testing.assert_allclose(lingon.vmap(f)(xs, ys), stacked, rtol=1e-6)


def test_names_are_kept_and_the_function_runs_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        """Doc."""
        calls.append(x)
        return x

    g = lingon.vmap(f)
    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Doc.", f)
    g(V)
    assert len(calls) == 1


JAXPRS: dict[str, Callable] = {
    "elementwise": lambda m: m.jax.make_jaxpr(m.jax.vmap(lambda x, y: m.jnp.sin(x) + y, (0, None)))(M, V[:2]),
    "dot": lambda m: m.jax.make_jaxpr(m.jax.vmap(m.jnp.dot, (0, None)))(M, V[:2]),
    "reduce": lambda m: m.jax.make_jaxpr(m.jax.vmap(lambda x: x.sum(0), 1, 1))(T),
    "jit": lambda m: m.jax.make_jaxpr(m.jax.vmap(m.jax.jit(lambda x: x * 2)))(V),
    "psum": lambda m: m.jax.make_jaxpr(m.jax.vmap(lambda x: m.lax.psum(x, "i"), axis_name="i"))(V),
}  # fmt: skip


@pytest.mark.parametrize("name", JAXPRS)
def test_jaxprs(name: str) -> None:
    assert jaxpr_text(JAXPRS[name](OURS)) == jaxpr_text(JAXPRS[name](JAX))
