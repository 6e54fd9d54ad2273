"""Completes periods at the ends of a run: what is unused in the first or the last one has been removed.

The last step of a loop computes nothing for the next one, the first layer of a network no gradient of
its input. Where little is missing it is computed after all: then that period is as the others.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

__all__ = ["completed"]

MOST_MISSING = 16  # one of so many equations of a period, at most

_MISSING = object()


class _Unread:
    """A variable that nothing reads."""

    def __init__(self, aval: Any):
        self.aval = aval


def completed(found: Any, start: int, stop: int, period: int) -> tuple[int, int, list[Any]] | None:
    """What the equations around a run should be: those from one number to another, and others instead.

    `found` knows the equations; in the run, from `start` to `stop`, each is equal to the one `period`
    before. None if no period is gained.
    """
    need = -(stop - start) % period
    if not need:
        return None
    behind = _aligned(found, stop - 1, period, 1)[:need]
    before: list[int | None] = []
    if len(behind) < need:
        before = _aligned(found, start, period, -1)[:need]
        behind = behind[: need - len(before)]
    if len(before) + len(behind) < need:
        return None
    places = [*reversed(before), *range(start, stop), *behind]
    first = places.index(start)
    eqns: list[Any] = [None if at is None else found.eqns[at] for at in places]
    where = {}
    for k, eqn in enumerate(eqns):
        for number, variable in enumerate(eqn.outvars if eqn is not None else ()):
            where[variable] = (k, number)
    for k, eqn in enumerate(eqns):
        if eqn is None:
            step = period if k < first else -period
            made = _copied(eqns, where, k, step)
            if made is None:
                return None
            eqns[k] = made
    known = [at for at in places if at is not None]
    return known[0], known[-1] + 1, eqns


def _aligned(found: Any, edge: int, period: int, step: int) -> list[int | None]:
    """How the run goes on behind its last (or in front of its first) equation: numbers of equations, None
    where one is missing."""
    numbers = found.numbers
    at = edge + step
    out: list[int | None] = []
    most = max(1, period // MOST_MISSING)
    while len(out) < period:
        pattern = edge + step * (1 + len(out) - period)
        if 0 <= at < len(numbers) and not found.taken[at] and numbers[at] == numbers[pattern]:
            out.append(at)
            at += step
        elif most and _may_miss(found, pattern, at):
            out.append(None)
            most -= 1
        else:
            break
    return out


def _may_miss(found: Any, pattern: int, at: int) -> bool:
    """Whether an equation like that number `pattern` may have been removed in front of number `at`, which
    is not the same operation on something else."""
    missing = found.eqns[pattern]
    if found.looping[pattern] or missing.effects:
        return False
    return at not in range(len(found.eqns)) or (
        found.eqns[at].primitive.name != missing.primitive.name
    )


def _copied(eqns: list[Any], where: dict, k: int, step: int) -> Any:
    """What stands at k in the neighbouring period, for this one."""
    template = eqns[k + step]
    further = eqns[k + 2 * step] if 0 <= k + 2 * step < len(eqns) else None
    if template is None:
        return None
    invars = []
    for slot, atom in enumerate(template.invars):
        if getattr(atom, "val", _MISSING) is not _MISSING:
            invars.append(atom)
            continue
        if further is not None and further.invars[slot] is atom:
            invars.append(atom)
            continue
        place = where.get(atom)
        if place is not None and 0 <= place[0] - step < len(eqns):
            eqn = eqns[place[0] - step]
            if eqn is None:
                return None
            invars.append(eqn.outvars[place[1]])
        else:
            return None
    return SimpleNamespace(
        primitive=template.primitive,
        params=template.params,
        invars=invars,
        outvars=[_Unread(v.aval) for v in template.outvars],
        effects=template.effects,
        source_info=template.source_info,
    )
