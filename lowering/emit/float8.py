"""Conversions of 8-bit floats to and from f32 with integer operations.

The values are held as their raw ``i8`` bits; MLIR has the types but LLVM has no arithmetic on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .types import Float8Format

if TYPE_CHECKING:
    from .scalar import ScalarBuilder

__all__ = ["decode", "encode"]


def decode(b: ScalarBuilder, x: str, f: Float8Format) -> str:
    """The f32 with the value of the 8-bit float `x` (exact).

    The exponent and mantissa fields are moved to f32's place and the bias corrected by one exact
    multiplication, which makes the format's denormals come out right too.
    """
    bits = b(f"arith.extui {x} : i8 to i32")
    if f.mantissa == 0:  # exponent only: value 2 ** (bits - 127), 255 is NaN
        shifted = b.binary("arith.shli", bits, b.const(23, "i32"), "i32")
        shifted = b.select(
            b.cmpi("eq", bits, b.const(0, "i32"), "i32"),
            b.const(0x00400000, "i32"),
            shifted,
            "i32",
        )
        is_nan = b.cmpi("eq", bits, b.const(255, "i32"), "i32")
        shifted = b.select(is_nan, b.const(0x7FC00000, "i32"), shifted, "i32")
        return b(f"arith.bitcast {shifted} : i32 to f32")
    magnitude = b.binary("arith.andi", bits, b.const(0x7F, "i32"), "i32")
    sign = b.binary("arith.andi", bits, b.const(0x80, "i32"), "i32")
    sign = b.binary("arith.shli", sign, b.const(24, "i32"), "i32")
    moved = b.binary("arith.shli", magnitude, b.const(23 - f.mantissa, "i32"), "i32")
    scaled = b.binary(
        "arith.mulf",
        b(f"arith.bitcast {moved} : i32 to f32"),
        b.const(2.0 ** (127 - f.bias), "f32"),
        "f32",
    )
    result = b(f"arith.bitcast {scaled} : f32 to i32")
    nans = np.flatnonzero(np.isnan(f.bits_to_value[:128]))
    nan = b.const(0x7FC00000, "i32")
    if f.has_infinity:
        first = int(np.flatnonzero(np.isinf(f.bits_to_value[:128]))[0])
        is_inf = b.cmpi("eq", magnitude, b.const(first, "i32"), "i32")
        result = b.select(is_inf, b.const(0x7F800000, "i32"), result, "i32")
    if nans.size:
        is_nan = b.cmpi("uge", magnitude, b.const(int(nans[0]), "i32"), "i32")
        result = b.select(is_nan, nan, result, "i32")
    result = b.binary("arith.ori", result, sign, "i32")
    if not f.has_negative_zero:
        is_nan = b.cmpi("eq", bits, b.const(0x80, "i32"), "i32")
        result = b.select(is_nan, nan, result, "i32")
    return b(f"arith.bitcast {result} : i32 to f32")


def encode(b: ScalarBuilder, x: str, f: Float8Format) -> str:
    """The bits of the 8-bit float nearest to f32 `x`, ties to even.

    Normal results round in the integer domain (add half, and the odd bit for ties); denormal ones
    by adding the power of two whose last place is the format's smallest step.
    """
    c = lambda value: b.const(value, "i32")  # noqa: E731
    bits = b(f"arith.bitcast {x} : f32 to i32")
    magnitude = b.binary("arith.andi", bits, c(0x7FFFFFFF), "i32")
    shift = 23 - f.mantissa
    if f.mantissa == 0:
        return _encode_exponent_only(b, bits, magnitude, f)
    odd = b.binary("arith.andi", b.binary("arith.shrui", magnitude, c(shift), "i32"), c(1), "i32")
    rounded = b.binary("arith.addi", magnitude, c((1 << (shift - 1)) - 1), "i32")
    rounded = b.binary("arith.addi", rounded, odd, "i32")
    rounded = b.binary("arith.shrui", rounded, c(shift), "i32")
    normal = b.binary("arith.subi", rounded, c((127 - f.bias) << f.mantissa), "i32")
    # Smallest normal is 2 ** (1 - bias); its spacing 2 ** (1 - bias - mantissa).
    step_exponent = 1 - f.bias - f.mantissa
    anchor = 2.0 ** (step_exponent + 23)
    anchored = b.binary(
        "arith.addf",
        b(f"arith.bitcast {magnitude} : i32 to f32"),
        b.const(anchor, "f32"),
        "f32",
    )
    denormal = b(f"arith.bitcast {anchored} : f32 to i32")
    anchor_bits = int(np.array(anchor, np.float32).view(np.int32))
    denormal = b.binary("arith.subi", denormal, c(anchor_bits), "i32")
    smallest_normal = int(np.array(2.0 ** (1 - f.bias), np.float32).view(np.int32))
    is_normal = b.cmpi("uge", magnitude, c(smallest_normal), "i32")
    result = b.select(is_normal, normal, denormal, "i32")
    over = b.cmpi("ugt", result, c(f.max_bits), "i32")
    is_large = b.binary("arith.andi", over, is_normal, "i1")
    result = b.select(is_large, c(f.overflow_bits & 0xFF), result, "i32")
    is_nan = b.cmpi("ugt", magnitude, c(0x7F800000), "i32")
    result = b.select(is_nan, c(f.nan_bits), result, "i32")
    sign = b.binary("arith.shrui", bits, c(24), "i32")
    sign = b.binary("arith.andi", sign, c(0x80), "i32")
    signed = b.binary("arith.ori", result, sign, "i32")
    if not f.has_negative_zero:
        is_zero = b.cmpi("eq", result, c(0), "i32")
        signed = b.select(is_zero, c(0), signed, "i32")
    return b(f"arith.trunci {signed} : i32 to i8")


def _encode_exponent_only(b: ScalarBuilder, bits: str, magnitude: str, f: Float8Format) -> str:
    """float8_e8m0fnu: powers of two without sign or zero; halfway rounds up, others become NaN."""
    c = lambda value: b.const(value, "i32")  # noqa: E731
    half_up = b.binary("arith.addi", magnitude, c(0x00400000), "i32")
    result = b.binary("arith.shrui", half_up, c(23), "i32")
    # f32 denormals: 2 ** -127 is 0x00400000, so halfway to the next power is 0x00600000.
    up = b(f"arith.extui {b.cmpi('uge', magnitude, c(0x00600000), 'i32')} : i1 to i32")
    is_denormal = b.cmpi("ult", magnitude, c(0x00800000), "i32")
    result = b.select(is_denormal, up, result, "i32")
    # Zero, negative, infinite and NaN inputs are exactly those outside 1 ... 0x7F7FFFFF.
    less_one = b.binary("arith.subi", bits, c(1), "i32")
    is_bad = b.cmpi("uge", less_one, c(0x7F7FFFFF), "i32")
    result = b.select(is_bad, c(f.nan_bits), result, "i32")
    return b(f"arith.trunci {result} : i32 to i8")
