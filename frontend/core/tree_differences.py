"""Where two tree structures differ, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import pytree


def structure_differences(a: Any, b: Any) -> list[tuple[str, str, str, str]]:
    """Where two structures differ: (path, what is in `a`, what is in `b`, the difference)."""
    found: list[tuple[str, str, str, str]] = []

    def visit(a: Any, b: Any, path: str) -> None:
        if a == b:
            return
        da, db = a.node_data(), b.node_data()
        if da is None or db is None or da[0] is not db[0]:
            found.append((path, _kind(a), _kind(b), "their Python types differ"))
            return
        ca, cb = a.children(), b.children()
        if da[0] is dict and da[1] != db[1]:
            keys = [f"a dict with keys {', '.join(map(repr, d[1])) or '(none)'}" for d in (da, db)]
            found.append((path, keys[0], keys[1], _key_difference(da[1], db[1])))
            return
        if len(ca) != len(cb):
            words = [f"a {da[0].__name__} of length {len(c)}" for c in (ca, cb)]
            found.append((path, words[0], words[1], "the lengths do not match"))
            return
        if da[1] != db[1]:
            words = [f"a {da[0]} with pytree metadata {d[1]}" for d in (da, db)]
            found.append((path, words[0], words[1], "the pytree node metadata does not match"))
            return
        for key, x, y in zip(_child_keys(a), ca, cb, strict=True):
            visit(x, y, path + key)

    visit(a, b, "")
    return found


def _kind(tree: Any) -> str:
    data = tree.node_data()
    if data is None:
        return "an array (a pytree leaf)"
    return "None" if data[0] is type(None) else f"a {data[0]}"


def _key_difference(a: Sequence[Any], b: Sequence[Any]) -> str:
    only_a = [repr(k) for k in a if k not in b]
    only_b = [repr(k) for k in b if k not in a]
    parts = []
    if only_a:
        parts.append(f"the second lacks {', '.join(only_a)}")
    if only_b:
        parts.append(f"the first lacks {', '.join(only_b)}")
    return " and ".join(parts) or "the keys do not match"


def _child_keys(tree: Any) -> list[str]:
    """The path entry of every child of the root."""
    children = tree.children()
    keys: list[str] = []
    for i in range(len(children)):
        marks = [
            pytree.tree_unflatten(c, [i == j] * c.num_leaves) if c.num_leaves else None
            for j, c in enumerate(children)
        ]
        path = None
        if children[i].num_leaves:
            leaves = [
                m for c, m in zip(children, marks, strict=True) for m in pytree.tree_leaves(m)
            ]
            whole = pytree.tree_unflatten(tree, leaves)
            for p, v in pytree.tree_flatten_with_path(whole)[0]:
                if v:
                    path = p[:1]
                    break
        keys.append(pytree.keystr(path) if path else f"[{i}]")
    return keys


__all__ = ["structure_differences"]
