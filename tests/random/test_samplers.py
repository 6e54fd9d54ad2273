"""Samples have the same bits as jax's, in and out of programs and below vmap."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lingon

SHAPE = (5_000,)
WEIGHTS = np.arange(1, 11, dtype=np.float32) / 55
LOGITS = np.log(WEIGHTS)

# name -> sampler of (module jax.random or lingon.random, key, dtype); every float dtype
FLOATS: dict[str, Any] = {
    "uniform": lambda r, k, dt: r.uniform(k, SHAPE, dt),
    "normal": lambda r, k, dt: r.normal(k, SHAPE, dt),
    "exponential": lambda r, k, dt: r.exponential(k, SHAPE, dt),
    "gumbel": lambda r, k, dt: r.gumbel(k, SHAPE, dt),
    "gumbel of many bits": lambda r, k, dt: r.gumbel(k, SHAPE, dt, mode="high"),
    "laplace": lambda r, k, dt: r.laplace(k, SHAPE, dt),
    "logistic": lambda r, k, dt: r.logistic(k, SHAPE, dt),
}
# where f16 has a fused multiply-add, jax's f16 samples of these depend on the machine
WIDE: dict[str, Any] = {
    "uniform in a range": lambda r, k, dt: r.uniform(k, SHAPE, dt, 0.3, 7.7),
    "uniform in ranges": lambda r, k, dt: r.uniform(
        k, (50, 3), dt, np.array([0, 1, 2], np.float32), 5.5
    ),
    "truncated normal": lambda r, k, dt: r.truncated_normal(k, -2.0, 2.0, SHAPE, dt),
    "truncated normal, one-sided": lambda r, k, dt: r.truncated_normal(k, 0.5, np.inf, SHAPE, dt),
}
OTHERS: dict[str, Any] = {
    "complex normal": lambda r, k: r.normal(k, SHAPE, np.complex64),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, SHAPE),
    "bernoulli of many bits": lambda r, k: r.bernoulli(k, 1e-3, SHAPE, mode="high"),
    "rademacher": lambda r, k: r.rademacher(k, SHAPE),
    "randint": lambda r, k: r.randint(k, SHAPE, -7, 1000),
    "randint, small dtype": lambda r, k: r.randint(k, SHAPE, -100, 100, np.int8),
    "categorical": lambda r, k: r.categorical(k, LOGITS, shape=SHAPE),
    "categorical of many bits": lambda r, k: r.categorical(k, LOGITS, shape=SHAPE, mode="high"),
    "categorical without replacement": lambda r, k: r.categorical(
        k, np.zeros(100, np.float32), shape=(90,), replace=False
    ),
    "choice": lambda r, k: r.choice(k, 10, SHAPE),
    "choice with weights": lambda r, k: r.choice(k, 10, SHAPE, p=WEIGHTS),
    "choice without replacement": lambda r, k: r.choice(k, 10, (7,), replace=False, p=WEIGHTS),
    "permutation": lambda r, k: r.permutation(k, 5000),
    "bits": lambda r, k: r.bits(k, SHAPE),
}
DTYPES = [jnp.float32, jnp.bfloat16, jnp.float16]


def both(f: Any, seed: int = 7, ways: int = 3) -> Any:
    """(ours, jax's) run eagerly, in jit, and below vmap over four keys: the first `ways` of them."""
    for run in (
        lambda m: f(m.random, m.random.key(seed)),
        lambda m: m.jit(lambda k: f(m.random, k))(m.random.PRNGKey(seed)),
        lambda m: m.vmap(lambda k: f(m.random, k))(m.random.split(m.random.key(seed), 4)),
    )[:ways]:
        yield run(lingon), run(jax)


def ways(dtype: Any) -> int:
    return 3 if dtype == jnp.float32 else 2


def assert_same_bits(ours: Any, theirs: Any) -> None:
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.weak_type == theirs.weak_type
    mine, other = np.asarray(ours), np.asarray(theirs)
    same = mine.view(np.uint8) == other.view(np.uint8) if mine.size else np.ones(1, bool)
    assert same.all(), f"{np.mean(mine != other):.2%} of the numbers differ"


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str, dtype: Any) -> None:
    for ours, theirs in both(lambda r, k: FLOATS[name](r, k, dtype), ways=ways(dtype)):
        assert_same_bits(ours, theirs)


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name", WIDE)
def test_floats_in_ranges(name: str, dtype: Any) -> None:
    for ours, theirs in both(lambda r, k: WIDE[name](r, k, dtype), ways=ways(dtype)):
        assert_same_bits(ours, theirs)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    for ours, theirs in both(OTHERS[name]):
        assert_same_bits(ours, theirs)


@pytest.mark.parametrize("name", [*FLOATS, *WIDE])
def test_float64(name: str) -> None:
    """The logarithm of f64 is not jax's, which is the C library's: last bits may differ."""
    f = {**FLOATS, **WIDE}[name]
    with lingon.enable_x64(), jax.enable_x64():
        for ours, theirs in both(lambda r, k: f(r, k, np.float64), ways=1):
            assert ours.dtype == theirs.dtype == np.float64
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("bounds", [(-0.7, 1.3), (0.5, 0.6), (-5.0, -4.0)])
def test_bounds_of_the_truncated_normal_differentiate(bounds: tuple[float, float]) -> None:
    def mean(m: Any) -> Any:
        return lambda lo, hi: m.numpy.mean(
            m.random.truncated_normal(m.random.key(1), lo, hi, (1000,))
        )

    ours = lingon.grad(mean(lingon), (0, 1))(*bounds)
    theirs = jax.grad(mean(jax), (0, 1))(*bounds)
    np.testing.assert_allclose(ours, theirs, rtol=2e-4)
