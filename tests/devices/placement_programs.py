"""Programs over arrays on several devices, and about where arrays are. See two_libraries.py."""

# ruff: noqa: F821

DEVICES = jax.devices()
line = Mesh(DEVICES[:4], ("i",))
grid = Mesh(np.array(DEVICES).reshape(2, 4), ("x", "y"))
x = np.arange(8.0, dtype=np.float32)
xx = np.arange(64.0, dtype=np.float32).reshape(8, 8)
CUT, WHOLE = NamedSharding(line, P("i")), NamedSharding(line, P())
GRID = NamedSharding(grid, P("x", "y"))
ONE = jax.sharding.SingleDeviceSharding(DEVICES[3])

ARRAYS = {
    "rows": jax.device_put(xx, CUT),
    "columns": jax.device_put(xx, NamedSharding(line, P(None, "i"))),
    "grid": jax.device_put(xx, GRID),
}
BODIES = {
    "add": lambda v: v + 1,
    "sin": lambda v: jnp.sin(v),
    "transpose": lambda v: v.T,
    "sum": lambda v: v.sum(),
    "sum 0": lambda v: v.sum(0),
    "sum 1": lambda v: v.sum(1),
    "max": lambda v: v.max(1),
    "mean": lambda v: v.mean(0),
    "product": lambda v: v @ jnp.ones((8, 3)),
    "with its transpose": lambda v: v @ v.T,
    "transpose with it": lambda v: v.T @ v,
    "row": lambda v: v[2],
    "column": lambda v: v[:, 2],
    "columns": lambda v: v[:, 1:3],
    "reshape": lambda v: v.reshape(2, 4, 8),
    "new axis": lambda v: v[None],
    "where": lambda v: jnp.where(v > 3, v, 0.0),
    "softmax": lambda v: jax.nn.softmax(v, 1),
    "relu": lambda v: jax.nn.relu(v - 30),
    "argmax": lambda v: jnp.argmax(v, 1),
    "broadcast": lambda v: v + jnp.arange(8.0),
    "outer": lambda v: v[:, 0][:, None] * v[0][None],
    "astype": lambda v: v.astype(jnp.int32),
    "any": lambda v: (v > 60).any(),
    "all": lambda v: (v >= 0).all(1),
    "prod": lambda v: (v / 60).prod(1),
    "std": lambda v: v.std(1),
    "einsum": lambda v: jnp.einsum("ij,kj->ik", v, v),
    "grad": jax.grad(lambda v: (jnp.sin(v) @ jnp.ones((8, 2))).sum()),
    "vmap": jax.vmap(lambda r: r / r.sum()),
    "constant": lambda v: v * xx,
    "several": lambda v: (v, v.sum(), jnp.ones(3)),
    "network": jax.grad(
        lambda v: jnp.log(jnp.sum(jnp.exp(jax.nn.relu(v @ jnp.ones((8, 4))) / 100)))
    ),
    # whole arrays on every device
    "sort": lambda v: jnp.sort(v, 1),
    "sort 0": lambda v: jnp.sort(v, 0),
    "cumsum": lambda v: jnp.cumsum(v, 1),
    "concatenate": lambda v: jnp.concatenate([v, v], 1),
    "concatenate 0": lambda v: jnp.concatenate([v, v], 0),
    "pad": lambda v: jnp.pad(v, 1),
    "flip": lambda v: jnp.flip(v, 1),
    "take": lambda v: jnp.take(v, jnp.array([1, 3]), axis=0),
    "flat": lambda v: v.reshape(-1),
    "split rows": lambda v: v.reshape(8, 2, 4),
    "rows": lambda v: v[1:3],
    "scan": lambda v: lax.scan(lambda c, r: (c + r, c), v[0], v),
    "loop": lambda v: lax.fori_loop(0, 3, lambda i, c: c * 1.1 + 1, v),
    "branch": lambda v: lax.cond(v[0, 0] > 1, lambda y: y, lambda y: y * 2, v),
}
EAGER = ("add", "sin", "transpose", "sum", "sum 1", "product", "row", "astype", "max")

