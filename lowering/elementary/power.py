"""pow, cbrt, rsqrt, hypot."""

from __future__ import annotations

from .builder import INF, NAN, Builder, Value
from .coefficients import coefficients
from .exponential import LOG2E, clamp, log_parts

LOG2E_LOW = float.fromhex("0x1.777d0ffda0d24p-56")
LN2_LOW = float.fromhex("0x1.abc9e3b39803fp-56")
LN2_HIGH = float.fromhex("0x1.62e42fefa39efp-1")
THIRD2_LOW = float.fromhex("0x1.5555555555555p-55")  # 2/3 minus its f64 value


def _power_f32(b: Builder, x: Value, y: Value) -> Value:
    """|x|^y for f32, computed in f64; x finite and not 0."""
    k, f = log_parts(b, x)
    f = b.to_f64(f)
    log2 = b.fma(f, b.horner(f, coefficients("POW_LOG2_FAST")), b.to_f64(k))
    z = clamp(b, log2 * b.to_f64(y), -200.0, 200.0)
    n, k2 = b.round_to_int(z)
    value = b.horner(z - n, coefficients("POW_EXP2_FAST"))
    return b.to_f32(value * b.power_of_two(k2))


def _power_f64(b: Builder, x: Value, y: Value) -> Value:
    """|x|^y for f64 with the logarithm in twice the precision; x finite and not 0."""
    k, f = log_parts(b, x)
    # s = f/(2+f) as high and low part
    below = f + 2.0
    below_low = (2.0 - below) + f
    inverse = 1.0 / below
    s = f * inverse
    s_low = (b.fma(-s, below, f) - s * below_low) * inverse
    # s^2
    square = s * s
    square_low = b.fma(s * 2.0, s_low, b.fma(s, s, -square))
    # cubic = 2/3 s^3 as high and low part
    third = 2.0 / 3.0
    t = s * third
    t_low = b.fma(s_low, third, b.fma(s, THIRD2_LOW, b.fma(s, third, -t)))
    cubic = square * t
    cubic_low = b.fma(square, t_low, b.fma(square_low, t, b.fma(square, t, -cubic)))
    rest = b.horner(square, coefficients("POW_LOG_F64")) * (square * square * s)
    # log(1+f) = 2s + cubic + rest
    twice = s * 2.0
    head = twice + cubic
    tail = ((twice - head) + cubic) + b.fma(s_low, 2.0, cubic_low + rest)
    # in units of ln 2, plus k
    product = head * LOG2E
    product_low = b.fma(head, LOG2E, -product)
    product_low = b.fma(tail, LOG2E, b.fma(head, LOG2E_LOW, product_low))
    log2 = k + product
    # |k| >= 1 > |product| or k = 0
    log2_low = ((k - log2) + product) + product_low
    high = log2 + log2_low
    low = (log2 - high) + log2_low
    # times y; one that large gives 0, 1 or infinity anyway, but its products would overflow
    y = clamp(b, y, -(2.0**80), 2.0**80)
    z = y * high
    z_low = b.fma(y, low, b.fma(y, high, -z))
    inside = b.abs(z) < 1100.0
    z_low = b.select(inside, z_low, 0.0)
    z = clamp(b, z, -1100.0, 1100.0)
    n, k2 = b.round_to_int(z)
    r = (z - n) + z_low
    # e^(r ln2)
    a = r * LN2_HIGH
    a_low = b.fma(r, LN2_HIGH, -a)
    r_low = ((z - n) - r) + z_low
    a_low = b.fma(r_low, LN2_HIGH, b.fma(r, LN2_LOW, a_low))
    q = b.horner(a, coefficients("EXP_F64"))
    value = 1.0 + (a + b.fma(a * a, q, a_low))
    return b.scale(value, k2)


