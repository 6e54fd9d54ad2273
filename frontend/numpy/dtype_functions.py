"""Questions about dtypes and shapes, and how arrays are printed."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..core import dtypes
from ..core.array import Array
from ..core.avals import NotAnArrayError, get_aval
from ..core.warn import warn
from .util import broadcast_shapes as _broadcast
from .util import is_arraylike

finfo, iinfo = ml_dtypes.finfo, ml_dtypes.iinfo
ndarray = Array
array_repr, array_str, can_cast = np.array_repr, np.array_str, np.can_cast
get_printoptions, set_printoptions = np.get_printoptions, np.set_printoptions
printoptions = np.printoptions
issubdtype = dtypes.issubdtype

_kinds = {
    "bool": dtypes.is_bool,
    "signed integer": dtypes.is_signed,
    "unsigned integer": dtypes.is_unsigned,
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_float,
    "complex floating": dtypes.is_complex,
    "numeric": lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind ('bool', 'integral', 'real floating', ...), or equals a dtype.

    `kind` may be a tuple of kinds. Raises ValueError for an unknown kind.
    """
    dt = dtype if isinstance(dtype, dtypes.ExtendedDType) else np.dtype(dtype)
    for k in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(k, str) and k in _kinds:
            if _kinds[k](dt):
                return True
            continue
        try:
            other = k if isinstance(k, dtypes.ExtendedDType) else np.dtype(k)
        except TypeError:
            raise ValueError(
                f"Unrecognized kind={k!r} expected one of {list(_kinds)}, or a compatible input "
                "for jnp.dtype()"
            ) from None
        if dt == other:
            return True
    return False


def promote_types(a: Any, b: Any) -> Any:
    """The dtype to which a binary operation casts operands of the two dtypes.

    Python's `int`, `float` and `complex` are weak: they give way to array dtypes. Raises
    TypePromotionError where there is no such dtype.
    """
    return dtypes.promote_types_exactly(a, b)


def _entry(x: Any) -> tuple[Any, bool]:
    if x is None:
        return dtypes.default_float(), False
    if isinstance(x, type) and x in dtypes.python_scalar_types:
        return dtypes.python_scalar_dtype(x), x is not bool
    if isinstance(x, dtypes.ExtendedDType):
        return x, False  # type: ignore[return-value]
    if isinstance(x, (type, str, np.dtype)):
        return dtypes.canonicalize_dtype(x), False
    try:
        aval: Any = get_aval(x)
    except NotAnArrayError:
        if hasattr(x, "dtype"):
            return dtypes.canonicalize_dtype(x.dtype), bool(getattr(x, "weak_type", False))
        raise TypeError(f"Cannot determine dtype of {x!r}") from None
    return aval.dtype, aval.weak_type


def result_type(*args: Any) -> Any:
    """The dtype that an operation on these arrays, scalars and dtypes gives.

    Raises ValueError without arguments, TypePromotionError where there is no such dtype.
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    return dtypes.promote(tuple(_entry(a) for a in args))[0]


def _list_warning(who: str, a: Any) -> None:
    if isinstance(a, (list, tuple)):
        warn(
            f"{who} requires ndarray or scalar arguments, got {type(a)} at position 0. In a future "
            "JAX release this will be an error.",
            DeprecationWarning,
            stacklevel=3,
        )


def shape(a: Any) -> tuple[int, ...]:
    """The shape of an array or scalar."""
    if hasattr(a, "shape"):
        return tuple(a.shape)
    _list_warning("shape", a)
    return np.shape(a)


def ndim(a: Any) -> int:
    """The number of dimensions of an array or scalar."""
    if hasattr(a, "ndim"):
        return a.ndim
    _list_warning("ndim", a)
    return len(np.shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array, or along axes. Raises ValueError for wrong axes."""
    from .util import canonical_axis

    if not hasattr(a, "shape"):
        _list_warning("size", a)
    s = tuple(np.shape(a))
    axes = range(len(s)) if axis is None else (axis if isinstance(axis, (tuple, list)) else (axis,))
    return math.prod(s[canonical_axis(operator.index(i), len(s))] for i in axes)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of a value is complex."""
    if isinstance(x, (list, tuple)):
        return np.iscomplexobj(x)
    dt = getattr(x, "dtype", None)
    return dtypes.is_complex(np.dtype(dt) if isinstance(dt, str) else dt) or type(x) is complex


def isrealobj(x: Any) -> bool:
    """Whether the dtype of a value is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether a value is a Python or NumPy scalar or an array of rank 0."""
    if np.isscalar(element):
        return True
    return hasattr(element, "dtype") and is_arraylike(element) and np.ndim(element) == 0


def iterable(y: Any) -> bool:
    """Whether `iter(y)` works."""
    if hasattr(y, "shape"):
        return len(y.shape) > 0
    return np.iterable(y)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which shapes broadcast. Raises ValueError where they do not fit together."""
    given = [
        tuple(operator.index(d) for d in s)
        if isinstance(s, (tuple, list))
        else (operator.index(s),)
        for s in shapes
    ]
    return _broadcast(*given) if given else ()


__all__ = [
    "array_repr", "array_str", "broadcast_shapes", "can_cast", "finfo", "get_printoptions",
    "iinfo", "iscomplexobj", "isdtype", "isrealobj", "isscalar", "issubdtype", "iterable", "ndarray",
    "ndim", "printoptions", "promote_types", "result_type", "set_printoptions", "shape", "size",
]  # fmt: skip
