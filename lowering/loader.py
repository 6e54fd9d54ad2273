"""Loads object code into this process and frees it again. Needs libLLVM, but no MLIR."""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
import weakref
from collections.abc import Sequence

from .errors import CompilationError
from .llvm_c import check, error_text, llvm

# The one external symbol of every object. Its digits are replaced by a process-wide count when the
# object is loaded, so that all programs can live in one symbol table.
ENTRY_PREFIX = "lingon_entry_"
ENTRY_SYMBOL = ENTRY_PREFIX + "0" * 16

# Functions that one object of a program defines and another one calls; renamed likewise.
PART_PREFIX = "lingon_part_"
_JOINED = b"lingon objects\0\0"

_EXPORTED_CALLABLE = 1 | 4  # JITSymbolFlags
_REPORTER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _EvaluatedSymbol(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint64),
        ("generic_flags", ctypes.c_uint8),
        ("target_flags", ctypes.c_uint8),
    ]


class _SymbolMapPair(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("symbol", _EvaluatedSymbol)]


class LoadedObject:
    """Object code in executable memory; the memory is freed when this object dies.

    Attributes:
        entry: address of the entry point, `void entry(void **pointers)`.
    """

    def __init__(self, entry: int, tracker: int, nbytes: int) -> None:
        self.entry = entry
        self.nbytes = nbytes
        self._finalizer = weakref.finalize(self, _release, tracker)
        self._finalizer.atexit = False


class _Jit:
    """The process's ORC instance; made on the first load and never destroyed."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.counter = itertools.count(1)
        self.defined: dict[str, int] = {}
        jit = ctypes.c_void_p()
        check(llvm().LLVMOrcCreateLLJIT(ctypes.byref(jit), None), "creating the ORC JIT")
        self.jit = jit.value
        # What ORC would print to stderr goes into the exception.
        self.reports: list[str] = []
        self._reporter = _REPORTER(lambda _, error: self.reports.append(error_text(error)))
        session = llvm().LLVMOrcLLJITGetExecutionSession(self.jit)
        llvm().LLVMOrcExecutionSessionSetErrorReporter(session, self._reporter, None)
        self.dylib = llvm().LLVMOrcLLJITGetMainJITDylib(self.jit)

    def define(self, symbols: dict[str, int]) -> None:
        new = {n: a for n, a in symbols.items() if n not in self.defined}
        if not new:
            return
        lib = llvm()
        pairs = (_SymbolMapPair * len(new))()
        for pair, (name, address) in zip(pairs, new.items()):
            pair.name = lib.LLVMOrcLLJITMangleAndIntern(self.jit, name.encode())
            pair.symbol = _EvaluatedSymbol(address, _EXPORTED_CALLABLE, 0)
        unit = lib.LLVMOrcAbsoluteSymbols(pairs, len(new))
        check(lib.LLVMOrcJITDylibDefine(self.dylib, unit), "defining runtime symbols")
        self.defined.update(new)


_jit: _Jit | None = None
_jit_lock = threading.Lock()


def _instance() -> _Jit:
    global _jit
    with _jit_lock:
        if _jit is None:
            _jit = _Jit()
        return _jit


def _release(tracker: int) -> None:
    jit = _instance()
    with jit.lock:
        error = llvm().LLVMOrcResourceTrackerRemove(tracker)
        llvm().LLVMOrcReleaseResourceTracker(tracker)
    check(error, "freeing compiled code")


def join_objects(objects: Sequence[bytes]) -> bytes:
    """Several object files of one program as the code of one."""
    if len(objects) == 1:
        return objects[0]
    lengths = struct.pack(f"<I{len(objects)}Q", len(objects), *map(len, objects))
    return b"".join([_JOINED, lengths, *objects])


def split_objects(code: bytes) -> list[bytes]:
    """The object files that `join_objects` put together; a single one is given as it is."""
    if not code.startswith(_JOINED):
        return [code]
    position = len(_JOINED)
    (count,) = struct.unpack_from("<I", code, position)
    lengths = struct.unpack_from(f"<{count}Q", code, position + 4)
    position += 4 + 8 * count
    objects = []
    for length in lengths:
        objects.append(code[position : position + length])
        position += length
    return objects


def load_object(code: bytes, symbols: dict[str, int]) -> LoadedObject:
    """Link `code` (an object file that defines ENTRY_SYMBOL) into this process.

    Args:
        code: relocatable object code of the host's format, or several such files joined.
        symbols: address of every function that the object calls.

    Raises:
        CompilationError: the object is malformed, lacks the entry, or needs a symbol not given.
    """
    marker = ENTRY_SYMBOL.encode()
    if code.count(marker) != 1:
        raise CompilationError("the object code does not define one entry point", step="load")
    jit = _instance()
    lib = llvm()
    with jit.lock:
        jit.define(symbols)
        digits = f"{next(jit.counter):016x}".encode()
        name = ENTRY_PREFIX.encode() + digits
        part = PART_PREFIX.encode()
        tracker = lib.LLVMOrcJITDylibCreateResourceTracker(jit.dylib)
        try:
            for file in split_objects(code):
                patched = file.replace(marker, name).replace(part + b"0" * 16, part + digits)
                buffer = lib.LLVMCreateMemoryBufferWithMemoryRangeCopy(patched, len(patched), name)
                error = lib.LLVMOrcLLJITAddObjectFileWithRT(jit.jit, tracker, buffer)
                check(error, "reading object code", step="load")
            address = ctypes.c_uint64()
            jit.reports.clear()
            error = lib.LLVMOrcLLJITLookup(jit.jit, ctypes.byref(address), name)
            check(error, "; ".join(["linking object code", *jit.reports]), step="load")
        except CompilationError:
            _release(tracker)
            raise
    return LoadedObject(address.value, tracker, len(code))
