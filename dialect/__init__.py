"""The `lingon` MLIR dialect: loads the C++ library and registers it into contexts."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

__all__ = [
    "DialectLibraryError",
    "bindings",
    "hear_llvm_remarks",
    "hear_remarks",
    "kernel_call",
    "library",
    "number_locations",
    "register",
    "set_math_library",
]

_CONTEXT_CAPSULE = b"mlir.ir.Context._CAPIPtr"
_OPERATION_CAPSULE = b"mlir.ir.Operation._CAPIPtr"


class DialectLibraryError(ImportError):
    """The C++ library of the dialect is missing or does not load."""


def _library_path() -> str:
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    name = f"liblingon_dialect{suffix}"
    # In an editable install the package has two folders: the sources, and what was built.
    found = [path for folder in __path__ if os.path.exists(path := os.path.join(folder, name))]
    return found[0] if found else os.path.join(os.path.dirname(os.path.realpath(__file__)), name)


_bindings_lock = threading.Lock()


@functools.cache
def bindings() -> Any:
    """`mlir.ir`, MLIR's Python bindings.

    Their library has 23,000 functions to be found by name, of which a program needs few: they are
    looked up when they are first called, which takes 12 ms less.
    """
    with _bindings_lock:
        flags = sys.getdlopenflags()
        sys.setdlopenflags(flags & ~os.RTLD_NOW | os.RTLD_LAZY)
        try:
            return importlib.import_module("mlir.ir")
        finally:
            sys.setdlopenflags(flags)


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded C++ library.

    Raises:
        DialectLibraryError: it was not built, or one of the libraries it needs is missing.
    """
    bindings()  # loads the MLIR libraries that ours links to
    path = _library_path()
    name = os.path.basename(path)
    if not os.path.exists(path):
        raise DialectLibraryError(
            f"the dialect library {name} is missing beside {os.path.basename(__file__)}: install "
            "lingon with `pip install .`, or build it in a source tree with tools/build_inplace"
        )
    try:
        lib = ctypes.CDLL(path)
    except OSError as error:
        raise DialectLibraryError(
            f"the dialect library {name} does not load: {error}. It must be built against the "
            "installed xtc-mlir-python-bindings"
        ) from error
    lib.lingon_register.argtypes = [ctypes.c_void_p]
    lib.lingon_register.restype = None
    lib.lingon_set_math_library.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    lib.lingon_set_math_library.restype = None
    lib.lingon_hear_remarks.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.lingon_hear_remarks.restype = ctypes.c_bool
    lib.lingon_hear_llvm_remarks.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.lingon_hear_llvm_remarks.restype = None
    lib.lingon_number_locations.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.lingon_number_locations.restype = None
    lib.lingon_emitter_create.argtypes = [ctypes.c_void_p, ctypes.c_int]
    lib.lingon_emitter_create.restype = ctypes.c_void_p
    lib.lingon_emitter_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    lib.lingon_emitter_run.restype = ctypes.c_size_t
    lib.lingon_forget_aliasing.argtypes = [ctypes.c_void_p]
    lib.lingon_forget_aliasing.restype = ctypes.c_bool
    lib.lingon_work.argtypes = [ctypes.c_void_p]
    lib.lingon_work.restype = ctypes.c_size_t
    return lib


def register(context: Any) -> None:
    """Loads the dialect into `context` (an `mlir.ir.Context`) and registers the C++ passes.

    Raises:
        DialectLibraryError: the C++ library is missing.
        TypeError: `context` is not an `mlir.ir.Context`.
    """
    if getattr(context, "_CAPIPtr", None) is None:
        raise TypeError(f"register expects an mlir.ir.Context, got {type(context).__name__}")
    library().lingon_register(_pointer(context, _CONTEXT_CAPSULE))


def _pointer(thing: Any, capsule: bytes) -> int:
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return get_pointer(thing._CAPIPtr, capsule)


def hear_remarks(context: Any, listener: Any) -> None:
    """Passes that run in `context` hand their remarks to `listener`, or to nobody if it is None.

    `listener` is a ctypes function (kind, pass, text, places, done); it must live until another one
    is set. The context must not use threads: they would wait for Python's lock. See Remarks.cpp.
    """
    if not library().lingon_hear_remarks(_pointer(context, _CONTEXT_CAPSULE), listener):
        raise RuntimeError("MLIR refused to stream its remarks")


def hear_llvm_remarks(module: int, listener: Any) -> None:
    """What LLVM says about the loops of a module (an LLVMModuleRef) goes to `listener`."""
    library().lingon_hear_llvm_remarks(module, listener)


def number_locations(operation: Any, listener: Any) -> None:
    """Replaces the locations below an `mlir.ir.Operation` by numbers; `listener` (number, places)
    is told what each stands for."""
    library().lingon_number_locations(_pointer(operation, _OPERATION_CAPSULE), listener)


def set_math_library(text: str) -> None:
    """Gives the pass `lingon-expand-math` the `func.func` definitions it takes functions from."""
    data = text.encode()
    library().lingon_set_math_library(data, len(data))


def _array(element: str, values: Sequence[int]) -> str:
    return (
        f"array<{element}: {', '.join(str(int(v)) for v in values)}>"
        if values
        else (f"array<{element}>")
    )


def kernel_call(
    callee: str,
    inputs: Sequence[tuple[str, str]],
    outputs: Sequence[tuple[str, str]],
    *,
    dtypes: Sequence[int],
    config: Sequence[int] = (),
    reads_outputs: bool = False,
) -> str:
    """The text of a `lingon.kernel_call` on tensors, without the `%result =` part.

    Args:
        callee: name of the kernel, without the prefix of its C symbol.
        inputs: (SSA name, tensor type) of what is read.
        outputs: (SSA name, tensor type) of the destinations; one result each.
        dtypes: one code of the runtime's dtype table per operand, inputs then outputs.
        config: static parameters of the kernel.
        reads_outputs: the kernel reads the initial contents of its outputs.

    Raises:
        ValueError: the number of dtype codes is not the number of operands, or no output is given.
    """
    if not outputs:
        raise ValueError(f"kernel {callee!r} needs at least one output")
    if len(dtypes) != len(inputs) + len(outputs):
        raise ValueError(
            f"kernel {callee!r} has {len(inputs) + len(outputs)} operands, "
            f"got {len(dtypes)} dtype codes"
        )

    def operands(word: str, pairs: Sequence[tuple[str, str]]) -> str:
        names = ", ".join(name for name, _ in pairs)
        types = ", ".join(type_ for _, type_ in pairs)
        return f"{word}({names} : {types})"

    attributes = [f"dtypes = {_array('i32', dtypes)}"]
    if config:
        attributes.insert(0, f"config = {_array('i64', config)}")
    if reads_outputs:
        attributes.append("reads_outputs")
    import json

    parts = [f"lingon.kernel_call {json.dumps(callee)}"]
    if inputs:
        parts.append(operands("ins", inputs))
    parts.append(operands("outs", outputs))
    parts.append("{" + ", ".join(attributes) + "}")
    result_types = ", ".join(type_ for _, type_ in outputs)
    parts.append(f"-> {result_types}")
    return " ".join(parts)
