"""Creation and rearrangement of arrays: full, iota, broadcast, reshape, transpose, slices, pad."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import canonical_shape, get_aval
from ..primitives.slicing import (
    concatenate_p,
    pad_p,
    rev_p,
    slice_p,
    split_p,
    stack_p,
    tile_p,
    unstack_p,
)
from ..primitives.structure import broadcast_in_dim_p, iota_p, reshape_p, squeeze_p, transpose_p
from ..transforms.eager_functions import eager_function
from .conversion import asarray, convert_weakly


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a value. Raises TypeError for what is no array or scalar."""
    return get_aval(x).shape  # type: ignore[attr-defined]


def indices(values: Any) -> tuple[int, ...]:
    """Integers given as a sequence or array. Raises TypeError for anything else."""
    return tuple(operator.index(v) for v in values)


def canonical_axis(axis: Any, rank: int) -> int:
    """An axis counted from the front; negative ones count from the back.

    Raises ValueError where it does not exist.
    """
    a = operator.index(axis)
    if not -rank <= a < rank:
        raise ValueError(f"axis {a} is out of bounds for array of dimension {rank}")
    return a + rank if a < 0 else a


# --- creation ------------------------------------------------------------------------------


def _repeated(value: Any, shape: tuple[int, ...]) -> Any:
    """A scalar array repeated to a shape."""
    if not shape:
        return value
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=(), sharding=None)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of the given shape with all elements `fill_value`, a scalar.

    Without `dtype` it has that of the value, and is weakly typed if the value is.
    """
    shape = canonical_shape(shape)
    if fill_value is None:
        raise ValueError("Invalid fill_value None: full must be called with a scalar.")
    aval: Any = get_aval(fill_value)
    if aval.shape:
        raise TypeError(
            f"full must be called with scalar fill_value, got fill_value.shape {aval.shape}."
        )
    weak = dtype is None and aval.weak_type
    dt = aval.dtype if dtype is None else dtypes.check_user_dtype(dtype)
    value = convert_weakly(fill_value, dt, weak)
    return _repeated(value, shape)


@eager_function
def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """`full` with the shape and dtype of `x`, where they are not given."""
    shape = (
        tuple(x.shape if hasattr(x, "shape") else shape_of(x))
        if shape is None
        else canonical_shape(shape)
    )
    aval: Any = x if not _is_value(x) else get_aval(x)
    weak = dtype is None and getattr(aval, "weak_type", False)
    dt = dtypes.canonicalize_dtype(aval.dtype) if dtype is None else dtypes.check_user_dtype(dtype)
    if dtypes.is_extended(dt):
        return broadcast(asarray(fill_value), shape)
    if shape_of(fill_value):
        raise TypeError(
            "full must be called with scalar fill_value, got fill_value.shape "
            f"{shape_of(fill_value)}."
        )
    value = convert_weakly(fill_value, dt, weak)
    return _repeated(value, shape)


def _is_value(x: Any) -> bool:
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array whose contents are arbitrary (they are zero)."""
    return full(shape, 0, dtype)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1."""
    return broadcasted_iota(dtype, (size,), 0)


@eager_function
def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """An array whose elements are their index along `dimension`."""
    return iota_p.bind(
        dtype=dtypes.check_user_dtype(dtype),
        shape=canonical_shape(shape),
        dimension=operator.index(dimension),
        sharding=None,
    )


def shape_as_value(shape: Any) -> Any:
    """A shape as a one-dimensional NumPy array of int32."""
    return np.array(canonical_shape(shape), np.int32)


# --- broadcasting --------------------------------------------------------------------------


@eager_function
def broadcast_in_dim(
    operand: Any, shape: Any, broadcast_dimensions: Sequence[int], *, out_sharding: Any = None
) -> Any:
    """Axis i of `operand` becomes axis `broadcast_dimensions[i]` of the result; others repeat.

    Raises TypeError where the sizes do not fit.
    """
    shape, dims = canonical_shape(shape), indices(broadcast_dimensions)
    if dims == tuple(range(len(shape))) and shape_of(operand) == shape:
        return asarray(operand)
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims, sharding=None)


@eager_function
def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """New leading axes of the given sizes."""
    sizes = canonical_shape(sizes)
    own = shape_of(operand)
    n = len(sizes)
    return broadcast_in_dim(operand, (*sizes, *own), tuple(range(n, n + len(own))))


@eager_function
def broadcast_to_rank(x: Any, rank: int) -> Any:
    """New leading axes of size 1 up to the rank."""
    own = shape_of(x)
    missing = rank - len(own)
    return asarray(x) if missing <= 0 else broadcast(x, (1,) * missing)


@eager_function
def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr` broadcast to the shape of `like_arr`, aligned at the last axes."""
    own, shape = shape_of(arr), shape_of(like_arr)
    n = len(shape) - len(own)
    return broadcast_in_dim(arr, shape, tuple(range(n, len(shape))))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast by NumPy's rules.

    Raises ValueError where there is none.
    """
    given = [canonical_shape(s) for s in shapes]
    rank = max((len(s) for s in given), default=0)
    out = []
    for sizes in zip(*[(1,) * (rank - len(s)) + s for s in given], strict=True):
        other = {d for d in sizes if d != 1}
        if len(other) > 1:
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={given}")
        out.append(other.pop() if other else 1)
    return tuple(out)


# --- shape changes -------------------------------------------------------------------------


@eager_function
def reshape(
    operand: Any,
    new_sizes: Any,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """The elements in row-major order (of the axes permuted by `dimensions`) in a new shape.

    Raises TypeError where the number of elements would change; -1 is not accepted here.
    """
    sizes = canonical_shape(new_sizes)
    own = shape_of(operand)
    dims = None
    if dimensions is not None:
        dims = indices(dimensions)
        if dims == tuple(range(len(own))):
            dims = None
    if own and sizes == own and dims is None and hasattr(operand, "aval"):
        return operand
    return reshape_p.bind(operand, new_sizes=sizes, dimensions=dims, sharding=None)


@eager_function
def transpose(operand: Any, permutation: Any) -> Any:
    """Axis i of the result is axis `permutation[i]` of the operand."""
    perm = indices(permutation)
    if perm == tuple(range(len(shape_of(operand)))):
        return asarray(operand)
    return transpose_p.bind(operand, permutation=perm)


@eager_function
def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Remove axes of size 1. Raises ValueError for others, and for axes given twice."""
    own = shape_of(array)
    dims = tuple(sorted(canonical_axis(d, len(own)) for d in dimensions))
    if len(set(dims)) != len(dims):
        raise ValueError(f"dimensions are not unique: {dims}")
    return squeeze_p.bind(array, dimensions=dims) if dims else asarray(array)


