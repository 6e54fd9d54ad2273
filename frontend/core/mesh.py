"""Meshes of devices with named axes, and what arrays look like on them."""

from __future__ import annotations

import collections
import enum
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import devices as _devices
from .devices import Device, Index, Sharding, check_memory_kind


class AxisType(enum.Enum):
    """Who decides about a mesh axis: the compiler (Auto), the types (Explicit), the user (Manual).

    Programs run the same on axes of all types; arrays do not carry their sharding in their type.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class PartitionSpec:
    """Which mesh axes each dimension of an array is cut over.

    One entry for each dimension: None, the name of an axis, or a tuple of names; dimensions beyond
    the last entry are whole. `unreduced` and `reduced` are accepted empty.
    """

    __slots__ = ("_partitions",)
    UNCONSTRAINED = type("UnconstrainedSingleton", (), {"__repr__": lambda s: "UNCONSTRAINED"})()

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()):
        if unreduced or reduced:
            raise NotImplementedError("PartitionSpec: unreduced and reduced axes")
        self._partitions = tuple(_entry(p) for p in partitions)

    @property
    def partitions(self) -> tuple:
        """The entries."""
        return self._partitions

    unreduced = reduced = property(lambda self: frozenset())

    def names(self) -> tuple:
        """All axis names, in order."""
        return tuple(n for p in self._partitions for n in axes_of(p))

    def index(self, value: Any) -> int:
        """Position of an entry."""
        return self._partitions.index(_entry(value))

    def count(self, value: Any) -> int:
        """How often an entry occurs."""
        return self._partitions.count(_entry(value))

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with other `partitions`."""
        return PartitionSpec(*changes.get("partitions", self._partitions))

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Any:
        return iter(self._partitions)

    def __getitem__(self, i: Any) -> Any:
        return self._partitions[i]

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            other = other._partitions
        if not isinstance(other, tuple):
            return NotImplemented
        return PartitionSpec(*self._partitions, *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, tuple):
            return NotImplemented
        return PartitionSpec(*other, *self._partitions)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PartitionSpec) and self._partitions == other._partitions

    def __hash__(self) -> int:
        return hash((PartitionSpec, self._partitions))

    def __repr__(self) -> str:
        return f"P{self._partitions!r}" if self._partitions else "P()"

    def __reduce__(self) -> Any:
        return PartitionSpec, self._partitions


def _entry(p: Any) -> Any:
    """An entry's normal form: None, a name, or a tuple of at least two names."""
    if isinstance(p, (tuple, list)):
        return None if not p else p[0] if len(p) == 1 else tuple(p)
    return p


