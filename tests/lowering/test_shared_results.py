"""Results that are made of one another in part, or that share a constant, come out right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon import lax

X = np.arange(3, dtype=np.float32)


def two_updates_of_a_constant(x: Any, y: Any) -> Any:
    return jnp.zeros(3).at[0].set(y), jnp.zeros(3).at[0].set(2 * y)


def update_and_constant(x: Any, y: Any) -> Any:
    return jnp.zeros(3).at[0].set(y), jnp.zeros(3)


def constant_and_update(x: Any, y: Any) -> Any:
    return jnp.zeros(3), jnp.zeros(3).at[0].set(y)


def update_and_original(x: Any, y: Any) -> Any:
    z = jnp.sin(x)
    return z.at[0].set(y), z


def two_updates_and_original(x: Any, y: Any) -> Any:
    z = jnp.sin(x)
    return z.at[0].set(y), z.at[1].set(y), z


def chain(x: Any, y: Any) -> Any:
    z = jnp.sin(x)
    w = z.at[1].set(y)
    return w, z, w.at[2].set(y), z.at[0].set(y), w + z


def in_branches(x: Any, y: Any) -> Any:
    z, w = jnp.sin(x), jnp.cos(x)
    first = lax.cond(y > 0, lambda: (z.at[0].set(y), w.at[1].set(y)), lambda: (w, z))
    return first + lax.cond(y > 1, lambda: (w, z), lambda: (z, w))


def in_loops(x: Any, y: Any) -> Any:
    z, w = jnp.sin(x), jnp.cos(x)
    a, b = lax.fori_loop(0, 3, lambda i, c: (c[1].at[i].set(y), c[0]), (z, w))
    return a, b, z, w


def values_and_tangents(x: Any, y: Any) -> Any:
    f = lambda y: lax.fori_loop(0, 1, lambda i, a: a.at[i].set(a[i - 1] + y), jnp.zeros(3))
    return lingon.jvp(f, (y,), (2 * y,))


PROGRAMS = [
    two_updates_of_a_constant, update_and_constant, constant_and_update, update_and_original,
    two_updates_and_original, chain, in_branches, in_loops, values_and_tangents,
]  # fmt: skip


@pytest.mark.parametrize("y", [5.0, 0.5, -1.0])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_results(program: Callable, y: float) -> None:
    compiled = lingon.jit(program)(X, np.float32(y))
    with lingon.disable_jit():
        expected = program(jnp.asarray(X), jnp.float32(y))
    for a, b in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
