"""Parts of the densities of the gamma and beta distributions that stay accurate for large parameters."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from .builder import Builder, Value
from .exponential import log_
from .gamma import lgamma_

HALF_LOG_2PI = float.fromhex("0x1.d67f1c864beb5p-1")
# from here on the series of `log_scaled_gamma` has full accuracy
LARGE = 10.0
_NEAR = 0.4


@functools.cache
def bernoulli(count: int) -> tuple[Fraction, ...]:
    """B_0 ... B_count by the recurrence sum_k binomial(n+1, k) B_k = 0 (DLMF 24.5.3)."""
    numbers = [Fraction(1)]
    for n in range(1, count + 1):
        total = sum(math.comb(n + 1, k) * b for k, b in enumerate(numbers))
        numbers.append(-Fraction(total) / (n + 1))
    return tuple(numbers)


def stirling_series(w: Builder, z: Value) -> Value:
    """log(gamma(z) / (sqrt(2 pi) z^(z - 1/2) e^-z)) for z >= LARGE (DLMF 5.11.1)."""
    numbers = bernoulli(18)
    terms = [float(numbers[2 * k] / (2 * k * (2 * k - 1))) for k in range(1, 10)]
    inverse = 1.0 / z
    return w.horner(inverse * inverse, terms) * inverse


def log_scaled_gamma(w: Builder, z: Value, log: Value) -> Value:
    """The function of `stirling_series` for all z > 0, given log z."""
    large = z >= LARGE
    small = w.select(large, 1.0, z)
    direct = (lgamma_(w, small) - w.fma(small - 0.5, log, -small)) - HALF_LOG_2PI
    return w.select(large, stirling_series(w, w.select(large, z, LARGE)), direct)


def excess(w: Builder, mu: Value, log: Value | None = None) -> Value:
    """mu - log(1 + mu) without cancellation, given log(1 + mu) or for mu > -1 not near -1.

    With s = mu/(2 + mu): log(1 + mu) = 2 atanh(s) (DLMF 4.6.4), and mu - 2 s = mu s.
    """
    near = w.abs(mu) < _NEAR
    inner = w.select(near, mu, 0.0)
    s = inner / (inner + 2.0)
    square = s * s
    odd = w.horner(square, [2.0 / (2 * k + 3) for k in range(14)])
    series = w.fma(-(square * s), odd, inner * s)
    return w.select(near, series, mu - (log_(w, mu + 1.0) if log is None else log))
