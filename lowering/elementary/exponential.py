"""exp, exp2, expm1, log, log2, log10, log1p."""

from __future__ import annotations

from .builder import INF, NAN, Builder, Value
from .coefficients import coefficients

# ln 2 as high + low: the high part has so few bits that its product with an exponent is exact
LN2 = {
    "f32": (float.fromhex("0x1.62e400p-1"), float.fromhex("0x1.7f7d1cf79abcap-20")),
    "f64": (float.fromhex("0x1.62e42fefa3000p-1"), float.fromhex("0x1.3de6af278ece6p-42")),
}
# the greatest numbers with a finite exponential
_GREATEST = {
    "f32": float.fromhex("0x1.62e42ep+6"),
    "f64": float.fromhex("0x1.62e42fefa39efp+9"),
}
LOG2E = float.fromhex("0x1.71547652b82fep+0")


def largest_finite(b: Builder) -> float:
    return (2.0 - 2.0**-b.mantissa) * 2.0**b.bias


def exp_parts(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """x = n ln2 + r + c, |r| <= ln2/2: n as float and as integer, r, and its rounding error c."""
    high, low = LN2[x.type]
    n, k = b.round_to_int(x, LOG2E)
    rough = b.fma(-n, high, x)  # exact
    r = b.fma(-n, low, rough)
    c = b.fma(-n, low, rough - r)
    return n, k, r, c


def clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    """x kept within the bounds; NaN stays."""
    x = b.select(x < low, low, x)
    return b.select(x > high, high, x)


def exp_range(b: Builder) -> tuple[float, float]:
    """Bounds outside which exp is 0 or infinity, and up to which the reduction works."""
    return {"f32": (-105.0, 89.5), "f64": (-746.0, 710.0)}[b.float]


def exp_reduced(b: Builder, r: Value, c: Value | None = None) -> Value:
    """e^(r + c) for |r| <= ln2/2 and tiny c."""
    q = b.horner(r, coefficients(f"EXP_{r.type.upper()}"))
    tail = b.fma(r * r, q, r if c is None else r + c)
    return tail + 1.0


def below(b: Builder, x: Value, low: float) -> tuple[Value, Value]:
    """Whether x is below `low`, and x or else 0: a function that is 0 there selects it in the end.
    To compute it would take an underflow, which costs a hundred cycles."""
    gone = x < low
    return gone, b.select(gone, 0.0, x)


def finite(b: Builder, x: Value, greatest: float, result: Value) -> Value:
    """`result`, but infinity where x is above `greatest`, and NaN where it is NaN."""
    return b.select(x <= greatest, result, x + INF)


def exp_(b: Builder, x: Value) -> Value:
    low, _ = exp_range(b)
    zero, inner = below(b, x, low)
    _, k, r, _ = exp_parts(b, inner)
    result = finite(b, x, _GREATEST[b.float], b.scale_down(exp_reduced(b, r), k))
    return b.select(zero, 0.0, result)


def exp2_(b: Builder, x: Value) -> Value:
    zero, inner = below(b, x, {"f32": -151.0, "f64": -1076.0}[b.float])
    n, k = b.round_to_int(inner)
    r = inner - n
    q = b.horner(r, coefficients(f"EXP2_{b.float.upper()}"))
    # The greatest number below the power of two that overflows.
    greatest = (1 << (b.mantissa + 1)) - 1
    greatest = greatest * 2.0 ** (b.bias.bit_length() - b.mantissa - 1)
    result = finite(b, x, greatest, b.scale_down(b.fma(r, q, 1.0), k))
    return b.select(zero, 0.0, result)


def expm1_(b: Builder, x: Value) -> Value:
    low = {"f32": -18.0, "f64": -38.0}[b.float]
    # above the upper bound the result overflows, and n stays below bias + 2
    inner = clamp(b, x, low, {"f32": 88.8, "f64": 709.9}[b.float])
    _, k, r, c = exp_parts(b, inner)
    q = b.horner(r, coefficients(f"EXPM1_{b.float.upper()}"))
    # e^r - 1 = r + tail; 2^n (e^r - 1) + (2^n - 1), halved so that n = bias + 1 does not overflow
    tail = b.fma(r * r, q, c)
    half = b.power_of_two(k - 1)
    base = half - 0.5
    result = b.fma(half, tail, b.fma(half, r, base)) * 2.0
    # fma(half, r, base) rounds; near 0 (k = 0) it is exact
    small = b.abs(x) < 2.0 ** -(b.mantissa + 2)
    return b.select(small, x, result)


def log_parts(b: Builder, x: Value) -> tuple[Value, Value]:
    """x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), k as a float, f exact; x > 0 and finite."""
    tiny = x < 2.0 ** (1 - b.bias)
    scaled = b.select(tiny, x * 2.0 ** (b.mantissa + 2), x)
    bits = b.bits(scaled)
    offset = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}[b.float]
    k = (bits - offset) >> b.mantissa
    f = b.from_bits(bits - (k << b.mantissa)) - 1.0
    k = k - b.select(tiny, b.iconst(b.mantissa + 2), b.iconst(0))
    return small_int_to_float(b, k), f


