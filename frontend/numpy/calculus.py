"""Differences, slopes, areas, interpolation."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .manipulation import concatenate, moveaxis, ravel
from .selection import clip, where
from .util import (
    asarray,
    canonical_axis,
    check_arraylike,
    convert,
    like,
    promote_args_inexact,
    promote_dtypes_inexact,
    shape_of,
)


@library_jit(static_argnames=("n", "axis"))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences of neighbours along an axis.

    `prepend` and `append` are joined to the array first. Raises ValueError for scalars and n < 0.
    """
    check_arraylike("diff", a)
    x = asarray(a)
    n = operator.index(n)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if x.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonical_axis(axis, x.ndim)
    parts = [x]
    for where_, v in (("prepend", prepend), ("append", append)):
        if v is None:
            continue
        check_arraylike("diff", v)
        e = asarray(v)
        if e.ndim == 0:
            e = lax.broadcast_in_dim(
                e, tuple(1 if i == axis else s for i, s in enumerate(x.shape)), ()
            )
        parts = [e, *parts] if where_ == "prepend" else [*parts, e]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    subtract = lax.ne if dtypes.is_bool(x.dtype) else lax.sub
    for _ in range(n):
        upper = x[(slice(None),) * axis + (slice(1, None),)]
        lower = x[(slice(None),) * axis + (slice(None, -1),)]
        x = subtract(upper, lower)
    return x


@library_jit
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the flattened array, with elements put before and after."""
    check_arraylike("ediff1d", ary)
    x = ravel(ary)
    out = lax.sub(x[1:], x[:-1])
    if to_begin is not None:
        check_arraylike("ediff1d", to_begin)
        out = concatenate([ravel(convert(asarray(to_begin), x.dtype)), out])
    if to_end is not None:
        check_arraylike("ediff1d", to_end)
        out = concatenate([out, ravel(convert(asarray(to_end), x.dtype))])
    return out


def _slope(f: Any, h: Any, axis: int) -> Any:
    """Central differences inside, one-sided ones at the ends, for even or uneven spacing."""
    n = f.shape[axis]

    def part(start: int, stop: int) -> Any:
        return lax.slice_in_dim(f, start, stop, axis=axis)

    if shape_of(h):
        steps = lax.reshape(
            h, tuple(-1 if False else (h.shape[0] if i == axis else 1) for i in range(f.ndim))
        )
        h0 = lax.slice_in_dim(steps, 0, n - 2, axis=axis)
        h1 = lax.slice_in_dim(steps, 1, n - 1, axis=axis)
        a = -h1 / (h0 * (h0 + h1))
        b = (h1 - h0) / (h0 * h1)
        c = h0 / (h1 * (h0 + h1))
        inner = a * part(0, n - 2) + b * part(1, n - 1) + c * part(2, n)
        left = lax.sub(part(1, 2), part(0, 1)) / lax.slice_in_dim(steps, 0, 1, axis=axis)
        right = lax.sub(part(n - 1, n), part(n - 2, n - 1)) / lax.slice_in_dim(
            steps, n - 2, n - 1, axis=axis
        )
        return lax.concatenate([left, inner, right], axis)
    first = lax.sub(part(1, 2), part(0, 1))
    last = lax.sub(part(n - 1, n), part(n - 2, n - 1))
    middle = lax.mul(lax.sub(part(2, n), part(0, n - 2)), like(f, 0.5))
    middle, last, first = lax.div(middle, h), lax.div(last, h), lax.div(first, h)
    return lax.concatenate([first, middle, last], axis)


@library_jit(static_argnames=("axis", "edge_order"))
def gradient(
    f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None
) -> Any:
    """Slopes along axes (all by default), by central differences; a list for several axes.

    Spacings are one scalar, or for each axis a scalar or the coordinates. Raises ValueError for
    fewer than two points along an axis.
    """
    from .ufuncs import divide

    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    f, *spacing = promote_args_inexact("gradient", f, *varargs)
    axes = (
        tuple(range(f.ndim))
        if axis is None
        else tuple(
            canonical_axis(i, f.ndim)
            for i in (axis if isinstance(axis, (tuple, list)) else (axis,))
        )
    )
    if any(f.shape[i] < 2 for i in axes):
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient, at least 2 elements are required. Got shape {f.shape}, axis {axes}."
        )
    if not spacing:
        steps = [like(f, 1)] * len(axes)
    elif len(spacing) == 1:
        steps = spacing * len(axes)
    elif len(spacing) == len(axes):
        steps = spacing
    else:
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for axis={axes}")
    out = []
    for i, h in zip(axes, steps, strict=True):
        s = shape_of(h)
        if s:
            if len(s) != 1:
                raise ValueError(
                    "Spacing arrays must be 1D and have the same length as the respective axis."
                )
            if s[0] != f.shape[i]:
                raise ValueError(
                    "Spacing arrays must have the same length as the dimension along which the gradient is calculated."
                )
            h = lax.sub(h[1:], h[:-1])
        out.append(_slope(f, h, i))
    assert divide is not None
    return (
        out[0]
        if (axis is not None and not isinstance(axis, (tuple, list))) or len(out) == 1
        else out
    )


@library_jit(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Area under samples along an axis by the trapezoidal rule, spaced by `dx` or at points `x`."""
    from .reductions import sum as _sum
    from .ufuncs import add, multiply

    if x is None:
        check_arraylike("trapezoid", y)
        (y,) = promote_dtypes_inexact(y)
        y = moveaxis(y, axis, -1)
        (dx,) = (convert(asarray(dx), y.dtype),)
        total = _sum(y, axis=-1)
        ends = lax.mul(like(y, 0.5), add(y[..., 0], y[..., -1]))
        return lax.mul(dx, lax.sub(total, ends))
    check_arraylike("trapezoid", y, x)
    y, x = promote_dtypes_inexact(y, x)
    if x.ndim == 1:
        h = diff(x)
    else:
        h = moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    area = _sum(multiply(h, add(y[..., 1:], y[..., :-1])), axis=-1)
    return lax.mul(like(y, 0.5), area)


