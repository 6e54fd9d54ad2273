"""Trees of Python containers (pytrees): the part that the core and the transformations use.

Flattening and unflattening are done by the runtime; `frontend.tree_util` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from ...runtime._runtime import pytree as _impl

PyTreeDef: TypeAlias = _impl.PyTreeDef
DictKey = _impl.DictKey
SequenceKey = _impl.SequenceKey
GetAttrKey = _impl.GetAttrKey
FlattenedIndexKey = _impl.FlattenedIndexKey
default_registry = _impl.default_registry

# Pickles name the public module.
for _cls in (PyTreeDef, DictKey, SequenceKey, GetAttrKey, FlattenedIndexKey):
    _cls.__module__ = "lingon.tree_util"

KeyEntry = TypeVar("KeyEntry", bound=Any)
KeyPath = tuple[KeyEntry, ...]
Leaf = Any
KeyLeafPair = tuple[Any, Any]
T = TypeVar("T")


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Leaf], PyTreeDef]:
    """The leaves of a tree, depth first, and its structure.

    `is_leaf` is asked for every subtree; where it returns True, the subtree is a leaf. ValueError
    if it returns anything but a bool, or for a dict whose keys cannot be sorted.
    """
    return _impl.flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> Any:
    """The tree of a structure with the given leaves. ValueError if their number is wrong."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Leaf]:
    """The leaves of a tree, depth first."""
    return _impl.leaves(tree, is_leaf)


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a tree."""
    return _impl.flatten(tree, is_leaf)[1]


def _flatten_rest(name: str, treedef: PyTreeDef, rest: Sequence[Any]) -> list[list[Any]]:
    return [
        _impl.flatten_up_to(treedef, r, f"{name} tree {i}", f"{name} tree 1")
        for i, r in enumerate(rest, 2)
    ]


def tree_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Apply `f` to the leaves of `tree` and the subtrees of `rest` in their places.

    `tree` must be a prefix of each tree in `rest`; ValueError names the path where it is not.
    """
    leaves, treedef = _impl.flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(map(f, leaves))
    return treedef.unflatten(map(f, leaves, *_flatten_rest("tree_map", treedef, rest)))


def tree_flatten_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Pairs (path, leaf), depth first, and the structure of a tree.

    With `is_leaf_takes_path`, the predicate is called with the path and the subtree.
    """
    return _impl.flatten_with_path(tree, is_leaf, is_leaf_takes_path)


def tree_leaves_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> list[tuple[KeyPath, Any]]:
    """Pairs (path, leaf) of a tree, depth first."""
    return _impl.flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like `tree_map`, with the path of the leaf as the first argument of `f`."""
    pairs, treedef = _impl.flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [p for p, _ in pairs], [x for _, x in pairs]
    others = _flatten_rest("tree_map_with_path", treedef, rest)
    return treedef.unflatten(map(f, paths, leaves, *others))


def _simple(key: Any) -> str:
    if isinstance(key, DictKey | FlattenedIndexKey):
        return str(key.key)
    if isinstance(key, SequenceKey):
        return str(key.idx)
    if isinstance(key, GetAttrKey):
        return key.name
    return str(key)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """The text of a path, like `['a'].b[0]`; with `simple` the bare keys, like `ab0`."""
    return separator.join(map(_simple if simple else str, keys))


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is a single node: a leaf, None or an empty container."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees that have the given structures."""
    return _impl.treedef_tuple(treedefs)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root."""
    return treedef.children()


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
    *,
    prefix_name: str = "the prefix tree",
    full_name: str = "the full tree",
) -> list[Any]:
    """One leaf of `prefix_tree` for each leaf of `full_tree`.

    `is_leaf` is asked about `prefix_tree` only. ValueError where that is not a prefix; the names
    are used in its message.
    """
    leaves, treedef = _impl.flatten(prefix_tree, is_leaf)
    result: list[Any] = []
    subtrees = _impl.flatten_up_to(treedef, full_tree, full_name, prefix_name)
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        result.extend([leaf] * len(_impl.leaves(subtree)))
    return result


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[KeyLeafPair], Hashable]] | None = None,
) -> None:
    """Make a type a pytree node.

    Args:
      nodetype: the type; its subclasses are not affected. ValueError if it is registered.
      flatten_func: object -> (children, auxiliary data); the latter is compared with ==.
      unflatten_func: (auxiliary data, tuple of children) -> object.
      flatten_with_keys_func: object -> (pairs (key, child), auxiliary data).
    """
    default_registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyLeafPair",
    "KeyPath",
    "Leaf",
    "PyTreeDef",
    "SequenceKey",
    "broadcast_prefix",
    "default_registry",
    "keystr",
    "register_pytree_node",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
