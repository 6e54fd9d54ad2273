"""The regularized incomplete beta function. In f64; a loop ends by convergence."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .builder import INF, NAN, Builder, Value
from .exponential import exp_, log_
from .gamma import narrow, wide, widen
from .stirling import excess, log_scaled_gamma

TWO_PI = float.fromhex("0x1.921fb54442d18p+2")
# both parameters above this: quadrature
_QUADRATURE = 200.0
_NODES = 48
# the density falls by about e^-_DROP over the interval of the quadrature
_DROP = 72.0
_MAX_STEPS = 2000.0


@functools.cache
def _gauss_legendre() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Nodes and weights on [0, 1] (DLMF 3.5.19-3.5.20), by Newton's method on the Legendre polynomial."""
    import math

    nodes, weights = [], []
    for i in range(_NODES):
        x = math.cos(math.pi * (i + 0.75) / (_NODES + 0.5))
        for _ in range(8):
            before, value = 1.0, x
            for n in range(2, _NODES + 1):
                before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
            slope = _NODES * (x * value - before) / (x * x - 1.0)
            x -= value / slope
        nodes.append((1.0 - x) / 2.0)
        weights.append(1.0 / ((1.0 - x * x) * slope * slope))
    return tuple(nodes), tuple(weights)


def _nodes() -> Sequence[float]:
    return _gauss_legendre()[0]


def _weights() -> Sequence[float]:
    return _gauss_legendre()[1]


def _fraction(
    b: Builder, w: Builder, p: Value, q: Value, x: Value, y: Value, below: Value, active: Value
) -> Value:
    """The even part of the continued fraction of DLMF 8.17.22, by its differences (Steed's method).

    With the d_k of 8.17.22 the numerators are -d_(2m-1) d_(2m), the denominators 1 + d_(2m) +
    d_(2m+1). y = 1 - x and below = p - x (p+q) >= -1 keep 1 + d_(2m+1) from cancelling for x near 1.
    """
    epsilon = 2.0**-54 if b.float == "f64" else 2.0**-32
    both = p + q

    def step(m: Value, d: Value, change: Value, total: Value) -> tuple[Value, ...]:
        at = w.fma(m, 2.0, p)
        before = m - 1.0
        middle = p + (m + before)
        even = (m / middle) * ((q - m) / at) * x  # d_(2m)
        # -d_(2m-1); a tiny p must not get lost beside m
        odd = ((p + before) / w.fma(before, 2.0, p)) * ((both + before) / middle) * x
        numerator = odd * even
        # (p+2m)(p+2m+1) - (p+m)(p+q+m) x
        rest = w.fma(m, w.fma(m, 3.0, p * 2.0), at) + (p + m) * w.fma(m, y, below)
        denominator = even + (rest / at) / (at + 1.0)
        new = 1.0 / w.fma(numerator, d, denominator)
        change = -(change * (numerator * d * new))
        return m + 1.0, new, change, total + change

    def more(m: Value, d: Value, change: Value, total: Value) -> Value:
        unfinished = w.both(w.abs(change) > w.abs(total) * epsilon, m < _MAX_STEPS)
        return w.both(active, unfinished)

    first = w.select(active, (p + 1.0) / (below + 1.0), 1.0)
    return w.repeat_while(more, step, (w.const(1.0), first, first, first))[3]


def _quadrature(
    w: Builder, p: Value, q: Value, x: Value, y: Value, below: Value, active: Value
) -> Value:
    """The integral of (t/x)^(p-1) ((1-t)/y)^(q-1) over t from 0 to x, y = 1 - x, below = p - x (p+q) >= 0.

    By Gauss-Legendre over [x - h, x], where h follows from slope and curvature of the logarithm.
    """
    p, q = w.select(active, p, 300.0), w.select(active, q, 300.0)
    x, y = w.select(active, x, 0.5), w.select(active, y, 0.5)
    # (p-1)/x - (q-1)/y
    slope = (w.select(active, below, 0.0) - (y - x)) / (x * y)
    rising = w.select(slope > 0.0, slope, 0.0)
    curvature = (p - 1.0) / (x * x) + (q - 1.0) / (y * y)
    width = (2.0 * _DROP) / (rising + w.sqrt(rising * rising + curvature * (2.0 * _DROP)))
    width = w.select(width < x, width, x)
    left, right, linear = width / x, width / y, slope * width

    def step(i: Value, total: Value) -> tuple[Value, ...]:
        u = w.load("lingon_gauss_legendre_nodes", _nodes, i)
        weight = w.load("lingon_gauss_legendre_weights", _weights, i)
        exponent = (p - 1.0) * excess(w, -(left * u)) + (q - 1.0) * excess(w, right * u)
        return i + 1, w.fma(weight, exp_(w, -w.fma(linear, u, exponent)), total)

    start = (w.iconst(0), w.const(0.0))
    more = w.repeat_while(lambda i, total: w.both(active, i < _NODES), step, start)
    return more[1] * width


