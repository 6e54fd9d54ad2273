"""bessel_i0e, bessel_i1e: modified Bessel functions times exp(-|x|)."""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import coefficients

# below: a polynomial in |x| - BESSEL_EDGE/2; beyond: one in 1/|x| over sqrt(|x|)
BESSEL_EDGE = 8.0


def _scaled(b: Builder, size: Value, order: int) -> Value:
    """exp(-x) I_order(x), for order 1 divided by x below the edge."""
    small = b.horner(size - BESSEL_EDGE / 2, coefficients(f"I{order}E_{b.float.upper()}"))
    large_argument = b.select(size > BESSEL_EDGE, size, BESSEL_EDGE)
    inverse = 1.0 / large_argument
    center = inverse - 0.5 / BESSEL_EDGE
    large = b.horner(center, coefficients(f"I{order}E_LARGE_{b.float.upper()}"))
    large = large / b.sqrt(large_argument)
    if order == 1:
        small = small * size
    return b.select(size > BESSEL_EDGE, large, small)


def bessel_i0e_(b: Builder, x: Value) -> Value:
    return b.select(x.isnan(), x, _scaled(b, b.abs(x), 0))


def bessel_i1e_(b: Builder, x: Value) -> Value:
    result = b.copysign(_scaled(b, b.abs(x), 1), x)
    return b.select(x.isnan(), x, result)
