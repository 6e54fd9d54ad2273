"""Emission of primitives that carry a jaxpr to be evaluated as it stands: they are inlined."""

from __future__ import annotations

from .registry import emits

__all__: list[str] = []


@emits("jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "remat")
def _call(ctx, eqn, *operands):
    return ctx.inline(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")), operands)


@emits("custom_jvp_call", "custom_vjp_call")
def _custom_call(ctx, eqn, *operands):
    """Compiled, only the function itself is left; its rules have been used by then."""
    return ctx.inline(eqn.params["call_jaxpr"], operands)
