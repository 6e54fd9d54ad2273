"""Elements inserted, deleted, trimmed; diagonals filled."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.errors import ConcretizationTypeError
from ..core.trace import Tracer
from ..transforms.eager_functions import eager_function
from .creation import arange, full, zeros
from .manipulation import concatenate, moveaxis, ravel
from .reductions import sum as _sum
from .searching import argsort, nonzero, sort
from .selection import clip, where
from .util import (
    asarray,
    broadcast_to,
    canonical_axis,
    check_arraylike,
    convert,
    shape_of,
)


def _indices(who: str, obj: Any, n: int) -> Any:
    """The indices that a slice, int, mask or array names, as an array."""
    if isinstance(obj, slice):
        return arange(n)[obj]
    check_arraylike(who, obj)
    i = asarray(obj)
    if dtypes.is_bool(i.dtype):
        if i.ndim != 1:
            raise ValueError(f"{who}: boolean array argument obj must be one dimensional")
        return nonzero(i)[0]
    if not dtypes.is_integer(i.dtype):
        raise ValueError(f"{who}: obj must be an integer array, got {dtypes.dtype_name(i.dtype)}")
    return i


@eager_function
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Values inserted before the positions `obj` along an axis (of the flattened array if None)."""
    check_arraylike("insert", arr, values)
    a, v = asarray(arr), asarray(values)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    n = a.shape[axis]
    index = _indices("insert", obj, n)
    if index.ndim > 1:
        raise ValueError("jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar.")
    scalar = index.ndim == 0
    index = lax.reshape(index, (index.size,)) if scalar else index
    v = lax.reshape(v, (1,) * (a.ndim - v.ndim) + v.shape) if v.ndim < a.ndim else v
    if scalar:
        v = moveaxis(v, 0, axis)
    if index.size == 1 and v.shape[axis] != 1:
        index = broadcast_to(index, (v.shape[axis],))
    k = index.size
    shape = tuple(k if i == axis else s for i, s in enumerate(a.shape))
    v = broadcast_to(convert(v, a.dtype), shape)
    index = where(lax.lt(index, _zero(index)), lax.add(index, _const(n, index)), index)
    index = clip(index, 0, n)
    order = argsort(index)
    index = index.at[order].add(arange(k, dtype=index.dtype))
    total = n + k
    kept = full((total,), True).at[index].set(False)
    rest = nonzero(kept, size=n)[0]
    out_shape = tuple(total if i == axis else s for i, s in enumerate(a.shape))
    out = zeros(out_shape, a.dtype)
    lead = (slice(None),) * axis
    return out.at[(*lead, index)].set(v).at[(*lead, rest)].set(a)


def _zero(x: Any) -> Any:
    return np.zeros((), x.dtype)


def _const(v: int, x: Any) -> Any:
    return np.asarray(v, x.dtype)


@eager_function
def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """The array without the slices at positions `obj` along an axis (flattened if None).

    Traced positions need `assume_unique_indices=True`, which makes the result's size known.
    Raises ValueError for positions out of bounds.
    """
    check_arraylike("delete", arr)
    a = asarray(arr)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    n = a.shape[axis]
    lead = (slice(None),) * axis
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, (bool, np.bool_)):
        i = canonical_axis(operator.index(obj), n)
        before, after = a[(*lead, slice(None, i))], a[(*lead, slice(i + 1, None))]
        return concatenate([before, after], axis)
    if isinstance(obj, slice):
        index = _indices("delete", obj, n)
        assume_unique_indices = True
    else:
        check_arraylike("delete", obj)
        index = obj if isinstance(obj, np.ndarray) else asarray(obj)
        if dtypes.is_bool(index.dtype):
            if index.shape != (n,):
                raise ValueError(
                    "np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length matching specified axis."
                )
            return a[(*lead, ~np.asarray(_known("delete", index)))]
        if not dtypes.is_integer(index.dtype):
            raise ValueError(
                "np.delete(arr, obj): for array inputs, obj must be a boolean or integer array, "
                f"got {dtypes.dtype_name(index.dtype)}"
            )
    if assume_unique_indices and index.ndim <= 1:
        index = ravel(asarray(index))
        index = where(lax.lt(index, _zero(index)), lax.add(index, _const(n, index)), index)
        index = sort(clip(index, 0, n))
        k = index.size
        steps = lax.sub(index, arange(k, dtype=index.dtype))
        i = arange(n - k, dtype=index.dtype)
        passed = lax.ge(lax.expand_dims(i, (0,)), lax.expand_dims(steps, (1,)))
        i = lax.add(i, _sum(passed, axis=0, dtype=index.dtype))
        return a[(*lead, i)]
    values = np.asarray(_known("delete", index)).ravel()
    if values.size and (values.min() < -n or values.max() >= n):
        raise IndexError(f"delete: index out of bounds for axis {axis} with size {n}")
    keep = np.ones(n, bool)
    keep[values] = False
    return a[(*lead, keep)]


def _known(who: str, x: Any) -> Any:
    if isinstance(x, Tracer):
        value = x._concrete()
        if value is None:
            raise ConcretizationTypeError(x, f"in jnp.{who}(), the indices must be known")
        return value
    return x


@eager_function
def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """The array without the zeros at its front ('f'), back ('b') or both, along axes.

    Raises ConcretizationTypeError for traced arrays: the result's size depends on the values.
    """
    from .creation import asarray as full_asarray

    x = full_asarray(filt) if isinstance(filt, (list, tuple)) else filt
    check_arraylike("trim_zeros", x)
    x = asarray(x)
    if isinstance(x, Tracer) and x._concrete() is None:
        raise ConcretizationTypeError(x, "Error arose in the `filt` argument of trim_zeros()")
    a = np.asarray(_known("trim_zeros", x))
    axes = (
        range(a.ndim)
        if axis is None
        else [
            canonical_axis(i, a.ndim)
            for i in (axis if isinstance(axis, (tuple, list)) else (axis,))
        ]
    )
    where_ = np.nonzero(a)
    index: list[Any] = [slice(None)] * a.ndim
    trim = trim.lower()
    for i in axes:
        if not len(where_[i]):
            index[i] = slice(0, 0)
            continue
        lo = int(where_[i].min()) if "f" in trim else 0
        hi = int(where_[i].max()) + 1 if "b" in trim else a.shape[i]
        index[i] = slice(lo, hi)
    return x[tuple(index)]


@eager_function
def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """The array with its main diagonal replaced; needs `inplace=False`."""
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    check_arraylike("fill_diagonal", a, val)
    x, v = asarray(a), asarray(val)
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(x.shape)
    i = arange(n)
    v = v if v.ndim == 0 else _tiled(ravel(v), n)
    return x.at[(i,) * x.ndim].set(v)


def _tiled(v: Any, n: int) -> Any:
    from .rearranging import tile

    size = shape_of(v)[0]
    return tile(v, -(-n // size))[:n]


__all__ = ["delete", "fill_diagonal", "insert", "trim_zeros"]
