"""Collectives: functions that combine values along a named axis, which `vmap` maps."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes, pytree
from ..core import trace as _trace
from ..core.avals import get_aval
from ..primitives.collectives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)
from ..primitives.varying import check_sum, psum_invariant_p, vary, vma_of
from .conversion import convert_element_type
from .structure import expand_dims, squeeze


def _names(axis_name: Any) -> tuple:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _groups(axis_index_groups: Any, names: tuple, equal: bool = False) -> Any:
    """`axis_index_groups` as tuples, checked: each index once, and maybe equal sizes."""
    if axis_index_groups is None:
        return None
    groups = tuple(tuple(operator.index(i) for i in g) for g in axis_index_groups)
    if any(isinstance(a, (int, np.integer)) for a in names):
        raise ValueError("axis_index_groups only supported for sums over just named axes.")
    indices = sorted(i for g in groups for i in g)
    if indices != list(range(axis_size(names))):
        raise ValueError("axis_index_groups must cover all indices exactly once")
    if equal and len({len(g) for g in groups}) > 1:
        raise ValueError(f"axis_index_groups must all be of one size here, got {groups}")
    return groups


def _group_size(groups: Any, names: tuple) -> int:
    return axis_size(names) if groups is None else len(groups[0])


def _check(x: Any) -> Any:
    try:
        return get_aval(x)
    except TypeError:
        raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type") from None


def _position(axis: Any, rank: int) -> int:
    a = operator.index(axis)
    if not -rank <= a < rank:
        raise ValueError(f"axis {a} is out of bounds for array of dimension {rank}")
    return a % rank


def _axes(names: tuple, rank: int) -> tuple:
    return tuple(_position(a, rank) if isinstance(a, (int, np.integer)) else a for a in names)


def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis (the product for a tuple). Raises NameError for unbound names."""
    return math.prod(_trace.axis_size(n) for n in _names(axis_name))


