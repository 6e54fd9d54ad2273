"""Window functions."""

from __future__ import annotations

import math
import operator
from typing import Any

from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from .creation import arange, ones
from .float_parts import i0
from .util import aval_of, convert, promote_dtypes_inexact, rank0


def _points(who: str, M: Any) -> tuple[int, Any, Any]:
    """The size, 0..M-1 in floating point (None for M <= 1), and the dtype."""
    m = operator.index(M)
    if m < 0:
        raise ValueError(f"{who}: M must be non-negative, got {m}")
    dt = dtypes.default_float()
    return m, (arange(m, dtype=dt) if m > 1 else None), dt


@eager_function
def bartlett(M: int) -> Any:
    """Triangular window of M points."""
    m, n, dt = _points("bartlett", M)
    if n is None:
        return ones(m, dt)
    x = lax.sub(lax.add(lax.mul(rank0(2, dt), n), rank0(1, dt)), rank0(m, dt))
    return lax.sub(rank0(1, dt), lax.div(lax.abs(x), rank0(m - 1, dt)))


def _cosine(n: Any, m: int, k: int, dt: Any) -> Any:
    return lax.cos(lax.div(lax.mul(rank0(2 * k * math.pi, dt), n), rank0(m - 1, dt)))


@eager_function
def blackman(M: int) -> Any:
    """Blackman window of M points."""
    m, n, dt = _points("blackman", M)
    if n is None:
        return ones(m, dt)
    first = lax.sub(rank0(0.42, dt), lax.mul(rank0(0.5, dt), _cosine(n, m, 1, dt)))
    return lax.add(first, lax.mul(rank0(0.08, dt), _cosine(n, m, 2, dt)))


@eager_function
def hamming(M: int) -> Any:
    """Hamming window of M points."""
    m, n, dt = _points("hamming", M)
    if n is None:
        return ones(m, dt)
    return lax.sub(rank0(0.54, dt), lax.mul(rank0(0.46, dt), _cosine(n, m, 1, dt)))


@eager_function
def hanning(M: int) -> Any:
    """Hann window of M points."""
    m, n, dt = _points("hanning", M)
    if n is None:
        return ones(m, dt)
    return lax.mul(rank0(0.5, dt), lax.sub(rank0(1, dt), _cosine(n, m, 1, dt)))


@eager_function
def kaiser(M: int, beta: Any) -> Any:
    """Kaiser window of M points with shape parameter `beta`."""
    m, n, dt = _points("kaiser", M)
    (b,) = promote_dtypes_inexact(beta)
    if n is None:
        return ones(m, dt)
    half = rank0(0.5 * (m - 1), dt)
    t = lax.div(lax.sub(n, half), half)
    s = lax.sqrt(lax.sub(rank0(1, dt), lax.integer_pow(t, 2)))
    from .ufuncs import multiply, true_divide

    return true_divide(i0(multiply(convert(b, aval_of(b).dtype), s)), i0(b))


__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]
