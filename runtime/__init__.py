"""Arrays, memory, threads and compiled programs. Knows no MLIR and no jaxpr."""

from __future__ import annotations

from lingon.runtime import _runtime
from lingon.runtime._runtime import (
    ArrayImpl,
    dtype_code,
    dtype_from_code,
    dtype_names,
    empty_ndarray,
    from_dlpack,
    from_numpy,
    from_scalar,
)

__all__ = [
    "ArrayImpl",
    "dtype_code",
    "dtype_from_code",
    "dtype_names",
    "empty_ndarray",
    "from_dlpack",
    "from_numpy",
    "from_scalar",
]

if not hasattr(_runtime, "JitDispatch"):
    from lingon.runtime._interim_dispatch import (  # noqa: F401
        JitDispatch,
        pool_stats,
        set_global_config,
        set_thread_config,
        set_tracing,
    )
