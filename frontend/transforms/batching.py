"""Vectorization: a trace whose values have one more axis, somewhere."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import config, dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive
from ..core.staging import trace_to_closed
from ..core.trace import (
    Trace,
    Tracer,
    check_leaks,
    current_trace,
    extend_axis_env,
    set_trace,
)


class Axis:
    """The axis that is being vectorized over: its size and its name (None: anonymous).

    Each use of vmap has an Axis of its own: traces for one and the same Axis object take each
    other's tracers, so that a rule which runs a function again batches what it closes over.
    """

    __slots__ = ("name", "size", "spmd")

    def __init__(self, size: int, name: Any = None):
        self.size, self.name = size, name

    def __eq__(self, other: Any) -> bool:
        return type(other) is Axis and (self.size, self.name) == (other.size, other.name)

    def __hash__(self) -> int:
        return hash((self.size, self.name))

    def scope(self) -> extend_axis_env:
        """Bring the axis' name into scope."""
        return extend_axis_env([] if self.name is None else [(self.name, self.size)])


def unbatched(aval: ShapedArray, dim: int) -> ShapedArray:
    """The aval of one element along `dim`."""
    return aval.update(shape=(*aval.shape[:dim], *aval.shape[dim + 1 :]))


def batched(aval: ShapedArray, dim: int, size: int) -> ShapedArray:
    """The aval with an axis of `size` inserted at `dim`."""
    return aval.update(shape=(*aval.shape[:dim], size, *aval.shape[dim:]))


class BatchTracer(Tracer):
    """A value with a batch axis at position `dim`."""

    __slots__ = ("_aval", "dim", "value")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, value: Any, dim: int):
        self._trace, self.value, self.dim = trace, value, dim
        self._aval: Any = None

    @property
    def aval(self) -> Any:
        if self._aval is None:
            self._aval = unbatched(get_aval(self.value), self.dim)
        return self._aval

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={get_aval(self.value)})"

    def _origin_message(self) -> str:
        text = self.value._origin_message() if isinstance(self.value, Tracer) else ""
        return text or "that is being vectorized by vmap."


class BatchTrace(Trace):
    """Applies batching rules; unbatched values and the rules' work go to the parent trace."""

    def __init__(self, parent: Trace, axis: Axis):
        self.parent, self.axis = parent, axis
        self.alive = True

    def split(self, x: Any) -> tuple[Any, int | None]:
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            return x.value, x.dim
        return x, None

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        values: list[Any] = []
        dims: list[int | None] = []
        mapped = False
        axis = self.axis
        for x in args:
            if type(x) is BatchTracer and x._trace.axis is axis:
                values.append(x.value)
                dims.append(x.dim)
                mapped = True
            else:
                values.append(x)
                dims.append(None)
        with set_trace(self.parent):
            if not mapped and not self._names_axis(primitive, params):
                return primitive.bind(*values, **params)
            try:
                out, dim = primitive.batch(primitive, self.axis, values, dims, params)
            except (TypeError, ValueError, IndexError):
                _check_elements(primitive, args, params)
                raise
        if primitive.multiple_results:
            return [self.wrap(o, d) for o, d in zip(out, dim, strict=True)]
        return self.wrap(out, dim)

    def _names_axis(self, primitive: Primitive, params: dict) -> bool:
        return primitive.axis_names is not None and self.axis.name in primitive.axis_names(params)

    def wrap(self, x: Any, dim: int | None) -> Any:
        return x if dim is None else BatchTracer(self, x, dim)


def _check_elements(primitive: Primitive, args: Sequence[Any], params: dict) -> None:
    """Raise the error of the primitive's rule for single elements, if there is one.

    Its message has the shapes that the user sees, without the batch axis. A call of a function
    that is not traced yet has no such rule.
    """
    if any(callable(v) for v in params.values()):
        return
    try:
        primitive.abstract_eval(*[get_aval(a) for a in args], **params)
    except (TypeError, ValueError, IndexError) as e:
        raise e from None


def batch_flat(
    f: Callable[..., Sequence[Any]], axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[int | None]]:
    """Run a flat function over a batch axis: its results and where their batch axes are."""
    outs, out_dims, trace = _batch_flat(f, axis, args, dims)
    if config.check_tracer_leaks.value:
        check_leaks(trace)
    return outs, out_dims


def _batch_flat(
    f: Callable[..., Sequence[Any]], axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[int | None], weakref.ref]:
    parent = current_trace()
    trace = BatchTrace(parent, axis)
    ins = [trace.wrap(x, d) for x, d in zip(args, dims, strict=True)]
    try:
        with axis.scope(), set_trace(trace):
            outs = f(*ins)
        pairs = [trace.split(o) for o in outs]
    finally:
        trace.alive = False
    return [x for x, _ in pairs], [d for _, d in pairs], weakref.ref(trace)


def batch_jaxpr(
    closed: ClosedJaxpr,
    axis: Axis,
    dims: tuple[int | None, ...],
    out_batched: tuple[bool, ...] | bool = False,
) -> tuple[ClosedJaxpr, list[int | None]]:
    """The jaxpr over batched inputs, and the positions of its outputs' batch axes.

    Outputs for which `out_batched` holds are made batched, at position 0, if they are not.
    Remembered with `closed`.
    """

    def make() -> tuple[ClosedJaxpr, list[int | None]]:
        out_dims: list[int | None] = []

        def f(*args: Any) -> list[Any]:
            outs, ds = batch_flat(
                lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis, args, dims
            )
            want = out_batched if isinstance(out_batched, tuple) else (out_batched,) * len(outs)
            for i, w in enumerate(want):
                if w:
                    outs[i] = move_batch_axis(axis.size, ds[i], 0, outs[i])
                    ds[i] = 0
            out_dims[:] = ds
            return outs

        avals = [
            a if d is None else batched(a, d, axis.size)
            for a, d in zip(closed.in_avals, dims, strict=True)
        ]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info), out_dims

    return closed.derived(("batch", axis, dims, out_batched), make)


class AxisMoves:
    """The array operations that batching itself needs; set by the primitives' modules."""

    moveaxis: Callable[[Any, int, int], Any]
    broadcast: Callable[[Any, int, int], Any]
    sum: Callable[[Any, int], Any]


moves = AxisMoves()


def move_batch_axis(size: int, src: int | None, dst: int, x: Any) -> Any:
    """Put the batch axis of `x` at `dst`, adding it by broadcasting where there is none."""
    if src is None:
        aval = get_aval(x)
        if aval.dtype == dtypes.float0:
            return np.zeros(batched(aval, dst, size).shape, dtypes.float0)
        return moves.broadcast(x, size, dst)
    return x if src == dst else moves.moveaxis(x, src, dst)
