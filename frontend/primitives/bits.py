"""Bitwise and logical operations, shifts, counts of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import zero_jvp
from .arithmetic import PAIRS, binary_samples, unary_samples
from .conversion import bit_width
from .declare import INT, LOGICAL, elementwise

INTEGERS = (np.int32, np.int8, np.uint8, np.uint32, np.int16)


def _logical(name: str, ref: Callable[..., Any]) -> Primitive:
    return elementwise(
        name,
        (LOGICAL, LOGICAL),
        ref,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        samples=binary_samples(*INTEGERS, np.bool_),
    )


and_p: Primitive = _logical("and", np.bitwise_and)
or_p: Primitive = _logical("or", np.bitwise_or)
xor_p: Primitive = _logical("xor", np.bitwise_xor)

not_p: Primitive = elementwise(
    "not",
    (LOGICAL,),
    np.bitwise_not,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    samples=unary_samples(*INTEGERS, np.bool_),
)


def unsigned(x: np.ndarray) -> np.ndarray:
    """The bits of integers as unsigned numbers of the same width (4-bit ones in bytes)."""
    if bit_width(x.dtype) == 4:
        return (x.astype(np.int64) & 15).astype(np.uint8)
    return np.asarray(x, order="C").view(np.dtype(f"u{x.dtype.itemsize}"))


def _shift(name: str, ref: Callable[..., Any]) -> Primitive:
    """`ref(x, amount, out)`: `out` marks amounts that are negative or not below the width."""

    def shifted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        width = bit_width(x.dtype)
        amount = unsigned(y)
        x, amount = np.broadcast_arrays(x, amount)
        out = amount >= width
        return ref(x, np.where(out, 0, amount).astype(np.int64), out)

    p = elementwise(
        name,
        (INT, INT),
        shifted,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        samples=lambda: [
            *[Sample((a, d), (b, d), low=0, high=9) for a, b in PAIRS for d in INTEGERS],
            *binary_samples(*INTEGERS)()[-len(INTEGERS) :],
        ],
    )
    p.reference = shifted
    return p


def _left(x: np.ndarray, amount: np.ndarray, out: np.ndarray) -> np.ndarray:
    bits = unsigned(x).astype(np.uint64) << amount.astype(np.uint64)
    return signed_like(np.where(out, np.uint64(0), bits), x.dtype)


def _right_logical(x: np.ndarray, amount: np.ndarray, out: np.ndarray) -> np.ndarray:
    bits = unsigned(x).astype(np.uint64) >> amount.astype(np.uint64)
    return signed_like(np.where(out, np.uint64(0), bits), x.dtype)


def _right_arithmetic(x: np.ndarray, amount: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Copies of the top bit come in from the left, for unsigned types too."""
    width = bit_width(x.dtype)
    top = np.int64(64 - width)
    value = (unsigned(x).astype(np.uint64) << np.uint64(top)).view(np.int64) >> top
    value = np.where(out, value >> np.int64(63), value >> amount)
    return signed_like(value.view(np.uint64), x.dtype)


def signed_like(bits: np.ndarray, dtype: Any) -> np.ndarray:
    """The low bits as an integer dtype."""
    width = bit_width(dtype)
    if width == 4:
        low = (bits & np.uint64(15)).astype(np.int64)
        return (np.where(low > 7, low - 16, low) if dtypes.is_signed(dtype) else low).astype(dtype)
    return bits.astype(np.dtype(f"u{dtype.itemsize}")).view(dtype)


shift_left_p: Primitive = _shift("shift_left", _left)
shift_right_logical_p: Primitive = _shift("shift_right_logical", _right_logical)
shift_right_arithmetic_p: Primitive = _shift("shift_right_arithmetic", _right_arithmetic)


def _count(name: str, ref: Callable[..., Any]) -> Primitive:
    p = elementwise(
        name,
        (INT,),
        ref,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        samples=unary_samples(*INTEGERS),
    )
    p.reference = ref
    return p


def _bit_matrix(x: np.ndarray) -> np.ndarray:
    """The bits of each element along a new last axis, the highest first."""
    width = bit_width(x.dtype)
    places = np.arange(width - 1, -1, -1, dtype=np.uint64)
    return (unsigned(x).astype(np.uint64)[..., None] >> places) & np.uint64(1)


def _leading_zeros(x: np.ndarray) -> np.ndarray:
    bits = _bit_matrix(x)
    first = np.argmax(bits, axis=-1)
    return np.where(bits.any(axis=-1), first, bits.shape[-1])


population_count_p: Primitive = _count("population_count", lambda x: _bit_matrix(x).sum(axis=-1))
clz_p: Primitive = _count("clz", _leading_zeros)


def _high_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """High half of the double-width product."""
    width = bit_width(x.dtype)
    if width < 64:
        wide = np.int64 if dtypes.is_signed(x.dtype) else np.uint64
        return (x.astype(wide) * y.astype(wide)) >> wide(width)
    full = x.astype(object) * y.astype(object)
    high = np.asarray(full >> 64, dtype=object)
    mask = (1 << 64) - 1
    return (
        np.array([int(v) & mask for v in high.ravel()], np.uint64).view(x.dtype).reshape(high.shape)
    )


mulhi_p: Primitive = elementwise(
    "mulhi",
    (INT, INT),
    _high_product,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    samples=binary_samples(*INTEGERS),
)
mulhi_p.reference = _high_product
