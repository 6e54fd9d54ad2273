"""Types of the ahead-of-time stages of jitted functions; compiled functions in files."""

from lingon.frontend.transforms.stages import (
    ArgInfo,
    Compiled,
    CompiledMemoryStats,
    CompilerOptions,
    Lowered,
    Traced,
    Wrapped,
    load,
)

__all__ = [
    "ArgInfo",
    "Compiled",
    "CompiledMemoryStats",
    "CompilerOptions",
    "Lowered",
    "Traced",
    "Wrapped",
    "load",
]
