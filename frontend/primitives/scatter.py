"""scatter and its combining forms: windows of updates written into an operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import Jaxpr
from ..core.primitive import Primitive, Sample, absent, registry
from ..core.rules import (
    Zero,
    add_tangents,
    batch_rule,
    instantiate,
    is_undefined,
    jvp_rule,
    transpose_rule,
)
from ..core.staging import trace_to_jaxpr
from .arithmetic import preferred_zeros, with_zero_signs
from .checks import scatter_check
from .declare import evaluate_elements, front, full, full_like, reshape, widened
from .gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    check_dims,
    gather_p,
    plus_one,
    window_elements,
    window_starts,
)
from .structure import zeros


class ScatterDimensionNumbers(NamedTuple):
    """Which dimensions of updates, indices and operand of a scatter correspond.

    update_window_dims: dimensions of the updates that lie inside the windows.
    inserted_window_dims: operand dimensions of window size 1 that the updates do not have.
    scatter_dims_to_operand_dims: operand dimension that each index component addresses.
    operand_batching_dims, scatter_indices_batching_dims: dimensions iterated together.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


def window_shape(
    operand: Sequence[int], updates: Sequence[int], dn: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """The window's size in each operand dimension."""
    it = iter(updates[d] for d in dn.update_window_dims)
    gone = {*dn.inserted_window_dims, *dn.operand_batching_dims}
    return tuple(1 if i in gone else next(it) for i in range(len(operand)))


def _scatter_abstract(name: str) -> Callable[..., ShapedArray]:
    def abstract(
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **_: Any,
    ) -> ShapedArray:
        dn = dimension_numbers
        if not dtypes.is_integer(indices.dtype):
            raise ValueError("indices must have an integer type")
        if operand.dtype != updates.dtype:
            raise TypeError(
                f"lax.{name.replace('-', '_')} requires arguments to have the same dtypes, got "
                f"{dtypes.dtype_name(operand.dtype)}, {dtypes.dtype_name(updates.dtype)}."
            )
        rank = len(operand.shape)
        if not indices.shape:
            raise TypeError(
                "scatter indices must have rank at least 1: their last dimension is the index vector"
            )
        check_dims("scatter", "update_window_dims", dn.update_window_dims, len(updates.shape))
        check_dims("scatter", "inserted_window_dims", dn.inserted_window_dims, rank)
        check_dims(
            "scatter",
            "scatter_dims_to_operand_dims",
            dn.scatter_dims_to_operand_dims,
            rank,
            ordered=False,
        )
        check_dims("scatter", "operand_batching_dims", dn.operand_batching_dims, rank)
        check_dims(
            "scatter", "scatter_indices_batching_dims", dn.scatter_indices_batching_dims,
            len(indices.shape) - 1, ordered=False,
        )  # fmt: skip
        if len(updates.shape) != len(indices.shape) - 1 + len(dn.update_window_dims):
            raise TypeError(
                "Updates tensor must be of rank "
                f"{len(indices.shape) - 1 + len(dn.update_window_dims)}; got {len(updates.shape)}."
            )
        windows = (
            len(dn.update_window_dims)
            + len(dn.inserted_window_dims)
            + len(dn.operand_batching_dims)
        )
        if rank != windows:
            raise TypeError(
                f"Scatter op has window of size {windows}; doesn't match operand of rank {rank}."
            )
        if len(dn.scatter_dims_to_operand_dims) != indices.shape[-1]:
            raise TypeError(
                f"Scatter op has {len(dn.scatter_dims_to_operand_dims)} elements in "
                "scatter_dims_to_operand_dims and the bound of dimension index_vector_dim="
                f"{len(indices.shape) - 1} of indices is {indices.shape[-1]}. These two numbers must be equal."
            )
        window = window_shape(operand.shape, updates.shape, dn)
        for d, (w, n) in enumerate(zip(window, operand.shape, strict=True)):
            if w > n and d not in dn.inserted_window_dims:
                raise TypeError(
                    f"Bounds of the window dimensions of updates must not exceed the bounds of the "
                    f"corresponding dimensions of operand. For dimension {d}, updates bound is {w}, operand bound is {n}."
                )
        batch = [s for i, s in enumerate(updates.shape) if i not in dn.update_window_dims]
        if batch != list(indices.shape[:-1]):
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                f"corresponding dimensions of scatter indices. Updates have {tuple(batch)}, indices {indices.shape[:-1]}."
            )
        return ShapedArray(operand.shape, operand.dtype, operand.weak_type)

    return abstract


