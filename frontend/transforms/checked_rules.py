"""checkify of functions with custom derivative rules: the function's checks, and its rules kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.avals import get_aval
from ..core.checks import Error, Structure
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive
from ..core.rules import Zero
from ..core.staging import trace_to_jaxpr
from ..core.trace import current_trace, set_trace
from .api_util import debug_info, fun_name
from .checkify import CheckifyTrace, checkify_jaxpr, checks_in, grown, has_checks
from .jit import hoist_tracers


class _Rule:
    """A rule under the name of the user's."""

    def __init__(self, f: Any, user: Any):
        self.f, self.__name__ = f, fun_name(user)

    def __call__(self, *args: Any) -> Any:
        return self.f(*args)


def _quietly(enabled: frozenset, f: Any, *args: Any) -> tuple[Any, Error]:
    """`f(*args)` and what failed in it."""
    trace = CheckifyTrace(current_trace(), enabled)
    try:
        with set_trace(trace):
            return f(*args), trace.error
    finally:
        trace.alive = False


class _Checked:
    """A function with checks and what its primitive is bound with.

    `error(primals, found)` gives the arrays of the error for a rule that computes the function's
    value. They come from the function itself; where that closes over traced values, which a rule
    does not get, from `found`, what failed in the rule.
    """

    def __init__(self, primitive: Primitive, enabled: frozenset, args: Sequence[Any], params: dict):
        call = params["call_jaxpr"]
        if not isinstance(call, ClosedJaxpr):
            debug = debug_info(primitive.name, params["fun"])
            jaxpr, consts = trace_to_jaxpr(call, [get_aval(a) for a in args], debug)
            call, hoisted = hoist_tracers(jaxpr, consts)
            args = [*hoisted, *args]
            params = {**params, "num_consts": params["num_consts"] + len(hoisted)}
        self.args, self.params = args, {**params, "call_jaxpr": call}
        self.plain = not checks_in(enabled, call).sites and not has_checks(call)
        self.call, self.structure = checkify_jaxpr(call, enabled, Structure())
        self.size = len(self.structure.avals())

    def error(self, primals: Sequence[Any], found: Error) -> list[Any]:
        if not self.params["num_consts"]:
            return eval_jaxpr(self.call.jaxpr, self.call.consts, *primals)[: self.size]
        known = self.structure.sites
        if not all(code in known for code in found._sites):
            found = Error()
        return grown(found, self.structure).leaves


def checkify_custom_jvp(
    primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
) -> list[Any]:
    """The error is a result without tangent."""
    checked = _Checked(primitive, trace.enabled, args, params)
    if checked.plain:
        return primitive.bind(*args, **params)
    user = params["jvp"]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], symbolic: bool) -> Any:
        (outs, touts), found = _quietly(trace.enabled, user, primals, tangents, symbolic)
        error = checked.error(primals, found)
        return [*error, *outs], [*map(Zero.of, error), *touts]

    new = {**checked.params, "call_jaxpr": checked.call, "jvp": _Rule(jvp, user)}
    outs = primitive.bind(*checked.args, **new)
    trace.join(checked.structure.build(outs[: checked.size]))
    return outs[checked.size :]


def checkify_custom_vjp(
    primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
) -> list[Any]:
    """The error is a result whose cotangent the backward rule does not see."""
    checked = _Checked(primitive, trace.enabled, args, params)
    if checked.plain:
        return primitive.bind(*args, **params)
    user_fwd, user_bwd, n = params["fwd"], params["bwd"], checked.size

    def fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
        (outs, residuals), found = _quietly(trace.enabled, user_fwd, primals, perturbed)
        return [*checked.error(primals, found), *outs], residuals

    def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        return _quietly(trace.enabled, user_bwd, residuals, list(cts)[n:])[0]

    new = {
        **checked.params,
        "call_jaxpr": checked.call,
        "fwd": _Rule(fwd, user_fwd),
        "bwd": _Rule(bwd, user_bwd),
    }
    outs = primitive.bind(*checked.args, **new)
    trace.join(checked.structure.build(outs[:n]))
    return outs[n:]


__all__ = ["checkify_custom_jvp", "checkify_custom_vjp"]
