"""Initializers of parameters: functions (key, shape, dtype) to arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.avals import canonical_shape
from ..numpy import creation
from ..numpy.creation import fill_scalar
from ..random import samplers

Initializer = Callable[..., Any]


def _dtype(dtype: Any) -> Any:
    return dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype)


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros."""
    return creation.zeros(shape, _dtype(dtype))


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones."""
    return creation.ones(shape, _dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that fills with a value."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return creation.full(shape, value, dtype=_dtype(dtype))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer with uniform values in [0, scale)."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        dt = _dtype(dtype)
        return lax.mul(samplers.uniform(key, shape, dt), fill_scalar(scale, dt))

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer with normal values of mean 0."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        dt = _dtype(dtype)
        return lax.mul(samplers.normal(key, shape, dt), fill_scalar(stddev, dt))

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer with normal values truncated to stddev * [lower, upper]."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        dt = _dtype(dtype)
        return lax.mul(
            samplers.truncated_normal(key, lower, upper, shape, dt), fill_scalar(stddev, dt)
        )

    return init


def _fans(
    shape: Sequence[int], in_axis: Any, out_axis: Any, batch_axis: Any
) -> tuple[float, float]:
    def size(axes: Any) -> int:
        return math.prod(shape[a] for a in axes) if isinstance(axes, (tuple, list)) else shape[axes]

    if len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor. Must be at least 2D."
        )
    fan_in, fan_out, batch = size(in_axis), size(out_axis), size(batch_axis)
    field = math.prod(shape) / fan_in / fan_out / batch
    return fan_in * field, fan_out * field


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Any = -2,
    out_axis: Any = -1,
    batch_axis: Any = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer whose variance is `scale` over a fan of the weights.

    `mode` is 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg'; `distribution` is
    'truncated_normal', 'normal' or 'uniform'. Raises ValueError for others.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        dims = canonical_shape(shape)
        dt = _dtype(dtype)
        fan_in, fan_out = _fans(dims, in_axis, out_axis, batch_axis)
        fans = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = np.array(scale / fans[mode], dtypes.to_real(dt))
        if distribution == "normal":
            return lax.mul(samplers.normal(key, dims, dt), fill_scalar(np.sqrt(variance), dt))
        if distribution == "uniform":
            if dtypes.is_complex(dt):
                raise NotImplementedError("variance_scaling: complex uniform values")
            x = samplers.uniform(key, dims, dt, -1)
            return lax.mul(x, fill_scalar(np.sqrt(3 * variance), dt))
        if distribution == "truncated_normal":
            if dtypes.is_complex(dt):
                raise NotImplementedError("variance_scaling: complex truncated normal values")
            # the standard deviation of a standard normal truncated to (-2, 2)
            stddev = np.sqrt(variance) / np.array(0.87962566103423978, dtypes.to_real(dt))
            return lax.mul(samplers.truncated_normal(key, -2, 2, dims, dt), fill_scalar(stddev, dt))
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def _named(scale: float, mode: str, distribution: str, doc: str) -> Callable[..., Initializer]:
    def make(
        in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__doc__ = doc
    return make


glorot_uniform = xavier_uniform = _named(1.0, "fan_avg", "uniform", "Glorot uniform initializer.")
glorot_normal = xavier_normal = _named(
    1.0, "fan_avg", "truncated_normal", "Glorot normal initializer."
)
lecun_uniform = _named(1.0, "fan_in", "uniform", "Lecun uniform initializer.")
lecun_normal = _named(1.0, "fan_in", "truncated_normal", "Lecun normal initializer.")
he_uniform = kaiming_uniform = _named(2.0, "fan_in", "uniform", "He uniform initializer.")
he_normal = kaiming_normal = _named(2.0, "fan_in", "truncated_normal", "He normal initializer.")

__all__ = [
    "Initializer", "constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip
