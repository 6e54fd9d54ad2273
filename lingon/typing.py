"""Types for annotations: what the functions of `lingon.numpy` accept."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, Union, runtime_checkable

import numpy as np

from lingon.frontend.core.array import Array


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a `dtype`."""

    @property
    def dtype(self) -> np.dtype: ...


#: What counts as an array: arrays of this library and NumPy's, and scalars.
ArrayLike: TypeAlias = Union[  # noqa: UP007
    Array, np.ndarray, np.bool_, np.number, bool, int, float, complex
]
#: What counts as a dtype.
DTypeLike: TypeAlias = Union[str, type[Any], np.dtype, SupportsDType]  # noqa: UP007

__all__ = ["ArrayLike", "DTypeLike"]
