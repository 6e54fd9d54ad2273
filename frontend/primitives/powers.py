"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import operand_jvps, zero_jvp
from .arithmetic import (
    BF16,
    C64,
    F16,
    F32,
    NUMBERS,
    SPECIAL,
    div_p,
    mul,
    select,
    special_pairs,
    sub_p,
    unary_samples,
    with_params,
)
from .checks import nan_check
from .declare import (
    FLOAT,
    INEXACT,
    NUMBER,
    check_dtype,
    const,
    elementwise,
    elementwise_abstract,
    elementwise_shape,
    full,
    full_like,
    hidden,
    ops,
    widened,
)

# --- pow -----------------------------------------------------------------------------------


def _pow_abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_dtype("pow", INEXACT, x.dtype, 0)
    check_dtype("pow", NUMBER, y.dtype, 1)
    if dtypes.is_inexact(y.dtype) and x.dtype != y.dtype:
        raise TypeError(
            "the first argument to pow must have an inexact dtype (float or complex), and the "
            "second argument must have an inexact or integer dtype, and two inexact dtypes must "
            f"match, but got {dtypes.dtype_name(x.dtype)} and {dtypes.dtype_name(y.dtype)} "
            "respectively."
        )
    weak = x.weak_type and (y.weak_type or dtypes.is_integer(y.dtype))
    return ShapedArray(elementwise_shape("pow", (x, y)), x.dtype, weak)


def _pow_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.power(x, y.astype(x.dtype))
    if x.dtype.kind == "c":
        # NumPy: 0 ** (1 + 0j) goes through log(0)
        return np.where(
            (x == 0) & (y == 0),
            x.dtype.type(1),
            np.where((x == 0) & (y.real > 0), x.dtype.type(0), out),
        )
    return out


def _pow_tangent_x(t: Any, out: Any, x: Any, y: Any) -> Any:
    """y x^(y-1) t; for an integer y it is 0 where y is 0, whatever x is."""
    if not dtypes.is_integer(get_aval(y).dtype):  # type: ignore[attr-defined]
        one = full_like(y, 1)
        return mul(t, mul(y, ops["pow"].bind(x, sub_p.bind(y, one))))
    xa: Any = get_aval(x)
    shape = get_aval(out).shape  # type: ignore[attr-defined]
    if type(y) in (int, np.int32, np.int64):
        y = const(xa, y)
    else:
        y = ops["convert_element_type"].bind(
            y,
            new_dtype=xa.dtype,
            weak_type=False,
            sharding=None,
        )
    if get_aval(y).shape != shape:  # type: ignore[attr-defined]
        y = full(shape, y)
    eq = ops["eq"].bind
    zero = eq(y, const(y, 0))
    nothing = full_like(y, 0)
    safe = select(eq(y, const(y, 0)), full_like(y, 1), y)
    return mul(
        t, select(zero, nothing, mul(safe, ops["pow"].bind(x, sub_p.bind(y, full_like(y, 1)))))
    )


def _pow_tangent_y(t: Any, out: Any, x: Any, y: Any) -> Any:
    """log(x) x^y t, taken as 0 where x is 0."""
    if get_aval(t).dtype == dtypes.float0:  # type: ignore[attr-defined]
        raise AssertionError("an integer exponent has no tangent")
    zero = ops["eq"].bind(x, const(x, 0))
    safe = select(zero, full_like(x, 1), x)
    return mul(t, mul(ops["log"].bind(safe, accuracy=None), out))


def _pow_samples() -> list[Sample]:
    out = [
        Sample((a, d), (b, d), low=0.5, high=2.0)
        for a, b in [((3, 4), (3, 4)), ((), ()), ((0,), (0,)), ((3,), ()), ((), (2,))]
        for d in (F32, BF16, F16, C64)
    ]
    out += [
        Sample((s, F32), (s, i), low=-3, high=3) for s in [(5,), ()] for i in (np.int32, np.int8)
    ]
    return [*out, Sample(*special_pairs(), grad=False)]


pow_p: Primitive = elementwise(
    "pow",
    (INEXACT, NUMBER),
    _pow_reference,
    checkify=nan_check,
    jvp=operand_jvps(_pow_tangent_x, _pow_tangent_y),
    transpose=absent("it is not linear"),
    samples=_pow_samples,
)
pow_p.abstract_eval = _pow_abstract

