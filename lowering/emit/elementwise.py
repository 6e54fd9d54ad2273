"""Emission of the elementwise primitives on real numbers and booleans: one table row each.

Complex rows are in complex_functions.py, conversions in conversions.py.
"""

from __future__ import annotations

from .complex_functions import COMPLEX_ROWS as CX
from .context import apply_row
from .conversions import convert
from .expr import Expr, copysign, select
from .registry import ELEMENTWISE, elementwise
from .scalar import ScalarBuilder
from .types import ElementType

__all__: list[str] = []


def _with_accuracy(op: str):
    """A math op of a primitive that has an `accuracy` parameter (every accuracy is the best)."""

    def rule(b: ScalarBuilder, t: ElementType, x: str, accuracy=None) -> str:
        return b(f"math.{op} {x} : {t.wide}")

    return rule


def _library(function: str):
    """An elementary function that has no math op: a call into the elementary-function library."""

    def rule(b: ScalarBuilder, t: ElementType, *xs: str, **params) -> str:
        return b.call(f"lingon_{function}_{t.wide}", list(xs), [t.wide] * len(xs), t.wide)

    return rule


# ---- arithmetic --------------------------------------------------------------------------------


def _mul(b, ins, out, xs, params):
    """Product of the operands converted to `out_dtype` first, if one is asked for."""
    if ins[0] is not out:
        xs = [convert(b, x, t, out) for x, t in zip(xs, ins, strict=True)]
    return apply_row(b, ELEMENTWISE["mul"].by_kind[out.kind], xs, [out] * 2, out, {})


def _int_div(b: ScalarBuilder, t: ElementType, x: str, y: str) -> str:
    """Quotient rounded to zero; all ones for a zero divisor; the minimum over -1 is the minimum."""
    zero, safe = _safe_divisor(b, t, x, y)
    op = "arith.divsi" if t.kind == "i" else "arith.divui"
    return b.select(zero, b.const(-1, t.register), b.binary(op, x, safe, t.register), t.register)


def _int_rem(b: ScalarBuilder, t: ElementType, x: str, y: str) -> str:
    """Remainder with the dividend's sign; the dividend for a zero divisor."""
    zero, safe = _safe_divisor(b, t, x, y)
    op = "arith.remsi" if t.kind == "i" else "arith.remui"
    return b.select(zero, x, b.binary(op, x, safe, t.register), t.register)


def _safe_divisor(b: ScalarBuilder, t: ElementType, x: str, y: str) -> tuple[str, str]:
    """Whether `y` is zero, and a divisor that cannot trap."""
    r = t.register
    zero = b.cmpi("eq", y, b.const(0, r), r)
    bad = zero
    if t.kind == "i":
        is_minus_one = b.cmpi("eq", y, b.const(-1, r), r)
        is_minimum = b.cmpi("eq", x, b.const(-(1 << (t.bits - 1)), r), r)
        overflows = b.binary("arith.andi", is_minus_one, is_minimum, "i1")
        bad = b.binary("arith.ori", zero, overflows, "i1")
    return zero, b.select(bad, b.const(1, r), y, r)


def _int_neg(b: ScalarBuilder, t: ElementType, x: str) -> str:
    return b.binary("arith.subi", b.const(0, t.register), x, t.register)


def _float_sign(b: ScalarBuilder, t: ElementType, x: str) -> str:
    """Zero keeps its sign, NaN stays NaN."""
    v = Expr(b, x, t.wide)
    return select(v.compare("ueq", 0.0), v, copysign(v.const(1.0), v)).name


def _signed_sign(b: ScalarBuilder, t: ElementType, x: str) -> str:
    r = t.register
    negative = b.binary("arith.shrsi", x, b.const(t.bits - 1, r), r)
    positive = b(f"arith.extui {b.cmpi('sgt', x, b.const(0, r), r)} : i1 to {r}")
    return b.binary("arith.ori", negative, positive, r)


def _unsigned_sign(b: ScalarBuilder, t: ElementType, x: str) -> str:
    r = t.register
    return b(f"arith.extui {b.cmpi('ne', x, b.const(0, r), r)} : i1 to {r}")


