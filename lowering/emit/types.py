"""Element types of emitted IR: how a dtype is stored in memory and held in a register.

* storage: element type of tensors and memrefs (``i8`` for bool, 4-bit integers, 8-bit floats).
* register: the type of a scalar SSA value between two equations (``i1`` for bool, ``i4`` for int4,
  the raw ``i8`` bits for 8-bit floats, the storage type otherwise).
* wide: the float type arithmetic is done in (``f32`` for everything narrower than ``f32``).
"""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

__all__ = [
    "ElementType",
    "element_type",
    "key_type",
    "tensor_type",
    "memref_type",
    "Float8Format",
    "buffer_form",
]


class Float8Format:
    """Layout of an 8-bit float: field widths, bias, and how it treats infinity, NaN and zero."""

    def __init__(self, name: str):
        info = ml_dtypes.finfo(name)
        self.mantissa = info.nmant
        self.exponent = info.nexp
        dtype = np.dtype(getattr(ml_dtypes, name))
        values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
        self.has_sign = bool((values < 0).any())
        self.has_infinity = bool(np.isinf(values).any())
        self.has_negative_zero = bool(values[128] == 0)
        self.has_zero = bool(values[0] == 0)
        # Bits of the canonical NaN, as the dtype itself converts one.
        self.nan_bits = int(np.array(np.nan, np.float32).astype(dtype).view(np.uint8))
        finite = values[np.isfinite(values)]
        self.max_bits = int(np.flatnonzero(values == finite.max())[0])
        self.overflow_bits = int(np.array(np.inf, np.float32).astype(dtype).view(np.uint8))
        # value(bits) = 1.m * 2 ** (e - bias)
        one = int(np.array(1.0, np.float32).astype(dtype).view(np.uint8))
        self.bias = one >> self.mantissa
        self.bits_to_value = values


class ElementType:
    """One dtype's spellings in MLIR. Obtain through `element_type`, which caches."""

    __slots__ = (
        "bits",
        "boxed",
        "code",
        "dtype",
        "float8",
        "kind",
        "memory_bits",
        "name",
        "narrow",
        "part",
        "register",
        "storage",
        "wide",
    )  # fmt: skip

    def __init__(self, dtype: np.dtype, code: int):
        self.dtype = dtype
        self.name = name = dtype.name
        self.code = code
        self.float8: Float8Format | None = None
        self.part: ElementType | None = None  # real type of a complex type
        self.memory_bits = dtype.itemsize * 8
        if name == "bool":
            self.kind, self.bits, self.storage, self.register = "b", 1, "i8", "i1"
        elif name in ("int4", "uint4"):
            self.kind, self.bits, self.storage, self.register = name[0], 4, "i8", "i4"
        elif dtype.kind in "iu":
            self.bits = dtype.itemsize * 8
            self.kind, self.storage = dtype.kind, f"i{self.bits}"
            self.register = self.storage
        elif name.startswith("float8"):
            self.kind, self.bits, self.storage, self.register = "f", 8, "i8", "i8"
            self.float8 = Float8Format(name)
        elif name == "bfloat16":
            self.kind, self.bits, self.storage, self.register = "f", 16, "bf16", "bf16"
        elif dtype.kind == "f":
            self.bits = dtype.itemsize * 8
            self.kind, self.storage = "f", f"f{self.bits}"
            self.register = self.storage
        elif dtype.kind == "c":
            self.bits = dtype.itemsize * 8
            self.kind, self.storage = "c", f"complex<f{self.bits // 2}>"
            self.register = self.storage
        else:
            raise NotImplementedError(f"arrays of dtype {dtype} cannot be compiled")
        if self.kind == "f":
            self.wide = "f64" if self.bits == 64 else "f32"
        else:
            self.wide = self.register
        self.narrow = self.wide != self.register  # arithmetic must be widened and rounded back
        self.boxed = self.storage != self.register  # memory form differs from register form

    def __repr__(self) -> str:
        return f"ElementType({self.name})"


_CODES = [
    "bool",
    "int4",
    "uint4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e8m0fnu",
]

_by_dtype: dict = {}


def element_type(dtype) -> ElementType:
    """The `ElementType` of a NumPy dtype (or anything ``np.dtype`` accepts).

    Raises NotImplementedError for a dtype that has no compiled form.
    """
    found = _by_dtype.get(dtype)
    if found is not None:
        return found
    if str(getattr(dtype, "name", "")).startswith("key<"):
        return key_type(dtype)
    try:
        np_dtype = np.dtype(dtype)
    except TypeError:
        raise NotImplementedError(f"arrays of dtype {dtype} cannot be compiled") from None
    if np_dtype.kind == "V" and np_dtype.itemsize == 0:
        # Derivatives of integers have no contents; they are booleans that nothing looks at.
        found = _by_dtype[dtype] = element_type(np.dtype(bool))
        return found
    if np_dtype.name not in _CODES:
        raise NotImplementedError(f"arrays of dtype {np_dtype} cannot be compiled")
    if np_dtype not in _by_dtype:
        made = ElementType(np_dtype, _CODES.index(np_dtype.name))
        _by_dtype[np_dtype] = made
        if made.kind == "c":
            made.part = element_type(np.dtype(f"float{made.bits // 2}"))
    _by_dtype[dtype] = _by_dtype[np_dtype]
    return _by_dtype[np_dtype]


def key_type(dtype) -> ElementType:
    """The type of typed PRNG keys: one 64-bit integer, the key's first word in the low half."""
    if dtype.name != "key<fry>":
        raise NotImplementedError(f"keys of dtype {dtype.name} cannot be compiled, only key<fry>")
    found = _by_dtype.get(dtype)
    if found is None:
        found = next((t for t in _by_dtype.values() if t.name == dtype.name), None)
        if found is None:
            found = ElementType(np.dtype("uint64"), _CODES.index("uint64"))
            found.name = dtype.name
        _by_dtype[dtype] = found
    return found


def buffer_form(shape: tuple[int, ...], t: ElementType) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of the runtime's array for `shape` and `t`: a key is two uint32 there."""
    if t.name == "key<fry>":
        return (*shape, 2), np.dtype("uint32")
    return shape, t.dtype


@functools.lru_cache(maxsize=8192)
def tensor_type(shape: tuple[int, ...], element: str) -> str:
    """Text of a ranked tensor type with element type text `element`."""
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


@functools.lru_cache(maxsize=8192)
def memref_type(shape: tuple[int, ...], element: str) -> str:
    """Text of a contiguous memref type with element type text `element`."""
    return f"memref<{''.join(f'{d}x' for d in shape)}{element}>"
