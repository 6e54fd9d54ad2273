"""All primitives. Importing a family's module declares its primitives in the registry."""

from . import (
    arithmetic,
    bits,
    comparison,
    complexes,
    conversion,
    dot,
    powers,
    reductions,
    slicing,
    structure,
    transcendental,
)

__all__ = [
    "arithmetic",
    "bits",
    "comparison",
    "complexes",
    "conversion",
    "dot",
    "powers",
    "reductions",
    "slicing",
    "structure",
    "transcendental",
]
