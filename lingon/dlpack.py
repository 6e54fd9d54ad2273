"""Arrays of other libraries, without copying."""

from typing import Any as _Any

from lingon.frontend.core import dtypes as _dtypes
from lingon.frontend.numpy.creation import from_dlpack as _from_dlpack


def from_dlpack(external_array: _Any, device: _Any = None, copy: bool | None = None) -> _Any:
    """An array that shares the memory of an object with `__dlpack__`, such as a torch tensor.

    With `copy=True`, the memory is copied. Raises TypeError for other objects.
    """
    return _from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: _Any) -> bool:
    """Whether arrays of the dtype can be exchanged."""
    dt = _dtypes.canonicalize_dtype(dtype)
    return dt.type.__module__ == "numpy" or dt == _dtypes.bfloat16


__all__ = ["from_dlpack", "is_supported_dtype"]
