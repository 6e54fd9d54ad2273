"""What the functions of this package share: argument checks, promotion, broadcasting."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl, from_scalar
from ..core import config, dtypes, eager
from ..core.avals import ShapedArray, get_aval
from ..core.errors import ConcretizationTypeError
from ..core.primitive import registry
from ..core.trace import Tracer, eval_trace, state
from ..core.warn import warn
from ..transforms.jit import library_jit


def is_arraylike(x: Any) -> bool:
    """Whether `x` is an array, a tracer, a NumPy array or scalar, or a Python number."""
    return (
        type(x) in _plain
        or isinstance(x, (Tracer, np.ndarray, np.generic, bool, int, float, complex))
        or hasattr(x, "__jax_array__")
        or hasattr(x, "_base_array")
    )


_plain = frozenset((ArrayImpl, bool, int, float, complex, np.ndarray))


def check_arraylike(who: str, *args: Any, none_ok: bool = False) -> None:
    """Raise TypeError naming the function, type and position of an argument that is no array."""
    for i, a in enumerate(args):
        if type(a) in _plain or is_arraylike(a) or (none_ok and a is None):
            continue
        raise TypeError(
            f"{who} requires ndarray or scalar arguments, got {type(a)} at position {i}."
        )


def asarray(x: Any) -> Any:
    """An array or tracer from an array-like value (no lists)."""
    if type(x) is ArrayImpl or isinstance(x, Tracer):
        return x
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    return eager.as_array(x)


def asarray_checked(x: Any) -> Any:
    """`jnp.asarray`, for values that may be lists of traced values."""
    from .creation import asarray as full_asarray

    return full_asarray(x)


def aval_of(x: Any) -> ShapedArray:
    return get_aval(x)  # type: ignore[return-value]


def shape_of(x: Any) -> tuple[int, ...]:
    return aval_of(x).shape


def dtype_of(x: Any) -> Any:
    return aval_of(x).dtype


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Cast to a dtype and weak type; nothing is done where both hold already."""
    t = type(x)
    if t is ArrayImpl:
        if x.dtype is dtype and x.weak_type == weak_type:
            return x
    elif t in _python_numbers and type(dtype) is not dtypes.ExtendedDType:
        return scalar(x, dtype, weak_type)
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x if isinstance(x, (ArrayImpl, Tracer)) else asarray(x)
    if not isinstance(x, (ArrayImpl, Tracer)):
        return ArrayImpl.from_numpy(_cast(x, dtype), weak_type)
    return registry["convert_element_type"].bind(
        x, new_dtype=dtype, weak_type=bool(weak_type), sharding=None
    )


_python_numbers = frozenset((bool, int, float, complex))
_exact: dict[type, Any] = {
    bool: dtypes.is_bool,
    int: lambda d: not dtypes.is_bool(d),
    float: dtypes.is_inexact,
    complex: dtypes.is_complex,
}
_direct = {
    (t, d)
    for t, holds in _exact.items()
    for d in map(
        np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")
    )
    if holds(d)
}


def takes_dtype(s: Any, x: ArrayImpl) -> bool:
    """Whether `s` is a Python number that promotion with the array `x` casts to the dtype of x."""
    return (
        (type(s), x.dtype) in _direct
        and not x.weak_type
        and (type(s) is not float or -3e38 < s < 3e38)
        and (type(s) is not int or -(2**31) <= s < 2**31)
    )


def scalar(x: Any, dtype: Any, weak_type: bool = False) -> ArrayImpl:
    """A Python number as a rank-0 array. Raises OverflowError for an int that does not fit."""
    if (type(x), dtype) in _direct and (type(x) is not float or -3e38 < x < 3e38):
        return from_scalar(x, dtype, weak_type)
    return ArrayImpl.from_numpy(_cast(x, dtype), weak_type)