def powf_(b: Builder, x: Value, y: Value) -> Value:
    """C's pow: x^0 = 1 and 1^y = 1 even for NaN; NaN for a negative base and a fractional y."""
    size = b.abs(x)
    ordinary = b.both(size > 0.0, size < INF)
    power = {"f32": _power_f32, "f64": _power_f64}[b.float]
    result = power(b, b.select(ordinary, size, 1.0), y)
    # 0 and infinity
    rising = y > 0.0
    result = b.select(size.eq(0.0), b.select(rising, 0.0, INF), result)
    result = b.select(size.eq(INF), b.select(rising, INF, 0.0), result)
    # negative base
    half = y * 0.5
    integer = b.trunc(y).eq(y)
    odd = b.both(integer, b.trunc(half).ne(half))
    negative = b.bits(x) < b.iconst(0)
    result = b.select(b.both(negative, odd), -result, result)
    fraction = b.both(b.both(x < 0.0, size < INF), b.trunc(y).ne(y))
    result = b.select(fraction, NAN, result)
    result = b.select(x.isnan() | y.isnan(), x + y, result)
    # (-1)^inf, 1^y, x^0
    result = b.select(b.both(size.eq(1.0), b.abs(y).eq(INF)), 1.0, result)
    return b.select(y.eq(0.0) | x.eq(1.0), 1.0, result)


def cbrt_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    tiny = size < 2.0 ** (1 - b.bias)
    # the scalings' exponents are multiples of 3
    lift = {"f32": 24, "f64": 54}[b.float]
    scaled = b.select(tiny, size * 2.0**lift, size)
    bits = b.bits(scaled)
    exponent = bits >> b.mantissa
    # e = 3 q + p with p in 0..2, from the biased exponent (bias = 1 modulo 3 or 0 modulo 3)
    q = (exponent * 21846) >> 16
    p = exponent - q * 3
    # bias of the result's exponent
    whole, extra = divmod(b.bias, 3)
    m = b.from_bits((bits & ((1 << b.mantissa) - 1)) | (b.bias << b.mantissa))
    y = b.horner(m, coefficients(f"CBRT_{b.float.upper()}"))
    # size = m 2^(3 q + p - bias); bias = 3 whole + extra
    shift = p - extra  # -1 ... 2
    roots = {i: 2.0 ** (i / 3.0) for i in (-1, 0, 1, 2)}
    y = y * b.select(
        shift.eq(0),
        1.0,
        b.select(shift.eq(1), roots[1], b.select(shift.eq(2), roots[2], roots[-1])),
    )
    m = m * b.power_of_two(shift)
    inverse = 1.0 / m
    for _ in range(1 if b.float == "f32" else 2):
        # relative error d of y^3 against m: y (1 - d/3 + 2 d^2/9)
        cube = (y * y) * y
        d = (cube - m) * inverse
        y = b.fma(y * d, b.fma(d, 2.0 / 9.0, -1.0 / 3.0), y)
    # once more, with the exact remainder
    square = y * y
    square_low = b.fma(y, y, -square)
    d = b.fma(y, square_low, b.fma(square, y, -m)) * inverse
    y = b.fma(y * d, -1.0 / 3.0, y)
    result = y * b.power_of_two(q - whole)
    result = b.select(tiny, result * 2.0 ** -(lift // 3), result)
    result = b.select(b.both(size > 0.0, size < INF), result, size)
    return b.copysign(result, x)


def rsqrt_(b: Builder, x: Value) -> Value:
    return 1.0 / b.sqrt(x)


def hypot_(b: Builder, x: Value, y: Value) -> Value:
    """sqrt(x^2 + y^2) without overflow; infinite if one is, even beside NaN."""
    ax, ay = b.abs(x), b.abs(y)
    swap = ay > ax
    big, small = b.select(swap, ay, ax), b.select(swap, ax, ay)
    # squares that overflow, or lose bits in the subnormal range
    down = 2.0 ** -(b.bias // 2 + 10)
    up = {"f32": 2.0**99, "f64": 2.0**620}[b.float]
    high = big > 2.0 ** (b.bias // 2 - 1)
    low = big < 2.0 ** -(b.bias // 2 - 21)
    factor = b.select(high, down, b.select(low, up, 1.0))
    back = b.select(high, 1.0 / down, b.select(low, 1.0 / up, 1.0))
    big_, small_ = big * factor, small * factor
    square = big_ * big_
    square_low = b.fma(big_, big_, -square)
    total = b.fma(small_, small_, square)
    # sqrt(total + rest) to the first order
    rest = b.fma(small_, small_, square - total) + square_low
    root = b.sqrt(total)
    error = b.fma(-root, root, total) + rest
    root = b.select(total > 0.0, root + error / (root + root), root)
    result = root * back
    result = b.select(x.isnan() | y.isnan(), x + y, result)
    return b.select(ax.eq(INF) | ay.eq(INF), INF, result)
