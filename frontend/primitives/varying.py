"""Along which mesh axes values vary, where shard_map checks it: `pvary` and `psum_invariant`.

`pvary` says of a value that is the same on all devices that it be taken as one that varies; it does
nothing at run time. It is put in by itself where operands vary along different axes. Its transpose
is the sum over devices, `psum_invariant`, whose transpose it is in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import trace as core_trace
from ..core.avals import ShapedArray, get_aval
from ..core.jaxpr import subjaxprs
from ..core.primitive import Primitive, absent
from ..core.rules import linear_jvp, unary_transpose
from ..core.trace import axis_size, state
from .arithmetic import mul
from .collectives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    evaluate_mapped,
    not_mapped,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)
from .declare import const, front, ops
from .reductions import kept_position, reduced, shifted

NONE: frozenset = frozenset()


def vma_of(x: Any) -> frozenset:
    """The axes along which a value varies."""
    return getattr(get_aval(x), "vma", NONE)


def ordered(axes: Any) -> tuple:
    """Axes in the order in which they are in scope."""
    return tuple(n for n, _ in state.axis_env if n in axes)


def vary(x: Any, axes: frozenset) -> Any:
    """`x` as a value that varies along all of `axes`."""
    missing = axes - vma_of(x)
    return pvary_p.bind(x, axes=ordered(missing)) if missing else x


def _standardize(primitive: Primitive, args: Sequence[Any], params: dict) -> Sequence[Any]:
    if primitive is pvary_p or not args:
        return args
    if primitive.varies is not None:
        wanted = primitive.varies(primitive, [get_aval(a) for a in args], params)[0]
    elif next(subjaxprs(params), None) is not None:
        return args
    else:
        found = [vma_of(a) for a in args]
        wanted = NONE.union(*found)
        if all(f == wanted for f in found):
            return args
    return [vary(a, wanted) for a in args]


core_trace.standardize = _standardize


def _union(avals: Sequence[Any]) -> frozenset:
    return NONE.union(*(getattr(a, "vma", NONE) for a in avals))


# --- the collectives ---------------------------------------------------------------------------


def _manual(primitive: Primitive, params: dict) -> frozenset:
    assert primitive.axis_names is not None
    return frozenset(primitive.axis_names(params)) & state.manual_axes


def _sums(primitive: Primitive, avals: Sequence[Any], params: dict) -> tuple[frozenset, frozenset]:
    """Operands vary along the axes, results no longer do."""
    named = _manual(primitive, params)
    have = _union(avals) | named
    groups = params.get("axis_index_groups") is not None
    return have, have if groups else have - named


def _moves(primitive: Primitive, avals: Sequence[Any], params: dict) -> tuple[frozenset, frozenset]:
    """Operands and results vary along the axes."""
    have = _union(avals) | _manual(primitive, params)
    return have, have


for _p in (psum_p, pmax_p, pmin_p):
    _p.varies = _sums
for _p in (all_gather_p, reduce_scatter_p, all_to_all_p, ppermute_p, axis_index_p):
    _p.varies = _moves
pbroadcast_p.varies = _sums


# --- pvary -------------------------------------------------------------------------------------


def _vary_stage(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> Any:
    """Where nobody asks along which axes values vary, it is nothing."""
    if not state.check_vma:
        return args[0]
    return trace.default_process(primitive, args, params)


pvary_p: Primitive = Primitive(
    "pvary",
    abstract=lambda x, axes: x.update(vma=x.vma | frozenset(axes)),
    reference=lambda x, axes: x,
    jvp=linear_jvp,
    transpose=unary_transpose(lambda ct, aval, axes: psum_invariant_p.bind(ct, axes=axes)),
    batch=lambda primitive, axis, args, dims, params: (
        primitive.bind(*args, **params),
        dims[0],
    ),
    stage=_vary_stage,
    evaluate=evaluate_mapped,
    axis_names=lambda params: params["axes"],
)
pvary_p.varies = lambda primitive, avals, params: (
    _union(avals),
    _union(avals) | frozenset(params["axes"]),
)

# --- psum_invariant ----------------------------------------------------------------------------


def _sum_abstract(x: ShapedArray, *, axes: tuple) -> ShapedArray:
    for a in axes:
        if not isinstance(a, int):
            axis_size(a)
    return x.update(shape=reduced(x.shape, [a for a in axes if isinstance(a, int)]))


def _sum_transpose(ct: Any, aval: ShapedArray, *, axes: tuple) -> Any:
    kept = tuple(i for i in range(len(aval.shape)) if i not in axes)
    if len(kept) < len(aval.shape):
        ct = ops["broadcast_in_dim"].bind(
            ct, shape=aval.shape, broadcast_dimensions=kept, sharding=None
        )
    return vary(ct, frozenset(a for a in axes if not isinstance(a, int)))


def _sum_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    (x,), (d,), axes = args, dims, params["axes"]
    named = axis.name is not None and axis.name in axes
    if d is None:
        rest = tuple(a for a in axes if a != axis.name)
        out = mul(x, const(x, axis.size))
        return (primitive.bind(out, axes=rest) if rest else out), None
    if not named:
        x, d = front(x, d), 0
    new = tuple(
        d if named and a == axis.name else shifted((a,), d)[0] if isinstance(a, int) else a
        for a in axes
    )
    out = primitive.bind(x, axes=new)
    return out, None if named else kept_position([a for a in new if isinstance(a, int)], d)


psum_invariant_p: Primitive = Primitive(
    "psum_invariant",
    abstract=_sum_abstract,
    reference=absent("it needs a mapped axis"),
    jvp=linear_jvp,
    transpose=unary_transpose(_sum_transpose),
    batch=_sum_batch,
    evaluate=evaluate_mapped,
    forbidden=not_mapped("psum_invariant"),
    axis_names=lambda params: tuple(a for a in params["axes"] if not isinstance(a, int)),
)
psum_invariant_p.varies = _sums


def check_sum(who: str, x: Any, axes: tuple) -> None:
    """Raise ValueError where a value varies along some of the axes and not along others."""
    manual = [a for a in axes if not isinstance(a, int) and a in state.manual_axes]
    vma = vma_of(x)
    if any(a in vma for a in manual) and not all(a in vma for a in manual):
        raise ValueError(
            f"jax.lax.{who} can only accept axis_name which corresponds to one of varying, "
            "unreduced, reduced or invarying state of the input. Got input type: "
            f"{get_aval(x).str_short(long=True)}, axes: {axes} and input state: "
            "{'varying', 'invarying'}"
        )


__all__ = ["check_sum", "psum_invariant_p", "pvary_p", "vary", "vma_of"]
