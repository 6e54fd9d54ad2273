"""gather, and what gather and scatter share: dimension numbers, index modes, window positions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray
from ..core.primitive import Primitive, Sample
from ..core.rules import Zero, batch_rule, is_undefined, linear_operands, transpose_rule
from .checks import gather_check
from .declare import evaluate_elements, front
from .structure import zeros


class GatherScatterMode(enum.Enum):
    """What happens to windows that are out of bounds.

    CLIP moves them in, FILL_OR_DROP reads a fill value and writes nothing, PROMISE_IN_BOUNDS says
    that there are none. ONE_HOT is accepted and means FILL_OR_DROP.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    def __str__(self) -> str:
        return f"GatherScatterMode.{self.name}"

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """The mode for a name (`'clip'`, `'fill'`, `'drop'`, `'promise_in_bounds'`), a mode or None.

        Raises ValueError for anything else.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None or s in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if s == "clip":
            return GatherScatterMode.CLIP
        if s == "promise_in_bounds":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        raise ValueError(f'Unknown gather mode "{s}"')


class GatherDimensionNumbers(NamedTuple):
    """Which dimensions of operand, indices and result of a gather correspond.

    offset_dims: dimensions of the result that lie inside the windows.
    collapsed_slice_dims: operand dimensions of window size 1 that the result does not have.
    start_index_map: operand dimension that each component of an index vector addresses.
    operand_batching_dims, start_indices_batching_dims: dimensions iterated together.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


def check_dims(name: str, what: str, dims: Sequence[int], bound: int, ordered: bool = True) -> None:
    """Raise TypeError unless dims are unique, in [0, bound) and, if asked, ascending."""
    if ordered and list(dims) != sorted(dims):
        raise TypeError(f"{what} in {name} op must be sorted; got {tuple(dims)}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{what} in {name} op must not repeat; got: {tuple(dims)}.")
    for d in dims:
        if not 0 <= d < bound:
            raise TypeError(
                f"Invalid {what} set in {name} op; valid range is [0, {bound}); got: {d}."
            )


def fill_of(dtype: Any) -> Any:
    """The value that gathers give for out-of-bounds windows by default: NaN, or an extreme."""
    if dtypes.is_inexact(dtype):
        return np.nan
    if dtypes.is_bool(dtype):
        return True
    info = dtypes.iinfo(dtype)
    return info.min if dtypes.is_signed(dtype) else info.max


def window_starts(
    indices: np.ndarray,
    shape: Sequence[int],
    window: Sequence[int],
    index_map: Sequence[int],
    operand_batching: Sequence[int],
    index_batching: Sequence[int],
    mode: GatherScatterMode,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Start of each window in each operand dimension, and which windows are in bounds."""
    batch = indices.shape[:-1]
    wide = (
        indices.astype(np.int64)
        if indices.dtype != np.uint64
        else np.minimum(indices, 2**62).astype(np.int64)
    )
    starts = [np.zeros(batch, np.int64) for _ in shape]
    for k, d in enumerate(index_map):
        starts[d] = wide[..., k]
    for d, b in zip(operand_batching, index_batching, strict=True):
        line = [1] * len(batch)
        line[b] = batch[b]
        starts[d] = np.broadcast_to(np.arange(batch[b]).reshape(line), batch)
    valid = np.ones(batch, bool)
    for d in range(len(shape)):
        top = shape[d] - window[d]
        if mode is GatherScatterMode.CLIP or mode is GatherScatterMode.PROMISE_IN_BOUNDS:
            starts[d] = np.clip(starts[d], 0, max(top, 0))
        else:
            valid &= (starts[d] >= 0) & (starts[d] <= top)
    return starts, valid


def window_elements(starts: list[np.ndarray], window: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Index arrays of shape batch + window, one for each operand dimension."""
    n = len(window)
    out = []
    for d, s in enumerate(starts):
        line = [1] * n
        line[d] = window[d]
        out.append(s.reshape(s.shape + (1,) * n) + np.arange(window[d]).reshape(line))
    return tuple(out)


# --- gather --------------------------------------------------------------------------------


def _gather_shape(
    operand: Sequence[int], indices: Sequence[int], dn: GatherDimensionNumbers, sizes: Sequence[int]
) -> tuple[int, ...]:
    rank = len(dn.offset_dims) + len(indices) - 1
    batch = iter(indices[:-1])
    gone = {*dn.collapsed_slice_dims, *dn.operand_batching_dims}
    offsets = iter(s for i, s in enumerate(sizes) if i not in gone)
    return tuple(next(offsets) if i in dn.offset_dims else next(batch) for i in range(rank))


def _gather_abstract(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple,
    mode: GatherScatterMode,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> ShapedArray:
    dn, name = dimension_numbers, "gather"
    if not dtypes.is_integer(indices.dtype):
        raise ValueError("start_indices must have an integer type")
    if not indices.shape:
        raise TypeError(
            "gather indices must have rank at least 1: their last dimension is the index vector"
        )
    rank, depth = len(operand.shape), indices.shape[-1]
    check_dims(name, "offset_dims", dn.offset_dims, len(dn.offset_dims) + len(indices.shape) - 1)
    check_dims(name, "collapsed_slice_dims", dn.collapsed_slice_dims, rank)
    check_dims(name, "start_index_map", dn.start_index_map, rank, ordered=False)
    check_dims(name, "operand_batching_dims", dn.operand_batching_dims, rank)
    check_dims(
        name,
        "start_indices_batching_dims",
        dn.start_indices_batching_dims,
        len(indices.shape) - 1,
        ordered=False,
    )
    if len(dn.start_index_map) != depth:
        raise TypeError(
            f"Gather op has {len(dn.start_index_map)} elements in start_index_map and the bound of "
            f"dimension index_vector_dim={len(indices.shape) - 1} of indices is {depth}. These two "
            "numbers must be equal."
        )
    if len(slice_sizes) != rank:
        raise TypeError(
            f"Gather op must have one slice size for every input dimension; got {len(slice_sizes)} sizes for {rank} dimensions."
        )
    if len(slice_sizes) != len(dn.offset_dims) + len(dn.collapsed_slice_dims) + len(
        dn.operand_batching_dims
    ):
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension or "
            f"explicitly collapsed/batching; got len(slice_sizes)={len(slice_sizes)}, offset_dims="
            f"{dn.offset_dims}, collapsed_slice_dims={dn.collapsed_slice_dims}, "
            f"operand_batching_dims={dn.operand_batching_dims}."
        )
    for i, (s, n) in enumerate(zip(slice_sizes, operand.shape, strict=True)):
        if not 0 <= s <= n:
            raise TypeError(
                f"Slice size at index {i} in gather op is out of range, must be within [0, {n} + 1), got {s}."
            )
    for i in (*dn.collapsed_slice_dims, *dn.operand_batching_dims):
        if slice_sizes[i] > 1:
            raise TypeError(
                f"Gather op can only collapse slice dims with bound 1; bound is {slice_sizes[i]} for index {i}."
            )
    for o, b in zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True):
        if operand.shape[o] != indices.shape[b]:
            raise TypeError(
                "Gather op operand_batching_dims and start_indices_batching_dims must have equal sizes."
            )
    return ShapedArray(
        _gather_shape(operand.shape, indices.shape, dn, slice_sizes),
        operand.dtype,
        operand.weak_type,
    )


