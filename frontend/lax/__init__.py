"""The functions of `lax`: one primitive each, or little more, without implicit promotion.

Each module says in its `__all__` what it offers. Modules are imported when a name is wanted that
none of those before it has, so no name may be that of a module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bits import *
    from .bounded_loops import *
    from .collectives import *
    from .conditionals import *
    from .conversion import *
    from .cumulative import *
    from .custom_solves import *
    from .elementwise import *
    from .indexing import *
    from .loops import *
    from .options import *
    from .prefix_scans import *
    from .reductions import *
    from .scanning import *
    from .sorting import *
    from .special import *
    from .structure import *

#: Those that most programs use come first.
_modules = (
    "elementwise structure conversion options reductions bits cumulative indexing sorting special "
    "conditionals scanning loops prefix_scans bounded_loops collectives custom_solves"
).split()


def __getattr__(name: str) -> Any:
    import importlib

    if not name.startswith("__"):
        for file in _modules:
            module = importlib.import_module(f"{__name__}.{file}")
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
