"""shard_map: a function that each device of a mesh runs on its parts of the operands.

The body is a closed jaxpr over parts, in which the mesh's axes are named axes of collectives.
`in_specs` and `out_specs` are PartitionSpecs, one for each operand and result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import config, eager
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, JaxprEqn, axis_names
from ..core.mesh import Mesh, PartitionSpec, axes_of
from ..core.primitive import Primitive, absent
from ..core.rules import Zero, is_undefined
from ..core.staging import trace_to_closed
from ..core.trace import VARYING, extend_axis_env, set_trace, state
from ..transforms import spmd
from ..transforms.batching import batch_jaxpr
from ..transforms.jvp import jvp_jaxpr
from ..transforms.partial_eval import dce_closed, partial_eval_jaxpr
from ..transforms.transpose import transpose_jaxpr
from .collectives import psum_p
from .declare import const, ops, reshape
from .partition import Cuts, Part, cuts_of, recut


class scope(extend_axis_env):
    """Context manager that brings the axes of the mesh into scope."""

    def __init__(self, params: dict):
        self.manual, self.check = params["newly_manual_axes"], params["check_vma"]
        axes = [(n, s) for n, s in params["mesh"].shape_tuple if n in self.manual]
        super().__init__([*axes, (VARYING, 0)] if self.check else axes)

    def __enter__(self) -> None:
        super().__enter__()
        self.outer = state.manual_axes, state.check_vma
        state.manual_axes, state.check_vma = self.outer[0] | self.manual, self.check

    def __exit__(self, *exc: Any) -> None:
        state.manual_axes, state.check_vma = self.outer
        super().__exit__(*exc)


def local_aval(
    aval: ShapedArray, spec: PartitionSpec, mesh: Mesh, varying: bool = False
) -> ShapedArray:
    """The aval of a part; `varying`: with the axes along which parts differ."""
    shape = list(aval.shape)
    for d, p in enumerate(spec):
        shape[d] //= math.prod(mesh.shape[a] for a in axes_of(p))
    return aval.update(shape=tuple(shape), vma=frozenset(spec.names() if varying else ()))


def global_aval(aval: ShapedArray, spec: PartitionSpec, mesh: Mesh) -> ShapedArray:
    """The aval of what parts of an aval make up."""
    shape = list(aval.shape)
    for d, p in enumerate(spec):
        shape[d] *= math.prod(mesh.shape[a] for a in axes_of(p))
    return aval.update(shape=tuple(shape), vma=frozenset())


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, mesh: Mesh, out_specs: tuple, **_: Any) -> list[Any]:
    return [global_aval(a, s, mesh) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)]


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    """As a program of its own."""
    body = params["jaxpr"]

    def make() -> ClosedJaxpr:
        mesh = params["mesh"]
        avals = [
            global_aval(a, s, mesh) for a, s in zip(body.in_avals, params["in_specs"], strict=True)
        ]
        return trace_to_closed(lambda *xs: primitive.bind(*xs, **params), avals)

    names = ("mesh", "in_specs", "out_specs", "newly_manual_axes")
    key = ("shard_map program", *[params[n] for n in names])
    closed = body.derived(key, make)
    ins = [eager.as_array(a) for a in args]
    program = spmd.program_for(closed, "shard_map", ins)
    assert program is not None
    with config.disable_jit(False):
        return program(ins)


def _bind(params: dict, jaxpr: ClosedJaxpr, args: Sequence[Any], ins: Any, outs: Any) -> list[Any]:
    return shard_map_p.bind(
        *args, **{**params, "jaxpr": jaxpr, "in_specs": tuple(ins), "out_specs": tuple(outs)}
    )


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    with scope(params):
        jaxpr, nonzero_out = jvp_jaxpr(params["jaxpr"], nonzero)
    ins, outs = params["in_specs"], params["out_specs"]
    results = _bind(
        params,
        jaxpr,
        [*primals, *[t for t in tangents if type(t) is not Zero]],
        [*ins, *[s for s, nz in zip(ins, nonzero, strict=True) if nz]],
        [*outs, *[s for s, nz in zip(outs, nonzero_out, strict=True) if nz]],
    )
    n = len(nonzero_out)
    it = iter(results[n:])
    return results[:n], [
        next(it) if nz else Zero.of(o) for o, nz in zip(results[:n], nonzero_out, strict=True)
    ]


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    """Residuals are the parts of all devices, one behind the other."""
    unknown = tuple(trace.is_unknown(a) for a in args)
    ins, outs = params["in_specs"], params["out_specs"]

    def stored_spec(aval: ShapedArray) -> PartitionSpec:
        """Along the first dimension, over the axes along which the devices' values differ."""
        names = params["mesh"].axis_names
        manual = params["newly_manual_axes"]
        axes = [n for n in names if n in (aval.vma if params["check_vma"] else manual)]
        return PartitionSpec(tuple(axes)) if axes else PartitionSpec()

    with scope(params):
        split = partial_eval_jaxpr(params["jaxpr"], unknown)
        made = [i for kind, i in split.residuals if kind == "out"]

        def known(*xs: Any) -> list[Any]:
            values = {
                "in": xs,
                "out": eval_jaxpr(split.known.jaxpr, split.known.consts, *xs),
            }
            out = [values[kind][i] for kind, i in split.known_out]
            for i in made:
                r = values["out"][i]
                out.append(reshape(r, (1,)) if not get_aval(r).shape else r)
            return out

        known_jaxpr = split.known.derived(
            ("shard_map known", *split.known_out, *split.residuals),
            lambda: trace_to_closed(known, split.known.in_avals),
        )
        n = len(split.residuals)
        scalar = [not a.shape for a in split.staged.in_avals[:n]]
        from_in = [kind == "in" for kind, _ in split.residuals]

        def staged(*xs: Any) -> list[Any]:
            rest = [
                reshape(x, ()) if s and not f else x
                for x, s, f in zip(xs[:n], scalar, from_in, strict=True)
            ]
            return eval_jaxpr(split.staged.jaxpr, split.staged.consts, *rest, *xs[n:])

        avals = [
            a.update(shape=(1,)) if s and not f else a
            for a, s, f in zip(split.staged.in_avals[:n], scalar, from_in, strict=True)
        ]
        staged_jaxpr = split.staged.derived(
            ("shard_map staged", n, *from_in),
            lambda: trace_to_closed(staged, [*avals, *split.staged.in_avals[n:]]),
        )
    known_args = [a for a, u in zip(args, unknown, strict=True) if not u]
    known_ins = [s for s, u in zip(ins, unknown, strict=True) if not u]
    known_specs = [s for s, u in zip(outs, split.unknown_out, strict=True) if not u]
    with set_trace(trace.parent):
        made_specs = [stored_spec(a) for a in known_jaxpr.out_avals[len(known_specs) :]]
        values = _bind(params, known_jaxpr, known_args, known_ins, [*known_specs, *made_specs])
    residuals: list[Any] = []
    specs: list[Any] = []
    stored = iter(zip(values[len(known_specs) :], made_specs, strict=True))
    for kind, i in split.residuals:
        r, s = (known_args[i], known_ins[i]) if kind == "in" else next(stored)
        residuals.append(r)
        specs.append(s)
    unknown_args = [a for a, u in zip(args, unknown, strict=True) if u]
    staged_out: list[Any] = []
    if any(split.unknown_out):
        with set_trace(trace.staging):
            staged_out = _bind(
                params,
                staged_jaxpr,
                [*residuals, *unknown_args],
                [*specs, *[s for s, u in zip(ins, unknown, strict=True) if u]],
                [s for s, u in zip(outs, split.unknown_out, strict=True) if u],
            )
    it_known, it_staged = iter(values), iter(staged_out)
    return [next(it_staged) if u else next(it_known) for u in split.unknown_out]


