"""Real-valued scalar expressions with operators, for emission rules that are formulas."""

from __future__ import annotations

from collections.abc import Callable

from .scalar import ScalarBuilder

__all__ = ["Expr", "select", "atan2", "copysign", "fma", "maximum", "minimum", "math_op"]


class Expr:
    """An SSA scalar of a float type, integer type or i1, and the builder its formula is written by.

    Python numbers become constants of the same type. Integer division and shifts are unsigned.
    """

    __slots__ = ("b", "name", "t")

    def __init__(self, b: ScalarBuilder, name: str, t: str):
        self.b = b
        self.name = name
        self.t = t

    def make(self, value: Expr | float) -> str:
        """The SSA name of `value`, an Expr of this type or a Python number."""
        return value.name if isinstance(value, Expr) else self.b.const(value, self.t)

    def const(self, value: float) -> Expr:
        """A constant of this type."""
        return Expr(self.b, self.b.const(value, self.t), self.t)

    def _op(self, float_op: str, int_op: str, other: Expr | float, swap: bool = False) -> Expr:
        op = float_op if self.t[0] == "f" else int_op
        x, y = self.name, self.make(other)
        if swap:
            x, y = y, x
        return Expr(self.b, self.b(f"{op} {x}, {y} : {self.t}"), self.t)

    def __add__(self, other):
        return self._op("arith.addf", "arith.addi", other)

    __radd__ = __add__

    def __sub__(self, other):
        return self._op("arith.subf", "arith.subi", other)

    def __rsub__(self, other):
        return self._op("arith.subf", "arith.subi", other, swap=True)

    def __mul__(self, other):
        return self._op("arith.mulf", "arith.muli", other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._op("arith.divf", "arith.divui", other)

    def __rtruediv__(self, other):
        return self._op("arith.divf", "arith.divui", other, swap=True)

    def __mod__(self, other):
        return self._op("", "arith.remui", other)

    def __and__(self, other):
        return self._op("", "arith.andi", other)

    def __or__(self, other):
        return self._op("", "arith.ori", other)

    def __xor__(self, other):
        return self._op("", "arith.xori", other)

    def __lshift__(self, other):
        return self._op("", "arith.shli", other)

    def __rshift__(self, other):
        return self._op("", "arith.shrui", other)

    def sar(self, other) -> Expr:
        """Arithmetic shift right."""
        return self._op("", "arith.shrsi", other)

    def __invert__(self):
        return self ^ (1 if self.t == "i1" else -1)

    def __neg__(self):
        if self.t[0] == "f":
            return Expr(self.b, self.b(f"arith.negf {self.name} : {self.t}"), self.t)
        return 0 - self

    def compare(self, predicate: str, other: Expr | float) -> Expr:
        """Comparison with an explicit predicate of cmpf or cmpi."""
        op = "arith.cmpf" if self.t[0] == "f" else "arith.cmpi"
        return Expr(
            self.b, self.b(f"{op} {predicate}, {self.name}, {self.make(other)} : {self.t}"), "i1"
        )

    def _compare(self, predicate: str, other) -> Expr:
        return self.compare(("o" if self.t[0] == "f" else "s") + predicate, other)

    def __lt__(self, other):
        return self._compare("lt", other)

    def __le__(self, other):
        return self._compare("le", other)

    def __gt__(self, other):
        return self._compare("gt", other)

    def __ge__(self, other):
        return self._compare("ge", other)

    def equals(self, other) -> Expr:
        """``self == other`` (false for NaN)."""
        return self.compare("oeq" if self.t[0] == "f" else "eq", other)

    def differs(self, other) -> Expr:
        """``self != other`` (true for NaN)."""
        return self.compare("une" if self.t[0] == "f" else "ne", other)

    def isnan(self) -> Expr:
        """True for NaN."""
        return self.compare("uno", self)

    def isinf(self) -> Expr:
        """True for either infinity."""
        return abs(self).equals(float("inf"))

    def __abs__(self):
        return Expr(self.b, self.b(f"math.absf {self.name} : {self.t}"), self.t)

    def cast(self, op: str, t: str) -> Expr:
        """Conversion by a cast op to MLIR type `t`; nothing if it has that type already."""
        return Expr(self.b, self.b.cast(op, self.name, self.t, t), t)

    def bits(self) -> Expr:
        """The bits of a float as an integer."""
        return self.cast("arith.bitcast", f"i{self.width}")

    @property
    def width(self) -> int:
        """Number of bits of the type."""
        return 16 if self.t == "bf16" else int(self.t[1:])


def select(condition: Expr, x: Expr | float, y: Expr | float) -> Expr:
    """`x` where `condition` holds, else `y`; at least one of both is an Expr."""
    like = x if isinstance(x, Expr) else y
    b = condition.b
    return Expr(
        b, b(f"arith.select {condition.name}, {like.make(x)}, {like.make(y)} : {like.t}"), like.t
    )


def _math(op: str) -> Callable[..., Expr]:
    def fn(x: Expr, *others: Expr | float) -> Expr:
        operands = ", ".join([x.name, *[x.make(o) for o in others]])
        return Expr(x.b, x.b(f"{op} {operands} : {x.t}"), x.t)

    return fn


def math_op(name: str) -> Callable[..., Expr]:
    """The function of Exprs that writes ``math.<name>``."""
    return _math(f"math.{name}")


atan2 = _math("math.atan2")
copysign = _math("math.copysign")
fma = _math("math.fma")
maximum = _math("arith.maximumf")
minimum = _math("arith.minimumf")
