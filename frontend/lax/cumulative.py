"""Cumulative reductions along an axis, from its start or (`reverse`) its end.

All raise ValueError for an axis that does not exist, TypeError for a dtype that does not fit.
"""

from __future__ import annotations

import operator
from typing import Any

from ..primitives.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from ..transforms.eager_functions import eager_function


@eager_function
def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative sum."""
    return cumsum_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


@eager_function
def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative product."""
    return cumprod_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


@eager_function
def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative maximum; NaN once there was one."""
    return cummax_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


@eager_function
def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative minimum; NaN once there was one."""
    return cummin_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


@eager_function
def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative log(sum(exp(x))) of floats, without overflow."""
    return cumlogsumexp_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


__all__ = [
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
]
