"""Slices whose position is computed: dynamic_slice and dynamic_update_slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray
from ..core.primitive import Primitive, Sample, registry
from ..core.rules import Zero, batch_rule, instantiate, is_undefined, jvp_rule, transpose_rule
from .checks import slice_check, update_check
from .declare import evaluate_elements
from .gather import GatherDimensionNumbers, GatherScatterMode, gather_p
from .scatter import ScatterDimensionNumbers, scatter_p
from .structure import broadcast_in_dim, zeros


def _check_indices(name: str, operand: ShapedArray, indices: Sequence[ShapedArray]) -> None:
    if len(indices) != len(operand.shape):
        raise TypeError(
            f"{name} indices must have one entry per dimension of the operand, got {len(indices)} "
            f"for shape {operand.shape}."
        )
    for i in indices:
        if not dtypes.is_integer(i.dtype):
            raise TypeError(
                f"index arguments to {name} must be integers, got {dtypes.dtype_name(i.dtype)}."
            )
        if i.shape != ():
            raise TypeError(f"index arguments to {name} must be scalars, got shape {i.shape}.")


def _slice_abstract(operand: ShapedArray, *indices: ShapedArray, slice_sizes: tuple) -> ShapedArray:
    if len(slice_sizes) != len(operand.shape):
        raise TypeError(
            "dynamic_slice slice_sizes must have the same length as the operand's shape, got "
            f"{slice_sizes} for shape {operand.shape}."
        )
    if any(s > n or s < 0 for s, n in zip(slice_sizes, operand.shape, strict=True)):
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape and nonnegative, got "
            f"slice_sizes {slice_sizes} for operand shape {operand.shape}."
        )
    _check_indices("dynamic_slice", operand, indices)
    return ShapedArray(slice_sizes, operand.dtype, operand.weak_type)


def _starts(
    indices: Sequence[np.ndarray], shape: Sequence[int], window: Sequence[int]
) -> list[int]:
    return [min(max(int(i), 0), n - w) for i, n, w in zip(indices, shape, window, strict=True)]


def _slice_reference(operand: np.ndarray, *indices: np.ndarray, slice_sizes: tuple) -> np.ndarray:
    starts = _starts(indices, operand.shape, slice_sizes)
    return operand[tuple(slice(s, s + w) for s, w in zip(starts, slice_sizes, strict=True))]


def _slice_jvp(primals: Any, tangents: Any, *, slice_sizes: tuple) -> Any:
    out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
    t = tangents[0]
    if type(t) is Zero:
        return out, Zero.of(out)
    return out, dynamic_slice_p.bind(t, *primals[1:], slice_sizes=slice_sizes)


def _slice_transpose(ct: Any, operand: Any, *indices: Any, slice_sizes: tuple) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval), *[None] * len(indices)]
    out = dynamic_update_slice_p.bind(zeros(operand.aval), ct, *indices)
    return [out, *[None] * len(indices)]


def _index_vector(
    size: int, indices: Sequence[Any], dims: Sequence[int | None], which: Sequence[int]
) -> tuple[Any, int | None]:
    """The components `which` of scalar indices as one index array, and its batch axis (or None)."""
    batched = any(dims[i] is not None for i in which)
    parts = []
    dt = None
    for i in which:
        x = indices[i]
        if dt is None:
            from ..core.avals import get_aval

            dt = get_aval(x).dtype  # type: ignore[attr-defined]
        if batched:
            x = broadcast_in_dim(x, (size, 1), (0,) if dims[i] is not None else ())
        else:
            x = broadcast_in_dim(x, (1,), ())
        parts.append(x)
    if not parts:
        return np.zeros((0,), np.int32), None
    axis = 1 if batched else 0
    out = parts[0] if len(parts) == 1 else registry["concatenate"].bind(*parts, dimension=axis)
    return out, 0 if batched else None


def _is_zero_literal(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and int(x) == 0


def _slice_batch(size: int, args: Any, dims: Any, *, slice_sizes: tuple) -> Any:
    operand, *indices = args
    d, *idims = dims
    rank = len(slice_sizes)
    moving = [i for i in range(rank) if not _is_zero_literal(indices[i])]
    vector, vdim = _index_vector(size, indices, idims, moving)
    dn = GatherDimensionNumbers(tuple(range(rank)), (), tuple(moving))
    params = {
        "dimension_numbers": dn,
        "slice_sizes": slice_sizes,
        "unique_indices": True,
        "indices_are_sorted": True,
        "mode": GatherScatterMode.CLIP,
        "fill_value": None,
    }
    batch = gather_p.batch
    return batch(gather_p, _Sized(size), (operand, vector), (d, vdim), params)


class _Sized:
    """Just the size of a batch axis, for calling another primitive's batching rule."""

    __slots__ = ("size",)

    def __init__(self, size: int):
        self.size = size


