"""Emission of dynamic slices, gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .registry import ELEMENTWISE, emits
from .scalar import ScalarBuilder
from .structure import extract_slice, insert_slice
from .types import ElementType, tensor_type
from .values import SPLAT, VIEW, Value

__all__: list[str] = []


# ---- dynamic slices ----------------------------------------------------------------------------


def _index(b: ScalarBuilder, x: str, t: ElementType) -> str:
    """An integer in register form as an ``index``. Unsigned values beyond int64 become its
    largest, so that they stay out of bounds."""
    if t.kind == "i":
        return b(f"arith.index_cast {x} : {t.register} to index")
    if t.bits == 64:
        x = b.binary("arith.minui", x, b.const(2**63 - 1, "i64"), "i64")
    return b(f"arith.index_castui {x} : {t.register} to index")


def _clamped(b: ScalarBuilder, index: str, last: int) -> str:
    """`index` moved into [0, last]."""
    if last == 0:
        return b.const(0, "index")
    low = b.binary("arith.maxsi", index, b.const(0, "index"), "index")
    return b.binary("arith.minsi", low, b.const(last, "index"), "index")


def _starts(ctx, starts: Sequence[Value], shape: Sequence[int], sizes: Sequence[int]) -> list:
    """Offsets of a window of `sizes` that lies inside `shape`."""
    b = ctx.scalars()
    offsets: list[int | str] = []
    for start, whole, size in zip(starts, shape, sizes, strict=True):
        if whole == size:
            offsets.append(0)
        elif start.literal is not None:
            offsets.append(min(max(int(start.literal), 0), whole - size))
        else:
            offsets.append(_clamped(b, _index(b, ctx.scalar(start), start.type), whole - size))
    return offsets


@emits("dynamic_slice")
def _dynamic_slice(ctx, eqn, operand, *starts):
    """The window is moved inside the operand where it would stick out."""
    sizes = eqn.params["slice_sizes"]
    if not operand.shape:
        return operand
    return extract_slice(ctx, operand, _starts(ctx, starts, operand.shape, sizes), sizes)


@emits("dynamic_update_slice", updates=True)
def _dynamic_update_slice(ctx, eqn, operand, update, *starts):
    """In place where nobody reads the operand afterwards (one-shot bufferization decides)."""
    if update.shape == operand.shape:
        return update
    if 0 in update.shape:
        return operand
    ctx.tensor(update)
    return insert_slice(ctx, update, operand, _starts(ctx, starts, operand.shape, update.shape))


# ---- gather ------------------------------------------------------------------------------------


def _mode(params) -> str:
    """Name of the indexing mode: CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS or ONE_HOT."""
    mode = params["mode"]
    return getattr(mode, "name", None) or str(mode).rpartition(".")[2]


def _default_fill(t: ElementType):
    """What an out-of-bounds read gives: NaN, or the least signed or largest unsigned integer."""
    if t.kind == "b":
        return True
    if t.kind == "i":
        return -(1 << (t.bits - 1))
    if t.kind == "u":
        return (1 << t.bits) - 1
    return complex(np.nan, 0.0) if t.kind == "c" else np.nan


@emits("gather", gathers=True)
def _gather(ctx, eqn, operand, indices):
    """Each element computes where it comes from; consumers fuse with it.

    Starts are clamped in every mode, so that no index reads outside of the operand. In mode fill, an
    element of a window that is not wholly inside is the fill value.
    """
    dims, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    shape = tuple(eqn.outvars[0].aval.shape)
    t = operand.type
    rank = len(shape)
    offset_dims = [int(d) for d in dims.offset_dims]
    batch_dims = [d for d in range(rank) if d not in offset_dims]
    index_map = [int(d) for d in dims.start_index_map]
    operand_batching = [int(d) for d in dims.operand_batching_dims]
    # Dimension of the result that a batching dimension of the operand runs along.
    along = {
        d: batch_dims[int(s)]
        for d, s in zip(operand_batching, dims.start_indices_batching_dims, strict=True)
    }
    dropped = {int(d) for d in dims.collapsed_slice_dims} | set(operand_batching)
    window = dict(
        zip([d for d in range(operand.ndim) if d not in dropped], offset_dims, strict=True)
    )
    fill = _mode(eqn.params) == "FILL_OR_DROP"
    fill_value = eqn.params["fill_value"]
    if fill_value is None:
        fill_value = _default_fill(t)
    if 0 in operand.shape:
        return ctx.splat(fill_value, shape, t)
    if not fill and operand.kind == SPLAT:
        return ctx.view(operand, shape, (None,) * operand.ndim)

    source = ctx.tensor(operand)
    columns = _columns(ctx, indices, len(index_map), batch_dims, shape)
    position = {d: k for k, d in enumerate(index_map)}
    filler = ctx.register_constant(fill_value, t) if fill else None
    index_type = indices.type

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        at, inside = [], None
        for d, whole in enumerate(operand.shape):
            place = None
            if d in position:
                last = whole - int(sizes[d])
                wanted = _index(b, xs[position[d]], index_type)
                place = _clamped(b, wanted, last)
                if fill:
                    ok = b.cmpi("eq", wanted, place, "index")
                    inside = ok if inside is None else b.binary("arith.andi", inside, ok, "i1")
            elif d in along:
                place = b(f"linalg.index {along[d]} : index")
            if d in window and sizes[d] > 1:
                offset = b(f"linalg.index {window[d]} : index")
                if place is None or (d in position and whole == sizes[d]):
                    place = offset
                else:
                    place = b.binary("arith.addi", place, offset, "index")
            at.append(place or b.const(0, "index"))
        element = b(f"tensor.extract {source}[{', '.join(at)}] : {operand.tensor_type}")
        x = b.load(element, t)
        return x if inside is None else b.select(inside, x, filler, t.register)

    # An operand that is not uniform makes the result a loop even where all indices are equal.
    if shape:
        columns.append(ctx.iota(shape, index_type, 0))
    return ctx.elementwise(compute, columns, shape, t)


def _columns(ctx, indices: Value, count: int, dims: Sequence[int], shape) -> list[Value]:
    """The components of the index vectors, each spread over `shape` along its dimensions `dims`."""
    batch = indices.shape[:-1]
    kept = tuple([d if batch[k] == shape[d] else None for k, d in enumerate(dims)])
    if count == 1:
        return [ctx.view(indices, shape, (*kept, None))]
    columns = []
    parts = _components(ctx, indices, count)
    if parts is not None:
        return [ctx.view(part, shape, (*kept, None)) for part in parts]
    for k in range(count):
        offsets = [0] * len(batch) + [k]
        part = extract_slice(ctx, indices, offsets, (*batch, 1))
        columns.append(ctx.view(part, shape, (*kept, None)))
    return columns


def _components(ctx, indices: Value, count: int) -> list[Value] | None:
    """The components of index vectors, where these are a concatenation of them."""
    axis, parts = indices.parts or (-1, [])
    if axis != indices.ndim - 1 or len(parts) != count or not all(p.name for p in parts):
        return None
    return list(parts)


# ---- scatter -----------------------------------------------------------------------------------


def _replaces(b: ScalarBuilder, name: str, old: str, new: str, t: ElementType) -> tuple | None:
    """Whether a maximum or minimum of numbers is `new`, and whether both have to be looked at (or
    None): zeros have signs, and NaNs count. None for other combinations and dtypes."""
    if name not in ("scatter-max", "scatter-min") or t.kind not in "fiu":
        return None
    order = "gt" if name == "scatter-max" else "lt"
    if t.kind == "f":
        old, new = b.widen(old, t), b.widen(new, t)
        return b.cmpf("o" + order, new, old, t.wide), b.cmpf("ueq", new, old, t.wide)
    return b.cmpi(("s" if t.kind == "i" else "u") + order, new, old, t.register), None


def _reader(ctx, x: Value) -> Callable[[ScalarBuilder, list[str]], str]:
    """``(builder, indices) -> register`` for single elements of `x`, which stays lazy."""
    if x.kind == SPLAT:
        return lambda b, at: x.name
    dims: Sequence[int | None] = range(x.ndim)
    base = x
    if x.kind == VIEW:
        base, dims = x.base, x.dims
    if not base.shape:
        name = ctx.scalar(base)
        return lambda b, at: name
    name = ctx.tensor(base)

    def read(b: ScalarBuilder, at: list[str]) -> str:
        where = [b.const(0, "index") if d is None else at[d] for d in dims]
        return b.load(b(f"tensor.extract {name}[{', '.join(where)}] : {base.tensor_type}"), x.type)

    return read


_COMBINE = {
    "scatter-add": "add",
    "scatter-sub": "sub",
    "scatter-mul": "mul",
    "scatter-min": "min",
    "scatter-max": "max",
}


def _combiner(ctx, eqn, t: ElementType) -> Callable | None:
    """``(builder, old, update) -> new`` on register values, or None where the update replaces."""
    name = _COMBINE.get(eqn.primitive.name)
    if name is not None:
        row = ELEMENTWISE[name].by_kind[t.kind]

        def combine(b: ScalarBuilder, old: str, new: str) -> str:
            old, new = b.widen(old, t), b.widen(new, t)
            result = (
                b.binary(row, old, new, t.wide) if isinstance(row, str) else row(b, t, old, new)
            )
            return b.narrow(result, t)

        return combine
    jaxpr = eqn.params["update_jaxpr"]
    if jaxpr is None:
        return None
    captured = zip(eqn.params["update_consts"], jaxpr.constvars, strict=True)
    consts = [ctx.constant(c, v.aval) for c, v in captured]

    def apply(b: ScalarBuilder, old: str, new: str) -> str:
        with ctx.region() as lines:
            operands = [ctx.new_scalar(x, t) for x in (old, new)]
            (result,) = ctx.inline(jaxpr, operands, consts)
            name = ctx.scalar(result)
        b.lines += lines
        return name

    return apply


@emits("scatter", *_COMBINE, loops=True, updates=True)
def _scatter(ctx, eqn, operand, indices, updates):
    """Loops over the index vectors, in order, so that equal indices apply one after the other.

    A window that is not wholly inside is left out, or in mode clip moved inside.
    """
    dims, t = eqn.params["dimension_numbers"], operand.type
    if 0 in updates.shape:
        return operand
    batching = [int(d) for d in dims.operand_batching_dims]
    dropped = sorted({int(d) for d in dims.inserted_window_dims} | set(batching))
    window_dims = [d for d in range(operand.ndim) if d not in dropped]
    update_window = [int(d) for d in dims.update_window_dims]
    batch_dims = [d for d in range(updates.ndim) if d not in update_window]
    sizes = [1] * operand.ndim
    for d, u in zip(window_dims, update_window, strict=True):
        sizes[d] = updates.shape[u]
    if any(size > whole for size, whole in zip(sizes, operand.shape, strict=True)):
        return operand  # no window fits
    target = [int(d) for d in dims.scatter_dims_to_operand_dims]
    along = dict(zip(batching, [int(d) for d in dims.scatter_indices_batching_dims], strict=True))
    clip = _mode(eqn.params) == "CLIP"
    run = eqn.params["indices_are_sorted"]
    combine = _combiner(ctx, eqn, t)
    # Without any dimension of size 1, so that it is plain which ones a slice drops.
    part_shape = tuple([updates.shape[u] for u in update_window if updates.shape[u] != 1])
    scalar = not part_shape
    components = _components(ctx, indices, len(target))
    if components is None:
        index_at = _reader(ctx, indices)
        readers = [(index_at, k) for k in range(len(target))]
    else:
        readers = [(_reader(ctx, part), 0) for part in components]
    update_at = _reader(ctx, updates) if scalar else None
    update = None if scalar else ctx.tensor(updates)

    def place(b: ScalarBuilder, loops: list[str]) -> tuple[list[str], str | None]:
        """Where the window of one index vector starts, and whether it is inside."""
        offsets = [b.const(0, "index")] * operand.ndim
        inside = None
        for d, position in along.items():
            offsets[d] = loops[position]
        for (read, column), d in zip(readers, target, strict=True):
            wanted = _index(b, read(b, [*loops, b.const(column, "index")]), indices.type)
            last = operand.shape[d] - sizes[d]
            if clip:
                offsets[d] = _clamped(b, wanted, last)
                continue
            # As unsigned numbers, negative ones are the largest.
            ok = b.cmpi("ule", wanted, b.const(last, "index"), "index")
            inside = ok if inside is None else b.binary("arith.andi", inside, ok, "i1")
            offsets[d] = wanted
        return offsets, inside

    def update_place(b: ScalarBuilder, loops: list[str]) -> list[str]:
        where = [b.const(0, "index")] * updates.ndim
        for d, loop in zip(batch_dims, loops, strict=True):
            where[d] = loop
        return where

    def put_element(current: str, loops: list[str], offsets: list[str]) -> str:
        b = ctx.scalars()
        value = update_at(b, update_place(b, loops))
        at = ", ".join(offsets)
        if combine is not None:
            old = b.load(b(f"tensor.extract {current}[{at}] : {operand.tensor_type}"), t)
            # Indices in order hit the same place again and again. What is not stored there need not be
            # waited for by the next read; where that is rare, it is a branch too much.
            if run and (found := _replaces(b, eqn.primitive.name, old, value, t)) is not None:
                replaced, close = found
                replace = lambda: when(replaced, current, lambda: insert(value, current, at))  # noqa: E731
                if close is None:
                    return replace()
                both = lambda: insert(combine(ctx.scalars(), old, value), current, at)  # noqa: E731
                return when(close, current, both, replace)
            value = combine(b, old, value)
        return insert(value, current, at)

    def insert(value: str, current: str, at: str) -> str:
        stored = ctx.scalars().store(value, t)
        return ctx.op(f"tensor.insert {stored} into {current}[{at}] : {operand.tensor_type}")

    def put_window(current: str, loops: list[str], offsets: list[str]) -> str:
        b = ctx.scalars()
        part_type = tensor_type(part_shape, t.storage)
        steps = [1] * operand.ndim
        slot = f"[{', '.join(offsets)}] {sizes} {steps}"
        update_sizes = [1 if d in batch_dims else updates.shape[d] for d in range(updates.ndim)]
        part = ctx.op(
            f"tensor.extract_slice {update}[{', '.join(update_place(b, loops))}] {update_sizes} "
            f"{[1] * updates.ndim} : {updates.tensor_type} to {part_type}"
        )
        if combine is not None:
            old = ctx.op(
                f"tensor.extract_slice {current}{slot} : {operand.tensor_type} to {part_type}"
            )
            identity = ctx.identity(len(part_shape))[0]
            (part,) = ctx.generic(
                [(part, part_type, identity)],
                [(old, part_type, identity)],
                ["parallel"] * len(part_shape),
                lambda b, new, old: [b.store(combine(b, b.load(old, t), b.load(new, t)), t)],
            )
        return ctx.op(
            f"tensor.insert_slice {part} into {current}{slot} : {part_type} into "
            f"{operand.tensor_type}"
        )

    put = put_element if scalar else put_window

    def at_loops(current: str, loops: list[str]) -> str:
        offsets, inside = place(ctx.scalars(), loops)
        if inside is None:
            return put(current, loops, offsets)
        return when(inside, current, lambda: put(current, loops, offsets))

    def when(condition: str, current: str, make: Callable[[], str], otherwise=None) -> str:
        branches = []
        for branch in (make, otherwise or (lambda: current)):
            with ctx.region() as lines:
                ctx.raw(f"scf.yield {branch()} : {operand.tensor_type}")
            branches.append(lines)
        name = ctx.name()
        ctx.lines.append(f"{name} = scf.if {condition} -> ({operand.tensor_type}) {{")
        ctx.lines.extend([*branches[0], "} else {", *branches[1], f"}}{ctx.loc}"])
        return name

    def nest(current: str, loops: list[str], depth: int) -> str:
        if depth == len(batch_dims):
            return at_loops(current, loops)
        count = updates.shape[batch_dims[depth]]
        if count == 1:
            return nest(current, [*loops, ctx.index(0)], depth + 1)
        variable, carried = ctx.name(), ctx.name()
        with ctx.region() as lines:
            result = nest(carried, [*loops, variable], depth + 1)
            ctx.raw(f"scf.yield {result} : {operand.tensor_type}")
        name = ctx.name()
        ctx.lines.append(
            f"{name} = scf.for {variable} = {ctx.index(0)} to {ctx.index(count)} step "
            f"{ctx.index(1)} iter_args({carried} = {current}) -> ({operand.tensor_type}) {{"
        )
        ctx.lines.extend([*lines, f"}}{ctx.loc}"])
        return name

    return ctx.new(nest(ctx.tensor(operand), [], 0), operand.shape, t)
