"""Operators and methods of arrays, written once and attached to arrays and tracers alike.

A method that only forwards to a function of this package is a row of the table at the end; the
function is imported when the method is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ...runtime import ArrayImpl
from ..core import dtypes
from ..core.array import attach, attach_concrete
from ..transforms.eager_functions import eager_function
from . import at as _at
from . import indexing, ufuncs
from .util import convert, is_arraylike, shape_of

_known = frozenset((ArrayImpl, int, float, complex, bool))


def _accepts(x: Any) -> bool:
    return type(x) in _known or is_arraylike(x)


def _binary(f: Callable) -> Callable:
    def operator(self: Any, other: Any) -> Any:
        if not _accepts(other):
            if isinstance(other, (list, tuple)):
                raise TypeError(
                    f"unsupported operand type(s) for {f.__name__}: '{type(self).__name__}' and "
                    f"'{type(other).__name__}'; make an array of it with jnp.array first"
                )
            return NotImplemented
        return f(self, other)

    return operator


def _reflected(f: Callable) -> Callable:
    def operator(self: Any, other: Any) -> Any:
        if not _accepts(other):
            if isinstance(other, (list, tuple)):
                raise TypeError(
                    f"unsupported operand type(s) for {f.__name__}: '{type(other).__name__}' and "
                    f"'{type(self).__name__}'; make an array of it with jnp.array first"
                )
            return NotImplemented
        return f(other, self)

    return operator


def _comparison(f: Callable) -> Callable:
    def operator(self: Any, other: Any) -> Any:
        if _accepts(other):
            return f(self, other)
        if isinstance(other, (list, tuple, set, dict)):
            raise TypeError(
                f"unsupported operand type(s) for {f.__name__}: '{type(self).__name__}' and "
                f"'{type(other).__name__}'; make an array of it with jnp.array first"
            )
        return NotImplemented

    return operator


def _power(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        raise NotImplementedError("three-argument pow of arrays is not implemented")
    return _pow(self, other)


_pow = _binary(ufuncs.power)


def _matmul(x: Any, y: Any) -> Any:
    from .products import matmul

    return matmul(x, y)


def _lazy(module: str, function: str) -> Callable:
    """A method that calls `function(self, ...)` of a module of this package."""
    target: list[Callable] = []

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not target:
            target.append(getattr(importlib.import_module(f"..{module}", __name__), function))
        return target[0](self, *args, **kwargs)

    method.__name__ = function
    method.__doc__ = f"See `jax.numpy.{function}`."
    return method


_pairs = {
    "add": ufuncs.add,
    "sub": ufuncs.subtract,
    "mul": ufuncs.multiply,
    "truediv": ufuncs.true_divide,
    "floordiv": ufuncs.floor_divide,
    "mod": ufuncs.remainder,
    "divmod": ufuncs.divmod,
    "and": ufuncs.bitwise_and,  # type: ignore[attr-defined]
    "or": ufuncs.bitwise_or,  # type: ignore[attr-defined]
    "xor": ufuncs.bitwise_xor,  # type: ignore[attr-defined]
    "lshift": ufuncs.left_shift,
    "rshift": ufuncs.right_shift,
    "matmul": _matmul,
}

operators: dict[str, Any] = {}
for _name, _f in _pairs.items():
    operators[f"__{_name}__"] = _binary(_f)
    operators[f"__r{_name}__"] = _reflected(_f)
operators["__pow__"] = _power
operators["__rpow__"] = _reflected(ufuncs.power)
for _name, _f in {
    "eq": ufuncs.equal,
    "ne": ufuncs.not_equal,  # type: ignore[attr-defined]
    "lt": ufuncs.less,
    "le": ufuncs.less_equal,
    "gt": ufuncs.greater,
    "ge": ufuncs.greater_equal,
}.items():
    operators[f"__{_name}__"] = _comparison(_f)
operators["__neg__"] = lambda self: ufuncs.negative(self)
operators["__pos__"] = lambda self: ufuncs.positive(self)
operators["__abs__"] = lambda self: ufuncs.abs(self)
operators["__invert__"] = lambda self: ufuncs.bitwise_not(self)  # type: ignore[attr-defined]
operators["__getitem__"] = indexing.getitem
operators["at"] = property(_at.at)


def _round(self: Any, decimals: int | None = None) -> Any:
    """Rounded to a number of decimals; without one, to integers."""
    if decimals is None:
        return convert(ufuncs.round(self), dtypes.default_int())
    return ufuncs.round(self, decimals)


def _contains(self: Any, item: Any) -> Any:
    """Whether an element of a vector equals a scalar."""
    if self.ndim != 1:
        raise ValueError(
            f"Array.__contains__: search array must be one-dimensional, got arr.shape={self.shape}."
        )
    if not _accepts(item):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(item)}.")
    if shape_of(item) != ():
        raise ValueError(
            f"Array.__contains__: query value must be a scalar, got query.shape={shape_of(item)}"
        )
    return bool(_comparison(ufuncs.equal)(self, item).any())


operators["__round__"] = _round
operators["__contains__"] = _contains
attach(**operators)
attach_concrete(
    **{
        name: eager_function(
            f, numbers=name not in ("__pow__", "__rpow__", "__lshift__", "__rshift__")
        )
        for name, f in operators.items()
        if name not in ("__getitem__", "at", "__contains__", "__round__", "__pos__")
    }
)
