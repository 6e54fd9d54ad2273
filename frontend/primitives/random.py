"""Random bits: the threefry2x32 block function, typed keys, and the primitives on keys.

The block function is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random
numbers: as easy as 1, 2, 3", 2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl, set_key_type
from ..core import config, dtypes
from ..core.array import array_types
from ..core.avals import ShapedArray, aval_of_type
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import batch_rule, zero_jvp
from .declare import batch_elementwise, elementwise_shape, front

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry2x32(k1: Any, k2: Any, x1: Any, x2: Any) -> tuple[Any, Any]:
    """The block function on uint32 NumPy arrays: two words of output for two counter words."""
    keys = (k1, k2, k1 ^ k2 ^ _PARITY)
    a, b = x1 + k1, x2 + k2
    for i in range(5):
        for r in _ROTATIONS[i % 2]:
            a = a + b
            b = (b << np.uint32(r)) | (b >> np.uint32(32 - r))
            b = a ^ b
        a = a + keys[(i + 1) % 3]
        b = b + keys[(i + 2) % 3] + np.uint32(i + 1)
    return a, b


def _threefry_abstract(
    k1: ShapedArray, k2: ShapedArray, x1: ShapedArray, x2: ShapedArray
) -> list[ShapedArray]:
    avals = (k1, k2, x1, x2)
    if any(a.dtype != np.uint32 for a in avals):
        raise TypeError(
            f"Arguments to threefry2x32 must have uint32 type, got {[str(a) for a in avals]}"
        )
    shape = elementwise_shape("threefry2x32", avals)
    return [ShapedArray(shape, np.uint32)] * 2


def _threefry_reference(
    k1: np.ndarray, k2: np.ndarray, x1: np.ndarray, x2: np.ndarray
) -> list[np.ndarray]:
    k1, k2, x1, x2 = np.broadcast_arrays(k1, k2, x1, x2)
    return list(threefry2x32(k1, k2, x1, x2))


def _threefry_batch(primitive: Primitive, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    outs, d = batch_elementwise(primitive, axis, args, dims, params)
    return outs, [d, d]


threefry2x32_p = Primitive(
    "threefry2x32",
    multiple_results=True,
    abstract=_threefry_abstract,
    reference=_threefry_reference,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=_threefry_batch,
    samples=lambda: [
        Sample(*[(s, np.uint32)] * 4, high=2**31, grad=False) for s in [(5,), (2, 3), (), (0,)]
    ],
)


# --- typed keys ----------------------------------------------------------------------------


class KeyType(dtypes.ExtendedDType):
    """The dtype of typed threefry keys: two 32-bit words each."""

    name = "key<fry>"
    type = dtypes.prng_key
    physical_shape = (2,)
    physical_dtype = np.dtype(np.uint32)
    itemsize = 8

    def wrap(self, base: Any) -> PRNGKeyArray:
        """The key array over an array of words."""
        return PRNGKeyArray(base)

    def __eq__(self, other: Any) -> bool:
        return type(other) is KeyType

    def __hash__(self) -> int:
        return hash(KeyType)


key_type = KeyType()


class PRNGKeyArray:
    """A concrete array of typed keys. It can be indexed, reshaped and passed like other arrays."""

    __slots__ = ("__weakref__", "_base_array")
    __array_priority__ = 100
    dtype = key_type
    weak_type = False
    itemsize = 8

    def __init__(self, base: ArrayImpl):
        self._base_array = base

    @property
    def shape(self) -> tuple[int, ...]:
        return self._base_array.shape[:-1]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self._base_array.nbytes

    @property
    def aval(self) -> ShapedArray:
        return ShapedArray(self.shape, key_type)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
            "jax.random.key_data(arr) if you wish to extract the underlying integer array."
        )

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={key_type.name}) overlaying:\n{self._base_array}"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(self.shape[0])])

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'PRNGKeyArray'")

    def is_deleted(self) -> bool:
        return self._base_array.is_deleted()

    def delete(self) -> None:
        """Free the words."""
        self._base_array.delete()

    def block_until_ready(self) -> PRNGKeyArray:
        """The array itself, computed."""
        return self

    def __getattr__(self, name: str) -> Any:
        # methods and operators that arrays and tracers share
        from ..core.trace import Tracer

        member = getattr(Tracer, name, None)
        if member is None or name.startswith("_"):
            raise AttributeError(f"'PRNGKeyArray' object has no attribute {name!r}")
        return member.__get__(self, PRNGKeyArray)

    @property
    def device(self) -> Any:
        return self._base_array.device  # type: ignore[attr-defined]

    @property
    def sharding(self) -> Any:
        return self._base_array.sharding  # type: ignore[attr-defined]


def _operator(name: str) -> Any:
    def f(self: Any, *args: Any) -> Any:
        from ..core.trace import Tracer

        return getattr(Tracer, name)(self, *args)

    return f


for _name in ("__getitem__", "__eq__", "__ne__", "__add__", "__radd__", "__sub__", "__mul__"):
    setattr(PRNGKeyArray, _name, _operator(_name))

array_types.append(PRNGKeyArray)
set_key_type(PRNGKeyArray, "_base_array")
aval_of_type[PRNGKeyArray] = lambda x: ShapedArray(x.shape, key_type)


# --- words from keys (NumPy) ----------------------------------------------------------------


def seed_words(seed: np.ndarray) -> np.ndarray:
    """The two words of the key for an integer seed: high and low 32 bits."""
    low = (seed.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    if seed.dtype.itemsize == 8:
        high = (seed.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
    else:
        high = np.zeros_like(low)
    return np.stack([high, low], axis=-1)


def _counters(shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    n = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    return (n >> np.uint64(32)).astype(np.uint32), (n & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _flat_block(key: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The block function over a line of counters, paired first half with second half."""
    n = count.size
    line = count.ravel()
    if n % 2:
        line = np.concatenate([line, np.zeros(1, np.uint32)])
    a, b = np.split(line, 2)
    out = np.concatenate(threefry2x32(key[0], key[1], a, b))
    return out[:n].reshape(count.shape)


