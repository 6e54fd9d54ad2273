"""Running sums, products, extremes and log-sum-exps against jax."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from emit_oracle import check, dtype, run
from jax import lax

from lingon import runtime

NAMES = (
    "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
    "uint32", "int64", "uint64", "complex64", "complex128",
)  # fmt: skip
# jax rounds the 16-bit floats in another order.
RTOL = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-4, "complex64": 1e-4}


def array(shape, name, seed=0):
    random = np.random.default_rng(seed)
    t = dtype(name)
    if t.kind in "iu":
        wide = np.uint64 if name == "uint64" else np.int64
        info = np.iinfo(t)
        return random.integers(info.min, info.max, shape, dtype=wide, endpoint=True).astype(t)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if t.kind == "c" else x).astype(t)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("axis,reverse", [(0, False), (1, False), (1, True), (2, True)])
def test_dtypes_and_axes(name, op, axis, reverse):
    x = array((3, 7, 11), name)
    if op in ("cummax", "cummin"):
        x = np.where(np.random.default_rng(1).random(x.shape) < 0.2, dtype(name).type(0), x)
    tolerance = RTOL.get(name, 1e-12) if op in ("cumsum", "cumprod") else 0.0
    check(lambda x: getattr(lax, op)(x, axis, reverse), x, rtol=tolerance, atol=2 * tolerance)


@pytest.mark.parametrize("op", ["cumsum", "cummax", "cummin", "cumprod", "cumlogsumexp"])
@pytest.mark.parametrize("reverse", [False, True])
def test_special_values(op, reverse):
    inf, nan = np.inf, np.nan
    for row in (
        [1, 2, nan, 3],
        [-inf, -inf, 1, 2],
        [1, inf, 2, -1],
        [inf, -inf, 1, 0],
        [-0.0, 0.0, -0.0, 1],
    ):
        x = np.array(row, np.float32)
        check(lambda x: getattr(lax, op)(x, 0, reverse), x, rtol=1e-6)


@pytest.mark.parametrize("length", [1, 255, 2048, 2049, 70_000, 600_000])
@pytest.mark.parametrize("reverse", [False, True])
def test_long_rows(length, reverse):
    x = array((length,), "float32")
    y = x.astype(np.float64)
    exact = np.cumsum(y[::-1])[::-1] if reverse else np.cumsum(y)
    (ours,) = run(lambda x: lax.cumsum(x, 0, reverse), x)
    np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=2e-3)
    i = array((length,), "int32")
    check(lambda x: lax.cumsum(x, 0, reverse), i)
    check(lambda x: lax.cummax(x, 0, reverse), i)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("axis,reverse", [(0, False), (1, True), (1, False)])
def test_cumlogsumexp(name, axis, reverse):
    x = array((6, 9), name) * 20
    x = x.astype(dtype(name))
    check(lambda x: lax.cumlogsumexp(x, axis, reverse), x, rtol=RTOL.get(name, 1e-12), atol=1e-5)


def test_wide_range_does_not_underflow():
    x = np.array([-500.0, -500.0, 0.0, 80.0, -500.0], np.float32)
    check(lambda x: lax.cumlogsumexp(x), x, rtol=1e-6)


def test_gradient():
    x = array((40,), "float32")
    check(lambda x: jax.grad(lambda x: (lax.cumsum(x) * x).sum())(x), x, rtol=1e-4, atol=1e-4)


def test_results_do_not_depend_on_the_number_of_threads():
    x = array((500_000,), "float32")
    before = runtime.num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            runtime.set_num_threads(threads)
            results.append(run(lambda x: lax.cumsum(x), x)[0])
    finally:
        runtime.set_num_threads(before)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
