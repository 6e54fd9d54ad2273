"""Nothing in the core forbids a dimension that is no integer; see docs/symbolic_dimensions.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lingon
from lingon import lax
from lingon.frontend.core.avals import ShapedArray


class Dim:
    """A named dimension, with as much arithmetic as sizes need."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Dim) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __mul__(self, other: Any) -> Dim:
        return Dim(f"{other}*{self.name}")

    __rmul__ = __mul__


def test_avals() -> None:
    a = ShapedArray((Dim("n"), 3), np.float32)
    assert str(a) == "float32[n,3]" and a.str_short() == "f32[n,3]" and a.ndim == 2
    assert a == ShapedArray((Dim("n"), 3), np.float32)
    assert hash(a) == hash(ShapedArray((Dim("n"), 3), np.float32))
    assert a != ShapedArray((Dim("m"), 3), np.float32) and a != ShapedArray((4, 3), np.float32)
    assert a.same_type(a.update(weak_type=True)) and str(a.size) == "3*1*n"
    assert str(lingon.ShapeDtypeStruct((Dim("n"),), np.int32)) == (
        "ShapeDtypeStruct(shape=(n,), dtype=int32)"
    )


@pytest.mark.parametrize(
    "f, text",
    [
        (lax.sin, "{ lambda ; a:f32[n,3]. let b:f32[n,3] = sin a in (b,) }"),
        (lambda x: x + x, "{ lambda ; a:f32[n,3]. let b:f32[n,3] = add a a in (b,) }"),
        (lambda x: x * 2.0, "{ lambda ; a:f32[n,3]. let b:f32[n,3] = mul a 2.0:f32[] in (b,) }"),
        (lambda x: x.T, "b:f32[3,n] = transpose[permutation=(1, 0)] a"),
        (lambda x: x.sum(1), "b:f32[n] = reduce_sum[axes=(1,) out_sharding=None] a"),
        (lingon.jit(lax.exp), "b:f32[n,3] = exp a"),
    ],
)
def test_programs(f: Any, text: str) -> None:
    struct = lingon.ShapeDtypeStruct((Dim("n"), 3), np.float32)
    traced = lingon.jit(f).trace(struct)
    assert text in str(traced.jaxpr)
    assert traced.in_avals[0][0].shape == (Dim("n"), 3)


def test_lowering_says_that_it_cannot() -> None:
    struct = lingon.ShapeDtypeStruct((Dim("n"), 3), np.float32)
    with pytest.raises(NotImplementedError, match=r"argument 0 of .* float32\[n,3\].*fixed"):
        lingon.jit(lax.sin).lower(struct)
