"""Abstract values: what is known about an array while a function is traced."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import dtypes, errors


class AbstractValue:
    """Base of all abstract values."""

    def str_short(self, long: bool = False) -> str:
        raise NotImplementedError

    def at_least_vspace(self) -> AbstractValue:
        """The aval of tangents of values of this aval."""
        raise NotImplementedError


class ShapedArray(AbstractValue):
    """Shape, dtype and weak type of an array.

    A dimension is an int; code that looks at dimensions goes through the helpers of this module,
    so that a dimension may become a symbolic object with integer arithmetic.
    """

    __slots__ = ("_hash", "dtype", "shape", "vma", "weak_type")
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    #: The manual mesh axes along which values differ from device to device, where shard_map checks
    #: that.
    vma: frozenset

    def __init__(
        self,
        shape: Sequence[Any],
        dtype: Any,
        weak_type: bool = False,
        vma: frozenset = frozenset(),
    ):
        self.shape = tuple(shape)
        self.dtype = (
            dtype if isinstance(dtype, (np.dtype, dtypes.ExtendedDType)) else np.dtype(dtype)
        )
        self.weak_type, self.vma = weak_type, vma
        self._hash = hash((self.shape, self.dtype, weak_type, vma))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with some of shape, dtype, weak_type, vma replaced."""
        return ShapedArray(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            changes.get("weak_type", self.weak_type),
            changes.get("vma", self.vma),
        )

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False) if self.weak_type else self

    def at_least_vspace(self) -> ShapedArray:
        return ShapedArray(self.shape, tangent_dtype(self.dtype), self.weak_type, self.vma)

    to_tangent_aval = at_least_vspace

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(other) is ShapedArray
            and self._hash == other._hash
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak_type == other.weak_type
            and self.vma == other.vma
        )

    def __hash__(self) -> int:
        return self._hash

    def same_type(self, other: Any) -> bool:
        """Equal up to weak type."""
        return (
            isinstance(other, ShapedArray)
            and self.shape == other.shape
            and self.dtype == other.dtype
        )

    def str_short(self, long: bool = False) -> str:
        name = dtypes.dtype_name(self.dtype) if long else dtypes.short_name(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]{self.str_varying()}"

    def str_varying(self) -> str:
        """The axes of `vma` as they are printed behind the shape."""
        if not self.vma:
            return ""
        names = sorted(map(str, self.vma))
        return "{V:" + (names[0] if len(names) == 1 else f"({','.join(names)})") + "}"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(long=True)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(long=True)}{weak})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]


class AbstractToken(AbstractValue):
    """The aval of an ordering token."""

    def str_short(self, long: bool = False) -> str:
        return "Tok"

    def at_least_vspace(self) -> AbstractToken:
        return self

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AbstractToken)

    def __hash__(self) -> int:
        return hash(AbstractToken)


def tangent_dtype(dtype: Any) -> Any:
    """The dtype of tangents: the dtype itself for floats and complex, float0 otherwise."""
    return dtype if dtypes.is_inexact(dtype) else dtypes.float0


#: type -> function giving the aval of a value of that type; filled by whoever defines the type.
aval_of_type: dict[type, Callable[[Any], AbstractValue]] = {}

_python_aval: dict[tuple[type, Any], ShapedArray] = {}


def _scalar_aval(x: Any) -> ShapedArray:
    t = type(x)
    dt = dtypes.python_scalar_dtype(t)
    key = (t, dt)
    aval = _python_aval.get(key)
    if aval is None:
        aval = _python_aval[key] = ShapedArray((), dt, weak_type=t is not bool)
    return aval


def _int_aval(x: int) -> ShapedArray:
    aval = _scalar_aval(x)
    if -0x80000000 <= x <= 0x7FFFFFFF:
        return aval
    info = dtypes.iinfo(aval.dtype)
    if not info.min <= x <= info.max:
        raise OverflowError(
            f"Python integer {x} is too large for {aval.dtype.name}; values must be between "
            f"{info.min} and {info.max}" + ("" if aval.dtype.itemsize == 8 else " (see enable_x64)")
        )
    return aval


def _numpy_aval(x: Any) -> ShapedArray:
    if not dtypes.is_array_dtype(x.dtype):
        if x.dtype == dtypes.float0:
            return ShapedArray(x.shape, dtypes.float0)
        raise TypeError(f"Dtype {x.dtype} is not a valid array dtype.")
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))


def _generic_aval(x: Any) -> ShapedArray:
    """The aval of a NumPy scalar."""
    key = (type(x), dtypes.canonicalize_dtype(x.dtype))
    aval = _python_aval.get(key)
    if aval is None:
        aval = _python_aval[key] = _numpy_aval(x)
    return aval


for _t in (bool, float, complex):
    aval_of_type[_t] = _scalar_aval
aval_of_type[int] = _int_aval
aval_of_type[np.ndarray] = _numpy_aval


def get_aval(x: Any) -> Any:
    """The aval of a tracer, array, NumPy array or scalar, or Python scalar.

    Raises TypeError for values of any other type.
    """
    t = type(x)
    f = aval_of_type.get(t)
    if f is not None:
        return f(x)
    # before the base classes: NumPy's double is a Python float, but not weakly typed
    if isinstance(x, np.generic):
        aval_of_type[t] = _numpy_aval if t is np.void else _generic_aval
        return aval_of_type[t](x)
    for base in t.__mro__[1:]:
        f = aval_of_type.get(base)
        if f is None:
            continue
        if base in (int, float, complex):
            return f(base(x))
        aval_of_type[t] = f
        return f(x)
    if hasattr(x, "__jax_array__"):
        return get_aval(x.__jax_array__())
    raise NotAnArrayError(x)


class NotAnArrayError(TypeError):
    """A value was used as an array that is none."""

    def __init__(self, value: Any):
        super().__init__(f"{value!r} of type {type(value)} is not a valid JAX type")
        self.value = value


def is_valid_value(x: Any) -> bool:
    """Whether `get_aval` knows the type of `x`."""
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def canonical_dim(d: Any, what: str = "dimension") -> int:
    """A dimension given by the user, as an int.

    Raises TypeError when it is not an integer.
    """
    try:
        return operator.index(d)
    except TypeError as e:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {what} {d!r}."
        ) from e


def canonical_shape(shape: Any, what: str = "shape") -> tuple[int, ...]:
    """A shape given by the user (an int or a sequence of ints), checked to be non-negative."""
    if isinstance(shape, (int, np.integer)) or getattr(shape, "ndim", None) == 0:
        shape = (shape,)
    try:
        dims = tuple(shape)
    except TypeError:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape!r}."
        ) from None
    for d in dims:
        if hasattr(d, "_trace") and d._concrete() is None:
            raise errors.traced_shape(d, dims)
    return tuple(canonical_dim(d, what) for d in dims)
