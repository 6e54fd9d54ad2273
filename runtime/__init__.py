"""Arrays, memory, threads and compiled programs. Knows no MLIR and no jaxpr."""

from __future__ import annotations

from lingon.runtime import _runtime
from lingon.runtime._runtime import (
    ArrayImpl,
    Executable,
    available_cores,
    dtype_code,
    dtype_from_code,
    dtype_names,
    empty_ndarray,
    from_dlpack,
    from_numpy,
    from_scalar,
    num_threads,
    pool_reset_peak,
    pool_set_cache_limit,
    pool_set_memory_limit,
    pool_stats,
    pool_trim,
    pytree,
    set_aval_factory,
    set_num_threads,
    symbols,
)

__all__ = [
    "ArrayImpl",
    "Executable",
    "available_cores",
    "dtype_code",
    "dtype_from_code",
    "dtype_names",
    "empty_ndarray",
    "from_dlpack",
    "from_numpy",
    "from_scalar",
    "num_threads",
    "pool_reset_peak",
    "pool_set_cache_limit",
    "pool_set_memory_limit",
    "pool_stats",
    "pool_trim",
    "pytree",
    "set_aval_factory",
    "set_num_threads",
    "symbols",
]

if not hasattr(_runtime, "JitDispatch"):
    from lingon.runtime._interim_dispatch import (  # noqa: F401
        JitDispatch,
        set_global_config,
        set_thread_config,
        set_tracing,
    )