def _positions(
    operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, params: dict
) -> tuple[np.ndarray, np.ndarray, Any]:
    """(updates as batch + window, which windows are written, index arrays)."""
    dn, mode = params["dimension_numbers"], params["mode"]
    window = window_shape(operand.shape, updates.shape, dn)
    batch_dims = [i for i in range(updates.ndim) if i not in dn.update_window_dims]
    u = updates.transpose([*batch_dims, *dn.update_window_dims])
    u = u.reshape(indices.shape[:-1] + window)
    starts, valid = window_starts(
        indices, operand.shape, window, dn.scatter_dims_to_operand_dims, dn.operand_batching_dims,
        dn.scatter_indices_batching_dims, mode,
    )  # fmt: skip
    return u, valid, window_elements([s[valid] for s in starts], window)


def _scatter_reference(combine: Callable[..., None]) -> Callable[..., np.ndarray]:
    def reference(
        operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, **params: Any
    ) -> np.ndarray:
        out = np.array(operand)
        if operand.size == 0 or updates.size == 0:
            return out
        u, valid, where = _positions(operand, indices, updates, params)
        combine(out, where, u[valid], params)
        return out

    return reference


def _set(out: np.ndarray, where: Any, u: np.ndarray, params: dict) -> None:
    if params["update_jaxpr"] is None:
        out[where] = u
        return
    flat = np.ravel_multi_index(where, out.shape).ravel()
    view = out.reshape(-1)
    jaxpr, consts = params["update_jaxpr"], params["update_consts"]
    for i, x in zip(flat, u.ravel(), strict=True):
        (r,) = eval_jaxpr(jaxpr, consts, np.asarray(view[i]), np.asarray(x))
        view[i] = np.asarray(r)


def _at(ufunc: np.ufunc) -> Callable[..., None]:
    def combine(out: np.ndarray, where: Any, u: np.ndarray, params: dict) -> None:
        if out.dtype.itemsize < 4 and dtypes.is_float(out.dtype):
            # each step rounds to the narrow type, as the compiled code does
            flat = np.ravel_multi_index(where, out.shape).ravel()
            view = out.reshape(-1)
            for i, x in zip(flat, widened(u).ravel(), strict=True):
                view[i] = ufunc(np.float32(view[i]), x).astype(out.dtype)
            return
        ufunc.at(out, where, u)

    return combine


def _extremum_at(ufunc: np.ufunc) -> Callable[..., None]:
    plain = _at(ufunc)

    def combine(out: np.ndarray, where: Any, u: np.ndarray, params: dict) -> None:
        if not dtypes.is_float(out.dtype):
            return plain(out, where, u, params)
        zeros = preferred_zeros(ufunc, out)
        np.logical_or.at(zeros, where, preferred_zeros(ufunc, u))
        plain(out, where, u, params)
        written = np.zeros(out.shape, bool)
        written[where] = True
        out[written] = with_zero_signs(ufunc, out[written], zeros[written])

    return combine


# --- jvp, transpose, batching --------------------------------------------------------------


