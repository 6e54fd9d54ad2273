"""Short tracebacks: lingon's own frames are left out of errors that reach the user.

A function that the user calls and that calls the user's function back is a boundary: an exception
that passes through it keeps the user's frames only, and the line where it was raised.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from . import config
from .source_info import is_user_code

F = TypeVar("F", bound=Callable[..., Any])

NOTE = (
    "(lingon's own frames are left out of this traceback; set JAX_TRACEBACK_FILTERING=off to see "
    "them)"
)


def shorten(error: BaseException) -> BaseException:
    """The exception with lingon's frames taken out of its traceback, as far as configured."""
    mode = config.traceback_filtering.value
    if mode == "off":
        return error
    kept: list[types.TracebackType] = []
    hidden = False
    tb = error.__traceback__
    while tb is not None:
        if is_user_code(tb.tb_frame.f_code):
            kept.append(tb)
        else:
            hidden = True
        tb = tb.tb_next
    if not kept:
        return error
    chain: types.TracebackType | None = None
    for t in reversed(kept):
        chain = types.TracebackType(chain, t.tb_frame, t.tb_lasti, t.tb_lineno)
    if hidden and mode in ("auto", "remove_frames") and hasattr(error, "add_note"):
        if NOTE not in getattr(error, "__notes__", ()):
            error.add_note(NOTE)
    return error.with_traceback(chain)


def boundary(f: F) -> F:
    """Make a function of lingon one through which exceptions leave with short tracebacks."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as e:
            raise shorten(e)  # noqa: B904 - it is the same exception

    return call  # type: ignore[return-value]
