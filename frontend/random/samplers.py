"""Random samples from distributions. Each takes a key, and a shape of the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.avals import canonical_shape, get_aval
from ..numpy import creation
from ..numpy import util as u
from ..numpy.selection import clip, where
from ..primitives.sampler_functions import (
    sampler_erf_inv_p,
    sampler_erf_p,
    sampler_log1p_p,
    sampler_log_p,
)
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .keys import random_bits, split, typed


def _float(who: str, dtype: Any, kinds: str = "float") -> Any:
    dt = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype)
    ok = dtypes.is_float(dt) or (kinds != "float" and dtypes.is_complex(dt))
    if not ok:
        what = "a float dtype" if kinds == "float" else "a float or complex dtype"
        raise ValueError(f"dtype argument to `{who}` must be {what}, got {dtypes.dtype_name(dt)}")
    return dt


def _int(who: str, dtype: Any) -> Any:
    dt = dtypes.default_int() if dtype is None else dtypes.check_user_dtype(dtype)
    if not dtypes.is_integer(dt):
        raise TypeError(f"{who} only accepts integer dtypes, got {dtypes.dtype_name(dt)}")
    return dt


def _shape(shape: Any) -> tuple[int, ...]:
    out = canonical_shape(shape)
    if any(d < 0 for d in out):
        raise ValueError(f"shape must not have negative dimensions, got {out}")
    return out


def _broadcast_shape(who: str, shape: Any, *params: Any) -> tuple[int, ...]:
    """The result's shape: given, or that to which the parameters broadcast.

    Raises ValueError where the parameters do not broadcast to the given shape.
    """
    shapes = [u.shape_of(p) for p in params]
    own = u.broadcast_shapes(*shapes) if shapes else ()
    if shape is None:
        return own
    out = _shape(shape)
    try:
        fits = u.broadcast_shapes(out, own) == out
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{who} parameter shapes must be broadcast-compatible with shape argument, got {shapes} and {out}"
        )
    return out


def _scalar(value: Any, dt: Any) -> Any:
    return creation.fill_scalar(value, dt)


def _lead(x: Any, rank: int) -> Any:
    """A parameter with leading axes of size 1, for broadcasting against the samples."""
    n = len(u.shape_of(x))
    return (
        lax.broadcast_in_dim(x, (1,) * (rank - n) + u.shape_of(x), tuple(range(rank - n, rank)))
        if n < rank
        else x
    )


# --- uniform and normal --------------------------------------------------------------------


@eager_function(numbers="floats")
def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform floats in [minval, maxval)."""
    k = typed(key, "uniform")
    dt = _float("uniform", dtype)
    return _uniform(k, minval, maxval, shape=_shape(shape), dtype=dt)


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _uniform(key: Any, minval: Any, maxval: Any, shape: tuple, dtype: Any) -> Any:
    lo, hi = u.convert(u.asarray(minval), dtype), u.convert(u.asarray(maxval), dtype)
    lo, hi = _lead(lo, len(shape)), _lead(hi, len(shape))
    mantissa = dtypes.finfo(dtype).nmant
    width = 8 * dtype.itemsize
    # as many random bits as fill the mantissa, put below the exponent of one
    rng_bits = 8 if mantissa < 8 else width
    words = random_bits(key, rng_bits, shape)
    uint = np.dtype(f"uint{width}")
    if rng_bits != width:
        words = lax.convert_element_type(words, uint)
    one = np.asarray(np.ones((), dtype)).view(uint)
    floats = lax.bitwise_or(
        lax.shift_right_logical(words, _scalar(rng_bits - mantissa, uint)), _scalar(one, uint)
    )
    unit = lax.sub(lax.bitcast_convert_type(floats, dtype), _scalar(1, dtype))
    return lax.max(lo, lax.add(lax.mul(unit, lax.sub(hi, lo)), lo))


def _positive(key: Any, shape: tuple, dtype: Any) -> Any:
    """Uniform floats in (0, 1): the smallest normal number in place of 0."""
    return lax.max(_scalar(dtypes.finfo(dtype).smallest_normal, dtype), uniform(key, shape, dtype))


def _two_draws(key: Any, shape: tuple, dtype: Any) -> tuple[Any, Any]:
    both = uniform(key, (2, *shape), dtype, minval=0.0, maxval=1.0)
    return both[0], both[1]


