"""Passes written in Python, by name. The C++ ones register themselves with MLIR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# None of lingon's own: MLIR's bindings take 20 ms to import the classes of the operations.
PYTHON_PASSES: dict[str, Callable[[Any], None]] = {}
