"""MLIR contexts: one lent to each compilation, reused, and replaced before its memory grows.

Types and attributes live as long as their context, so a context that compiled many different
programs holds the types of all of them. A fresh one costs 2 ms.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

#: What programs are written in. Any other dialect is loaded by the text or the pass that brings it.
_DIALECTS = (
    "affine arith bufferization cf complex func index linalg llvm math memref scf tensor ub vector"
).split()
RECYCLE_AFTER = 128  # compilations in one context
_MAX_IDLE = 2

_lock = threading.Lock()
_idle: list[MlirContext] = []


class MlirContext:
    """An MLIR context with our dialect and passes, and its pass managers by their text."""

    def __init__(self) -> None:
        from .. import dialect

        ir = dialect.bindings()
        self.ir = ir
        # By default all of MLIR's dialects would be loaded, which takes 7 ms.
        self.context = ir.Context(load_on_create_dialects=[])
        for name in _DIALECTS:
            self.context.get_dialect_descriptor(name)
        self.context.enable_multithreading(False)
        # Diagnostics travel in the exceptions instead of being printed.
        self.context.emit_error_diagnostics = False
        dialect.register(self.context)
        self.uses = 0
        self._managers: dict[tuple[str, bool], Any] = {}

    def pass_manager(self, passes: str, *, verify: bool) -> Any:
        """The (cached) pass manager that runs `passes` on a module, verifying after each or not."""
        manager = self._managers.get((passes, verify))
        if manager is None:
            from mlir.passmanager import PassManager

            manager = PassManager.parse(f"builtin.module({passes})", self.context)
            manager.enable_verifier(verify)
            self._managers[passes, verify] = manager
        return manager


@contextlib.contextmanager
def mlir_context() -> Iterator[MlirContext]:
    """Lend a context to this thread and enter it, with an unknown default location."""
    with _lock:
        held = _idle.pop() if _idle else None
    if held is None:
        held = MlirContext()
    held.uses += 1
    clean = False
    try:
        with held.context, held.ir.Location.unknown():
            yield held
        clean = True
    finally:
        # After an error the context is dropped: its exceptions may still point into it.
        with _lock:
            if clean and held.uses < RECYCLE_AFTER and len(_idle) < _MAX_IDLE:
                _idle.append(held)
