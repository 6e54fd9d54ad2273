"""The text of a module under construction: names, maps, locations and constants."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .scalar import ScalarBuilder, float_text
from .types import ElementType, element_type
from .values import EMPTY, SCALAR, SPLAT, TENSOR, Value

__all__ = ["ModuleText"]


class ModuleText:
    """Lines of the function being written, and what the module needs beside them."""

    def __init__(self) -> None:
        self.lines: list[str] = []  # the block being written
        self.entry: list[str] = []  # constants and argument loads, before everything else
        self.maps: dict[str, str] = {}  # affine map text -> alias
        self.locations: dict[tuple, str] = {}
        self.declared: dict[str, str] = {}
        self.definitions: dict[str, str] = {}
        self.constants: dict[tuple, str] = {}
        self.literals: dict[tuple, Value] = {}
        self.callbacks: list[Callable] = []  # Python functions that the code calls, by number
        self.loc = ""
        self._counter = 0

    # ---- names, types, text ------------------------------------------------------------------

    def name(self) -> str:
        """A fresh SSA name."""
        self._counter += 1
        return f"%{self._counter}"

    def op(self, text: str) -> str:
        """Appends ``%name = text`` with the current location to the block; returns ``%name``."""
        name = self.name()
        self.lines.append(f"{name} = {text}{self.loc}")
        return name

    def raw(self, text: str) -> None:
        """Appends one op without results."""
        self.lines.append(text + self.loc)

    def scalars(self) -> ScalarBuilder:
        """A builder of scalar ops in the current block."""
        return ScalarBuilder(self, self.lines, self.loc)

    def map(self, results: Sequence[int | None], dims: int) -> str:
        """Alias of the affine map ``(d0 ... d{dims-1}) -> results``; None stands for constant 0."""
        return self.map_text(
            f"({', '.join([f'd{i}' for i in range(dims)])}) -> "
            f"({', '.join(['0' if r is None else f'd{r}' for r in results])})"
        )

    def map_text(self, text: str) -> str:
        """Alias of an affine map given as text ``(d0, d1) -> (d1, d0 + 1)``."""
        alias = self.maps.get(text)
        if alias is None:
            alias = self.maps[text] = f"#m{len(self.maps)}"
        return alias

    def location(self, source_info: Any) -> str:
        """The `` loc(...)`` suffix for source info with file, line and column, else ''.

        Named scopes around the line become the location's name.
        """
        file = getattr(source_info, "file", None)
        if file is None:
            return ""
        names = getattr(source_info, "name_stack", ())
        key = (file, source_info.line, source_info.column, names)
        found = self.locations.get(key)
        if found is None:
            found = self.locations[key] = f" loc(#loc{len(self.locations)})"
        return found

    def declare(self, function: str, signature: str) -> None:
        """Declares a private function that the module calls."""
        self.declared[function] = signature

    def define(self, function: str, text: Callable[[], str]) -> None:
        """Adds a private function, whose whole text `text()` gives, to the module once."""
        if function not in self.definitions:
            self.definitions[function] = text()

    # ---- constants ---------------------------------------------------------------------------

    def scalar_constant(self, value: Any, type: str) -> str:
        """A constant of MLIR scalar type `type`, at the function's entry, one per value."""
        key = (type, struct.pack("<d", value)) if type[0] == "f" else (type, int(value))
        name = self.constants.get(key)
        if name is None:
            name = self.constants[key] = self.name()
            if type[0] == "f":
                text = float_text(value, int(type[1:]))
            elif type == "i1":
                self.entry.append(f"{name} = arith.constant {'true' if value else 'false'}")
                return name
            else:
                text = str(_signed(int(value), type))
            self.entry.append(f"{name} = arith.constant {text} : {type}")
        return name

    def register_constant(self, value: Any, t: ElementType) -> str:
        """A constant of dtype `t` in register form."""
        data = np.asarray(value).astype(t.dtype)
        key = (t.name, data.tobytes())
        name = self.constants.get(key)
        if name is None:
            if t.kind in "biu":
                name = self.scalar_constant(int(data), t.register)
            elif t.bits == 8:
                name = self.scalar_constant(int(data.view(np.uint8)), "i8")
            elif t.kind == "c":
                part = t.part.register
                re, im = (float_text(p, t.part.bits) for p in (data.real, data.imag))
                name = self.name()
                self.entry.append(
                    f"{name} = complex.constant [{re} : {part}, {im} : {part}] : {t.register}"
                )
            elif t.bits == 16 and not np.isfinite(data):
                name = self.name()
                bits = int(data.view(np.uint16))
                self.entry.append(f"{name} = arith.constant 0x{bits:04X} : {t.register}")
            elif t.bits == 16:
                name = self.name()
                self.entry.append(
                    f"{name} = arith.constant {float_text(float(data), 64)} : {t.register}"
                )
            else:
                name = self.scalar_constant(float(data), t.register)
            self.constants[key] = name
        return name

    def index(self, value: int) -> str:
        """An index constant."""
        return self.scalar_constant(value, "index")

    def splat(self, value: Any, shape: tuple[int, ...], dtype: Any) -> Value:
        """An array of `shape` with every element the Python number `value`."""
        t = dtype if isinstance(dtype, ElementType) else element_type(dtype)
        if 0 in shape:
            return Value(tuple(shape), t, EMPTY)
        made = Value(tuple(shape), t, SPLAT if shape else SCALAR, self.register_constant(value, t))
        made.literal = np.asarray(value).astype(t.dtype)
        return made

    def dense(self, array: np.ndarray, t: ElementType | None = None) -> Value:
        """A constant tensor with the contents of a small `array`, as elements of type `t`."""
        t = t or element_type(array.dtype)
        if array.size == 0:
            return Value(array.shape, t, EMPTY)
        if array.size == 1 or (array.tobytes() == array.flat[0].tobytes() * array.size):
            return self.splat(array.flat[0], array.shape, t)
        key = (t.name, array.shape, array.tobytes())
        made = self.literals.get(key)
        if made is None:
            text = _dense_text(array.tolist() if t.kind in "biu" else array, t)
            made = Value(array.shape, t, TENSOR, self.name())
            self.entry.append(f"{made.name} = arith.constant dense<{text}> : {made.tensor_type}")
            self.literals[key] = made
        return made


def _signed(value: int, type: str) -> int:
    """`value` as the two's complement number of a signless integer type."""
    if type == "index":
        return value
    bits = int(type[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _dense_text(data: Any, t: ElementType) -> str:
    """Elements of a dense attribute, nested as the shape is."""
    if isinstance(data, list):
        return f"[{', '.join([_dense_text(d, t) for d in data])}]"
    if isinstance(data, np.ndarray) and data.ndim:
        return f"[{', '.join([_dense_text(d, t) for d in data])}]"
    if t.kind in "biu":
        return str(_signed(int(data), t.storage))
    if t.kind == "c":
        return f"({float_text(data.real, t.part.bits)}, {float_text(data.imag, t.part.bits)})"
    if t.bits == 8:
        return str(_signed(int(np.asarray(data).view(np.uint8)), "i8"))
    if t.bits == 16 and not np.isfinite(data):
        return f"0x{int(np.asarray(data).view(np.uint16)):04X}"
    return float_text(float(data), 64 if t.bits == 16 else t.bits)
