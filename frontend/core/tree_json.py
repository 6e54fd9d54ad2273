"""Tree structures as JSON values, for files. Neither pickle nor eval takes part.

Built-in containers are named by themselves. Named tuples and registered nodes are named by module
and class, and looked up among the modules that are imported when the structure is read.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from typing import Any

from . import pytree

_BUILTIN: dict[str, type] = {
    "none": type(None),
    "tuple": tuple,
    "list": list,
    "dict": dict,
    "OrderedDict": OrderedDict,
    "defaultdict": defaultdict,
}
_BUILTIN_NAMES = {t: n for n, t in _BUILTIN.items()}
# Classes that a node's static data may name, such as the factory of a defaultdict.
_PLAIN_TYPES: dict[str, type] = {
    t.__name__: t
    for t in (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
}


def tree_to_json(tree: pytree.PyTreeDef) -> Any:
    """The structure as a JSON value.

    Raises ValueError for a class defined inside of a function, and for static data of a node
    other than None, bools, numbers, strings, bytes, tuples, lists and dicts of these.
    """
    data = tree.node_data()
    if data is None:
        return "*"
    kind, static = data
    name = _BUILTIN_NAMES.get(kind) or _class_name(kind)
    return [name, value_to_json(static), [tree_to_json(c) for c in tree.children()]]


def tree_from_json(json: Any) -> pytree.PyTreeDef:
    """The structure that `tree_to_json` wrote.

    Raises ValueError for anything else, and for a class that is not imported or not registered.
    """
    if json == "*":
        return pytree.tree_structure(0)
    if not (isinstance(json, list) and len(json) == 3 and isinstance(json[0], str)):
        raise ValueError(f"not a tree structure: {json!r}")
    name, static, children = json
    if not isinstance(children, list):
        raise ValueError(f"not a tree structure: {json!r}")
    kind = _BUILTIN.get(name) or _class_of(name)
    value = value_from_json(static)
    parts = [tree_from_json(c) for c in children]
    try:
        return pytree.PyTreeDef.from_node_data_and_children(
            pytree.default_registry, (kind, value), parts
        )
    except (TypeError, ValueError) as e:
        raise ValueError(f"the tree node {name} cannot be made: {e}") from e


def _class_name(kind: type) -> str:
    if "<locals>" in kind.__qualname__ or getattr(kind, "__module__", None) is None:
        raise ValueError(
            f"a tree node of type {kind} cannot be named in a file: it is not at the top of a module"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def _class_of(name: str) -> type:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise ValueError(
            f"the tree node type {name!r} does not exist here; import (and register) it first"
        )
    return found


def value_to_json(value: Any) -> Any:
    """Static data of a tree node as a JSON value. Raises ValueError for what has none."""
    if value is None or isinstance(value, bool) or type(value) in (int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) in (tuple, list):
        return {type(value).__name__: [value_to_json(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[value_to_json(k), value_to_json(v)] for k, v in value.items()]}
    if isinstance(value, type) and _PLAIN_TYPES.get(value.__name__) is value:
        return {"type": value.__name__}
    raise ValueError(f"static data {value!r} of type {type(value)} cannot be written to a file")


def value_from_json(json: Any) -> Any:
    """The value that `value_to_json` wrote. Raises ValueError for anything else."""
    if json is None or isinstance(json, (bool, int, str)):
        return json
    if isinstance(json, dict) and len(json) == 1:
        ((kind, value),) = json.items()
        if kind == "float" and isinstance(value, str):
            return float.fromhex(value)
        if kind == "bytes" and isinstance(value, str):
            return bytes.fromhex(value)
        if kind in ("tuple", "list") and isinstance(value, list):
            parts = [value_from_json(v) for v in value]
            return tuple(parts) if kind == "tuple" else parts
        if kind == "dict" and isinstance(value, list):
            return {value_from_json(k): value_from_json(v) for k, v in value}
        if kind == "type" and value in _PLAIN_TYPES:
            return _PLAIN_TYPES[value]
    raise ValueError(f"not static data of a tree node: {json!r}")


__all__ = ["tree_from_json", "tree_to_json", "value_from_json", "value_to_json"]
