"""Covariance, correlation, convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..transforms.jit import library_jit
from .manipulation import atleast_2d, concatenate, transpose
from .products import dot
from .reductions import average
from .reductions import sum as _sum
from .util import (
    asarray,
    check_arraylike,
    convert,
    jit_as,
    like,
    promote_dtypes_inexact,
    rank0,
    shape_of,
)


@library_jit(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Covariance matrix of variables, which are the rows (or columns) of the input(s).

    The divisor is N - ddof, with ddof 1, or 0 for `bias`; `fweights` count and `aweights` weigh
    the observations. Raises ValueError for inputs of rank above 2 and weights that do not fit.
    """
    if y is not None:
        check_arraylike("cov", m, y)
        m, y = promote_dtypes_inexact(m, y)
        if len(shape_of(y)) > 2:
            raise ValueError("y has more than 2 dimensions")
    else:
        check_arraylike("cov", m)
        (m,) = promote_dtypes_inexact(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if dtype is not None:
        dt = dtypes.check_user_dtype(dtype)
        m = convert(m, dt)
        y = None if y is None else convert(y, dt)
    x = atleast_2d(m)
    if not rowvar and m.ndim != 1:
        x = transpose(x)
    if x.shape[0] == 0:
        return lax.full((0, 0), 0, x.dtype)
    if y is not None:
        rows = atleast_2d(y)
        if not rowvar and rows.shape[0] != 1:
            rows = transpose(rows)
        x = concatenate([x, rows], 0)
    if ddof is None:
        ddof = 0 if bias else 1
    w: Any = None
    if fweights is not None:
        check_arraylike("cov", fweights)
        w = asarray(fweights)
        _check_weights("fweights", w, x)
        if not dtypes.is_integer(w.dtype):
            raise TypeError("fweights must be integer.")
        w = lax.abs(w)
    if aweights is not None:
        check_arraylike("cov", aweights)
        aw = asarray(aweights)
        _check_weights("aweights", aw, x)
        aw = lax.abs(aw)
        w = aw if w is None else w * aw
    mean, w_sum = average(x, axis=1, weights=w, returned=True)
    w_sum = w_sum[0]
    if w is None:
        f: Any = rank0(x.shape[1] - ddof, dtypes.to_real(x.dtype))
    elif ddof == 0:
        f = w_sum
    elif aweights is None:
        f = w_sum - ddof
    else:
        f = w_sum - ddof * _sum(w * aw) / w_sum
    x = lax.sub(x, lax.expand_dims(mean, (1,)))
    right = x if w is None else x * lax.expand_dims(convert(w, x.dtype), (0,))
    right = transpose(right)
    if dtypes.is_complex(right.dtype):
        right = lax.conj(right)
    out = dot(x, right) / f
    return _squeeze(out)


def _squeeze(x: Any) -> Any:
    dims = tuple(i for i, s in enumerate(x.shape) if s == 1)
    return lax.squeeze(x, dims) if dims else x


def _check_weights(name: str, w: Any, x: Any) -> None:
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != x.shape[1]:
        raise RuntimeError(f"incompatible numbers of samples and {name}")


@jit_as("_diag")
def _diagonal_of(c: Any) -> Any:
    from .rearranging import diagonal

    return diagonal(c)


@library_jit(static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Correlation coefficients of variables: covariances divided by standard deviations."""
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar=rowvar, dtype=dtype)
    if not shape_of(c):
        return lax.div(c, c)
    stddev = lax.sqrt(lax.real(_diagonal_of(c)) if dtypes.is_complex(c.dtype) else _diagonal_of(c))
    stddev = convert(stddev, c.dtype)
    c = lax.div(c, lax.expand_dims(stddev, (1,)))
    c = lax.div(c, lax.expand_dims(stddev, (0,)))
    from .selection import clip

    real = clip(lax.real(c) if dtypes.is_complex(c.dtype) else c, -1, 1)
    if dtypes.is_complex(c.dtype):
        return lax.complex(real, clip(lax.imag(c), -1, 1))
    return real


# --- convolution ---------------------------------------------------------------------------


def _windows(x: Any, size: int, count: int) -> Any:
    """The first `count` windows of `size` elements of a vector, as the rows of a matrix."""
    i = np.arange(count, dtype=np.int32)[:, None] + np.arange(size, dtype=np.int32)[None, :]
    return x[i]


@jit_as("_conv", static_argnames=("mode", "flip", "precision", "preferred_element_type"))
def _conv(
    x: Any, y: Any, mode: str, flip: bool, precision: Any, preferred_element_type: Any
) -> Any:
    """Sums of products of windows of the longer vector with the shorter one.

    `flip` reverses the shorter one (convolution); without it the result is reversed where the
    operands had to be exchanged (correlation).
    """
    from .rearranging import flip as _flip

    reverse = False
    if x.shape[0] < y.shape[0]:
        x, y = y, x
        reverse = not flip
    if flip:
        y = _flip(y)
    n, m = x.shape[0], y.shape[0]
    if mode == "valid":
        low = high = 0
    elif mode == "same":
        low, high = (m // 2, m - m // 2 - 1) if not reverse else (m - m // 2 - 1, m // 2)
        if flip:
            low, high = m // 2, m - m // 2 - 1
    elif mode == "full":
        low = high = m - 1
    else:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    padded = lax.pad(x, like(x, 0), ((low, high, 0),)) if low or high else x
    count = n + low + high - m + 1
    out = dot(
        _windows(padded, m, count), y, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip
    return _flip(out) if reverse else out


def _check_vectors(who: str, a: Any, v: Any) -> None:
    if len(shape_of(a)) != 1 or len(shape_of(v)) != 1:
        raise ValueError(f"{who}() only support 1-dimensional inputs.")
    if shape_of(a)[0] == 0 or shape_of(v)[0] == 0:
        raise ValueError(
            f"{who}: inputs cannot be empty, got shapes {shape_of(a)} and {shape_of(v)}."
        )


@library_jit(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Convolution of two vectors; `mode` is 'full', 'same' (the longer one's size) or 'valid'.

    Raises ValueError for other ranks, empty vectors and other modes.
    """
    check_arraylike("convolve", a, v)
    _check_vectors("convolve", a, v)
    x, y = promote_dtypes_inexact(a, v)
    return _conv(
        x,
        y,
        mode=mode,
        flip=True,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@library_jit(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Cross-correlation of two vectors, the second one conjugated; modes as in `convolve`."""
    check_arraylike("correlate", a, v)
    _check_vectors("correlate", a, v)
    x, y = promote_dtypes_inexact(a, v)
    if dtypes.is_complex(y.dtype):
        y = lax.conj(y)
    return _conv(
        x, y, mode=mode, flip=False, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


__all__ = ["convolve", "corrcoef", "correlate", "cov"]
