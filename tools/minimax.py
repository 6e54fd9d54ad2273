"""Compute the polynomial coefficients of lowering/elementary and write them to its coefficients.py.

    python tools/minimax.py [NAME ...]     recompute the named polynomials (default: all)
    python tools/minimax.py --list         print the errors of the stored ones

Each polynomial is the weighted minimax approximation sum c_i v(x)^i of g(x) on an interval, found
by the Remez exchange on a fine Chebyshev grid at 60 digits. Coefficients are rounded one after the
other, leading one first, and the rest is fitted again each time: the rounding costs little.
A quotient of polynomials is stored as the numerator's coefficients and then the denominator's.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 60
OUTPUT = (
    pathlib.Path(__file__).resolve().parent.parent / "lowering" / "elementary" / "coefficients.py"
)
Real = Callable[[mpf], mpf]


@dataclass
class Polynomial:
    g: Real
    interval: tuple[object, object]
    terms: int
    type: str = "f64"
    weight: Real = lambda x: mpf(1)
    variable: Real = lambda x: x
    # how many leading coefficients are rounded before the rest is fitted; the best of several
    rounded: tuple[int, ...] = (6,)
    # coefficients of a denominator, of which the first is 1; without one 0
    below: int = 0


def round_to(value: mpf, type_: str) -> float:
    """`value` rounded to the nearest f32 or f64."""
    bits = 24 if type_ == "f32" else 53
    with mp.workprec(bits):
        rounded = +value
    result = float(rounded)
    if type_ == "f32" and struct.unpack("f", struct.pack("f", result))[0] != result:
        raise ValueError(f"{value} is not a normal f32")
    return result


def exchange(target: list, basis: list[list], weights: list) -> list:
    """Coefficients that minimise max |w (target - sum c_i basis_i)| over the points (Remez)."""
    n, count = len(basis), len(target)
    scaled = [[w * value for w, value in zip(weights, row)] for row in basis]
    wanted = [w * t for w, t in zip(weights, target)]
    chosen = [round((count - 1) * (1 - mp.cos(mp.pi * k / n)) / 2) for k in range(n + 1)]
    for k in range(1, n + 1):
        chosen[k] = max(int(chosen[k]), int(chosen[k - 1]) + 1)
    for k in range(n, -1, -1):
        chosen[k] = min(int(chosen[k]), count - 1 - (n - k))
    best = None
    for _ in range(40):
        matrix = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for row, point in enumerate(chosen):
            for column in range(n):
                matrix[row, column] = scaled[column][point]
            matrix[row, n] = (-1) ** row
            right[row] = wanted[point]
        solution = list(mp.lu_solve(matrix, right))
        level = abs(solution[n])
        errors = list(wanted)
        for column in range(n):
            c = solution[column]
            errors = [e - c * s for e, s in zip(errors, scaled[column])]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[0]:
            best = (worst, solution[:n])
        if worst <= level * mpf("1.01"):
            break
        # one extremum of each run of equal sign, then n+1 of them, dropping the smallest
        runs: list[int] = []
        for point, error in enumerate(errors):
            if runs and (errors[runs[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[runs[-1]]):
                    runs[-1] = point
            else:
                runs.append(point)
        while len(runs) > n + 1:
            if len(runs) == n + 2:
                runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
            else:
                at = min(range(len(runs)), key=lambda i: abs(errors[runs[i]]))
                if at in (0, len(runs) - 1):
                    runs.pop(at)
                else:  # removing an inner one joins its neighbours: keep the larger
                    keep = max(runs[at - 1], runs[at + 1], key=lambda p: abs(errors[p]))
                    runs[at - 1 : at + 2] = [keep]
        if len(runs) < n + 1:
            break
        chosen = runs
    assert best is not None
    return best[1]


def fit(p: Polynomial) -> tuple[list[float], mpf]:
    """Rounded coefficients and the largest weighted error on the grid."""
    a, b = mpf(p.interval[0]), mpf(p.interval[1])
    count = 2 * (12 * p.terms + 20)
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]
    target = [p.g(x) for x in points]
    variable = [p.variable(x) for x in points]
    weights = [abs(p.weight(x)) for x in points]
    basis = [[v**i for v in variable] for i in range(p.terms)]
    below = [1.0]
    if p.below:
        below = denominator(p, target, basis, variable, weights)
        values = [sum(mpf(c) * v**i for i, c in enumerate(below)) for v in variable]
        target = [t * d for t, d in zip(target, values)]
        weights = [w / abs(d) for w, d in zip(weights, values)]
    best: tuple[list[float], mpf] | None = None
    for rounded in p.rounded:
        residual = list(target)
        done: list[float] = []
        while len(done) < p.terms:
            rest = exchange(residual, basis[len(done) :], weights)
            take = 1 if len(done) < rounded else len(rest)
            for c in rest[:take]:
                value = round_to(c, p.type)
                row = basis[len(done)]
                residual = [r - mpf(value) * s for r, s in zip(residual, row)]
                done.append(value)
        error = max(abs(w * r) for w, r in zip(weights, residual))
        if best is None or error < best[1]:
            best = done, error
    assert best is not None
    return best[0] + (below if p.below else []), best[1]


def denominator(p: Polynomial, target: list, basis: list, variable: list, weights: list) -> list:
    """Rounded coefficients of the denominator d: the linear problem target d = sum c_i v^i, with
    weights by the d of the time before (Loeb)."""
    values, found = [mpf(1)] * len(target), [mpf(1)]
    for _ in range(4):
        columns = [[-t * v**i for t, v in zip(target, variable)] for i in range(1, p.below)]
        scaled = [w / abs(d) for w, d in zip(weights, values)]
        found = [mpf(1), *exchange(target, basis + columns, scaled)[p.terms :]]
        values = [sum(c * v**i for i, c in enumerate(found)) for v in variable]
    return [round_to(c, p.type) for c in found]


ln2 = mp.log(2)


def _polynomials() -> dict[str, Polynomial]:
    table: dict[str, Polynomial] = {}
    half = ln2 / 2 * mpf("1.0005")
    for t, terms, terms2 in (("f32", 5, 6), ("f64", 11, 12)):
        T = t.upper()
        # e^r = 1 + r + r^2 q(r)
        table[f"EXP_{T}"] = Polynomial(
            lambda r: (mp.expm1(r) - r) / r**2, (-half, half), terms, t, lambda r: r**2 / mp.exp(r)
        )
        table[f"EXPM1_{T}"] = Polynomial(
            lambda r: (mp.expm1(r) - r) / r**2,
            (-half, half),
            terms,
            t,
            lambda r: r**2 / mp.expm1(r),
        )
        # 2^r = 1 + r q(r)
        table[f"EXP2_{T}"] = Polynomial(
            lambda r: mp.expm1(r * ln2) / r,
            ("-0.5005", "0.5005"),
            terms2 + 1,
            t,
            lambda r: r / 2**r,
        )
        # log(1+f) = f - f^2/2 + f^3 q(f)
        low, high = mp.sqrt(mpf("0.5")) - 1, mp.sqrt(2) - 1
        terms_log = 8 if t == "f32" else 20
        table[f"LOG_{T}"] = Polynomial(
            lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
            (low, high),
            terms_log,
            t,
            lambda f: f**3 / mp.log1p(f),
        )
        for base in (2, 10):
            # log_base(1+f) = f / ln(base) + f^2 q(f)
            scale = 1 / mp.log(base)
            table[f"LOG{base}_{T}"] = Polynomial(
                lambda f, s=scale: (mp.log1p(f) - f) * s / f**2,
                (low, high),
                terms_log + 2,
                t,
                lambda f, s=scale: f**2 / (mp.log1p(f) * s),
            )
    # sin r = r + r^3 q(r^2), cos r = 1 - r^2/2 + r^4 q(r^2) on [-pi/4, pi/4]
    quarter = mp.pi / 4 * mpf("1.02")
    table["SIN_F64"] = Polynomial(
        lambda r: (mp.sin(r) - r) / r**3,
        (quarter / 10**4, quarter),
        6,
        "f64",
        lambda r: r**3 / mp.sin(r),
        lambda r: r * r,
    )
    table["COS_F64"] = Polynomial(
        lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4,
        (quarter / 10**4, quarter),
        6,
        "f64",
        lambda r: r**4 / mp.cos(r),
        lambda r: r * r,
    )
    # for f32 in f64 arithmetic: sin(f pi/2) = f q(f^2), cos(f pi/2) = 1 + f^2 q(f^2)
    table["SIN_FAST"] = Polynomial(
        lambda f: mp.sin(f * mp.pi / 2) / f,
        ("1e-4", "0.517"),
        4,
        "f64",
        lambda f: f / mp.sin(f * mp.pi / 2),
        lambda f: f * f,
    )
    table["COS_FAST"] = Polynomial(
        lambda f: (mp.cos(f * mp.pi / 2) - 1) / f**2,
        ("1e-4", "0.517"),
        4,
        "f64",
        lambda f: f**2 / mp.cos(f * mp.pi / 2),
        lambda f: f * f,
    )
    return table | _more_polynomials()


def _odd(f: Real, bound: object, terms: int, type_: str, below: int = 0) -> Polynomial:
    """q of f(x) = x + x^3 q(x^2) on [0, bound]."""
    return Polynomial(
        lambda x: (f(x) - x) / x**3,
        (mpf(bound) / 10**4, bound),
        terms,
        type_,
        lambda x: x**3 / f(x),
        lambda x: x * x,
        below=below,
    )


def _stirling(x: mpf) -> mpf:
    return x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def _digamma_large(x: mpf) -> mpf:
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def _more_polynomials() -> dict[str, Polynomial]:
    table: dict[str, Polynomial] = {}
    for t in ("f32", "f64"):
        T = t.upper()
        double = t == "f64"
        table[f"TANH_{T}"] = _odd(mp.tanh, "1.001", 4 if double else 2, t, 5 if double else 3)
        table[f"SINH_{T}"] = _odd(mp.sinh, "1.0", 8 if double else 4, t)
        table[f"ATAN_{T}"] = _odd(mp.atan, mpf("0.5001"), 13 if double else 5, t)
        table[f"ASIN_{T}"] = _odd(mp.asin, "0.5001", 13 if double else 5, t)
        # 2^(-2/3) m^(1/3) ... a start for the cube root of m in [1, 2)
        table[f"CBRT_{T}"] = Polynomial(
            mp.cbrt, (1, 2), 5 if double else 4, t, lambda x: 1 / mp.cbrt(x)
        )
        # erf x = x + x q(x^2)
        table[f"ERF_{T}"] = Polynomial(
            lambda x: mp.erf(x) / x - 1,
            ("1e-4", "1.001"),
            14 if double else 7,
            t,
            lambda x: x / mp.erf(x),
            lambda x: x * x,
        )
        # erfc x = exp(-x^2) q(w) / (x + K), w = (x - K)/(x + K), x >= 1/2
        K = mpf(ERFC_CENTRE)
        table[f"ERFC_{T}"] = Polynomial(
            lambda x, K=K: mp.erfc(x) * mp.exp(x * x) * (x + K),
            ("0.49", 28 if double else "10.5"),
            25 if double else 12,
            t,
            lambda x, K=K: 1 / (mp.erfc(x) * mp.exp(x * x) * (x + K)),
            lambda x, K=K: (x - K) / (x + K),
        )

        # erf_inv x = x q(w - centre) or x q(sqrt(w) - centre), w = -log(1 - x^2)
        def ratio(w: mpf) -> mpf:
            x = mp.sqrt(-mp.expm1(-w))
            return mp.erfinv(x) / x

        pieces = (
            [(0, 5, 11), (mp.sqrt(5), "4.1", 11)]
            if not double
            else [(0, "6.25", 25), (mp.sqrt(mpf("6.25")), 4, 23), (4, "6.1", 21)]
        )
        for i, (low, high, terms) in enumerate(pieces):
            centre = mpf(ERFINV_CENTRES[t][i])
            table[f"ERFINV{i}_{T}"] = Polynomial(
                ratio if i == 0 else lambda s: ratio(s * s),
                (mpf(low) if i else mpf("1e-9"), high),
                terms,
                t,
                (lambda w: 1 / ratio(w)) if i == 0 else (lambda s: 1 / ratio(s * s)),
                lambda v, c=centre: v - c,
                rounded=(0, 1, 2, 3, 6),
            )
        # exp(-x) I0(x), exp(-x) I1(x)/x, below 8 in x - 4, beyond times sqrt(x) in 1/x - 1/16
        for order in (0, 1):

            def scaled(x: mpf, n: int = order) -> mpf:
                return mp.besseli(n, x) * mp.exp(-x) / (x if n else 1)

            def large(u: mpf, n: int = order) -> mpf:
                return mp.besseli(n, 1 / u) * mp.exp(-1 / u) / mp.sqrt(u)

            table[f"I{order}E_{T}"] = Polynomial(
                scaled,
                ("1e-6", 8),
                36 if double else 20,
                t,
                lambda x, f=scaled: 1 / f(x),
                lambda x: x - 4,
                rounded=(0, 1, 2, 3, 6),
            )
            table[f"I{order}E_LARGE_{T}"] = Polynomial(
                large,
                ("1e-8", "0.125"),
                25 if double else 8,
                t,
                lambda u, f=large: 1 / f(u),
                lambda u: u - mpf(1) / 16,
                rounded=(0, 1, 3),
            )
    # erfc x, where erf x is 1 minus that
    table["ERFC_LARGE_F32"] = Polynomial(
        mp.erfc,
        ("0.99", "4.01"),
        15,
        "f32",
        lambda x: 1 / mp.erf(x),
        lambda x: x - mpf("2.5"),
        rounded=(0, 1, 2, 4),
    )
    # f32 power in f64: log2(1+f) = f q(f), 2^r = q(r)
    table["POW_LOG2_FAST"] = Polynomial(
        lambda f: mp.log1p(f) / f / ln2,
        (mp.sqrt(mpf("0.5")) - 1, mp.sqrt(2) - 1),
        14,
        "f64",
        lambda f: f * ln2 / mp.log1p(f),
    )
    table["POW_EXP2_FAST"] = Polynomial(
        lambda r: mpf(2) ** r, ("-0.5005", "0.5005"), 7, "f64", lambda r: mpf(2) ** -r
    )
    # f64 power: log((1+s)/(1-s)) = 2 s + 2/3 s^3 + s^5 q(s^2), 2^r = 1 + r ln2 + r^2 q(r)
    bound = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.001")
    table["POW_LOG_F64"] = Polynomial(
        lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5,
        (bound / 1000, bound),
        8,
        "f64",
        lambda s: s**4,
        lambda s: s * s,
    )
    # lgamma, digamma: all in f64, for f32 with fewer terms
    for kind in ("FAST", "F64"):
        exact = kind == "F64"
        # lgamma(2+t) = t q(t)
        table[f"LGAMMA_{kind}"] = Polynomial(
            lambda t: mp.loggamma(2 + t) / t,
            ("-0.5", "0.5"),
            20 if exact else 11,
            "f64",
            lambda t: t / mp.loggamma(2 + t),
        )
        # lgamma x = (x - 1/2) log x - x + log(2 pi)/2 + q(1/x^2)/x, x >= 8
        table[f"STIRLING_{kind}"] = Polynomial(
            lambda u: _stirling(1 / mp.sqrt(u)),
            ("1e-9", mpf(1) / 64),
            8 if exact else 4,
            "f64",
            lambda u: u,
        )
        # digamma x = (x - root) q(x - 3/2) on [1, 2]
        table[f"DIGAMMA_{kind}"] = Polynomial(
            lambda x: mp.digamma(x) / (x - DIGAMMA_ROOT),
            (1, 2),
            23 if exact else 14,
            "f64",
            lambda x: (x - DIGAMMA_ROOT) / mp.digamma(x),
            lambda x: x - mpf("1.5"),
        )
        # digamma x = log x - 1/(2x) - q(1/x^2)/x^2, x >= 8
        table[f"DIGAMMA_LARGE_{kind}"] = Polynomial(
            lambda u: _digamma_large(1 / mp.sqrt(u)),
            ("1e-9", mpf(1) / 64),
            8 if exact else 4,
            "f64",
            lambda u: u,
        )
        # sin(pi t) = t q(t^2), cos(pi t) = q(t^2) on [0, 1/2]
        table[f"SINPI_{kind}"] = Polynomial(
            lambda t: mp.sin(mp.pi * t) / t,
            ("1e-5", "0.5"),
            9 if exact else 6,
            "f64",
            lambda t: t / mp.sin(mp.pi * t),
            lambda t: t * t,
        )
        table[f"COSPI_{kind}"] = Polynomial(
            lambda t: mp.cos(mp.pi * t),
            ("1e-5", "0.5"),
            10 if exact else 7,
            "f64",
            lambda t: 1 / mp.cos(mp.pi * t * mpf("0.99")),
            lambda t: t * t,
        )
    return table


ERFC_CENTRE = "2.5"
ERFINV_CENTRES = {"f32": ("2.5", "3.0"), "f64": ("3.125", "3.25", "5.0")}
DIGAMMA_ROOT = mp.findroot(mp.digamma, mpf("1.4616321449683623"))

HEADER = '''"""Coefficients of the functions, lowest power first. Written by tools/minimax.py."""

from __future__ import annotations

import functools

# polynomial: hexadecimal coefficients
TEXT = {
'''
FOOTER = """}


