"""Changes of dtype and representation, choices, and identities."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes, pytree
from ..core.avals import get_aval
from ..core.eager import as_array
from ..core.trace import Tracer
from ..core.warn import warn
from ..primitives.comparison import clamp_p, select_n_p
from ..primitives.conversion import (
    bitcast_convert_type_p,
    convert,
    convert_element_type_p,
    optimization_barrier_p,
    reduce_precision_p,
    stop_gradient_p,
)
from ..transforms.eager_functions import eager_function

_scalars = (bool, int, float, complex, np.generic)


@eager_function
def asarray(x: Any) -> Any:
    """`x` as an array: tracers and arrays as they are. Raises TypeError for other types."""
    if type(x) is ArrayImpl or isinstance(x, Tracer):
        return x
    return as_array(x)


def dtype(x: Any) -> Any:
    """The dtype of a value, or the canonical form of a dtype."""
    if isinstance(x, (type, np.dtype, str)) or dtypes.is_extended(x):
        return dtypes.check_user_dtype(x)
    return get_aval(x).dtype  # type: ignore[attr-defined]


@eager_function
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` with elements of `new_dtype`.

    Floats become integers by truncation; what is out of range becomes the nearest limit, NaN 0.
    Complex numbers lose their imaginary part with a warning. Raises ValueError if `new_dtype` is
    None, TypeError if it is no array dtype.
    """
    if new_dtype is None:
        raise ValueError("dtype must be specified.")
    return convert_weakly(operand, dtypes.check_user_dtype(new_dtype, "new_dtype"), False)


@eager_function
def convert_weakly(operand: Any, new_dtype: Any, weak_type: bool) -> Any:
    """Conversion to a canonical dtype and the given weak type; nothing is done where it fits."""
    if isinstance(operand, _scalars):
        return _convert_scalar(operand, new_dtype, weak_type)
    aval: Any = get_aval(operand)
    if aval.dtype == new_dtype and aval.weak_type == weak_type:
        return asarray(operand)
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(new_dtype):
        if not dtypes.is_bool(new_dtype):
            warn(
                "Casting complex values to real discards the imaginary part",
                np.exceptions.ComplexWarning,
                stacklevel=3,
            )
    return convert_element_type_p.bind(
        operand, new_dtype=new_dtype, weak_type=weak_type, sharding=None
    )


_F32, _F64, _I32 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
#: Conversions of small Python numbers that need none of the special rules.
_usual = {float: (_F32, _F64), int: (_F32, _I32, _F64, np.dtype(np.int64))}


def _convert_scalar(x: Any, new_dtype: Any, weak_type: bool) -> Any:
    if type(x) in (float, int) and -1e9 <= x <= 1e9 and new_dtype in _usual.get(type(x), ()):
        value: Any = np.array(x, new_dtype)
    elif type(x) is int and dtypes.is_integer(new_dtype):
        # Python integers of any size keep their low bits
        bits = 8 * new_dtype.itemsize
        x &= (1 << bits) - 1
        value = np.asarray(x, np.uint64).astype(new_dtype)
    elif isinstance(x, (complex, np.complexfloating)) and not dtypes.is_complex(new_dtype):
        raise TypeError(
            f"cannot convert the complex number {x!r} to {dtypes.dtype_name(new_dtype)}"
        )
    else:
        with np.errstate(all="ignore"):
            value = convert(np.asarray(x), new_dtype)
    return ArrayImpl.from_numpy(np.array(value, new_dtype), weak_type)


@eager_function
def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The same bits read as another dtype.

    A narrower dtype adds a last axis, a wider one takes it away. Raises TypeError for bool and
    complex dtypes, ValueError where the last axis does not have the right size.
    """
    new = dtypes.check_user_dtype(new_dtype, "new_dtype")
    return bitcast_convert_type_p.bind(operand, new_dtype=new)


@eager_function
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round to a format with fewer exponent and mantissa bits, keeping the dtype.

    Raises ValueError if `exponent_bits` < 1 or `mantissa_bits` < 0.
    """
    return reduce_precision_p.bind(
        operand,
        exponent_bits=operator.index(exponent_bits),
        mantissa_bits=operator.index(mantissa_bits),
    )


@eager_function
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred`, else `on_false`; equal shapes and dtypes, `pred` may be a scalar."""
    return select_n_p.bind(pred, on_false, on_true)


@eager_function
def select_n(which: Any, *cases: Any) -> Any:
    """Element by element the case that `which` (boolean or integer, clamped) names."""
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


@eager_function
def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` limited to [min, max]; the limits are scalars or of x's shape. All of one dtype."""
    return clamp_p.bind(min, x, max)


@eager_function
def stop_gradient(x: Any) -> Any:
    """The same values, with zero derivative; works on pytrees of arrays."""
    if type(x) is ArrayImpl or isinstance(x, Tracer):
        return stop_gradient_p.bind(x)
    return pytree.tree_map(stop_gradient_p.bind, x)


def optimization_barrier(operand: Any, /) -> Any:
    """The same pytree of arrays, all of it computed before any of it is used."""
    leaves, tree = pytree.tree_flatten(operand)
    return pytree.tree_unflatten(tree, optimization_barrier_p.bind(*leaves) if leaves else [])


__all__ = [
    "asarray",
    "bitcast_convert_type",
    "clamp",
    "convert_element_type",
    "convert_weakly",
    "dtype",
    "optimization_barrier",
    "reduce_precision",
    "select",
    "select_n",
    "stop_gradient",
]
