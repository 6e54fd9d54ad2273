"""Arrays, memory, threads and compiled programs. Knows no MLIR and no jaxpr."""

from __future__ import annotations

import os

try:
    import lingon.runtime._runtime as _  # noqa: F401 - so that a tree without it says what to do
except ModuleNotFoundError as error:
    if error.name != "lingon.runtime._runtime":
        raise
    raise ModuleNotFoundError(
        f"lingon is imported from {os.path.dirname(os.path.dirname(__file__))}, a source tree that "
        "is not built for this Python. Run tools/build_inplace there, or install it "
        "(pip install .) and start Python in another folder.",
        name=error.name,
    ) from None

from lingon.runtime._runtime import (
    LARGE_SIZE,
    ArrayImpl,
    EagerFunction,
    Executable,
    JitDispatch,
    Plan,
    ShardLayout,
    SpmdExecutable,
    assemble_array,
    available_cores,
    default_device_id,
    dtype_code,
    dtype_from_code,
    dtype_names,
    empty_ndarray,
    from_dlpack,
    from_numpy,
    from_scalar,
    has_plan_loop,
    has_ufunc_loop,
    live_arrays,
    num_threads,
    pool_reset_peak,
    pool_set_cache_limit,
    pool_set_memory_limit,
    pool_stats,
    pool_trim,
    pytree,
    set_aval_factory,
    set_blas_routine,
    set_default_device,
    set_global_config,
    set_identity_type,
    set_key_type,
    set_num_threads,
    set_thread_config,
    set_tracing,
    shard_array,
    symbols,
    transfer_count,
)
from lingon.runtime.blas import prepare_kernels

__all__ = [
    "LARGE_SIZE",
    "ArrayImpl",
    "EagerFunction",
    "Executable",
    "JitDispatch",
    "Plan",
    "ShardLayout",
    "SpmdExecutable",
    "assemble_array",
    "available_cores",
    "default_device_id",
    "dtype_code",
    "dtype_from_code",
    "dtype_names",
    "empty_ndarray",
    "from_dlpack",
    "from_numpy",
    "from_scalar",
    "has_plan_loop",
    "has_ufunc_loop",
    "num_threads",
    "pool_reset_peak",
    "pool_set_cache_limit",
    "pool_set_memory_limit",
    "live_arrays",
    "pool_stats",
    "pool_trim",
    "prepare_kernels",
    "pytree",
    "set_aval_factory",
    "set_blas_routine",
    "set_default_device",
    "set_global_config",
    "set_identity_type",
    "set_key_type",
    "set_num_threads",
    "set_thread_config",
    "set_tracing",
    "shard_array",
    "symbols",
    "transfer_count",
]


def _limit_from_environment(name: str) -> int | None:
    text = os.environ.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise ValueError(f"{name} must be a number of bytes, got {text!r}")
    return int(text)


if (_bytes := _limit_from_environment("LINGON_POOL_BYTES")) is not None:
    pool_set_cache_limit(_bytes)
if (_bytes := _limit_from_environment("LINGON_MEMORY_LIMIT")) is not None:
    pool_set_memory_limit(_bytes)
