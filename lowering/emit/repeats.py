"""Finds runs of equations that are repeated: unrolled steps, the layers of a network and of its gradient.

Equations are numbered by what they compute, so that repetitions are equal sequences of numbers. A period
is taken as a unit if it holds an equation with a loop or a kernel of its own: what is elementwise fuses
better as it stands. Everything here takes time in proportion to the equations.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np

from .registry import ELEMENTWISE, LOOPING, READS

__all__ = ["Repeats"]

LEAST_SAVING = 30  # equations that need not be emitted again
LEAST_STEPS = 2  # periods that become a loop
ELEMENTWISE_PER_CUT = 16  # of a period, for each value that would fuse across its end

_MISSING = object()
_CANDIDATES = 8
_NEXT = 4  # occurrences of an equation that are looked at for a period
_CONTEXT = 4


class Run:
    """Consecutive periods that compute the same."""

    __slots__ = ("inputs", "length", "size", "start")

    def __init__(self, start: int, size: int, inputs: list[list[Any]]):
        self.start, self.size = start, size
        self.inputs = inputs  # of each period, the variables from outside in the order of first use
        self.length = len(inputs)

    @property
    def stop(self) -> int:
        """The first equation after the last period."""
        return self.start + self.size * self.length


class Repeats:
    """What is known of the equations of one program: one of these for all of its jaxprs."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._avals: dict[int, Any] = {}
        self._jaxprs: dict[int, Any] = {}
        self._alive: list[Any] = []

    # ---- equations by number -----------------------------------------------------------------

    def number(self, eqn: Any) -> int:
        """A number for what `eqn` computes from operands that are variables."""
        name = eqn.primitive.name
        wanted = READS.get(name)
        params = eqn.params
        key = (
            name,
            tuple([
                (k, self._key(v)) for k, v in params.items() if wanted is None or k in wanted
            ]),
            tuple([self._atom(a) for a in eqn.invars]),
            tuple([self._aval(v.aval) for v in eqn.outvars]),
            # What has effects is equal to nothing else.
            id(eqn) if eqn.effects else 0,
        )  # fmt: skip
        return self._numbers.setdefault(key, len(self._numbers))

    def _aval(self, aval: Any) -> Any:
        found = self._avals.get(id(aval))
        if found is None:
            self._alive.append(aval)
            found = self._avals[id(aval)] = (tuple(getattr(aval, "shape", ())), str(aval.dtype))
        return found

    def _atom(self, atom: Any) -> Any:
        value = getattr(atom, "val", _MISSING)
        if value is _MISSING:
            return self._aval(atom.aval)
        data = np.asarray(value)
        return (data.tobytes() if data.dtype != object else id(value), *self._aval(atom.aval))

    def _key(self, value: Any) -> Any:
        kind = type(value)
        if kind is float:
            return repr(value)
        if kind is tuple or kind is list:
            return (kind, *[self._key(v) for v in value])
        if kind is dict:
            return tuple([(k, self._key(v)) for k, v in value.items()])
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return self._jaxpr(value)
        try:
            hash(value)
        except TypeError:
            self._alive.append(value)
            return id(value)
        return (kind, value)

    def _jaxpr(self, closed: Any) -> Any:
        found = self._jaxprs.get(id(closed))
        if found is not None:
            return found
        self._alive.append(closed)
        jaxpr = getattr(closed, "jaxpr", closed)
        order: dict[Any, int] = {}
        for variable in (*jaxpr.constvars, *jaxpr.invars):
            order[variable] = len(order)
        rows = []
        for eqn in jaxpr.eqns:
            rows.append((
                self.number(eqn),
                tuple([-1 if hasattr(a, "val") else order[a] for a in eqn.invars]),
            ))  # fmt: skip
            for variable in eqn.outvars:
                order[variable] = len(order)
        ends = [self._atom(a) if hasattr(a, "val") else order[a] for a in jaxpr.outvars]
        consts = tuple([id(c) for c in getattr(closed, "consts", ())])
        types = tuple([self._aval(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars)])
        key = ("jaxpr", tuple(rows), tuple(ends), consts, types)
        found = self._jaxprs[id(closed)] = (
            "jaxpr",
            self._numbers.setdefault(key, len(self._numbers)),
        )
        return found

    def loops(self, eqn: Any) -> bool:
        """Whether `eqn` is a loop or a kernel of its own, whose operands and results are in memory."""
        name = eqn.primitive.name
        if name in LOOPING:
            return True
        if name in ELEMENTWISE:
            return False
        for value in eqn.params.values():
            for each in value if type(value) is tuple else (value,):
                jaxpr = getattr(each, "jaxpr", each)
                if hasattr(jaxpr, "eqns") and any(map(self.loops, jaxpr.eqns)):
                    return True
        return False

    # ---- a jaxpr -----------------------------------------------------------------------------

    def rewrite(self, jaxpr: Any, eqns: list[Any]) -> list[Any]:
        """The equations of `jaxpr` that matter, with repeated ones taken together."""
        if len(eqns) < LEAST_SAVING:
            return eqns
        return _Jaxpr(self, jaxpr, eqns).rewritten()


