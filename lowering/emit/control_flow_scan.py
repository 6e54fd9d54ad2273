"""Emission of `scan`: one ``scf.for`` with the carries and the stacked results as its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from .context import from_index
from .control_flow import (
    Carried,
    materialised,
    result_prefix,
    result_values,
    run_closed,
    unchanged,
    yield_values,
)
from .registry import emits
from .types import element_type, tensor_type
from .values import EMPTY, IOTA, SCALAR, SPLAT, VIEW, Value

__all__: list[str] = []


@emits("scan", loops=True)
def _scan(ctx, eqn, *operands):
    return _Scan(ctx, eqn.params, operands).results()


class _Scan:
    """Carries are updated in place; row k of the stacked results is written where it belongs, and
    rows of the inputs are read where they are.

    `unroll` iterations are one iteration of the loop; those that are left over follow it.
    """

    def __init__(self, ctx, params, operands: Sequence[Value]):
        self.ctx = ctx
        self.closed = params["jaxpr"]
        self.length, self.reverse = params["length"], params["reverse"]
        self.unroll = max(1, min(int(params.get("unroll", 1)), self.length))
        n, m = params["num_consts"], params["num_carry"]
        self.consts, self.initial, self.xs = operands[:n], operands[n : n + m], operands[n + m :]
        jaxpr = self.closed.jaxpr
        self.carries = m
        self.kept = unchanged(jaxpr.invars[n : n + m], jaxpr.outvars[:m])
        self.stacks = [self._stack(v.aval) for v in jaxpr.outvars[m:]]

    def _stack(self, aval) -> Value:
        shape, t = (self.length, *aval.shape), element_type(aval.dtype)
        if 0 in shape:
            return Value(shape, t, EMPTY)
        return self.ctx.new(self.ctx.empty(shape, t.storage), shape, t)

    def results(self) -> list[Value]:
        """Emits everything; final carries, then stacked results."""
        carry = list(self.initial)
        loops = self.length // self.unroll
        done = 0
        if loops > 1:
            done = loops * self.unroll
            carry = self._loop(carry, done)
        self.ctx.hold(carry)
        for k in range(done, self.length):
            row = self.ctx.index(self.length - 1 - k if self.reverse else k)
            carry = self._iteration(carry, row)
        self.ctx.keep(carry)
        return [*carry, *self.stacks]

    def _iteration(self, carry: list[Value], row: str) -> list[Value]:
        """One iteration that works on `row`. Carries are held, before and after."""
        ctx = self.ctx
        rows = [leading_slice(ctx, x, row) for x in self.xs]
        found = run_closed(ctx, self.closed, [*self.consts, *carry, *rows])
        ctx.release(carry)
        results = found[self.carries :]
        self.stacks = [
            s if s.kind == EMPTY else _with_row(ctx, s, row, y)
            for s, y in zip(self.stacks, results, strict=True)
        ]
        ctx.release(results)
        return found[: self.carries]

    def _loop(self, carry: list[Value], stop: int) -> list[Value]:
        """Iterations 0 to `stop` as a loop; returns the carries after it."""
        ctx = self.ctx
        written = [k for k, s in enumerate(self.stacks) if s.kind != EMPTY]
        stacks = [self.stacks[k] for k in written]
        carried = Carried(ctx, [*carry, *stacks], [*self.kept, *[False] * len(stacks)])
        number = ctx.name()
        arguments, values = carried.arguments()
        with ctx.region() as lines:
            now = values[: self.carries]
            ctx.hold(now)
            self._set(written, values[self.carries :])
            for k in range(self.unroll):
                now = self._iteration(now, self._row(number, k))
            handed = carried.changed([*now, *[self.stacks[k] for k in written]])
            yield_values(ctx, [materialised(ctx, v) for v in handed], carried.types)
            ctx.release(now)
        name, count = ctx.name(), len(arguments)
        starts = ", ".join([f"{a} = {s}" for a, s in zip(arguments, carried.start, strict=True)])
        carries = f" iter_args({starts}) -> ({carried.type_list})" if count else ""
        ctx.lines.append(
            f"{result_prefix(name, count)}scf.for {number} = {ctx.index(0)} to {ctx.index(stop)} "
            f"step {ctx.index(self.unroll)}{carries} {{"
        )
        ctx.lines.extend([*lines, f"}}{ctx.loc}"])
        after = carried.values(result_values(name, count))
        self._set(written, after[self.carries :])
        return after[: self.carries]

    def _set(self, positions: Sequence[int], values: Sequence[Value]) -> None:
        for k, value in zip(positions, values, strict=True):
            self.stacks[k] = value

    def _row(self, number: str, k: int) -> str:
        """The row that the k-th iteration of loop iteration `number` works on."""
        b = self.ctx.scalars()
        if self.reverse:
            return b.binary("arith.subi", self.ctx.index(self.length - 1 - k), number, "index")
        return b.binary("arith.addi", number, self.ctx.index(k), "index") if k else number


def leading_slice(ctx, x: Value, index: str) -> Value:
    """``x[index]``; `index` is an SSA ``index`` within bounds."""
    rest = x.shape[1:]
    if x.kind == VIEW and 0 in x.dims:
        # One element of that dimension of the base, the others where they were.
        cut = x.dims.index(0)
        part = _slice_at(ctx, x.base, cut, index)
        dims = [None if d is None else d - 1 for k, d in enumerate(x.dims) if k != cut]
        return ctx.view(part, rest, tuple(dims))
    if x.kind == VIEW:
        return ctx.view(x.base, rest, tuple([None if d is None else d - 1 for d in x.dims]))
    return _slice_at(ctx, x, 0, index)


def _slice_at(ctx, x: Value, dimension: int, index: str) -> Value:
    """`x` at `index` of `dimension`, without that dimension."""
    t = x.type
    rest = (*x.shape[:dimension], *x.shape[dimension + 1 :])
    if 0 in rest:
        return Value(rest, t, EMPTY)
    if x.kind == SPLAT:
        made = Value(rest, t, SPLAT if rest else SCALAR, x.name)
        made.literal = x.literal
        return made
    if x.kind == IOTA:
        if x.dims == dimension:
            return ctx.view(ctx.new_scalar(from_index(ctx.scalars(), index, t), t), rest, ())
        return ctx.iota(rest, t, x.dims - (x.dims > dimension))
    name = ctx.tensor(x)
    if not rest:
        element = ctx.op(f"tensor.extract {name}[{index}] : {x.tensor_type}")
        return ctx.new_scalar(ctx.scalars().load(element, t), t)
    slot = _slot(x.shape, dimension, index)
    part = tensor_type(rest, t.storage)
    made = ctx.op(f"tensor.extract_slice {name}{slot} : {x.tensor_type} to {part}")
    return ctx.new(made, rest, t)


def _slot(shape: Sequence[int], dimension: int, index: str) -> str:
    """Offsets, sizes and strides of what is at `index` of `dimension`."""
    offsets = ", ".join([index if d == dimension else "0" for d in range(len(shape))])
    sizes = ", ".join(["1" if d == dimension else str(n) for d, n in enumerate(shape)])
    return f"[{offsets}] [{sizes}] [{', '.join(['1'] * len(shape))}]"


def _with_row(ctx, stack: Value, index: str, row: Value) -> Value:
    """`stack` with ``stack[index]`` replaced by `row`."""
    if not row.shape:
        stored = ctx.scalars().store(ctx.scalar(row), row.type)
        made = ctx.op(
            f"tensor.insert {stored} into {ctx.tensor(stack)}[{index}] : {stack.tensor_type}"
        )
    else:
        part = ctx.tensor(row)
        made = ctx.op(
            f"tensor.insert_slice {part} into {ctx.tensor(stack)}{_slot(stack.shape, 0, index)} : "
            f"{row.tensor_type} into {stack.tensor_type}"
        )
    return ctx.new(made, stack.shape, stack.type)
