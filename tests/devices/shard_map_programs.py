"""Programs of shard_map. See two_libraries.py."""

# ruff: noqa: F821

DEVICES = jax.devices()
line = Mesh(DEVICES[:4], ("i",))
grid = Mesh(np.array(DEVICES).reshape(2, 4), ("x", "y"))
x = np.arange(8.0, dtype=np.float32)
xx = np.arange(64.0, dtype=np.float32).reshape(8, 8)
cut = NamedSharding(line, P("i"))

PROGRAMS = {}


def on(mesh, f, in_specs, out_specs, **options):
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def program(name, f, *args, text=True):
    """The results of `f`, and its jaxpr."""
    PROGRAMS[name] = lambda: f(*args)
    if text:
        PROGRAMS[f"text of {name}"] = lambda: [str(jax.make_jaxpr(f)(*args))]


def simple(name, f, in_specs, out_specs, *args, mesh=line, text=True, **options):
    program(name, on(mesh, f, in_specs, out_specs, **options), *(args or (x,)), text=text)


def psum_sin(check):
    f = on(line, lambda v: lax.psum(jnp.sin(v), "i"), P("i"), P(), check_vma=check)
    return lambda v: f(v).sum()


def scaled(check):
    f = on(line, lambda w, v: w * v, (P(), P("i")), P("i"), check_vma=check)
    return lambda w: f(w, x).sum()


def inner_grad(f):
    return lambda w, v: jax.grad(lambda w: f(w, v))(w)


def net(w, v):
    return lax.pmean(jax.nn.relu(v @ w).sum(), ("x", "y"))


simple("local", lambda v: v * 2, P("i"), P("i"))
simple("psum", lambda v: lax.psum(v, "i"), P("i"), P())
simple("psum unchecked", lambda v: lax.psum(v, "i"), P("i"), P(), check_vma=False)
simple("psum and the part", lambda v: lax.psum(v, "i") + v, P("i"), P("i"))
simple("unmapped operand", lambda v, w: v * w, (P("i"), P()), P("i"), x, 2.0)
simple("all_gather", lambda v: lax.all_gather(v, "i"), P("i"), P("i"))
simple("ppermute", lambda v: lax.ppermute(v, "i", [(0, 1)]), P("i"), P("i"))
simple("psum_scatter", lambda v: lax.psum_scatter(v, "i", tiled=True), P(None), P("i"))
simple("axis_index", lambda v: v + lax.axis_index("i"), P("i"), P("i"))
simple("pmean and pmax", lambda v: lax.pmean(v, "i") + lax.pmax(v, "i"), P("i"), P())
simple("pcast", lambda v: lax.pcast(v, ("i",), to="varying"), P(), P("i"))
simple("psum of constants", lambda v: lax.psum(jnp.ones(2), "i"), P("i"), P())
simple("psum of a number", lambda v: lax.psum(1, "i") * v, P("i"), P("i"))
simple("tree", lambda v: {"a": v, "b": 1.0}, P("i"), {"a": P("i"), "b": P()})
simple("jit inside", lambda v: jax.jit(lambda u: lax.psum(u, "i") * 2)(v), P("i"), P())
simple("select", lambda v: jnp.where(v > 1, v, 0.0), P("i"), P("i"))
simple(
    "psum in a loop",
    lambda v: lax.fori_loop(0, 3, lambda i, c: c + lax.psum(v, "i"), jnp.zeros(2)),
    P("i"),
    P(),
)
simple(
    "branch",
    lambda v: lax.cond(lax.psum(v.sum(), "i") > 3, lambda u: u * 2, lambda u: u, v),
    P("i"),
    P("i"),
)
simple("along x", lambda v: lax.psum(v, "x"), P("x", "y"), P(None, "y"), xx, mesh=grid)
simple("along both", lambda v: lax.psum(v, ("x", "y")), P("x", "y"), P(), xx, mesh=grid)
simple("one dimension, two axes", lambda v: lax.psum(v, "x"), P(("x", "y")), P("y"), xx, mesh=grid)
simple(
    "all_gather over two axes",
    lambda v: lax.all_gather(v, ("x", "y"), tiled=True),
    P(("x", "y")),
    P(("x", "y")),
    xx,
    mesh=grid,
)
simple(
    "all_to_all",
    lambda v: lax.all_to_all(v, "y", 0, 1, tiled=True),
    P("x", None),
    P("x", "y"),
    xx,
    mesh=grid,
)
simple("some axes", lambda v: v * 2, P("x"), P("x"), xx, mesh=grid, axis_names={"x"})
simple(
    "matrix product",
    lambda v, w: lax.psum(v @ w, "y"),
    (P("x", "y"), P("y")),
    P("x"),
    xx,
    xx,
    mesh=grid,
)
simple("transposed", lambda v: v.T, P("x", "y"), P("y", "x"), xx, mesh=grid)
program("jit", jax.jit(on(line, lambda v: v * 2, P("i"), P("i"))), x)
program(
    "jvp", lambda a, b: jax.jvp(on(line, lambda v: jnp.sin(v), P("i"), P("i")), (a,), (b,)), x, x
)
program(
    "vmap",
    jax.vmap(on(line, lambda v: lax.psum(jnp.sin(v), "i"), P("i"), P())),
    np.ones((3, 8), np.float32),
    text=False,
)
for check in (True, False):
    name = "checked" if check else "unchecked"
    program(f"grad {name}", jax.grad(psum_sin(check)), x, text=False)
    program(f"jit of grad {name}", jax.jit(jax.grad(psum_sin(check))), x, text=False)
    program(f"grad of an unmapped operand {name}", jax.grad(scaled(check)), 2.0, text=False)
    program(
        f"grad inside {name}",
        on(
            line,
            inner_grad(lambda w, v: lax.pmean(jnp.sin(w * v).sum(), "i")),
            (P(), P("i")),
            P(),
            check_vma=check,
        ),
        2.0,
        x,
        text=False,
    )
