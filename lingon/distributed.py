"""Several processes as one program."""

from lingon.frontend.distributed import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
