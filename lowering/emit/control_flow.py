"""Emission of `cond` and `while`, and what all structured control flow shares.

Rank-0 values travel through regions as registers, arrays as tensors. What a loop hands on unchanged
is not carried: its readers see the value from before the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .reductions import reduced
from .registry import emits
from .scalar import ScalarBuilder
from .types import ElementType, element_type
from .values import EMPTY, Value

__all__ = [
    "Carried",
    "materialised",
    "result_prefix",
    "result_values",
    "run_closed",
    "unchanged",
    "yield_values",
]


def run_closed(ctx, closed: Any, operands: Sequence[Value]) -> list[Value]:
    """Emits a closed jaxpr here. Its results count as read once more: give them to `materialised`
    or `release` them."""
    results = ctx.inline(closed, operands)
    ctx.hold(results)
    return results


def materialised(ctx, value: Value) -> str:
    """`value` as one SSA value that may leave or enter a region."""
    return ctx.tensor(value) if value.shape else ctx.scalar(value)


def carried_form(shape: tuple[int, ...], t: ElementType) -> str:
    """The type of such an SSA value."""
    return t.register if not shape else Value(shape, t, EMPTY).tensor_type


def carried_value(ctx, name: str, shape: tuple[int, ...], t: ElementType) -> Value:
    """The Value of an SSA value of that type."""
    return ctx.new(name, shape, t) if shape else ctx.new_scalar(name, t)


def unchanged(carries: Sequence[Any], results: Sequence[Any]) -> list[bool]:
    """For each carry, whether the body returns it as it was, or whether it has no elements."""
    return [v is r or 0 in v.aval.shape for v, r in zip(carries, results, strict=True)]


class Carried:
    """The values that pass from one iteration to the next.

    `kept` says for each carry whether it stays what it is before the loop; the others are block
    arguments of the loop.
    """

    def __init__(self, ctx, initial: Sequence[Value], kept: Sequence[bool]):
        self.ctx = ctx
        self.initial = initial
        self.kept = kept
        self.moving = [v for v, k in zip(initial, kept, strict=True) if not k]
        self.types = [carried_form(v.shape, v.type) for v in self.moving]
        self.start = [materialised(ctx, v) for v in self.moving]

    def arguments(self) -> tuple[list[str], list[Value]]:
        """Names for block arguments, and all carries with those in place."""
        names = [self.ctx.name() for _ in self.moving]
        return names, self.values(names)

    def values(self, names: Sequence[str]) -> list[Value]:
        """All carries, the moving ones as the SSA values `names`."""
        rest = iter(names)
        return [
            v if k else carried_value(self.ctx, next(rest), v.shape, v.type)
            for v, k in zip(self.initial, self.kept, strict=True)
        ]

    def changed(self, results: Sequence[Any]) -> list[Any]:
        """Those of `results` (one for each carry) that have to be handed on."""
        return [r for r, k in zip(results, self.kept, strict=True) if not k]

    @property
    def type_list(self) -> str:
        """Types of the block arguments, with commas."""
        return ", ".join(self.types)


def result_values(name: str, count: int) -> list[str]:
    """Names of the results of an operation with `count` of them that is written as ``name:count``."""
    if count == 0:
        return []
    return [name] if count == 1 else [f"{name}#{k}" for k in range(count)]


def result_prefix(name: str, count: int) -> str:
    """What stands in front of such an operation."""
    return "" if count == 0 else f"{name} = " if count == 1 else f"{name}:{count} = "


# ---- cond --------------------------------------------------------------------------------------


@emits("cond")
def _cond(ctx, eqn, index, *operands):
    """Branch number `index`, clamped to those that there are.

    Results that every branch takes from the same operand are that operand.
    """
    branches = eqn.params["branches"]
    if len(branches) == 1 or index.literal is not None:
        which = 0 if index.literal is None else int(index.literal)
        return ctx.inline(branches[min(max(which, 0), len(branches) - 1)], operands)
    shared = [_shared_operand(branches, k) for k in range(len(eqn.outvars))]
    avals = [v.aval for v in eqn.outvars]
    made = [k for k, a in enumerate(avals) if shared[k] is None and 0 not in a.shape]
    types = [carried_form(tuple(avals[k].shape), element_type(avals[k].dtype)) for k in made]
    bodies = [_branch(ctx, branch, operands, made, types) for branch in branches]
    if made or any(len(lines) > 1 for lines in bodies):
        names = _choice(ctx, index, bodies, types)
    else:
        names = []
    found = dict(zip(made, names, strict=True))
    results = []
    for k, aval in enumerate(avals):
        shape, t = tuple(aval.shape), element_type(aval.dtype)
        if k in found:
            results.append(carried_value(ctx, found[k], shape, t))
        elif shared[k] is not None:
            results.append(operands[shared[k]])
        else:
            results.append(Value(shape, t, EMPTY))
    return results


def _shared_operand(branches: Sequence[Any], position: int) -> int | None:
    """Number of the operand that all branches return as result `position`, or None."""
    found = set()
    for branch in branches:
        jaxpr = branch.jaxpr
        atom = jaxpr.outvars[position]
        found.add(next((k for k, v in enumerate(jaxpr.invars) if v is atom), None))
    return found.pop() if len(found) == 1 else None


def _branch(ctx, branch, operands, made, types) -> list[str]:
    with ctx.region() as lines:
        results = run_closed(ctx, branch, operands)
        names = [materialised(ctx, results[k]) for k in made]
        yield_values(ctx, names, types)
        ctx.release(results)
    return lines


def yield_values(ctx, names: Sequence[str], types: Sequence[str]) -> None:
    """Ends a region with ``scf.yield``."""
    ctx.raw(_yield_text(names, types))


def _yield_text(names: Sequence[str], types: Sequence[str]) -> str:
    return f"scf.yield {', '.join(names)} : {', '.join(types)}" if names else "scf.yield"


def _choice(ctx, index: Value, bodies: Sequence[list[str]], types: Sequence[str]) -> list[str]:
    """The branches' lines as one ``scf.index_switch`` or as ``scf.if``s that halve the range.

    Bufferization does not see that a result of ``scf.index_switch`` may be what a branch yields, so
    arrays go through ``scf.if`` only.
    """
    t = index.type
    which = ctx.scalar(index)
    if len(bodies) > 2 and not any(type.startswith("tensor") for type in types):
        return _switch(ctx, which, t, bodies, types)

    def between(first: int, last: int) -> tuple[str, list[str]]:
        """Lines of the ``scf.if`` over branches `first` to `last`, and its name."""
        name, lines = ctx.name(), []
        middle = (first + last) // 2 + 1
        b = ScalarBuilder(ctx, lines, ctx.loc)
        later = which
        if t.kind != "b":
            reached = "sge" if t.kind == "i" else "uge"
            later = b.cmpi(reached, which, b.const(middle, t.register), t.register)
        arrow = f" -> ({', '.join(types)})" if types else ""
        lines.append(f"{result_prefix(name, len(types))}scf.if {later}{arrow} {{")
        lines.extend([*part(middle, last), "} else {", *part(first, middle - 1)])
        lines.append(f"}}{ctx.loc}")
        return name, lines

    def part(first: int, last: int) -> list[str]:
        if first == last:
            return bodies[first]
        name, lines = between(first, last)
        names = result_values(name, len(types))
        lines.append(_yield_text(names, types) + ctx.loc)
        return lines

    name, lines = between(0, len(bodies) - 1)
    ctx.lines.extend(lines)
    return result_values(name, len(types))


def _switch(ctx, which: str, t: ElementType, bodies, types: Sequence[str]) -> list[str]:
    name, b = ctx.name(), ctx.scalars()
    if t.kind == "i":
        which = b.binary("arith.maxsi", which, b.const(0, t.register), t.register)
    number = b.cast(
        "arith.index_cast" if t.kind == "i" else "arith.index_castui", which, t.register, "index"
    )
    arrow = f" -> {', '.join(types)}" if types else ""
    ctx.lines.append(f"{result_prefix(name, len(types))}scf.index_switch {number}{arrow}")
    for case, lines in enumerate(bodies[:-1]):
        ctx.lines.extend([f"case {case} {{", *lines, "}"])
    ctx.lines.extend(["default {", *bodies[-1], f"}}{ctx.loc}"])
    return result_values(name, len(types))


# ---- while -------------------------------------------------------------------------------------


@emits("while", loops=True)
def _while(ctx, eqn, *operands):
    """One ``scf.while``. A predicate with dimensions stops each of its elements by itself: the loop
    runs while any holds, and where it does not hold values stay as they are."""
    p = eqn.params
    cond, body = p["cond_jaxpr"], p["body_jaxpr"]
    n, m = p["cond_nconsts"], p["body_nconsts"]
    cond_consts, body_consts, initial = operands[:n], operands[n : n + m], operands[n + m :]
    kept = unchanged(body.jaxpr.invars[m:], body.jaxpr.outvars)
    batched = bool(cond.jaxpr.outvars[0].aval.shape)
    carried = Carried(ctx, initial, kept)
    before, values = carried.arguments()
    with ctx.region() as condition:
        (predicate,) = run_closed(ctx, cond, [*cond_consts, *values])
        if batched:
            predicate = reduced(ctx, "reduce_or", predicate, range(predicate.ndim))
        holds = ctx.scalar(predicate)
        types = f" {', '.join(before)} : {carried.type_list}" if before else ""
        ctx.raw(f"scf.condition({holds}){types}")
    after, values = carried.arguments()
    with ctx.region() as lines:
        going = None
        if batched:
            (going,) = run_closed(ctx, cond, [*cond_consts, *values])
            ctx.tensor(going)
        results = run_closed(ctx, body, [*body_consts, *values])
        handed = carried.changed(results)
        if going is not None:
            old = carried.changed(values)
            handed = [_where(ctx, going, new, o) for new, o in zip(handed, old, strict=True)]
        yield_values(ctx, [materialised(ctx, v) for v in handed], carried.types)
        ctx.release(results)
    name, count = ctx.name(), len(before)
    starts = ", ".join([f"{a} = {s}" for a, s in zip(before, carried.start, strict=True)])
    ctx.lines.append(
        f"{result_prefix(name, count)}scf.while{f' ({starts})' if count else ''} : "
        f"({carried.type_list}) -> ({carried.type_list}) {{"
    )
    ctx.lines.extend([*condition, "} do {"])
    if count:
        arguments = [f"{a}: {t}" for a, t in zip(after, carried.types, strict=True)]
        ctx.lines.append(f"^bb0({', '.join(arguments)}):")
    ctx.lines.extend([*lines, f"}}{ctx.loc}"])
    return carried.values(result_values(name, count))


def _where(ctx, predicate: Value, new: Value, old: Value) -> Value:
    """`new` where `predicate`, whose dimensions are the leading ones of both, holds; else `old`."""
    t = new.type
    spread = ctx.view(predicate, new.shape, tuple(range(predicate.ndim)))
    return ctx.elementwise(
        lambda b, xs: b.select(xs[0], xs[1], xs[2], t.register), [spread, new, old], new.shape, t
    )
