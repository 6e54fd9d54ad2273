"""Scalar types: `jnp.float32` is a dtype wherever one is wanted, and makes arrays when called."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes


class ScalarType(type):
    """The type of scalar types. `jnp.float32(x)` is an array of x with that dtype."""

    dtype: np.dtype

    def __call__(cls, x: Any) -> Any:
        from .creation import asarray

        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or bool(cls.dtype == other)

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)


def _make(dtype: Any) -> Any:
    dt = np.dtype(dtype)
    doc = f"Scalar type of {dt.name}: a dtype, and a function that makes arrays of it."
    return ScalarType(dt.name, (), {"dtype": dt, "__doc__": doc, "__module__": "lingon.numpy"})


bool_ = _make(np.bool_)
int4 = _make(dtypes.int4)
int8 = _make(np.int8)
int16 = _make(np.int16)
int32 = _make(np.int32)
int64 = _make(np.int64)
uint4 = _make(dtypes.uint4)
uint8 = _make(np.uint8)
uint16 = _make(np.uint16)
uint32 = _make(np.uint32)
uint64 = _make(np.uint64)
(
    float8_e3m4,
    float8_e4m3,
    float8_e8m0fnu,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
) = (_make(t) for t in dtypes.float8_types)
bfloat16 = _make(dtypes.bfloat16)
float16 = _make(np.float16)
float32 = single = _make(np.float32)
float64 = double = float_ = _make(np.float64)
complex64 = csingle = _make(np.complex64)
complex128 = cdouble = complex_ = _make(np.complex128)
int_, uint = int64, uint64

# the abstract types and the dtype type are NumPy's
ComplexWarning = np.exceptions.ComplexWarning
character, complexfloating, flexible = np.character, np.complexfloating, np.flexible
floating, generic, inexact, integer = np.floating, np.generic, np.inexact, np.integer
number, object_, signedinteger = np.number, np.object_, np.signedinteger
unsignedinteger, dtype = np.unsignedinteger, np.dtype

__all__ = [
    "ComplexWarning", "bfloat16", "bool_", "cdouble", "character", "complex128", "complex64",
    "complex_", "complexfloating", "csingle", "double", "dtype", "flexible", "float16", "float32",
    "float64", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float_", "floating",
    "generic", "inexact", "int16", "int32", "int4", "int64", "int8", "int_", "integer", "number",
    "object_", "signedinteger", "single", "uint", "uint16", "uint32", "uint4", "uint64", "uint8",
    "unsignedinteger",
]  # fmt: skip