def _mulhi(signed: bool):
    op = "arith.mulsi_extended" if signed else "arith.mului_extended"

    def rule(b: ScalarBuilder, t: ElementType, x: str, y: str) -> str:
        name = b.ctx.name()
        b.lines.append(f"{name}:2 = {op} {x}, {y} : {t.register}{b.loc}")
        return f"{name}#1"

    return rule


def _square(op: str):
    return lambda b, t, x: b(f"{op} {x}, {x} : {t.wide}")


def _integer_pow(op: str):
    """By repeated squaring, lowest bit of the exponent first."""

    def rule(b: ScalarBuilder, t: ElementType, x: str, y: int) -> str:
        n, power, result = abs(y), x, None
        while n:
            if n & 1:
                result = power if result is None else b(f"{op} {result}, {power} : {t.wide}")
            n >>= 1
            if n:
                power = b(f"{op} {power}, {power} : {t.wide}")
        if result is None:
            return b.const(1, t.wide)
        return b(f"arith.divf {b.const(1.0, t.wide)}, {result} : {t.wide}") if y < 0 else result

    return rule


def _pow(b, ins, out, xs, params):
    """Float to a float or integer power; complex to a complex power."""
    base, exponent = ins
    if base.kind == "c":
        if exponent.kind in "iu":
            part = _int_to_float(b, xs[1], exponent, base.part.register)
            xs = [xs[0], b.make_complex(part, b.const(0.0, base.part.register), base)]
        return CX["pow"](b, base, *xs)
    x = b.widen(xs[0], base)
    w = base.wide
    y = b.widen(xs[1], exponent) if exponent.kind == "f" else _int_to_float(b, xs[1], exponent, w)
    return b.narrow(b(f"math.powf {x}, {y} : {w}"), base)


def _int_to_float(b: ScalarBuilder, x: str, t: ElementType, float_type: str) -> str:
    op = "arith.sitofp" if t.kind == "i" else "arith.uitofp"
    return b(f"{op} {x} : {t.register} to {float_type}")


def _rsqrt(b: ScalarBuilder, t: ElementType, x: str, accuracy=None) -> str:
    root = b(f"math.sqrt {x} : {t.wide}")
    return b(f"arith.divf {b.const(1.0, t.wide)}, {root} : {t.wide}")


def _round(b: ScalarBuilder, t: ElementType, x: str, rounding_method) -> str:
    """Halves to even, or away from zero by adding the largest number below one half."""
    if int(getattr(rounding_method, "value", rounding_method)) == 1:
        return b(f"math.roundeven {x} : {t.wide}")
    half = 0.5 - 2.0 ** (-25 if t.wide == "f32" else -54)
    v = Expr(b, x, t.wide)
    return b(f"math.trunc {(v + copysign(v.const(half), v)).name} : {t.wide}")


def _is_finite(b: ScalarBuilder, t: ElementType, x: str) -> str:
    return (abs(Expr(b, x, t.wide)) < float("inf")).name


def _clamp(maximum: str, minimum: str):
    def rule(b: ScalarBuilder, t: ElementType, low: str, x: str, high: str) -> str:
        raised = b(f"{maximum} {low}, {x} : {t.wide}")
        return b(f"{minimum} {raised}, {high} : {t.wide}")

    return rule


def _nextafter(b, ins, out, xs, params):
    """The neighbour of x in the direction of y, by stepping the integer of its bits."""
    t = out
    x, y = (Expr(b, b.widen(v, t), t.wide) for v in xs)
    integer = f"i{t.bits}"
    bits_x, bits_y = (Expr(b, b.cast("arith.bitcast", v, t.register, integer), integer) for v in xs)
    toward_larger = (x < y).name
    is_positive = (x > 0.0).name
    away = Expr(b, b.cmpi("eq", toward_larger, is_positive, "i1"), "i1")
    step = select(away, bits_x.const(1), bits_x.const(-1))
    sign = bits_y & (1 << (t.bits - 1))
    result = select(x.equals(0.0), sign | 1, bits_x + step)
    result = select(x.equals(y), bits_y, result)
    result = select(y.isnan(), bits_y, select(x.isnan(), bits_x, result))
    return b.cast("arith.bitcast", result.name, integer, t.register)


