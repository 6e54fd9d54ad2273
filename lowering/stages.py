"""The stages that a program passes through, by name and number."""

from __future__ import annotations

from typing import NamedTuple

from .errors import UsageError


class Stage(NamedTuple):
    """One named stage: `form` is the notation of its text (jaxpr, mlir, llvm or asm)."""

    number: int
    name: str
    form: str
    description: str

    def __str__(self) -> str:
        return f"{self.number} {self.name}"


STAGES: tuple[Stage, ...] = (
    Stage(0, "jaxpr", "jaxpr", "the traced program"),
    Stage(1, "linalg", "mlir", "linalg, arith, tensor and scf on tensors, as emitted"),
    Stage(2, "fused", "mlir", "after elementwise, reduction and row-wise fusion, still on tensors"),
    Stage(
        3, "bufferized", "mlir", "on memrefs: results in the caller's buffers, temporaries placed"
    ),
    Stage(4, "loops", "mlir", "explicit loops, elementary functions expanded"),
    Stage(5, "llvm-dialect", "mlir", "only the llvm dialect"),
    Stage(6, "llvm", "llvm", "LLVM IR before optimisation"),
    Stage(7, "llvm-opt", "llvm", "LLVM IR after the target's pass list"),
    Stage(8, "asm", "asm", "assembly of the target"),
)

_BY_NAME = {s.name: s for s in STAGES}


def stage(name: str | int | Stage) -> Stage:
    """The stage called `name` (a name such as "fused", a number, or a digit string).

    Raises:
        UsageError: there is no such stage; the message lists all of them.
    """
    if isinstance(name, Stage):
        return name
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(STAGES):
        return STAGES[name]
    text = str(name)
    if text in _BY_NAME:
        return _BY_NAME[text]
    if text.isdigit() and int(text) < len(STAGES):
        return STAGES[int(text)]
    import difflib

    near = difflib.get_close_matches(text, list(_BY_NAME), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    listing = ", ".join(str(s) for s in STAGES)
    raise UsageError(f"unknown stage {text!r}{hint}; the stages are: {listing}")
