"""Exponential, logarithmic, trigonometric and hyperbolic functions, and rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.primitive import Primitive, Sample, absent
from ..core.rules import operand_jvps, zero_jvp
from ..core.series import Series, differentiate, integrate, product_term, scale
from .arithmetic import (
    BF16,
    C64,
    F16,
    F32,
    add_p,
    binary_samples,
    div_p,
    mul,
    neg_p,
    sub_p,
    unary_samples,
)
from .checks import nan_check
from .declare import FLOAT, INEXACT, const, elementwise, hidden
from .powers import integer_pow_p, rsqrt_p, square_p, unary_samples_accuracy

add, sub, div, neg = add_p.bind, sub_p.bind, div_p.bind, neg_p.bind
square = square_p.bind


def _jet_rule(f: Callable[..., Any]) -> Callable[..., Any]:
    def rule(
        primitive: Primitive, primals: Sequence[Any], series: Sequence[Series], params: dict
    ) -> Any:
        out = primitive.bind(*primals, **params)
        full = f(out, differentiate(series[0]), primals[0])
        return out, full[1:]

    return rule


def _next(slope: Series, factor: Series, k: int) -> Any:
    """Order k of the integral of slope * factor."""
    return scale(product_term(slope, factor, k - 1), 1 / k)


def _unary(
    name: str,
    ref: Callable[..., Any],
    tangent: Callable[..., Any],
    *,
    accuracy: bool = False,
    kinds: tuple[str, ...] = INEXACT,
    low: float = -2.0,
    high: float = 2.0,
    jet: Callable[..., Any] | None = None,
) -> Primitive:
    """A unary function; `tangent(t, out, x)`. With `accuracy` it has that parameter.

    `jet(out, slope, x)` gives the series of the result from order 0, `slope` being that of x'.
    """
    ds = (F32, BF16, F16, C64) if "complexfloating" in kinds else (F32, BF16, F16)
    rule = (lambda t, out, x, accuracy: tangent(t, out, x)) if accuracy else tangent
    samples = (
        (lambda: unary_samples_accuracy(*ds, low=low, high=high))
        if accuracy
        else unary_samples(*ds, low=low, high=high)
    )
    return elementwise(
        name,
        (kinds,),
        ref,
        jvp=operand_jvps(rule),
        jet=_jet_rule(jet) if jet is not None else None,
        transpose=absent("it is not linear"),
        samples=samples,
        params_text=hidden(accuracy=None) if accuracy else None,
        checkify=nan_check,
    )


def call(p: Primitive, x: Any) -> Any:
    """A function with the parameter `accuracy` at its default."""
    return p.bind(x, accuracy=None)


def rsqrt(x: Any) -> Any:
    return rsqrt_p.bind(x, accuracy=None)


# --- exponential and logarithm --------------------------------------------------------------


def _exp_jet(out: Any, slope: Series, x: Any) -> Series:
    """y' = y x'."""
    y = [out]
    for k in range(1, len(slope) + 1):
        y.append(_next(slope, y, k))
    return y


exp_p: Primitive = _unary("exp", np.exp, lambda t, out, x: mul(t, out), accuracy=True, jet=_exp_jet)


def _exp2_reference(x: np.ndarray) -> np.ndarray:
    return np.exp(x * x.dtype.type(np.log(2))) if x.dtype.kind == "c" else np.exp2(x)


def _exp2_tangent(t: Any, out: Any, x: Any) -> Any:
    return mul(call(log_p, const(x, 2)), mul(t, out))


exp2_p: Primitive = _unary("exp2", _exp2_reference, _exp2_tangent, accuracy=True)
expm1_p: Primitive = _unary(
    "expm1", np.expm1, lambda t, out, x: mul(t, add(out, const(x, 1))), accuracy=True
)


def _log_jet(out: Any, slope: Series, x: Any) -> Series:
    """x y' = x', solved order by order for y'."""
    xs = [x, *integrate(slope)]
    dy = [div(slope[0], x)]
    for k in range(1, len(slope)):
        dy.append(div(sub(slope[k], product_term(xs[1:], dy, k - 1)), x))
    return [out, *integrate(dy)]


log_p: Primitive = _unary(
    "log", np.log, lambda t, out, x: div(t, x), accuracy=True, low=0.5, jet=_log_jet
)
log1p_p: Primitive = _unary(
    "log1p", np.log1p, lambda t, out, x: div(t, add(x, const(x, 1))), accuracy=True, low=-0.5
)


