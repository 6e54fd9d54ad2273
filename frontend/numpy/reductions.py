"""Reductions over axes: sums, products, extrema, logic, means, variances, cumulative sums."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..primitives.reductions import limits
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import fill_scalar, full_like
from .util import (
    asarray,
    aval_of,
    broadcast_to,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    jit_as,
    no_out,
    shape_of,
)


def _keep(x: Any, out: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if not keepdims:
        return out
    return lax.expand_dims(out, axes) if axes else out


def sum_dtype(dt: Any, promote_integers: bool = True) -> Any:
    """The dtype in which integers of dtype `dt` are added up."""
    if dtypes.is_bool(dt):
        return dtypes.default_int()
    if not promote_integers:
        return dt
    if dtypes.is_unsigned(dt):
        return (
            dtypes.promote_types(dt, dtypes.canonicalize_dtype(np.uint64))
            if dt.itemsize < dtypes.canonicalize_dtype(np.uint64).itemsize
            else dt
        )
    if dtypes.is_signed(dt):
        return dtypes.default_int() if dt.itemsize < dtypes.default_int().itemsize else dt
    return dt


def _reduce(
    who: str,
    a: Any,
    op: Callable,
    identity: Callable[[Any], Any],
    axis: Any,
    keepdims: bool,
    *,
    dtype: Any = None,
    initial: Any = None,
    where: Any = None,
    combine: Callable | None = None,
    upcast: Callable[[Any], Any] | None = None,
    needs_initial: bool = False,
    boolean: bool = False,
    accumulates: bool = False,
) -> Any:
    """Reduce `a` by `op(x, axes)`, whose neutral element for a dtype is `identity(dtype)`.

    `combine` joins the result with `initial`; `upcast` gives the result's dtype where none is asked
    for, which is never weakly typed; `boolean` reduces truth values. Where the operation `accumulates` rounding errors, 16-bit
    floats are reduced in float32 and rounded once.
    """
    check_arraylike(who, a)
    if where is not None:
        check_arraylike(who, where)
    x = asarray(a)
    dt = dtypes.check_user_dtype(dtype) if dtype is not None else None
    if boolean:
        from .ufuncs import to_bool

        # as in jax, complex numbers count by their real part
        x = lax.real(x) if dtypes.is_complex(x.dtype) else x
        x = convert(x, np.dtype(bool)) if not dtypes.is_bool(x.dtype) else to_bool(x)
    result = dt if dt is not None else x.dtype
    if upcast is not None and dt is None:
        result = upcast(x.dtype)
    axes = canonical_axes(axis, x.ndim)
    if where is not None and initial is None and needs_initial:
        raise ValueError(
            f"reduction operation {who} does not have an identity, so to use a where mask one has to specify 'initial'"
        )
    if needs_initial and initial is None and builtins.any(x.shape[i] == 0 for i in axes):
        raise ValueError(f"zero-size array to reduction operation {who} which has no identity")
    if dtypes.is_bool(x.dtype) and dt is not None and combine is not None:
        x = convert(x, dtypes.default_int())
    x = convert(x, result)
    if where is not None:
        from .selection import where as select

        w = where
        x = select(w, x, fill_scalar(identity(result), result))
    narrow = accumulates and dt is None and dtypes.is_float(result) and result.itemsize < 4
    work = convert(x, np.dtype(np.float32)) if narrow else x
    out = op(work, axes)
    if narrow:
        return _with_initial(who, convert(_keep(x, out, axes, keepdims), result), initial, combine)
    return _keep(x, _with_initial(who, out, initial, combine), axes, keepdims)


def _with_initial(who: str, out: Any, initial: Any, combine: Callable | None) -> Any:
    if initial is None:
        return out
    assert combine is not None
    check_arraylike(who, initial)
    if shape_of(initial) != ():
        raise ValueError(
            "initial value must be a scalar. Got array of shape " + str(shape_of(initial))
        )
    return combine(convert(initial, out.dtype), out)


@eager_function
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Sum over axes (all by default). Small integers are added in the default integer type."""
    no_out("sum", out)
    return _reduce(
        "sum", a, lambda x, ax: lax.reduce_sum(x, ax), lambda d: 0, axis, keepdims, dtype=dtype,
        initial=initial, where=where, combine=lax.add,
        upcast=lambda d: sum_dtype(d, promote_integers), accumulates=True,
    )  # fmt: skip


