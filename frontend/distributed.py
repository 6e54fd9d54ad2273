"""Several processes as one program: connecting them, over MPI."""

from __future__ import annotations

import atexit
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any

from .core import devices as _devices
from .core.errors import JaxRuntimeError

#: The connection to the other processes, or None.
_link: Any = None


def is_initialized() -> bool:
    """Whether the processes are connected."""
    return _link is not None


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Connect the processes that `mpiexec` has started, each of which calls this.

    Afterwards `devices()` are those of all processes. To be called before the devices are used.

    Args:
      num_processes, process_id: checked against what MPI says; it knows them.
      local_device_ids: which of this process' devices to use; all of them by default.
      initialization_timeout: how many seconds to wait for the other processes.
      heartbeat_timeout_seconds: a process that is not heard of for so long counts as lost: those
        that wait for it in a collective raise JaxRuntimeError.
      shutdown_timeout_seconds: how many seconds `shutdown` waits for the others.
      coordinator_address, coordinator_bind_address, cluster_detection_method, slice_index,
        partition_index: accepted for programs written for JAX; MPI needs none of them.

    Raises ImportError without mpi4py or an MPI library, RuntimeError if called twice or after the
    devices were used, ValueError for numbers that differ from MPI's.
    """
    global _link
    if _link is not None:
        raise RuntimeError("distributed.initialize should only be called once.")
    if _devices.in_use():
        raise RuntimeError(
            "jax.distributed.initialize() must be called before any JAX calls that might initialise "
            "the devices. This includes jax.devices, jax.device_put, pmap and others."
        )
    for name, value in (
        ("initialization_timeout", initialization_timeout),
        ("heartbeat_timeout_seconds", heartbeat_timeout_seconds),
        ("shutdown_timeout_seconds", shutdown_timeout_seconds),
    ):
        if not value > 0:
            raise ValueError(f"{name} must be a positive number of seconds, got {value!r}")
    from ..runtime.mpi import Processes

    link = Processes(
        timeout=heartbeat_timeout_seconds,
        start_timeout=initialization_timeout,
        error=JaxRuntimeError,
        collective_timeout=_collective_timeout(),
    )
    try:
        _check(link, num_processes, process_id)
        _devices.connect(link.index, _gather(link), local_device_ids)
    except BaseException as error:
        link.close(shutdown_timeout_seconds, _after(error))
        atexit.register(link.finalize)
        raise
    _share_cores(link)
    link.shutdown_timeout = shutdown_timeout_seconds
    _link = link
    atexit.register(_leave, link)


def _collective_timeout() -> float | None:
    text = os.environ.get("LINGON_COLLECTIVE_TIMEOUT")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ValueError(
            f"LINGON_COLLECTIVE_TIMEOUT must be a positive number of seconds, got {text!r}"
        )
    return value


def _check(link: Any, num_processes: int | None, process_id: int | None) -> None:
    if num_processes is not None and num_processes != link.count:
        raise ValueError(
            f"num_processes is {num_processes}, but MPI has started {link.count}: start the program "
            f"with 'mpiexec -n {num_processes} python ...'"
        )
    if process_id is not None and process_id != link.index:
        raise ValueError(f"process_id is {process_id}, but MPI says {link.index}")


def _gather(link: Any) -> Any:
    def gather(value: int) -> list[int]:
        return [struct.unpack("<q", b)[0] for b in link.allgather(struct.pack("<q", value), 1)]

    return gather


def _share_cores(link: Any) -> None:
    """Divide the machine's cores among its processes, unless the launcher or the user has."""
    from ..runtime import available_cores, set_num_threads

    bound = available_cores() < (os.cpu_count() or 1)
    if link.neighbours > 1 and not bound and "LINGON_NUM_THREADS" not in os.environ:
        set_num_threads(max(1, available_cores() // link.neighbours))


def _after(error: BaseException | None) -> str:
    """How an exception is told to other processes."""
    if error is None:
        return ""
    return f" after {type(error).__name__}: {error}"[:300]


def _leave(link: Any) -> None:
    """At the end of the process: tell the others, and leave MPI."""
    global _link
    if _link is link:
        error = None
        if not hasattr(sys, "ps1"):
            error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        link.close(link.shutdown_timeout, _after(error))
        _link = None
    link.finalize()


def shutdown() -> None:
    """Disconnect the processes, each of which calls this; at the end of a program it is implied.

    Waits for the others, up to the `shutdown_timeout_seconds` of `initialize`. Programs on devices
    of several processes can no longer run afterwards.
    """
    global _link
    if _link is None:
        return
    link, _link = _link, None
    link.close(link.shutdown_timeout)


def exchange(data: bytes, name: int) -> list[bytes]:
    """The bytes that the processes give, in their order. All must call it with an equal `name`.

    Raises RuntimeError if the processes are no longer connected.
    """
    if _link is None:
        if _devices.process_count() > 1:
            raise RuntimeError("the processes are no longer connected")
        return [data]
    return _link.allgather(data, name)


__all__ = ["exchange", "initialize", "is_initialized", "shutdown"]
