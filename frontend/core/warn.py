"""Warnings of the library to its user."""

from __future__ import annotations

import threading
import warnings
from typing import Any


class Warned(Exception):
    """What was run under `refused` warns."""


class _State(threading.local):
    refused = False


_state = _State()


def warn(message: str, category: type[Warning] = UserWarning, stacklevel: int = 1) -> None:
    """`warnings.warn`; under `refused` an exception of type Warned instead."""
    if _state.refused:
        raise Warned(message)
    warnings.warn(message, category, stacklevel=stacklevel + 1)


class refused:
    """Context manager: in this thread, what warns raises Warned.

    That is for what is traced once to run many times: it would warn once only. The filters of the
    module `warnings` are those of all threads.
    """

    def __enter__(self) -> None:
        self.saved = _state.refused
        _state.refused = True

    def __exit__(self, *exc: Any) -> None:
        _state.refused = self.saved


__all__ = ["Warned", "refused", "warn"]
