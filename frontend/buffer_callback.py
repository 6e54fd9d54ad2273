"""buffer_callback: Python functions that fill the buffers of programs in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import dtypes, pytree
from .core.avals import ShapedArray, get_aval
from .primitives.buffer_callback import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback_p,
)


def _result_aval(s: Any) -> ShapedArray:
    if not hasattr(s, "shape") or not hasattr(s, "dtype"):
        raise AttributeError(
            "result_shape_dtypes must be a pytree of objects with shape and dtype, such as "
            f"jax.ShapeDtypeStruct; got {s!r} of type {type(s).__name__}, which has no attribute "
            "'shape' or 'dtype'"
        )
    if dtypes.is_extended(s.dtype):
        raise TypeError(
            f"result_shape_dtypes: a callback cannot fill arrays of dtype {s.dtype}; fill their "
            "key data"
        )
    return ShapedArray(tuple(s.shape), np.dtype(s.dtype))


def _check_aliases(aliases: tuple, ins: list[Any], outs: tuple[ShapedArray, ...]) -> None:
    seen: dict[int, int] = {}
    for i, o in aliases:
        what = f"input_output_aliases contains the mapping '{i}:{o}'"
        if not 0 <= i < len(ins):
            raise ValueError(f"{what} with input index {i} outside the range [0, {len(ins)}).")
        if not 0 <= o < len(outs):
            raise ValueError(f"{what} with output index {o} outside the range [0, {len(outs)}).")
        if ins[i].shape != outs[o].shape or ins[i].dtype != outs[o].dtype:
            raise ValueError(
                f"{what} referring to an input with abstract value "
                f"{ins[i].str_short(long=True)} and an output with a different abstract value "
                f"{outs[o].str_short(long=True)}."
            )
        if o in seen:
            raise ValueError(
                f"{what}, but input {seen[o]} is already mapped to output {o}: two inputs cannot "
                "be in the same memory"
            )
        seen[o] = i


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: dict[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """A function of arrays whose results a Python function writes into the program's buffers.

    Args:
      callback: `callback(context, out, *args, **kwargs)`, called when the program runs. `out` has
        the structure of `result_shape_dtypes`, `args` and `kwargs` that of the arguments; their
        leaves are `Buffer`s, which `numpy.asarray` and DLPack see without a copy: outputs can be
        written, inputs only read. It must write all of `out`, whose contents are arbitrary before,
        return None, and keep no view of a buffer.
      result_shape_dtypes: pytree of objects with `shape` and `dtype`.
      has_side_effect: whether the call must run even if nothing uses its results.
      vmap_method: as for `pure_callback`.
      input_output_aliases: positions of flat inputs, and of the flat outputs that start with their
        contents: one buffer is both.
      command_buffer_compatible: has no effect on CPUs.

    Raises TypeError if `callback` is not callable. The returned function raises ValueError for
    aliases that do not fit, TypeError for arguments that are no arrays. What the callback raises
    ends the program with a JaxRuntimeError whose cause it is; so do a returned value and a view
    that is kept. There is no derivative (use `custom_jvp`): ValueError.
    """
    if not callable(callback):
        raise TypeError(f"buffer_callback: callback must be callable, got {callback!r}")
    specs, out_tree = pytree.tree_flatten(result_shape_dtypes)
    aliases = tuple((int(i), int(o)) for i, o in (input_output_aliases or {}).items())

    def wrapped_callback(*args: Any, **kwargs: Any) -> Any:
        flat, in_tree = pytree.tree_flatten((args, kwargs))
        for x in flat:
            try:
                get_aval(x)
            except TypeError:
                raise TypeError(
                    f"Argument '{x}' of type '{type(x)}' is not a valid JAX type"
                ) from None
        avals = tuple(_result_aval(s) for s in specs)
        _check_aliases(aliases, [get_aval(x) for x in flat], avals)
        outs = buffer_callback_p.bind(
            *flat,
            callback=callback,
            command_buffer_compatible=command_buffer_compatible,
            has_side_effect=has_side_effect,
            in_tree=in_tree,
            input_output_aliases=aliases,
            out_tree=out_tree,
            result_avals=avals,
            vmap_method=vmap_method,
        )
        return pytree.tree_unflatten(out_tree, outs)

    return wrapped_callback


__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
