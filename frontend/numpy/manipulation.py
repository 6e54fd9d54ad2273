"""Shapes and axes: reshape, transpose, joining, splitting, repeating, rolling, flipping."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.avals import canonical_shape
from ..core.errors import ConcretizationTypeError, traced_shape
from ..core.trace import Tracer
from ..core.warn import warn
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import array
from .util import (
    asarray,
    aval_of,
    broadcast_shapes,
    canonical_axis,
    check_arraylike,
    convert,
    promote_dtypes,
    shape_of,
)
from .util import broadcast_to as _broadcast_to


def _arg(who: str, x: Any) -> Any:
    check_arraylike(who, x)
    return asarray(x)


def new_shape(who: str, x: Any, shape: Any) -> tuple[int, ...]:
    """A requested shape with -1 replaced. Raises TypeError or ValueError where it does not fit."""
    whole = not isinstance(shape, (tuple, list)) and np.ndim(shape) == 0
    dims = (shape,) if whole else tuple(shape)
    size = aval_of(x).size
    out = []
    for d in dims:
        if isinstance(d, Tracer) and d._concrete() is None:
            raise traced_shape(d, dims)
        try:
            out.append(operator.index(d))
        except TypeError:
            raise TypeError(
                f"Shapes must be 1D sequences of concrete values of integer type, got {dims}."
            ) from None
    if out.count(-1) > 1:
        raise TypeError(f"can only specify one unknown dimension, got shape {tuple(out)}")
    if -1 in out:
        rest = math.prod(d for d in out if d != -1)
        if rest == 0 or size % rest:
            raise TypeError(
                f"cannot reshape array of shape {shape_of(x)} (size {size}) into shape {tuple(dims)} because the product of specified axis sizes ({rest}) does not evenly divide {size}"
            )
        out[out.index(-1)] = size // rest
    elif math.prod(out) != size:
        raise TypeError(
            f"cannot reshape array of shape {shape_of(x)} (size {size}) into shape {tuple(dims)} (size {math.prod(out)})"
        )
    return tuple(out)


@eager_function
def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Any:
    """The same elements in another shape; one dimension may be -1.

    `order` is 'C' (row-major) or 'F' (column-major). Raises TypeError where sizes do not fit.
    """
    x = _arg("reshape", a)
    target = new_shape("reshape", x, shape)
    if order == "C":
        return lax.reshape(x, target) if shape_of(x) != target else x
    if order == "F":
        back = lax.reshape(x, target[::-1], tuple(range(len(shape_of(x))))[::-1])
        return lax.transpose(back, tuple(range(len(target)))[::-1])
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


@eager_function
def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements as a rank-1 array."""
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape(_arg("ravel", a), (aval_of(a).size,), order)


@eager_function
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Axes permuted; reversed if `axes` is None."""
    x = _arg("transpose", a)
    n = len(shape_of(x))
    perm = tuple(range(n))[::-1] if axes is None else tuple(canonical_axis(i, n) for i in axes)
    return x if perm == tuple(range(n)) else lax.transpose(x, perm)


@eager_function
def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Any:
    """Axes permuted."""
    return transpose(a, axes)


@eager_function
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    x = _arg("matrix_transpose", x)
    n = len(shape_of(x))
    if n < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={n}")
    return lax.transpose(x, (*range(n - 2), n - 1, n - 2))


@eager_function
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    x = _arg("swapaxes", a)
    n = len(shape_of(x))
    perm = list(range(n))
    i, j = canonical_axis(axis1, n), canonical_axis(axis2, n)
    perm[i], perm[j] = perm[j], perm[i]
    return x if perm == list(range(n)) else lax.transpose(x, perm)


@eager_function
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Axes moved to new positions, the others keeping their order."""
    x = _arg("moveaxis", a)
    n = len(shape_of(x))
    src = (source,) if isinstance(source, (int, np.integer)) else tuple(source)
    dst = (destination,) if isinstance(destination, (int, np.integer)) else tuple(destination)
    s = [canonical_axis(i, n) for i in src]
    d = [canonical_axis(i, n) for i in dst]
    if len(s) != len(d):
        raise ValueError(f"Inconsistent number of elements: {len(s)} vs {len(d)}")
    perm = [i for i in range(n) if i not in s]
    for to, frm in sorted(zip(d, s, strict=True)):
        perm.insert(to, frm)
    return x if perm == list(range(n)) else lax.transpose(x, perm)