def _over_keys(f: Any, keys: np.ndarray, tail: tuple[int, ...], dtype: Any) -> np.ndarray:
    lead = keys.shape[:-1]
    flat = keys.reshape(-1, 2)
    out = np.empty((len(flat), *tail), dtype)
    with np.errstate(all="ignore"):
        for i, k in enumerate(flat):
            out[i] = f(k)
    return out.reshape((*lead, *tail))


def split_words(keys: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Words of the keys into which each key splits: shape keys + shape + (2,)."""
    if config.threefry_partitionable.value:

        def one(k: np.ndarray) -> np.ndarray:
            return np.stack(threefry2x32(k[0], k[1], *_counters(shape)), axis=-1)

    else:

        def one(k: np.ndarray) -> np.ndarray:
            n = math.prod(shape)
            return _flat_block(k, np.arange(2 * n, dtype=np.uint32)).reshape(*shape, 2)

    return _over_keys(one, keys, (*shape, 2), np.uint32)


def fold_in_words(keys: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Words of the keys with an integer folded in."""
    seed = seed_words(data)
    keys, seed = np.broadcast_arrays(keys, seed)
    a, b = threefry2x32(keys[..., 0], keys[..., 1], seed[..., 0], seed[..., 1])
    return np.stack([a, b], axis=-1)


def bits_of(keys: np.ndarray, bit_width: int, shape: tuple[int, ...]) -> np.ndarray:
    """Random bits for each key, as unsigned integers: shape keys + shape."""
    dt = np.dtype(f"uint{bit_width}")

    def partitionable(k: np.ndarray) -> np.ndarray:
        a, b = threefry2x32(k[0], k[1], *_counters(shape))
        if bit_width == 64:
            return (a.astype(np.uint64) << np.uint64(32)) | b.astype(np.uint64)
        return (a ^ b).astype(dt)

    def original(k: np.ndarray) -> np.ndarray:
        size = math.prod(shape)
        words = -(-bit_width * size // 32)
        line = _flat_block(k, np.arange(words, dtype=np.uint32))
        if bit_width == 64:
            a, b = np.split(line, 2)
            return ((a.astype(np.uint64) << np.uint64(32)) | b.astype(np.uint64)).reshape(shape)
        if bit_width < 32:
            parts = np.arange(0, 32, bit_width, dtype=np.uint32)
            line = (line[:, None] >> parts[None, :]).astype(dt).ravel()[:size]
        return line.reshape(shape)

    f = partitionable if config.threefry_partitionable.value else original
    return _over_keys(f, keys, shape, dt)


def sample_keys(*shape: int) -> PRNGKeyArray:
    """Some keys, for samples."""
    n = math.prod(shape)
    words = np.arange(2 * n, dtype=np.uint32).reshape(*shape, 2) * np.uint32(0x9E3779B9)
    return PRNGKeyArray(ArrayImpl.from_numpy(words))


# --- primitives on typed keys ---------------------------------------------------------------


def _keys(name: str, aval: ShapedArray) -> None:
    if aval.dtype != key_type:
        raise TypeError(f"{name} requires an array of typed keys, got {aval.str_short(long=True)}")


def _seed_abstract(seed: ShapedArray, *, impl: Any) -> ShapedArray:
    return ShapedArray(seed.shape, key_type)


random_seed_p = Primitive(
    "random_seed",
    abstract=_seed_abstract,
    reference=lambda seed, *, impl: seed_words(seed),
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(
        lambda size, args, dims, *, impl: (random_seed_p.bind(args[0], impl=impl), dims[0])
    ),
    samples=lambda: [Sample(np.int32(s), impl="fry", grad=False) for s in (0, 42, -1)],
)


def _wrap_abstract(base: ShapedArray, *, impl: Any) -> ShapedArray:
    if base.dtype != np.uint32 or base.shape[-1:] != (2,):
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected uint32 key_data whose shape ends with "
            f"(2,); got {base.str_short(long=True)}"
        )
    return ShapedArray(base.shape[:-1], key_type)


def _wrap_batch(size: int, args: Any, dims: Any, *, impl: Any) -> Any:
    return random_wrap_p.bind(front(args[0], dims[0]), impl=impl), 0


random_wrap_p = Primitive(
    "random_wrap",
    abstract=_wrap_abstract,
    reference=lambda base, *, impl: base,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(_wrap_batch),
    samples=lambda: [Sample(((2,), np.uint32), impl="fry", grad=False)],
)


def _unwrap_abstract(keys: ShapedArray) -> ShapedArray:
    _keys("random_unwrap", keys)
    return ShapedArray((*keys.shape, 2), np.uint32)


random_unwrap_p = Primitive(
    "random_unwrap",
    abstract=_unwrap_abstract,
    reference=lambda words: words,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(lambda size, args, dims: (random_unwrap_p.bind(args[0]), dims[0])),
    samples=lambda: [Sample(sample_keys(*s), grad=False) for s in [(), (3,), (2, 2), (0,)]],
)


def _split_abstract(keys: ShapedArray, *, shape: tuple) -> ShapedArray:
    _keys("random_split", keys)
    return ShapedArray((*keys.shape, *shape), key_type)


random_split_p = Primitive(
    "random_split",
    abstract=_split_abstract,
    reference=lambda words, *, shape: split_words(words, shape),
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(
        lambda size, args, dims, *, shape: (random_split_p.bind(args[0], shape=shape), dims[0])
    ),
    samples=lambda: [
        Sample(sample_keys(*s), shape=n, grad=False)
        for s in [(), (3,)]
        for n in [(2,), (2, 3), (1,), (0,)]
    ],
)


def _fold_in_abstract(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    _keys("random_fold_in", keys)
    return ShapedArray(np.broadcast_shapes(keys.shape, data.shape), key_type)


def _fold_in_batch(size: int, args: Any, dims: Any) -> Any:
    keys, data = args
    dk, dd = dims
    if dk == dd and np.shape(keys) == np.shape(data):
        return random_fold_in_p.bind(keys, data), dk
    keys = keys if dk is None else front(keys, dk)
    data = data if dd is None else front(data, dd)
    if dk is None and len(np.shape(keys)) < len(np.shape(data)):
        from .declare import fill_rank, insert_axis

        keys = fill_rank(insert_axis(keys, 0), len(np.shape(data)))
    return random_fold_in_p.bind(keys, data), 0


random_fold_in_p = Primitive(
    "random_fold_in",
    abstract=_fold_in_abstract,
    reference=fold_in_words,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(_fold_in_batch),
    samples=lambda: [
        Sample(sample_keys(), np.uint32(7), grad=False),
        Sample(sample_keys(3), np.arange(3, dtype=np.uint32), grad=False),
    ],
)


def _bits_abstract(keys: ShapedArray, *, bit_width: int, shape: tuple) -> ShapedArray:
    _keys("random_bits", keys)
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


random_bits_p = Primitive(
    "random_bits",
    abstract=_bits_abstract,
    reference=lambda words, *, bit_width, shape: bits_of(words, bit_width, shape),
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=batch_rule(
        lambda size, args, dims, *, bit_width, shape: (
            random_bits_p.bind(args[0], bit_width=bit_width, shape=shape),
            dims[0],
        )
    ),
    samples=lambda: [
        Sample(sample_keys(*s), bit_width=w, shape=n, grad=False)
        for w in (8, 16, 32)
        for s, n in [((), (5,)), ((), ()), ((3,), (2, 2)), ((), (0,))]
    ],
)
