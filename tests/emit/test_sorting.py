"""sort and top_k against jax."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import COMPLEX, DTYPES, FLOAT8, FLOATS, check, dtype, run
from jax import lax


def values(shape, name, seed=0, few=False):
    """Random values with repetitions, and for floats zeros of both signs, infinities and NaNs."""
    random = np.random.default_rng(seed)
    t = dtype(name)
    if name == "bool":
        return random.random(shape) > 0.5
    if t.kind in "iu" or "int4" in name:
        wide = np.uint64 if name == "uint64" else np.int64
        low, high = (0, 4) if few or "int4" in name else (np.iinfo(t).min, np.iinfo(t).max)
        return random.integers(low, high, shape, dtype=wide, endpoint=True).astype(t)
    if t.kind == "c":
        part = values(shape, "float64", seed, few) + 1j * values(shape, "float64", seed + 1, few)
        return part.astype(t)
    x = random.integers(-3, 4, shape).astype(float) if few else random.standard_normal(shape)
    special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], shape)
    return np.where(random.random(shape) < 0.3, special, x).astype(t)


@pytest.mark.parametrize("name", [*DTYPES, *FLOAT8])
@pytest.mark.parametrize("few", [False, True])
def test_dtypes(name, few):
    x = values((3, 70), name, few=few)
    order = np.broadcast_to(np.arange(70, dtype=np.int32), x.shape)
    if name in FLOAT8:  # jax does not sort them; their order is that of their values
        x = np.where(np.isnan(x.astype(np.float32)), dtype(name).type(1), x)
        (ours,) = run(lambda x: lax.sort(x), x)
        np.testing.assert_array_equal(ours.astype(np.float32), np.sort(x.astype(np.float32)))
        return
    check(lambda x: lax.sort(x), x)
    check(lambda x, i: lax.sort((x, i), num_keys=1), x, order)


@pytest.mark.parametrize("length", [1, 2, 47, 48, 49, 255, 1000, 5000, 200_000])
@pytest.mark.parametrize("name", ["float32", "int64", "uint8"])
def test_lengths(length, name):
    x = values((length,), name)
    check(lambda x: lax.sort(x), x)
    check(lambda x: lax.sort((x, lax.iota(np.int32, length)), num_keys=1), x)


@pytest.mark.parametrize("seed", range(30))
def test_operands_keys_and_axes(seed):
    random = np.random.default_rng(seed)
    shape = random.integers(1, 6, random.integers(1, 4)).tolist()
    axis = int(random.integers(len(shape)))
    shape[axis] = int(random.choice([1, 3, 60, 300]))
    count = int(random.integers(1, 5))
    keys = int(random.integers(1, count + 1))
    names = random.choice(["float32", "int32", "bool", "float64", "bfloat16", "complex64"], count)
    operands = [values(shape, n, seed + i, few=bool(i % 2)) for i, n in enumerate(names)]
    check(lambda *xs: lax.sort(xs, dimension=axis, num_keys=keys), *operands)


def test_sort_of_a_computed_value_and_its_use():
    check(lambda x: jnp.sort(-x, axis=0)[0] + jnp.argsort(x, axis=0)[1], values((9, 4), "float32"))


def test_empty():
    check(lambda x: lax.sort(x), np.zeros((0, 3), np.float32))
    check(lambda x: lax.sort(x, dimension=0), np.zeros((0, 3), np.float32))


@pytest.mark.parametrize("name", [d for d in DTYPES if d not in COMPLEX and "int4" not in d])
@pytest.mark.parametrize("shape,k", [((3, 70), 5), ((700,), 3), ((2, 40), 40), ((4, 2000), 100)])
def test_top_k(name, shape, k):
    x = values(shape, name)
    check(lambda x: lax.top_k(x, k), x)


@pytest.mark.parametrize("name", FLOATS)
def test_top_k_of_few_values_takes_lower_indices_first(name):
    check(lambda x: lax.top_k(x, 30), values((5000,), name, few=True))


@pytest.mark.parametrize("order", [1, -1])
def test_top_k_of_sorted_rows(order):
    check(lambda x: lax.top_k(x, 10), np.arange(30000, dtype=np.float32)[::order])


def test_top_k_along_another_axis_and_none():
    x = values((60, 5), "float32")
    check(lambda x: lax.top_k(x, 4, axis=0), x)
    check(lambda x: lax.top_k(x, 0), x)