def regularized_incomplete_beta_(b: Builder, p: Value, q: Value, x: Value) -> Value:
    """I_x(p, q): NaN outside 0 <= x <= 1, for negative parameters, and where both are 0 or infinite.

    A continued fraction for I_x or for 1 - I_x = I_(1-x)(q, p), or if p and q are large, where the
    fraction is slow, quadrature. The density is written with the distance from its maximum:
    x^p y^q / B(p, q) = sqrt(p q/(2 pi (p+q))) e^-(p f(x/p') + q f(y/q')) times Stirling's factors,
    where p' = p/(p+q), q' = 1 - p' and f(r) = r - 1 - log r.
    """
    w = wide(b)
    p, q, x = widen(b, w, p), widen(b, w, q), widen(b, w, x)
    inside = w.both(w.both(x > 0.0, x < 1.0), w.both(p > 0.0, q > 0.0))
    inside = w.both(inside, w.both(p < INF, q < INF))
    a, c = w.select(inside, p, 1.0), w.select(inside, q, 1.0)
    t = w.select(inside, x, 0.5)
    y, both = 1.0 - t, a + c
    # t (a + c) - a, the products and the first sum exactly
    first, second = t * a, t * c
    total = first + second
    part = total - first
    lost = (first - (total - part)) + (second - part)
    lost = lost + (w.fma(t, a, -first) + w.fma(t, c, -second))
    distance = (total - a) + lost
    log_a, log_c, log_both = log_(w, a), log_(w, c), log_(w, both)
    far = a * excess(w, distance / a, log_(w, t / (a / both)))
    far = far + c * excess(w, -distance / c, log_(w, y / (c / both)))
    factors = log_scaled_gamma(w, both, log_both) - log_scaled_gamma(w, a, log_a)
    factors = factors - log_scaled_gamma(w, c, log_c)
    density = w.sqrt(a / both) * w.sqrt(c / TWO_PI) * exp_(w, factors - far)

    large = w.both(a > _QUADRATURE, c > _QUADRATURE)
    upper = t * (both + 2.0) > a + 1.0
    # a small c makes 1 - I_x small: then I_x cannot be had from it, nor it from I_x
    upper = w.both(upper, (c >= 0.5) | (t >= 0.95))
    upper = w.select(large, distance > 0.0, upper)
    a, c = w.select(upper, c, a), w.select(upper, a, c)
    t, y = w.select(upper, y, t), w.select(upper, t, y)
    by_fraction = w.both(inside, large ^ w.constant(True, "i1"))
    below = w.select(upper, distance, -distance)
    fraction = _fraction(b, w, a, c, t, y, below, by_fraction) / a
    integral = _quadrature(w, a, c, t, y, below, w.both(inside, large)) / (t * y)
    result = density * w.select(large, integral, fraction)
    result = w.select(result > 1.0, 1.0, result)  # by rounding
    result = w.select(upper, 1.0 - result, result)
    result = w.select(p.eq(0.0) | q.eq(INF), 1.0, result)
    result = w.select(q.eq(0.0) | p.eq(INF), 0.0, result)
    result = w.select(x.eq(0.0), 0.0, w.select(x.eq(1.0), 1.0, result))
    valid = w.both(w.both(x >= 0.0, x <= 1.0), w.both(p >= 0.0, q >= 0.0))
    valid = w.both(valid, (p > 0.0) | (q > 0.0))
    valid = w.both(valid, (p < INF) | (q < INF))
    return narrow(b, w.select(valid, result, NAN))
