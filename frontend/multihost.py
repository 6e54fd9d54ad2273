"""Exchange between processes, and arrangements of devices. There is one process for now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .core import devices as _devices
from .core import pytree
from .core.mesh import NamedSharding
from .placement import device_put


def create_device_mesh(
    mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, **kwargs: Any
) -> np.ndarray:
    """The devices as an array of a shape, for `Mesh`. All devices of the CPU are equally near.

    Raises ValueError where their number is not the product of the shape.
    """
    chosen = list(_devices.devices() if devices is None else devices)
    if math.prod(mesh_shape) != len(chosen):
        raise ValueError(
            f"Number of devices {len(chosen)} must equal the product of mesh_shape "
            f"{tuple(mesh_shape)}"
        )
    grid = np.empty(len(chosen), dtype=object)
    grid[:] = chosen
    return grid.reshape(tuple(mesh_shape))


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The arrays of all processes as NumPy arrays, stacked, or concatenated if `tiled`."""

    def gather(x: Any) -> np.ndarray:
        a = np.asarray(x)
        return a if tiled or getattr(x, "_layout", None) is not None else a[None]

    return pytree.tree_map(gather, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The arrays of the first process."""
    return pytree.tree_map(np.asarray, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until all processes have called it with this name."""


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError unless all processes have equal arrays."""


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The arrays that the parts of all processes make up, in shardings of a mesh."""
    return (
        pytree.tree_map(
            lambda x, s: device_put(x, NamedSharding(global_mesh, s)), local_inputs, pspecs
        )
        if not _is_spec(pspecs)
        else pytree.tree_map(
            lambda x: device_put(x, NamedSharding(global_mesh, pspecs)), local_inputs
        )
    )


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The parts of arrays that this process has; with one process, all of them."""
    return pytree.tree_map(lambda x: device_put(np.asarray(x)), global_inputs)


def _is_spec(x: Any) -> bool:
    from .core.mesh import PartitionSpec

    return isinstance(x, PartitionSpec)
