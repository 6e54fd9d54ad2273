"""Loops as vector code: every number of iterations, element type and vector length, against NumPy.

The machine's features are taken away one after the other; what is left must compute the same.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

from lingon.lowering import target_machine
from tests.emit.emit_oracle import check, cpu_features, dtype, run

features = cpu_features("", "-avx512f", "-avx512f,-avx2")
COUNTS = (*range(1, 36), 47, 48, 49, 63, 64, 65, 70, 127, 130)


def numbers(name: str, count: int, seed: int = 0) -> np.ndarray:
    """Small numbers, of which sums are exact in every type of 16 bits and more."""
    rng = np.random.default_rng([seed, count])
    if name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    low = 0 if name.startswith("u") else -8
    return rng.integers(low, 9, count).astype(dtype(name))


def test_vector_bits_follow_the_features():
    machine = target_machine.Target("x86_64-unknown-linux-gnu", "", "+avx,+avx2")
    assert (machine.vector_bits, machine.masks) == (256, False)
    wide = machine._replace(features="+avx,+avx2,+avx512f,+avx512bw,+avx512vl")
    assert (wide.vector_bits, wide.masks) == (512, True)
    off = wide._replace(features=wide.features + ",-avx512f")
    assert (off.vector_bits, off.masks) == (256, False)
    assert machine._replace(features="").vector_bits == 128
    arm = target_machine.Target("aarch64-unknown-linux-gnu", "", "+neon")
    assert (arm.vector_bits, arm.masks) == (128, False)
    assert arm._replace(features="+neon,+sve").vector_bits == 0


def test_every_number_of_iterations(features):
    def fn(*xs):
        return [(x * 3 + 1, jnp.sum(x), jnp.where(x > 2, x, -x)) for x in xs]

    check(fn, *[numbers("float32", n) for n in COUNTS])
    check(fn, *[numbers("int8", n) for n in COUNTS[::3]])


@pytest.mark.parametrize(
    "name",
    [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int8",
        "uint8",
        "int16",
        "int32",
        "uint32",
        "int64",
    ],
)
def test_types(features, name):
    def fn(*xs):
        return [
            (
                x + x[0],
                x * x,
                jnp.max(x),
                jnp.min(x),
                lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None),
            )
            for x in xs
        ]

    check(fn, *[numbers(name, n, seed=1) for n in (2, 8, 15, 33, 70)])


def test_reductions_of_integers(features):
    def fn(*xs):
        return [
            (
                lax.reduce_and_p.bind(x, axes=(0,)),
                lax.reduce_or_p.bind(x, axes=(0,)),
                lax.reduce_xor_p.bind(x, axes=(0,)),
                jnp.prod(x),
                jnp.max(x.astype(np.uint32)),
            )
            for x in xs
        ]

    check(fn, *[numbers("int32", n) for n in (3, 16, 37, 64, 100)])
    check(lambda x: (jnp.any(x), jnp.all(x), ~x), numbers("bool", 77))


def test_mixed_types(features):
    def fn(a, b, c, d):
        return (
            a.astype(np.float32) * b + d.astype(np.float32),
            (a > 3) & (b < 2),
            c.astype(np.float32).sum(),
            (b * 2).astype(np.int32) + a,
            jnp.where(d > 0, a.astype(np.float64), b.astype(np.float64)),
            b.astype(jnp.bfloat16),
        )

    for n in (5, 16, 41):
        check(
            fn,
            numbers("int32", n),
            numbers("float32", n, 1),
            numbers("bfloat16", n, 2),
            numbers("int8", n, 3),
        )


def test_iterations_as_values(features):
    def fn(x):
        i = lax.broadcasted_iota(np.int32, x.shape, 1)
        j = lax.broadcasted_iota(np.uint8, x.shape, 1)
        return x + i.astype(np.float32), jnp.where(i >= 3, x, 0), j, i * i, (i - 5).astype(np.int64)

    for n in (3, 16, 50, 300):
        check(fn, np.ones((3, n), np.float32))


def test_rows_and_broadcasts(features):
    def fn(x, row, column, scalar):
        y = x * row + column - scalar
        return y, y.sum(1), y.sum(0), jnp.max(y, 1)

    for n in (2, 7, 13, 31, 100):
        check(
            fn,
            numbers("float32", 9 * n).reshape(9, n),
            numbers("float32", n, 1),
            numbers("float32", 9, 2)[:, None],
            np.float32(2),
        )


def test_updates_in_place_of_overlapping_parts(features):
    def fn(x):
        def body(i, x):
            x = x.at[1:].set(x[:-1] + 1)
            x = x.at[:-2].add(x[2:])
            return x.at[3:40].multiply(x[20:57])

        return lax.fori_loop(0, 3, body, x)

    check(fn, numbers("float32", 70) / 8)


def test_nans_and_zeros_of_extrema(features):
    for name in ("float32", "float64", "float16", "bfloat16"):
        for n in (2, 9, 33, 64):
            for special in (np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf):
                x = -np.abs(numbers(name, n)).astype(dtype(name))
                x[n // 2] = special
                results = run(lambda x: (jnp.max(x), jnp.min(-x)), x)
                if np.isnan(special):
                    assert np.isnan(results[0].astype(np.float32))
                    assert np.isnan(results[1].astype(np.float32))
                else:
                    assert results[0] == x.max()
                    assert results[1] == (-x).min()
        zeros = np.full(40, -0.0, dtype(name))
        assert np.signbit(run(jnp.max, zeros)[0])
        assert not np.signbit(run(jnp.min, -zeros)[0])
        zeros[17] = 0.0
        assert not np.signbit(run(jnp.max, zeros)[0])
        assert np.signbit(run(jnp.min, -zeros)[0])


def test_elementary_functions(features):
    """In short loops, in long ones that call them, and in loops with a remainder."""

    def short(x):
        return jnp.exp(x), jnp.sin(x), jnp.log(jnp.abs(x) + 1), jax.nn.softmax(x)

    def long(x):
        y = x
        for _ in range(4):
            y = jnp.sin(jnp.exp(jnp.tanh(y)) + jnp.cos(y))
        return y

    for n in (5, 16, 77):
        x = np.linspace(-3, 3, n, dtype=np.float32)
        check(short, x, rtol=2e-6, atol=1e-7)
        check(long, x, rtol=1e-5, atol=1e-6)
        check(long, x.astype(np.float64), rtol=1e-13, atol=1e-14)


def test_sums_of_floats_in_order_stay_in_order():
    """Only accumulations that may be reordered become vectors."""
    x = np.array([1e8, 1.0, -1e8, 1.0] * 20, np.float32)
    check(lambda x: lax.scan(lambda c, v: (c + v, None), np.float32(0), x)[0], x)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "float16", "bfloat16"])
def test_transposed_tiles_of_narrow_elements(features, name):
    """Whole tiles, and what is left of blocks and tiles on both sides."""

    def fn(x, y):
        return x.T, x.T + y, y.T + x, x.T.astype(jnp.float32) * 2

    for m, n in ((32, 64), (33, 47), (100, 71)):
        x = numbers(name, m * n)
        check(fn, x.reshape(m, n), x[::-1].reshape(n, m))
    check(
        lambda x: (x.transpose(0, 2, 1), x.transpose(2, 1, 0)),
        numbers(name, 2 * 40 * 53).reshape(2, 40, 53),
    )
