"""Looking at the values of programs while they run."""

from lingon.frontend.core.effects import DebugEffect, OrderedDebugEffect
from lingon.frontend.debug import debug_callback as callback
from lingon.frontend.debug import debug_log as log
from lingon.frontend.debug import debug_print as print
from lingon.frontend.debug import (
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)
from lingon.frontend.debugger import breakpoint

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
