"""Compiles a function of the library into a loop over arrays, for tests and measurements only."""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import ARITY, library_text, symbol

_PASSES = (
    "builtin.module(convert-scf-to-cf,convert-math-to-llvm,convert-arith-to-llvm,"
    "convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm,"
    "reconcile-unrealized-casts)"
)
_DTYPES = {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Loop:
    """A compiled loop `out[i] = function(x[i], ...)`.

    Attributes:
        assembly: the machine code as text.
    """

    function: Any
    arity: int
    dtype: Any
    assembly: str
    keepalive: Any

    def __call__(self, *arrays: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Applies the function to contiguous one-dimensional arrays of its dtype."""
        if len(arrays) != self.arity:
            raise TypeError(f"expected {self.arity} arrays, got {len(arrays)}")
        inputs = [np.ascontiguousarray(a) for a in arrays]
        if any(a.dtype != self.dtype or a.shape != inputs[0].shape for a in inputs):
            raise TypeError(f"expected arrays of {np.dtype(self.dtype)} and one shape")
        result = np.empty_like(inputs[0]) if out is None else out
        pointers = [a.ctypes.data for a in (*inputs, result)]
        self.function(inputs[0].size, *pointers)
        return result

    @property
    def vector_bits(self) -> int:
        """The widest vector register in the code."""
        found = set(re.findall(r"%([xyz])mm", self.assembly))
        return 512 if "z" in found else 256 if "y" in found else 128 if "x" in found else 0

    @property
    def calls(self) -> list[str]:
        """Functions that the code calls."""
        return re.findall(r"^\s+(?:callq?|bl)\s+(\S+)", self.assembly, re.MULTILINE)


@functools.cache
def compile_loop(name: str, float_type: str) -> Loop:
    """A loop over the function `name` ("sin") for "f32" or "f64", for this machine's CPU."""
    import llvmlite.binding as llvm
    import mlir.ir as ir
    from mlir.dialects import llvm as llvm_dialect
    from mlir.passmanager import PassManager

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    arity = ARITY[name]
    memref = f"memref<1000000000x{float_type}>"
    numbers = range(arity)
    parameters = ", ".join(f"%a{i}: {memref}" for i in numbers)
    loads = "\n".join(f"    %v{i} = memref.load %a{i}[%i] : {memref}" for i in numbers)
    callee = symbol(name, float_type)
    source = f"""module {{
{library_text([callee])}
  func.func @loop(%n: index, {parameters}, %out: {memref}) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %n step %one {{
  {loads}
      %r = func.call @{callee}({", ".join(f"%v{i}" for i in numbers)})
        : ({", ".join([float_type] * arity)}) -> {float_type}
      memref.store %r, %out[%i] : {memref}
    }}
    return
  }}
}}"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(source)
        PassManager.parse(_PASSES).run(module.operation)
        text = llvm_dialect.translate_module_to_llvmir(module.operation)

    def machine() -> Any:
        features = llvm.get_host_cpu_features().flatten()
        if "avx512f" in features:
            features += ",-prefer-256-bit"
        return llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True
        )

    compiled = llvm.parse_assembly(text)
    target = machine()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(compiled, builder)
    assembly = target.emit_assembly(compiled)
    jit = llvm.create_lljit_compiler(machine())
    library = (
        llvm.JITLibraryBuilder()
        .add_ir(compiled)
        .export_symbol("loop")
        .add_current_process()
        .link(jit, f"elementary_{name}_{float_type}")
    )
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (arity + 1))
    return Loop(prototype(library["loop"]), arity, _DTYPES[float_type], assembly, (jit, library))
