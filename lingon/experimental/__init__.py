"""Parts of the API that JAX calls experimental."""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from lingon.frontend.callbacks import io_callback

#: Submodules that are imported when they are first used.
_submodules = frozenset(
    {
        "buffer_callback",
        "checkify",
        "jet",
        "mesh_utils",
        "multihost_utils",
        "serialize_executable",
        "shard_map",
    }
)

__all__ = ["io_callback"]


def __getattr__(name: str) -> _Any:
    if name in _submodules:
        return _importlib.import_module(f"lingon.experimental.{name}")
    raise AttributeError(f"lingon.experimental has no attribute '{name}' (yet)")


def __dir__() -> list[str]:
    return sorted({*__all__, *_submodules})