PROGRAMS = {}
for a, array in ARRAYS.items():
    for b, body in BODIES.items():
        PROGRAMS[f"{a}: {b}"] = lambda f=body, v=array: jax.jit(f)(v)
    for b in EAGER:
        PROGRAMS[f"{a}, eagerly: {b}"] = lambda f=BODIES[b], v=array: f(v)

cut = jax.device_put(x, CUT)
other = NamedSharding(Mesh(DEVICES[:2], "i"), P("i"))


def both(a, b):
    return jax.jit(lambda u, v: u + v)(a, b)


def shards(v):
    return [str([(s.device.id, s.index, s.replica_id, np.asarray(s.data).tolist()) for s in v])]


def deleted():
    v = jax.device_put(x, CUT)
    v.delete()
    return v + 1


PROGRAMS |= {
    "with one on no device in particular": lambda: cut + x,
    "with one on all devices": lambda: cut + jax.device_put(x, WHOLE),
    "with one on one device": lambda: cut + jax.device_put(x, DEVICES[0]),
    "with one on other devices": lambda: cut + jax.device_put(x, other),
    "jit with one on one device": lambda: both(cut, jax.device_put(x, DEVICES[0])),
    "jit with two on two devices": lambda: both(
        jax.device_put(x, DEVICES[2]), jax.device_put(x, DEVICES[3])
    ),
    "two on two devices": lambda: jax.device_put(x, DEVICES[2]) + jax.device_put(x, DEVICES[3]),
    "in_shardings": lambda: jax.jit(lambda v: v * 2, in_shardings=CUT)(x),
    "out_shardings": lambda: jax.jit(lambda v: v * 2, out_shardings=CUT)(x),
    "both shardings": lambda: jax.jit(lambda v: v * 2, in_shardings=CUT, out_shardings=WHOLE)(x),
    "in_shardings, a tree": lambda: jax.jit(
        lambda v, w: v["a"] + w, in_shardings=({"a": CUT}, WHOLE)
    )({"a": x}, x),
    "in_shardings with None": lambda: jax.jit(lambda v, w: v + w, in_shardings=(CUT, None))(x, x),
    "out_shardings, a tuple": lambda: jax.jit(lambda v: (v, v.sum()), out_shardings=(CUT, WHOLE))(
        x
    ),
    "in_shardings too long": lambda: jax.jit(lambda v: v, in_shardings=(CUT, CUT))(x),
    "in_shardings no sharding": lambda: jax.jit(lambda v: v, in_shardings=3),
    "in_shardings without mesh": lambda: jax.jit(lambda v: v, in_shardings=P("i"))(x),
    "in_shardings, wrong size": lambda: jax.jit(lambda v: v, in_shardings=CUT)(jnp.ones(7)),
    "out_shardings, wrong size": lambda: jax.jit(lambda v: v, out_shardings=CUT)(jnp.ones(7)),
    "in_shardings, argument elsewhere": lambda: jax.jit(lambda v: v, in_shardings=CUT)(
        jax.device_put(x, DEVICES[5])
    ),
    "in_shardings, argument cut otherwise": lambda: jax.jit(lambda v: v, in_shardings=CUT)(
        jax.device_put(x, WHOLE)
    ),
    "out_shardings, one device": lambda: jax.jit(lambda v: v * 2, out_shardings=ONE)(x),
    "in_shardings, one device": lambda: jax.jit(lambda v: v * 2, in_shardings=ONE)(x),
    "jit with device": lambda: jax.jit(lambda v: v, device=DEVICES[3])(1.0),
    "constraint": lambda: jax.jit(lambda v: lax.with_sharding_constraint(v * 2, CUT) + 1)(x),
    "constraint, eagerly": lambda: lax.with_sharding_constraint(x, CUT),
    "constraint of a tree": lambda: lax.with_sharding_constraint({"a": x, "b": xx}, CUT),
    "constraint, wrong size": lambda: lax.with_sharding_constraint(jnp.ones(7), CUT),
    "constraint without mesh": lambda: lax.with_sharding_constraint(x, P("i")),
    "vmap of constraint": lambda: jax.vmap(lambda v: lax.with_sharding_constraint(v, CUT))(
        np.ones((3, 8), np.float32)
    ),
    "grad of constraint": lambda: jax.jit(
        jax.grad(lambda v: (lax.with_sharding_constraint(v, CUT) ** 2).sum())
    )(x),
    "text of device_put": lambda: [str(jax.make_jaxpr(lambda v: jax.device_put(v, CUT))(x))],
    "device_put, wrong size": lambda: jax.device_put(jnp.ones(7), CUT),
    "device_put of a list": lambda: jax.device_put([x, x], [DEVICES[1], CUT]),
    "device_put to nothing": lambda: jax.device_put(x, 3),
    "device_put without mesh": lambda: jax.device_put(x, P("i")),
    "device_put no prefix": lambda: jax.device_put((x, x), (DEVICES[1],)),
    "from a callback": lambda: jax.make_array_from_callback((8,), CUT, lambda i: x[i]),
    "from a callback, two axes": lambda: jax.make_array_from_callback(
        (8, 8), GRID, lambda i: xx[i]
    ),
    "from a callback, wrong parts": lambda: jax.make_array_from_callback(
        (8,), CUT, lambda i: jnp.arange(3.0)
    ),
    "from parts": lambda: jax.make_array_from_single_device_arrays(
        (8,), CUT, [jax.device_put(jnp.ones(2), d) for d in DEVICES[:4]]
    ),
    "from wrong parts": lambda: jax.make_array_from_single_device_arrays(
        (8,), CUT, [jax.device_put(jnp.ones(3), d) for d in DEVICES[:4]]
    ),
    "from too few parts": lambda: jax.make_array_from_single_device_arrays(
        (8,), CUT, [jnp.ones(2)]
    ),
    "parts": lambda: shards(ARRAYS["grid"].addressable_shards),
    "parts with copies": lambda: shards(
        jax.device_put(xx, NamedSharding(grid, P("y"))).addressable_shards
    ),
    "properties": lambda: [
        str(
            (
                cut.is_fully_replicated,
                cut.is_fully_addressable,
                cut.committed,
                len(cut.devices()),
                len(cut.global_shards),
                cut.on_device_size_in_bytes(),
                str(cut.device),
                repr(cut),
            )
        )
    ],
    "numbers": lambda: [float(cut.sum()), int(cut[3])],
    "iteration": lambda: [np.asarray(v) for v in cut],
    "random": lambda: jax.jit(lambda v: v + jax.random.normal(jax.random.key(0), (8,)))(cut),
    "pointer": lambda: cut.unsafe_buffer_pointer(),
    "donate": lambda: jax.jit(lambda v: v * 2, donate_argnums=0)(jax.device_put(x, CUT)),
    "delete": deleted,
    "spec": lambda: [
        str((P("x", None, ("x", "y")), P(), P(("x",)), P("x") + P("y"), len(P("x", "y"))))
    ],
    "meshes": lambda: [str(line), repr(grid), str(grid.shape), str(grid.device_ids.tolist())],
    "equivalent": lambda: [
        str(
            (
                GRID.is_equivalent_to(NamedSharding(grid, P("x", ("y",))), 2),
                CUT.is_equivalent_to(WHOLE, 1),
                NamedSharding(line, P("i")) == CUT,
                GRID.shard_shape((8, 8)),
                NamedSharding(grid, P(("y", "x"))).devices_indices_map((8,)),
            )
        )
    ],
    "unknown axis": lambda: NamedSharding(grid, P("z")),
    "axis twice": lambda: NamedSharding(grid, P("x", "x")),
    "mesh of a wrong rank": lambda: Mesh(DEVICES, ("i", "j")),
    "make_mesh": lambda: [repr(jax.make_mesh((2, 4), ("a", "b")))],
    "make_mesh, too large": lambda: jax.make_mesh((3, 5), ("a", "b")),
    "on its device": lambda: jax.device_put(x, DEVICES[2]) * 2,
    "element on its device": lambda: jax.device_put(x, DEVICES[2])[1],
    "jit on its device": lambda: jax.jit(lambda v: v * 2)(jax.device_put(x, DEVICES[2])),
}
