"""Linearization: values now, and the tangent map as a linear jaxpr; reverse mode from both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import dtypes
from ..core.avals import get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import Jaxpr
from ..core.rules import Zero
from ..core.staging import JaxprTracer
from ..core.trace import set_trace
from .jvp import JVPTrace
from .partial_eval import start_partial
from .transpose import backward_pass


class Linearized:
    """The linear map of tangents at a point.

    `jaxpr` maps the tangents of the inputs to those tangents of outputs that are not identically
    zero; `residuals` are the values of its constvars, `primal_avals` the types of the values.
    """

    __slots__ = ("in_avals", "jaxpr", "nonzero_out", "primal_avals", "residuals")

    def __init__(
        self,
        jaxpr: Jaxpr,
        residuals: list[Any],
        in_avals: list[Any],
        primal_avals: list[Any],
        nonzero_out: list[bool],
    ):
        self.jaxpr, self.residuals = jaxpr, residuals
        self.in_avals, self.primal_avals = in_avals, primal_avals
        self.nonzero_out = nonzero_out

    def at(self, residuals: list[Any]) -> Linearized:
        """The map with other residuals."""
        return Linearized(self.jaxpr, residuals, self.in_avals, self.primal_avals, self.nonzero_out)

    def apply(self, tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the outputs (symbolic zeros possible)."""
        outs = iter(eval_jaxpr(self.jaxpr, self.residuals, *tangents))
        return [
            next(outs) if nz else Zero(a.at_least_vspace())
            for a, nz in zip(self.primal_avals, self.nonzero_out, strict=True)
        ]

    def transpose(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs (symbolic zeros possible)."""
        cts = [c for c, nz in zip(cotangents, self.nonzero_out, strict=True) if nz]
        return backward_pass(self.jaxpr, self.residuals, [True] * len(self.jaxpr.invars), None, cts)


def not_reverse_differentiable() -> ValueError:
    """The error where values depend on what is unknown until the backward pass."""
    return ValueError(
        "Linearization failed to produce known values for all output primals. This is typically "
        "caused by attempting to differentiate a function that uses an operation that does not "
        "support reverse-mode autodiff."
    )


def linearize_flat(
    f: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    active: Sequence[bool] | None = None,
    debug: Any = None,
) -> tuple[list[Any], Linearized]:
    """Values of a flat function and its linear map with respect to the `active` inputs."""
    partial, staging = start_partial(debug)
    trace = JVPTrace(partial)
    ins, in_avals = [], []
    for i, p in enumerate(primals):
        if active is not None and not active[i]:
            ins.append(p)
            continue
        aval = get_aval(p).at_least_vspace()
        in_avals.append(aval)
        tangent = staging.new_arg(aval)
        # integers have an input, for the order's sake, but nothing depends on it
        ins.append(p if aval.dtype == dtypes.float0 else trace.wrap(p, tangent))
    try:
        with set_trace(trace):
            outs = f(*ins)
        pairs = [trace.pair(o) for o in outs]
        if any(partial.is_unknown(p) for p, _ in pairs):
            raise not_reverse_differentiable()
        nonzero = [type(t) is not Zero for _, t in pairs]
        jaxpr, residuals = staging.finish([t for _, t in pairs if type(t) is not Zero])
    finally:
        trace.alive = partial.alive = staging.alive = False
    primal_avals = [get_aval(p) for p, _ in pairs]
    return [p for p, _ in pairs], Linearized(jaxpr, residuals, in_avals, primal_avals, nonzero)


__all__ = ["JaxprTracer", "Linearized", "linearize_flat"]
