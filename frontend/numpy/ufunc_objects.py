"""Universal functions as objects: functions with `reduce`, `accumulate`, `at` and `outer`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from . import float_parts, reductions, ufuncs
from .functional import vectorize
from .selection import where as select
from .util import (
    asarray,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    rank0,
)


class ufunc:
    """A function that works element by element, with NumPy's ufunc methods.

    `jnp.frompyfunc` makes one of a function of scalars. Arguments `out` and `where` of calls raise
    NotImplementedError: arrays are immutable.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ):
        self.nin = operator.index(nin)
        self.nout = operator.index(nout)
        self.nargs = operator.index(self.nin if nargs is None else nargs)
        self.identity = identity
        self.__name__ = self.__qualname__ = name or func.__name__
        self.__doc__ = func.__doc__
        self.__wrapped__ = func
        self._call = vectorize(func) if call is None else call
        self._reduce, self._accumulate, self._at, self._reduceat = reduce, accumulate, at, reduceat

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __hash__(self) -> int:
        return hash((self.__wrapped__, self.__name__, self.nin, self.nout))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ufunc) and (
            (self.__wrapped__, self.__name__, self.nin, self.nout)
            == (other.__wrapped__, other.__name__, other.nin, other.nout)
        )

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        if out is not None:
            raise NotImplementedError(f"out argument of {self}")
        if where is not None:
            raise NotImplementedError(f"where argument of {self}")
        return self._call(*args)

    def _binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")

    def _missing(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{self}.{method} is not implemented: it needs a loop over the axis"
        )

    def reduce(
        self,
        a: Any,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The function applied between all elements along an axis (or all axes if None)."""
        self._binary("reduce")
        check_arraylike(f"{self.__name__}.reduce", a)
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.reduce()")
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"reduction operation {self.__name__!r} does not have an identity, so to use a "
                "where mask one has to specify 'initial'."
            )
        if self._reduce is None:
            raise self._missing("reduce")
        return self._reduce(
            a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The partial results of `reduce` along an axis."""
        self._binary("accumulate")
        check_arraylike(f"{self.__name__}.accumulate", a)
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.accumulate()")
        if self._accumulate is None:
            raise self._missing("accumulate")
        return self._accumulate(a, axis=axis, dtype=dtype)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """The array with the function applied at indices, as often as they occur."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like "
                "np.ufunc.at(). Instead, you can pass inplace=False and capture the result"
            )
        check_arraylike(f"{self.__name__}.at", a)
        x = asarray(a)
        if self.nin == 1:
            if b is not None:
                raise TypeError(f"second argument is not used by the unary ufunc {self}")
            return x.at[indices].apply(self)
        self._binary("at")
        if b is None:
            raise TypeError(f"{self}.at() needs a second operand")
        if self._at is None:
            raise self._missing("at")
        return self._at(x, indices, b)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """`reduce` of the pieces of an axis that start at indices."""
        self._binary("reduceat")
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.reduceat()")
        if self._reduceat is None:
            raise self._missing("reduceat")
        return self._reduceat(a, indices, axis=axis, dtype=dtype)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of all pairs of elements."""
        if self.nin != 2:
            raise ValueError("outer only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError("outer only supported for functions returning a single value")
        check_arraylike(f"{self.__name__}.outer", A, B)
        x, y = asarray(A), asarray(B)
        wide = lax.reshape(x, (*x.shape, *(1,) * y.ndim)) if y.ndim and x.ndim else x
        return self(wide, y)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc of a function of scalars."""
    return ufunc(func, nin, nout, identity=identity)


# --- methods of the known functions ---------------------------------------------------------


def _cast(a: Any, dtype: Any) -> Any:
    x = asarray(a)
    return x if dtype is None else convert(x, dtypes.check_user_dtype(dtype))


def _arithmetic(f: Callable) -> Callable:
    """`reduce` by a reduction that takes a dtype."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return f(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    return reduce


def _extremum(f: Callable) -> Callable:
    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return f(_cast(a, dtype), axis=axis, keepdims=keepdims, initial=initial, where=where)

    return reduce


def _monoid(op: Callable, combine: Callable, neutral: Any, boolean: bool) -> Callable:
    """`reduce` by one of the bitwise reductions of lax."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        x = _cast(a, dtype)
        x = ufuncs.to_bool(x) if boolean else x
        axes = canonical_axes(axis, x.ndim)
        if where is not None:
            x = select(where, x, rank0(neutral if not boolean else bool(neutral), x.dtype))
        out = op(x, axes)
        if initial is not None:
            out = combine(out, convert(initial, x.dtype))
        return lax.expand_dims(out, axes) if keepdims else out

    return reduce


def _doubling(f: Callable, boolean: bool) -> Callable:
    """`accumulate` of an associative function, in a logarithmic number of steps."""

    def accumulate(a: Any, axis: int, dtype: Any) -> Any:
        x = _cast(a, dtype)
        x = ufuncs.to_bool(x) if boolean else x
        i = canonical_axis(axis, x.ndim)
        n, step = x.shape[i], 1
        while step < n:
            head = lax.slice_in_dim(x, 0, step, axis=i)
            late, early = (
                lax.slice_in_dim(x, step, n, axis=i),
                lax.slice_in_dim(x, 0, n - step, axis=i),
            )
            x = lax.concatenate([head, f(early, late)], i)
            step *= 2
        return x

    return accumulate


def _running(op: Callable) -> Callable:
    def accumulate(a: Any, axis: int, dtype: Any) -> Any:
        x = _cast(a, dtype)
        return op(x, canonical_axis(axis, x.ndim))

    return accumulate


def _cumulative(f: Callable) -> Callable:
    def accumulate(a: Any, axis: int, dtype: Any) -> Any:
        return f(a, axis=axis, dtype=dtype)

    return accumulate


def _subtract_reduce(
    a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    x = _cast(a, dtype)
    if axis is None and x.ndim > 1:
        raise ValueError("subtract is not reorderable, so it can reduce along one axis only")
    i = canonical_axis(0 if axis is None else axis, x.ndim)
    if where is not None:
        raise NotImplementedError("where argument of subtract.reduce()")
    if initial is None:
        if x.shape[i] == 0:
            raise ValueError(
                "zero-size array to reduction operation subtract which has no identity"
            )
        first = lax.slice_in_dim(x, 0, 1, axis=i)
        rest = lax.slice_in_dim(x, 1, x.shape[i], axis=i)
    else:
        first, rest = convert(initial, x.dtype), x
    out = ufuncs.subtract(first, lax.expand_dims(lax.reduce_sum(rest, (i,)), (i,)))
    return out if keepdims else lax.squeeze(out, (i,))


def _subtract_accumulate(a: Any, axis: int, dtype: Any) -> Any:
    x = _cast(a, dtype)
    i = canonical_axis(axis, x.ndim)
    first = lax.slice_in_dim(x, 0, min(1, x.shape[i]), axis=i)
    twice = lax.mul(first, rank0(2, x.dtype))
    return lax.sub(twice, lax.cumsum(x, i)) if x.shape[i] else x


def _log_reduce(base2: bool) -> Callable:
    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        x = _cast(a, dtype)
        x = convert(x, dtypes.to_inexact(x.dtype))
        axes = canonical_axes(axis, x.ndim)
        scale = rank0(np.log(2), x.dtype)
        if where is not None:
            x = select(where, x, rank0(-np.inf, x.dtype))
        if base2:
            x = lax.mul(x, scale)
        if 0 in (x.shape[i] for i in axes):
            out = reductions.sum(x, axis=axes, keepdims=True)
            out = ufuncs.log(out)
        else:
            real = lax.real(x) if dtypes.is_complex(x.dtype) else x
            top = lax.expand_dims(lax.reduce_max(real, axes), axes)
            top = lax.stop_gradient(select(ufuncs.isfinite(top), top, 0))
            total = lax.reduce_sum(lax.exp(ufuncs.subtract(x, top)), axes)
            out = ufuncs.add(lax.log(lax.expand_dims(total, axes)), top)
        if base2:
            out = lax.div(out, scale)
        if initial is not None:
            f = float_parts.logaddexp2 if base2 else float_parts.logaddexp
            out = f(out, convert(initial, x.dtype))
        return out if keepdims else lax.squeeze(out, axes)

    return reduce


def _log_accumulate(base2: bool) -> Callable:
    def accumulate(a: Any, axis: int, dtype: Any) -> Any:
        x = _cast(a, dtype)
        x = convert(x, dtypes.to_inexact(x.dtype))
        i = canonical_axis(axis, x.ndim)
        if not base2:
            return lax.cumlogsumexp(x, i)
        scale = rank0(np.log(2), x.dtype)
        return lax.div(lax.cumlogsumexp(lax.mul(x, scale), i), scale)

    return accumulate


def _scatter(method: str) -> Callable:
    def at(x: Any, indices: Any, b: Any) -> Any:
        return getattr(x.at[indices], method)(b)

    return at


def _add_reduceat(a: Any, indices: Any, axis: int, dtype: Any) -> Any:
    x = _cast(a, dtype)
    i = canonical_axis(axis, x.ndim)
    index = asarray(indices)
    if index.ndim != 1:
        raise NotImplementedError("reduceat for indices of rank other than 1")
    from .creation import zeros

    n = x.shape[i]
    starts = zeros((n,), np.int32).at[index].add(1)
    segment = lax.sub(lax.cumsum(starts, 0), np.int32(1))
    lead = (slice(None),) * i
    shape = tuple(index.shape[0] if d == i else s for d, s in enumerate(x.shape))
    return zeros(shape, x.dtype).at[(*lead, segment)].add(x, mode="drop")


def _logical(f: Callable, op: Callable, neutral: bool) -> dict[str, Any]:
    return {
        "reduce": _monoid(op, f, neutral, True),
        "accumulate": _doubling(f, True),
        "identity": neutral,
    }


def _bitwise(f: Callable, op: Callable, neutral: int) -> dict[str, Any]:
    return {
        "reduce": _monoid(op, f, neutral, False),
        "accumulate": _doubling(f, False),
        "identity": neutral,
    }


_methods: dict[str, tuple[Callable, dict[str, Any]]] = {
    "add": (ufuncs.add, {
        "reduce": _arithmetic(reductions.sum), "accumulate": _cumulative(reductions.cumsum),
        "at": _scatter("add"), "reduceat": _add_reduceat, "identity": 0,
    }),
    "multiply": (ufuncs.multiply, {
        "reduce": _arithmetic(reductions.prod), "accumulate": _cumulative(reductions.cumprod),
        "at": _scatter("multiply"), "identity": 1,
    }),
    "subtract": (ufuncs.subtract, {
        "reduce": _subtract_reduce, "accumulate": _subtract_accumulate, "at": _scatter("subtract"),
    }),
    "maximum": (ufuncs.maximum, {
        "reduce": _extremum(reductions.max), "accumulate": _running(lax.cummax),
        "at": _scatter("max"),
    }),
    "minimum": (ufuncs.minimum, {
        "reduce": _extremum(reductions.min), "accumulate": _running(lax.cummin),
        "at": _scatter("min"),
    }),
    "bitwise_and": (ufuncs.bitwise_and, _bitwise(lax.bitwise_and, lax.reduce_and, -1)),  # type: ignore[attr-defined]
    "bitwise_or": (ufuncs.bitwise_or, _bitwise(lax.bitwise_or, lax.reduce_or, 0)),  # type: ignore[attr-defined]
    "bitwise_xor": (ufuncs.bitwise_xor, _bitwise(lax.bitwise_xor, lax.reduce_xor, 0)),  # type: ignore[attr-defined]
    "logical_and": (ufuncs.logical_and, _logical(lax.bitwise_and, lax.reduce_and, True)),
    "logical_or": (ufuncs.logical_or, _logical(lax.bitwise_or, lax.reduce_or, False)),
    "logical_xor": (ufuncs.logical_xor, _logical(lax.bitwise_xor, lax.reduce_xor, False)),
    "logaddexp": (float_parts.logaddexp, {
        "reduce": _log_reduce(False), "accumulate": _log_accumulate(False), "identity": -np.inf,
    }),
    "logaddexp2": (float_parts.logaddexp2, {
        "reduce": _log_reduce(True), "accumulate": _log_accumulate(True), "identity": -np.inf,
    }),
}  # fmt: skip

_objects = {
    name: ufunc(f, 2, 1, name=name, call=f, **methods) for name, (f, methods) in _methods.items()
}
_objects["negative"] = ufunc(ufuncs.negative, 1, 1, name="negative", call=ufuncs.negative)

add, multiply, subtract = _objects["add"], _objects["multiply"], _objects["subtract"]
maximum, minimum, negative = _objects["maximum"], _objects["minimum"], _objects["negative"]
bitwise_and, bitwise_or = _objects["bitwise_and"], _objects["bitwise_or"]
bitwise_xor, logical_and = _objects["bitwise_xor"], _objects["logical_and"]
logical_or, logical_xor = _objects["logical_or"], _objects["logical_xor"]
logaddexp, logaddexp2 = _objects["logaddexp"], _objects["logaddexp2"]

__all__ = ["frompyfunc", "ufunc", *_objects]
