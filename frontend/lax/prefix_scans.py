"""Parallel prefix sums of any associative operation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..core import dtypes, pytree
from ..core.avals import get_aval
from .bits import bitwise_or
from .control_flow_util import check_leaves, leaf_paths
from .elementwise import add
from .indexing import slice_in_dim
from .structure import concatenate, pad, rev

__all__ = ["associative_scan"]


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All prefixes `fn(...fn(fn(e0, e1), e2)..., ei)` along an axis, by a tree of depth log n.

    Args:
      fn: associative function of two pytrees like `elems`, vectorized: it gets slices of any size
        along `axis`. It is called about 2 log2(n) times, on 2 n elements in all.
      elems: pytree of arrays of equal size along `axis`.
      reverse: suffixes instead of prefixes.
      axis: the axis, an int.

    Returns a pytree like `elems`. The scheme: combine neighbours, scan the half as many results,
    which are the results at odd places, and combine these with the elements at even places
    (Blelloch, Prefix sums and their applications, 1990).

    Raises TypeError unless `fn` is callable, ValueError for an axis that an array does not have and
    for sizes that differ.
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    flat, tree = pytree.tree_flatten(elems)
    if not flat:
        raise IndexError("lax.associative_scan: elems has no arrays")
    avals = check_leaves(flat)
    position = operator.index(axis)
    axes = [_axis(position, a.ndim) for a in avals]
    sizes = [a.shape[d] for a, d in zip(avals, axes, strict=True)]
    if len(set(sizes)) > 1:
        where = ", ".join(
            f"elems{p}: {a.shape}" for p, a in zip(leaf_paths(tree), avals, strict=True)
        )
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. (saw: "
            f"{[a.shape for a in avals]}; size along axis {axis} of {where})"
        )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        out = fn(pytree.tree_unflatten(tree, a), pytree.tree_unflatten(tree, b))
        leaves, out_tree = pytree.tree_flatten(out)
        if out_tree != tree:
            raise ValueError(
                f"lax.associative_scan: fn must return a pytree like elems, {tree}, but returned "
                f"{out_tree}"
            )
        return leaves

    def cut(xs: list[Any], start: int, stop: int | None, stride: int = 1) -> list[Any]:
        return [
            slice_in_dim(x, start, get_aval(x).shape[d] if stop is None else stop, stride, d)
            for x, d in zip(xs, axes, strict=True)
        ]

    def prefixes(xs: list[Any], n: int) -> list[Any]:
        if n < 2:
            return xs
        pairs = combine(cut(xs, 0, n - 1, 2), cut(xs, 1, n, 2))
        odd = prefixes(pairs, n // 2)
        before = cut(odd, 0, n // 2 - 1) if n % 2 == 0 else odd
        even = combine(before, cut(xs, 2, n, 2))
        first = cut(xs, 0, 1)
        even = [concatenate([a, b], d) for a, b, d in zip(first, even, axes, strict=True)]
        return [_interleave(a, b, d) for a, b, d in zip(even, odd, axes, strict=True)]

    if reverse:
        flat = [rev(x, (d,)) for x, d in zip(flat, axes, strict=True)]
    out = prefixes(flat, sizes[0])
    if reverse:
        out = [rev(x, (d,)) for x, d in zip(out, axes, strict=True)]
    return pytree.tree_unflatten(tree, out)


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Elements of `even` and `odd` in turn along an axis; `even` may have one more."""
    a, b = get_aval(even), get_aval(odd)
    n, m = a.shape[axis], b.shape[axis]
    zero = a.dtype.type(0)
    nothing = [(0, 0, 0)] * a.ndim
    first, second = list(nothing), list(nothing)
    first[axis] = (0, 1 if n == m else 0, 1)
    second[axis] = (1, 0 if n == m else 1, 1)
    join = bitwise_or if dtypes.is_bool(a.dtype) else add
    return join(pad(even, zero, first), pad(odd, zero, second))
