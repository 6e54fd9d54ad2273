"""pure_callback and io_callback: results computed by Python functions in the midst of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import dtypes, pytree
from .core.avals import ShapedArray
from .primitives.callbacks import VMAP_METHODS, FlatCallback, io_callback_p, pure_callback_p


def _result_avals(specs: list[Any]) -> tuple[ShapedArray, ...]:
    avals = []
    for s in specs:
        if not hasattr(s, "shape") or not hasattr(s, "dtype"):
            raise AttributeError(
                "result_shape_dtypes must be a pytree of objects with shape and dtype, such as "
                f"jax.ShapeDtypeStruct; got {s!r} of type {type(s).__name__}"
            )
        dtype = s.dtype if dtypes.is_extended(s.dtype) else np.dtype(s.dtype)
        if dtypes.is_extended(dtype):
            raise TypeError(
                f"result_shape_dtypes: a callback cannot return arrays of dtype {dtype}; return "
                "their key data"
            )
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled"
            )
        avals.append(ShapedArray(tuple(s.shape), dtype))
    return tuple(avals)


def _bind(
    primitive: Any, callback: Any, result: Any, args: tuple, kwargs: dict, params: dict
) -> Any:
    flat, in_tree = pytree.tree_flatten((args, kwargs))
    specs, out_tree = pytree.tree_flatten(result)
    outs = primitive.bind(
        *flat,
        callback=FlatCallback(callback, in_tree),
        result_avals=_result_avals(specs),
        **params,
    )
    return pytree.tree_unflatten(out_tree, outs)


def _check_sharding(name: str, sharding: Any) -> None:
    if sharding is not None and len(getattr(sharding, "device_set", ())) > 1:
        raise NotImplementedError(f"{name}: sharding={sharding!r}: programs run on one device")


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """The result of a Python function without side effects, called when the program runs.

    Args:
      callback: gets arrays in the structure of `args` and `kwargs`; returns arrays (or what
        `numpy.asarray` takes) in the structure, with the shapes and dtypes, of
        `result_shape_dtypes`.
      result_shape_dtypes: pytree of objects with `shape` and `dtype`.
      vmap_method: what vmap does. "sequential" calls once for each element in a loop,
        "sequential_unrolled" in straight code; "expand_dims" calls once with a leading axis, which
        has size 1 for arguments that are not mapped, "broadcast_all" repeats those, and
        "legacy_vectorized" passes them without that axis. None: vmap raises NotImplementedError.

    The call may be removed if its result is not used, and repeated. It has no derivative (use
    `custom_jvp`): ValueError. What the callback raises ends the program with a JaxRuntimeError,
    whose cause it is; so does a result of another shape or dtype. Raises ValueError for an unknown
    `vmap_method` and for 64-bit results while x64 is disabled.
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {[*VMAP_METHODS, None]}, but got: "
            f"{vmap_method}"
        )
    _check_sharding("pure_callback", sharding)
    params = {"sharding": None, "vmap_method": vmap_method}
    return _bind(pure_callback_p, callback, result_shape_dtypes, args, kwargs, params)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """The result of a Python function with side effects, called when the program runs.

    It runs exactly as often as the program says, also if nothing uses its result, and in the
    program's order. Arguments and errors are those of `pure_callback`. vmap calls it once for each
    element; with `ordered=True` vmap raises ValueError. Derivatives raise ValueError.
    """
    _check_sharding("io_callback", sharding)
    params = {"sharding": None, "ordered": bool(ordered)}
    return _bind(io_callback_p, callback, result_shape_dtypes, args, kwargs, params)


__all__ = ["io_callback", "pure_callback"]