@eager_function
def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """New axes of size 1 at these positions of the result."""
    own = shape_of(array)
    rank = len(own) + len(tuple(dimensions))
    dims = {canonical_axis(d, rank) for d in dimensions}
    if len(dims) != rank - len(own):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    if not dims:
        return asarray(array)
    sizes = iter(own)
    shape = tuple(1 if i in dims else next(sizes) for i in range(rank))
    return broadcast_in_dim(array, shape, tuple(i for i in range(rank) if i not in dims))


@eager_function
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Merge the axes from `start_dimension` up to `stop_dimension` into one."""
    own = shape_of(operand)
    lo, hi, _ = slice_type(start_dimension, stop_dimension).indices(len(own))
    if hi < lo:
        raise ValueError(f"Invalid dimension range passed to collapse: {own}[{lo}:{hi}]")
    return reshape(operand, (*own[:lo], math.prod(own[lo:hi]), *own[hi:]))


slice_type = slice

# --- slices --------------------------------------------------------------------------------


@eager_function
def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Elements from `start_indices` up to `limit_indices`, every `strides`-th, in each axis.

    Raises TypeError for indices out of range.
    """
    return slice_p.bind(
        operand,
        start_indices=indices(start_indices),
        limit_indices=indices(limit_indices),
        strides=None if strides is None else indices(strides),
    )


@eager_function
def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> Sequence[Any]:
    """Consecutive parts of an axis. Raises ValueError where the sizes do not add up to it."""
    axis = canonical_axis(axis, len(shape_of(operand)))
    return split_p.bind(operand, sizes=indices(sizes), axis=axis)


# --- joining -------------------------------------------------------------------------------


def _operands(operands: Any) -> list[Any]:
    if hasattr(operands, "shape"):
        return list(unstack(operands))
    return list(operands)


@eager_function
def concatenate(operands: Any, dimension: int) -> Any:
    """Arrays one after the other along an axis. Raises TypeError where shapes do not fit."""
    xs = _operands(operands)
    if not xs:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    dim = operator.index(dimension)
    if len(xs) == 1 and hasattr(xs[0], "aval") and 0 <= dim < xs[0].ndim:
        return xs[0]
    return concatenate_p.bind(*xs, dimension=dim)


@eager_function
def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    xs = _operands(operands)
    if not xs:
        raise IndexError("stack requires a non-empty sequence of arrays")
    axis = canonical_axis(axis, len(shape_of(xs[0])) + 1)
    return stack_p.bind(*xs, axis=axis)


@eager_function
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The parts of `x` at each index of an axis."""
    axis = canonical_axis(axis, len(shape_of(x)))
    return tuple(unstack_p.bind(x, axis=axis))


@eager_function
def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` repeated `reps[i]` times along axis i."""
    return tile_p.bind(operand, reps=indices(reps))


@eager_function
def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """Padding (low, high, interior) of each axis; negative low and high cut elements off.

    Raises TypeError for a value of another dtype, ValueError for a wrong configuration.
    """
    config = tuple(
        (operator.index(a), operator.index(b), operator.index(c)) for a, b, c in padding_config
    )
    return pad_p.bind(operand, padding_value, padding_config=config)


@eager_function
def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The elements in reverse order along the axes."""
    return rev_p.bind(operand, dimensions=indices(dimensions))


__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "canonical_axis",
    "collapse",
    "concatenate",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "indices",
    "iota",
    "pad",
    "reshape",
    "rev",
    "shape_as_value",
    "shape_of",
    "slice",
    "slice_type",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]
