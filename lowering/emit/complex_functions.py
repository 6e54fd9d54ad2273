"""Formulas of the elementwise primitives on complex numbers.

complex64 is computed in f64 and rounded once: no intermediate overflows and results are nearly
always correctly rounded. complex128 uses the same formulas, written so that squares that could
overflow or cancel are avoided. Branch cuts and special values follow C99's Annex G.
Inverse functions: W. Kahan, "Branch cuts for complex elementary functions" (1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .expr import Expr, copysign, fma, math_op, maximum, minimum, select
from .expr import atan2 as real_atan2
from .scalar import ScalarBuilder
from .types import ElementType

__all__ = ["COMPLEX_ROWS"]

Pair = tuple[Expr, Expr]

_exp, _log, _sin, _cos, _sinh, _cosh, _tan, _sqrt, _expm1, _log1p, _asinh = (
    math_op(n)
    for n in ["exp", "log", "sin", "cos", "sinh", "cosh", "tan", "sqrt", "expm1", "log1p", "asinh"]
)


def _parts(b: ScalarBuilder, t: ElementType, z: str, wide: bool = True) -> Pair:
    """Real and imaginary part, in f64 if `wide`."""
    parts = (Expr(b, part(z, t), t.part.register) for part in (b.re, b.im))
    return tuple([p.cast("arith.extf", "f64") if wide else p for p in parts])


def _join(t: ElementType, z: Pair) -> str:
    re, im = (p.cast("arith.truncf", t.part.register) for p in z)
    return re.b.make_complex(re.name, im.name, t)


def _row(formula: Callable[..., Pair], wide: bool = True):
    """A row of the elementwise table from a function of (x, y) pairs to a pair.

    Parameters of the primitive (`accuracy`) do not matter: every accuracy is the best.
    """

    def rule(b: ScalarBuilder, t: ElementType, *zs: str, **params) -> str:
        operands = [_parts(b, t, z, wide) for z in zs]
        return _join(t, formula(*operands))

    return rule


# ---- arithmetic --------------------------------------------------------------------------------


def _mul(z: Pair, w: Pair) -> Pair:
    (x, y), (u, v) = z, w
    return x * u - y * v, x * v + y * u


def _div(z: Pair, w: Pair) -> Pair:
    """By the larger part of the divisor (Smith), which keeps squares from overflowing.

    A zero or infinite divisor takes C99's values.
    """
    (x, y), (u, v) = z, w
    swap = abs(u) < abs(v)
    large, small = select(swap, v, u), select(swap, u, v)
    ratio = small / large
    scale = large + small * ratio
    a, c = select(swap, y, x), select(swap, x, y)
    # (a + c r) / s and (c - a r) / s, with the roles exchanged and a sign if swapped
    re = (a + c * ratio) / scale
    im = (c - a * ratio) / scale
    im = select(swap, -im, im)
    return _special_quotient(z, w, (re, im))


def _special_quotient(z: Pair, w: Pair, q: Pair) -> Pair:
    (x, y), (u, v) = z, w
    both_nan = q[0].isnan() & q[1].isnan()
    inf = x.const(math.inf)
    zero_divisor = both_nan & u.equals(0.0) & v.equals(0.0) & ~(x.isnan() & y.isnan())
    signed_inf = copysign(inf, u)
    re = select(zero_divisor, signed_inf * x, q[0])
    im = select(zero_divisor, signed_inf * y, q[1])

    def unit(p: Expr, infinite: Expr) -> Expr:
        return copysign(select(infinite, p.const(1.0), p.const(0.0)), p)

    z_inf, w_inf = x.isinf() | y.isinf(), u.isinf() | v.isinf()
    z_finite = (abs(x) < math.inf) & (abs(y) < math.inf)
    w_finite = (abs(u) < math.inf) & (abs(v) < math.inf)
    large = both_nan & z_inf & w_finite
    a, c = unit(x, x.isinf()), unit(y, y.isinf())
    re = select(large, inf * (a * u + c * v), re)
    im = select(large, inf * (c * u - a * v), im)
    tiny = both_nan & w_inf & z_finite
    d, e = unit(u, u.isinf()), unit(v, v.isinf())
    re = select(tiny, 0.0 * (x * d + y * e), re)
    im = select(tiny, 0.0 * (y * d - x * e), im)
    return re, im


def _reciprocal(z: Pair) -> Pair:
    one = z[0].const(1.0)
    return _div((one, z[0].const(0.0)), z)


def _hypot(x: Expr, y: Expr) -> Expr:
    """|x + iy| without overflow; infinite if either is."""
    a, c = abs(x), abs(y)
    large, small = maximum(a, c), minimum(a, c)
    ratio = select(large.equals(0.0), small, small / large)
    result = large * _sqrt(ratio * ratio + 1.0)
    return select(x.isinf() | y.isinf(), x.const(math.inf), result)


def _abs(b: ScalarBuilder, t: ElementType, z: str) -> str:
    """Absolute value, a real number. In f64 the squares of f32 are exact and do not overflow."""
    x, y = _parts(b, t, z)
    if t.part.register == "f32":
        size = select(x.isinf() | y.isinf(), x.const(math.inf), _sqrt(x * x + y * y))
    else:
        size = _hypot(x, y)
    return size.cast("arith.truncf", t.part.register).name


def _quotient(b: ScalarBuilder, t: ElementType, z: str, w: str, **params) -> str:
    """The quotient. In f64 that of f32 needs no scaling: products of two are exact."""
    (x, y), (u, v) = operands = _parts(b, t, z), _parts(b, t, w)
    if t.part.register != "f32":
        return _join(t, _div(*operands))
    inverse = 1.0 / (u * u + v * v)
    q = (x * u + y * v) * inverse, (y * u - x * v) * inverse
    return _join(t, _special_quotient(*operands, q))


def _sign(z: Pair) -> Pair:
    x, y = z
    r = _hypot(x, y)
    zero = r.equals(0.0)
    return select(zero, x, x / r), select(zero, y, y / r)


def _pick(take_first: Expr, z: Pair, w: Pair) -> Pair:
    return select(take_first, z[0], w[0]), select(take_first, z[1], w[1])


def _larger(z: Pair, w: Pair) -> Pair:
    """The lexicographically larger one."""
    return _pick(_before(w, z), z, w)


def _smaller(z: Pair, w: Pair) -> Pair:
    return _pick(_before(z, w), z, w)


def _clamp(low: Pair, z: Pair, high: Pair) -> Pair:
    """Limited by the real part alone: a limit is taken whole."""
    raised = _pick(low[0] < z[0], z, low)
    return _pick(high[0] < raised[0], high, raised)


def _before(z: Pair, w: Pair) -> Expr:
    return (z[0] < w[0]) | (z[0].equals(w[0]) & (z[1] < w[1]))


def _eq(b: ScalarBuilder, t: ElementType, z: str, w: str) -> str:
    """Both parts equal."""
    (x, y), (u, v) = _parts(b, t, z, False), _parts(b, t, w, False)
    return (x.equals(u) & y.equals(v)).name


def _ne(b: ScalarBuilder, t: ElementType, z: str, w: str) -> str:
    """Some part differs."""
    (x, y), (u, v) = _parts(b, t, z, False), _parts(b, t, w, False)
    return (x.differs(u) | y.differs(v)).name


def _conj(b, ins, out, xs, params):
    """Conjugate; of a real number, the complex number."""
    if ins[0].kind != "c":
        return b.make_complex(xs[0], b.literal(0.0, out.part), out)
    x, y = _parts(b, out, xs[0], False)
    return _join(out, (x, -y))


def _integer_pow(b: ScalarBuilder, t: ElementType, z: str, y: int) -> str:
    """By repeated squaring."""
    power, result, n = _parts(b, t, z), None, abs(y)
    while n:
        if n & 1:
            result = power if result is None else _mul(result, power)
        n >>= 1
        if n:
            power = _mul(power, power)
    if result is None:
        result = power[0].const(1.0), power[0].const(0.0)
    return _join(t, _reciprocal(result) if y < 0 else result)


# ---- exponentials and logarithms ---------------------------------------------------------------


def _scaled_exp(x: Expr) -> Pair:
    """(e, f) with exp(x) = e * f and e finite for every x whose e ** x times a sine may be."""
    big = x > 600.0
    return (
        _exp(x - select(big, x.const(300.0), x.const(0.0))),
        select(big, x.const(math.exp(300.0)), x.const(1.0)),
    )


def _exp_pair(z: Pair) -> Pair:
    x, y = z
    e, f = _scaled_exp(x)
    real = y.equals(0.0)
    re = (e * select(real, y.const(1.0), _cos(y))) * f
    im = select(real, y, (e * _sin(y)) * f)
    finite_y = abs(y) < math.inf
    # exp(-inf + i nan) is 0, exp(inf + i nan) is inf + i nan.
    vanishes = x.equals(-math.inf) & ~finite_y
    grows = x.equals(math.inf) & ~finite_y
    re = select(vanishes, 0.0, select(grows, math.inf, re))
    return re, select(vanishes, 0.0, im)


def _log_abs(x: Expr, y: Expr) -> Expr:
    """log|x + iy|, relatively accurate also where the absolute value is near 1."""
    a, c = abs(x), abs(y)
    large, small = maximum(a, c), minimum(a, c)
    near = (large < 2.0) & (large > 0.5)
    # |z|^2 - 1 = (large - 1)(large + 1) + small^2, its products taken with their rounding errors.
    low, high = large - 1.0, large + 1.0
    p = low * high
    q = small * small
    lost = large - (high - 1.0)
    error = fma(low, high, -p) + fma(small, small, -q) + low * lost
    close = 0.5 * _log1p(p + q + error)
    ratio = small / large
    far = _log(large) + 0.5 * _log1p(ratio * ratio)
    result = select(near, close, far)
    result = select(large.equals(0.0), -math.inf, result)
    return select(x.isinf() | y.isinf(), math.inf, result)


def _log_pair(z: Pair) -> Pair:
    return _log_abs(*z), real_atan2(z[1], z[0])


def _log1p_pair(z: Pair) -> Pair:
    x, y = z
    u = x + 1.0
    # For small z: |1 + z|^2 - 1 = x (2 + x) + y^2.
    high = x + 2.0
    p, q = x * high, y * y
    small = (abs(x) < 0.5) & (abs(y) < 0.5)
    error = fma(x, high, -p) + fma(y, y, -q) + x * (x - (high - 2.0))
    re = select(small, 0.5 * _log1p(p + q + error), _log_abs(u, y))
    return re, real_atan2(y, u)


def _expm1_pair(z: Pair) -> Pair:
    """exp(x) cos y - 1 = expm1(x) cos y - 2 sin(y/2)^2."""
    x, y = z
    full = _exp_pair(z)
    half = _sin(y * 0.5)
    small = abs(x) < 600.0
    re = _expm1(x) * _cos(y) - 2.0 * half * half
    re = select(y.equals(0.0), _expm1(x), select(small, re, full[0] - 1.0))
    return re, full[1]


def _exp2_pair(z: Pair) -> Pair:
    ln2 = math.log(2.0)
    return _exp_pair((z[0] * ln2, z[1] * ln2))


def _pow_pair(z: Pair, w: Pair) -> Pair:
    """exp(w log z); z ** 0 is 1, and 0 ** w is 0 for a positive real part of w."""
    x, y = z
    r, angle = _log_pair(z)
    result = _exp_pair(_mul(w, (r, angle)))
    zero_base = x.equals(0.0) & y.equals(0.0)
    zero_exponent = w[0].equals(0.0) & w[1].equals(0.0)
    vanishes = zero_base & (w[0] > 0.0)
    re = select(zero_exponent, 1.0, select(vanishes, 0.0, result[0]))
    im = select(zero_exponent | vanishes, 0.0, result[1])
    return re, im


def _logistic_pair(z: Pair) -> Pair:
    """1 / (1 + exp(-z)) with an exponential of absolute value at most 1 on either side."""
    x, y = z
    e = _exp(-abs(x))
    re, im = e * _cos(y), e * _sin(y)
    right = x >= 0.0
    numerator = _pick(right, (x.const(1.0), x.const(0.0)), (re, im))
    return _div(numerator, (re + 1.0, select(right, -im, im)))


# ---- roots -------------------------------------------------------------------------------------


def _sqrt_pair(z: Pair) -> Pair:
    x, y = z
    # Scaled so that |x| + |z| neither overflows nor is denormal.
    m = maximum(abs(x), abs(y))
    big, tiny = m > 2.0**1000, m < 2.0**-1000
    one = x.const(1.0)
    scale = select(big, 2.0**-8, select(tiny, 2.0**108, one))
    back = select(big, 2.0**4, select(tiny, 2.0**-54, one))
    u, v = x * scale, y * scale
    t = _sqrt(0.5 * (abs(u) + _hypot(u, v)))
    other = select(t.equals(0.0), abs(v), abs(v) / (2.0 * t))
    t, other = t * back, other * back
    right = x.compare("oge", 0.0)
    re, im = select(right, t, other), copysign(select(right, other, t), y)
    y_inf = y.isinf()
    x_inf = x.isinf() & ~y_inf
    re = select(y_inf, math.inf, select(x_inf, select(right, x, 0.0 * abs(y)), re))
    im = select(y_inf, y, select(x_inf, copysign(select(right, 0.0 * abs(y), abs(x)), y), im))
    return re, im


def _rsqrt_pair(z: Pair) -> Pair:
    return _reciprocal(_sqrt_pair(z))


# ---- trigonometric and hyperbolic --------------------------------------------------------------


def _sinh_cosh(x: Expr) -> tuple[Expr, Expr, Expr]:
    """(sinh(x) / f, cosh(x) / f, f) with f a power that keeps the quotients finite."""
    big = abs(x) > 600.0
    shifted = x - copysign(select(big, x.const(300.0), x.const(0.0)), x)
    return _sinh(shifted), _cosh(shifted), select(big, x.const(math.exp(300.0)), x.const(1.0))


def _sinh_pair(z: Pair) -> Pair:
    x, y = z
    s, c, f = _sinh_cosh(x)
    real = y.equals(0.0)
    re = select(x.equals(0.0), x, (s * select(real, 1.0, _cos(y))) * f)
    return re, select(real, y, (c * _sin(y)) * f)


def _cosh_pair(z: Pair) -> Pair:
    x, y = z
    s, c, f = _sinh_cosh(x)
    real = y.equals(0.0)
    re = (c * select(real, 1.0, _cos(y))) * f
    zero = copysign(x.const(0.0), x) * copysign(y.const(1.0), y)
    im = select(real | (x.equals(0.0) & ~(abs(y) < math.inf)), zero, (s * _sin(y)) * f)
    return re, im


def _tanh_pair(z: Pair) -> Pair:
    """Kahan: with t = tan y, b = 1 + t^2, s = sinh x, r = cosh x: (b r s + i t) / (1 + b s^2)."""
    x, y = z
    t = _tan(y)
    beta = t * t + 1.0
    s = _sinh(x)
    rho = _sqrt(s * s + 1.0)
    denominator = beta * s * s + 1.0
    infinite = t.isinf()
    re = select(infinite, rho / s, (beta * rho * s) / denominator)
    im = select(infinite, 1.0 / t, t / denominator)
    large = abs(x) > 22.0
    edge = copysign(x.const(1.0), x)
    finite_y = abs(y) < math.inf
    tail = select(
        finite_y, 4.0 * _sin(y) * _cos(y) * _exp(-2.0 * abs(x)), copysign(y.const(0.0), y)
    )
    re, im = select(large, edge, re), select(large, tail, im)
    return re, select(y.equals(0.0), y, im)


def _times_i(z: Pair) -> Pair:
    return -z[1], z[0]


def _over_i(z: Pair) -> Pair:
    return z[1], -z[0]


def _rotated(formula: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """f(z) = g(iz) / i."""
    return lambda z: _over_i(formula(_times_i(z)))


_sin_pair = _rotated(_sinh_pair)
_tan_pair = _rotated(_tanh_pair)


def _cos_pair(z: Pair) -> Pair:
    return _cosh_pair(_times_i(z))


# ---- inverse functions -------------------------------------------------------------------------


def _roots(z: Pair) -> tuple[Pair, Pair]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    x, y = z
    return _sqrt_pair((1.0 - x, -y)), _sqrt_pair((x + 1.0, y))


def _asin_pair(z: Pair) -> Pair:
    x = z[0]
    (a, b), (c, d) = _roots(z)
    re = real_atan2(x, a * c - b * d)
    # Im(conj(sqrt(1 - z)) sqrt(1 + z)) is y / Re(...), which does not cancel.
    im = _asinh(a * d - b * c)
    return _inverse_special(z, re, im)


def _inverse_special(z: Pair, re: Expr, im: Expr) -> Pair:
    """asin's values where a part of `z` is infinite."""
    x, y = z
    infinite = x.isinf() | y.isinf()
    zero, one = x.const(0.0), x.const(1.0)
    angle = real_atan2(copysign(select(x.isinf(), one, zero), x), select(y.isinf(), one, zero))
    re = select(infinite, select(x.isnan(), x, select(y.isnan(), y, angle)), re)
    im = select(infinite, copysign(y.const(math.inf), y), im)
    return re, im


