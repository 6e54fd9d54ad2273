"""Emission of `custom_linear_solve`: compiled, only the solver is left."""

from __future__ import annotations

from .registry import emits

__all__: list[str] = []


@emits("custom_linear_solve")
def _custom_linear_solve(ctx, eqn, *operands):
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    start = lengths.matvec + lengths.vecmat
    consts = operands[start : start + lengths.solve]
    return ctx.inline(jaxprs.solve, [*consts, *operands[sum(lengths) :]])
