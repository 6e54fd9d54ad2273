"""Devices and the sharding of an array that lives on one of them."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime import set_default_device
from . import config


class Memory:
    """A memory of a device. All memories of the CPU are its one memory. Attribute: `kind`."""

    __slots__ = ("device", "kind")

    def __init__(self, device: Device, kind: str):
        self.device, self.kind = device, kind

    def addressable_by_devices(self) -> list[Device]:
        """The devices that reach this memory."""
        return [self.device]

    def __repr__(self) -> str:
        return f"{self.device.platform.upper()}_{self.kind.upper()}_{self.device.id}"


class Client:
    """The backend that a device belongs to. Attributes: `platform`, `platform_version`."""

    platform = "cpu"
    platform_version = "lingon"

    def devices(self) -> list[Device]:
        """All devices."""
        return devices()

    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return local_devices()

    def device_count(self) -> int:
        """Number of devices."""
        return device_count()

    def local_device_count(self) -> int:
        """Number of devices of this process."""
        return local_device_count()

    def process_index(self) -> int:
        """Number of this process."""
        return process_index()


class Device:
    """A device. Attributes: `id`, `platform`, `device_kind`, `process_index`, `local_hardware_id`.

    `id` is its number among all processes' devices, `local_hardware_id` among those of its own.
    """

    __slots__ = ("device_kind", "id", "local_hardware_id", "platform", "process_index")
    client = Client()

    def __init__(self, id: int, platform: str, device_kind: str, process: int, number: int):
        self.id, self.platform, self.device_kind = id, platform, device_kind
        self.process_index, self.local_hardware_id = process, number

    @property
    def host_id(self) -> int:
        """The older name of `process_index`."""
        return self.process_index

    task_id = host_id

    def memory_stats(self) -> dict[str, int]:
        """Bytes in use and at peak in the buffer pool, which all devices of the CPU share."""
        from ...runtime import pool_stats

        return pool_stats()

    def default_memory(self) -> Memory:
        """The memory in which arrays are."""
        return Memory(self, "device")

    def addressable_memories(self) -> list[Memory]:
        """All memories that the device reaches."""
        return [Memory(self, k) for k in MEMORY_KINDS]

    def memory(self, kind: str) -> Memory:
        """The memory of a kind. Raises ValueError for an unknown kind."""
        return Memory(self, check_memory_kind(self, kind))

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> Any:
        return _device_with_id, (self.id,)


MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")


def check_memory_kind(device: Device, kind: str | None) -> str:
    """The memory kind, the default one for None. Raises ValueError for an unknown one."""
    if kind is None:
        return "device"
    if kind not in MEMORY_KINDS:
        raise ValueError(
            f"Could not find memory addressable by device {device.device_kind}. Device "
            f"{device.device_kind} can address the following memory kinds: "
            f"{', '.join(MEMORY_KINDS)}. Got memory kind: {kind}"
        )
    return kind


Index = tuple[slice, ...]


class Sharding:
    """How an array is laid out over devices."""

    device_set: frozenset[Device]
    memory_kind: str

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device has the whole array."""
        raise NotImplementedError

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return len(self.addressable_devices) == len(self.device_set)

    @property
    def has_addressable_devices(self) -> bool:
        """Whether a device belongs to this process."""
        return bool(self.addressable_devices)

    @property
    def num_devices(self) -> int:
        """Number of devices."""
        return len(self.device_set)

    @property
    def addressable_devices(self) -> frozenset[Device]:
        """The devices of this process."""
        return frozenset(d for d in self.device_set if is_local(d))

    @property
    def device_list(self) -> tuple[Device, ...]:
        """The devices in the order of the shards."""
        raise NotImplementedError

    @property
    def addressable_device_list(self) -> tuple[Device, ...]:
        """The devices of this process in the order of the shards."""
        return tuple(d for d in self.device_list if is_local(d))

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        """The part of an array of this shape that each device has."""
        raise NotImplementedError

    def addressable_devices_indices_map(
        self, global_shape: tuple[int, ...]
    ) -> Mapping[Device, Index | None]:
        """`devices_indices_map` for the devices of this process."""
        return {d: i for d, i in self.devices_indices_map(global_shape).items() if is_local(d)}

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part. Raises ValueError where it does not divide."""
        raise NotImplementedError

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Raise ValueError for a shape that has too few dimensions."""

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether arrays of `ndim` dimensions have the same parts on the same devices."""
        raise NotImplementedError

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same layout in another memory."""
        raise NotImplementedError


class SingleDeviceSharding(Sharding):
    """The whole array on one device."""

    def __init__(self, device: Device, *, memory_kind: str | None = None):
        if not isinstance(device, Device):
            raise TypeError(f"SingleDeviceSharding takes a device, got {device!r}")
        self._device = device
        self.memory_kind = check_memory_kind(device, memory_kind)
        self.device_set = frozenset((device,))

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def device_list(self) -> tuple[Device, ...]:
        return (self._device,)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        return {self._device: (slice(None),) * len(global_shape)}

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        return other.device_list == self.device_list and self.memory_kind == other.memory_kind

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, SingleDeviceSharding)
            and self._device == other._device
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


class Shard:
    """The part of an array that is on one device."""

    def __init__(self, device: Device, index: tuple, replica_id: int, data: Any):
        self.device, self.index, self.replica_id, self.data = device, index, replica_id, data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def _device_number() -> int:
    """How many devices the CPU shows: the option, the environment or XLA_FLAGS; one by default."""
    asked = config.num_cpu_devices.value
    if asked >= 0:
        return _positive("jax_num_cpu_devices", asked)
    text = os.environ.get("LINGON_NUM_CPU_DEVICES")
    if text is not None:
        return _positive("LINGON_NUM_CPU_DEVICES", text)
    flags = re.findall(
        r"(?:^|\s)--xla_force_host_platform_device_count=(\S*)", os.environ.get("XLA_FLAGS", "")
    )
    return _positive("--xla_force_host_platform_device_count", flags[-1]) if flags else 1


