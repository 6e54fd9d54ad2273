"""Methods and properties of arrays that forward to functions of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.array import attach
from . import (
    manipulation,
    operators,
    products,
    rearranging,
    reductions,
    searching,
    selection,
    ufuncs,
)
from .creation import array
from .util import convert

_forwarded: dict[str, Any] = {
    name: getattr(module, name)
    for module, names in {
        reductions: "all any argmax argmin cumprod cumsum max mean min prod ptp std sum var",
        manipulation: "astype ravel squeeze swapaxes",
        rearranging: "diagonal repeat trace",
        searching: "argpartition argsort nonzero sort searchsorted take",
        selection: "choose clip",
        ufuncs: "conj conjugate round",
        products: "dot",
    }.items()
    for name in names.split()
}


def _reshape(
    self: Any, *args: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None
) -> Any:
    """See `jax.numpy.reshape`; the shape may be given as separate arguments."""
    shape = args[0] if len(args) == 1 and not isinstance(args[0], (int, np.integer)) else args
    return manipulation.reshape(self, shape, order)


def _transpose(self: Any, *args: Any) -> Any:
    """See `jax.numpy.transpose`; the axes may be given as separate arguments."""
    if not args or (len(args) == 1 and args[0] is None):
        return manipulation.transpose(self)
    axes = args[0] if len(args) == 1 and not isinstance(args[0], (int, np.integer)) else args
    return manipulation.transpose(self, axes)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """See `jax.numpy.ravel`."""
    return manipulation.ravel(self, order)


def _compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """See `jax.numpy.compress`."""
    return selection.compress(condition, self, axis=axis, out=out, size=size, fill_value=fill_value)


def _copy(self: Any) -> Any:
    """A copy of the array."""
    return array(self, copy=True)


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The same bytes read as another dtype; the last axis grows or shrinks with the item size."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    dt = dtypes.check_user_dtype(dtype)
    old = self.dtype
    if dtypes.is_bool(old):
        return _view(convert(self, np.dtype(np.uint8)), dt)
    if dtypes.is_bool(dt):
        return convert(_view(self, np.uint8), np.dtype(bool))
    if dtypes.is_complex(old):
        real = dtypes.to_real(old)
        parts = manipulation.stack([lax.real(self), lax.imag(self)], -1)
        flat = (
            manipulation.reshape(parts, (*self.shape[:-1], 2 * self.shape[-1]))
            if self.ndim
            else parts
        )
        return flat if dt == real else _view(flat, dt)
    if dtypes.is_complex(dt):
        pairs = _view(self, dtypes.to_real(dt))
        pairs = manipulation.reshape(pairs, (*pairs.shape[:-1], -1, 2))
        return lax.complex(pairs[..., 0], pairs[..., 1])
    a, b = old.itemsize, dt.itemsize
    if a == b:
        return lax.bitcast_convert_type(self, dt)
    if self.ndim == 0:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if a > b:
        out = lax.bitcast_convert_type(self, dt)
        return manipulation.reshape(out, (*self.shape[:-1], self.shape[-1] * (a // b)))
    if self.shape[-1] * a % b:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the array."
        )
    out = manipulation.reshape(self, (*self.shape[:-1], -1, b // a))
    return lax.bitcast_convert_type(out, dt)


def _byteswap(self: Any, inplace: bool = False) -> Any:
    """Elements with their bytes in reverse order."""
    if inplace:
        raise ValueError("byteswap: arrays are immutable; inplace must be False")
    n = self.dtype.itemsize
    if n == 1:
        return self
    if dtypes.is_complex(self.dtype):
        return lax.complex(_byteswap(lax.real(self)), _byteswap(lax.imag(self)))
    octets = lax.bitcast_convert_type(self, np.dtype(np.uint8))
    return lax.bitcast_convert_type(lax.rev(octets, (octets.ndim - 1,)), self.dtype)


def _flat(self: Any) -> Any:
    raise NotImplementedError(
        "JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead."
    )


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on a device."""
    from ..placement import device_put

    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    return device_put(self, device)


def _iter_traced(self: Any) -> Any:
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    rest = self.shape[1:]
    ones = (1,) * self.ndim

    def row(i: int) -> Any:
        return lax.squeeze(lax.slice(self, (i, *[0] * len(rest)), (i + 1, *rest), ones), (0,))

    return map(row, range(self.shape[0]))


assert operators.operators
attach(
    **dict(_forwarded.items()),
    reshape=_reshape,
    transpose=_transpose,
    flatten=_flatten,
    compress=_compress,
    copy=_copy,
    clone=_copy,
    view=_view,
    byteswap=_byteswap,
    to_device=_to_device,
    flat=property(_flat),
    T=property(lambda self: manipulation.transpose(self)),
    mT=property(lambda self: manipulation.matrix_transpose(self)),
    real=property(lambda self: ufuncs.real(self)),
    imag=property(lambda self: ufuncs.imag(self)),
    nbytes=property(lambda self: self.size * self.dtype.itemsize),
    itemsize=property(lambda self: self.dtype.itemsize),
)


def _attach_iteration() -> None:
    from ..core.trace import Tracer

    Tracer.__iter__ = _iter_traced  # type: ignore[attr-defined]


_attach_iteration()
