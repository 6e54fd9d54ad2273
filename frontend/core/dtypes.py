"""Data types: the promotion lattice, canonical (32- or 64-bit) types, weak types, limits.

The lattice is JAX's, documented in "Type promotion semantics": Python scalars are weakly typed
nodes of their own, and the result of an operation is the least upper bound of its operands.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from . import config
from .warn import warn

bfloat16 = np.dtype(ml_dtypes.bfloat16)
float8_names = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e8m0fnu",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
)
float8_types = tuple(np.dtype(getattr(ml_dtypes, n)) for n in float8_names)
int4 = np.dtype(ml_dtypes.int4)
uint4 = np.dtype(ml_dtypes.uint4)

_bool = np.dtype(np.bool_)
_signed = (int4, *(np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64)))
_unsigned = (uint4, *(np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64)))
_floats = (*float8_types, bfloat16, *(np.dtype(t) for t in (np.float16, np.float32, np.float64)))
_complex = (np.dtype(np.complex64), np.dtype(np.complex128))

#: What a gradient with respect to an integer or boolean has as its type.
float0 = np.dtype([("float0", np.void, 0)])
#: The message of the error for operations on arrays of that dtype.
no_float0_operations = (
    "Called an operation with a float0 array. float0 is the dtype of derivatives of integers and "
    "booleans; its arrays have no contents and support no operations. np.zeros(x.shape, float) is "
    "an array of zeros of their shape."
)


class extended(np.generic):
    """Scalar type that stands for all extended dtypes, such as typed PRNG keys."""


class prng_key(extended):
    """Scalar type of typed PRNG keys."""


class ExtendedDType:
    """A dtype whose elements are small arrays of a NumPy dtype, such as PRNG keys.

    Attributes: `name`, `type` (for `issubdtype`), `physical_shape` and `physical_dtype` of one
    element.
    """

    name: str
    type: type
    physical_shape: tuple[int, ...]
    physical_dtype: np.dtype
    kind = "extended"
    itemsize: int

    def __repr__(self) -> str:
        return self.name


_64_TO_32 = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}

python_scalar_types = (bool, int, float, complex)
_default_64 = {
    bool: _bool,
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def canonicalize_dtype(dtype: Any) -> Any:
    """The dtype that is really used: 64-bit types become 32-bit ones unless x64 is enabled."""
    if not isinstance(dtype, np.dtype):
        if isinstance(dtype, ExtendedDType):
            return dtype
        dtype = np.dtype(dtype)
    return dtype if config.x64_enabled() else _64_TO_32.get(dtype, dtype)


def check_user_dtype(dtype: Any, name: str = "dtype") -> np.dtype:
    """Turn what a user passed as `dtype` into a canonical dtype.

    Raises TypeError when it is no array dtype (strings, objects, dates). What happens to 64-bit
    types while they are disabled is what the option `jax_explicit_x64_dtypes` says.
    """
    if dtype in _default_64:
        return canonicalize_dtype(_default_64[dtype])
    if isinstance(dtype, ExtendedDType):
        return dtype  # type: ignore[return-value]
    if hasattr(dtype, "dtype") and not isinstance(dtype, (np.dtype, type)):
        dtype = dtype.dtype
    try:
        dt = np.dtype(dtype)
    except TypeError as e:
        raise TypeError(f"{name}={dtype!r} is not a valid array dtype: {e}") from None
    if dt == float0:
        return dt
    if dt not in _category:
        raise TypeError(
            f"JAX only supports number, bool, and string dtypes, got dtype {dt} for {name}"
            if dt.kind not in "O"
            else f"{name}={dtype!r} is not a valid array dtype: Python objects are not supported"
        )
    canonical = canonicalize_dtype(dt)
    if canonical == dt:
        return dt
    what = config.explicit_x64_dtypes.value
    if what == "allow":
        return dt
    if what == "error":
        raise ValueError(
            f"Explicitly requested dtype {dt} is not available. To enable more dtypes, set the "
            "jax_enable_x64 or jax_explicit_x64_dtypes configuration options."
        )

    warn(
        f"Explicitly requested dtype {dt} is not available, and will be truncated to dtype "
        f"{canonical}. To enable more dtypes, set the jax_enable_x64 configuration option or "
        "the JAX_ENABLE_X64 environment variable.",
        UserWarning,
        stacklevel=4,
    )
    return canonical


_category: dict[np.dtype, str] = {
    _bool: "bool",
    **dict.fromkeys(_signed, "signed"),
    **dict.fromkeys(_unsigned, "unsigned"),
    **dict.fromkeys(_floats, "float"),
    **dict.fromkeys(_complex, "complex"),
}


def is_array_dtype(dt: np.dtype) -> bool:
    """Whether arrays may have this NumPy dtype."""
    return dt in _category


def is_bool(dt: Any) -> bool:
    return _category.get(dt) == "bool"


def is_integer(dt: Any) -> bool:
    """Signed or unsigned, not bool."""
    return _category.get(dt) in ("signed", "unsigned")


def is_signed(dt: Any) -> bool:
    return _category.get(dt) == "signed"


def is_unsigned(dt: Any) -> bool:
    return _category.get(dt) == "unsigned"


def is_float(dt: Any) -> bool:
    """Real floating point, including the 8- and 16-bit kinds."""
    return _category.get(dt) == "float"


def is_complex(dt: Any) -> bool:
    return _category.get(dt) == "complex"


def is_inexact(dt: Any) -> bool:
    """Floating point or complex."""
    return _category.get(dt) in ("float", "complex")


def is_extended(dt: Any) -> bool:
    return isinstance(dt, ExtendedDType)


_abstract = {
    np.bool_: is_bool,
    np.generic: lambda d: d in _category,
    np.number: lambda d: _category.get(d) not in (None, "bool"),
    np.integer: is_integer,
    np.signedinteger: is_signed,
    np.unsignedinteger: is_unsigned,
    np.inexact: is_inexact,
    np.floating: is_float,
    np.complexfloating: is_complex,
}


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Like `numpy.issubdtype`, knowing bfloat16, the 8-bit floats, int4 and extended dtypes."""
    a, b = arg1, arg2
    if isinstance(a, ExtendedDType):
        if isinstance(b, ExtendedDType):
            return a == b
        return isinstance(b, type) and (issubclass(a.type, b) or b is np.generic)
    if isinstance(b, ExtendedDType):
        return False
    if isinstance(a, type) and issubclass(a, extended):
        return isinstance(b, type) and issubclass(a, b)
    if isinstance(b, type) and issubclass(b, extended):
        return False
    if isinstance(a, type) and a in _abstract:
        return isinstance(b, type) and np.issubdtype(a, b)
    if a in _default_64 and isinstance(a, type):
        a = _default_64[a]
    da = np.dtype(a)
    if isinstance(b, type) and b in _abstract and b is not np.bool_:
        return bool(_abstract[b](da)) if da in _category else np.issubdtype(da, b)
    return da == np.dtype(b)


