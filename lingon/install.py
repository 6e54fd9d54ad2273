"""Make `import jax` mean lingon, in this process."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any


class _Loader(importlib.abc.Loader):
    """Puts the lingon module where the jax module was asked for."""

    def __init__(self, target: str):
        self.target = target

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        sys.modules[module.__spec__.name] = importlib.import_module(self.target)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "jax" and not name.startswith("jax."):
            return None
        own = "lingon" + name[len("jax") :]
        if (own.split(".")[1:2] and own.split(".")[1] in _internal) or not _exists(own):
            raise ModuleNotFoundError(
                f"lingon has no module {name!r} (yet); it was asked for as jax, which is lingon in "
                "this process",
                name=name,
            )
        return importlib.machinery.ModuleSpec(name, _Loader(own), is_package=True)


#: lingon's own layers, which are no part of the public API.
_internal = frozenset({"frontend", "lowering", "dialect", "runtime", "install"})


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


_finder = _Finder()


def install_as_jax() -> None:
    """From now on `import jax` and `from jax... import ...` give lingon's modules.

    Raises RuntimeError if the real jax is already imported in this process.
    """
    if _finder in sys.meta_path:
        return
    present = sys.modules.get("jax")
    if present is not None and present is not sys.modules["lingon"]:
        raise RuntimeError(
            "jax is already imported in this process; call lingon.install_as_jax() before the "
            "first import of jax"
        )
    sys.meta_path.insert(0, _finder)
