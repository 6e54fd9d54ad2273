"""Runs a program with jax and with lingon, and compares what a user can see.

A program is a function of a library (`m.jax`, `m.jnp`, `m.lax`, `m.nn`, `m.random`,
`m.tree_util`). Compared are the structure of its result, the leaves' values, dtypes and weak
types, or the type of the error that it raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import lingon
import lingon.lax
import lingon.nn
import lingon.numpy
import lingon.random
import lingon.tree_util

JAX = SimpleNamespace(
    name="jax",
    jax=jax,
    jnp=jnp,
    lax=jax.lax,
    nn=jax.nn,
    random=jax.random,
    tree_util=jax.tree_util,
)
OURS = SimpleNamespace(
    name="lingon",
    jax=lingon,
    jnp=lingon.numpy,
    lax=lingon.lax,
    nn=lingon.nn,
    random=lingon.random,
    tree_util=lingon.tree_util,
)

Program = Callable[[Any], Any]


class Failed:
    """What came of a program that raised."""

    def __init__(self, error: Exception):
        self.error = error

    def is_a(self, name: str) -> bool:
        return any(c.__name__ == name for c in type(self.error).__mro__)

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def run(program: Program, m: Any) -> Any:
    """The program's result, or `Failed`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(m)
    except Exception as e:
        return Failed(e)


def is_array(x: Any) -> bool:
    return isinstance(x, (jax.Array, lingon.Array))


def assert_leaf(ours: Any, theirs: Any, what: str, tol: float | None, weak: bool) -> None:
    assert is_array(ours) == is_array(theirs), f"{what}: {type(ours)} where {type(theirs)} is due"
    if not isinstance(theirs, (jax.Array, np.ndarray, np.generic, bool, int, float, complex)):
        assert str(ours) == str(theirs), f"{what}: {ours!r} where {theirs!r} is due"
        return
    a, b = np.asarray(ours), np.asarray(theirs)
    assert a.shape == b.shape, f"{what}: shape {a.shape} where {b.shape} is due"
    assert a.dtype == b.dtype, f"{what}: dtype {a.dtype} where {b.dtype} is due"
    if weak and is_array(ours):
        pair = ours.weak_type, theirs.weak_type
        assert pair[0] == pair[1], f"{what}: weak_type {pair[0]} where {pair[1]} is due"
    if a.dtype.kind in "biuSUV" and a.dtype.name not in ("bfloat16",):
        assert np.array_equal(a, b), f"{what}: {a} where {b} is due"
        return
    if tol is None:
        tol = 128 * float(ml_dtypes.finfo(a.dtype).eps)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    scale = float(np.max(np.abs(y[np.isfinite(y)]), initial=1.0))
    with np.errstate(all="ignore"):
        ok = np.isclose(x, y, rtol=tol, atol=tol * scale, equal_nan=True)
    assert np.all(ok), f"{what}: {a} where {b} is due (tolerance {tol:.2g})"


def same(program: Program, tol: float | None = None, weak: bool = True) -> Any:
    """Check that the program gives the same result with both libraries; returns ours."""
    theirs, ours = run(program, JAX), run(program, OURS)
    assert not isinstance(theirs, Failed), f"jax raised {theirs!r}"
    if isinstance(ours, Failed):
        raise ours.error
    b, b_tree = jax.tree_util.tree_flatten(theirs)
    a, a_tree = lingon.tree_util.tree_flatten(ours)
    assert str(a_tree) == str(b_tree), f"structure {a_tree} where {b_tree} is due"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        assert_leaf(x, y, f"leaf {i}", tol, weak)
    return ours


def fails(program: Program, *words: str, theirs: type | str | None = None) -> Exception:
    """Check that the program raises jax's type of error with both, and ours says all `words`.

    `theirs` names the type where jax raises none or another one on purpose.
    """
    ours = run(program, OURS)
    assert isinstance(ours, Failed), f"raised nothing, gave {ours!r}"
    if theirs is None:
        expected = run(program, JAX)
        assert isinstance(expected, Failed), f"jax raised nothing, gave {expected!r}"
        name = type(expected.error).__name__
    else:
        name = theirs if isinstance(theirs, str) else theirs.__name__
    assert ours.is_a(name), f"raised {ours!r} where {name} is due"
    for w in words:
        assert w in str(ours.error), f"{w!r} is not in the message: {ours.error}"
    return ours.error
