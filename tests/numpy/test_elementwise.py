"""Elementwise functions against jax: values, dtypes, weak types, errors and jaxprs."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax_oracle import check
from numpy_data import ALL, BOOL, C64, F32, I32, array, pairs, product, sample, special

import lingon.numpy as lnp

UNARY = """
abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh
bitwise_count bitwise_invert bitwise_not cbrt ceil conj conjugate cos cosh deg2rad degrees exp exp2
expm1 fabs floor frexp i0 imag invert iscomplex isfinite isinf isnan isneginf isposinf isreal log
log10 log1p log2 logical_not modf nan_to_num negative positive rad2deg radians real reciprocal rint
round around sign signbit sin sinc sinh spacing sqrt square tan tanh trunc
""".split()

BINARY = """
add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
divide divmod equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot
isclose ldexp left_shift less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor
maximum minimum mod multiply nextafter not_equal pow power remainder right_shift subtract
true_divide
""".split()

#: name: (why values are looser than elsewhere, factor)
LOOSE = {
    "tan": ("near its poles the argument's rounding counts", 50),
    "i0": ("exp of the argument times a Bessel function", 8),
    "logaddexp2": ("two logarithms", 8),
    "power": ("XLA and we multiply in another order", 50),
    "pow": ("XLA and we multiply in another order", 50),
    "float_power": ("exp(y log x)", 50),
    "ldexp": ("XLA's power of two is not exact", 8),
    "sinc": ("near its zeros", 16),
}

SHAPES = ((5,), (2, 3), (), (0,), (1,))
PAIRS = (((5,), (5,)), ((2, 3), (3,)), ((), (4,)), ((2, 1), (1, 3)), ((0,), (1,)), ((), ()))


def _loose(name: str) -> float:
    return LOOSE.get(name, ("", 1))[1]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    check(f, g, array((2, 3), F32, name, low=0.1, high=0.9), loose=_loose(name))
    for dt, shape in sample(product(ALL, SHAPES), 2, full, name):
        check(f, g, array(shape, dt, name), loose=_loose(name), jit=full)


@pytest.mark.parametrize("name", UNARY)
def test_unary_special_values(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    for dt in (F32, *sample(ALL, 1, full, name)):
        x = special(dt)
        if dt == F32 and name in ("sin", "cos", "tan", "sinc"):
            x = x[np.abs(x) < 1e4]
        check(f, g, x, jaxpr=False, jit=full, loose=_loose(name))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    check(f, g, array((2, 3), F32, name, 1), array((2, 3), F32, name, 2), loose=_loose(name))
    for a, b, (s, t) in sample(product(ALL, ALL, PAIRS), 3, full, name):
        x, y = array(s, a, name, 1), array(t, b, name, 2, low=0)
        check(f, g, x, y, jit=full, loose=_loose(name))


@pytest.mark.parametrize("name", BINARY)
def test_binary_special_values(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    for dt in sample((F32, I32), 2, full, name):
        x, y = pairs(dt)
        check(f, g, x, y, jaxpr=False, jit=full, loose=_loose(name))


#: name: why its printed jaxpr is not jax's for weakly typed arguments.
WEAK = {
    "float_power": "0 to a complex power is 0, and NaN in jax",
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_with_python_scalars(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    dts = sample(ALL, 2, full, name)
    for dt, s in sample(product(dts, (2, 1.5, True, 0.5 + 1j)), 2, full, name):
        x = array((3,), dt, name, low=1 if name == "float_power" else -3)
        check(f, g, x, s, jaxpr=name not in WEAK, jit=full, loose=_loose(name))
        check(f, g, s, array((3,), dt, name, low=0), jaxpr=False, jit=False, loose=_loose(name))


@pytest.mark.parametrize("args", [(0,), (1,), (2,), (-1,), (True,)])
@pytest.mark.parametrize("dt", [F32, I32, BOOL, C64])
def test_round_decimals(args: tuple, dt: np.dtype) -> None:
    check(jnp.round, lnp.round, array((4,), dt) * dt.type(1), *args)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3, 5, 8])
def test_static_powers(n: int) -> None:
    check(jnp.power, lnp.power, array((4,), F32, low=0.5), n)
    check(lambda x: x**n, lambda x: x**n, array((4,), I32, low=1))


@pytest.mark.parametrize("bad", ["a", [1.0, 2.0], None, object()])
def test_arguments_that_are_no_arrays(bad: object) -> None:
    for name in ("sin", "abs", "logical_not", "isnan", "ceil"):
        check(getattr(jnp, name), getattr(lnp, name), bad)
    for name in ("add", "power", "less", "arctan2", "logical_and", "floor_divide"):
        check(getattr(jnp, name), getattr(lnp, name), 1.0, bad)


def test_shapes_that_do_not_fit() -> None:
    x, y, z = (np.ones(s, np.float32) for s in ((2,), (3,), (2, 4)))
    for name in ("add", "power", "less", "arctan2", "logical_and", "hypot", "isclose"):
        check(getattr(jnp, name), getattr(lnp, name), x, y)
        check(getattr(jnp, name), getattr(lnp, name), x, z)