def _acos_pair(z: Pair) -> Pair:
    x, y = z
    (a, b), (c, d) = _roots(z)
    re = 2.0 * real_atan2(a, c)
    im = _asinh(c * b - d * a)
    infinite = x.isinf() | y.isinf()
    im = select(infinite, -copysign(y.const(math.inf), y), im)
    angle = real_atan2(
        select(y.isinf(), y.const(1.0), y.const(0.0)),
        select(x.isinf(), copysign(x.const(1.0), x), x.const(0.0)),
    )
    re = select(infinite, select(x.isnan(), x, select(y.isnan(), y, angle)), re)
    return re, im


def _acosh_pair(z: Pair) -> Pair:
    """i acos z or -i acos z, the one with a non-negative real part."""
    re, im = _acos_pair(z)
    return abs(im), copysign(re, z[1])


def _atanh_pair(z: Pair) -> Pair:
    x, y = z
    a, c = abs(x), abs(y)
    low = 1.0 - a
    re = 0.25 * _log1p((4.0 * a) / (low * low + c * c))
    # Far out: re = x / |z|^2.
    m = maximum(a, c)
    far = m > 1e100
    ratio_x, ratio_y = a / m, c / m
    distant = (ratio_x / (ratio_x * ratio_x + ratio_y * ratio_y)) / m
    infinite = x.isinf() | y.isinf()
    re = select(far, distant, re)
    re = copysign(select(infinite, 0.0, re), x)
    im = 0.5 * real_atan2(2.0 * c, low * (a + 1.0) - c * c)
    im = select(far, math.pi / 2, im)
    im = select(infinite, math.pi / 2, im)
    return re, copysign(im, y)


