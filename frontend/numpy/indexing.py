"""Indexing in every NumPy form: basic, integer arrays, static masks, and the mix of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes, errors
from ..core.primitive import registry
from ..core.trace import Tracer, eval_trace, state
from ..primitives.dynamic import dynamic_slice_p
from ..primitives.gather import GatherDimensionNumbers, GatherScatterMode, gather
from ..transforms.eager_functions import eager_function
from .util import asarray_checked, broadcast_shapes


class Indexer(NamedTuple):
    """An index in the form of one gather (or scatter).

    `vectors` has shape batch + (number of addressed dimensions,); `new_axes` are axes of the
    result that the index inserts; `reversed_axes` are axes of the result to be flipped after a
    gather, or of the updates before a scatter. `shape` is the shape of the result without the
    new axes.
    """

    vectors: Any
    dnums: GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    shape: tuple[int, ...]
    new_axes: tuple[int, ...]
    reversed_axes: tuple[int, ...]
    sorted: bool
    unique: bool
    scalar: bool


def _as_tuple(idx: Any) -> tuple:
    if isinstance(idx, tuple):
        return idx
    if isinstance(idx, list):
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            "`arr[array(seq)]` instead of `arr[seq]`."
        )
    return (idx,)


def _is_none_or_slice(e: Any) -> bool:
    return e is None or e is Ellipsis or isinstance(e, slice)


def _check_entry(e: Any) -> Any:
    """A index entry that is neither None, Ellipsis nor slice, as an int, or an array or tracer."""
    if isinstance(e, str):
        raise TypeError(f"JAX does not support string indexing; got idx={e!r}")
    if isinstance(e, (bool, np.bool_)):
        return np.asarray(e)
    if isinstance(e, (int, np.integer)):
        return int(e)
    if isinstance(e, (list, tuple)):
        if not e:
            return np.zeros((0,), np.int32)
        if any(isinstance(x, (Tracer, ArrayImpl)) for x in e):
            return asarray_checked(e)
        e = np.asarray(e)
    elif not isinstance(e, (np.ndarray, np.generic, ArrayImpl, Tracer)):
        if hasattr(e, "__index__"):
            return operator.index(e)
        e = asarray_checked(e)
    if isinstance(e, (np.ndarray, np.generic)):
        if e.dtype.kind not in "biu":
            raise TypeError(
                f"Indexer must have integer or boolean type, got indexer with type {e.dtype}"
            )
        return np.asarray(e)
    dt = e.dtype
    if not (dtypes.is_integer(dt) or dtypes.is_bool(dt)):
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {dtypes.dtype_name(dt)}"
        )
    return e


def _consumed(e: Any) -> int:
    if e is None or e is Ellipsis:
        return 0
    if isinstance(e, (slice, int)):
        return 1
    if dtypes.is_bool(e.dtype):
        return len(e.shape)
    return 1


def _expand(idx: tuple, shape: Sequence[int]) -> list[Any]:
    """Entries checked, the ellipsis replaced by slices, masks replaced by integer arrays."""
    entries = [e if _is_none_or_slice(e) else _check_entry(e) for e in idx]
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(_consumed(e) for e in entries)
    if used > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {used} were indexed"
        )
    rest = [slice(None)] * (len(shape) - used)
    at = next((i for i, e in enumerate(entries) if e is Ellipsis), None)
    if at is None:
        entries += rest
    else:
        entries[at : at + 1] = rest
    out: list[Any] = []
    position = dim = 0
    for e in entries:
        if isinstance(e, (np.ndarray, ArrayImpl, Tracer)) and dtypes.is_bool(e.dtype):
            if isinstance(e, Tracer):
                known = e._concrete()
                if known is None:
                    raise errors.NonConcreteBooleanIndexError(e)
                e = known
            mask = np.asarray(e)
            if mask.ndim == 0:
                out.append(mask)
                position += 1
                continue
            want = tuple(shape[dim : dim + mask.ndim])
            if mask.shape != want:
                raise IndexError(
                    f"boolean index did not match shape of indexed array in index {position}: got "
                    f"{mask.shape}, expected {list(want)}"
                )
            out += [a.astype(np.int32) for a in np.nonzero(mask)]
            dim += mask.ndim
        else:
            out.append(e)
            dim += _consumed(e)
        position += 1
    return out


def _check_slice(s: slice, position: int) -> slice:
    parts = []
    for v in (s.start, s.stop, s.step):
        if v is None or isinstance(v, int):
            parts.append(v)
        elif isinstance(v, Tracer) and v._concrete() is None:
            raise IndexError(
                f"Slice entries must be static integers. Got {s} at position {position}. Use "
                "lax.dynamic_slice, whose size is static and whose start is not."
            )
        else:
            parts.append(operator.index(v))
    return slice(*parts)


def _all_basic(entries: Sequence[Any]) -> bool:
    return all(e is None or isinstance(e, (slice, int)) for e in entries)


def _clamped(i: int, n: int) -> int:
    """A static integer index with out-of-bounds values moved in, as reading does."""
    i = i + n if i < 0 else i
    return min(max(i, 0), n - 1) if n else 0


def _static_take(x: Any, entries: Sequence[Any], shape: Sequence[int]) -> Any:
    """Basic static indexing by slice, rev, squeeze and broadcast_in_dim."""
    starts, limits, strides, flips, squeezed = [], [], [], [], []
    dim = 0
    for e in entries:
        if e is None:
            continue
        n = shape[dim]
        if isinstance(e, int):
            if n == 0:
                raise IndexError(f"index {e} is out of bounds for axis {dim} with size 0")
            i = _clamped(e, n)
            starts.append(i)
            limits.append(i + 1)
            strides.append(1)
            squeezed.append(dim)
        else:
            start, stop, step = e.indices(n)
            count = len(range(start, stop, step))
            if step < 0:
                flips.append(dim)
                last = start + (count - 1) * step
                start, step = (last if count else 0), -step
                stop = start + (count - 1) * step + 1 if count else start
            elif count == 0:
                start = stop = min(max(start, 0), n)
            else:
                stop = max(start, stop)
            starts.append(start)
            limits.append(stop)
            strides.append(step)
        dim += 1
    if starts != [0] * len(shape) or limits != list(shape) or any(s != 1 for s in strides):
        x = registry["slice"].bind(
            x,
            start_indices=tuple(starts),
            limit_indices=tuple(limits),
            strides=None if all(s == 1 for s in strides) else tuple(strides),
        )
    if flips:
        x = registry["rev"].bind(x, dimensions=tuple(flips))
    if squeezed:
        x = registry["squeeze"].bind(x, dimensions=tuple(squeezed))
    return _insert_new_axes(x, entries)


def _insert_new_axes(x: Any, entries: Sequence[Any]) -> Any:
    new, position = [], 0
    for e in entries:
        if e is None:
            new.append(position)
            position += 1
        elif isinstance(e, slice):
            position += 1
    return expand_axes(x, new)


def expand_axes(x: Any, axes: Sequence[int]) -> Any:
    """Insert axes of size 1 at the given positions of the result."""
    if not axes:
        return x
    shape = list(np.shape(x))
    rank = len(shape) + len(axes)
    kept = tuple(i for i in range(rank) if i not in axes)
    out = [1] * rank
    for k, n in zip(kept, shape, strict=True):
        out[k] = n
    return registry["broadcast_in_dim"].bind(
        x, shape=tuple(out), broadcast_dimensions=kept, sharding=None
    )


def _normalize_negative(i: Any, n: int) -> Any:
    """Index array with negative values counted from the end, in a signed 32- or 64-bit type."""
    if isinstance(i, np.ndarray):
        i = i.astype(index_dtype(n))
        return np.where(i < 0, i + i.dtype.type(n), i) if i.size else i
    dt = i.dtype
    if dtypes.is_unsigned(dt):
        return registry["convert_element_type"].bind(
            i, new_dtype=index_dtype(n), weak_type=False, sharding=None
        )
    negative = registry["lt"].bind(i, np.zeros((), dt))
    if dt.itemsize < 4 and n > dtypes.iinfo(dt).max:
        i = registry["convert_element_type"].bind(
            i, new_dtype=np.dtype(np.int32), weak_type=False, sharding=None
        )
    moved = registry["add"].bind(i, np.asarray(n, i.dtype))
    return registry["select_n"].bind(negative, i, moved)


def index_dtype(n: int) -> np.dtype:
    """The integer type in which positions of an axis of size `n` are computed."""
    return np.dtype(np.int32) if n < 2**31 else np.dtype(np.int64)


def _strong(i: Any, n: int) -> Any:
    want = index_dtype(n)
    if isinstance(i, np.ndarray):
        return i.astype(want)
    if i.weak_type or (i.dtype != want and i.dtype.itemsize < want.itemsize):
        return registry["convert_element_type"].bind(
            i, new_dtype=want, weak_type=False, sharding=None
        )
    return i


def _scalar_dynamic(entries: Sequence[Any]) -> bool:
    """Whether there are traced scalars, and besides only static integers and unit slices."""
    some = False
    for e in entries:
        if e is None or isinstance(e, int):
            continue
        if isinstance(e, slice):
            if e.step not in (None, 1):
                return False
        elif len(e.shape):
            return False
        else:
            some = True
    return some


def _dynamic_take(x: Any, entries: Sequence[Any], shape: Sequence[int]) -> Any:
    """Scalar indices of which some are traced, by one dynamic_slice."""
    starts: list[Any] = []
    sizes, squeezed = [], []
    dim = 0
    for e in entries:
        if e is None:
            continue
        n = shape[dim]
        if isinstance(e, slice):
            start, stop, _ = e.indices(n)
            starts.append(np.asarray(start, np.int32))
            sizes.append(max(stop - start, 0))
        else:
            squeezed.append(dim)
            sizes.append(1)
            if n == 0:
                raise IndexError(f"index is out of bounds for axis {dim} with size 0")
            if isinstance(e, int):
                starts.append(np.asarray(_clamped(e, n), np.int32))
            else:
                starts.append(_normalize_negative(_strong(e, n), n))
        dim += 1
    out = dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))
    if squeezed:
        out = registry["squeeze"].bind(out, dimensions=tuple(squeezed))
    return _insert_new_axes(out, entries)


def make_indexer(entries: Sequence[Any], shape: Sequence[int], wrap: bool = True) -> Indexer:
    """Put expanded entries into the form of one gather.

    With `wrap`, negative indices count from the end; else they are out of bounds.
    """
    arrays = [
        (k, e) for k, e in enumerate(entries) if not (e is None or isinstance(e, (int, slice)))
    ]
    advanced = bool(arrays)
    # with index arrays about, static integers are index arrays of rank 0
    is_adv = [advanced and not (e is None or isinstance(e, slice)) for e in entries]
    batch: tuple[int, ...] = ()
    if advanced:
        batch = broadcast_shapes(
            *[
                () if isinstance(entries[k], int) else tuple(entries[k].shape)
                for k, a in enumerate(is_adv)
                if a
            ]
        )
    adv_positions = [k for k, a in enumerate(is_adv) if a]
    contiguous = bool(adv_positions) and adv_positions == list(
        range(adv_positions[0], adv_positions[-1] + 1)
    )
    # Axes of the result, in order. Kinds: ("adv", i) i-th axis of the broadcast index arrays,
    # ("window", dim), ("strided", index array), ("new",)
    axes: list[tuple] = []
    addressed: list[tuple[int, Any, str]] = []
    sizes: list[int] = [1] * len(shape)
    flips: list[tuple] = []
    lead = [("adv", i) for i in range(len(batch))]
    if advanced and not contiguous:
        axes += lead
    dim = 0
    for k, e in enumerate(entries):
        if is_adv[k] and contiguous and k == adv_positions[0]:
            axes += lead
        if e is None:
            axes.append(("new",))
            continue
        n = shape[dim]
        if isinstance(e, int) and not advanced:
            addressed.append(
                (dim, np.asarray(e + n if e < 0 and wrap else e, index_dtype(n)), "scalar")
            )
        elif is_adv[k]:
            if isinstance(e, int):
                value: Any = np.asarray(e + n if e < 0 and wrap else e, index_dtype(n))
            else:
                value = _strong(_normalize_negative(e, n) if wrap else e, n)
            addressed.append((dim, value, "adv"))
        else:
            start, stop, step = e.indices(n)
            count = len(range(start, stop, step))
            if step == 1 and count == n:
                sizes[dim] = n
                axes.append(("window", dim))
            elif step == 1:
                sizes[dim] = count
                axes.append(("window", dim))
                addressed.append((dim, np.asarray(start, index_dtype(n)), "scalar"))
            else:
                if step < 0:
                    last = start + (count - 1) * step if count else 0
                    flips.append(("strided", dim))
                    start, step = last, -step
                values = (start + step * np.arange(count)).astype(index_dtype(n))
                axes.append(("strided", dim))
                addressed.append((dim, values, "strided"))
        dim += 1
    # batch axes of the index vectors, in the order in which the result has them
    batch_axes = [a for a in axes if a[0] in ("adv", "strided")]
    by_dim = {d: v for d, v, _ in addressed}
    batch_shape = tuple(batch[a[1]] if a[0] == "adv" else len(by_dim[a[1]]) for a in batch_axes)
    columns = []
    for d, v, kind in addressed:
        columns.append(_column(d, v, kind, batch, batch_axes, batch_shape))
    depth = len(columns)
    if depth == 0:
        vectors: Any = np.zeros((*batch_shape, 0), np.int32)
    elif all(isinstance(c, np.ndarray) for c in columns):
        dt = np.result_type(*[c.dtype for c in columns])
        vectors = np.concatenate(
            [np.broadcast_to(c, (*batch_shape, 1)).astype(dt) for c in columns], axis=-1
        )
    else:
        full = []
        for c in columns:
            if isinstance(c, np.ndarray) and c.shape != (*batch_shape, 1):
                if c.size == 1:
                    c = registry["broadcast_in_dim"].bind(
                        c.reshape(()),
                        shape=(*batch_shape, 1),
                        broadcast_dimensions=(),
                        sharding=None,
                    )
                else:
                    c = np.broadcast_to(c, (*batch_shape, 1))
            if np.shape(c) != (*batch_shape, 1):
                c = registry["broadcast_in_dim"].bind(
                    c,
                    shape=(*batch_shape, 1),
                    broadcast_dimensions=tuple(range(len(batch_shape) + 1)),
                    sharding=None,
                )
            full.append(c)
        wide = max((c.dtype for c in full), key=lambda t: t.itemsize)
        full = [
            c
            if c.dtype == wide
            else registry["convert_element_type"].bind(
                c, new_dtype=wide, weak_type=False, sharding=None
            )
            for c in full
        ]
        vectors = (
            full[0]
            if depth == 1
            else registry["concatenate"].bind(*full, dimension=len(batch_shape))
        )
    plain = [a for a in axes if a[0] != "new"]
    offset = tuple(i for i, a in enumerate(plain) if a[0] == "window")
    windows = [a[1] for a in plain if a[0] == "window"]
    collapsed = tuple(d for d in range(len(shape)) if d not in windows)
    out_shape = tuple(
        sizes[a[1]] if a[0] == "window" else batch_shape[batch_axes.index(a)] for a in plain
    )
    return Indexer(
        vectors=vectors,
        dnums=GatherDimensionNumbers(offset, collapsed, tuple(d for d, _, _ in addressed)),
        slice_sizes=tuple(sizes),
        shape=out_shape,
        new_axes=tuple(i for i, a in enumerate(axes) if a[0] == "new"),
        reversed_axes=tuple(i for i, a in enumerate(plain) if a in flips),
        sorted=not advanced,
        unique=not advanced,
        scalar=not batch_axes,
    )


def _column(
    dim: int,
    v: Any,
    kind: str,
    batch: Sequence[int],
    batch_axes: list[tuple],
    batch_shape: Sequence[int],
) -> Any:
    """One component of the index vectors, with shape broadcastable to batch_shape + (1,)."""
    rank = len(batch_axes)
    if kind == "strided":
        position = batch_axes.index(("strided", dim))
        line = [1] * rank
        line[position] = len(v)
        return v.reshape((*line, 1))
    if kind == "scalar":
        return np.asarray(v).reshape((1,) * (rank + 1))
    # index arrays: align their trailing axes with the broadcast index axes
    s = tuple(np.shape(v))
    own = list(range(len(batch) - len(s), len(batch)))
    target = [1] * rank
    dims = []
    for axis, size in zip(own, s, strict=True):
        position = batch_axes.index(("adv", axis))
        target[position] = size
        dims.append(position)
    if isinstance(v, np.ndarray):
        return v.transpose(
            np.argsort(np.argsort(dims)) if len(dims) > 1 else range(len(dims))
        ).reshape((*target, 1))
    return registry["broadcast_in_dim"].bind(
        v, shape=(*[batch_shape[p] if p in dims and target[p] == batch_shape[p] else target[p] for p in range(rank)], 1),
        broadcast_dimensions=tuple(dims), sharding=None,
    )  # fmt: skip


def prepare(x: Any, idx: Any) -> tuple[Any, list[Any], Any]:
    """(x, expanded entries, its shape); scalar masks become an integer index on a new axis."""
    entries = _expand(_as_tuple(idx), x.shape)
    entries = [_check_slice(e, i) if isinstance(e, slice) else e for i, e in enumerate(entries)]
    masks = [k for k, e in enumerate(entries) if isinstance(e, np.ndarray) and e.dtype == np.bool_]
    if masks:
        # x[True] is x[None] with an index array [0] on the new axis; x[False] has [] there
        positions, dim = [], 0
        for k, e in enumerate(entries):
            if k in masks:
                positions.append(dim + len(positions))
            elif e is not None:
                dim += 1
        x = expand_axes(x, positions)
        for k in masks:
            entries[k] = np.zeros((int(bool(entries[k])),), np.int32)
    return x, entries, tuple(x.shape)


def _fast_basic(x: ArrayImpl, idx: Any) -> Any:
    """Basic static indexing of a concrete array through NumPy, or None."""
    entries = idx if type(idx) is tuple else (idx,)
    shape = x.shape
    dim = 0
    new = []
    for e in entries:
        t = type(e)
        if t is int:
            if dim >= len(shape) or shape[dim] == 0:
                return None
            new.append(_clamped(e, shape[dim]))
            dim += 1
        elif t is slice:
            for v in (e.start, e.stop, e.step):
                if v is not None and type(v) is not int:
                    return None
            if e.step == 0 or dim >= len(shape):
                return None
            new.append(e)
            dim += 1
        elif e is None:
            new.append(e)
        else:
            return None
    part = x._numpy()[tuple(new)]
    return ArrayImpl.from_numpy(np.asarray(part), x.weak_type, copy=True)


def take(
    x: Any,
    idx: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """`x[idx]` in all of NumPy's forms; see `jax.numpy.ndarray.at` for the modes.

    Raises IndexError or TypeError for indices that do not fit.
    """
    if (
        mode is None
        and fill_value is None
        and wrap_negative_indices
        and state.trace is eval_trace
        and type(x) is ArrayImpl
        and not x._committed
    ):
        out = _fast_basic(x, idx)
        return _take_eagerly(x, idx) if out is None else out
    return _take(
        x, idx, indices_are_sorted, unique_indices, mode, fill_value, wrap_negative_indices
    )


def _take(
    x: Any,
    idx: Any,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    if fill_value is not None and mode is None:
        mode = "fill"
    chosen = None if mode is None else GatherScatterMode.from_any(mode)
    x, entries, shape = prepare(x, idx)
    if wrap_negative_indices and chosen in (None, GatherScatterMode.PROMISE_IN_BOUNDS):
        if _all_basic(entries):
            return _static_take(x, entries, shape)
        if _scalar_dynamic(entries):
            return _dynamic_take(x, entries, shape)
    ix = make_indexer(entries, shape, wrap_negative_indices)
    out = gather(
        x,
        ix.vectors,
        ix.dnums,
        ix.slice_sizes,
        unique_indices=unique_indices or ix.unique,
        indices_are_sorted=indices_are_sorted or ix.sorted,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS if chosen is None else chosen,
        fill_value=fill_value,
    )
    if ix.reversed_axes:
        out = registry["rev"].bind(out, dimensions=ix.reversed_axes)
    return expand_axes(out, ix.new_axes)


_take_eagerly = eager_function(_take)


def getitem(self: Any, idx: Any) -> Any:
    """`x[idx]`."""
    return take(self, idx)


__all__ = ["Indexer", "expand_axes", "getitem", "make_indexer", "prepare", "take"]
