"""Elementwise functions: what NumPy calls ufuncs, as functions of promoted arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from .. import lax
from ..core import dtypes
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import fill_scalar, full_like
from .util import (
    asarray,
    aval_of,
    check_arraylike,
    convert,
    jit_as,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    promote_shapes,
    scalar,
)

# --- tables: name -> lax function -----------------------------------------------------------


def _abs(x: Any) -> Any:
    return x if dtypes.is_unsigned(x.dtype) or dtypes.is_bool(x.dtype) else lax.abs(x)


_UNARY_INEXACT = {
    "sin": (lax.sin, "Sine of angles in radians."),
    "cos": (lax.cos, "Cosine of angles in radians."),
    "tan": (lax.tan, "Tangent of angles in radians."),
    "arcsin": (lax.asin, "Inverse sine, in radians."),
    "arccos": (lax.acos, "Inverse cosine, in radians."),
    "arctan": (lax.atan, "Inverse tangent, in radians."),
    "sinh": (lax.sinh, "Hyperbolic sine."),
    "cosh": (lax.cosh, "Hyperbolic cosine."),
    "tanh": (lax.tanh, "Hyperbolic tangent."),
    "arcsinh": (lax.asinh, "Inverse hyperbolic sine."),
    "arctanh": (lax.atanh, "Inverse hyperbolic tangent."),
    "exp": (lax.exp, "Exponential function."),
    "exp2": (lax.exp2, "2 to the power of the input."),
    "expm1": (lax.expm1, "exp(x) - 1, precise for small x."),
    "log": (lax.log, "Natural logarithm."),
    "log1p": (lax.log1p, "log(1 + x), precise for small x."),
    "sqrt": (lax.sqrt, "Square root."),
    "cbrt": (lax.cbrt, "Cube root."),
    "fabs": (lax.abs, "Absolute value of reals, in floating point."),
}

_UNARY = {
    "negative": (lax.neg, "-x."),
    "sign": (lax.sign, "-1, 0 or 1 by sign; x/|x| for complex numbers."),
    "abs": (_abs, "Absolute value."),
    "absolute": (_abs, "Absolute value."),
    "square": (lax.square, "x * x."),
    "bitwise_not": (lax.bitwise_not, "Bitwise NOT; logical NOT of booleans."),
    "invert": (lax.bitwise_not, "Bitwise NOT; logical NOT of booleans."),
    "bitwise_invert": (lax.bitwise_not, "Bitwise NOT; logical NOT of booleans."),
}

_BINARY = {
    "subtract": (lax.sub, "x - y."),
    "bitwise_and": (lax.bitwise_and, "Bitwise AND."),
    "bitwise_or": (lax.bitwise_or, "Bitwise OR."),
    "bitwise_xor": (lax.bitwise_xor, "Bitwise XOR."),
    "maximum": (lax.max, "Larger of two elements; NaN where either is NaN."),
    "minimum": (lax.min, "Smaller of two elements; NaN where either is NaN."),
    "equal": (lax.eq, "Whether x == y."),
    "not_equal": (lax.ne, "Whether x != y."),
}

_BINARY_INEXACT = {
    "divide": (lax.div, "x / y, in floating point."),
    "true_divide": (lax.div, "x / y, in floating point."),
    "arctan2": (lax.atan2, "Angle of the point (x2, x1) in the plane, in (-pi, pi]."),
    "nextafter": (lax.nextafter, "The next number after x in the direction of y."),
}


_floats = frozenset(np.dtype(t) for t in ("f2", "f4", "f8", "c8", "c16"))


def _named(f: Callable, name: str, doc: str) -> Callable:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    f.__module__ = __name__
    return eager_function(f, numbers=True)


def _make_unary_inexact(name: str, op: Callable, doc: str) -> Callable:
    def f(x: Any, /) -> Any:
        if type(x) is ArrayImpl and x.dtype in _floats:
            return op(x)
        return op(*promote_args_inexact(name, x))

    return _named(f, name, doc)


def _make_unary(name: str, op: Callable, doc: str) -> Callable:
    def f(x: Any, /) -> Any:
        if type(x) is not ArrayImpl:
            check_arraylike(name, x)
            x = asarray(x)
        return op(x)

    return _named(f, name, doc)


def _make_binary(name: str, op: Callable, doc: str) -> Callable:
    def f(x: Any, y: Any, /) -> Any:
        if type(x) is ArrayImpl and type(y) is ArrayImpl and x.aval is y.aval:
            return op(x, y)
        return op(*promote_args(name, x, y))

    return _named(f, name, doc)


def _make_binary_inexact(name: str, op: Callable, doc: str) -> Callable:
    def f(x1: Any, x2: Any, /) -> Any:
        if (
            type(x1) is ArrayImpl
            and type(x2) is ArrayImpl
            and x1.aval is x2.aval
            and x1.dtype in _floats
        ):
            return op(x1, x2)
        return op(*promote_args_inexact(name, x1, x2))

    return _named(f, name, doc)


_tables: list[tuple[dict, Callable]] = [
    (_UNARY_INEXACT, _make_unary_inexact),
    (_UNARY, _make_unary),
    (_BINARY, _make_binary),
    (_BINARY_INEXACT, _make_binary_inexact),
]
for _table, _make in _tables:
    for _name, (_op, _doc) in _table.items():
        globals()[_name] = _make(_name, _op, _doc)

acos, asin, atan = globals()["arccos"], globals()["arcsin"], globals()["arctan"]
asinh, atanh, arctan2 = globals()["arcsinh"], globals()["arctanh"], globals()["arctan2"]
subtract, divide = globals()["subtract"], globals()["divide"]
log, log1p, exp, exp2, sqrt = (globals()[n] for n in ("log", "log1p", "exp", "exp2", "sqrt"))
sign, negative, square, abs = (globals()[n] for n in ("sign", "negative", "square", "abs"))
true_divide, maximum, minimum = (globals()[n] for n in ("true_divide", "maximum", "minimum"))


@eager_function(numbers=True)
def multiply(x: Any, y: Any, /) -> Any:
    """x * y; logical AND of booleans."""
    if not (type(x) is ArrayImpl and type(y) is ArrayImpl and x.aval is y.aval):
        x, y = promote_args("multiply", x, y)
    return lax.mul(x, y) if not dtypes.is_bool(x.dtype) else lax.bitwise_and(x, y)


@eager_function(numbers=True)
def add(x: Any, y: Any, /) -> Any:
    """x + y; logical OR of booleans."""
    if not (type(x) is ArrayImpl and type(y) is ArrayImpl and x.aval is y.aval):
        x, y = promote_args("add", x, y)
    return lax.add(x, y) if not dtypes.is_bool(x.dtype) else lax.bitwise_or(x, y)


@library_jit
def arccosh(x: Any, /) -> Any:
    """Inverse hyperbolic cosine; NaN for reals below 1."""
    return lax.acosh(*promote_args_inexact("arccosh", x))


acosh = arccosh


@eager_function(numbers=True)
def atan2(x1: Any, x2: Any, /) -> Any:
    """Angle of the point (x2, x1) in the plane, in (-pi, pi]."""
    return arctan2(*promote_args("atan2", x1, x2))


def positive(x: Any, /) -> Any:
    """+x: the input itself."""
    check_arraylike("positive", x)
    return asarray(x)


@eager_function
def conjugate(x: Any, /) -> Any:
    """Complex conjugate; real inputs as they are."""
    check_arraylike("conjugate", x)
    x = asarray(x)
    return lax.conj(x) if dtypes.is_complex(x.dtype) else x


conj = conjugate


@eager_function
def real(val: Any, /) -> Any:
    """Real part."""
    check_arraylike("real", val)
    val = asarray(val)
    return lax.real(val) if dtypes.is_complex(val.dtype) else val


@eager_function
def imag(val: Any, /) -> Any:
    """Imaginary part: zeros for real inputs."""
    check_arraylike("imag", val)
    val = asarray(val)
    return lax.imag(val) if dtypes.is_complex(val.dtype) else full_like(val, 0)


@library_jit(static_argnames=("deg",))
def angle(z: Any, deg: bool = False) -> Any:
    """Angle of complex numbers, in radians or (with `deg`) degrees."""
    check_arraylike("angle", z)
    z = asarray(z)
    re = real(z)
    if dtypes.is_complex(z.dtype) or z.ndim:
        im = imag(z)
    else:
        im = fill_scalar(0, dtypes.to_inexact(z.dtype))
    re, im = promote_dtypes_inexact(re, im)
    out = lax.atan2(im, re)
    return degrees(out) if deg else out


@eager_function
def ceil(x: Any, /) -> Any:
    """Smallest whole number not below x; integers as they are."""
    return _rounding("ceil", lax.ceil, x)


@eager_function
def floor(x: Any, /) -> Any:
    """Largest whole number not above x; integers as they are."""
    return _rounding("floor", lax.floor, x)


def _rounding(name: str, op: Callable, x: Any) -> Any:
    check_arraylike(name, x)
    x = asarray(x)
    if dtypes.is_integer(x.dtype) or dtypes.is_bool(x.dtype):
        return x
    return op(x)


@library_jit
def trunc(x: Any) -> Any:
    """x rounded towards zero; integers as they are."""
    check_arraylike("trunc", x)
    x = asarray(x)
    if dtypes.is_integer(x.dtype) or dtypes.is_bool(x.dtype):
        return x
    return where(lax.lt(x, full_scalar(x, 0)), lax.ceil(x), lax.floor(x))


def full_scalar(x: Any, value: Any) -> Any:
    """A rank-0 array of the dtype and weak type of `x`, which lax functions broadcast."""
    return scalar(value, x.dtype, x.weak_type)


def where(*args: Any) -> Any:
    """Three-argument `where`; see `selection.where`."""
    from .selection import where as full_where

    return full_where(*args)


@eager_function
def deg2rad(x: Any, /) -> Any:
    """Degrees to radians."""
    (x,) = promote_args_inexact("deg2rad", x)
    return lax.mul(x, full_scalar(x, np.pi / 180))


@eager_function
def rad2deg(x: Any, /) -> Any:
    """Radians to degrees."""
    (x,) = promote_args_inexact("rad2deg", x)
    return lax.mul(x, full_scalar(x, 180 / np.pi))


radians, degrees = deg2rad, rad2deg


@eager_function
def log2(x: Any, /) -> Any:
    """Logarithm to the base 2."""
    (x,) = promote_args_inexact("log2", x)
    if dtypes.is_complex(x.dtype):
        r = lax.log(x)
        re, im = lax.real(r), lax.imag(r)
        two = lax.log(full_scalar(re, 2))
        return lax.complex(lax.div(re, two), lax.div(im, two))
    return lax.div(lax.log(x), lax.log(full_scalar(x, 2)))


@eager_function
def log10(x: Any, /) -> Any:
    """Logarithm to the base 10."""
    (x,) = promote_args_inexact("log10", x)
    if dtypes.is_complex(x.dtype):
        r = lax.log(x)
        re, im = lax.real(r), lax.imag(r)
        factor = full_scalar(re, 1 / np.log(10))
        return lax.complex(lax.mul(re, factor), lax.mul(im, factor))
    return lax.mul(lax.log(x), full_scalar(x, 1 / np.log(10)))


@eager_function
def reciprocal(x: Any, /) -> Any:
    """1 / x, in floating point."""
    (x,) = promote_args_inexact("reciprocal", x)
    return lax.integer_pow(x, -1)


@eager_function
def rint(x: Any, /) -> Any:
    """Nearest whole number, halves to even, in floating point."""
    return _rint(x)


@jit_as("rint")
def _rint(x: Any) -> Any:
    check_arraylike("rint", x)
    x = asarray(x)
    if dtypes.is_integer(x.dtype) or dtypes.is_bool(x.dtype):
        return convert(x, dtypes.default_float())
    if dtypes.is_complex(x.dtype):
        re = rint(lax.real(x))
        return lax.complex(re, rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@library_jit(static_argnames=("decimals",))
def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Round to a number of decimals, halves to even."""
    check_arraylike("round", a)
    decimals = operator.index(decimals)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.round is not supported.")
    a = asarray(a)
    dt = a.dtype
    if dtypes.is_bool(dt):
        raise ValueError(f"data type {np.bool_!r} not inexact")
    if dtypes.is_integer(dt):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a

    def one(x: Any) -> Any:
        if decimals == 0:
            return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
        wide = convert(x, np.dtype(np.float32)) if x.dtype.itemsize < 4 else x
        factor = (
            full_scalar(wide, 10**decimals) if decimals > 0 else full_scalar(wide, 10.0**decimals)
        )
        r = lax.div(lax.round(lax.mul(wide, factor), lax.RoundingMethod.TO_NEAREST_EVEN), factor)
        return convert(r, x.dtype)

    if dtypes.is_complex(dt):
        re = one(lax.real(a))
        return lax.complex(re, one(lax.imag(a)))
    return one(a)


