"""Measure the worst error of the elementary functions in units in the last place.

    python tools/measure_ulp.py [FUNCTION ...] [--scale N] [--numpy] [--write]

--scale multiplies the number of samples, --numpy evaluates through NumPy instead of compiled code
(slow), --write puts the rows into the table of docs/accuracy.md. The references are: for f32 NumPy
and SciPy in f64 or 80-bit, for f64 NumPy in 80-bit precision where it has the function, or mpmath.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "accuracy.md"
LONG = np.longdouble
DTYPES = {"f32": np.float32, "f64": np.float64}


def _mp_reference(function: Callable, bits: int = 110) -> Callable:
    """A reference by mpmath, one number at a time."""

    def reference(*arrays: np.ndarray) -> np.ndarray:
        from mpmath import mp

        with mp.workprec(bits):
            result = []
            for values in zip(*(a.tolist() for a in arrays)):
                value = function(mp, *(mp.mpf(v) for v in values))
                high = float(value)
                low = 0.0
                if np.isfinite(high):
                    low = float(value - mp.mpf(high))
                result.append(LONG(high) + LONG(low))
        return np.array(result, LONG)

    return reference


def _scipy(name: str) -> Callable:
    def reference(x: np.ndarray) -> np.ndarray:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return reference


@dataclass
class Function:
    """How one function is measured: references over wide arrays, and where to sample it."""

    reference: Callable
    ranges: list[tuple[float, float]]
    exact: Callable | None = None  # by mpmath, for f64; None: `reference` in 80 bits
    limit: float = np.inf  # largest argument of random bit patterns
    valid: Callable = field(default=lambda x: np.isfinite(x))
    zeros: float = 0.0  # below this result the absolute error counts instead


def _logistic(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _erf_inv(mp, x):
    if abs(x) == 1:
        return mp.inf * x
    if x == 0:
        return x
    with mp.extraprec(80):
        import scipy.special

        # Newton from f64: the error squares at each step
        y = mp.mpf(float(scipy.special.erfinv(float(x))))
        if mp.isinf(y):
            y = mp.erfinv(x)
        for _ in range(2):
            y -= (mp.erf(y) - x) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        return y


def _lgamma(mp, x):
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    return mp.re(mp.loggamma(x))


def _digamma(mp, x):
    return mp.digamma(x)


def _unary() -> dict[str, Function]:
    unit, around = (-1.0, 1.0), (-20.0, 20.0)
    positive = [(0.0, 3.0), (0.5, 2.0), (0.0, 1e4)]
    table = {
        "exp": Function(np.exp, [unit, (-110, 90), (-750, 710)]),
        "exp2": Function(np.exp2, [unit, (-150, 128), (-1080, 1024)]),
        "expm1": Function(np.expm1, [unit, (-20, 90), (-40, 710)]),
        "log": Function(np.log, positive),
        "log2": Function(np.log2, positive),
        "log10": Function(np.log10, positive),
        "log1p": Function(np.log1p, [(-1, 3), unit, (0, 1e4)]),
        "sin": Function(np.sin, [unit, around, (-1e5, 1e5)]),
        "cos": Function(np.cos, [unit, around, (-1e5, 1e5)]),
        "tan": Function(np.tan, [unit, around, (-1e5, 1e5)]),
        "asin": Function(np.arcsin, [unit, (0.4, 0.6)]),
        "acos": Function(np.arccos, [unit, (0.4, 0.6), (0.99, 1.0)]),
        "atan": Function(np.arctan, [unit, around, (0, 3)]),
        "sinh": Function(np.sinh, [unit, around, (-90, 90), (-711, 711)]),
        "cosh": Function(np.cosh, [unit, around, (-90, 90), (-711, 711)]),
        "tanh": Function(np.tanh, [unit, around, (0.5, 1.5)]),
        "asinh": Function(np.arcsinh, [unit, around, (0, 3)]),
        "acosh": Function(np.arccosh, [(1, 2), (1, 20), (1, 1.01)]),
        "atanh": Function(np.arctanh, [unit, (0.9, 1.0)]),
        "logistic": Function(_logistic, [unit, around, (-110, 100), (-750, 10)]),
        "cbrt": Function(np.cbrt, [unit, (0, 8)]),
        "rsqrt": Function(lambda x: 1 / np.sqrt(x), positive),
        "erf": Function(_scipy("erf"), [unit, (-6, 6), (0.9, 1.1)], lambda mp, x: mp.erf(x)),
        "erfc": Function(
            _scipy("erfc"),
            [unit, (-6, 11), (0, 28)],
            lambda mp, x: mp.erfc(x) if x < 30 else mp.mpf(0),
        ),
        "erf_inv": Function(
            _scipy("erfinv"), [unit, (0.9, 1.0), (0.99999, 1.0)], _erf_inv, limit=1
        ),
        "lgamma": Function(_scipy("gammaln"), [(-10, 10), (0, 3), (0, 100)], _lgamma, zeros=0.5),
        "digamma": Function(_scipy("digamma"), [(-10, 10), (0, 3), (0, 100)], _digamma, zeros=1.0),
        "bessel_i0e": Function(
            _scipy("i0e"),
            [(-20, 20), (0, 100)],
            lambda mp, x: mp.besseli(0, x) * mp.exp(-abs(x)),
            limit=1e6,
        ),
        "bessel_i1e": Function(
            _scipy("i1e"),
            [(-20, 20), (0, 100)],
            lambda mp, x: mp.besseli(1, x) * mp.exp(-abs(x)),
            limit=1e6,
        ),
    }
    for name in ("log", "log1p", "erf", "erf_inv"):
        table[f"sampler_{name}"] = table[name]
    return table


UNARY = _unary()
BINARY: dict[str, Callable] = {
    "powf": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "nextafter": np.nextafter,
}


def measured() -> list[str]:
    """The functions that have a row, in the order of the library.

    Those with several parameters are held to a relative error by a test of their own.
    """
    from lingon.lowering.elementary import ARITY

    return [name for name in ARITY if name in UNARY or name in BINARY]


def random_bits(dtype: np.dtype, count: int, generator: np.random.Generator) -> np.ndarray:
    """Floats of all exponents, with infinities and NaN among them."""
    size = np.dtype(dtype).itemsize
    unsigned = {4: np.uint32, 8: np.uint64}[size]
    return generator.integers(0, 2 ** (8 * size), count, dtype=unsigned).view(dtype)


def unary_samples(name: str, float_type: str, count: int, seed: int = 0) -> np.ndarray:
    """Half random bits, the rest over the ranges of the function, and the edges of the format."""
    dtype = DTYPES[float_type]
    generator = np.random.default_rng(seed)
    spec = UNARY[name]
    bits = random_bits(dtype, count // 2, generator)
    if np.isfinite(spec.limit):
        # exponents below the limit only
        bits = np.where(np.abs(bits) <= spec.limit, bits, generator.random(bits.size, dtype))
    if name in ("lgamma", "digamma"):
        # the distance of a large negative argument from the integers is the whole answer
        bits = np.where(bits < -1e4, -bits, bits)
    each = count // (2 * len(spec.ranges))
    parts = [bits] + [generator.uniform(a, b, each).astype(dtype) for a, b in spec.ranges]
    info = np.finfo(dtype)
    edges = [0, info.smallest_subnormal, info.tiny, info.eps, 0.5, 1, 2, info.max, np.inf, np.nan]
    parts.append(np.array(edges + [-e for e in edges], dtype))
    return np.concatenate(parts)


def binary_samples(name: str, float_type: str, count: int, seed: int = 0) -> tuple:
    """Pairs of random bits and of function-specific ranges."""
    dtype = DTYPES[float_type]
    g = np.random.default_rng(seed)
    n = count // 4
    pairs = [(random_bits(dtype, n, g), random_bits(dtype, n, g))]
    if name == "powf":
        pairs += [
            (g.uniform(0, 4, n), g.uniform(-30, 30, n)),
            (np.abs(random_bits(dtype, n, g)).astype(np.float64), g.uniform(-2, 2, n)),
            (1 + g.normal(size=n) * 1e-5, g.uniform(-1e7, 1e7, n)),
            (g.uniform(-50, 50, n), g.integers(-60, 60, n)),
        ]
    else:
        pairs += [
            (g.uniform(-1, 1, n), g.uniform(-1, 1, n)),
            (g.uniform(-1, 1, n), g.uniform(-1e3, 1e3, n)),
            (g.uniform(-1e6, 1e6, n), g.uniform(-10, 10, n)),
        ]
    special = np.array([0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -3, np.inf, -np.inf, np.nan, 1e30, -1e30])
    grid = np.meshgrid(special, special)
    pairs.append((grid[0].ravel(), grid[1].ravel()))
    return tuple(np.concatenate([p[i].astype(dtype) for p in pairs]) for i in range(2))


def ulp_errors(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|got - reference| in ulps of the reference in got's dtype; inf for a wrong kind of number."""
    dtype = got.dtype
    rounded = reference.astype(dtype)
    info = np.finfo(dtype)
    # the ulp of the binade of the unrounded reference
    spacing = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1)))
    power = np.abs(rounded) > np.abs(reference)
    spacing = np.where(
        power, np.spacing(np.nextafter(np.abs(rounded), dtype.type(0))), spacing
    ).astype(dtype)
    spacing = np.maximum(spacing, info.smallest_subnormal)
    error = np.abs(got.astype(reference.dtype) - reference) / spacing.astype(reference.dtype)
    finite = np.isfinite(rounded)
    error = np.where(finite & np.isfinite(got), error, 0).astype(np.float64)
    wrong = np.isnan(got) != np.isnan(reference)
    # next to the overflow threshold either side is within the bound
    near = np.abs(reference) <= LONG(info.max) * (1 + LONG(info.eps))
    wrong |= (np.isinf(got) != np.isinf(rounded)) & ~np.isnan(reference) & ~near
    wrong |= np.isinf(rounded) & np.isinf(got) & (got != rounded)
    return np.where(wrong, np.inf, error)


