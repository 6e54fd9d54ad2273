"""Finding and taking elements: take, nonzero, sort, argsort, searchsorted, digitize, bincount."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.errors import ConcretizationTypeError
from ..core.trace import Tracer
from ..core.warn import warn
from ..primitives.gather import GatherDimensionNumbers, GatherScatterMode
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import arange, fill_scalar, zeros
from .util import (
    asarray,
    aval_of,
    broadcast_to,
    canonical_axis,
    check_arraylike,
    convert,
    jit_as,
    like,
    promote_dtypes,
    shape_of,
)


def _integers(who: str, x: Any) -> Any:
    check_arraylike(who, x)
    i = asarray(x)
    if not dtypes.is_integer(i.dtype):
        raise TypeError(f"{who} requires indices of integer type, got {dtypes.dtype_name(i.dtype)}")
    return i


# --- taking --------------------------------------------------------------------------------


@eager_function
def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Elements at integer indices along an axis (of the flattened array by default).

    Out of bounds, mode 'fill' (the default) gives `fill_value` or NaN (for integers the lowest or
    largest value) and negative indices count from the end; 'clip' gives the nearest element (the
    first one for negative indices), 'wrap' counts around. Raises ValueError for indices that are no
    integers and for another mode.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    check_arraylike("take", a, indices)
    index = asarray(indices)
    if not (dtypes.is_integer(index.dtype) or dtypes.is_bool(index.dtype)):
        raise ValueError("indices must have an integer type")
    return _take(
        a,
        index,
        axis=None if axis is None else operator.index(axis),
        mode=mode,
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        fill_value=fill_value,
    )


@library_jit(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(
    a: Any,
    indices: Any,
    axis: Any,
    mode: Any,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Any:
    x, i = asarray(a), asarray(indices)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    if mode not in (None, "fill", "clip", "wrap"):
        raise ValueError(f"Invalid mode '{mode}' for np.take: it is None, 'fill', 'clip' or 'wrap'")
    if dtypes.is_bool(i.dtype):
        if mode == "clip":
            raise ValueError(
                "take: indices must have an integer type where mode is 'clip'; got bool"
            )
        i = convert(i, np.dtype(np.int32))
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    n = x.shape[axis]
    if mode in ("wrap",):
        if n == 0:
            raise ValueError("take: mode='wrap' of an empty axis")
        from .ufuncs import remainder

        i, gather_mode = remainder(i, fill_scalar(n, i.dtype)), GatherScatterMode.PROMISE_IN_BOUNDS
    elif mode == "clip":
        gather_mode = GatherScatterMode.CLIP
    else:
        gather_mode = GatherScatterMode.FILL_OR_DROP
        if dtypes.is_signed(i.dtype):
            from .selection import where

            i = where(lax.lt(i, fill_scalar(0, i.dtype)), lax.add(i, like(i, n)), i)
    if n == 0 and i.size:
        raise IndexError(f"Cannot do a non-empty jnp.take() from an empty axis of shape {x.shape}")
    rank = i.ndim
    vectors = lax.expand_dims(i, (rank,))
    sizes = tuple(1 if d == axis else s for d, s in enumerate(x.shape))
    dn = GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + rank, x.ndim + rank - 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    return lax.gather(
        x, vectors, dn, sizes, mode=gather_mode, fill_value=fill_value, unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
    )  # fmt: skip


@jit_as("take_along_axis", static_argnames=("axis", "mode", "fill_value"))
def _take_along_axis(arr: Any, indices: Any, axis: int, mode: Any, fill_value: Any) -> Any:
    x, i = asarray(arr), asarray(indices)
    n = x.shape[axis]
    if dtypes.is_signed(i.dtype):
        i = lax.select_n(lax.lt(i, fill_scalar(0, i.dtype)), i, lax.add(i, fill_scalar(n, i.dtype)))
    # axes on which both are alike go together; axes of size 1 of either one are broadcast
    rank = x.ndim
    shape = tuple(
        i.shape[d]
        if d == axis
        else (max(x.shape[d], i.shape[d]) if 0 not in (x.shape[d], i.shape[d]) else 0)
        for d in range(rank)
    )
    x = broadcast_to(x, tuple(n if d == axis else s for d, s in enumerate(shape)))
    i = broadcast_to(i, shape)
    batch = tuple(d for d in range(rank) if d != axis)
    dn = GatherDimensionNumbers((), (axis,), (axis,), batch, batch)
    return lax.gather(
        x, lax.reshape(i, (*shape, 1)), dn, (1,) * rank, mode=mode, fill_value=fill_value
    )


@eager_function
def take_along_axis(
    arr: Any, indices: Any, axis: int | None = -1, mode: Any = None, fill_value: Any = None, *,
    wrap_negative_indices: bool | None = None,
) -> Any:  # fmt: skip
    """Elements at indices that differ for each position of the other axes.

    Both arrays have the same rank and broadcast off `axis`. Modes as in `take`.
    """
    check_arraylike("take_along_axis", arr, indices)
    i = asarray(indices)
    if not dtypes.is_integer(i.dtype):
        raise TypeError(
            f"take_along_axis indices must be of integer type, got {dtypes.dtype_name(i.dtype)}"
        )
    x = asarray(arr)
    if axis is None:
        if i.ndim != 1:
            raise ValueError(
                f"take_along_axis indices must be 1D if axis=None, got shape {i.shape}"
            )
        x, axis = lax.reshape(x, (x.size,)), 0
    if x.ndim != i.ndim:
        raise ValueError(
            f"indices and arr must have the same number of dimensions; {i.ndim} vs. {x.ndim}"
        )
    m = None if mode is None else GatherScatterMode.from_any("fill" if mode == "fill" else mode)
    return _take_along_axis(x, i, axis=canonical_axis(axis, x.ndim), mode=m, fill_value=fill_value)


@eager_function
def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """The array with elements at indices along an axis replaced; needs `inplace=False`."""
    if inplace:
        raise ValueError(
            "jax.numpy.put_along_axis cannot modify arrays in-place, because JAX arrays are immutable. Pass inplace=False to instead return an updated array."
        )
    check_arraylike("put_along_axis", arr, indices, values)
    x, i = asarray(arr), _integers("put_along_axis", indices)
    shape = x.shape
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    if x.ndim != i.ndim:
        raise ValueError(
            f"put_along_axis arguments 'arr' and 'indices' must have same ndim. Got {x.ndim=} and {i.ndim=}."
        )
    axis = canonical_axis(axis, x.ndim)
    target = tuple(i.shape[d] if d == axis else x.shape[d] for d in range(x.ndim))
    i = broadcast_to(i, target)
    grids = tuple(
        i if d == axis else lax.broadcasted_iota(np.dtype(np.int32), target, d)
        for d in range(x.ndim)
    )
    out = x.at[grids].set(broadcast_to(values, target), mode=mode)
    return lax.reshape(out, shape) if out.shape != shape else out


@eager_function
def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """The array with elements at flat indices replaced; needs `inplace=False`."""
    if inplace:
        raise ValueError(
            "jax.numpy.put cannot modify arrays in-place, because JAX arrays are immutable. Pass inplace=False to instead return an updated array."
        )
    check_arraylike("put", a, ind, v)
    x, i, values = asarray(a), asarray(ind), asarray(v)
    flat_i, flat_v = lax.reshape(i, (i.size,)), lax.reshape(values, (values.size,))
    if not flat_i.size or not flat_v.size:
        return x
    from .rearranging import resize

    flat_v = resize(flat_v, flat_i.size)
    if mode == "wrap":
        flat_i, mode = flat_i % x.size, None
    elif mode == "clip":
        from .selection import clip

        flat_i, mode = clip(flat_i, 0, x.size - 1), None
    elif mode is not None:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    return lax.reshape(lax.reshape(x, (x.size,)).at[flat_i].set(flat_v), x.shape)


@eager_function
def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """The array with elements where a mask holds replaced in order; needs `inplace=False`."""
    if inplace:
        raise ValueError(
            "jax.numpy.place cannot modify arrays in-place, because JAX arrays are immutable. Pass inplace=False to instead return an updated array."
        )
    check_arraylike("place", arr, mask, vals)
    x, m, v = asarray(arr), asarray(mask), asarray(vals)
    if m.size != x.size:
        raise ValueError("place: arr and mask must be the same size")
    if not v.size:
        raise ValueError("Cannot place values from an empty array")
    from .selection import where
    from .ufuncs import to_bool

    m = to_bool(lax.reshape(m, (x.size,)))
    order = lax.sub(lax.cumsum(convert(m, np.dtype(np.int32)), 0), np.int32(1))
    chosen = take(lax.reshape(v, (v.size,)), order, axis=0, mode="wrap")
    return lax.reshape(where(m, convert(chosen, x.dtype), lax.reshape(x, (x.size,))), x.shape)


# --- finding -------------------------------------------------------------------------------


@eager_function
def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """Indices of the nonzero elements, one array per axis.

    For traced arrays a static `size` must be given: the result is cut or padded with
    `fill_value` (0 by default). Raises ConcretizationTypeError without it.
    """
    check_arraylike("nonzero", a)
    x = asarray(a)
    if x.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead."
        )
    from .ufuncs import to_bool

    mask = to_bool(x)
    dt = dtypes.default_int()
    if size is None:
        if isinstance(mask, Tracer):
            raise ConcretizationTypeError(
                mask,
                "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within JAX transformations.",
            )
        from ...runtime import ArrayImpl

        return tuple(ArrayImpl.from_numpy(i.astype(dt)) for i in np.nonzero(np.asarray(mask)))
    n = operator.index(size)
    if n < 0 or n == 0 or mask.size == 0:
        if n < 0:
            raise ValueError(f"nonzero: size must be non-negative, got {n}")
        fills = _fills(fill_value, x.ndim)
        return tuple(broadcast_to(convert(f, dt), (n,)) for f in fills)
    from .reductions import cumsum
    from .selection import clip

    ranks = cumsum(mask)
    counts = zeros((n,), dt).at[clip(ranks, 0)].add(1, mode="drop")
    flat = cumsum(counts)
    out = []
    stride = mask.size
    from .ufuncs import floor_divide, remainder

    for s in mask.shape:
        stride //= s
        out.append(remainder(floor_divide(flat, fill_scalar(stride, dt)), s))
    if fill_value is not None:
        from .reductions import sum as _sum
        from .selection import where

        beyond = lax.ge(arange(n, dtype=dt), _sum(mask, dtype=dt))
        out = [
            where(beyond, convert(f, dt), o)
            for f, o in zip(_fills(fill_value, x.ndim), out, strict=True)
        ]
    return tuple(out)


def _fills(fill_value: Any, n: int) -> list[Any]:
    if fill_value is None:
        return [0] * n
    if isinstance(fill_value, (tuple, list)):
        if len(fill_value) != n:
            raise ValueError(f"fill_value must have length {n}, got {len(fill_value)}")
        return list(fill_value)
    return [fill_value] * n


@eager_function
def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Indices of the nonzero elements of the flattened array."""
    check_arraylike("flatnonzero", a)
    return nonzero(lax.reshape(asarray(a), (aval_of(a).size,)), size=size, fill_value=fill_value)[0]


