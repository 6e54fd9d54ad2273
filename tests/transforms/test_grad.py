"""grad and value_and_grad against jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import JAX, OURS, fails, same

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
D = {"w": M, "b": (V, np.float32(0.25))}


def loss(m: Any) -> Any:
    def f(p: Any, x: Any) -> Any:
        return m.jnp.sum(m.jnp.tanh(x @ p["w"]) * p["b"][0]) + p["b"][1]

    return f


def arrays(m: Any, tree: Any) -> Any:
    return m.tree_util.tree_map(m.jnp.asarray, tree)


PROGRAMS = {
    "scalar": lambda m: m.jax.grad(lambda x: x * x * 3)(2.0),
    "weak scalar": lambda m: m.jax.grad(lambda x: m.jnp.float32(3) * x)(1.0),
    "numpy argument": lambda m: m.jax.grad(lambda x: m.jnp.sum(x * x))(V),
    "array": lambda m: m.jax.grad(lambda x: m.jnp.sum(m.jnp.sin(x)))(m.jnp.asarray(V)),
    "tree": lambda m: m.jax.grad(loss(m))(arrays(m, D), m.jnp.ones((4, 2))),
    "second argument": lambda m: m.jax.grad(loss(m), 1)(arrays(m, D), m.jnp.ones((4, 2))),
    "both arguments": lambda m: m.jax.grad(loss(m), (0, 1))(arrays(m, D), m.jnp.ones((4, 2))),
    "negative argnums": lambda m: m.jax.grad(lambda x, y: x * y * y, -1)(2.0, 3.0),
    "argnums as a list": lambda m: m.jax.grad(lambda x, y: x * y * y, [1, 0])(2.0, 3.0),
    "keyword arguments": lambda m: m.jax.grad(lambda x, *, k: x * k)(2.0, k=3.0),
    "value_and_grad": lambda m: m.jax.value_and_grad(lambda x: x**3)(2.0),
    "aux": lambda m: m.jax.grad(lambda x: (x**2, {"y": x + 1}), has_aux=True)(2.0),
    "value, aux, grad": lambda m: m.jax.value_and_grad(lambda x: (x**2, [x * 2, 3]), has_aux=True)(
        2.0
    ),
    "aux that is constant": lambda m: m.jax.grad(lambda x: (x**2, m.jnp.arange(3)), has_aux=True)(
        2.0
    ),
    "unused argument": lambda m: m.jax.grad(lambda x, y: x, 1)(2.0, m.jnp.ones(3)),
    "constant function": lambda m: m.jax.grad(lambda x: 3.0)(2.0),
    "half": lambda m: m.jax.grad(lambda x: m.jnp.sum(x * x))(m.jnp.asarray(V, m.jnp.float16)),
    "bfloat16": lambda m: m.jax.grad(lambda x: m.jnp.sum(x * x))(m.jnp.asarray(V, m.jnp.bfloat16)),
    "mixed dtypes": lambda m: m.jax.grad(
        lambda x, y: m.jnp.sum(x.astype(m.jnp.float32) * y), (0, 1)
    )(m.jnp.asarray(V, m.jnp.float16), m.jnp.asarray(V)),
    "real loss of complex": lambda m: m.jax.grad(lambda z: m.jnp.sum(m.jnp.abs(z) ** 2))(
        m.jnp.asarray(V) + 1j
    ),
    "holomorphic": lambda m: m.jax.grad(lambda z: z**3, holomorphic=True)(1.0 + 2.0j),
    "integer input": lambda m: m.jax.grad(lambda n: n * 2.0, allow_int=True)(3),
    "integer converted": lambda m: m.jax.grad(lambda n: m.jnp.float32(n), allow_int=True)(1),
    "integers in the tree": lambda m: m.jax.grad(lambda d: d["x"] * d["n"], allow_int=True)(
        {"x": 2.0, "n": 3}
    ),
    "second derivative": lambda m: m.jax.grad(m.jax.grad(lambda x: x**4))(1.5),
    "third derivative": lambda m: m.jax.grad(m.jax.grad(m.jax.grad(m.jnp.sin)))(0.7),
    "closure": lambda m: m.jax.grad(lambda x: m.jax.grad(lambda y: x * y * y)(x))(3.0),
    "closure of two levels": lambda m: m.jax.grad(
        lambda x: m.jax.grad(lambda y: m.jax.grad(lambda z: x * y * z * z)(y))(x)
    )(2.0),
    "python control flow": lambda m: m.jax.grad(lambda x: x * 2 if x > 0 else x * 3)(-1.0),
    "python loop": lambda m: m.jax.grad(lambda x: sum(x**i for i in range(5)))(1.1),
    "indexing": lambda m: m.jax.grad(lambda x: x[0] * x[-1])(m.jnp.asarray(V)),
    "updates": lambda m: m.jax.grad(lambda x: m.jnp.sum(x.at[0].set(x[1] * x[2])))(
        m.jnp.asarray(V)
    ),
    "stop_gradient": lambda m: m.jax.grad(lambda x: x * m.lax.stop_gradient(x))(3.0),
    "none in the tree": lambda m: m.jax.grad(lambda d: d["x"] * 2)({"x": 1.0, "y": None}),
    "namedtuple": lambda m: m.jax.grad(lambda t: t[0] * t[1])((2.0, 3.0)),
    "where avoids nothing": lambda m: m.jax.grad(
        lambda x: m.jnp.sum(m.jnp.where(x > 0, m.jnp.sqrt(x), 0.0))
    )(m.jnp.asarray([0.0, 1.0])),
    "matrix product": lambda m: m.jax.grad(lambda a, b: m.jnp.sum((a @ b) ** 2), (0, 1))(
        m.jnp.asarray(M), m.jnp.asarray(M.T.copy())
    ),
    "softmax cross entropy": lambda m: m.jax.value_and_grad(lambda x: -m.nn.log_softmax(x)[1])(
        m.jnp.asarray(V)
    ),
    "empty": lambda m: m.jax.grad(lambda x: m.jnp.sum(x * x))(m.jnp.zeros((0, 3))),
    "max with ties": lambda m: m.jax.grad(lambda x: m.jnp.max(x))(m.jnp.asarray([1.0, 3.0, 3.0])),
    "absolute value at zero": lambda m: m.jax.grad(m.jnp.abs)(0.0),
    "of jit": lambda m: m.jax.grad(m.jax.jit(lambda x: m.jnp.sum(m.jnp.sin(x) * x)))(
        m.jnp.asarray(V)
    ),
    "in jit": lambda m: m.jax.jit(m.jax.grad(lambda x: m.jnp.sum(m.jnp.sin(x) * x)))(
        m.jnp.asarray(V)
    ),
    "aux in jit": lambda m: m.jax.jit(
        m.jax.value_and_grad(lambda x: (x * x, {"a": x}), has_aux=True)
    )(2.0),
    "aux of grad of grad": lambda m: m.jax.grad(
        lambda x: m.jax.grad(lambda y: (y**3 * x, y), has_aux=True)(x)[0]
    )(2.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    same(PROGRAMS[name])


MISTAKES = {
    "not scalar": (lambda m: m.jax.grad(lambda x: x)(m.jnp.ones(3)), "scalar-output", "(3,)"),
    "a dict": (lambda m: m.jax.grad(lambda x: {"a": x})(1.0), "scalar-output"),
    "no array": (lambda m: m.jax.grad(lambda x: "a")(1.0), "str"),
    "returns None": (lambda m: m.jax.grad(lambda x: None)(1.0), "scalar-output"),
    "integer input": (lambda m: m.jax.grad(lambda x: x * 2.0)(1), "int32", "allow_int"),
    "integer output": (lambda m: m.jax.grad(lambda x: m.jnp.int32(x))(1.0), "int32", "real-valued"),
    "complex output": (lambda m: m.jax.grad(lambda x: x * 1j)(1.0), "complex64", "holomorphic"),
    "holomorphic of real": (
        lambda m: m.jax.grad(lambda x: x, holomorphic=True)(1.0),
        "complex dtype",
        "float32",
    ),
    "argnums too large": (lambda m: m.jax.grad(lambda x: x, 3)(1.0), "argnums=3", "at least 4"),
    "string argument": (lambda m: m.jax.grad(lambda x: x)("a"), "'a'", "not a valid JAX type"),
    "no callable": (lambda m: m.jax.grad(3), "callable", "3"),
    "aux of length 3": (
        lambda m: m.jax.grad(lambda x: (x, 1, 2), has_aux=True)(1.0),
        "aux",
        "tuple",
    ),
    "aux missing": (lambda m: m.jax.grad(lambda x: x, has_aux=True)(1.0), "aux"),
    "wrong argument count": (lambda m: m.jax.grad(lambda x: x)(1.0, 2.0), "argument"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str) -> None:
    program, *words = MISTAKES[name]
    fails(program, *words)


def test_generator_functions_are_refused() -> None:
    def f(x: Any) -> Any:
        yield x

    fails(lambda m: m.jax.grad(f), "generator")


def test_the_function_runs_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return x * x

    assert float(lingon.grad(f)(3.0)) == 6.0
    assert len(calls) == 1


def test_names_and_documentation_are_kept() -> None:
    def f(x: Any) -> Any:
        """Doc."""
        return x * x

    assert lingon.grad(f).__name__ == "f"
    assert lingon.value_and_grad(f).__doc__ == "Doc."
    assert lingon.grad(f).__wrapped__ is f


@pytest.mark.parametrize("name", ["sin", "tanh", "exp", "log1p", "sqrt"])
def test_against_finite_differences(name: str) -> None:
    f = getattr(lnp, name)
    with lingon.enable_x64():
        x = lnp.asarray(np.linspace(0.3, 1.7, 5))
        g = np.asarray(lingon.grad(lambda v: f(v).sum())(x))
        h = 1e-6
        d = (np.asarray(f(x + h)) - np.asarray(f(x - h))) / (2 * h)
    assert g.dtype == np.float64
    np.testing.assert_allclose(g, d, rtol=1e-6)


def test_large_program_is_linear_in_time() -> None:
    """A chain of a thousand operations differentiates without a deep recursion."""

    def chain(m: Any) -> Any:
        def f(x: Any) -> Any:
            for _ in range(1500):
                x = x * 1.0001
            return x

        return m.jax.grad(f)(1.0)

    np.testing.assert_allclose(float(chain(OURS)), float(chain(JAX)), rtol=1e-4)
