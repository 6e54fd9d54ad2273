"""The random primitives, bit for bit as jax computes them."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import compare, trace
from jax.extend.random import threefry_2x32

from lingon import runtime
from lingon.lowering import compile_jaxpr


@pytest.fixture(params=[True, False], ids=["partitionable", "original"])
def partitionable(request):
    with stream(request.param):
        yield request.param


@contextlib.contextmanager
def stream(value):
    before = jax.config.jax_threefry_partitionable
    jax.config.update("jax_threefry_partitionable", value)
    try:
        yield
    finally:
        jax.config.update("jax_threefry_partitionable", before)


def plain(x):
    """A typed key as uint32, anything else as it is."""
    if jnp.issubdtype(getattr(x, "dtype", np.float32), jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(x))
    return np.asarray(x)


def check(fn, *args, partitionable=True):
    closed = trace(fn, *args)
    options = {"threefry_partitionable": partitionable}
    program = compile_jaxpr(closed, name="test", options=options)
    inputs = [
        runtime.from_numpy(np.ascontiguousarray(plain(a)).reshape(plain(a).shape)) for a in args
    ]
    ours = [np.array(r._numpy()) for r in program.execute(inputs)]
    theirs = [plain(r) for r in jax.tree_util.tree_leaves(jax.jit(fn)(*args))]
    compare(ours, theirs)


def key(seed=123456789):
    return jax.random.key(np.uint32(seed))


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (5,), (7, 3), (4, 4), (1000,)])
def test_bits(width, shape, partitionable):
    check(lambda k: jax.random.bits(k, shape, f"uint{width}"), key(), partitionable=partitionable)


@pytest.mark.parametrize("shape", [(2,), (1,), (5, 3)])
def test_split(shape, partitionable):
    check(lambda k: jax.random.split(k, shape), key(), partitionable=partitionable)


def test_batches_of_keys(partitionable):
    def all_of(k):
        return jax.random.bits(k, (5,)), jax.random.split(k), jax.random.fold_in(k, 3)

    check(jax.vmap(all_of), jax.random.split(key(), 3), partitionable=partitionable)


@pytest.mark.parametrize(
    "seed",
    [np.int32(-1), np.uint32(4000000000), np.int64(2**40 + 3), np.int64(-5), np.int8(-3),
     np.uint8(200), np.uint64(2**63 + 1), np.int16(-7)],
)  # fmt: skip
def test_seeds(seed):
    check(lambda s: jax.random.key(s), seed)
    check(lambda s: jax.random.PRNGKey(s), seed)


def test_fold_in():
    check(lambda k, d: jax.random.fold_in(k, d), key(), np.uint32(7))
    check(
        lambda k, d: jax.vmap(jax.random.fold_in, (None, 0))(k, d),
        key(),
        np.array([0, 1, 2**32 - 1], np.uint32),
    )


def test_keys_are_moved_like_any_array():
    def moved(k):
        pair = jnp.stack([k[0], k[1]])
        return (
            pair[::-1],
            k.reshape(2, 2).T,
            jnp.where(np.array([True, False]), pair, k[2:]),
            k[np.array([3, 0])],
        )

    check(moved, jax.random.split(key(), 4))


def test_wrap_and_unwrap():
    check(lambda d: jax.random.wrap_key_data(d), np.arange(8, dtype=np.uint32).reshape(4, 2))
    check(lambda k: jax.random.key_data(k), jax.random.split(key(), 4))
    check(lambda k: jax.random.bits(k, (3,)), np.array([1, 2], np.uint32))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_uniform(dtype, partitionable):
    check(lambda k: jax.random.uniform(k, (33,), dtype), key(), partitionable=partitionable)


def test_other_distributions(partitionable):
    def drawn(k):
        return (
            jax.random.randint(k, (20,), 0, 17),
            jax.random.bernoulli(k, 0.3, (20,)),
            jax.random.permutation(k, 30),
            jax.random.choice(k, 50, (5,), replace=False),
        )

    check(drawn, key(), partitionable=partitionable)


@pytest.mark.parametrize("count", [2, 6])
def test_threefry_primitive(count):
    random = np.random.default_rng(0)
    words = random.integers(0, 2**32, count, dtype=np.uint32)
    check(lambda k, x: threefry_2x32(k, x), np.array([3, 2**31], np.uint32), words)
