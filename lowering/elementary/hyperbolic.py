"""sinh, cosh, tanh, asinh, acosh, atanh, logistic."""

from __future__ import annotations

import math

from .builder import INF, NAN, Builder, Value
from .coefficients import coefficients
from .exponential import LOG2E, below, exp_parts, exp_range, log1p_core


def _quarter_exp(b: Builder, size: Value) -> tuple[Value, Value]:
    """e^size / 4 as high and low part, for size >= 0; infinite only where 2 of it overflow."""
    bound = {"f32": 89.7, "f64": 710.7}[b.float]
    inner = b.select(size > bound, bound, size)
    _, k, r, c = exp_parts(b, inner)
    q = b.horner(r, coefficients(f"EXP_{b.float.upper()}"))
    tail = b.fma(r * r, q, r + c)
    high = 1.0 + tail
    low = (1.0 - high) + tail
    scale = b.power_of_two(k - 2)
    return high * scale, low * scale


def _sixteenth_inverse(b: Builder, high: Value) -> Value:
    """1/(16 high), or where it does not matter something that is no denormal number."""
    bound = 2.0 ** (b.bias // 2)
    return 0.0625 / b.select(high > bound, bound, high)


def sinh_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    high, low = _quarter_exp(b, size)
    large = ((high - _sixteenth_inverse(b, high)) + low) * 2.0
    square = x * x
    small = b.fma(x * square, b.horner(square, coefficients(f"SINH_{b.float.upper()}")), x)
    result = b.select(size < 1.0, small, b.copysign(large, x))
    return b.select(x.isnan(), x, result)


def cosh_(b: Builder, x: Value) -> Value:
    high, low = _quarter_exp(b, b.abs(x))
    return ((high + _sixteenth_inverse(b, high)) + low) * 2.0


def tanh_(b: Builder, x: Value) -> Value:
    """tanh(h + n ln2/2) with tanh h = N/Q is 1 - 2(Q - N) / (2^n (Q + N) + (Q - N)), by DLMF 4.35.2.
    For small x it is h + (N - hQ)/Q with n = 0, so that one division does."""
    size = b.abs(x)
    large = size >= 1.0
    # beyond, tanh rounds to 1
    bound = {"f32": 10.0, "f64": 20.0}[b.float]
    inner = b.select(size > bound, bound, size)
    n, k = b.round_to_int(inner, 2.0 * LOG2E)
    n = b.select(large, n, 0.0)
    # (an error of h counts little where n is large)
    h = b.fma(n, -0.5 * math.log(2.0), inner)
    square = h * h
    terms = coefficients(f"TANH_{b.float.upper()}")
    split = {"f32": 2, "f64": 4}[b.float]
    rest = (h * square) * b.horner(square, terms[:split])  # N - hQ
    below = b.horner(square, terms[split:])
    above = b.fma(h, below, rest)
    less = above - below
    bottom = b.select(large, b.fma(b.power_of_two(k), above + below, -less), below)
    quotient = b.select(large, less * 2.0, rest) / bottom
    return b.copysign(b.select(large, 1.0, size) + quotient, x)


def logistic_(b: Builder, x: Value) -> Value:
    """1 / (1 + exp(-x)), from exp(-|x|) so that nothing overflows."""
    size = -b.abs(x)
    zero, inner = below(b, size, exp_range(b)[0])
    _, k, r, c = exp_parts(b, inner)
    q = b.horner(r, coefficients(f"EXP_{b.float.upper()}"))
    tail = b.fma(r * r, q, r + c)
    top = 1.0 + tail
    e = b.select(zero, 0.0, b.scale(top, k))
    # far out the quotient is e or 1, and the small parts would underflow
    far = size < {"f32": -50.0, "f64": -600.0}[b.float]
    e_low = b.scale(b.select(far, 0.0, (1.0 - top) + tail), k)
    more = b.select(far, 0.0, e)
    bottom = 1.0 + more
    bottom_low = ((1.0 - bottom) + more) + e_low
    negative = x < 0.0
    top, top_low = b.select(negative, e, 1.0), b.select(negative, e_low, 0.0)
    inverse = 1.0 / bottom
    q = top * inverse
    rest = b.fma(-q, bottom, top) + b.fma(-q, bottom_low, top_low)
    return b.fma(rest, inverse, q)


def asinh_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    # log(a + sqrt(a^2+1)) = log1p(a + a^2/(1 + sqrt(a^2+1))); a^2 must not overflow
    huge = size > 2.0 ** (b.bias // 2 - 3)
    a = b.select(huge, 1.0, size)
    square = a * a
    rest = square / (1.0 + b.sqrt(square + 1.0))
    z = a + rest
    low = (a - z) + rest
    z = b.select(huge, size, z)
    low = b.select(huge, 0.0, low)
    result = log1p_core(b, z, low, b.select(huge, 1.0, 0.0))
    result = b.select(size < 2.0 ** -(b.mantissa // 2 + 2), size, result)
    result = b.select(size.eq(INF), size, result)
    return b.select(x.isnan(), x, b.copysign(result, x))


def acosh_(b: Builder, x: Value) -> Value:
    huge = x > 2.0 ** (b.bias // 2 - 3)
    inner = b.select(huge, 1.0, x)
    # x = 1 + t + t_low; log1p(t + sqrt(t^2 + 2t))
    t = inner - 1.0
    t_low = (inner - t) - 1.0
    root = b.sqrt(b.fma(t, t, t * 2.0))
    z = root + t
    low = b.fma(t_low, 2.0, (root - z) + t)
    z = b.select(huge, x, z)
    low = b.select(huge, 0.0, low)
    result = log1p_core(b, z, low, b.select(huge, 1.0, 0.0))
    result = b.select(x.eq(INF), INF, result)
    return b.select(x >= 1.0, result, b.select(x.isnan(), x, b.const(NAN)))


def atanh_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    # log1p(2a/(1-a))/2, the quotient as high and low part
    below = 1.0 - size
    below_low = (1.0 - below) - size
    inverse = 1.0 / below
    top = size * 2.0
    q = top * inverse
    q_low = (b.fma(-q, below, top) - q * below_low) * inverse
    result = log1p_core(b, q, q_low, None) * 0.5
    result = b.select(size < 2.0 ** -(b.mantissa // 2 + 2), size, result)
    result = b.select(size.eq(1.0), INF, result)
    result = b.copysign(result, x)
    return b.select(size <= 1.0, result, b.select(x.isnan(), x, b.const(NAN)))
