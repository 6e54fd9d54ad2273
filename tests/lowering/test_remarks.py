"""`lowered.why()`: the remarks of a program's passes as records."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lingon as jax
import lingon.numpy as jnp
from lingon.lowering import Remark, Remarks

LINE = inspect.currentframe().f_lineno


def over_columns(x):
    total = jnp.sum(x, axis=0)
    return x / total  # LINE + 5


def shaped(*shape):
    return jax.ShapeDtypeStruct(shape, np.float32)


def kinds(f, *args, **options):
    return [r.kind for r in jax.jit(f, **options).lower(*args).why()]


def test_records():
    found = jax.jit(over_columns).lower(shaped(512, 512)).why()
    assert isinstance(found, Remarks)
    source = f"{__file__}:{LINE + 5}"
    assert found[0] == Remark(
        "not fused",
        "not in the loop of its producer: a reduction is complete only after its loop",
        source,
        "fused",
        "lingon-fuse",
    )
    assert [r.pass_name for r in found] == ["lingon-fuse", "lingon-fuse-rows"]
    assert str(found).splitlines() == [str(r) for r in found]
    assert f"test_remarks.py:{LINE + 5}: not fused: " in str(found[0])


def test_nothing_to_report():
    found = jax.jit(lambda x: jax.nn.softmax(x, axis=1)).lower(shaped(256, 1024)).why()
    assert found == () and str(found).startswith("nothing to report")


def test_donation_saves_the_copy():
    def f(x):
        return x.at[0].set(1.0)

    def updates(**options):
        found = jax.jit(f, **options).lower(shaped(1000, 1000)).why()
        return [r for r in found if r.kind == "copy" and r.reason.startswith("4000000 bytes")]

    assert ["the caller keeps" in r.reason for r in updates()] == [True]
    assert updates(donate_argnums=0) == []


def test_kernels_in_loops_are_nothing_to_vectorise():
    """A loop over parallel loops or kernels calls functions; the loops in it are vectorised."""

    def f(x, n):
        return jax.lax.fori_loop(0, n, lambda i, c: jnp.sin(c), x)

    n = jax.ShapeDtypeStruct((), np.int32)
    assert set(kinds(f, shaped(1000, 1000), n)) == {"serial loop", "copy"}


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_large_reductions_are_shared(axis):
    assert kinds(lambda x: jnp.sum(x, axis), shaped(1000, 1000)) == []


def test_short_columns_stay_serial():
    found = jax.jit(lambda x: jnp.sum(x, 0)).lower(shaped(1_000_000, 3)).why()
    serial = [r.reason for r in found if r.kind == "serial loop"]
    assert serial == ["the only dimension that is not reduced is the innermost one, of 3 elements"]


def test_the_program_is_the_same_afterwards():
    """Listening changes nothing in what is compiled, nor is anything heard later."""
    lowered = jax.jit(over_columns).lower(shaped(64, 64))
    before = lowered.as_text("asm")
    first = lowered.why()
    assert lowered.as_text("asm") == before
    assert lowered.why() == first