@eager_function
def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Indices of the nonzero elements as the rows of a matrix."""
    check_arraylike("argwhere", a)
    from .manipulation import atleast_1d, stack

    x = asarray(a)
    rows = nonzero(atleast_1d(x), size=size, fill_value=fill_value)
    if x.ndim == 0:
        return zeros((rows[0].shape[0], 0), dtypes.default_int())
    return stack(rows, 1)


# --- sorting -------------------------------------------------------------------------------


def _no_order(who: str, kind: Any, order: Any) -> None:
    if kind is not None:
        warn(
            f"'kind' argument to {who} is ignored; only 'stable' sorts are supported.", stacklevel=3
        )
    if order is not None:
        raise TypeError(f"'order' argument to {who} is not supported.")


@jit_as("sort", static_argnames=("axis", "stable", "descending"))
def _sort(a: Any, axis: Any, stable: bool, descending: bool) -> Any:
    x = asarray(a)
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    out = lax.sort(x, axis, is_stable=stable)
    return lax.rev(out, (canonical_axis(axis, x.ndim),)) if descending else out


@eager_function
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """Elements sorted along an axis (flattened if None), ascending unless `descending`; NaNs last."""
    _no_order("sort", kind, order)
    check_arraylike("sort", a)
    return _sort(a, axis=axis, stable=bool(stable), descending=bool(descending))


@jit_as("argsort", static_argnames=("axis", "stable", "descending", "dtype"))
def _argsort(a: Any, axis: Any, stable: bool, descending: bool, dtype: Any) -> Any:
    x = asarray(a)
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    if descending:
        x = lax.rev(x, (axis,))
    dt = dtype if dtype is not None else dtypes.default_int()
    line = lax.broadcasted_iota(dt, x.shape, axis)
    if descending:
        line = lax.rev(line, (axis,))
    # reversed before and after, so that equal elements keep their order
    _, out = lax.sort((x, line), axis, is_stable=stable, num_keys=1)
    return lax.rev(out, (axis,)) if descending else out


@eager_function
def argsort(
    a: Any, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
    descending: bool = False, dtype: Any = None,
) -> Any:  # fmt: skip
    """Indices that sort along an axis (of the flattened array if None)."""
    _no_order("argsort", kind, order)
    check_arraylike("argsort", a)
    dt = None if dtype is None else dtypes.check_user_dtype(dtype)
    return _argsort(a, axis=axis, stable=bool(stable), descending=bool(descending), dtype=dt)


@library_jit(static_argnames=("axis",))
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Indices that sort by several keys, the last one being the most significant."""
    ks = list(keys) if isinstance(keys, (list, tuple)) else list(asarray(keys))
    if not ks:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    check_arraylike("lexsort", *ks)
    ks = [asarray(k) for k in ks]
    if len({k.shape for k in ks}) > 1:
        raise ValueError("all keys need to be the same shape")
    if ks[0].ndim == 0:
        return fill_scalar(0, dtypes.default_int())
    axis = canonical_axis(axis, ks[0].ndim)
    line = lax.broadcasted_iota(dtypes.default_int(), ks[0].shape, axis)
    return lax.sort((*ks[::-1], line), axis, num_keys=len(ks))[-1]


