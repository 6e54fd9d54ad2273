"""Rules for vmap given by users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core import pytree
from .lax import map as lax_map
from .transforms.custom_vmap import custom_vmap


def sequential_vmap(f: Callable) -> custom_vmap:
    """`f` as a custom_vmap function that is vectorized by a loop, one element after the other.

    Arguments that are not batched are the same in each step.
    """
    f = custom_vmap(f)

    @f.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        leaves, tree = pytree.tree_flatten(args)
        flags = pytree.tree_leaves(in_batched)
        mapped = [x for x, b in zip(leaves, flags, strict=True) if b]

        def step(xs: list[Any]) -> Any:
            it = iter(xs)
            full = [next(it) if b else x for x, b in zip(leaves, flags, strict=True)]
            return f(*pytree.tree_unflatten(tree, full))

        out = lax_map(step, mapped)
        return out, pytree.tree_map(lambda _: True, out)

    return f


__all__ = ["custom_vmap", "sequential_vmap"]