def small_int_to_float(b: Builder, k: Value) -> Value:
    """An integer |k| < 2^(mantissa-1) as a float; few targets convert vectors of i64 to f64."""
    if k.type == "i32":
        return b.to_float(k, "f32")
    magic = b.const(1.5 * 2.0**b.mantissa)
    return b.from_bits(b.bits(magic) + k) - magic


def log_special(b: Builder, x: Value, result: Value) -> Value:
    """`result` for positive finite x, else what a logarithm gives."""
    result = b.select(x.eq(INF), INF, result)
    result = b.select(x.eq(0.0), -INF, result)
    return b.select(x >= 0.0, result, b.select(x.isnan(), x, b.const(NAN)))


def log1p_poly(b: Builder, f: Value) -> Value:
    """log(1+f) - f for f in [sqrt(1/2)-1, sqrt(2)-1]."""
    square = f * f
    q = b.horner(f, coefficients(f"LOG_{f.type.upper()}"))
    return b.fma(square * f, q, square * -0.5)


def log_(b: Builder, x: Value) -> Value:
    k, f = log_parts(b, x)
    high, low = LN2[b.float]
    tail = b.fma(k, low, log1p_poly(b, f))
    # k*high + f in two parts
    base = k * high
    total = base + f
    lost = (base - total) + f
    return log_special(b, x, total + (lost + tail))


def _log_base(b: Builder, x: Value, base: int, k_high: float, k_low: float) -> Value:
    k, f = log_parts(b, x)
    scale_high, scale_low = split_constant(b, *_SCALE[base])
    q = b.horner(f, coefficients(f"LOG{base}_{b.float.upper()}"))
    # f/ln(base) as product + error, plus the polynomial
    product = f * scale_high
    error = b.fma(f, scale_high, -product)
    tail = b.fma(f * f, q, b.fma(f, scale_low, error))
    if k_low:
        tail = b.fma(k, k_low, tail)
    base_ = k * k_high
    total = base_ + product
    lost = (base_ - total) + product
    return log_special(b, x, total + (lost + tail))


# 1/ln(base) as high + low
_SCALE = {
    2: (LOG2E, float.fromhex("0x1.777d0ffda0d24p-56")),
    10: (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57")),
}


def split_constant(b: Builder, high: float, low: float) -> tuple[float, float]:
    """A constant given in f64 and the rest, as high + low of the builder's type."""
    if b.float == "f64":
        return high, low
    import struct

    top = struct.unpack("f", struct.pack("f", high))[0]
    return top, (high - top) + low


def log2_(b: Builder, x: Value) -> Value:
    return _log_base(b, x, 2, 1.0, 0.0)


def log10_(b: Builder, x: Value) -> Value:
    high, low = {
        "f32": (float.fromhex("0x1.344000p-2"), float.fromhex("0x1.3509f79fef312p-18")),
        "f64": (float.fromhex("0x1.34413509f7000p-2"), float.fromhex("0x1.3fde623e2566bp-43")),
    }[b.float]
    return _log_base(b, x, 10, high, low)


def log1p_core(b: Builder, x: Value, low: Value | None, more: Value | None) -> Value:
    """log(1 + x + low) + more ln2 for x in (-1, largest finite], |low| within an ulp of x."""
    # k from 1+x; 1+x = 2^k (1+f) gives f = 2^-k x + (2^-k - 1) with one rounding, exact for k = 0
    # (for the largest x, of x/16: 2^-k must be normal, and the 1 does not matter)
    big = x >= 2.0 ** (b.bias - 8)
    x_ = b.select(big, x * 0.0625, x)
    u = x_ + 1.0
    offset = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}[b.float]
    k = (b.bits(u) - offset) >> b.mantissa
    inverse = b.from_bits(b.iconst(b.bias << b.mantissa) - (k << b.mantissa))
    kf = small_int_to_float(b, k)
    kf = b.select(big, kf + 4.0, kf)
    if more is not None:
        kf = kf + more
    base = inverse - 1.0
    f = b.fma(x_, inverse, base)
    correction = b.fma(x_, inverse, base - f)
    if low is not None:
        correction = b.fma(low, inverse, correction)
    # the derivative of log(1+f), as far as the correction needs it
    correction = b.fma(-correction, f, correction)
    ln2_high, ln2_low = LN2[b.float]
    tail = b.fma(kf, ln2_low, log1p_poly(b, f) + correction)
    whole = kf * ln2_high
    total = whole + f
    lost = (whole - total) + f
    return total + (lost + tail)


def log1p_(b: Builder, x: Value) -> Value:
    small = b.abs(x) < 2.0 ** -(b.mantissa + 2)
    # products of tiny numbers would underflow
    result = log1p_core(b, b.select(small, 0.0, x), None, None)
    result = b.select(small, x, result)
    result = b.select(x.eq(INF), INF, result)
    result = b.select(x.eq(-1.0), -INF, result)
    return b.select(x >= -1.0, result, b.select(x.isnan(), x, b.const(NAN)))
