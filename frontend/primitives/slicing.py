"""Primitives that cut arrays apart and put them together along axes.

slice, pad, concatenate, rev, split, tile, stack, unstack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample
from ..core.rules import Zero, batch_rule, instantiate, is_undefined, linear_jvp, unary_transpose
from ..transforms.batching import move_batch_axis
from .declare import check_same_dtypes, const, evaluate_elements, full, ops, reshape
from .structure import MOVED, check_nonnegative, reduce_sum

F32 = np.float32

# --- slice ---------------------------------------------------------------------------------


def _slice_abstract(
    x: ShapedArray, *, start_indices: tuple, limit_indices: tuple, strides: tuple | None
) -> ShapedArray:
    shape, n = x.shape, len(x.shape)
    for what, v in (("start_indices", start_indices), ("limit_indices", limit_indices)):
        if len(v) != n:
            raise TypeError(
                f"slice {what} must have length equal to the number of dimensions of the operand, "
                f"got indices {v} for operand shape {shape}."
            )
    check_nonnegative("slice", "start_indices", start_indices)
    if any(hi > s for hi, s in zip(limit_indices, shape, strict=True)):
        raise TypeError(
            "slice limit_indices must be less than or equal to operand shape, got limit_indices "
            f"{limit_indices} for operand shape {shape}."
        )
    if any(hi < lo for lo, hi in zip(start_indices, limit_indices, strict=True)):
        raise TypeError(
            "slice limit_indices must be greater than or equal to start_indices, got start_indices "
            f"{start_indices} and limit_indices {limit_indices}."
        )
    if strides is None:
        out = tuple(hi - lo for lo, hi in zip(start_indices, limit_indices, strict=True))
        return ShapedArray(out, x.dtype, x.weak_type)
    if len(strides) != n:
        raise TypeError(
            "slice strides must have length equal to the number of dimensions of the operand, got "
            f"strides {strides} for operand shape {shape}."
        )
    if any(s <= 0 for s in strides):
        raise TypeError(f"slice strides must be positive, got {strides}.")
    out = tuple(
        -(-(hi - lo) // s) for lo, hi, s in zip(start_indices, limit_indices, strides, strict=True)
    )
    return ShapedArray(out, x.dtype, x.weak_type)


def _slice_reference(
    x: np.ndarray, *, start_indices: tuple, limit_indices: tuple, strides: tuple | None
) -> np.ndarray:
    steps = strides or (1,) * len(start_indices)
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def _slice_transpose(
    ct: Any,
    aval: ShapedArray,
    *,
    start_indices: tuple,
    limit_indices: tuple,
    strides: tuple | None,
) -> Any:
    config = []
    sizes = np.shape(ct)
    for i, (lo, s) in enumerate(zip(start_indices, aval.shape, strict=True)):
        step = strides[i] if strides else 1
        used = (sizes[i] - 1) * step + 1 if sizes[i] else 0
        config.append((lo, s - lo - used, step - 1))
    return pad_p.bind(ct, const(ct, 0), padding_config=tuple(config))


def _slice_batch(
    size: int,
    args: Any,
    dims: Any,
    *,
    start_indices: tuple,
    limit_indices: tuple,
    strides: tuple | None,
) -> Any:
    (d,) = dims

    def insert(v: tuple, value: int) -> tuple:
        return (*v[:d], value, *v[d:])

    out = slice_p.bind(
        args[0],
        start_indices=insert(start_indices, 0),
        limit_indices=insert(limit_indices, size),
        strides=None if strides is None else insert(strides, 1),
    )
    return out, d


slice_p: Primitive = Primitive(
    "slice",
    abstract=_slice_abstract,
    reference=_slice_reference,
    jvp=linear_jvp,
    transpose=unary_transpose(_slice_transpose),
    batch=batch_rule(_slice_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), start_indices=lo, limit_indices=hi, strides=st)
        for s, lo, hi, st in [
            ((3, 4), (0, 1), (2, 4), (1, 2)),
            ((3, 4), (1, 1), (3, 3), None),
            ((7,), (1,), (6,), (3,)),
            ((5,), (2,), (2,), None),
            ((4,), (0,), (4,), (4,)),
            ((0, 2), (0, 0), (0, 1), None),
            ((), (), (), None),
        ]
        for d in MOVED
    ],
)

# --- pad -----------------------------------------------------------------------------------


def _pad_abstract(x: ShapedArray, value: ShapedArray, *, padding_config: tuple) -> ShapedArray:
    if x.dtype != value.dtype:
        raise TypeError(
            f"pad operand and padding_value must be same dtype: got {x.dtype} and {value.dtype}."
        )
    if value.shape:
        raise ValueError(
            f"padding_value must be a scalar; got np.shape(padding_value)={value.shape}"
        )
    if len(padding_config) != len(x.shape):
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got padding_config "
            f"{padding_config} for operand shape {x.shape}"
        )
    if any(i < 0 for _, _, i in padding_config):
        raise ValueError(
            "interior padding in padding_config must be nonnegative, got padding_config "
            f"{padding_config}"
        )
    shape = tuple(
        lo + hi + s + max(s - 1, 0) * i
        for s, (lo, hi, i) in zip(x.shape, padding_config, strict=True)
    )
    if any(s < 0 for s in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {x.shape}"
        )
    return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)


def _pad_reference(x: np.ndarray, value: np.ndarray, *, padding_config: tuple) -> np.ndarray:
    # all positive padding first, then cut what is negative
    shape, here, cut = [], [], []
    for s, (lo, hi, i) in zip(x.shape, padding_config, strict=True):
        inner = s + max(s - 1, 0) * i
        before, after = max(lo, 0), max(hi, 0)
        shape.append(before + inner + after)
        here.append(slice(before, before + inner, i + 1))
        cut.append(slice(max(-lo, 0), before + inner + after - max(-hi, 0)))
    out = np.empty(shape, x.dtype)
    out[...] = value
    out[tuple(here)] = x
    return out[tuple(cut)]


def _pad_transpose(primitive: Any, ct: Any, args: Any, params: dict) -> list[Any]:
    x, value = args
    if type(ct) is Zero:
        return [Zero(a.aval) if is_undefined(a) else None for a in args]
    config = params["padding_config"]
    xaval: Any = x.aval if is_undefined(x) else get_aval(x)
    negative = tuple((-lo, -hi, 0) for lo, hi, _ in config)
    cut = pad_p.bind(ct, const(ct, 0), padding_config=negative)
    inner = slice_p.bind(
        cut,
        start_indices=(0,) * len(config),
        limit_indices=np.shape(cut),
        strides=tuple(i + 1 for _, _, i in config),
    )
    if not is_undefined(value):
        return [inner, None]
    axes = tuple(range(len(config)))
    rest = ops["sub"].bind(reduce_sum(ct, axes), reduce_sum(inner, axes))
    assert np.shape(inner) == xaval.shape
    return [inner if is_undefined(x) else None, rest]


def _pad_batch(size: int, args: Any, dims: Any, *, padding_config: tuple) -> Any:
    x, value = args
    xd, vd = dims
    if vd is None:
        config = (*padding_config[:xd], (0, 0, 0), *padding_config[xd:])
        return pad_p.bind(x, value, padding_config=config), xd
    # a value for each element of the batch: pad with zeros, and choose by a padded mask
    d = 0 if xd is None else xd
    x = move_batch_axis(size, xd, d, x)
    config = (*padding_config[:d], (0, 0, 0), *padding_config[d:])
    padded = pad_p.bind(x, const(x, 0), padding_config=config)
    true, false = np.asarray(True), np.asarray(False)
    mask = pad_p.bind(full(np.shape(x), true), false, padding_config=config)
    shape = np.shape(padded)
    if len(shape) > 1:
        value = ops["broadcast_in_dim"].bind(
            value, shape=shape, broadcast_dimensions=(d,), sharding=None
        )
    return ops["select_n"].bind(mask, value, padded), d


pad_p: Primitive = Primitive(
    "pad",
    abstract=_pad_abstract,
    reference=_pad_reference,
    jvp=linear_jvp,
    transpose=_pad_transpose,
    batch=batch_rule(_pad_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), ((), d), padding_config=c)
        for s, c in [
            ((3, 4), ((1, 2, 1), (-1, 0, 0))),
            ((3,), ((0, 0, 2),)),
            ((4,), ((-1, -1, 2),)),
            ((4,), ((-3, 2, 0),)),
            ((0,), ((1, 2, 3),)),
            ((1,), ((1, 0, 3),)),
            ((2, 2), ((0, 0, 0), (0, -2, 0))),
            ((), ()),
        ]
        for d in MOVED
    ],
)

# --- concatenate, split --------------------------------------------------------------------


def _concatenate_abstract(*avals: ShapedArray, dimension: int) -> ShapedArray:
    if not avals:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    shapes = ", ".join(str(a.shape) for a in avals)
    if len({len(a.shape) for a in avals}) > 1:
        raise TypeError(
            f"Cannot concatenate arrays with different numbers of dimensions: got {shapes}."
        )
    if not 0 <= dimension < len(avals[0].shape):
        raise TypeError(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes {shapes}."
        )
    if len({(*a.shape[:dimension], *a.shape[dimension + 1 :]) for a in avals}) > 1:
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {dimension} for shapes {shapes}."
        )
    check_same_dtypes("concatenate", avals)
    first = avals[0].shape
    total = sum(a.shape[dimension] for a in avals)
    return ShapedArray(
        (*first[:dimension], total, *first[dimension + 1 :]),
        avals[0].dtype,
        all(a.weak_type for a in avals),
    )


def _operands_jvp(primitive: Any, primals: Any, tangents: Any, params: dict) -> Any:
    out = primitive.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents):
        return out, Zero.of(out)
    return out, primitive.bind(*map(instantiate, tangents), **params)


def _concatenate_transpose(primitive: Any, ct: Any, args: Any, params: dict) -> list[Any]:
    dim = params["dimension"]
    if type(ct) is Zero:
        return [Zero(a.aval) if is_undefined(a) else None for a in args]
    sizes = tuple((a.aval.shape if is_undefined(a) else np.shape(a))[dim] for a in args)
    parts = split_p.bind(ct, sizes=sizes, axis=dim)
    return [p if is_undefined(a) else None for p, a in zip(parts, args, strict=True)]


def _concatenate_batch(size: int, args: Any, dims: Any, *, dimension: int) -> Any:
    moved = [move_batch_axis(size, d, 0, a) for a, d in zip(args, dims, strict=True)]
    return _joined(moved, dimension + 1), 0


def _joined(xs: Sequence[Any], dimension: int) -> Any:
    """Concatenation; nothing is done to a single array."""
    return xs[0] if len(xs) == 1 else concatenate_p.bind(*xs, dimension=dimension)


concatenate_p: Primitive = Primitive(
    "concatenate",
    abstract=_concatenate_abstract,
    reference=lambda *xs, dimension: np.concatenate(xs, axis=dimension),
    jvp=_operands_jvp,
    transpose=_concatenate_transpose,
    batch=batch_rule(_concatenate_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample(*((s, d) for s in shapes), dimension=k)
        for shapes, k in [
            (((3,), (2,)), 0),
            (((3, 1), (3, 2), (3, 0)), 1),
            (((1, 4), (2, 4)), 0),
            (((2,),), 0),
            (((0,), (0,)), 0),
        ]
        for d in MOVED
    ],
)


def _split_abstract(x: ShapedArray, *, sizes: tuple, axis: int) -> list[ShapedArray]:
    if not 0 <= axis < len(x.shape):
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {len(x.shape)}")
    if any(s < 0 for s in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
            f"{list(x.shape)}"
        )
    return [
        ShapedArray((*x.shape[:axis], s, *x.shape[axis + 1 :]), x.dtype, x.weak_type) for s in sizes
    ]


def _split_reference(x: np.ndarray, *, sizes: tuple, axis: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes[:-1]).astype(int), axis=axis)


def _split_transpose(primitive: Any, cts: Any, args: Any, params: dict) -> list[Any]:
    if all(type(c) is Zero for c in cts):
        return [Zero(args[0].aval)]
    return [_joined([instantiate(c) for c in cts], params["axis"])]


def _split_batch(size: int, args: Any, dims: Any, *, sizes: tuple, axis: int) -> Any:
    (d,) = dims
    out = split_p.bind(args[0], sizes=sizes, axis=axis if axis < d else axis + 1)
    return out, [d] * len(out)


split_p: Primitive = Primitive(
    "split",
    abstract=_split_abstract,
    reference=_split_reference,
    jvp=linear_jvp,
    transpose=_split_transpose,
    batch=batch_rule(_split_batch),
    evaluate=evaluate_elements,
    multiple_results=True,
    samples=lambda: [
        Sample((s, d), sizes=sizes, axis=k)
        for s, sizes, k in [
            ((3, 4), (1, 3), 1),
            ((5,), (2, 0, 3), 0),
            ((4,), (4,), 0),
            ((0,), (0, 0), 0),
        ]
        for d in MOVED
    ],
)

# --- rev, tile -----------------------------------------------------------------------------


def _rev_abstract(x: ShapedArray, *, dimensions: tuple) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    check_nonnegative("rev", "dimensions", dimensions)
    if any(d >= len(x.shape) for d in dimensions):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {dimensions} for "
            f"operand ndim {len(x.shape)}."
        )
    return x


def _rev_batch(size: int, args: Any, dims: Any, *, dimensions: tuple) -> Any:
    (d,) = dims
    return rev_p.bind(args[0], dimensions=tuple(i if i < d else i + 1 for i in dimensions)), d


rev_p: Primitive = Primitive(
    "rev",
    abstract=_rev_abstract,
    reference=lambda x, *, dimensions: np.flip(x, dimensions),
    jvp=linear_jvp,
    transpose=unary_transpose(
        lambda ct, aval, *, dimensions: rev_p.bind(ct, dimensions=dimensions)
    ),
    batch=batch_rule(_rev_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), dimensions=k)
        for s, k in [((3, 4), (0,)), ((3, 4), (1, 0)), ((3,), (0,)), ((0,), (0,)), ((2,), ())]
        for d in MOVED
    ],
)


def _tile_abstract(x: ShapedArray, *, reps: tuple) -> ShapedArray:
    if len(reps) != len(x.shape):
        raise TypeError(
            "reps length must be equal to the ndim of x, got "
            f"len(reps)={len(reps)} and x.ndim={len(x.shape)}."
        )
    if any(r < 0 for r in reps):
        raise TypeError(f"reps must be nonnegative, got {reps}.")
    return ShapedArray(
        tuple(s * r for s, r in zip(x.shape, reps, strict=True)), x.dtype, x.weak_type
    )


def _tile_transpose(ct: Any, aval: ShapedArray, *, reps: tuple) -> Any:
    sizes = tuple(n for r, s in zip(reps, aval.shape, strict=True) for n in (r, s))
    return reduce_sum(reshape(ct, sizes), range(0, len(sizes), 2))


def _tile_batch(size: int, args: Any, dims: Any, *, reps: tuple) -> Any:
    (d,) = dims
    return tile_p.bind(args[0], reps=(*reps[:d], 1, *reps[d:])), d


tile_p: Primitive = Primitive(
    "tile",
    abstract=_tile_abstract,
    reference=lambda x, *, reps: np.tile(x, reps),
    jvp=linear_jvp,
    transpose=unary_transpose(_tile_transpose),
    batch=batch_rule(_tile_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), reps=r)
        for s, r in [((3, 4), (2, 3)), ((3,), (1,)), ((2, 1), (0, 2)), ((0,), (3,)), ((), ())]
        for d in MOVED
    ],
)

# --- stack, unstack ------------------------------------------------------------------------


def _stack_abstract(*avals: ShapedArray, axis: int) -> ShapedArray:
    if not avals:
        raise ValueError("stack requires a non-empty sequence of arrays")
    shape = avals[0].shape
    shapes = ", ".join(str(a.shape) for a in avals)
    if len({len(a.shape) for a in avals}) > 1:
        raise ValueError(f"Cannot stack arrays with different numbers of dimensions: got {shapes}.")
    if any(a.shape != shape for a in avals):
        raise ValueError(f"Cannot stack arrays with different shapes: got {shapes}.")
    if not 0 <= axis <= len(shape):
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {len(shape) + 1}")
    check_same_dtypes("stack", avals)
    return ShapedArray(
        (*shape[:axis], len(avals), *shape[axis:]),
        avals[0].dtype,
        all(a.weak_type for a in avals),
    )


def _stack_transpose(primitive: Any, ct: Any, args: Any, params: dict) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(a.aval) if is_undefined(a) else None for a in args]
    parts = unstack_p.bind(ct, axis=params["axis"])
    return [p if is_undefined(a) else None for p, a in zip(parts, args, strict=True)]


def _stack_batch(size: int, args: Any, dims: Any, *, axis: int) -> Any:
    d = dims[0]
    if d is not None and all(e == d for e in dims):
        if axis <= d:
            return stack_p.bind(*args, axis=axis), d + 1
        return stack_p.bind(*args, axis=axis + 1), d
    moved = [move_batch_axis(size, e, 0, a) for a, e in zip(args, dims, strict=True)]
    return stack_p.bind(*moved, axis=axis + 1), 0


stack_p: Primitive = Primitive(
    "stack",
    abstract=_stack_abstract,
    reference=lambda *xs, axis: np.stack(xs, axis=axis),
    jvp=_operands_jvp,
    transpose=_stack_transpose,
    batch=batch_rule(_stack_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample(*[(s, d)] * n, axis=k)
        for s, n, k in [((3,), 2, 0), ((3, 2), 3, 2), ((), 2, 0), ((0,), 2, 1), ((2,), 1, 0)]
        for d in MOVED
    ],
)


def _unstack_abstract(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    if not 0 <= axis < len(x.shape):
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {len(x.shape)}")
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [ShapedArray(shape, x.dtype, x.weak_type)] * x.shape[axis]


def _unstack_transpose(primitive: Any, cts: Any, args: Any, params: dict) -> list[Any]:
    if all(type(c) is Zero for c in cts):
        return [Zero(args[0].aval)]
    return [stack_p.bind(*map(instantiate, cts), axis=params["axis"])]


def _unstack_batch(size: int, args: Any, dims: Any, *, axis: int) -> Any:
    (d,) = dims
    a = axis if axis < d else axis + 1
    out = unstack_p.bind(args[0], axis=a)
    return out, [d if d < a else d - 1] * len(out)


unstack_p: Primitive = Primitive(
    "unstack",
    abstract=_unstack_abstract,
    reference=lambda x, *, axis: list(np.moveaxis(x, axis, 0)),
    jvp=linear_jvp,
    transpose=_unstack_transpose,
    batch=batch_rule(_unstack_batch),
    evaluate=evaluate_elements,
    multiple_results=True,
    samples=lambda: [
        Sample((s, d), axis=k)
        for s, k in [((3, 4), 1), ((3, 4), 0), ((2,), 0), ((1, 0), 0)]
        for d in MOVED
    ],
)


def slice_axis(x: Any, start: int, limit: int, stride: int = 1, axis: int = 0) -> Any:
    """A slice along one axis."""
    shape: Sequence[int] = np.shape(x)
    lo, hi, st = [0] * len(shape), list(shape), [1] * len(shape)
    lo[axis], hi[axis], st[axis] = start, limit, stride
    return slice_p.bind(x, start_indices=tuple(lo), limit_indices=tuple(hi), strides=tuple(st))


def pad_axis(x: Any, value: Any, config: tuple[int, int, int], axis: int = 0) -> Any:
    """Padding along one axis."""
    n = len(np.shape(x))
    return pad_p.bind(
        x, value, padding_config=tuple(config if i == axis else (0, 0, 0) for i in range(n))
    )


def size_of(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Number of elements along axes."""
    return math.prod(shape[a] for a in axes)
