"""The functions with parameters (incomplete gamma and beta, zeta) against series in high precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mp, mpf

from lingon.lowering import elementary
from lingon.lowering.elementary.compiled import compile_loop

from .test_accuracy import measure_ulp

COUNT = 60


def lower_gamma(a: mpf, x: mpf) -> mpf:
    """P(a, x) by its power series, all terms positive."""
    term = total = mpf(1)
    n = 0
    while term > total * mpf(2) ** -mp.prec:
        n += 1
        term *= x / (a + n)
        total += term
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * total


def upper_gamma(a: mpf, x: mpf) -> mpf:
    with mp.workprec(1300):
        return 1 - lower_gamma(a, x)


def gamma_slope(a: mpf, x: mpf) -> mpf:
    with mp.workprec(1300):
        h = a * mpf(2) ** -140
        return (lower_gamma(a + h, x) - lower_gamma(a - h, x)) / (2 * h)


def beta(a: mpf, b: mpf, x: mpf) -> mpf:
    """I_x(a, b) = x^a (1-x)^b/(a B) sum of (a+b)_n/(a+1)_n x^n, all terms positive."""
    term = total = mpf(1)
    n = 0
    while term > total * mpf(2) ** -140 or (a + b + n) * x > a + 1 + n:
        term *= (a + b + n) * x / (a + 1 + n)
        n += 1
        total += term
    log = a * mp.log(x) + b * mp.log1p(-x) - mp.log(a)
    return mp.exp(log + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)) * total


def zeta(s: mpf, q: mpf) -> mpf:
    """Term by term up to 500, then three terms of the Euler-Maclaurin formula."""
    total = mpf(0)
    while q < 500:
        total += q**-s if q > 0 else 1 / q ** int(s)
        q += 1
    rest = q / (s - 1) + mpf(1) / 2 + s / (12 * q) - s * (s + 1) * (s + 2) / (720 * q**3)
    return total + q**-s * (rest + s * (s + 1) * (s + 2) * (s + 3) * (s + 4) / (30240 * q**5))


def polygamma(m: mpf, x: mpf) -> mpf:
    return (-1) ** (int(m) + 1) * mp.factorial(m) * zeta(m + 1, x)


def gamma_samples(g: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Small, medium, and large parameters; x from one tail to the other."""
    a = np.concatenate([10 ** g.uniform(-6, 0, COUNT), 10 ** g.uniform(0, 3.3, 3 * COUNT)])
    x = np.concatenate(
        [10 ** g.uniform(-3, 1.5, COUNT), a[COUNT:] * g.uniform(0.4, 1.8, 3 * COUNT)]
    )
    return a, x


def beta_samples(g: np.random.Generator) -> tuple[np.ndarray, ...]:
    a, b = 10 ** g.uniform(-1, 3.3, 4 * COUNT), 10 ** g.uniform(-0.3, 3.3, 4 * COUNT)
    x = a / (a + b) * g.uniform(0.5, 1.3, a.size)
    return a, b, np.minimum(x, 0.98)


def zeta_samples(g: np.random.Generator) -> tuple[np.ndarray, ...]:
    s = np.concatenate([g.uniform(1.01, 10, COUNT), 10 ** g.uniform(0.5, 3, COUNT)])
    s = np.concatenate([s, g.integers(2, 30, COUNT)])
    q = np.concatenate([10 ** g.uniform(-3, 2.5, 2 * COUNT), -(10 ** g.uniform(-2, 2, COUNT))])
    return s, q


def polygamma_samples(g: np.random.Generator) -> tuple[np.ndarray, ...]:
    m = g.integers(1, 40, 2 * COUNT).astype(np.float64)
    # away from the zeros between negative integers
    x = np.concatenate([10 ** g.uniform(-2, 2.3, COUNT), -g.integers(0, 9, COUNT) - 0.25])
    return m, x


TABLE: dict[str, tuple[Callable, Callable]] = {
    "igamma": (lower_gamma, gamma_samples),
    "igammac": (upper_gamma, gamma_samples),
    "igamma_grad_a": (gamma_slope, gamma_samples),
    "regularized_incomplete_beta": (beta, beta_samples),
    "zeta": (zeta, zeta_samples),
    "polygamma": (polygamma, polygamma_samples),
}
CASES = [(name, t) for name in TABLE for t in elementary.FLOAT_TYPES]


