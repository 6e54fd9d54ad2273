"""Order statistics: quantiles, percentiles, medians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..primitives.gather import GatherScatterMode
from ..transforms.jit import library_jit
from . import reductions
from .reductions import any as _any
from .selection import where
from .ufuncs import isnan, true_divide
from .util import (
    asarray,
    broadcast_to,
    canonical_axes,
    check_arraylike,
    convert,
    like,
    no_out,
    promote_dtypes_inexact,
)

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_INT = np.dtype(np.int32)


def _positions(q: Any, count: Any, method: str) -> tuple[Any, Any, Any, Any]:
    """Index below and above a quantile among `count` sorted elements, and their weights.

    The indices are not limited to the elements that exist.
    """
    one = like(q, 1)
    if method == "inverted_cdf":
        low = lax.sub(lax.ceil(lax.mul(q, count)), one)
        return low, low, None, None
    position = lax.mul(q, lax.sub(count, one))
    low, high = lax.floor(position), lax.ceil(position)
    high_weight = lax.sub(position, low)
    return low, high, lax.sub(one, high_weight), high_weight


def _combine(method: str, low: Any, high: Any, low_weight: Any, high_weight: Any) -> Any:
    if method in ("lower", "inverted_cdf"):
        return low
    if method == "higher":
        return high
    if method == "nearest":
        near = lax.le(high_weight, like(high_weight, 0.5))
        if near.ndim and near.shape != low.shape:
            near = lax.broadcast_in_dim(near, low.shape, tuple(range(low.ndim)))
        return lax.select(near, low, high)
    if method == "midpoint":
        return lax.mul(lax.add(low, high), like(low, 0.5))
    return lax.add(lax.mul(low, low_weight), lax.mul(high, high_weight))


def _one_axis(a: Any, axis: Any) -> tuple[Any, int]:
    """The array with the axes of a reduction merged into one, and that axis."""
    if axis is None:
        return (lax.reshape(a, (a.size,)) if a.ndim != 1 else a), 0
    axes = canonical_axes(axis, a.ndim)
    if not isinstance(axis, (tuple, list)):
        return a, axes[0]
    rest = tuple(i for i in range(a.ndim) if i not in axes)
    if not rest:
        return (lax.reshape(a, (a.size,)) if a.ndim != 1 else a), 0
    shape = tuple(a.shape[i] for i in rest)
    order = (*rest, *axes)
    moved = a if order == tuple(range(a.ndim)) else lax.transpose(a, order)
    return lax.reshape(moved, (*shape, math.prod(a.shape[i] for i in axes))), len(shape)


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: bool, squash_nans: bool, weights: Any = None
) -> Any:
    """Quantiles over axes; with `squash_nans` of what is not NaN."""
    if method not in METHODS:
        raise ValueError(
            "method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or "
            "'inverted_cdf'"
        )
    (a,), (q,) = promote_dtypes_inexact(a), promote_dtypes_inexact(q)
    dt = a.dtype
    if q.dtype != a.dtype:
        wide = dtypes.promote(((a.dtype, False), (q.dtype, q.weak_type)))[0]
        a, q = convert(a, wide), convert(q, wide)
    if dtypes.is_complex(a.dtype):
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly defined."
        )
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    full_shape, lead = a.shape, q.shape
    axes = canonical_axes(axis, a.ndim)
    if weights is not None:
        out = _weighted(a, q, axis, _weights(a, axis, weights, method), squash_nans)
        kept = tuple(1 if i in axes else s for i, s in enumerate(full_shape))
        return convert(lax.reshape(out, (*lead, *kept)) if keepdims else out, dt)
    merged = axis is None or isinstance(axis, (tuple, list))
    a, axis = _one_axis(a, axis)
    window = keepdims and not squash_nans
    if squash_nans:
        low, high, low_weight, high_weight = _pick_without_nans(a, q, axis, method)
    else:
        low, high, low_weight, high_weight = _pick(a, q, axis, method, window)
    out = _combine(method, low, high, low_weight, high_weight)
    if keepdims and (merged or not window):
        kept = tuple(1 if i in axes else s for i, s in enumerate(full_shape))
        out = lax.reshape(out, (*lead, *kept))
    return convert(out, dt)


def _weights(a: Any, axis: Any, weights: Any, method: str) -> Any:
    """Weights in the shape of the array. Raises ValueError where they do not fit."""
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    (w,) = promote_dtypes_inexact(asarray(weights))
    w = convert(w, a.dtype)
    if w.shape == a.shape:
        return w
    if axis is None or isinstance(axis, (tuple, list)):
        raise ValueError("Weights must have the shape of 'a' unless axis is one axis.")
    (i,) = canonical_axes(axis, a.ndim)
    if w.shape != (a.shape[i],):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    return lax.broadcast_in_dim(w, a.shape, (i,))


def _weighted(a: Any, q: Any, axis: Any, w: Any, squash_nans: bool) -> Any:
    """The least elements at which the sums of sorted weights reach the share `q` of all weights."""
    from .searching import take_along_axis

    (a, i), (w, _) = _one_axis(a, axis), _one_axis(w, axis)
    nan = isnan(a)
    none = _any(nan, axis=i)
    if squash_nans:
        w = where(nan, like(w, 0), w)
    a, w = lax.sort((a, w), dimension=i, num_keys=1)
    reached, total = lax.cumsum(w, i), reductions.sum(w, i, keepdims=True)
    if q.ndim:
        a, reached, total = (lax.expand_dims(x, (0,)) for x in (a, reached, total))
        a = broadcast_to(a, (q.shape[0], *a.shape[1:]))
        q = lax.reshape(q, (q.shape[0], *(1,) * (a.ndim - 1)))
        i += 1
    # elements without weight are no quantiles, not even the least
    short = (reached < q * total) | (reached <= 0)
    index = reductions.sum(short, i, dtype=_INT, keepdims=True).clip(0, a.shape[i] - 1)
    out = lax.squeeze(take_along_axis(a, index, i), (i,))
    if squash_nans:
        return where(lax.squeeze(total, (i,)) == 0, np.nan, out)
    return where(none, np.nan, out)


def _pick(a: Any, q: Any, axis: int, method: str, window: bool) -> tuple[Any, ...]:
    a = where(_any(isnan(a), axis=axis, keepdims=True), np.nan, a)
    a = lax.sort(a, dimension=axis)
    count, one, zero = (like(q, v) for v in (a.shape[axis], 1, 0))
    low, high, low_weight, high_weight = _positions(q, count, method)
    low = lax.clamp(zero, low, lax.sub(count, one))
    high = lax.clamp(zero, high, lax.sub(count, one))
    low, high = convert(low, _INT), convert(high, _INT)
    n = q.ndim
    offsets = tuple(range(n, n + a.ndim - (not window)))
    dn = lax.GatherDimensionNumbers(offsets, () if window else (axis,), (axis,))
    sizes = tuple(1 if i == axis else s for i, s in enumerate(a.shape))

    def at(i: Any) -> Any:
        index = lax.broadcast_in_dim(i, (*q.shape, 1), tuple(range(n)))
        return lax.gather(a, index, dn, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)

    below, above = at(low), at(high)
    if n and below.ndim > 1 and low_weight is not None:
        shape = (q.shape[0], *(1,) * (below.ndim - 1))
        low_weight = lax.broadcast_in_dim(low_weight, shape, (0,))
        high_weight = lax.broadcast_in_dim(high_weight, shape, (0,))
    return below, above, low_weight, high_weight


def _pick_without_nans(a: Any, q: Any, axis: int, method: str) -> tuple[Any, ...]:
    from .matrices import meshgrid

    a = lax.sort(where(isnan(a), np.nan, a), dimension=axis)
    there = lax.bitwise_not(isnan(a))
    counts = reductions.sum(convert(there, _INT), axis=axis, dtype=q.dtype)
    n = q.ndim
    if counts.ndim:
        q = lax.broadcast_in_dim(q, (*q.shape, *(1,) * counts.ndim), tuple(range(n)))
    if n:
        counts = lax.expand_dims(counts, (0,))
    one, zero = like(q, 1), like(q, 0)
    low, high, low_weight, high_weight = _positions(q, counts, method)
    low = lax.max(zero, lax.min(low, lax.sub(counts, one)))
    high = lax.max(zero, lax.min(high, lax.sub(counts, one)))
    low, high = convert(low, _INT), convert(high, _INT)
    index = [lax.iota(_INT, s) for i, s in enumerate(a.shape) if i != axis]
    if len(index) > 1:
        index = meshgrid(*index, sparse=True, indexing="ij")
    if n:
        index = [lax.expand_dims(g, (0,)) for g in index]

    def at(i: Any) -> Any:
        return a[(*index[:axis], i, *index[axis:])]

    return at(low), at(high), low_weight, high_weight


def _check(who: str, a: Any, q: Any, out: Any, overwrite_input: bool, weights: Any) -> None:
    check_arraylike(who, a, q)
    if overwrite_input or out is not None:
        raise ValueError(f"jax.numpy.{who} does not support overwrite_input=True or out != None")
    if weights is not None:
        check_arraylike(who, weights)


_STATIC = ("axis", "overwrite_input", "method", "keepdims")


@library_jit(static_argnames=_STATIC)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles over axes (all by default) for `q` in [0, 1]; a rank-1 `q` gives a leading axis.

    `method` says what is taken between two elements: linear, lower, higher, midpoint, nearest or
    inverted_cdf. NaN where there is one.
    """
    _check("quantile", a, q, out, overwrite_input, weights)
    return _quantile(asarray(a), asarray(q), axis, method, keepdims, False, weights)