def _check_platforms() -> None:
    """Refuse platforms that are asked for and do not exist."""
    asked = config.platform.value
    for name in (asked or "cpu").split(","):
        if name.strip().lower() != "cpu":
            raise RuntimeError(
                f"Unable to initialize backend '{name}': it is not in the list of known backends: "
                f"['cpu']. (The option jax_platforms is {asked!r}.)"
            )


def _positive(where: str, value: Any) -> int:
    if not str(value).isdecimal() or not 1 <= int(value) <= MAX_DEVICES:
        raise RuntimeError(
            f"Unable to initialize backend 'cpu': {where} must be a number of devices from 1 to "
            f"{MAX_DEVICES}, got {value!r}"
        )
    return int(value)


#: More devices than this have never helped anybody; it bounds what a wrong setting can do.
MAX_DEVICES = 1024
_cpu: list[Device] = []
_local: list[Device] = []
#: This process' number, and how many devices each process has if there are several.
_process, _counts = 0, tuple[int, ...]()
_shardings: list[SingleDeviceSharding] = []
_lock = threading.Lock()
#: Whether arrays can be on several devices; set when the devices are first asked for.
many = False


def _all() -> list[Device]:
    """The devices, made when they are first asked for."""
    if not _cpu:
        with _lock:
            if not _cpu:
                _check_platforms()
                counts = _counts or (_device_number(),)
                numbers = [(p, i) for p, count in enumerate(counts) for i in range(count)]
                made = [Device(k, "cpu", "cpu", p, i) for k, (p, i) in enumerate(numbers)]
                _local[:] = [d for d in made if d.process_index == _process]
                _shardings[:] = [SingleDeviceSharding(d) for d in _local]
                _cpu.extend(made)
                global many
                many = len(made) > 1
    return _cpu


def _check_number(value: int) -> None:
    """Refuse another number of devices once they are in use, or known to other processes."""
    if _counts and value != _counts[_process]:
        raise RuntimeError(
            "jax_num_cpu_devices must be set before lingon.distributed.initialize(), which tells the "
            "other processes how many devices there are"
        )
    if _cpu and value != len(_cpu):
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized i.e. "
            "before any JAX operation is executed. You should initialize this config immediately "
            "after `import jax`."
        )


config.num_cpu_devices.check = _check_number


def in_use() -> bool:
    """Whether the devices have been asked for."""
    return bool(_cpu)


def connect(process: int, gather: Any, chosen: int | Sequence[int] | None = None) -> None:
    """Let the devices be those of several processes, of which this one has a number.

    `gather` gives the values of all processes from that of each; `chosen` are numbers of own devices
    to be used, if not all are. Must be called before the devices are asked for. Raises ValueError
    for devices that do not exist.
    """
    global _process, _counts
    count = _device_number()
    if chosen is not None:
        numbers = [chosen] if isinstance(chosen, int) else list(chosen)
        if not numbers or len(set(numbers)) != len(numbers) or not set(numbers) <= {*range(count)}:
            raise ValueError(
                f"local_device_ids must be different numbers of the {count} devices of this process, "
                f"got {chosen!r}"
            )
        count = len(numbers)
    counts = tuple(gather(count))
    _process, _counts = process, counts


def is_local(device: Device) -> bool:
    """Whether a device belongs to this process."""
    return device.process_index == _process


def number_of(device: Device) -> int:
    """The runtime's number of a device. Raises ValueError for one of another process."""
    if not is_local(device):
        raise ValueError(
            f"{device!r} belongs to process {device.process_index}; process {_process} cannot put "
            f"arrays there. Its own devices are {_local}"
        )
    return device.local_hardware_id


def several() -> bool:
    """Whether there is more than one device."""
    return len(_all()) > 1


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a backend (`'cpu'`). Raises RuntimeError for an unknown backend."""
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: {backend!r} requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu"
        )
    return list(_all())


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of one process; of this one by default."""
    if process_index is None:
        process_index = host_id
    if process_index is None:
        process_index = _process
    found = [d for d in devices(backend) if d.process_index == process_index]
    if not found:
        raise ValueError(f"Unknown process_index {process_index}")
    return found


def device_count(backend: str | None = None) -> int:
    """Number of devices of all processes."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Number of devices of this process."""
    return len(local_devices(backend=backend))


def process_index(backend: str | None = None) -> int:
    """Number of this process."""
    return _process


def process_count(backend: str | None = None) -> int:
    """Number of processes."""
    return max(len(_counts), 1)


def process_indices(backend: str | None = None) -> list[int]:
    """Numbers of all processes."""
    return list(range(process_count(backend)))


def default_backend() -> str:
    """The platform on which programs run by default."""
    return "cpu"


def device_of(device_id: int) -> Device:
    """The device of this process that the runtime knows by a number."""
    return (_all() and _local)[device_id]


def _device_with_id(id: int) -> Device:
    """The device of all processes' that has an id."""
    return _all()[id]


def sharding_of(device_id: int) -> SingleDeviceSharding:
    """The sharding of a whole array on the device of a number."""
    _all()
    return _shardings[device_id]


def cpu_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _default_device_changed(*_: Any) -> None:
    """Tell the runtime on which device new arrays are."""
    local = config.overridden(config.default_device)
    set_default_device(
        _default_number(config.default_device.global_value),
        -1 if local is None else _default_number(local),
    )


def _default_number(device: Any) -> int:
    return number_of(device) if isinstance(device, Device) else 0


config.default_device.on_change = _default_device_changed
