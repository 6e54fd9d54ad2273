"""The type that users know as `jax.Array`, and what concrete arrays and tracers share.

Concrete arrays are `runtime.ArrayImpl`; while a function is transformed its values are tracers.
Both are instances of `Array`. Operators and methods are written once and attached to both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from . import dtypes, placement
from .devices import Device, Shard, Sharding, device_of
from .errors import ConcretizationTypeError, describe, origin
from .trace import Tracer

#: Types whose values count as arrays besides concrete arrays and tracers: typed PRNG keys.
array_types: list[type] = [ArrayImpl, Tracer]


class _ArrayMeta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, tuple(array_types))

    def __subclasscheck__(cls, c: type) -> bool:
        return c is cls or issubclass(c, tuple(array_types))


class Array(metaclass=_ArrayMeta):
    """The type of arrays: immutable, of one dtype, on a device.

    `isinstance(x, Array)` holds for concrete arrays and for traced values alike. Arrays are made
    by the functions of `lingon.numpy`, not by calling this type.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Array cannot be called; make arrays with jax.numpy.array and the like")


def attach(**members: Any) -> None:
    """Give concrete arrays and tracers the same methods, operators and properties."""
    for name, f in members.items():
        for t in (ArrayImpl, Tracer):
            setattr(t, name, f)


def attach_concrete(**members: Any) -> None:
    """Give concrete arrays methods that tracers do not have."""
    for name, f in members.items():
        setattr(ArrayImpl, name, f)


IMMUTABLE = (
    "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, "
    "use x = x.at[idx].set(y) or another .at[] method, such as .at[idx].add(y)."
)


def _setitem(self: Any, index: Any, value: Any) -> None:
    raise TypeError(IMMUTABLE)


def _delitem(self: Any, index: Any) -> None:
    raise TypeError(
        "JAX arrays are immutable and do not support deletion of items. Use jnp.delete(x, idx, "
        "axis), which returns a new array."
    )


def _len(self: Any) -> int:
    if not self.shape:
        raise TypeError("len() of unsized object")
    return self.shape[0]


def _block_until_ready(self: Any) -> Any:
    """Wait until the array is computed; returns the array. RuntimeError if it was deleted."""
    if self.is_deleted():
        self._numpy()  # raises
    return self


# --- conversions of concrete arrays ---------------------------------------------------------


def _to_python(kind: type) -> Callable[[Any], Any]:
    def convert(self: Any) -> Any:
        if self.ndim:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got arr.ndim={self.ndim}"
            )
        value = self._numpy()[()]
        # NumPy would drop the imaginary part of a complex number
        return kind(complex(value) if dtypes.is_complex(self.dtype) else value)

    convert.__name__ = f"__{kind.__name__}__"
    return convert


def _bool(self: Any) -> bool:
    if self.size != 1:
        if self.size == 0:
            raise ValueError(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
                "that an array is not empty."
            )
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or "
            "a.all()"
        )
    return bool(self._numpy().reshape(())[()])


def _index(self: Any) -> int:
    if self.ndim or not dtypes.is_integer(self.dtype):
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    return int(self._numpy()[()])


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    a = self._numpy()
    if dtype is not None and np.dtype(dtype) != a.dtype:
        if copy is False:
            raise ValueError("a change of dtype needs a copy, which copy=False forbids")
        return a.astype(dtype)
    return a.copy() if copy else a


def _iter(self: Any) -> Iterator[Any]:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    a, weak = self._numpy(), self.weak_type
    return iter(
        [
            ArrayImpl.from_numpy(a[i : i + 1].reshape(a.shape[1:]), weak, copy=True)
            for i in range(a.shape[0])
        ]
    )


def _elsewhere(self: Any) -> bool:
    """Whether parts are in other processes only."""
    return self._layout is not None and not self._layout.complete


def _brief(self: Any) -> str:
    return f"Array(shape={self.shape}, dtype={dtypes.dtype_name(self.dtype)})"


def _repr(self: Any) -> str:
    if _elsewhere(self):
        return _brief(self)
    a = self._numpy()
    weak = ", weak_type=True" if self.weak_type else ""
    dtype = f"dtype={dtypes.dtype_name(self.dtype)}{weak})"
    if a.size == 0:
        return f"Array([], shape={self.shape}, {dtype}"
    body = np.array2string(a, prefix="Array(", suffix=",", separator=", ")
    last = len(body) - body.rfind("\n") - 1 if "\n" in body else len(body) + len("Array(")
    gap = " " if last + len(dtype) + 2 <= np.get_printoptions()["linewidth"] else "\n" + " " * 6
    return f"Array({body},{gap}{dtype}"


def _str(self: Any) -> str:
    return _brief(self) if _elsewhere(self) else str(self._numpy())


def _format(self: Any, spec: str) -> str:
    if not self.ndim:
        return format(self._numpy()[()], spec)
    if _elsewhere(self):
        return format(_brief(self), spec)
    return format(self._numpy(), spec)


