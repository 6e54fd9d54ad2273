"""Partial evaluation under a policy: what is known is computed now, and again with the unknown.

Ordinary partial evaluation saves every known value that the unknown part reads. Here a policy says
which results may be saved; all others are computed anew, from the inputs and from what is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes, source_info
from ..core.avals import get_aval
from ..core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from ..core.primitive import Primitive
from ..core.staging import JaxprTrace, JaxprTracer
from ..core.trace import set_trace
from .partial_eval import PartialTrace, dce_jaxpr


class SaveableType:
    """What a policy returns for a result that may be saved; `True` means the same."""


class RecomputeType:
    """What a policy returns for a result that is computed anew; `False` means the same."""


class Offloadable:
    """What a policy returns for a result that may be saved in the memory `dst`.

    All memory kinds of a CPU device are one memory: the result is saved there.
    """

    def __init__(self, src: Any, dst: Any):
        self.src, self.dst = src, dst

    def __repr__(self) -> str:
        return f"Offloadable(src={self.src!r}, dst={self.dst!r})"

    def __eq__(self, other: Any) -> bool:
        return type(other) is Offloadable and (self.src, self.dst) == (other.src, other.dst)

    def __hash__(self) -> int:
        return hash((self.src, self.dst))


Saveable = SaveableType()
Recompute = RecomputeType()

Policy = Callable[..., Any]


def may_save(
    policy: Policy | None, primitive: Primitive, avals: Sequence[Any], params: dict
) -> bool:
    """The policy's decision about the results of one equation."""
    if policy is None:
        return False
    got = policy(primitive, *avals, **params)
    if isinstance(got, (bool, np.bool_)):
        return bool(got)
    if isinstance(got, (SaveableType, Offloadable)):
        return True
    if isinstance(got, RecomputeType):
        return False
    raise TypeError(
        "Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`, "
        f"`ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got {got} of type "
        f"{type(got)}."
    )


class Split:
    """A jaxpr split under a policy.

    `known` maps the known inputs to the known outputs followed by those residuals that are no
    outputs; `residuals` are positions among its results. `staged` maps the residuals and those
    inputs that `used_inputs` marks to the unknown outputs (or more of them, as it was asked for);
    `saved_out` marks known outputs that are saved.
    """

    __slots__ = ("known", "residuals", "saved_out", "staged", "unknown_out", "used_inputs")

    def __init__(
        self,
        known: ClosedJaxpr,
        staged: ClosedJaxpr,
        residuals: list[int],
        unknown_out: list[bool],
        saved_out: list[bool],
        used_inputs: list[bool],
    ):
        self.known, self.staged, self.residuals = known, staged, residuals
        self.unknown_out, self.saved_out, self.used_inputs = unknown_out, saved_out, used_inputs


#: A value while splitting: its known version (None if it is unknown) and its staged version.
Pair = tuple[Any, Any]


class Splitter:
    """The two programs that a jaxpr is being split into, and the policy."""

    def __init__(self, policy: Policy | None, debug: Any):
        self.policy = policy
        self.known, self.staged = JaxprTrace(debug), JaxprTrace(debug)

    def run(self, closed: ClosedJaxpr, args: Sequence[Pair]) -> list[Pair]:
        """Split each equation; `args` are the inputs."""
        jaxpr = closed.jaxpr
        env: dict[Any, Pair] = {
            v: (c, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True)
        }
        env.update(zip(jaxpr.invars, args, strict=True))
        saved = source_info.set_current(None)
        try:
            for eqn in jaxpr.eqns:
                source_info.set_current(eqn.source_info)
                ins = [(a.val, a.val) if type(a) is Literal else env[a] for a in eqn.invars]
                env.update(zip(eqn.outvars, self.equation(eqn, ins), strict=True))
        finally:
            source_info.set_current(saved)
        return [(a.val, a.val) if type(a) is Literal else env[a] for a in jaxpr.outvars]

    def equation(self, eqn: JaxprEqn, ins: list[Pair]) -> list[Pair]:
        primitive, params = eqn.primitive, eqn.params
        if primitive.split is not None:
            return primitive.split(primitive, self, ins, params)
        if all(k is not None for k, _ in ins):
            known = self.bind(self.known, primitive, [k for k, _ in ins], params)
            if may_save(self.policy, primitive, [a.aval for a in eqn.invars], params):
                return [(k, k) for k in known]
            again = self.bind(self.staged, primitive, [s for _, s in ins], params)
            return list(zip(known, again, strict=True))
        return self.mixed(primitive, ins, params)

    def mixed(self, primitive: Primitive, ins: list[Pair], params: dict) -> list[Pair]:
        """An equation that reads known and unknown values: staged whole, and its known results
        computed now if the primitive can tell them."""
        staged = self.bind(self.staged, primitive, [s for _, s in ins], params)
        if primitive.partial_eval is None:
            return [(None, s) for s in staged]
        rest = JaxprTrace(None)
        partial = PartialTrace(self.known, rest)
        args = [rest.new_arg(get_aval(s)) if k is None else k for k, s in ins]
        with set_trace(partial):
            outs = primitive.partial_eval(primitive, partial, args, params)
        outs = outs if primitive.multiple_results else [outs]
        rest.alive = partial.alive = False
        return [
            (None if partial.is_unknown(o) else o, s) for o, s in zip(outs, staged, strict=True)
        ]

    @staticmethod
    def bind(trace: JaxprTrace, primitive: Primitive, args: list[Any], params: dict) -> list[Any]:
        with set_trace(trace):
            out = primitive.bind(*args, **params)
        return list(out) if primitive.multiple_results else [out]


class Pins:
    """The operation that marks a saved value; set by the module that declares its primitive."""

    operation: Callable[[Any], tuple[Primitive, dict]]


