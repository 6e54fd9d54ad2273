"""Comparison of whole arrays, and closeness."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .reductions import all as _all
from .ufuncs import isfinite, isnan, logical_and, logical_or
from .util import (
    check_arraylike,
    convert,
    promote_args,
    promote_dtypes,
    rank0,
    shape_of,
)


@library_jit(static_argnames=("equal_nan",))
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol * |b| elementwise; equal infinities are close."""
    a, b = promote_args("isclose", a, b)
    dt = a.dtype
    if dtypes.is_bool(dt):
        dt = dtypes.default_int()
    if dtypes.is_integer(dt):
        dt = dtypes.default_float()
    if dt != a.dtype:
        a, b = convert(a, dt), convert(b, dt)
    real = dtypes.to_real(dt)
    rtol, atol = convert(rtol, real), convert(atol, real)
    both_nan = logical_and(isnan(a), isnan(b))
    finite = isfinite(b)
    near = lax.le(lax.abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, lax.abs(b))))
    equal = lax.eq(a, b)
    out = logical_or(equal, logical_and(finite, near))
    return logical_or(out, both_nan) if equal_nan else out


@library_jit(static_argnames=("equal_nan",))
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close in the sense of `isclose`."""
    check_arraylike("allclose", a, b)
    return _all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


@eager_function
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and elements."""
    check_arraylike("array_equal", a1, a2)
    if shape_of(a1) != shape_of(a2):
        return rank0(False, np.dtype(bool))
    x, y = promote_dtypes(a1, a2)
    same = lax.eq(x, y)
    if equal_nan and dtypes.is_inexact(x.dtype):
        same = lax.bitwise_or(same, lax.bitwise_and(isnan(x), isnan(y)))
    return _all(same)


@eager_function
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays are equal after broadcasting."""
    check_arraylike("array_equiv", a1, a2)
    try:
        a1, a2 = promote_args("array_equiv", a1, a2)
    except ValueError:
        return rank0(False, np.dtype(bool))
    return _all(lax.eq(a1, a2))


__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]
