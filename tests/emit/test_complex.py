"""Complex elementwise functions: accuracy against mpmath, special values against C99."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from emit_oracle import COMPLEX, check, compare, run, samples
from jax import lax

mpmath.mp.prec = 200
EXACT = {
    "exp": mpmath.exp, "log": mpmath.log, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan,
    "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "sqrt": mpmath.sqrt,
    "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "asinh": mpmath.asinh,
    "acosh": mpmath.acosh, "atanh": mpmath.atanh, "expm1": lambda z: mpmath.exp(z) - 1,
    "log1p": lambda z: mpmath.log(1 + z), "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "rsqrt": lambda z: 1 / mpmath.sqrt(z), "sign": lambda z: z / abs(z),
}  # fmt: skip


def points(name: str) -> np.ndarray:
    """Numbers of all directions: ordinary, near the unit circle and the axes, huge and tiny."""
    random = np.random.default_rng(0)

    def circle(radius):
        return radius * np.exp(1j * random.uniform(-np.pi, np.pi, len(radius)))

    near_axis = random.standard_normal(10) + 1e-8j * random.standard_normal(10)
    parts = [
        circle(10.0 ** random.uniform(-6, 2.3, 40)),
        circle(1 + 1e-4 * random.standard_normal(15)),
        near_axis,
        1j * near_axis,
        circle(10.0 ** random.uniform(5, 30, 15)),
        circle(10.0 ** random.uniform(-30, -5, 15)),
    ]
    return np.concatenate(parts).astype(name)


@pytest.mark.parametrize("name", COMPLEX)
def test_accuracy(name):
    """Errors stay below 2 units in the last place of the result's absolute value (0.51 for
    complex64), where that is finite."""
    z = points(name)
    results = run(lambda z: [getattr(lax, f)(z) for f in EXACT], z)
    info = np.finfo(name)
    unit = float(info.eps) / 2
    for (function, exact), values in zip(EXACT.items(), results, strict=True):
        for argument, value in zip(z, values, strict=True):
            true = exact(mpmath.mpc(complex(argument)))
            if max(abs(true.real), abs(true.imag)) > float(info.max):
                continue
            size = max(abs(true), mpmath.mpf(float(info.tiny)))
            error = float(abs(mpmath.mpc(complex(value)) - true) / size) / unit
            assert error < (1.02 if name == "complex64" else 4), (function, argument, value, error)


@pytest.mark.parametrize("name", COMPLEX)
def test_arithmetic(name):
    with np.errstate(all="ignore"):
        z = samples(name, 0)
        w = samples(name, 1)
    finite = np.isfinite(z) & np.isfinite(w) & (np.abs(z) < 1e15) & (np.abs(w) < 1e15)
    z, w = z[finite], w[finite]
    w = np.where(np.abs(w) < 1e-15, 1, w).astype(name)
    tolerance = {"complex64": 3e-7, "complex128": 5e-16}[name]
    check(lambda z, w: (z + w, z - w, z * w, -z, z == w, z != w), z, w, rtol=tolerance, atol=1e-9)
    check(lambda z: (lax.real(z), lax.imag(z), lax.conj(z)), z)
    check(lambda z, w: (lax.max(z, w), lax.min(z, w)), z, w)
    (quotient, modulus) = run(lambda z, w: (z / w, lax.abs(z)), z, w)
    precise = np.asarray(z, np.clongdouble)
    true = precise / np.asarray(w, np.clongdouble)
    assert np.max(np.abs(quotient - true) / np.maximum(np.abs(true), 1e-30)) < 3 * tolerance
    compare([modulus], [np.abs(precise).astype(modulus.dtype)], rtol=tolerance)


def test_special_values_of_c99():
    inf = np.inf
    z = np.array(
        [
            complex(a, b)
            for a in (0.0, -0.0, 1.0, -1.0, inf, -inf)
            for b in (0.0, -0.0, 1.0, inf, -inf)
        ]
    )
    (exp, log, sqrt) = run(lambda z: (lax.exp(z), lax.log(z), lax.sqrt(z)), z)
    with np.errstate(all="ignore"):
        expected = [np.exp(z), np.log(z), np.sqrt(z)]
    keep = ~(np.isinf(z.real) & (z.real > 0) & np.isinf(z.imag))  # signs are unspecified there
    compare([exp[keep], log, sqrt], [expected[0][keep], *expected[1:]], rtol=1e-15)
    (power,) = run(
        lambda z, w: lax.pow(z, w), np.array([0j, 0j, 2 + 0j]), np.array([0j, 2 + 0j, 3 + 0j])
    )
    np.testing.assert_allclose(power, [1, 0, 8], rtol=1e-14)


@pytest.mark.parametrize("name", COMPLEX)
def test_quotients_with_zero_and_infinity(name):
    z = np.array([1, 1 + 1j, complex(np.inf, 1), 1 + 1j, 0], name)
    w = np.array([0, 0, 2 + 1j, complex(np.inf, 0), 3], name)
    (q,) = run(lambda z, w: z / w, z, w)
    assert np.isinf(q[:3]).all()
    np.testing.assert_array_equal(q[3:], [0, 0])


def test_integer_pow_and_sums():
    z = points("complex128")[:40]
    check(lambda z: [lax.integer_pow(z, n) for n in (0, 2, 3, -1, -2)], z, rtol=1e-10, atol=1e-300)
    check(lambda z: (z.sum(), z[:4].prod(), z.reshape(8, 5).sum(1)), z, rtol=1e-12)
