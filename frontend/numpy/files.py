"""Arrays from and to files, strings and iterables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from .creation import asarray

save, savez = np.save, np.savez


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in a .npy file, or the dict-like contents of a .npz file, read by NumPy."""
    out = np.load(file, *args, **kwargs)
    if isinstance(out, np.ndarray):
        # dtypes that NumPy does not know are stored as raw bytes of the same size
        if out.dtype.kind == "V" and out.dtype.itemsize == 2:
            out = out.view(dtypes.bfloat16)
        out = asarray(out)
    return out


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Not implemented, for pure functions do not read files: raises NotImplementedError."""
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use with "
        "JIT and other JAX transformations. Consider using jnp.asarray(np.fromfile(...)) instead."
    )


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Not implemented, for iterators are used up: raises NotImplementedError."""
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use with "
        "JIT and other JAX transformations. Consider using jnp.asarray(np.fromiter(...)) instead."
    )


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """A rank-1 array from numbers in a text, separated by `sep`."""
    dt = dtypes.check_user_dtype(dtype)
    return asarray(np.fromstring(string, dtype=dt, count=count, sep=sep))


__all__ = ["fromfile", "fromiter", "fromstring", "load", "save", "savez"]