@dataclass
class Result:
    worst: float
    at: tuple
    samples: int
    absolute: float | None  # worst absolute error / eps where the result is near zero


def measure(
    name: str, float_type: str, count: int, evaluate: Callable, seed: int = 0, exact: bool = True
) -> Result:
    """The worst error of `evaluate(name, *arrays)` over samples."""
    dtype = DTYPES[float_type]
    zeros = 0.0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in BINARY:
            arrays = binary_samples(name, float_type, count, seed)
            if name in ("fmod", "nextafter"):
                reference = BINARY[name](*arrays).astype(LONG)
            else:
                reference = BINARY[name](*(a.astype(LONG) for a in arrays))
        else:
            spec = UNARY[name]
            zeros = spec.zeros
            arrays = (unary_samples(name, float_type, count, seed),)
            if float_type == "f64" and spec.exact is not None:
                x = arrays[0][np.isfinite(arrays[0])]
                if name == "erf_inv":
                    x = x[np.abs(x) <= 1]
                if name == "digamma":
                    x = x[(x > 0) | (x != np.floor(x))]
                arrays = (x,)
                reference = _mp_reference(spec.exact)(x)
            elif spec.exact is not None:
                reference = spec.reference(arrays[0].astype(np.float64))
                if name == "lgamma":
                    reference = np.where(np.isinf(arrays[0]), np.inf, reference)
                if name == "digamma":  # SciPy has other poles
                    pole = (arrays[0] <= 0) & (arrays[0] == np.floor(arrays[0]))
                    reference = np.where(pole, np.nan, reference)
            else:
                wide = LONG if float_type == "f64" else np.float64
                reference = spec.reference(arrays[0].astype(wide))
        got = evaluate(name, *arrays)
        errors = ulp_errors(got, reference)
        absolute = None
        if zeros:
            near = np.abs(reference) < zeros
            difference = np.abs(got.astype(LONG) - reference) / np.finfo(dtype).eps
            absolute = float(np.nanmax(np.where(near & np.isfinite(reference), difference, 0)))
            errors = np.where(near, 0, errors)
    at = int(np.argmax(errors))
    return Result(float(errors[at]), tuple(a[at] for a in arrays), errors.size, absolute)