@eager_function
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Product over axes (all by default)."""
    no_out("prod", out)
    return _reduce(
        "prod", a, lambda x, ax: lax.reduce_prod(x, ax), lambda d: 1, axis, keepdims, dtype=dtype,
        initial=initial, where=where, combine=lax.mul,
        upcast=lambda d: sum_dtype(d, promote_integers), accumulates=True,
    )  # fmt: skip


@eager_function
def max(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Maximum over axes; NaN where there is one. Raises ValueError for no elements."""
    no_out("max", out)
    return _reduce(
        "max", a, lax.reduce_max, lambda d: limits(d)[0], axis, keepdims, initial=initial, where=where,
        combine=lax.max, needs_initial=True,
    )  # fmt: skip


@eager_function
def min(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Minimum over axes; NaN where there is one. Raises ValueError for no elements."""
    no_out("min", out)
    return _reduce(
        "min", a, lax.reduce_min, lambda d: limits(d)[1], axis, keepdims, initial=initial, where=where,
        combine=lax.min, needs_initial=True,
    )  # fmt: skip


amax, amin = max, min


@eager_function
def all(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements along axes are nonzero."""
    no_out("all", out)
    return _reduce(
        "all", a, lax.reduce_and, lambda d: True, axis, keepdims, where=where, boolean=True
    )


@eager_function
def any(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether any element along axes is nonzero."""
    no_out("any", out)
    return _reduce(
        "any", a, lax.reduce_or, lambda d: False, axis, keepdims, where=where, boolean=True
    )


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[i] for i in axes)


@eager_function
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """Mean over axes (all by default), in floating point."""
    no_out("mean", out)
    check_arraylike("mean", a)
    x = asarray(a)
    dt = dtypes.to_inexact(x.dtype) if dtype is None else dtypes.check_user_dtype(dtype)
    axes = canonical_axes(axis, x.ndim)
    narrow = dtypes.is_float(dt) and dt.itemsize < 4 and dtype is None
    wide = np.dtype(np.float32) if narrow else dt
    if where is not None:
        there = convert(broadcast_to(where, x.shape), dtypes.default_int())
        n = sum(there, axis=axes, dtype=wide, keepdims=keepdims)
    total = sum(x, axis=axes, dtype=wide, keepdims=keepdims, where=where)
    if where is None:
        n: Any = fill_scalar(_count(x.shape, axes), wide)
    res = lax.div(total, n)
    return convert(res, dt) if wide != dt else res


@eager_function
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Weighted mean over axes; with `returned`, also the sum of the weights."""
    from .ufuncs import multiply, true_divide

    check_arraylike("average", a)
    x = asarray(a)
    axes = canonical_axes(axis, x.ndim)
    if weights is None:
        avg = mean(x, axis=axes, keepdims=keepdims)
        total = full_like(avg, _count(x.shape, axes))
        return (avg, total) if returned else avg
    check_arraylike("average", weights)
    w = asarray(weights)
    if w.shape != x.shape:
        if axis is None:
            raise ValueError("Axis must be specified when shapes of a and weights differ.")
        if len(axes) != 1 or w.ndim != 1:
            raise TypeError("1D weights expected when shapes of a and weights differ.")
        if w.shape[0] != x.shape[axes[0]]:
            raise ValueError("Length of weights not compatible with specified axis.")
        if w.ndim != x.ndim:
            w = lax.reshape(w, tuple(s if i == axes[0] else 1 for i, s in enumerate(x.shape)))
    dt = dtypes.to_inexact(dtypes.promote(((x.dtype, x.weak_type), (w.dtype, w.weak_type)))[0])
    total = sum(w, axis=axes, dtype=dt, keepdims=keepdims)
    avg = true_divide(
        sum(multiply(convert(x, dt), convert(w, dt)), axis=axes, keepdims=keepdims), total
    )
    return (avg, broadcast_to(total, shape_of(avg))) if returned else avg


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def _var(
    a: Any,
    ddof: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    where: Any = None,
    mean_: Any = None,
) -> Any:
    from .selection import where as select

    x = asarray(a)
    dt = dtypes.to_inexact(x.dtype) if dtype is None else dtype
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dt):
        dt = dtypes.to_complex(dt)
    dt = dtypes.to_inexact(dt)
    result = dtypes.to_real(dt) if dtypes.is_complex(x.dtype) else dt
    wide = np.dtype(np.float32) if dtypes.is_float(dt) and dt.itemsize < 4 else dt
    x = convert(x, wide)
    axes = canonical_axes(axis, x.ndim)
    m = mean(x, axis=axes, keepdims=True, where=where) if mean_ is None else convert(mean_, wide)
    centered = lax.sub(
        x, broadcast_to(m, x.shape) if shape_of(m) != x.shape and len(shape_of(m)) != x.ndim else m
    )
    sq = (
        lax.real(lax.mul(centered, lax.conj(centered)))
        if dtypes.is_complex(wide)
        else lax.square(centered)
    )
    real = dtypes.to_real(wide)
    if where is None:
        n: Any = fill_scalar(_count(x.shape, axes), real)
    else:
        n = sum(broadcast_to(where, x.shape), axis=axes, dtype=real, keepdims=keepdims)
    n = lax.sub(n, convert(ddof, real))
    total = sum(sq, axis=axes, keepdims=keepdims, where=where)
    out = convert(lax.div(total, n), result)
    out = select(lax.gt(n, fill_scalar(0, real)), out, np.nan)
    return convert(out, result)


def check_variance_dtype(who: str, x_dtype: Any, dtype: Any) -> None:
    """Raise ValueError where the variance of complex numbers is asked for in a real dtype."""
    if dtype is not None and dtypes.is_complex(x_dtype) and not dtypes.is_complex(dtype):
        raise ValueError(
            f"jax.numpy.{who} does not yet support real dtype parameters when computing the "
            f"variance of an array of complex values. The semantics of numpy.{who} seem unclear in "
            "this case."
        )


def _variance(
    who: str,
    run: Callable,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    mean: Any,
    correction: Any,
) -> Any:
    """What var and std do with their arguments before `run` computes."""
    no_out(who, out)
    check_arraylike(who, a)
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    return run(
        a,
        ddof,
        axis=tuple(axis) if isinstance(axis, list) else axis,
        dtype=dtype,
        keepdims=bool(keepdims),
        where=where,
        mean_=mean,
    )  # fmt: skip


@eager_function
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """Variance over axes, with divisor N - ddof; NaN where that is not positive."""
    check_arraylike("var", a)
    dt = None if dtype is None else dtypes.check_user_dtype(dtype)
    check_variance_dtype("var", aval_of(a).dtype, dt)
    return _variance("var", _var, a, axis, dt, out, ddof, keepdims, where, mean, correction)


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def _std(
    a: Any,
    ddof: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    where: Any = None,
    mean_: Any = None,
) -> Any:
    return lax.sqrt(
        _var(a, ddof, axis=axis, dtype=dtype, keepdims=keepdims, where=where, mean_=mean_)
    )


@eager_function
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """Standard deviation over axes: the square root of `var`."""
    dt = None if dtype is None else dtypes.check_user_dtype(dtype)
    if dt is not None and not dtypes.is_inexact(dt):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dt}")
    return _variance("std", _std, a, axis, dt, out, ddof, keepdims, where, mean, correction)


