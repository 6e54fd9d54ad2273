"""Forward-mode differentiation: a trace that carries a tangent beside each value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.avals import get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive
from ..core.rules import Zero, instantiate
from ..core.staging import trace_to_closed
from ..core.trace import Trace, Tracer, current_trace, set_trace


class JVPTracer(Tracer):
    """A primal value and its tangent."""

    __slots__ = ("primal", "tangent")
    _trace: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any):
        self._trace, self.primal, self.tangent = trace, primal, tangent

    @property
    def aval(self) -> Any:
        return get_aval(self.primal)

    def __repr__(self) -> str:
        is_unknown = getattr(self._trace.parent, "is_unknown", None)  # grad computes values first
        if is_unknown is not None and is_unknown(self.tangent):
            tangent = get_aval(self.tangent).str_short()
            return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"

    def _concrete(self) -> Any:
        return _concrete(self.primal)

    def _origin_message(self) -> str:
        return self.primal._origin_message() if isinstance(self.primal, Tracer) else ""


def _concrete(x: Any) -> Any:
    return x._concrete() if isinstance(x, Tracer) else x


class JVPTrace(Trace):
    """Pushes tangents forward; primal and tangent computations go to the parent trace."""

    def __init__(self, parent: Trace):
        self.parent = parent
        self.alive = True

    def pair(self, x: Any) -> tuple[Any, Any]:
        """Primal and tangent of an argument; values of other traces have zero tangent."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, Zero.of(x)

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        primals, tangents = [], []
        live = False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                live = live or type(x.tangent) is not Zero
            else:
                primals.append(x)
                tangents.append(None)
        with set_trace(self.parent):
            if not live:
                return primitive.bind(*primals, **params)
            tangents = [
                Zero.of(p) if t is None else t for p, t in zip(primals, tangents, strict=True)
            ]
            out, tangent_out = primitive.jvp(primitive, primals, tangents, params)
        if primitive.multiple_results:
            return [self.wrap(o, t) for o, t in zip(out, tangent_out, strict=True)]
        return self.wrap(out, tangent_out)

    def wrap(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else JVPTracer(self, primal, tangent)


def jvp_flat(
    f: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Values and tangents of a flat function; tangents in and out may be symbolic zeros."""
    parent = current_trace()
    trace = JVPTrace(parent)
    ins = [trace.wrap(p, t) for p, t in zip(primals, tangents, strict=True)]
    try:
        with set_trace(trace):
            outs = f(*ins)
        pairs = [trace.pair(o) for o in outs]
    finally:
        trace.alive = False
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: tuple[bool, ...], instantiate_out: bool | tuple = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr `(*primals, *nonzero tangents) -> (*outs, *nonzero tangent outs)`.

    Returns it with the list of which outputs have a tangent. Remembered with `closed`.
    """

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        n = len(closed.in_avals)
        nonzero_out: list[bool] = []

        def f(*args: Any) -> list[Any]:
            primals = args[:n]
            it = iter(args[n:])
            tangents = [
                next(it) if nz else Zero.of(p) for p, nz in zip(primals, nonzero, strict=True)
            ]
            outs, touts = jvp_flat(
                lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), primals, tangents
            )
            want = (
                instantiate_out
                if isinstance(instantiate_out, tuple)
                else (instantiate_out,) * len(outs)
            )
            touts = [instantiate(t) if w else t for t, w in zip(touts, want, strict=True)]
            nonzero_out[:] = [type(t) is not Zero for t in touts]
            return [*outs, *[t for t in touts if type(t) is not Zero]]

        avals = list(closed.in_avals)
        avals += [a.at_least_vspace() for a, nz in zip(closed.in_avals, nonzero, strict=True) if nz]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info), nonzero_out

    return closed.derived(("jvp", nonzero, instantiate_out), make)
