"""Where concrete arrays are: their shardings, parts, and moving them to others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...runtime import ArrayImpl, ShardLayout, assemble_array, shard_array
from . import devices
from .devices import (
    Device,
    Shard,
    Sharding,
    SingleDeviceSharding,
    device_of,
    is_local,
    number_of,
    sharding_of,
)
from .mesh import Mesh, NamedSharding, PartitionSpec

_layouts: dict[tuple[Sharding, tuple[int, ...]], ShardLayout] = {}
_MAX_LAYOUTS = 4096


def layout(sharding: Any, shape: tuple[int, ...]) -> ShardLayout:
    """The layout of arrays of a shape, one object for equal arguments.

    Raises ValueError where the shape cannot be cut as the sharding says, or where no device
    belongs to this process.
    """
    key = (sharding, shape)
    found = _layouts.get(key)
    if found is None:
        ids = [d.id for d in sharding.device_list]
        if len(set(ids)) != len(ids):
            raise ValueError(f"a device occurs more than once in {sharding!r}")
        part = sharding.shard_shape(shape)
        own = [i for i, d in enumerate(sharding.device_list) if is_local(d)]
        if not own:
            raise ValueError(f"no device of this process is in {sharding!r}")
        starts = sharding.starts(shape)
        found = ShardLayout(
            sharding,
            shape,
            part,
            [number_of(sharding.device_list[i]) for i in own],
            [starts[i] for i in own],
            complete=len(own) == len(ids),
        )
        if len(_layouts) >= _MAX_LAYOUTS:
            _layouts.pop(next(iter(_layouts)))
        _layouts[key] = found
    return found


def sharding_of_array(x: ArrayImpl) -> Sharding:
    """How a concrete array is laid out over devices."""
    where = x._layout
    return sharding_of(x._device_id) if where is None else where.sharding


def place(x: ArrayImpl, where: Any) -> ArrayImpl:
    """The array on a device or in a sharding, committed to it. Memory is shared if possible."""
    if isinstance(where, Device):
        where = sharding_of(number_of(where))
    if isinstance(where, SingleDeviceSharding):
        number = number_of(where._device)
        if x._layout is None and x._device_id == number and x._committed:
            return x
        if x._layout is not None and not x._layout.complete:
            raise ValueError(
                "When the second argument to `device_put` is a Device, the first argument must be a "
                "fully addressable array or a non-addressable array with a single device sharding. "
                f"Got value with devices {x.devices()}"
            )
        out = x._alias(device_id=number)
        out._committed = True
        return out
    wanted = layout(where, x.shape)
    own = x._layout
    if own is wanted:
        return x
    if own is not None and not own.complete and own.sharding != where:
        return reshard_across(x, where)
    return shard_array(x, wanted)


def _unset(*args: Any) -> Any:
    raise RuntimeError("lingon.frontend.transforms.spmd is not loaded")


#: (array with parts in other processes, sharding) -> array; set by transforms/spmd.py.
reshard_across: Callable[..., Any] = _unset


def assemble(
    shape: tuple[int, ...], sharding: Sharding, parts: Sequence[ArrayImpl], weak_type: bool = False
) -> ArrayImpl:
    """The array whose parts, in the order of the sharding's local devices, are on their devices."""
    if isinstance(sharding, SingleDeviceSharding):
        (part,) = parts
        return place(part, sharding)
    return assemble_array(parts, layout(sharding, shape), weak_type)


def to_global(x: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    """The array that the processes' arrays make up, each of which is cut over its part of a mesh.

    Raises ValueError where that part is no block, or where an array cannot be cut so.
    """
    base = getattr(x, "_base_array", None)
    if base is not None:
        return x.dtype.wrap(to_global(base, mesh, spec))
    own = NamedSharding(mesh.local_mesh, spec)
    target = NamedSharding(mesh, spec)
    local = place(x, own)
    shape = list(x.shape)
    for axis, (n, k) in enumerate(zip(target.tiles(), own.tiles(), strict=True)):
        shape[axis] = shape[axis] // k * n
    return assemble(tuple(shape), target, local._shards, x.weak_type)


def to_local(x: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    """This process' part of an array that is cut over a mesh, with a strong type.

    The counterpart of `to_global`.
    """
    base = getattr(x, "_base_array", None)
    if base is not None:
        return x.dtype.wrap(to_local(base, mesh, spec))
    target = NamedSharding(mesh, spec)
    own = NamedSharding(mesh.local_mesh, spec)
    whole = place(x, target)
    shape = list(x.shape)
    for axis, (n, k) in enumerate(zip(target.tiles(), own.tiles(), strict=True)):
        shape[axis] = shape[axis] // n * k
    return assemble(tuple(shape), own, whole._shards)


def shards(x: ArrayImpl) -> list[Shard]:
    """The parts of an array that are on devices of this process, by device."""
    return [s for s in global_shards(x) if s.data is not None]


def global_shards(x: ArrayImpl) -> list[Shard]:
    """The parts of an array, by device; without data where the device is another process'."""
    parts = x._shards
    if parts is None:
        return [Shard(device_of(x._device_id), (slice(None),) * x.ndim, 0, x)]
    sharding = sharding_of_array(x)
    out, seen, own = [], dict[Any, int](), iter(parts)
    for device, index in sharding.devices_indices_map(x.shape).items():
        key = tuple((s.start, s.stop) for s in index)
        replica = seen.get(key, 0)
        seen[key] = replica + 1
        out.append(Shard(device, index, replica, next(own) if is_local(device) else None))
    return out


def several() -> bool:
    """Whether arrays can be anywhere else than on the one device."""
    return devices.several()
