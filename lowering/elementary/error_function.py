"""erf, erfc, erf_inv."""

from __future__ import annotations

from .builder import INF, NAN, Builder, Value
from .coefficients import coefficients
from .exponential import exp_parts, log_

ERFC_CENTRE = 2.5
# beyond these, erfc underflows to 0 and erf rounds to 1
ERFC_BOUND = {"f32": 10.5, "f64": 27.5}
ERFINV_CENTRES = {"f32": (2.5, 3.0), "f64": (3.125, 3.25, 5.0)}


def _erf_small(b: Builder, x: Value) -> Value:
    """erf for |x| <= 1."""
    square = x * x
    return b.fma(x, b.horner(square, coefficients(f"ERF_{b.float.upper()}")), x)


def _erfc_large(b: Builder, size: Value) -> tuple[Value, Value]:
    """erfc for 3/4 <= size <= ERFC_BOUND as significand near 1 and exponent."""
    square = size * size
    square_low = b.fma(size, size, -square)
    _, k, r, c = exp_parts(b, -square)
    # in f32 the low part of the square is not tiny: it goes into r
    full = r
    r = full - square_low
    c = ((full - r) - square_low) + c
    q = b.horner(r, coefficients(f"EXP_{b.float.upper()}"))
    tail = b.fma(r * r, q, r + c)
    inverse = 1.0 / (size + ERFC_CENTRE)
    w = (size - ERFC_CENTRE) * inverse
    p = b.horner(w, coefficients(f"ERFC_{b.float.upper()}")) * inverse
    return b.fma(p, tail, p), k


def erf_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    if b.float == "f32":
        inner = b.select(size > 4.0, 4.0, size)
        large = 1.0 - b.horner(inner - 2.5, coefficients("ERFC_LARGE_F32"))
    else:
        inner = b.select(size > 6.0, 6.0, size)
        p, k = _erfc_large(b, inner)
        large = 1.0 - p * b.power_of_two(k)
    result = b.select(size < 1.0, _erf_small(b, x), b.copysign(large, x))
    return b.select(x.isnan(), x, result)


def erfc_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    zero = size > ERFC_BOUND[b.float]
    p, k = _erfc_large(b, b.select(zero, 1.0, size))
    tail = b.select(zero, 0.0, b.scale_down(p, k))
    large = b.select(x < 0.0, 2.0 - tail, tail)
    small = 1.0 - _erf_small(b, x)
    return b.select(b.both(x < 0.75, x > -1.0), small, b.select(x.isnan(), x, large))


def erf_inv_(b: Builder, x: Value) -> Value:
    w = -log_(b, b.fma(-x, x, 1.0))
    names = [f"ERFINV{i}_{b.float.upper()}" for i in range(3 if b.float == "f64" else 2)]
    centres = ERFINV_CENTRES[b.float]
    root = b.sqrt(w)
    p = b.horner(w - centres[0], coefficients(names[0]))
    if b.float == "f32":
        p = b.select(w > 5.0, b.horner(root - centres[1], coefficients(names[1])), p)
    else:
        p = b.select(w > 6.25, b.horner(root - centres[1], coefficients(names[1])), p)
        p = b.select(w > 16.0, b.horner(root - centres[2], coefficients(names[2])), p)
    result = p * x
    size = b.abs(x)
    result = b.select(size.eq(1.0), b.copysign(INF, x), result)
    return b.select(size <= 1.0, result, b.select(x.isnan(), x, b.const(NAN)))