_asinh_pair = _rotated(_asin_pair)
_atan_pair = _rotated(_atanh_pair)


def _atan2_pair(z: Pair, w: Pair) -> Pair:
    """-i log((w + iz) / sqrt(z^2 + w^2))."""
    numerator = w[0] - z[1], w[1] + z[0]
    zz, ww = _mul(z, z), _mul(w, w)
    root = _sqrt_pair((zz[0] + ww[0], zz[1] + ww[1]))
    return _over_i(_log_pair(_div(numerator, root)))


_PRECISE: dict[str, Callable[..., Pair]] = {
    "sign": _sign,
    "exp": _exp_pair,
    "exp2": _exp2_pair,
    "expm1": _expm1_pair,
    "log": _log_pair,
    "log1p": _log1p_pair,
    "logistic": _logistic_pair,
    "sqrt": _sqrt_pair,
    "rsqrt": _rsqrt_pair,
    "pow": _pow_pair,
    "sin": _sin_pair,
    "cos": _cos_pair,
    "tan": _tan_pair,
    "sinh": _sinh_pair,
    "cosh": _cosh_pair,
    "tanh": _tanh_pair,
    "asin": _asin_pair,
    "acos": _acos_pair,
    "atan": _atan_pair,
    "asinh": _asinh_pair,
    "acosh": _acosh_pair,
    "atanh": _atanh_pair,
    "atan2": _atan2_pair,
}
_DIRECT: dict[str, Callable[..., Pair]] = {
    "add": lambda z, w: (z[0] + w[0], z[1] + w[1]),
    "sub": lambda z, w: (z[0] - w[0], z[1] - w[1]),
    "neg": lambda z: (-z[0], -z[1]),
    "mul": _mul,
    "square": lambda z: _mul(z, z),
    "max": _larger,
    "min": _smaller,
    "clamp": _clamp,
}

# Primitive name -> row for complex operands, for the elementwise table.
COMPLEX_ROWS: dict[str, Callable[..., str]] = {
    "abs": _abs,
    "div": _quotient,
    "eq": _eq,
    "ne": _ne,
    "conj": _conj,
    "integer_pow": _integer_pow,
    **{name: _row(formula) for name, formula in _PRECISE.items()},
    **{name: _row(formula, wide=False) for name, formula in _DIRECT.items()},
}
