"""The machine that code is generated for, and a per-thread cache of LLVM's description of it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from .. import dialect
from .errors import CompilationError
from .llvm_c import CODE_MODEL_DEFAULT, RELOC_PIC, default_triple, host_cpu, llvm, take_message


class Target(NamedTuple):
    """A CPU: triple, CPU name and features as LLVM spells them."""

    triple: str
    cpu: str
    features: str

    @property
    def masks(self) -> bool:
        """Whether loads and stores of vectors of any element type can be masked."""
        return self._has("avx512f", "avx512bw", "avx512vl") or self._has("sve")

    @property
    def vector_bits(self) -> int:
        """Length of the vectors that loops are written with; 0 where LLVM has to choose."""
        if self.triple.startswith("x86_64"):
            return 512 if self.masks else 256 if self._has("avx", "avx2") else 128
        # The length of SVE's vectors is known only when the code runs.
        return 128 if self.triple.startswith(("aarch64", "arm64")) and not self._has("sve") else 0

    def _has(self, *features: str) -> bool:
        enabled = {f[1:]: f[0] == "+" for f in self.features.split(",") if f}
        return all(enabled.get(feature, False) for feature in features)


@functools.cache
def host_target() -> Target:
    """The CPU of this process with all its features and full-width vectors.

    LINGON_CPU_FEATURES appends to the feature list, for example `-avx512f`.
    """
    cpu, features = host_cpu()
    triple = default_triple()
    if triple.startswith("x86_64"):
        features += ",-prefer-256-bit"
    extra = os.environ.get("LINGON_CPU_FEATURES")
    if extra:
        features += "," + extra
    return Target(triple, cpu, features)


_idle: dict[tuple[Hashable, ...], list[int]] = {}
_idle_lock = threading.Lock()


@contextlib.contextmanager
def target_machine(target: Target, codegen_level: int) -> Iterator[int]:
    """Lend LLVM's target machine for `target`; each is used by one thread at a time."""
    yield from _lend((target, codegen_level), _create)


@contextlib.contextmanager
def emitter(target: Target, codegen_level: int, kind: int) -> Iterator[int]:
    """Lend a code generator for `target` that gives code of `kind` (see lingon_emitter_create)."""
    yield from _lend((target, codegen_level, kind), _create_emitter)


def _lend(key: tuple[Any, ...], create: Callable[..., int]) -> Iterator[int]:
    with _idle_lock:
        idle = _idle.setdefault(key, [])
        item = idle.pop() if idle else None
    if item is None:
        item = create(*key)
    try:
        yield item
    finally:
        with _idle_lock:
            idle.append(item)


def _create_emitter(target: Target, codegen_level: int, kind: int) -> int:
    # The emitter's own machine: it lives as long, and no other thread uses it.
    machine = _create(target, codegen_level)
    created = dialect.library().lingon_emitter_create(machine, kind)
    if not created:
        raise CompilationError(f"no code generator for {target.triple}")
    return created


def _create(target: Target, codegen_level: int) -> int:
    lib = llvm()
    handle = ctypes.c_void_p()
    message = ctypes.c_void_p()
    triple = target.triple.encode()
    if lib.LLVMGetTargetFromTriple(triple, ctypes.byref(handle), ctypes.byref(message)):
        reason = take_message(message.value)
        raise CompilationError(f"no code generator for {target.triple}: {reason}")
    return lib.LLVMCreateTargetMachine(
        handle,
        triple,
        target.cpu.encode(),
        target.features.encode(),
        codegen_level,
        RELOC_PIC,
        CODE_MODEL_DEFAULT,
    )
