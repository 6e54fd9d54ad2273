"""Histograms in one and several dimensions."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from .creation import linspace, ones_like, zeros
from .manipulation import concatenate, ravel
from .reductions import max as _max
from .reductions import min as _min
from .reductions import prod, ptp
from .reductions import sum as _sum
from .searching import searchsorted
from .selection import where
from .util import asarray, asarray_checked, check_arraylike, convert, rank0, shape_of


def _arraylike_sequence(x: Any) -> Any:
    return asarray_checked(x) if isinstance(x, (list, tuple)) else asarray(x)


@eager_function
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` uses: `bins` of equal width, or those given.

    Raises NotImplementedError for the names of automatic rules.
    """
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a)
    x = ravel(asarray(a))
    dt = dtypes.to_inexact(x.dtype)
    edges = _arraylike_sequence(bins)
    if edges.ndim == 1:
        return convert(edges, dt)
    count = operator.index(bins)
    limits: Any
    if range is None:
        limits = concatenate([lax.expand_dims(_min(x), (0,)), lax.expand_dims(_max(x), (0,))])
    else:
        limits = _arraylike_sequence(range)
    limits = convert(limits, dt)
    if shape_of(limits) != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    half = rank0(0.5, dt)
    low = where(lax.eq(ptp(limits), rank0(0, dt)), lax.sub(limits[0], half), limits[0])
    high = where(lax.eq(ptp(limits), rank0(0, dt)), lax.add(limits[1], half), limits[1])
    return linspace(low, high, count + 1, dtype=dt)


@eager_function
def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any]:
    """Number (or sum of weights) of the elements in each bin, and the bins' edges.

    Bins include their left edge, the last one both. With `density` the counts are divided by their
    sum and the bins' widths. Raises ValueError where the weights' shape differs.
    """
    if weights is None:
        check_arraylike("histogram", a)
        x = asarray(a)
        x = convert(x, dtypes.to_inexact(x.dtype))
        w = ones_like(x)
    else:
        check_arraylike("histogram", a, weights)
        if shape_of(a) != shape_of(weights):
            raise ValueError("weights should have the same shape as a.")
        from .util import promote_dtypes_inexact

        x, w = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(x, bins, range, w)
    x, w = ravel(x), ravel(w)
    index = searchsorted(edges, x, side="right")
    index = where(lax.eq(x, edges[-1]), edges.shape[0] - 1, index)
    counts = zeros(edges.shape, w.dtype).at[index].add(w)[1:]
    if density:
        widths = convert(lax.sub(edges[1:], edges[:-1]), counts.dtype)
        counts = counts / widths / _sum(counts)
    return counts, edges


@eager_function
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """Histogram of the rows of a matrix, and the list of edges along each dimension.

    Raises ValueError where bins, ranges or weights do not match the sample.
    """
    if weights is None:
        check_arraylike("histogramdd", sample)
        x = asarray(sample)
        x = convert(x, dtypes.to_inexact(x.dtype))
        w: Any = None
    else:
        check_arraylike("histogramdd", sample, weights)
        from .util import promote_dtypes_inexact

        x, w = promote_dtypes_inexact(sample, weights)
    if x.ndim != 2:
        raise ValueError(f"sample must be a matrix of points, got shape {x.shape}")
    n, dims = x.shape
    if w is not None and w.shape != (n,):
        raise ValueError("should have one weight for each sample.")
    if range is not None and (
        len(range) != dims or any(r is not None and len(r) != 2 for r in range)
    ):
        raise ValueError(
            f"For sample.shape={x.shape}, range must be None or of length {dims} pairs"
        )
    scalar = not isinstance(bins, (list, tuple)) and np.ndim(bins) == 0
    if not scalar and len(bins) != dims:
        raise ValueError("should be a bin for each dimension.")
    per_axis = [bins] * dims if scalar else list(bins)
    edges, indices = [], []
    for i, b in enumerate(per_axis):
        line = x[:, i]
        e = histogram_bin_edges(line, b, None if range is None else range[i], w)
        k = searchsorted(e, line, side="right")
        k = where(lax.eq(line, e[-1]), lax.sub(k, np.asarray(1, k.dtype)), k)
        edges.append(e)
        indices.append(k)
    shape = tuple(e.shape[0] + 1 for e in edges)
    flat: Any = indices[0]
    for k, s in zip(indices[1:], shape[1:], strict=True):
        flat = lax.add(lax.mul(flat, np.asarray(s, flat.dtype)), k)
    from .searching import bincount

    counts = bincount(flat, w, length=math.prod(shape))
    counts = lax.reshape(counts, shape)[(slice(1, -1),) * dims]
    if density:
        counts = convert(counts, x.dtype) / _sum(counts)
        volumes = _grid_volumes(edges)
        counts = counts / volumes
    return counts, edges


def _grid_volumes(edges: Sequence[Any]) -> Any:
    from .manipulation import stack
    from .matrices import meshgrid

    widths = [lax.sub(e[1:], e[:-1]) for e in edges]
    return prod(stack(meshgrid(*widths, indexing="ij")), axis=0)


@eager_function
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """Histogram of points in the plane, and the edges along x and y."""
    check_arraylike("histogram2d", x, y)
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        edges = _arraylike_sequence(bins)
        bins = [edges, edges]
    from .manipulation import stack
    from .util import promote_dtypes

    points = stack(promote_dtypes(ravel(x), ravel(y)), axis=1)
    counts, (ex, ey) = histogramdd(points, bins, range, weights, density)
    return counts, ex, ey


__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
