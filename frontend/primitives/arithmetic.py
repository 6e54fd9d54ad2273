"""Arithmetic: sums, products, quotients, powers, extrema, absolute values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import (
    Zero,
    is_undefined,
    operand_jvps,
    operand_transposes,
    unary_transpose,
    zero_jvp,
)
from ..core.series import Series, bilinear_jet, linear_jet, product_term, series_ops
from .checks import division_check, nan_check
from .declare import (
    ANY,
    NUMBER,
    REAL,
    broadcast_to,
    const,
    elementwise,
    elementwise_abstract,
    full_like,
    hidden,
    ops,
    unbroadcast,
)

F32, F16, C64 = np.float32, np.float16, np.complex64
BF16 = dtypes.bfloat16
FLOATS = (F32, BF16, F16)
NUMBERS = (F32, BF16, F16, C64, np.int32, np.int8, np.uint8, np.uint32)
SHAPES = ((3, 4), (), (0,), (1,))
PAIRS = (((3, 4), (3, 4)), ((), ()), ((0,), (0,)), ((3, 4), ()), ((), (2,)), ((3, 1), (1, 2)))
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-30, -1e30], F32
)


def unary_samples(*dtypes_: Any, low: float = -2.0, high: float = 2.0, special: bool = True) -> Any:
    """Samples of a unary primitive; `special` adds zeros, infinities, NaN and halves."""

    def make() -> list[Sample]:
        out = [Sample((s, d), low=low, high=high) for s in SHAPES for d in dtypes_]
        if special and F32 in dtypes_:
            out.append(Sample(SPECIAL, grad=False))
        out += [
            Sample(np.array([dtypes.iinfo(d).min, dtypes.iinfo(d).max, 0, 1], d), grad=False)
            for d in dtypes_
            if np.dtype(d).kind in "iu"
        ]
        return out

    return make


def with_params(samples: list[Sample], **params: Any) -> list[Sample]:
    """The samples with these parameters."""
    for s in samples:
        s.params = params
    return samples


def special_pairs() -> tuple[np.ndarray, np.ndarray]:
    """Every pair of the special values."""
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel().copy(), b.ravel().copy()


def integer_pairs(d: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of an integer dtype's extremes and small values."""
    info = dtypes.iinfo(d)
    line = [info.min, info.max, 0, 1, 2, 3, 7]
    line += [info.min + 1, -1, -2, -3, -7] if info.min < 0 else []
    a, b = np.meshgrid(np.array(line, d), np.array(line, d))
    return a.ravel().copy(), b.ravel().copy()


def binary_samples(
    *dtypes_: Any, low: float = -2.0, high: float = 2.0, special: bool = True
) -> Any:
    """Samples of a binary primitive, with pairs of special values and extreme integers."""

    def make() -> list[Sample]:
        out = [Sample((a, d), (b, d), low=low, high=high) for a, b in PAIRS for d in dtypes_]
        if special:
            for d in dtypes_:
                if np.dtype(d).kind in "iu":
                    out.append(Sample(*integer_pairs(d), grad=False))
            if F32 in dtypes_:
                out.append(Sample(*special_pairs(), grad=False))
        return out

    return make


def real_dtype(d: Any) -> Any:
    return dtypes.to_real(d)


# --- add, sub, mul, div, neg ----------------------------------------------------------------


