"""Groups of elementwise equations, each of which becomes one linalg.generic."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

from .types import ElementType, tensor_type
from .values import GROUP, SPLAT, TENSOR, Value

__all__ = ["Box", "Group", "boxes_of", "cheap", "compute_again", "write_boxes"]

# A group that reads concatenations of at least so many elements is written part by part, if that gives
# no more than so many loops, of not more than so many lines together.
MIN_SPLIT = 8192
MAX_SPLIT = 27
MAX_SPLIT_LINES = 2000
_INDEX = re.compile(r"(%\w+) = (linalg\.index (\d+) : index.*)")


class Group:
    """Elementwise equations over one shape that will be one linalg.generic."""

    __slots__ = ("args", "cost", "lines", "merged", "pending", "reads", "shape", "split", "values")

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape
        # Tensor, its type, map, block argument; its value, and the dimensions of the map.
        self.args: list[tuple[str, str, str, str, Value, tuple | None]] = []
        self.split = False  # whether a concatenation is among them
        self.reads: dict[Any, str] = {}  # what was read -> register name
        self.lines: list[str] = []
        self.cost = 0  # operations, elementary functions counted as ELEMENTARY_COST
        self.values: list[Value] = []
        self.pending = 0  # readers of `values`, still to be emitted, that are equations
        self.merged: Group | None = None


def cheap(ctx: Any, compute: Any, operands: Sequence[Value], shape: tuple, t: ElementType) -> Value:
    """`ctx.elementwise` of operands that are in no memory, and so little work that it is done again
    for each reader rather than stored."""
    made = ctx.elementwise(compute, operands, shape, t)
    if made.kind == GROUP:
        made.again = lambda: ctx.unheld(compute, operands, shape, t)
    return made


def compute_again(v: Value) -> None:
    """Takes a cheap value out of its group, into one of its own."""
    assert v.again is not None
    made = v.again()
    v.group, v.name = made.group, made.name
    v.group.values = [v]
    v.group.pending = v.uses


Box = tuple[list[int], list[int]]  # offsets, sizes


def boxes_of(group: Group) -> list[Box]:
    """The boxes in each of which every concatenation that `group` reads is one part; none where the
    group is better written as one."""
    rank = len(group.shape)
    if math.prod(group.shape) < MIN_SPLIT:
        return []
    edges = [{0, n} for n in group.shape]
    for arg in group.args:
        if arg[5] is None:
            _cut(arg[4], [0] * rank, edges)
    count = math.prod([len(e) - 1 for e in edges])
    if count > MAX_SPLIT or count * len(group.lines) > MAX_SPLIT_LINES:
        return []
    spans = [list(itertools.pairwise(sorted(e))) for e in edges]
    # Short rows are slow: they may only be a small part of the whole.
    short = sum([b - a for a, b in spans[-1] if b - a < 16])
    if 4 * short > group.shape[-1]:
        return []
    return [([a for a, _ in box], [b - a for a, b in box]) for box in itertools.product(*spans)]


def _cut(value: Value, offsets: list[int], edges: list[set[int]]) -> None:
    if value.parts is None:
        return
    axis, parts = value.parts
    at = list(offsets)
    for part in parts:
        edges[axis].add(at[axis])
        _cut(part, at, edges)
        at[axis] += part.shape[axis]


def inside(value: Value, at: Sequence[int]) -> tuple[list[int], Value]:
    """The part of a concatenation that has the element at `at`, and where in it."""
    axis, parts = value.parts
    rest = at[axis]
    for part in parts:
        if rest < part.shape[axis]:
            return [*at[:axis], rest, *at[axis + 1 :]], part
        rest -= part.shape[axis]
    raise IndexError(f"no part of {value} has the element {at}")


def _moved(c: Any, lines: list[str], offsets: list[int]) -> list[str]:
    """A body whose positions count from the start of the whole, not from that of a box."""
    moved = []
    for line in lines:
        if (found := _INDEX.match(line)) and (offset := offsets[int(found[3])]):
            inside = c.name()
            moved.append(f"{inside} = {found[2]}")
            moved.append(f"{found[1]} = arith.addi {inside}, {c.index(offset)} : index")
        else:
            moved.append(line)
    return moved


def write_boxes(
    c: Any, group: Group, live: list[Value], results: list[str], boxes: list[Box]
) -> None:
    """Writes a group as one linalg.generic for each box, each of which reads single parts."""
    rank = len(group.shape)
    identity, iterators = c.identity(rank)
    # Inside of a loop not the carry: it is still read, as shifted parts, while boxes are written.
    make = "tensor.empty" if not c.in_region else "bufferization.alloc_tensor"
    whole = [c.op(f"{make}() : {v.tensor_type}") for v in live]
    types = [v.type.storage for v in live]
    outs = [f"{c.name()}: {t}" for t in types]
    for offsets, sizes in boxes:
        inputs = []
        for name, type, map, _, value, dims in group.args:
            at = offsets if dims is None else [0 if d is None else offsets[d] for d in dims]
            size = sizes if dims is None else [1 if d is None else sizes[d] for d in dims]
            while value.parts is not None and dims is None:
                at, value = inside(value, at)
                name, type = value.name, value.tensor_type
            if value.kind == SPLAT and dims is None:
                stored = c.scalars().store(value.name, value.type)
                type = tensor_type(tuple(size), value.type.storage)
                name = c.fill(stored, size, value.type.storage)
            elif value.shape != tuple(size):
                small = tensor_type(tuple(size), value.type.storage)
                name = c.op(
                    f"tensor.extract_slice {name}{list(at)} {list(size)} {[1] * len(size)} : "
                    f"{type} to {small}"
                )
                type = small
            inputs.append((name, type, map))
        outputs = []
        for t in types:
            type = tensor_type(tuple(sizes), t)
            outputs.append((c.op(f"tensor.empty() : {type}"), type, identity))
        names = c.write_one_generic(
            inputs,
            outputs,
            iterators,
            [a[3] for a in group.args] + outs,
            _moved(c, group.lines, offsets),
            results,
            types,
        )
        slot = f"{list(offsets)} {list(sizes)} {[1] * rank}"
        whole = [
            c.op(f"tensor.insert_slice {name} into {into}{slot} : {out[1]} into {v.tensor_type}")
            for name, into, out, v in zip(names, whole, outputs, live, strict=True)
        ]
    for v, name in zip(live, whole, strict=True):
        v.kind, v.name, v.group = TENSOR, name, None
