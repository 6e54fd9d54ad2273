"""Devices and the sharding of an array that lives on one of them."""

from __future__ import annotations

import os
from typing import Any


class Device:
    """A device of this process. Attributes: `id`, `platform`, `device_kind`, `process_index`."""

    __slots__ = ("device_kind", "id", "local_hardware_id", "platform", "process_index")

    def __init__(self, id: int, platform: str, device_kind: str):
        self.id, self.platform, self.device_kind = id, platform, device_kind
        self.process_index, self.local_hardware_id = 0, id

    @property
    def host_id(self) -> int:
        return self.process_index

    def memory_stats(self) -> dict[str, int]:
        """Bytes in use and at peak in the device's buffer pool."""
        from ...runtime import pool_stats

        return pool_stats()

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


class Sharding:
    """How an array is laid out over devices."""

    device_set: frozenset[Device]

    @property
    def is_fully_replicated(self) -> bool:
        raise NotImplementedError

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    @property
    def addressable_devices(self) -> frozenset[Device]:
        return self.device_set


class SingleDeviceSharding(Sharding):
    """The whole array on one device."""

    def __init__(self, device: Device, *, memory_kind: str | None = None):
        if not isinstance(device, Device):
            raise TypeError(f"SingleDeviceSharding takes a device, got {device!r}")
        self._device, self.memory_kind = device, memory_kind or "device"
        self.device_set = frozenset((device,))

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

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


_cpu: list[Device] = [Device(0, "cpu", "cpu")]
_shardings = {0: SingleDeviceSharding(_cpu[0])}


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a backend (`'cpu'`). Raises RuntimeError for an unknown backend."""
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
    return list(_cpu)


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of one process; of this one by default."""
    if process_index not in (None, 0):
        raise ValueError(f"Unknown process_index {process_index}, must be one of [0]")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    return 0


def process_count(backend: str | None = None) -> int:
    return 1


def default_backend() -> str:
    """The platform on which programs run by default."""
    return "cpu"


def device_of(device_id: int) -> Device:
    return _cpu[device_id]


def sharding_of(device_id: int) -> SingleDeviceSharding:
    return _shardings[device_id]


def cpu_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