def compiled(name: str, *arrays: np.ndarray) -> np.ndarray:
    """The function as compiled code."""
    from lingon.lowering.elementary.compiled import compile_loop

    float_type = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}[arrays[0].dtype]
    return compile_loop(name, float_type)(*arrays)


def sample_count(name: str, float_type: str, scale: float) -> int:
    slow = name in UNARY and UNARY[name].exact is not None
    base = 100_000 if float_type == "f64" and slow else 4_000_000
    if float_type == "f32":
        base = 32_000_000 if name in UNARY else 8_000_000
    return int(base * scale)


BEGIN, END = "<!-- table: tools/measure_ulp.py -->", "<!-- end of table -->"


def write_row(name: str, row: str) -> None:
    """Puts one row into the document's table, in the order of the library."""
    head, rest = DOCUMENT.read_text().split(BEGIN)
    old, tail = rest.split(END)
    rows = {line.split("`")[1]: line for line in old.splitlines() if line.startswith("| `")}
    rows[name] = row
    table = [
        "| function | f32 worst ulp | samples | f64 worst ulp | samples |",
        "|---|---|---|---|---|",
        *(rows[n] for n in measured() if n in rows),
    ]
    DOCUMENT.write_text("\n".join([head + BEGIN, *table, END]) + tail)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("functions", nargs="*")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--numpy", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    from lingon.lowering.elementary import evaluate

    run = evaluate if options.numpy else compiled
    unknown = set(options.functions) - set(measured())
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(measured())}")
    for name in options.functions or measured():
        cells = [f"`{name}`"]
        for float_type in DTYPES:
            start = time.perf_counter()
            result = measure(name, float_type, sample_count(name, float_type, options.scale), run)
            note = "" if result.absolute is None else f", {result.absolute:.2f} eps near zeros"
            where = ", ".join(float(v).hex() for v in result.at)
            print(
                f"{name:11s} {float_type} worst {result.worst:.3f} ulp{note} at {where} "
                f"({result.samples} samples, {time.perf_counter() - start:.1f} s)",
                flush=True,
            )
            text = f"{result.worst:.2f}"
            if result.absolute is not None:
                text += f" (near zeros {result.absolute:.2f} eps)"
            cells += [text, f"{float(result.samples):.1e}"]
        if options.write:
            write_row(name, "| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
