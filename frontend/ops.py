"""Reductions of segments: elements with the same id are combined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .core import dtypes
from .core.errors import ConcretizationTypeError
from .core.trace import Tracer
from .lax import iota, reshape, select
from .numpy import reductions
from .numpy.creation import full
from .numpy.util import asarray, aval_of, broadcast_to, check_arraylike
from .primitives.reductions import limits
from .primitives.scatter import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
)


def _count(who: str, ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        last = reductions.max(ids)
        if isinstance(last, Tracer) and last._concrete() is None:
            raise ConcretizationTypeError(
                last, f"{who}() needs its num_segments argument where segment_ids are traced."
            )
        num_segments = int(last) + 1
    elif isinstance(num_segments, Tracer) and num_segments._concrete() is None:
        raise ConcretizationTypeError(num_segments, f"{who}() `num_segments` argument.")
    n = operator.index(num_segments)
    if n < 0:
        raise ValueError("num_segments must be non-negative.")
    return n


def _segment(
    who: str,
    scatter: Callable[..., Any],
    reduce: Callable[..., Any],
    identity: Callable[[Any], Any],
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Any,
) -> Any:
    check_arraylike(who, data, segment_ids)
    data, ids = asarray(data), asarray(segment_ids)
    dt = aval_of(ids).dtype
    if not dtypes.is_integer(dt):
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{dtypes.dtype_name(dt)}"
        )
    n = _count(who, ids, num_segments)
    start = identity(aval_of(data).dtype)
    shape = data.shape[1:]
    mode = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    buckets = 1
    if bucket_size is not None:
        size = operator.index(bucket_size)
        if size < 1:
            raise ValueError(f"{who}: bucket_size must be positive, got {bucket_size}")
        buckets = -(-data.shape[0] // size) if data.shape[0] else 1
        if buckets > 1:
            # ids that count on from bucket to bucket; those out of range stay out of range
            bucket = iota(np.dtype(np.int32), data.shape[0]) // size
            inside = (ids >= 0) & (ids < n)
            ids = select(inside, ids + bucket * n, full(ids.shape, n * buckets, ids.dtype))
            indices_are_sorted = False
    data = broadcast_to(data, (*ids.shape, *shape))
    dn = ScatterDimensionNumbers(
        update_window_dims=tuple(range(ids.ndim, ids.ndim + len(shape))),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )
    out = scatter(
        full((n * buckets, *shape), start, aval_of(data).dtype),
        ids[..., None],
        data,
        dn,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    return out if buckets == 1 else reduce(reshape(out, (buckets, n, *shape)), axis=0)


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sums of the elements along the first axis of `data` that have the same segment id.

    `segment_ids` holds an integer for each element of the first axis; elements whose id is not in
    [0, num_segments) are left out. `num_segments` is one more than the largest id by default and
    must be given where the ids are traced. `bucket_size` sums in buckets of that many elements
    first, which rounds less. Raises ConcretizationTypeError, TypeError or ValueError.
    """
    return _segment(
        "segment_sum", scatter_add, reductions.sum, lambda dt: 0, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The products of the elements with the same segment id; 1 for no elements. See segment_sum."""
    return _segment(
        "segment_prod", scatter_mul, reductions.prod, lambda dt: 1, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The maxima of the elements with the same segment id; the lowest value for no elements."""
    return _segment(
        "segment_max", scatter_max, reductions.max, lambda d: limits(d)[0], data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The minima of the elements with the same segment id; the highest value for no elements."""
    return _segment(
        "segment_min", scatter_min, reductions.min, lambda d: limits(d)[1], data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
