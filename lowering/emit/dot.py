"""Emission of contractions."""

from __future__ import annotations

import math

import numpy as np

from .kernels import kernel_call, kernel_type
from .reductions import ACCUMULATE, combiner
from .registry import ELEMENTWISE, emits
from .scalar import ScalarBuilder
from .types import ElementType, element_type, tensor_type
from .values import Value

__all__ = ["SMALL_PRODUCT"]

# Multiplications per batch element up to which a product is written as loops: of matrices, and of
# a matrix and a vector, which is one reduction.
SMALL_PRODUCT, SMALL_VECTOR_PRODUCT = 64, 4096


@emits("dot_general", loops=True)
def _dot_general(ctx, eqn, lhs, rhs):
    """Products of single terms are multiplications, small ones a linalg.generic, which both fuse;
    others go to the library kernel, which reads transposed operands through their strides."""
    (lhs_depth, rhs_depth), (lhs_batch, rhs_batch) = eqn.params["dimension_numbers"]
    t = element_type(eqn.outvars[0].aval.dtype)
    shape = tuple(eqn.outvars[0].aval.shape)
    dims = _Dims(lhs, rhs, lhs_depth, rhs_depth, lhs_batch, rhs_batch)
    if 0 in lhs.shape or 0 in rhs.shape:
        return ctx.splat(0, shape, t)
    rows, columns = (
        math.prod([v.shape[d] for d in free])
        for v, free in ((lhs, dims.lhs_free), (rhs, dims.rhs_free))
    )
    if math.prod([lhs.shape[d] for d in dims.lhs_depth]) == 1:
        return _outer(ctx, lhs, rhs, dims, shape, t)
    limit = SMALL_VECTOR_PRODUCT if 1 in (rows, columns) else SMALL_PRODUCT
    batch = math.prod([lhs.shape[d] for d in dims.lhs_batch])
    if math.prod(lhs.shape) * columns <= limit * batch:
        return _loops(ctx, lhs, rhs, dims, shape, t)
    source, total = _kernel_types(lhs.type, rhs.type, t)
    a, b = ctx.converted(lhs, source), ctx.converted(rhs, source)
    (a, along_a), (b, along_b) = _untransposed(ctx, a), _untransposed(ctx, b)
    config = [len(dims.lhs_batch), len(dims.lhs_depth)]
    for own, along in (
        (dims.lhs_batch, along_a),
        (dims.rhs_batch, along_b),
        (dims.lhs_depth, along_a),
        (dims.rhs_depth, along_b),
        (dims.lhs_free, along_a),
        (dims.rhs_free, along_b),
    ):
        config += [along[d] for d in own]
    n, k, free = config[0], config[1], len(dims.lhs_free)
    # Rows, columns and matrices of a batch can be computed apart.
    cuts = []
    for out_dim in range(len(shape)):
        lhs_dim = rhs_dim = -1
        if out_dim < n:
            lhs_dim, rhs_dim = along_a[dims.lhs_batch[out_dim]], along_b[dims.rhs_batch[out_dim]]
        elif out_dim < n + free:
            lhs_dim = along_a[dims.lhs_free[out_dim - n]]
        else:
            rhs_dim = along_b[dims.rhs_free[out_dim - n - free]]
        cuts.append((lhs_dim, rhs_dim, out_dim))
    (made,) = kernel_call(
        ctx, "dot_general", [a, b], [(shape, total)], config, parallel=cuts, calls_back=True
    )
    out = ctx.converted(made, t)
    if out is made:
        # Its transpose is the product of the operands the other way round.
        roles, at = [], 2
        for count in (n, n, k, k, free, len(dims.rhs_free)):
            roles.append(config[at : at + count])
            at += count
        swapped = [n, k]
        for role in (1, 0, 3, 2, 5, 4):
            swapped += roles[role]
        order = (*range(n), *range(n + free, len(shape)), *range(n, n + free))
        turned = tuple([shape[d] for d in order])
        out.permuted = {
            order: lambda: kernel_call(
                ctx,
                "dot_general",
                [b, a],
                [(turned, total)],
                swapped,
                parallel=[(cuts[d][1], cuts[d][0], i) for i, d in enumerate(order)],
                calls_back=True,
            )[0]
        }
    return out


def _kernel_types(lhs: ElementType, rhs: ElementType, t: ElementType):
    """The dtypes of the kernel's operands and result: one dtype for all, but for 16-bit floats,
    which give float32, and 8-bit integers, which may give 32-bit ones."""
    total = element_type(np.dtype("float32" if t.narrow else kernel_type(t)))
    same = lhs is rhs
    if same and total.name == "float32" and lhs.name in ("float16", "bfloat16"):
        return lhs, total
    if same and lhs.name in ("int8", "uint8") and total.name in ("int32", "uint32"):
        return lhs, total
    if total.name == "float32" and "float64" in (lhs.name, rhs.name):
        total = element_type(np.dtype("float64"))
    return total, total