def _sum_jvp(primitive: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """Tangents of sums and differences: one equation for both where both are given."""
    x, y = tangents
    out = primitive.bind(*primals, **params)
    if type(x) is Zero and type(y) is Zero:
        return out, Zero.of(out)
    if type(x) is not Zero and type(y) is not Zero:
        return out, primitive.bind(x, y, **params)
    if type(y) is Zero:
        t = x
    else:
        t = neg_p.bind(y) if primitive.name == "sub" else y
    return out, broadcast_to(t, get_aval(out).shape)  # type: ignore[attr-defined]


def operand_aval(x: Any) -> Any:
    return x.aval if is_undefined(x) else get_aval(x)


add_p: Primitive = elementwise(
    "add",
    (NUMBER, NUMBER),
    lambda x, y: x + y,
    checkify=nan_check,
    jvp=_sum_jvp,
    jet=linear_jet,
    transpose=operand_transposes(
        lambda ct, x, y: unbroadcast(ct, x.aval), lambda ct, x, y: unbroadcast(ct, y.aval)
    ),
    samples=binary_samples(*NUMBERS),
)

sub_p: Primitive = elementwise(
    "sub",
    (NUMBER, NUMBER),
    lambda x, y: x - y,
    checkify=nan_check,
    jvp=_sum_jvp,
    jet=linear_jet,
    transpose=operand_transposes(
        lambda ct, x, y: unbroadcast(ct, x.aval),
        lambda ct, x, y: unbroadcast(neg_p.bind(ct), y.aval),
    ),
    samples=binary_samples(*NUMBERS),
)


def _mul_dtype(name: str) -> Any:
    rule = elementwise_abstract(name, (NUMBER, NUMBER))

    def abstract(x: ShapedArray, y: ShapedArray, *, out_dtype: Any = None) -> ShapedArray:
        out = rule(x, y)
        return (
            out
            if out_dtype is None
            else ShapedArray(out.shape, dtypes.canonicalize_dtype(out_dtype))
        )

    return abstract


def _mul_transpose(primitive: Any, ct: Any, args: Any, params: dict) -> list[Any]:
    x, y = args
    if is_undefined(x) and is_undefined(y):
        raise NotImplementedError("mul is not linear in both operands at once")
    if type(ct) is Zero:
        return [Zero(a.aval) if is_undefined(a) else None for a in args]
    if is_undefined(x):
        return [unbroadcast(mul_p.bind(ct, y, **params), x.aval), None]
    return [None, unbroadcast(mul_p.bind(x, ct, **params), y.aval)]


def _mul_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x * y


mul_p: Primitive = elementwise(
    "mul",
    (NUMBER, NUMBER),
    _mul_reference,
    checkify=nan_check,
    jvp=operand_jvps(
        lambda t, out, x, y, **p: mul_p.bind(t, y, **p),
        lambda t, out, x, y, **p: mul_p.bind(x, t, **p),
    ),
    transpose=_mul_transpose,
    jet=bilinear_jet,
    samples=lambda: with_params(binary_samples(*NUMBERS)(), out_dtype=None),
    params_text=hidden(out_dtype=None),
)
mul_p.abstract_eval = _mul_dtype("mul")


def mul(x: Any, y: Any) -> Any:
    """Elementwise product."""
    return mul_p.bind(x, y, out_dtype=None)


series_ops.mul = mul
series_ops.scale = lambda x, factor: mul(x, const(x, factor))


def _integer_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quotient towards zero; by zero: -1, or all bits for unsigned; the least by -1: itself."""
    zero = y == 0
    safe = np.where(zero, np.ones_like(y), y)
    if x.dtype.kind == "u":
        return np.where(zero, ~np.zeros_like(x), x // safe)
    least = (x == np.iinfo(x.dtype).min) & (y == -1)
    safe = np.where(least, np.ones_like(y), safe)
    q = x // safe
    # floor division rounds down: one too low where the signs differ and it is not exact
    q = q + ((q * safe != x) & ((x < 0) != (safe < 0))).astype(x.dtype)
    return np.where(zero, np.full_like(x, -1), np.where(least, x, q))


def _integer_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Remainder with the dividend's sign; by zero: the dividend."""
    zero = y == 0
    safe = np.where(zero, np.ones_like(y), y)
    if x.dtype.kind != "u":
        safe = np.where(safe == -1, np.ones_like(y), safe)
    return np.where(zero, x, np.fmod(x, safe))


def _div_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _integer_quotient(x, y) if x.dtype.kind in "iu" else x / y


def _div_tangent_y(t: Any, out: Any, x: Any, y: Any) -> Any:
    return mul(mul(neg_p.bind(t), x), ops["integer_pow"].bind(y, y=-2))


def _div_jet(
    primitive: Primitive, primals: Sequence[Any], series: Sequence[Series | None], params: dict
) -> Any:
    """q b = a, solved order by order: q_k = (a_k - sum_{i>0} b_i q_{k-i}) / b_0."""
    (a, b), (a_series, b_series) = primals, series
    q = [div_p.bind(a, b)]
    if b_series is None:
        return q[0], [div_p.bind(x, b) for x in a_series or ()]
    for k in range(1, len(b_series) + 1):
        known = product_term(b_series[:k], q, k - 1)
        top = neg_p.bind(known) if a_series is None else sub_p.bind(a_series[k - 1], known)
        q.append(div_p.bind(top, b))
    return q[0], q[1:]


div_p: Primitive = elementwise(
    "div",
    (NUMBER, NUMBER),
    _div_reference,
    checkify=division_check,
    jvp=operand_jvps(lambda t, out, x, y: div_p.bind(t, y), _div_tangent_y),
    jet=_div_jet,
    transpose=operand_transposes(
        lambda ct, x, y: unbroadcast(div_p.bind(ct, y), x.aval),
        None,
    ),
    samples=binary_samples(*NUMBERS, low=0.5),
)


def _rem_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _integer_remainder(x, y) if x.dtype.kind in "iu" else np.fmod(x, y)


def _rem_tangent_y(t: Any, out: Any, x: Any, y: Any) -> Any:
    negative = neg_p.bind(t)
    sign = sign_p.bind(div_p.bind(x, y))
    size = _floor(abs_p.bind(div_p.bind(x, y)))
    return mul(negative, mul(sign, size))


def _floor(x: Any) -> Any:
    return ops["floor"].bind(x)


rem_p: Primitive = elementwise(
    "rem",
    (REAL, REAL),
    _rem_reference,
    checkify=nan_check,
    jvp=operand_jvps(
        lambda t, out, x, y: broadcast_to(t, get_aval(out).shape),  # type: ignore[attr-defined]
        _rem_tangent_y,
    ),
    transpose=absent("it is not linear"),
    samples=binary_samples(F32, BF16, F16, np.int32, np.int8, np.uint8, low=0.5, high=5.0),
)

neg_p: Primitive = elementwise(
    "neg",
    (NUMBER,),
    lambda x: -x,
    jvp=operand_jvps(lambda t, out, x: neg_p.bind(t)),
    jet=linear_jet,
    transpose=unary_transpose(lambda ct, aval: neg_p.bind(ct)),
    samples=unary_samples(*NUMBERS),
)


# --- sign, abs, max, min --------------------------------------------------------------------


def _sign_reference(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        size = np.abs(x)
        return np.where(x == 0, x.dtype.type(0), x / np.where(size == 0, x.dtype.type(1), size))
    if x.dtype.kind == "f":
        return np.where(x == 0, x, np.sign(x))
    return np.sign(x)


sign_p: Primitive = elementwise(
    "sign",
    (NUMBER,),
    _sign_reference,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    samples=unary_samples(*NUMBERS),
)


def _abs_jvp(t: Any, out: Any, x: Any) -> Any:
    dt = get_aval(x).dtype  # type: ignore[attr-defined]
    if not dtypes.is_complex(dt):
        return select(ge_zero(x), t, neg_p.bind(t))
    # the tangent's component along the value: real(conj(x)/|x| * t)
    conj = ops["conj"].bind(x, input_dtype=dt)
    size = ops["convert_element_type"].bind(out, new_dtype=dt, weak_type=False, sharding=None)
    zero = ops["eq"].bind(size, const(size, 0))
    safe = select(zero, full_like(size, 1), size)
    return ops["real"].bind(mul(t, div_p.bind(conj, safe)))


def ge_zero(x: Any) -> Any:
    """Whether elements are at least zero."""
    return ops["ge"].bind(x, const(x, 0))


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Elements of `on_true` where `pred`, else of `on_false`."""
    return ops["select_n"].bind(pred, on_false, on_true)


abs_p: Primitive = elementwise(
    "abs",
    (("floating", "complexfloating", "signedinteger"),),
    np.abs,
    out_dtype=real_dtype,
    jvp=operand_jvps(_abs_jvp),
    transpose=absent("it is not linear"),
    samples=unary_samples(F32, BF16, F16, C64, np.int32, np.int8),
)


def _balanced(x: Any, out: Any, y: Any) -> Any:
    """The share of x's tangent in an extremum: 1 where it is the result, 1/2 where both are."""
    eq = ops["eq"].bind
    mask = eq(x, out)
    ours = select(mask, full_like(out, 1), full_like(out, 0))
    both = eq(y, out)
    return div_p.bind(ours, select(both, full_like(out, 2), full_like(out, 1)))


_extremum_jvp = operand_jvps(
    lambda t, out, x, y: mul(t, _balanced(x, out, y)),
    lambda t, out, x, y: mul(t, _balanced(y, out, x)),
)


def preferred_zeros(ufunc: np.ufunc, x: np.ndarray) -> np.ndarray:
    """Where x is the zero that `np.maximum` (+0) or `np.minimum` (-0) has to prefer."""
    return (x == 0) & (np.signbit(x) == (ufunc is np.minimum))


def with_zero_signs(ufunc: np.ufunc, out: np.ndarray, preferred: np.ndarray) -> np.ndarray:
    """The extremum `out`, its zeros of the preferred sign where a preferred zero took part.

    NumPy leaves open which of two equal zeros it gives.
    """
    sign = np.where(preferred == (ufunc is np.minimum), -1.0, 1.0)
    return np.where(out == 0, np.copysign(0.0, sign).astype(out.dtype), out)


def _extremum_reference(ufunc: np.ufunc) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.dtype.kind == "c":
            # the first one where it comes before the other by its parts; y where one is NaN
            z, w = (x, y) if ufunc is np.minimum else (y, x)
            before = (z.real < w.real) | ((z.real == w.real) & (z.imag < w.imag))
            return np.where(before, x, y)
        out = ufunc(x, y)
        if not dtypes.is_float(out.dtype):
            return out
        return with_zero_signs(ufunc, out, preferred_zeros(ufunc, x) | preferred_zeros(ufunc, y))

    return reference


EXTREMAL = (*NUMBERS, np.bool_)
max_p: Primitive = elementwise(
    "max",
    (ANY[:4], ANY[:4]),
    _extremum_reference(np.maximum),
    jvp=_extremum_jvp,
    transpose=absent("it is not linear"),
    samples=binary_samples(*EXTREMAL),
)
min_p: Primitive = elementwise(
    "min",
    (ANY[:4], ANY[:4]),
    _extremum_reference(np.minimum),
    jvp=_extremum_jvp,
    transpose=absent("it is not linear"),
    samples=binary_samples(*EXTREMAL),
)
