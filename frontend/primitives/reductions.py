"""Reductions over axes: sums, products, extrema, logical ones, arguments, and by any function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.eager import as_array, to_numpy
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import Zero, batch_rule, instantiate, operand_jvps, unary_transpose, zero_jvp
from ..core.staging import trace_to_closed
from ..transforms.batching import Axis, batch_flat, move_batch_axis, moves
from ..transforms.jvp import jvp_flat
from .arithmetic import (
    BF16,
    EXTREMAL,
    F16,
    F32,
    NUMBERS,
    div_p,
    mul,
    preferred_zeros,
    with_zero_signs,
)
from .bits import INTEGERS
from .checks import nan_check
from .declare import check_dtype, compute_dtype, const, full, has_no_tangent, ops, reshape
from .slicing import pad_axis, slice_axis
from .structure import broadcast_in_dim, reshape_p, squeeze_p

REDUCED = [
    ((3, 4), (1,)),
    ((3, 4), (0, 1)),
    ((2, 3, 4), (0, 2)),
    ((5,), (0,)),
    ((3,), ()),
    ((), ()),
]
EMPTY = [((0,), (0,)), ((0, 3), (0,)), ((3, 0), (0,))]


def reduced(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without the axes."""
    return tuple(s for i, s in enumerate(shape) if i not in axes)


