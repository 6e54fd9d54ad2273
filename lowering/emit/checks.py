"""Emission of `check`: nothing is left of one that was for debugging; others must not be there."""

from __future__ import annotations

from .registry import emits

__all__: list[str] = []


@emits("check")
def _check(ctx, eqn, *operands):
    if not eqn.params["debug"]:
        raise ValueError(
            ctx.describe(
                "Cannot abstractly evaluate a checkify.check which was not functionalized. This "
                "probably means you tried to stage (jit/scan/pmap/...) a `check` without "
                "functionalizing it through `checkify.checkify`."
            )
        )
    return ()
