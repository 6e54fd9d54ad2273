"""Global arrays, pmap and multihost_utils, for lingon and for jax alike: writes down what it sees.

Usage: arrays_program.py lingon FILE | arrays_program.py jax FILE PORT PROCESS. The last process
writes the file: libraries print, too, in the middle of lines.
"""

from __future__ import annotations

import importlib
import re
import sys

import numpy as np

library = sys.argv[1]
jax = importlib.import_module(library)
jnp = importlib.import_module(f"{library}.numpy")
lax = importlib.import_module(f"{library}.lax")
sharding = importlib.import_module(f"{library}.sharding")
mh = importlib.import_module(f"{library}.experimental.multihost_utils")
P, NamedSharding = sharding.PartitionSpec, sharding.NamedSharding

if library == "jax":
    jax.distributed.initialize(f"localhost:{sys.argv[3]}", 2, int(sys.argv[4]))
else:
    jax.distributed.initialize()
p = jax.process_index()
numbers = {d.id: i for i, d in enumerate(jax.devices())}


def plain(x):
    """A description that does not depend on the library, or on how it numbers devices."""
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (set, frozenset)):
        return sorted(plain(y) for y in x)
    if isinstance(x, jax.Device):
        return f"device {numbers[x.id]}"
    if isinstance(x, jax.Array):
        out = f"{x!r} {x.shape} {x.dtype} {x.is_fully_addressable} {x.is_fully_replicated} "
        out += f"{plain([(s.device, s.index, s.replica_id) for s in x.addressable_shards])} "
        return out + str([np.asarray(s.data).tolist() for s in x.addressable_shards])
    if isinstance(x, np.ndarray):
        return f"{x.tolist()} {x.dtype}"
    return re.sub(r"cpu:(\d+)", lambda m: f"cpu:{numbers[int(m[1])]}", str(x))


def show(name, f):
    try:
        out = plain(f())
    except Exception as error:
        kind = next(t for t in type(error).__mro__ if t.__module__ == "builtins")
        out = f"{kind.__name__}: {error}" if name.endswith("!") else kind.__name__
    if p == 1:
        with open(sys.argv[2], "a") as seen:
            seen.write(f"{name}: {out}\n")


show("devices", jax.devices)
show("of each", lambda: [d.process_index for d in jax.devices()])
show("local", lambda: (jax.local_devices(), jax.local_devices(0), jax.local_devices(1)))
show("unknown!", lambda: jax.local_devices(5))
show("counts", lambda: (jax.device_count(), jax.local_device_count(), jax.process_count()))
show("processes", lambda: (jax.process_index(), jax.process_indices()))

x = np.arange(2.0, dtype="float32") + 10 * p
f = jax.pmap(lambda v: (v, lax.psum(v, "i"), lax.axis_index("i"), lax.psum(1, "i")), "i")
show("pmap", lambda: f(x))
show("pmap of its result", lambda: f(f(x)[1]))
show("pmap out_axes", lambda: jax.pmap(lambda v: lax.psum(v, "i"), "i", out_axes=None)(x))
m = np.arange(6.0, dtype="float32").reshape(3, 2)
show("pmap in_axes", lambda: jax.pmap(lambda v: v * 2, in_axes=1, out_axes=1)(m))
show("pmap whole", lambda: jax.pmap(lambda v, w: v + w, in_axes=(0, None))(x, np.float32(3)))
show("pmap static", lambda: jax.pmap(lambda v, n: v * n, static_broadcasted_argnums=1)(x, 3))
show("pmap tree", lambda: jax.pmap(lambda t, k=None: {"a": t[0] + k})((x, x), k=x))
show("pmap axis_size", lambda: jax.pmap(lambda v: v, axis_size=4)(x))
show("pmap wrong axis_size", lambda: jax.pmap(lambda v: v, axis_size=2)(x))
show("pmap wrong size", lambda: jax.pmap(lambda v: v)(np.arange(4.0)))
own = jax.local_devices()
show("pmap own", lambda: jax.pmap(lambda v: lax.psum(v, "i"), "i", devices=own)(x))