def check_axes(axes: Sequence[int], aval: ShapedArray) -> None:
    """Raise ValueError where reduction axes are repeated or do not exist."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {tuple(axes)}")
    if any(not 0 <= a < len(aval.shape) for a in axes):
        raise ValueError(
            f"reduction axes {tuple(axes)} contains out-of-bounds indices for "
            f"{aval.strip_weak_type()}."
        )


def shifted(axes: Sequence[int], dim: int) -> tuple[int, ...]:
    """Axes of an element as axes of a batch whose batch axis is `dim`."""
    return tuple(a if a < dim else a + 1 for a in axes)


def kept_position(axes: Sequence[int], dim: int) -> int:
    """Where the axis `dim` is once `axes` are gone."""
    return dim - sum(a < dim for a in axes)


def _reduction_batch(primitive: Primitive, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    (d,) = dims
    axes = shifted(params["axes"], d)
    return primitive.bind(args[0], **{**params, "axes": axes}), kept_position(axes, d)


def _reduction(
    name: str,
    kinds: tuple[str, ...] | None,
    ref: Callable[..., Any],
    jvp: Any,
    ds: Sequence[Any],
    transpose: Any = None,
    extra: dict | None = None,
    empty_gradient: bool = True,
    checked: bool = False,
) -> Primitive:
    """`empty_gradient`: whether reducing no elements is differentiable; `checked`: whether it is
    arithmetic, of which checkify reports NaNs."""
    extra = extra or {}

    def abstract(x: ShapedArray, *, axes: tuple, **params: Any) -> ShapedArray:
        if kinds is None:
            if not (dtypes.is_bool(x.dtype) or dtypes.is_integer(x.dtype)):
                raise TypeError(
                    "logical reduction requires operand dtype bool or int, got "
                    f"{dtypes.dtype_name(x.dtype)}."
                )
        else:
            check_dtype(name, kinds, x.dtype)
        check_axes(axes, x)
        return ShapedArray(reduced(x.shape, axes), x.dtype, x.weak_type)

    def run(x: np.ndarray, *, axes: tuple, **params: Any) -> np.ndarray:
        return ref(x.astype(compute_dtype(x.dtype), copy=False), axes)

    return Primitive(
        name,
        abstract=abstract,
        reference=run,
        jvp=jvp,
        transpose=absent("it is not linear") if transpose is None else transpose,
        batch=_reduction_batch,
        checkify=nan_check if checked else None,
        samples=lambda: [
            Sample((s, d), axes=a, low=-1.5, high=1.5, grad=empty_gradient or 0 not in s, **extra)
            for s, a in REDUCED + EMPTY
            for d in ds
        ],
    )


# --- sum -----------------------------------------------------------------------------------


def _sum_transpose(ct: Any, aval: ShapedArray, *, axes: tuple, out_sharding: Any) -> Any:
    kept = tuple(i for i in range(len(aval.shape)) if i not in axes)
    return broadcast_in_dim(ct, aval.shape, kept) if axes else ct


reduce_sum_p: Primitive = _reduction(
    "reduce_sum",
    ("number",),
    lambda x, axes: np.sum(x, axis=axes, dtype=x.dtype),
    operand_jvps(lambda t, out, x, **p: reduce_sum_p.bind(t, **p)),
    NUMBERS,
    transpose=unary_transpose(_sum_transpose),
    extra={"out_sharding": None},
    checked=True,
)


def sum_over(x: Any, axes: Sequence[int]) -> Any:
    return reduce_sum_p.bind(x, axes=tuple(axes), out_sharding=None)


moves.sum = lambda x, axis: sum_over(x, (axis,))


# --- product -------------------------------------------------------------------------------


def front_flat(x: Any, axes: Sequence[int]) -> Any:
    """`x` with the axes merged into one that comes first."""
    shape = np.shape(x)
    rest = [i for i in range(len(shape)) if i not in axes]
    order = (*axes, *rest)
    sizes = (math.prod(shape[a] for a in axes), *(shape[i] for i in rest))
    if order == tuple(range(len(shape))):
        return x if sizes == shape else reshape(x, sizes)
    return reshape_p.bind(x, new_sizes=sizes, dimensions=order, sharding=None)


def tree_reduce(
    combine: Callable[..., Sequence[Any]],
    units: Sequence[Any],
    xs: Sequence[Any],
    axes: Sequence[int],
) -> list[Any]:
    """Reduce by halves with differentiable operations.

    `combine(*a, *b)` gives the combination of two arrays for each operand; `units` are scalars
    that are neutral, used to make odd lengths even and for empty axes.
    """
    xs = [front_flat(x, axes) for x in xs]
    n = np.shape(xs[0])[0]
    if n == 0:
        return [full(np.shape(x)[1:], as_array(u)) for x, u in zip(xs, units, strict=True)]
    while n > 1:
        half = (n + 1) // 2
        a = [slice_axis(x, 0, half) for x in xs]
        b = [slice_axis(x, half, n) for x in xs]
        if n % 2:
            b = [pad_axis(x, u, (0, 1, 0)) for x, u in zip(b, units, strict=True)]
        xs = list(combine(*a, *b))
        n = half
    return [squeeze_p.bind(x, dimensions=(0,)) for x in xs]


def _prod_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
    """Differentiates the product by halves: correct where factors are zero."""
    if type(tangents[0]) is Zero:
        return zero_jvp(primitive, primals, tangents, params)

    def product(x: Any) -> list[Any]:
        return tree_reduce(lambda a, b: [mul(a, b)], [const(x, 1)], [x], params["axes"])

    (out,), (t,) = jvp_flat(product, primals, tangents)
    return out, t


reduce_prod_p: Primitive = _reduction(
    "reduce_prod",
    ("number",),
    lambda x, axes: np.prod(x, axis=axes, dtype=x.dtype),
    _prod_jvp,
    NUMBERS,
    checked=True,
)

# --- extrema -------------------------------------------------------------------------------


def _extremum_tangent(t: Any, out: Any, x: Any, *, axes: tuple) -> Any:
    """The mean of the tangents at the places where the extremum is."""
    shape = np.shape(x)
    ones = reshape(out, tuple(1 if i in axes else s for i, s in enumerate(shape)))
    here = ops["eq"].bind(x, ones)
    dt = get_aval(t).dtype  # type: ignore[attr-defined]
    mask = ops["convert_element_type"].bind(here, new_dtype=dt, weak_type=False, sharding=None)
    count = sum_over(mask, axes)
    return div_p.bind(sum_over(mul(t, mask), axes), count)


def limits(dtype: Any) -> tuple[Any, Any]:
    """The neutral elements of maximum and minimum: (least, greatest) value."""
    if dtypes.is_bool(dtype):
        return False, True
    if dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        return int(info.min), int(info.max)
    if dtypes.is_complex(dtype):
        return complex(-np.inf, 0), complex(np.inf, 0)
    if dtype in dtypes.float8_types and not np.isinf(np.asarray(np.inf).astype(dtype).astype(F32)):
        info = dtypes.finfo(dtype)
        return float(info.min), float(info.max)
    return -np.inf, np.inf


def _extremum(name: str, ufunc: Any, which: int) -> Primitive:
    def ref(x: np.ndarray, axes: tuple) -> np.ndarray:
        out = ufunc.reduce(x, axis=axes, initial=x.dtype.type(limits(x.dtype)[which]))
        if dtypes.is_float(x.dtype) and (out == 0).any():
            out = with_zero_signs(ufunc, out, preferred_zeros(ufunc, x).any(axis=axes))
        return out

    return _reduction(
        name,
        ("number", "bool"),
        ref,
        operand_jvps(_extremum_tangent),
        EXTREMAL,
        empty_gradient=False,
    )


reduce_max_p: Primitive = _extremum("reduce_max", np.maximum, 0)
reduce_min_p: Primitive = _extremum("reduce_min", np.minimum, 1)

reduce_and_p: Primitive = _reduction(
    "reduce_and",
    None,
    lambda x, axes: np.bitwise_and.reduce(x, axis=axes),
    zero_jvp,
    (*INTEGERS, np.bool_),
)
reduce_or_p: Primitive = _reduction(
    "reduce_or",
    None,
    lambda x, axes: np.bitwise_or.reduce(x, axis=axes),
    zero_jvp,
    (*INTEGERS, np.bool_),
)
reduce_xor_p: Primitive = _reduction(
    "reduce_xor",
    None,
    lambda x, axes: np.bitwise_xor.reduce(x, axis=axes),
    zero_jvp,
    (*INTEGERS, np.bool_),
)

# --- argmax, argmin ------------------------------------------------------------------------


def _arg_reduction(name: str, ref: Callable[..., Any]) -> Primitive:
    def abstract(x: ShapedArray, *, axes: tuple, index_dtype: Any) -> ShapedArray:
        (axis,) = axes
        check_dtype(name, ("integer", "floating", "bool"), x.dtype)
        if not dtypes.is_integer(index_dtype):
            raise TypeError(
                f"index_dtype must be an integer type, but got {dtypes.dtype_name(index_dtype)}"
            )
        if not 0 <= axis < len(x.shape):
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if x.shape[axis] < 1:
            raise ValueError(
                "argmin and argmax require non-empty reduced dimension. "
                f"operand.shape={x.shape} axis={axis}"
            )
        return ShapedArray(reduced(x.shape, axes), index_dtype)

    def run(x: np.ndarray, *, axes: tuple, index_dtype: Any) -> np.ndarray:
        return ref(x.astype(compute_dtype(x.dtype), copy=False), axis=axes[0]).astype(index_dtype)

    return Primitive(
        name,
        abstract=abstract,
        reference=run,
        jvp=zero_jvp,
        transpose=absent("it is not linear"),
        batch=_reduction_batch,
        samples=lambda: [
            *[
                Sample((s, d), axes=a, index_dtype=np.dtype(i))
                for s, a in [((3, 4), (1,)), ((2, 3, 4), (0,)), ((5,), (0,)), ((0, 2), (1,))]
                for d in (F32, BF16, F16, np.int32, np.int8, np.uint8, np.bool_)
                for i in (np.int32, np.uint8)
            ],
            Sample(
                np.array([1.0, np.nan, 3.0, np.nan], F32), axes=(0,), index_dtype=np.dtype(np.int32)
            ),
            Sample(np.array([-0.0, 0.0, -0.0], F32), axes=(0,), index_dtype=np.dtype(np.int32)),
            Sample(np.arange(300, dtype=F32), axes=(0,), index_dtype=np.dtype(np.int8)),
        ],
    )


argmax_p: Primitive = _arg_reduction("argmax", np.argmax)
argmin_p: Primitive = _arg_reduction("argmin", np.argmin)

# --- generic reduce ------------------------------------------------------------------------


def _reduce_abstract(
    *avals: ShapedArray, computation: Any, jaxpr: ClosedJaxpr, dimensions: tuple
) -> list[ShapedArray]:
    n = len(avals) // 2
    xs, units = avals[:n], avals[n:]
    if any(u.shape for u in units):
        raise ValueError(f"reduce found non-scalar initial value: {[u.shape for u in units]}")
    if any(x.shape != xs[0].shape for x in xs):
        raise ValueError(f"reduce requires operands of equal shapes, got {[x.shape for x in xs]}")
    check_axes(dimensions, xs[0])
    outs: list[Any] = list(jaxpr.out_avals)
    if len(outs) != n or any(o.shape or o.dtype != x.dtype for o, x in zip(outs, xs, strict=True)):
        raise TypeError(
            "reduce: the computation must return scalars of the operands' dtypes, got "
            f"{', '.join(map(str, outs))} for operands of {', '.join(str(x) for x in xs)}"
        )
    shape = reduced(xs[0].shape, dimensions)
    return [ShapedArray(shape, x.dtype, x.weak_type) for x in xs]


def _elementwise(jaxpr: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """A computation on scalars applied to arrays of one shape, axis by axis."""
    shape = np.shape(args[0])

    def run(depth: int, *xs: Any) -> list[Any]:
        if depth == len(shape):
            return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *xs)
        n = shape[depth]
        outs, ds = batch_flat(lambda *ys: run(depth + 1, *ys), Axis(n), xs, [0] * len(xs))
        return [move_batch_axis(n, d, 0, o) for o, d in zip(outs, ds, strict=True)]

    return run(0, *args)


def _reduce_reference(
    *args: np.ndarray, computation: Any, jaxpr: ClosedJaxpr, dimensions: tuple
) -> list[np.ndarray]:
    n = len(args) // 2
    avals = jaxpr.in_avals
    xs = []
    for x in args[:n]:
        rest = [i for i in range(x.ndim) if i not in dimensions]
        moved = x.transpose(*dimensions, *rest)
        xs.append(
            moved.reshape(math.prod(x.shape[d] for d in dimensions), *(x.shape[i] for i in rest))
        )
    count, shape = xs[0].shape[0], xs[0].shape[1:]
    acc = [as_array(np.full(shape, u, a.dtype)) for u, a in zip(args[n:], avals, strict=False)]  # type: ignore[attr-defined]
    for i in range(count):
        row = [as_array(np.asarray(x[i], order="C")) for x in xs]
        acc = _elementwise(jaxpr, [*acc, *row])
    return [to_numpy(a) for a in acc]


def _reduce_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
    """Differentiates the reduction by halves; initial values have no tangent."""
    n = len(primals) // 2
    jaxpr, axes = params["jaxpr"], params["dimensions"]
    if any(type(t) is not Zero for t in tangents[n:]):
        raise NotImplementedError("reduce is not differentiable with respect to its initial values")
    if all(type(t) is Zero for t in tangents):
        return zero_jvp(primitive, primals, tangents, params)
    units = primals[n:]

    def run(*xs: Any) -> list[Any]:
        def combine(*ab: Any) -> list[Any]:
            return _elementwise(jaxpr, ab)

        return tree_reduce(combine, units, xs, axes)

    outs, touts = jvp_flat(run, primals[:n], [_inexact_tangent(t) for t in tangents[:n]])
    return outs, touts


def _inexact_tangent(t: Any) -> Any:
    return t if has_no_tangent(t) else instantiate(t)


def _reduce_batch(
    size: int, args: Any, dims: Any, *, computation: Any, jaxpr: ClosedJaxpr, dimensions: tuple
) -> Any:
    n = len(args) // 2
    if any(d is not None for d in dims[n:]):
        raise NotImplementedError("vmap of reduce over batched initial values")
    moved = [move_batch_axis(size, d, 0, a) for a, d in zip(args[:n], dims[:n], strict=True)]
    out = reduce_p.bind(
        *moved,
        *args[n:],
        computation=computation,
        jaxpr=jaxpr,
        dimensions=tuple(d + 1 for d in dimensions),
    )
    return out, [0] * n


def _reduce_samples() -> list[Sample]:
    def scaled(a: Any, b: Any) -> list[Any]:
        return [ops["add"].bind(a, mul(b, const(b, 2)))]

    def both(a: Any, b: Any, c: Any, d: Any) -> list[Any]:
        return [ops["add"].bind(a, c), mul(b, d)]

    s = ShapedArray((), F32)
    one, two = trace_to_closed(scaled, [s, s]), trace_to_closed(both, [s] * 4)
    return [
        *[
            Sample((shape, F32), np.float32(0), computation=scaled, jaxpr=one, dimensions=axes)
            for shape, axes in [((3, 4), (1,)), ((5,), (0,)), ((0, 2), (0,)), ((2, 3), (0, 1))]
        ],
        Sample(
            ((3, 4), F32), ((3, 4), F32), np.float32(0), np.float32(1),
            computation=both, jaxpr=two, dimensions=(1,),
        ),
    ]  # fmt: skip


reduce_p: Primitive = Primitive(
    "reduce",
    abstract=_reduce_abstract,
    reference=_reduce_reference,
    jvp=_reduce_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(_reduce_batch),
    multiple_results=True,
    samples=_reduce_samples,
)