@library_jit(static_argnames=("extrapolate_left", "extrapolate_right"))
def _interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: Any,
    right: Any,
    period: Any,
    extrapolate_left: bool,
    extrapolate_right: bool,
) -> Any:
    from .searching import argsort, searchsorted
    from .ufuncs import add, divide, greater, less, multiply, remainder, subtract

    check_arraylike("interp", x, xp, fp)
    if shape_of(xp) != shape_of(fp) or len(shape_of(xp)) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    if dtypes.is_complex(x.dtype):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        period = asarray(period)
        if period.ndim != 0:
            raise ValueError(f"period must be a scalar; got {period}")
        period = lax.abs(convert(period, x.dtype))
        x, xp = remainder(x, period), remainder(xp, period)
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = concatenate([subtract(xp[-1:], period), xp, add(xp[:1], period)])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    i = clip(searchsorted(xp, x, side="right"), 1, n - 1)
    df = lax.sub(fp[i], fp[i - 1])
    dx = lax.sub(xp[i], xp[i - 1])
    delta = lax.sub(x, xp[i - 1])
    tiny = float(dtypes.finfo(xp.dtype).eps) ** 2
    level = lax.le(lax.abs(dx), like(dx, tiny))
    at_left, before = fp[i - 1], fp[i - 1]
    slope = divide(delta, where(level, 1, dx))
    out = where(level, at_left, add(before, multiply(slope, df)))
    if not extrapolate_left:
        first = fp[0] if left is None else left
        if period is None:
            out = where(less(x, xp[0]), first, out)
    if not extrapolate_right:
        last = fp[-1] if right is None else right
        if period is None:
            out = where(greater(x, xp[-1]), last, out)
    return out


@eager_function
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Piecewise linear function through points (xp, fp), xp ascending, at x.

    Outside, `left` and `right` (by default the outermost values; 'extrapolate' continues the
    lines); with a `period` the points repeat. Raises ValueError for points that do not match.
    """
    for name, v in (("left", left), ("right", right)):
        if isinstance(v, str):
            if v != "extrapolate":
                raise ValueError(
                    f"the only valid string value of `{name}` is 'extrapolate', but got: {v!r}"
                )
            if period is not None:
                raise ValueError("jnp.interp: cannot set left/right to 'extrapolate' with a period")
    lx, rx = isinstance(left, str), isinstance(right, str)
    return _interp(
        x, xp, fp, None if lx else left, None if rx else right, period,
        extrapolate_left=lx, extrapolate_right=rx,
    )  # fmt: skip


__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid"]
