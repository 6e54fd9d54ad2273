"""Functions that look into numbers: signs, exponents, special values, bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..transforms.custom_rules import custom_jvp
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from . import reductions
from .creation import full_like
from .selection import where
from .ufuncs import absolute, add, imag, isinf, isnan, multiply, real, remainder, signbit
from .util import (
    asarray,
    aval_of,
    broadcast_shapes,
    broadcast_to,
    canonical_axis,
    check_arraylike,
    convert,
    like,
    no_out,
    promote_args,
    promote_args_inexact,
    promote_dtypes,
    promote_dtypes_inexact,
    rank0,
)

# --- signs and exponents -------------------------------------------------------------------


@library_jit
def copysign(x1: Any, x2: Any, /) -> Any:
    """|x1| with the sign of x2. Raises TypeError for complex numbers."""
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if dtypes.is_complex(x1.dtype):
        raise TypeError("copysign does not support complex-valued inputs")
    negative = signbit(x2)
    return where(negative, lax.neg(lax.abs(x1)), lax.abs(x1))


@library_jit
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where x1 < 0, 1 where x1 > 0, and x2 where x1 is 0."""
    x1, x2 = promote_dtypes_inexact(*_arrays("heaviside", x1, x2))
    zero = like(x1, 0)
    below, above, nan = lax.lt(x1, zero), lax.gt(x1, zero), lax.ne(x1, x1)
    at_zero = where(nan, x1, x2)
    return where(below, zero, where(above, like(x1, 1), at_zero))


def _arrays(who: str, *args: Any) -> tuple[Any, ...]:
    check_arraylike(who, *args)
    return args


@library_jit
def hypot(x1: Any, x2: Any, /) -> Any:
    """sqrt(x1**2 + x2**2) without overflow. Raises ValueError for complex numbers."""
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if dtypes.is_complex(x1.dtype):
        raise ValueError("jnp.hypot is not well defined for complex-valued inputs.")
    x1, x2 = lax.abs(x1), lax.abs(x2)
    inf = like(x1, np.inf)
    infinite = lax.bitwise_or(lax.eq(x1, inf), lax.eq(x2, inf))
    big, small = lax.max(x1, x2), lax.min(x1, x2)
    nothing = lax.eq(big, like(x1, 0))
    divisor = where(lax.eq(big, like(x1, 0)), full_like(big, 1), big)
    square = lax.square(lax.div(small, divisor))
    length = lax.mul(big, lax.sqrt(lax.add(like(x1, 1), square)))
    return where(infinite, rank0(np.inf, x1.dtype), where(nothing, big, length))


@custom_jvp
def _frexp(x: Any) -> tuple[Any, Any]:
    dt = x.dtype
    info = dtypes.finfo(dt)
    bits = 8 * dt.itemsize
    integer = np.dtype(f"int{bits}")
    mantissa, exponent = int(info.nmant), int(info.nexp)
    bias = (1 << (exponent - 1)) - 1
    field = (1 << exponent) - 1

    def word(v: int) -> Any:
        return rank0(v - (1 << bits) if v >= 1 << (bits - 1) else v, integer)

    subnormal = lax.lt(lax.abs(x), rank0(float(info.tiny), dt))
    scaled = where(subnormal, lax.mul(x, rank0(2.0**mantissa, dt)), x)
    shift = where(subnormal, word((1 << bits) - mantissa), word(0))
    i = lax.bitcast_convert_type(scaled, integer)
    e = lax.bitwise_and(lax.shift_right_arithmetic(i, word(mantissa)), word(field))
    e = lax.add(shift, lax.add(lax.sub(e, word(bias)), word(1)))
    cleared = lax.bitwise_and(i, word((1 << bits) - 1 - (field << mantissa)))
    m = lax.bitcast_convert_type(lax.bitwise_or(cleared, word((bias - 1) << mantissa)), dt)
    special = lax.bitwise_or(lax.bitwise_or(isinf(x), isnan(x)), lax.eq(x, rank0(0, dt)))
    e = where(special, full_like(e, 0), e)
    return where(special, x, m), convert(e, np.dtype(np.int32))


@_frexp.defjvp
def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    x, t = asarray(primals[0]), tangents[0]
    m, e = frexp(x)
    scale = lax.exp2(lax.neg(convert(e, x.dtype)))
    return (m, e), (lax.mul(t, scale), np.zeros(e.shape, dtypes.float0))


@library_jit
def frexp(x: Any, /) -> tuple[Any, Any]:
    """Mantissa in [0.5, 1) and exponent: x = m * 2**e. Raises TypeError for complex numbers."""
    (x,) = promote_args_inexact("frexp", x)
    if dtypes.is_complex(x.dtype):
        raise TypeError("frexp does not support complex-valued inputs")
    return tuple(_frexp(x))  # type: ignore[return-value]


