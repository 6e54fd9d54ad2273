"""Emission of operations on single elements, shared by linalg bodies and rank-0 code."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import numpy as np

from . import float8
from .types import ElementType

if TYPE_CHECKING:
    from .context import EmitContext

__all__ = ["ScalarBuilder", "float_text"]


def float_text(value: float, width: int) -> str:
    """MLIR text of a float constant, exact for every value including NaN payloads' sign and inf."""
    value = float(value)
    if math.isfinite(value):
        text = repr(value)
        if "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        return text
    if width == 64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if width == 32:
        return f"0x{np.array(value, np.float32).view(np.uint32):08X}"
    raise ValueError(f"no text for a non-finite float of {width} bits")


class ScalarBuilder:
    """Appends ops to `lines`. Calling it with an op's text returns the name of its result."""

    __slots__ = ("ctx", "lines", "loc")

    def __init__(self, ctx: EmitContext, lines: list[str], loc: str = ""):
        self.ctx = ctx
        self.lines = lines
        self.loc = loc

    def __call__(self, op: str) -> str:
        """Appends ``%name = op`` and returns ``%name``."""
        name = self.ctx.name()
        self.lines.append(f"{name} = {op}{self.loc}")
        return name

    def const(self, value, type: str) -> str:
        """A scalar constant of MLIR type text `type` (``f32``, ``i8``, ``i1``, ``index``, ...)."""
        return self.ctx.scalar_constant(value, type)

    def literal(self, value, t: ElementType) -> str:
        """A constant of dtype `t` in register form, from a NumPy or Python value."""
        return self.ctx.register_constant(value, t)

    def number(self, value, t: ElementType) -> str:
        """A constant in the wide form of real dtype `t`."""
        return self.ctx.scalar_constant(value, t.wide)

    def binary(self, op: str, x: str, y: str, type: str) -> str:
        """``op x, y : type``."""
        return self(f"{op} {x}, {y} : {type}")

    def unary(self, op: str, x: str, type: str) -> str:
        """``op x : type``."""
        return self(f"{op} {x} : {type}")

    def cmpf(self, predicate: str, x: str, y: str, type: str) -> str:
        """``arith.cmpf``."""
        return self(f"arith.cmpf {predicate}, {x}, {y} : {type}")

    def cmpi(self, predicate: str, x: str, y: str, type: str) -> str:
        """``arith.cmpi``."""
        return self(f"arith.cmpi {predicate}, {x}, {y} : {type}")

    def select(self, predicate: str, x: str, y: str, type: str) -> str:
        """`x` where the i1 `predicate` holds, else `y`."""
        return self(f"arith.select {predicate}, {x}, {y} : {type}")

    def cast(self, op: str, x: str, source: str, target: str) -> str:
        """``op x : source to target``; `x` itself if the two types are equal."""
        return x if source == target else self(f"{op} {x} : {source} to {target}")

    def call(self, function: str, operands: list[str], types: list[str], result: str) -> str:
        """Call of an elementary function that the elementary-function library defines."""
        signature = f"({', '.join(types)}) -> {result}"
        self.ctx.declare(function, signature)
        return self(f"func.call @{function}({', '.join(operands)}) : {signature}")

    # Between the three forms of a value.

    def load(self, x: str, t: ElementType) -> str:
        """Storage form to register form."""
        if not t.boxed:
            return x
        if t.kind == "b":
            return self.cmpi("ne", x, self.const(0, "i8"), "i8")
        if t.float8 is not None:
            return x
        return self(f"arith.trunci {x} : i8 to {t.register}")

    def store(self, x: str, t: ElementType) -> str:
        """Register form to storage form."""
        if not t.boxed or t.float8 is not None:
            return x
        extend = "arith.extsi" if t.kind == "i" else "arith.extui"
        return self(f"{extend} {x} : {t.register} to i8")

    def widen(self, x: str, t: ElementType) -> str:
        """Register form to the form arithmetic is done in."""
        if not t.narrow:
            return x
        if t.float8 is not None:
            return float8.decode(self, x, t.float8)
        if t.register == "bf16":
            bits = self(f"arith.extui {self(f'arith.bitcast {x} : bf16 to i16')} : i16 to i32")
            shifted = self.binary("arith.shli", bits, self.const(16, "i32"), "i32")
            return self(f"arith.bitcast {shifted} : i32 to f32")
        return self(f"arith.extf {x} : {t.register} to {t.wide}")

    def narrow(self, x: str, t: ElementType) -> str:
        """Arithmetic form to register form, rounding to nearest even."""
        if not t.narrow:
            return x
        if t.float8 is not None:
            return float8.encode(self, x, t.float8)
        if t.register == "bf16":
            return self._round_to_bf16(x)
        return self(f"arith.truncf {x} : {t.wide} to {t.register}")

    def _round_to_bf16(self, x: str) -> str:
        """f32 to bf16 with integer operations.

        The processors' own instruction turns denormals into zero, and where there is none LLVM
        calls a function.
        """
        bits = self(f"arith.bitcast {x} : f32 to i32")
        upper = self.binary("arith.shrui", bits, self.const(16, "i32"), "i32")
        odd = self.binary("arith.andi", upper, self.const(1, "i32"), "i32")
        bias = self.binary("arith.addi", odd, self.const(0x7FFF, "i32"), "i32")
        rounded = self.binary("arith.addi", bits, bias, "i32")
        rounded = self.binary("arith.shrui", rounded, self.const(16, "i32"), "i32")
        quiet = self.binary("arith.ori", upper, self.const(0x40, "i32"), "i32")
        result = self.select(self.cmpf("uno", x, x, "f32"), quiet, rounded, "i32")
        return self(f"arith.bitcast {self(f'arith.trunci {result} : i32 to i16')} : i16 to bf16")

    # Complex parts.

    def re(self, z: str, t: ElementType) -> str:
        """Real part of a complex register value."""
        return self(f"complex.re {z} : {t.register}")

    def im(self, z: str, t: ElementType) -> str:
        """Imaginary part of a complex register value."""
        return self(f"complex.im {z} : {t.register}")

    def make_complex(self, re: str, im: str, t: ElementType) -> str:
        """A complex register value of dtype `t` from its parts."""
        return self(f"complex.create {re}, {im} : {t.register}")
