"""Exchange of arrays between processes, and arrangements of devices."""

from __future__ import annotations

import math
import pickle
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .core import devices as _devices
from .core import eager, placement, pytree
from .core.devices import process_count
from .core.mesh import NamedSharding
from .distributed import exchange
from .placement import device_put
from .transforms.vmap import broadcast_prefix


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


def _exchange(what: Any, name: str) -> list[Any]:
    """The values that all processes give, in their order."""
    return [pickle.loads(b) for b in exchange(pickle.dumps(what, 5), zlib.crc32(name.encode()))]


def _as_numpy(x: Any) -> np.ndarray:
    return np.asarray(eager.to_numpy(eager.as_array(x)))


def _is_global(x: Any) -> bool:
    return not getattr(x, "is_fully_addressable", True)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The arrays of all processes as NumPy arrays.

    Args:
      in_tree: pytree of arrays, of equal shapes and dtypes in all processes, or of global arrays.
      tiled: concatenate along the first axis instead of stacking along a new one.

    Global arrays are put together. Raises ValueError for those without `tiled`, and for arrays that
    differ in shape or dtype.
    """
    leaves, tree = pytree.tree_flatten(in_tree)
    if not tiled and any(_is_global(x) for x in leaves):
        raise ValueError("Gathering global non-fully-addressable arrays only supports tiled=True")
    mine = [_parts(x) if _is_global(x) else _as_numpy(x) for x in leaves]
    everybody = _exchange(mine, "process_allgather")
    outs = []
    for i, x in enumerate(leaves):
        theirs = [values[i] for values in everybody]
        outs.append(_together(x, theirs) if _is_global(x) else _joined(theirs, tiled))
    return pytree.tree_unflatten(tree, outs)


def _parts(x: Any) -> list[tuple[Any, np.ndarray]]:
    return [
        (tuple((s.start, s.stop) for s in shard.index), np.asarray(shard.data))
        for shard in x.addressable_shards
        if shard.replica_id == 0
    ]


def _together(x: Any, parts: list[list[tuple[Any, np.ndarray]]]) -> np.ndarray:
    out = np.empty(x.shape, x.dtype)
    for index, data in (item for theirs in parts for item in theirs):
        out[tuple(slice(*s) for s in index)] = data
    return out


def _joined(arrays: list[np.ndarray], tiled: bool) -> np.ndarray:
    kinds = {(a.shape, a.dtype) for a in arrays}
    if len(kinds) > 1:
        got = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
        raise ValueError(f"process_allgather: the arrays of the processes differ in type: {got}")
    return np.concatenate(arrays) if tiled and arrays[0].ndim else np.stack(arrays)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The arrays of one process, in all of them, as NumPy arrays.

    `is_source` says in each process whether it is the one; by default it is the first. Raises
    ValueError unless there is exactly one.
    """
    leaves, tree = pytree.tree_flatten(in_tree)
    if is_source is None:
        is_source = _devices.process_index() == 0
    given = _exchange([_as_numpy(x) for x in leaves] if is_source else None, "broadcast_one_to_all")
    sources = [i for i, values in enumerate(given) if values is not None]
    if len(sources) != 1:
        raise ValueError(f"broadcast_one_to_all: one process must be the source, not {sources}")
    values = given[sources[0]]
    if len(values) != len(leaves):
        raise ValueError(
            f"broadcast_one_to_all: the source gives {len(values)} arrays where process "
            f"{_devices.process_index()} expects {len(leaves)}"
        )
    return pytree.tree_unflatten(tree, values)


def sync_global_devices(name: str) -> None:
    """Wait until all processes have called it. Raises AssertionError where the names differ."""
    names = _exchange(name, "sync_global_devices")
    if len(set(names)) > 1:
        raise AssertionError(f"sync_global_devices name mismatch ('{name}'): got {names}")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError, in all processes, unless all of them have equal arrays."""
    leaves = [_as_numpy(x) for x in pytree.tree_leaves(in_tree)]
    everybody = _exchange(leaves, "assert_equal")
    for theirs in everybody:
        same = len(theirs) == len(everybody[0]) and all(
            a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
            for a, b in zip(theirs, everybody[0], strict=True)
        )
        if not same:
            expected, got = everybody[0], leaves if theirs is everybody[0] else theirs
            raise AssertionError(f"{fail_message}. Expected: {expected}; got: {got}.")


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The arrays that the parts of all processes make up, in shardings of a mesh.

    `pspecs` is a pytree prefix of `local_inputs` of PartitionSpecs. Raises ValueError where a part
    cannot be cut over this process' devices of the mesh.
    """

    def convert(x: Any, spec: Any) -> Any:
        if process_count() == 1:
            return device_put(x, NamedSharding(global_mesh, spec))
        if _is_global(x):
            return x
        return placement.to_global(eager.as_array(x), global_mesh, spec)

    return _mapped(convert, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The parts of arrays that this process has; with one process, all of them.

    `pspecs` is a pytree prefix of `global_inputs` of PartitionSpecs, which say how they are cut over
    the mesh.
    """

    def convert(x: Any, spec: Any) -> Any:
        if process_count() == 1:
            return device_put(np.asarray(x))
        return placement.to_local(eager.as_array(x), global_mesh, spec)

    return _mapped(convert, global_inputs, pspecs)


def _mapped(f: Any, tree: Any, pspecs: Any) -> Any:
    leaves, structure = pytree.tree_flatten(tree)
    specs = broadcast_prefix(pspecs, tree, "pspecs")
    return pytree.tree_unflatten(structure, [f(x, s) for x, s in zip(leaves, specs, strict=True)])
