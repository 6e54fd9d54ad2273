"""Partial evaluation: run what is known now, stage what depends on unknown inputs."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, close_with_vars
from ..core.primitive import Primitive
from ..core.staging import JaxprTrace, JaxprTracer
from ..core.trace import Trace, current_trace, set_trace


class PartialTrace(Trace):
    """Known arguments go to the parent trace; an equation with an unknown one is staged."""

    def __init__(self, parent: Trace, staging: JaxprTrace):
        self.parent, self.staging = parent, staging
        self.alive = True

    def is_unknown(self, x: Any) -> bool:
        return type(x) is JaxprTracer and x._trace is self.staging

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        staging = self.staging
        for x in args:
            if type(x) is JaxprTracer and x._trace is staging:
                break
        else:
            with set_trace(self.parent):
                return primitive.bind(*args, **params)
        if primitive.partial_eval is not None:
            return primitive.partial_eval(primitive, self, args, params)
        with set_trace(staging):
            return staging.process_primitive(primitive, args, params)


class PartialJaxpr:
    """A jaxpr split into what is known and what is staged.

    `known` maps the known inputs to those known outputs and residuals that are no inputs, each
    once. `known_out` and `residuals` say where a value comes from: ("in", i) for the i-th known
    input, ("out", i) for the i-th output of `known`. `staged` maps residuals and unknown inputs to
    the unknown outputs.
    """

    __slots__ = ("known", "known_out", "residuals", "staged", "unknown_out")

    def __init__(
        self,
        known: ClosedJaxpr,
        staged: ClosedJaxpr,
        unknown_out: list[bool],
        known_out: list[tuple[str, int]],
        residuals: list[tuple[str, int]],
    ):
        self.known, self.staged, self.unknown_out = known, staged, unknown_out
        self.known_out, self.residuals = known_out, residuals


def _without_copies(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[tuple[str, int]]]:
    """Drop outputs that are inputs or earlier outputs, and say where each of them comes from."""
    inputs = {v: i for i, v in enumerate(closed.jaxpr.invars)}
    outs: list[Any] = []
    place: dict[Any, int] = {}
    sources: list[tuple[str, int]] = []
    for a in closed.jaxpr.outvars:
        if type(a) is not Literal and a in inputs:
            sources.append(("in", inputs[a]))
            continue
        if type(a) is Literal or a not in place:
            place[a] = len(outs)
            outs.append(a)
        sources.append(("out", place[a]))
    return closed.replace(jaxpr=closed.jaxpr.replace(outvars=outs)), sources


class EffectsLaterTrace(PartialTrace):
    """Partial evaluation in which equations with effects are staged, whatever their arguments."""

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        if primitive.effects is not None and primitive.effects(**params):
            with set_trace(self.staging):
                return self.staging.process_primitive(primitive, args, params)
        return super().process_primitive(primitive, args, params)


def partial_eval_jaxpr(
    closed: ClosedJaxpr,
    unknown: tuple[bool, ...],
    instantiate: tuple[bool, ...] = (),
    effects_later: bool = False,
) -> PartialJaxpr:
    """Split a jaxpr by which inputs are unknown. Remembered with `closed`.

    Outputs for which `instantiate` holds count as unknown whether they are or not; with
    `effects_later` the known part has no effects.
    """

    def make() -> PartialJaxpr:
        known_trace = JaxprTrace(closed.jaxpr.debug_info)
        staging = JaxprTrace(closed.jaxpr.debug_info)
        partial = (EffectsLaterTrace if effects_later else PartialTrace)(known_trace, staging)
        ins = [
            staging.new_arg(a) if u else known_trace.new_arg(a)
            for a, u in zip(closed.in_avals, unknown, strict=True)
        ]
        with set_trace(partial):
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *ins)
        unknown_out = [partial.is_unknown(o) for o in outs]
        if instantiate:
            unknown_out = [u or i for u, i in zip(unknown_out, instantiate, strict=True)]
        staged, residuals = staging.finish([o for o, u in zip(outs, unknown_out) if u])
        known_outs = [o for o, u in zip(outs, unknown_out) if not u]
        jaxpr, consts = known_trace.finish([*known_outs, *residuals])
        known, sources = _without_copies(ClosedJaxpr(jaxpr, consts))
        n = len(known_outs)
        return PartialJaxpr(known, close_with_vars(staged), unknown_out, sources[:n], sources[n:])

    return closed.derived(("partial_eval", unknown, instantiate, effects_later), make)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], keep_inputs: bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Remove equations whose results are not used and that have no effects, at any depth.

    Equations that carry jaxprs are changed by their primitive's `dce` rule; those without one keep
    their operands and results. Returns the jaxpr restricted to the used outputs (and to the inputs it still reads, unless
    `keep_inputs`), and which inputs it reads.
    """
    live: set[Var] = {
        a for a, u in zip(jaxpr.outvars, used_outputs, strict=True) if u and isinstance(a, Var)
    }
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        params = _pruned_params(eqn.params)
        new = eqn if params is eqn.params else eqn.replace(params=params)
        if eqn.primitive.dce is not None and not (all(used) and _reads_all(params)):
            new = eqn.primitive.dce(new, used)
            if new is None:
                continue
        elif not all(used):
            new = new.replace(
                outvars=[
                    v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used, strict=True)
                ]
            )
        live.update(a for a in new.invars if isinstance(a, Var))
        eqns.append(new)
    eqns.reverse()
    used_inputs = [v in live for v in jaxpr.invars]
    invars = (
        jaxpr.invars
        if keep_inputs
        else [v for v, u in zip(jaxpr.invars, used_inputs, strict=True) if u]
    )
    outvars = [a for a, u in zip(jaxpr.outvars, used_outputs, strict=True) if u]
    constvars = jaxpr.constvars
    return Jaxpr(constvars, invars, outvars, eqns, debug_info=jaxpr.debug_info), used_inputs


