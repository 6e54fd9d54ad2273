"""Plans of gather, scatter, dynamic_slice and dynamic_update_slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime import has_plan_loop
from .builder import Builder, NoPlan, View, plans

_INT64 = np.dtype(np.int64)


def _indices(b: Builder, v: View) -> View:
    """Indices as int64, in row-major order."""
    if v.dtype == np.uint64:
        raise NoPlan("indices beyond int64")
    if v.dtype == _INT64:
        return b.dense(v)
    name = f"cast_{v.dtype.name}_int64"
    if not has_plan_loop(name):
        raise NoPlan(f"no loop {name}")
    return b.elementwise(name, [v], _INT64)


def _mode(mode: Any) -> int:
    return 1 if mode.name == "FILL_OR_DROP" else 0


def _windows(
    whole: View,
    windowed: View,
    batch: Sequence[int],
    window_dims: Sequence[int],
    index_map: Sequence[int],
    window: Sequence[int],
    batching: Sequence[tuple[int, int]],
    gone: Sequence[int],
    mode: Any,
    bits: Sequence[int] = (0, 0),
) -> list[int]:
    """The integers of `gather` and `scatter` in runtime/plan_moves.cpp.

    `batching` are pairs (dimension of the whole, of the batch); `gone` are the dimensions of the
    whole that the windowed array does not have.
    """
    batch_dims = [i for i in range(windowed.ndim) if i not in window_dims]
    own = [i for i in range(whole.ndim) if i not in gone]
    along = dict(zip(own, window_dims, strict=True))
    inside = [0] * len(batch)
    for d, i in batching:
        inside[i] = whole.strides[d]
    return [
        whole.dtype.itemsize, _mode(mode), len(batch), len(index_map), whole.ndim,
        *batch, *[windowed.strides[i] for i in batch_dims], *inside, *index_map, *whole.shape,
        *whole.strides, *window,
        *[windowed.strides[along[d]] if d in along else 0 for d in range(whole.ndim)], *bits,
    ]  # fmt: skip


def _bits(value: Any, dtype: Any) -> list[int]:
    raw = np.zeros(2, np.int64)
    raw.view(np.uint8)[: dtype.itemsize] = np.asarray(value).astype(dtype).reshape(1).view(np.uint8)
    return raw.tolist()


@plans("gather")
def _gather(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    from ..primitives.gather import fill_of

    operand, indices = ins
    dn, sizes = params["dimension_numbers"], params["slice_sizes"]
    if 0 in operand.shape:
        raise NoPlan("nothing to read")
    out = b.new(outs[0].shape, operand.dtype)
    if 0 in out.shape:
        return out
    fill = params["fill_value"]
    bits = [0, 0]
    if outs[0].dtype == operand.dtype:  # keys have none
        bits = _bits(fill_of(operand.dtype) if fill is None else fill, operand.dtype)
    elif _mode(params["mode"]):
        raise NoPlan("keys to fill with")
    batching = list(zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True))
    gone = (*dn.collapsed_slice_dims, *dn.operand_batching_dims)
    config = _windows(
        operand, out, indices.shape[:-1], dn.offset_dims, dn.start_index_map, sizes, batching,
        gone, params["mode"], bits,
    )  # fmt: skip
    b.move("gather", [operand, _indices(b, indices), out], config)
    return out


def _scatter(name: str, function: str) -> None:
    @plans(name)
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        from ..primitives.scatter import window_shape

        operand, indices, updates = ins
        dn = params["dimension_numbers"]
        if params["update_jaxpr"] is not None and name == "scatter":
            raise NoPlan("a function of the update")
        full = function
        if name != "scatter":
            if operand.dtype.name not in _COMBINED[name]:
                raise NoPlan(f"elements of {operand.dtype}")
            full = f"{function}_{operand.dtype.name}"
        out = b.new(operand.shape, operand.dtype)
        b.copy(operand, out)
        if 0 in operand.shape or 0 in updates.shape:
            return out
        window = window_shape(operand.shape, updates.shape, dn)
        batching = list(
            zip(dn.operand_batching_dims, dn.scatter_indices_batching_dims, strict=True)
        )
        gone = (*dn.inserted_window_dims, *dn.operand_batching_dims)
        config = _windows(
            out, updates, indices.shape[:-1], dn.update_window_dims,
            dn.scatter_dims_to_operand_dims, window, batching, gone, params["mode"],
        )  # fmt: skip
        b.move(full, [_indices(b, indices), updates, out], config)
        return out


_COMBINED = {
    "scatter-add": ("float32", "float64", "int32", "int64", "uint32"),
    "scatter-mul": ("float32", "float64", "int32"),
}
_scatter("scatter", "scatter")
_scatter("scatter-add", "scatter_add")
_scatter("scatter-mul", "scatter_mul")


class _Clip:
    name = "CLIP"


def _start_vector(b: Builder, indices: Sequence[View]) -> View:
    out = b.new((len(indices),), _INT64)
    for i, v in enumerate(indices):
        at = View(out.buffer, _INT64, (), (), 8 * i)
        if v.dtype == np.uint64:
            raise NoPlan("indices beyond int64")
        if v.dtype == _INT64:
            b.copy(v, at)
            continue
        name = f"cast_{v.dtype.name}_int64"
        if not has_plan_loop(name):
            raise NoPlan(f"no loop {name}")
        b.loop(name, [v, at])
    return out


@plans("dynamic_slice")
def _dynamic_slice(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    operand, *indices = ins
    if not operand.shape:
        return operand
    out = b.new(outs[0].shape, operand.dtype)
    if 0 in out.shape:
        return out
    every = range(operand.ndim)
    config = _windows(operand, out, (), every, every, params["slice_sizes"], (), (), _Clip)
    b.move("gather", [operand, _start_vector(b, indices), out], config)
    return out


@plans("dynamic_update_slice")
def _dynamic_update_slice(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    operand, update, *indices = ins
    if not operand.shape:
        return update
    out = b.new(operand.shape, operand.dtype)
    b.copy(operand, out)
    if 0 in update.shape:
        return out
    every = range(operand.ndim)
    config = _windows(out, update, (), every, every, update.shape, (), (), _Clip)
    b.move("scatter", [_start_vector(b, indices), update, out], config)
    return out


__all__: list[str] = []
