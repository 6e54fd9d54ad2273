"""Softmax, logsumexp and their kin; standardize; one_hot; attention."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.trace import Tracer
from ..numpy import products, reductions, selection
from ..numpy import ufuncs as u
from ..numpy.creation import fill_scalar
from ..numpy.util import (
    asarray,
    aval_of,
    broadcast_to,
    canonical_axes,
    check_arraylike,
    convert,
    promote_args_inexact,
)
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit


@eager_function
def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) over axes, without overflow.

    With `return_sign`, returns (log of the absolute value, sign of the sum).
    """
    if b is not None:
        x, w = promote_args_inexact("logsumexp", a, b)
        x = selection.where(w != 0, x, -np.inf)
    else:
        (x,) = promote_args_inexact("logsumexp", a)
        w = None
    axes = canonical_axes(axis, x.ndim)
    top = reductions.max(
        lax.real(x) if dtypes.is_complex(x.dtype) else x,
        axis=axes,
        keepdims=keepdims,
        where=where,
        initial=-np.inf,
    )
    top = lax.stop_gradient(lax.select(lax.is_finite(top), top, lax.full_like(top, 0)))
    wide = top if keepdims else lax.expand_dims(top, axes)
    e = u.exp(u.subtract(x, wide))
    if w is not None:
        e = u.multiply(e, w)
    total = reductions.sum(e, axis=axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or not dtypes.is_complex(total.dtype):
        if not return_sign and b is not None and not dtypes.is_complex(total.dtype):
            total = selection.where(sign < 0, np.nan, lax.abs(total))
        else:
            total = lax.abs(total)
    out = u.add(u.log(total), top)
    return (out, sign) if return_sign else out


@eager_function
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over axes, without overflow."""
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    if where is None:
        axes = canonical_axes(axis, len(aval_of(x).shape))
        n: Any = int(np.prod([aval_of(x).shape[i] for i in axes], dtype=np.int64))
    else:
        n = reductions.sum(broadcast_to(where, aval_of(x).shape), axis=axis, keepdims=keepdims)
    return total - u.log(convert(asarray(n), aval_of(total).dtype))


@eager_function
def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over axes; elements outside `where` count as -inf."""
    check_arraylike("softmax", x)
    x = asarray(x)
    if not dtypes.is_inexact(x.dtype):
        x = convert(x, dtypes.default_float())
    top = reductions.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    masked = x if where is None else selection.where(where, x, -np.inf)
    e = u.exp(lax.sub(masked, lax.stop_gradient(top)))
    out = lax.div(e, reductions.sum(e, axis, where=where, keepdims=True))
    return out if where is None else selection.where(where, out, 0)


@eager_function
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """log(softmax(x)), without loss of precision."""
    check_arraylike("log_softmax", x)
    x = asarray(x)
    if not dtypes.is_inexact(x.dtype):
        x = convert(x, dtypes.default_float())
    masked = x if where is None else selection.where(where, x, -np.inf)
    top = reductions.max(masked, axis, where=where, initial=-np.inf, keepdims=True)
    shifted = lax.sub(masked, lax.stop_gradient(top))
    norm = u.log(reductions.sum(u.exp(shifted), axis, where=where, keepdims=True))
    out = lax.sub(shifted, norm)
    return out if where is None else selection.where(where, out, -np.inf)


@library_jit(static_argnames=("axis",))
def _standardize(x: Any, axis: Any, mean: Any, variance: Any, epsilon: Any, where: Any) -> Any:
    m = reductions.mean(x, axis, keepdims=True, where=where) if mean is None else mean
    if variance is None:
        variance = u.subtract(
            reductions.mean(u.square(x), axis, keepdims=True, where=where), u.square(m)
        )
    return u.multiply(u.subtract(x, m), lax.rsqrt(u.add(variance, epsilon)))


@eager_function
def standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5, where: Any = None, *,
    algorithm: str = "fast",
) -> Any:  # fmt: skip
    """(x - mean) / sqrt(variance + epsilon) over axes.

    `algorithm='stable'` computes the variance from the centred values.
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    (x,) = promote_args_inexact("standardize", x)
    axis = tuple(axis) if isinstance(axis, list) else axis
    if algorithm == "stable" and variance is None:
        variance = reductions.var(x, axis, keepdims=True, where=where)
    return _standardize(x, axis=axis, mean=mean, variance=variance, epsilon=epsilon, where=where)


@library_jit(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, num_classes: int, dtype: Any, axis: int) -> Any:
    x = asarray(x)
    rank = x.ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    position = axis % rank
    lhs = lax.expand_dims(x, (position,))
    shape = tuple(num_classes if i == position else 1 for i in range(rank))
    rhs = lax.broadcasted_iota(x.dtype, shape, position)
    return convert(u.equal(lhs, rhs), dtype)


@eager_function
def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """A new axis that is 1 at the index and 0 elsewhere; all 0 for indices out of range."""
    if isinstance(num_classes, Tracer):
        from ..core.errors import ConcretizationTypeError

        raise ConcretizationTypeError(
            num_classes, "The error arose in jax.nn.one_hot argument `num_classes`."
        )
    n = operator.index(num_classes)
    dt = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype)
    check_arraylike("one_hot", x) if not isinstance(x, (list, tuple)) else None
    if isinstance(x, (list, tuple)):
        from ..numpy.creation import asarray as full_asarray

        x = full_asarray(x)
    return _one_hot(x, num_classes=n, dtype=dt, axis=operator.index(axis))


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
) -> Any:
    """softmax(query key^T * scale + bias) value for arrays (..., length, heads, features).

    `mask` is true where attention is allowed; `is_causal` allows only earlier positions.
    """
    q, k, v = (asarray(t) for t in (query, key, value))
    if q.ndim not in (3, 4) or k.ndim != q.ndim or v.ndim != q.ndim:
        raise ValueError(
            f"dot_product_attention: operands must have rank 3 or 4, got shapes {q.shape}, {k.shape}, {v.shape}"
        )
    heads, kv_heads = q.shape[-2], k.shape[-2]
    if heads % kv_heads:
        raise ValueError(
            f"The number of query heads must be a multiple of key/value heads, but got {heads} vs {kv_heads}"
        )
    if heads != kv_heads:
        from ..numpy.rearranging import repeat

        k, v = repeat(k, heads // kv_heads, axis=-2), repeat(v, heads // kv_heads, axis=-2)
    factor = 1.0 / np.sqrt(q.shape[-1]) if scale is None else scale
    scores = products.einsum(
        "...tnh,...snh->...nts",
        q,
        k,
        preferred_element_type=np.float32 if q.dtype.itemsize < 4 else None,
    )
    scores = scores * fill_scalar(factor, scores.dtype)
    if bias is not None:
        scores = scores + bias
    low = -0.7 * float(dtypes.finfo(scores.dtype).max)
    if mask is not None:
        scores = selection.where(mask, scores, low)
    if is_causal:
        t, n = q.shape[-3], k.shape[-3]
        i = lax.broadcasted_iota(np.dtype(np.int32), (t, n), 0)
        j = lax.broadcasted_iota(np.dtype(np.int32), (t, n), 1)
        scores = selection.where(lax.ge(i, j), scores, low)
    weights = convert(softmax(scores, -1), v.dtype)
    return products.einsum("...nts,...snh->...tnh", weights, v)


__all__ = [
    "dot_product_attention", "log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax",
    "standardize",
]  # fmt: skip
