"""lingon.lowering: a closed jaxpr becomes machine code. See README.md.

The rest of lingon uses `compile_jaxpr` (or `lower_jaxpr`), what it returns, and `save_program` and
`load_program`, and nothing else of this package.
Importing it loads neither MLIR nor LLVM; compiling loads both, a cache hit only LLVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import CompilationError, UsageError

if TYPE_CHECKING:
    from .program import CompiledProgram, LoweredProgram, compile_jaxpr, lower_jaxpr
    from .remarks import Remark, Remarks
    from .saved import SavedProgramError, load_program, save_program
    from .stages import STAGES, Stage, stage

__all__ = [
    "STAGES",
    "CompilationError",
    "CompiledProgram",
    "LoweredProgram",
    "Remark",
    "Remarks",
    "SavedProgramError",
    "Stage",
    "UsageError",
    "compile_jaxpr",
    "load_program",
    "lower_jaxpr",
    "save_program",
    "stage",
]


def __getattr__(name: str) -> Any:
    if name in ("CompiledProgram", "LoweredProgram", "compile_jaxpr", "lower_jaxpr"):
        from . import program

        return getattr(program, name)
    if name in ("Remark", "Remarks"):
        from . import remarks

        return getattr(remarks, name)
    if name in ("SavedProgramError", "load_program", "save_program"):
        from . import saved

        return getattr(saved, name)
    if name in ("STAGES", "Stage", "stage"):
        from . import stages

        return getattr(stages, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