def _unmentioned(spec: PartitionSpec, params: dict) -> tuple:
    """The axes along which parts are known to be equal only by the spec."""
    if params["check_vma"]:
        return ()  # the types say so, and transposing takes care of it
    named = set(spec.names())
    manual = params["newly_manual_axes"]
    return tuple(n for n in params["mesh"].axis_names if n in manual and n not in named)


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    """A result that all devices have is one value: each device gets its share of the cotangent.
    The cotangent of an operand that all have is the sum of theirs."""
    mesh, ins, outs = params["mesh"], params["in_specs"], params["out_specs"]
    linear = tuple(is_undefined(a) for a in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    with scope(params):
        jaxpr, used, nonzero_out = transpose_jaxpr(params["jaxpr"], linear, nonzero)
        linear_specs = [s for s, lin in zip(ins, linear, strict=True) if lin]
        specs = [s for s, nz in zip(linear_specs, nonzero_out, strict=True) if nz]

        def body(*xs: Any) -> list[Any]:
            results = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *xs)
            return [
                psum_p.bind(r, axes=names, axis_index_groups=None) if names else r
                for r, names in zip(results, [_unmentioned(s, params) for s in specs], strict=True)
            ]

        summed = jaxpr.derived(
            ("shard_map transpose", mesh, *specs), lambda: trace_to_closed(body, jaxpr.in_avals)
        )
    values = [a for a in args if not is_undefined(a)]
    value_specs = [s for s, lin in zip(ins, linear, strict=True) if not lin]
    for ct, s in zip(cts, outs, strict=True):
        if type(ct) is Zero:
            continue
        n = math.prod(mesh.shape[a] for a in _unmentioned(s, params))
        values.append(ops["div"].bind(ct, const(ct, n)) if n > 1 else ct)
        value_specs.append(s)
    results = iter(
        _bind(
            params,
            summed,
            [v for v, u in zip(values, used, strict=True) if u],
            [s for s, u in zip(value_specs, used, strict=True) if u],
            specs,
        )
    )
    nz = iter(nonzero_out)
    return [
        (next(results) if next(nz) else Zero(a.aval)) if lin else None
        for a, lin in zip(args, linear, strict=True)
    ]