@eager_function
def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal floats; complex ones have independent parts of variance 1/2."""
    k = typed(key, "normal")
    dt = _float("normal", dtype, "inexact")
    return _normal(k, shape=_shape(shape), dtype=dt)


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _normal(key: Any, shape: tuple, dtype: Any) -> Any:
    if dtypes.is_complex(dtype):
        real = dtypes.to_real(dtype)
        keys = split(key)
        re = _normal_real(keys[0], shape=shape, dtype=real)
        im = _normal_real(keys[1], shape=shape, dtype=real)
        scale = _scalar(1 / real.type(np.sqrt(2)), real)
        return lax.complex(lax.mul(re, scale), lax.mul(im, scale))
    return _normal_real(key, shape=shape, dtype=dtype)


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _normal_real(key: Any, shape: tuple, dtype: Any) -> Any:
    lo = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)
    x = uniform(key, shape, dtype, _scalar(lo, dtype), _scalar(1, dtype))
    return lax.mul(_scalar(np.sqrt(2), dtype), sampler_erf_inv_p.bind(x))


@eager_function
def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal floats conditioned to lie in (lower, upper)."""
    k = typed(key, "truncated_normal")
    dt = _float("truncated_normal", dtype)
    u.check_arraylike("truncated_normal", lower, upper)
    return _truncated_normal(
        k, lower, upper, shape=_broadcast_shape("truncated_normal", shape, lower, upper), dtype=dt
    )


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: tuple, dtype: Any) -> Any:
    lo, hi = u.convert(u.asarray(lower), dtype), u.convert(u.asarray(upper), dtype)
    root = _scalar(np.sqrt(2), dtype)
    a, b = sampler_erf_p.bind(lax.div(lo, root)), sampler_erf_p.bind(lax.div(hi, root))
    x = lax.mul(root, sampler_erf_inv_p.bind(uniform(key, shape, dtype, a, b)))
    return clip(
        x,
        lax.nextafter(
            lax.stop_gradient(lo),
            _scalar(np.inf, dtype) if not u.shape_of(lo) else lax.full_like(lo, np.inf),
        ),
        lax.nextafter(
            lax.stop_gradient(hi),
            _scalar(-np.inf, dtype) if not u.shape_of(hi) else lax.full_like(hi, -np.inf),
        ),
    )


# --- integers ------------------------------------------------------------------------------


