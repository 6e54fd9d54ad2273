"""Documents with line breaks that are taken only where the text does not fit.

A document is text, a break, or a concatenation, indentation or group of documents. The breaks of
a group are all taken or none: a group stays on one line if it ends within the width, whatever
follows it. A break that is a group by itself fills lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class Doc:
    """A document; `width` is its length on one line."""

    __slots__ = ("arg", "kind", "width")

    def __init__(self, kind: str, arg: Any, width: int):
        self.kind, self.arg, self.width = kind, arg, width


def text(s: str, note: str = "") -> Doc:
    """Text that is never broken. The lines of `note` stand beside its line."""
    return Doc("text", (s, note), len(s))


def line(flat: str = " ") -> Doc:
    """A break; `flat` is what stands in its place where it is not taken."""
    return Doc("line", flat, len(flat))


def concat(docs: Iterable[Doc]) -> Doc:
    docs = list(docs)
    return Doc("concat", docs, sum(d.width for d in docs))


def nest(indent: int, doc: Doc) -> Doc:
    """Lines begun inside `doc` are indented by `indent` more."""
    return Doc("nest", (indent, doc), doc.width)


def group(doc: Doc) -> Doc:
    return Doc("group", doc, doc.width)


def join(separator: Doc, docs: Sequence[Doc]) -> Doc:
    out: list[Doc] = []
    for d in docs:
        if out:
            out.append(separator)
        out.append(d)
    return concat(out)


def fill(docs: Sequence[Doc]) -> Doc:
    """Documents separated by spaces, each of which is a line break where the line is full."""
    return join(group(line()), docs)


def render(doc: Doc, width: int) -> str:
    """The document's text. Notes are aligned to the right of the longest line."""
    lines: list[tuple[str, list[str]]] = []
    current: list[str] = []
    notes: list[str] = []
    column = 0
    todo: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while todo:
        indent, flat, d = todo.pop()
        if d.kind == "text":
            s, note = d.arg
            current.append(s)
            column += d.width
            if note:
                notes.extend(note.split("\n"))
        elif d.kind == "line":
            if flat:
                current.append(d.arg)
                column += d.width
            else:
                lines.append(("".join(current), notes))
                current, notes, column = [" " * indent], [], indent
        elif d.kind == "concat":
            todo.extend((indent, flat, x) for x in reversed(d.arg))
        elif d.kind == "nest":
            todo.append((indent + d.arg[0], flat, d.arg[1]))
        else:
            todo.append((indent, flat or column + d.width <= width, d.arg))
    lines.append(("".join(current), notes))
    return "\n".join(_beside(lines))


def _beside(lines: list[tuple[str, list[str]]]) -> list[str]:
    if not any(notes for _, notes in lines):
        return [s for s, _ in lines]
    edge = max(len(s) for s, _ in lines)
    out = []
    for s, notes in lines:
        if not notes:
            out.append(s)
            continue
        for i, note in enumerate(notes):
            out.append(f"{'' if i else s:<{edge}} # {note}")
    return out
