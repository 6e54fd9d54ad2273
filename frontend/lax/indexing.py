"""Gather, scatter, and slices whose position is computed."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import canonical_shape, get_aval
from ..core.primitive import registry
from ..core.trace import Tracer
from ..primitives.dynamic import dynamic_slice_p, dynamic_update_slice_p
from ..primitives.gather import GatherDimensionNumbers, GatherScatterMode, gather
from ..primitives.scatter import (
    ScatterDimensionNumbers,
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from ..transforms.eager_functions import eager_function


def canonical_axis(axis: Any, rank: int) -> int:
    """An axis counted from either end, as a non-negative int. Raises ValueError out of bounds."""
    i = operator.index(axis)
    if not -rank <= i < rank:
        raise ValueError(f"axis {i} is out of bounds for array of dimension {rank}")
    return i % rank


def _wrapped_index(i: Any, n: int, allow_negative: bool) -> Any:
    """A start index with negative values counted from the end."""
    if not isinstance(i, Tracer) and np.ndim(i) == 0:
        value = operator.index(i)
        dt = (
            np.dtype(np.int32)
            if not isinstance(i, np.generic) and not hasattr(i, "dtype")
            else i.dtype
        )
        if allow_negative and value < 0 and dtypes.is_signed(dt):
            value += n
        info = dtypes.iinfo(dt)
        return np.asarray(min(max(value, info.min), info.max), dt)
    aval = get_aval(i)
    if not dtypes.is_integer(aval.dtype):  # type: ignore[attr-defined]
        raise TypeError(
            "index arguments to dynamic_slice must be integers, got "
            f"{dtypes.dtype_name(aval.dtype)}."  # type: ignore[attr-defined]
        )
    if not allow_negative or not dtypes.is_signed(aval.dtype):  # type: ignore[attr-defined]
        return i
    dt = aval.dtype  # type: ignore[attr-defined]
    negative = registry["lt"].bind(i, np.zeros((), dt))
    strong = i
    if aval.weak_type:  # type: ignore[attr-defined]
        strong = registry["convert_element_type"].bind(
            i, new_dtype=dt, weak_type=False, sharding=None
        )
    moved = registry["add"].bind(strong, np.asarray(n, dt))
    return registry["select_n"].bind(negative, i, moved)


def _start_indices(operand: Any, starts: Any, allow: bool | Sequence[bool], who: str) -> list[Any]:
    shape = np.shape(operand)
    if not isinstance(starts, (tuple, list)):
        aval = get_aval(starts)
        if len(aval.shape) != 1:  # type: ignore[attr-defined]
            raise ValueError(
                f"{who}: start indices must be a sequence or a rank-1 array, got shape {aval.shape}"
            )  # type: ignore[attr-defined]
        starts = [starts[i] for i in range(aval.shape[0])]  # type: ignore[attr-defined]
    if len(starts) != len(shape):
        raise TypeError(
            f"{who} indices must have one entry per dimension of the operand: got {len(starts)} "
            f"indices for shape {shape}."
        )
    allowed = [allow] * len(shape) if isinstance(allow, bool) else list(allow)
    if len(allowed) != len(shape):
        raise ValueError(
            f"{who}: allow_negative_indices must have one entry per dimension, got {allow}"
        )
    return [_wrapped_index(i, n, a) for i, n, a in zip(starts, shape, allowed, strict=True)]


@eager_function
def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The window of `operand` of shape `slice_sizes` that starts at computed indices.

    `start_indices` has one scalar for each dimension; negative ones count from the end unless
    `allow_negative_indices` forbids it, and the window is then moved to lie within bounds.
    """
    starts = _start_indices(operand, start_indices, allow_negative_indices, "dynamic_slice")
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=canonical_shape(slice_sizes))


@eager_function
def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """`operand` with the window that starts at computed indices replaced by `update`.

    Start indices are treated as in `dynamic_slice`.
    """
    starts = _start_indices(operand, start_indices, allow_negative_indices, "dynamic_update_slice")
    return dynamic_update_slice_p.bind(operand, update, *starts)