def _hash(self: Any) -> int:
    raise TypeError(f"unhashable type: '{type(self).__name__}'")


def _item(self: Any, *args: Any) -> Any:
    """The element as a Python scalar; with indices, that element."""
    a = self._numpy()
    if not args and a.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return a.item(*args)


def _tolist(self: Any) -> Any:
    """The elements as (nested) lists of Python scalars."""
    return self._numpy().tolist()


def _tobytes(self: Any, order: str = "C") -> bytes:
    """The elements' bytes."""
    return self._numpy().tobytes(order)


def _copy_fast(self: Any, memo: Any = None) -> Any:
    return ArrayImpl.from_numpy(self._numpy(), self.weak_type, copy=True)


def _device(self: Any) -> Device | Sharding:
    """The device that the array is on; the sharding of an array on several devices."""
    return device_of(self._device_id) if self._layout is None else self._layout.sharding


def _devices(self: Any) -> set[Device]:
    """The devices that the array is on."""
    return set(placement.sharding_of_array(self).device_set)


def _sharding(self: Any) -> Sharding:
    """How the array is laid out over devices."""
    return placement.sharding_of_array(self)


def _shards(self: Any) -> list[Shard]:
    """The parts of the array that are on this process' devices, by device."""
    return placement.shards(self)


def _global_shards(self: Any) -> list[Shard]:
    """The parts of the array, by device; without data on devices of other processes."""
    return placement.global_shards(self)


def _is_fully_addressable(self: Any) -> bool:
    """Whether all devices of the array belong to this process."""
    return self._layout is None or self._layout.sharding.is_fully_addressable


def _is_fully_replicated(self: Any) -> bool:
    """Whether every device has the whole array."""
    return self._layout is None or self._layout.replicated


def _pointer(self: Any) -> int:
    """Address of the first element. Raises RuntimeError for arrays on several devices."""
    if self._layout is not None:
        raise RuntimeError("unsafe_buffer_pointer() is supported only for arrays on one device.")
    return self._unsafe_data_ptr()


def _copy_to_host_async(self: Any) -> None:
    """Start copying to the host; arrays of the CPU are there already. RuntimeError if deleted."""
    _block_until_ready(self)


attach(
    __setitem__=_setitem,
    __delitem__=_delitem,
    __len__=_len,
)

attach_concrete(
    __int__=_to_python(int),
    __float__=_to_python(float),
    __complex__=_to_python(complex),
    __bool__=_bool,
    __index__=_index,
    __array__=_array,
    __array_priority__=100,
    __iter__=_iter,
    __repr__=_repr,
    __str__=_str,
    __format__=_format,
    __hash__=_hash,
    __copy__=_copy_fast,
    __deepcopy__=_copy_fast,
    block_until_ready=_block_until_ready,
    item=_item,
    tolist=_tolist,
    tobytes=_tobytes,
    device=property(_device),
    devices=_devices,
    sharding=property(_sharding),
    addressable_shards=property(_shards),
    global_shards=property(_global_shards),
    is_fully_addressable=property(_is_fully_addressable),
    is_fully_replicated=property(_is_fully_replicated),
    committed=property(lambda self: self._committed),
    is_ready=lambda self: True,
    platform=lambda self: device_of(self._device_id).platform,
    copy_to_host_async=_copy_to_host_async,
    on_device_size_in_bytes=lambda self: self.nbytes,
    unsafe_buffer_pointer=_pointer,
    addressable_data=lambda self, index: self.addressable_shards[index].data,
)


# --- what traced values do not have ----------------------------------------------------------


def _needs_value(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ConcretizationTypeError(self, f"The {name}() method was called on {describe(self)}.")

    method.__name__ = name
    return method


def _needs_value_property(name: str) -> property:
    def get(self: Any) -> Any:
        raise ConcretizationTypeError(self, f"The {name} property was called on {describe(self)}.")

    return property(get)


def _not_available(name: str, kind: str, hint: str = "") -> property:
    def get(self: Any) -> Any:
        raise AttributeError(
            f"The '{name}' {kind} is not available on {describe(self)}.{hint}{origin(self)}"
        )

    return property(get)


for _name in (
    "addressable_data delete devices is_deleted on_device_size_in_bytes tobytes "
    "unsafe_buffer_pointer __reduce__ __dlpack__ __dlpack_device__"
).split():
    setattr(Tracer, _name, _needs_value(_name))
for _name in (
    "addressable_shards committed global_shards is_fully_addressable is_fully_replicated"
).split():
    setattr(Tracer, _name, _needs_value_property(_name))
for _name in ("block_until_ready", "copy_to_host_async", "is_ready"):
    setattr(Tracer, _name, _not_available(_name, "method"))
for _name in ("device", "sharding"):
    setattr(
        Tracer,
        _name,
        _not_available(_name, "attribute", " Use `jax.typeof(x)` for what is known of its layout."),
    )
