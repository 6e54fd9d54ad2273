"""Running a jaxpr by binding its equations under the current trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import source_info
from .jaxpr import ClosedJaxpr, Jaxpr, Literal


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Bind each equation in order. Under the evaluation trace this is the NumPy interpreter."""
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    # Values are dropped after their last use, so that memory is bounded by what is live.
    last: dict[Any, int] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        for a in eqn.invars:
            if type(a) is not Literal:
                last[a] = i
    for a in jaxpr.outvars:
        if type(a) is not Literal:
            last[a] = len(jaxpr.eqns)
    saved = source_info.set_current(None)
    try:
        for i, eqn in enumerate(jaxpr.eqns):
            source_info.set_current(eqn.source_info)
            ins = [a.val if type(a) is Literal else env[a] for a in eqn.invars]
            out = eqn.primitive.bind(*ins, **eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out, strict=True))
            else:
                env[eqn.outvars[0]] = out
            for a in eqn.invars:
                if type(a) is not Literal and last.get(a) == i:
                    env.pop(a, None)
    finally:
        source_info.set_current(saved)
    return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


def eval_closed(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    """`eval_jaxpr` of a closed jaxpr."""
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def jaxpr_as_fun(closed: ClosedJaxpr) -> Any:
    """The closed jaxpr as a function of flat arguments to a list of results."""

    def run(*args: Any) -> list[Any]:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    return run
