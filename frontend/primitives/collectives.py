"""Collectives: operations along a named axis, which vmap with that axis' name turns into others.

`psum`, `pmax` and `pmin` reduce over positional axes as well, so that the reduction over a named
axis becomes the same operation on the batch axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..core import primitive as core_primitive
from ..core.avals import ShapedArray
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import linear_jvp, unary_transpose, vspace, zero_jvp
from ..core.trace import axis_size, state
from ..transforms.batching import move_batch_axis
from .arithmetic import NUMBERS, mul
from .declare import check_dtype, compute_dtype, const, front, ops, reshape
from .reductions import kept_position, reduced, shifted, sum_over
from .slicing import concatenate_p, slice_axis
from .structure import broadcast_in_dim, iota_p, transpose


def _names(key: str) -> Callable[[dict], tuple]:
    def names(params: dict) -> tuple:
        v = params[key]
        return tuple(a for a in (v if isinstance(v, tuple) else (v,)) if not isinstance(a, int))

    return names


def _needs_axis(primitive: Primitive, names: Sequence[Any]) -> NoReturn:
    """Raise the error of a collective that is run where its axis is not mapped."""
    bound = {n for n, _ in state.axis_env}
    for n in names:
        if n not in bound:
            axis_size(n)
    raise NotImplementedError(
        f"{primitive.name} over the axis {', '.join(map(repr, names))} runs only inside the vmap "
        "that maps the axis"
    )


def evaluate_mapped(primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    """Run on concrete values: only what refers to no named axis any more."""
    assert primitive.axis_names is not None
    names = primitive.axis_names(params)
    if names:
        _needs_axis(primitive, names)
    return core_primitive.default_evaluate(primitive, args, params)


def not_mapped(name: str) -> Callable[[], Exception]:
    """The error of a program that has the primitive where its axis is not mapped."""
    return lambda: NameError(
        f"unbound axis name: {name} is compiled outside the vmap that maps its axis"
    )


# --- reductions ----------------------------------------------------------------------------


def _reduce_abstract(name: str, kinds: tuple[str, ...]) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, axes: tuple, axis_index_groups: Any) -> ShapedArray:
        check_dtype(name, kinds, x.dtype)
        for a in axes:
            if not isinstance(a, int):
                axis_size(a)
            elif not 0 <= a < len(x.shape):
                raise ValueError(f"axis {a} is out of bounds for array of dimension {len(x.shape)}")
        positional = [a for a in axes if isinstance(a, int)]
        return ShapedArray(reduced(x.shape, positional), x.dtype, x.weak_type)

    return abstract


def _reduce_batch(repeat: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """`repeat(x, n)` is the reduction of n equal values."""

    def batch(primitive: Primitive, axis: Any, args: Any, dims: Any, params: dict) -> Any:
        (x,), (d,), axes = args, dims, params["axes"]
        named = axis.name is not None and axis.name in axes
        if named and params["axis_index_groups"] is not None:
            raise NotImplementedError("axis_index_groups not supported in vmap collectives")
        if d is None:
            rest = tuple(a for a in axes if a != axis.name)
            out = repeat(x, axis.size)
            return (primitive.bind(out, **{**params, "axes": rest}) if rest else out), None
        if not named:
            x, d = front(x, d), 0
        new = tuple(
            d if named and a == axis.name else shifted((a,), d)[0] if isinstance(a, int) else a
            for a in axes
        )
        out = primitive.bind(x, **{**params, "axes": new})
        positional = [a for a in new if isinstance(a, int)]
        return out, None if named else kept_position(positional, d)

    return batch


def _reduction(
    name: str,
    ref: Callable[..., Any],
    repeat: Callable[[Any, int], Any],
    jvp: Any,
    transpose_rule: Any,
    kinds: tuple[str, ...],
    ds: Sequence[Any],
) -> Primitive:
    def run(x: np.ndarray, *, axes: tuple, axis_index_groups: Any) -> np.ndarray:
        return ref(x.astype(compute_dtype(x.dtype), copy=False), axes)

    return Primitive(
        name,
        abstract=_reduce_abstract(name, kinds),
        reference=run,
        jvp=jvp,
        transpose=transpose_rule,
        batch=_reduce_batch(repeat),
        evaluate=evaluate_mapped,
        axis_names=_names("axes"),
        samples=lambda: [
            Sample((s, d), axes=a, axis_index_groups=None, grad=name == "psum")
            for s, a in [((3, 4), (0,)), ((3, 4), (1,)), ((2, 3, 4), (0, 2)), ((3,), (0,))]
            for d in ds
        ],
    )


def _psum_transpose(ct: Any, aval: ShapedArray, *, axes: tuple, axis_index_groups: Any) -> Any:
    named = tuple(a for a in axes if not isinstance(a, int))
    kept = tuple(i for i in range(len(aval.shape)) if i not in axes)
    if len(kept) < len(aval.shape):
        ct = broadcast_in_dim(ct, aval.shape, kept)
    return psum_p.bind(ct, axes=named, axis_index_groups=axis_index_groups) if named else ct


psum_p: Primitive = _reduction(
    "psum",
    lambda x, axes: np.sum(x, axis=axes, dtype=x.dtype),
    lambda x, n: mul(x, const(x, n)),
    linear_jvp,
    unary_transpose(_psum_transpose),
    ("number",),
    NUMBERS,
)

_ORDERED = ("floating", "integer", "bool")
_EXTREME = [d for d in NUMBERS if np.dtype(d).kind != "c"]
pmax_p = _reduction(
    "pmax",
    lambda x, axes: np.max(x, axis=axes),
    lambda x, n: x,
    absent("Differentiation rule for 'pmax' not implemented"),
    absent("it is not linear"),
    _ORDERED,
    _EXTREME,
)
pmin_p = _reduction(
    "pmin",
    lambda x, axes: np.min(x, axis=axes),
    lambda x, n: x,
    absent("Differentiation rule for 'pmin' not implemented"),
    absent("it is not linear"),
    _ORDERED,
    _EXTREME,
)

# --- collectives that move data ------------------------------------------------------------


def _mapped(
    key: str, own: Callable[..., Any], shift: Callable[[dict], dict] = lambda p: p
) -> Callable[..., Any]:
    """Batching: `own(x, size, **params) -> (out, dim)` where the mapped axis is the collective's,
    with the batch axis of `x` in front; else the collective with its dimensions `shift`ed by 1."""

    def batch(primitive: Primitive, axis: Any, args: Any, dims: Any, params: dict) -> Any:
        names = params[key] if isinstance(params[key], tuple) else (params[key],)
        if axis.name is None or axis.name not in names:
            return primitive.bind(front(args[0], dims[0]), **shift(params)), 0
        if params.get("axis_index_groups") is not None:
            raise NotImplementedError("axis_index_groups not supported in vmap")
        if len(names) > 1:
            raise NotImplementedError(
                f"{primitive.name} over several axes, {names}, of which one is mapped by vmap"
            )
        x = move_batch_axis(axis.size, dims[0], 0, args[0])
        return own(x, axis.size, **{k: v for k, v in params.items() if k != key})

    return batch


def _merge(x: Any, dim: int) -> Any:
    """Merge the axes dim and dim + 1."""
    s = np.shape(x)
    return reshape(x, (*s[:dim], s[dim] * s[dim + 1], *s[dim + 2 :]))


def _move(x: Any, dst: int) -> Any:
    """Move the first axis to `dst`."""
    order = list(range(1, len(np.shape(x))))
    order.insert(dst, 0)
    return transpose(x, order) if dst else x


def _moving(
    name: str,
    abstract: Callable[..., Any],
    batch: Callable[..., Any],
    transpose_rule: Callable[..., Any],
) -> Primitive:
    return Primitive(
        name,
        abstract=abstract,
        reference=absent("it needs a mapped axis"),
        jvp=linear_jvp,
        transpose=unary_transpose(transpose_rule),
        batch=batch,
        evaluate=evaluate_mapped,
        axis_names=_names("axis_name"),
        forbidden=not_mapped(name),
    )


def _gather_abstract(
    x: ShapedArray,
    *,
    all_gather_dimension: int,
    axis_index_groups: Any,
    axis_name: tuple,
    axis_size: int,
    tiled: bool,
) -> ShapedArray:
    shape, d = list(x.shape), all_gather_dimension
    if tiled:
        shape[d] *= axis_size
    else:
        shape.insert(d, axis_size)
    return ShapedArray(shape, x.dtype, x.weak_type)


def _gather_own(x: Any, size: int, *, all_gather_dimension: int, tiled: bool, **_: Any) -> Any:
    out = _move(x, all_gather_dimension)
    return (_merge(out, all_gather_dimension) if tiled else out), None


def _gather_transpose(ct: Any, aval: ShapedArray, **params: Any) -> Any:
    d = params.pop("all_gather_dimension")
    return reduce_scatter_p.bind(ct, scatter_dimension=d, **params)


all_gather_p = _moving(
    "all_gather",
    _gather_abstract,
    _mapped(
        "axis_name",
        _gather_own,
        lambda p: {**p, "all_gather_dimension": p["all_gather_dimension"] + 1},
    ),
    _gather_transpose,
)


def _scatter_abstract(
    x: ShapedArray,
    *,
    scatter_dimension: int,
    axis_index_groups: Any,
    axis_name: tuple,
    axis_size: int,
    tiled: bool,
) -> ShapedArray:
    check_dtype("reduce_scatter", ("number",), x.dtype)
    shape, d = list(x.shape), scatter_dimension
    if tiled:
        if shape[d] % axis_size:
            raise ValueError(
                f"tiled reduce_scatter operand scatter dimension size {shape[d]} must be divisible "
                f"by the axis size {axis_size}"
            )
        shape[d] //= axis_size
    elif shape[d] != axis_size:
        raise ValueError(
            f"reduce_scatter operand scatter dimension size {shape[d]} must match shard count "
            f"{axis_size}"
        )
    else:
        del shape[d]
    return ShapedArray(shape, x.dtype, x.weak_type)


def _scatter_own(x: Any, size: int, *, scatter_dimension: int, tiled: bool, **_: Any) -> Any:
    out, d = sum_over(x, (0,)), scatter_dimension
    if tiled:
        s = out.shape
        out = reshape(out, (*s[:d], size, s[d] // size, *s[d + 1 :]))
    return out, d


def _scatter_transpose(ct: Any, aval: ShapedArray, **params: Any) -> Any:
    d = params.pop("scatter_dimension")
    return all_gather_p.bind(ct, all_gather_dimension=d, **params)


reduce_scatter_p = _moving(
    "reduce_scatter",
    _scatter_abstract,
    _mapped(
        "axis_name",
        _scatter_own,
        lambda p: {**p, "scatter_dimension": p["scatter_dimension"] + 1},
    ),
    _scatter_transpose,
)


def _all_to_all_abstract(
    x: ShapedArray,
    *,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Any,
    tiled: bool,
) -> ShapedArray:
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    shape, size = list(x.shape), math.prod(axis_size(n) for n in names)
    if axis_index_groups is not None:
        size = len(axis_index_groups[0])
    if shape[split_axis] % size:
        raise ValueError(
            f"all_to_all requires the split dimension, of size {shape[split_axis]}, to be divisible "
            f"by the size {size} of the mapped axis"
        )
    shape[split_axis] //= size
    shape[concat_axis] *= size
    return ShapedArray(shape, x.dtype, x.weak_type)


def _all_to_all_own(
    x: Any, size: int, *, split_axis: int, concat_axis: int, **_: Any
) -> tuple[Any, int]:
    s, c, shape = split_axis, concat_axis, np.shape(x)[1:]
    # (source, ..., receiver, part, ...) -> (receiver, ..., part, ..., source, concatenated, ...)
    parts = reshape(x, (size, *shape[:s], size, shape[s] // size, *shape[s + 1 :]))
    order = [1 + s]
    for k in range(len(shape)):
        order += [0] if k == c else []
        order.append(k + 1 if k < s else k + 2)
    return _merge(transpose(parts, order), 1 + c), 0


def _all_to_all_transpose(ct: Any, aval: ShapedArray, **params: Any) -> Any:
    split, concat = params["split_axis"], params["concat_axis"]
    return all_to_all_p.bind(ct, **{**params, "split_axis": concat, "concat_axis": split})


all_to_all_p = _moving(
    "all_to_all",
    _all_to_all_abstract,
    _mapped(
        "axis_name",
        _all_to_all_own,
        lambda p: {
            **p,
            "split_axis": p["split_axis"] + 1,
            "concat_axis": p["concat_axis"] + 1,
        },
    ),
    _all_to_all_transpose,
)


def _permute_abstract(x: ShapedArray, *, axis_name: tuple, perm: tuple) -> ShapedArray:
    for n in axis_name:
        axis_size(n)
    return x


def _permute_own(x: Any, size: int, *, perm: tuple) -> tuple[Any, int]:
    source = {dst: src for src, dst in perm}
    pieces, i = [], 0
    while i < size:
        start, n = source.get(i), 1
        while i + n < size and source.get(i + n) == (None if start is None else start + n):
            n += 1
        if start is None:
            pieces.append(vspace.zeros(ShapedArray((n, *np.shape(x)[1:]), x.dtype)))
        else:
            pieces.append(slice_axis(x, start, start + n))
        i += n
    return (pieces[0] if len(pieces) == 1 else concatenate_p.bind(*pieces, dimension=0)), 0


ppermute_p: Primitive = _moving(
    "ppermute",
    _permute_abstract,
    _mapped("axis_name", _permute_own),
    lambda ct, aval, *, axis_name, perm: ppermute_p.bind(
        ct, axis_name=axis_name, perm=tuple((dst, src) for src, dst in perm)
    ),
)


def _broadcast_abstract(x: ShapedArray, *, axis_name: Any, source: int) -> ShapedArray:
    size = axis_size(axis_name)
    if not 0 <= source < size:
        raise ValueError(f"pbroadcast: source {source} is out of range for an axis of size {size}")
    return x


def _broadcast_own(x: Any, size: int, *, source: int) -> tuple[Any, None]:
    return ops["squeeze"].bind(slice_axis(x, source, source + 1), dimensions=(0,)), None


def _broadcast_transpose(ct: Any, aval: ShapedArray, *, axis_name: Any, source: int) -> Any:
    total = psum_p.bind(ct, axes=(axis_name,), axis_index_groups=None)
    here = ops["eq"].bind(axis_index_p.bind(axis_name=axis_name), np.int32(source))
    zero = vspace.zeros(ShapedArray(np.shape(total), total.dtype))
    return ops["select_n"].bind(here, zero, total)


pbroadcast_p = _moving(
    "pbroadcast",
    _broadcast_abstract,
    _mapped("axis_name", _broadcast_own),
    _broadcast_transpose,
)


def _index_abstract(*, axis_name: Any) -> ShapedArray:
    axis_size(axis_name)
    return ShapedArray((), np.int32)


def _index_batch(primitive: Primitive, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    out = iota_p.bind(dtype=np.dtype(np.int32), shape=(axis.size,), dimension=0, sharding=None)
    return out, 0


axis_index_p = Primitive(
    "axis_index",
    abstract=_index_abstract,
    reference=absent("it needs a mapped axis"),
    jvp=zero_jvp,
    transpose=absent("it has no operands"),
    batch=_index_batch,
    evaluate=evaluate_mapped,
    axis_names=_names("axis_name"),
    forbidden=not_mapped("axis_index"),
)

__all__ = [
    "all_gather_p", "all_to_all_p", "axis_index_p", "pbroadcast_p", "pmax_p", "pmin_p",
    "ppermute_p", "psum_p", "reduce_scatter_p",
]  # fmt: skip