def arguments(name: str, float_type: str, seed: int = 0) -> list[np.ndarray]:
    dtype = {"f32": np.float32, "f64": np.float64}[float_type]
    return [np.asarray(v, dtype) for v in TABLE[name][1](np.random.default_rng(seed))]


def test_every_function_is_measured_somewhere() -> None:
    assert set(TABLE) | set(measure_ulp.measured()) == set(elementary.ARITY)


@pytest.mark.parametrize(("name", "float_type"), CASES)
def test_relative_error(name: str, float_type: str) -> None:
    """1e-12 in f64; f32 is rounded from f64. Results beyond the format are not looked at."""
    arrays = arguments(name, float_type)
    got = compile_loop(name, float_type)(*arrays)
    info = np.finfo(arrays[0].dtype)
    bound = 1e-12 if float_type == "f64" else 0.51 * float(info.eps)
    looked_at = 0
    with mp.workprec(160):
        for i, values in enumerate(zip(*(a.tolist() for a in arrays), strict=True)):
            exact = TABLE[name][0](*map(mpf, values))
            if not float(info.tiny) * 100 < abs(exact) < float(info.max):
                continue
            looked_at += 1
            assert abs(mpf(float(got[i])) / exact - 1) <= bound, (values, got[i], float(exact))
    assert looked_at > len(got) / 2


@pytest.mark.parametrize(("name", "float_type"), CASES)
def test_numpy_evaluation_equals_compiled_code(name: str, float_type: str) -> None:
    arrays = arguments(name, float_type, seed=1)
    loop = compile_loop(name, float_type)
    assert loop.calls == []
    np.testing.assert_array_equal(elementary.evaluate(name, *arrays), loop(*arrays))


@pytest.mark.parametrize("size", [1e5, 1e8, 1e12])
def test_large_parameters(size: float) -> None:
    """The limits by the central limit theorem, to the order of their first correction."""
    a = np.array([size])
    assert elementary.evaluate("igamma", a, a)[0] == pytest.approx(
        0.5 + 1 / (3 * np.sqrt(2 * np.pi * size)), rel=1e-2 / size
    )
    assert elementary.evaluate("igamma_grad_a", a, a)[0] == pytest.approx(
        -1 / np.sqrt(2 * np.pi * size), rel=1 / size
    )
    half = np.array([0.5])
    got = elementary.evaluate("regularized_incomplete_beta", a, a, half)[0]
    assert got == pytest.approx(0.5, rel=1e-13)


@pytest.mark.parametrize("float_type", elementary.FLOAT_TYPES)
def test_small_complements(float_type: str) -> None:
    """Q(a, x) for tiny a is a E_1(x), not 1 - P."""
    dtype = {"f32": np.float32, "f64": np.float64}[float_type]
    a = np.array([1e-20], dtype)
    for x in (0.25, 0.75, 1.0, 1.25, 4.0):
        got = elementary.evaluate("igammac", a, np.array([x], dtype))[0]
        want = float(a[0]) * float(mp.e1(x))
        assert got == pytest.approx(want, rel=4 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("a", [0.5, 3.0, 199.0, 1000.0])
def test_beta_with_one_huge_parameter_is_incomplete_gamma(a: float) -> None:
    """I_x(a, b) tends to P(a, b x) as b grows."""
    b = 1e18
    x = a * np.array([0.7, 1.0, 1.02, 1.3]) / b
    got = elementary.evaluate("regularized_incomplete_beta", np.full(4, a), np.full(4, b), x)
    want = elementary.evaluate("igamma", np.full(4, a), b * x)
    np.testing.assert_allclose(got, want, rtol=3e-12)


def test_beta_with_one_tiny_parameter() -> None:
    """1 - I_x(a, 1/2) for tiny a is a times the integral of t^-1 (1-t)^-1/2 over [x, 1]."""
    a = np.array([1e-200, 1e-20])
    half, x = np.full(2, 0.5), np.full(2, 0.36)
    # with s = sqrt(1 - t), the integral is 2 artanh(s) at s = 0.8
    got = elementary.evaluate("regularized_incomplete_beta", half, a, 1 - x)
    np.testing.assert_allclose(got, a * 2 * np.arctanh(0.8), rtol=1e-13)
    rest = elementary.evaluate("regularized_incomplete_beta", a, half, x)
    np.testing.assert_allclose(rest, 1, rtol=1e-13)
    assert (rest <= 1).all()
