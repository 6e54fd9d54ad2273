"""Emission of primitives that move or reshape data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .groups import cheap
from .registry import emits
from .scalar import ScalarBuilder
from .types import element_type, tensor_type
from .values import IOTA, SPLAT, TENSOR, VIEW, Value

__all__ = ["insert_slice"]

# A concatenation of concatenations takes over the parts of those that have no more than so many.
MOST_PARTS = 4
# A concatenation of so many parts, each of one value, is chosen from by position.
MOST_CHOICES = 4


@emits("copy", "copy_p", "stop_gradient", "sharding_constraint", views=True)
def _same(ctx, eqn, operand):
    """Values are immutable, so a copy is the value itself."""
    return operand


@emits("device_put")
def _same_all(ctx, eqn, *operands):
    return operands


@emits("dce_sink")
def _nothing(ctx, eqn, *operands):
    return ()


@emits("empty2")
def _empty(ctx, eqn):
    """Contents that do not matter are zero, so that programs stay deterministic."""
    aval = eqn.outvars[0].aval
    return ctx.splat(0, aval.shape, aval.dtype)


@emits("broadcast_in_dim", views=True)
def _broadcast_in_dim(ctx, eqn, operand):
    """Nothing is written: readers go through an indexing map."""
    shape = eqn.outvars[0].aval.shape
    dims = eqn.params["broadcast_dimensions"]
    return ctx.view(operand, shape, _kept(operand.shape, shape, dims))


def _kept(small: Sequence[int], shape: Sequence[int], dims: Sequence[int]) -> tuple:
    """`dims` with None where a dimension of size 1 is stretched."""
    return tuple([d if small[k] == shape[d] else None for k, d in enumerate(dims)])


@emits("iota", views=True)
def _iota(ctx, eqn):
    return ctx.iota(eqn.params["shape"], eqn.outvars[0].aval.dtype, eqn.params["dimension"])


@emits("squeeze", "expand_dims", views=True)
def _squeeze(ctx, eqn, operand):
    return reshaped(ctx, operand, eqn.outvars[0].aval.shape)


@emits("reshape", views=True)
def _reshape(ctx, eqn, operand):
    order = eqn.params.get("dimensions")
    if order is not None and tuple(order) != tuple(range(operand.ndim)):
        operand = transposed(ctx, operand, tuple(order))
    return reshaped(ctx, operand, eqn.outvars[0].aval.shape)


def reshaped(ctx, operand: Value, shape: tuple[int, ...]) -> Value:
    """`operand` with the same elements in row-major order as `shape`."""
    shape = tuple(shape)
    if operand.shape == shape:
        return operand
    if not operand.shape or operand.kind == SPLAT or not shape:
        if not shape and operand.kind != SPLAT:
            return _only_element(ctx, operand)
        return ctx.view(operand, shape, (None,) * operand.ndim)
    groups = _reassociation(operand.shape, shape)
    if [d for d in operand.shape if d != 1] == [d for d in shape if d != 1]:
        # Only dimensions of size 1 come and go. A lazy value stays lazy; a tensor is reassociated.
        if operand.kind in (VIEW, IOTA):
            targets = iter([k for k, d in enumerate(shape) if d != 1])
            dims = tuple([None if d == 1 else next(targets) for d in operand.shape])
            return ctx.view(operand, shape, dims)
    x, t = ctx.tensor(operand), operand.type
    if groups is None:
        flat = 1
        for d in shape:
            flat *= d
        x = _collapse(ctx, x, operand.shape, (flat,), [list(range(operand.ndim))], t)
        return ctx.new(_expand(ctx, x, (flat,), shape, [list(range(len(shape)))], t), shape, t)
    if len(operand.shape) > len(shape):
        return ctx.new(_collapse(ctx, x, operand.shape, shape, groups, t), shape, t)
    return ctx.new(_expand(ctx, x, operand.shape, shape, groups, t), shape, t)


def _only_element(ctx, operand: Value) -> Value:
    name = ctx.tensor(operand)
    zeros = ", ".join([ctx.index(0)] * operand.ndim)
    element = ctx.op(f"tensor.extract {name}[{zeros}] : {operand.tensor_type}")
    return ctx.new_scalar(ctx.scalars().load(element, operand.type), operand.type)


def _reassociation(source: Sequence[int], target: Sequence[int]) -> list[list[int]] | None:
    """Groups of the longer shape's dimensions, one for each of the shorter's, if there are such."""
    long, short = (source, target) if len(source) > len(target) else (target, source)
    if len(long) == len(short):
        return None
    groups: list[list[int]] = []
    k = 0
    for size in short:
        group, product = [], 1
        while k < len(long) and (not group or product < size):
            product *= long[k]
            group.append(k)
            k += 1
        if product != size:
            return None
        groups.append(group)
    while k < len(long):  # ones at the end
        if long[k] != 1:
            return None
        groups[-1].append(k)
        k += 1
    return groups


def _collapse(ctx, x, source, target, groups, t) -> str:
    if tuple(source) == tuple(target):
        return x
    return ctx.op(
        f"tensor.collapse_shape {x} {groups} : {tensor_type(tuple(source), t.storage)} "
        f"into {tensor_type(tuple(target), t.storage)}"
    )


def _expand(ctx, x, source, target, groups, t) -> str:
    if tuple(source) == tuple(target):
        return x
    return ctx.op(
        f"tensor.expand_shape {x} {groups} output_shape {list(target)} : "
        f"{tensor_type(tuple(source), t.storage)} into {tensor_type(tuple(target), t.storage)}"
    )


@emits("transpose", views=True)
def _transpose(ctx, eqn, operand):
    return transposed(ctx, operand, tuple([int(d) for d in eqn.params["permutation"]]))


def transposed(ctx, operand: Value, permutation: tuple[int, ...]) -> Value:
    """Dimension k of the result is dimension ``permutation[k]`` of `operand`."""
    shape = tuple([operand.shape[p] for p in permutation])
    if permutation == tuple(range(operand.ndim)):
        return operand
    moving = [p for p in permutation if operand.shape[p] != 1]
    if operand.kind in (SPLAT, IOTA, VIEW) or moving == sorted(moving):
        inverse = [0] * operand.ndim
        for k, p in enumerate(permutation):
            inverse[p] = k
        if operand.kind in (SPLAT, IOTA):
            return ctx.view(operand, shape, tuple(inverse))
        if moving == sorted(moving):
            return reshaped(ctx, operand, shape)
    if operand.permuted and permutation in operand.permuted and operand.uses <= 1:
        return operand.permuted[permutation]()
    x = ctx.tensor(operand)
    empty = ctx.empty(shape, operand.type.storage)
    type = tensor_type(shape, operand.type.storage)
    name = ctx.op(
        f"linalg.transpose ins({x} : {operand.tensor_type}) outs({empty} : {type}) "
        f"permutation = {list(permutation)}"
    )
    made = ctx.new(name, shape, operand.type)
    # For readers that can take the operand itself, through strides.
    made.base = operand
    made.dims = tuple([permutation.index(k) for k in range(operand.ndim)])
    return made


# ---- slices ------------------------------------------------------------------------------------


def _slice_text(offsets: Sequence, sizes: Sequence[int], strides: Sequence[int]) -> str:
    return " ".join([f"[{', '.join(map(str, part))}]" for part in (offsets, sizes, strides)])


def extract_slice(ctx, x: Value, offsets, sizes, strides=None) -> Value:
    """A strided part of `x`; offsets are integers or SSA names of ``index`` values."""
    sizes = tuple(sizes)
    if 0 in sizes:
        return ctx.splat(0, sizes, x.type)
    if x.kind == SPLAT:
        return ctx.view(x, sizes, (None,) * x.ndim)
    strides = strides or (1,) * len(sizes)
    x, offsets = _part_of(x, offsets, sizes, strides)
    if x.kind == SPLAT:
        return ctx.view(x, sizes, (None,) * x.ndim)
    if x.shape == sizes and all(s == 1 for s in strides):
        return x
    name = ctx.tensor(x)
    result = ctx.op(
        f"tensor.extract_slice {name}{_slice_text(offsets, sizes, strides)} : {x.tensor_type} to "
        f"{tensor_type(sizes, x.type.storage)}"
    )
    return ctx.new(result, sizes, x.type)


def _part_of(x: Value, offsets, sizes, strides) -> tuple[Value, list]:
    """The part of a concatenation that a slice lies in, and where; else `x` itself."""
    found = x, list(offsets)
    while x.parts is not None:
        axis, parts = x.parts
        if not isinstance(offsets[axis], int):
            break
        start, last = offsets[axis], offsets[axis] + (sizes[axis] - 1) * strides[axis]
        for part in parts:
            if start >= 0 and last < part.shape[axis]:
                offsets = [*offsets[:axis], start, *offsets[axis + 1 :]]
                x = part
                if x.name:
                    found = x, list(offsets)
                break
            start, last = start - part.shape[axis], last - part.shape[axis]
        else:
            break
    return found


def insert_slice(ctx, part: Value, into: Value, offsets, strides=None) -> Value:
    """`into` with a strided part replaced by `part`."""
    strides = strides or (1,) * part.ndim
    source, target = ctx.tensor(part), ctx.tensor(into)
    result = ctx.op(
        f"tensor.insert_slice {source} into {target}{_slice_text(offsets, part.shape, strides)} : "
        f"{part.tensor_type} into {into.tensor_type}"
    )
    return ctx.new(result, into.shape, into.type)


@emits("slice", parts=True)
def _slice(ctx, eqn, operand):
    p = eqn.params
    if not operand.shape:
        return operand
    sizes = eqn.outvars[0].aval.shape
    return extract_slice(ctx, operand, p["start_indices"], sizes, p["strides"])


@emits("split", parts=True)
def _split(ctx, eqn, operand):
    axis, start, parts = eqn.params["axis"], 0, []
    for size in eqn.params["sizes"]:
        offsets = [0] * operand.ndim
        offsets[axis] = start
        sizes = (*operand.shape[:axis], size, *operand.shape[axis + 1 :])
        parts.append(extract_slice(ctx, operand, offsets, sizes))
        start += size
    return parts


@emits("concatenate", gathers=True)
def _concatenate(ctx, eqn, *operands):
    return concatenated(ctx, operands, eqn.params["dimension"], eqn.outvars[0].aval.shape)


def concatenated(ctx, operands: Sequence[Value], axis: int, shape: tuple[int, ...]) -> Value:
    """Parts are computed first, then each is put into its place of one new tensor.

    Readers that take the parts themselves leave the tensor without readers; then it is never made.
    """
    operands = [v for v in operands if 0 not in v.shape]
    if len(operands) == 1:
        return operands[0]
    t = operands[0].type
    if len(operands) <= MOST_CHOICES and all(v.kind == SPLAT for v in operands):
        return _chosen(ctx, operands, axis, shape)
    for v in operands:
        ctx.tensor(v)
    operands = _flat(ctx, operands, axis)
    result = ctx.new(ctx.empty(shape, t.storage), shape, t)
    start = 0
    for v in operands:
        offsets = [0] * len(shape)
        offsets[axis] = start
        result = insert_slice(ctx, v, result, offsets)
        start += v.shape[axis]
    # A value of its own for each part: what the operands are outside of a region may change.
    result.parts = axis, [ctx.part(v) for v in operands]
    return result


def _chosen(ctx, operands: Sequence[Value], axis: int, shape: tuple[int, ...]) -> Value:
    """A concatenation of parts without different elements: the position says which."""
    t = operands[0].type
    position = ctx.iota(shape, _position(shape[axis]), axis)

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        at, *rest = xs
        chosen, end = rest[-1], shape[axis]
        for x, v in zip(rest[-2::-1], operands[:0:-1], strict=True):
            end -= v.shape[axis]
            register = position.type.register
            before = b.cmpi("slt", at, b.const(end, register), register)
            chosen = b.select(before, x, chosen, t.register)
        return chosen

    return ctx.elementwise(
        compute, [position, *[ctx.view(v, shape, ()) for v in operands]], shape, t
    )


def _flat(ctx, operands: Sequence[Value], axis: int) -> list[Value]:
    """The parts of operands that are concatenations along the same axis, in their place."""
    flat: list[Value] = []
    for v in operands:
        if (
            v.parts is not None
            and v.parts[0] == axis
            and len(v.parts[1]) <= MOST_PARTS
            and all(p.kind == TENSOR and p.name for p in v.parts[1])
        ):
            flat += v.parts[1]
        else:
            flat.append(v)
    return flat if len(flat) <= 2 * MOST_PARTS else list(operands)


@emits("stack")
def _stack(ctx, eqn, *operands):
    axis = eqn.params["axis"]
    shape = eqn.outvars[0].aval.shape
    part = (*shape[:axis], 1, *shape[axis + 1 :])
    return concatenated(ctx, [reshaped(ctx, v, part) for v in operands], axis, shape)


@emits("unstack")
def _unstack(ctx, eqn, operand):
    axis = eqn.params["axis"]
    shape = eqn.outvars[0].aval.shape
    sizes = (*shape[:axis], 1, *shape[axis:])
    parts = []
    for k in range(operand.shape[axis]):
        offsets = [0] * operand.ndim
        offsets[axis] = k
        parts.append(reshaped(ctx, extract_slice(ctx, operand, offsets, sizes), shape))
    return parts


@emits("pad")
def _pad(ctx, eqn, operand, fill):
    """Negative padding cuts; what is left goes, with strides for interior padding, into a fill."""
    shape = eqn.outvars[0].aval.shape
    offsets, starts, sizes, strides = [], [], [], []
    for size, (low, _, interior), out in zip(
        operand.shape, eqn.params["padding_config"], shape, strict=True
    ):
        step = interior + 1
        # Elements land at low + k * step; the first and last ones inside [0, out).
        first = 0 if low >= 0 else (-low + step - 1) // step
        last = min(size - 1, (out - 1 - low) // step) if size else -1
        starts.append(first)
        sizes.append(max(last - first + 1, 0))
        offsets.append(low + first * step)
        strides.append(step)
    if not shape:
        return operand
    background = ctx.view(fill, shape, ())
    if 0 in sizes:
        return background
    if tuple(sizes) == shape and tuple(sizes) == operand.shape:
        return operand
    part = operand
    if tuple(sizes) != operand.shape:
        part = extract_slice(ctx, operand, starts, sizes)
    if part.shape == shape:
        return part
    if operand.kind == SPLAT and operand.name == background.name:
        return background
    if operand.kind == SPLAT and all(s == 1 for s in strides):
        return _framed(ctx, part, fill, shape, offsets)
    result = insert_slice(ctx, part, background, offsets, strides)
    if all(s == 1 for s in strides):
        result.parts = _padded_parts(ctx, part, fill, shape, offsets)
    return result


def _framed(ctx, part: Value, fill: Value, shape: tuple[int, ...], offsets: Sequence[int]) -> Value:
    """A padded array without different elements: the position says whether it is inside."""
    t = part.type
    padded = [d for d, size in enumerate(shape) if part.shape[d] != size]

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        x, outside, *positions = xs
        inside = []
        for d, at in zip(padded, positions, strict=True):
            register = element_type(_position(shape[d])).register
            at = b.binary("arith.subi", at, b.const(offsets[d], register), register)
            inside.append(b.cmpi("ult", at, b.const(part.shape[d], register), register))
        while len(inside) > 1:
            inside.append(b.binary("arith.andi", inside.pop(), inside.pop(), "i1"))
        return b.select(inside[0], x, outside, t.register)

    positions = [ctx.iota(shape, _position(shape[d]), d) for d in padded]
    operands = [ctx.view(part, shape, ()), ctx.view(fill, shape, ()), *positions]
    return cheap(ctx, compute, operands, shape, t)


def _position(extent: int) -> np.dtype:
    """An integer that counts so far."""
    return np.dtype("int32" if extent < 2**31 else "int64")


def _padded_parts(
    ctx, part: Value, fill: Value, whole: Sequence[int], offsets: Sequence[int]
) -> tuple:
    """What is padded as a concatenation: along one dimension, of parts that are such ones themselves."""
    inner, shape = ctx.part(part), list(part.shape)
    for d in reversed(range(part.ndim)):
        low, high = offsets[d], whole[d] - offsets[d] - part.shape[d]
        if not low and not high:
            continue
        parts = [inner]
        for size, at in ((high, 1), (low, 0)):
            if size:
                border = (*shape[:d], size, *shape[d + 1 :])
                parts.insert(at, ctx.view(fill, border, ()))
        shape[d] = whole[d]
        inner = ctx.new("", shape, part.type)  # has no tensor of its own
        inner.parts = d, parts
    return inner.parts


@emits("rev", gathers=True)
def _rev(ctx, eqn, operand):
    flipped = set(eqn.params["dimensions"])
    shape, t = operand.shape, operand.type
    if operand.kind == SPLAT or not flipped:
        return operand
    x, rank = ctx.tensor(operand), len(shape)
    results = [f"{shape[d] - 1} - d{d}" if d in flipped else f"d{d}" for d in range(rank)]
    dims = ", ".join([f"d{d}" for d in range(rank)])
    source = ctx.map_text(f"({dims}) -> ({', '.join(results)})")
    type = operand.tensor_type
    names = ctx.generic(
        [(x, type, source)],
        [(ctx.empty(shape, t.storage), type, ctx.identity(rank)[0])],
        ["parallel"] * rank,
        lambda b, element, _: [element],
    )
    return ctx.new(names[0], shape, t)


@emits("tile")
def _tile(ctx, eqn, operand):
    """A broadcast over one new dimension before each old one, then a reshape."""
    reps = tuple(eqn.params["reps"])
    shape = eqn.outvars[0].aval.shape
    operand = reshaped(ctx, operand, (1,) * (len(reps) - operand.ndim) + operand.shape)
    if all(r == 1 for r in reps):
        return operand
    spread = tuple([n for r, d in zip(reps, operand.shape, strict=True) for n in (r, d)])
    dims = tuple([2 * k + 1 for k in range(operand.ndim)])
    return reshaped(ctx, ctx.view(operand, spread, dims), shape)
