"""Primitives that rearrange whole arrays: broadcast, reshape, transpose, squeeze, iota, copies.

They also provide the sums, zeros and axis moves that differentiation and batching need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes
from ..core.avals import ShapedArray
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import (
    batch_rule,
    linear_jvp,
    operand_transposes,
    unary_transpose,
    vspace,
    zero_jvp,
)
from ..core.trace import Tracer
from ..transforms.batching import moves
from ..transforms.jet import conversion
from .declare import (
    batch_elementwise,
    check_dtype,
    elementwise_shape,
    evaluate_elements,
    front,
    full,
    ops,
    reshape,
)

F32 = np.float32
MOVED = (
    F32,
    "bfloat16",
    np.int8,
    np.bool_,
    np.complex64,
)  #: dtypes of samples of moving primitives


def check_nonnegative(name: str, what: str, dims: Sequence[int]) -> None:
    """Raise TypeError where a shape or index parameter has a negative element."""
    if any(d < 0 for d in dims):
        raise TypeError(f"{name} {what} must have every element be nonnegative, got {tuple(dims)}.")


# --- broadcast_in_dim ----------------------------------------------------------------------


def _broadcast_abstract(
    x: ShapedArray, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> ShapedArray:
    name, dims = "broadcast_in_dim", broadcast_dimensions
    check_nonnegative(name, "shape", shape)
    check_nonnegative(name, "broadcast_dimensions", dims)
    if len(dims) != len(x.shape):
        raise TypeError(
            f"{name} broadcast_dimensions must have length equal to operand ndim; got "
            f"broadcast_dimensions {dims} for operand ndim {len(x.shape)}."
        )
    if any(d >= len(shape) for d in dims):
        raise TypeError(
            f"{name} broadcast_dimensions must be a subset of output dimensions, got {dims} for "
            f"operand ndim {len(x.shape)} and shape {shape}."
        )
    if len(set(dims)) != len(dims):
        raise TypeError(
            f"{name} broadcast_dimensions must not contain duplicates, got "
            f"broadcast_dimensions {dims}"
        )
    if any(s not in (1, shape[d]) for s, d in zip(x.shape, dims, strict=True)):
        raise TypeError(
            f"{name} operand dimension sizes must either be 1, or be equal to their corresponding "
            f"dimensions in the target broadcast shape; got operand of shape {x.shape}, target "
            f"broadcast shape {shape}, broadcast_dimensions {dims}"
        )
    return ShapedArray(shape, x.dtype, x.weak_type)


def _broadcast_reference(
    x: np.ndarray, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> np.ndarray:
    if not x.ndim:
        out = np.empty(shape, x.dtype)
        out[...] = x
        return out
    order = sorted(range(x.ndim), key=broadcast_dimensions.__getitem__)
    sizes = [1] * len(shape)
    for i, d in enumerate(broadcast_dimensions):
        sizes[d] = x.shape[i]
    return np.broadcast_to(x.transpose(order).reshape(sizes), shape)


def _broadcast_transpose(
    ct: Any, aval: ShapedArray, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> Any:
    kept = [d for d, s in zip(broadcast_dimensions, aval.shape, strict=True) if s == shape[d]]
    axes = tuple(i for i in range(len(shape)) if i not in kept)
    out = reduce_sum(ct, axes) if axes else ct
    if tuple(sorted(kept)) != tuple(kept):
        order = sorted(kept)
        out = transpose(out, tuple(order.index(d) for d in kept))
    if np.shape(out) != aval.shape:
        dims = tuple(
            i
            for i, (d, s) in enumerate(zip(broadcast_dimensions, aval.shape, strict=True))
            if s == shape[d]
        )
        out = broadcast_in_dim(out, aval.shape, dims)
    return out


def _broadcast_batch(
    size: int, args: Any, dims: Any, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> Any:
    x = front(args[0], dims[0])
    return broadcast_in_dim(x, (size, *shape), (0, *(d + 1 for d in broadcast_dimensions))), 0


def _broadcast_stage(primitive: Primitive, trace: Any, args: Any, params: dict) -> Any:
    """No equation where nothing changes."""
    (x,) = args
    if isinstance(x, Tracer) and x.shape == params["shape"]:
        if params["broadcast_dimensions"] == tuple(range(x.ndim)):
            return x
    return trace.default_process(primitive, args, params)


def _broadcast_text(eqn: Any) -> dict:
    dims = eqn.params["broadcast_dimensions"]
    return {"broadcast_dimensions": dims} if dims else {}


broadcast_in_dim_p: Primitive = Primitive(
    "broadcast_in_dim",
    free=True,
    abstract=_broadcast_abstract,
    reference=_broadcast_reference,
    jvp=linear_jvp,
    transpose=unary_transpose(_broadcast_transpose),
    batch=batch_rule(_broadcast_batch),
    evaluate=evaluate_elements,
    params_text=_broadcast_text,
    stage=_broadcast_stage,
    samples=lambda: [
        Sample((s, d), shape=shape, broadcast_dimensions=bd, sharding=None)
        for s, shape, bd in [
            ((), (2, 3), ()),
            ((3,), (2, 3), (1,)),
            ((3, 4), (2, 3, 4), (1, 2)),
            ((1, 4), (3, 4), (0, 1)),
            ((3, 2), (2, 3), (1, 0)),
            ((0,), (2, 0), (1,)),
            ((1,), (0, 3), (0,)),
            ((1,), (1,), (0,)),
        ]
        for d in MOVED
    ],
)


def broadcast_in_dim(x: Any, shape: Sequence[int], dims: Sequence[int]) -> Any:
    """Axis i of `x` becomes axis `dims[i]` of the result; the other axes repeat."""
    return broadcast_in_dim_p.bind(
        x, shape=tuple(shape), broadcast_dimensions=tuple(dims), sharding=None
    )


# --- reshape -------------------------------------------------------------------------------


def _reshape_abstract(
    x: ShapedArray, *, new_sizes: tuple, dimensions: tuple | None, sharding: Any
) -> ShapedArray:
    if any(d < 0 for d in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if math.prod(new_sizes) != math.prod(x.shape):
        raise TypeError(
            f"reshape total size must be unchanged, got new_sizes {new_sizes} "
            f"(size {math.prod(new_sizes)}) for shape {x.shape} (size {math.prod(x.shape)})."
        )
    if dimensions is not None and sorted(dimensions) != list(range(len(x.shape))):
        raise TypeError(
            "reshape dimensions must be a permutation of operand dimensions, got dimensions "
            f"{dimensions} for shape {x.shape}."
        )
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


def _reshape_reference(
    x: np.ndarray, *, new_sizes: tuple, dimensions: tuple | None, sharding: Any
) -> np.ndarray:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def _reshape_transpose(
    ct: Any, aval: ShapedArray, *, new_sizes: tuple, dimensions: tuple | None, sharding: Any
) -> Any:
    if dimensions is None:
        return reshape(ct, aval.shape)
    out = reshape(ct, tuple(aval.shape[d] for d in dimensions))
    return transpose(out, tuple(np.argsort(dimensions).tolist()))


def _reshape_batch(
    size: int, args: Any, dims: Any, *, new_sizes: tuple, dimensions: tuple | None, sharding: Any
) -> Any:
    x = front(args[0], dims[0])
    order = None if dimensions is None else (0, *(d + 1 for d in dimensions))
    out = reshape_p.bind(x, new_sizes=(size, *new_sizes), dimensions=order, sharding=None)
    return out, 0


reshape_p: Primitive = Primitive(
    "reshape",
    free=True,
    abstract=_reshape_abstract,
    reference=_reshape_reference,
    jvp=linear_jvp,
    transpose=unary_transpose(_reshape_transpose),
    batch=batch_rule(_reshape_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), new_sizes=n, dimensions=dims, sharding=None)
        for s, n, dims in [
            ((3, 4), (4, 3), None),
            ((3, 4), (12,), (1, 0)),
            ((2, 3, 4), (4, 6), (2, 0, 1)),
            ((1, 1), (), None),
            ((), (1,), None),
            ((0, 3), (3, 0, 2), None),
        ]
        for d in MOVED
    ],
)


# --- transpose -----------------------------------------------------------------------------


def _transpose_abstract(x: ShapedArray, *, permutation: tuple) -> ShapedArray:
    if sorted(permutation) != list(range(len(x.shape))):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{permutation} for operand shape {x.shape}."
        )
    return ShapedArray(tuple(x.shape[i] for i in permutation), x.dtype, x.weak_type)


def _transpose_batch(size: int, args: Any, dims: Any, *, permutation: tuple) -> Any:
    (d,) = dims
    perm = (d, *(i if i < d else i + 1 for i in permutation))
    return transpose(args[0], perm), 0


transpose_p: Primitive = Primitive(
    "transpose",
    abstract=_transpose_abstract,
    reference=lambda x, *, permutation: x.transpose(permutation),
    jvp=linear_jvp,
    transpose=unary_transpose(
        lambda ct, aval, *, permutation: transpose(ct, np.argsort(permutation).tolist())
    ),
    batch=batch_rule(_transpose_batch),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), permutation=p)
        for s, p in [
            ((3, 4), (1, 0)),
            ((2, 3, 4), (2, 0, 1)),
            ((1, 3), (1, 0)),
            ((0, 3), (1, 0)),
            ((), ()),
        ]
        for d in MOVED
    ],
)


def transpose(x: Any, permutation: Sequence[int]) -> Any:
    """Permute axes; nothing is done for the identity."""
    p = tuple(permutation)
    return x if p == tuple(range(len(p))) else transpose_p.bind(x, permutation=p)


# --- squeeze -------------------------------------------------------------------------------


def _squeeze_abstract(x: ShapedArray, *, dimensions: tuple) -> ShapedArray:
    if any(not 0 <= d < len(x.shape) for d in dimensions):
        raise ValueError(
            f"squeeze dimensions {dimensions} are out of bounds for array of dimension "
            f"{len(x.shape)}"
        )
    if any(x.shape[d] != 1 for d in dimensions):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={x.shape} and dimensions={dimensions}"
        )
    return ShapedArray(
        tuple(s for i, s in enumerate(x.shape) if i not in dimensions), x.dtype, x.weak_type
    )


def _squeeze_transpose(ct: Any, aval: ShapedArray, *, dimensions: tuple) -> Any:
    kept = tuple(i for i in range(len(aval.shape)) if i not in dimensions)
    return broadcast_in_dim(ct, aval.shape, kept)


squeeze_p: Primitive = Primitive(
    "squeeze",
    free=True,
    abstract=_squeeze_abstract,
    reference=lambda x, *, dimensions: x.reshape(
        tuple(s for i, s in enumerate(x.shape) if i not in dimensions)
    ),
    jvp=linear_jvp,
    transpose=unary_transpose(_squeeze_transpose),
    batch=batch_rule(
        lambda size, args, dims, *, dimensions: (
            squeeze_p.bind(front(args[0], dims[0]), dimensions=tuple(d + 1 for d in dimensions)),
            0,
        )
    ),
    evaluate=evaluate_elements,
    samples=lambda: [
        Sample((s, d), dimensions=dims)
        for s, dims in [((1, 4), (0,)), ((1, 3, 1), (0, 2)), ((1,), (0,)), ((0, 1), (1,))]
        for d in MOVED
    ],
)


# --- iota, copy, add_any -------------------------------------------------------------------


def _iota_abstract(*, dtype: Any, shape: tuple, dimension: int, sharding: Any) -> ShapedArray:
    check_nonnegative("iota", "shape", shape)
    check_dtype("iota", ("integer", "floating", "complexfloating"), dtype)
    if not 0 <= dimension < len(shape):
        raise ValueError(
            "iota dimension must be between 0 and len(shape), got "
            f"dimension={dimension} for shape={shape}"
        )
    return ShapedArray(shape, dtype)


def _iota_reference(*, dtype: Any, shape: tuple, dimension: int, sharding: Any) -> np.ndarray:
    n = shape[dimension]
    line = (
        np.arange(n).astype(dtype).reshape([n if i == dimension else 1 for i in range(len(shape))])
    )
    return np.broadcast_to(line, shape)


iota_p: Primitive = Primitive(
    "iota",
    free=True,
    abstract=_iota_abstract,
    reference=_iota_reference,
    jvp=zero_jvp,
    transpose=absent("it has no operands"),
    batch=absent("it has no operands"),
    samples=lambda: [
        Sample(dtype=np.dtype(d), shape=s, dimension=k, sharding=None)
        for s, k in [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((0,), 0), ((2, 0), 0), ((300,), 0)]
        for d in (np.int32, np.int8, np.uint16, F32, np.float16, dtypes.bfloat16, np.complex64)
    ],
)

copy_p: Primitive = Primitive(
    "copy",
    free=True,
    abstract=lambda x: x,
    reference=lambda x: x,
    jvp=linear_jvp,
    transpose=unary_transpose(lambda ct, aval: copy_p.bind(ct)),
    batch=batch_elementwise,
    evaluate=evaluate_elements,
    samples=lambda: [Sample((s, d)) for s in [(3, 4), (), (0,), (1,)] for d in MOVED],
)


def _add_any_abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    return ShapedArray(elementwise_shape("add_any", (x, y)), x.dtype, x.weak_type and y.weak_type)


def _add_any_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.itemsize < 4 and dtypes.is_float(x.dtype):
        return x.astype(F32) + y.astype(F32)
    return x + y


add_any_p: Primitive = Primitive(
    "add_any",
    abstract=_add_any_abstract,
    reference=_add_any_reference,
    jvp=linear_jvp,
    transpose=operand_transposes(lambda ct, x, y: ct, lambda ct, x, y: ct),
    batch=batch_elementwise,
    samples=lambda: [
        Sample((s, d), (s, d))
        for s in [(3, 4), (), (0,), (1,)]
        for d in (F32, np.float16, dtypes.bfloat16, np.complex64)
    ],
)


def reduce_sum(x: Any, axes: Sequence[int]) -> Any:
    """Sum over axes."""
    return ops["reduce_sum"].bind(x, axes=tuple(axes), out_sharding=None)


# --- what differentiation and batching use --------------------------------------------------


def zeros(aval: Any) -> Any:
    """An array of zeros of the aval."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    value = ArrayImpl.from_numpy(np.zeros((), aval.dtype), aval.weak_type)
    return full(aval.shape, value)


def _moveaxis(x: Any, src: int, dst: int) -> Any:
    order = [i for i in range(x.ndim) if i != src]
    order.insert(dst, src)
    return transpose(x, order)


def _broadcast(x: Any, size: int, dst: int) -> Any:
    shape = list(np.shape(x))
    shape.insert(dst, size)
    return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != dst])


vspace.zeros = zeros
vspace.add = add_any_p.bind
conversion.broadcast = full
moves.moveaxis = _moveaxis
moves.broadcast = _broadcast