@library_jit(static_argnames=("axis", "start"))
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """One axis moved back until it lies before position `start`."""
    x = _arg("rollaxis", a)
    n = len(shape_of(x))
    if not -n <= start <= n:
        raise ValueError(f"start={start} must satisfy {-n}<=start<={n}")
    axis = canonical_axis(axis, n)
    start = start + n if start < 0 else start
    return moveaxis(x, axis, start - 1 if start > axis else start)


@eager_function
def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Axes of size 1 removed: all, or those given. Raises ValueError for others."""
    x = _arg("squeeze", a)
    s = shape_of(x)
    if axis is None:
        dims = tuple(i for i, d in enumerate(s) if d == 1)
    else:
        dims = tuple(
            canonical_axis(i, len(s))
            for i in (axis if isinstance(axis, (tuple, list)) else (axis,))
        )
    return lax.squeeze(x, dims) if dims else x


@eager_function
def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Axes of size 1 inserted at positions of the result."""
    return lax.expand_dims(
        _arg("expand_dims", a), axis if isinstance(axis, (tuple, list)) else (operator.index(axis),)
    )


@eager_function
def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Elements cast to a dtype (float if None)."""
    x = _arg("astype", x)
    dt = dtypes.check_user_dtype(float if dtype is None else dtype)
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dt) and not dtypes.is_bool(dt):
        warn(
            "Casting from complex to real dtypes will discard the imaginary part.",
            np.exceptions.ComplexWarning,
            stacklevel=3,
        )
    out = convert(x, dt)
    return array(out, copy=True) if copy and out is x else out


# --- broadcasting --------------------------------------------------------------------------


@eager_function
def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """The array repeated to a shape. Raises ValueError where it does not fit."""
    check_arraylike("broadcast_to", array)
    return _broadcast_to(asarray(array), canonical_shape(shape))


@eager_function
def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays broadcast against each other."""
    check_arraylike("broadcast_arrays", *args)
    shape = broadcast_shapes(*(shape_of(a) for a in args)) if args else ()
    return [_broadcast_to(asarray(a), shape) for a in args]


def _atleast(who: str, arys: tuple, f: Any) -> Any:
    if len(arys) == 1:
        return f(_arg(who, arys[0]))
    return [f(_arg(who, a)) for a in arys]


@library_jit
def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis."""
    return _atleast("atleast_1d", arys, lambda x: x if x.ndim >= 1 else lax.expand_dims(x, (0,)))


@library_jit
def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes."""

    def f(x: Any) -> Any:
        if x.ndim >= 2:
            return x
        return lax.expand_dims(x, (0, 1) if x.ndim == 0 else (0,))

    return _atleast("atleast_2d", arys, f)


@library_jit
def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes."""

    def f(x: Any) -> Any:
        if x.ndim == 0:
            return lax.expand_dims(x, (0, 1, 2))
        if x.ndim == 1:
            return lax.expand_dims(x, (0, 2))
        return lax.expand_dims(x, (2,)) if x.ndim == 2 else x

    return _atleast("atleast_3d", arys, f)


# --- joining -------------------------------------------------------------------------------


def _sequence(who: str, arrays: Any) -> list[Any]:
    if hasattr(arrays, "shape") and hasattr(arrays, "dtype"):
        if not arrays.shape:
            raise ValueError(f"{who}: a rank-0 array is no sequence of arrays")
        return list(asarray(arrays))
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(f"{who} requires a sequence of arrays, got {type(arrays)}")
    check_arraylike(who, *arrays)
    return list(arrays)


@eager_function
def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays joined along an existing axis (flattened first if `axis` is None)."""
    parts = _sequence("concatenate", arrays)
    if not parts:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    if not shape_of(parts[0]):
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, len(shape_of(parts[0])))
    if dtype is not None:
        dt = dtypes.check_user_dtype(dtype)
        parts = [convert(p, dt) for p in parts]
    else:
        parts = promote_dtypes(*parts)
    return lax.concatenate(parts, axis) if len(parts) > 1 else array(parts[0], copy=False)


@eager_function
def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an existing axis."""
    return concatenate(arrays, axis)


@eager_function
def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape joined along a new axis. Raises ValueError for different shapes."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    parts = _sequence("stack", arrays)
    if not parts:
        raise ValueError("Need at least one array to stack.")
    s = shape_of(parts[0])
    if any(shape_of(p) != s for p in parts):
        raise ValueError("All input arrays must have the same shape.")
    axis = canonical_axis(axis, len(s) + 1)
    if dtype is not None:
        dt = dtypes.check_user_dtype(dtype)
        parts = [convert(p, dt) for p in parts]
    else:
        parts = promote_dtypes(*parts)
    return lax.stack(parts, axis)


@eager_function
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, as a tuple."""
    x = _arg("unstack", x)
    if x.ndim == 0:
        raise ValueError(
            "Unstack requires arrays with rank > 0, however a scalar array was passed."
        )
    return tuple(lax.unstack(x, canonical_axis(axis, x.ndim)))


