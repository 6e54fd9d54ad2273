"""Matrices and grids: identity, triangles, diagonals, coordinates."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import canonical_shape
from ..core.primitive import registry
from ..core.trace import Tracer
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .creation import _check_device, _concrete, _dtype, arange, fill_scalar, iota, zeros, zeros_like
from .util import asarray as _plain
from .util import aval_of, broadcast_to, check_arraylike, convert, jit_as

_INT32 = np.dtype(np.int32)


def _iota2(shape: Sequence[int], dimension: int, dtype: Any = _INT32) -> Any:
    return registry["iota"].bind(
        dtype=dtype, shape=tuple(shape), dimension=dimension, sharding=None
    )


def _nonnegative(n: Any, who: str, name: str) -> int:
    i = operator.index(_concrete(n, who, name))
    if i < 0:
        raise ValueError(f"negative dimensions are not allowed, got {i}")
    return i


@eager_function(sizes=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """An N x M matrix with ones on the k-th diagonal."""
    _check_device(device)
    n = _nonnegative(N, "jnp.eye", "N")
    m = n if M is None else _nonnegative(M, "jnp.eye", "M")
    dt = _dtype(dtype, dtypes.default_float())
    k = k if isinstance(k, Tracer) else operator.index(k)
    shape = (n, m)
    i, j = _iota2(shape, 0), _iota2(shape, 1)
    shifted = registry["add"].bind(i, convert(k, np.dtype(np.int32)))
    return convert(registry["eq"].bind(shifted, j), dt)


@eager_function(sizes=True)
def identity(n: Any, dtype: Any = None) -> Any:
    """The identity matrix."""
    return eye(n, dtype=dtype)


def _tri_mask(shape: Sequence[int], k: int) -> Any:
    i = registry["add"].bind(_iota2(shape, len(shape) - 2), fill_scalar(k, np.int32))
    return registry["ge"].bind(i, _iota2(shape, len(shape) - 1))


@eager_function(sizes=True)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones at and below the k-th diagonal, zeros above."""
    n = _nonnegative(N, "jnp.tri", "N")
    m = n if M is None else _nonnegative(M, "jnp.tri", "M")
    return convert(_tri_mask((n, m), operator.index(k)), _dtype(dtype, dtypes.default_float()))


@library_jit(static_argnames=("k",))
def tril(m: Any, k: int = 0) -> Any:
    """The lower triangle of a matrix (or stack of them): zero above the k-th diagonal."""
    return _triangle("tril", m, operator.index(k), True)


@library_jit(static_argnames=("k",))
def triu(m: Any, k: int = 0) -> Any:
    """The upper triangle of a matrix (or stack of them): zero below the k-th diagonal."""
    return _triangle("triu", m, operator.index(k) - 1, False)


def _triangle(who: str, m: Any, k: int, lower: bool) -> Any:
    check_arraylike(who, m)
    m = _plain(m)
    if len(aval_of(m).shape) < 2:
        raise ValueError(f"Argument to jax.numpy.{who} must be at least 2D")
    shape = aval_of(m).shape
    mask = broadcast_to(_tri_mask(shape[-2:], k), shape)
    nothing = zeros_like(m)
    return (
        registry["select_n"].bind(mask, nothing, m)
        if lower
        else registry["select_n"].bind(mask, m, nothing)
    )


@eager_function
def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal."""
    check_arraylike("diag", v)
    return _diag(_plain(v), k=operator.index(k))


@jit_as("_diag", static_argnames=("k",))
def _diag(v: Any, k: int) -> Any:
    shape = aval_of(v).shape
    if len(shape) == 1:
        from .selection import where

        zero = fill_scalar(0, v.dtype)
        n = shape[0] + abs(k)
        padded = registry["pad"].bind(v, zero, padding_config=((max(0, -k), max(0, k), 0),))
        i, j = _iota2((n, n), 0), _iota2((n, n), 1)
        mask = registry["eq"].bind(registry["add"].bind(i, fill_scalar(k, np.int32)), j)
        column = registry["broadcast_in_dim"].bind(
            padded, shape=(n, 1), broadcast_dimensions=(0,), sharding=None
        )
        return where(mask, column, zero)
    if len(shape) == 2:
        from .rearranging import diagonal

        return diagonal(v, offset=k)
    raise ValueError("diag input must be 1d or 2d")


@eager_function
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the flattened input on its k-th diagonal."""
    check_arraylike("diagflat", v)
    return diag(
        registry["reshape"].bind(
            _plain(v), new_sizes=(aval_of(v).size,), dimensions=None, sharding=None
        ),
        k,
    )


