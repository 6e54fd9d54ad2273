"""pad, in all of NumPy's modes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from . import reductions
from .creation import linspace, zeros
from .rearranging import flip, repeat
from .util import (
    asarray,
    asarray_checked,
    broadcast_to,
    check_arraylike,
    convert,
    jit_as,
    like,
)

Widths = tuple[tuple[int, int], ...]

#: mode: the keyword arguments that it takes, with their defaults.
_options: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
    "empty": {},
}


def _pairs(value: Any, rank: int, name: str) -> Widths:
    """An int, a pair, or one pair for each axis, as a pair for each axis."""
    try:
        a = np.asarray(value, dtype=object)
        ints = np.vectorize(operator.index, otypes=[object])(a) if a.size else a
        wide = np.broadcast_to(ints, (rank, 2))
    except TypeError:
        raise TypeError(f"`{name}` must be of integral type.") from None
    except ValueError:
        raise ValueError(
            f"jnp.pad: {name} with {rank=} has unsupported shape {np.shape(value)}. Valid shapes are "
            f"({rank}, 2), (1, 2), (2,), (1,), or ()."
        ) from None
    return tuple((int(lo), int(hi)) for lo, hi in wide.tolist())


def _value_pairs(values: Any, rank: int, name: str, dtype: Any) -> list[tuple[Any, Any]]:
    """Values for both sides of each axis, as rank-0 arrays."""
    v = values if hasattr(values, "shape") else asarray_checked(values)
    v = convert(v, dtype)
    shape = np.shape(v)
    if shape not in ((), (1,), (2,), (1, 2), (rank, 2)) and shape != (rank, 1):
        raise ValueError(
            f"jnp.pad: {name} with {rank=} has unsupported shape {shape}. Valid shapes are "
            f"({rank}, 2), (1, 2), (2,), (1,), or ()."
        )
    if shape in ((), (1,)):
        s = lax.reshape(v, ()) if shape else v
        return [(s, s)] * rank
    wide = broadcast_to(v, (rank, 2)) if shape != (rank, 2) else v
    return [(wide[i, 0], wide[i, 1]) for i in range(rank)]


def _pad_constant(x: Any, widths: Widths, values: Any) -> Any:
    rank = x.ndim
    scalar = not isinstance(values, (tuple, list)) and np.ndim(values) == 0
    if scalar:
        value = convert(values, x.dtype)
        if any(lo or hi for lo, hi in widths):
            x = lax.pad(x, value, tuple((lo, hi, 0) for lo, hi in widths))
        return x
    for i, (before, after) in enumerate(_value_pairs(values, rank, "constant_values", x.dtype)):
        lo, hi = widths[i]
        if lo:
            x = lax.pad(x, before, tuple((lo if j == i else 0, 0, 0) for j in range(rank)))
        if hi:
            x = lax.pad(x, after, tuple((0, hi if j == i else 0, 0) for j in range(rank)))
    return x


def _at(x: Any, start: int, stop: int, axis: int) -> Any:
    n = x.shape[axis]
    start, stop = (v + n if v < 0 else v for v in (start, stop))
    lo = [0] * x.ndim
    hi = list(x.shape)
    lo[axis], hi[axis] = start, stop
    return lax.slice(x, lo, hi, (1,) * x.ndim)


def _pad_edge(x: Any, widths: Widths) -> Any:
    for i, (lo, hi) in enumerate(widths):
        if x.shape[i] == 0:
            if lo > 0 or hi > 0:
                raise ValueError("Cannot apply 'edge' padding to empty axis")
            continue
        n = x.shape[i]
        before = repeat(_at(x, 0, 1, i), lo, axis=i)
        after = repeat(_at(x, n - 1, n, i), hi, axis=i)
        x = lax.concatenate([before, x, after], i)
    return x


def _pad_ramp(x: Any, widths: Widths, end_values: Any) -> Any:
    ends = (
        None
        if not isinstance(end_values, (tuple, list)) and np.ndim(end_values) == 0
        else _value_pairs(end_values, x.ndim, "end_values", x.dtype)
    )
    scalar = convert(end_values, x.dtype) if ends is None else None
    for i, (lo, hi) in enumerate(widths):
        n = x.shape[i]
        first, last = _at(x, 0, 1, i), _at(x, n - 1, n, i)
        before_end, after_end = (scalar, scalar) if ends is None else ends[i]
        before = linspace(
            before_end, lax.squeeze(first, (i,)), lo, endpoint=False, dtype=x.dtype, axis=i
        )
        after = linspace(
            after_end, lax.squeeze(last, (i,)), hi, endpoint=False, dtype=x.dtype, axis=i
        )
        x = lax.concatenate([before, x, flip(after, axis=i)], i)
    return x


def _pad_stat(x: Any, widths: Widths, lengths: Any, f: Callable) -> Any:
    pairs = None if lengths is None else _pairs(lengths, x.ndim, "stat_length")
    for i, (lo, hi) in enumerate(widths):
        n = x.shape[i]
        if pairs is None:
            before = after = f(x, axis=i, keepdims=True)
        else:
            a, b = pairs[i]
            if a < 1 or b < 1:
                raise ValueError(f"stat_length of 0 yields no value for padding on axis {i}")
            a, b = min(a, n), min(b, n)
            first, last = _at(x, 0, a, i), _at(x, n - b, n, i)
            before, after = f(first, axis=i, keepdims=True), f(last, axis=i, keepdims=True)
        if dtypes.is_integer(x.dtype):
            before, after = (_round(v) for v in (before, after))
        before, after = convert(before, x.dtype), convert(after, x.dtype)
        x = lax.concatenate([repeat(before, lo, axis=i), x, repeat(after, hi, axis=i)], i)
    return x


def _round(v: Any) -> Any:
    from .ufuncs import round

    return round(v) if dtypes.is_inexact(v.dtype) else v


def _pad_mirror(x: Any, widths: Widths, mode: str, kind: str) -> Any:
    if kind not in ("even", "odd"):
        raise ValueError(f"reflect_type must be 'even' or 'odd', got {kind!r}")
    for i, (lo, hi) in enumerate(widths):
        n = x.shape[i]
        if lo == 0 and hi == 0:
            continue
        if n == 0:
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        offset = 1 if mode == "reflect" and n > 1 else 0
        for before, amount in ((True, lo), (False, hi)):
            while amount > 0:
                size = x.shape[i]
                k = min(amount, size - offset)
                if before:
                    edge = _at(x, 0, 1, i)
                    part = flip(_at(x, offset, offset + k, i), axis=i)
                else:
                    edge = _at(x, size - 1, size, i)
                    part = flip(_at(x, size - offset - k, size - offset, i), axis=i)
                if kind == "odd":
                    part = lax.sub(lax.mul(like(x, 2), edge), part)
                x = lax.concatenate([part, x] if before else [x, part], i)
                amount -= k
    return x


def _pad_wrap(x: Any, widths: Widths) -> Any:
    for i, (lo, hi) in enumerate(widths):
        n = x.shape[i]
        if n == 0:
            if lo > 0 or hi > 0:
                raise ValueError(f"Cannot apply 'wrap' padding to empty axis {i}")
            continue
        left, right = lo % n, hi % n
        parts = [_at(x, n - left, n, i)] if left else []
        parts += [x] * (lo // n + 1 + hi // n)
        parts += [_at(x, 0, right, i)] if right else []
        x = lax.concatenate(parts, i) if len(parts) > 1 else x
    return x


def _pad_empty(x: Any, widths: Widths) -> Any:
    for i, (lo, hi) in enumerate(widths):
        shape = list(x.shape)
        sides = []
        for amount in (lo, hi):
            shape[i] = amount
            sides.append(zeros(tuple(shape), x.dtype))
        x = lax.concatenate([sides[0], x, sides[1]], i)
    return x


def _pad_function(x: Any, widths: Widths, func: Callable, options: dict) -> Any:
    from .functional import apply_along_axis

    x = _pad_empty(x, widths)
    for i, pair in enumerate(widths):
        x = apply_along_axis(func, i, x, pair, i, options)
    return x


@jit_as("_pad", static_argnames=("pad_width", "mode", "stat_length", "reflect_type"))
def _pad(
    array: Any,
    pad_width: Widths,
    mode: str,
    constant_values: Any,
    stat_length: Any,
    end_values: Any,
    reflect_type: str,
) -> Any:
    x = array
    if mode == "constant":
        return _pad_constant(x, pad_width, constant_values)
    if mode == "edge":
        return _pad_edge(x, pad_width)
    if mode == "linear_ramp":
        return _pad_ramp(x, pad_width, end_values)
    if mode in ("reflect", "symmetric"):
        return _pad_mirror(x, pad_width, mode, reflect_type)
    if mode == "wrap":
        return _pad_wrap(x, pad_width)
    if mode == "empty":
        return _pad_empty(x, pad_width)
    from .quantiles import median

    stats = {
        "maximum": reductions.amax,
        "mean": reductions.mean,
        "median": median,
        "minimum": reductions.amin,
    }
    return _pad_stat(x, pad_width, stat_length, stats[mode])


def _hashable(x: Any) -> Any:
    return tuple(_hashable(e) for e in x) if isinstance(x, (list, tuple, np.ndarray)) else x


@eager_function
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array with elements added around it.

    `pad_width` is a number, a pair (before, after), or one pair for each axis. `mode` says what is added: constant (`constant_values`), edge, linear_ramp
    (`end_values`), maximum, mean, median, minimum (`stat_length`), reflect, symmetric
    (`reflect_type`), wrap, empty (zeros), or a function of (vector, widths, axis, options).
    Raises ValueError for negative widths and unknown options, NotImplementedError for other modes.
    """
    check_arraylike("pad", array)
    x = asarray(array)
    widths = _pairs(pad_width, x.ndim, "pad_width")
    if any(lo < 0 or hi < 0 for lo, hi in widths):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_function(x, widths, mode, kwargs)
    if mode not in _options:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    allowed = _options[mode]
    unknown = set(kwargs) - set(allowed)
    if unknown:
        raise ValueError(
            f"unsupported keyword arguments for mode '{mode}': {', '.join(sorted(unknown))}"
        )
    options = {**allowed, **kwargs}
    length = options.get("stat_length")
    if x.ndim == 0:
        return x
    return _pad(
        x,
        pad_width=widths,
        mode=mode,
        constant_values=options.get("constant_values", 0),
        stat_length=None if length is None else _hashable(length),
        end_values=options.get("end_values", 0) if mode == "linear_ramp" else None,
        reflect_type=options.get("reflect_type", "even"),
    )


__all__ = ["pad"]
