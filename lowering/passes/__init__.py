"""Passes written in Python, by name. The C++ ones register themselves with MLIR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .add_entry import add_entry

PYTHON_PASSES: dict[str, Callable[[Any], None]] = {
    "add-entry": add_entry,
}