@library_jit(static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return lax.sub(max(a, axis=axis, keepdims=keepdims), min(a, axis=axis, keepdims=keepdims))


@eager_function
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """Range over axes: maximum minus minimum."""
    no_out("ptp", out)
    check_arraylike("ptp", a)
    return _ptp(a, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)


@library_jit(static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Number of nonzero elements over axes."""
    check_arraylike("count_nonzero", a)
    x = asarray(a)
    return sum(
        lax.ne(x, fill_scalar(0, x.dtype)), axis=axis, dtype=dtypes.default_int(), keepdims=keepdims
    )


# --- arg-reductions ------------------------------------------------------------------------


def _arg(who: str, op: Callable, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    no_out(who, out)
    check_arraylike(who, a)
    x = asarray(a)
    flat = axis is None
    if flat:
        shape = x.shape
        x = lax.reshape(x, (x.size,)) if x.ndim != 1 else x
        i = 0
    else:
        i = canonical_axis(axis, x.ndim)
    if x.shape[i] == 0:
        raise ValueError(f"attempt to get {who} of an empty sequence")
    dt = (
        np.dtype(np.int32)
        if x.shape[i] < 2**31 or dtypes.default_int().itemsize == 4
        else np.dtype(np.int64)
    )
    dt = dtypes.default_int() if dtypes.default_int().itemsize == 8 else dt
    r = op(x, i, dt)
    if keepdims:
        return lax.expand_dims(r, tuple(range(len(shape)))) if flat else lax.expand_dims(r, (i,))
    return r


@eager_function
def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Index of the first maximum (or first NaN) along an axis, or of the flattened array."""
    return _arg("argmax", lax.argmax, a, axis, out, keepdims)


@eager_function
def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Index of the first minimum (or first NaN) along an axis, or of the flattened array."""
    return _arg("argmin", lax.argmin, a, axis, out, keepdims)


# --- cumulative ----------------------------------------------------------------------------


def _cumulative(who: str, op: Callable, a: Any, axis: Any, dtype: Any, fill: Any = None) -> Any:
    x = asarray(a)
    if axis is None:
        x, i = (lax.reshape(x, (x.size,)) if x.ndim != 1 else x), 0
    else:
        i = canonical_axis(axis, x.ndim)
    if fill is not None:
        from .selection import where

        x = where(lax.ne(x, x), fill_scalar(fill, x.dtype), x)
    if dtype is None:
        dt = sum_dtype(x.dtype) if dtypes.is_bool(x.dtype) else x.dtype
    else:
        dt = dtype
    if dtypes.is_bool(dt):
        from .ufuncs import to_bool

        return convert(op(convert(to_bool(x), dtypes.default_int()), i), dt)
    return op(convert(x, dt), i)


def _make_cumulative(name: str, op: Callable, fill: Any, doc: str) -> Callable:
    def body(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        return _cumulative(name, op, a, axis, dtype, fill)

    body.__name__ = name
    run = library_jit(body, static_argnames=("axis", "dtype"))

    def f(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        no_out(name, out)
        check_arraylike(name, a)
        dt = None if dtype is None else dtypes.check_user_dtype(dtype)
        return run(a, axis=axis, dtype=dt)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


cumsum = _make_cumulative(
    "cumsum", lax.cumsum, None, "Cumulative sum along an axis (of the flattened array by default)."
)
cumprod = _make_cumulative(
    "cumprod",
    lax.cumprod,
    None,
    "Cumulative product along an axis (of the flattened array by default).",
)
nancumsum = _make_cumulative("nancumsum", lax.cumsum, 0, "Cumulative sum with NaN counted as 0.")
nancumprod = _make_cumulative(
    "nancumprod", lax.cumprod, 1, "Cumulative product with NaN counted as 1."
)


def _cumulative_array_api(
    who: str, op: Callable, start: Any, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Any:
    check_arraylike(who, x)
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError(
            "The input must be non-scalar to take a cumulative sum, however a scalar value or scalar array was given."
        )
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"The input array has rank {x.ndim}, however axis was not set to an explicit value. The axis argument is only optional for one-dimensional arrays."
            )
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    if dtype is not None:
        dt = dtypes.check_user_dtype(dtype)
    else:
        dt = sum_dtype(x.dtype) if who == "cumulative_sum" else x.dtype
    out = op(x, axis=axis, dtype=dt)
    if include_initial:
        from .creation import full
        from .manipulation import concatenate

        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        out = concatenate([full(shape, start, dtype=out.dtype), out], axis)
    return out


@jit_as("_cumsum_with_promotion", static_argnames=("axis", "dtype"))
def _cumsum_with_promotion(a: Any, axis: int, dtype: Any) -> Any:
    return _cumulative("cumsum", lax.cumsum, a, axis, dtype)


def _cumprod(a: Any, axis: int, dtype: Any) -> Any:
    return _cumulative("cumprod", lax.cumprod, a, axis, dtype)


@eager_function
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Cumulative sum along an axis, starting with 0 if `include_initial`."""
    return _cumulative_array_api(
        "cumulative_sum", _cumsum_with_promotion, 0, x, axis, dtype, include_initial
    )


@eager_function
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Cumulative product along an axis, starting with 1 if `include_initial`."""
    return _cumulative_array_api("cumulative_prod", _cumprod, 1, x, axis, dtype, include_initial)


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod",
    "cumsum", "cumulative_prod", "cumulative_sum", "max", "mean", "min", "nancumprod",
    "nancumsum", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip
