"""Errors of functions that create and rearrange arrays."""

from __future__ import annotations

import numpy as np
import pytest
from errors import Case, I, V, X, check, ids

ONE = np.ones((1, 3), np.float32)
CASES: list[Case] = [
    ("broadcast negative", lambda lax: lax.broadcast_in_dim(V, (-2, 3), (1,)), "nonnegative, got \\(-2, 3\\)"),
    ("broadcast dims negative", lambda lax: lax.broadcast_in_dim(V, (2, 3), (-1,)), "nonnegative"),
    ("broadcast dims twice", lambda lax: lax.broadcast_in_dim(X, (3, 4), (1, 1)), "duplicates|either be 1"),
    ("broadcast sizes", lambda lax: lax.broadcast_in_dim(V, (2, 4), (1,)), "shape \\(3,\\).*\\(2, 4\\)"),
    ("broadcast length", lambda lax: lax.broadcast_in_dim(V, (2, 4), ()), "length equal to operand ndim"),
    ("broadcast range", lambda lax: lax.broadcast_in_dim(V, (2, 3), (2,)), "subset of output dim"),
    ("broadcast sizes negative", lambda lax: lax.broadcast(V, (-1,)), "nonnegative"),
    ("full vector", lambda lax: lax.full((2,), V), "scalar fill_value.*\\(3,\\)"),
    ("full negative", lambda lax: lax.full((-2,), 1.0), "nonnegative, got \\(-2,\\)"),
    ("full float shape", lambda lax: lax.full((2.0,), 1.0), "integer type, got"),
    ("full dtype", lambda lax: lax.full((2,), 1, "foo"), "foo"),
    ("full None", lambda lax: lax.full((2,), None), "None"),
    ("iota bool", lambda lax: lax.iota(bool, 2), "iota does not accept dtype bool"),
    ("iota negative", lambda lax: lax.iota(np.int32, -1), "nonnegative, got \\(-1,\\)"),
    ("iota float", lambda lax: lax.iota(np.int32, 3.0), "integer type"),
    ("iota dimension", lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 2), "dimension=2"),
    ("iota dtype", lambda lax: lax.iota("str", 3), "dtype"),
    ("shapes", lambda lax: lax.broadcast_shapes((2, 3), (2,)), "Incompatible shapes"),
    ("reshape -1", lambda lax: lax.reshape(X, (-1,)), "positive, got \\(-1,\\)"),
    ("reshape float", lambda lax: lax.reshape(X, (12.0,)), "integer type"),
    ("reshape dims", lambda lax: lax.reshape(X, (12,), (0, 0)), "permutation.*\\(0, 0\\)"),
    ("transpose short", lambda lax: lax.transpose(X, (0,)), "permutation \\(0,\\).*\\(3, 4\\)"),
    ("transpose negative", lambda lax: lax.transpose(X, (-1, 0)), "permutation \\(-1, 0\\)"),
    ("transpose float", lambda lax: lax.transpose(X, (1.0, 0)), "integer"),
    ("transpose int", lambda lax: lax.transpose(X, 1), "iterable"),
    ("squeeze size", lambda lax: lax.squeeze(X, (0,)), "not equal to one.*\\(3, 4\\)"),
    ("squeeze range", lambda lax: lax.squeeze(X, (2,)), "axis 2 is out of bounds.*2"),
    ("squeeze twice", lambda lax: lax.squeeze(ONE, (0, -2)), "not unique: \\(0, 0\\)"),
    ("expand_dims range", lambda lax: lax.expand_dims(X, (5,)), "axis 5 is out of bounds"),
    ("expand_dims twice", lambda lax: lax.expand_dims(X, (0, 0)), "repeated axis"),
    ("collapse", lambda lax: lax.collapse(X, 1, 0), "Invalid dimension range.*\\[1:0\\]"),
    ("slice limit", lambda lax: lax.slice(X, (0, 0), (3, 5), (1, 1)), "less than or equal.*\\(3, 5\\)"),
    ("slice start", lambda lax: lax.slice(X, (-1, 0), (3, 4), (1, 1)), "start_indices.*nonneg"),
    ("slice order", lambda lax: lax.slice(X, (2, 0), (1, 4), (1, 1)), "limit_indices"),
    ("slice strides", lambda lax: lax.slice(X, (0, 0), (3, 4), (-1, 1)), "strides"),
    ("slice strides length", lambda lax: lax.slice(X, (0, 0), (3, 4), (1,)), "strides must have l"),
    ("rev twice", lambda lax: lax.rev(X, (0, 0)), "unique, got \\(0, 0\\)"),
    ("rev range", lambda lax: lax.rev(X, (2,)), "less than operand ndim"),
    ("rev negative", lambda lax: lax.rev(X, (-1,)), "nonnegative, got \\(-1,\\)"),
    ("pad dtype", lambda lax: lax.pad(V, 0, ((0, 0, 0),)), "float32 and int32"),
    ("pad length", lambda lax: lax.pad(X, 0.0, ((0, 0, 0),)), "length of padding_config"),
    ("pad interior", lambda lax: lax.pad(V, 0.0, ((0, 0, -1),)), "interior padding.*nonnegative"),
    ("pad negative", lambda lax: lax.pad(V, 0.0, ((-4, 0, 0),)), "result shape \\(-1,\\)"),
    ("pad value", lambda lax: lax.pad(V, V, ((0, 0, 0),)), "scalar.*\\(3,\\)"),
    ("pad pairs", lambda lax: lax.pad(V, 0.0, ((0, 0),)), "unpack"),
    ("concatenate none", lambda lax: lax.concatenate([], 0), "non-empty"),
    ("concatenate shapes", lambda lax: lax.concatenate([X, X.T], 0), "\\(3, 4\\), \\(4, 3\\)"),
    ("concatenate ranks", lambda lax: lax.concatenate([X, V], 0), "different numbers of dimensions"),
    ("concatenate dtypes", lambda lax: lax.concatenate([V, I], 0), "got float32, int32"),
    ("concatenate axis", lambda lax: lax.concatenate([X, X], 2), "out of bounds: dimension 2"),
    ("concatenate negative", lambda lax: lax.concatenate([X, X], -1), "out of bounds"),
    ("concatenate scalars", lambda lax: lax.concatenate([1.0, 2.0], 0), "out of bounds"),
    ("split sum", lambda lax: lax.split(X, (1, 1), 0), "Sum of sizes 2"),
    ("split negative", lambda lax: lax.split(X, (-1, 4), 0), "nonnegative"),
    ("split axis", lambda lax: lax.split(X, (1, 2), 2), "axis 2 is out of bounds"),
    ("tile length", lambda lax: lax.tile(X, (2,)), "len\\(reps\\)=1 and x.ndim=2"),
    ("stack none", lambda lax: lax.stack([]), "non-empty"),
    ("stack ranks", lambda lax: lax.stack([X, V]), "different numbers of dimensions"),
    ("stack axis", lambda lax: lax.stack([X, X], 3), "axis 3 is out of bounds"),
    ("stack dtypes", lambda lax: lax.stack([V, I]), "got float32, int32"),
    ("unstack axis", lambda lax: lax.unstack(X, 2), "axis 2 is out of bounds"),
    ("unstack scalar", lambda lax: lax.unstack(1.0), "out of bounds"),
]  # fmt: skip

# jax reports these from its compiler, with another type eagerly than while tracing
COMPILER: list[Case] = [
    ("reshape size", lambda lax: lax.reshape(X, (5,)), "total size must be unchanged.*\\(5,\\)"),
    ("tile negative", lambda lax: lax.tile(X, (-1, 2)), "nonnegative, got \\(-1, 2\\)"),
    (
        "slice stride 0",
        lambda lax: lax.slice(X, (0, 0), (3, 4), (0, 1)),
        "positive, got \\(0, 1\\)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_errors(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", COMPILER, ids=ids(COMPILER))
def test_errors_of_the_compiler_in_jax(case: Case) -> None:
    check(case, TypeError)
