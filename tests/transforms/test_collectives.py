"""Collectives over the named axis of vmap, against jax."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import lingon

X = np.arange(6, dtype=np.float32).reshape(3, 2) - 2

PROGRAMS: dict[str, Any] = {
    "psum": lambda j: lambda x: j.lax.psum(x, "i"),
    "psum of unmapped": lambda j: lambda x: j.lax.psum(j.numpy.float32(2), "i") + x,
    "psum of a number": lambda j: lambda x: j.lax.psum(1, "i") * x,
    "psum of a truth value": lambda j: lambda x: [f(True, "i") for f in (j.lax.psum, j.lax.pmean)],
    "psum of weak values": lambda j: (
        lambda x: [
            j.lax.psum(2.0, "i") + x.astype(j.numpy.float16),
            j.lax.psum(x[0].astype(int) * 0 + 2, "i"),
        ]
    ),
    "psum of a tree": lambda j: lambda x: j.lax.psum({"a": x, "b": (2 * x,)}, "i"),
    "pmean": lambda j: lambda x: j.lax.pmean(x, "i"),
    "pmax": lambda j: lambda x: j.lax.pmax(x, "i"),
    "pmin": lambda j: lambda x: j.lax.pmin(x, "i"),
    "all_gather": lambda j: lambda x: j.lax.all_gather(x, "i"),
    "all_gather axis": lambda j: lambda x: j.lax.all_gather(x, "i", axis=1),
    "all_gather tiled": lambda j: lambda x: j.lax.all_gather(x, "i", tiled=True),
    "ppermute": lambda j: lambda x: j.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
    "pshuffle": lambda j: lambda x: j.lax.pshuffle(x, "i", [2, 0, 1]),
    "axis_index": lambda j: lambda x: x * j.lax.axis_index("i"),
    "axis_size": lambda j: lambda x: x * j.lax.axis_size("i"),
    "jit": lambda j: j.jit(lambda x: j.lax.psum(x, "i") * j.lax.axis_index("i")),
    "grad": lambda j: j.grad(lambda x: j.lax.psum(x**2, "i").sum()),
    "grad of pmean": lambda j: j.grad(lambda x: j.lax.pmean(x**2, "i").sum()),
    "grad of all_gather": lambda j: j.grad(lambda x: (j.lax.all_gather(x, "i") ** 2).sum()),
    "grad of ppermute": lambda j: j.grad(
        lambda x: (j.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]) ** 2).sum()
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_over_vmap(name: str, jitted: bool) -> None:
    results = []
    for library in (lingon, jax):
        f = library.vmap(PROGRAMS[name](library), axis_name="i")
        results.append((library.jit(f) if jitted else f)(X))
    ours, theirs = (
        library.tree.leaves(r) for library, r in zip((lingon, jax), results, strict=True)
    )
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def test_two_axes() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    f = lambda j: j.vmap(j.vmap(lambda v: j.lax.psum(v, ("i", "j")), axis_name="j"), axis_name="i")
    np.testing.assert_array_equal(np.asarray(f(lingon)(x)), np.asarray(f(jax)(x)))


@pytest.mark.parametrize("jitted", [False, True])
def test_unbound_name(jitted: bool) -> None:
    f = lambda x: lingon.lax.psum(x, "nowhere")
    with pytest.raises(NameError, match="unbound axis name: nowhere"):
        (lingon.jit(f) if jitted else f)(X)


def test_bad_permutation() -> None:
    with pytest.raises(ValueError, match="unique"):
        lingon.vmap(lambda x: lingon.lax.ppermute(x, "i", [(0, 1), (2, 1)]), axis_name="i")(X)


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "all_gather", "ppermute", "axis_index"])
def test_jaxpr(name: str) -> None:
    texts = [
        str(library.make_jaxpr(PROGRAMS[name](library), axis_env=[("i", 3)])(X[0]))
        for library in (lingon, jax)
    ]
    assert texts[0] == texts[1]
