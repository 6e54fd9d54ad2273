"""Putting arrays on devices and into shardings, as users call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..runtime import ArrayImpl
from .core import dtypes, eager, placement, pytree
from .core.avals import get_aval
from .core.devices import Device, Sharding, is_local, process_count
from .core.mesh import EMPTY, NamedSharding, PartitionSpec, context
from .core.trace import Tracer, eval_trace, state
from .primitives.placement import ArrayCopySemantics, device_put_p, sharding_constraint_p
from .transforms.vmap import broadcast_prefix


def resolve(where: Any, who: str) -> Any:
    """A Device or Sharding from what a user may give; specs are taken on the mesh in context."""
    if isinstance(where, PartitionSpec):
        mesh = context.mesh()
        if mesh is None:
            raise ValueError(
                f"Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to {who}"
            )
        return NamedSharding(mesh, where)
    if where is None or isinstance(where, (Device, Sharding)):
        return where
    raise ValueError(
        f"`jax.{who}` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Format`, "
        f"`jax.memory.Space` or a pytree of these values. Received invalid value: {where}"
    )


def _check_fits(leaf: Any, where: Any) -> None:
    if isinstance(where, Sharding):
        where.shard_shape(get_aval(leaf).shape)


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """The leaves of a pytree as arrays on a device, or in a sharding.

    Args:
      device: a Device, a Sharding, a PartitionSpec for the mesh in context, or a pytree prefix of
        `x` with those as leaves. None: where the leaves are, or on the default device.
      src: where the leaves are; known from the leaves themselves.
      donate: whether the memory of the leaves may be given up; a pytree prefix.
      may_alias: whether the results may share memory with the leaves; a pytree prefix.

    Memory is shared where that is possible. Raises TypeError for leaves that are no arrays,
    ValueError where an array cannot be cut as the sharding says.
    """
    leaves, tree = pytree.tree_flatten(x)
    if device is None or isinstance(device, (Device, Sharding, PartitionSpec)):
        devices = [device] * len(leaves)
    else:
        devices = broadcast_prefix(device, x, "device_put device")
    targets = [resolve(d, "device_put") for d in devices]
    donated = broadcast_prefix(donate, x, "device_put donate")
    aliased = broadcast_prefix(may_alias, x, "device_put may_alias")
    kinds = []
    for leaf, where, give, alias in zip(leaves, targets, donated, aliased, strict=True):
        try:
            get_aval(leaf)
        except TypeError:
            raise TypeError(
                f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type"
            ) from None
        _check_fits(leaf, where)
        if give and alias is False:
            raise ValueError(
                "may_alias cannot be False when donate is True: the buffer is given up"
            )
        kinds.append(
            ArrayCopySemantics.DONATE_INPUT
            if give
            else ArrayCopySemantics.ALWAYS_COPY
            if alias is False
            else ArrayCopySemantics.REUSE_INPUT
        )
    if not leaves:
        return x
    outs = device_put_p.bind(
        *leaves,
        devices=tuple(targets),
        srcs=(src,) * len(leaves),
        copy_semantics=tuple(kinds),
    )
    return pytree.tree_unflatten(tree, outs)


def device_get(x: Any) -> Any:
    """The arrays of a pytree as NumPy arrays; an array on several devices is put together."""

    def get(leaf: Any) -> Any:
        if isinstance(leaf, (ArrayImpl, Tracer)):
            return np.asarray(leaf)
        return leaf

    return pytree.tree_map(get, x)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree, with the wish that a program keeps them in these shardings.

    `shardings` is a Sharding, a PartitionSpec for the mesh in context, or a pytree prefix of `x`
    of those. Raises ValueError where an array cannot be cut so.
    """
    leaves, tree = pytree.tree_flatten(x)
    wanted = broadcast_prefix(shardings, x, "with_sharding_constraint shardings")
    outs = []
    for leaf, s in zip(leaves, wanted, strict=True):
        if isinstance(s, PartitionSpec):
            mesh = context.mesh()
            if mesh is None:
                raise RuntimeError(
                    "with_sharding_constraint requires a non-empty mesh in context if you are "
                    "passing `PartitionSpec`s to shardings. You can define a context mesh via "
                    "`jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to shardings and "
                    "then the mesh context manager is not required."
                )
            s = NamedSharding(mesh, s)
        if s is None:
            outs.append(leaf)
            continue
        if not isinstance(s, Sharding):
            raise TypeError(f"with_sharding_constraint: expected a sharding, got {s!r}")
        free = frozenset(
            i for i, p in enumerate(getattr(s, "spec", ())) if p is PartitionSpec.UNCONSTRAINED
        )
        outs.append(
            sharding_constraint_p.bind(
                leaf,
                sharding=s,
                layout=None,
                context_mesh=context.mesh() or EMPTY,
                unconstrained_dims=free,
            )
        )
    return pytree.tree_unflatten(tree, outs)


def reshard(x: Any, out_shardings: Any) -> Any:
    """The arrays of a pytree in other shardings. See `with_sharding_constraint`."""
    if state.trace is eval_trace:
        return device_put(x, out_shardings)
    return with_sharding_constraint(x, out_shardings)


def _checked_sharding(who: str, sharding: Any) -> Sharding:
    if not isinstance(sharding, Sharding):
        raise TypeError(f"{who}: sharding must be a Sharding, got {sharding!r}")
    return sharding


