"""Making and deriving keys."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..core import config, dtypes
from ..core.avals import canonical_shape, get_aval
from ..core.warn import warn
from ..primitives.random import (
    PRNGKeyArray,
    key_type,
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)
from ..transforms.eager_functions import eager_function

IMPL = "fry"


def _check_impl(impl: Any) -> None:
    if impl is None or impl in ("threefry2x32", "fry") or impl is key_type:
        return
    raise ValueError(f'unrecognized PRNG implementation "{impl}". Did you mean "threefry2x32"?')


def _seed(seed: Any, impl: Any, who: str) -> Any:
    _check_impl(config.default_prng_impl.value if impl is None else impl)
    offset = config.random_seed_offset.value
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_)):
        value = operator.index(seed) + offset
        offset = 0
        # the low bits of large Python integers count, as in two's complement
        dt = dtypes.default_int()
        bits = 8 * dt.itemsize
        seed = np.asarray(((value + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1)), dt)
    try:
        aval = get_aval(seed)
    except TypeError as e:
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}: {e}") from None
    if not dtypes.is_integer(aval.dtype):  # type: ignore[attr-defined]
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    if aval.shape != ():  # type: ignore[attr-defined]
        raise TypeError(
            f"{who} accepts a scalar seed, but was given an array of shape {aval.shape} != (). Use "  # type: ignore[attr-defined]
            "jax.vmap for batching"
        )
    if offset:
        seed = seed + offset
    return random_seed_p.bind(seed, impl=IMPL)


@eager_function
def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A key as a uint32 array of shape (2,), from an integer seed."""
    typed = _seed(seed, impl, "PRNGKey")
    return typed if config.enable_custom_prng.value else random_unwrap_p.bind(typed)


@eager_function
def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed key, from an integer seed."""
    if impl is not None and dtype is not None:
        raise ValueError("key: give either impl or dtype, not both")
    return _seed(seed, dtype if impl is None else impl, "key")


def is_typed(k: Any) -> bool:
    return isinstance(k, PRNGKeyArray) or getattr(k, "dtype", None) == key_type


def typed(k: Any, who: str | None = None) -> Any:
    """A typed key from a typed or raw one. With `who`, it must be a single key.

    Raises TypeError for what is no key, ValueError for several keys.
    """
    if not is_typed(k):
        if not hasattr(k, "ndim") or not hasattr(k, "shape") or not hasattr(k, "dtype"):
            raise TypeError(
                "JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and "
                f"dtype attributes. Got {k!r}"
            )
        if tuple(k.shape[-1:]) != (2,):
            raise TypeError(
                "JAX encountered invalid PRNG key data: expected key_data.shape to end with (2,); "
                f"got shape={tuple(k.shape)} for impl=threefry2x32"
            )
        if k.dtype != np.uint32:
            raise TypeError(
                "JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; got dtype="
                f"{k.dtype}"
            )
        if who is not None:
            _legacy()
        k = random_wrap_p.bind(k, impl=IMPL)
    if who is not None and k.ndim:
        raise ValueError(
            f"{who} accepts a single key, but was given a key array of shape {k.shape} != (). Use "
            "jax.vmap for batching."
        )
    return k


def _legacy() -> None:
    """Do what the option says about raw keys."""
    what = config.legacy_prng_key.value
    if what == "allow":
        return
    text = (
        "Legacy uint32 key array passed as key to jax.random function. Please create keys using "
        "jax.random.key(). If use of a raw key array was intended, set "
        'jax_legacy_prng_key="allow".'
    )
    if what == "error":
        raise ValueError(text)
    warn(text, stacklevel=4)


def like(result: Any, k: Any) -> Any:
    """A derived key in the form of the key that it comes from."""
    return result if is_typed(k) else random_unwrap_p.bind(result)


@eager_function
def key_data(keys: Any) -> Any:
    """The words of keys, as a uint32 array with one more axis."""
    return random_unwrap_p.bind(typed(keys))


def key_impl(keys: Any) -> str:
    """Name of the implementation of keys."""
    typed(keys)
    return "threefry2x32"


@eager_function
def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from their words."""
    _check_impl(impl if dtype is None else dtype)
    return typed(key_bits_array)


def clone(key: Any) -> Any:
    """A key with the same value, for using a key twice on purpose."""
    return like(typed(key), key)


@eager_function
def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """New keys derived from one: `num` of them, or an array of keys of that shape."""
    shape = canonical_shape(num)
    if any(n < 0 for n in shape):
        raise ValueError(f"split: the number of keys must not be negative, got {num}")
    return like(random_split_p.bind(typed(key, "split"), shape=shape), key)


def fold_in(key: Any, data: Any) -> Any:
    """A new key derived from a key and an integer."""
    if type(data) is int and 0 <= data < 2**32:
        data = np.uint32(data)  # so that other numbers are no other program
    return _fold_in(key, data)


@eager_function(numbers=True)
def _fold_in(key: Any, data: Any) -> Any:
    k = typed(key, "fold_in")
    aval = get_aval(data)
    if aval.shape != ():  # type: ignore[attr-defined]
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {aval.shape} != (). Use "  # type: ignore[attr-defined]
            "jax.vmap for batching."
        )
    from ..numpy.creation import asarray

    return like(random_fold_in_p.bind(k, asarray(data, dtype=np.uint32)), key)


@eager_function
def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform random bits as unsigned integers (the widest by default)."""

    dt = dtypes.canonicalize_dtype(np.uint64) if dtype is None else dtypes.check_user_dtype(dtype)
    if not dtypes.is_unsigned(dt):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    k = typed(key, "bits")
    return random_bits(k, 8 * dt.itemsize, canonical_shape(shape))


def random_bits(k: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Bits from a typed key."""
    return random_bits_p.bind(k, bit_width=bit_width, shape=tuple(shape))