@library_jit(static_argnames=("kth", "axis"))
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """Elements ordered so that those before position `kth` are not larger, those after not smaller."""
    check_arraylike("partition", a)
    x = asarray(a)
    if dtypes.is_complex(x.dtype):
        raise NotImplementedError("jnp.partition for complex dtype is not implemented.")
    k, i = _kth(x, kth, axis)
    smallest, _ = _bottom_k(x, k + 1, i)
    largest, _ = lax.top_k(x, x.shape[i] - k - 1, axis=i)
    return lax.concatenate([smallest, largest], i)


@library_jit(static_argnames=("kth", "axis"))
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """Indices that partition around position `kth`."""
    check_arraylike("argpartition", a)
    x = asarray(a)
    if dtypes.is_complex(x.dtype):
        raise NotImplementedError("jnp.argpartition for complex dtype is not implemented.")
    k, i = _kth(x, kth, axis)
    n = x.shape[i]
    _, first = _bottom_k(x, k + 1, i)
    # the others in any order: what is not taken yet is marked by a one
    marks = put_along_axis(lax.full(x.shape, 1.0, np.float32), first, 0.0, i, inplace=False)
    _, rest = lax.top_k(marks, n - k - 1, axis=i)
    return lax.concatenate([first, rest], i)


def _bottom_k(x: Any, k: int, axis: int) -> Any:
    """The k smallest elements and their indices."""
    if dtypes.is_unsigned(x.dtype):
        values, index = lax.top_k(lax.bitwise_not(x), k, axis=axis)
        return lax.bitwise_not(values), index
    values, index = lax.top_k(lax.neg(x), k, axis=axis)
    return lax.neg(values), index


