"""The functions over pytrees under short names."""

from __future__ import annotations

from lingon.frontend.tree_util import static
from lingon.frontend.tree_util import tree_all as all
from lingon.frontend.tree_util import tree_broadcast as broadcast
from lingon.frontend.tree_util import tree_flatten as flatten
from lingon.frontend.tree_util import tree_flatten_with_path as flatten_with_path
from lingon.frontend.tree_util import tree_leaves as leaves
from lingon.frontend.tree_util import tree_leaves_with_path as leaves_with_path
from lingon.frontend.tree_util import tree_map as map
from lingon.frontend.tree_util import tree_map_with_path as map_with_path
from lingon.frontend.tree_util import tree_reduce as reduce
from lingon.frontend.tree_util import tree_reduce_associative as reduce_associative
from lingon.frontend.tree_util import tree_structure as structure
from lingon.frontend.tree_util import tree_transpose as transpose
from lingon.frontend.tree_util import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
