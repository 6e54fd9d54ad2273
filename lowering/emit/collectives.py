"""Emission of collectives: kernels in which the devices of a program meet.

The option `mesh_axes`, pairs of name and size, says over which axes the program is run; a device's
position is its place in the mesh, in row-major order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .kernels import kernel_call, kernel_type
from .reductions import reduced
from .registry import emits
from .types import ElementType, element_type
from .values import Value

__all__: list[str] = []


class _Mesh:
    """The positions of a mesh's devices."""

    def __init__(self, ctx: Any):
        self.axes = dict(ctx.options.get("mesh_axes") or ())
        self.positions = list(itertools.product(*[range(n) for n in self.axes.values()]))

    def check(self, ctx: Any, eqn: Any, names: Sequence[Any]) -> None:
        for name in names:
            if name not in self.axes:
                raise NameError(
                    ctx.describe(
                        f"unbound axis name: {name}: {eqn.primitive.name} is compiled for devices "
                        f"whose axes are {tuple(self.axes)}"
                    )
                )

    def index(self, position: tuple[int, ...], names: Sequence[Any]) -> int:
        """Place along the named axes, the first one varying slowest."""
        at = dict(zip(self.axes, position, strict=True))
        out = 0
        for name in names:
            out = out * self.axes[name] + at[name]
        return out

    def groups(self, names: Sequence[Any], parts: Any) -> tuple[list[int], list[int]]:
        """For each position the number of its group and its rank in it."""
        rest = [n for n in self.axes if n not in names]
        groups = [self.index(p, rest) for p in self.positions]
        ranks = [self.index(p, names) for p in self.positions]
        if parts is not None:
            where = {i: (g, r) for g, part in enumerate(parts) for r, i in enumerate(part)}
            groups = [g * len(parts) + where[r][0] for g, r in zip(groups, ranks, strict=True)]
            ranks = [where[r][1] for r in ranks]
        return groups, ranks


def _names(axes: Any) -> tuple:
    return tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)


def _meet(
    ctx: Any,
    eqn: Any,
    kernel: str,
    operand: Value,
    shape: tuple[int, ...],
    names: tuple,
    config: Sequence[int],
    computes: bool = False,
    sources: Sequence[tuple[int, int]] | None = None,
) -> Value:
    """One call of a collective kernel. `computes`: the elements are added or compared."""
    mesh = _Mesh(ctx)
    mesh.check(ctx, eqn, names)
    groups, ranks = mesh.groups(names, eqn.params.get("axis_index_groups"))
    ctx.collectives += 1
    layout = [len(groups), *groups, *ranks]
    if sources is not None:
        by_rank = {destination: source for source, destination in sources}
        layout += [by_rank.get(r, -1) for r in ranks]
    t = operand.type
    carried = element_type(np.dtype(kernel_type(t))) if computes else _carrier(t)
    x = ctx.converted(operand, carried) if computes else _as(ctx, operand, carried)
    (out,) = kernel_call(
        ctx, kernel, [x], [(shape, carried)], [ctx.collectives, *config, *layout], side_effects=True
    )
    return ctx.converted(out, t) if computes else _as(ctx, out, t)


def _carrier(t: ElementType) -> ElementType:
    """The dtype whose elements move as those of `t` do."""
    return element_type(np.dtype("uint8")) if t.storage == "i8" else t


def _as(ctx: Any, value: Value, t: ElementType) -> Value:
    return value if value.type is t else ctx.new(ctx.tensor(value), value.shape, t)


_REDUCTIONS = {
    "psum": ("reduce_sum", 0),
    "psum_invariant": ("reduce_sum", 0),
    "pmax": ("reduce_max", 1),
    "pmin": ("reduce_min", 2),
}


@emits(*_REDUCTIONS)
def _reduce(ctx, eqn, operand):
    """Over positional axes first, which vmap has made of named ones."""
    local, operation = _REDUCTIONS[eqn.primitive.name]
    axes = eqn.params["axes"]
    positional = [a for a in axes if isinstance(a, int)]
    named = tuple(a for a in axes if not isinstance(a, int))
    out = reduced(ctx, local, operand, positional) if positional else operand
    if not named:
        return out
    return _meet(ctx, eqn, "all_reduce", out, out.shape, named, [operation], computes=True)


@emits("all_gather")
def _all_gather(ctx, eqn, operand):
    outer = math.prod(operand.shape[: eqn.params["all_gather_dimension"]])
    shape = tuple(eqn.outvars[0].aval.shape)
    names = _names(eqn.params["axis_name"])
    return _meet(ctx, eqn, "all_gather", operand, shape, names, [outer])


@emits("reduce_scatter")
def _reduce_scatter(ctx, eqn, operand):
    outer = math.prod(operand.shape[: eqn.params["scatter_dimension"]])
    shape = tuple(eqn.outvars[0].aval.shape)
    names = _names(eqn.params["axis_name"])
    return _meet(ctx, eqn, "reduce_scatter", operand, shape, names, [outer], computes=True)


@emits("all_to_all")
def _all_to_all(ctx, eqn, operand):
    shape = tuple(eqn.outvars[0].aval.shape)
    names = _names(eqn.params["axis_name"])
    config = [eqn.params["split_axis"], eqn.params["concat_axis"]]
    return _meet(ctx, eqn, "all_to_all", operand, shape, names, config)


@emits("ppermute")
def _permute(ctx, eqn, operand):
    names = _names(eqn.params["axis_name"])
    perm = eqn.params["perm"]
    return _meet(ctx, eqn, "permute", operand, operand.shape, names, [], sources=perm)


@emits("pbroadcast")
def _broadcast(ctx, eqn, operand):
    names = _names(eqn.params["axis_name"])
    mesh = _Mesh(ctx)
    mesh.check(ctx, eqn, names)
    size = math.prod(mesh.axes[n] for n in names)
    pairs = [(eqn.params["source"], i) for i in range(size)]
    return _meet(ctx, eqn, "permute", operand, operand.shape, names, [], sources=pairs)


@emits("axis_index")
def _axis_index(ctx, eqn):
    names = _names(eqn.params["axis_name"])
    mesh = _Mesh(ctx)
    mesh.check(ctx, eqn, names)
    numbers = [mesh.index(p, names) for p in mesh.positions]
    result = ((), element_type(np.dtype("int32")))
    return kernel_call(ctx, "axis_index", [], [result], [len(numbers), *numbers])


@emits("pvary")
def _vary(ctx, eqn, operand):
    """A statement about types: the value is the same."""
    return operand
