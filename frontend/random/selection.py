"""Random choices: categorical, permutation, choice."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.avals import canonical_shape
from ..numpy import creation, manipulation, reductions, searching
from ..numpy import util as u
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .keys import random_bits, split, typed
from .samplers import gumbel, randint, uniform


@eager_function
def categorical(
    key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, mode: str | None = None, *,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Indices along `axis` drawn with probabilities proportional to exp(logits).

    The result has the shape of the other axes, or `shape`, whose last axes they are. Without
    replacement the leading axes of `shape` are drawn without repetition.
    """
    k = typed(key, "categorical")
    u.check_arraylike("categorical", logits)
    x = u.asarray(logits)
    axis = u.canonical_axis(axis, x.ndim)
    batch = tuple(n for i, n in enumerate(x.shape) if i != axis)
    if shape is None:
        out = batch
    else:
        out = canonical_shape(shape)
        tail = out[len(out) - len(batch) :] if batch else ()
        if len(out) < len(batch) or (batch and u.broadcast_shapes(tail, batch) != tuple(tail)):
            raise ValueError(
                f"categorical parameter shapes must be broadcast-compatible with shape argument, got {batch} and {out}"
            )
    prefix = out[: len(out) - len(batch)]
    if replace:
        position = axis - x.ndim
        full = list(out[len(out) - len(batch) :])
        full.insert(len(full) + position + 1, x.shape[axis])
        noise = gumbel(k, (*prefix, *full), x.dtype, mode)
        wide = lax.expand_dims(x, tuple(range(len(prefix)))) if prefix else x
        from ..numpy.ufuncs import add

        return reductions.argmax(add(noise, wide), axis=position)
    noise = lax.add(gumbel(k, x.shape, x.dtype, mode), x)
    n = math.prod(prefix)
    if n > x.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({n}) cannot exceed number of categories ({x.shape[axis]})."
        )
    _, order = lax.top_k(manipulation.moveaxis(noise, axis, -1), n)
    order = manipulation.moveaxis(order, -1, 0)
    return lax.reshape(order, out)


@library_jit(static_argnames=("axis",))
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sort by random keys, often enough that ties become improbable."""
    rounds = max(1, math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1)))
    for _ in range(rounds):
        keys = split(key)
        key, sub = keys[0], keys[1]
        _, x = lax.sort_key_val(random_bits(sub, 32, x.shape), x, axis)
    return x


@eager_function(sizes=True)
def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """`range(x)`, or an array's slices along an axis, in random order.

    With `independent` each line along the axis is shuffled for itself.
    """
    k = typed(key, "permutation")
    u.check_arraylike("permutation", x)
    axis = u.canonical_axis(axis, len(u.shape_of(x)) or 1)
    if not u.shape_of(x):
        if not dtypes.is_integer(u.dtype_of(x)):
            raise TypeError("x must be an integer or at least 1-dimensional")
        n = operator.index(np.asarray(x)) if not hasattr(x, "_trace") else operator.index(x)
        return _shuffle(k, creation.arange(n), axis=0)
    y = u.asarray(x)
    if independent or y.ndim == 1:
        return _shuffle(k, y, axis=axis)
    order = _shuffle(k, creation.arange(y.shape[axis]), axis=0)
    return searching.take(y, order, axis=axis, unique_indices=True)


@eager_function(sizes=True)
def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Samples of `range(a)`, or of an array's slices along an axis, with probabilities `p`.

    Raises ValueError for an empty population, and for more samples than there are elements
    without replacement.
    """
    k = typed(key, "choice")
    u.check_arraylike("choice", a)
    out = canonical_shape(shape)
    arr = u.asarray(a)
    if arr.ndim == 0:
        n = operator.index(np.asarray(a)) if not hasattr(a, "_trace") else operator.index(a)
    else:
        axis = u.canonical_axis(axis, arr.ndim)
        n = arr.shape[axis]
    draws = math.prod(out)
    if draws and n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {n}) when 'replace=False'"
        )

    def pick(index: Any) -> Any:
        return index if arr.ndim == 0 else searching.take(arr, index, axis=axis)

    if p is None:
        if replace:
            index = randint(k, out, 0, n)
            return pick(index)
        if arr.ndim == 0:
            flat = permutation(k, n)[:draws]
            return lax.reshape(flat, out) if flat.shape != out else flat
        whole = permutation(k, arr, axis)
        part = lax.slice_in_dim(whole, 0, draws, axis=axis)
        return lax.reshape(part, (*arr.shape[:axis], *out, *arr.shape[axis + 1 :]))
    u.check_arraylike("choice", p)
    (weights,) = u.promote_dtypes_inexact(p)
    if weights.shape != (n,):
        raise ValueError(
            f"p must be None or a 1D vector with the same size as a.shape[axis]. p has shape {weights.shape} and a.shape[axis] is {n}."
        )
    if replace:
        cumulative = reductions.cumsum(weights)
        r = lax.mul(
            cumulative[-1],
            lax.sub(creation.fill_scalar(1, weights.dtype), uniform(k, out, weights.dtype)),
        )
        index = searching.searchsorted(cumulative, r)
    else:
        scores = lax.add(gumbel(k, (n,), weights.dtype, mode), lax.log(weights))
        index = lax.top_k(scores, draws)[1]
        index = lax.reshape(index, out) if index.shape != out else index
    return pick(index)