dynamic_slice_p = Primitive(
    "dynamic_slice",
    abstract=_slice_abstract,
    reference=_slice_reference,
    jvp=jvp_rule(_slice_jvp),
    transpose=transpose_rule(_slice_transpose),
    batch=batch_rule(_slice_batch),
    evaluate=evaluate_elements,
    checkify=slice_check,
    samples=lambda: [
        Sample((s, d), *(np.int32(i) for i in start), slice_sizes=w)
        for s, start, w in [
            ((4, 5), (1, 2), (2, 2)),
            ((4, 5), (-3, 9), (2, 3)),
            ((4,), (1,), (4,)),
            ((4, 5), (0, 1), (0, 2)),
            ((), (), ()),
            ((1,), (0,), (1,)),
        ]
        for d in (np.float32, dtypes.bfloat16, np.int8, np.bool_, np.complex64)
    ],
)


def _update_abstract(
    operand: ShapedArray, update: ShapedArray, *indices: ShapedArray
) -> ShapedArray:
    if len(operand.shape) != len(update.shape):
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {operand.shape}."
        )
    if any(u > n for u, n in zip(update.shape, operand.shape, strict=True)):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, got update shape "
            f"{update.shape} for operand shape {operand.shape}."
        )
    if operand.dtype != update.dtype:
        raise TypeError(
            "lax.dynamic_update_slice requires arguments to have the same dtypes, got "
            f"{dtypes.dtype_name(operand.dtype)}, {dtypes.dtype_name(update.dtype)}."
        )
    _check_indices("dynamic_update_slice", operand, indices)
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type)


def _update_reference(operand: np.ndarray, update: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    out = np.array(operand)
    starts = _starts(indices, operand.shape, update.shape)
    out[tuple(slice(s, s + w) for s, w in zip(starts, update.shape, strict=True))] = update
    return out


def _update_jvp(primals: Any, tangents: Any) -> Any:
    out = dynamic_update_slice_p.bind(*primals)
    t_op, t_up = tangents[:2]
    if type(t_op) is Zero and type(t_up) is Zero:
        return out, Zero.of(out)
    return out, dynamic_update_slice_p.bind(instantiate(t_op), instantiate(t_up), *primals[2:])


def _update_transpose(ct: Any, operand: Any, update: Any, *indices: Any) -> list[Any]:
    none = [None] * len(indices)
    if type(ct) is Zero:
        return [*(Zero(x.aval) if is_undefined(x) else None for x in (operand, update)), *none]
    aval = update.aval if is_undefined(update) else None
    shape = aval.shape if aval is not None else np.shape(update)
    ct_op = ct_up = None
    if is_undefined(operand):
        hole = zeros(ShapedArray(shape, operand.aval.dtype))
        ct_op = dynamic_update_slice_p.bind(ct, hole, *indices)
    if is_undefined(update):
        ct_up = dynamic_slice_p.bind(ct, *indices, slice_sizes=tuple(shape))
    return [ct_op, ct_up, *none]


def _update_batch(size: int, args: Any, dims: Any) -> Any:
    operand, update, *indices = args
    d_op, d_up, *idims = dims
    rank = len(np.shape(operand)) - (d_op is not None)
    vector, vdim = _index_vector(size, indices, idims, list(range(rank)))
    dn = ScatterDimensionNumbers(tuple(range(rank)), (), tuple(range(rank)))
    params = {
        "dimension_numbers": dn,
        "indices_are_sorted": True,
        "unique_indices": True,
        "mode": GatherScatterMode.CLIP,
        "update_jaxpr": None,
        "update_consts": (),
    }
    batch = scatter_p.batch
    return batch(scatter_p, _Sized(size), (operand, vector, update), (d_op, vdim, d_up), params)


dynamic_update_slice_p = Primitive(
    "dynamic_update_slice",
    abstract=_update_abstract,
    reference=_update_reference,
    jvp=jvp_rule(_update_jvp),
    transpose=transpose_rule(_update_transpose),
    batch=batch_rule(_update_batch),
    evaluate=evaluate_elements,
    checkify=update_check,
    samples=lambda: [
        Sample((s, d), (w, d), *(np.int32(i) for i in start))
        for s, start, w in [
            ((4, 5), (1, 2), (2, 2)),
            ((4, 5), (-3, 9), (2, 3)),
            ((4,), (1,), (4,)),
            ((4, 5), (0, 1), (0, 2)),
            ((), (), ()),
        ]
        for d in (np.float32, dtypes.bfloat16, np.int8, np.bool_, np.complex64)
    ],
)
