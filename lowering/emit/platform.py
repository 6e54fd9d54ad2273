"""Emission of `platform_index`: which entry of a list of platforms the program is compiled for."""

from __future__ import annotations

import numpy as np

from .registry import emits

__all__: list[str] = []

#: The names that the target goes by.
TARGET = frozenset({"cpu"})


@emits("platform_index")
def _platform_index(ctx, eqn):
    """A literal, so that a `cond` that reads it is the one branch that is meant."""
    platforms = eqn.params["platforms"]
    for i, names in enumerate(platforms):
        if names is None or TARGET.intersection(names):
            return ctx.literal(np.int32(i), np.dtype(np.int32))
    raise NotImplementedError(
        f"the program has nothing for platform {'/'.join(sorted(TARGET))}: platform_dependent names "
        f"{', '.join(n for names in platforms for n in names or ()) or 'none'} and has no default"
    )
