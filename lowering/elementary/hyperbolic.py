"""sinh, cosh, tanh."""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import coefficients
from .exponential import exp_parts, exp_reduced


def tanh_(b: Builder, x: Value) -> Value:
    size = b.abs(x)
    # beyond, tanh rounds to 1
    bound = {"f32": 10.0, "f64": 20.0}[b.float]
    inner = b.select(size > bound, bound, size)
    _, k, r, c = exp_parts(b, inner * 2.0)
    e = exp_reduced(b, r, c) * b.power_of_two(k)
    large = 1.0 - 2.0 / (e + 1.0)
    square = x * x
    small = b.fma(x * square, b.horner(square, coefficients(f"TANH_{b.float.upper()}")), x)
    result = b.select(size < 0.6, small, b.copysign(large, x))
    return b.select(x.isnan(), x, result)
