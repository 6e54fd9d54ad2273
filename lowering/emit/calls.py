"""Emission of primitives that carry a jaxpr to be evaluated as it stands: they are inlined."""

from __future__ import annotations

from collections.abc import Sequence

from .registry import emits
from .values import ARGUMENT, GROUP, TENSOR, VIEW, Value

__all__ = ["behind_barrier"]


def behind_barrier(ctx, operands: Sequence[Value]) -> list[Value]:
    """The same values as nothing recognises them: what is computed from them is computed again.

    Scalars, and elements that cost nothing to make, are as they were.
    """
    made: dict[int, Value] = {}
    for value in operands:
        base = value.base if value.kind == VIEW else value
        if base.shape and base.kind in (TENSOR, ARGUMENT, GROUP):
            made.setdefault(id(base), base)
    if not made:
        return list(operands)
    names = [ctx.tensor(v) for v in made.values()]
    types = ", ".join([v.tensor_type for v in made.values()])
    first = ctx.name()
    count = f":{len(names)}" if len(names) > 1 else ""
    ctx.raw(f"{first}{count} = lingon.barrier {', '.join(names)} : {types} -> {types}")
    fresh: dict[int, Value] = {}
    for i, (key, v) in enumerate(made.items()):
        name = f"{first}#{i}" if len(names) > 1 else first
        fresh[key] = Value(v.shape, v.type, TENSOR, name)
    out = []
    for value in operands:
        if value.kind == VIEW and id(value.base) in fresh:
            view = Value(value.shape, value.type, VIEW)
            view.base, view.dims = fresh[id(value.base)], value.dims
            out.append(view)
        else:
            out.append(fresh.get(id(value), value))
    return out


@emits("optimization_barrier")
def _barrier(ctx, eqn, *operands):
    return behind_barrier(ctx, operands)


@emits("remat2", reads=("jaxpr", "prevent_cse", "differentiated"))
def _remat(ctx, eqn, *operands):
    """A recomputation reads its operands behind a barrier, else it would be found to be a
    repetition. An operand that only it reads has been used for nothing before."""
    params = eqn.params
    cse = params["prevent_cse"]
    flags = [cse] * len(operands) if isinstance(cse, bool) else cse
    if params["differentiated"] and any(flags):
        chosen = [
            v
            for v, f in zip(operands, flags, strict=True)
            if f and not (v.kind == GROUP and v.uses <= 1 and not v.outputs)
        ]
        new = dict(zip(map(id, chosen), behind_barrier(ctx, chosen), strict=True))
        inner = [new.get(id(v), v) for v in operands]
        return ctx.inline(params["jaxpr"], inner)
    return ctx.inline(params["jaxpr"], operands)


@emits("name", views=True)
def _name(ctx, eqn, operand):
    """The name is for policies of checkpoint; the value is as it was."""
    return operand


@emits("jit", "pjit", "closed_call", "core_call", reads=("jaxpr", "call_jaxpr"))
def _call(ctx, eqn, *operands):
    return ctx.inline(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")), operands)


@emits("custom_vmap_call", reads=("call",))
def _custom_vmap_call(ctx, eqn, *operands):
    return ctx.inline(eqn.params["call"], operands)


@emits("linear_call", reads=("callee",))
def _linear_call(ctx, eqn, *operands):
    return ctx.inline(eqn.params["callee"], operands)


@emits("custom_jvp_call", "custom_vjp_call", reads=("call_jaxpr",))
def _custom_call(ctx, eqn, *operands):
    """Compiled, only the function itself is left; its rules have been used by then."""
    return ctx.inline(eqn.params["call_jaxpr"], operands)
