"""Sets: unique elements, membership, union, intersection, differences."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.errors import ConcretizationTypeError
from ..core.trace import Tracer
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import arange, full, full_like, zeros
from .manipulation import concatenate, moveaxis, ravel
from .reductions import any as _any
from .reductions import cumsum
from .reductions import sum as _sum
from .searching import lexsort, nonzero, searchsorted, sort
from .selection import where
from .ufuncs import isnan
from .util import (
    asarray,
    canonical_axis,
    check_arraylike,
    convert,
    jit_as,
    promote_dtypes,
)

_INT = np.dtype(np.int32)


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


@library_jit(static_argnames=("axis", "equal_nan"))
def _unique_sorted_mask(ar: Any, axis: int, equal_nan: bool = True) -> tuple[Any, Any, Any]:
    """The slices sorted, which of them differ from the one before, and where they came from."""
    aux = moveaxis(ar, axis, 0)
    n = aux.shape[0]
    if aux.size == 0:
        return aux, zeros((n,), bool), arange(n)
    perm = lexsort(lax.rev(lax.transpose(lax.reshape(aux, (n, aux.size // n)), (1, 0)), (0,)))
    aux = aux[perm]
    after, before = aux[1:], aux[:-1]
    differ = lax.ne(after, before)
    if equal_nan and dtypes.is_inexact(aux.dtype):
        same = lax.bitwise_and(isnan(after), isnan(before))
        differ = lax.bitwise_and(differ, lax.bitwise_not(same))
    differ = _any(differ, axis=tuple(range(1, aux.ndim)))
    mask = full((n,), True).at[1:].set(differ)
    return aux, mask, perm


def _positions(mask: Any, size: int | None, fill_value: int | None = None) -> Any:
    if size is None:
        if isinstance(mask, Tracer):
            raise ConcretizationTypeError(
                mask,
                "The size argument of jnp.unique and the set functions must be statically "
                "specified to use them within JAX transformations.",
            )
        return nonzero(mask)[0]
    return nonzero(mask, size=size, fill_value=fill_value)[0]


def _unique(
    ar: Any, axis: int, size: Any, fill_value: Any, equal_nan: bool, inverse_shape: Any
) -> tuple[Any, Any, Any, Any]:
    """Values, and functions that give indices, inverse and counts."""
    size = None if size is None else operator.index(size)
    aux, mask, perm = _unique_sorted_mask(ar, axis=axis, equal_nan=equal_nan)
    n = mask.shape[0]
    if n == 0:
        values = moveaxis(aux, 0, axis)
        if size:
            if fill_value is None:
                fill_value = 0
            shape = tuple(size if i == axis else s for i, s in enumerate(ar.shape))
            values = full(shape, fill_value, ar.dtype)
        count = size or 0
        return (
            values,
            lambda: zeros((count,), _INT),
            lambda: zeros(inverse_shape, _INT),
            lambda: zeros((count,), _INT),
        )
    index = _positions(mask, size)
    values = aux[index]
    if size is not None and fill_value is not None:
        fill = convert(asarray(fill_value), values.dtype)
        there = lax.lt(arange(size), convert(_sum(mask), _INT))
        there = lax.expand_dims(there, tuple(range(1, values.ndim)))
        values = where(there, values, fill)
    values = moveaxis(values, 0, axis)

    def inverse() -> Any:
        ranks = lax.sub(cumsum(mask), np.int32(1))
        out = zeros((n,), _INT).at[perm].set(ranks)
        return lax.reshape(out, inverse_shape) if out.shape != inverse_shape else out

    def counts() -> Any:
        if size is None:
            edges = concatenate([index, full((1,), n, index.dtype)])
        else:
            edges = _positions(mask, size + 1, n)
        return lax.sub(edges[1:], edges[:-1])

    return values, lambda: perm[index], inverse, counts


@eager_function
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements (or slices along `axis`), sorted.

    Optionally also the index of each one's first occurrence, the inverse (which element of the
    result each input element is), and the number of occurrences. For traced arrays a static `size`
    must be given: the result is cut or filled with `fill_value` (the smallest element by default).
    """
    check_arraylike("unique", ar)
    x = asarray(ar)
    inverse_shape: tuple[int, ...] = x.shape
    if axis is None:
        x, i = ravel(x), 0
    else:
        i = canonical_axis(axis, x.ndim)
        inverse_shape = (x.shape[i],)
    values, indices, inverse, counts = _unique(x, i, size, fill_value, equal_nan, inverse_shape)
    out = [values]
    if return_index:
        out.append(indices())
    if return_inverse:
        out.append(inverse())
    if return_counts:
        out.append(counts())
    return out[0] if len(out) == 1 else tuple(out)


@eager_function
def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """Unique values of the flattened array with indices, inverse and counts."""
    check_arraylike("unique_all", x)
    return UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