def _logistic_reference(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _logistic_jet(out: Any, slope: Series, x: Any) -> Series:
    """y' = y (1 - y) x'."""
    y, z = [out], [sub(const(x, 1), out)]
    for k in range(1, len(slope) + 1):
        factor = [product_term(y, z, i) for i in range(k)]
        y.append(_next(slope, factor, k))
        z.append(neg(y[k]))
    return y


logistic_p: Primitive = _unary(
    "logistic",
    _logistic_reference,
    lambda t, out, x: mul(t, mul(out, sub(const(x, 1), out))),
    accuracy=True,
    jet=_logistic_jet,
)

# --- trigonometric --------------------------------------------------------------------------


def _pair_jet(other: Callable[[Any], Any], first: int, second: int) -> Callable[..., Series]:
    """y' = first z x' and z' = second y x', with z = other(x)."""

    def jet(out: Any, slope: Series, x: Any) -> Series:
        y, z = [out], [other(x)]
        for k in range(1, len(slope) + 1):
            dy, dz = _next(slope, z, k), _next(slope, y, k)
            y.append(dy if first > 0 else neg(dy))
            z.append(dz if second > 0 else neg(dz))
        return y

    return jet


sin_p: Primitive = _unary(
    "sin",
    np.sin,
    lambda t, out, x: mul(t, call(cos_p, x)),
    accuracy=True,
    jet=_pair_jet(lambda x: call(cos_p, x), 1, -1),
)
cos_p: Primitive = _unary(
    "cos",
    np.cos,
    lambda t, out, x: neg(mul(t, call(sin_p, x))),
    accuracy=True,
    jet=_pair_jet(lambda x: call(sin_p, x), -1, 1),
)
tan_p: Primitive = _unary(
    "tan",
    np.tan,
    lambda t, out, x: mul(t, add(const(x, 1), square(out))),
    accuracy=True,
    low=-1.2,
    high=1.2,
)
asin_p: Primitive = _unary(
    "asin",
    np.arcsin,
    lambda t, out, x: mul(t, rsqrt(sub(const(x, 1), square(x)))),
    low=-0.9,
    high=0.9,
)
acos_p: Primitive = _unary(
    "acos",
    np.arccos,
    lambda t, out, x: mul(t, neg(rsqrt(sub(const(x, 1), square(x))))),
    low=-0.9,
    high=0.9,
)
atan_p: Primitive = _unary(
    "atan", np.arctan, lambda t, out, x: div(t, add(const(x, 1), square(x))), low=-0.9, high=0.9
)


def _atan2_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))
    return np.arctan2(x, y)


atan2_p: Primitive = elementwise(
    "atan2",
    (INEXACT, INEXACT),
    _atan2_reference,
    checkify=nan_check,
    jvp=operand_jvps(
        lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
        lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))),
    ),
    transpose=absent("it is not linear"),
    samples=binary_samples(F32, BF16, F16, C64),
)

# --- hyperbolic ------------------------------------------------------------------------------

sinh_p: Primitive = _unary(
    "sinh",
    np.sinh,
    lambda t, out, x: mul(t, cosh_p.bind(x)),
    jet=_pair_jet(lambda x: cosh_p.bind(x), 1, 1),
)
cosh_p: Primitive = _unary(
    "cosh",
    np.cosh,
    lambda t, out, x: mul(t, sinh_p.bind(x)),
    jet=_pair_jet(lambda x: sinh_p.bind(x), 1, 1),
)


def _tanh_tangent(t: Any, out: Any, x: Any) -> Any:
    """(1 + tanh)(1 - tanh) t, which keeps its precision near 1."""
    return mul(add(t, mul(t, out)), sub(const(x, 1), out))


def _tanh_jet(out: Any, slope: Series, x: Any) -> Series:
    """y' = (1 + y)(1 - y) x'."""
    one = const(x, 1)
    y, up, down = [out], [add(one, out)], [sub(one, out)]
    for k in range(1, len(slope) + 1):
        factor = [product_term(up, down, i) for i in range(k)]
        y.append(_next(slope, factor, k))
        up.append(y[k])
        down.append(neg(y[k]))
    return y


tanh_p: Primitive = _unary("tanh", np.tanh, _tanh_tangent, accuracy=True, jet=_tanh_jet)
asinh_p: Primitive = _unary(
    "asinh", np.arcsinh, lambda t, out, x: mul(t, rsqrt(add(square(x), const(x, 1))))
)
acosh_p: Primitive = _unary(
    "acosh",
    np.arccosh,
    lambda t, out, x: mul(t, rsqrt(sub(square(x), const(x, 1)))),
    low=1.1,
    high=3.0,
)
atanh_p: Primitive = _unary(
    "atanh",
    np.arctanh,
    lambda t, out, x: mul(
        integer_pow_p.bind(add(const(x, 1), x), y=-1), div(t, sub(const(x, 1), x))
    ),
    low=-0.9,
    high=0.9,
)

# --- rounding --------------------------------------------------------------------------------


def _rounding(name: str, ref: Callable[..., Any]) -> Primitive:
    return elementwise(
        name,
        (FLOAT,),
        ref,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        samples=unary_samples(F32, BF16, F16),
    )


floor_p: Primitive = _rounding("floor", np.floor)
ceil_p: Primitive = _rounding("ceil", np.ceil)


def _round_reference(x: np.ndarray, *, rounding_method: Any) -> np.ndarray:
    x = x if x.dtype.itemsize >= 4 else x.astype(F32)
    if int(rounding_method) == 1:
        return np.rint(x)
    whole = np.trunc(x)
    away = np.abs(x - whole) >= 0.5
    return np.copysign(whole + np.where(away, np.copysign(x.dtype.type(1), x), x.dtype.type(0)), x)


def _round_samples() -> list[Sample]:
    out = []
    for m in (0, 1):
        for s in unary_samples(F32, BF16, F16)():
            s.params = {"rounding_method": m}
            out.append(s)
        big = np.array([0.49999997, -0.49999997, 8388609.0, 1e20, 2.5, -3.5], F32)
        out.append(Sample(big, rounding_method=m, grad=False))
    return out


round_p: Primitive = _rounding("round", lambda x: x)
round_p.reference = _round_reference
round_p._samples = _round_samples

is_finite_p: Primitive = elementwise(
    "is_finite",
    (FLOAT,),
    np.isfinite,
    out_dtype=lambda d: np.dtype(bool),
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    samples=unary_samples(F32, BF16, F16),
)


def _nextafter_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.nextafter(x, y)


nextafter_p: Primitive = elementwise(
    "nextafter",
    (FLOAT, FLOAT),
    _nextafter_reference,
    jvp=absent("it has no derivative"),
    transpose=absent("it is not linear"),
    samples=binary_samples(F32, BF16, F16),
)
# the neighbour in the operand's own dtype, not in that of computation
nextafter_p.reference = _nextafter_reference
