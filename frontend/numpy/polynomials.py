"""Polynomials given by their coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import lax
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import arange, array, full, zeros
from .editing import trim_zeros
from .manipulation import atleast_1d, concatenate
from .reductions import prod
from .statistics import convolve
from .ufuncs import add, multiply, negative, true_divide
from .util import (
    asarray,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
    rank0,
    shape_of,
)


@library_jit(static_argnames=("unroll",))
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The polynomial with coefficients `p` at `x`, by Horner's rule."""
    check_arraylike("polyval", p, x)
    p, x = promote_dtypes_inexact(p, x)
    shape = (*shape_of(p)[1:],)
    from .util import broadcast_shapes

    y = full(broadcast_shapes(shape_of(x), shape), 0, x.dtype)
    for i in range(p.shape[0]):
        y = add(multiply(y, x), p[i])
    return y


@library_jit
def polyadd(a1: Any, a2: Any) -> Any:
    """Sum of two polynomials."""
    check_arraylike("polyadd", a1, a2)
    a1, a2 = promote_dtypes(a1, a2)
    if a2.shape[0] <= a1.shape[0]:
        return a1.at[a1.shape[0] - a2.shape[0] :].add(a2)
    return a2.at[a2.shape[0] - a1.shape[0] :].add(a1)


@library_jit
def polysub(a1: Any, a2: Any) -> Any:
    """Difference of two polynomials."""
    check_arraylike("polysub", a1, a2)
    a1, a2 = promote_dtypes(a1, a2)
    return polyadd(a1, negative(a2))


@eager_function
def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Product of two polynomials.

    `trim_leading_zeros` removes the leading zeros of the factors, whose values must be known.
    """
    check_arraylike("polymul", a1, a2)
    a1, a2 = promote_dtypes_inexact(a1, a2)
    if trim_leading_zeros and (len(a1) > 1 or len(a2) > 1):
        a1, a2 = trim_zeros(a1, trim="f"), trim_zeros(a2, trim="f")
    if len(a1) == 0:
        a1 = asarray(np.zeros(1, a2.dtype))
    if len(a2) == 0:
        a2 = asarray(np.zeros(1, a1.dtype))
    return convolve(a1, a2, mode="full")


@eager_function
def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials.

    `trim_leading_zeros` removes the leading zeros of the remainder, whose values must be known.
    """
    check_arraylike("polydiv", u, v)
    u, v = promote_dtypes_inexact(u, v)
    m, n = len(u) - 1, len(v) - 1
    scale = lax.div(rank0(1, v.dtype), v[0])
    q = zeros(max(m - n + 1, 1), u.dtype)
    for k in range(m - n + 1):
        d = lax.mul(scale, u[k])
        q = q.at[k].set(d)
        u = u.at[k : k + n + 1].add(lax.mul(lax.neg(d), v))
    if trim_leading_zeros:
        u = trim_zeros(u, trim="f")
    return q, u


@library_jit(static_argnames=("m",))
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial. Raises ValueError for m < 0."""
    check_arraylike("polyder", p)
    m = operator.index(m)
    (p,) = promote_dtypes_inexact(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    n = len(p)
    powers = lax.add(rank0(m, p.dtype), arange(n - m, dtype=p.dtype))
    table = lax.sub(lax.expand_dims(powers, (0,)), lax.expand_dims(arange(m, dtype=p.dtype), (1,)))
    factors = prod(table, axis=0)
    return lax.mul(p[:-m], lax.rev(factors, (0,)))


@library_jit(static_argnames=("m",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, with constants `k` (zeros by default)."""
    m = operator.index(m)
    k = 0 if k is None else k
    check_arraylike("polyint", p, k)
    p, k = promote_dtypes_inexact(p, k)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if len(k) == 1:
        k = full((m,), k[0])
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return p
    n = len(p) + m
    table = lax.sub(
        lax.expand_dims(arange(n, dtype=p.dtype), (0,)),
        lax.expand_dims(arange(m, dtype=p.dtype), (1,)),
    )
    divisors = lax.rev(prod(lax.max(rank0(1, p.dtype), table), axis=0), (0,))
    return true_divide(concatenate([p, k]), divisors)


@library_jit
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with the given zeros and leading coefficient 1."""
    check_arraylike("poly", seq_of_zeros)
    (z,) = promote_dtypes_inexact(seq_of_zeros)
    z = atleast_1d(z)
    if z.ndim == 2 and z.shape[0] == z.shape[1] and z.shape[0] != 0:
        raise NotImplementedError(
            "poly of a matrix needs eigenvalues: linear algebra is not there yet"
        )
    if z.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(z) == 0:
        return array(1.0, dtype=z.dtype)
    out = full((1,), 1, z.dtype)
    for i in range(len(z)):
        one = full((1,), 1, z.dtype)
        factor = concatenate([one, lax.expand_dims(lax.neg(z[i]), (0,))])
        out = convolve(out, factor, mode="full")
    return out


@eager_function
def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The zeros of a polynomial; not implemented: it needs eigenvalues."""
    check_arraylike("roots", p)
    raise NotImplementedError("roots needs eigenvalues: linear algebra is not there yet")


@eager_function
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
    cov: bool = False,
) -> Any:  # fmt: skip
    """A polynomial fitted by least squares; not implemented: it needs linear algebra."""
    check_arraylike("polyfit", x, y)
    raise NotImplementedError("polyfit needs least squares: linear algebra is not there yet")


__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
    "roots",
]  # fmt: skip
