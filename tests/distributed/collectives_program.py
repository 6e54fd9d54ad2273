"""Collectives between processes beside NumPy. Every process knows all processes' data."""

from __future__ import annotations

import sys
from functools import partial

import ml_dtypes
import numpy as np

import lingon as jax
import lingon.numpy as jnp
from lingon import lax
from lingon.sharding import AxisType, NamedSharding
from lingon.sharding import PartitionSpec as P

jax.distributed.initialize()
n, own = jax.device_count(), jax.local_device_count()
first = own * jax.process_index()
mesh = jax.make_mesh((n,), ("i",), axis_types=(AxisType.Auto,))
rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)


def data(shape, dtype="float32"):
    """One array for each device, all of them in every process; sums of them are exact."""
    x = rng.integers(-8, 8, (n, *shape))
    return (x % 2 == 0) if dtype == "bool" else x.astype(dtype)


def put(x):
    return jax.make_array_from_process_local_data(
        NamedSharding(mesh, P("i")), x[first : first + own]
    )


def mapped(f, x, out=None):
    """f on each device's slice of the leading axis; the parts of the result that are here."""
    g = jax.jit(
        jax.shard_map(
            lambda v: f(v[0])[None], mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False
        )
    )
    y = g(put(x))
    parts = [np.asarray(s.data)[0] for s in y.addressable_shards]
    by_pmap = jax.pmap(f, "i")(x[first : first + own])
    np.testing.assert_array_equal(np.asarray(by_pmap), np.stack(parts))
    assert y.dtype == by_pmap.dtype
    return np.stack(parts)


def same(got, want):
    """`want` has a result for each device."""
    want = np.asarray(want)[first : first + own]
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    np.testing.assert_array_equal(got, want)


def reductions():
    for dtype in ("float32", "int32", "int8", "uint16", "complex64", "bfloat16", "float16"):
        dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
        x = (
            data((3, 5), "float32").astype(dtype)
            if dtype != "uint16"
            else data((3, 5)).astype("i4")
        )
        x = np.abs(x).astype(dtype) if dtype == "uint16" else x
        same(mapped(partial(lax.psum, axis_name="i"), x), np.stack([x.sum(0, dtype=dtype)] * n))
        if dtype.kind != "c":
            same(mapped(partial(lax.pmax, axis_name="i"), x), np.stack([x.max(0)] * n))
            same(mapped(partial(lax.pmin, axis_name="i"), x), np.stack([x.min(0)] * n))
    b = data((4,), "bool")
    same(mapped(partial(lax.pmax, axis_name="i"), b), np.stack([b.any(0)] * n))
    # Empty, one element, messages with and without their header, results in pieces.
    for size in (0, 1, 7, 255, 2048, 2049, 8193, 40000, 300001):
        x = data((size,))
        same(mapped(partial(lax.psum, axis_name="i"), x), np.stack([x.sum(0)] * n))
    x = data((2 * n, 3))
    want = x.sum(0).reshape(n, 2, 3)
    scatter = partial(lax.psum_scatter, axis_name="i", tiled=True)
    same(mapped(scatter, x), want)
    want = np.moveaxis(x[:, :n].sum(0).reshape(n, 3), 0, 0)
    same(mapped(partial(lax.psum_scatter, axis_name="i"), x[:, :n]), want)
    y = data((3, n * 5000))
    want = np.moveaxis(y.sum(0).reshape(3, n, 5000), 1, 0)
    same(mapped(partial(scatter, scatter_dimension=1), y), want)


def moves():
    for shape in ((), (3,), (4, 700), (0, 2)):
        x = data(shape)
        same(mapped(partial(lax.all_gather, axis_name="i"), x), np.stack([x] * n))
    x = data((2, 3))
    want = np.concatenate(list(x), 1)
    tiled = partial(lax.all_gather, axis_name="i", axis=1, tiled=True)
    same(mapped(tiled, x), np.stack([want] * n))
    x = data((n, 3))
    same(mapped(lambda v: lax.all_to_all(v, "i", 0, 0), x), np.swapaxes(x, 0, 1))
    x = data((3, 2 * n, 900))
    blocks = x.reshape(n, 3, n, 2, 900)
    want = np.stack([np.concatenate(list(blocks[:, :, r]), 0) for r in range(n)])
    same(mapped(lambda v: lax.all_to_all(v, "i", 1, 0, tiled=True), x), want)
    for shape in ((), (5,), (3000,)):
        x = data(shape)
        for shift in (1, n - 1, own):
            perm = [(i, (i + shift) % n) for i in range(n)]
            same(mapped(partial(lax.ppermute, axis_name="i", perm=perm), x), np.roll(x, shift, 0))
        want = np.zeros_like(x)
        want[n - 1] = x[0]
        same(mapped(partial(lax.ppermute, axis_name="i", perm=[(0, n - 1)]), x), want)
    same(
        mapped(lambda v: lax.axis_index("i") + jnp.int32(v), data((), "int32") * 0),
        np.arange(n, dtype="int32"),
    )