def _wrong_part(sharding: Sharding, shape: tuple, part: tuple, aval: Any) -> ValueError:
    return ValueError(
        f"Expected shard shape {sharding.shard_shape(shape)} doesn't match the single device array "
        f"shape {part}. Shape of Array is {aval} with sharding {sharding!r}"
    )


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[Any], Any],
    dtype: Any = None,
) -> Any:
    """An array whose parts are what `data_callback(index)` gives for each device's index.

    The index is a tuple of slices into an array of `shape`. Raises ValueError for parts of another
    shape than the sharding says.
    """
    shape = tuple(int(n) for n in shape)
    _checked_sharding("make_array_from_callback", sharding)
    part_shape = sharding.shard_shape(shape)
    made: dict[Any, Any] = {}
    parts = []
    for device, index in sharding.addressable_devices_indices_map(shape).items():
        key = tuple((s.start, s.stop) for s in index or ())
        if key not in made:
            data = eager.as_array(data_callback(index))
            if dtype is not None:
                wanted = dtypes.check_user_dtype(dtype)
                if data.dtype != wanted:
                    data = ArrayImpl.from_numpy(np.asarray(data).astype(wanted))
            made[key] = data
        data = made[key]
        if data.shape != part_shape:
            raise _wrong_part(sharding, shape, data.shape, f"{data.dtype}{list(shape)}")
        parts.append(placement.place(data, device))
    return placement.assemble(shape, sharding, parts)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """An array whose parts are the given arrays, one on each device of the sharding, in any order.

    Each process gives those that are on its own devices.

    Raises ValueError for a wrong number of arrays, shapes or devices.
    """
    shape = tuple(int(n) for n in shape)
    _checked_sharding("make_array_from_single_device_arrays", sharding)
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(f"arrays must be a sequence of arrays, got {type(arrays)}")
    for a in arrays:
        if type(a) is not ArrayImpl:
            raise TypeError(
                f"make_array_from_single_device_arrays requires a list of concrete arrays, got "
                f"type {type(a)}"
            )
    wanted = sharding.addressable_device_list
    if len(arrays) != len(wanted):
        raise ValueError(
            f"Expected {len(wanted)} per-device arrays (this is how many devices are addressable "
            f"by the sharding), but got {len(arrays)}"
        )
    part_shape = sharding.shard_shape(shape)
    by_device: dict[Any, ArrayImpl] = {}
    for a in arrays:
        if a.shape != part_shape:
            raise _wrong_part(sharding, shape, a.shape, f"{a.dtype}{list(shape)}")
        if len(a.devices()) != 1:
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one "
                f"shard each. An argument array had {len(a.devices())} shard(s)."
            )
        by_device[a.device] = a
    if set(by_device) != set(wanted):
        raise ValueError(
            "Addressable devices and per-device arrays devices do not match. Sharding contains "
            f"devices {{{', '.join(map(str, set(wanted) - set(by_device)))}}} that are not present "
            "in per-device arrays."
        )
    return placement.assemble(shape, sharding, [by_device[d] for d in wanted])


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Sequence[int | None] | None = None
) -> Any:
    """An array of which every process gives its part; with one process, all of it.

    Args:
      sharding: of the array.
      local_data: what this process' devices need, in order; dimensions that are given whole are cut.
      global_shape: shape of the array; what is None is computed from the parts.

    Raises ValueError for data that do not fit.
    """
    _checked_sharding("make_array_from_process_local_data", sharding)
    data = eager.as_array(local_data)
    if global_shape is not None and len(global_shape) != data.ndim:
        raise ValueError(
            f"global_shape {tuple(global_shape)} must have a dimension for each of the data, whose "
            f"shape is {data.shape}"
        )
    if process_count() == 1 or not isinstance(sharding, NamedSharding):
        if global_shape is not None and any(
            n not in (None, m) for n, m in zip(global_shape, data.shape, strict=True)
        ):
            raise ValueError(
                f"global_shape {tuple(global_shape)} differs from the shape {data.shape} of the data "
                "though they are all of the array"
            )
        return device_put(data, sharding)
    sharding.check_compatible_aval(data.shape)
    # In units of parts: which ones are here, along each dimension.
    tiles = [*sharding.tiles(), *[1] * data.ndim][: data.ndim]
    own = [
        start
        for d, start in zip(sharding.device_list, sharding.starts(tuple(tiles)), strict=True)
        if is_local(d)
    ]
    here = [sorted({start[axis] for start in own}) for axis in range(data.ndim)]
    shape, whole = [], []
    for axis, n in enumerate(data.shape):
        wanted = None if global_shape is None else global_shape[axis]
        scaled = n * tiles[axis] // len(here[axis])
        if wanted not in (None, n, scaled):
            raise ValueError(
                f"dimension {axis} of the data is {n}, which gives {scaled} for all processes, but "
                f"global_shape is {tuple(global_shape or ())}"
            )
        shape.append(scaled if wanted is None else wanted)
        whole.append(shape[-1] == n)
    part = sharding.shard_shape(tuple(shape))
    values, parts = data._numpy(), []
    for device, start in zip(sharding.addressable_device_list, own, strict=True):
        index = []
        for axis, tile in enumerate(start):
            place = tile if whole[axis] else here[axis].index(tile)
            index.append(slice(place * part[axis], (place + 1) * part[axis]))
        piece = np.ascontiguousarray(values[tuple(index)]).reshape(part)
        parts.append(placement.place(ArrayImpl.from_numpy(piece), device))
    return placement.assemble(tuple(shape), sharding, parts)


__all__ = [
    "device_get",
    "device_put",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "reshard",
    "with_sharding_constraint",
]
