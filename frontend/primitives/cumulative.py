"""Cumulative reductions along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import Zero, batch_rule, linear_jvp, unary_transpose, zero_jvp
from ..transforms.jvp import jvp_flat
from .arithmetic import (
    BF16,
    C64,
    EXTREMAL,
    F16,
    F32,
    NUMBERS,
    add_p,
    max_p,
    min_p,
    mul,
    preferred_zeros,
    with_zero_signs,
)
from .checks import nan_check
from .declare import check_dtype, compute_dtype, const, full_like, ops
from .slicing import concatenate_p, pad_axis, rev_p, slice_axis

_REAL = tuple(d for d in EXTREMAL if d is not np.bool_)
SHAPES = [((3, 4), 1), ((3, 4), 0), ((5,), 0), ((2, 3, 2), 1), ((0,), 0), ((1,), 0), ((2, 0), 0)]


def check_axis(axis: int, shape: Sequence[int]) -> None:
    """Raise ValueError where the axis does not exist."""
    if axis < 0:
        raise ValueError(f"cumulative operations do not allow negative axes, got axis {axis}")
    if axis >= len(shape):
        raise ValueError(f"axis {axis} is out of bounds for array of shape {tuple(shape)}")


def scan_by_pairs(combine: Callable[..., tuple], xs: tuple, axis: int) -> tuple:
    """All prefixes of `xs` combined along an axis, with differentiable operations.

    Neighbours are combined, the half as long arrays of pairs are scanned, and the elements between
    are filled in: O(n) combinations in O(log n) steps. `combine(a, b)` takes and returns tuples.
    """
    n = np.shape(xs[0])[axis]
    if n < 2:
        return xs
    pairs = combine(
        tuple(slice_axis(x, 0, n - 1, 2, axis) for x in xs),
        tuple(slice_axis(x, 1, n, 2, axis) for x in xs),
    )
    odd = scan_by_pairs(combine, pairs, axis)
    m = np.shape(odd[0])[axis]
    before = tuple(slice_axis(o, 0, m - 1, 1, axis) for o in odd) if n % 2 == 0 else odd
    between = combine(before, tuple(slice_axis(x, 2, n, 2, axis) for x in xs))
    out = []
    for x, o, b in zip(xs, odd, between, strict=True):
        even = concatenate_p.bind(slice_axis(x, 0, 1, 1, axis), b, dimension=axis)
        zero = const(get_aval(x), 0)
        longer = np.shape(even)[axis] > m
        spread = pad_axis(even, zero, (0, 0 if longer else 1, 1), axis)
        out.append(add_p.bind(spread, pad_axis(o, zero, (1, 1 if longer else 0, 1), axis)))
    return tuple(out)


def _cumulative(
    name: str,
    ref: Callable[..., Any],
    ds: Sequence[Any],
    kinds: tuple[str, ...] = ("number",),
    combine: Callable[[Any, Any], Any] | None = None,
    jvp: Any = None,
    transpose: Any = None,
    low: float = -2.0,
) -> Primitive:
    def abstract(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(name, kinds, x.dtype)
        check_axis(axis, x.shape)
        return x

    def run(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        x = x.astype(compute_dtype(x.dtype), copy=False)
        x = np.flip(x, axis) if reverse else x
        out = ref(x, axis)
        return np.flip(out, axis) if reverse else out

    def by_pairs(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
        """Differentiates the scan by pairs: correct where factors are zero."""
        if type(tangents[0]) is Zero:
            return zero_jvp(primitive, primals, tangents, params)
        axis, reverse = params["axis"], params["reverse"]

        def scan(x: Any) -> list[Any]:
            x = rev_p.bind(x, dimensions=(axis,)) if reverse else x
            out = scan_by_pairs(lambda a, b: (combine(a[0], b[0]),), (x,), axis)[0]  # type: ignore[misc]
            return [rev_p.bind(out, dimensions=(axis,)) if reverse else out]

        (out,), (t,) = jvp_flat(scan, primals, tangents)
        return out, t

    def batch(size: int, args: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
        (d,) = dims
        return primitive.bind(args[0], axis=axis if axis < d else axis + 1, reverse=reverse), d

    primitive = Primitive(
        name,
        abstract=abstract,
        reference=run,
        jvp=by_pairs if jvp is None else jvp,
        transpose=absent("it is not linear") if transpose is None else transpose,
        batch=batch_rule(batch),
        checkify=nan_check,
        samples=lambda: [
            Sample((s, d), axis=a, reverse=r, low=low)
            for s, a in SHAPES
            for d in ds
            for r in (False, True)
        ],
    )
    return primitive


def _cumsum_transpose(ct: Any, aval: ShapedArray, *, axis: int, reverse: bool) -> Any:
    return cumsum_p.bind(ct, axis=axis, reverse=not reverse)


def _running(ufunc: np.ufunc) -> Callable[[np.ndarray, int], np.ndarray]:
    """Reference of a cumulative extremum."""

    def reference(x: np.ndarray, axis: int) -> np.ndarray:
        out = ufunc.accumulate(x, axis=axis)
        if dtypes.is_float(x.dtype) and (out == 0).any():
            zeros = np.logical_or.accumulate(preferred_zeros(ufunc, x), axis=axis)
            out = with_zero_signs(ufunc, out, zeros)
        return out

    return reference


cumsum_p: Primitive = _cumulative(
    "cumsum",
    lambda x, axis: np.cumsum(x, axis=axis, dtype=x.dtype),
    NUMBERS,
    jvp=linear_jvp,
    transpose=unary_transpose(_cumsum_transpose),
)
cumprod_p: Primitive = _cumulative(
    "cumprod",
    lambda x, axis: np.cumprod(x, axis=axis, dtype=x.dtype),
    NUMBERS,
    combine=lambda a, b: mul(a, b),
)
cummax_p: Primitive = _cumulative(
    "cummax",
    _running(np.maximum),
    _REAL,
    combine=lambda a, b: max_p.bind(a, b),
)
cummin_p: Primitive = _cumulative(
    "cummin",
    _running(np.minimum),
    _REAL,
    combine=lambda a, b: min_p.bind(a, b),
)


def _log_add_exp(a: Any, b: Any) -> Any:
    """log(e^a + e^b) without overflow: max + log1p(e^-|a - b|); infinities of one sign add up."""
    bind = {n: ops[n].bind for n in ("max", "sub", "ne", "abs", "neg", "exp", "log1p", "select_n")}
    largest, difference = bind["max"](a, b), bind["sub"](a, b)
    nan = bind["ne"](difference, difference)
    both = add_p.bind(a, b)
    if dtypes.is_complex(get_aval(a).dtype):  # type: ignore[attr-defined]
        small = bind["exp"](bind["sub"](min_p.bind(a, b), largest), accuracy=None)
    else:
        small = bind["exp"](bind["neg"](bind["abs"](difference)), accuracy=None)
    total = add_p.bind(largest, bind["log1p"](small, accuracy=None))
    return bind["select_n"](nan, total, both)


def _weight(x: Any, total: Any) -> Any:
    """e^(x - total), with 1 where both are infinite."""
    eq, select = ops["eq"].bind, ops["select_n"].bind
    inf = const(x, np.inf)

    def finite(v: Any) -> Any:
        return select(eq(v, inf), v, full_like(v, 0))

    return ops["exp"].bind(ops["sub"].bind(finite(x), finite(total)), accuracy=None)


def _cumlogsumexp_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent at i is the mean of the tangents up to i, weighted by e^x.

    The pair (log of the sum, tangent) is scanned; the tangents are scanned with the weights of
    the parts, so that nothing overflows.
    """
    (x,), (t,) = primals, tangents
    if type(t) is Zero:
        return zero_jvp(primitive, primals, tangents, params)
    axis, reverse = params["axis"], params["reverse"]

    def flip(v: Any) -> Any:
        return rev_p.bind(v, dimensions=(axis,)) if reverse else v

    def combine(a: tuple, b: tuple) -> tuple:
        total = _log_add_exp(a[0], b[0])
        moved = add_p.bind(mul(a[1], _weight(a[0], total)), mul(b[1], _weight(b[0], total)))
        return total, moved

    out, tout = scan_by_pairs(combine, (flip(x), flip(t)), axis)
    return flip(out), flip(tout)


def _logaddexp_reference(x: np.ndarray, axis: int) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=axis)
    out = np.moveaxis(x, axis, 0).copy()
    for i in range(1, len(out)):
        a, b = out[i - 1], out[i].copy()
        largest = np.maximum(a, b)
        out[i] = largest + np.log1p(np.exp(np.minimum(a, b) - largest))
    return np.moveaxis(out, 0, axis)


cumlogsumexp_p: Primitive = _cumulative(
    "cumlogsumexp",
    _logaddexp_reference,
    (F32, BF16, F16, C64),
    kinds=("floating", "complexfloating"),
    jvp=_cumlogsumexp_jvp,
)
