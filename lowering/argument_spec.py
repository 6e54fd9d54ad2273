"""The notation of `mlir-dump --args`: shapes and dtypes of a function's arguments."""

from __future__ import annotations

import re
from typing import Any

from .errors import UsageError

DTYPES = {
    "bool": "bool",
    "pred": "bool",
    **{f"i{n}": f"int{n}" for n in (4, 8, 16, 32, 64)},
    **{f"s{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (4, 8, 16, 32, 64)},
    **{f"ui{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
}
_LEAF = re.compile(r"\s*([A-Za-z_]\w*)\s*(\[([^\]]*)\])?")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, message: str, at: int | None = None) -> UsageError:
        column = self.at if at is None else at
        return UsageError(f"bad --args: {message}\n  {self.text}\n  {' ' * column}^")

    def peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def sequence(self, closing: str) -> list[Any]:
        items: list[Any] = []
        while self.peek() != closing:
            items.append(self.item())
            following = self.peek()
            if following == ",":
                self.at += 1
            elif following != closing:
                wanted = f"',' or {closing!r}" if closing else "','"
                raise self.fail(f"expected {wanted}")
        self.at += len(closing)
        return items

    def item(self) -> Any:
        first = self.peek()
        if first == "(":
            self.at += 1
            return tuple(self.sequence(")"))
        if first == "[":
            self.at += 1
            return self.sequence("]")
        match = _LEAF.match(self.text, self.at)
        if match is None:
            raise self.fail("expected a dtype such as f32, or f32[8,128]")
        name = match.group(1)
        if name not in DTYPES and name not in DTYPES.values():
            raise self.fail(f"unknown dtype {name!r}; known: {', '.join(DTYPES)}", match.start(1))
        shape = self.shape(match) if match.group(2) else ()
        self.at = match.end()
        if self.text[self.at : self.at + 1] == "[":
            raise self.fail("missing ']'")
        return DTYPES.get(name, name), shape

    def shape(self, match: re.Match[str]) -> tuple[int, ...]:
        sizes = []
        at = match.start(3)
        inside = match.group(3)
        for part in inside.split(",") if inside.strip() else []:
            if not part.strip().isdigit():
                raise self.fail(f"{part.strip()!r} is not a size", at)
            sizes.append(int(part))
            at += len(part) + 1
        return tuple(sizes)


def parse_args(text: str) -> list[Any]:
    """Read `f32[8,128],(i32,bf16[4])` into nested (dtype name, shape) pairs, tuples and lists.

    Raises:
        UsageError: bad notation; the message points at the place.
    """
    reader = _Reader(text)
    items = reader.sequence("")
    return items


def is_leaf(item: Any) -> bool:
    """Whether a part of `parse_args`'s result is one array."""
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
