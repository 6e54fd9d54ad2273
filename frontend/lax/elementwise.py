"""Elementwise arithmetic and functions of numbers.

All take arrays, NumPy arrays or scalars of one dtype: nothing is promoted here (`lingon.numpy`
promotes). Shapes are equal, but a scalar goes with any shape and a dimension of size 1 is repeated.
Wrong dtypes or shapes raise TypeError.
"""

from __future__ import annotations

from typing import Any

from ..core import dtypes
from ..core.avals import get_aval
from ..primitives.arithmetic import (
    abs_p,
    add_p,
    div_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    sign_p,
    sub_p,
)
from ..primitives.comparison import (
    eq_p,
    ge_p,
    gt_p,
    le_p,
    lt_p,
    ne_p,
)
from ..primitives.complexes import (
    complex_p,
    conj_p,
    imag_p,
    real_p,
)
from ..primitives.powers import (
    cbrt_p,
    integer_pow_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from ..primitives.transcendental import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    ceil_p,
    cos_p,
    cosh_p,
    exp2_p,
    exp_p,
    expm1_p,
    floor_p,
    is_finite_p,
    log1p_p,
    log_p,
    logistic_p,
    nextafter_p,
    round_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
)
from ..transforms.eager_functions import eager_function
from .options import RoundingMethod, check_accuracy


@eager_function
def add(x: Any, y: Any) -> Any:
    """x + y."""
    return add_p.bind(x, y)


@eager_function
def sub(x: Any, y: Any) -> Any:
    """x - y."""
    return sub_p.bind(x, y)


@eager_function
def div(x: Any, y: Any) -> Any:
    """x / y; integers are divided towards zero."""
    return div_p.bind(x, y)


@eager_function
def rem(x: Any, y: Any) -> Any:
    """Remainder of x / y with the sign of `x`."""
    return rem_p.bind(x, y)


@eager_function
def max(x: Any, y: Any) -> Any:
    """The larger of `x` and `y`; NaN where either is NaN."""
    return max_p.bind(x, y)


@eager_function
def min(x: Any, y: Any) -> Any:
    """The smaller of `x` and `y`; NaN where either is NaN."""
    return min_p.bind(x, y)


@eager_function
def atan2(x: Any, y: Any) -> Any:
    """Angle of the point (y, x) in the plane."""
    return atan2_p.bind(x, y)


@eager_function
def nextafter(x1: Any, x2: Any) -> Any:
    """The next representable number after `x1` in the direction of `x2`."""
    return nextafter_p.bind(x1, x2)


@eager_function
def complex(x: Any, y: Any) -> Any:
    """x + iy from two real arrays."""
    return complex_p.bind(x, y)


@eager_function
def eq(x: Any, y: Any) -> Any:
    """Whether x == y."""
    return eq_p.bind(x, y)


@eager_function
def ne(x: Any, y: Any) -> Any:
    """Whether x != y."""
    return ne_p.bind(x, y)


@eager_function
def lt(x: Any, y: Any) -> Any:
    """Whether x < y."""
    return lt_p.bind(x, y)


@eager_function
def le(x: Any, y: Any) -> Any:
    """Whether x <= y."""
    return le_p.bind(x, y)


@eager_function
def gt(x: Any, y: Any) -> Any:
    """Whether x > y."""
    return gt_p.bind(x, y)


@eager_function
def ge(x: Any, y: Any) -> Any:
    """Whether x >= y."""
    return ge_p.bind(x, y)


@eager_function
def pow(x: Any, y: Any) -> Any:
    """`x` to the power of `y`; `x` is inexact, `y` of its dtype or an integer."""
    return pow_p.bind(x, y)


@eager_function
def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """x * y, in `out_dtype` if it is given."""
    if out_dtype is not None:
        out_dtype = dtypes.check_user_dtype(out_dtype, "out_dtype")
    return mul_p.bind(x, y, out_dtype=out_dtype)


