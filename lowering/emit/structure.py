"""Emission of primitives that move or reshape data."""

from __future__ import annotations

from .registry import emits

__all__: list[str] = []


@emits("broadcast_in_dim")
def _broadcast_in_dim(ctx, eqn, operand, *dynamic_shape):
    """Nothing is written: readers go through an indexing map."""
    shape = eqn.outvars[0].aval.shape
    dims = eqn.params["broadcast_dimensions"]
    kept = [d if operand.shape[k] == shape[d] else None for k, d in enumerate(dims)]
    return ctx.view(operand, shape, tuple(kept))
