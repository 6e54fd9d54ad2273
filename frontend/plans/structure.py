"""Plans of primitives that move elements: most only describe them anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from .builder import Builder, NoPlan, View, plans


@plans("stop_gradient", "copy", "name", "optimization_barrier_one")
def _same(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    return ins[0]


@plans("reshape")
def _reshape(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,) = ins
    if params["dimensions"] is not None:
        x = _permuted(x, params["dimensions"])
    x = b.dense(x)
    return View(x.buffer, x.dtype, outs[0].shape, None, x.offset)


def _permuted(x: View, order: Any) -> View:
    return View(
        x.buffer, x.dtype, [x.shape[d] for d in order], [x.strides[d] for d in order], x.offset
    )


@plans("transpose")
def _transpose(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    return _permuted(ins[0], params["permutation"])


@plans("squeeze")
def _squeeze(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,) = ins
    kept = [i for i in range(x.ndim) if i not in params["dimensions"]]
    return _permuted(x, kept)


@plans("broadcast_in_dim")
def _broadcast(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,) = ins
    shape = outs[0].shape
    strides = [0] * len(shape)
    for d, n, s in zip(params["broadcast_dimensions"], x.shape, x.strides, strict=True):
        strides[d] = s if n == shape[d] else 0
    return View(x.buffer, x.dtype, shape, strides, x.offset)


@plans("slice")
def _slice(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,) = ins
    starts = params["start_indices"]
    steps = params["strides"] or (1,) * x.ndim
    offset = sum(lo * s for lo, s in zip(starts, x.strides, strict=True))
    strides = [s * k for s, k in zip(x.strides, steps, strict=True)]
    return View(x.buffer, x.dtype, outs[0].shape, strides, x.offset + offset)


@plans("rev")
def _rev(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,) = ins
    if 0 in x.shape:
        return x
    offset, strides = x.offset, list(x.strides)
    for d in params["dimensions"]:
        offset += (x.shape[d] - 1) * strides[d]
        strides[d] = -strides[d]
    return View(x.buffer, x.dtype, x.shape, strides, offset)


@plans("concatenate")
def _concatenate(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    d = params["dimension"]
    out = b.new(outs[0].shape, ins[0].dtype)
    at = 0
    for x in ins:
        b.copy(x, View(out.buffer, x.dtype, x.shape, out.strides, out.offset + at * out.strides[d]))
        at += x.shape[d]
    return out


@plans("split")
def _split(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> list[View]:
    (x,), d = ins, params["axis"]
    parts, at = [], 0
    for aval in outs:
        parts.append(View(x.buffer, x.dtype, aval.shape, x.strides, x.offset + at * x.strides[d]))
        at += aval.shape[d]
    return parts


@plans("pad")
def _pad(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    x, value = ins
    out = b.new(outs[0].shape, x.dtype)
    b.copy(value.broadcast(out.shape), out)
    offset, strides, shape, source = out.offset, [], [], x.offset
    for d, (low, _, inside) in enumerate(params["padding_config"]):
        n, step, size = x.shape[d], inside + 1, out.shape[d]
        # elements k with 0 <= low + k step < size
        first = max(0, -(low // step)) if low < 0 else 0
        last = min(n - 1, (size - 1 - low) // step)
        if last < first:
            return out
        shape.append(last - first + 1)
        strides.append(out.strides[d] * step)
        offset += (low + first * step) * out.strides[d]
        source += first * x.strides[d]
    b.copy(
        View(x.buffer, x.dtype, shape, x.strides, source),
        View(out.buffer, x.dtype, shape, strides, offset),
    )
    return out


@plans("stack")
def _stack(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    d = params["axis"]
    out = b.new(outs[0].shape, ins[0].dtype)
    strides = [s for i, s in enumerate(out.strides) if i != d]
    for i, x in enumerate(ins):
        b.copy(x, View(out.buffer, x.dtype, x.shape, strides, out.offset + i * out.strides[d]))
    return out


@plans("unstack")
def _unstack(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> list[View]:
    (x,), d = ins, params["axis"]
    strides = [s for i, s in enumerate(x.strides) if i != d]
    return [
        View(x.buffer, x.dtype, a.shape, strides, x.offset + i * x.strides[d])
        for i, a in enumerate(outs)
    ]


@plans("tile")
def _tile(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,), reps = ins, params["reps"]
    if len(reps) != x.ndim:
        raise NoPlan("more dimensions")
    out = b.new(outs[0].shape, x.dtype)
    shape, source, target = [], [], []
    for n, r, s, t in zip(x.shape, reps, x.strides, out.strides, strict=True):
        shape += [r, n]
        source += [0, s]
        target += [n * t, t]
    b.copy(
        View(x.buffer, x.dtype, shape, source, x.offset),
        View(out.buffer, x.dtype, shape, target, out.offset),
    )
    return out


@plans("bitcast_convert_type")
def _bitcast(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (x,), dtype = ins, outs[0].dtype
    small = any(np.dtype(d).name in ("int4", "uint4") for d in (x.dtype, dtype))
    if small or x.dtype.itemsize != dtype.itemsize:
        raise NoPlan("elements of another size")
    return View(x.buffer, dtype, x.shape, x.strides, x.offset)


__all__: list[str] = []
