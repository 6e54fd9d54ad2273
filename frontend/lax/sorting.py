"""Sorting along an axis, and the largest elements of each row."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..primitives.sorting import sort_p, top_k_p
from ..transforms.eager_functions import eager_function
from .indexing import canonical_axis


@eager_function
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort one array, or several arrays together, along an axis in ascending order.

    Of several arrays the first `num_keys` are the keys, compared lexicographically; the others are
    permuted with them. NaNs come last; equal elements keep their order if `is_stable`. Returns an
    array for an array and a tuple for a sequence. Raises ValueError for a bad `num_keys`.
    """
    if isinstance(operand, Sequence):
        if not operand:
            raise TypeError("Sort requires at least one operand")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(f"{num_keys=} must be between 1 and {len(operand)=}")
        axis = canonical_axis(dimension, len(np.shape(operand[0])))
        return tuple(sort_p.bind(*operand, dimension=axis, is_stable=is_stable, num_keys=num_keys))
    if num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    axis = canonical_axis(dimension, len(np.shape(operand)))
    return sort_p.bind(operand, dimension=axis, is_stable=is_stable, num_keys=1)[0]


@eager_function
def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """Sort `keys` along an axis and permute `values` with them."""
    axis = canonical_axis(dimension, len(np.shape(keys)))
    k, v = sort_p.bind(keys, values, dimension=axis, is_stable=is_stable, num_keys=1)
    return k, v


@eager_function
def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The `k` largest elements along an axis in descending order, and their int32 indices.

    Of equal elements the one that comes first is first. Raises ValueError where `k` is negative
    or larger than the axis.
    """
    rank = len(np.shape(operand))
    if rank == 0:
        raise TypeError("top_k operand must have >= 1 dimension, got ()")
    return list(top_k_p.bind(operand, k=operator.index(k), axis=canonical_axis(axis, rank)))


__all__ = ["sort", "sort_key_val", "top_k"]
