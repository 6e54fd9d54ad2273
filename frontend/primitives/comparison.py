"""Comparisons, and choices by them: select_n and clamp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import Zero, add_tangents, is_undefined, zero_jvp
from ..transforms.batching import move_batch_axis
from .arithmetic import BF16, C64, EXTREMAL, F32, binary_samples, select
from .declare import (
    ANY,
    FLOAT,
    ORDERED,
    check_same_dtypes,
    elementwise,
    evaluate_elements,
    full,
    full_like,
    ops,
)

_BOOL = np.dtype(bool)


def _comparison(
    name: str, kinds: tuple[str, ...], ref: Callable[..., Any], ds: Sequence[Any]
) -> Primitive:
    return elementwise(
        name,
        (kinds, kinds),
        ref,
        out_dtype=lambda *d: _BOOL,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        samples=binary_samples(*ds),
        evaluate=evaluate_elements if "key" in kinds else None,
    )


_real = tuple(d for d in EXTREMAL if d is not C64)
eq_p: Primitive = _comparison("eq", ANY, lambda x, y: x == y, EXTREMAL)
ne_p: Primitive = _comparison("ne", ANY, lambda x, y: x != y, EXTREMAL)
lt_p: Primitive = _comparison("lt", ORDERED, lambda x, y: x < y, _real)
le_p: Primitive = _comparison("le", ORDERED, lambda x, y: x <= y, _real)
gt_p: Primitive = _comparison("gt", ORDERED, lambda x, y: x > y, _real)
ge_p: Primitive = _comparison("ge", ORDERED, lambda x, y: x >= y, _real)


def _order(x: np.ndarray) -> np.ndarray:
    """Integers whose order is the total order of floats: -nan, -inf, ..., -0, 0, ..., inf, nan."""
    bits = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _total(name: str, ref: Callable[..., Any]) -> Primitive:
    p = elementwise(
        name,
        (FLOAT, FLOAT),
        ref,
        out_dtype=lambda *d: _BOOL,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        samples=binary_samples(F32, BF16, np.float16),
    )
    p.reference = lambda x, y: ref(_order(x), _order(y))
    return p


eq_to_p: Primitive = _total("eq_to", lambda x, y: x == y)
le_to_p: Primitive = _total("le_to", lambda x, y: x <= y)
lt_to_p: Primitive = _total("lt_to", lambda x, y: x < y)

# --- select_n ------------------------------------------------------------------------------


def _select_abstract(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise TypeError("select must have at least one case")
    if not (dtypes.is_bool(which.dtype) or dtypes.is_integer(which.dtype)):
        name = dtypes.dtype_name(which.dtype)
        raise TypeError(f"select `which` must be boolean or integer type, got {name}.")
    if dtypes.is_bool(which.dtype) and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases.")
    shape = cases[0].shape
    if any(c.shape != shape for c in cases):
        got = ", ".join(str(c.shape) for c in cases)
        raise TypeError(f"select cases must have the same shapes, got [{got}].")
    if which.shape and which.shape != shape:
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{which.shape} but case shape {shape}."
        )
    check_same_dtypes("select", cases)
    return ShapedArray(shape, cases[0].dtype, all(c.weak_type for c in cases))


def _select_reference(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if which.dtype == _BOOL:
        return np.where(which, cases[-1], cases[0])
    which = which.astype(np.int64) if which.dtype.itemsize < 8 else which
    index = np.clip(which, 0, len(cases) - 1).astype(np.int64)
    out = np.array(np.broadcast_to(cases[0], cases[0].shape))
    for i, c in enumerate(cases[1:], 1):
        out = np.where(index == i, c, out)
    return out


def _select_jvp(primitive: Any, primals: Any, tangents: Any, params: dict) -> Any:
    which, *cases = primals
    ts = tangents[1:]
    out = select_n_p.bind(which, *cases)
    if all(type(t) is Zero for t in ts):
        return out, Zero.of(out)
    zero = full_like(next(t for t in ts if type(t) is not Zero), 0)
    return out, select_n_p.bind(which, *[zero if type(t) is Zero else t for t in ts])


def _select_transpose(primitive: Any, ct: Any, args: Any, params: dict) -> list[Any]:
    which, *cases = args
    if is_undefined(which):
        raise NotImplementedError("select_n is not linear in which case it selects")
    if type(ct) is Zero:
        return [None, *[Zero(c.aval) if is_undefined(c) else None for c in cases]]
    zero = full_like(ct, 0)
    if dtypes.is_bool(get_aval(which).dtype) or len(cases) == 1:  # type: ignore[attr-defined]
        return [
            None,
            *[
                select_n_p.bind(which, *[ct if i == j else zero for j in range(len(cases))])
                if is_undefined(c)
                else None
                for i, c in enumerate(cases)
            ],
        ]
    out: list[Any] = [None]
    for i, c in enumerate(cases):
        if not is_undefined(c):
            out.append(None)
            continue
        index = np.asarray(i, get_aval(which).dtype)  # type: ignore[attr-defined]
        # the first and last case are selected by what is out of range, too
        test = le_p if i == 0 else ge_p if i == len(cases) - 1 else eq_p
        out.append(select(test.bind(which, index), ct, zero))
    return out


def _select_batch(primitive: Any, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    which, *cases = args
    wd, *cds = dims
    shapes = [np.shape(a) for a in args]
    batched = [(s, d) for s, d in zip(shapes, dims, strict=True) if d is not None]
    if all(b == batched[0] for b in batched) and all(
        d is not None or (i == 0 and not shapes[0]) for i, d in enumerate(dims)
    ):
        return select_n_p.bind(*args), batched[0][1]
    scalar = len(shapes[0]) == (0 if wd is None else 1)
    if not scalar:
        which = move_batch_axis(axis.size, wd, 0, which)
    cases = [move_batch_axis(axis.size, d, 0, c) for c, d in zip(cases, cds, strict=True)]
    shape = np.shape(cases[0])
    if scalar and wd is not None and len(shape) > 1:
        which = ops["broadcast_in_dim"].bind(
            which, shape=shape, broadcast_dimensions=(0,), sharding=None
        )
    return select_n_p.bind(which, *cases), 0


select_n_p: Primitive = Primitive(
    "select_n",
    abstract=_select_abstract,
    reference=_select_reference,
    jvp=_select_jvp,
    transpose=_select_transpose,
    batch=_select_batch,
    evaluate=evaluate_elements,
    samples=lambda: [
        *[
            Sample((w, np.bool_), (s, d), (s, d))
            for w, s in [((3, 4), (3, 4)), ((), (3,)), ((), ()), ((0,), (0,)), ((1,), (1,))]
            for d in EXTREMAL
        ],
        Sample(np.array([0, 1, 2, 1], np.int32), ((4,), F32), ((4,), F32), ((4,), F32)),
        Sample(np.array([-7, 9, 2, 1], np.int8), ((4,), F32), ((4,), F32), ((4,), F32)),
        Sample(
            np.array([200, 0, 2, 1], np.uint8), ((4,), np.int8), ((4,), np.int8), ((4,), np.int8)
        ),
        Sample(np.array(1, np.int32), ((2, 2), F32), ((2, 2), F32)),
        Sample(np.array(0, np.int32), ((2, 2), F32)),
    ],
)

# --- clamp ---------------------------------------------------------------------------------


def _clamp_abstract(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    check_same_dtypes("clamp", (low, x, high))
    for what, a in (("min", low), ("max", high)):
        if a.shape and a.shape != x.shape:
            raise TypeError(
                f"clamp requires {what}.shape == operand.shape or {what}.shape == (), got "
                f"{what}.shape={a.shape}, operand.shape={x.shape}."
            )
    return ShapedArray(x.shape, x.dtype, low.weak_type and x.weak_type and high.weak_type)


def _clamp_reference(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        # limited by the real part alone: a limit is taken whole
        raised = np.where(x.real > low.real, x, low)
        return np.where(raised.real > high.real, high, raised)
    return np.minimum(np.maximum(low, x), high)


def _clamp_jvp(primitive: Any, primals: Any, tangents: Any, params: dict) -> Any:
    low, x, high = primals
    out = clamp_p.bind(low, x, high)
    lt, gt, land = lt_p.bind, gt_p.bind, ops["and"].bind
    masks = (
        lambda: land(gt(low, x), lt(low, high)),
        lambda: land(gt(x, low), lt(x, high)),
        lambda: lt(high, x),
    )
    terms = []
    for t, mask in zip(tangents, masks, strict=True):
        if type(t) is not Zero:
            m = mask()
            shape = np.shape(out)
            if np.shape(t) != shape:
                t = ops["broadcast_in_dim"].bind(
                    t, shape=shape, broadcast_dimensions=(), sharding=None
                )
            terms.append(select(m, t, full_like(out, 0)))
    total: Any = Zero.of(out)
    for term in terms:
        total = add_tangents(total, term)
    return out, total


def _clamp_batch(primitive: Any, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    shapes = [np.shape(a) for a in args]
    batched = [(s, d) for s, d in zip(shapes, dims, strict=True) if d is not None]
    if (
        dims[1] is not None
        and all(b == batched[0] for b in batched)
        and all(d is not None or not s for s, d in zip(shapes, dims, strict=True))
    ):
        return clamp_p.bind(*args), dims[1]
    out = list(args)
    out[1] = move_batch_axis(axis.size, dims[1], 0, args[1])
    shape = np.shape(out[1])
    late = []
    for i in (0, 2):
        if dims[i] is not None and len(shapes[i]) == 1:
            late.append(i)
        elif not shapes[i]:
            out[i] = full(shape, args[i])
        else:
            out[i] = move_batch_axis(axis.size, dims[i], 0, args[i])
    for i in late:
        if len(shape) > 1:
            out[i] = ops["broadcast_in_dim"].bind(
                args[i], shape=shape, broadcast_dimensions=(0,), sharding=None
            )
    return clamp_p.bind(*out), 0


clamp_p: Primitive = Primitive(
    "clamp",
    abstract=_clamp_abstract,
    reference=_clamp_reference,
    jvp=_clamp_jvp,
    transpose=absent("it is not linear"),
    batch=_clamp_batch,
    samples=lambda: [
        *[
            Sample((b, d), (s, d), (b, d), grad=False)
            for s, b in [((3, 4), (3, 4)), ((3, 4), ()), ((), ()), ((0,), (0,))]
            for d in (F32, BF16, np.int32, np.int8, np.uint8, np.bool_)
        ],
        Sample(np.full((3, 4), -1, F32), ((3, 4), F32), np.full((3, 4), 1, F32)),
        Sample(np.float32(-1), ((3, 4), F32), np.float32(0.5)),
        Sample(
            np.float32(-1),
            np.array([-2.0, 0.5, np.nan, 3.0, np.inf], F32),
            np.float32(1),
            grad=False,
        ),
        Sample(np.float32(2), np.array([-2.0, 0.5, 1.5, 3.0], F32), np.float32(1), grad=False),
    ],
)
