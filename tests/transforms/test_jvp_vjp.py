"""jvp, vjp, linearize, linear_transpose and Jacobians against jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import fails, same

import lingon

V = np.array([0.5, -1.5, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
FLOAT0 = np.zeros((), [("float0", "V")])


def v(m: Any) -> Any:
    return m.jnp.asarray(V)


def zero0(m: Any, shape: tuple = ()) -> Any:
    return np.zeros(shape, m.jax.float0)


PROGRAMS = {
    "jvp": lambda m: m.jax.jvp(m.jnp.sin, (v(m),), (v(m),)),
    "jvp of two": lambda m: m.jax.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.5)),
    "jvp with lists": lambda m: m.jax.jvp(lambda x, y: x * y, [2.0, 3.0], [1.0, 0.5]),
    "jvp of a tree": lambda m: m.jax.jvp(
        lambda d: {"s": d["a"] * d["b"]}, ({"a": 2.0, "b": v(m)},), ({"a": 1.0, "b": v(m)},)
    ),
    "jvp of integers": lambda m: m.jax.jvp(lambda x, n: x * n, (2.0, 3), (1.0, zero0(m))),
    "jvp of a constant": lambda m: m.jax.jvp(lambda x: m.jnp.ones(3), (2.0,), (1.0,)),
    "jvp of an integer result": lambda m: m.jax.jvp(lambda x: m.jnp.argmax(x), (v(m),), (v(m),)),
    "jvp aux": lambda m: m.jax.jvp(lambda x: (x * 2, x + 1), (2.0,), (1.0,), has_aux=True),
    "jvp of jvp": lambda m: m.jax.jvp(
        lambda x: m.jax.jvp(m.jnp.sin, (x,), (1.0,))[1], (0.3,), (1.0,)
    ),
    "vjp": lambda m: (lambda o, f: (o, f(v(m))))(*m.jax.vjp(m.jnp.sin, v(m))),
    "vjp of two": lambda m: (lambda o, f: (o, f(1.0)))(*m.jax.vjp(lambda x, y: x * y, 2.0, 3.0)),
    "vjp of a tree": lambda m: m.jax.vjp(lambda d: (d["a"] * 2, d["b"]), {"a": 2.0, "b": v(m)})[1](
        (1.0, v(m))
    ),
    "vjp of integers": lambda m: m.jax.vjp(lambda x, n: x * n, 2.0, 3)[1](1.0),
    "vjp aux": lambda m: (lambda o, f, a: (o, f(1.0), a))(
        *m.jax.vjp(lambda x: (x * 2, {"aux": x}), 2.0, has_aux=True)
    ),
    "vjp twice": lambda m: (lambda f: (f(1.0), f(2.0)))(m.jax.vjp(m.jnp.sin, 0.5)[1]),
    "vjp of an unused argument": lambda m: m.jax.vjp(lambda x, y: x, 2.0, v(m))[1](1.0),
    "vjp in jit": lambda m: m.jax.jit(lambda x, c: m.jax.vjp(m.jnp.sin, x)[1](c))(v(m), v(m)),
    "vjp returned from jit": lambda m: (lambda o, f: (o, f(1.0)))(
        *m.jax.jit(lambda x: m.jax.vjp(lambda x: m.jnp.sum(m.jnp.sin(x) * x), x))(v(m))
    ),
    "vjp passed to jit": lambda m: m.jax.jit(lambda f, c: f(c))(
        m.jax.vjp(m.jnp.sin, v(m))[1], v(m)
    ),
    "vjp under vmap": lambda m: m.jax.vmap(lambda x, c: m.jax.vjp(m.jnp.sin, x)[1](c))(v(m), v(m)),
    "vjp with float0 result": lambda m: m.jax.vjp(lambda x: (x, m.jnp.argmax(x)), v(m))[1](
        (v(m), zero0(m))
    ),
    "linearize": lambda m: (lambda o, f: (o, f(v(m)), f(2 * v(m))))(
        *m.jax.linearize(m.jnp.sin, v(m))
    ),
    "linearize of two": lambda m: m.jax.linearize(lambda x, y: x * y, 2.0, 3.0)[1](1.0, 0.5),
    "linearize in jit": lambda m: m.jax.jit(
        lambda x, t: m.jax.linearize(lambda x: m.jnp.sin(x) * x, x)[1](t)
    )(v(m), v(m)),
    "linearize returned from jit": lambda m: m.jax.jit(
        lambda x: m.jax.linearize(lambda x: m.jnp.sin(x) * x, x)
    )(v(m))[1](v(m)),
    "linearize aux": lambda m: (lambda o, f, a: (o, f(1.0), a))(
        *m.jax.linearize(lambda x: (x * x, x), 2.0, has_aux=True)
    ),
    "linear map under vmap": lambda m: m.jax.vmap(m.jax.linearize(m.jnp.sin, 0.3)[1])(v(m)),
    "linear_transpose": lambda m: m.jax.linear_transpose(lambda x: 2 * x, v(m))(v(m)),
    "linear_transpose of a sum": lambda m: m.jax.linear_transpose(
        lambda x: m.jnp.sum(x, 0), m.jax.ShapeDtypeStruct((2, 3), np.float32)
    )(v(m)),
    "linear_transpose of a product": lambda m: m.jax.linear_transpose(
        lambda x: m.jnp.asarray(M) @ x, v(m)
    )(m.jnp.ones(2)),
    "linear_transpose of two": lambda m: m.jax.linear_transpose(lambda x, y: x + 3 * y, v(m), v(m))(
        v(m)
    ),
    "jacfwd": lambda m: m.jax.jacfwd(m.jnp.sin)(v(m)),
    "jacrev": lambda m: m.jax.jacrev(m.jnp.sin)(v(m)),
    "jacobian is jacrev": lambda m: m.jax.jacobian(lambda x: m.jnp.outer(x, x))(v(m)),
    "jacfwd of a tree": lambda m: m.jax.jacfwd(lambda d: {"o": d["a"] * d["b"]})(
        {"a": v(m), "b": m.jnp.float32(2)}
    ),
    "jacrev of a tree": lambda m: m.jax.jacrev(lambda d: {"o": d["a"] * d["b"], "s": d["b"]})(
        {"a": v(m), "b": m.jnp.float32(2)}
    ),
    "jacfwd of two arguments": lambda m: m.jax.jacfwd(lambda x, y: x * y.sum(), (0, 1))(
        v(m), m.jnp.asarray(M)
    ),
    "jacrev of two arguments": lambda m: m.jax.jacrev(lambda x, y: x * y.sum(), (0, 1))(
        v(m), m.jnp.asarray(M)
    ),
    "jacfwd of a weak scalar": lambda m: m.jax.jacfwd(lambda x: x * x)(2.0),
    "jacrev of a weak scalar": lambda m: m.jax.jacrev(lambda x: x * x)(2.0),
    "jacfwd of a matrix": lambda m: m.jax.jacfwd(lambda x: m.jnp.sin(x).T)(m.jnp.asarray(M)),
    "jacrev of a matrix": lambda m: m.jax.jacrev(lambda x: m.jnp.sin(x).T)(m.jnp.asarray(M)),
    "jacfwd aux": lambda m: m.jax.jacfwd(lambda x: (x * x, x + 1), has_aux=True)(v(m)),
    "jacrev aux": lambda m: m.jax.jacrev(lambda x: (x * x, x + 1), has_aux=True)(v(m)),
    "jacfwd holomorphic": lambda m: m.jax.jacfwd(lambda z: z * z, holomorphic=True)(v(m) + 1j),
    "jacrev holomorphic": lambda m: m.jax.jacrev(lambda z: z * z, holomorphic=True)(v(m) + 1j),
    "jacfwd of nothing": lambda m: m.jax.jacfwd(lambda x: x * x)(m.jnp.zeros(0)),
    "jacfwd of constants": lambda m: m.jax.jacfwd(lambda x: (m.jnp.ones(2), x))(v(m)),
    "jacrev of constants": lambda m: m.jax.jacrev(lambda x: (m.jnp.ones(2), x))(v(m)),
    "hessian": lambda m: m.jax.hessian(lambda x: m.jnp.sum(m.jnp.sin(x) * x[0]))(v(m)),
    "hessian of a tree": lambda m: m.jax.hessian(lambda d: m.jnp.sum(d["a"] * d["b"] ** 2))(
        {"a": v(m), "b": v(m)}
    ),
    "hessian of jit": lambda m: m.jax.hessian(m.jax.jit(lambda x: m.jnp.sum(x**3)))(v(m)),
    "hessian in jit": lambda m: m.jax.jit(m.jax.hessian(lambda x: m.jnp.sum(x**3)))(v(m)),
    "hessian with two arguments": lambda m: m.jax.hessian(
        lambda x, y: m.jnp.sum(x * x * y), (0, 1)
    )(v(m), m.jnp.float32(2)),
    "jacfwd of jacrev": lambda m: m.jax.jacfwd(m.jax.jacrev(lambda x: x**3))(v(m)),
    "jacrev of jacfwd": lambda m: m.jax.jacrev(m.jax.jacfwd(lambda x: x**3))(v(m)),
    "jacfwd in vmap": lambda m: m.jax.vmap(m.jax.jacfwd(lambda x: x * x))(m.jnp.asarray(M)),
    "jacrev of vmap": lambda m: m.jax.jacrev(m.jax.vmap(lambda x: x * x))(v(m)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    same(PROGRAMS[name])


MISTAKES = {
    "jvp of a scalar": (lambda m: m.jax.jvp(lambda x: x, 1.0, 1.0), "tuples or lists", "float"),
    "jvp structures": (lambda m: m.jax.jvp(lambda x: x, (1.0,), (1.0, 1.0)), "tree structure"),
    "jvp list and tuple": (lambda m: m.jax.jvp(lambda x: x, [1.0], (1.0,)), "tree structure"),
    "jvp dtypes": (lambda m: m.jax.jvp(lambda x: x, (1.0,), (1,)), "float32", "int32"),
    "jvp integer tangent": (lambda m: m.jax.jvp(lambda x: x, (1,), (1.0,)), "float0", "int32"),
    "jvp shapes": (lambda m: m.jax.jvp(lambda x: x, (1.0,), (v(m),)), "()", "(3,)"),
    "jvp of a string": (lambda m: m.jax.jvp(lambda x: x, ("a",), (1.0,)), "'a'"),
    "vjp shape": (lambda m: m.jax.vjp(lambda x: x, 1.0)[1](v(m)), "float32[3]", "float32[]"),
    "vjp dtype": (lambda m: m.jax.vjp(lambda x: x, 1.0)[1](1), "int32", "float32"),
    "vjp structure": (lambda m: m.jax.vjp(lambda x: x, 1.0)[1]((1.0, 1.0)), "tree structure"),
    "linearize shape": (
        lambda m: m.jax.linearize(lambda x: x * 2, 1.0)[1](v(m)),
        "float32[3]",
        "inconsistent",
    ),
    "linearize structure": (
        lambda m: m.jax.linearize(lambda x: x * 2, 1.0)[1](1.0, 2.0),
        "PyTreeDef",
    ),
    "linear_transpose dtype": (
        lambda m: m.jax.linear_transpose(lambda x: x * 2.0, 1.0)(1),
        "cotangent type",
        "int32",
    ),
    "linear_transpose of a bool": (
        lambda m: m.jax.linear_transpose(lambda x: x, m.jnp.ones(3, bool)),
        "bool",
    ),
    "jacfwd of an integer": (lambda m: m.jax.jacfwd(lambda x: x * 2.0)(1), "int32", "jacfwd"),
    "jacrev of an integer": (lambda m: m.jax.jacrev(lambda x: x * 2.0)(1), "int32", "jacrev"),
    "jacrev of an integer result": (
        lambda m: m.jax.jacrev(lambda x: m.jnp.int32(x))(1.0),
        "int32",
        "jacrev",
    ),
    "jacfwd argnums": (lambda m: m.jax.jacfwd(lambda x: x, 2)(1.0), "argnums=2"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str) -> None:
    program, *words = MISTAKES[name]
    fails(program, *words)


def test_transposing_what_is_not_linear() -> None:
    """jax fails an internal assertion here."""
    fails(
        lambda m: m.jax.linear_transpose(lambda x: x * x, 1.0)(3.0),
        "mul",
        "not linear",
        theirs=NotImplementedError,
    )


def test_linearize_does_the_work_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return lingon.numpy.sin(x)

    _, f_jvp = lingon.linearize(f, 1.0)
    f_jvp(1.0)
    f_jvp(2.0)
    assert len(calls) == 1


def test_pullback_is_a_pytree() -> None:
    x = lingon.numpy.asarray(V)
    _, pull = lingon.vjp(lambda x: lingon.numpy.sin(x) * x, x)
    leaves, tree = lingon.tree_util.tree_flatten(pull)
    assert leaves and all(isinstance(r, lingon.Array) for r in leaves)
    again = lingon.tree_util.tree_unflatten(tree, leaves)
    np.testing.assert_array_equal(np.asarray(again(x)[0]), np.asarray(pull(x)[0]))
