"""Errors of reductions, cumulative reductions and contractions."""

from __future__ import annotations

import numpy as np
import pytest
from errors import B, C, Case, I, V, X, Y, check, ids

EMPTY = np.ones((0, 3), np.float32)

REDUCTIONS: list[Case] = [
    ("sum range", lambda lax: lax.reduce_sum(X, (2,)), "axes \\(2,\\).*float32\\[3,4\\]"),
    ("sum negative", lambda lax: lax.reduce_sum(X, (-1,)), "axes \\(-1,\\) contains out-of-bounds"),
    ("sum twice", lambda lax: lax.reduce_sum(X, (0, 0)), "duplicate value in 'axes'.*\\(0, 0\\)"),
    ("sum int", lambda lax: lax.reduce_sum(X, 0), "iterable"),
    ("sum bool", lambda lax: lax.reduce_sum(B, (0,)), "reduce_sum does not accept dtype bool"),
    ("prod bool", lambda lax: lax.reduce_prod(B, (0,)), "reduce_prod does not accept dtype bool"),
    ("max range", lambda lax: lax.reduce_max(X, (2,)), "out-of-bounds"),
    ("and float", lambda lax: lax.reduce_and(V, (0,)), "bool or int, got float32"),
    ("or complex", lambda lax: lax.reduce_or(C, (0,)), "bool or int, got complex64"),
    ("xor float", lambda lax: lax.reduce_xor(V, (5,)), "bool or int, got float32"),
    ("argmax range", lambda lax: lax.argmax(X, 2, np.int32), "Invalid axis 2.*\\(3, 4\\)"),
    ("argmax negative", lambda lax: lax.argmax(X, -1, np.int32), "Invalid axis -1"),
    ("argmax empty", lambda lax: lax.argmax(EMPTY, 0, np.int32), "non-empty reduced dimension"),
    ("argmax dtype", lambda lax: lax.argmax(X, 0, np.float32), "integer type, but got float32"),
    ("argmax no dtype", lambda lax: lax.argmax(X, 0, None), "dtype must be specified"),
    ("argmin complex", lambda lax: lax.argmin(C, 0, np.int32), "does not accept dtype complex64"),
    ("argmax tuple", lambda lax: lax.argmax(X, (0,), np.int32), "tuple"),
    ("cumsum range", lambda lax: lax.cumsum(X, 2), "axis 2 is out of bounds.*\\(3, 4\\)"),
    ("cumsum negative", lambda lax: lax.cumsum(X, -1), "negative axes"),
    ("cumsum bool", lambda lax: lax.cumsum(B), "cumsum does not accept dtype bool"),
    ("cummax bool", lambda lax: lax.cummax(B), "cummax does not accept dtype bool"),
    ("cumprod list", lambda lax: lax.cumprod([1.0]), "list"),
    ("cumsum scalar", lambda lax: lax.cumsum(1.0), "out of bounds for array of shape \\(\\)"),
    ("reduce init", lambda lax: lax.reduce(X, V, lax.add, (0,)), "non-scalar initial value.*3"),
    ("reduce trees", lambda lax: lax.reduce((X, X), 0.0, lax.add, (0,)), "same tree structure"),
    ("reduce axis", lambda lax: lax.reduce(X, 0.0, lax.add, (5,)), "out-of-bounds"),
    ("reduce none", lambda lax: lax.reduce((), (), lambda a, b: a, (0,)), "at least one|empty"),
]


def dot(lhs, rhs, contracting, batch=((), ()), **more):  # type: ignore[no-untyped-def]
    return lambda lax: lax.dot_general(lhs, rhs, (contracting, batch), **more)


CONTRACTIONS: list[Case] = [
    ("sizes", dot(X, X, ((1,), (0,))), "contracting dimensions.*got \\(4,\\) and \\(3,\\)"),
    ("twice", dot(X, Y, ((1, 1), (0, 0))), "lhs contracting dimensions to be distinct.*\\(1, 1\\)"),
    ("numbers", dot(X, Y, ((1,), (0, 1))), "same shape, got \\(4,\\) and \\(4, 5\\)"),
    ("batch numbers", dot(X, Y, ((1,), (0,)), ((0,), ())), "equal numbers.*\\(0,\\).*\\(\\)"),
    (
        "batch sizes",
        dot(X, Y, ((1,), (0,)), ((0,), (1,))),
        "batch dimensions.*\\(3,\\) and \\(5,\\)",
    ),
    ("overlap", dot(X, Y, ((1,), (0,)), ((1,), (0,))), "disjoint from contracting"),
    ("range", dot(X, Y, ((2,), (0,))), "lhs dimension numbers.*\\(2,\\).*rank 2"),
    ("negative", dot(X, Y, ((-1,), (0,))), "nonnegative.*\\(-1,\\)"),
    ("precision", dot(X, Y, ((1,), (0,)), precision="foo"), "Precision argument.*but got foo|foo"),
    ("dot ranks", lambda lax: lax.dot(X[None], Y), "lhs_shape=\\(1, 3, 4\\) rhs_shape=\\(4, 5\\)"),
    ("dot sizes", lambda lax: lax.dot(X, X), "lhs_shape=\\(3, 4\\)"),
    ("dot scalars", lambda lax: lax.dot(2.0, V), "lhs_shape=\\(\\)"),
    ("batch_matmul ranks", lambda lax: lax.batch_matmul(X[None], X), "same ndim, got 3, 2"),
    ("batch_matmul vectors", lambda lax: lax.batch_matmul(V, V), "at least 2D, got 1, 1"),
]

# jax reports these from its compiler
COMPILER: list[tuple[Case, type[Exception]]] = [
    (("reduce types", lambda lax: lax.reduce(X, 0.0, lax.gt, (0,)), "scalars of the op"), TypeError),
    (("reduce shapes", lambda lax: lax.reduce((X, Y), (0.0, 0.0), lambda a, b: a, (0,)), "equal shapes"), ValueError),
    (("reduce negative", lambda lax: lax.reduce(X, 0.0, lambda a, b: lax.mul(a, lax.neg(b)), (-1,)), "out-of-bounds"), ValueError),
    (("cumlogsumexp int", lambda lax: lax.cumlogsumexp(I), "does not accept dtype int32"), TypeError),
]  # fmt: skip


@pytest.mark.parametrize("case", REDUCTIONS, ids=ids(REDUCTIONS))
def test_reductions(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", CONTRACTIONS, ids=ids(CONTRACTIONS))
def test_contractions(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case,error", COMPILER, ids=ids([c for c, _ in COMPILER]))
def test_errors_of_the_compiler_in_jax(case: Case, error: type[Exception]) -> None:
    check(case, error)
