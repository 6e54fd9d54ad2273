"""Python functions that fill the buffers of programs in place."""

from lingon.frontend.buffer_callback import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