mesh = jax.make_mesh((4,), ("x",), axis_types=(sharding.AxisType.Auto,))
grid = jax.make_mesh((2, 2), ("a", "b"), axis_types=(sharding.AxisType.Auto,) * 2)
cut, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
show("mesh", lambda: (mesh.is_multi_process, mesh.local_devices, mesh.local_mesh.devices.tolist()))
show("local mesh", lambda: (grid.local_mesh.axis_sizes, NamedSharding(grid, P("b")).num_devices))
show(
    "sharding",
    lambda: (cut.is_fully_addressable, cut.addressable_devices, cut.has_addressable_devices),
)
make = jax.make_array_from_process_local_data
data = np.arange(4.0, dtype="float32") + 10 * p
a = make(cut, data)
show("array", lambda: a)
show(
    "all shards", lambda: {f"{plain(s.device)} {s.index} {s.data is None}" for s in a.global_shards}
)
show("devices of it", lambda: a.devices())
show("str", lambda: (str(a), f"{a}"))
for name in ("asarray", "sum"):
    show(f"np.{name}!", lambda name=name: getattr(np, name)(np.asarray(a)))
show("device_get!", lambda: jax.device_get(a))
show("item!", lambda: a.item())
show("tolist!", lambda: a.tolist())
show("bool!", lambda: bool(a))
show("float!", lambda: float(a))
show("jit sum", lambda: jax.jit(jnp.sum)(a))
show("float of sum", lambda: float(jax.jit(jnp.sum)(a)))
show("eager", lambda: a * 2 + 1)
show("eager with others", lambda: (a + np.ones(8, "float32"), a + jnp.ones(8, "float32")))
show("committed elsewhere", lambda: a + jax.device_put(jnp.ones(8), own[0]))
show("element", lambda: a[5])
show("to a sharding", lambda: jax.device_put(np.arange(8.0, dtype="float32"), cut))
show("anew", lambda: (jax.device_put(a, whole), jax.device_put(jax.device_put(a, whole), cut)))
show("to a device", lambda: jax.device_put(a, own[0]))
show("replicated", lambda: make(whole, np.arange(3.0, dtype="float32")))
show("global shape", lambda: (make(cut, data, (8,)), make(cut, np.arange(8, dtype="int32"), (8,))))
show("two axes", lambda: make(NamedSharding(grid, P("a", "b")), data.reshape(2, 2)))
show("second axis", lambda: make(NamedSharding(grid, P(None, "b")), data.reshape(2, 2)))
show("does not divide", lambda: make(cut, np.arange(3.0)))
show("wrong global shape", lambda: make(cut, data, (6,)))
single = [jax.device_put(np.full(1, 7, "int32"), d) for d in own]
singles = jax.make_array_from_single_device_arrays
show("from singles", lambda: singles((4,), cut, single))
show("too few!", lambda: singles((4,), cut, single[:1]))
show("callback", lambda: jax.make_array_from_callback((4, 2), cut, lambda i: m.repeat(2, 0)[i]))

gather = mh.process_allgather
show("allgather", lambda: gather({"a": np.arange(3, dtype="int32") + p, "b": 2.5 + p}))
show("tiled", lambda: gather((np.arange(3, dtype="int32") + p, jnp.float32(p)), tiled=True))
show("global", lambda: gather(a, tiled=True))
show("global two", lambda: gather(make(NamedSharding(grid, P("b")), data - 10 * p), tiled=True))
show("global not tiled!", lambda: gather(a))
show("broadcast", lambda: mh.broadcast_one_to_all({"a": np.arange(3, dtype="int32") + p, "b": p}))
show("source", lambda: mh.broadcast_one_to_all(np.arange(3, dtype="int32") + p, p == 1))
show("sync", lambda: mh.sync_global_devices("here"))
show("sync of different", lambda: mh.sync_global_devices(f"here {p}"))
show("equal", lambda: mh.assert_equal({"a": np.arange(3)}, "message"))
show("not equal", lambda: mh.assert_equal(np.arange(3) + p, "message"))
show("to global", lambda: mh.host_local_array_to_global_array(data, mesh, P("x")))
show("to local", lambda: mh.global_array_to_host_local_array(a, mesh, P("x")))
show("to local whole", lambda: mh.global_array_to_host_local_array(a, mesh, P()))

g = jax.jit(jax.shard_map(lambda v: lax.psum(v, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))
show("shard_map", lambda: g(a))
h = jax.jit(lambda v, w: v @ w, in_shardings=(cut, None), out_shardings=whole)
show("shardings", lambda: h(make(cut, np.full((2, 3), p, "float32")), np.ones((3, 2), "float32")))
show("gradient", lambda: jax.grad(lambda v: jnp.sum(g(v) ** 2))(a))
show("initialized", jax.distributed.is_initialized)
show("twice", lambda: jax.distributed.initialize())
jax.distributed.shutdown()
show("at the end", jax.distributed.is_initialized)
