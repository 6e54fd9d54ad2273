"""Large programs: LLVM compiles their functions in parts, on several threads at once.

Each part is a copy of the module in an LLVM context of its own. Functions are defined in one part
and declared in the others; those that are always inlined, and tables, are in all of them.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

from .. import dialect
from .cpu import LlvmModule, compile_object
from .llvm_c import llvm
from .loader import ENTRY_SYMBOL, PART_PREFIX, join_objects

if TYPE_CHECKING:
    from .pipelines import Pipeline
    from .target_machine import Target

# Work (see lingon_work) that must run beside that of the largest part: 6 ms of LLVM's time. A copy
# of the module takes 2 ms.
LEAST_WORK = 100

_EXTERNAL, _AVAILABLE_EXTERNALLY = 0, 1
_FUNCTION_INDEX = 0xFFFFFFFF


def compile_parts(
    module: LlvmModule, pipeline: Pipeline, target: Target, threads: int
) -> bytes | None:
    """Object code of a prepared `module`, made by at most `threads` threads.

    None if the module is too small to be split; it is as it was then.
    """
    owners = _assign(module, threads)
    if not owners:
        return None
    count = 1 + max(owners.values())
    lib = llvm()
    bitcode = lib.LLVMWriteBitcodeToMemoryBuffer(module.module)
    code: list[bytes] = [b""] * count
    failures: list[BaseException] = []

    def work(number: int) -> None:
        part = None
        try:
            part = _copy(bitcode) if number > 0 else module
            _keep(part, owners, number)
            part.run_passes("elim-avail-extern,globaldce", target, pipeline.codegen_level)
            code[number] = compile_object(part, pipeline, target)
        except BaseException as failure:  # raised again below, by the thread that waits
            failures.append(failure)
        if number > 0 and part is not None:
            part.close()

    workers = [threading.Thread(target=work, args=(n,)) for n in range(1, count)]
    for worker in workers:
        worker.start()
    work(0)
    for worker in workers:
        worker.join()
    lib.LLVMDisposeMemoryBuffer(bitcode)
    if failures:
        raise failures[0]
    return join_objects(code)


def _assign(module: LlvmModule, threads: int) -> dict[str, int]:
    """Number of the part that defines each function; gives the functions names that all programs
    of a process can have. Empty if there is nothing to split."""
    if threads < 2:
        return {}
    lib = llvm()
    work = dialect.library().lingon_work
    kind = lib.LLVMGetEnumAttributeKindForName(b"alwaysinline", len(b"alwaysinline"))
    functions, fixed = [], 0
    for name, function in module.functions():
        if lib.LLVMIsDeclaration(function) or lib.LLVMGetEnumAttributeAtIndex(
            function, _FUNCTION_INDEX, kind
        ):
            continue
        units = work(function)
        if name in (ENTRY_SYMBOL, "main"):
            fixed += units
        else:
            functions.append((units, function))
    total = fixed + sum([units for units, _ in functions])
    count = min(threads, 1 + len(functions), total // LEAST_WORK)
    if count < 2:
        return {}
    loads = [fixed] + [0] * (count - 1)
    functions.sort(key=lambda each: -each[0])
    parts = []
    for units, _ in functions:
        part = loads.index(min(loads))
        loads[part] += units
        parts.append(part)
    if total - max(loads) < LEAST_WORK:
        return {}
    owners = {}
    for number, (part, (_, function)) in enumerate(zip(parts, functions, strict=True)):
        name = f"{PART_PREFIX}{'0' * 16}_{number}"
        lib.LLVMSetValueName2(function, name.encode(), len(name))
        lib.LLVMSetLinkage(function, _EXTERNAL)
        owners[name] = part
    return owners


def _copy(bitcode: int) -> LlvmModule:
    lib = llvm()
    context = lib.LLVMContextCreate()
    copy = ctypes.c_void_p()
    if lib.LLVMParseBitcodeInContext2(context, bitcode, ctypes.byref(copy)):
        raise AssertionError("LLVM does not read the bitcode that it wrote")
    return LlvmModule(context, copy.value or 0)


def _keep(module: LlvmModule, owners: dict[str, int], number: int) -> None:
    """Leave only declarations of the functions of other parts."""
    lib = llvm()
    for name, function in module.functions():
        owner = 0 if name == ENTRY_SYMBOL else owners.get(name, number)
        if owner != number:
            lib.LLVMSetLinkage(function, _AVAILABLE_EXTERNALLY)
