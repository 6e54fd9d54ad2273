"""Programs that look at shardings; see two_libraries.py."""

# ruff: noqa: F821

DEVICES = jax.devices()
grid = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))
CUTS = {str(tuple(s)): s for s in (P("x", "y"), P("y", "x"), P("x"), P(None, "y"), P())}
X = np.arange(64, dtype=np.float32).reshape(8, 8)


def seen(run):
    """What a callback is told, without whether a mesh is laid out by the compiler."""
    found = []
    run(lambda s: found.append(s))
    return [
        f"{type(s).__name__} {getattr(s, 'spec', '')} {sorted(map(str, s.device_set))}"
        for s in found
    ]


def inspect(x, callback):
    jax.debug.inspect_array_sharding(x, callback=callback)


def put(spec):
    return jax.device_put(X, NamedSharding(grid, spec))


def inside(spec, f, times=1):
    def run(callback):
        @jax.jit
        def g(x):
            y = f(x)
            inspect(y, callback)
            return y

        for _ in range(times):
            g(put(spec))

    return run


PROGRAMS = {
    **{f"array {n}": lambda s=s: seen(lambda c: inspect(put(s), c)) for n, s in CUTS.items()},
    **{f"jit {n}": lambda s=s: seen(inside(s, jnp.sin)) for n, s in CUTS.items() if n != "()"},
    "jit twice": lambda: seen(inside(P("x"), jnp.sin, 2)),
    "sum": lambda: seen(inside(P("x", "y"), lambda x: x.sum(1))),
    "transposed": lambda: seen(inside(P("x", "y"), lambda x: x.T)),
    "one device": lambda: seen(lambda c: inspect(jnp.asarray(X), c)),
    "tree": lambda: seen(lambda c: inspect({"a": put(P("x")), "b": jnp.ones(3)}, c)),
    "vmap": lambda: seen(lambda c: jax.vmap(lambda x: inspect(x, c))(put(P("x")))),
    "jvp": lambda: seen(
        lambda c: jax.jvp(lambda x: (inspect(x, c), x)[1], (put(P("x")),), (put(P("x")),))
    ),
    "jaxpr": lambda: [str(jax.make_jaxpr(lambda x: inspect(x, print))(X))],
    "number": lambda: inspect(3.0, print),
    "numpy array": lambda: inspect(X, print),
    "no callback": lambda: jax.debug.inspect_array_sharding(X),
}
