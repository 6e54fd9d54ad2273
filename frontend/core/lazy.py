"""Modules whose names are imported from other modules when they are first used (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    module: str,
    sources: Mapping[str, str],
    submodules: str = "",
    message: str = "module {module!r} has no attribute {name!r}",
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and the names, without submodules, of a module that imports them late.

    A name is kept in the module once it was used, so that later uses cost nothing.

    Args:
      module: the module's `__name__`.
      sources: names, separated by spaces, by the module that has them; `name=other` is its `other`.
      submodules: names of submodules, imported as the others.
      message: of the AttributeError for any other name.
    """
    where: dict[str, tuple[str, str]] = {}
    for source, names in sources.items():
        for entry in names.split():
            name, _, other = entry.partition("=")
            where[name] = (source, other or name)
    parts = frozenset(submodules.split())

    def getattribute(name: str) -> Any:
        if name in where:
            source, attribute = where[name]
            value = getattr(importlib.import_module(source), attribute)
            setattr(sys.modules[module], name, value)
            return value
        if name in parts:
            return importlib.import_module(f"{module}.{name}")
        raise AttributeError(
            message.format(module=module, name=name), name=name, obj=sys.modules.get(module)
        )

    def directory() -> list[str]:
        return sorted({*sys.modules[module].__all__, *parts})

    return getattribute, directory, sorted(where)