class _Jaxpr:
    """The search in one jaxpr."""

    def __init__(self, known: Repeats, jaxpr: Any, eqns: list[Any]):
        self.eqns = eqns
        numbers = [known.number(e) for e in eqns]
        looping: dict[int, bool] = {}
        for number, eqn in zip(numbers, eqns, strict=True):
            if number not in looping:
                looping[number] = known.loops(eqn)
        self.numbers = numbers
        self.looping = [looping[n] for n in numbers]
        self.made: dict[Any, tuple[int, int]] = {}  # variable -> equation, number of the result
        self.last: dict[Any, int] = {}  # variable -> equation that reads it last
        for at, eqn in enumerate(eqns):
            for atom in eqn.invars:
                if getattr(atom, "val", _MISSING) is _MISSING:
                    self.last[atom] = at
            for k, variable in enumerate(eqn.outvars):
                self.made[variable] = (at, k)
        for atom in jaxpr.outvars:
            if getattr(atom, "val", _MISSING) is _MISSING:
                self.last[atom] = len(eqns)

    def rewritten(self) -> list[Any]:
        loops = sorted(self._runs(), key=lambda run: run.start)
        out: list[Any] = []
        at = 0
        for run in loops:
            made = self._loop(run)
            if made is None:
                continue
            out += self.eqns[at : run.start]
            out.append(made)
            at = run.stop
        if not out:
            return self.eqns
        return out + self.eqns[at:]

    # ---- where something is repeated ---------------------------------------------------------

    def _periods(self) -> list[int]:
        """Likely distances between repetitions, the likeliest first."""
        numbers = self.numbers
        places: dict[Any, list[int]] = defaultdict(list)
        for at, loop in enumerate(self.looping):
            if loop:
                key = (
                    tuple(numbers[max(0, at - _CONTEXT) : at]),
                    tuple(numbers[at : at + _CONTEXT]),
                )
                places[key].append(at)
        votes: Counter[int] = Counter()
        for found in places.values():
            for k in range(1, min(_NEXT, len(found) - 1) + 1):
                votes.update([b - a for a, b in zip(found, found[k:], strict=False)])
        likely = sorted(votes, key=lambda p: (-votes[p] * p, p))
        return likely[:_CANDIDATES]

    def _runs(self) -> list[Run]:
        """Disjoint runs of equal periods, the most saving ones."""
        found: list[Run] = []
        for period in self._periods():
            found += self._runs_of(period)
        found.sort(key=lambda run: (run.size - run.size * run.length, run.size))
        taken = bytearray(len(self.eqns))
        out = []
        for run in found:
            if not any(taken[run.start : run.stop]):
                taken[run.start : run.stop] = b"\1" * (run.stop - run.start)
                out.append(run)
        return out

    def _runs_of(self, period: int) -> list[Run]:
        numbers, count = self.numbers, len(self.numbers)
        out: list[Run] = []
        at = period
        while at < count:
            if numbers[at] != numbers[at - period]:
                at += 1
                continue
            first = at
            while at < count and numbers[at] == numbers[at - period]:
                at += 1
            if at - first >= period and any(self.looping[first : first + period]):
                out += self._cut(first - period, at, period)
        return out

    def _cut(self, start: int, stop: int, period: int) -> list[Run]:
        """Periods of the equations from `start` to `stop`, of which each equals the one before."""
        start += self._phase(start, stop, period)
        if self._fuses(start + period, start, stop) * ELEMENTWISE_PER_CUT > sum(
            [self.eqns[k].primitive.name in ELEMENTWISE for k in range(start, start + period)]
        ):
            return []
        out: list[Run] = []
        form, inputs, begin = None, [], start
        while start + period <= stop:
            own, read = self._form(start, period)
            if own != form:
                self._add(out, begin, period, inputs)
                form, inputs, begin = own, [], start
            inputs.append(read)
            start += period
        self._add(out, begin, period, inputs)
        return out

    @staticmethod
    def _add(out: list[Run], start: int, period: int, inputs: list[list[Any]]) -> None:
        if (len(inputs) - 1) * period >= LEAST_SAVING:
            out.append(Run(start, period, inputs))

    def _phase(self, start: int, stop: int, period: int) -> int:
        """Where in the period to cut, so that little is alive there: at its start if that will do."""
        steps = min(period, stop - start - 2 * period + 1)
        if steps <= 1:
            return 0
        change = [0] * (2 * period + 1)  # bytes that are alive in front of an equation
        for at in range(start, start + 2 * period):
            for variable in self.eqns[at].outvars:
                last = self.last.get(variable, at)
                if at < last < stop:
                    size = _bytes(variable.aval)
                    change[at - start + 1] += size
                    change[min(last - start + 1, 2 * period)] -= size
        alive, now = [], 0
        for each in change:
            now += each
            alive.append(now)
        around = alive[period : period + steps]
        least = min(around)
        return 0 if around[0] <= 1.25 * least else around.index(least)

    def _fuses(self, cut: int, start: int, stop: int) -> int:
        """How many values would never be in memory, were there no cut in front of equation `cut`."""
        lost = set()
        for at in range(cut, min(stop, 2 * cut - start)):
            for atom in self.eqns[at].invars:
                place = self.made.get(atom) if getattr(atom, "val", _MISSING) is _MISSING else None
                if place is not None and start <= place[0] < cut:
                    lost.add(atom)
        for at in range(start, stop):
            if self.looping[at]:
                lost.difference_update(
                    [a for a in self.eqns[at].invars if getattr(a, "val", _MISSING) is _MISSING]
                )
                lost.difference_update(self.eqns[at].outvars)
        return sum([bool(v.aval.shape) for v in lost])

    def _form(self, start: int, period: int) -> tuple[list[int], list[Any]]:
        """What the equations of a period read, as numbers, and what they read from outside of it."""
        codes: list[int] = []
        inputs: dict[Any, int] = {}
        made = self.made
        for eqn in self.eqns[start : start + period]:
            for atom in eqn.invars:
                if getattr(atom, "val", _MISSING) is not _MISSING:
                    continue
                place = made.get(atom)
                if place is not None and place[0] >= start:
                    codes += (place[0] - start, place[1])
                else:
                    codes.append(-1 - inputs.setdefault(atom, len(inputs)))
        return codes, list(inputs)

    # ---- loops -------------------------------------------------------------------------------

    def _loop(self, run: Run) -> Any:
        """The run as one loop, if its periods hand on what they compute and nothing else reads it."""
        if run.length < LEAST_STEPS:
            return None
        start, size, made = run.start, run.size, self.made
        consts, carries, results = [], [], []
        for k, variable in enumerate(run.inputs[0]):
            column = [inputs[k] for inputs in run.inputs]
            if all(v is variable for v in column):
                consts.append(variable)
                continue
            at, number = made.get(column[1], (-1, 0))
            at -= start
            if not 0 <= at < size:
                return None
            for step, v in enumerate(column[1:]):
                if v is not self.eqns[start + step * size + at].outvars[number]:
                    return None
            if self._aval_of(variable) != self._aval_of(column[1]):
                return None
            carries.append(variable)
            results.append((at, number))
        handed = set(results)
        for step in range(run.length):
            final = step == run.length - 1
            end = start + (step + 2) * size
            for at in range(size):
                for number, v in enumerate(self.eqns[start + step * size + at].outvars):
                    last = self.last.get(v, -1)
                    if final and last >= run.stop and (at, number) not in handed:
                        return None
                    if not final and last >= end:
                        return None
        body = SimpleNamespace(
            constvars=[],
            invars=[*consts, *carries],
            eqns=self.eqns[start : start + size],
            outvars=[self.eqns[start + at].outvars[number] for at, number in results],
        )
        end = run.stop - size
        return SimpleNamespace(
            primitive=SimpleNamespace(name="scan"),
            params={
                "jaxpr": SimpleNamespace(jaxpr=body, consts=[]),
                "length": run.length,
                "reverse": False,
                "num_consts": len(consts),
                "num_carry": len(carries),
            },
            invars=[*consts, *carries],
            outvars=[self.eqns[end + at].outvars[number] for at, number in results],
            effects=(),
            source_info=self.eqns[start].source_info,
        )

    @staticmethod
    def _aval_of(variable: Any) -> Any:
        return tuple(variable.aval.shape), variable.aval.dtype


def _bytes(aval: Any) -> int:
    return math.prod(getattr(aval, "shape", ())) * getattr(aval.dtype, "itemsize", 8)