# ---- bits and comparisons ----------------------------------------------------------------------


def _not(b: ScalarBuilder, t: ElementType, x: str) -> str:
    return b.binary("arith.xori", x, b.const(1 if t.kind == "b" else -1, t.register), t.register)


def _shift(op: str):
    """Zero where the amount is negative or at least the width."""

    def rule(b: ScalarBuilder, t: ElementType, x: str, amount: str) -> str:
        r = t.register
        fits = b.cmpi("ult", amount, b.const(t.bits, r), r)
        return b.select(fits, b.binary(op, x, amount, r), b.const(0, r), r)

    return rule


def _shift_right_arithmetic(b: ScalarBuilder, t: ElementType, x: str, amount: str) -> str:
    """Copies of the sign bit where the amount is negative or at least the width."""
    r = t.register
    limited = b.binary("arith.minui", amount, b.const(t.bits - 1, r), r)
    return b.binary("arith.shrsi", x, limited, r)


def _compare(predicate: str):
    """Rows of one comparison for float, signed, unsigned and bool operands."""
    same = predicate in ("eq", "ne")
    ordered = ("u" if predicate == "ne" else "o") + predicate
    signed = predicate if same else "s" + predicate
    unsigned = predicate if same else "u" + predicate
    return {
        "f": f"arith.cmpf {ordered},",
        "i": f"arith.cmpi {signed},",
        "ub": f"arith.cmpi {unsigned},",
    }


