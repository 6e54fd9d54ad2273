"""Contraction: dot_general."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample
from ..core.rules import Zero, batch_rule, is_undefined, operand_jvps
from ..core.series import bilinear_jet
from .arithmetic import BF16, C64, F16, F32
from .checks import nan_check
from .declare import ops
from .structure import transpose


class Precision(enum.Enum):
    """How precisely float32 products are computed; the CPU computes all in full precision."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


class DotAlgorithmPreset(enum.Enum):
    """Named algorithms of a contraction: the operands' types and that of accumulation."""

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


def free(rank: int, *used: Sequence[int]) -> list[int]:
    """Axes that are neither contracted nor batched."""
    taken = {d for u in used for d in u}
    return [i for i in range(rank) if i not in taken]


def _dot_abstract(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: tuple,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    (lc, rc), (lb, rb) = dimension_numbers
    name = "dot_general"
    for side, a, c, b in (("lhs", lhs, lc, lb), ("rhs", rhs, rc, rb)):
        if any(not 0 <= d < len(a.shape) for d in (*c, *b)):
            raise TypeError(
                f"{name} requires {side} dimension numbers to be nonnegative and less than the "
                f"number of axes of the {side} value, got {side}_batch of {b} and "
                f"{side}_contracting of {c} for {side} of rank {len(a.shape)}"
            )
    if len(lb) != len(rb):
        raise TypeError(
            f"{name} requires equal numbers of lhs_batch and rhs_batch dimensions, got lhs_batch "
            f"{lb} and rhs_batch {rb}."
        )
    for side, c, b in (("lhs", lc, lb), ("rhs", rc, rb)):
        if len(set(c)) != len(c):
            raise TypeError(
                f"{name} requires {side} contracting dimensions to be distinct, got "
                f"{side}_contracting {c}."
            )
        if len(set(b)) != len(b):
            raise TypeError(
                f"{name} requires {side} batch dimensions to be distinct, got {side}_batch {b}."
            )
        if set(c) & set(b):
            raise TypeError(
                f"{name} requires {side} batch dimensions to be disjoint from contracting "
                f"dimensions, got {side}_batch {b} and {side}_contracting {c}."
            )
    for what, left, right in (("batch", lb, rb), ("contracting", lc, rc)):
        ls, rs = tuple(lhs.shape[d] for d in left), tuple(rhs.shape[d] for d in right)
        if ls != rs:
            dims = (
                "lhs batch dimensions and rhs batch dimensions"
                if what == "batch"
                else "contracting dimensions"
            )
            raise TypeError(f"{name} requires {dims} to have the same shape, got {ls} and {rs}.")
    shape = (
        *(lhs.shape[d] for d in lb),
        *(lhs.shape[d] for d in free(len(lhs.shape), lc, lb)),
        *(rhs.shape[d] for d in free(len(rhs.shape), rc, rb)),
    )
    weak = lhs.weak_type and rhs.weak_type
    if preferred_element_type is not None:
        return ShapedArray(shape, preferred_element_type, weak)
    return ShapedArray(shape, result_dtype(lhs, rhs), weak)


def result_dtype(lhs: ShapedArray, rhs: ShapedArray) -> Any:
    """The dtype of a contraction of operands that may differ in dtype."""
    if lhs.dtype == rhs.dtype:
        return lhs.dtype
    if dtypes.is_extended(lhs.dtype) or dtypes.is_extended(rhs.dtype):
        raise TypeError(f"dot_general does not accept dtypes {lhs.dtype} and {rhs.dtype}.")
    kinds = {"u": 0, "i": 1}
    a, b = lhs.dtype, rhs.dtype
    if dtypes.is_integer(a) and dtypes.is_integer(b) and a.itemsize == b.itemsize:
        return a if kinds.get(a.kind, 1) >= kinds.get(b.kind, 1) else b
    try:
        return dtypes.promote_types(a, b)
    except dtypes.TypePromotionError:
        return b


def _dot_reference(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    dimension_numbers: tuple,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> np.ndarray:
    (lc, rc), (lb, rb) = dimension_numbers
    work = accumulation_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
    if not lb and lhs.ndim and rhs.ndim and lhs.ndim + rhs.ndim <= 4:
        if lc == (lhs.ndim - 1,) and rc == (0,):
            return np.dot(lhs.astype(work, copy=False), rhs.astype(work, copy=False))
    lf, rf = free(lhs.ndim, lc, lb), free(rhs.ndim, rc, rb)
    batch = [lhs.shape[d] for d in lb]
    lkeep, rkeep = [lhs.shape[d] for d in lf], [rhs.shape[d] for d in rf]
    k = math.prod(lhs.shape[d] for d in lc)
    a = lhs.transpose(*lb, *lf, *lc).reshape((*batch, math.prod(lkeep), k)).astype(work, copy=False)
    b = rhs.transpose(*rb, *rc, *rf).reshape((*batch, k, math.prod(rkeep))).astype(work, copy=False)
    return np.matmul(a, b).reshape((*batch, *lkeep, *rkeep))


@functools.lru_cache(maxsize=1024)
def accumulation_dtype(lhs: Any, rhs: Any, out: Any) -> Any:
    """The dtype in which the reference multiplies and adds; `out` as for dot_general."""
    if out is None:
        out = result_dtype(ShapedArray((), lhs), ShapedArray((), rhs))
    if dtypes.is_bool(out):
        return np.dtype(bool)
    if any(dtypes.is_complex(d) for d in (lhs, rhs, out)):
        wide = any(d in (np.dtype(np.complex128), np.dtype(np.float64)) for d in (lhs, rhs, out))
        return np.dtype(np.complex128 if wide else np.complex64)
    if any(dtypes.is_float(d) for d in (lhs, rhs, out)):
        wide = any(d == np.float64 for d in (lhs, rhs, out))
        return np.dtype(np.float64 if wide else np.float32)
    return out if out.itemsize > 1 or out.kind in "iu" else np.dtype(np.int32)


def _dims(lc: Any, rc: Any, lb: Any, rb: Any) -> tuple:
    return (tuple(lc), tuple(rc)), (tuple(lb), tuple(rb))


def _dot_transpose(primitive: Primitive, ct: Any, args: Any, params: dict) -> list[Any]:
    x, y = args
    if is_undefined(x) and is_undefined(y):
        raise NotImplementedError("dot_general is not linear in both operands at once")
    if type(ct) is Zero:
        return [Zero(a.aval) if is_undefined(a) else None for a in args]
    (lc, rc), (lb, rb) = params["dimension_numbers"]
    if is_undefined(x):
        return [_operand_cotangent(ct, x.aval, y, lc, rc, lb, rb, False, params), None]
    return [None, _operand_cotangent(ct, y.aval, x, rc, lc, rb, lb, True, params)]


def _operand_cotangent(
    ct: Any,
    aval: ShapedArray,
    other: Any,
    xc: Sequence[int],
    yc: Sequence[int],
    xb: Sequence[int],
    yb: Sequence[int],
    swapped: bool,
    params: dict,
) -> Any:
    """Contract the cotangent with the other operand over that operand's free axes."""
    oaval: Any = get_aval(other)
    x_free, y_free = free(len(aval.shape), xc, xb), free(len(oaval.shape), yc, yb)
    n = len(xb)
    # the cotangent's axes: batch, free axes of lhs, free axes of rhs
    if swapped:
        ct_y = range(n, n + len(y_free))
    else:
        ct_y = range(n + len(x_free), n + len(x_free) + len(y_free))
    out = dot_general_p.bind(
        ct, other, **{**params, "dimension_numbers": _dims(ct_y, y_free, range(n), yb)}
    )
    # axes of `out`: batch, free axes of x, contracted axes in the order they have in `other`
    x_order = [xc[yc.index(d)] for d in sorted(yc)]
    have = [*xb, *x_free, *x_order]
    out = transpose(out, [have.index(i) for i in range(len(have))])
    if get_aval(out).dtype != aval.dtype:  # type: ignore[attr-defined]
        out = ops["convert_element_type"].bind(
            out, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None
        )
    return out


def _dot_batch(size: int, args: Any, dims: Any, **params: Any) -> Any:
    x, y = args
    xd, yd = dims
    (lc, rc), (lb, rb) = params["dimension_numbers"]

    def shift(axes: Sequence[int], d: int | None) -> list[int]:
        return [a if d is None or a < d else a + 1 for a in axes]

    lc, lb, rc, rb = shift(lc, xd), shift(lb, xd), shift(rc, yd), shift(rb, yd)
    if xd is not None and yd is not None:
        lb, rb = [xd, *lb], [yd, *rb]
        dim = 0
    elif xd is not None:
        dim = len(lb) + free(len(np.shape(x)), lc, lb).index(xd)
    else:
        left = len(np.shape(x)) - len(lc)
        dim = left + free(len(np.shape(y)), rc, rb).index(yd)
    out = dot_general_p.bind(x, y, **{**params, "dimension_numbers": _dims(lc, rc, lb, rb)})
    return out, dim


def _dot_text(eqn: Any) -> dict:
    p = eqn.params
    (lc, rc), (lb, rb) = p["dimension_numbers"]
    out: dict[str, Any] = {
        "dimension_numbers": f"(({list(lc)}, {list(rc)}), ({list(lb)}, {list(rb)}))"
    }
    for k in ("precision", "preferred_element_type", "out_sharding"):
        if p[k] is not None:
            out[k] = p[k]
    return out


def _dot_samples() -> list[Sample]:
    forms = [
        ((3, 4), (4, 5), ((1,), (0,)), ((), ())),
        ((3, 4), (4,), ((1,), (0,)), ((), ())),
        ((4,), (4,), ((0,), (0,)), ((), ())),
        ((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))),
        ((3, 4, 2), (2, 5, 4), ((1,), (2,)), ((2,), (0,))),
        ((3, 4, 5), (5, 6, 3), ((0, 2), (2, 0)), ((), ())),
        ((4,), (3,), ((), ()), ((), ())),
        ((), (), ((), ()), ((), ())),
        ((2, 0), (0, 3), ((1,), (0,)), ((), ())),
        ((0, 2), (2, 3), ((1,), (0,)), ((), ())),
        ((2, 3), (2, 3), ((), ()), ((0, 1), (0, 1))),
    ]
    more: dict[str, Any] = {"precision": None, "out_sharding": None}
    out = [
        Sample((a, d), (b, d), dimension_numbers=(c, bt), preferred_element_type=None, **more)
        for a, b, c, bt in forms
        for d in (F32, BF16, F16, C64, np.int32, np.int8, np.uint8, np.bool_)
    ]
    a, b, c, bt = forms[0]
    pairs = [(BF16, BF16, F32), (F16, F16, F32), (np.int8, np.int8, np.int32), (BF16, F32, None)]
    pairs += [(F32, F32, BF16), (np.int8, np.int8, F32), (C64, F32, None)]
    out += [
        Sample(
            (a, x), (b, y), dimension_numbers=(c, bt),
            preferred_element_type=None if p is None else np.dtype(p), **more,
        )
        for x, y, p in pairs
    ]  # fmt: skip
    return out


dot_general_p: Primitive = Primitive(
    "dot_general",
    abstract=_dot_abstract,
    reference=_dot_reference,
    checkify=nan_check,
    jvp=operand_jvps(
        lambda t, out, x, y, **p: dot_general_p.bind(t, y, **p),
        lambda t, out, x, y, **p: dot_general_p.bind(x, t, **p),
    ),
    jet=bilinear_jet,
    transpose=_dot_transpose,
    batch=batch_rule(_dot_batch),
    samples=_dot_samples,
    params_text=_dot_text,
)
