"""Zeros, infinities, NaN, domain errors, overflow, underflow, signs: IEEE 754 and C's Annex F."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lingon.lowering import elementary

INF, NAN = math.inf, math.nan
TYPES = {"f32": np.float32, "f64": np.float64}
PI = math.pi

# function: [(arguments, result), ...], valid in both types
UNARY = {
    "exp": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (1000, INF), (-1000, 0)],
    "exp2": [(0, 1), (10, 1024), (-3, 0.125), (INF, INF), (-INF, 0), (2000, INF), (-2000, 0)],
    "expm1": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (1000, INF), (-1000, -1)],
    "log": [(1, 0), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN), (-INF, NAN)],
    "log2": [(1, 0), (8, 3), (0.25, -2), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN)],
    "log10": [(1, 0), (1000, 3), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN)],
    "log1p": [(0, 0), (-0.0, -0.0), (-1, -INF), (INF, INF), (-2, NAN), (-INF, NAN)],
    "sin": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)],
    "tan": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "asin": [(0, 0), (-0.0, -0.0), (1, PI / 2), (-1, -PI / 2), (2, NAN), (-INF, NAN)],
    "acos": [(1, 0), (0, PI / 2), (-1, PI), (1.5, NAN), (INF, NAN)],
    "atan": [(0, 0), (-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2), (1, PI / 4)],
    "sinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1000, INF), (-1000, -INF)],
    "cosh": [(0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (1000, INF)],
    "tanh": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (50, 1), (-50, -1)],
    "asinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1, 0), (0.5, NAN), (-1, NAN), (INF, INF), (-INF, NAN)],
    "atanh": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (2, NAN), (-INF, NAN)],
    "logistic": [(0, 0.5), (INF, 1), (-INF, 0), (1000, 1), (-1000, 0)],
    "cbrt": [(0, 0), (-0.0, -0.0), (27, 3), (-8, -2), (INF, INF), (-INF, -INF)],
    "rsqrt": [(4, 0.5), (0, INF), (-0.0, -INF), (INF, 0), (-1, NAN)],
    "erf": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (7, 1)],
    "erfc": [(0, 1), (INF, 0), (-INF, 2), (40, 0), (-10, 2)],
    "erf_inv": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-2, NAN), (INF, NAN)],
    "lgamma": [(1, 0), (2, 0), (0, INF), (-0.0, INF), (-3, INF), (INF, INF), (-INF, INF)],
    "digamma": [(0, NAN), (-0.0, NAN), (-1, NAN), (-7, NAN), (INF, INF), (-INF, NAN)],
    "bessel_i0e": [(0, 1), (INF, 0), (-INF, 0)],
    "bessel_i1e": [(0, 0), (-0.0, -0.0), (INF, 0), (-INF, -0.0)],
}
UNARY |= {f"sampler_{name}": UNARY[name] for name in ("log", "log1p", "erf", "erf_inv")}
BINARY = {
    "powf": [
        (0, 0, 1), (NAN, 0, 1), (INF, -0.0, 1), (1, NAN, 1), (1, INF, 1), (-1, INF, 1), (-1, -INF, 1),
        (0, 3, 0), (-0.0, 3, -0.0), (-0.0, 2, 0), (0, -3, INF), (-0.0, -3, -INF), (-0.0, -2, INF),
        (-0.0, -0.5, INF), (-0.0, 0.5, 0), (0, -INF, INF), (0, INF, 0), (0.5, INF, 0), (0.5, -INF, INF),
        (2, INF, INF), (2, -INF, 0), (-2, INF, INF), (-0.5, INF, 0), (INF, 2, INF), (INF, -2, 0),
        (-INF, 3, -INF), (-INF, 2, INF), (-INF, 0.5, INF), (-INF, -3, -0.0), (-INF, -2, 0),
        (-8, 1 / 3, NAN), (-2, 3, -8), (-2, 4, 16), (-2, -1, -0.5), (2, 0.5, math.sqrt(2)),
        (NAN, 1, NAN), (2, NAN, NAN), (10, 1000, INF), (10, -1000, 0), (-10, 1001, -INF), (3, 2, 9),
    ],
    "atan2": [
        (0, 1, 0), (-0.0, 1, -0.0), (0, -1, PI), (-0.0, -1, -PI), (0, 0, 0), (0, -0.0, PI),
        (-0.0, 0, -0.0), (-0.0, -0.0, -PI), (1, 0, PI / 2), (-1, 0, -PI / 2), (1, -0.0, PI / 2),
        (1, INF, 0), (-1, INF, -0.0), (1, -INF, PI), (INF, 1, PI / 2), (-INF, 1, -PI / 2),
        (INF, INF, PI / 4), (INF, -INF, 3 * PI / 4), (-INF, -INF, -3 * PI / 4), (-INF, INF, -PI / 4),
        (NAN, 1, NAN), (1, NAN, NAN), (1, 1, PI / 4),
    ],
    "hypot": [
        (3, 4, 5), (0, 0, 0), (-0.0, 0, 0), (INF, NAN, INF), (NAN, -INF, INF), (NAN, 1, NAN),
        (0, -2, 2), (INF, 1, INF),
    ],
    "fmod": [
        (5, 3, 2), (-5, 3, -2), (5, -3, 2), (6, 3, 0), (-6, 3, -0.0), (0, 3, 0), (-0.0, 3, -0.0),
        (1, INF, 1), (-1, -INF, -1), (INF, 1, NAN), (1, 0, NAN), (0, 0, NAN), (NAN, 1, NAN), (1, NAN, NAN),
    ],
    "nextafter": [(1, 1, 1), (0, -0.0, -0.0), (-0.0, 0, 0), (NAN, 1, NAN), (1, NAN, NAN), (INF, INF, INF)],
    "igamma": [
        (0, 0, NAN), (0, 0.25, 1), (0, 3, 1), (2, 0, 0), (2, -0.0, 0), (2, INF, 1), (-1, 2, NAN), (2, -1, NAN),
        (-INF, 1, NAN), (INF, 2, 0), (INF, INF, 1), (NAN, 1, NAN), (1, NAN, NAN), (1, 2.0**-80, 2.0**-80),
    ],
    "igammac": [
        (0, 0, NAN), (0, 0.25, 0), (0, 3, 0), (2, 0, 1), (2, -0.0, 1), (2, INF, 0), (-1, 2, NAN), (2, -1, NAN),
        (-INF, 1, NAN), (INF, 2, 1), (INF, INF, 0), (NAN, 1, NAN), (1, NAN, NAN), (1, 2, math.exp(-2)),
    ],
    "igamma_grad_a": [
        (0, 1, NAN), (0, 0, NAN), (-1, 1, NAN), (1, -1, NAN), (2, 0, 0), (2, INF, 0), (INF, 0, 0), (INF, 2, NAN),
        (NAN, 1, NAN), (1, NAN, NAN), (2, 1e30, -0.0),
    ],
    "regularized_incomplete_beta": [
        (0, 0, 0.5, NAN), (INF, INF, 0.5, NAN), (-1, 1, 0.5, NAN), (1, -1, 0.5, NAN), (1, 1, -0.5, NAN),
        (1, 1, 1.5, NAN), (1, 1, INF, NAN), (NAN, 1, 0.5, NAN), (1, NAN, 0.5, NAN), (1, 1, NAN, NAN),
        (2, 3, 0, 0), (2, 3, 1, 1), (0, 2, 0.5, 1), (0, 2, 0, 0), (2, 0, 0.5, 0), (2, 0, 1, 1), (INF, 2, 0.5, 0),
        (2, INF, 0.5, 1), (2, INF, 0, 0), (1, 1, 0.25, 0.25),
    ],
    "zeta": [
        (1, 2, INF), (1, NAN, INF), (0.5, 2, NAN), (-1, 2, NAN), (2, 0, INF), (2, -3, INF), (3, 0, NAN), (3, -3, NAN),
        (2.5, 0, NAN), (2.5, -0.5, NAN), (2, -INF, INF), (3, -INF, NAN), (2, INF, NAN), (INF, 2, NAN), (NAN, 2, NAN),
        (2, NAN, NAN), (2, 1, PI * PI / 6), (2, 0.5, PI * PI / 2), (2, -0.5, 4 + PI * PI / 2), (2000, 2, 0), (2000, 0.25, INF),
    ],
    "polygamma": [
        (-1, 2, NAN), (0.5, 2, NAN), (NAN, 2, NAN), (1, NAN, NAN), (INF, 2, NAN), (0, -1, NAN), (0, INF, INF),
        (1, 0, INF), (1, -2, INF), (2, 0, NAN), (2, -2, NAN), (1, 1, PI * PI / 6), (1, INF, NAN),
        (1, 0.5, PI * PI / 2),
    ],
}  # fmt: skip
CASES = [(n, (a,), r) for n, rows in UNARY.items() for a, r in rows]
CASES += [(n, tuple(row[:-1]), row[-1]) for n, rows in BINARY.items() for row in rows]


def call(name: str, dtype: type, *arguments: float) -> float:
    return float(elementary.evaluate(name, *(dtype(a) for a in arguments)))


def test_every_function_has_special_values() -> None:
    assert set(UNARY) | set(BINARY) == set(elementary.ARITY)


@pytest.mark.parametrize("float_type", TYPES)
def test_special_values(float_type: str) -> None:
    dtype = TYPES[float_type]
    for name, arguments, expected in CASES:
        got = call(name, dtype, *arguments)
        want = float(dtype(expected))
        if math.isnan(want):
            assert math.isnan(got), (name, arguments, got)
        elif want == 0 or math.isinf(want):
            assert got == want, (name, arguments, got)
            assert math.copysign(1, got) == math.copysign(1, want), (name, arguments, got)
        else:
            assert abs(got - want) <= 1.5 * np.spacing(dtype(abs(want))), (name, arguments, got)


@pytest.mark.parametrize("float_type", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_nan_propagates(name: str, float_type: str) -> None:
    assert math.isnan(call(name, TYPES[float_type], NAN))


@pytest.mark.parametrize("float_type", TYPES)
@pytest.mark.parametrize(
    "name", ["expm1", "log1p", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh"]
)
def test_tiny_arguments_come_back_unchanged(name: str, float_type: str) -> None:
    dtype = TYPES[float_type]
    info = np.finfo(dtype)
    for x in (info.smallest_subnormal, info.smallest_subnormal * dtype(5), info.tiny, -info.tiny):
        assert call(name, dtype, x) == float(x)


@pytest.mark.parametrize("float_type", TYPES)
def test_extreme_results(float_type: str) -> None:
    dtype = TYPES[float_type]
    info = np.finfo(dtype)
    edge = math.log(float(info.max))
    below = np.nextafter(dtype(edge), dtype(0))
    assert math.isfinite(call("exp", dtype, below))
    assert call("exp", dtype, np.nextafter(dtype(edge), dtype(INF)) + dtype(1e-4)) == INF
    bias = 127 if float_type == "f32" else 1023
    mantissa = 23 if float_type == "f32" else 52
    for k in (-bias - mantissa + 1, -bias, 1 - bias, 0, bias):
        assert call("exp2", dtype, k) == 2.0**k
        assert call("log2", dtype, 2.0**k) == k
        assert call("powf", dtype, 2, k) == 2.0**k
    assert call("exp2", dtype, bias + 1) == INF
    assert call("exp2", dtype, -bias - mantissa - 1) == 0
    big = float(info.max)
    assert math.isinf(call("hypot", dtype, big, big))
    assert call("hypot", dtype, big, 0) == big
    assert call("hypot", dtype, info.smallest_subnormal, 0) == float(info.smallest_subnormal)
    assert call("atan2", dtype, big, big) == float(dtype(PI / 4))
    assert call("asinh", dtype, big) == pytest.approx(math.log(big) + math.log(2), rel=1e-6)
    assert call("acosh", dtype, big) == pytest.approx(math.log(big) + math.log(2), rel=1e-6)
    assert call("log1p", dtype, big) == pytest.approx(math.log(big), rel=1e-6)


@pytest.mark.parametrize("float_type", TYPES)
def test_fmod_of_extreme_exponents(float_type: str) -> None:
    dtype = TYPES[float_type]
    info = np.finfo(dtype)
    pairs = [
        (info.max, info.smallest_subnormal),
        (info.max, info.smallest_subnormal * dtype(3)),
        (info.max, info.tiny),
        (info.max, dtype(3)),
        (info.tiny, info.smallest_subnormal * dtype(7)),
        (dtype(1), np.nextafter(dtype(1), dtype(0))),
    ]
    for x, y in pairs:
        assert call("fmod", dtype, x, y) == math.fmod(float(x), float(y)), (x, y)


@pytest.mark.parametrize("float_type", TYPES)
def test_trigonometric_functions_near_multiples_of_half_pi(float_type: str) -> None:
    from mpmath import mp

    dtype = TYPES[float_type]
    with mp.workprec(1300):
        for exponent in (0, 1, 5, 10, 20, 30, 60, 100, 124):
            for multiple in (1, 2, 3):
                # the float nearest to an odd or even multiple of pi/2 of about that size
                count = mp.floor(mp.ldexp(multiple, exponent))
                x = dtype(float(count * mp.pi / 2))
                for name in ("sin", "cos", "tan"):
                    exact = getattr(mp, name)(mp.mpf(float(x)))
                    got = call(name, dtype, x)
                    error = abs(mp.mpf(got) - exact) / float(np.spacing(dtype(abs(float(exact)))))
                    assert error < 1.0, (name, float(x).hex(), float(error))


@pytest.mark.parametrize("float_type", TYPES)
@pytest.mark.parametrize(
    ("name", "low", "high", "step"),
    [
        ("exp", -0.36, 0.36, 1), ("log", 0.9, 1.1, 1), ("atan", 0.9, 1.1, 1), ("tanh", 0.95, 1.05, 1),
        ("erf", 0.95, 1.05, 1), ("asin", 0.45, 0.55, 1), ("acos", 0.45, 0.55, -1), ("erfc", 0.45, 0.55, -1),
        ("cbrt", 0.99, 1.01, 1), ("sinh", 0.95, 1.05, 1), ("asinh", 0.1, 2.0, 1), ("logistic", -1, 1, 1),
    ],
)  # fmt: skip
def test_monotone_where_pieces_meet(
    name: str, low: float, high: float, step: int, float_type: str
) -> None:
    """Steps between the pieces of a function must not turn it around by more than its last place."""
    dtype = TYPES[float_type]
    x = np.linspace(low, high, 20001, dtype=dtype)
    y = elementary.evaluate(name, x).astype(np.float64) * step
    drop = np.maximum.accumulate(y) - y
    assert (drop <= 2 * np.spacing(np.abs(y).astype(dtype))).all()