def groups():
    """Groups inside of processes, across them, and of both kinds at once."""
    x = data((6,))
    for parts in ([[i, n - 1 - i] for i in range(n // 2)], [[i, i + 1] for i in range(0, n, 2)]):
        want = np.empty_like(x)
        for part in parts:
            want[part] = x[part].sum(0)
        f = partial(lax.psum, axis_name="i", axis_index_groups=parts)
        got = jax.pmap(f, "i")(x[first : first + own])
        same(np.asarray(got), want)
    grid = jax.make_mesh((2, n // 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
    for size in (3, 30000):
        x = data((size,))
        a = jax.make_array_from_callback(
            (2, n // 2, size),
            NamedSharding(grid, P("a", "b")),
            lambda index: x.reshape(2, n // 2, size)[index],
        )

        def f(v):
            return lax.psum(v, "a") * 2 + lax.psum(v, "b"), lax.psum(v, ("a", "b"))

        y, z = jax.jit(
            jax.shard_map(f, mesh=grid, in_specs=P("a", "b"), out_specs=(P("a", "b"), P()))
        )(a)
        full = x.reshape(2, n // 2, size)
        want = full.sum(0, keepdims=True) * 2 + full.sum(1, keepdims=True)
        for shard in y.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), want[shard.index])
        np.testing.assert_array_equal(np.asarray(z)[0, 0], full.sum((0, 1)))


def programs():
    """Gradients, loops and conditionals around collectives."""
    x = data((4,))

    def loss(w, v):
        return jnp.sum((w * v) ** 2)

    def step(v):
        g = jax.grad(loss)(jnp.ones(4), v)
        return lax.pmean(g, "i")

    want = (2 * x**2).mean(0)
    same(mapped(step, x), np.stack([want] * n).astype("float32"))

    def loop(v):
        return lax.fori_loop(0, 20, lambda _, a: lax.ppermute(a, "i", ring) + 1, v)

    ring = [(i, (i + 1) % n) for i in range(n)]
    same(mapped(loop, x), np.roll(x, 20, 0) + 20)
    total = jax.jit(lambda a: (a * 2).sum())(put(x))
    assert float(total) == 2 * x.sum()
    again = [np.asarray(jax.jit(lambda a: jnp.sin(a).sum())(put(x / 7))) for _ in range(5)]
    assert len({a.tobytes() for a in again}) == 1


def stress():
    """Random collectives of random sizes in one program, several times."""
    for _ in range(6):
        size = int(rng.choice([1, 8, 3000, 20000])) * n
        kinds = rng.integers(0, 4, 12)
        x = data((size,))

        def f(v, kinds=kinds):
            for k in kinds:
                if k == 0:
                    v = lax.psum(v, "i") % 64
                elif k == 1:
                    v = lax.ppermute(v, "i", [(i, (i + 1) % n) for i in range(n)]) + 1
                elif k == 2:
                    v = lax.all_to_all(v.reshape(n, -1), "i", 0, 0).reshape(-1)
                else:
                    v = lax.pmax(v, "i") - lax.axis_index("i")
            return v

        want = x.copy()
        for k in kinds:
            if k == 0:
                want = np.stack([np.mod(want.sum(0), 64)] * n)
            elif k == 1:
                want = np.roll(want, 1, 0) + 1
            elif k == 2:
                want = np.swapaxes(want.reshape(n, n, -1), 0, 1).reshape(n, -1)
            else:
                want = want.max(0) - np.arange(n)[:, None]
        g = jax.pmap(f, "i")
        for _ in range(4):
            same(np.asarray(g(x[first : first + own])), want.astype("float32"))


{
    "reductions": reductions,
    "moves": moves,
    "groups": groups,
    "programs": programs,
    "stress": stress,
}[sys.argv[1]]()
print(f"process {jax.process_index()}: good", flush=True)
