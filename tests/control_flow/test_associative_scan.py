"""associative_scan beside jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import same
from scan_programs import line

import lingon


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 16, 33])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(n: int, reverse: bool) -> None:
    x = np.linspace(-1, 2, n).astype(np.float32) if n else np.zeros(0, np.float32)
    same(lambda m: m.lax.associative_scan(m.jnp.add, m.jnp.asarray(x), reverse=reverse))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes(axis: int) -> None:
    x = line(3, 4, 5)
    same(lambda m: m.lax.associative_scan(m.jnp.multiply, x, axis=axis))
    same(lambda m: m.jax.jit(lambda v: m.lax.associative_scan(m.jnp.maximum, v, True, axis))(x))


def test_negative_axis_in_reverse() -> None:
    """Where jax raises, from its own use of a negative axis."""
    x = line(3, 4)
    a = lingon.lax.associative_scan(lingon.numpy.add, x, reverse=True, axis=-1)
    np.testing.assert_allclose(a, np.cumsum(x[:, ::-1], axis=1)[:, ::-1], rtol=1e-6, atol=1e-6)
    same(lambda m: m.lax.associative_scan(m.jnp.add, x, axis=-2))


@pytest.mark.parametrize("dtype", ["int8", "bool", "uint32", "bfloat16", "float16", "complex64"])
def test_dtypes(dtype: str) -> None:
    def program(m: Any) -> Any:
        x = m.jnp.asarray(np.arange(12).reshape(6, 2) % 3, dtype)
        f = m.jnp.logical_xor if dtype == "bool" else m.jnp.add
        return m.lax.associative_scan(f, x), m.lax.associative_scan(f, x, reverse=True)

    same(program)


def affine(m: Any) -> Any:
    """Composition of affine maps, which is not commutative."""

    def f(a: Any, b: Any) -> Any:
        return {"w": b["w"] @ a["w"], "b": (b["w"] @ a["b"][..., None])[..., 0] + b["b"]}

    return f


def test_trees_and_order() -> None:
    """Operands come in order; the result is what a loop gives."""
    w, b = line(7, 2, 2, low=-0.9, high=1.1), line(7, 2)
    same(lambda m: m.lax.associative_scan(affine(m), {"w": w, "b": b}))
    out = lingon.lax.associative_scan(affine(lingon), {"w": w, "b": b})
    h = np.zeros(2, np.float32)
    for i in range(7):
        h = w[i] @ h + b[i]
        np.testing.assert_allclose(out["b"][i], h, rtol=1e-5, atol=1e-6)


def test_trees_along_another_axis() -> None:
    x = (line(2, 5), {"z": line(3, 5, 2)[..., 0], "y": line(2, 5)})
    f = lambda a, b: (a[0] * b[0], {"z": a[1]["z"] + b[1]["z"], "y": b[1]["y"]})
    same(lambda m: m.lax.associative_scan(f, x, axis=1))


def test_derivatives() -> None:
    def program(m: Any) -> Any:
        f = lambda x: m.lax.associative_scan(lambda a, b: a * b + a, x)
        x = line(6, low=0.5, high=1.2)
        return m.jax.jvp(f, (x,), (x,)), m.jax.jacrev(f)(x), m.jax.jit(m.jax.jacfwd(f))(x)

    same(program)


def test_vmap() -> None:
    def program(m: Any) -> Any:
        f = lambda x: m.lax.associative_scan(m.jnp.add, x, reverse=True)
        x = line(4, 5)
        return m.jax.vmap(f)(x), m.jax.vmap(f, 1, 1)(x), m.jax.jit(m.jax.vmap(f))(x)

    same(program)


def test_number_of_calls_is_logarithmic() -> None:
    for n, most in [(1, 0), (2, 2), (1000, 20), (1024, 20)]:
        calls = []

        def f(a: Any, b: Any, calls: list = calls) -> Any:
            calls.append(a.shape[0])
            return a + b

        lingon.lax.associative_scan(f, lingon.numpy.ones(n))
        assert len(calls) <= most
        assert sum(calls) <= 2 * n