def axis_index(axis_name: Any) -> Any:
    """The position along a mapped axis, as int32; for a tuple of names, in row-major order.

    Raises NameError for unbound names.
    """
    if not isinstance(axis_name, (tuple, list)):
        return axis_index_p.bind(axis_name=axis_name)
    inner, index = 1, np.int32(0)
    for name in reversed(axis_name):
        index = index + axis_index_p.bind(axis_name=name) * np.int32(inner)
        inner *= _trace.axis_size(name)
    return index


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of the leaves of `x` over a mapped axis, or several; the same in all positions.

    `axis_name` may hold positions of dimensions, too. Booleans are counted as int32. The sum of a
    Python scalar is its product with the axis' size, known while tracing. Raises NameError for
    unbound names.
    """
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names)

    def one(leaf: Any) -> Any:
        aval = _check(leaf)
        if type(leaf) in (int, float, complex):
            if groups is not None:
                return leaf * len(groups[0])
            return leaf * math.prod(_trace.axis_size(n) for n in _axes(names, 0))
        if dtypes.is_bool(aval.dtype):
            leaf = convert_element_type(leaf, np.int32)
        if not names:
            return leaf
        axes = _axes(names, len(aval.shape))
        if _trace.state.check_vma and groups is None:
            check_sum("psum", leaf, axes)
            return psum_invariant_p.bind(leaf, axes=axes)
        return psum_p.bind(leaf, axes=axes, axis_index_groups=groups)

    return pytree.tree_map(one, x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of the leaves of `x` over a mapped axis, or several. See `psum`."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    n = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return pytree.tree_map(lambda v: v / n, total)


def _extreme(primitive: Any, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names)

    def one(leaf: Any) -> Any:
        rank = len(_check(leaf).shape)
        if not names:
            return leaf
        return primitive.bind(leaf, axes=_axes(names, rank), axis_index_groups=groups)

    return pytree.tree_map(one, x)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The maximum of the leaves of `x` over a mapped axis, or several. Not differentiable."""
    return _extreme(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The minimum of the leaves of `x` over a mapped axis, or several. Not differentiable."""
    return _extreme(pmin_p, x, axis_name, axis_index_groups)


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The leaves' values of all positions of a mapped axis, stacked along `axis`.

    With `tiled`, they are concatenated along the existing `axis` instead.
    """
    if to not in ("varying", "reduced", "invarying"):
        raise ValueError(f"all_gather: to must be 'varying', 'reduced' or 'invarying', got {to!r}")
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names, equal=True)
    size = _group_size(groups, names)

    def one(leaf: Any) -> Any:
        rank = len(_check(leaf).shape)
        return all_gather_p.bind(
            leaf,
            all_gather_dimension=_position(axis, rank if tiled else rank + 1),
            axis_index_groups=groups,
            axis_name=names,
            axis_size=size,
            tiled=bool(tiled),
        )

    return pytree.tree_map(one, x)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Like `psum`, but each position of the mapped axis keeps its slice of `scatter_dimension`.

    That dimension has the axis' size and is removed; with `tiled`, it is a multiple of the axis'
    size and is divided by it. Raises ValueError for other sizes.
    """
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names, equal=True)
    size = _group_size(groups, names)

    def one(leaf: Any) -> Any:
        return reduce_scatter_p.bind(
            leaf,
            scatter_dimension=_position(scatter_dimension, len(_check(leaf).shape)),
            axis_index_groups=groups,
            axis_name=names,
            axis_size=size,
            tiled=bool(tiled),
        )

    return pytree.tree_map(one, x)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Each position of a mapped axis sends the i-th part of `split_axis` to position i.

    What a position receives is stacked along `concat_axis`, and `split_axis`, which has the mapped
    axis' size, is removed; with `tiled` the parts are concatenated and both axes stay. Raises
    ValueError for sizes that do not fit.
    """
    groups = _groups(axis_index_groups, _names(axis_name), equal=True)
    size = _group_size(groups, _names(axis_name))

    def one(leaf: Any) -> Any:
        shape = _check(leaf).shape
        s, c = _position(split_axis, len(shape)), _position(concat_axis, len(shape))
        if not tiled:
            if shape[s] != size:
                raise ValueError(
                    "all_to_all requires the size of the mapped axis axis_name to equal "
                    f"x.shape[split_axis], but they are {size} and {shape[s]} respectively."
                )
            if c < s:
                s += 1
            else:
                c += 1
            leaf = expand_dims(leaf, (c,))
        out = all_to_all_p.bind(
            leaf,
            axis_name=axis_name,
            split_axis=s,
            concat_axis=c,
            axis_index_groups=groups,
            tiled=bool(tiled),
        )
        return out if tiled else squeeze(out, (s,))

    return pytree.tree_map(one, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values along a mapped axis: `perm` holds pairs (source, destination).

    Positions that are no destination get zeros. Raises ValueError where a source or destination is
    repeated or out of range.
    """
    pairs = tuple((operator.index(s), operator.index(d)) for s, d in perm)
    names = _names(axis_name)
    size = axis_size(names)
    for what, ends in (("source", [s for s, _ in pairs]), ("destination", [d for _, d in pairs])):
        if len(set(ends)) != len(ends) or any(not 0 <= e < size for e in ends):
            raise ValueError(
                f"ppermute: each {what} must be unique and lie in [0, {size}), got perm="
                f"{list(pairs)}"
            )
    return pytree.tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permute values along a mapped axis: position i gets the value of position `perm[i]`.

    Raises ValueError unless `perm` is a permutation.
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchange a mapped axis with the dimension `axis`, which has its size."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """The leaves of `x` taken as values that vary along mesh axes (`to='varying'`), in shard_map.

    Raises ValueError for leaves that vary along one of them already.
    """
    if to != "varying":
        raise NotImplementedError(f"pcast: to must be 'varying', got {to!r}")
    names = _names(axis_name)
    for n in names:
        _trace.axis_size(n)

    def one(leaf: Any) -> Any:
        _check(leaf)
        if not _trace.state.check_vma:
            return leaf
        already = [n for n in names if n in vma_of(leaf)]
        if already:
            raise ValueError(
                "Unsupported cast: the input to pcast varies already along the axes "
                f"{tuple(already)}, got type {_check(leaf).str_short(long=True)}"
            )
        return vary(leaf, frozenset(names))

    return pytree.tree_map(one, x)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The value at position `source` of a mapped axis, in all positions."""
    i = operator.index(source)
    return pytree.tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=axis_name, source=i), x)


__all__ = [
    "all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean", "pmin",
    "ppermute", "pshuffle", "psum", "psum_scatter", "pswapaxes",
]  # fmt: skip
