"""Programs of pmap and of the collectives in it. See two_libraries.py."""

# ruff: noqa: F821

x = np.arange(8.0, dtype=np.float32).reshape(4, 2)
x44 = np.arange(16.0, dtype=np.float32).reshape(4, 4)
x444 = np.arange(64, dtype=np.int32).reshape(4, 4, 4)
GROUPS = [[0, 1], [2, 3]]
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def mapped(f, x, **options):
    return lambda: jax.pmap(f, "i", **options)(x)


def text(f, *args):
    return lambda: [str(jax.make_jaxpr(f)(*args))]


def random_numbers(v):
    key = jax.random.fold_in(jax.random.PRNGKey(0), lax.axis_index("i"))
    return jax.random.normal(key, (3,))


def many_steps(v):
    for _ in range(20):
        v = jnp.tanh(v - lax.psum(v, "i") / 8) + lax.pmax(jnp.sin(v), "i")
    for k in range(20):  # each with a number of its own
        v = jnp.tanh(v * x44[k % 4, :2] - lax.psum(v, "i") / 8) + lax.pmax(jnp.sin(v), "i")
    return v


BODIES = {
    "local": lambda v: v * 2,
    "many steps": many_steps,
    "psum": lambda v: lax.psum(v, "i"),
    "psum groups": lambda v: lax.psum(v, "i", axis_index_groups=GROUPS),
    "psum unequal groups": lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1, 2], [3]]),
    "pmean groups": lambda v: lax.pmean(v, "i", axis_index_groups=GROUPS),
    "pmax": lambda v: lax.pmax(v, "i"),
    "pmin": lambda v: lax.pmin(v, "i"),
    "pmax groups": lambda v: lax.pmax(v, "i", axis_index_groups=[[0, 2], [1, 3]]),
    "all_gather": lambda v: lax.all_gather(v, "i"),
    "all_gather axis": lambda v: lax.all_gather(v, "i", axis=1),
    "all_gather tiled": lambda v: lax.all_gather(v, "i", tiled=True),
    "all_gather groups": lambda v: lax.all_gather(v, "i", axis_index_groups=GROUPS),
    "ppermute": lambda v: lax.ppermute(v, "i", [(0, 1), (1, 0)]),
    "pshuffle": lambda v: lax.pshuffle(v, "i", [3, 2, 1, 0]),
    "psum of a number": lambda v: lax.psum(1, "i") + 0 * v,
    "axis_index": lambda v: v + lax.axis_index("i"),
    "axis_size": lambda v: v * lax.axis_size("i"),
    "pmax bool": lambda v: lax.pmax(v > 3, "i"),
    "pmin bool": lambda v: lax.pmin(v > 3, "i"),
    "psum bool": lambda v: lax.psum(v > 3, "i"),
    "psum tree": lambda v: lax.psum({"a": v, "b": (v > 3,)}, "i"),
    "psum bfloat16": lambda v: lax.psum(v.astype(jnp.bfloat16), "i"),
    "psum float16": lambda v: lax.psum(v.astype(jnp.float16), "i"),
    "psum complex": lambda v: lax.psum(v + 1j, "i"),
    "psum int8": lambda v: lax.psum(v.astype(jnp.int8), "i"),
    "pmax uint32": lambda v: lax.pmax(v.astype(jnp.uint32), "i"),
    "psum_scatter groups": lambda v: lax.psum_scatter(v, "i", axis_index_groups=GROUPS),
    "grad of psum": jax.grad(lambda v: lax.psum(v * v, "i").sum()),
    "grad of pmean": jax.grad(lambda v: lax.pmean(v * v, "i").sum()),
    "grad of all_gather": jax.grad(lambda v: (lax.all_gather(v, "i") ** 2).sum()),
    "grad of ppermute": jax.grad(lambda v: (lax.ppermute(v, "i", RING) ** 3).sum()),
    "vmap, two axes": lambda v: jax.vmap(lambda u: lax.psum(u, ("i", "j")), axis_name="j")(v),
    "vmap, groups": lambda v: jax.vmap(lambda u: lax.psum(u, "i", axis_index_groups=GROUPS))(v),
    "vmap of all_gather": lambda v: jax.vmap(lambda u: lax.all_gather(u, "i"))(v),
    "psum over nothing": lambda v: lax.psum(v, ()),
    "psum in a loop": lambda v: lax.fori_loop(0, 3, lambda i, c: lax.psum(c, "i") * 0.1 + i, v),
    "collectives in a scan": lambda v: lax.scan(
        lambda c, a: (lax.ppermute(c, "i", RING) + a, lax.psum(c, "i")), v, jnp.arange(3.0)
    ),
    "psum in a branch": lambda v: lax.cond(
        lax.psum(v.sum(), "i") > 3, lambda u: lax.psum(u, "i"), lambda u: u, v
    ),
    "psum in the condition": lambda v: lax.while_loop(
        lambda c: lax.psum(c.sum(), "i") < 100, lambda c: c + lax.pmax(c, "i") + 1, v
    ),
    "jit": lambda v: jax.jit(lambda u: lax.psum(u, "i") * 2)(v),
    "constants": lambda v: v * jnp.arange(2.0) + lax.psum(jnp.ones(3), "i").sum(),
    "random": random_numbers,
    "typed keys": lambda v: jax.random.split(jax.random.key(0), 2),
    "unbound name": lambda v: lax.psum(v, "j"),
    "no array": lambda v: "a",
    "overlapping groups": lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1], [1, 2]]),
    "psum_scatter of a wrong size": lambda v: lax.psum_scatter(v, "i"),
}
SQUARE = {
    "all_to_all": lambda v: lax.all_to_all(v, "i", 0, 0),
    "pswapaxes": lambda v: lax.pswapaxes(v, "i", 0),
    "psum_scatter": lambda v: lax.psum_scatter(v, "i"),
    "psum_scatter tiled": lambda v: lax.psum_scatter(v, "i", tiled=True),
    "grad of psum_scatter": jax.grad(lambda v: (lax.psum_scatter(v, "i") ** 2).sum()),
}

