"""lingon: NumPy-like arrays and composable function transformations, compiled through MLIR.

The public API is JAX's: `import lingon as jax` serves a JAX program, and `python -m lingon
script.py` runs one that says `import jax`.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
from typing import Any as _Any

# In a source tree the layers are folders beside this one, as they are named in pyproject.toml.
_here = _os.path.dirname(_os.path.abspath(__file__))
if not _os.path.isdir(_os.path.join(_here, "frontend")):
    __path__.append(_os.path.dirname(_here))

import lingon.frontend.numpy.array_methods as _array_methods
from lingon.frontend.api import (
    Array,
    Device,
    NamedSharding,
    P,
    ShapeDtypeStruct,
    Shard,
    block_until_ready,
    check_tracer_leaks,
    checking_leaks,
    checkpoint,
    clear_caches,
    closure_convert,
    config,
    copy_to_host_async,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    debug_infs,
    debug_nans,
    default_backend,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    device_count,
    device_get,
    device_put,
    devices,
    disable_jit,
    effects_barrier,
    enable_custom_prng,
    enable_x64,
    ensure_compile_time_eval,
    eval_shape,
    explain_cache_misses,
    float0,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    legacy_prng_key,
    linear_transpose,
    linearize,
    live_arrays,
    local_device_count,
    local_devices,
    log_compiles,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
    make_jaxpr,
    make_mesh,
    named_call,
    named_scope,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    pmap,
    process_count,
    process_index,
    process_indices,
    remat,
    reshard,
    set_mesh,
    shard_map,
    threefry_partitionable,
    typeof,
    value_and_grad,
    vjp,
    vmap,
)
from lingon.frontend.api import version as __version__
from lingon.frontend.api import version_info as __version_info__
from lingon.frontend.callbacks import pure_callback
from lingon.install import install_as_jax

# its import gives arrays their operators and methods
_array_methods.set_namespace("lingon.numpy")

#: Submodules that are imported when they are first used.
_submodules = frozenset(
    {
        "ad_checkpoint",
        "checkpoint_policies",
        "core",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "dtypes",
        "errors",
        "experimental",
        "lax",
        "nn",
        "numpy",
        "ops",
        "random",
        "sharding",
        "stages",
        "tree",
        "tree_util",
        "typing",
    }
)

__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "ShapeDtypeStruct",
    "Shard",
    "__version__",
    "__version_info__",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "effects_barrier",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "eval_shape",
    "explain_cache_misses",
    "float0",
    "grad",
    "hessian",
    "install_as_jax",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "named_call",
    "named_scope",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "process_count",
    "process_index",
    "process_indices",
    "pure_callback",
    "remat",
    "reshard",
    "set_mesh",
    "shard_map",
    "threefry_partitionable",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> _Any:
    if name in _submodules:
        return _importlib.import_module(f"lingon.{name}")
    raise AttributeError(f"lingon has no attribute '{name}' (yet)")


def __dir__() -> list[str]:
    return sorted({*__all__, *_submodules})