def _cast(x: Any, dtype: Any) -> np.ndarray:
    """A Python or NumPy value as a fresh NumPy array of a dtype."""
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool) and dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        if not info.min <= int(x) <= info.max:
            if isinstance(x, int):
                raise OverflowError(
                    f"Python integer {x} out of bounds for {dtypes.dtype_name(dtype)}"
                )
            return np.asarray(x).astype(dtype)
    a = np.array(x)
    if a.dtype == dtypes.float0:
        raise TypeError(dtypes.no_float0_operations)
    with np.errstate(all="ignore"):
        return a.astype(dtype)


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments cast to their common dtype (lattice promotion, weak types kept)."""
    avals = [a.aval if type(a) is ArrayImpl else aval_of(a) for a in args]
    first = avals[0]
    for a in avals:
        if a.dtype is not first.dtype or a.weak_type != first.weak_type or _weak_bool(a):
            break
    else:
        return [a if type(a) is ArrayImpl else asarray(a) for a in args]
    dt, weak = dtypes.promote(tuple([(a.dtype, a.weak_type) for a in avals]))
    return [convert(a, dt, weak) for a in args]


def _weak_bool(aval: Any) -> bool:
    """Whether an aval is a weakly typed bool, which comparisons of weak values give."""
    return aval.weak_type and dtypes.is_bool(aval.dtype)


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Like `promote_dtypes`, to a float or complex dtype."""
    avals = [a.aval if type(a) is ArrayImpl else aval_of(a) for a in args]
    dt, weak = dtypes.promote(tuple([(a.dtype, a.weak_type) for a in avals]))
    dt = dtypes.to_inexact(dt)
    return [convert(a, dt, weak) for a in args]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which shapes broadcast. Raises ValueError where they do not fit together."""
    if len(shapes) == 1:
        return tuple(shapes[0])
    rank = max((len(s) for s in shapes), default=0)
    out = []
    for axis in range(-rank, 0):
        sizes = {s[axis] for s in shapes if len(s) >= -axis}
        sizes.discard(1)
        if len(sizes) > 1:
            raise ValueError(
                f"Incompatible shapes for broadcasting: shapes={[tuple(s) for s in shapes]}"
            )
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def promote_shapes(who: str, *args: Any) -> list[Any]:
    """Give arrays one rank by leading axes of size 1; scalars stay scalars where lax allows it."""
    shapes = [a.shape if type(a) is ArrayImpl else shape_of(a) for a in args]
    full = [s for s in shapes if s]
    for s in full:
        if s != full[0]:
            break
    else:
        return list(args)
    ranks = {len(s) for s in full}
    if len(ranks) <= 1:
        return list(args)
    broadcast_shapes(*shapes)
    rank = max(ranks)
    how = config.rank_promotion.value
    if how != "allow":
        where = f"for {who} on shapes {' '.join(map(str, shapes))}"
        if how == "raise":
            raise ValueError(
                f"Operands could not be broadcast together {where} and with the config option "
                "jax_numpy_rank_promotion='raise'."
            )

        warn(
            f"Following NumPy automatic rank promotion {where}. Set the jax_numpy_rank_promotion "
            "config option to 'allow' to disable this warning.",
            stacklevel=3,
        )
    return [
        a if not s or len(s) == rank else _lead(a, rank, s)
        for a, s in zip(args, shapes, strict=True)
    ]


def _lead(x: Any, rank: int, s: tuple[int, ...]) -> Any:
    return registry["broadcast_in_dim"].bind(
        x,
        shape=(*(1,) * (rank - len(s)), *s),
        broadcast_dimensions=tuple(range(rank - len(s), rank)),
        sharding=None,
    )


def promote_args(who: str, *args: Any) -> list[Any]:
    """Check, promote dtypes and ranks: what a NumPy ufunc does to its arguments."""
    if len(args) == 2:
        x, y = args
        if type(x) is ArrayImpl and takes_dtype(y, x):
            return [x, from_scalar(y, x.dtype)]
        if type(y) is ArrayImpl and takes_dtype(x, y):
            return [from_scalar(x, y.dtype), y]
    check_arraylike(who, *args)
    return promote_shapes(who, *promote_dtypes(*args))


def promote_args_inexact(who: str, *args: Any) -> list[Any]:
    """Like `promote_args`, to a float or complex dtype."""
    if len(args) == 2:
        x, y = args
        if type(x) is ArrayImpl and takes_dtype(y, x) and dtypes.is_inexact(x.dtype):
            return [x, from_scalar(y, x.dtype)]
        if type(y) is ArrayImpl and takes_dtype(x, y) and dtypes.is_inexact(y.dtype):
            return [from_scalar(x, y.dtype), y]
    check_arraylike(who, *args)
    return promote_shapes(who, *promote_dtypes_inexact(*args))


def promote_args_numeric(who: str, *args: Any) -> list[Any]:
    """Like `promote_args`, with booleans cast to the default integer type."""
    check_arraylike(who, *args)
    args = tuple(promote_dtypes(*args))
    if dtypes.is_bool(args[0].dtype):
        args = tuple(convert(a, dtypes.default_int()) for a in args)
    return promote_shapes(who, *args)


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """Broadcast an array to a shape. Raises ValueError where it does not fit."""
    s = shape_of(x)
    shape = tuple(shape)
    if s == shape:
        return x if type(x) is ArrayImpl else asarray(x)
    if type(x) is ArrayImpl and state.trace is eval_trace and not x._committed and _fits(s, shape):
        out = np.empty(shape, x.dtype)
        out[...] = x._numpy()
        return ArrayImpl.from_numpy(out, x.weak_type)
    if len(s) > len(shape):
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={s} shape={shape}"
        )
    lead = len(shape) - len(s)
    if any(a not in (1, b) for a, b in zip(s, shape[lead:], strict=True)):
        raise ValueError(f"Incompatible shapes for broadcasting: {s} and requested shape {shape}")
    dims = tuple(range(lead, len(shape)))
    return registry["broadcast_in_dim"].bind(
        asarray(x) if not isinstance(x, (ArrayImpl, Tracer)) else x,
        shape=shape,
        broadcast_dimensions=dims,
        sharding=None,
    )


def _fits(s: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    if not s:
        return True
    lead = len(shape) - len(s)
    return lead >= 0 and all(a == 1 or a == b for a, b in zip(s, shape[lead:]))


def canonical_axis(axis: Any, rank: int, name: str = "axis") -> int:
    """An axis from either end as a non-negative int. Raises ValueError or TypeError."""
    try:
        i = operator.index(axis)
    except TypeError:
        if isinstance(axis, Tracer):
            raise ConcretizationTypeError(
                axis, f"The {name} argument must be known statically."
            ) from None
        raise TypeError(f"{name} must be an integer, got {axis!r}") from None
    if not -rank <= i < rank:
        # both a ValueError and an IndexError
        raise np.exceptions.AxisError(f"axis {i} is out of bounds for array of dimension {rank}")
    return i % rank


def canonical_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """An axis, a sequence of axes or None (all) as unique non-negative ints, sorted."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, (tuple, list)):
        out = tuple(canonical_axis(a, rank) for a in axis)
        if len(set(out)) != len(out):
            raise ValueError(f"duplicate value in 'axis': {axis}")
        return tuple(sorted(out))
    return (canonical_axis(axis, rank),)


def jit_as(name: str, **options: Any) -> Callable[[Callable], Callable]:
    """`library_jit` under a name that differs from the function's own."""

    def decorate(f: Callable) -> Callable:
        f.__name__ = f.__qualname__ = name
        return library_jit(f, **options)

    return decorate


def rank0(value: Any, dtype: Any) -> ArrayImpl:
    """A number as a rank-0 array, which lax functions broadcast."""
    return scalar(value, dtype)


def like(x: Any, value: Any) -> ArrayImpl:
    """A number as a rank-0 array of the dtype and weak type of `x`."""
    return scalar(value, x.dtype, x.weak_type)


def no_out(who: str, out: Any) -> None:
    """Raise NotImplementedError for an `out` argument: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{who} is not supported.")