def _shifted(spec: PartitionSpec, dim: int | None) -> PartitionSpec:
    if dim is None:
        return spec
    entries = [*spec, *[None] * (dim - len(spec))]
    entries.insert(dim, None)
    return PartitionSpec(*entries)


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    with scope(params):
        jaxpr, out_dims = batch_jaxpr(params["jaxpr"], axis, tuple(dims))
    ins = [_shifted(s, d) for s, d in zip(params["in_specs"], dims, strict=True)]
    outs = [_shifted(s, d) for s, d in zip(params["out_specs"], out_dims, strict=True)]
    return _bind(params, jaxpr, args, ins, outs), out_dims


def _dce(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    with scope(eqn.params):
        jaxpr, used_in = dce_closed(eqn.params["jaxpr"], tuple(used))
    if not jaxpr.jaxpr.outvars and not jaxpr.effects:
        return None
    keep = lambda xs, flags: [x for x, f in zip(xs, flags, strict=True) if f]  # noqa: E731
    return eqn.replace(
        invars=keep(eqn.invars, used_in),
        outvars=keep(eqn.outvars, used),
        params={
            **eqn.params,
            "jaxpr": jaxpr,
            "in_specs": tuple(keep(eqn.params["in_specs"], used_in)),
            "out_specs": tuple(keep(eqn.params["out_specs"], used)),
        },
    )


def _axis_names(params: dict) -> tuple:
    own = params["newly_manual_axes"]
    with scope(params):
        return tuple(n for n in axis_names(params["jaxpr"]) if n not in own)


def _partition(
    part: Part, primitive: Primitive, args: list[Any], cuts: list[Cuts], params: dict
) -> Any:
    """The body itself, on operands that are cut as it wants them."""
    body = params["jaxpr"]
    ins = [cuts_of(s, len(c)) for s, c in zip(params["in_specs"], cuts, strict=True)]
    moved = [recut(x, c, w) for x, c, w in zip(args, cuts, ins, strict=True)]
    outs = eval_jaxpr(body.jaxpr, body.consts, *moved)
    specs = params["out_specs"]
    return outs, [cuts_of(s, np.ndim(o)) for o, s in zip(outs, specs, strict=True)]


shard_map_p = Primitive(
    "shard_map",
    multiple_results=True,
    abstract=_abstract,
    reference=absent("it runs on several devices"),
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    partial_eval=_partial_eval,
    dce=_dce,
    axis_names=_axis_names,
    effects=lambda jaxpr, **_: jaxpr.effects,
)
shard_map_p.mesh_of = lambda params: params["mesh"]
shard_map_p.partition = _partition
shard_map_p.wants = lambda params: params["in_specs"]

__all__ = ["global_aval", "local_aval", "scope", "shard_map_p"]
