"""Which equations of a jaxpr are emitted, and how often each variable is read by them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .repeats import Repeats

__all__ = ["analyse"]

_MISSING = object()


def analyse(jaxpr: Any, top: bool, repeats: Repeats) -> tuple[list, dict, dict]:
    """Equations whose results matter, in order, repeated ones taken together; how often each variable
    is read by them, and (if `top`, else counted in the former) by the jaxpr's results."""
    outs = _count(jaxpr.outvars, {})
    needed = set(outs)
    live = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            live.append(eqn)
            needed.update([a for a in eqn.invars if getattr(a, "val", _MISSING) is _MISSING])
    live.reverse()
    live = repeats.rewrite(jaxpr, live)
    counts = {} if top else outs
    for eqn in live:
        _count(eqn.invars, counts)
    return live, counts, outs if top else {}


def _count(atoms: Iterable[Any], counts: dict) -> dict:
    for atom in atoms:
        if getattr(atom, "val", _MISSING) is _MISSING:
            counts[atom] = counts.get(atom, 0) + 1
    return counts
