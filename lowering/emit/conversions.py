"""Emission of conversions between element types: by value, by bits, and of precision."""

from __future__ import annotations

import numpy as np

from .expr import Expr, select
from .registry import elementwise, emits
from .scalar import ScalarBuilder
from .types import ElementType, element_type, tensor_type

__all__ = ["convert"]


def convert(b: ScalarBuilder, x: str, source: ElementType, target: ElementType) -> str:
    """Register value `x` of dtype `source` as dtype `target`.

    Floats round to nearest even; float to integer truncates and saturates, NaN gives 0; integer to
    integer wraps; to bool is "not zero"; from complex, also to bool, takes the real part.
    """
    if source is target:
        return x
    if target.kind == "c":
        if source.kind == "c":
            re = convert(b, b.re(x, source), source.part, target.part)
            im = convert(b, b.im(x, source), source.part, target.part)
        else:
            re = convert(b, x, source, target.part)
            im = b.literal(0, target.part)
        return b.make_complex(re, im, target)
    if source.kind == "c":
        return convert(b, b.re(x, source), source.part, target)
    if source.kind == "f":
        if target.kind == "f":
            return _float_to_float(b, x, source, target)
        wide = Expr(b, b.widen(x, source), source.wide)
        if target.kind == "b":
            return wide.differs(0.0).name
        return _float_to_int(wide, target)
    if target.kind == "f":
        wide = "f64" if target.bits == 64 else "f32"
        op = "arith.sitofp" if source.kind == "i" else "arith.uitofp"
        return b.narrow(b(f"{op} {x} : {source.register} to {wide}"), target)
    if target.kind == "b":
        return b.cmpi("ne", x, b.const(0, source.register), source.register)
    if source.bits == target.bits:
        return x
    if source.bits > target.bits:
        op = "arith.trunci"
    else:
        op = "arith.extsi" if source.kind == "i" else "arith.extui"
    return b(f"{op} {x} : {source.register} to {target.register}")


def _float_to_float(b: ScalarBuilder, x: str, source: ElementType, target: ElementType) -> str:
    if target.bits == 64:
        return b(f"arith.extf {b.widen(x, source)} : f32 to f64")
    if source.bits == 64:
        x = b(f"arith.truncf {x} : f64 to f32") if target.name in ("float32", "bfloat16") else (
            _round_to_odd(Expr(b, x, "f64")).name
        )  # fmt: skip
    else:
        x = b.widen(x, source)
    return b.narrow(x, target)


def _round_to_odd(x: Expr) -> Expr:
    """An f64 as the f32 from which rounding to at most 22 bits gives what rounding `x` would.

    An inexact result is the neighbour whose last bit is 1, so no later tie is spurious.
    """
    near = x.cast("arith.truncf", "f32")
    back = near.cast("arith.extf", "f64")
    bits = near.bits()
    is_even = (bits & 1).equals(0)
    inexact = back.compare("one", x)  # false for NaN
    too_small = abs(back) < abs(x)
    moved = bits + select(too_small, bits.const(1), bits.const(-1))
    result = select(is_even & inexact, moved, bits)
    # Overflowed to infinity: the largest finite value is odd and overflows again where it should.
    return result.cast("arith.bitcast", "f32")


def _float_to_int(x: Expr, target: ElementType) -> str:
    b = x.b
    work = "i64" if target.bits == 64 else "i32"
    bits = target.bits
    high = 2.0 ** (bits - (target.kind == "i"))
    op = "arith.fptosi" if target.kind == "i" or bits < 32 else "arith.fptoui"
    # The conversion is undefined out of range; those lanes are not selected.
    result = x.cast(op, work)
    result = select(x >= high, int(high) - 1, result)
    if target.kind == "i":
        result = select(x < -high, -int(high), result)
        result = select(x.isnan(), 0, result)
    else:
        result = select(x > 0.0, result, 0)
    return b.cast("arith.trunci", result.name, work, target.register)


def _convert_element_type(b, ins, out, xs, params):
    return convert(b, xs[0], ins[0], out)


elementwise("convert_element_type", raw=_convert_element_type)


# ---- bits --------------------------------------------------------------------------------------


def _integer_bits(b: ScalarBuilder, x: str, t: ElementType) -> str:
    """Register value as an integer of as many bits."""
    return b.cast("arith.bitcast", x, t.register, f"i{t.bits}")


def _from_integer_bits(b: ScalarBuilder, x: str, t: ElementType) -> str:
    return b.cast("arith.bitcast", x, f"i{t.bits}", t.register)


def _reinterpret(source: ElementType, target: ElementType):
    return lambda b, xs: _from_integer_bits(b, _integer_bits(b, xs[0], source), target)