def short_name(dt: Any) -> str:
    """The name used in jaxprs: `f32`, `i8`, `bool`, `bf16`, `key<fry>`."""
    if isinstance(dt, ExtendedDType):
        return dt.name
    name = np.dtype(dt).name if dt != float0 else "float0"
    return (
        name.replace("bfloat", "bf")
        .replace("uint", "u")
        .replace("int", "i")
        .replace("complex", "c")
        .replace("float0", "\0")
        .replace("float", "f")
        .replace("\0", "float0")
    )


def dtype_name(dt: Any) -> str:
    return dt.name if isinstance(dt, ExtendedDType) else ("float0" if dt == float0 else dt.name)


def dtype_named(name: str) -> Any:
    """The dtype whose `dtype_name` is `name`. ValueError if there is none."""
    if name == "float0":
        return float0
    try:
        return np.dtype(name)
    except TypeError:
        from .primitive import registry

        registry.complete()  # extended dtypes are declared with their primitives
    for kind in ExtendedDType.__subclasses__():
        if kind.name == name:
            return kind()
    raise ValueError(f"there is no dtype {name!r}")


# --- promotion -----------------------------------------------------------------------------

_WEAK = ("i*", "f*", "c*")


def _build_lattice() -> dict[Any, frozenset]:
    d = np.dtype
    up: dict[Any, list[Any]] = {
        _bool: ["i*"],
        "i*": [uint4, int4, d(np.uint8), d(np.int8)],
        uint4: [],
        int4: [],
        d(np.uint8): [d(np.int16), d(np.uint16)],
        d(np.int8): [d(np.int16)],
        d(np.uint16): [d(np.int32), d(np.uint32)],
        d(np.int16): [d(np.int32)],
        d(np.uint32): [d(np.int64), d(np.uint64)],
        d(np.int32): [d(np.int64)],
        d(np.uint64): ["f*"],
        d(np.int64): ["f*"],
        "f*": [*float8_types, bfloat16, d(np.float16), "c*"],
        bfloat16: [d(np.float32)],
        d(np.float16): [d(np.float32)],
        d(np.float32): [d(np.float64), d(np.complex64)],
        d(np.float64): [d(np.complex128)],
        "c*": [d(np.complex64)],
        d(np.complex64): [d(np.complex128)],
        d(np.complex128): [],
        **{t: [] for t in float8_types},
    }
    closure: dict[Any, frozenset] = {}

    def reach(node: Any) -> frozenset:
        if node not in closure:
            out = {node}
            for n in up[node]:
                out |= reach(n)
            closure[node] = frozenset(out)
        return closure[node]

    for node in up:
        reach(node)
    return closure