def _kth(x: Any, kth: int, axis: int) -> tuple[int, int]:
    i = canonical_axis(axis, x.ndim)
    return canonical_axis(kth, x.shape[i]), i


@library_jit
def sort_complex(a: Any) -> Any:
    """Elements sorted by real, then imaginary part, as complex numbers."""
    check_arraylike("sort_complex", a)
    x = asarray(a)
    out = lax.sort(x, 0 if x.ndim == 1 else -1) if x.ndim else x
    return convert(out, dtypes.to_complex(x.dtype))


# --- searching sorted arrays ---------------------------------------------------------------


@jit_as("searchsorted", static_argnames=("side", "dtype"))
def _searchsorted(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """Binary search with as many steps as the length has bits; NaNs are largest."""
    n = a.shape[0]

    def before(x: Any, y: Any) -> Any:
        """Whether x sorts before y (or equal, from the right)."""
        from .ufuncs import less, less_equal

        cmp = less(x, y) if side == "left" else less_equal(x, y)
        if dtypes.is_inexact(x.dtype) and not dtypes.is_complex(x.dtype):
            y_nan, x_nan = lax.ne(y, y), lax.ne(x, x)
            if side == "left":
                return lax.bitwise_or(cmp, lax.bitwise_and(y_nan, lax.bitwise_not(x_nan)))
            return lax.bitwise_or(cmp, y_nan)
        return cmp

    low = lax.full(v.shape, 0, dtype)
    if n == 0:
        return low
    step = 1 << (n.bit_length() - 1)
    limit = fill_scalar(n, dtype)
    while step:
        probe = lax.add(low, fill_scalar(step, dtype))
        at = a.at[lax.sub(lax.min(probe, limit), fill_scalar(1, dtype))].get(
            mode="promise_in_bounds"
        )
        ok = lax.bitwise_and(lax.le(probe, limit), before(at, v))
        low = lax.select(ok, probe, low)
        step >>= 1
    return low


@eager_function
def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Positions at which values would be inserted into a sorted rank-1 array.

    `side` is 'left' (before equal elements) or 'right'. `method` ('scan', 'scan_unrolled',
    'sort', 'compare_all') is accepted; the result does not depend on it.
    """
    if sorter is None:
        check_arraylike("searchsorted", a, v)
    else:
        check_arraylike("searchsorted", a, v, sorter)
    if side not in ("left", "right"):
        raise ValueError(
            f"{side!r} is an invalid value for keyword 'side'. Expected one of ['left', 'right']."
        )
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            f"{method!r} is an invalid value for keyword 'method'. Expected one of ['sort', 'scan', 'scan_unrolled', 'compare_all']."
        )
    if len(shape_of(a)) != 1:
        raise ValueError("a should be 1-dimensional")
    x, y = promote_dtypes(a, v)
    if sorter is not None:
        x = take(x, sorter, axis=0)
    dt = np.dtype(np.int32) if x.shape[0] < 2**31 else np.dtype(np.int64)
    return _searchsorted(x, y, side=side, dtype=dt)


@library_jit(static_argnames=("right", "method"))
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """Index of the bin to which each value belongs; `bins` ascends or descends."""
    check_arraylike("digitize", x, bins)
    v, b = asarray(x), asarray(bins)
    if b.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {bins=}")
    if b.shape[0] == 0:
        return zeros(v.shape, np.int32)
    side = "right" if not right else "left"
    up = searchsorted(b, v, side=side)
    down = lax.sub(
        fill_scalar(b.shape[0], up.dtype),
        searchsorted(lax.rev(b, (0,)), v, side="left" if side == "right" else "right"),
    )
    from .selection import where

    return where(lax.ge(b[-1], b[0]), up, down)


@eager_function
def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Number of occurrences (or sum of weights) of each non-negative integer.

    For traced input a static `length` must be given; larger values are dropped.
    """
    check_arraylike("bincount", x)
    v = asarray(x)
    if not (dtypes.is_integer(v.dtype) or dtypes.is_bool(v.dtype)):
        raise TypeError(
            f"x argument to bincount must have an integer type; got {dtypes.dtype_name(v.dtype)}"
        )
    if v.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if dtypes.is_bool(v.dtype):
        v = convert(v, np.dtype(np.int32))
    if length is None:
        if isinstance(v, Tracer):
            raise ConcretizationTypeError(
                v,
                "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, pass a static `length` argument.",
            )
        n = max(minlength, int(np.asarray(v).max()) + 1 if v.size else 0)
    else:
        n = operator.index(length)
    from .selection import clip

    if weights is None:
        w: Any = fill_scalar(1, dtypes.default_int())
    else:
        check_arraylike("bincount", weights)
        w = asarray(weights)
        if w.shape != v.shape:
            raise ValueError("shape of weights must match shape of x.")
    return zeros((n,), aval_of(w).dtype).at[clip(v, 0)].add(w, mode="drop")


__all__ = [
    "argpartition", "argsort", "argwhere", "bincount", "digitize", "flatnonzero", "lexsort",
    "nonzero", "partition", "place", "put", "put_along_axis", "searchsorted", "sort",
    "sort_complex", "take", "take_along_axis",
]  # fmt: skip
