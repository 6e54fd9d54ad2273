"""Pickling of arrays by value."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np

from lingon.runtime import _runtime


def reduce_array(array: _runtime.ArrayImpl, protocol: int) -> tuple[Any, ...]:
    """What ``ArrayImpl.__reduce_ex__`` returns. The data may travel out of band."""
    data: Any = array._numpy().reshape(-1).view(np.uint8)
    payload = pickle.PickleBuffer(data) if protocol >= 5 else data.tobytes()
    return array_from_state, (payload, array.dtype.name, array.shape, array.weak_type)


def array_from_state(
    data: Any, dtype_name: str, shape: tuple[int, ...], weak_type: bool
) -> _runtime.ArrayImpl:
    """Rebuild an array from its pickled state, of which nothing is trusted.

    Args:
      data: the elements, row-major, as an object with the buffer protocol.
      dtype_name: one of ``_runtime.dtype_names``.
      shape: tuple of non-negative ints.
      weak_type: bool.

    Raises:
      TypeError, ValueError: for a state that no array has.
    """
    if not isinstance(dtype_name, str) or dtype_name not in _runtime.dtype_names:
        raise ValueError(f"pickled array: unknown dtype {dtype_name!r}")
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"pickled array: shape must be a tuple of sizes, got {shape!r}")
    if type(weak_type) is not bool:
        raise TypeError(f"pickled array: weak_type must be a bool, got {weak_type!r}")
    view = memoryview(data)
    if not view.c_contiguous:
        raise ValueError("pickled array: the data must be contiguous")
    raw = np.frombuffer(view, np.uint8) if view.nbytes else np.empty(0, np.uint8)
    dtype = _runtime.dtype_from_code(_runtime.dtype_names.index(dtype_name))
    expected = math.prod(shape) * dtype.itemsize
    if raw.size != expected:
        raise ValueError(
            f"pickled array: {raw.size} bytes of data for shape {shape} of {dtype_name}, "
            f"which takes {expected}"
        )
    if dtype_name == "bool" and raw.size and raw.max() > 1:
        raise ValueError("pickled array: bytes of a bool array must be 0 or 1")
    return _runtime.from_numpy(raw.view(dtype).reshape(shape), weak_type, copy=True)
