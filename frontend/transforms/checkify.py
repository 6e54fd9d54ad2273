"""Checks as values: a trace under which primitives also report whether they failed.

`checkify` is the rule of a primitive: `checkify(primitive, trace, args, params)` -> results, run
under the parent trace; it calls `trace.check(failed, site, arrays)`. Primitives that carry jaxprs
thread the error through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.checks import Error, ErrorEffect, Site, Structure, init_error
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, subjaxprs
from ..core.primitive import Primitive
from ..core.rules import vspace
from ..core.staging import trace_to_closed
from ..core.trace import Trace, current_trace, set_trace
from .partial_eval import dce_jaxpr


class _Logic:
    """The two operations on errors; set by the primitives' modules."""

    either: Callable[[Any, Any], Any]
    select: Callable[[Any, Any, Any], Any]


logic = _Logic()


def joined(old: Error, new: Error) -> Error:
    """The error of two steps of a program: of the first, if it failed."""
    if old._pred is None:
        return new
    if new._pred is None:
        return old
    payload = dict(old._payload)
    for key, leaves in new._payload.items():
        if key in payload:
            pairs = zip(payload[key], leaves, strict=True)
            leaves = [logic.select(old._pred, b, a) for a, b in pairs]
        payload[key] = leaves
    return Error(
        logic.either(old._pred, new._pred),
        logic.select(old._pred, new._code, old._code),
        payload,
        {**old._sites, **new._sites},
    )


def grown(error: Error, structure: Structure) -> Error:
    """The error with arrays for everything in `structure`, which holds its own."""
    if not structure.sites:
        return error
    payload = {}
    for key in structure.keys:
        leaves = error._payload.get(key)
        if leaves is None:
            avals = Structure([key], structure.sites).avals()[2:]
            leaves = [vspace.zeros(a) for a in avals]
        payload[key] = leaves
    if error._pred is None:
        return Error(np.bool_(False), np.int32(-1), payload, structure.sites)
    return Error(error._pred, error._code, payload, structure.sites)


class CheckifyTrace(Trace):
    """Runs primitives under the parent trace and gathers what fails in `error`.

    `enabled` are the kinds of errors that are looked for.
    """

    def __init__(self, parent: Trace, enabled: frozenset, error: Error = init_error):
        self.parent, self.enabled, self.error = parent, enabled, error
        self.alive = True

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        with set_trace(self.parent):
            if primitive.checkify is not None:
                return primitive.checkify(primitive, self, args, params)
            if any(True for _ in subjaxprs(params)):
                raise NotImplementedError(f"checkify of {primitive.name} is not implemented")
            return primitive.bind(*args, **params)

    def check(self, failed: Any, site: Site, arrays: Sequence[Any] = ()) -> None:
        """Note that the check at `site` failed, if the scalar `failed` holds."""
        payload = {site.key: list(arrays)}
        self.join(Error(failed, np.int32(site.code), payload, {site.code: site}))

    def join(self, error: Error) -> None:
        """Note what failed in a step that has its own error."""
        self.error = joined(self.error, error)


def checkify_jaxpr(
    closed: ClosedJaxpr, enabled: frozenset, structure: Structure
) -> tuple[ClosedJaxpr, Structure]:
    """The jaxpr `(*error, *args) -> (*error, *outs)`, and the structure of the error it returns.

    `structure` is that of the error it takes. Remembered with `closed`.
    """
    n = len(structure.avals())

    def make() -> tuple[ClosedJaxpr, Structure]:
        out: list[Structure] = []

        def f(*args: Any) -> list[Any]:
            trace = CheckifyTrace(current_trace(), enabled, structure.build(args[:n]))
            with set_trace(trace):
                outs = eval_jaxpr(closed.jaxpr, closed.consts, *args[n:])
            out[:] = [trace.error.structure]
            return [*trace.error.leaves, *outs]

        avals = [*structure.avals(), *closed.in_avals]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info), out[0]

    new, out = closed.derived(("checkify", enabled, structure.shape), make)
    return new, out.union(structure)


def checks_in(enabled: frozenset, *jaxprs: ClosedJaxpr) -> Structure:
    """The structure of the errors that can arise in jaxprs."""
    found = [checkify_jaxpr(c, enabled, Structure())[1] for c in jaxprs]
    return found[0].union(*found[1:])


def has_checks(closed: ClosedJaxpr) -> bool:
    """Whether there are equations in a jaxpr that only checkify can run."""
    return any(isinstance(e, ErrorEffect) for e in closed.effects)


def without_checks(closed: ClosedJaxpr, enabled: frozenset) -> ClosedJaxpr:
    """The jaxpr with nothing that looks for errors."""
    new, structure = checkify_jaxpr(closed, enabled, Structure())
    n = len(structure.avals())

    def make() -> ClosedJaxpr:
        used = [i >= n for i in range(len(new.out_avals))]
        return new.replace(jaxpr=dce_jaxpr(new.jaxpr, used, keep_inputs=True)[0])

    return closed.derived(("without checks", enabled), make)


def through(
    trace: CheckifyTrace, *jaxprs: ClosedJaxpr
) -> tuple[list[Any], list[ClosedJaxpr], Callable[[Sequence[Any]], list[Any]]] | None:
    """Thread the error through jaxprs that a primitive carries.

    Returns the arrays of the error to pass in front, the jaxprs that take and return them, and a
    function that takes the results apart: it notes the error and returns the others. None where
    the jaxprs can stay as they are.
    """
    arising = checks_in(trace.enabled, *jaxprs)
    if not arising.sites and not any(has_checks(c) for c in jaxprs):
        return None
    structure = trace.error.structure.union(arising)
    error = grown(trace.error, structure)
    new = [checkify_jaxpr(c, trace.enabled, structure)[0] for c in jaxprs]
    n = len(error.leaves)

    def apart(outs: Sequence[Any]) -> list[Any]:
        trace.error = structure.build(outs[:n])
        return list(outs[n:])

    return error.leaves, new, apart


def moved_inputs(closed: ClosedJaxpr, first: int, behind: int) -> ClosedJaxpr:
    """The jaxpr with its `first` inputs behind the `behind` ones that follow them."""

    def make() -> ClosedJaxpr:
        v = closed.jaxpr.invars
        order = [*v[first : first + behind], *v[:first], *v[first + behind :]]
        return closed.replace(jaxpr=closed.jaxpr.replace(invars=order))

    return closed.derived(("moved inputs", first, behind), make)


def checkify_call(param: str = "jaxpr", rebind: Callable[..., Any] | None = None) -> Any:
    """The rule of a primitive that applies the closed jaxpr in `param` to its operands.

    `rebind(params, jaxpr, number of new operands)` gives the parameters of the new equation.
    """

    def rule(
        primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
    ) -> list[Any]:
        threaded = through(trace, params[param])
        if threaded is None:
            return primitive.bind(*args, **params)
        error, (jaxpr,), apart = threaded
        new = {**params, param: jaxpr}
        if rebind is not None:
            new = rebind(new, len(error))
        return apart(primitive.bind(*error, *args, **new))

    return rule


__all__ = [
    "CheckifyTrace",
    "checkify_call",
    "checkify_jaxpr",
    "checks_in",
    "has_checks",
    "moved_inputs",
    "through",
    "without_checks",
]