@eager_function
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate matrices from coordinate vectors, with matrix ('ij') or Cartesian ('xy') indexing.

    Raises ValueError for other values of `indexing`, and for inputs of rank above 1.
    """
    check_arraylike("meshgrid", *xi)
    if indexing not in ("ij", "xy"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    args = [_plain(x) for x in xi]
    if any(len(aval_of(a).shape) > 1 for a in args):
        raise ValueError(
            f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[aval_of(a).shape for a in args]}"
        )
    args = [
        registry["reshape"].bind(a, new_sizes=(1,), dimensions=None, sharding=None)
        if not aval_of(a).shape
        else a
        for a in args
    ]
    if indexing == "xy" and len(args) >= 2:
        args[0], args[1] = args[1], args[0]
    sizes = [aval_of(a).shape[0] for a in args]
    out = []
    for i, a in enumerate(args):
        shape = (
            tuple(sizes) if not sparse else tuple(s if j == i else 1 for j, s in enumerate(sizes))
        )
        out.append(
            registry["broadcast_in_dim"].bind(
                a, shape=shape, broadcast_dimensions=(i,), sharding=None
            )
        )
    if indexing == "xy" and len(args) >= 2:
        out[0], out[1] = out[1], out[0]
    return out


@eager_function
def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The indices of a grid: one array per dimension (stacked, or a tuple if `sparse`)."""
    dims = canonical_shape(dimensions)
    dt = _dtype(dtype, dtypes.default_int())
    parts = []
    for i, n in enumerate(dims):
        shape = tuple(n if (j == i or not sparse) else 1 for j, n in enumerate(dims))
        parts.append(
            registry["broadcast_in_dim"].bind(
                iota(n, dt), shape=shape, broadcast_dimensions=(i,), sharding=None
            )
        )
    if sparse:
        return tuple(parts)
    if not parts:
        return zeros((0,), dt)
    from .manipulation import stack

    return stack(parts)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """`function` of the coordinates, vectorized over a grid of a shape."""
    from ..transforms.vmap import vmap

    dims = canonical_shape(shape)
    dt = dtypes.check_user_dtype(dtype)
    n = len(dims)
    for i in range(n):
        in_axes = tuple(0 if j == n - 1 - i else None for j in range(n))
        function = (
            vmap(function, in_axes=in_axes) if not kwargs else _with_kwargs(vmap, function, in_axes)
        )
    return function(*[arange(d, dtype=dt) for d in dims], **kwargs)


def _with_kwargs(vmap: Any, f: Any, in_axes: Any) -> Any:
    def g(*args: Any, **kwargs: Any) -> Any:
        return vmap(lambda *xs: f(*xs, **kwargs), in_axes=in_axes)(*args)

    return g


@library_jit(static_argnames=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix of a vector: its powers as columns."""
    from . import ufuncs as u

    check_arraylike("vander", x)
    x = _plain(x)
    shape = aval_of(x).shape
    if len(shape) != 1:
        raise ValueError("x must be a one-dimensional array")
    n = shape[0] if N is None else operator.index(N)
    if n < 0:
        raise ValueError("N must be nonnegative")
    powers = iota(n, aval_of(x).dtype)
    if not increasing:
        powers = registry["sub"].bind(fill_scalar(n - 1, aval_of(x).dtype), powers)
    column = registry["broadcast_in_dim"].bind(
        x, shape=(shape[0], 1), broadcast_dimensions=(0,), sharding=None
    )
    row = registry["broadcast_in_dim"].bind(
        powers, shape=(1, n), broadcast_dimensions=(1,), sharding=None
    )
    return u.power(column, row)


__all__ = [
    "diag",
    "diagflat",
    "eye",
    "fromfunction",
    "identity",
    "indices",
    "meshgrid",
    "tri",
    "tril",
    "triu",
    "vander",
]