program(
    "grad inside of a local loss",
    on(line, inner_grad(lambda w, v: (w * v).sum()), (P(), P("i")), P()),
    2.0,
    x,
    text=False,
)
program(
    "value_and_grad inside",
    on(
        line,
        lambda w, v: jax.value_and_grad(
            lambda w: lax.psum(jnp.sin(w["a"] * v + w["b"]).sum(), "i")
        )(w),
        (P(), P("i")),
        P(),
    ),
    {"a": 2.0, "b": np.ones(2, np.float32)},
    x,
    text=False,
)
program(
    "grad of a network",
    jax.grad(lambda w: on(grid, net, (P(), P(("x", "y"))), P())(w, xx)),
    np.ones((8, 2), np.float32),
    text=False,
)
program(
    "hessian",
    jax.hessian(lambda v: on(line, lambda u: lax.psum((u**3).sum(), "i"), P("i"), P())(v)),
    x[:4],
    text=False,
)

PROGRAMS |= {
    "cut operand": lambda: on(line, lambda v: v * 2, P("i"), P("i"))(jax.device_put(x, cut)),
    "operand cut otherwise": lambda: on(line, lambda v: v * 2, P(), P())(jax.device_put(x, cut)),
    "not replicated": lambda: on(line, lambda v: v * 2, P("i"), P())(x),
    "not replicated along y": lambda: on(grid, lambda v: lax.psum(v, "x"), P("x", "y"), P())(xx),
    "not replicated, unchecked": lambda: on(line, lambda v: v * 2, P("i"), P(), check_vma=False)(x),
    "unknown axis in in_specs": lambda: on(line, lambda v: v, P("j"), P())(x),
    "unknown axis in out_specs": lambda: on(line, lambda v: v, P("i"), P("j"))(x),
    "size that does not divide": lambda: on(line, lambda v: v, P("i"), P("i"))(jnp.ones(7)),
    "spec too long": lambda: on(line, lambda v: v, P(None, "i"), P("i"))(x),
    "out spec too long": lambda: on(line, lambda v: v.sum(), P("i"), P("i"))(x),
    "in_specs no prefix": lambda: on(line, lambda v: v, (P("i"), P("i")), P("i"))(x),
    "out_specs no prefix": lambda: on(line, lambda v: v, P("i"), (P("i"), P("i")))(x),
    "no mesh": lambda: shard_map(lambda v: v, in_specs=P("i"), out_specs=P("i"))(x),
    "no array": lambda: on(line, lambda v: "a", P("i"), P("i"))(x),
    "operand elsewhere": lambda: on(line, lambda v: v, P("i"), P("i"))(
        jax.device_put(x, DEVICES[5])
    ),
    "operand elsewhere, jit": lambda: jax.jit(on(line, lambda v: v, P("i"), P("i")))(
        jax.device_put(x, DEVICES[5])
    ),
    "in_specs no spec": lambda: on(line, lambda v: v, 3, P("i"))(x),
    "out_specs no spec": lambda: on(line, lambda v: v, P("i"), 3)(x),
    "unbound name": lambda: on(line, lambda v: lax.pmax(v, "j"), P("i"), P("i"), check_vma=False)(
        x
    ),
    "psum along more axes than it varies": lambda: on(
        grid, lambda v: lax.psum(v, ("x", "y")), P("x"), P()
    )(xx),
}
