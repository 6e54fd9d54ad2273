"""Shardings as text: which device has which part of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core.devices import Sharding


def _places(slices: Sequence[slice], n: int) -> int:
    """The part's first index along a dimension of size n, by which parts are ordered."""
    return slices[n].indices(1 << 62)[0] if n < len(slices) else 0


def _labels(shape: tuple[int, ...], sharding: Sharding) -> list[list[str]]:
    """The devices of each part, in rows and columns."""
    found: dict[tuple[int, int], list[Any]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        row = _places(index, 0) if len(shape) == 2 else 0
        found.setdefault((row, _places(index, len(shape) - 1)), []).append(device)
    rows, columns = (sorted({k[i] for k in found}) for i in (0, 1))

    def text(row: int, column: int) -> str:
        devices = found[row, column]
        numbers = ",".join(str(i) for i in sorted(d.id for d in devices))
        return f"{devices[0].platform.upper()} {numbers}"

    return [[text(r, c) for c in columns] for r in rows]


def sharding_text(
    shape: Sequence[int], sharding: Sharding, scale: float, min_width: int, max_width: int
) -> str:
    """A table with a cell for each part, of the proportions of the array."""
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")
    labels = _labels(shape, sharding)
    columns = len(labels[0])
    height, width = 1, 0
    if len(shape) == 2:
        # a character is about two and a half times as high as wide
        tall = int(10 * scale)
        wide = int(tall * shape[1] / max(shape[0], 1)) * 2.5
        height = max(int(tall / len(labels)) - 1, 1)
        width = int(wide / columns)
    inside = max(min(max(width, min_width), max_width) - 2, 0)
    least = [max(len(row[c]) for row in labels) for c in range(columns)]
    # the table is no wider than `max_width`, as far as there is room for the labels
    inside = min(inside, max((max_width - columns - 1) // columns, 0))
    widths = [max(inside, n) for n in least]

    def line(left: str, between: str, right: str) -> str:
        return left + between.join("─" * w for w in widths) + right

    def content(cells: Sequence[str]) -> str:
        placed = []
        for cell, w in zip(cells, widths, strict=True):
            before = (w - len(cell)) // 2
            placed.append(" " * before + cell + " " * (w - len(cell) - before))
        return "│" + "│".join(placed) + "│"

    above = (height - 1) // 2
    lines = [line("┌", "┬", "┐")]
    for i, row in enumerate(labels):
        if i:
            lines.append(line("├", "┼", "┤"))
        empty = content([""] * columns)
        lines += [*[empty] * above, content(row), *[empty] * (height - 1 - above)]
    return "\n".join([*lines, line("└", "┴", "┘")])