_upper = _build_lattice()


class TypePromotionError(ValueError):
    """No implicit promotion exists between the given types."""


@functools.lru_cache(maxsize=4096)
def _join(nodes: frozenset) -> Any:
    candidates = frozenset.intersection(*(_upper[n] for n in nodes))
    best = [c for c in candidates if candidates <= _upper[c]]
    if len(best) != 1:
        names = ", ".join(sorted(n if isinstance(n, str) else n.name for n in nodes))
        raise TypePromotionError(
            f"Input dtypes ({names}) have no available implicit dtype promotion path. Try "
            "explicitly casting inputs to the desired output type."
        )
    return best[0]


def _weak_node(dt: np.dtype) -> Any:
    c = _category[dt]
    return {"bool": dt, "signed": "i*", "unsigned": "i*", "float": "f*", "complex": "c*"}[c]


_weak_default = {
    "i*": np.dtype(np.int64),
    "f*": np.dtype(np.float64),
    "c*": np.dtype(np.complex128),
}


@functools.lru_cache(maxsize=8192)
def _promote(entries: tuple[tuple[Any, bool], ...], x64: bool, mode: str) -> tuple[Any, bool]:
    dts = {d for d, _ in entries}
    if len(dts) == 1 and (len({w for _, w in entries}) == 1 or is_extended(next(iter(dts)))):
        dt, weak = entries[0]
        return dt, weak and not is_bool(dt)
    for d in dts:
        if d not in _category:
            if d == float0:
                raise TypeError(no_float0_operations)
            raise TypeError(f"dtype {dtype_name(d)} takes no part in type promotion")
    if mode == "strict":
        strong = {d for d, w in entries if not w}
        nodes = frozenset(d if not w else _weak_node(d) for d, w in entries)
        if len(strong) > 1 or (strong and _join(nodes) not in strong):
            names = ", ".join(sorted(d.name for d in dts))
            raise TypePromotionError(
                f"Input dtypes ({names}) have no available implicit dtype promotion path when "
                "jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired "
                "output type, or set jax_numpy_dtype_promotion=standard."
            )
    all_weak = all(w for _, w in entries)
    nodes = frozenset(_weak_node(d) if w else d for d, w in entries)
    out = _join(nodes)
    if all_weak:
        # all-weak inputs: the widest of the given types of the resulting kind
        joined = _join(frozenset(d for d, _ in entries))
        out_dt = joined if not isinstance(joined, str) else _weak_default[joined]
        if isinstance(out, str) and _category[out_dt] != _category[_weak_default[out]]:
            out_dt = _weak_default[out]
        return (_64_TO_32.get(out_dt, out_dt) if not x64 else out_dt), not is_bool(out_dt)
    weak = isinstance(out, str)
    dt = _weak_default[out] if isinstance(out, str) else out
    if not x64 and dt not in dts:
        # arrays of 64 bits that exist all the same keep their type
        dt = _64_TO_32.get(dt, dt)
    return dt, weak


