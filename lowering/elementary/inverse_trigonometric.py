"""asin, acos, atan, atan2."""

from __future__ import annotations

from .builder import INF, NAN, Builder, Value
from .coefficients import coefficients

# pi/4 = high + low, the high part with two bits to spare: its multiples up to 4 are exact
PI_4 = {
    "f32": (float.fromhex("0x1.921fb0p-1"), float.fromhex("0x1.5110b4611a626p-23")),
    "f64": (float.fromhex("0x1.921fb54442d18p-1"), float.fromhex("0x1.1a62633145c07p-55")),
}


def _angle(b: Builder, top: Value, bottom: Value, swap: Value, flip: Value | None) -> Value:
    """atan(top/bottom) for 0 <= top <= bottom; pi/2 minus that if swap; pi minus that if flip."""
    # beyond 1/2, where t-b is exact: pi/4 + atan((t-b)/(t+b))
    middle = top > bottom * 0.5
    index = b.select(middle, 1.0, 0.0)  # multiples of pi/4
    sign = b.const(1.0)
    top, bottom = b.select(middle, top - bottom, top), b.select(middle, top + bottom, bottom)
    index = b.select(swap, 2.0 - index, index)
    sign = b.select(swap, -1.0, sign)
    if flip is not None:
        index = b.select(flip, 4.0 - index, index)
        sign = b.select(flip, -sign, sign)
    q = (top / bottom) * sign
    square = q * q
    tail = (q * square) * b.horner(square, coefficients(f"ATAN_{b.float.upper()}"))
    high, low = PI_4[b.float]
    start = index * high
    total = start + q
    lost = (start - total) + q
    return total + (lost + b.fma(index, low, tail))


def atan_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    big = size > 1.0
    # infinity: 1/inf
    result = _angle(b, b.select(big, 1.0, size), b.select(big, size, 1.0), big, None)
    result = b.copysign(result, x)
    return b.select(x.isnan(), x, result)


def atan2_(b: Builder, y: Value, x: Value) -> Value:
    rise, run = b.abs(y), b.abs(x)
    swap = rise > run
    top, bottom = b.select(swap, run, rise), b.select(swap, rise, run)
    # both infinite: as both 1; both zero: 0/1
    infinite = top.eq(INF)
    top = b.select(infinite, 1.0, top)
    bottom = b.select(infinite, 1.0, b.select(bottom.eq(0.0), 1.0, bottom))
    huge = bottom > 2.0 ** (b.bias - 2)  # keep top + bottom finite
    top = b.select(huge, top * 0.0625, top)
    bottom = b.select(huge, bottom * 0.0625, bottom)
    negative = b.bits(x) < b.iconst(0)
    result = b.copysign(_angle(b, top, bottom, swap, negative), y)
    invalid = x.isnan() | y.isnan()
    return b.select(invalid, x + y, result)


def _arcsine_series(b: Builder, s: Value, square: Value) -> Value:
    """asin(s) - s for s <= 1/2."""
    return (s * square) * b.horner(square, coefficients(f"ASIN_{b.float.upper()}"))


def _halves(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """(|x| > 1/2, s, asin(s) - s, rounding error of s): s = |x|, or sqrt((1-|x|)/2) beyond 1/2."""
    size = b.abs(x)
    big = size > 0.5
    half = b.fma(size, -0.5, 0.5)
    root = b.sqrt(half)
    # sqrt is rounded: half = root^2 + 2 root error
    error = b.fma(-root, root, half) / b.select(half > 0.0, root + root, 1.0)
    s = b.select(big, root, size)
    square = b.select(big, half, size * size)
    return big, s, _arcsine_series(b, s, square), b.select(big, error, 0.0)


def _domain(b: Builder, x: Value, result: Value) -> Value:
    return b.select(b.abs(x) <= 1.0, result, b.select(x.isnan(), x, b.const(NAN)))


def asin_(b: Builder, x: Value) -> Value:
    big, s, tail, error = _halves(b, x)
    high, low = (2.0 * c for c in PI_4[b.float])
    twice = s + s
    total = high - twice
    lost = (high - total) - twice
    upper = total + (lost + b.fma(tail + error, -2.0, low))
    return _domain(b, x, b.copysign(b.select(big, upper, s + tail), x))


def acos_(b: Builder, x: Value) -> Value:
    big, s, tail, error = _halves(b, x)
    high, low = PI_4[b.float]
    negative = x < 0.0
    # pi/2 - (s + tail), 2 (s + tail), pi - 2 (s + tail)
    index = b.select(big, b.select(negative, 4.0, 0.0), 2.0)
    factor = b.select(big, b.select(negative, -2.0, 2.0), b.select(negative, 1.0, -1.0))
    start = index * high
    part = s * factor
    total = start + part
    lost = (start - total) + part
    result = total + (lost + b.fma(tail + error, factor, index * low))
    return _domain(b, x, result)
