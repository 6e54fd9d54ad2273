"""Emission of sort and top_k, which are library kernels."""

from __future__ import annotations

import numpy as np

from .kernels import kernel_call, kernel_type
from .registry import emits
from .types import ElementType, element_type
from .values import Value

__all__: list[str] = []

LONGEST_ROW = 2**32 - 1  # the kernels number a row's elements in 32 bits


def _check_row(ctx, eqn, operand: Value, axis: int) -> None:
    if operand.shape[axis] > LONGEST_ROW:
        raise NotImplementedError(
            ctx.describe(
                f"primitive '{eqn.primitive.name}' takes at most {LONGEST_ROW} elements along its "
                f"axis, got {operand.shape[axis]}"
            )
        )


def _carrier(t: ElementType) -> ElementType:
    """The dtype whose elements move as those of `t` do."""
    return element_type(np.dtype("uint8")) if t.storage == "i8" and t.kind == "f" else t


@emits("sort", loops=True)
def _sort(ctx, eqn, *operands):
    """Always stable. A key in a dtype that the kernel cannot order is sorted by a converted copy."""
    axis, num_keys = eqn.params["dimension"], eqn.params["num_keys"]
    _check_row(ctx, eqn, operands[0], axis)
    keys, carried = [], []
    for v in operands[:num_keys]:
        key = ctx.converted(v, element_type(np.dtype(kernel_type(v.type))))
        keys.append(key)
        if key is not v:
            carried.append(v)
    carried += operands[num_keys:]
    raw = [ctx.new(ctx.tensor(v), v.shape, _carrier(v.type)) for v in carried]
    outs = kernel_call(
        ctx, "sort", [*keys, *raw], [(v.shape, v.type) for v in [*keys, *raw]], [axis, num_keys]
    )
    rest = iter(outs[num_keys:])
    results = []
    for position, v in enumerate(operands):
        own = position < num_keys and keys[position] is v
        made = outs[position] if own else next(rest)
        results.append(ctx.new(made.name, v.shape, v.type))
    return results


@emits("top_k", loops=True)
def _top_k(ctx, eqn, operand):
    """Values in descending order of their bits' total order, and their indices."""
    k = eqn.params["k"]
    axis = eqn.params.get("axis", operand.ndim - 1)
    _check_row(ctx, eqn, operand, axis)
    values, indices = (v.aval for v in eqn.outvars)
    source = ctx.converted(operand, element_type(np.dtype(kernel_type(operand.type))))
    index = element_type(np.dtype("int32"))
    top, where = kernel_call(
        ctx,
        "top_k",
        [source],
        [(tuple(values.shape), source.type), (tuple(indices.shape), index)],
        [axis, k],
    )
    return ctx.converted(top, operand.type), ctx.converted(where, element_type(indices.dtype))