def promote(entries: tuple[tuple[Any, bool], ...]) -> tuple[Any, bool]:
    """Least upper bound of (dtype, weak_type) pairs: the resulting (dtype, weak_type).

    Raises TypePromotionError where the lattice has no bound, or where
    `jax_numpy_dtype_promotion='strict'` forbids the implicit promotion.
    """
    now = config.eager_state()
    return _promote(entries, now.x64, now.promotion)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype to which a binary operation casts operands of types `a` and `b`.

    Python scalar types (`int`, `float`, `complex`) are weak.
    """

    def entry(t: Any) -> tuple[Any, bool]:
        if isinstance(t, type) and t in _default_64:
            return canonicalize_dtype(_default_64[t]), t is not bool
        return (t if isinstance(t, ExtendedDType) else np.dtype(t)), False

    ea, eb = entry(a), entry(b)
    if ea[1] and eb[1]:
        return promote((ea, eb))[0]
    return promote((ea, eb))[0]


def promote_types_exactly(a: Any, b: Any) -> Any:
    """`promote_types` as if 64-bit types were enabled: what `jnp.promote_types` answers."""

    def entry(t: Any) -> tuple[Any, bool]:
        if isinstance(t, type) and t in _default_64:
            return _default_64[t], t is not bool
        return (t if isinstance(t, ExtendedDType) else np.dtype(t)), False

    ea, eb = entry(a), entry(b)
    out = _promote((ea, eb), True, config.numpy_dtype_promotion())[0]
    # an integer type wider than both exists only if 64-bit types do
    return canonicalize_dtype(out) if is_integer(out) and out not in (ea[0], eb[0]) else out


def python_scalar_dtype(t: type) -> np.dtype:
    """Canonical dtype of a Python bool, int, float or complex."""
    return canonicalize_dtype(_default_64[t])


def default_float() -> np.dtype:
    return canonicalize_dtype(np.float64)


def default_int() -> np.dtype:
    return canonicalize_dtype(np.int64)


def to_inexact(dt: Any) -> np.dtype:
    """The float or complex dtype in which functions of reals compute for inputs of type `dt`."""
    return dt if is_inexact(dt) else default_float()


_REAL = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
_COMPLEX_OF = {np.dtype(np.float64): np.dtype(np.complex128)}


def to_real(dt: Any) -> Any:
    """The dtype of the real part."""
    return _REAL.get(dt, dt)


def to_complex(dt: Any) -> np.dtype:
    """The complex dtype that holds values of `dt`."""
    if is_complex(dt):
        return dt
    return (
        _COMPLEX_OF.get(dt, np.dtype(np.complex64))
        if is_float(dt)
        else canonicalize_dtype(np.complex128)
    )


def finfo(dtype: Any) -> Any:
    """Machine limits of a floating-point dtype (bfloat16 and 8-bit floats included)."""
    return ml_dtypes.finfo(dtype)


def iinfo(dtype: Any) -> Any:
    """Machine limits of an integer dtype (int4 included)."""
    return ml_dtypes.iinfo(dtype)
