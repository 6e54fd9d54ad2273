"""Bitwise and logical operations, for integers and (where it makes sense) booleans."""

from __future__ import annotations

from typing import Any

from ..primitives.bits import (
    and_p,
    clz_p,
    mulhi_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from ..transforms.eager_functions import eager_function


@eager_function
def bitwise_and(x: Any, y: Any) -> Any:
    """x AND y, bit by bit."""
    return and_p.bind(x, y)


@eager_function
def bitwise_or(x: Any, y: Any) -> Any:
    """x OR y, bit by bit."""
    return or_p.bind(x, y)


@eager_function
def bitwise_xor(x: Any, y: Any) -> Any:
    """x XOR y, bit by bit."""
    return xor_p.bind(x, y)


@eager_function
def shift_left(x: Any, y: Any) -> Any:
    """`x` shifted left by `y` bits; 0 where `y` is not below the width."""
    return shift_left_p.bind(x, y)


@eager_function
def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """`x` shifted right, with copies of the top bit coming in."""
    return shift_right_arithmetic_p.bind(x, y)


@eager_function
def shift_right_logical(x: Any, y: Any) -> Any:
    """`x` shifted right, with zeros coming in."""
    return shift_right_logical_p.bind(x, y)


@eager_function
def bitwise_not(x: Any) -> Any:
    """All bits inverted."""
    return not_p.bind(x)


@eager_function
def population_count(x: Any) -> Any:
    """Number of bits that are one."""
    return population_count_p.bind(x)


@eager_function
def clz(x: Any) -> Any:
    """Number of leading zero bits."""
    return clz_p.bind(x)


@eager_function
def mulhi(x: Any, y: Any, /) -> Any:
    """High half of the double-width product of integers."""
    return mulhi_p.bind(x, y)


__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "mulhi",
    "population_count",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]