@functools.cache
def coefficients(name: str) -> tuple[float, ...]:
    return tuple(float.fromhex(c) for c in TEXT[name].split())
"""


def stored() -> dict[str, tuple[str, str]]:
    """name -> (coefficients, comment) as in the written file."""
    if not OUTPUT.exists():
        return {}
    source = OUTPUT.read_text()
    module: dict = {}
    exec(compile(source, str(OUTPUT), "exec"), module)
    pairs = re.findall(r'# (error \S+)\n\s*"(\w+)"', source)
    comments = {name: comment for comment, name in pairs}
    return {name: (text.strip(), comments[name]) for name, text in module["TEXT"].items()}


def write(values: dict[str, tuple[str, str]]) -> None:
    lines = []
    for name, (text, comment) in values.items():
        lines += [f"    # {comment}", f'    "{name}": (']
        words = text.split()
        for i in range(0, len(words), 3):
            lines.append(f'        "{" ".join(words[i : i + 3])} "')
        lines.append("    ),")
    OUTPUT.write_text(HEADER + "\n".join(lines) + "\n" + FOOTER)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="polynomials (default: all)")
    parser.add_argument("--list", action="store_true", help="print the stored errors")
    parser.add_argument("--missing", action="store_true", help="only those not stored yet")
    options = parser.parse_args(arguments)
    values = stored()
    if options.list:
        for name, (text, comment) in values.items():
            print(f"{name:16s} {len(text.split()):3d} coefficients, {comment}")
        return 0
    table = _polynomials()
    for name in options.names or list(table):
        if name not in table:
            parser.error(f"no polynomial {name!r}; there are: {', '.join(table)}")
        if options.missing and name in values:
            continue
        found, error = fit(table[name])
        bits = mp.log(error, 2)
        values = stored()  # another process may have written others
        values[name] = (" ".join(c.hex() for c in found), f"error 2^{mp.nstr(bits, 4)}")
        print(f"{name:16s} {len(found):3d} coefficients, error 2^{mp.nstr(bits, 4)}", flush=True)
        write({name: values[name] for name in table if name in values})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
