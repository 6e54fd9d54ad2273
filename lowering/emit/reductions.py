"""Emission of reductions."""

from __future__ import annotations

import math

import numpy as np

from .registry import ELEMENTWISE, emits
from .scalar import ScalarBuilder
from .types import ElementType, element_type, tensor_type
from .values import Value

__all__ = ["reduced", "reduction_maps", "ACCUMULATE", "combiner"]

# Extremes are looked for among so few elements in one pass, if there are so many of them.
SHORT, MANY = 12, 64


def reduction_maps(ctx, rank: int, axes) -> tuple[str, str, list[str]]:
    """Identity map, map that drops `axes`, and the iterator types."""
    dropped = set(axes)
    kept = [d for d in range(rank) if d not in dropped]
    iterators = ["reduction" if d in dropped else "parallel" for d in range(rank)]
    return ctx.identity(rank)[0], ctx.map(kept, rank), iterators


def _extreme(t: ElementType, largest: bool):
    """The neutral element of min (largest) or max."""
    if t.kind == "b":
        return largest
    if t.kind == "f":
        return np.inf if largest else -np.inf
    high = (1 << (t.bits - (t.kind == "i"))) - 1
    return high if largest else (-high - 1 if t.kind == "i" else 0)


def _ones(t: ElementType):
    return True if t.kind == "b" else -1 if t.kind == "i" else (1 << t.bits) - 1


# Primitive -> (the elementwise primitive that combines, flags of its float op, neutral element).
# `reassoc` lets sums and products vectorise; max and min are associative as they are.
ACCUMULATE = {
    "reduce_sum": ("add", " fastmath<reassoc>", lambda t: 0),
    "reduce_prod": ("mul", " fastmath<reassoc>", lambda t: 1),
    "reduce_max": ("max", "", lambda t: _extreme(t, False)),
    "reduce_min": ("min", "", lambda t: _extreme(t, True)),
    "reduce_and": ("and", "", _ones),
    "reduce_or": ("or", "", lambda t: 0),
    "reduce_xor": ("xor", "", lambda t: 0),
}


def combiner(primitive: str, t: ElementType):
    """Function (builder, element, accumulator) -> accumulator, on wide values of dtype `t`."""
    combine, flags, _ = ACCUMULATE[primitive]
    row = ELEMENTWISE[combine].by_kind[t.kind]
    if t.kind == "f":
        return lambda b, x, acc: b(f"{row} {x}, {acc}{flags} : {t.wide}")
    if t.kind == "c" and combine == "add":
        part = t.part.register

        def add(b: ScalarBuilder, x: str, acc: str) -> str:
            sums = [
                b(f"arith.addf {half(x, t)}, {half(acc, t)}{flags} : {part}")
                for half in (b.re, b.im)
            ]
            return b.make_complex(*sums, t)

        return add
    if isinstance(row, str):
        return lambda b, x, acc: b(f"{row} {x}, {acc} : {t.register}")
    return lambda b, x, acc: row(b, t, x, acc)


def _exact_combiner(primitive: str, t: ElementType):
    """The same in the type itself, narrow or not: what takes one of two values rounds nothing."""
    row = ELEMENTWISE[ACCUMULATE[primitive][0]].by_kind[t.kind]
    return lambda b, x, acc: b(f"{row} {x}, {acc} : {t.storage}")


def reduced(ctx, primitive: str, operand: Value, axes) -> Value:
    """One of the reductions of `ACCUMULATE` over `axes`.

    Floats narrower than f32 are accumulated in f32 and rounded once at the end, where rounding
    matters; bools in i8.
    """
    axes = tuple(axes)
    t = operand.type
    shape = tuple([d for k, d in enumerate(operand.shape) if k not in axes])
    neutral = ACCUMULATE[primitive][2]
    if not axes:
        return operand
    if 0 in operand.shape:
        return ctx.splat(neutral(t), shape, t)
    as_bytes = element_type(np.dtype("uint8")) if t.kind == "b" else None
    initial = int(neutral(t)) if t.kind == "b" else neutral(t)
    exact = t.storage in ("f16", "bf16") and primitive in ("reduce_max", "reduce_min")
    total = as_bytes or (element_type(np.dtype("float32")) if t.narrow and not exact else t)
    combine = _exact_combiner(primitive, t) if exact else combiner(primitive, total)
    inputs, arguments, lines, (register,) = ctx.absorb([operand], operand.shape)
    b = ScalarBuilder(ctx, lines, ctx.loc)
    x = b.store(register, t) if as_bytes or exact else b.widen(register, t)
    _, kept, iterators = reduction_maps(ctx, operand.ndim, axes)
    init = ctx.register_constant(_complex_extreme(primitive, initial, total), total)
    filled = ctx.fill(ctx.scalars().store(init, total), shape, total.storage)
    accumulator = ctx.name()
    result = combine(b, x, b.load(accumulator, total))
    names = ctx.write_generic(
        inputs,
        [(filled, tensor_type(shape, total.storage), kept)],
        iterators,
        [*arguments, f"{accumulator}: {total.storage}"],
        lines,
        [b.store(result, total)],
    )
    made = ctx.new(names[0], shape, total)
    if as_bytes:
        return ctx.new(names[0], shape, t)
    if total is not t:
        return ctx.converted(made, t)
    return made


def _complex_extreme(primitive: str, value, t: ElementType):
    if t.kind == "c" and primitive in ("reduce_max", "reduce_min"):
        infinity = np.inf if primitive == "reduce_min" else -np.inf
        return complex(infinity, infinity)
    return value


@emits(*ACCUMULATE, loops=True, fuses=True)
def _reduce_one(ctx, eqn, operand):
    return reduced(ctx, eqn.primitive.name, operand, eqn.params["axes"])


