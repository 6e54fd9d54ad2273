"""lingon.lowering: a closed jaxpr becomes machine code. See README.md.

The rest of lingon uses `compile_jaxpr` and what it returns, and nothing else of this package.
Importing it loads neither MLIR nor LLVM; compiling loads both, a cache hit only LLVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import CompilationError, UsageError
from .stages import STAGES, Stage, stage

if TYPE_CHECKING:
    from .program import CompiledProgram, compile_jaxpr

__all__ = [
    "STAGES",
    "CompilationError",
    "CompiledProgram",
    "Stage",
    "UsageError",
    "compile_jaxpr",
    "stage",
]


def __getattr__(name: str) -> Any:
    if name in ("CompiledProgram", "compile_jaxpr"):
        from . import program

        return getattr(program, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
