"""The programs that are measured, written once against JAX's API, one module for each family.

A family has `TARGETS`, the ratios to reach by group, and `programs(jax)`, which lists its programs
for a module that is jax or lingon. Listing them costs nothing: inputs are made by `Program.make`.
"""

from __future__ import annotations

import importlib
from typing import Any

from .common import Program

FAMILIES = (
    "dispatch", "compile", "elementwise", "reductions", "movement", "broadcast_reduce", "matmul",
    "models", "loops", "indexing", "sorting", "random",
)  # fmt: skip


def family(name: str) -> Any:
    """The module of a family."""
    return importlib.import_module(f"families.{name}")


def programs(name: str, jax: Any) -> list[Program]:
    """The programs of a family; names are unique."""
    out = family(name).programs(jax)
    names = [p.name for p in out]
    again = {n for n in names if names.count(n) > 1}
    if again:
        raise ValueError(f"{name}: more than one program is called {sorted(again)}")
    return out