@eager_function
def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueCountsResult:
    """Unique values of the flattened array with counts."""
    check_arraylike("unique_counts", x)
    return UniqueCountsResult(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


@eager_function
def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverseResult:
    """Unique values of the flattened array with the inverse."""
    check_arraylike("unique_inverse", x)
    return UniqueInverseResult(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


@eager_function
def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Unique values of the flattened array."""
    check_arraylike("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- membership ----------------------------------------------------------------------------

#: Number of comparisons above which membership is found by binary search.
_MANY = 1 << 20


@jit_as("_in1d", static_argnames=("invert", "method"))
def _in1d(element: Any, test: Any, invert: bool, method: str) -> Any:
    x, y = promote_dtypes(ravel(element), ravel(test))
    if x.size == 0 or y.size == 0:
        return full_like(x, invert, dtype=bool)
    if method == "auto":
        method = "compare_all" if x.size * y.size <= _MANY else "binary_search"
    if method == "compare_all":
        rows, columns = lax.expand_dims(x, (1,)), lax.expand_dims(y, (0,))
        if invert:
            return lax.reduce_and(lax.ne(rows, columns), (1,))
        return lax.reduce_or(lax.eq(rows, columns), (1,))
    y = sort(y)
    i = searchsorted(y, x)
    i = lax.min(i, np.asarray(y.size - 1, i.dtype))
    return lax.ne(y[i], x) if invert else lax.eq(y[i], x)


@eager_function
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Whether each element is (or with `invert` is not) among `test_elements`."""
    check_arraylike("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"{method=} is not implemented; options are 'compare_all', 'binary_search', 'sort', "
            "and 'auto'"
        )
    x = asarray(element)
    out = _in1d(x, asarray(test_elements), invert=bool(invert), method=method)
    return lax.reshape(out, x.shape) if out.shape != x.shape else out


def _chosen(aux: Any, keep: Any, size: int | None, fill_value: Any) -> Any:
    """The sorted elements marked in `keep`; with a `size` cut or filled."""
    if size is None:
        return aux[_positions(keep, None)]
    size = operator.index(size)
    if aux.shape[0] == 0:
        return full((size,), 0 if fill_value is None else fill_value, aux.dtype)
    out = aux[_positions(keep, size, None)]
    there = lax.lt(arange(size), convert(_sum(keep), _INT))
    first = out[:1] if fill_value is None else convert(asarray(fill_value), out.dtype)
    return where(there, out, first) if size else out


@eager_function
def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements of either array, unique and sorted."""
    check_arraylike("union1d", ar1, ar2)
    both = concatenate([ravel(ar1), ravel(ar2)])
    return unique(both, size=size, fill_value=fill_value)


@eager_function
def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of `ar1` that are not in `ar2`, unique and sorted."""
    check_arraylike("setdiff1d", ar1, ar2)
    x = ravel(ar1)
    if assume_unique:
        keep = isin(x, ar2, invert=True)
        if size is None:
            return x[_positions(keep, None)]
        return _chosen(x, keep, size, 0 if fill_value is None else fill_value)
    aux, mask, _ = _unique_sorted_mask(x, axis=0)
    keep = lax.bitwise_and(mask, isin(aux, ar2, invert=True))
    return _chosen(aux, keep, size, 0 if fill_value is None and size is not None else fill_value)


@eager_function
def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements that are in exactly one of the arrays, unique and sorted."""
    check_arraylike("setxor1d", ar1, ar2)
    x, y = promote_dtypes(ravel(ar1), ravel(ar2))
    both = concatenate([x, y])
    aux, mask, _ = _unique_sorted_mask(both, axis=0)
    in_one = lax.bitwise_xor(isin(aux, x), isin(aux, y))
    return _chosen(aux, lax.bitwise_and(mask, in_one), size, fill_value)


@eager_function
def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of both arrays, unique and sorted; optionally their first index in each."""
    check_arraylike("intersect1d", ar1, ar2)
    x, y = promote_dtypes(ravel(ar1), ravel(ar2))
    aux, mask, perm = _unique_sorted_mask(x, axis=0)
    keep = lax.bitwise_and(mask, isin(aux, y))
    values = _chosen(aux, keep, size, fill_value)
    if not return_indices:
        return values
    n, m = x.shape[0], y.shape[0]
    at = _positions(keep, None if size is None else operator.index(size), n)
    sorted_y, order = lax.sort((y, lax.iota(_INT, m)), 0, num_keys=1)
    if n == 0 or m == 0:
        return values, full_like(at, n), full_like(at, m)
    first = perm.at[at].get(mode="fill", fill_value=n)
    place = searchsorted(sorted_y, values)
    second = order.at[place].get(mode="fill", fill_value=m)
    if size is not None:
        second = where(lax.ge(at, np.asarray(n, at.dtype)), np.asarray(m, _INT), second)
    return values, first, second


__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
