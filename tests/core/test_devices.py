"""Devices and shardings of arrays beside jax."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "transforms"))
from both import JAX, OURS, Failed, fails, run, same

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "platform": lambda m: m.jax.devices()[0].platform,
    "backend": lambda m: m.jax.default_backend(),
    "text": lambda m: str(m.jax.devices()[0]),
    "id": lambda m: (m.jax.devices()[0].id, m.jax.devices()[0].process_index),
    "cpu": lambda m: [str(d) for d in m.jax.devices("cpu")][:1],
    "processes": lambda m: (m.jax.process_index(), m.jax.process_count()),
    "counts": lambda m: len(m.jax.local_devices()) == m.jax.local_device_count() <= m.jax.device_count(),
    "unknown backend": lambda m: m.jax.devices("foo"),
    "unknown local backend": lambda m: m.jax.local_devices(backend="foo"),
    "unknown process": lambda m: m.jax.local_devices(process_index=5),
    "unknown count": lambda m: m.jax.device_count("foo"),
    "device of an array": lambda m: m.jnp.ones(3).device == m.jax.devices()[0],
    "devices of an array": lambda m: m.jnp.ones(3).devices() == {m.jax.devices()[0]},
    "sharding": lambda m: (
        m.jnp.ones(3).sharding == m.jax.sharding.SingleDeviceSharding(m.jax.devices()[0])
    ),
    "sharding's text": lambda m: type(m.jnp.ones(3).sharding).__name__,
    "sharding's properties": lambda m: (lambda s: (
        len(s.device_set), s.is_fully_replicated, s.is_fully_addressable, s.num_devices, s.shard_shape((4, 2)),
        len(s.addressable_devices),
    ))(m.jnp.ones(3).sharding),
    "shards": lambda m: (lambda s: (len(s), s[0].index, s[0].replica_id, s[0].data))(m.jnp.ones(3).addressable_shards),
    "device_put": lambda m: m.jax.device_put({"a": V, "b": [1, 2.5]}),
    "device_put to a device": lambda m: m.jax.device_put(V, m.jax.devices()[0]),
    "device_put to a sharding": lambda m: m.jax.device_put(V, m.jax.sharding.SingleDeviceSharding(m.jax.devices()[0])),
    "device_put keeps weak types": lambda m: m.jax.device_put(1.0),
    "committed": lambda m: (m.jnp.ones(3).committed, m.jax.device_put(V, m.jax.devices()[0]).committed, m.jax.device_put(V).committed),
    "device_put of a string": lambda m: m.jax.device_put("a"),
    "device_put to nonsense": lambda m: m.jax.device_put(V, "nowhere"),
    "device_put in jit": lambda m: m.jax.jit(lambda x: m.jax.device_put(x) * 2)(V),
    "device_put in grad": lambda m: m.jax.grad(lambda x: m.jax.device_put(x) ** 2)(2.0),
    "device_get": lambda m: m.jax.device_get({"a": m.jnp.asarray(V), "b": 3}),
    "device_get of numpy": lambda m: m.jax.device_get(V),
    "device argument": lambda m: m.jnp.zeros(3, device=m.jax.devices()[0]),
    "to_device": lambda m: m.jnp.ones(3).to_device(m.jax.devices()[0]),
    "default_device": lambda m: _default(m),
    "unknown default device": lambda m: _bad_default(m),
    "block": lambda m: m.jax.block_until_ready({"a": m.jnp.ones(2)}),
}  # fmt: skip


def _default(m: Any) -> Any:
    with m.jax.default_device(m.jax.devices()[0]):
        return m.jnp.ones(3).device == m.jax.devices()[0], m.jax.jit(lambda x: x + 1)(1.0)


def _bad_default(m: Any) -> Any:
    with m.jax.default_device(3):
        return m.jnp.ones(3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    if isinstance(run(program, JAX), Failed):
        fails(program)
    else:
        same(program)


def test_texts_of_errors() -> None:
    with pytest.raises(RuntimeError, match=r"Unknown backend.*foo"):
        lingon.devices("foo")
    for m in (JAX, OURS):
        assert repr(m.jax.devices()[0]).endswith("CpuDevice(id=0)")


def test_sharding_of_no_device() -> None:
    with pytest.raises(TypeError, match="3"):
        lingon.sharding.SingleDeviceSharding(3)


def test_devices_are_the_same_objects() -> None:
    a, b = lingon.devices(), lingon.devices()
    assert a[0] is b[0] and lnp.ones(1).device is a[0]
    assert isinstance(a[0], lingon.Device) and len({a[0], b[0]}) == 1
    a.clear()
    assert lingon.devices()


def test_memory_statistics() -> None:
    stats = lingon.devices()[0].memory_stats()
    assert stats and all(isinstance(v, int) for v in stats.values())