def _total_order(predicate: str):
    """Comparison by bits: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""

    def rule(b, ins, out, xs, params):
        t = ins[0]
        if t.kind == "c":
            parts = [[_order_key(b, part(v, t), t.part) for v in xs] for part in (b.re, b.im)]
            return _lexicographic(b, predicate, parts, f"i{t.part.bits}")
        if t.kind == "f":
            integer = f"i{t.bits}"
            x, y = (_order_key(b, v, t) for v in xs)
            name = predicate if predicate == "eq" else "s" + predicate
            return b.cmpi(name, x, y, integer)
        name = predicate if predicate == "eq" else ("s" if t.kind == "i" else "u") + predicate
        return b.cmpi(name, *xs, t.register)

    return rule


def _order_key(b: ScalarBuilder, x: str, t: ElementType) -> str:
    """Signed integer that orders as the float `x` (register form) does."""
    integer = f"i{t.bits}"
    bits = Expr(b, b.cast("arith.bitcast", x, t.register, integer), integer)
    key = bits ^ (bits.sar(t.bits - 1) & ((1 << (t.bits - 1)) - 1))
    if t.float8 is not None and not t.float8.has_negative_zero:
        key = select(bits.equals(0x80), -0x80, key)  # the only NaN, below everything
    return key.name


def _lexicographic(b: ScalarBuilder, predicate: str, parts: list, integer: str) -> str:
    (re_x, re_y), (im_x, im_y) = parts
    same = b.cmpi("eq", re_x, re_y, integer)
    name = predicate if predicate == "eq" else "s" + predicate
    second = b.binary("arith.andi", same, b.cmpi(name, im_x, im_y, integer), "i1")
    if predicate == "eq":
        return second
    return b.binary("arith.ori", b.cmpi("slt", re_x, re_y, integer), second, "i1")


def _select_n(b, ins, out, xs, params):
    """Case by a bool, or by an integer clamped to the number of cases."""
    which, cases = xs[0], xs[1:]
    if ins[0].kind == "b":
        return cases[0] if len(cases) == 1 else b.select(which, cases[1], cases[0], out.register)
    result, r = cases[0], ins[0].register
    for number, case in enumerate(cases[1:], 1):
        take = b.cmpi("sge", which, b.const(number, r), r)
        result = b.select(take, case, result, out.register)
    return result


# ---- the table ---------------------------------------------------------------------------------

elementwise("add", f="arith.addf", iu="arith.addi", c=CX["add"])
elementwise("add_any", f="arith.addf", iu="arith.addi", c=CX["add"])
elementwise("sub", f="arith.subf", iu="arith.subi", c=CX["sub"])
elementwise("mul", raw=_mul, f="arith.mulf", iu="arith.muli", b="arith.andi", c=CX["mul"])
elementwise("div", f="arith.divf", iu=_int_div, c=CX["div"])
elementwise("rem", f=_library("fmod"), iu=_int_rem)
elementwise("neg", f="arith.negf", iu=_int_neg, c=CX["neg"])
elementwise("abs", f="math.absf", i="math.absi", c=CX["abs"])
elementwise("sign", f=_float_sign, i=_signed_sign, u=_unsigned_sign, c=CX["sign"])
elementwise("max", f="arith.maximumf", i="arith.maxsi", u="arith.maxui", b="arith.ori", c=CX["max"])
elementwise(
    "min", f="arith.minimumf", i="arith.minsi", u="arith.minui", b="arith.andi", c=CX["min"]
)
elementwise("mulhi", i=_mulhi(True), u=_mulhi(False))
elementwise("square", f=_square("arith.mulf"), iu=_square("arith.muli"), c=CX["square"])
elementwise(
    "integer_pow", f=_integer_pow("arith.mulf"), iu=_integer_pow("arith.muli"), c=CX["integer_pow"]
)
elementwise("pow", raw=_pow)
elementwise(
    "clamp",
    f=_clamp("arith.maximumf", "arith.minimumf"),
    i=_clamp("arith.maxsi", "arith.minsi"),
    u=_clamp("arith.maxui", "arith.minui"),
    b=_clamp("arith.ori", "arith.andi"),
    c=CX["clamp"],
)
elementwise("nextafter", raw=_nextafter)
elementwise("floor", f="math.floor")
elementwise("ceil", f="math.ceil")
elementwise("round", f=_round)
elementwise("is_finite", f=_is_finite)

for _name in ("exp", "exp2", "log", "expm1", "log1p", "sin", "cos", "tan", "tanh", "sqrt"):
    elementwise(_name, f=_with_accuracy(_name), c=CX[_name])
for _name in ["sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"]:
    elementwise(_name, f=_with_accuracy(_name), c=CX[_name])
elementwise("cbrt", f=_with_accuracy("cbrt"))
elementwise("rsqrt", f=_rsqrt, c=CX["rsqrt"])
elementwise("logistic", f=_library("logistic"), c=CX["logistic"])
elementwise("atan2", f="math.atan2", c=CX["atan2"])
elementwise("erf", f="math.erf")
elementwise("erfc", f="math.erfc")
for _name in ["erf_inv", "lgamma", "digamma", "polygamma", "zeta", "bessel_i0e", "bessel_i1e"]:
    elementwise(_name, f=_library(_name))
for _name in ["sampler_log", "sampler_log1p", "sampler_erf", "sampler_erf_inv"]:
    elementwise(_name, f=_library(_name))
for _name in ["igamma", "igammac", "igamma_grad_a", "regularized_incomplete_beta"]:
    elementwise(_name, f=_library(_name))

elementwise("real", c=lambda b, t, x: b.re(x, t))
elementwise("imag", c=lambda b, t, x: b.im(x, t))
elementwise("complex", raw=lambda b, ins, out, xs, params: b.make_complex(*xs, out))
elementwise("conj", raw=CX["conj"])

elementwise("and", iub="arith.andi")
elementwise("or", iub="arith.ori")
elementwise("xor", iub="arith.xori")
elementwise("not", iub=_not)
elementwise("shift_left", iu=_shift("arith.shli"))
elementwise("shift_right_logical", iu=_shift("arith.shrui"))
elementwise("shift_right_arithmetic", iu=_shift_right_arithmetic)
elementwise("population_count", iu="math.ctpop")
elementwise("clz", iu="math.ctlz")

for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _rows = _compare(_name)
    if _name in ("eq", "ne"):
        _rows["c"] = CX[_name]
    elementwise(_name, **_rows)
for _name in ("eq", "lt", "le"):
    elementwise(f"{_name}_to", raw=_total_order(_name))

elementwise("select_n", raw=_select_n)
