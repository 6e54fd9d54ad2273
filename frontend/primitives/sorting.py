"""sort (several operands, stable, by several keys) and top_k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray
from ..core.primitive import Primitive, Sample, absent, registry
from ..core.rules import Zero, batch_rule, jvp_rule
from .declare import evaluate_elements, front, reshape
from .gather import GatherDimensionNumbers, GatherScatterMode, gather_p
from .structure import broadcast_in_dim


def sort_keys(x: np.ndarray) -> list[np.ndarray]:
    """Integer or float keys, most significant first, whose order is the sorting order of `x`.

    NaNs come last whatever their sign, negative and positive zero are equal, complex numbers are
    ordered by real, then imaginary part.
    """
    if x.dtype.kind == "c":
        return [*sort_keys(x.real), *sort_keys(x.imag)]
    if dtypes.is_float(x.dtype):
        f = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        nan = np.isnan(f)
        return [nan.astype(np.int8), np.where(nan, 0, f)] if nan.any() else [f]
    if x.dtype in (dtypes.int4, dtypes.uint4):
        return [x.astype(np.int8)]
    return [x]


def sort_order(keys: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Indices that sort stably by the keys, the first being the most significant."""
    parts = [k for x in keys for k in sort_keys(x)]
    if len(parts) == 1:
        return np.argsort(parts[0], axis=axis, kind="stable")
    return np.lexsort([np.asarray(p) for p in reversed(parts)], axis=axis)


