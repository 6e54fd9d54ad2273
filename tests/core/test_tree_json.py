"""Tree structures as JSON values."""

from __future__ import annotations

import collections
import dataclasses
import json
from typing import Any

import pytest

from lingon import tree_util
from lingon.frontend.core.tree_json import (
    tree_from_json,
    tree_to_json,
    value_from_json,
    value_to_json,
)

Point = collections.namedtuple("Point", "x y")


@tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    w: Any
    kind: tuple = dataclasses.field(metadata={"static": True}, default=("a", 1.5, None))


@pytest.mark.parametrize(
    "tree",
    [
        0,
        None,
        (),
        (1, [2, {"b": 3, "a": None}]),
        {3: 1, 1: 2},
        {(1, "x"): 1},
        Point(1, (2,)),
        collections.OrderedDict(z=1, a=2),
        collections.defaultdict(list, a=1),
        Model({"q": 1}),
    ],
    ids=str,
)
def test_there_and_back(tree: Any) -> None:
    structure = tree_util.tree_structure(tree)
    assert tree_from_json(json.loads(json.dumps(tree_to_json(structure)))) == structure


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(2**70),
        "s",
        1.5,
        float("inf"),
        -0.0,
        b"\x00\xff",
        (1, [2]),
        {"k": (1,)},
        list,
    ],
    ids=str,
)
def test_static_data(value: Any) -> None:
    again = value_from_json(json.loads(json.dumps(value_to_json(value))))
    assert again == value and type(again) is type(value) and repr(again) == repr(value)


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, len, Point(1, 2), range], ids=lambda v: type(v).__name__
)
def test_other_static_data_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be written to a file"):
        value_to_json(value)


@pytest.mark.parametrize(
    "bad",
    [
        3,
        "x",
        [],
        ["tuple", None],
        ["tuple", None, 3],
        [3, None, []],
        ["os:system", None, []],
        ["builtins:eval", None, []],
        ["no.such.module:Thing", None, []],
        ["dict", {"list": ["a"]}, []],
        ["dict", {"what": 1}, []],
        ["pathlib:Path", None, []],
        ["tuple", {"float": 3}, []],
    ],
    ids=str,
)
def test_anything_else_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        tree_from_json(bad)


def test_local_classes_are_refused() -> None:
    Local = collections.namedtuple("Local", "x")  # at the top of the module by its name only
    Local.__qualname__ = "f.<locals>.Local"
    with pytest.raises(ValueError, match="not at the top of a module"):
        tree_to_json(tree_util.tree_structure(Local(1)))
