"""Reductions that leave NaN out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from . import reductions
from .reductions import all as _all
from .reductions import argmax, argmin
from .selection import where as select
from .ufuncs import isnan
from .util import (
    asarray,
    check_arraylike,
    convert,
    jit_as,
    like,
    no_out,
)


def _reduction(name: str, op: Callable, value: float, doc: str) -> Callable:
    """sum or prod, with NaN counted as the neutral element."""

    def f(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        no_out(name, out)
        check_arraylike(name, a)
        x = asarray(a)
        if dtypes.is_inexact(x.dtype):
            x = select(isnan(x), like(x, value), x)
        return op(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    f.__doc__, f.__module__ = doc, __name__
    return jit_as(name, static_argnames=("axis", "dtype", "keepdims"))(f)


nansum = _reduction("nansum", reductions.sum, 0, "Sum over axes with NaN counted as 0.")
nanprod = _reduction("nanprod", reductions.prod, 1, "Product over axes with NaN counted as 1.")


def _extremum(name: str, op: Callable, value: float, doc: str) -> Callable:
    def f(
        a: Any,
        axis: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        no_out(name, out)
        check_arraylike(name, a)
        x = asarray(a)
        if not dtypes.is_inexact(x.dtype):
            return op(x, axis=axis, keepdims=keepdims, initial=initial, where=where)
        filled = select(isnan(x), like(x, value), x)
        res = op(filled, axis=axis, keepdims=keepdims, initial=initial, where=where)
        if initial is None:
            res = select(_all(isnan(x), axis=axis, keepdims=keepdims), like(x, np.nan), res)
        return res

    f.__doc__, f.__module__ = doc, __name__
    return jit_as(name, static_argnames=("axis", "keepdims"))(f)


nanmax = _extremum(
    "nanmax", reductions.max, -np.inf, "Maximum over axes without NaN; NaN where all are NaN."
)
nanmin = _extremum(
    "nanmin", reductions.min, np.inf, "Minimum over axes without NaN; NaN where all are NaN."
)


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """Mean over axes of what is not NaN; NaN where all are NaN."""
    no_out("nanmean", out)
    check_arraylike("nanmean", a)
    x = asarray(a)
    if dtypes.is_bool(x.dtype) or dtypes.is_integer(x.dtype):
        return reductions.mean(x, axis, dtype, keepdims=keepdims, where=where)
    dt = x.dtype if dtype is None else dtypes.check_user_dtype(dtype)
    there = convert(lax.bitwise_not(isnan(x)), np.dtype(np.int32))
    count = reductions.sum(there, axis=axis, dtype=dt, keepdims=keepdims, where=where)
    total = nansum(x, axis, dtype=dt, keepdims=keepdims, where=where)
    return lax.div(total, count)


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Variance over axes of what is not NaN, with divisor N - ddof; NaN where that is not positive."""
    no_out("nanvar", out)
    check_arraylike("nanvar", a)
    x = asarray(a)
    dt = dtypes.to_inexact(x.dtype) if dtype is None else dtypes.check_user_dtype(dtype)
    reductions.check_variance_dtype("var", x.dtype, None if dtype is None else dt)
    narrow = dtypes.is_float(dt) and dt.itemsize < 4
    wide = np.dtype(np.float32) if narrow else dt
    x = convert(x, wide)
    m = nanmean(x, axis, dtype=wide, keepdims=True, where=where) if mean is None else mean
    from .ufuncs import subtract

    centered = select(isnan(x), 0, subtract(x, m))
    if dtypes.is_complex(centered.dtype):
        centered = lax.real(lax.mul(centered, lax.conj(centered)))
    else:
        centered = lax.square(centered)
    there = lax.bitwise_not(isnan(x))
    n = reductions.sum(there, axis=axis, keepdims=keepdims, where=where)
    n = lax.sub(n, convert(ddof, n.dtype))
    bad = lax.le(n, like(n, 0))
    total = reductions.sum(centered, axis=axis, keepdims=keepdims, where=where)
    total = select(bad, np.nan, total)
    divisor = select(bad, 1, n)
    out_ = lax.div(total, convert(divisor, total.dtype))
    return convert(out_, dtypes.to_real(dt))


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Standard deviation over axes of what is not NaN: the square root of `nanvar`."""
    no_out("nanstd", out)
    check_arraylike("nanstd", a)
    return lax.sqrt(
        nanvar(a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
    )


def _arg(name: str, op: Callable, value: float) -> Callable:
    @jit_as(f"_{name}", static_argnames=("axis", "keepdims"))
    def f(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if not dtypes.is_inexact(a.dtype):
            return op(a, axis=axis, keepdims=keepdims)
        nans = isnan(a)
        res = op(select(nans, value, a), axis=axis, keepdims=keepdims)
        return select(_all(nans, axis=axis, keepdims=keepdims), -1, res)

    return f


_nanargmax, _nanargmin = _arg("nanargmax", argmax, -np.inf), _arg("nanargmin", argmin, np.inf)


@eager_function
def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Index of the first maximum without NaN; -1 where all are NaN."""
    no_out("nanargmax", out)
    check_arraylike("nanargmax", a)
    return _nanargmax(asarray(a), axis=axis, keepdims=bool(keepdims))


@eager_function
def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Index of the first minimum without NaN; -1 where all are NaN."""
    no_out("nanargmin", out)
    check_arraylike("nanargmin", a)
    return _nanargmin(asarray(a), axis=axis, keepdims=bool(keepdims))


__all__ = [
    "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]  # fmt: skip
