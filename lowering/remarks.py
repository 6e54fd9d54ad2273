"""Why a program is not as fast as it could be: what its passes say about it, as records.

Passes emit MLIR's optimization remarks (`passes/remarks.h`), LLVM's loop vectorizer emits its own; this
module only listens. A remark costs nothing where nobody listens.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .driver import Lowering
from .pipelines import CPU, Pipeline
from .stages import Stage, stage

NOT_VECTORISED = "not vectorised"
NOT_PARTITIONED = "not partitioned"
_DEBUG_SCOPES = "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}"
_REFUSED = "loop not vectorized"
_GIVEN_UP = ("MissedDetails", "VectorizationNotBeneficial")
_LISTENER = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_bool
)
_PLACES = ctypes.CFUNCTYPE(None, ctypes.c_uint, ctypes.c_char_p)


@dataclass(frozen=True)
class Remark:
    """One thing that was not done, or had to be done.

    Attributes:
        kind: "not fused", "copy", "serial loop", "not vectorised" or "not partitioned".
        reason: why, in words.
        source: the user's line, as `file.py:12`; several, separated by commas, for an operation
            that was made of several; empty where it is not known.
        stage: name of the stage that the pass leads to.
        pass_name: the pass that says so.
        count: how many times it was said.
    """

    kind: str
    reason: str
    source: str = ""
    stage: str = ""
    pass_name: str = ""
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        by = f" [{self.pass_name}]" if self.pass_name else ""
        # Files below the current folder are named from there, as they were given to mlir-dump.
        here = os.getcwd() + os.sep
        source = ", ".join(p.removeprefix(here) for p in self.source.split(", "))
        return f"{source or '(no line)'}: {self.kind}: {self.reason}{times}{by}"


class Remarks(tuple[Remark, ...]):
    """Remarks in the order of the passes. Prints one a line."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or (
            "nothing to report: no fusion was refused, nothing is copied, and no loop is serial or scalar"
        )

    __repr__ = __str__


@dataclass
class _Heard:
    kind: str
    pass_name: str
    reason: str
    places: tuple[str, ...]
    done: bool = False


@dataclass
class Ear:
    """Collects what passes say. `hear` is for the listeners of the C++ library."""

    heard: list[_Heard] = field(default_factory=list)

    def hear(self, kind: bytes, name: bytes, text: bytes, places: bytes, done: bool) -> None:
        """One remark; `places` are separated by line ends."""
        where = tuple(dict.fromkeys(places.decode().split()))
        self.heard.append(_Heard(kind.decode(), name.decode(), text.decode(), where, done))

    def missed(self) -> Iterator[_Heard]:
        """What was said and not taken back later."""
        for number, remark in enumerate(self.heard):
            taken_back = any(
                later.done and later.kind == remark.kind and set(remark.places) <= set(later.places)
                for later in self.heard[number:]
            )
            if not remark.done and not taken_back:
                yield remark


def explain(text: str, *, start: str | int | Stage = "linalg", pipeline: Pipeline = CPU) -> Remarks:
    """Lower `text`, which is in the stage `start`, and collect what its passes say.

    Raises UsageError and CompilationError as `Lowering` does.
    """
    ear, of_llvm = Ear(), Ear()
    places: dict[int, tuple[str, ...]] = {}
    with Lowering(text, start=start, pipeline=pipeline) as lowering:
        if lowering.at.form == "mlir":
            with listening(lowering.module.context, ear.hear):
                lowering.advance(max(lowering.at, stage("llvm-dialect"), key=lambda s: s.number))
            places = _number_locations(lowering)
        if lowering.at.number < stage("llvm-opt").number:
            _hear_llvm(lowering, of_llvm)
    # Where the program names its lines, those of its text are of no use.
    ignored = "-:" if " loc(#loc" in text else "\n"
    found = Counter(
        Remark(
            h.kind,
            h.reason,
            _lines(p for p in h.places if not p.startswith(ignored)),
            _stage_of(h.pass_name, pipeline),
            h.pass_name,
        )
        for h in (*ear.missed(), *_scalar_loops(of_llvm.heard, places))
    )
    return Remarks(replace(remark, count=count) for remark, count in found.items())


@contextlib.contextmanager
def listening(context: Any, hear: Callable[..., None]) -> Iterator[None]:
    """Within this context, passes that run in the MLIR context call `hear`."""
    from .. import dialect

    listener = _LISTENER(hear)
    dialect.hear_remarks(context, listener)
    try:
        yield
    finally:
        dialect.hear_remarks(context, None)


def _number_locations(lowering: Lowering) -> dict[int, tuple[str, ...]]:
    """Make every location a number, which LLVM carries along; says what the numbers stand for."""
    from .. import dialect

    places: dict[int, tuple[str, ...]] = {}

    def add(number: int, where: bytes) -> None:
        places[number] = tuple(dict.fromkeys(where.decode().split()))

    dialect.number_locations(lowering.module.operation, _PLACES(add))
    lowering.run_passes([_DEBUG_SCOPES])
    return places


def _hear_llvm(lowering: Lowering, ear: Ear) -> None:
    from .. import dialect

    listener = _LISTENER(ear.hear)
    lowering.advance("llvm")
    dialect.hear_llvm_remarks(lowering.llvm_module, listener)
    lowering.advance("llvm-opt")
    # Nothing else runs on the module, which could call the listener after its end.


def _scalar_loops(heard: Iterable[_Heard], places: dict[int, tuple[str, ...]]) -> Iterator[_Heard]:
    """The vectorizer gives its reasons, some of them at single instructions, and then gives a loop up.

    A loop that calls functions is one over kernels or other loops: it has nothing to vectorise.
    """
    reasons: list[str] = []
    calls = False
    for each in heard:
        if each.kind == "AllDisabled":
            continue  # lingon-vectorize was there
        if each.kind.startswith("CantVectorize") and "call" in each.kind.lower():
            calls = True
        elif each.done:
            reasons, calls = [], False
        elif each.kind in _GIVEN_UP:
            if each.reason != _REFUSED:
                reasons.append(each.reason)
            where = places.get(int(each.places[0]), ())
            if not calls:
                reason = "; ".join(dict.fromkeys(reasons)) or "LLVM gives no reason"
                yield _Heard(NOT_VECTORISED, each.pass_name, reason, where)
            reasons, calls = [], False
        elif each.reason.startswith(_REFUSED):
            reasons.append(each.reason.removeprefix(_REFUSED).removeprefix(": "))


def _lines(places: Iterable[str]) -> str:
    """`file:line` of each place, without the columns; each once."""
    return ", ".join(dict.fromkeys(p.rpartition(":")[0] for p in places))


def _stage_of(pass_name: str, pipeline: Pipeline) -> str:
    lists = {**pipeline.passes, "llvm-opt": (pipeline.llvm_passes,)}
    return next((s for s, passes in lists.items() if any(pass_name in p for p in passes)), "")