@emits("argmax", "argmin", loops=True, fuses=True)
def _arg_extreme(ctx, eqn, operand):
    """Extreme value, then the least index that has it (or NaN): both passes vectorise."""
    (axis,) = eqn.params["axes"]
    shape = operand.shape
    ctx.tensor(operand)
    if 1 < shape[axis] <= SHORT and math.prod(shape) >= MANY * shape[axis]:
        largest = eqn.primitive.name == "argmax"
        first = _short_arg_extreme(ctx, operand, axis, largest)
        return ctx.converted(first, element_type(eqn.outvars[0].aval.dtype))
    primitive = "reduce_max" if eqn.primitive.name == "argmax" else "reduce_min"
    extreme = reduced(ctx, primitive, operand, (axis,))
    index = element_type(np.dtype("int32" if shape[axis] < 2**31 else "int64"))
    t = operand.type
    spread = ctx.view(extreme, shape, tuple([d for d in range(len(shape)) if d != axis]))

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        x, best, position = xs
        equal = ELEMENTWISE["eq"].by_kind[t.kind]
        x, best = b.widen(x, t), b.widen(best, t)
        if isinstance(equal, str):
            found = b(f"{equal} {x}, {best} : {t.wide}")
        else:
            found = equal(b, t, x, best)
        if t.kind == "f":
            found = b.binary("arith.ori", found, b.cmpf("uno", x, x, t.wide), "i1")
        return b.select(found, position, b.const(shape[axis] - 1, index.register), index.register)

    candidates = ctx.elementwise(
        compute, [operand, spread, ctx.iota(shape, index, axis)], shape, index
    )
    first = reduced(ctx, "reduce_min", candidates, (axis,))
    return ctx.converted(first, element_type(eqn.outvars[0].aval.dtype))


def _short_arg_extreme(ctx, operand: Value, axis: int, largest: bool) -> Value:
    """Of few elements one after the other, in one loop over all others: many of those at once."""
    t, length = operand.type, operand.shape[axis]
    shape = (*operand.shape[:axis], *operand.shape[axis + 1 :])
    index = element_type(np.dtype("int32"))
    x, type = ctx.tensor(operand), operand.tensor_type
    dims = [f"d{d}" for d in range(len(shape))]

    def slot(k: int) -> str:
        at = [*dims[:axis], str(k), *dims[axis:]]
        return ctx.map_text(f"({', '.join(dims)}) -> ({', '.join(at)})")

    beyond = ELEMENTWISE["gt" if largest else "lt"].by_kind[t.kind]

    def body(b: ScalarBuilder, *elements: str) -> list[str]:
        best, found = "", b.const(0, index.register)
        for k, element in enumerate(elements[:length]):
            x = b.widen(b.load(element, t), t)
            if not k:
                best = x
                continue
            if t.kind == "f":
                # The first NaN is beyond all numbers, and nothing is beyond it.
                taken = b.binary(
                    "arith.andi",
                    b.cmpf("ugt" if largest else "ult", x, best, t.wide),
                    b.cmpf("ord", best, best, t.wide),
                    "i1",
                )
            elif isinstance(beyond, str):
                taken = b(f"{beyond} {x}, {best} : {t.wide}")
            else:
                taken = beyond(b, t, x, best)
            best = b.select(taken, x, best, t.wide)
            found = b.select(taken, b.const(k, index.register), found, index.register)
        return [found]

    names = ctx.generic(
        [(x, type, slot(k)) for k in range(length)],
        [
            (
                ctx.empty(shape, index.storage),
                tensor_type(shape, index.storage),
                ctx.identity(len(shape))[0],
            )
        ],
        ["parallel"] * len(shape),
        body,
    )
    return ctx.new(names[0], shape, index)


@emits("reduce", loops=True, fuses=True)
def _reduce(ctx, eqn, *operands):
    """Any associative function of scalars, given as a jaxpr; several arrays at once."""
    n = len(operands) // 2
    arrays, inits = operands[:n], operands[n:]
    axes = eqn.params["dimensions"]
    source = arrays[0].shape
    shape = tuple([d for k, d in enumerate(source) if k not in axes])
    if not axes:
        return arrays
    if 0 in source:
        return [ctx.view(v, shape, ()) for v in inits]
    start = []
    for v in inits:
        b = ctx.scalars()
        start.append(ctx.fill(b.store(ctx.scalar(v), v.type), shape, v.type.storage))
    inputs, arguments, lines, registers = ctx.absorb(arrays, source)
    _, kept, iterators = reduction_maps(ctx, len(source), axes)
    b = ScalarBuilder(ctx, lines, ctx.loc)
    accumulators = [ctx.name() for _ in arrays]
    loaded = [b.load(a, v.type) for a, v in zip(accumulators, arrays, strict=True)]
    scalars = [ctx.new_scalar(x, v.type) for x, v in zip(loaded, arrays, strict=True)]
    scalars += [ctx.new_scalar(x, v.type) for x, v in zip(registers, arrays, strict=True)]
    with ctx.region() as body:
        results = [ctx.scalar(v) for v in ctx.inline(eqn.params["jaxpr"], scalars)]
    lines += body
    stored = [b.store(x, v.type) for x, v in zip(results, arrays, strict=True)]
    names = ctx.write_generic(
        inputs,
        [(s, tensor_type(shape, v.type.storage), kept) for s, v in zip(start, arrays, strict=True)],
        iterators,
        arguments + [f"{a}: {v.type.storage}" for a, v in zip(accumulators, arrays, strict=True)],
        lines,
        stored,
    )
    return [ctx.new(name, shape, v.type) for name, v in zip(names, arrays, strict=True)]
