"""Effects: what an equation does besides computing its results.

An equation with effects is never removed. Programs run their equations in order on one thread, so
every effect keeps the program's order; ordered and unordered effects differ in what the
transformations allow and in how they are printed.
"""

from __future__ import annotations


class Effect:
    """Base of all effects."""


class NamedEffect(Effect):
    """An effect without parameters, printed by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return self.name


class DebugEffect(NamedEffect):
    """Output for debugging, in no promised order."""


class OrderedDebugEffect(NamedEffect):
    """Output for debugging, in the program's order."""


class IOEffect(NamedEffect):
    """Python code that does more than compute, in no promised order."""


class OrderedIOEffect(NamedEffect):
    """Python code that does more than compute, in the program's order."""


class BufferCallbackEffect(IOEffect):
    """Python code that does more than fill its buffers, in no promised order."""


debug_effect = DebugEffect("Debug")
ordered_debug_effect = OrderedDebugEffect("OrderedDebug")
io_effect = IOEffect("IO")
ordered_io_effect = OrderedIOEffect("OrderedIO")
buffer_callback_effect = BufferCallbackEffect("BufferCallback")