@eager_function
def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis, whole along the others."""
    shape = np.shape(operand)
    axis = canonical_axis(axis, len(shape))
    starts: list[Any] = [0] * len(shape)
    sizes = list(shape)
    starts[axis], sizes[axis] = start_index, operator.index(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@eager_function
def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The slice of size 1 at a computed index of one axis; `keepdims` keeps the axis."""
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    if keepdims:
        return out
    return registry["squeeze"].bind(out, dimensions=(canonical_axis(axis, len(np.shape(operand))),))


@eager_function
def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis, from 0 along the others."""
    rank = len(np.shape(operand))
    starts: list[Any] = [0] * rank
    starts[canonical_axis(axis, rank)] = start_index
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@eager_function
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Replace the slice at a computed index of one axis; `update` may lack that axis."""
    rank = len(np.shape(operand))
    axis = canonical_axis(axis, rank)
    if len(np.shape(update)) != rank:
        shape = list(np.shape(update))
        shape.insert(axis, 1)
        kept = tuple(i for i in range(len(shape)) if i != axis)
        update = registry["broadcast_in_dim"].bind(
            update, shape=tuple(shape), broadcast_dimensions=kept, sharding=None
        )
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


@eager_function
def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Any:
    """A static slice along one axis: `operand[..., start:limit:stride, ...]`."""
    shape = np.shape(operand)
    axis = canonical_axis(axis, len(shape))
    n = shape[axis]
    lo = 0 if start_index is None else operator.index(start_index)
    hi = n if limit_index is None else operator.index(limit_index)
    lo, hi = (lo + n if lo < 0 else lo), (hi + n if hi < 0 else hi)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = lo, hi, operator.index(stride)
    return registry["slice"].bind(
        operand, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides)
    )


@eager_function
def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice of size 1 at a static index of one axis; `keepdims` keeps the axis.

    Raises IndexError when the index is out of bounds.
    """
    shape = np.shape(operand)
    axis = canonical_axis(axis, len(shape))
    n, i = shape[axis], operator.index(index)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    i %= n
    out = slice_in_dim(operand, i, i + 1, 1, axis)
    return out if keepdims else registry["squeeze"].bind(out, dimensions=(axis,))


@eager_function
def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Elements of `src` at index arrays for some axes, the indexed axes removed and put first.

    Indices out of bounds are clipped; negative ones count from the end.
    """
    shape = np.shape(src)
    parts = []
    for i, a in zip(idxs, axes, strict=True):
        wrapped = registry["rem"].bind(i, np.asarray(shape[a], get_aval(i).dtype))  # type: ignore[attr-defined]
        negative = registry["lt"].bind(wrapped, np.zeros((), get_aval(i).dtype))  # type: ignore[attr-defined]
        moved = registry["add"].bind(wrapped, np.asarray(shape[a], get_aval(i).dtype))  # type: ignore[attr-defined]
        column = registry["select_n"].bind(negative, wrapped, moved)
        s = np.shape(column)
        parts.append(
            registry["broadcast_in_dim"].bind(
                column, shape=(*s, 1), broadcast_dimensions=tuple(range(len(s))), sharding=None
            )
        )
    vectors = (
        parts[0]
        if len(parts) == 1
        else registry["concatenate"].bind(*parts, dimension=len(np.shape(parts[0])) - 1)
    )
    rank, lead = len(shape), len(np.shape(vectors)) - 1
    sizes = [1 if d in axes else n for d, n in enumerate(shape)]
    dn = GatherDimensionNumbers(
        offset_dims=tuple(range(lead, lead + rank - len(axes))),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=tuple(axes),
    )
    return gather(src, vectors, dn, tuple(sizes), mode="clip")


__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "gather",
    "index_in_dim",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "slice_in_dim",
]