def _gather_reference(
    operand: np.ndarray,
    indices: np.ndarray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple,
    mode: GatherScatterMode,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> np.ndarray:
    dn = dimension_numbers
    starts, valid = window_starts(
        indices, operand.shape, slice_sizes, dn.start_index_map, dn.operand_batching_dims,
        dn.start_indices_batching_dims, mode,
    )  # fmt: skip
    out_shape = _gather_shape(operand.shape, indices.shape, dn, slice_sizes)
    fills = not valid.all()
    if fills:
        starts = [np.where(valid, s, 0) for s in starts]
    if operand.size == 0 or 0 in out_shape:
        out = np.zeros(valid.shape + tuple(slice_sizes), operand.dtype)
    else:
        out = operand[window_elements(starts, slice_sizes)]
    if fills:
        fill = fill_of(operand.dtype) if fill_value is None else fill_value
        mask = valid.reshape(valid.shape + (1,) * len(slice_sizes))
        out = (
            np.where(mask, out, np.asarray(fill).astype(operand.dtype))
            if operand.dtype.type is not np.void
            else out
        )
    gone = {*dn.collapsed_slice_dims, *dn.operand_batching_dims}
    kept = [s for i, s in enumerate(slice_sizes) if i not in gone]
    nb = valid.ndim
    out = out.reshape(valid.shape + tuple(kept))
    order, b, o = [], iter(range(nb)), iter(range(nb, nb + len(kept)))
    for i in range(len(out_shape)):
        order.append(next(o) if i in dn.offset_dims else next(b))
    return out.transpose(order)


def _gather_transpose(ct: Any, operand: Any, indices: Any, **params: Any) -> list[Any]:
    if not is_undefined(operand):
        raise NotImplementedError("gather is not linear in its indices")
    if type(ct) is Zero:
        return [Zero(operand.aval), None]
    from .scatter import ScatterDimensionNumbers, scatter_add

    dn = params["dimension_numbers"]
    sdn = ScatterDimensionNumbers(
        update_window_dims=dn.offset_dims,
        inserted_window_dims=dn.collapsed_slice_dims,
        scatter_dims_to_operand_dims=dn.start_index_map,
        operand_batching_dims=dn.operand_batching_dims,
        scatter_indices_batching_dims=dn.start_indices_batching_dims,
    )
    out = scatter_add(
        zeros(operand.aval),
        indices,
        ct,
        sdn,
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
    )
    return [out, None]


def plus_one(dims: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(d) + 1 for d in dims)


def _gather_batch(size: int, args: Any, dims: Any, **params: Any) -> Any:
    operand, indices = args
    d_op, d_idx = dims
    dn, sizes = params["dimension_numbers"], params["slice_sizes"]
    if d_idx is None:
        operand = front(operand, d_op)
        new = GatherDimensionNumbers(
            offset_dims=(0, *plus_one(dn.offset_dims)),
            collapsed_slice_dims=plus_one(dn.collapsed_slice_dims),
            start_index_map=plus_one(dn.start_index_map),
            operand_batching_dims=plus_one(dn.operand_batching_dims),
            start_indices_batching_dims=dn.start_indices_batching_dims,
        )
        params = {**params, "dimension_numbers": new, "slice_sizes": (size, *sizes)}
        return gather_p.bind(operand, indices, **params), 0
    operand = operand if d_op is None else front(operand, d_op)
    indices = front(indices, d_idx)
    if d_op is None:
        new = dn._replace(
            offset_dims=plus_one(dn.offset_dims),
            start_indices_batching_dims=plus_one(dn.start_indices_batching_dims),
        )
        return gather_p.bind(operand, indices, **{**params, "dimension_numbers": new}), 0
    new = GatherDimensionNumbers(
        offset_dims=plus_one(dn.offset_dims),
        collapsed_slice_dims=plus_one(dn.collapsed_slice_dims),
        start_index_map=plus_one(dn.start_index_map),
        operand_batching_dims=(0, *plus_one(dn.operand_batching_dims)),
        start_indices_batching_dims=(0, *plus_one(dn.start_indices_batching_dims)),
    )
    params = {**params, "dimension_numbers": new, "slice_sizes": (1, *sizes)}
    return gather_p.bind(operand, indices, **params), 0


_ROWS = GatherDimensionNumbers((1,), (0,), (0,))
_POINTS = GatherDimensionNumbers((), (0, 1), (0, 1))
_BATCHED = GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
_INDEX = np.array([[0], [2], [-1], [7], [2]], np.int32)


def _gather_samples() -> list[Sample]:
    out = []
    for mode in list(GatherScatterMode)[:2]:
        fill = None if mode is GatherScatterMode.CLIP else 0
        for dt in (np.float32, dtypes.bfloat16, np.int8, np.uint16, np.bool_, np.complex64):
            out.append(
                Sample(((3, 4), dt), _INDEX, dimension_numbers=_ROWS, slice_sizes=(1, 4), mode=mode,
                       unique_indices=False, indices_are_sorted=False, fill_value=fill)
            )  # fmt: skip
        out.append(
            Sample(((3, 4), np.float32), np.array([[0, 3], [5, 1]], np.uint8), dimension_numbers=_POINTS,
                   slice_sizes=(1, 1), mode=mode, unique_indices=False, indices_are_sorted=False, fill_value=fill)
        )  # fmt: skip
        out.append(
            Sample(((3, 4), np.float32), np.array([[[0]], [[9]], [[1]]], np.int32), dimension_numbers=_BATCHED,
                   slice_sizes=(1, 1), mode=mode, unique_indices=False, indices_are_sorted=False, fill_value=fill)
        )  # fmt: skip
        out.append(
            Sample(((3, 4), np.float32), np.zeros((0, 1), np.int32), dimension_numbers=_ROWS,
                   slice_sizes=(1, 4), mode=mode, unique_indices=False, indices_are_sorted=False, fill_value=fill)
        )  # fmt: skip
    return out


gather_p = Primitive(
    "gather",
    abstract=_gather_abstract,
    reference=_gather_reference,
    jvp=linear_operands(0),
    transpose=transpose_rule(_gather_transpose),
    batch=batch_rule(_gather_batch),
    evaluate=evaluate_elements,
    checkify=gather_check,
    params_text=lambda eqn: {
        k: eqn.params[k]
        for k in (
            "dimension_numbers",
            "fill_value",
            "indices_are_sorted",
            "mode",
            "slice_sizes",
            "unique_indices",
        )
    },
    samples=_gather_samples,
)


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Windows of `operand` of shape `slice_sizes` that start at the index vectors.

    See `GatherDimensionNumbers`; the last dimension of `start_indices` holds an index vector.
    `fill_value` is what out-of-bounds windows read in mode 'fill' (default NaN for inexact types,
    the smallest value for signed and the largest for unsigned integers, True for booleans).
    Raises TypeError or ValueError for dimension numbers that do not fit.
    """
    m = GatherScatterMode.from_any(mode)
    if m is GatherScatterMode.FILL_OR_DROP and fill_value is None:
        from ..core.avals import get_aval

        dt = get_aval(operand).dtype  # type: ignore[attr-defined]
        fill_value = None if dtypes.is_extended(dt) else fill_of(dt)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=tuple(int(s) for s in slice_sizes),
        mode=m,
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        fill_value=fill_value,
    )
