"""Looks into object code: which symbols it needs from outside."""

from __future__ import annotations

import struct
from collections.abc import Container

from .errors import CompilationError
from .loader import PART_PREFIX, split_objects

# What code generation may call by itself, and every C library has.
C_LIBRARY = frozenset(("memcpy", "memset", "memmove"))


def undefined_symbols(code: bytes) -> list[str] | None:
    """Names that an ELF64 little-endian object needs; None for another format."""
    if code[:6] != b"\x7fELF\x02\x01":
        return None
    (section_offset,) = struct.unpack_from("<Q", code, 0x28)
    entry_size, count, _ = struct.unpack_from("<HHH", code, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", code, section_offset + i * entry_size)
        for i in range(count)
    ]
    names = []
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = sections[link][4]
        for position in range(offset + 24, offset + size, 24):
            name, _, _, section = struct.unpack_from("<IBBH", code, position)
            if section == 0 and name:
                start = strings + name
                names.append(code[start : code.index(b"\0", start)].decode())
    return sorted(names)


def missing_symbols(code: bytes, provided: Container[str]) -> list[str]:
    """Names that the object files of a program need, and nobody provides."""
    return sorted(
        {
            name
            for file in split_objects(code)
            for name in undefined_symbols(file) or ()
            if name not in provided and name not in C_LIBRARY and not name.startswith(PART_PREFIX)
        }
    )


def check_imports(code: bytes, provided: Container[str]) -> None:
    """Raise CompilationError if the code needs a symbol that nobody provides."""
    missing = missing_symbols(code, provided)
    if missing:
        raise CompilationError(
            f"the generated code calls functions that the runtime does not have: {missing}",
            stage="asm",
            step="codegen",
        )