pins = Pins()


def _uses(jaxpr: Jaxpr) -> set[Any]:
    return {a for e in jaxpr.eqns for a in e.invars if isinstance(a, Var)}


def _pinned(jaxpr: Jaxpr, residuals: Sequence[Any]) -> Jaxpr:
    """Round saved floats that the known part reads itself to their own precision, as JAX does.

    It marks the values that must not be recomputed, and changes none.
    """
    used = _uses(jaxpr)
    rounded: dict[Any, Var] = {}
    for v in residuals:
        if v in used and v not in jaxpr.invars and dtypes.is_float(getattr(v.aval, "dtype", None)):
            rounded[v] = Var(v.aval)
    if not rounded:
        return jaxpr
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        eqns.append(
            eqn.replace(invars=[rounded.get(a, a) if isinstance(a, Var) else a for a in eqn.invars])
        )
        for v in eqn.outvars:
            if v in rounded:
                prim, params = pins.operation(v.aval)
                eqns.append(JaxprEqn([v], [rounded[v]], prim, params, frozenset(), eqn.source_info))
    outs = [rounded.get(a, a) if isinstance(a, Var) else a for a in jaxpr.outvars]
    return jaxpr.replace(eqns=eqns, outvars=outs)


def split_jaxpr(
    closed: ClosedJaxpr,
    unknown: tuple[bool, ...],
    policy: Policy | None,
    outputs: str = "unknown",
) -> Split:
    """Split a jaxpr by which inputs are unknown. Remembered with `closed`.

    `outputs` says which outputs the staged part gives: the "unknown" ones, all that are not saved
    ("unsaved"), or "all". The latter two are for parts of a larger program, which drops what
    nothing reads.
    """

    def make() -> Split:
        splitter = Splitter(policy, closed.jaxpr.debug_info)
        known, staged = splitter.known, splitter.staged
        ins = [
            (None if u else known.new_arg(a), staged.new_arg(a))
            for a, u in zip(closed.in_avals, unknown, strict=True)
        ]
        pairs = splitter.run(closed, ins)
        unknown_out = [k is None for k, _ in pairs]
        saved_out = [type(s) is JaxprTracer and s._trace is known for _, s in pairs]
        wanted = [
            s
            for (_, s), u, d in zip(pairs, unknown_out, saved_out, strict=True)
            if u or outputs == "all" or (outputs == "unsaved" and not d)
        ]
        late, values = staged.finish(wanted)
        late, _ = dce_jaxpr(late, [True] * len(late.outvars), keep_inputs=True)
        read = _uses(late) | {a for a in late.outvars if type(a) is not Literal}
        used_inputs = [v in read for v in late.invars]
        saved = [(v, x) for v, x in zip(late.constvars, values, strict=True) if v in read]
        # concrete constants of the staged part stay constants
        residual = [isinstance(x, JaxprTracer) and x._trace is known for _, x in saved]
        res_vars = [v for (v, _), r in zip(saved, residual, strict=True) if r]
        res_values = [x for (_, x), r in zip(saved, residual, strict=True) if r]
        keep = [p for p, r in zip(saved, residual, strict=True) if not r]
        invars = [*res_vars, *[v for v, u in zip(late.invars, used_inputs, strict=True) if u]]
        late_closed = ClosedJaxpr(
            late.replace(constvars=[v for v, _ in keep], invars=invars), [x for _, x in keep]
        )

        known_outs = [k for k, _ in pairs if k is not None]
        early, consts = known.finish([*known_outs, *res_values])
        n = len(known_outs)
        if outputs == "unknown":
            early = _pinned(early, [a for a in early.outvars[n:] if type(a) is not Literal])
        place: dict[Any, int] = {}
        outs = list(early.outvars[:n])
        for i, a in enumerate(outs):
            if type(a) is not Literal:
                place.setdefault(a, i)
        positions = []
        for a in early.outvars[n:]:
            if a not in place:
                place[a] = len(outs)
                outs.append(a)
            positions.append(place[a])
        early, _ = dce_jaxpr(early.replace(outvars=outs), [True] * len(outs), keep_inputs=True)
        return Split(
            ClosedJaxpr(early, consts), late_closed, positions, unknown_out, saved_out, used_inputs
        )

    return closed.derived(("under a policy", unknown, policy, outputs), make)


def split_call(
    param: str, call: Callable[[dict, ClosedJaxpr, int, bool], dict]
) -> Callable[..., list[Pair]]:
    """The `split` rule of a primitive that calls the jaxpr `params[param]` with its operands.

    `call(params, jaxpr, n, staged)` gives the parameters of a call of another jaxpr that takes n
    operands.
    """

    def split(
        primitive: Primitive, splitter: Splitter, ins: list[Pair], params: dict
    ) -> list[Pair]:
        unknown = tuple(k is None for k, _ in ins)
        closed = params[param]
        parts = split_jaxpr(closed, unknown, splitter.policy, "unsaved")
        args = [k for k, _ in ins if k is not None]
        now = splitter.bind(
            splitter.known, primitive, args, call(params, parts.known, len(args), False)
        )
        rest = [
            *[now[i] for i in parts.residuals],
            *[s for (_, s), u in zip(ins, parts.used_inputs, strict=True) if u],
        ]
        later = []
        if parts.staged.jaxpr.outvars:
            later = splitter.bind(
                splitter.staged, primitive, rest, call(params, parts.staged, len(rest), True)
            )
        known, staged = iter(now), iter(later)
        out: list[Pair] = []
        for u, s in zip(parts.unknown_out, parts.saved_out, strict=True):
            k = None if u else next(known)
            out.append((k, k if s else next(staged)))
        return out

    return split
