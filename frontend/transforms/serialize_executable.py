"""serialize and deserialize_and_load, as jax.experimental.serialize_executable has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .stages import Compiled


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """A compiled function as (bytes, tree of the arguments, tree of the result).

    The bytes hold everything but the trees' classes. Raises TypeError for anything but a Compiled,
    ValueError for a program that calls Python functions or has trees that cannot be named in a file.
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(f"serialize takes a Compiled function, got {type(compiled)}")
    return compiled.serialize(), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: Any,
    out_tree: Any,
    backend: str | None = None,
    execution_devices: Sequence[Any] | None = None,
) -> Compiled:
    """The compiled function that `serialize` took apart.

    It runs machine code out of `serialized`: load only what you trust. Raises ValueError, saying
    why, for bytes that are damaged, were made for another CPU or version, or have other trees;
    RuntimeError for an unknown backend.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
    if execution_devices is not None and len(execution_devices) != 1:
        raise ValueError(
            f"execution_devices={execution_devices!r}: the program was compiled for one device"
        )
    compiled = Compiled.deserialize(serialized)
    for name, given, saved in (
        ("in_tree", in_tree, compiled.in_tree),
        ("out_tree", out_tree, compiled.out_tree),
    ):
        if given != saved:
            raise ValueError(f"{name} is {given}, but the program was saved with {saved}")
    if execution_devices is not None:
        compiled._device = execution_devices[0]
    return compiled


__all__ = ["deserialize_and_load", "serialize"]
