"""Traced programs of a function, shared by all jitted functions made of it.

`jit(f)(x)`, written in a loop, makes a jitted function each time; `f` is traced and compiled once.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from ..core.bounded_cache import BoundedCache

_ATTRIBUTE = "_lingon_traces"
_MAX_SIGNATURES = 4096


class FunctionTraces(BoundedCache[Any]):
    """What was traced of one function, by signature.

    It is an attribute of the function, so that both, and whatever programs refer to, go together.
    """

    __slots__ = ("_dispatchers", "_owner")

    def __init__(self, owner: weakref.ref | None = None) -> None:
        super().__init__(_MAX_SIGNATURES)
        self._owner = owner
        self._dispatchers: weakref.WeakSet = weakref.WeakSet()

    def belongs_to(self, fun: Callable[..., Any]) -> bool:
        """Whether it is that of `fun`: wrappers get copies of a function's attributes."""
        return self._owner is not None and self._owner() is fun

    def serve(self, dispatcher: Any) -> None:
        """Remember who calls what is kept here by itself."""
        self._dispatchers.add(dispatcher)

    def clear(self) -> None:
        """Forget everything, also in the call paths of the jitted functions."""
        super().clear()
        for dispatcher in list(self._dispatchers):
            dispatcher.clear_fast_cache()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()  # with a pickled function travels nothing


def traces_of(fun: Callable[..., Any]) -> FunctionTraces:
    """The traces of a function or partial; callables of other types share them with nobody."""
    if type(fun) not in (types.FunctionType, functools.partial):
        return FunctionTraces()
    found = fun.__dict__.get(_ATTRIBUTE)
    if not isinstance(found, FunctionTraces) or not found.belongs_to(fun):
        found = fun.__dict__[_ATTRIBUTE] = FunctionTraces(weakref.ref(fun))
    return found


__all__ = ["FunctionTraces", "traces_of"]
