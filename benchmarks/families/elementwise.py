"""Elementwise programs: every elementary function, chains, bits of integers, narrow floats, complex."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import BF16, Program, add_to, integers, named, normal, size, thousands, uniform

TARGETS = {"": 1.5, "sin, arctan, pow and the like": 5.0}
SIZES = (1_000, 100_000, 10_000_000)
SLOW = "sin, arctan, pow and the like"

# Path, interval of the arguments, number of arguments, group.
FUNCTIONS: dict[str, tuple[str, float, float, int, str]] = {
    "exp": ("numpy.exp", -10, 10, 1, ""),
    "exp2": ("numpy.exp2", -10, 10, 1, ""),
    "expm1": ("numpy.expm1", -2, 2, 1, ""),
    "log": ("numpy.log", 0.01, 100, 1, ""),
    "log2": ("numpy.log2", 0.01, 100, 1, ""),
    "log10": ("numpy.log10", 0.01, 100, 1, ""),
    "log1p": ("numpy.log1p", -0.9, 100, 1, ""),
    "sin": ("numpy.sin", -10, 10, 1, SLOW),
    "cos": ("numpy.cos", -10, 10, 1, SLOW),
    "tan": ("numpy.tan", -1.5, 1.5, 1, SLOW),
    "arcsin": ("numpy.arcsin", -1, 1, 1, SLOW),
    "arccos": ("numpy.arccos", -1, 1, 1, SLOW),
    "arctan": ("numpy.arctan", -10, 10, 1, SLOW),
    "arctan2": ("numpy.arctan2", -10, 10, 2, SLOW),
    "sinh": ("numpy.sinh", -5, 5, 1, SLOW),
    "cosh": ("numpy.cosh", -5, 5, 1, SLOW),
    "tanh": ("numpy.tanh", -5, 5, 1, ""),
    "arcsinh": ("numpy.arcsinh", -10, 10, 1, SLOW),
    "arccosh": ("numpy.arccosh", 1, 100, 1, SLOW),
    "arctanh": ("numpy.arctanh", -0.99, 0.99, 1, SLOW),
    "power": ("numpy.power", 0.1, 10, 2, SLOW),
    "cbrt": ("numpy.cbrt", -10, 10, 1, SLOW),
    "hypot": ("numpy.hypot", -10, 10, 2, ""),
    "sqrt": ("numpy.sqrt", 0, 100, 1, ""),
    "rsqrt": ("lax.rsqrt", 0.1, 100, 1, ""),
    "logistic": ("lax.logistic", -10, 10, 1, ""),
    "softplus": ("nn.softplus", -10, 10, 1, ""),
    "logaddexp": ("numpy.logaddexp", -10, 10, 2, ""),
    "erf": ("lax.erf", -3, 3, 1, ""),
    "erfc": ("lax.erfc", -3, 3, 1, ""),
    "erf_inv": ("lax.erf_inv", -1, 1, 1, SLOW),
    "lgamma": ("lax.lgamma", 0.1, 20, 1, SLOW),
    "digamma": ("lax.digamma", 0.1, 20, 1, SLOW),
    "bessel_i0e": ("lax.bessel_i0e", -10, 10, 1, ""),
    "sinc": ("numpy.sinc", -3, 3, 1, SLOW),
    "floor": ("numpy.floor", -10, 10, 1, ""),
    "round": ("numpy.round", -10, 10, 1, ""),
    "abs": ("numpy.abs", -10, 10, 1, ""),
    "sign": ("numpy.sign", -10, 10, 1, ""),
    "add": ("numpy.add", -10, 10, 2, ""),
    "divide": ("numpy.divide", 1, 10, 2, ""),
    "remainder": ("numpy.remainder", 1, 10, 2, ""),
    "maximum": ("numpy.maximum", -10, 10, 2, ""),
    "nextafter": ("numpy.nextafter", -10, 10, 2, ""),
}


def _functions(jax: Any) -> list[Program]:
    out = []
    for name, (path, low, high, arity, group) in FUNCTIONS.items():
        for dtype in (np.float32, np.float64):
            for n in SIZES:

                def make(
                    path: str = path, low: float = low, high: float = high, arity: int = arity,
                    dtype: Any = dtype, n: int = n,
                ) -> Any:  # fmt: skip
                    f = named(jax, path)
                    x = tuple(
                        uniform(size(n), low=low, high=high, dtype=dtype, seed=i)
                        for i in range(arity)
                    )
                    return (lambda *x: f(*x)), x

                bits = 8 * np.dtype(dtype).itemsize
                # Remainders and signs jump where arguments are rounded differently.
                loose = {"digamma": 1e-3, "lgamma": 1e-3, "tan": 1e-3}.get(name)
                out.append(
                    Program(
                        f"{name} f{bits}, {thousands(n)}",
                        make,
                        group=group,
                        x64=bits == 64,
                        tolerance=loose if bits == 32 else None,
                    )
                )
    return out


def _chains(jax: Any) -> dict[str, tuple[Callable[..., Any], int]]:
    """Functions of several arrays in (0.1, 2), with how many they take."""
    jnp, nn = jax.numpy, jax.nn

    def twenty(x: Any) -> Any:
        for i in range(10):
            x = x * (0.5 + 0.01 * i) + 0.1
        return x

    def mixed(x: Any) -> Any:
        for i in range(20):
            x = x * (1 + 1e-3 * i) + jnp.tanh(x) if i % 5 == 0 else x * 0.99 + 0.1
        return x

    def black_scholes(s: Any, k: Any, t: Any) -> Any:
        root = 0.3 * jnp.sqrt(t)
        d1 = (jnp.log(s / k) + 0.065 * t) / root
        phi = lambda z: 0.5 * (1 + jax.lax.erf(z * 0.7071067811865476))  # noqa: E731
        return s * phi(d1) - k * jnp.exp(-0.02 * t) * phi(d1 - root)

    def polynomial(x: Any) -> Any:
        out = 0.1 * x
        for c in (0.5, -0.3, 0.2, 1.1, -0.7, 0.4, 0.25, 0.125):
            out = out * x + c
        return out

    def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v

    def clipped(x: Any, y: Any) -> Any:
        return jnp.where(x > y, jnp.clip(x, 0.2, 1.5), jnp.minimum(y, 0.7) * 0.5)

    return {
        "x * y + z": (lambda x, y, z: x * y + z, 3),
        "10 multiply-adds": (twenty, 1),
        "20 operations with tanh": (mixed, 1),
        "polynomial of degree 8": (polynomial, 1),
        "gelu": (lambda x: nn.gelu(x), 1),
        "silu": (lambda x: nn.silu(x), 1),
        "exp(x+y) + (x+y)^3": (lambda x, y: jnp.exp(x + y) + (x + y) ** 3, 2),
        "exp(-x^2) * sin(y)": (lambda x, y: jnp.exp(-(x**2)) * jnp.sin(y), 2),
        "where, clip, minimum": (clipped, 2),
        "Black-Scholes": (black_scholes, 3),
        "Adam, 3 outputs": (adam, 4),
        "gradient of sum(tanh(x)*y)": (jax.grad(lambda x, y: jnp.sum(jnp.tanh(x) * y)), 2),
    }


def _integer_chains(jax: Any) -> dict[str, tuple[Callable[..., Any], Any, int]]:
    """Functions, dtypes, and how many arguments."""
    jnp, lax = jax.numpy, jax.lax

    def murmur(x: Any) -> Any:
        x = x ^ (x >> np.uint32(16))
        x = x * np.uint32(0x85EBCA6B)
        x = x ^ (x >> np.uint32(13))
        x = x * np.uint32(0xC2B2AE35)
        return x ^ (x >> np.uint32(16))

    def xorshift(x: Any) -> Any:
        for _ in range(4):
            x = x ^ (x << np.uint64(13))
            x = x ^ (x >> np.uint64(7))
            x = x ^ (x << np.uint64(17))
        return x

    def rotate(x: Any, y: Any) -> Any:
        for r in (5, 13, 17, 24):
            x = x + y
            y = ((y << np.uint32(r)) | (y >> np.uint32(32 - r))) ^ x
        return x, y

    return {
        "murmur finaliser u32": (murmur, np.uint32, 1),
        "xorshift u64": (xorshift, np.uint64, 1),
        "add, rotate, xor u32": (rotate, np.uint32, 2),
        "population count u32": (lax.population_count, np.uint32, 1),
        "population count u64": (lax.population_count, np.uint64, 1),
        "leading zeros i32": (lax.clz, np.int32, 1),
        "gray code u8": (lambda x: x ^ (x >> np.uint8(1)), np.uint8, 1),
        "x // 7 i32": (lambda x: x // 7, np.int32, 1),
        "x % y i32": (lambda x, y: x % y, np.int32, 2),
        "x * y + x i64": (lambda x, y: x * y + x, np.int64, 2),
        "x // y i64": (lambda x, y: x // y, np.int64, 2),
        "x ** 3 i32": (lambda x: x**3, np.int32, 1),
        "shifts by arrays u32": (lambda x, y: (x << (y & 7)) >> (y & 15), np.uint32, 2),
        "saturating add i8": (
            lambda x, y: jnp.clip(x.astype(jnp.int16) + y, -128, 127).astype(jnp.int8),
            np.int8,
            2,
        ),
        "isnan or negative f32 bits": (
            lambda x: (x > 0x7F800000) | (x >> 31 == 1),
            np.uint32,
            1,
        ),
    }


def _narrow(jax: Any) -> dict[str, tuple[Callable[..., Any], int]]:
    jnp, nn = jax.numpy, jax.nn
    return {
        "x * y + x": (lambda x, y: x * y + x, 2),
        "exp": (lambda x: jnp.exp(x), 1),
        "tanh": (lambda x: jnp.tanh(x), 1),
        "sin": (lambda x: jnp.sin(x), 1),
        "gelu": (lambda x: nn.gelu(x), 1),
        "sqrt": (lambda x: jnp.sqrt(x), 1),
        "maximum": (lambda x, y: jnp.maximum(x, y), 2),
        "to f32": (lambda x: x.astype(jnp.float32), 1),
    }


def _complex(jax: Any) -> dict[str, tuple[Callable[..., Any], int]]:
    jnp = jax.numpy
    return {
        "x * y + x": (lambda x, y: x * y + x, 2),
        "x / y": (lambda x, y: x / y, 2),
        "abs": (lambda x: jnp.abs(x), 1),
        "exp": (lambda x: jnp.exp(x), 1),
        "log": (lambda x: jnp.log(x), 1),
        "sqrt": (lambda x: jnp.sqrt(x), 1),
        "sin": (lambda x: jnp.sin(x), 1),
        "conj(x) * x, real": (lambda x: jnp.real(jnp.conj(x) * x), 1),
        "angle": (lambda x: jnp.angle(x), 1),
    }


def programs(jax: Any) -> list[Program]:
    out = _functions(jax)

    add = functools.partial(add_to, out)

    for n in SIZES:
        for name, (f, arity) in _chains(jax).items():
            for dtype, label in ((np.float32, "f32"), (np.float64, "f64")):
                add(
                    f"{name} {label}, {thousands(n)}",
                    f,
                    lambda n=n, arity=arity, dtype=dtype: tuple(
                        uniform(size(n), low=0.1, high=2, dtype=dtype, seed=i) for i in range(arity)
                    ),
                    x64=dtype == np.float64,
                )
        for name, (f, dtype, arity) in _integer_chains(jax).items():
            info = np.iinfo(dtype)
            low = 1 if "%" in name or "//" in name else info.min
            add(
                f"{name}, {thousands(n)}",
                f,
                lambda n=n, arity=arity, dtype=dtype, low=low, info=info: tuple(
                    integers(low, info.max, size(n), dtype=dtype, seed=i) for i in range(arity)
                ),
                x64=np.dtype(dtype).itemsize == 8,
            )
        for name, (f, arity) in _narrow(jax).items():
            for dtype, label in ((BF16, "bf16"), (np.float16, "f16")):
                add(
                    f"{name} {label}, {thousands(n)}",
                    f,
                    lambda n=n, arity=arity, dtype=dtype: tuple(
                        uniform(size(n), low=0.1, high=2, dtype=dtype, seed=i) for i in range(arity)
                    ),
                )
        for name, (f, arity) in _complex(jax).items():
            add(
                f"{name} c64, {thousands(n)}",
                f,
                lambda n=n, arity=arity: tuple(
                    (normal(size(n), seed=i) + 1j * normal(size(n), seed=i + 5)).astype(
                        np.complex64
                    )
                    for i in range(arity)
                ),
            )
    return out
