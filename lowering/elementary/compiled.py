"""Compiles a function of the library into a loop over arrays, for tests and measurements only."""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import ARITY, library_text, symbol

_DTYPES = {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Loop:
    """A compiled loop `out[i] = function(x[i], ...)`.

    Attributes:
        function: the entry point, which takes an array of pointers: to the size, inputs, result.
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
        size = np.array([result.size], np.int64)
        addresses = [a.ctypes.data for a in (size, *inputs, result)]
        self.function((ctypes.c_void_p * len(addresses))(*addresses))
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
    """A loop over the function `name` ("sin") for "f32" or "f64", for this machine's CPU.

    It goes the way of every program from stage `loops` on.
    """
    from ... import runtime
    from ..driver import Lowering
    from ..loader import load_object

    arity = ARITY[name]
    memref = f"memref<1000000000x{float_type}>"
    numbers = range(arity)
    parameters = ", ".join(f"%a{i}: {memref}" for i in numbers)
    loads = "\n".join(f"      %v{i} = memref.load %a{i}[%i] : {memref}" for i in numbers)
    callee = symbol(name, float_type)
    source = f"""module {{
{library_text([callee])}
  func.func @main(%size: memref<1xindex>, {parameters}, %out: {memref}) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = memref.load %size[%zero] : memref<1xindex>
    scf.for %i = %zero to %n step %one {{
{loads}
      %r = func.call @{callee}({", ".join(f"%v{i}" for i in numbers)})
        : ({", ".join([float_type] * arity)}) -> {float_type}
      memref.store %r, %out[%i] : {memref}
    }}
    return
  }}
}}"""
    with Lowering(source, start="loops") as lowering:
        assembly = lowering.advance("asm").text()
    with Lowering(source, start="loops") as lowering:
        loaded = load_object(lowering.object_code(), runtime.symbols())
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.entry)
    return Loop(entry, arity, _DTYPES[float_type], assembly, loaded)
