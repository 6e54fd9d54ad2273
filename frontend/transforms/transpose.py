"""Transposition of linear jaxprs: cotangents flow backwards through the equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import source_info
from ..core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from ..core.rules import UndefinedPrimal, Zero, add_tangents, instantiate
from ..core.staging import trace_to_closed


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    linear_in: Sequence[bool],
    args: Sequence[Any] | None,
    cotangents: Sequence[Any],
    sums: Sequence[Any] = (),
) -> list[Any]:
    """Cotangents of the linear inputs, added to `sums` of the first of them where given.

    `args` gives the values of the inputs that are not linear (None where all are linear). The
    equations that do not depend on linear inputs are run forward first. Returns a cotangent, or a
    symbolic zero, for each linear input, in order.
    """
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Var] = set()
    rest = iter(args or ())
    for v, lin in zip(jaxpr.invars, linear_in, strict=True):
        if lin:
            linear.add(v)
        else:
            known[v] = next(rest)
    backward: list[Any] = []
    for eqn in jaxpr.eqns:
        if any(type(a) is not Literal and a in linear for a in eqn.invars):
            linear.update(eqn.outvars)
            backward.append(eqn)
            continue
        with source_info.user_context(eqn.source_info):
            ins = [a.val if type(a) is Literal else known[a] for a in eqn.invars]
            out = eqn.primitive.bind(*ins, **eqn.params)
        known.update(
            zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True)
        )

    cts: dict[Var, Any] = {}

    def accumulate(a: Any, ct: Any) -> None:
        if ct is None or type(a) is Literal or type(ct) is Zero or a not in linear:
            return
        cts[a] = add_tangents(cts[a], ct) if a in cts else ct

    lead = [v for v, lin in zip(jaxpr.invars, linear_in, strict=True) if lin][: len(sums)]
    for v, ct in zip(lead, sums, strict=True):
        accumulate(v, ct)
    for a, ct in zip(jaxpr.outvars, cotangents, strict=True):
        accumulate(a, ct)
    saved = source_info.set_current(None)
    try:
        for eqn in reversed(backward):
            outs = [cts.pop(v, None) for v in eqn.outvars]
            if all(c is None for c in outs):
                continue
            outs = [
                Zero(v.aval) if c is None else c for v, c in zip(eqn.outvars, outs, strict=True)
            ]
            ins = [
                a.val
                if type(a) is Literal
                else UndefinedPrimal(a.aval)
                if a in linear
                else known[a]
                for a in eqn.invars
            ]
            source_info.set_current(eqn.source_info)
            ct = outs if eqn.primitive.multiple_results else outs[0]
            for a, c in zip(
                eqn.invars, eqn.primitive.transpose(eqn.primitive, ct, ins, eqn.params), strict=True
            ):
                accumulate(a, c)
    finally:
        source_info.set_current(saved)
    return [cts.get(v, Zero(v.aval)) for v, lin in zip(jaxpr.invars, linear_in, strict=True) if lin]


def transpose_jaxpr(
    closed: ClosedJaxpr, linear_in: tuple[bool, ...], nonzero_ct: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool], list[bool]]:
    """The jaxpr `(*non-linear inputs, *nonzero cotangents) -> nonzero cotangents of linear inputs`.

    Inputs that it does not read are left out. Returns it with the list of which inputs are there,
    and the list of which linear inputs have a cotangent. Remembered with `closed`.
    """

    def make() -> tuple[ClosedJaxpr, list[bool], list[bool]]:
        n = sum(not lin for lin in linear_in)
        nonzero_out: list[bool] = []

        def f(*xs: Any) -> list[Any]:
            it = iter(xs[n:])
            cts = [
                next(it) if nz else Zero(a)
                for a, nz in zip(closed.out_avals, nonzero_ct, strict=True)
            ]
            outs = backward_pass(closed.jaxpr, closed.consts, linear_in, xs[:n], cts)
            nonzero_out[:] = [type(o) is not Zero for o in outs]
            return [o for o in outs if type(o) is not Zero]

        avals = [a for a, lin in zip(closed.in_avals, linear_in, strict=True) if not lin]
        avals += [a for a, nz in zip(closed.out_avals, nonzero_ct, strict=True) if nz]
        full = trace_to_closed(f, avals, closed.jaxpr.debug_info)
        read = {a for e in full.eqns for a in e.invars if type(a) is not Literal}
        read |= {a for a in full.jaxpr.outvars if type(a) is not Literal}
        used = [v in read for v in full.jaxpr.invars]
        invars = [v for v, u in zip(full.jaxpr.invars, used, strict=True) if u]
        return full.replace(jaxpr=full.jaxpr.replace(invars=invars)), used, nonzero_out

    return closed.derived(("transpose", linear_in, nonzero_ct), make)


__all__ = ["backward_pass", "instantiate", "transpose_jaxpr"]