@eager_function
def neg(x: Any) -> Any:
    """-x."""
    return neg_p.bind(x)


@eager_function
def sign(x: Any) -> Any:
    """-1, 0 or 1 (x/|x| for complex numbers); zeros and NaN stay."""
    return sign_p.bind(x)


@eager_function
def abs(x: Any) -> Any:
    """Absolute value; real for complex `x`."""
    return abs_p.bind(x)


@eager_function
def floor(x: Any) -> Any:
    """Largest whole number not above `x`."""
    return floor_p.bind(x)


@eager_function
def ceil(x: Any) -> Any:
    """Smallest whole number not below `x`."""
    return ceil_p.bind(x)


@eager_function
def is_finite(x: Any) -> Any:
    """Whether elements are neither infinite nor NaN."""
    return is_finite_p.bind(x)


@eager_function
def asin(x: Any) -> Any:
    """Inverse sine."""
    return asin_p.bind(x)


@eager_function
def acos(x: Any) -> Any:
    """Inverse cosine."""
    return acos_p.bind(x)


@eager_function
def atan(x: Any) -> Any:
    """Inverse tangent."""
    return atan_p.bind(x)


@eager_function
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    return sinh_p.bind(x)


@eager_function
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    return cosh_p.bind(x)


@eager_function
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
    return asinh_p.bind(x)


@eager_function
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine."""
    return acosh_p.bind(x)


@eager_function
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent."""
    return atanh_p.bind(x)


@eager_function
def square(x: Any) -> Any:
    """x^2."""
    return square_p.bind(x)


@eager_function
def real(x: Any) -> Any:
    """Real part of a complex array."""
    return real_p.bind(x)


@eager_function
def imag(x: Any) -> Any:
    """Imaginary part of a complex array."""
    return imag_p.bind(x)


@eager_function
def exp(x: Any, *, accuracy: Any = None) -> Any:
    """e to the power of `x`."""
    return exp_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2 to the power of `x`."""
    return exp2_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """e^x - 1, precise for small `x`."""
    return expm1_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def log(x: Any, *, accuracy: Any = None) -> Any:
    """Natural logarithm."""
    return log_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """log(1 + x), precise for small `x`."""
    return log1p_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """1 / (1 + e^-x)."""
    return logistic_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def sin(x: Any, *, accuracy: Any = None) -> Any:
    """Sine."""
    return sin_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def cos(x: Any, *, accuracy: Any = None) -> Any:
    """Cosine."""
    return cos_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def tan(x: Any, *, accuracy: Any = None) -> Any:
    """Tangent."""
    return tan_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """Hyperbolic tangent."""
    return tanh_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """Square root."""
    return sqrt_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """1 / sqrt(x)."""
    return rsqrt_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """Cube root (real floats only)."""
    return cbrt_p.bind(x, accuracy=check_accuracy(accuracy))


@eager_function
def integer_pow(x: Any, y: int) -> Any:
    """`x` to the power of a Python integer, which is not negative for integer `x`."""
    if int(y) != y:
        raise TypeError(f"integer_pow requires an integer exponent, got y={y!r}")
    return integer_pow_p.bind(x, y=int(y))


@eager_function
def reciprocal(x: Any) -> Any:
    """1 / x, for floats and complex numbers."""
    return integer_pow_p.bind(x, y=-1)


@eager_function
def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest whole number; halves go away from zero, or to the even neighbour."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


@eager_function
def conj(x: Any) -> Any:
    """Complex conjugate; a float32 or float64 array becomes complex."""
    return conj_p.bind(x, input_dtype=get_aval(x).dtype)  # type: ignore[attr-defined]


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "complex",
    "conj",
    "cos",
    "cosh",
    "div",
    "eq",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "ge",
    "gt",
    "imag",
    "integer_pow",
    "is_finite",
    "le",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "ne",
    "neg",
    "nextafter",
    "pow",
    "real",
    "reciprocal",
    "rem",
    "round",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
]