@emits("bitcast_convert_type")
def _bitcast_convert_type(ctx, eqn, operand):
    """Same width: elementwise. Narrower: one more, last dimension. Wider: the last one is used up.

    Parts are in little-endian order.
    """
    out = eqn.outvars[0].aval
    source, target = operand.type, element_type(out.dtype)
    if source.bits == target.bits:
        if source.kind == "c" or source is target:
            return operand
        return ctx.elementwise(_reinterpret(source, target), [operand], out.shape, target)
    wide, narrow = max(source.bits, target.bits), min(source.bits, target.bits)
    x = ctx.tensor(operand)
    split = source.bits > target.bits
    shape = out.shape if split else operand.shape
    rank = len(shape)
    whole, parts = ctx.map(range(rank - 1), rank), ctx.identity(rank)[0]
    out_type = tensor_type(out.shape, target.storage)

    def offset(b: ScalarBuilder) -> str:
        index = b(f"linalg.index {rank - 1} : index")
        number = b(f"arith.index_cast {index} : index to i{wide}")
        return b.binary("arith.muli", number, b.const(narrow, f"i{wide}"), f"i{wide}")

    def split_body(b: ScalarBuilder, element: str, _: str) -> list[str]:
        bits = _integer_bits(b, b.load(element, source), source)
        bits = b.binary("arith.shrui", bits, offset(b), f"i{wide}")
        part = b(f"arith.trunci {bits} : i{wide} to i{narrow}")
        return [b.store(_from_integer_bits(b, part, target), target)]

    def join_body(b: ScalarBuilder, element: str, so_far: str) -> list[str]:
        bits = _integer_bits(b, b.load(element, source), source)
        bits = b(f"arith.extui {bits} : i{narrow} to i{wide}")
        bits = b.binary("arith.shli", bits, offset(b), f"i{wide}")
        return [b.binary("arith.ori", bits, so_far, f"i{wide}")]

    inputs = [(x, operand.tensor_type, whole if split else parts)]
    if split:
        init = ctx.empty(out.shape, target.storage)
        names = ctx.generic(inputs, [(init, out_type, parts)], ["parallel"] * rank, split_body)
        return ctx.new(names[0], out.shape, target)
    bits_type = tensor_type(out.shape, f"i{wide}")
    init = ctx.fill(ctx.scalar_constant(0, f"i{wide}"), out.shape, f"i{wide}")
    iterators = ["parallel"] * (rank - 1) + ["reduction"]
    names = ctx.generic(inputs, [(init, bits_type, whole)], iterators, join_body)
    integers = ctx.new(names[0], out.shape, np.dtype(f"uint{wide}"))
    return ctx.elementwise(_reinterpret(integers.type, target), [integers], out.shape, target)


# ---- precision ---------------------------------------------------------------------------------

_FIELDS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


def _reduce_precision(b, ins, out, xs, params):
    """Rounds to a format of fewer exponent and mantissa bits, whose denormals become zero."""
    t = out
    exponent_bits, mantissa_bits = params["exponent_bits"], params["mantissa_bits"]
    if t.float8 is not None:
        x = _reduce_bits(Expr(b, b.widen(xs[0], t), "f32"), 8, 23, exponent_bits, mantissa_bits)
        return b.narrow(x.name, t)
    fields = _FIELDS[t.name]
    return _reduce_bits(Expr(b, xs[0], t.register), *fields, exponent_bits, mantissa_bits).name


def _reduce_bits(x: Expr, exponent: int, mantissa: int, to_exponent: int, to_mantissa: int) -> Expr:
    width = 1 + exponent + mantissa
    bits = result = x.cast("arith.bitcast", f"i{width}")
    magnitude_mask = (1 << (width - 1)) - 1
    infinity = ((1 << exponent) - 1) << mantissa
    if to_mantissa < mantissa:
        dropped = mantissa - to_mantissa
        odd = (bits >> dropped) & 1
        rounded = bits + ((1 << (dropped - 1)) - 1) + odd
        result = rounded & ~((1 << dropped) - 1)
    if to_exponent < exponent:
        sign = bits & (1 << (width - 1))
        bias, to_bias = (1 << (exponent - 1)) - 1, (1 << (to_exponent - 1)) - 1
        field = result & infinity
        over = field.compare("ugt", (bias + to_bias) << mantissa)
        under = field.compare("ule", (bias - to_bias) << mantissa)
        result = select(over, sign | infinity, result)
        result = select(under, sign, result)
    is_nan = (bits & magnitude_mask).compare("ugt", infinity)
    return select(is_nan, bits, result).cast("arith.bitcast", x.t)


@emits("reduce_precision")
def _reduce_precision_to(ctx, eqn, operand):
    """A format that loses nothing is no work."""
    t, params = operand.type, eqn.params
    own = (8, 23) if t.float8 is not None else _FIELDS[t.name]
    if params["exponent_bits"] >= own[0] and params["mantissa_bits"] >= own[1]:
        return operand
    compute = lambda b, xs: _reduce_precision(b, [t], t, xs, params)  # noqa: E731
    return ctx.elementwise(compute, [operand], operand.shape, t)