class _Dims:
    """The dimensions of both operands by their role."""

    def __init__(self, lhs: Value, rhs: Value, lhs_depth, rhs_depth, lhs_batch, rhs_batch):
        self.lhs_depth = tuple(lhs_depth)
        self.rhs_depth = tuple(rhs_depth)
        self.lhs_batch = tuple(lhs_batch)
        self.rhs_batch = tuple(rhs_batch)
        self.lhs_free = _others(lhs.ndim, (*self.lhs_depth, *self.lhs_batch))
        self.rhs_free = _others(rhs.ndim, (*self.rhs_depth, *self.rhs_batch))


def _others(rank: int, taken: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([d for d in range(rank) if d not in taken])


def _untransposed(ctx, value: Value) -> tuple[Value, list[int]]:
    """The value that `value` is a transpose of, if it is one, and for each dimension of `value`
    the dimension of the former."""
    dims = value.dims
    if value.base is not None and isinstance(dims, tuple) and len(dims) == value.ndim:
        if sorted([-1 if d is None else d for d in dims]) == list(range(value.ndim)) and all(
            value.base.shape[k] == value.shape[d] for k, d in enumerate(dims)
        ):
            along = [0] * value.ndim
            for k, d in enumerate(dims):
                along[d] = k
            return value.base, along
    return value, list(range(value.ndim))


def _loop_dims(dims: _Dims, lhs: Value, rhs: Value, rank: int) -> tuple[list[int], list[int]]:
    """For each dimension of the operands, the one of the result, or `rank` and more if contracted."""
    batch = len(dims.lhs_batch)
    lhs_map, rhs_map = [0] * lhs.ndim, [0] * rhs.ndim
    for k, (i, j) in enumerate(zip(dims.lhs_batch, dims.rhs_batch, strict=True)):
        lhs_map[i] = rhs_map[j] = k
    for k, i in enumerate(dims.lhs_free):
        lhs_map[i] = batch + k
    for k, j in enumerate(dims.rhs_free):
        rhs_map[j] = batch + len(dims.lhs_free) + k
    for k, (i, j) in enumerate(zip(dims.lhs_depth, dims.rhs_depth, strict=True)):
        lhs_map[i] = rhs_map[j] = rank + k
    return lhs_map, rhs_map


def _wide(t: ElementType) -> ElementType:
    """The dtype that terms are computed in."""
    if t.kind == "b" or t.name in ("int4", "uint4"):
        return element_type(np.dtype("int32"))
    return element_type(np.dtype("float32")) if t.narrow else t


def _product(b: ScalarBuilder, t: ElementType, x: str, y: str) -> str:
    multiply = ELEMENTWISE["mul"].by_kind[t.kind]
    if isinstance(multiply, str):
        return b(f"{multiply} {x}, {y} : {t.register}")
    return multiply(b, t, x, y)


def _outer(ctx, lhs: Value, rhs: Value, dims: _Dims, shape: tuple[int, ...], t: ElementType):
    """A product whose contracted dimensions have one element, if any: a term is all there is."""
    wide, rank = _wide(t), len(shape)
    spread = []
    for v, along in zip((lhs, rhs), _loop_dims(dims, lhs, rhs, rank), strict=True):
        kept = tuple([d if d < rank else None for d in along])
        spread.append(ctx.converted(ctx.view(v, shape, kept), wide))
    made = ctx.elementwise(lambda b, xs: _product(b, wide, *xs), spread, shape, wide)
    return ctx.converted(made, t)


def _loops(ctx, lhs: Value, rhs: Value, dims: _Dims, shape: tuple[int, ...], t: ElementType):
    """The product as one linalg.generic over batch, free and contracted dimensions."""
    wide, rank = _wide(t), len(shape)
    lhs_map, rhs_map = _loop_dims(dims, lhs, rhs, rank)
    loops = rank + len(dims.lhs_depth)
    a, b = ctx.converted(lhs, wide), ctx.converted(rhs, wide)
    accumulate = combiner("reduce_sum", wide)
    zero = ctx.register_constant(ACCUMULATE["reduce_sum"][2](wide), wide)
    inputs = [
        (ctx.tensor(v), v.tensor_type, ctx.map(m, loops)) for v, m in ((a, lhs_map), (b, rhs_map))
    ]
    output = (ctx.fill(zero, shape, wide.storage), tensor_type(shape, wide.storage))

    def body(builder: ScalarBuilder, x: str, y: str, acc: str):
        return [accumulate(builder, _product(builder, wide, x, y), acc)]

    (name,) = ctx.generic(
        inputs,
        [(*output, ctx.map(range(rank), loops))],
        ["parallel"] * rank + ["reduction"] * (loops - rank),
        body,
    )
    return ctx.converted(ctx.new(name, shape, wide), t)