def _sort_abstract(
    *args: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    shape = args[0].shape
    if any(a.shape != shape for a in args):
        raise TypeError(
            f"Arguments to sort must have equal shapes, got: {' '.join(str(a.shape) for a in args)}"
        )
    return list(args)


def _sort_reference(
    *args: np.ndarray, dimension: int, is_stable: bool, num_keys: int
) -> list[np.ndarray]:
    order = sort_order(args[:num_keys], dimension)
    return [np.take_along_axis(a, order, axis=dimension) for a in args]


def _along(x: Any, indices: Any, axis: int) -> Any:
    """take_along_axis for indices of the same rank, in bounds."""
    shape = np.shape(indices)
    if 0 in shape:
        return x
    rank = len(shape)
    batch = tuple(i for i in range(rank) if i != axis)
    dn = GatherDimensionNumbers((), (axis,), (axis,), batch, batch)
    vectors = broadcast_in_dim(indices, (*shape, 1), tuple(range(rank)))
    return gather_p.bind(
        x,
        vectors,
        dimension_numbers=dn,
        slice_sizes=(1,) * rank,
        unique_indices=False,
        indices_are_sorted=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def _sort_jvp(
    primals: Any, tangents: Any, *, dimension: int, is_stable: bool, num_keys: int
) -> Any:
    shape = np.shape(primals[0])
    n = shape[dimension]
    dt = np.dtype(np.uint32) if n < 2**32 else np.dtype(np.uint64)
    line = registry["iota"].bind(dtype=dt, shape=shape, dimension=dimension, sharding=None)
    *outs, order = sort_p.bind(
        *primals, line, dimension=dimension, is_stable=is_stable, num_keys=num_keys
    )
    touts = [
        Zero.of(o) if type(t) is Zero else _along(t, order, dimension)
        for o, t in zip(outs, tangents, strict=True)
    ]
    return outs, touts


def _sort_batch(
    size: int, args: Any, dims: Any, *, dimension: int, is_stable: bool, num_keys: int
) -> Any:
    from ..transforms.batching import moves

    d = dims[0]
    if d is not None and all(e == d for e in dims):
        k = dimension if dimension < d else dimension + 1
        outs = sort_p.bind(*args, dimension=k, is_stable=is_stable, num_keys=num_keys)
        return outs, [d] * len(outs)
    full = [
        moves.broadcast(a, size, 0) if d is None else front(a, d)
        for a, d in zip(args, dims, strict=True)
    ]
    outs = sort_p.bind(*full, dimension=dimension + 1, is_stable=is_stable, num_keys=num_keys)
    return outs, [0] * len(outs)


def _sort_samples() -> list[Sample]:
    out = []
    for d in (np.float32, dtypes.bfloat16, np.int8, np.uint32, np.bool_, np.complex64):
        out.append(Sample(((4, 5), d), dimension=1, is_stable=True, num_keys=1))
        out.append(Sample(((4, 5), d), dimension=0, is_stable=True, num_keys=1))
    special = np.array([1.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, -1.0], np.float32)
    out.append(Sample(special, dimension=0, is_stable=True, num_keys=1, grad=False))
    keys = np.array([2, 1, 2, 1, 0], np.int32)
    out.append(
        Sample(keys, ((5,), np.float32), dimension=0, is_stable=True, num_keys=1, grad=False)
    )
    out.append(
        Sample(
            keys,
            ((5,), np.float32),
            np.arange(5, dtype=np.int32),
            dimension=0,
            is_stable=True,
            num_keys=2,
            grad=False,
        )
    )
    out.append(Sample(((0, 3), np.float32), dimension=1, is_stable=True, num_keys=1))
    out.append(Sample(((1,), np.float32), dimension=0, is_stable=False, num_keys=1))
    return out


sort_p = Primitive(
    "sort",
    multiple_results=True,
    abstract=_sort_abstract,
    reference=_sort_reference,
    jvp=jvp_rule(_sort_jvp),
    transpose=absent("it is not linear"),
    batch=batch_rule(_sort_batch),
    evaluate=evaluate_elements,
    samples=_sort_samples,
)


# --- top_k ---------------------------------------------------------------------------------


def _top_k_abstract(x: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if dtypes.is_complex(x.dtype):
        raise ValueError("top_k is not compatible with complex inputs.")
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if not x.shape:
        raise TypeError("top_k operand must have >= 1 dimension, got ()")
    if not 0 <= axis < len(x.shape):
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {len(x.shape)}")
    if x.shape[axis] < k:
        raise ValueError(
            f"k argument to top_k must be no larger than size along axis; got {k=} with shape={x.shape} and axis={axis}"
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, np.int32)]


def top_k_order(x: np.ndarray, axis: int) -> np.ndarray:
    """Indices from the largest element to the smallest; equal elements in order of position.

    Elements are compared in total order: positive NaNs are largest, negative NaNs smallest.
    """
    if dtypes.is_float(x.dtype):
        bits = {2: np.int16, 4: np.int32, 8: np.int64, 1: np.int8}[x.dtype.itemsize]
        v = np.ascontiguousarray(x).view(bits).astype(np.int64)
        top = np.int64(np.iinfo(bits).min)
        key = np.where(v < 0, -(v & ~top) - 1, v)
    else:
        key = x.astype(np.int64) if x.dtype != np.uint64 else x
    if key.dtype == np.uint64:
        inverted = np.iinfo(np.uint64).max - key
    else:
        inverted = ~key
    return np.argsort(inverted, axis=axis, kind="stable")


def _top_k_reference(x: np.ndarray, *, k: int, axis: int) -> list[np.ndarray]:
    order = np.take(top_k_order(x, axis), np.arange(k), axis=axis)
    return [np.take_along_axis(x, order, axis=axis), order.astype(np.int32)]


def _top_k_jvp(primals: Any, tangents: Any, *, k: int, axis: int) -> Any:
    (x,), (t,) = primals, tangents
    values, indices = top_k_p.bind(x, k=k, axis=axis)
    if type(t) is Zero:
        return [values, indices], [Zero.of(values), Zero.of(indices)]
    shape = np.shape(indices)
    batch = tuple(i for i in range(len(shape)) if i != axis)
    dn = GatherDimensionNumbers((), (axis,), (axis,), batch, batch)
    tangent = gather_p.bind(
        t,
        reshape(indices, (*shape, 1)),
        dimension_numbers=dn,
        slice_sizes=(1,) * len(shape),
        unique_indices=False,
        indices_are_sorted=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )
    return [values, indices], [tangent, Zero.of(indices)]


def _top_k_batch(size: int, args: Any, dims: Any, *, k: int, axis: int) -> Any:
    (x,), (d,) = args, dims
    new_axis = axis if axis < d else axis + 1
    return top_k_p.bind(x, k=k, axis=new_axis), [d, d]


top_k_p = Primitive(
    "top_k",
    multiple_results=True,
    abstract=_top_k_abstract,
    reference=_top_k_reference,
    jvp=jvp_rule(_top_k_jvp),
    transpose=absent("it is not linear"),
    batch=batch_rule(_top_k_batch),
    params_text=lambda eqn: {"axis": eqn.params["axis"], "k": eqn.params["k"]},
    samples=lambda: (
        [
            Sample((s, d), k=k, axis=a)
            for s, k, a in [
                ((3, 6), 2, 1),
                ((6, 3), 4, 0),
                ((5,), 5, 0),
                ((5,), 0, 0),
                ((1,), 1, 0),
            ]
            for d in (np.float32, dtypes.bfloat16, np.int8, np.uint32)
        ]
        + [
            Sample(
                np.array([1.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, 1.0], np.float32),
                k=8,
                axis=0,
                grad=False,
            )
        ]
    ),
)