def _gather_numbers(dn: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    return GatherDimensionNumbers(
        offset_dims=tuple(dn.update_window_dims),
        collapsed_slice_dims=tuple(dn.inserted_window_dims),
        start_index_map=tuple(dn.scatter_dims_to_operand_dims),
        operand_batching_dims=tuple(dn.operand_batching_dims),
        start_indices_batching_dims=tuple(dn.scatter_indices_batching_dims),
    )


def _read(
    operand: Any, indices: Any, updates_shape: Sequence[int], params: dict, mode: Any = None
) -> Any:
    """Gather from where a scatter writes."""
    dn = params["dimension_numbers"]
    return gather_p.bind(
        operand,
        indices,
        dimension_numbers=_gather_numbers(dn),
        slice_sizes=window_shape(np.shape(operand), updates_shape, dn),
        mode=params["mode"] if mode is None else mode,
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        fill_value=0 if mode is None else None,
    )


def _linear_in_both(prim: Any) -> Callable[..., Any]:
    """jvp of scatters that are linear in operand and updates together."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        _operand, indices, _updates = primals
        t_op, _, t_up = tangents
        out = prim().bind(*primals, **params)
        if type(t_op) is Zero and type(t_up) is Zero:
            return out, Zero.of(out)
        return out, prim().bind(instantiate(t_op), indices, instantiate(t_up), **params)

    return jvp_rule(jvp)


def _add_transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval) if is_undefined(x) else None for x in (operand, indices, updates)]
    ct_op = ct if is_undefined(operand) else None
    ct_up = _read(ct, indices, updates.aval.shape, params) if is_undefined(updates) else None
    return [ct_op, None, ct_up]


def _sub_transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    out = _add_transpose(ct, operand, indices, updates, **params)
    if out[2] is not None and type(out[2]) is not Zero:
        out[2] = registry["neg"].bind(out[2])
    return out


def _ids(
    indices: Any, operand_shape: Sequence[int], updates_shape: Sequence[int], params: dict
) -> tuple[Any, Any]:
    """A number for each update window element, and the number of the one that was written last
    at each operand element (0: none)."""
    dn = params["dimension_numbers"]
    batch = [i for i in range(len(updates_shape)) if i not in dn.update_window_dims]
    count = int(np.prod([updates_shape[i] for i in batch], dtype=np.int64))
    dt = np.dtype(np.uint32) if count < 2**32 - 1 else np.dtype(np.uint64)
    line = registry["iota"].bind(dtype=dt, shape=(count,), dimension=0, sharding=None)
    shape = tuple(s if i in batch else 1 for i, s in enumerate(updates_shape))
    ids = registry["add"].bind(reshape(line, shape), full(tuple(updates_shape), np.ones((), dt)))
    none = full(tuple(operand_shape), np.zeros((), dt))
    return ids, scatter_p.bind(none, indices, ids, **params)


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """Where windows may overlap, the tangent comes from the update that was really written."""
    operand, indices, updates = primals
    t_op, _, t_up = tangents
    if params["update_jaxpr"] is not None:
        raise NotImplementedError(
            "scatter with an update function has no derivative; see the at[...].apply method"
        )
    out = scatter_p.bind(*primals, **params)
    if type(t_op) is Zero and type(t_up) is Zero:
        return out, Zero.of(out)
    t_op, t_up = instantiate(t_op), instantiate(t_up)
    if params["unique_indices"]:
        return out, scatter_p.bind(t_op, indices, t_up, **params)
    ids, written = _ids(indices, np.shape(operand), np.shape(updates), params)
    seen = _read(written, indices, np.shape(updates), params, GatherScatterMode.PROMISE_IN_BOUNDS)
    eq, select = registry["eq"], registry["select_n"]
    kept = select.bind(eq.bind(written, full_like(written, 0)), full_like(t_op, 0), t_op)
    new = select.bind(eq.bind(ids, seen), full_like(t_up, 0), t_up)
    return out, scatter_add(
        kept,
        indices,
        new,
        params["dimension_numbers"],
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
    )


def _scatter_transpose(
    ct: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter transpose is only implemented where `unique_indices=True`"
        )
    if type(ct) is Zero:
        return [Zero(x.aval) if is_undefined(x) else None for x in (operand, indices, updates)]
    ct_op = ct_up = None
    shape = updates.aval.shape if is_undefined(updates) else np.shape(updates)
    if is_undefined(operand):
        ct_op = scatter_p.bind(ct, indices, zeros(ShapedArray(shape, get_aval(ct).dtype)), **params)  # type: ignore[attr-defined]
    if is_undefined(updates):
        ct_up = _read(ct, indices, shape, params)
    return [ct_op, None, ct_up]


def _mul_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    operand, indices, updates = primals
    t_op, _, t_up = tangents
    if type(t_up) is not Zero and not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul gradients are only implemented if `unique_indices=True`"
        )
    out = scatter_mul_p.bind(*primals, **params)
    total: Any = Zero.of(out)
    if type(t_op) is not Zero:
        total = scatter_mul_p.bind(t_op, indices, updates, **params)
    if type(t_up) is not Zero:
        old = _read(operand, indices, np.shape(updates), params)
        term = scatter_add(
            full_like(operand, 0),
            indices,
            registry["mul"].bind(t_up, old),
            params["dimension_numbers"],
            indices_are_sorted=params["indices_are_sorted"],
            unique_indices=params["unique_indices"],
            mode=params["mode"],
        )
        total = add_tangents(total, term)
    return out, total


def _mul_transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if is_undefined(updates):
        raise NotImplementedError("scatter_mul is not linear in its updates")
    if type(ct) is Zero:
        return [Zero(operand.aval), None, None]
    return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]


def _extremum_jvp(prim: Callable[[], Primitive]) -> Callable[..., Any]:
    """Elements that attain the extremum share the tangent equally."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        operand, indices, updates = primals
        t_op, _, t_up = tangents
        out = prim().bind(*primals, **params)
        if type(t_op) is Zero and type(t_up) is Zero:
            return out, Zero.of(out)
        reg, dn = registry, params["dimension_numbers"]
        how = {
            "indices_are_sorted": params["indices_are_sorted"],
            "unique_indices": params["unique_indices"],
            "mode": params["mode"],
        }
        convert = lambda m, like: reg["convert_element_type"].bind(  # noqa: E731
            m,
            new_dtype=get_aval(like).dtype,
            weak_type=False,
            sharding=None,  # type: ignore[attr-defined]
        )
        hit_op = convert(reg["eq"].bind(operand, out), out)
        best = _read(out, indices, np.shape(updates), params)
        hit_up = convert(reg["eq"].bind(updates, best), out)
        count = scatter_add(hit_op, indices, hit_up, dn, **how)
        t_op, t_up = instantiate(t_op), instantiate(t_up)
        total = scatter_add(
            reg["mul"].bind(hit_op, t_op), indices, reg["mul"].bind(hit_up, t_up), dn, **how
        )
        return out, reg["div"].bind(total, count)

    return jvp_rule(jvp)


def _scatter_batch(prim: Callable[[], Primitive]) -> Any:
    def batch(size: int, args: Any, dims: Any, **params: Any) -> Any:
        operand, indices, updates = args
        d_op, d_idx, d_up = dims
        dn = params["dimension_numbers"]
        operand = _to_front(operand, d_op, size)
        updates = _to_front(updates, d_up, size)
        if d_idx is None:
            new = ScatterDimensionNumbers(
                update_window_dims=(0, *plus_one(dn.update_window_dims)),
                inserted_window_dims=plus_one(dn.inserted_window_dims),
                scatter_dims_to_operand_dims=plus_one(dn.scatter_dims_to_operand_dims),
                operand_batching_dims=plus_one(dn.operand_batching_dims),
                scatter_indices_batching_dims=dn.scatter_indices_batching_dims,
            )
        else:
            indices = front(indices, d_idx)
            new = ScatterDimensionNumbers(
                update_window_dims=plus_one(dn.update_window_dims),
                inserted_window_dims=plus_one(dn.inserted_window_dims),
                scatter_dims_to_operand_dims=plus_one(dn.scatter_dims_to_operand_dims),
                operand_batching_dims=(0, *plus_one(dn.operand_batching_dims)),
                scatter_indices_batching_dims=(0, *plus_one(dn.scatter_indices_batching_dims)),
            )
        return prim().bind(operand, indices, updates, **{**params, "dimension_numbers": new}), 0

    return batch_rule(batch)


def _to_front(x: Any, d: int | None, size: int) -> Any:
    from ..transforms.batching import moves

    return moves.broadcast(x, size, 0) if d is None else front(x, d)


# --- declarations --------------------------------------------------------------------------

_ROWS = ScatterDimensionNumbers((1,), (0,), (0,))
_POINTS = ScatterDimensionNumbers((), (0, 1), (0, 1))


def _samples(dts: Sequence[Any], grad: bool = True) -> Callable[[], list[Sample]]:
    def make() -> list[Sample]:
        out = []
        for mode in (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP):
            common = {
                "mode": mode,
                "indices_are_sorted": False,
                "update_jaxpr": None,
                "update_consts": (),
            }
            for dt in dts:
                out.append(
                    Sample(((4, 3), dt), np.array([[0], [2], [9], [-7]], np.int32), ((4, 3), dt),
                           dimension_numbers=_ROWS, unique_indices=False, grad=grad, **common)
                )  # fmt: skip
            out.append(
                Sample(((4, 3), np.float32), np.array([[0, 1], [2, 2]], np.int32), ((2,), np.float32),
                       dimension_numbers=_POINTS, unique_indices=True, grad=grad, **common)
            )  # fmt: skip
            out.append(
                Sample(((4, 3), np.float32), np.zeros((0, 1), np.int32), ((0, 3), np.float32),
                       dimension_numbers=_ROWS, unique_indices=False, grad=False, **common)
            )  # fmt: skip
        return out

    return make


def _text(eqn: Any) -> dict:
    names = (
        "dimension_numbers",
        "indices_are_sorted",
        "mode",
        "unique_indices",
        "update_consts",
        "update_jaxpr",
    )
    return {k: eqn.params[k] for k in names}


def _declare(
    name: str, combine: Any, jvp: Any, transpose: Any, dts: Sequence[Any], grad: bool = True
) -> Primitive:
    return Primitive(
        name,
        abstract=_scatter_abstract(name),
        reference=_scatter_reference(combine),
        jvp=jvp,
        transpose=transpose,
        batch=_scatter_batch(lambda: registry[name]),
        evaluate=evaluate_elements,
        checkify=scatter_check(window_shape),
        params_text=_text,
        samples=_samples(dts, grad),
    )


_NUMBERS = (np.float32, dtypes.bfloat16, np.int8, np.uint16, np.complex64)
_REALS = (np.float32, dtypes.bfloat16, np.int8, np.uint16)

scatter_p = _declare(
    "scatter",
    _set,
    jvp_rule(_scatter_jvp),
    transpose_rule(_scatter_transpose),
    (*_NUMBERS, np.bool_),
)
scatter_add_p = _declare(
    "scatter-add",
    _at(np.add),
    _linear_in_both(lambda: scatter_add_p),
    transpose_rule(_add_transpose),
    _NUMBERS,
)
scatter_sub_p = _declare(
    "scatter-sub",
    _at(np.subtract),
    _linear_in_both(lambda: scatter_sub_p),
    transpose_rule(_sub_transpose),
    _NUMBERS,
)
scatter_mul_p = _declare(
    "scatter-mul",
    _at(np.multiply),
    jvp_rule(_mul_jvp),
    transpose_rule(_mul_transpose),
    _NUMBERS,
    grad=False,
)
scatter_min_p = _declare(
    "scatter-min", _extremum_at(np.minimum), _extremum_jvp(lambda: scatter_min_p),
    absent("it is not linear"), _REALS,
)  # fmt: skip
scatter_max_p = _declare(
    "scatter-max", _extremum_at(np.maximum), _extremum_jvp(lambda: scatter_max_p),
    absent("it is not linear"), _REALS,
)  # fmt: skip

_update_jaxprs: dict[Any, Jaxpr] = {}


def _update_jaxpr(op: str, dtype: Any, weak: bool) -> Jaxpr:
    """The jaxpr of the combining function, which jaxprs of scatters show."""
    key = (op, dtype, weak)
    if key not in _update_jaxprs:
        aval = ShapedArray((), dtype, weak)
        _update_jaxprs[key] = trace_to_jaxpr(lambda x, y: [registry[op].bind(x, y)], [aval, aval])[
            0
        ]
    return _update_jaxprs[key]


def _bind(
    prim: Primitive,
    op: str | None,
    operand: Any,
    indices: Any,
    updates: Any,
    dn: Any,
    sorted_: bool,
    unique: bool,
    mode: Any,
) -> Any:
    aval = get_aval(operand)
    jaxpr = (
        None
        if op is None or dtypes.is_extended(aval.dtype)
        else _update_jaxpr(op, aval.dtype, False)
    )  # type: ignore[attr-defined]
    return prim.bind(
        operand,
        indices,
        updates,
        dimension_numbers=dn,
        indices_are_sorted=bool(sorted_),
        unique_indices=bool(unique),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=jaxpr,
        update_consts=(),
    )


def _form(prim: Primitive, op: str | None, verb: str) -> Callable[..., Any]:
    def scatter_form(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        return _bind(
            prim, op, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
            unique_indices, mode,
        )  # fmt: skip

    scatter_form.__doc__ = (
        f"Windows of `updates` {verb} `operand` at the index vectors; see ScatterDimensionNumbers.\n\n"
        "    The last dimension of `scatter_indices` holds an index vector. Windows that are not "
        "wholly\n    in bounds are dropped unless `mode` is 'clip'. Updates of one element happen "
        "in order.\n    Raises TypeError or ValueError for shapes, dtypes or dimension numbers that "
        "do not fit.\n    "
    )
    scatter_form.__name__ = scatter_form.__qualname__ = prim.name.replace("-", "_")
    return scatter_form


scatter = _form(scatter_p, None, "written over")
scatter_add = _form(scatter_add_p, "add", "added to")
scatter_sub = _form(scatter_sub_p, "sub", "subtracted from")
scatter_mul = _form(scatter_mul_p, "mul", "multiplied into")
scatter_min = _form(scatter_min_p, "min", "combined by minimum with")
scatter_max = _form(scatter_max_p, "max", "combined by maximum with")


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """Replace elements of `operand` at the index vectors by `func` of them.

    `update_shape` is the shape that updates would have. A window that occurs n times has `func`
    applied n times. `func` takes and returns a scalar.
    """
    aval = get_aval(operand)
    scalar = ShapedArray((), aval.dtype)  # type: ignore[attr-defined]
    jaxpr, consts = trace_to_jaxpr(lambda x, _: [func(x)], [scalar, scalar])
    (out,) = (a.aval for a in jaxpr.outvars)
    if out.shape != () or out.dtype != aval.dtype:  # type: ignore[attr-defined]
        raise TypeError(f"scatter_apply: func must map {scalar} to itself, but it returned {out}")
    updates = full(tuple(update_shape), np.zeros((), aval.dtype))  # type: ignore[attr-defined]
    return scatter_p.bind(
        operand,
        scatter_indices,
        updates,
        dimension_numbers=dimension_numbers,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=jaxpr,
        update_consts=tuple(consts),
    )
