"""`x.at[idx]`: functional updates of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.primitive import registry
from ..core.warn import warn
from ..primitives.gather import GatherScatterMode
from ..primitives.scatter import (
    ScatterDimensionNumbers,
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from ..transforms.eager_functions import eager_function
from .creation import asarray, full_like
from .indexing import make_indexer, prepare, take
from .util import aval_of, broadcast_to, check_arraylike, convert


def _prepared(x: Any, idx: Any, wrap: bool) -> tuple[Any, Any, Any]:
    y, entries, shape = prepare(x, idx)
    return y, make_indexer(entries, shape, wrap), shape


def _scatter(
    op: Callable[..., Any],
    x: Any,
    idx: Any,
    y: Any,
    sorted_: bool,
    unique: bool,
    mode: Any,
    wrap: bool = True,
) -> Any:
    """Apply one of the scatter functions at an index, values cast and broadcast."""
    check_arraylike("scatter", y)
    x_aval, y_aval = aval_of(x), aval_of(y)
    dt, weak = dtypes.promote(((x_aval.dtype, x_aval.weak_type), (y_aval.dtype, y_aval.weak_type)))
    if (
        not dtypes.is_extended(x_aval.dtype)
        and dt != x_aval.dtype
        and not _safe(y_aval, x_aval.dtype)
    ):
        warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{dtypes.dtype_name(y_aval.dtype)} to dtype={dtypes.dtype_name(x_aval.dtype)}. In "
            "future releases this will result in an error.",
            FutureWarning,
            stacklevel=4,
        )
    base, ix, _ = _prepared(x, idx, wrap)
    if 0 in ix.shape:
        return x
    target = _with_new_axes(ix.shape, ix.new_axes)
    y = broadcast_to(convert(asarray(y), dt), target)
    if ix.new_axes:
        y = registry["squeeze"].bind(y, dimensions=ix.new_axes)
    if ix.reversed_axes:
        y = registry["rev"].bind(y, dimensions=ix.reversed_axes)
    dn = ScatterDimensionNumbers(
        update_window_dims=ix.dnums.offset_dims,
        inserted_window_dims=ix.dnums.collapsed_slice_dims,
        scatter_dims_to_operand_dims=ix.dnums.start_index_map,
    )
    work = base if dt == x_aval.dtype else convert(base, dt, weak)
    out = op(
        work,
        ix.vectors,
        y,
        dn,
        indices_are_sorted=sorted_ or ix.scalar or ix.sorted,
        unique_indices=unique or ix.scalar or ix.unique,
        mode=mode,
    )
    if dt != x_aval.dtype:
        out = convert(out, x_aval.dtype)
    if base is not x:
        out = registry["reshape"].bind(out, new_sizes=x_aval.shape, dimensions=None, sharding=None)
    return out


def _safe(value: Any, dtype: Any) -> bool:
    """Whether values of an aval may be cast to `dtype` without a warning."""
    if value.weak_type:
        kind = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
        return kind.get(value.dtype.kind, 2) <= kind.get(dtype.kind, 2)
    try:
        return dtypes.promote(((value.dtype, False), (dtype, False)))[0] == dtype
    except dtypes.TypePromotionError:
        return False


def _with_new_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    rest = iter(shape)
    return tuple(1 if i in axes else next(rest) for i in range(len(shape) + len(axes)))


_eagerly = {
    op: eager_function(functools.partial(_scatter, op))
    for op in (scatter, scatter_add, scatter_max, scatter_min, scatter_mul, scatter_sub)
}


class IndexUpdateRef:
    """`x.at[idx]`: what can be done at an index of an array; every method returns a new array.

    Options of all methods: `mode`, one of 'drop'/'fill' (updates out of bounds are dropped; the
    default), 'clip', 'promise_in_bounds'; `indices_are_sorted` and `unique_indices`, promises that
    make some programs faster. Values are broadcast and cast to the array's dtype.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[idx]`, with control of what happens out of bounds.

        With mode 'fill', elements out of bounds read `fill_value`, by default NaN for inexact
        types and the lowest or largest value for signed or unsigned integers.
        """
        return take(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            fill_value=fill_value,
            wrap_negative_indices=wrap_negative_indices,
        )

    def _update(self, op: Any, values: Any, options: dict) -> Any:
        known = {
            "indices_are_sorted",
            "unique_indices",
            "mode",
            "out_sharding",
            "wrap_negative_indices",
        }
        unknown = set(options) - known
        if unknown:
            raise TypeError(
                f"unexpected keyword argument {sorted(unknown)[0]!r}; accepted: {', '.join(sorted(known))}"
            )
        mode = options.get("mode")
        scatter_by = _eagerly.get(op) or functools.partial(_scatter, op)
        return scatter_by(
            self.array,
            self.index,
            values,
            options.get("indices_are_sorted", False),
            options.get("unique_indices", False),
            None if mode is None else GatherScatterMode.from_any(mode),
            options.get("wrap_negative_indices", True),
        )

    def set(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] = values`."""
        return self._update(scatter, values, options)

    def add(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] += values`; repeated indices add up."""
        return self._update(scatter_add, values, options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] -= values`; repeated indices add up."""
        return self._update(scatter_sub, values, options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] *= values`; repeated indices multiply."""
        return self._update(scatter_mul, values, options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] /= values`."""
        factors = IndexUpdateRef(full_like(self.array, 1), self.index).multiply(values, **options)
        return self.array / factors

    def power(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] **= values`."""
        exponents = IndexUpdateRef(full_like(self.array, 1), self.index).multiply(values, **options)
        return self.array**exponents

    def min(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] = minimum(x[idx], values)`."""
        return self._update(scatter_min, values, options)

    def max(self, values: Any, **options: Any) -> Any:
        """The array with `x[idx] = maximum(x[idx], values)`."""
        return self._update(scatter_max, values, options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """The array with `func` applied to each element at the index, once for each occurrence."""

        def op(operand: Any, indices: Any, updates: Any, dn: Any, **how: Any) -> Any:
            return scatter_apply(operand, indices, func, dn, update_shape=np.shape(updates), **how)

        zero = np.zeros((), aval_of(self.array).dtype)
        return self._update(op, zero, options)


class IndexUpdateHelper:
    """`x.at`, to be indexed."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


def at(self: Any) -> IndexUpdateHelper:
    """Functional updates: `x.at[idx].set(y)` is the array that `x[idx] = y` would give."""
    return IndexUpdateHelper(self)


__all__ = ["IndexUpdateHelper", "IndexUpdateRef", "at"]
