"""Maxima and minima of floats: NaNs of either sign, both zeros, infinities, along all kinds of loops."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import lingon as jax
import lingon.numpy as jnp

DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
REDUCTIONS = {"max": (np.maximum, jnp.max), "min": (np.minimum, jnp.min)}
# Values that a reduction finds, beside what it has to leave.
SPECIAL = {
    "numbers": (),
    "NaN": (np.nan,),
    "negative NaN": (-np.nan,),
    "infinities": (np.inf, -np.inf),
    "NaN and infinities": (np.inf, -np.nan, -np.inf),
}


@pytest.fixture(autouse=True)
def _x64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def reduced(ufunc, x, axes):
    """By NumPy, in f64, where all these values are exact."""
    return ufunc.reduce(x.astype(np.float64), axis=axes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("shape, axes", [
    ((5, 37), (1,)), ((5, 100), (1,)), ((37, 70), (0,)), ((300, 7), (1,)), ((3, 5, 40), (0, 2)),
    ((9, 11, 33), (0, 1)), ((70_001,), (0,)), ((1, 3), (1,)),
])  # fmt: skip
def test_special_values(dtype, name, special, shape, axes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    flat = x.reshape(-1)
    for value in SPECIAL[special]:
        flat[rng.integers(0, x.size, size=max(1, x.size // 50))] = value
    ufunc, f = REDUCTIONS[name]
    got = np.asarray(jax.jit(lambda x: f(x, axis=axes))(x))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.astype(np.float64), reduced(ufunc, x, axes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shape, axis", [((4, 50), 1), ((50, 4), 0), ((200, 6), 1)])
def test_zeros_have_signs(dtype, sign, shape, axis):
    """+0 is greater than -0, wherever it stands; one NumPy says nothing about."""
    rng = np.random.default_rng(1)
    x = -sign * np.abs(rng.normal(size=shape)) - sign
    x[rng.random(shape) < 0.3] = -0.0 * sign
    both = x.copy()
    both[tuple([2 if d == axis else slice(None) for d in range(2)])] = 0.0 * sign
    f = jnp.max if sign == 1 else jnp.min
    jitted = jax.jit(lambda x: f(x, axis=axis))
    found = np.asarray(jitted(both.astype(dtype))).astype(np.float64)
    assert np.array_equal(found, np.zeros_like(found))
    assert np.array_equal(np.signbit(found), np.full_like(found, sign == -1, dtype=bool))
    for got, given in zip(
        np.asarray(jitted(x.astype(dtype))), np.moveaxis(x, axis, 0).T, strict=True
    ):
        if (given == 0).any():
            assert got == 0
            assert np.signbit(got) == (sign == 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_accumulator_of_a_program_loop(dtype):
    """A loop of the program that carries a maximum, and one that also returns what it was."""
    x = np.array([-3.0, -0.0, 0.0, -np.inf, np.nan, 2.0], dtype)

    def greatest(x):
        return jax.lax.fori_loop(0, x.shape[0], lambda i, m: jnp.maximum(m, x[i]), x[0])

    def running(x):
        return jax.lax.scan(lambda m, a: (jnp.minimum(m, a), m), x[0], x)

    assert np.isnan(jax.jit(greatest)(x))
    got = np.asarray(jax.jit(greatest)(x[:3]))
    assert got == 0
    assert not np.signbit(got)
    last, rows = jax.jit(running)(x[:4])
    assert last == -np.inf
    np.testing.assert_array_equal(np.asarray(rows).astype(float), [-3, -3, -3, -3])


def test_maxima_beside_one_another():
    """Many operands without a loop, of both kinds."""
    x = np.array(
        [[1, -2, 0.0, -0.0, np.nan], [1, 5, -7, 3, 2], [-1, -2, -0.0, 0.0, -np.inf]], np.float32
    )

    def f(x):
        a, b, c, d, e = [x[:, k] for k in range(5)]
        high = jnp.maximum(jnp.maximum(a, b), jnp.maximum(jnp.maximum(c, d), e))
        low = jnp.minimum(jnp.minimum(jnp.minimum(a, b), c), jnp.minimum(d, e))
        return high, low

    high, low = jax.jit(f)(x)
    np.testing.assert_array_equal(high, np.maximum.reduce(x, axis=1))
    np.testing.assert_array_equal(low, np.minimum.reduce(x, axis=1))
    assert not np.signbit(np.asarray(high)[2])


def _scattered(name):
    return lambda x, y: getattr(x.at[:, jnp.arange(9) // 2], name)(y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, f, sign", [
    ("maximum", jnp.maximum, 1), ("minimum", jnp.minimum, -1),
    ("max", lambda x, y: jnp.max(x, axis=1), 1), ("min", lambda x, y: jnp.min(x, axis=1), -1),
    ("cummax", lambda x, y: jax.lax.cummax(x, 1), 1), ("cummin", lambda x, y: jax.lax.cummin(x, 1), -1),
    ("scatter-max", _scattered("max"), 1), ("scatter-min", _scattered("min"), -1),
])  # fmt: skip
def test_eager_zeros_have_the_signs_of_compiled_ones(name, f, sign, dtype):
    """References give what programs give, whatever stands beside the zeros."""
    rng = np.random.default_rng(3)
    x, y = jnp.asarray(
        rng.choice([0.0 * sign, -0.0 * sign, -sign, -np.inf * sign, np.nan], (2, 60, 9), p=[0.1, 0.4, 0.3, 0.15, 0.05]),
        dtype,
    )  # fmt: skip
    eager, compiled = np.asarray(f(x, y)), np.asarray(jax.jit(f)(x, y))
    np.testing.assert_array_equal(eager.astype(float), compiled.astype(float))
    zero = eager == 0
    assert len(np.unique(np.signbit(eager[zero]))) == 2
    np.testing.assert_array_equal(np.signbit(eager[zero]), np.signbit(compiled[zero]))


@pytest.mark.parametrize("f", [jnp.maximum, jnp.minimum])
def test_complex_extrema_of_nan(f):
    """By real part, then by imaginary part; the second operand where a part that decides is NaN."""
    parts = [np.nan, 0.0, 1.0, -1.0, np.inf]
    z = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    x, y = np.meshgrid(z, z)
    np.testing.assert_array_equal(f(x, y), jax.jit(f)(x, y))
    assert np.isnan(f(z[5:6], z[:1])).all()
    assert not np.isnan(f(z[:1], z[6:7])).any()