@eager_function
def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined by rows."""
    parts = [atleast_2d(p) for p in _sequence("vstack", tup)]
    return concatenate(parts, 0, dtype)


@eager_function
def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined by columns (rank 1: end to end)."""
    parts = [atleast_1d(p) for p in _sequence("hstack", tup)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


@eager_function
def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the third axis."""
    return concatenate([atleast_3d(p) for p in _sequence("dstack", tup)], 2, dtype)


@eager_function
def column_stack(tup: Any) -> Any:
    """Rank-1 arrays as the columns of a matrix."""
    parts = []
    for p in _sequence("column_stack", tup):
        p = asarray(p)
        parts.append(transpose(atleast_2d(p)) if p.ndim < 2 else p)
    return concatenate(parts, 1)


@library_jit
def block(arrays: Any) -> Any:
    """An array assembled from a nested list of blocks.

    The innermost lists are joined along the last axis, the next ones along the one before.
    Raises ValueError for tuples, empty lists and lists of different depth.
    """
    out, _ = _block(arrays)
    return out


def _block(xs: Any) -> tuple[Any, int]:
    """The assembled array, and the depth of its nesting."""
    if isinstance(xs, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {xs}")
    if not isinstance(xs, list):
        check_arraylike("block", xs)
        return asarray(xs), 1
    if not xs:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    parts, depths = zip(*(_block(x) for x in xs), strict=True)
    if any(d != depths[0] for d in depths):
        raise ValueError("Mismatched list depths in jax.numpy.block")
    rank = max(depths[0], max(p.ndim for p in parts))
    parts = tuple(
        p if p.ndim == rank else lax.expand_dims(p, tuple(range(rank - p.ndim))) for p in parts
    )
    return concatenate(list(parts), -depths[0]), depths[0] + 1


@library_jit(static_argnames=("axis",))
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`values` joined at the end of `arr` (both flattened if `axis` is None)."""
    check_arraylike("append", arr, values)
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


# --- splitting -----------------------------------------------------------------------------


def _sizes(who: str, n: int, where: Any, even: bool) -> list[int]:
    if np.ndim(where) == 0 and not isinstance(where, (list, tuple)):
        k = operator.index(where)
        if k == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if k < 0:
            raise ValueError("number sections must be larger than 0.")
        if even and n % k:
            raise ValueError("array split does not result in an equal division")
        return [n // k + (i < n % k) for i in range(k)]
    cuts = [operator.index(c) for c in where]
    cuts = [min(max(c + n if c < 0 else c, 0), n) for c in cuts]
    edges = [0, *cuts, n]
    return [max(b - a, 0) for a, b in itertools.pairwise(edges)]


def _split(who: str, ary: Any, where: Any, axis: int, even: bool) -> list[Any]:
    x = _arg(who, ary)
    if isinstance(where, Tracer):
        raise ConcretizationTypeError(where, f"in jax.numpy.{who} argument 'indices_or_sections'")
    axis = canonical_axis(axis, x.ndim)
    n = x.shape[axis]
    if np.ndim(where) or isinstance(where, (list, tuple)):
        cuts = [operator.index(c) for c in where]
        edges = [0, *[min(max(c + n if c < 0 else c, 0), n) for c in cuts], n]
        sizes = [b - a for a, b in itertools.pairwise(edges)]
        if any(s < 0 for s in sizes):
            raise ValueError(f"Sizes passed to split must be nonnegative, got {sizes}")
        return list(lax.split(x, sizes, axis))
    return list(lax.split(x, _sizes(who, n, where, even), axis))


@eager_function
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Sub-arrays of equal size, or cut at indices. Raises ValueError for an uneven division."""
    return _split("split", ary, indices_or_sections, axis, True)


@eager_function
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Like `split`, allowing sections of unequal size."""
    return _split("array_split", ary, indices_or_sections, axis, False)


@eager_function
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` by rows."""
    return _split("vsplit", ary, indices_or_sections, 0, True)


@eager_function
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` by columns (rank 1: along the only axis)."""
    return _split("hsplit", ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1, True)


@eager_function
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along the third axis."""
    return _split("dsplit", ary, indices_or_sections, 2, True)


__all__ = [
    "append",
    "array_split",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "expand_dims",
    "hsplit",
    "hstack",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "transpose",
    "unstack",
    "vsplit",
    "vstack",
]
