"""The logger "lingon". The module logging is imported when something is logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging


class _Log:
    def __getattr__(self, name: str) -> Any:
        import logging

        return getattr(logging.getLogger("lingon"), name)


log: logging.Logger = _Log()  # type: ignore[assignment]

__all__ = ["log"]
