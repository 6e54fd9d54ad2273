"""Emission: a closed jaxpr becomes MLIR text (linalg on tensors). See README.md."""

from __future__ import annotations

from .module import EmittedModule, emit_module

__all__ = ["EmittedModule", "emit_module"]
