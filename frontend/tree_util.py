"""The public pytree functions: registration of node types and the functions over trees."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from ..runtime._runtime import pytree as _impl
from .core import pytree
from .core.pytree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyLeafPair,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    default_registry,
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_structure,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)

T = TypeVar("T")
Typ = TypeVar("Typ", bound=type)


class Unspecified:
    """The type of the default of arguments for which None is a value."""

    def __repr__(self) -> str:
        return "<unspecified>"


_unspecified = Unspecified()

# --- registration --------------------------------------------------------------------------


def register_pytree_node_class(cls: Typ) -> Typ:
    """Class decorator: a node by its methods `tree_flatten` and (classmethod) `tree_unflatten`."""
    register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[KeyLeafPair], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a type a pytree node that names its children.

    `flatten_with_keys` returns (pairs (key, child), auxiliary data); `flatten_func`, which is the
    faster one for everything but paths, returns (children, auxiliary data).
    """
    if flatten_func is None:

        def flatten_func(obj: T) -> tuple[Iterable[Any], Any]:
            pairs, aux = flatten_with_keys(obj)
            return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Typ) -> Typ:
    """Class decorator: a node by its methods `tree_flatten_with_keys` and `tree_unflatten`.

    A method `tree_flatten` is used where no keys are needed.
    """
    register_pytree_with_keys(
        cls,
        cls.tree_flatten_with_keys,  # type: ignore[attr-defined]
        cls.tree_unflatten,  # type: ignore[attr-defined]
        getattr(cls, "tree_flatten", None),
    )
    return cls


def _check_dataclass_fields(
    nodetype: type, data: Sequence[str], meta: Sequence[str], dropped: Sequence[str]
) -> None:
    both = set(data) & set(meta)
    if both:
        raise ValueError(
            f"register_dataclass: data_fields and meta_fields of {nodetype} must not overlap, but "
            f"both have {sorted(both)}."
        )
    if not dataclasses.is_dataclass(nodetype):
        return
    wanted = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(dropped)
    given = set(data) | set(meta)
    if wanted - given:
        raise ValueError(
            f"register_dataclass: data_fields and meta_fields of {nodetype} must name all fields "
            f"with init=True, but lack {sorted(wanted - given)}. Name a field in drop_fields if it "
            "is to be left out."
        )
    if given - wanted:
        raise ValueError(
            f"register_dataclass: data_fields and meta_fields of {nodetype} must name only fields "
            f"with init=True that are not dropped, but have {sorted(given - wanted)}."
        )


def register_dataclass(
    nodetype: Typ,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Typ:
    """Make a dataclass a pytree node; also usable as a class decorator.

    Args:
      nodetype: a class that can be called with its fields as keyword arguments.
      data_fields: names of the fields that are children.
      meta_fields: names of the fields that are auxiliary data: hashable, compared with ==.
        Without both lists, the fields marked `metadata=dict(static=True)` are these.
      drop_fields: names of the init fields that are left out, so that they get their defaults.

    Returns nodetype. TypeError or ValueError for field lists that do not fit the class.
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"register_dataclass: nodetype must be a class, got {nodetype!r}.")
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must be given together or not at all, "
            f"got data_fields={data_fields!r} and meta_fields={meta_fields!r}."
        )
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required for a class that is "
                f"not a dataclass, got {nodetype!r}."
            )
        fields = dataclasses.fields(nodetype)
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    data, meta = tuple(data_fields), tuple(meta_fields)
    _check_dataclass_fields(nodetype, data, meta, drop_fields)
    default_registry.register_dataclass_node(nodetype, data, meta)
    return nodetype


def register_static(cls: type[T]) -> type[T]:
    """Class decorator: objects are nodes without children that are their own auxiliary data.

    They must be hashable and comparable; `jit` treats them as static.
    """
    flatten = lambda obj: ((), obj)  # noqa: E731
    register_pytree_node(cls, flatten, lambda obj, _: obj, flatten)
    return cls


def static(**kwargs: Any) -> Any:
    """`dataclasses.field` for a field that `register_dataclass` makes auxiliary data."""
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


# --- functions over trees ------------------------------------------------------------------


def tree_reduce(
    function: Callable[[T, Any], T],
    tree: Any,
    initializer: T | Unspecified = _unspecified,
    is_leaf: Callable[[Any], bool] | None = None,
) -> T:
    """`functools.reduce` over the leaves. TypeError for no leaves and no initializer."""
    leaves = tree_leaves(tree, is_leaf)
    if isinstance(initializer, Unspecified):
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T | Unspecified = _unspecified,
    is_leaf: Callable[[Any], bool] | None = None,
) -> T:
    """Reduce the leaves in a balanced tree of calls. TypeError for no leaves and no identity."""
    leaves = tree_leaves(tree, is_leaf)
    if not leaves:
        if isinstance(identity, Unspecified):
            raise TypeError("tree_reduce_associative: a tree without leaves needs an identity.")
        return identity

    def reduce(items: list[Any]) -> Any:
        if len(items) == 1:
            return items[0]
        middle = len(items) // 2
        return operation(reduce(items[:middle]), reduce(items[middle:]))

    return reduce(leaves)


def tree_all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A tree of the inner structure with trees of the outer structure as its leaves.

    `pytree_to_transpose` has the outer structure with trees of the inner structure as its leaves;
    TypeError if not. The inner structure is that of its first subtree if None is given.
    """
    subtrees = None
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise IndexError(
                "tree_transpose: inner_treedef cannot be None if the outer structure "
                f"{outer_treedef} has no leaves."
            )
        inner_treedef = tree_structure(subtrees[0])
    leaves, treedef = tree_flatten(pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        raise TypeError(
            "tree_transpose: the tree must consist of the outer and the inner structure.\n"
            f"  structure of the tree: {treedef}\n  expected: {expected}"
        )
    n = inner_treedef.num_leaves
    columns = [outer_treedef.unflatten(leaves[i::n]) for i in range(n)]
    return inner_treedef.unflatten(columns)


def tree_broadcast(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The structure of `full_tree` with the leaves of `prefix_tree` repeated below each.

    ValueError if `prefix_tree` is not a prefix of `full_tree`.
    """
    leaves = pytree.broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every element is a leaf rather than a node (None is a node)."""
    if is_leaf is None:
        return _impl.all_leaves(iterable)
    items = list(iterable)
    leaves = tree_leaves(items, is_leaf)
    return len(leaves) == len(items) and all(a is b for a, b in zip(leaves, items, strict=True))


def is_tree_node(typ: type) -> bool:
    """Whether objects of a type are nodes."""
    return default_registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """The children of the root and its auxiliary data. ValueError for a leaf."""
    result = default_registry.flatten_one_level(tree)
    if result is None:
        raise ValueError(f"flatten_one_level: an object of type {type(tree)} is a leaf.")
    return result


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[KeyLeafPair], Hashable]:
    """Pairs (key, child) of the root and its auxiliary data. ValueError for a leaf."""
    result = default_registry.flatten_one_level_with_keys(tree)
    if result is None:
        raise ValueError(f"flatten_one_level_with_keys: an object of type {type(tree)} is a leaf.")
    return result


class _CallableLeaf:
    """Hides a `functools.partial` from the constructor of another, which would merge the two."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CallableLeaf) and self.fun == other.fun

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fun!r})"


class Partial(functools.partial):
    """A `functools.partial` that is a pytree node: its arguments are the children.

    The function is auxiliary data, so it must be hashable and comparable.
    """

    def __new__(klass, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = _CallableLeaf(func)
        return super().__new__(klass, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
