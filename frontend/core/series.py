"""Truncated power series of arrays, and the common forms of `jet` rules.

The series of a value x(t) is the list of its coefficients [x_1, ..., x_n] beside x_0, so that
x(t) = x_0 + x_1 t + ... + x_n t**n; None stands for a value that does not depend on t. A rule
`jet(primitive, primals, series, params)` returns (out, series of out), or lists of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .avals import get_aval
from .primitive import Primitive
from .rules import Zero, instantiate, vspace

Series = list[Any]


class SeriesOperations:
    """Products, set by the module that declares their primitive."""

    mul: Callable[[Any, Any], Any]
    scale: Callable[[Any, float], Any]


series_ops = SeriesOperations()


def total(terms: Sequence[Any]) -> Any:
    """The sum of arrays."""
    out = terms[0]
    for t in terms[1:]:
        out = vspace.add(out, t)
    return out


def scale(x: Any, factor: float) -> Any:
    return x if factor == 1 else series_ops.scale(x, factor)


def linear_jet(
    primitive: Primitive, primals: Sequence[Any], series: Sequence[Series | None], params: dict
) -> Any:
    """For primitives linear in all their operands together."""
    out = primitive.bind(*primals, **params)
    order = next(len(s) for s in series if s is not None)
    full = [
        [instantiate(Zero(get_aval(p)))] * order if s is None else s
        for p, s in zip(primals, series, strict=True)
    ]
    terms = [primitive.bind(*(s[k] for s in full), **params) for k in range(order)]
    if primitive.multiple_results:
        return out, [list(s) for s in zip(*terms, strict=True)]
    return out, terms


def bilinear_jet(
    primitive: Primitive, primals: Sequence[Any], series: Sequence[Series | None], params: dict
) -> Any:
    """For primitives linear in each of their two operands: a product of series."""
    out = primitive.bind(*primals, **params)
    (x, y), (xs, ys) = primals, series
    if xs is None or ys is None:
        (given,) = (s for s in series if s is not None)
        return out, [primitive.bind(*((c, y) if ys is None else (x, c)), **params) for c in given]
    a, b = [x, *xs], [y, *ys]
    return out, [
        total([primitive.bind(a[i], b[k - i], **params) for i in range(k + 1)])
        for k in range(1, len(a))
    ]


def integrate(derivative: Sequence[Any]) -> Series:
    """The series of a value from that of its derivative in t, which starts at order 0."""
    return [scale(c, 1 / (k + 1)) for k, c in enumerate(derivative)]


def differentiate(series: Series) -> Series:
    """The series of the derivative in t, from order 0."""
    return [scale(c, k + 1) for k, c in enumerate(series)]


def product_term(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    """The coefficient of order k in the product of two series that start at order 0."""
    return total([series_ops.mul(a[i], b[k - i]) for i in range(k + 1)])


__all__ = [
    "Series",
    "bilinear_jet",
    "differentiate",
    "integrate",
    "linear_jet",
    "product_term",
    "scale",
    "series_ops",
    "total",
]