@library_jit
def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 * 2**x2 for integers x2. Raises ValueError for other types."""
    check_arraylike("ldexp", x1, x2)
    d1, d2 = aval_of(x1).dtype, aval_of(x2).dtype
    if dtypes.is_complex(d1) or dtypes.is_inexact(d2):
        raise ValueError(f"ldexp not supported for input types {(d1, d2)}")
    x1, x2 = promote_dtypes_inexact(x1, x2)
    dt = x1.dtype
    m, e = frexp(x1)
    e = add(convert(e, dt, x1.weak_type), x2)
    # 2**e may overflow where m * 2**e does not
    m = where(lax.gt(e, like(x1, 0)), lax.mul(m, like(x1, 2)), m)
    e = where(lax.gt(e, like(x1, 0)), lax.sub(e, like(x1, 1)), e)
    out = multiply(m, lax.pow(like(x1, 2), e))
    return where(lax.bitwise_or(isinf(x1), lax.eq(x1, like(x1, 0))), x1, out)


@library_jit
def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """Fractional and integral part, both with the sign of x."""
    (x,) = promote_dtypes_inexact(*_arrays("modf", x))
    no_out("modf", out)
    whole = where(lax.ge(x, like(x, 0)), lax.floor(x), lax.ceil(x))
    return lax.sub(x, whole), whole


@eager_function
def spacing(x: Any, /) -> Any:
    """Distance to the next number away from zero, with the sign of x."""
    (x,) = promote_args_inexact("spacing", x)
    if dtypes.is_complex(x.dtype):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    dt = x.dtype
    away = copysign(like(x, np.inf), x)
    gap = lax.sub(lax.nextafter(x, away), x)
    nothing = lax.eq(gap, like(x, 0))
    smallest = copysign(like(x, float(dtypes.finfo(dt).smallest_subnormal)), x)
    return where(nothing, smallest, gap)


# --- special values ------------------------------------------------------------------------


@library_jit
def isreal(x: Any) -> Any:
    """Whether the imaginary part is 0."""
    i = imag(x)
    return lax.eq(i, like(i, 0))


@library_jit
def iscomplex(x: Any) -> Any:
    """Whether the imaginary part is not 0."""
    i = imag(x)
    return lax.ne(i, like(i, 0))


@library_jit(static_argnames=("copy",))
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """NaN and the infinities replaced: by 0 and the largest and lowest numbers by default."""
    check_arraylike("nan_to_num", x)
    x = asarray(x)
    dt = x.dtype
    if not dtypes.is_inexact(dt):
        return x
    if dtypes.is_complex(dt):
        return lax.complex(
            nan_to_num(real(x), nan=nan, posinf=posinf, neginf=neginf),
            nan_to_num(imag(x), nan=nan, posinf=posinf, neginf=neginf),
        )
    info = dtypes.finfo(dt)
    posinf = rank0(float(info.max), dt) if posinf is None else posinf
    neginf = rank0(float(info.min), dt) if neginf is None else neginf
    out = where(isnan(x), convert(nan, dt), x)
    out = where(lax.eq(out, rank0(np.inf, dt)), convert(posinf, dt), out)
    return where(lax.eq(out, rank0(-np.inf, dt)), convert(neginf, dt), out)


# --- functions with removable singularities ------------------------------------------------


def _sinc_coefficient(k: int) -> float:
    """The k-th derivative of sin(x)/x at 0."""
    return 0.0 if k % 2 else (-1.0) ** (k // 2) / (k + 1)


def _make_maclaurin(k: int) -> Any:
    @custom_jvp
    def _sinc_maclaurin(x: Any) -> Any:
        flat = lax.mul(x, like(x, 0))
        c = _sinc_coefficient(k)
        return lax.add(flat, like(x, c)) if c else flat

    @_sinc_maclaurin.defjvp
    def _sinc_maclaurin_jvp(primals: Any, tangents: Any) -> Any:
        x, t = asarray(primals[0]), tangents[0]
        return _sinc_maclaurin(x), lax.mul(_make_maclaurin(k + 1)(x), t)

    return _sinc_maclaurin


@library_jit
def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0."""
    (x,) = promote_dtypes_inexact(*_arrays("sinc", x))
    zero = lax.eq(x, like(x, 0))
    pi_x = lax.mul(like(x, math.pi), x)
    safe = where(zero, like(x, 1), pi_x)
    return where(zero, _make_maclaurin(0)(pi_x), lax.div(lax.sin(safe), safe))


def _i0_value(x: Any) -> Any:
    a = lax.abs(x)
    return lax.mul(lax.exp(a), lax.bessel_i0e(a))


@custom_jvp
def _i0(x: Any) -> Any:
    return _i0_value(x)


