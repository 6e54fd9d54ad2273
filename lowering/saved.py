"""Compiled programs as bytes: saved by one process, loaded by another one on the same kind of CPU.

The form is a fixed header (magic, SHA-256 of the rest, two lengths), a JSON object, the object
code, and the contents of the constants. It holds no Python code; but it is machine code, so
only what is trusted should be loaded.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import runtime
from .cache import Entry
from .errors import CompilationError
from .object_file import missing_symbols
from .pipelines import pipeline
from .program import CompiledProgram, ProgramText
from .target_machine import host_target

MAGIC = b"LINGONX1"
# Raised when the form, or how compiled code is called, changes.
FORMAT = 1
_HEADER = struct.Struct("<8s32sIQ")  # magic, SHA-256 of the rest, lengths of JSON and code


class SavedProgramError(ValueError):
    """Bytes that are no saved program, are damaged, or were made for another machine or version."""


class _SavedText(ProgramText):
    """What was kept of a program beside its code."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.name = header["name"]
        self.in_types = _types(header["in_types"])
        self.out_types = _types(header["out_types"])
        self.pipeline = pipeline(header["pipeline"])
        self._jaxpr, self._linalg = header["jaxpr"], header["linalg"]

    def jaxpr_text(self) -> str:
        """The program as a jaxpr."""
        return self._jaxpr

    def linalg_text(self) -> str:
        """The program as it was emitted."""
        return self._linalg


def save_program(program: CompiledProgram, extra: Mapping[str, Any]) -> bytes:
    """A compiled program as bytes, with `extra`, a JSON-able object of the caller's.

    Raises:
        ValueError: the program calls Python functions, which cannot be saved.
    """
    if program.callbacks:
        raise ValueError(
            f"the program {program.name!r} calls Python functions (callbacks), which cannot be saved"
        )
    target, code = host_target(), program.entry.code
    consts = [np.ascontiguousarray(c._numpy()) for c in program.consts]
    header = {
        "format": FORMAT,
        "triple": target.triple,
        "cpu": target.cpu,
        "features": target.features,
        "name": program.name,
        "pipeline": program.text.pipeline.name,
        "metadata": program.entry.metadata,
        "donated": list(program.donated),
        "in_avals": [_aval_json(a) for a in program.in_avals],
        "out_avals": [_aval_json(a) for a in program.out_avals],
        "in_types": [_type_json(t) for t in program.text.in_types],
        "out_types": [_type_json(t) for t in program.text.out_types],
        "consts": [_type_json((c.shape, c.dtype)) for c in consts],
        "jaxpr": program.text.jaxpr_text(),
        "linalg": program.text.linalg_text(),
        "extra": extra,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    lengths = struct.pack("<IQ", len(text), len(code))
    body = b"".join([lengths, text, code, *[c.tobytes() for c in consts]])
    return MAGIC + hashlib.sha256(body).digest() + body


def load_program(data: bytes) -> tuple[CompiledProgram, Any]:
    """The program of `save_program`, linked into this process, and its `extra`.

    Raises:
        TypeError: `data` is not bytes.
        SavedProgramError: the bytes are no saved program, are damaged, or were made for another
            machine, or by a version of lingon that this one cannot read.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"a saved program is bytes, got {type(data).__name__}")
    header, code, blobs = _parts(bytes(data))
    _check_target(header)
    missing = missing_symbols(code, runtime.symbols())
    if missing:
        raise SavedProgramError(
            "the program was saved by another version of lingon: its code calls functions that "
            f"this version does not have: {', '.join(missing)}"
        )
    consts = []
    for shape, dtype in _types(header["consts"]):
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        values = np.frombuffer(blobs[:nbytes], dtype).reshape(shape)
        blobs = blobs[nbytes:]
        consts.append(runtime.from_numpy(values, copy=True))
    try:
        program = CompiledProgram(
            _SavedText(header),
            Entry(code, header["metadata"]),
            [_aval(a) for a in header["in_avals"]],
            [_aval(a) for a in header["out_avals"]],
            consts,
            header["donated"],
            (),
            {},
            True,
        )
    except CompilationError as error:
        raise SavedProgramError(f"the code of the saved program does not load: {error}") from error
    return program, header["extra"]


def _parts(data: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Header, code and constants of a saved program, once it is certain that it is whole."""
    if len(data) < _HEADER.size or data[:7] != MAGIC[:7]:
        if MAGIC.startswith(data[: len(MAGIC)]):
            raise SavedProgramError("the saved program is truncated")
        raise SavedProgramError("these bytes are no saved program of lingon")
    magic, digest, header_length, code_length = _HEADER.unpack_from(data)
    body = memoryview(data)[8 + 32 :]
    # The last digit of the magic is that of the form's version, outside of the checksum.
    if magic != MAGIC:
        raise _other_format(chr(magic[7]))
    if len(data) < _HEADER.size + header_length + code_length:
        raise SavedProgramError("the saved program is truncated or damaged")
    if hashlib.sha256(body).digest() != digest:
        raise SavedProgramError("the saved program is damaged: its checksum is wrong")
    start = _HEADER.size + header_length
    header = json.loads(data[_HEADER.size : start])
    if header["format"] != FORMAT:
        raise _other_format(header["format"])
    return header, data[start : start + code_length], data[start + code_length :]


def _other_format(found: Any) -> SavedProgramError:
    return SavedProgramError(
        f"the program was saved by another version of lingon: it has format {found}, this version "
        f"reads format {FORMAT}; compile it anew"
    )


def _check_target(header: Mapping[str, Any]) -> None:
    """Refuse code for another machine. A CPU with more features than needed will do."""
    target = host_target()
    if header["triple"] != target.triple:
        raise SavedProgramError(
            f"the program was compiled for {header['triple']}, this machine is {target.triple}"
        )
    has = {f[1:] for f in target.features.split(",") if f.startswith("+")}
    needs = {f[1:] for f in header["features"].split(",") if f.startswith("+")}
    if needs - has:
        raise SavedProgramError(
            f"the program was compiled for another CPU ({header['cpu']}): this one ({target.cpu}) "
            f"lacks {', '.join(sorted(needs - has))}; compile it anew"
        )


def _type_json(type: tuple[tuple[int, ...], Any]) -> list[Any]:
    shape, dtype = type
    return [list(shape), np.dtype(dtype).name]


def _types(listed: list[Any]) -> tuple[tuple[tuple[int, ...], np.dtype], ...]:
    return tuple((tuple(shape), np.dtype(name)) for shape, name in listed)


def _aval_json(aval: Any) -> list[Any]:
    weak = bool(getattr(aval, "weak_type", False))
    return [*_type_json((tuple(aval.shape), aval.dtype)), weak]


def _aval(listed: list[Any]) -> SimpleNamespace:
    shape, dtype, weak = listed
    return SimpleNamespace(shape=tuple(shape), dtype=np.dtype(dtype), weak_type=weak)