@library_jit(static_argnames=_STATIC)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` of what is not NaN."""
    _check("nanquantile", a, q, out, overwrite_input, weights)
    return _quantile(asarray(a), asarray(q), axis, method, keepdims, True, weights)


@library_jit(static_argnames=_STATIC)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`quantile` for `q` in [0, 100]."""
    check_arraylike("percentile", a, q)
    return quantile(
        a, true_divide(q, 100.0), axis=axis, out=out, overwrite_input=overwrite_input,
        method=method, keepdims=keepdims, weights=weights,
    )  # fmt: skip


@library_jit(static_argnames=_STATIC)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`percentile` of what is not NaN."""
    check_arraylike("nanpercentile", a, q)
    return nanquantile(
        a, true_divide(q, 100.0), axis=axis, out=out, overwrite_input=overwrite_input,
        method=method, keepdims=keepdims, weights=weights,
    )  # fmt: skip


@library_jit(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Median over axes (all by default): the mean of the two middle elements. NaN if one is."""
    check_arraylike("median", a)
    no_out("median", out)
    return quantile(
        a, 0.5, axis=axis, overwrite_input=overwrite_input, keepdims=keepdims, method="midpoint"
    )


@library_jit(static_argnames=("axis", "overwrite_input", "keepdims"))
def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Median over axes of what is not NaN."""
    check_arraylike("nanmedian", a)
    no_out("nanmedian", out)
    return nanquantile(
        a, 0.5, axis=axis, overwrite_input=overwrite_input, keepdims=keepdims, method="midpoint"
    )


__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
