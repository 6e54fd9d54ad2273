"""The platform that a program is compiled for, as an index into a list of platforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.avals import ShapedArray
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import zero_jvp

Platforms = tuple[tuple[str, ...] | None, ...]

#: What references, which run here, are for.
HOST = "cpu"


def platform_number(platforms: Platforms, platform: str) -> int:
    """The first entry that names the platform, or that is None. Raises NotImplementedError."""
    for i, names in enumerate(platforms):
        if names is None or platform in names:
            return i
    named = ", ".join(n for names in platforms for n in names or ())
    raise NotImplementedError(
        f"there is nothing for platform {platform}: platform_dependent names {named or 'none'} and "
        "has no default"
    )


def _reference(*, platforms: Platforms) -> Any:
    return np.int32(platform_number(platforms, HOST))


platform_index_p = Primitive(
    "platform_index",
    abstract=lambda *, platforms: ShapedArray((), np.int32),
    reference=_reference,
    jvp=zero_jvp,
    transpose=absent("it has no operands"),
    batch=absent("it has no operands"),
    samples=lambda: [
        Sample(platforms=(("cpu",), None)),
        Sample(platforms=(("cuda",), ("rocm", "cpu"))),
        Sample(platforms=(("cuda",), None)),
    ],
)

__all__ = ["platform_index_p", "platform_number"]
