"""All primitives. Importing a family's module declares its primitives in the registry.

The families that eager evaluation and the transformations themselves need are imported here, any
other one by what uses it, or by the registry when it is asked for a name that is not there.
"""

from ..core.primitive import registry
from ..transforms import jit
from . import arithmetic, comparison, conversion, reductions, slicing, structure

_NEEDED = (jit, arithmetic, comparison, conversion, reductions, slicing, structure)


def import_all() -> None:
    """Import the modules of all families."""
    import importlib
    import pkgutil

    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


registry.import_all = import_all
