"""Random programs of collectives on 8 devices: equal to vmap's on one, and bit for bit the same in
every run."""

from __future__ import annotations

import pytest
from on_devices import run

CODE = """
import random
import sys

rng = random.Random({seed})
SIZES = {{"x": 2, "y": 4}}
mesh = Mesh(np.asarray(jax.devices()).reshape(2, 4), ("x", "y"))


def permutation(n):
    order = list(range(n))
    rng.shuffle(order)
    return [(i, j) for i, j in enumerate(order) if rng.random() < 0.8]


def step():
    kind = rng.choice(
        ["psum", "pmax", "pmin", "pmean", "both", "gather", "permute", "exchange", "scatter",
         "index", "local", "loop", "branch"]
    )
    name = rng.choice("xy")
    n = SIZES[name]
    if kind == "both":
        return lambda v: lax.psum(v, ("x", "y")) * 0.25 + v
    if kind in ("psum", "pmax", "pmin", "pmean"):
        f = getattr(lax, kind)
        return lambda v: f(v, name) * 0.5 + v * 0.25
    if kind == "gather":
        axis = rng.randrange(3)
        return lambda v: lax.all_gather(v, name, axis=axis).mean(axis)
    if kind == "permute":
        perm = permutation(n)
        return lambda v: v * 0.5 + lax.ppermute(v, name, perm)
    if kind == "exchange":
        s, c = rng.choice([(0, 1), (1, 0)])
        return lambda v: lax.all_to_all(v, name, s, c, tiled=True).reshape(v.shape)
    if kind == "scatter":
        d = rng.randrange(2)
        return lambda v: jnp.concatenate(
            [lax.psum_scatter(v, name, scatter_dimension=d, tiled=True) * 0.3] * n, d
        )
    if kind == "index":
        return lambda v: v + lax.axis_index(name)
    if kind == "loop":
        k = rng.randrange(1, 4)
        return lambda v: lax.fori_loop(0, k, lambda i, c: lax.pmean(c, name) * 0.5 + c * 0.5, v)
    if kind == "branch":
        return lambda v: lax.cond(
            lax.pmax(v, ("x", "y")).sum() > 3, lambda u: lax.pmean(u, name), lambda u: u * 2, v
        )
    return lambda v: jnp.sin(v) * 3


def program(steps):
    def f(v):
        for s in steps:
            v = s(v)
        return v

    return f


collectives = 0
for k in range({programs}):
    f = program([step() for _ in range(rng.randrange(4, 12))])
    size = rng.choice([4, 4, 8, 32])
    x = np.random.default_rng(k).normal(size=(2, 4, size, 8)).astype(np.float32)
    spec = P("x", "y")
    mapped = jax.jit(
        jax.shard_map(
            lambda v: f(v[0, 0])[None, None], mesh=mesh, in_specs=spec, out_specs=spec,
            check_vma=False,
        )
    )
    first = np.asarray(mapped(x))
    wanted = jax.vmap(jax.vmap(f, axis_name="y"), axis_name="x")(x)
    np.testing.assert_allclose(first, np.asarray(wanted), rtol=1e-4, atol=1e-4)
    for _ in range({runs}):
        again = np.asarray(mapped(x))
        assert again.tobytes() == first.tobytes(), k
    collectives += 8 * {runs}
print(collectives)
"""


@pytest.mark.parametrize("seed", range(2))
def test_random_collectives(seed: int, request: pytest.FixtureRequest) -> None:
    programs = 60 if request.config.getoption("--full") else 8
    out = run(CODE.format(seed=seed, programs=programs, runs=40), timeout=60 + 10 * programs)
    assert int(out) >= programs * 320
