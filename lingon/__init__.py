"""lingon: NumPy-like arrays and composable function transformations, compiled through MLIR.

The public API is JAX's: `import lingon as jax` serves a JAX program, and `python -m lingon
script.py` runs one that says `import jax`. Functions and submodules are imported when they are
first used.
"""

from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING

# In a source tree the layers are folders beside this one, as they are named in pyproject.toml.
_here = _os.path.dirname(_os.path.abspath(__file__))
if not _os.path.isdir(_os.path.join(_here, "frontend")):
    __path__.append(_os.path.dirname(_here))

import lingon.frontend.numpy.late_methods as _late_methods
import lingon.frontend.plans as _plans
import lingon.frontend.primitives as _primitives
from lingon.frontend.core.lazy import lazy_names as _lazy_names

# for type checkers; the same names as in the table below
if TYPE_CHECKING:
    from lingon.frontend.api import (
        block_until_ready as block_until_ready,
        check_tracer_leaks as check_tracer_leaks,
        checking_leaks as checking_leaks,
        copy_to_host_async as copy_to_host_async,
        debug_infs as debug_infs,
        debug_nans as debug_nans,
        default_device as default_device,
        default_matmul_precision as default_matmul_precision,
        default_prng_impl as default_prng_impl,
        disable_jit as disable_jit,
        effects_barrier as effects_barrier,
        enable_custom_prng as enable_custom_prng,
        enable_x64 as enable_x64,
        ensure_compile_time_eval as ensure_compile_time_eval,
        explain_cache_misses as explain_cache_misses,
        float0 as float0,
        jit as jit,
        legacy_prng_key as legacy_prng_key,
        live_arrays as live_arrays,
        log_compiles as log_compiles,
        named_call as named_call,
        named_scope as named_scope,
        no_tracing as no_tracing,
        numpy_dtype_promotion as numpy_dtype_promotion,
        numpy_rank_promotion as numpy_rank_promotion,
        threefry_partitionable as threefry_partitionable,
        typeof as typeof,
    )
    from lingon.frontend.callbacks import (
        pure_callback as pure_callback,
    )
    from lingon.frontend.core.array import (
        Array as Array,
    )
    from lingon.frontend.core.config import (
        config as config,
    )
    from lingon.frontend.core.devices import (
        Device as Device,
        Shard as Shard,
        default_backend as default_backend,
        device_count as device_count,
        devices as devices,
        local_device_count as local_device_count,
        local_devices as local_devices,
        process_count as process_count,
        process_index as process_index,
        process_indices as process_indices,
    )
    from lingon.frontend.core.mesh import (
        NamedSharding as NamedSharding,
        PartitionSpec as _PartitionSpec,
        make_mesh as make_mesh,
        set_mesh as set_mesh,
    )
    from lingon.frontend.jacobians import (
        hessian as hessian,
        jacfwd as jacfwd,
        jacrev as jacrev,
    )
    from lingon.frontend.placement import (
        device_get as device_get,
        device_put as device_put,
        make_array_from_callback as make_array_from_callback,
        make_array_from_process_local_data as make_array_from_process_local_data,
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
        reshard as reshard,
    )
    from lingon.frontend.pmap import (
        pmap as pmap,
    )
    from lingon.frontend.shard_map import (
        shard_map as shard_map,
    )
    from lingon.frontend.transforms.abstract import (
        ShapeDtypeStruct as ShapeDtypeStruct,
        eval_shape as eval_shape,
        make_jaxpr as make_jaxpr,
    )
    from lingon.frontend.transforms.autodiff import (
        grad as grad,
        jvp as jvp,
        linear_transpose as linear_transpose,
        linearize as linearize,
        value_and_grad as value_and_grad,
        vjp as vjp,
    )
    from lingon.frontend.transforms.custom_gradient import (
        custom_gradient as custom_gradient,
    )
    from lingon.frontend.transforms.custom_rules import (
        closure_convert as closure_convert,
        custom_jvp as custom_jvp,
        custom_vjp as custom_vjp,
    )
    from lingon.frontend.transforms.jit import (
        clear_caches as clear_caches,
    )
    from lingon.frontend.transforms.remat import (
        checkpoint as checkpoint,
        remat as remat,
    )
    from lingon.frontend.transforms.vmap import (
        vmap as vmap,
    )
    from lingon.install import (
        install_as_jax as install_as_jax,
    )

    P = _PartitionSpec
    jacobian = jacrev

assert _primitives and _plans  # what transformations and eager calls stand on
# its import gives arrays their operators and methods
_late_methods.set_namespace("lingon.numpy")

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)

_sources = {
    "frontend.api": (
        "block_until_ready check_tracer_leaks checking_leaks copy_to_host_async debug_infs "
        "debug_nans default_device default_matmul_precision default_prng_impl disable_jit "
        "effects_barrier enable_custom_prng enable_x64 ensure_compile_time_eval "
        "explain_cache_misses float0 jit legacy_prng_key live_arrays log_compiles named_call "
        "named_scope no_tracing numpy_dtype_promotion numpy_rank_promotion threefry_partitionable "
        "typeof"
    ),
    "frontend.callbacks": "pure_callback",
    "frontend.core.array": "Array",
    "frontend.core.config": "config",
    "frontend.core.devices": (
        "Device Shard default_backend device_count devices local_device_count local_devices "
        "process_count process_index process_indices"
    ),
    "frontend.core.mesh": "NamedSharding P=PartitionSpec make_mesh set_mesh",
    "frontend.jacobians": "hessian jacfwd jacobian=jacrev jacrev",
    "frontend.placement": (
        "device_get device_put make_array_from_callback make_array_from_process_local_data "
        "make_array_from_single_device_arrays reshard"
    ),
    "frontend.pmap": "pmap",
    "frontend.shard_map": "shard_map",
    "frontend.transforms.abstract": "ShapeDtypeStruct eval_shape make_jaxpr",
    "frontend.transforms.autodiff": ("grad jvp linear_transpose linearize value_and_grad vjp"),
    "frontend.transforms.custom_gradient": "custom_gradient",
    "frontend.transforms.custom_rules": "closure_convert custom_jvp custom_vjp",
    "frontend.transforms.jit": "clear_caches",
    "frontend.transforms.remat": "checkpoint remat",
    "frontend.transforms.vmap": "vmap",
    "install": "install_as_jax",
}
_submodules = (
    "ad_checkpoint checkpoint_policies core custom_batching custom_derivatives debug "
    "distributed dlpack dtypes errors experimental lax nn numpy ops random sharding stages "
    "tree tree_util typing "
)

__getattr__, __dir__, _names = _lazy_names(
    __name__,
    {f"lingon.{module}": names for module, names in _sources.items()},
    _submodules,
    "lingon has no attribute {name!r} (yet)",
)
__all__ = [*_names, "__version__", "__version_info__"]