@library_jit(static_argnames=("decimals",))
def around(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Round to a number of decimals, halves to even."""
    return round(a, decimals, out)


@library_jit
def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set (also of -0.0 and NaN)."""
    check_arraylike("signbit", x)
    x = asarray(x)
    if dtypes.is_integer(x.dtype):
        return lax.lt(x, full_scalar(x, 0))
    if dtypes.is_bool(x.dtype):
        return full_like(x, False, dtype=np.bool_)
    if not dtypes.is_float(x.dtype):
        raise ValueError(f"jax.numpy.signbit is not well defined for {dtypes.dtype_name(x.dtype)}")
    bits = np.dtype(f"int{8 * x.dtype.itemsize}")
    i = lax.bitcast_convert_type(x, bits)
    return convert(
        lax.shift_right_arithmetic(i, full_scalar(i, 8 * x.dtype.itemsize - 1)), np.dtype(bool)
    )


@eager_function
def isfinite(x: Any, /) -> Any:
    """Whether elements are neither infinite nor NaN."""
    check_arraylike("isfinite", x)
    x = asarray(x)
    if dtypes.is_float(x.dtype):
        return lax.is_finite(x)
    if dtypes.is_complex(x.dtype):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return full_like(x, True, dtype=np.bool_)


@library_jit
def isinf(x: Any, /) -> Any:
    """Whether elements are infinite."""
    check_arraylike("isinf", x)
    x = asarray(x)
    if dtypes.is_float(x.dtype):
        return lax.eq(lax.abs(x), full_scalar(x, np.inf))
    if dtypes.is_complex(x.dtype):
        re, im = lax.real(x), lax.imag(x)
        return lax.bitwise_or(
            lax.eq(lax.abs(re), full_scalar(re, np.inf)),
            lax.eq(lax.abs(im), full_scalar(im, np.inf)),
        )
    return full_like(x, False, dtype=np.bool_)


def _signed_infinity(name: str, x: Any, value: float, out: Any) -> Any:
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")
    check_arraylike(name, x)
    x = asarray(x)
    if dtypes.is_float(x.dtype):
        return lax.eq(x, full_scalar(x, value))
    if dtypes.is_complex(x.dtype):
        raise ValueError(f"{name} is not well defined for complex types")
    return full_like(x, False, dtype=np.bool_)


@eager_function
def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether elements are positive infinity."""
    return _signed_infinity("isposinf", x, np.inf, out)


@eager_function
def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether elements are negative infinity."""
    return _signed_infinity("isneginf", x, -np.inf, out)


@eager_function
def isnan(x: Any, /) -> Any:
    """Whether elements are NaN."""
    check_arraylike("isnan", x)
    x = asarray(x)
    return lax.ne(x, x)


# --- logic and comparison ------------------------------------------------------------------


def to_bool(x: Any) -> Any:
    """Whether elements differ from zero."""
    return x if dtypes.is_bool(x.dtype) else lax.ne(x, fill_scalar(0, x.dtype))


def _logical(name: str, op: Callable, doc: str) -> Callable:
    def f(x: Any, y: Any, /) -> Any:
        x, y = promote_args(name, x, y)
        return op(to_bool(x), to_bool(y))

    return _named(f, name, doc)


logical_and = _logical("logical_and", lax.bitwise_and, "Elementwise AND of truth values.")
logical_or = _logical("logical_or", lax.bitwise_or, "Elementwise OR of truth values.")
logical_xor = _logical("logical_xor", lax.bitwise_xor, "Elementwise XOR of truth values.")


@eager_function
def logical_not(x: Any, /) -> Any:
    """Elementwise NOT of truth values."""
    check_arraylike("logical_not", x)
    return lax.bitwise_not(to_bool(asarray(x)))


def _ordering(name: str, op: Callable, doc: str) -> Callable:
    def f(x: Any, y: Any, /) -> Any:
        if not (type(x) is ArrayImpl and type(y) is ArrayImpl and x.aval is y.aval):
            x, y = promote_args(name, x, y)
        if dtypes.is_complex(x.dtype):
            # lexicographic: by real, then imaginary part
            same = lax.eq(lax.real(x), lax.real(y))
            by_imag = op(lax.imag(x), lax.imag(y))
            return lax.select(same, by_imag, op(lax.real(x), lax.real(y)))
        return op(x, y)

    return _named(f, name, doc)


less = _ordering("less", lax.lt, "Whether x < y; complex numbers in lexicographic order.")
less_equal = _ordering("less_equal", lax.le, "Whether x <= y.")
greater = _ordering("greater", lax.gt, "Whether x > y; complex numbers in lexicographic order.")
greater_equal = _ordering("greater_equal", lax.ge, "Whether x >= y.")


@eager_function
def left_shift(x: Any, y: Any, /) -> Any:
    """x << y."""
    return lax.shift_left(*promote_args_numeric("left_shift", x, y))


bitwise_left_shift = left_shift


@eager_function
def right_shift(x1: Any, x2: Any, /) -> Any:
    """x1 >> x2: arithmetic for signed, logical for unsigned integers."""
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    if dtypes.is_unsigned(x1.dtype):
        return lax.shift_right_logical(x1, x2)
    return lax.shift_right_arithmetic(x1, x2)


bitwise_right_shift = right_shift


# --- division and powers -------------------------------------------------------------------


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    mod = lax.rem(x, y)
    zero = lax.eq(y, full_scalar(y, 0))
    div = lax.div(where(zero, x, lax.sub(x, mod)), y)
    off = lax.bitwise_and(lax.ne(mod, full_scalar(mod, 0)), lax.ne(lax.sign(y), lax.sign(mod)))
    new_mod = lax.select(off, lax.add(mod, y), mod)
    div = lax.select(off, lax.sub(div, full_scalar(div, 1)), div)
    return lax.round(div), new_mod


@library_jit
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The largest whole number not above x1 / x2."""
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    dt = aval_of(x1).dtype
    if dtypes.is_unsigned(dt) or dtypes.is_bool(dt):
        return lax.div(x1, x2)
    if dtypes.is_signed(dt):
        q = lax.div(x1, x2)
        off = lax.bitwise_and(
            lax.ne(lax.sign(x1), lax.sign(x2)), lax.ne(lax.rem(x1, x2), full_scalar(x1, 0))
        )
        return where(off, lax.sub(q, full_scalar(q, 1)), q)
    if dtypes.is_complex(dt):
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_divmod(x1, x2)[0]


@library_jit
def remainder(x1: Any, x2: Any, /) -> Any:
    """Remainder of x1 / x2 with the sign of x2."""
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    dt = aval_of(x1).dtype
    if dtypes.is_integer(dt):
        x2 = where(lax.eq(x2, full_scalar(x2, 0)), full_like(x2, 1), x2)
    mod = lax.rem(x1, x2)
    nonzero = lax.ne(mod, full_scalar(mod, 0))
    differ = lax.ne(lax.lt(mod, full_scalar(mod, 0)), lax.lt(x2, full_scalar(x2, 0)))
    return lax.select(lax.bitwise_and(differ, nonzero), lax.add(mod, x2), mod)


mod = _named(lambda x1, x2, /: remainder(x1, x2), "mod", remainder.__doc__ or "")


@library_jit
def fmod(x1: Any, x2: Any, /) -> Any:
    """Remainder of x1 / x2 with the sign of x1, as C's fmod."""
    check_arraylike("fmod", x1, x2)
    if dtypes.is_integer(dtypes.promote(tuple((aval_of(v).dtype, False) for v in (x1, x2)))[0]):
        x2 = where(equal(x2, 0), full_like(x2, 1), x2)
    return lax.rem(*promote_args("fmod", x1, x2))


@library_jit
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """(floor_divide(x1, x2), remainder(x1, x2))."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if dtypes.is_integer(x1.dtype):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


equal = globals()["equal"]


@eager_function
def power(x1: Any, x2: Any, /) -> Any:
    """x1 to the power of x2.

    A Python integer exponent gives repeated multiplication. Integers to negative powers raise
    TypeError where the exponent is static, and are undefined where it is not.
    """
    check_arraylike("power", x1, x2)
    if isinstance(x2, (int, np.integer)) or _static_int(x2):
        base = asarray(x1)
        if dtypes.is_bool(base.dtype) and type(x2) is int:
            base = convert(base, dtypes.default_int())
        if not dtypes.is_bool(base.dtype):
            n = operator.index(x2)
            if (
                isinstance(x2, int)
                or dtypes.promote(((base.dtype, base.weak_type), (aval_of(x2).dtype, False)))[0]
                == base.dtype
            ):
                return lax.integer_pow(base, n)
    avals = aval_of(x1), aval_of(x2)
    if not any(dtypes.is_inexact(a.dtype) for a in avals):
        # truth values are integers of the default type, not of the other argument's
        x1, x2 = (
            convert(v, dtypes.default_int()) if dtypes.is_bool(a.dtype) else v
            for v, a in zip((x1, x2), avals, strict=True)
        )
    a2 = avals[1]
    base, exponent = promote_args_numeric("power", *promote_shapes("power", x1, x2))
    dt = base.dtype
    if dtypes.is_integer(dt):
        return _integer_power(base, exponent)
    if dtypes.is_integer(a2.dtype):
        # integer exponents stay integers: the result is exact where that is
        _, exponent = promote_shapes("power", base, asarray(x2))
    return lax.pow(base, exponent)


def _static_int(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 0 and x.dtype.kind in "iu"


def _integer_power(x1: Any, x2: Any) -> Any:
    """Repeated squaring with traced integer exponents; 0 to a negative power is 0."""
    zero, one = full_scalar(x1, 0), full_scalar(x1, 1)
    acc = where(lax.bitwise_and(lax.eq(x1, zero), lax.ne(x2, zero)), zero, one)
    # six bits: a larger exponent overflows for all bases but 0, 1 and -1
    for _ in range(6):
        acc = where(lax.bitwise_and(x2, one), lax.mul(acc, x1), acc)
        x1 = lax.mul(x1, x1)
        x2 = lax.shift_right_logical(x2, one)
    return acc


pow = power


@eager_function
def float_power(x: Any, y: Any, /) -> Any:
    """x to the power of y in floating point."""
    return lax.pow(*promote_args_inexact("float_power", x, y))


@library_jit
def fmax(x1: Any, x2: Any) -> Any:
    """Larger of two elements; a NaN counts only where both are NaN."""
    return where(logical_or(greater(x1, x2), isnan(x2)), x1, x2)


@library_jit
def fmin(x1: Any, x2: Any) -> Any:
    """Smaller of two elements; a NaN counts only where both are NaN."""
    return where(logical_or(less(x1, x2), isnan(x2)), x1, x2)


__all__ = [
    *_UNARY_INEXACT,
    *_UNARY,
    *_BINARY,
    *_BINARY_INEXACT,
    "acos", "acosh", "add", "angle", "arccosh", "around", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_left_shift", "bitwise_right_shift", "ceil", "conj", "conjugate", "deg2rad", "degrees", "divmod",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "greater", "greater_equal",
    "imag", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "left_shift", "less", "less_equal", "log10",
    "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "mod", "multiply",
    "positive", "pow", "power", "rad2deg", "radians", "real", "reciprocal", "remainder",
    "right_shift", "rint", "round", "signbit", "trunc",
]  # fmt: skip
