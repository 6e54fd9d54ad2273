"""Index arrays: diagonals, triangles, grids, flat indices, and the objects that index with slices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.errors import ConcretizationTypeError
from ..core.trace import Tracer
from .creation import array, linspace, ones
from .manipulation import concatenate, stack
from .matrices import meshgrid, tril, triu
from .searching import nonzero
from .selection import clip, where
from .ufuncs import add, divmod, greater, less, multiply
from .util import asarray, check_arraylike, promote_dtypes, shape_of

index_exp, s_ = np.index_exp, np.s_


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Indices of the main diagonal of a square array. Raises ValueError for negative arguments."""
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    return (lax.iota(np.dtype(np.int32), n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Indices of the main diagonal of an array whose axes are equally long."""
    check_arraylike("diag_indices_from", arr)
    s = shape_of(arr)
    if len(s) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(s)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(s[0], len(s))


def _count(n: int, m: int, k: int, lower: bool) -> int:
    """Elements of an n x m matrix at and below (or above) the k-th diagonal."""
    rows = (
        (min(max(i + k + 1, 0), m) for i in range(n))
        if lower
        else (m - min(max(i + k, 0), m) for i in range(n))
    )
    return sum(rows)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Row and column indices of the lower triangle of an n x m matrix."""
    n, k = operator.index(n), operator.index(k)
    m = n if m is None else operator.index(m)
    i, j = nonzero(tril(ones((n, m)), k=k), size=_count(n, m, k, True))
    return i, j


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Row and column indices of the upper triangle of an n x m matrix."""
    n, k = operator.index(n), operator.index(k)
    m = n if m is None else operator.index(m)
    i, j = nonzero(triu(ones((n, m)), k=k), size=_count(n, m, k, False))
    return i, j


def _matrix_shape(arr: Any) -> tuple[int, int]:
    s = tuple(arr.shape) if hasattr(arr, "shape") else shape_of(arr)
    if len(s) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return s  # type: ignore[return-value]


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Indices of the lower triangle of a matrix."""
    n, m = _matrix_shape(arr)
    return tril_indices(n, k=k, m=m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Indices of the upper triangle of a matrix."""
    n, m = _matrix_shape(arr)
    return triu_indices(n, k=k, m=m)


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None
) -> tuple[Any, ...]:
    """Indices of the elements that `mask_func(ones, k)` keeps."""
    i, j = nonzero(mask_func(ones((n, n)), k), size=size)
    return i, j


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors shaped so that together they index the grid of their values."""
    check_arraylike("ix", *args)
    n = len(args)
    out = []
    for i, a in enumerate(args):
        x = asarray(a)
        if x.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {x.shape}"
            )
        if dtypes.is_bool(x.dtype):
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        if x.size == 0:
            x = lax.convert_element_type(x, dtypes.default_int())
        shape = (1,) * i + x.shape + (1,) * (n - i - 1)
        out.append(lax.broadcast_in_dim(x, shape, (i,)))
    return tuple(out)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Flat indices as one index array per axis; what is out of bounds becomes the nearest index."""
    check_arraylike("unravel_index", indices)
    i = asarray(indices)
    dims = tuple(operator.index(d) for d in shape) if np.ndim(shape) else (operator.index(shape),)
    if not dtypes.is_integer(i.dtype):
        raise TypeError(
            f"unravel_index: indices must be integers, got {dtypes.dtype_name(i.dtype)}"
        )
    out, total = [], i
    for d in reversed(dims):
        total, r = divmod(total, d)
        out.append(r)
    above, below = greater(total, 0), less(total, -1)
    # what lies outside is moved to the first or the last element
    fixed = [where(above, d - 1, where(below, 0, r)) for r, d in zip(out[::-1], dims, strict=True)]
    return tuple(fixed)


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Any:
    """Index arrays, one per axis, as flat indices into an array of shape `dims`.

    Out of bounds, mode 'raise' (which needs concrete indices) raises ValueError, 'wrap' counts
    around and 'clip' takes the nearest index. `order` is 'C' or 'F'.
    """
    if len(multi_index) != len(dims):
        raise AssertionError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    check_arraylike("ravel_multi_index", *multi_index)
    dt = None if dtype is None else dtypes.check_user_dtype(dtype)
    sizes = tuple(operator.index(d) for d in dims)
    index = [asarray(i) for i in multi_index]
    for i in index:
        if not dtypes.is_integer(i.dtype):
            raise TypeError("only int indices permitted")
    if mode == "raise":
        for i in index:
            if isinstance(i, Tracer) and i._concrete() is None:
                raise ConcretizationTypeError(
                    i,
                    "The error occurred because ravel_multi_index was jit-compiled with "
                    "mode='raise'. Use mode='wrap' or mode='clip' instead.",
                )
        if any(_outside(i, d) for i, d in zip(index, sizes, strict=True)):
            raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        index = [clip(i, 0, d - 1) for i, d in zip(index, sizes, strict=True)]
    elif mode == "wrap":
        index = [i % d for i, d in zip(index, sizes, strict=True)]
    else:
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', or 'clip'")
    if order == "C":
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    elif order == "F":
        strides = [math.prod(sizes[:i]) for i in range(len(sizes))]
    else:
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    out = array(0, dtype=dtypes.default_int() if dt is None else dt)
    for i, s in zip(index, strides, strict=True):
        out = add(out, multiply(i if dt is None else lax.convert_element_type(i, dt), s))
    return out


def _outside(i: Any, n: int) -> bool:
    v = np.asarray(i)
    return bool(((v < 0) | (v >= n)).any())


# --- objects indexed with slices -----------------------------------------------------------


def _line(s: slice) -> Any:
    """The values of a slice: with a complex step, that many points including the end."""
    start = 0 if s.start is None else s.start
    step = 1 if s.step is None else s.step
    if isinstance(step, complex):
        return linspace(start, s.stop, int(abs(step)))
    return _stepped(start, s.stop, step)


def _stepped(start: Any, stop: Any, step: Any) -> Any:
    """start, start + step, ...: always as start + step * iota."""
    values = [np.asarray(v).item() if hasattr(v, "dtype") else v for v in (start, stop, step)]
    count = max(math.ceil((values[1] - values[0]) / values[2]), 0)
    dt = dtypes.promote(tuple(_entry(v) for v in (start, stop, step)))[0]
    from .util import rank0

    line = lax.mul(rank0(values[2], dt), lax.iota(dt, count))
    return lax.add(rank0(values[0], dt), line)


def _entry(v: Any) -> tuple[Any, bool]:
    from .util import aval_of

    a = aval_of(v)
    return a.dtype, a.weak_type


class _Mgrid:
    """`mgrid[0:2, 0:3]`: the coordinates of all points of a grid, stacked."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line(key)
        lines = promote_dtypes(*(_line(k) for k in key))
        return stack(meshgrid(*lines, indexing="ij"))


class _Ogrid:
    """`ogrid[0:2, 0:3]`: the coordinates of a grid along each axis, to be broadcast."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line(key)
        lines = promote_dtypes(*(_line(k) for k in key))
        return meshgrid(*lines, indexing="ij", sparse=True)


class _Concatenation:
    """What `r_` and `c_` share: the items of an index joined along an axis."""

    axis, ndmin, where_1d = 0, 1, -1

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, where_1d = self.axis, self.ndmin, self.where_1d
        matrix = ""
        if isinstance(items[0], str):
            directive = items.pop(0)
            if directive in ("r", "c"):
                matrix = directive
            else:
                parts = directive.split(",")
                if len(parts) == 1:
                    axis = int(parts[0])
                elif len(parts) == 2:
                    axis, ndmin = (int(p) for p in parts)
                elif len(parts) == 3:
                    axis, ndmin, where_1d = (int(p) for p in parts)
                else:
                    raise ValueError(f"could not understand directive {directive}")
        parts_ = [self._item(i, ndmin, where_1d) for i in items]
        if matrix:
            parts_ = [p[None, :] if matrix == "r" else p[:, None] for p in parts_]
            return concatenate(parts_, 1 if matrix == "r" else 0)
        return concatenate(parts_, axis)

    def _item(self, item: Any, ndmin: int, where_1d: int) -> Any:
        if isinstance(item, slice):
            x = _line(item)
        elif isinstance(item, str):
            raise ValueError("special directive must be the first entry.")
        else:
            x = array(item, copy=False)
            if x.ndim == 0:
                x = lax.broadcast_in_dim(x, (1,), ())
        rank = x.ndim
        if rank < ndmin:
            x = lax.broadcast_in_dim(
                x, (1,) * (ndmin - rank) + x.shape, tuple(range(ndmin - rank, ndmin))
            )
            if rank == 1 and where_1d != -1:
                order = [i for i in range(ndmin) if i != ndmin - 1]
                order.insert(where_1d if where_1d >= 0 else ndmin + where_1d, ndmin - 1)
                x = lax.transpose(x, tuple(order))
        return x


class RClass(_Concatenation):
    """`r_[a, 1:3, 5]`: arrays, ranges and numbers joined along the first axis."""


class CClass(_Concatenation):
    """`c_[a, b]`: vectors joined as the columns of a matrix."""

    axis, ndmin, where_1d = -1, 2, 0


mgrid, ogrid, r_, c_ = _Mgrid(), _Ogrid(), RClass(), CClass()

__all__ = [
    "c_", "diag_indices", "diag_indices_from", "index_exp", "ix_", "mask_indices", "mgrid", "ogrid",
    "r_", "ravel_multi_index", "s_", "tril_indices", "tril_indices_from", "triu_indices",
    "triu_indices_from", "unravel_index",
]  # fmt: skip