@eager_function
def randint(
    key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Uniform integers in [minval, maxval)."""
    k = typed(key, "randint")
    dt = _int("randint", dtype)
    if dt.itemsize < 4:
        info = dtypes.iinfo(dt)
        low, high = clip(minval, info.min, info.max), clip(maxval, info.min, info.max + 1)
        return u.convert(_randint(k, low, high, shape=_shape(shape), dtype=np.dtype(np.int32)), dt)
    return _randint(k, minval, maxval, shape=_shape(shape), dtype=dt)


@library_jit(static_argnames=("shape", "dtype"))
def _randint(key: Any, minval: Any, maxval: Any, shape: tuple, dtype: Any) -> Any:

    u.check_arraylike("randint", minval, maxval)
    minval, maxval = u.asarray(minval), u.asarray(maxval)
    if not dtypes.is_integer(minval.dtype):
        minval = minval.astype(int)
    if not dtypes.is_integer(maxval.dtype):
        maxval = maxval.astype(int)
    info = dtypes.iinfo(dtype)
    top = clip(_scalar(info.max, dtype), *(_scalar(v, maxval.dtype) for v in _limits(maxval.dtype)))
    beyond = lax.gt(maxval, u.convert(top, maxval.dtype))
    low = u.convert(
        clip(minval, *(_scalar(v, minval.dtype) for v in _inside(minval.dtype, info))), dtype
    )
    high = u.convert(
        clip(maxval, *(_scalar(v, maxval.dtype) for v in _inside(maxval.dtype, info))), dtype
    )
    low, high = _lead(low, len(shape)), _lead(high, len(shape))
    bits = 8 * dtype.itemsize
    keys = split(key)
    first, second = random_bits(keys[0], bits, shape), random_bits(keys[1], bits, shape)
    unsigned = np.dtype(f"uint{bits}")
    span = lax.convert_element_type(lax.sub(high, low), unsigned)
    one = lax.full_like(span, 1)
    span = lax.select(lax.le(high, low), one, span)
    # where maxval is beyond the dtype, the dtype's last value is possible too
    full = lax.bitwise_and(_lead(beyond, len(shape)), lax.gt(high, low))
    span = lax.select(full, lax.add(span, _scalar(1, unsigned)), span)
    # two draws make the bias of the remainder negligible
    factor = lax.rem(_scalar(2 ** (bits // 2), unsigned), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    offset = lax.add(lax.mul(lax.rem(first, span), factor), lax.rem(second, span))
    offset = lax.rem(offset, span)
    return lax.add(low, lax.convert_element_type(offset, dtype))


def _limits(dt: Any) -> tuple[int, int]:
    info = dtypes.iinfo(dt)
    return info.min, info.max


def _inside(dt: Any, info: Any) -> tuple[int, int]:
    """The limits `info`, as far as `dt` can hold them."""
    own = dtypes.iinfo(dt)
    return max(info.min, own.min), min(info.max, own.max)


# --- from uniform --------------------------------------------------------------------------


@eager_function
def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """Booleans that are true with probability `p`. Mode 'high' resolves small probabilities."""
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    k = typed(key, "bernoulli")
    u.check_arraylike("bernoulli", p)
    dt = dtypes.canonicalize_dtype(get_aval(p).dtype)  # type: ignore[attr-defined]
    if not dtypes.is_float(dt):
        raise TypeError(
            f"bernoulli probability `p` must have a floating dtype, got {dtypes.dtype_name(dt)}."
        )
    return _bernoulli(
        k, u.convert(u.asarray(p), dt), shape=_broadcast_shape("bernoulli", shape, p), mode=mode
    )


@library_jit(static_argnames=("shape", "mode"))
def _bernoulli(key: Any, p: Any, shape: tuple, mode: str) -> Any:
    dt = u.dtype_of(p)
    if mode == "high":
        # p is compared with 2 draws, the second giving the bits below the first one's
        high, low = _two_draws(key, shape, dt)
        return lax.lt(
            lax.mul(low, _scalar(dtypes.finfo(dt).eps, dt)), lax.sub(u.broadcast_to(p, shape), high)
        )
    x = uniform(key, shape, dt)
    return lax.lt(x, p if not u.shape_of(p) else u.broadcast_to(p, shape))


@eager_function
def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Exponential floats with rate 1."""
    k = typed(key, "exponential")
    return _exponential(k, shape=_shape(shape), dtype=_float("exponential", dtype))


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _exponential(key: Any, shape: tuple, dtype: Any) -> Any:
    return lax.neg(sampler_log1p_p.bind(lax.neg(uniform(key, shape, dtype))))


@eager_function
def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard Gumbel floats."""
    if mode not in (None, "high", "low"):
        raise ValueError(
            f"Must provide valid mode for gumbel, got {mode!r}; expected 'high' or 'low'"
        )
    k = typed(key, "gumbel")
    dt = _float("gumbel", dtype)
    return _gumbel(k, shape=_shape(shape), dtype=dt, mode=mode or "low")


@library_jit(static_argnames=("shape", "dtype", "mode"), compiled=True)
def _gumbel(key: Any, shape: tuple, dtype: Any, mode: str) -> Any:
    info = dtypes.finfo(dtype)
    tiny = _scalar(info.smallest_normal, dtype)
    if mode == "high":
        # below 1/2 a second draw gives the bits that the first one lacks
        high, low = _two_draws(key, shape, dtype)
        fine = lax.add(lax.add(high, lax.mul(_scalar(info.eps, dtype), low)), tiny)
        x = where(lax.ge(high, _scalar(0.5, dtype)), high, fine)
        return lax.neg(sampler_log_p.bind(lax.neg(sampler_log1p_p.bind(lax.neg(x)))))
    x = _positive(key, shape, dtype)
    return lax.neg(sampler_log_p.bind(lax.neg(sampler_log_p.bind(x))))


@eager_function
def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard Laplace floats."""
    k = typed(key, "laplace")
    return _laplace(k, shape=_shape(shape), dtype=_float("laplace", dtype))


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _laplace(key: Any, shape: tuple, dtype: Any) -> Any:
    lo = _scalar(-1.0 + float(dtypes.finfo(dtype).epsneg), dtype)
    x = uniform(key, shape, dtype, minval=lo, maxval=1.0)
    return lax.mul(lax.sign(x), sampler_log1p_p.bind(lax.neg(lax.abs(x))))


@eager_function
def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard logistic floats."""
    k = typed(key, "logistic")
    return _logistic(k, shape=_shape(shape), dtype=_float("logistic", dtype))


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _logistic(key: Any, shape: tuple, dtype: Any) -> Any:
    x = _positive(key, shape, dtype)
    return lax.sub(sampler_log_p.bind(x), sampler_log1p_p.bind(lax.neg(x)))


@eager_function
def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard Cauchy floats."""
    k = typed(key, "cauchy")
    return _cauchy(k, shape=_shape(shape), dtype=_float("cauchy", dtype))


@library_jit(static_argnames=("shape", "dtype"), compiled=True)
def _cauchy(key: Any, shape: tuple, dtype: Any) -> Any:
    x = uniform(key, shape, dtype, minval=_scalar(dtypes.finfo(dtype).eps, dtype), maxval=1.0)
    return lax.tan(lax.mul(_scalar(np.pi, dtype), lax.sub(x, _scalar(0.5, dtype))))


@eager_function
def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """-1 or 1 with equal probability."""
    k = typed(key, "rademacher")
    return _rademacher(k, shape=_shape(shape), dtype=_int("rademacher", dtype))


@library_jit(static_argnames=("shape", "dtype"))
def _rademacher(key: Any, shape: tuple, dtype: Any) -> Any:
    flips = u.convert(bernoulli(key, 0.5, shape), dtype)
    return lax.sub(lax.mul(_scalar(2, dtype), flips), _scalar(1, dtype))
