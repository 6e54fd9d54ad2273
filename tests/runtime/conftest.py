"""Machine code for the runtime's tests, made with llvmlite alone."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import pytest

from lingon import runtime


class Code:
    """Keeps a module of LLVM IR loaded and gives the addresses of its functions."""

    def __init__(self, text: str) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(text)
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
        for name, address in runtime.symbols().items():
            llvm.add_symbol(name, address)
        self.engine: Any = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()

    def address(self, name: str = "entry") -> int:
        address = self.engine.get_function_address(name)
        assert address
        return int(address)


@pytest.fixture(scope="session")
def compile_ir():
    """compile_ir(text) -> Code"""
    return Code


@pytest.fixture
def thread_count():
    """Sets the number of threads for one test."""
    old = runtime.num_threads()
    yield runtime.set_num_threads
    runtime.set_num_threads(old)