@_i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> Any:
    from ..transforms.autodiff import jvp

    x = asarray(primals[0])
    primal, tangent = jvp(_i0_value, (x,), tangents)
    return primal, where(lax.eq(x, like(x, 0)), 0.0, tangent)


@library_jit
def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind, of order 0. Raises ValueError for complex x."""
    (x,) = promote_args_inexact("i0", x)
    if not dtypes.is_float(x.dtype):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {dtypes.dtype_name(x.dtype)}")
    return _i0(x)


# --- log of sums of exponentials -----------------------------------------------------------


def _wrap_angle(x: Any, half: float) -> Any:
    """An angle in [-half, half), for angles that repeat after twice that."""
    pi, two_pi = rank0(half, x.dtype), rank0(2 * half, x.dtype)
    r = lax.rem(lax.add(x, pi), two_pi)
    r = lax.select(lax.lt(r, like(r, 0)), lax.add(r, two_pi), r)
    return lax.sub(r, pi)


def _log_add(x1: Any, x2: Any, exp: Any, factor: float | None) -> Any:
    """log(b**x1 + b**x2) / log(b), where `exp` is b**x and `factor` 1 / log(b) unless it is 1."""
    dt = x1.dtype
    big = lax.max(x1, x2)

    def scaled(v: Any) -> Any:
        return v if factor is None else lax.mul(rank0(factor, x1.dtype), v)

    if not dtypes.is_complex(dt):
        delta = lax.sub(x1, x2)
        undefined, total = lax.ne(delta, delta), lax.add(x1, x2)
        tail = scaled(lax.log1p(exp(lax.neg(lax.abs(delta)))))
        return lax.select(undefined, total, lax.add(big, tail))
    delta = lax.sub(lax.add(x1, x2), lax.mul(big, like(x1, 2)))
    out = lax.add(big, scaled(lax.log1p(exp(delta))))
    return lax.complex(lax.real(out), _wrap_angle(lax.imag(out), np.pi * (factor or 1.0)))


def _without_infinity(x: Any) -> Any:
    return lax.select(lax.eq(x, like(x, np.inf)), full_like(x, 0), x)


def _log_add_jvp(f: Any, exp: Any, primals: Any, tangents: Any) -> Any:
    x1, x2 = asarray(primals[0]), asarray(primals[1])
    t1, t2 = tangents
    out = f(x1, x2)
    first = lax.mul(t1, exp(lax.sub(_without_infinity(x1), _without_infinity(out))))
    second = lax.mul(t2, exp(lax.sub(_without_infinity(x2), _without_infinity(out))))
    return out, lax.add(first, second)


def _make_logaddexp() -> Any:
    @custom_jvp
    def logaddexp(x1: Any, x2: Any) -> Any:
        return _log_add(x1, x2, lax.exp, None)

    @logaddexp.defjvp
    def _logaddexp_jvp(primals: Any, tangents: Any) -> Any:
        return _log_add_jvp(logaddexp, lax.exp, primals, tangents)

    return logaddexp


def _make_logaddexp2() -> Any:
    @custom_jvp
    def logaddexp2(x1: Any, x2: Any) -> Any:
        return _log_add(x1, x2, lax.exp2, 1 / math.log(2))

    @logaddexp2.defjvp
    def _logaddexp2_jvp(primals: Any, tangents: Any) -> Any:
        return _log_add_jvp(logaddexp2, lax.exp2, primals, tangents)

    return logaddexp2


_logaddexp, _logaddexp2 = _make_logaddexp(), _make_logaddexp2()


@eager_function(numbers=True)
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)) without overflow."""
    return _logaddexp(*promote_args_inexact("logaddexp", x1, x2))


@eager_function(numbers=True)
def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """log2(2**x1 + 2**x2) without overflow."""
    return _logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


# --- integers and bits ---------------------------------------------------------------------


