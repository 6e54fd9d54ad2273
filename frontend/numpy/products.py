"""Contractions: dot, matmul, inner, outer, tensordot, einsum and the like."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.avals import get_aval
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .manipulation import moveaxis, ravel, transpose
from .util import (
    asarray,
    aval_of,
    broadcast_shapes,
    canonical_axis,
    check_arraylike,
    convert,
    promote_dtypes,
)


def _prepare(who: str, a: Any, b: Any, preferred: Any) -> tuple[Any, Any, Any]:
    """Promoted operands and the dtype in which the contraction gives its result."""
    check_arraylike(who, a, b)
    x, y = promote_dtypes(a, b)
    want = None if preferred is None else dtypes.check_user_dtype(preferred)
    return x, y, want


def _finish(out: Any, x: Any, y: Any, want: Any) -> Any:
    weak = x.weak_type and y.weak_type and want is None
    return convert(out, aval_of(out).dtype, weak) if aval_of(out).weak_type != weak else out


def _general(x: Any, y: Any, dims: Any, precision: Any, want: Any) -> Any:
    return lax.dot_general(x, y, dims, precision=precision, preferred_element_type=want or x.dtype)


@eager_function
def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sum over the last axis of `a` and the second to last (or only) axis of `b`."""
    x, y, want = _prepare("dot", a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        return _finish(_general(x, y, (((), ()), ((), ())), precision, want), x, y, want)
    k = 0 if y.ndim == 1 else y.ndim - 2
    _same_size("dot", x, x.ndim - 1, y, k)
    return _finish(_general(x, y, (((x.ndim - 1,), (k,)), ((), ())), precision, want), x, y, want)


def _same_size(who: str, x: Any, i: int, y: Any, j: int) -> None:
    if x.shape[i] != y.shape[j]:
        raise TypeError(
            f"{who}: contracting dimensions must have equal sizes, got {x.shape[i]} (axis {i} of shape "
            f"{x.shape}) and {y.shape[j]} (axis {j} of shape {y.shape})."
        )


@eager_function
def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Matrix product over the last two axes, broadcasting the others; vectors lose their axis."""
    check_arraylike("matmul", a, b)
    for i, v in enumerate((a, b)):
        if not aval_of(v).shape:
            raise ValueError(
                f"matmul input operand {i} must have ndim at least 1, but it has ndim 0"
            )
    x, y, want = _prepare("matmul", a, b, preferred_element_type)
    k = 0 if y.ndim == 1 else y.ndim - 2
    if x.shape[-1] != y.shape[k]:
        raise TypeError(
            f"matmul: contracting dimensions must have equal sizes, got {x.shape[-1]} (last axis of "
            f"shape {x.shape}) and {y.shape[k]} (axis {k} of shape {y.shape})."
        )
    bx, by = x.shape[:-2], y.shape[:-2]
    if (not bx and not by) or (x.ndim == 1 and not by) or (y.ndim == 1 and not bx) or not by:
        out = _general(x, y, (((x.ndim - 1,), (k,)), ((), ())), precision, want)
        return _finish(out, x, y, want)
    try:
        batch = broadcast_shapes(bx, by)
    except ValueError:
        raise ValueError(
            f"Incompatible types for matmul arguments: {aval_of(x)} and {aval_of(y)}"
        ) from None
    # Only axes that both operands really have are batch axes; the others stay free axes.
    rank = len(batch)
    x_axes, y_axes, shared, from_x, from_y = [], [], [], [], []
    ox, oy = rank - len(bx), rank - len(by)
    drop_x, drop_y = [], []
    for i in range(rank):
        sx = bx[i - ox] if i >= ox else 1
        sy = by[i - oy] if i >= oy else 1
        in_x, in_y = i >= ox and not (sx == 1 and sy != 1), i >= oy and not (sy == 1 and sx != 1)
        if i >= ox and not in_x:
            drop_x.append(i - ox)
        if i >= oy and not in_y:
            drop_y.append(i - oy)
        if in_x and in_y:
            shared.append(i)
        elif in_x:
            from_x.append(i)
        elif in_y:
            from_y.append(i)
    xs = lax.squeeze(x, tuple(drop_x)) if drop_x else x
    ys = lax.squeeze(y, tuple(drop_y)) if drop_y else y
    left = [i for i in range(rank) if i in shared or i in from_x]
    right = [i for i in range(rank) if i in shared or i in from_y]
    x_axes = [left.index(i) for i in shared]
    y_axes = [right.index(i) for i in shared]
    ky = ys.ndim - 1 if ys.ndim - len(right) == 1 else ys.ndim - 2
    out = _general(
        xs, ys, (((xs.ndim - 1,), (ky,)), (tuple(x_axes), tuple(y_axes))), precision, want
    )
    # result axes: shared, free of x (from_x, row), free of y (from_y, column)
    order = [
        *shared,
        *from_x,
        *(["row"] if x.ndim > 1 else []),
        *from_y,
        *(["col"] if y.ndim > 1 else []),
    ]
    wanted = [*range(rank), *(["row"] if x.ndim > 1 else []), *(["col"] if y.ndim > 1 else [])]
    return _finish(transpose(out, [order.index(w) for w in wanted]), x, y, want)


@eager_function
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Dot product of flattened arrays, the first one conjugated."""
    check_arraylike("vdot", a, b)
    x = asarray(a)
    if dtypes.is_complex(x.dtype):
        x = lax.conj(x)
    return dot(
        ravel(x), ravel(b), precision=precision, preferred_element_type=preferred_element_type
    )


@eager_function
def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Dot products of vectors along an axis, the first ones conjugated; other axes broadcast."""
    check_arraylike("vecdot", x1, x2)
    a, b = asarray(x1), asarray(x2)
    if a.shape[canonical_axis(axis, a.ndim)] != b.shape[canonical_axis(axis, b.ndim)]:
        raise ValueError(f"axes must match; got shapes {a.shape} and {b.shape} with axis={axis}")
    from .functional import vectorize

    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    product = functools.partial(
        vdot, precision=precision, preferred_element_type=preferred_element_type
    )
    return vectorize(product, signature="(n),(n)->()")(a, b)


@library_jit
def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrix times vector over the last axes, broadcasting the others."""
    from .functional import vectorize

    check_arraylike("matvec", x1, x2)
    return vectorize(matmul, signature="(n,m),(m)->(n)")(x1, x2)


@library_jit
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Conjugated vector times matrix over the last axes, broadcasting the others."""
    from .functional import vectorize

    check_arraylike("vecmat", x1, x2)
    a = asarray(x1)
    a = lax.conj(a) if dtypes.is_complex(a.dtype) else a
    return vectorize(matmul, signature="(n),(n,m)->(m)")(a, x2)


@eager_function
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sum over the last axes of both."""
    x, y, want = _prepare("inner", a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        from .ufuncs import multiply

        out = multiply(x, y)
        return out if want is None else convert(out, want)
    _same_size("inner", x, x.ndim - 1, y, y.ndim - 1)
    out = _general(x, y, (((x.ndim - 1,), (y.ndim - 1,)), ((), ())), precision, want)
    return _finish(out, x, y, want)


@eager_function
def outer(a: Any, b: Any, out: None = None) -> Any:
    """All products of the elements of two (flattened) vectors."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.outer is not supported.")
    check_arraylike("outer", a, b)
    from .ufuncs import multiply

    x, y = promote_dtypes(a, b)
    column = lax.expand_dims(ravel(x), (1,))
    return multiply(column, lax.expand_dims(ravel(y), (0,)))


@eager_function
def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sum over pairs of axes: the last and first `axes`, or two lists of axes."""
    x, y, want = _prepare("tensordot", a, b, preferred_element_type)
    if isinstance(axes, (int, np.integer)):
        n = operator.index(axes)
        if n > min(x.ndim, y.ndim):
            raise TypeError(
                f"Number of tensordot axes (axes {n}) exceeds input ranks ({x.ndim} and {y.ndim})"
            )
        pairs = (tuple(range(x.ndim - n, x.ndim)), tuple(range(n)))
    elif isinstance(axes, (tuple, list)) and len(axes) == 2:
        ax1, ax2 = axes
        ax1 = (ax1,) if isinstance(ax1, (int, np.integer)) else tuple(ax1)
        ax2 = (ax2,) if isinstance(ax2, (int, np.integer)) else tuple(ax2)
        if len(ax1) != len(ax2):
            raise TypeError(
                f"tensordot requires axes lists to have equal length, got {ax1} and {ax2}."
            )
        pairs = (
            tuple(canonical_axis(i, x.ndim) for i in ax1),
            tuple(canonical_axis(i, y.ndim) for i in ax2),
        )
    else:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of ints."
        )
    for i, j in zip(*pairs, strict=True):
        _same_size("tensordot", x, i, y, j)
    return _finish(_general(x, y, (pairs, ((), ())), precision, want), x, y, want)


@library_jit
def kron(a: Any, b: Any) -> Any:
    """Kronecker product."""
    check_arraylike("kron", a, b)
    from .ufuncs import multiply

    x, y = promote_dtypes(a, b)
    rank = max(x.ndim, y.ndim)
    x = lax.reshape(x, (1,) * (rank - x.ndim) + x.shape)
    y = lax.reshape(y, (1,) * (rank - y.ndim) + y.shape)
    wide_x = lax.expand_dims(x, tuple(range(1, 2 * rank, 2)))
    wide_y = lax.expand_dims(y, tuple(range(0, 2 * rank, 2)))
    return lax.reshape(
        multiply(wide_x, wide_y), tuple(m * n for m, n in zip(x.shape, y.shape, strict=True))
    )


@library_jit(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Cross product of vectors of size 3 (or 2) along axes."""
    from .manipulation import stack

    if axis is not None:
        axisa = axisb = axisc = axis
    check_arraylike("cross", a, b)
    x, y = promote_dtypes(a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    planar = x.shape[-1] == 2 and y.shape[-1] == 2

    def part(v: Any, i: int) -> Any:
        return v[..., i] if i < v.shape[-1] else v[..., 0] * 0

    z = part(x, 0) * part(y, 1) - part(x, 1) * part(y, 0)
    if planar:
        return z
    first = part(x, 1) * part(y, 2) - part(x, 2) * part(y, 1)
    second = part(x, 2) * part(y, 0) - part(x, 0) * part(y, 2)
    return moveaxis(stack([first, second, z], -1), -1, axisc)


# --- einsum --------------------------------------------------------------------------------


@eager_function
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Einstein summation over labelled axes, contracted pair by pair along a good path.

    Takes subscripts such as 'ij,jk->ik' (with '...' for broadcast axes), or the form with operands
    and lists of axes alternating. Raises ValueError or TypeError for labels that do not fit.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    import opt_einsum

    parsed_in, parsed_out, arrays = opt_einsum.parser.parse_einsum_input((subscripts, *operands))
    check_arraylike("einsum", *arrays)
    arrays = [asarray(v) for v in arrays]
    if len(arrays) == 1:
        path: list[tuple[int, ...]] = [(0,)]
    elif len(arrays) == 2:
        path = [(0, 1)]
    else:
        shapes = [tuple(v.shape) for v in arrays]
        kind = (
            "optimal" if optimize is True else ("auto" if optimize in ("auto", None) else optimize)
        )
        if optimize is False:
            path = [(0, 1)] * (len(arrays) - 1)
        elif isinstance(optimize, (list, tuple)):
            path = [p for p in optimize if not isinstance(p, str)]
        else:
            path = opt_einsum.contract_path(
                f"{parsed_in}->{parsed_out}", *shapes, shapes=True, optimize=kind
            )[0]
    want = (
        None if preferred_element_type is None else dtypes.check_user_dtype(preferred_element_type)
    )
    dt, weak = dtypes.promote(tuple((v.dtype, v.weak_type) for v in arrays))
    arrays = [convert(v, dt) for v in arrays]
    terms = list(parsed_in.split(","))
    _check_sizes(terms, parsed_out, arrays)
    for k, positions in enumerate(path):
        picked = sorted(positions, reverse=True)
        chosen = [(terms.pop(i), arrays.pop(i)) for i in picked][::-1]
        rest = set("".join(terms)) | set(parsed_out)
        last = k == len(path) - 1
        labels, value = chosen[0]
        labels, value = _sum_repeated(labels, value, rest | set("".join(t for t, _ in chosen[1:])))
        for t, v in chosen[1:]:
            others = rest
            t, v = _sum_repeated(t, v, others | set(labels))
            final = parsed_out if last and len(chosen) == 2 else None
            labels, value = _contract(labels, value, t, v, others, final, precision, want or dt)
        if last and labels != parsed_out:
            value = transpose(value, [labels.index(c) for c in parsed_out])
            labels = parsed_out
        terms.append(labels)
        arrays.append(value)
    out_value = arrays[0]
    if want is not None:
        return convert(out_value, want)
    return convert(out_value, dt, weak)


def _check_sizes(terms: Sequence[str], output: str, arrays: Sequence[Any]) -> None:
    sizes: dict[str, int] = {}
    for t, v in zip(terms, arrays, strict=True):
        if len(t) != v.ndim:
            raise ValueError(
                f"einsum: operand of shape {v.shape} does not have the {len(t)} axes of its subscripts {t!r}"
            )
        for c, n in zip(t, v.shape, strict=True):
            if sizes.setdefault(c, n) != n:
                if sizes[c] == 1:
                    sizes[c] = n
                elif n != 1:
                    raise ValueError(
                        f"Size of label '{c}' for operand {v.shape} ({n}) does not match previous terms ({sizes[c]})."
                    )


def _sum_repeated(labels: str, x: Any, needed: set[str]) -> tuple[str, Any]:
    """Take diagonals of repeated labels and sum over labels that nothing else has."""
    while len(set(labels)) < len(labels):
        c = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(c)
        j = labels.index(c, i + 1)
        n = x.shape[i]
        mask = lax.eq(
            lax.broadcasted_iota(np.dtype(np.int32), (n, n), 0),
            lax.broadcasted_iota(np.dtype(np.int32), (n, n), 1),
        )
        from .selection import where

        full = lax.broadcast_in_dim(mask, x.shape, (i, j))
        kept = where(full, x, np.zeros((), x.dtype))
        x = lax.reduce_sum(kept, (j,))
        labels = labels[:j] + labels[j + 1 :]
    gone = tuple(i for i, c in enumerate(labels) if c not in needed)
    if gone:
        x = lax.reduce_sum(x, gone)
        labels = "".join(c for c in labels if c in needed)
    return labels, x


def _contract(
    a_labels: str,
    a: Any,
    b_labels: str,
    b: Any,
    needed: set[str],
    final: str | None,
    precision: Any,
    dtype: Any,
) -> tuple[str, Any]:
    """Contract two operands over the labels that nothing else needs."""
    # axes of size 1 that the other operand has larger are broadcast: drop them
    for c in [c for c in a_labels if c in b_labels]:
        na, nb = a.shape[a_labels.index(c)], b.shape[b_labels.index(c)]
        if na == 1 and nb != 1:
            a = lax.squeeze(a, (a_labels.index(c),))
            a_labels = a_labels.replace(c, "")
        elif nb == 1 and na != 1:
            b = lax.squeeze(b, (b_labels.index(c),))
            b_labels = b_labels.replace(c, "")
    b_labels, b = _sum_repeated(b_labels, b, needed | set(a_labels))
    a_labels, a = _sum_repeated(a_labels, a, needed | set(b_labels))
    common = [c for c in a_labels if c in b_labels]
    batch = [c for c in common if c in needed]
    summed = [c for c in common if c not in needed]
    free_a = [c for c in a_labels if c not in common]
    free_b = [c for c in b_labels if c not in common]
    dims = (
        (tuple(a_labels.index(c) for c in summed), tuple(b_labels.index(c) for c in summed)),
        (tuple(a_labels.index(c) for c in batch), tuple(b_labels.index(c) for c in batch)),
    )
    ab, ba = "".join([*batch, *free_a, *free_b]), "".join([*batch, *free_b, *free_a])
    if final is not None and final == ba and ab != ba:
        swapped = (dims[0][::-1], dims[1][::-1])
        return ba, lax.dot_general(b, a, swapped, precision=precision, preferred_element_type=dtype)
    return ab, lax.dot_general(a, b, dims, precision=precision, preferred_element_type=dtype)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list, Any]:
    """The contraction order that `einsum` would use, and a report of its cost."""
    import opt_einsum

    shapes = [tuple(get_aval(v).shape) for v in operands]  # type: ignore[attr-defined]
    if optimize is False:
        optimize = [tuple(range(len(operands)))]
    path, info = opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=optimize)
    return ["einsum_path", *path], info


__all__ = [
    "cross", "dot", "einsum", "einsum_path", "inner", "kron", "matmul", "matvec", "outer",
    "tensordot", "vdot", "vecdot", "vecmat",
]  # fmt: skip
