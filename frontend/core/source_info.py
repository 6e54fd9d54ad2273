"""The user's source line of each equation, cheap to capture and resolved only when needed."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from types import CodeType
from typing import Any

# The package's own folders, in an installed package and in a source tree.
_here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_own_roots = tuple(
    os.path.join(_here, d) + os.sep
    for d in ("frontend", "lowering", "dialect", "runtime", "lingon")
) + ((_here + os.sep,) if os.path.exists(os.path.join(_here, "__init__.py")) else ())
_stdlib_wrappers = (os.sep + "functools.py", os.sep + "contextlib.py")

_is_user: dict[CodeType, bool] = {}


def is_user_code(code: CodeType) -> bool:
    """Whether code belongs to the user's program, not to lingon or what only wraps functions."""
    known = _is_user.get(code)
    if known is None:
        f = code.co_filename
        known = not (f.startswith(_own_roots) or f.endswith(_stdlib_wrappers) or f[0] == "<")
        _is_user[code] = known or f in ("<stdin>", "<string>") or f.startswith("<ipython")
        known = _is_user[code]
    return known


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None]]:
    """Line and column of each instruction of `code`."""
    if sys.version_info < (3, 11):
        raise NotImplementedError("instructions have no columns before Python 3.11")
    return [(line, column) for line, _, column, _ in code.co_positions()]


class SourceInfo:
    """A place in the user's program: the innermost frame outside lingon, and the name stack."""

    __slots__ = ("_column", "code", "lasti", "line_hint", "name_stack")

    def __init__(self, code: CodeType | None, lasti: int, name_stack: tuple[str, ...] = ()):
        self.code, self.lasti, self.name_stack = code, lasti, name_stack

    @property
    def file(self) -> str | None:
        return None if self.code is None else self.code.co_filename

    @property
    def function(self) -> str | None:
        if self.code is None:
            return None
        return getattr(self.code, "co_qualname", self.code.co_name)

    def _position(self) -> tuple[int, int]:
        if self.code is None:
            return 0, 0
        i = self.lasti // 2
        if sys.version_info >= (3, 11):
            line, column = _positions(self.code)[i]
            return line or self.code.co_firstlineno, (column or 0) + 1
        else:
            for start, end, line in self.code.co_lines():
                if start <= self.lasti < end and line is not None:
                    return line, 1
        return self.code.co_firstlineno, 1

    @property
    def line(self) -> int:
        return self._position()[0]

    @property
    def column(self) -> int:
        return self._position()[1]

    def __repr__(self) -> str:
        if self.code is None:
            return "<unknown source>"
        line, column = self._position()
        return f"{self.file}:{line}:{column - 1} ({self.function})"

    def summary(self) -> str:
        """`file:line:column (function)`, or the empty string where the place is unknown."""
        return "" if self.code is None else repr(self)


class _Local(threading.local):
    names: tuple[str, ...] = ()
    current: SourceInfo | None = None


_local = _Local()
_unknown = SourceInfo(None, 0)


def current() -> SourceInfo:
    """The user's frame that is running now."""
    if _local.current is not None:
        return _local.current
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        known = _is_user.get(code)
        if known or (known is None and is_user_code(code)):
            return SourceInfo(code, frame.f_lasti, _local.names)
        frame = frame.f_back
    return _unknown


@contextlib.contextmanager
def user_context(info: SourceInfo | None) -> Iterator[None]:
    """Attribute everything in the block to `info`, as when an equation is transformed."""
    saved = _local.current
    _local.current = info
    try:
        yield
    finally:
        _local.current = saved


def set_current(info: SourceInfo | None) -> SourceInfo | None:
    """Set the place that new equations get, returning the previous one (None: the frame)."""
    saved = _local.current
    _local.current = info
    return saved


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """Add a name to the name stack of the block's equations."""
    saved = _local.names
    _local.names = (*saved, name)
    try:
        yield
    finally:
        _local.names = saved
