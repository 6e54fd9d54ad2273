"""Elementwise primitives on real numbers and booleans against jax, corner values included."""

from __future__ import annotations

import numpy as np
import pytest
from emit_oracle import FLOAT8, FLOATS, ONE_ULP, SIGNED, UNSIGNED, check, emitted, samples
from jax import lax


def binds(names: str):
    """A function that applies each of the primitives to the same operands."""
    primitives = [getattr(lax, f"{name}_p") for name in names.split()]
    return lambda *operands: [p.bind(*operands) for p in primitives]


@pytest.mark.parametrize("name", FLOATS + FLOAT8)
def test_float_arithmetic_is_exact(name):
    x, y = samples(name, 0), samples(name, 1)
    check(binds("add sub mul div rem max min nextafter eq ne lt le gt ge eq_to lt_to le_to"), x, y)
    check(binds("abs neg sign floor ceil is_finite square"), x)
    check(lambda x: [lax.round(x, m) for m in lax.RoundingMethod], x)
    check(lambda x, y: (lax.clamp(x, y, y[::-1]), lax.select(x < y, x, y)), x, y)


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_integer_arithmetic(name):
    x, y = samples(name, 0), samples(name, 1)
    check(binds("add sub mul div rem max min and or xor"), x, y)
    check(binds("shift_left shift_right_arithmetic shift_right_logical"), x, y)
    check(binds("eq ne lt le gt ge eq_to lt_to le_to"), x, y)
    check(binds("not clz sign neg square"), x)
    check(lambda x: [lax.integer_pow(x, n) for n in (0, 1, 2, 3, 5)], x)
    check(lambda x, y: (lax.clamp(x, y, y[::-1]), lax.select(x < y, x, y)), x, y)
    if "int4" not in name:  # XLA:CPU counts the bits of the byte that a 4-bit integer is kept in
        check(binds("population_count"), x)
        check(binds("mulhi"), x, y)
    if name in SIGNED[1:]:
        check(binds("abs"), x)


def test_bool():
    x, y = samples("bool", 0), samples("bool", 1)
    check(binds("and or xor max min eq ne lt le gt ge eq_to lt_to le_to"), x, y)
    check(binds("not"), x)


def test_total_order_of_nans():
    x = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    x, y = np.repeat(x, 8), np.tile(x, 8)
    check(binds("eq_to lt_to le_to"), x, y)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, -3])
@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_integer_pow(name, exponent):
    check(lambda x: lax.integer_pow(x, exponent), samples(name), rtol=4 * ONE_ULP[name])


@pytest.mark.parametrize("name", FLOATS)
def test_elementary_functions(name):
    names = (
        "exp log expm1 log1p sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh cbrt "
        "rsqrt sqrt erf"
    )
    x = samples(name)
    small = np.finfo(x.dtype).tiny if name in ("float32", "float64") else 2e-7
    fns = [getattr(lax, n) for n in names.split()]
    # cosh of large f32 numbers is off by 1e-5 in XLA
    tolerance = 2e-5 if name == "float32" else 100 * ONE_ULP[name]
    if name in ("float16", "bfloat16"):
        tolerance = 2 * ONE_ULP[name]
    check(lambda x: [f(x) for f in fns], x, rtol=tolerance, atol=small)


@pytest.mark.parametrize("name", FLOATS)
def test_two_operand_functions(name):
    x, y = samples(name, 0), samples(name, 1)
    tolerance = {"float32": 2e-5, "float64": 1e-13}.get(name, 2 * ONE_ULP[name])
    small = 2e-7 if name == "float16" else 1.2e-38
    check(lambda x, y: (lax.atan2(x, y), lax.pow(x, y)), x, y, rtol=tolerance, atol=small)


def test_library_functions():
    x = np.linspace(-0.99, 0.99, 41).astype(np.float32)
    check(lambda x: (lax.erf_inv(x), lax.logistic(x)), x, rtol=2e-6)
    check(lambda x: (lax.lgamma(x + 1.5), lax.digamma(x + 1.5)), x, rtol=1e-5, atol=1e-6)
    check(lambda x: (lax.bessel_i0e(x), lax.bessel_i1e(x)), x, rtol=1e-6)


@pytest.mark.parametrize("exponent", ["int8", "int32", "uint8"])
def test_pow_with_integer_exponents(exponent):
    x = np.array([2, -2, 0, 0, -0.0, 2, -1, 0.5, 3], np.float32)
    y = np.array([3, -3, 0, -1, -3, 60, 5, 7, 2]).astype(exponent)
    if exponent == "uint8":
        y = np.abs(np.array([3, 3, 0, 1, 3, 60, 5, 7, 2])).astype(exponent)
    check(lambda x, y: lax.pow(x, y), x, y, rtol=1e-6)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (2, 0), (4, 3), (11, 52), (3, 30), (8, 2)])
def test_reduce_precision(name, bits):
    check(lambda x: lax.reduce_precision(x, *bits), samples(name))


def test_select_n():
    which = np.array([0, 1, 2, 3, -1, 100, -100], np.int32)
    cases = [np.full(7, k, np.float32) for k in (10, 20, 30)]
    check(lambda w, *c: lax.select_n(w, *c), which, *cases)
    check(lambda w, *c: lax.select_n(w, *c), np.int32(1), *cases)
    check(lambda w, a, b: lax.select_n(w, a, b), np.bool_(True), cases[0], cases[1])


def test_product_of_another_dtype():
    x = np.array([100, -100, 3], np.int8)
    check(lambda x: lax.mul(x, x, out_dtype=np.dtype("int32")), x)


def test_division_by_zero_does_not_trap():
    x = np.array([5, -5, -(2**31), -(2**31), 0], np.int32)
    y = np.array([0, 0, -1, 0, 0], np.int32)
    check(binds("div rem"), x, y)
    check(lambda x, y: (lax.div(x, y), lax.rem(x, y)), np.int32(-(2**31)), np.int32(-1))


def test_narrow_floats_round_at_each_operation():
    x = samples("bfloat16")
    check(lambda x: (x * x) * x + x, x)
    text = emitted(lambda x: x * x + x, x)
    assert text.count("arith.mulf") == 1
    assert text.count("arith.trunci") == 2  # one rounding for each of the two operations