def _closed_jaxprs(v: Any) -> Iterator[ClosedJaxpr]:
    for x in v if isinstance(v, (tuple, list)) else (v,):
        if isinstance(x, ClosedJaxpr):
            yield x


def _reads_all(params: dict[str, Any]) -> bool:
    """Whether the jaxprs among an equation's parameters read all of their inputs."""
    return all(all(_pruned(c)[1]) for v in params.values() for c in _closed_jaxprs(v))


def _pruned(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr with the same inputs and outputs, without dead code, and which inputs it reads."""

    def make() -> tuple[ClosedJaxpr | None, list[bool]]:
        jaxpr, read = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), True)
        same = len(jaxpr.eqns) == len(closed.eqns)
        if same and all(map(operator.is_, jaxpr.eqns, closed.eqns)):
            return None, read
        return closed.replace(jaxpr=jaxpr), read

    new, read = closed.derived("pruned", make)
    return closed if new is None else new, read


def _pruned_params(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with pruned jaxprs; the same object if nothing changes."""
    changed = {}
    for k, v in params.items():
        if all(_pruned(c)[0] is c for c in _closed_jaxprs(v)):
            continue
        if isinstance(v, ClosedJaxpr):
            changed[k] = _pruned(v)[0]
            continue
        items = [_pruned(x)[0] if isinstance(x, ClosedJaxpr) else x for x in v]
        changed[k] = v._make(items) if hasattr(v, "_make") else type(v)(items)
    return {**params, **changed} if changed else params


def dce_closed(
    closed: ClosedJaxpr, used_outputs: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    """`dce_jaxpr` of a closed jaxpr, dropping constants that are no longer read."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        jaxpr, used = dce_jaxpr(closed.jaxpr, used_outputs)
        live: set[Any] = {a for e in jaxpr.eqns for a in e.invars if not isinstance(a, Literal)}
        live |= {a for a in jaxpr.outvars if not isinstance(a, Literal)}
        kept = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in live]
        return (
            ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in kept]), [c for _, c in kept]),
            used,
        )

    return closed.derived(("dce", used_outputs), make)


def start_partial(debug: Any = None) -> tuple[PartialTrace, JaxprTrace]:
    """A partial-evaluation trace over the current trace, with its staging trace."""
    staging = JaxprTrace(debug)
    return PartialTrace(current_trace(), staging), staging
