"""Elements repeated and moved: tile, repeat, flip, rotate, roll, resize, diagonals."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core.errors import ConcretizationTypeError
from ..core.trace import Tracer
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .manipulation import _arg, moveaxis, ravel, transpose
from .util import (
    asarray,
    canonical_axis,
    check_arraylike,
    convert,
    jit_as,
)
from .util import broadcast_to as _broadcast_to


@eager_function
def tile(A: Any, reps: Any) -> Any:
    """The array repeated `reps[i]` times along each axis."""
    x = _arg("tile", A)
    r = (operator.index(reps),) if np.ndim(reps) == 0 else tuple(operator.index(i) for i in reps)
    if any(i < 0 for i in r):
        raise ValueError(f"tile: reps must be non-negative, got {r}")
    rank = max(len(r), x.ndim)
    r = (1,) * (rank - len(r)) + r
    if x.ndim < rank:
        x = lax.expand_dims(x, tuple(range(rank - x.ndim)))
    return lax.tile(x, r)


@eager_function
def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Each element (along `axis`, or of the flattened array) repeated.

    `repeats` is a count or an array of counts; traced counts need a static `total_repeat_length`.
    """
    x = _arg("repeat", a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis(axis, max(x.ndim, 1))
    if x.ndim == 0:
        x = lax.reshape(x, (1,))
    n = x.shape[axis]
    if isinstance(repeats, (int, np.integer)) and total_repeat_length is None:
        k = int(repeats)
        if k < 0:
            raise ValueError(f"repeats must be non-negative, got {k}")
        shape = (*x.shape[: axis + 1], k, *x.shape[axis + 1 :])
        wide = lax.broadcast_in_dim(x, shape, tuple(i for i in range(x.ndim + 1) if i != axis + 1))
        return lax.reshape(wide, (*x.shape[:axis], n * k, *x.shape[axis + 1 :]))
    check_arraylike("repeat", repeats)
    if isinstance(repeats, np.ndarray) and repeats.ndim <= 1 and total_repeat_length is None:
        if repeats.size not in (1, n):
            raise ValueError(
                f"repeat: repeats has length {repeats.size}, but the axis has size {n}"
            )
        from .searching import take

        return take(x, np.repeat(np.arange(n, dtype=np.int32), repeats), axis=axis, mode="clip")
    counts = asarray(repeats)
    if counts.ndim > 1:
        raise ValueError(f"repeat: repeats must be a scalar or 1-D, got shape {counts.shape}")
    if counts.ndim == 0 or counts.shape[0] == 1:
        counts = _broadcast_to(lax.reshape(counts, ()), (n,))
    if counts.shape[0] != n:
        raise ValueError(f"repeat: repeats has length {counts.shape[0]}, but the axis has size {n}")
    if total_repeat_length is None:
        if isinstance(counts, Tracer):
            raise ConcretizationTypeError(
                counts,
                "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix this, either specify a static value for `repeats`, or pass a static value to `total_repeat_length`.",
            )
        index = np.repeat(np.arange(n), np.asarray(counts))
        from .searching import take

        return take(x, index, axis=axis, mode="clip")
    total = operator.index(total_repeat_length)
    from .creation import zeros
    from .searching import take

    ends = lax.cumsum(convert(counts, np.dtype(np.int32)), 0)
    starts = ends - convert(counts, np.dtype(np.int32))
    marks = zeros((total,), np.int32).at[starts].add(1, mode="drop")
    index = lax.cumsum(marks, 0) - 1
    return take(x, index, axis=axis, mode="clip")


@eager_function
def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Elements in reverse order along axes (all by default)."""
    x = _arg("flip", m)
    if axis is None:
        dims = tuple(range(x.ndim))
    else:
        dims = tuple(
            canonical_axis(i, x.ndim)
            for i in (axis if isinstance(axis, (tuple, list)) else (axis,))
        )
    return _flip(x, axis=dims)


@library_jit(static_argnames=("axis",))
def _flip(x: Any, axis: tuple[int, ...]) -> Any:
    return lax.rev(x, axis)


@eager_function
def flipud(m: Any) -> Any:
    """Rows in reverse order."""
    return flip(m, 0)


@eager_function
def fliplr(m: Any) -> Any:
    """Columns in reverse order."""
    return flip(m, 1)


@library_jit(static_argnames=("k", "axes"))
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """The array rotated by 90 degrees k times in the plane of two axes."""
    x = _arg("rot90", m)
    if len(axes) != 2:
        raise ValueError(f"rot90: axes must have two entries, got {axes}")
    i, j = (canonical_axis(a, x.ndim) for a in axes)
    if i == j:
        raise ValueError("Axes must be different")
    k = k % 4
    if k == 0:
        return x
    if k == 2:
        return flip(flip(x, i), j)
    perm = list(range(x.ndim))
    perm[i], perm[j] = perm[j], perm[i]
    return transpose(flip(x, j), perm) if k == 1 else flip(transpose(x, perm), j)


@library_jit(static_argnames=("shift", "axis"))
def _roll_static(x: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    for s, a in zip(shift, axis, strict=True):
        n = x.shape[a]
        if n == 0:
            continue
        k = s % n
        if k == 0:
            continue
        x = lax.concatenate(
            [lax.slice_in_dim(x, n - k, n, axis=a), lax.slice_in_dim(x, 0, n - k, axis=a)], a
        )
    return x


@library_jit(static_argnames=("axis",))
def _roll_dynamic(x: Any, shift: Any, axis: tuple[int, ...]) -> Any:
    from .creation import arange
    from .searching import take

    shifts = _broadcast_to(ravel(shift), (len(axis),))
    for i, a in enumerate(axis):
        n = x.shape[a]
        if n:
            index = (arange(n) - shifts[i]) % n
            x = take(x, index, axis=a, mode="clip")
    return x


@eager_function
def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Elements moved along axes, those pushed out coming in at the other end."""
    check_arraylike("roll", a)
    x = asarray(a)
    if axis is None:
        return lax.reshape(roll(ravel(x), shift, 0), x.shape) if x.ndim != 1 else roll(x, shift, 0)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if isinstance(shift, (int, np.integer, tuple, list)) and not any(
        isinstance(s, Tracer) for s in (shift if isinstance(shift, (tuple, list)) else ())
    ):
        shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
        n = max(len(axes), len(shifts))
        if {len(axes), len(shifts)} - {1, n}:
            raise ValueError(f"roll: shift {shift} and axis {axis} do not broadcast")
        axes = axes * n if len(axes) == 1 and n > 1 else axes
        shifts = shifts * n if len(shifts) == 1 and n > 1 else shifts
        return _roll_static(
            x,
            shift=tuple(operator.index(s) for s in shifts),
            axis=tuple(canonical_axis(i, x.ndim) for i in axes),
        )
    if not isinstance(shift, (tuple, list)):
        check_arraylike("roll", shift)
    from .creation import asarray as full_asarray

    return _roll_dynamic(
        x, full_asarray(shift), axis=tuple(canonical_axis(i, x.ndim) for i in axes)
    )


@library_jit(static_argnames=("new_shape",))
def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated in order to fill a shape."""
    x = ravel(_arg("resize", a))
    shape = (
        (operator.index(new_shape),)
        if np.ndim(new_shape) == 0
        else tuple(operator.index(d) for d in new_shape)
    )
    if any(d < 0 for d in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = math.prod(shape)
    from .creation import zeros_like

    if x.size == 0 or size == 0:
        return zeros_like(x, shape=shape)
    reps = -(-size // x.size)
    return lax.reshape(tile(x, reps)[:size], shape)


@eager_function
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of the planes of two axes, as the last axis of the result."""
    x = _arg("diagonal", a)
    if x.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    k = operator.index(offset)
    i, j = canonical_axis(axis1, x.ndim), canonical_axis(axis2, x.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 must be different")
    return _diagonal(x, offset=k, axis1=i, axis2=j)


@jit_as("diagonal", static_argnames=("offset", "axis1", "axis2"))
def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    from .creation import arange

    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, cols = x.shape[-2:]
    n = max(0, min(rows + min(offset, 0), cols - max(offset, 0)))
    i, j = (arange(n), arange(abs(offset), n + abs(offset)))
    return x[(..., i, j) if offset >= 0 else (..., j, i)]


@library_jit(static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """Sum along the diagonal of the planes of two axes."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.trace is not supported.")
    x = _arg("trace", a)
    if x.ndim < 2:
        raise ValueError(f"trace requires an array of at least two dimensions, got shape {x.shape}")
    from .creation import zeros_like
    from .reductions import sum as _sum
    from .selection import where

    x = moveaxis(x, (axis1, axis2), (-2, -1))
    i = lax.broadcasted_iota(np.dtype(np.int32), x.shape[-2:], 0)
    j = lax.broadcasted_iota(np.dtype(np.int32), x.shape[-2:], 1)
    mask = lax.eq(lax.add(i, convert(offset, np.dtype(np.int32))), j)
    return _sum(where(mask, x, zeros_like(x)), axis=(-2, -1), dtype=dtype)


__all__ = [
    "diagonal",
    "flip",
    "fliplr",
    "flipud",
    "repeat",
    "resize",
    "roll",
    "rot90",
    "tile",
    "trace",
]
