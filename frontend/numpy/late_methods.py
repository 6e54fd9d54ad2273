"""Operators and methods of arrays, imported when the first of them is used.

Arrays have the names from the start; the modules put the functions in their places.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..core.array import attach
from ..core.trace import Tracer

#: The names by the module that has them.
NAMES = {
    "operators": (
        "__abs__ __add__ __and__ __contains__ __divmod__ __eq__ __floordiv__ __ge__ __getitem__ "
        "__gt__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ "
        "__or__ __pos__ __pow__ __radd__ __rand__ __rdivmod__ __rfloordiv__ __rlshift__ __rmatmul__ "
        "__rmod__ __rmul__ __ror__ __round__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__ "
        "__rxor__ __sub__ __truediv__ __xor__ at"
    ).split(),
    "array_methods": (
        "T all any argmax argmin argpartition argsort astype byteswap choose clip clone compress "
        "conj conjugate copy cumprod cumsum diagonal dot flat flatten imag itemsize mT max mean min "
        "nbytes nonzero prod ptp ravel real repeat reshape round searchsorted sort squeeze std sum "
        "swapaxes take to_device trace transpose var view"
    ).split(),
}


class Late:
    """Stands for an operator, method or property until it is used."""

    def __init__(self, name: str, module: str):
        self.name, self.module = name, module

    def _replace(self, owner: type) -> None:
        importlib.import_module(f"{__package__}.{self.module}")
        for base in owner.__mro__:
            if base.__dict__.get(self.name) is self:
                raise RuntimeError(f"Array.{self.name} was used while lingon was being imported")

    def __get__(self, x: Any, owner: type) -> Any:
        self._replace(owner)
        return getattr(owner if x is None else x, self.name)

    def __set__(self, x: Any, value: Any) -> None:
        self._replace(type(x))
        setattr(x, self.name, value)

    def __delete__(self, x: Any) -> None:
        self._replace(type(x))
        delattr(x, self.name)


attach(**{name: Late(name, module) for module, names in NAMES.items() for name in names})
# Concrete arrays have one of their own. Without it Python would ask for x[0], x[1], ... without an end.
Tracer.__iter__ = Late("__iter__", "array_methods")  # type: ignore[attr-defined]


def set_namespace(module: str) -> None:
    """Name the public module that `__array_namespace__` gives."""

    def namespace(self: Any, *, api_version: str | None = None) -> Any:
        """The module of array functions, as the array API standard asks for it."""
        if api_version not in (None, "2024.12"):
            raise ValueError(
                f"api_version={api_version!r} is not available; available versions: ['2024.12']"
            )
        return importlib.import_module(module)

    attach(__array_namespace__=namespace)
