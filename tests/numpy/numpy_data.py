"""Arguments for the tests of this folder, the same in every run."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from lingon.frontend.core import dtypes

F32, F16, C64 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.complex64)
BF16 = np.dtype(ml_dtypes.bfloat16)
I8, I32, U8, U32 = (np.dtype(t) for t in ("i1", "i4", "u1", "u4"))
BOOL = np.dtype(bool)

FLOATS = (F32, BF16, F16)
INTEGERS = (I32, I8, U8, U32)
REAL = (*FLOATS, *INTEGERS)
NUMBERS = (*REAL, C64)
ALL = (*NUMBERS, BOOL)

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, np.inf, -np.inf, np.nan, 1e-30, 3e30]


def rng(*key: Any) -> np.random.Generator:
    """A generator seeded by what it is for."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def array(shape: Sequence[int], dtype: Any, *key: Any, low: float = -3, high: float = 3) -> Any:
    """A random array."""
    r = rng(shape, str(dtype), key)
    dt = np.dtype(dtype)
    if dt == BOOL:
        return r.integers(0, 2, shape).astype(bool)
    if dt.kind == "c":
        return (r.uniform(low, high, shape) + 1j * r.uniform(low, high, shape)).astype(dt)
    if dt.kind in "iu":
        lo = max(int(np.ceil(low)), 0) if dt.kind == "u" else int(np.ceil(low))
        return r.integers(lo, max(int(high), lo) + 1, shape).astype(dt)
    return r.uniform(low, high, shape).astype(dt)


def special(dtype: Any) -> np.ndarray:
    """Zeros, infinities, NaN, tiny and huge floats; the extremes of integers."""
    dt = np.dtype(dtype)
    if dt == BOOL:
        return np.array([True, False])
    if dt.kind in "iu":
        info = dtypes.iinfo(dt)
        return np.array([info.min, info.max, 0, 1, 2, 3], dt)
    with np.errstate(all="ignore"):
        if dt.kind == "c":
            parts = [0.0, 1.0, -1.0, 0.5, -2.5]
            return np.array([complex(a, b) for a in parts for b in parts], dt)
        return np.array(SPECIAL, dt)


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of special values."""
    s = special(dtype)
    i, j = np.meshgrid(np.arange(len(s)), np.arange(len(s)))
    return s[i.ravel()], s[j.ravel()]


def sample(items: Sequence[Any], count: int, full: bool, *key: Any) -> list[Any]:
    """All items, or some of them chosen by the key."""
    items = list(items)
    if full or len(items) <= count:
        return items
    chosen = rng("sample", *key).choice(len(items), count, replace=False)
    return [items[i] for i in sorted(chosen)]


def product(*axes: Sequence[Any]) -> list[tuple]:
    return list(itertools.product(*axes))
