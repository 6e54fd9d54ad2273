"""Finds runs of equations that are repeated: unrolled steps, the layers of a network and of its gradient.

Equations are numbered by what they compute, so that repetitions are equal sequences of numbers. A period
is taken as a unit if it holds an equation with a loop or a kernel of its own: what is elementwise fuses
better as it stands. Everything here takes time in proportion to the equations.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .completion import completed
from .registry import ELEMENTWISE, GATHERS, KERNELS, LOOPING, PARTS, READS, UPDATES, VIEWS

__all__ = ["Repeats"]

LEAST_SAVING = 30  # equations that need not be emitted again
LEAST_STEPS = 2  # periods that become a loop
KERNELS_OF_CALL = 2  # of a single equation that becomes a call
# Products of large arrays fuse with one another over blocks of rows: short periods of them stay.
LARGE = 1 << 20
KERNELS_OF_LARGE = 4
ELEMENTWISE_PER_CUT = 16  # of a period, for each value that would fuse across its end

_MISSING = object()
_CANDIDATES = 8
_NEXT = 4  # occurrences of an equation that are looked at for a period
_CONTEXT = 4


class Run:
    """Periods that compute the same: so many equations from each of `starts` on.

    `inputs` are the variables that each reads from outside, in the order of first use.
    """

    __slots__ = ("inputs", "region", "size", "starts")

    def __init__(self, starts: list[int], size: int, inputs: list[list[Any]]):
        self.starts, self.size, self.inputs = starts, size, inputs
        # Of all equations that are equal to those a period before, where periods follow one another.
        self.region: tuple[int, int] | None = None

    @property
    def equations(self) -> list[range]:
        """What each period consists of."""
        return [range(at, at + self.size) for at in self.starts]

    @property
    def dense(self) -> bool:
        """Whether each period begins where the one before ends."""
        return self.starts[-1] - self.starts[0] == self.size * (len(self.starts) - 1)


class About(NamedTuple):
    """Of an equation: how many are emitted for it, whether a loop or a kernel is among them, how many of
    those nothing fuses with, whether an operand is updated, and whether one is read at other places."""

    weight: int
    loops: bool
    kernels: int
    updates: bool
    gathers: bool


_PLAIN = About(1, False, 0, False, False)


class Repeats:
    """What is known of the equations of one program: one of these for all of its jaxprs."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, int] = {}  # numbers of equations by identity
        self._avals: dict[int, Any] = {}
        self._jaxprs: dict[int, Any] = {}
        self._about: dict[int, About] = {}
        self._alive: list[Any] = []

    # ---- equations by number -----------------------------------------------------------------

    def number(self, eqn: Any) -> int:
        """A number for what `eqn` computes from operands that are variables."""
        found = self._known.get(id(eqn))
        if found is not None:
            return found
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
        self._alive.append(eqn)
        found = self._known[id(eqn)] = self._numbers.setdefault(key, len(self._numbers))
        return found

    def _aval(self, aval: Any) -> Any:
        found = self._avals.get(id(aval))
        if found is None:
            self._alive.append(aval)
            found = self._avals[id(aval)] = (tuple(getattr(aval, "shape", ())), aval.dtype)
        return found

    def _atom(self, atom: Any) -> Any:
        value = getattr(atom, "val", _MISSING)
        if value is _MISSING:
            return self._aval(atom.aval)
        data = np.asarray(value)
        return (data.tobytes() if data.dtype != object else id(value), *self._aval(atom.aval))

    def _key(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is str:
            return value
        if kind is int or kind is bool:
            return (kind, value)
        if kind is tuple or kind is list:
            return (kind, *map(self._key, value))
        if kind is float:
            return (kind, value.hex())
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

    def about(self, eqn: Any) -> About:
        """What is emitted for `eqn`, with what is in its jaxprs."""
        name = eqn.primitive.name
        if name in ELEMENTWISE:
            return _PLAIN
        found = About(1, name in LOOPING, int(name in KERNELS), False, name in GATHERS)
        for value in eqn.params.values():
            for each in value if type(value) is tuple else (value,):
                jaxpr = getattr(each, "jaxpr", each)
                if not hasattr(jaxpr, "eqns"):
                    continue
                known = self._about.get(id(jaxpr))
                if known is None:
                    self._alive.append(jaxpr)
                    inner = list(map(self.about, jaxpr.eqns))
                    known = self._about[id(jaxpr)] = About(
                        sum([i.weight for i in inner]),
                        any(i.loops for i in inner),
                        sum([i.kernels for i in inner]),
                        any(
                            _updates(e, jaxpr.invars) or i.updates
                            for e, i in zip(jaxpr.eqns, inner, strict=True)
                        ),
                        any(i.gathers for i in inner),
                    )
                found = About(
                    found.weight + known.weight,
                    found.loops or known.loops,
                    found.kernels + known.kernels,
                    found.updates or (known.updates and name not in LOOPING),
                    found.gathers or known.gathers,
                )
        return found

    def function(self, numbers: Any, form: Any, outs: Any) -> int:
        """A number for what a period computes."""
        key = ("function", tuple(numbers), tuple(form), tuple(outs))
        return self._numbers.setdefault(key, len(self._numbers))

    # ---- a jaxpr -----------------------------------------------------------------------------

    def rewrite(self, jaxpr: Any, eqns: list[Any]) -> list[Any]:
        """The equations of `jaxpr` that matter, with repeated ones taken together."""
        if len(eqns) < 2:
            return eqns
        about = [self.about(e) for e in eqns]
        if sum([a.weight for a in about]) <= LEAST_SAVING:
            return eqns
        if not any(a.loops or a.gathers for a in about):
            return eqns
        search = _Jaxpr(self, jaxpr, eqns)
        runs = search.runs()
        longer = search.completed(runs)
        if longer is not None:
            search = _Jaxpr(self, jaxpr, longer)
            runs = search.runs()
        return search.rewritten(runs) or eqns


class _Jaxpr:
    """The search in one jaxpr."""

    def __init__(self, known: Repeats, jaxpr: Any, eqns: list[Any]):
        self.known = known
        self.short: list[Run] = []  # what would be two periods, were little not missing
        self.front, eqns = _parts_of_arguments(eqns)
        self.eqns = eqns
        numbers = [known.number(e) for e in eqns]
        about: dict[int, About] = {}
        for number, eqn in zip(numbers, eqns, strict=True):
            if number not in about:
                about[number] = known.about(eqn)
        self.numbers = numbers
        self.about = [about[n] for n in numbers]
        self.looping = [each.loops or each.gathers for each in self.about]
        self.weights = [each.weight for each in self.about]
        self.made: dict[Any, tuple[int, int]] = {}  # variable -> equation, number of the result
        self.last: dict[Any, int] = {}  # variable -> equation that reads it last
        self.reads = [  # variables, without literals
            [a for a in eqn.invars if getattr(a, "val", _MISSING) is _MISSING] for eqn in eqns
        ]
        for at, eqn in enumerate(eqns):
            for atom in self.reads[at]:
                self.last[atom] = at
            for k, variable in enumerate(eqn.outvars):
                self.made[variable] = (at, k)
        for atom in jaxpr.outvars:
            if getattr(atom, "val", _MISSING) is _MISSING:
                self.last[atom] = len(eqns)

    def completed(self, runs: list[Run]) -> list[Any] | None:
        """The equations with those that are missing in the first and last periods, if any are."""
        out = list(self.eqns)
        first = len(out)
        for run in sorted([*runs, *self.short], key=lambda run: -run.starts[0]):
            if run.region is None or run.region[1] > first:
                continue
            changed = completed(self, *run.region, run.size)
            if changed is not None and changed[1] <= first:
                first, stop, instead = changed
                out[first:stop] = instead
        return self.front + out if len(out) > len(self.eqns) else None

    def rewritten(self, runs: list[Run]) -> list[Any]:
        """The equations, with one loop or several calls in the place of those that are repeated; none
        if nothing is."""
        made: dict[int, tuple[int, list[Any]]] = {}  # start -> stop, what is emitted instead
        for run in runs:
            loop = self._loop(run)
            if loop is not None:
                made[run.starts[0]] = run.starts[-1] + run.size, [loop]
                continue
            for part in self._parts(run) if self._callable(run) else ():
                for start, calls in zip(part.starts, self._calls(part), strict=True):
                    made[start] = start + part.size, calls
        if not made:
            return []
        out = self.front
        at = 0
        for start in sorted(made):
            stop, instead = made[start]
            out += self.eqns[at:start]
            out += instead
            at = stop
        return out + self.eqns[at:]

    # ---- where something is repeated ---------------------------------------------------------

    def _periods(self) -> list[int]:
        """Likely distances between repetitions, the shortest first."""
        numbers = self.numbers
        around: dict[Any, list[int]] = defaultdict(list)
        alone: dict[Any, list[int]] = defaultdict(list)
        for at, loop in enumerate(self.looping):
            if loop:
                around[(0, *numbers[at : at + _CONTEXT])].append(at)
                around[(1, *numbers[max(0, at - _CONTEXT) : at + 1])].append(at)
                alone[numbers[at]].append(at)
        found = {*_distances(around, _CANDIDATES), *_distances(alone, _CANDIDATES // 2)}
        # Of two periods the second one may lack an equation.
        found.update([p[1] - p[0] + 1 for p in alone.values() if len(p) == 2])
        return sorted(found)[: 2 * _CANDIDATES]

    def runs(self) -> list[Run]:
        """Disjoint runs of equal periods, the most saving ones, and what else occurs several times."""
        found: list[Run] = []
        enough = sum(self.weights) // 2
        good: list[int] = []
        for period in self._periods():
            if any(period % each == 0 for each in good):
                continue
            runs = self._runs_of(period)
            if any(self._saved(run) > enough for run in runs):
                good.append(period)
            found += runs
        found.sort(key=lambda run: (-self._saved(run), run.size))
        taken = self.taken = bytearray(len(self.eqns))
        out = []
        for run in found:
            if not any(any(taken[p.start : p.stop]) for p in run.equations):
                for p in run.equations:
                    taken[p.start : p.stop] = b"\1" * run.size
                out.append(run)
        rest: dict[int, list[int]] = defaultdict(list)
        for at, (number, weight) in enumerate(zip(self.numbers, self.weights, strict=True)):
            if weight > 1 and not taken[at] and self.about[at].kernels >= KERNELS_OF_CALL:
                rest[number].append(at)
        for starts in rest.values():
            for run in self._grouped(starts, 1):
                out.append(run)
                for at in run.starts:
                    taken[at] = 1
        return out

    def _saved(self, run: Run) -> int:
        first = run.equations[0]
        return (len(run.starts) - 1) * sum(self.weights[first.start : first.stop])

    def _grouped(self, starts: Sequence[int], size: int) -> list[Run]:
        """The periods at `starts` that are equal to one another."""
        groups: dict[tuple, Run] = {}
        for start in starts:
            form, inputs = self._form(start, size)
            run = groups.setdefault(tuple(form), Run([], size, []))
            run.starts.append(start)
            run.inputs.append(inputs)
        return [run for run in groups.values() if self._saved(run) >= LEAST_SAVING]

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
            if not any(self.looping[first : first + period]):
                continue
            if at - first >= period:
                out += self._cut(first - period, at, period)
            elif at - first >= period * 3 // 4:
                run = Run([first - period], period, [[]])
                run.region = first - period, at
                self.short.append(run)
        return out

    def _cut(self, start: int, stop: int, period: int) -> list[Run]:
        """Periods of the equations from `start` to `stop`, of which each equals the one before."""
        region = start, stop
        start += self._phase(start, stop, period)
        kernels = sum([each.kernels for each in self.about[start : start + period]])
        if kernels < KERNELS_OF_LARGE and self._alive(start, stop, period)[0] > LARGE:
            return []
        if self._fuses(start + period, start, stop) * ELEMENTWISE_PER_CUT > sum(
            [self.eqns[k].primitive.name in ELEMENTWISE for k in range(start, start + period)]
        ):
            return []
        out: list[Run] = []
        form, run = None, Run([], period, [])
        while start + period <= stop:
            own, read = self._form(start, period)
            if own != form:
                out.append(run)
                form, run = own, Run([], period, [])
            run.starts.append(start)
            run.inputs.append(read)
            start += period
        out.append(run)
        for run in out:
            run.region = region
        return [run for run in out if run.starts and self._saved(run) >= LEAST_SAVING]

    def _parts(self, run: Run) -> list[Run]:
        """The run; in two parts, if behind it the first of them comes once more."""
        after, size = run.starts[-1] + run.size, run.size
        if not run.dense or len(run.starts) < 2:
            return [run]
        numbers, first = self.numbers, run.starts[0]
        length = 0
        while (
            length < size and after + length < len(numbers)
            and not self.taken[after + length]
            and numbers[after + length] == numbers[first + length]
        ):  # fmt: skip
            length += 1
        # Somewhere in the second half of what comes once more.
        cuts = range(max(1, length // 2), length + 1)
        cut = min(cuts, key=lambda c: (self._torn(first + c), -c), default=0)
        if sum(self.weights[first : first + cut]) < LEAST_SAVING or cut == size:
            return [run]
        head = self._grouped([*run.starts, after], cut)
        tail = self._grouped([at + cut for at in run.starts], size - cut)
        if len(head) != 1 or len(head[0].starts) != len(run.starts) + 1:
            return [run]
        self.taken[after : after + cut] = b"\1" * cut
        return head + tail

    def _phase(self, start: int, stop: int, period: int) -> int:
        """Where in the period to cut, so that little is alive there: at its start if that will do."""
        steps = min(period, stop - start - 2 * period + 1)
        if steps <= 1:
            return 0
        around = self._alive(start, stop, period)[:steps]
        least = min(around)
        return 0 if around[0] <= 1.25 * least else around.index(least)

    def _torn(self, cut: int) -> int:
        """Bytes that a cut in front of an equation makes loops read again which would be one without it:
        what is between the kernels around the cut may be one loop."""
        first = stop = cut
        while first > 0 and not self.about[first - 1].kernels:
            first -= 1
        while stop < len(self.eqns) and not self.about[stop].kernels:
            stop += 1
        crossing = {
            atom
            for reads in self.reads[cut:stop]
            for atom in reads
            if first <= self.made.get(atom, (-1, 0))[0] < cut
        }
        return sum([_bytes(v.aval) for v in crossing])

    def _alive(self, start: int, stop: int, period: int) -> list[int]:
        """Bytes that are alive in front of each equation of the second period from `start` on, but for
        what is read behind `stop`."""
        change = [0] * (2 * period + 1)
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
        return alive[period:]

    def _fuses(self, cut: int, start: int, stop: int) -> int:
        """How many values would never be in memory, were there no cut in front of equation `cut`."""
        lost = set()
        for reads in self.reads[cut : min(stop, 2 * cut - start)]:
            for atom in reads:
                if start <= self.made.get(atom, (-1, 0))[0] < cut:
                    lost.add(atom)
        for at in range(start, stop) if lost else ():
            if self.looping[at]:
                lost.difference_update(self.reads[at])
                if self.about[at].loops:
                    lost.difference_update(self.eqns[at].outvars)
        return sum([bool(v.aval.shape) for v in lost])

    def _form(self, start: int, period: int) -> tuple[list[int], list[Any]]:
        """What the equations of a period read, as numbers, and what they read from outside of it."""
        codes: list[int] = []
        inputs: dict[Any, int] = {}
        made = self.made
        for reads in self.reads[start : start + period]:
            for atom in reads:
                place = made.get(atom)
                if place is not None and place[0] >= start:
                    codes += (place[0] - start, place[1])
                else:
                    codes.append(-1 - inputs.setdefault(atom, len(inputs)))
        return codes, list(inputs)

    # ---- calls -------------------------------------------------------------------------------

    def _calls(self, run: Run) -> list[list[Any]]:
        """For each period a call, and what is made of its results behind it."""
        eqns, size = self.eqns, run.size
        first = run.starts[0]
        outs, again = self._results(run)
        key = self.known.function(
            self.numbers[first : first + size], self._form(first, size)[0], outs
        )
        body = SimpleNamespace(
            constvars=[],
            invars=run.inputs[0],
            eqns=eqns[first : first + size],
            outvars=[eqns[first + at].outvars[number] for at, number in outs],
        )
        primitive, params = SimpleNamespace(name="repeated"), {"key": key, "body": body}
        return [
            [
                SimpleNamespace(
                    primitive=primitive,
                    params=params,
                    invars=inputs,
                    outvars=[eqns[start + at].outvars[number] for at, number in outs],
                    effects=(),
                    source_info=eqns[start].source_info,
                ),
                *[eqns[start + at] for at in again],
            ]
            for start, inputs in zip(run.starts, run.inputs, strict=True)
        ]

    def _callable(self, run: Run) -> bool:
        """Whether a function loses nothing: it has to copy what could be updated in place."""
        period = run.equations[0]
        return not any(
            self.about[at].updates or _updates(self.eqns[at], run.inputs[0]) for at in period
        )

    def _results(self, run: Run) -> tuple[list[tuple[int, int]], list[int]]:
        """What a period hands on: numbers of equation and result, and the equations that are rather
        done again behind it, since they only show a value in another form."""
        eqns, size, first = self.eqns, run.size, run.starts[0]
        outs: set[tuple[int, int]] = set()
        again = []
        for at in reversed(range(size)):
            for number in range(len(eqns[first + at].outvars)):
                for start in run.starts:
                    v = eqns[start + at].outvars[number]
                    if self.last.get(v, -1) >= start + size:
                        outs.add((at, number))
                        break
            eqn = eqns[first + at]
            needed = [n for n in range(len(eqn.outvars)) if (at, n) in outs]
            if needed and self._shown(eqn, needed):
                outs.difference_update([(at, n) for n in needed])
                again.append(at)
                for atom in self.reads[first + at]:
                    place = self.made.get(atom, (-1, 0))
                    if place[0] >= first:
                        outs.add((place[0] - first, place[1]))
        return sorted(outs), again[::-1]

    @staticmethod
    def _shown(eqn: Any, needed: list[int]) -> bool:
        """Whether those results of `eqn` are there once its operand is, and that is not much more."""
        name = eqn.primitive.name
        if name in PARTS:
            parts = sum([_bytes(eqn.outvars[n].aval) for n in needed])
            return _bytes(eqn.invars[0].aval) <= 2 * parts
        return name in VIEWS

    # ---- loops -------------------------------------------------------------------------------

    def _loop(self, run: Run) -> Any:
        """The run as one loop, if its periods hand on what they compute and nothing else reads it."""
        length = len(run.starts)
        if length < LEAST_STEPS or not run.dense:
            return None
        start, size, made = run.starts[0], run.size, self.made
        stop = start + length * size
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
        for step in range(length):
            final = step == length - 1
            end = start + (step + 2) * size
            for at in range(size):
                for number, v in enumerate(self.eqns[start + step * size + at].outvars):
                    last = self.last.get(v, -1)
                    if final and last >= stop and (at, number) not in handed:
                        return None
                    if not final and last >= end:
                        return None
        body = SimpleNamespace(
            constvars=[],
            invars=[*consts, *carries],
            eqns=self.eqns[start : start + size],
            outvars=[self.eqns[start + at].outvars[number] for at, number in results],
        )
        end = stop - size
        return SimpleNamespace(
            primitive=SimpleNamespace(name="scan"),
            params={
                "jaxpr": SimpleNamespace(jaxpr=body, consts=[]),
                "length": length,
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


def _distances(places: dict[Any, list[int]], most: int) -> list[int]:
    """The distances between places of the same kind by which most is repeated."""
    votes: Counter[int] = Counter()
    for found in places.values():
        for k in range(1, min(_NEXT, len(found) - 1) + 1):
            votes.update([b - a for a, b in zip(found, found[k:], strict=False)])
    return sorted(votes, key=lambda p: (-votes[p] * p, p))[:most]


def _updates(eqn: Any, given: Sequence[Any]) -> bool:
    """Whether `eqn` changes a part of one of the variables `given`."""
    return eqn.primitive.name in UPDATES and any(eqn.invars[0] is v for v in given)


def _parts_of_arguments(eqns: list[Any]) -> tuple[list[Any], list[Any]]:
    """The equations that take parts of arguments, and all others.

    The weights of layers are often parts of one array: each layer takes another one. In front they make
    no difference between the layers.
    """
    front, rest = [], []
    made: set[Any] = set()
    for eqn in eqns:
        if eqn.primitive.name in PARTS and made.isdisjoint(
            [a for a in eqn.invars if getattr(a, "val", _MISSING) is _MISSING]
        ):
            front.append(eqn)
        else:
            rest.append(eqn)
            made.update(eqn.outvars)
    return front, rest


def _bytes(aval: Any) -> int:
    return math.prod(getattr(aval, "shape", ())) * getattr(aval.dtype, "itemsize", 8)
