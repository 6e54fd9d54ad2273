"""lgamma (log |gamma|), digamma. All in f64; for f32 with shorter polynomials."""

from __future__ import annotations

from .builder import INF, NAN, Builder, TextBuilder, Value
from .coefficients import coefficients
from .exponential import log_, log_parts

PI = float.fromhex("0x1.921fb54442d18p+1")
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
LOG_PI = float.fromhex("0x1.250d048e7a1bdp+0")
# (log(2 pi) - 1)/2
STIRLING_CONSTANT = float.fromhex("0x1.acfe390c97d69p-2")
# the positive root of digamma minus 1, as high + low
ROOT_1 = float.fromhex("0x1.d8b618d5af8fep-2")
ROOT_1_LOW = float.fromhex("-0x1.1e563779a1f5bp-56")


def wide(b: Builder) -> Builder:
    """A builder of f64 code that writes into the output of the builder b."""
    if b.float == "f64":
        return b
    if not isinstance(b, TextBuilder):
        return type(b)("f64")
    inner = TextBuilder("f64")
    inner.lines, inner.known, inner.tables = b.lines, b.known, b.tables
    return inner


def widen(b: Builder, w: Builder, x: Value) -> Value:
    return Value(w, "f64", b.to_f64(x).data)


def narrow(b: Builder, result: Value) -> Value:
    """The result in b's type."""
    return result if b.float == "f64" else b.to_f32(Value(b, "f64", result.data))


def _kind(b: Builder) -> str:
    return "FAST" if b.float == "f32" else "F64"


def _log(b: Builder, w: Builder, x: Value) -> Value:
    """log of an f64 that is normal, 0 or infinite, as precise as functions of builder b need."""
    if b.float == "f64":
        return log_(w, x)
    k, f = log_parts(w, x)
    log2 = w.fma(f, w.horner(f, coefficients("POW_LOG2_FAST")), k)
    result = log2 * LN2
    result = w.select(x.eq(INF), INF, result)
    return w.select(x.eq(0.0), -INF, result)


def lgamma_(b: Builder, x: Value) -> Value:
    """log |gamma(x)|: infinite at 0 and the negative integers.

    Below 8 by a polynomial around 2 and the recurrence, beyond by Stirling's series, for negative x
    by reflection.
    """
    w, kind = wide(b), _kind(b)
    x = widen(b, w, x)
    a = w.abs(x)
    nearest = w.round_even(a)
    t = a - nearest  # a = 2 + t + n
    n = nearest - 2.0
    # gamma(a) = gamma(2 + t) * argument, or / argument for n < 0
    product = w.const(1.0)
    for i in range(1, 7):
        product = w.select(n >= float(i), product * (a - float(i)), product)
    below = n < 0.0
    argument = w.select(below, w.select(n < -1.0, a * (a + 1.0), a), product)
    large = a >= 8.0
    log = _log(b, w, w.select(large, a, argument))
    small = w.fma(t, w.horner(t, coefficients(f"LGAMMA_{kind}")), w.select(below, -log, log))
    inverse = 1.0 / a
    series = w.horner(inverse * inverse, coefficients(f"STIRLING_{kind}")) * inverse
    # (a - 1/2) (log a - 1) + (log(2 pi) - 1)/2
    stirling = w.fma(a - 0.5, log - 1.0, series + STIRLING_CONSTANT)
    result = w.select(large, stirling, small)
    # |gamma(-a)| = pi / (a |sin pi a| gamma(a))
    distance = w.abs(t)
    sine = distance * w.horner(t * t, coefficients(f"SINPI_{kind}"))
    reflected = (LOG_PI - _log(b, w, a * sine)) - result
    tiny = a < 2.0**-70
    result = w.select(w.both(x < 0.0, a >= 2.0**-70), reflected, result)
    result = w.select(tiny, -log, result)
    # all that large are integers, and poles if negative
    result = w.select(a.eq(INF) | w.both(x < 0.0, a >= 2.0**52), INF, result)
    return narrow(b, w.select(x.isnan(), x, result))


def digamma_(b: Builder, x: Value) -> Value:
    """The derivative of log gamma: NaN at 0 and the negative integers.

    On [1, 2] a polynomial times the distance to the root, elsewhere below 8 the recurrence, beyond
    an asymptotic series, for negative x reflection.
    """
    w, kind = wide(b), _kind(b)
    x = widen(b, w, x)
    negative = x < 0.0
    a = w.select(negative, 1.0 - x, x)
    whole = w.floor(a)
    t = a - whole
    value = ((t - ROOT_1) - ROOT_1_LOW) * w.horner(t - 0.5, coefficients(f"DIGAMMA_{kind}"))
    # 1/(a-1) + ... + 1/(a-n) as one fraction
    top, bottom = w.const(0.0), w.const(1.0)
    for i in range(1, 7):
        more = whole > float(i)
        factor = a - float(i)
        top = w.select(more, w.fma(top, factor, bottom), top)
        bottom = w.select(more, bottom * factor, bottom)
    below = a < 1.0
    large = a >= 8.0
    top = w.select(below, -1.0, w.select(large, 1.0, top))
    bottom = w.select(below | large, a, bottom)
    fraction = top / bottom
    square = fraction * fraction
    log = _log(b, w, w.select(large, a, 1.0))
    series = w.horner(square, coefficients(f"DIGAMMA_LARGE_{kind}")) * square
    result = w.select(large, log - w.fma(fraction, 0.5, series), value + fraction)
    # digamma(1-x) - pi cot(pi x)
    offset = x - w.round_even(x)
    square = offset * offset
    sine = w.horner(square, coefficients(f"SINPI_{kind}")) * offset
    cosine = w.horner(square, coefficients(f"COSPI_{kind}"))
    result = w.select(negative, result - (cosine * PI) / sine, result)
    result = w.select(x.eq(INF), INF, result)
    pole = w.both(x <= 0.0, offset.eq(0.0))
    result = w.select(pole | x.eq(-INF), NAN, result)
    return narrow(b, w.select(x.isnan(), x, result))
