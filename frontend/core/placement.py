"""Where concrete arrays are: their shardings, parts, and moving them to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime import ArrayImpl, ShardLayout, assemble_array, shard_array
from . import devices
from .devices import Device, Shard, Sharding, SingleDeviceSharding, device_of, sharding_of

_layouts: dict[tuple[Sharding, tuple[int, ...]], ShardLayout] = {}
_MAX_LAYOUTS = 4096


def layout(sharding: Any, shape: tuple[int, ...]) -> ShardLayout:
    """The layout of arrays of a shape, one object for equal arguments.

    Raises ValueError where the shape cannot be cut as the sharding says.
    """
    key = (sharding, shape)
    found = _layouts.get(key)
    if found is None:
        ids = [d.id for d in sharding.device_list]
        if len(set(ids)) != len(ids):
            raise ValueError(f"a device occurs more than once in {sharding!r}")
        part = sharding.shard_shape(shape)
        found = ShardLayout(sharding, shape, part, ids, sharding.starts(shape))
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
        where = sharding_of(where.id)
    if isinstance(where, SingleDeviceSharding):
        if x._layout is None and x._device_id == where._device.id and x._committed:
            return x
        out = x._alias(device_id=where._device.id)
        out._committed = True
        return out
    wanted = layout(where, x.shape)
    return x if x._layout is wanted else shard_array(x, wanted)


def assemble(
    shape: tuple[int, ...], sharding: Sharding, parts: Sequence[ArrayImpl], weak_type: bool = False
) -> ArrayImpl:
    """The array whose parts, in the order of the sharding's devices, are on their devices."""
    if isinstance(sharding, SingleDeviceSharding):
        (part,) = parts
        return place(part, sharding)
    return assemble_array(parts, layout(sharding, shape), weak_type)


def shards(x: ArrayImpl) -> list[Shard]:
    """The parts of an array, by device."""
    parts = x._shards
    if parts is None:
        return [Shard(device_of(x._device_id), (slice(None),) * x.ndim, 0, x)]
    sharding = sharding_of_array(x)
    out, seen = [], dict[Any, int]()
    for (device, index), part in zip(
        sharding.devices_indices_map(x.shape).items(), parts, strict=True
    ):
        key = tuple((s.start, s.stop) for s in index)
        replica = seen.get(key, 0)
        seen[key] = replica + 1
        out.append(Shard(device, index, replica, part))
    return out


def several() -> bool:
    """Whether arrays can be anywhere else than on the one device."""
    return devices.several()