def _integer_args(who: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = promote_args(who, x1, x2)
    if not dtypes.is_integer(x1.dtype):
        raise ValueError(f"Arguments to jax.numpy.{who} must be integers.")
    return x1, x2


@library_jit
def gcd(x1: Any, x2: Any) -> Any:
    """Greatest common divisor, by Euclid's algorithm on all elements at once.

    Raises ValueError for types other than integers.
    """
    x1, x2 = (absolute(x) for x in _integer_args("gcd", x1, x2))
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = broadcast_to(x1, shape), broadcast_to(x2, shape)

    def unfinished(pair: tuple[Any, Any]) -> Any:
        return reductions.any(lax.ne(pair[1], full_like(pair[1], 0)))

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        left = lax.ne(b, full_like(b, 0))
        rest = lax.rem(a, where(left, b, full_like(b, 1)))
        return where(left, b, a), where(left, rest, full_like(b, 0))

    return absolute(lax.while_loop(unfinished, step, (x1, x2))[0])


@library_jit
def lcm(x1: Any, x2: Any) -> Any:
    """Least common multiple. Raises ValueError for types other than integers."""
    x1, x2 = (absolute(x) for x in _integer_args("lcm", x1, x2))
    common = gcd(x1, x2)
    none = lax.eq(common, full_like(common, 0))
    return where(none, full_like(common, 0), multiply(x1, x2 // where(none, 1, common)))


@library_jit
def bitwise_count(x: Any, /) -> Any:
    """Number of bits that are 1 in |x|, as uint8."""
    (x,) = _arrays("bitwise_count", x)
    x = asarray(x)
    if dtypes.is_signed(x.dtype) or dtypes.is_float(x.dtype):
        x = lax.abs(x)
    return convert(lax.population_count(x), np.dtype(np.uint8))


def _bit_shifts(bitorder: str) -> Any:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return lax.iota(np.dtype(np.uint8), 8)


@library_jit(static_argnames=("axis", "bitorder"))
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Eight truth values along an axis packed into each uint8, padded by zeros at the end."""
    check_arraylike("packbits", a)
    x = asarray(a)
    if not (dtypes.is_integer(x.dtype) or dtypes.is_bool(x.dtype)):
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    from .manipulation import moveaxis
    from .ufuncs import to_bool

    x = convert(to_bool(x), np.dtype(np.uint8))
    bits = _bit_shifts(bitorder)
    if bitorder == "big":
        bits = lax.rev(bits, (0,))
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    x = moveaxis(x, axis, -1)
    missing = -x.shape[-1] % 8
    if missing:
        x = lax.pad(x, like(x, 0), ((0, 0, 0),) * (x.ndim - 1) + ((0, missing, 0),))
    x = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // 8, 8))
    bits = lax.expand_dims(bits, tuple(range(x.ndim - 1)))
    from .reductions import sum as _sum

    packed = _sum(lax.shift_left(x, bits), axis=-1)
    return moveaxis(convert(packed, np.dtype(np.uint8)), -1, axis)


@library_jit(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The eight bits of each uint8 as uint8 elements along an axis, cut or padded to `count`."""
    check_arraylike("unpackbits", a)
    x = asarray(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    from .manipulation import moveaxis

    bits = lax.shift_left(rank0(1, np.dtype(np.uint8)), _bit_shifts(bitorder))
    if bitorder == "big":
        bits = lax.rev(bits, (0,))
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)) if x.ndim != 1 else x, 0
    axis = canonical_axis(axis, x.ndim)
    x = moveaxis(x, axis, -1)
    wide = lax.expand_dims(x, (x.ndim,))
    bits = lax.expand_dims(bits, tuple(range(wide.ndim - 1)))
    on = lax.gt(lax.bitwise_and(wide, bits), like(x, 0))
    out = lax.reshape(convert(on, np.dtype(np.uint8)), (*x.shape[:-1], 8 * x.shape[-1]))
    if count is not None:
        n = out.shape[-1]
        if count > n:
            out = lax.pad(out, like(out, 0), ((0, 0, 0),) * (out.ndim - 1) + ((0, count - n, 0),))
        else:
            out = out[..., :count]
    return moveaxis(out, -1, axis)


# --- angles --------------------------------------------------------------------------------


@library_jit(static_argnames=("axis",))
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """Jumps larger than `discont` (half a period by default) changed by multiples of a period."""
    from .calculus import diff
    from .manipulation import concatenate
    from .reductions import cumsum
    from .ufuncs import absolute, divide, floor_divide, less, subtract

    check_arraylike("unwrap", p)
    p = asarray(p)
    if dtypes.is_complex(p.dtype):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    axis = canonical_axis(axis, p.ndim)
    if p.shape[axis] == 0:
        return p
    x, period = promote_dtypes(p, period)
    half = divide(period, 2)
    discont = half if discont is None else discont
    interval = floor_divide(period, 2) if dtypes.is_integer(x.dtype) else divide(period, 2)
    dd = diff(x, axis=axis)
    moved = lax.sub(remainder(lax.add(dd, interval), period), interval)
    at_edge = lax.bitwise_and(lax.eq(moved, lax.neg(interval)), lax.gt(dd, like(dd, 0)))
    moved = where(at_edge, interval, moved)
    correction = where(less(absolute(dd), discont), 0, subtract(moved, dd))
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    rest = lax.slice_in_dim(p, 1, None, axis=axis)
    from .ufuncs import add

    return concatenate([first, add(rest, cumsum(correction, axis=axis))], axis)


__all__ = [
    "bitwise_count", "copysign", "frexp", "gcd", "heaviside", "hypot", "i0", "iscomplex", "isreal",
    "lcm", "ldexp", "logaddexp", "logaddexp2", "modf", "nan_to_num", "packbits", "sinc", "spacing",
    "unpackbits", "unwrap",
]  # fmt: skip