PROGRAMS = {k: mapped(f, x) for k, f in BODIES.items()}
PROGRAMS |= {k: mapped(f, x44) for k, f in SQUARE.items()}
for s in (0, 1):
    for c in (0, 1):

        def exchange(v, s=s, c=c, **options):
            return lax.all_to_all(v, "i", s, c, **options)

        PROGRAMS[f"all_to_all {s} {c}"] = mapped(exchange, x444)
        PROGRAMS[f"all_to_all {s} {c} tiled"] = mapped(lambda v, e=exchange: e(v, tiled=True), x444)
        PROGRAMS[f"vmap of all_to_all {s} {c}"] = mapped(
            lambda v, e=exchange: jax.vmap(e)(jnp.stack([v, v + 1])), x444
        )

PROGRAMS |= {
    "in_axes 1": lambda: jax.pmap(lambda v: v * 2, in_axes=1, out_axes=1)(x44[:3]),
    "out_axes None": lambda: jax.pmap(lambda v: lax.psum(v, "i"), "i", out_axes=None)(x),
    "in_axes None": lambda: jax.pmap(lambda v, w: v * w, in_axes=(0, None))(x, 3.0),
    "in_axes None, a tree": lambda: jax.pmap(lambda v, w: v * w["a"], in_axes=(0, None))(
        x, {"a": jnp.arange(2.0)}
    ),
    "keywords": lambda: jax.pmap(lambda v, w: v * w)(x, w=x),
    "static": lambda: jax.pmap(lambda v, n: v * n, static_broadcasted_argnums=1)(x, 3),
    "devices": lambda: jax.pmap(lambda v: v * 2, devices=jax.devices()[4:8])(x),
    "devices backwards": lambda: jax.pmap(
        lambda v: v * lax.axis_index("i"), "i", devices=jax.devices()[::-1][:4]
    )(x),
    "axis_size": lambda: jax.pmap(lambda v: v, axis_size=2)(jnp.ones(2)),
    "donate": lambda: jax.pmap(lambda v: v + 1, donate_argnums=0)(jnp.ones(2)),
    "pmap after pmap": lambda: jax.pmap(lambda v: v + 1)(jax.pmap(lambda v: v * 2, "q")(x)),
    "grad": lambda: jax.grad(
        lambda v: jax.pmap(lambda u: lax.psum(u * u, "i").sum(), "i")(v).sum()
    )(x),
    "grad, unmapped": lambda: jax.grad(
        lambda w: jax.pmap(lambda u, w: lax.psum(u * w, "i").sum(), "i", in_axes=(0, None))(
            x, w
        ).sum()
    )(2.0),
    "value_and_grad": lambda: jax.value_and_grad(
        lambda w: jax.pmap(lambda u, w: jnp.sin(u * w), "i", in_axes=(0, None))(x, w).sum()
    )(2.0),
    "jvp": lambda: jax.jvp(
        lambda v: jax.pmap(lambda u: lax.all_gather(u * u, "i").sum(), "i")(v), (x,), (x,)
    ),
    "hessian": lambda: jax.hessian(
        lambda v: jax.pmap(lambda u: lax.psum(u**3, "i").sum(), "i")(v).sum()
    )(x[:2]),
    "vmap": lambda: jax.vmap(jax.pmap(lambda v: lax.psum(v, "i"), "i"))(x444.astype(np.float32)),
    "vmap axis 1": lambda: jax.vmap(
        jax.pmap(lambda v: lax.psum(v, "i"), "i"), in_axes=1, out_axes=1
    )(x444.astype(np.float32)),
    "jit of pmap": lambda: jax.jit(jax.pmap(lambda v: lax.psum(v, "i"), "i"))(x),
    "jit around pmap": lambda: jax.jit(
        lambda v: jax.pmap(lambda v: lax.psum(v, "i"), "i")(v + 1) * 2
    )(x),
    "add to the result": lambda: jax.pmap(lambda v: v * 2)(x) + 1,
    "repr": lambda: [repr(jax.pmap(lambda v: v * 2)(x))],
    "element": lambda: jax.pmap(lambda v: v * 2)(x)[0],
    "committed to another device": lambda: jax.pmap(lambda v: v)(
        jax.device_put(x, jax.devices()[5])
    ),
    "in_axes -1": lambda: jax.pmap(lambda v: v * 2, in_axes=-1, out_axes=-1)(x44[:3]),
    "too many devices": lambda: jax.pmap(lambda v: v)(jnp.ones(9)),
    "sizes that differ": lambda: jax.pmap(lambda v, w: v)(jnp.ones(2), jnp.ones(3)),
    "sizes that divide": lambda: jax.pmap(lambda v, w: v)(jnp.ones(2), jnp.ones(4)),
    "no argument": lambda: jax.pmap(lambda: 1)(),
    "a scalar": lambda: jax.pmap(lambda v: v)(3.0),
    "nothing mapped": lambda: jax.pmap(lambda v: v, in_axes=None)(3.0),
    "wrong axis_size": lambda: jax.pmap(lambda v: v, axis_size=3)(jnp.ones(2)),
    "in_axes too long": lambda: jax.pmap(lambda v: v, in_axes=(0, 0))(jnp.ones(2)),
    "out_axes no prefix": lambda: jax.pmap(lambda v: v, out_axes=(0, 0))(jnp.ones(2)),
    "in_axes a string": lambda: jax.pmap(lambda v: v, in_axes="a")(jnp.ones(2)),
    "no devices": lambda: jax.pmap(lambda v: v, devices=[])(jnp.ones(2)),
    "unknown backend": lambda: jax.pmap(lambda v: v, backend="gpu")(jnp.ones(2)),
    "no function": lambda: jax.pmap(3),
    "argument no array": lambda: jax.pmap(lambda v: v)("a"),
    "global_arg_shapes": lambda: jax.pmap(lambda v: v, global_arg_shapes=()),
    "text": text(jax.pmap(lambda v: lax.psum(v, "i") * 2, "i"), x),
    "text of jit": text(jax.jit(jax.pmap(lambda v: lax.psum(v, "i"), "i")), x),
    "text of vmap": text(jax.vmap(jax.pmap(lambda v: v * 2)), x44),
    "text of unmapped": text(jax.pmap(lambda v, w: v * w, in_axes=(0, None)), x, 3.0),
}
for k in ("psum groups", "all_gather", "all_gather groups", "psum_scatter groups", "axis_index"):
    PROGRAMS[f"text of {k}"] = text(jax.pmap(BODIES[k], "i"), x)