# --- integer_pow ---------------------------------------------------------------------------

_integer_pow_rule = elementwise_abstract("integer_pow", (NUMBER,))


def _integer_pow_abstract(x: ShapedArray, *, y: int) -> ShapedArray:
    out = _integer_pow_rule(x)
    if y < 0 and dtypes.is_integer(x.dtype):
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({x}, {y})")
    return out


def _integer_pow_reference(x: np.ndarray, *, y: int) -> np.ndarray:
    """By repeated squaring."""
    x, n = widened(x), abs(y)
    out: Any = None
    while n:
        if n & 1:
            out = x if out is None else out * x
        n >>= 1
        if n:
            x = x * x
    if out is None:
        return np.ones_like(x)
    return 1 / out if y < 0 else out


def _integer_pow_jvp(primitive: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (x,), (t,), y = primals, tangents, params["y"]
    if y == 0:
        return zero_jvp(primitive, primals, tangents, params)
    out = integer_pow_p.bind(x, y=y)
    if y == 1:
        return out, t
    power = x if y == 2 else integer_pow_p.bind(x, y=y - 1)
    return out, mul(t, mul(const(x, y), power))


integer_pow_p: Primitive = elementwise(
    "integer_pow",
    (NUMBER,),
    lambda x: x,
    checkify=nan_check,
    jvp=_integer_pow_jvp,
    transpose=absent("it is not linear"),
    samples=lambda: [
        *[
            Sample((s, d), y=y, low=0.5)
            for y in (-3, -2, -1, 0, 1, 2, 3, 5)
            for s in [(3, 4), ()]
            for d in (F32, BF16, F16, C64)
        ],
        *[
            Sample((s, d), y=y)
            for y in (0, 1, 2, 7)
            for s in [(5,), (0,)]
            for d in (np.int32, np.uint8)
        ],
        *[Sample(SPECIAL, y=y, grad=False) for y in (-3, -1, 0, 2, 3)],
    ],
)
integer_pow_p.abstract_eval = _integer_pow_abstract
integer_pow_p.reference = _integer_pow_reference

# --- square and roots ----------------------------------------------------------------------

square_p: Primitive = elementwise(
    "square",
    (NUMBER,),
    lambda x: x * x,
    checkify=nan_check,
    jvp=operand_jvps(lambda t, out, x: mul(t, mul(const(x, 2), x))),
    transpose=absent("it is not linear"),
    samples=unary_samples(*NUMBERS),
)

sqrt_p: Primitive = elementwise(
    "sqrt",
    (INEXACT,),
    np.sqrt,
    checkify=nan_check,
    jvp=operand_jvps(lambda t, out, x, accuracy: mul(t, div_p.bind(const(x, 0.5), out))),
    transpose=absent("it is not linear"),
    samples=lambda: unary_samples_accuracy(F32, BF16, F16, C64, low=0.5),
    params_text=hidden(accuracy=None),
)


def _rsqrt_tangent(t: Any, out: Any, x: Any, accuracy: Any) -> Any:
    return mul(t, mul(const(x, -0.5), div_p.bind(out, x)))


rsqrt_p: Primitive = elementwise(
    "rsqrt",
    (INEXACT,),
    lambda x: 1 / np.sqrt(x),
    checkify=nan_check,
    jvp=operand_jvps(_rsqrt_tangent),
    transpose=absent("it is not linear"),
    samples=lambda: unary_samples_accuracy(F32, BF16, F16, C64, low=0.5),
    params_text=hidden(accuracy=None),
)


def _cbrt_tangent(t: Any, out: Any, x: Any, accuracy: Any) -> Any:
    return mul(t, mul(const(x, 1 / 3), integer_pow_p.bind(out, y=-2)))


cbrt_p: Primitive = elementwise(
    "cbrt",
    (FLOAT,),
    np.cbrt,
    checkify=nan_check,
    jvp=operand_jvps(_cbrt_tangent),
    transpose=absent("it is not linear"),
    samples=lambda: unary_samples_accuracy(F32, BF16, F16, low=0.5),
    params_text=hidden(accuracy=None),
)


def unary_samples_accuracy(*dtypes_: Any, low: float = -2.0, high: float = 2.0) -> list[Sample]:
    """Samples of a unary primitive that has the parameter `accuracy`."""
    return with_params(unary_samples(*dtypes_, low=low, high=high)(), accuracy=None)
