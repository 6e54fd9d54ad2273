"""Policies of `checkpoint`: which intermediate values may be kept for the backward pass.

A policy is called as `policy(primitive, *avals, **params)` for each equation whose operands are
known, and returns a bool, `Recompute`, `Saveable` or `Offloadable(src, dst)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import pytree
from .primitives.naming import name_p
from .transforms.recompute import Offloadable, Policy, Recompute, Saveable

#: The primitives that are worth saving for `dots_saveable`.
_products = frozenset({"dot_general", "conv_general_dilated"})


def everything_saveable(*_: Any, **__: Any) -> bool:
    """All values may be saved: the backward pass is that without checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """All values are computed again; the default."""
    return False


class DotsSaveable:
    """Results of matrix products and convolutions may be saved.

    With `only_if_no_batch_dims`, only products without batch dimensions.
    """

    def __init__(self, only_if_no_batch_dims: bool):
        self.only_if_no_batch_dims = only_if_no_batch_dims

    def __call__(self, prim: Any, *args: Any, **params: Any) -> bool:
        name = getattr(prim, "name", None)
        if not self.only_if_no_batch_dims:
            return name in _products
        return name == "dot_general" and not any(params["dimension_numbers"][1])

    def __repr__(self) -> str:
        return f"DotsSaveable(only_if_no_batch_dims={self.only_if_no_batch_dims})"

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is DotsSaveable
            and self.only_if_no_batch_dims == other.only_if_no_batch_dims
        )

    def __hash__(self) -> int:
        return hash((DotsSaveable, self.only_if_no_batch_dims))


dots_saveable = checkpoint_dots = DotsSaveable(only_if_no_batch_dims=False)
dots_with_no_batch_dims_saveable = DotsSaveable(only_if_no_batch_dims=True)
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


class _Named:
    """Base of the policies that look at names given by `checkpoint_name`; equal by their names."""

    _label = ""

    def __init__(self, names: Sequence[Any]):
        self.names = frozenset(names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._label}={self.names})"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Named) and type(other) is type(self) and self.names == other.names

    def __hash__(self) -> int:
        return hash((type(self), self.names))


class SaveOnlyTheseNames(_Named):
    _label = "saveable_names"

    def __call__(self, prim: Any, *_: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] in self.names


class SaveAnyNamesButThese(_Named):
    _label = "names"

    def __call__(self, prim: Any, *_: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] not in self.names


class SaveAnythingExceptTheseNames(_Named):
    _label = "names"

    def __call__(self, prim: Any, *_: Any, **params: Any) -> bool:
        return not (prim is name_p and params["name"] in self.names)


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Only values that `checkpoint_name` gave one of these names may be saved."""
    return SaveOnlyTheseNames(names_which_can_be_saved)


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Named values may be saved, unless their name is one of these."""
    return SaveAnyNamesButThese(names_not_to_save)


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """All values may be saved but those with one of these names."""
    return SaveAnythingExceptTheseNames(names_not_to_save)


class SaveFromBothPolicies:
    """What either of two policies allows."""

    def __init__(self, policy_1: Policy, policy_2: Policy):
        self.policies = (policy_1, policy_2)

    def __call__(self, prim: Any, *args: Any, **params: Any) -> Any:
        first = self.policies[0](prim, *args, **params)
        if not isinstance(first, type(Recompute)) and first:
            return first
        return self.policies[1](prim, *args, **params)

    def __repr__(self) -> str:
        return f"SaveFromBothPolicies{self.policies}"

    def __eq__(self, other: Any) -> bool:
        return type(other) is SaveFromBothPolicies and self.policies == other.policies

    def __hash__(self) -> int:
        return hash((SaveFromBothPolicies, self.policies))


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Values that either of the two policies allows may be saved."""
    return SaveFromBothPolicies(policy_1, policy_2)


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Results of matrix products without batch dimensions may be saved in another memory.

    Where a device has one memory only, they are saved in it.
    """
    decision = Offloadable(offload_src, offload_dst)

    def policy(prim: Any, *args: Any, **params: Any) -> Any:
        saved = dots_with_no_batch_dims_saveable(prim, *args, **params)
        return decision if saved else Recompute

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Values with names of the first list may be saved, those of the second in another memory.

    Where a device has one memory only, all are saved in it. Raises ValueError for a name that is
    in both lists.
    """
    saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError(
            "The names should be exclusive and should not intersect in `names_which_can_be_saved` "
            f"and `names_which_can_be_offloaded`. Got names_which_can_be_saved={saved}, "
            f"names_which_can_be_offloaded={offloaded} and the intersection={saved & offloaded}"
        )
    decision = Offloadable(offload_src, offload_dst)

    def policy(prim: Any, *_: Any, **params: Any) -> Any:
        if prim is name_p and params["name"] in saved:
            return Saveable
        if prim is name_p and params["name"] in offloaded:
            return decision
        return Recompute

    return policy


def checkpoint_name(x: Any, name: str) -> Any:
    """The arrays of a pytree, known by `name` to the policies of `checkpoint`; otherwise `x`."""
    return pytree.tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "checkpoint_name",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "offload_dot_with_no_batch_dims",
    "save_and_offload_only_these_names",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]