def axes_of(entry: Any) -> tuple:
    """The mesh axes of an entry of a spec."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


class Mesh:
    """Devices in an array whose axes have names. As a context manager, the mesh of the block.

    Args:
      devices: array (or sequence) of devices, one dimension for each axis.
      axis_names: a name, or a sequence of them.
      axis_types: an AxisType for each axis; Auto by default.

    Raises ValueError where the numbers of dimensions, names and types differ.
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None):
        grid = np.asarray(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if grid.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {grid.ndim} and "
                f"len(axis_names) == {len(names)}."
            )
        if axis_types is None:
            axis_types = (AxisType.Auto,) * len(names)
        axis_types = tuple(axis_types) if isinstance(axis_types, (tuple, list)) else (axis_types,)
        if len(axis_types) != len(names):
            raise ValueError(
                "Number of axis names should match the number of axis_types. Got "
                f"axis_names={names} and axis_types={axis_types}"
            )
        for d in grid.flat if names else ():
            if not isinstance(d, Device):
                raise TypeError(f"Mesh: devices must be devices, got {d!r} of type {type(d)}")
        self.devices = grid.copy()
        self.devices.flags.writeable = False
        self.axis_names, self.axis_types = names, axis_types
        self.device_list: tuple[Device, ...] = tuple(d for d in grid.flat if d is not None)
        self.axis_sizes: tuple[int, ...] = grid.shape
        self._hash = hash((self.device_list, self.axis_sizes, names, axis_types))

    @property
    def shape(self) -> collections.OrderedDict[Any, int]:
        """Sizes of the axes by name."""
        return collections.OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Names and sizes of the axes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """Number of devices."""
        return len(self.device_list)

    @property
    def empty(self) -> bool:
        """Whether the mesh has no axes."""
        return not self.axis_names

    @property
    def device_ids(self) -> np.ndarray:
        """Numbers of the devices, in the mesh's shape."""
        ids = [d.id for d in self.device_list]
        return np.array(ids, dtype=int).reshape(self.axis_sizes)

    @property
    def is_multi_process(self) -> bool:
        """Whether devices belong to several processes."""
        return len({d.process_index for d in self.device_list}) > 1

    @property
    def local_mesh(self) -> Mesh:
        """The mesh of this process' devices.

        Raises ValueError where they are not a block of the mesh.
        """
        if not self.is_multi_process or self.empty:
            return self
        own = np.array([_devices.is_local(d) for d in self.devices.flat])
        places = np.argwhere(own.reshape(self.devices.shape))
        if not len(places):
            raise ValueError("the mesh has no device of this process")
        low, high = places.min(0), places.max(0) + 1
        if np.prod(high - low) != len(places):
            raise ValueError("this process' devices are not a block of the mesh")
        block = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        return Mesh(self.devices[block], self.axis_names, self.axis_types)

    @property
    def local_devices(self) -> list[Device]:
        """This process' devices."""
        return [d for d in self.device_list if _devices.is_local(d)]

    @property
    def is_scalar(self) -> bool:
        """Whether the mesh is one device without axes."""
        return not self.axis_names and self.size == 1

    def _named(self, kind: AxisType) -> tuple:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(n for n, t in pairs if t is kind)

    @property
    def auto_axes(self) -> tuple:
        """Names of the axes of type Auto."""
        return self._named(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple:
        """Names of the axes of type Explicit."""
        return self._named(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple:
        """Names of the axes of type Manual."""
        return self._named(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether all axes are of type Auto."""
        return bool(self.axis_names) and len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether all axes are of type Explicit."""
        return bool(self.axis_names) and len(self.explicit_axes) == len(self.axis_names)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether all axes are of type Manual."""
        return bool(self.axis_names) and len(self.manual_axes) == len(self.axis_names)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A copy with some of its parts replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> Mesh:
        context.stack.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        context.stack.pop()

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(other) is Mesh
            and self._hash == other._hash
            and self.device_list == other.device_list
            and self.axis_sizes == other.axis_sizes
            and self.axis_names == other.axis_names
            and self.axis_types == other.axis_types
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self.axis_types})"
        )

    def __str__(self) -> str:
        sizes = ", ".join(f"{n!r}: {s}" for n, s in self.shape_tuple)
        return f"Mesh({sizes}, axis_types={self.axis_types})" if sizes else "Mesh()"

    def __reduce__(self) -> Any:
        return Mesh, (np.array(self.devices), self.axis_names, self.axis_types)


#: The mesh without axes and devices.
EMPTY = Mesh(np.empty((), dtype=object), ())


class _Context:
    """The mesh of `with mesh:` and of `set_mesh`."""

    def __init__(self) -> None:
        self.stack: list[Mesh] = []

    def mesh(self) -> Mesh | None:
        """The innermost mesh, or None."""
        return self.stack[-1] if self.stack else None


context = _Context()


class set_mesh:
    """Make a mesh the current one, for the process or, as a context manager, for a block."""

    def __init__(self, mesh: Mesh):
        if not isinstance(mesh, Mesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
        context.stack.append(mesh)

    def __enter__(self) -> Mesh:
        return context.stack[-1]

    def __exit__(self, *exc: Any) -> None:
        context.stack.pop()


def get_mesh() -> Mesh:
    """The current mesh; one without axes if there is none."""
    return context.mesh() or EMPTY


class DuplicateSpecError(Exception):
    """A mesh axis is used for two dimensions."""


class IndivisibleError(ValueError):
    """A dimension cannot be cut into equal parts."""


class NamedSharding(Sharding):
    """An array cut over the axes of a mesh, as a PartitionSpec says.

    Raises ValueError for a spec that names an axis which the mesh lacks, DuplicateSpecError for
    one that names an axis twice.
    """

    def __init__(
        self,
        mesh: Mesh,
        spec: Any,
        *,
        memory_kind: str | None = None,
        _logical_device_ids: Any = None,
    ):
        if not isinstance(mesh, Mesh):
            raise TypeError(f"NamedSharding: mesh must be a Mesh, got {mesh!r}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"NamedSharding: spec must be a PartitionSpec, got {spec!r}")
        check_spec(mesh, spec)
        self.mesh, self.spec = mesh, spec
        self.memory_kind = check_memory_kind(mesh.device_list[0], memory_kind)
        self.device_set = frozenset(mesh.device_list)

    @property
    def device_list(self) -> tuple[Device, ...]:
        return self.mesh.device_list

    def tiles(self) -> list[int]:
        """Into how many parts each dimension that the spec names is cut."""
        sizes = self.mesh.shape
        return [math.prod(sizes[a] for a in axes_of(p)) for p in self.spec]

    @property
    def is_fully_replicated(self) -> bool:
        return all(n == 1 for n in self.tiles())

    @property
    def replicated_axes(self) -> frozenset:
        """The mesh axes that no dimension is cut over."""
        return frozenset(self.mesh.axis_names) - frozenset(self.spec.names())

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        if len(aval_shape) < len(self.spec):
            hint = " For scalars the PartitionSpec should be P()" if not aval_shape else ""
            raise ValueError(
                f"Sharding {self!r} is only valid for values of rank at least {len(self.spec)}, "
                f"but was applied to a value of rank {len(aval_shape)}.{hint}"
            )

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        self.check_compatible_aval(global_shape)
        tiles = self.tiles()
        out = list(global_shape)
        for axis, n in enumerate(tiles):
            if out[axis] % n:
                raise IndivisibleError(
                    f"Sharding {self!r} implies that array axis {axis} is partitioned {n} times, "
                    f"but the dimension size is {out[axis]} (full shape: {tuple(global_shape)}, "
                    f"per-dimension tiling factors: {tiles} should evenly divide the shape)"
                )
            out[axis] //= n
        return tuple(out)

    def starts(self, global_shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        """For each device, in order, the indices at which its part begins."""
        part = self.shard_shape(global_shape)
        names, sizes = self.mesh.axis_names, self.mesh.shape
        out = []
        for where in itertools.product(*map(range, self.mesh.axis_sizes)):
            at = dict(zip(names, where, strict=True))
            start = [0] * len(part)
            for axis, entry in enumerate(self.spec):
                tile = 0
                for name in axes_of(entry):
                    tile = tile * sizes[name] + at[name]
                start[axis] = tile * part[axis]
            out.append(tuple(start))
        return out

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        part = self.shard_shape(global_shape)
        tiles = [*self.tiles(), *[1] * len(part)]
        return {
            d: tuple(
                slice(s, s + n) if t > 1 else slice(None)
                for s, n, t in zip(start, part, tiles, strict=False)
            )
            for d, start in zip(self.device_list, self.starts(global_shape), strict=True)
        }

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        if self.device_list != other.device_list or self.memory_kind != other.memory_kind:
            return False
        if not isinstance(other, NamedSharding):
            return self.is_fully_replicated and other.is_fully_replicated
        shape = tuple(math.lcm(a, b) for a, b in self._common_tiles(other, ndim))
        return self.starts(shape) == other.starts(shape)

    def _common_tiles(self, other: NamedSharding, ndim: int) -> Iterable[tuple[int, int]]:
        def pad(tiles: list[int]) -> list[int]:
            return [*tiles, *[1] * (ndim - len(tiles))]

        return zip(pad(self.tiles()), pad(other.tiles()), strict=True)

    def update(self, **changes: Any) -> NamedSharding:
        """A copy with some of mesh, spec, memory_kind replaced."""
        return NamedSharding(
            changes.get("mesh", self.mesh),
            changes.get("spec", self.spec),
            memory_kind=changes.get("memory_kind", self.memory_kind),
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            isinstance(other, NamedSharding)
            and self.spec == other.spec
            and self.mesh == other.mesh
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return hash((NamedSharding, self.mesh, self.spec, self.memory_kind))

    def __repr__(self) -> str:
        return (
            f"NamedSharding(mesh={self.mesh}, spec={self.spec!r}, memory_kind={self.memory_kind})"
        )

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)


def check_spec(mesh: Mesh, spec: PartitionSpec) -> None:
    """Raise where the spec's names are not axes of the mesh, or are used twice."""
    seen = set()
    for name in spec.names():
        if name not in mesh.axis_names:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
            )
        if name in seen:
            raise DuplicateSpecError(
                "A single NamedSharding spec specification can map every mesh axis to at most one "
                f"positional dimension, but {spec} has duplicate entries for `{name}`"
            )
        seen.add(name)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Any = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices (or the given ones) with axes of these sizes and names.

    Raises ValueError where there are too few devices.
    """
    chosen = list(_devices.devices() if devices is None else devices)
    size = math.prod(axis_shapes)
    if len(chosen) < size:
        raise ValueError(
            f"Number of devices {len(chosen)} must be >= the product of mesh_shape "
            f"{tuple(axis_shapes)}"
        )
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(tuple(axis_shapes))
    grid = np.empty(size, dtype=object)
    grid[:] = chosen[:size]
    if len(names) != len(tuple(axis_shapes)):
        return Mesh(grid.reshape(tuple(axis_shapes)), names)
    return Mesh(grid.reshape(tuple(axis_shapes)), names, axis_types)


__all__ = [
    "AxisType",
    "DuplicateSpecError",
    "IndivisibleError",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "context",
    "get_mesh",
    "make_mesh",
    "set_mesh",
]
