"""One description of a scalar function, two meanings: MLIR text and NumPy evaluation.

A function body is written over `Value`s. `TextBuilder` turns the operations into MLIR text;
`NumpyBuilder` computes them on arrays, in the same dtypes and with the same roundings.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

INT_OF = {"f32": "i32", "f64": "i64"}
WIDTH = {"f32": 32, "f64": 64, "i32": 32, "i64": 64, "i1": 1}
# mantissa bits without the hidden one, exponent bias
MANTISSA = {"f32": 23, "f64": 52}
BIAS = {"f32": 127, "f64": 1023}
INF = float("inf")
NAN = float("nan")


class Value:
    """A scalar of type f32, f64, i32, i64 or i1, known to one builder.

    Python numbers on either side of an operator become constants of the Value's type. `>>` is the
    arithmetic shift; comparisons of floats are ordered (false for NaN) except `ne`.
    """

    __slots__ = ("builder", "data", "type")

    def __init__(self, builder: Builder, type_: str, data: Any) -> None:
        self.builder = builder
        self.type = type_
        self.data = data

    def _binary(self, name: str, other: Any, swap: bool = False) -> Value:
        b = self.builder
        other = b.constant(other, self.type)
        if other.type != self.type:
            raise TypeError(f"{name}: {self.type} and {other.type} do not agree")
        return b.binary(name, other, self) if swap else b.binary(name, self, other)

    def __add__(self, other: Any) -> Value:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Value:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._binary("sub", other, True)

    def __mul__(self, other: Any) -> Value:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Value:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Any) -> Value:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary("div", other, True)

    def __and__(self, other: Any) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Any) -> Value:
        return self._binary("xor", other)

    def __lshift__(self, other: Any) -> Value:
        return self._binary("shl", other)

    def __rshift__(self, other: Any) -> Value:
        return self._binary("ashr", other)

    def shift_right_logical(self, other: Any) -> Value:
        return self._binary("lshr", other)

    def __neg__(self) -> Value:
        return self.builder.unary("neg", self)

    def __lt__(self, other: Any) -> Value:
        return self._compare("lt", other)

    def __le__(self, other: Any) -> Value:
        return self._compare("le", other)

    def __gt__(self, other: Any) -> Value:
        return self._compare("gt", other)

    def __ge__(self, other: Any) -> Value:
        return self._compare("ge", other)

    def eq(self, other: Any) -> Value:
        return self._compare("eq", other)

    def ne(self, other: Any) -> Value:
        return self._compare("ne", other)

    def _compare(self, name: str, other: Any) -> Value:
        b = self.builder
        return b.compare(name, self, b.constant(other, self.type))

    def isnan(self) -> Value:
        return self.builder.compare("ne", self, self)


class Builder:
    """What function bodies may use. `float`/`int` name the types of the function being built."""

    def __init__(self, float_type: str) -> None:
        self.float = float_type
        self.int = INT_OF[float_type]
        self.width = WIDTH[float_type]
        self.mantissa = MANTISSA[float_type]
        self.bias = BIAS[float_type]

    # -- to be given by the two kinds of builder
    def constant(self, value: Any, type_: str) -> Value:
        raise NotImplementedError

    def unary(self, name: str, x: Value) -> Value:
        raise NotImplementedError

    def binary(self, name: str, x: Value, y: Value) -> Value:
        raise NotImplementedError

    def compare(self, name: str, x: Value, y: Value) -> Value:
        raise NotImplementedError

    def _select(self, condition: Value, x: Value, y: Value) -> Value:
        raise NotImplementedError

    def _fma(self, x: Value, y: Value, z: Value) -> Value:
        raise NotImplementedError

    def cast(self, name: str, x: Value, type_: str) -> Value:
        raise NotImplementedError

    def load(self, table: str, values: Callable[[], Sequence[float]], index: Value) -> Value:
        """`values()[index]`, an f64 of a constant table; `index` is an i64 within the table."""
        raise NotImplementedError

    def repeat_while(
        self,
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
        initial: Sequence[Value],
    ) -> list[Value]:
        """Replaces the values by `body(*values)` while `condition(*values)` holds.

        A loop keeps the function from being vectorised: only where doing without would take
        far more time.
        """
        raise NotImplementedError

    # -- shared
    def const(self, value: Any) -> Value:
        return self.constant(value, self.float)

    def iconst(self, value: int) -> Value:
        return self.constant(value, self.int)

    def _agree(self, values: Sequence[Any]) -> list[Value]:
        type_ = next(v.type for v in values if isinstance(v, Value))
        return [self.constant(v, type_) for v in values]

    def select(self, condition: Value, x: Any, y: Any) -> Value:
        x, y = self._agree((x, y)) if _has_value(x, y) else (self.const(x), self.const(y))
        return self._select(condition, x, y)

    def fma(self, x: Any, y: Any, z: Any) -> Value:
        """x*y + z with one rounding."""
        return self._fma(*self._agree((x, y, z)))

    def abs(self, x: Value) -> Value:
        return self.unary("abs", x)

    def sqrt(self, x: Value) -> Value:
        return self.unary("sqrt", x)

    def floor(self, x: Value) -> Value:
        return self.unary("floor", x)

    def trunc(self, x: Value) -> Value:
        return self.unary("trunc", x)

    def round_even(self, x: Value) -> Value:
        return self.unary("round_even", x)

    def copysign(self, x: Any, sign: Value) -> Value:
        return self.binary("copysign", self.constant(x, sign.type), sign)

    def bits(self, x: Value) -> Value:
        return self.cast("bitcast", x, INT_OF[x.type])

    def from_bits(self, x: Value) -> Value:
        return self.cast("bitcast", x, {"i32": "f32", "i64": "f64"}[x.type])

    def to_f64(self, x: Value) -> Value:
        return x if x.type == "f64" else self.cast("extf", x, "f64")

    def to_f32(self, x: Value) -> Value:
        return x if x.type == "f32" else self.cast("truncf", x, "f32")

    def to_float(self, x: Value, type_: str) -> Value:
        """A signed integer as a float."""
        return self.cast("sitofp", x, type_)

    def narrow(self, x: Value) -> Value:
        """The low 32 bits of an i64."""
        return self.cast("trunci", x, "i32")

    def both(self, x: Value, y: Value) -> Value:
        return x & y

    def horner(self, x: Value, coefficients: Sequence[Any]) -> Value:
        """c[0] + c[1] x + c[2] x^2 + ..., by fma."""
        result = self.constant(coefficients[-1], x.type)
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    def estrin(self, x: Value, coefficients: Sequence[Any]) -> Value:
        """The polynomial of `horner` in less depth (other roundings)."""
        terms = [self.constant(c, x.type) for c in coefficients]
        power = x
        while len(terms) > 1:
            paired = [
                self.fma(terms[i + 1], power, terms[i]) if i + 1 < len(terms) else terms[i]
                for i in range(0, len(terms), 2)
            ]
            terms = paired
            if len(terms) > 1:
                power = power * power
        return terms[0]

    def round_to_int(self, x: Value, factor: Value | float = 1.0) -> tuple[Value, Value]:
        """(float, integer) nearest to y = factor x.

        For |y| < 2^(mantissa-2); elsewhere anything but poison.
        """
        m = MANTISSA[x.type]
        magic = self.constant(1.5 * 2.0**m, x.type)
        shifted = x + magic if factor == 1.0 else self.fma(x, factor, magic)
        return shifted - magic, self.bits(shifted) - self.bits(magic)

    def power_of_two(self, k: Value) -> Value:
        """2^k as a float for an integer k within the normal exponents."""
        type_ = {"i32": "f32", "i64": "f64"}[k.type]
        return self.from_bits((k + BIAS[type_]) << MANTISSA[type_])

    def scale(self, x: Value, k: Value) -> Value:
        """x * 2^k, rounded once; |k| up to twice the exponent range, x near 1."""
        half = k >> 1
        return (x * self.power_of_two(half)) * self.power_of_two(k - half)

    def scale_down(self, x: Value, k: Value) -> Value:
        """The same of a positive x not far from 1, where the result is finite.

        A product that is subnormal costs a hundred cycles. Here it is made of its bits, which are
        the integer that it is a multiple of the least number with.
        """
        bits, one = self.bits(x) + (k << self.mantissa), self.const(2.0**self.mantissa)
        units = self.from_bits(bits + ((self.bias - 1 + self.mantissa) << self.mantissa))
        small = self.bits(units + one) - self.bits(one)
        return self.from_bits(self.select(bits < (1 << self.mantissa), small, bits))


def _has_value(*values: Any) -> bool:
    return any(isinstance(v, Value) for v in values)


class TextBuilder(Builder):
    """Writes MLIR operations, each distinct one once."""

    BINARY: ClassVar = {
        "add": ("arith.addf", "arith.addi"),
        "sub": ("arith.subf", "arith.subi"),
        "mul": ("arith.mulf", "arith.muli"),
        "div": ("arith.divf", None),
        "copysign": ("math.copysign", None),
        "and": (None, "arith.andi"),
        "or": (None, "arith.ori"),
        "xor": (None, "arith.xori"),
        "shl": (None, "arith.shli"),
        "ashr": (None, "arith.shrsi"),
        "lshr": (None, "arith.shrui"),
    }
    UNARY: ClassVar = {
        "neg": "arith.negf",
        "abs": "math.absf",
        "sqrt": "math.sqrt",
        "floor": "math.floor",
        "trunc": "math.trunc",
        "round_even": "math.roundeven",
    }

    def __init__(self, float_type: str) -> None:
        super().__init__(float_type)
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.tables: dict[str, Callable[[], Sequence[float]]] = {}

    def emit(self, text: str, type_: str) -> Value:
        name = self.known.get(text)
        if name is None:
            name = self.known[text] = f"%{len(self.lines)}"
            self.lines.append(f"    {name} = {text}")
        return Value(self, type_, name)

    def constant(self, value: Any, type_: str) -> Value:
        if isinstance(value, Value):
            return value
        if type_ == "i1":
            return self.emit(f"arith.constant {'true' if value else 'false'}", "i1")
        if type_ in ("i32", "i64"):
            bits = WIDTH[type_]
            value = ((int(value) + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1))
            return self.emit(f"arith.constant {value} : {type_}", type_)
        return self.emit(f"arith.constant {_float_literal(value, type_)} : {type_}", type_)

    def unary(self, name: str, x: Value) -> Value:
        if name == "neg" and x.type in ("i32", "i64"):
            return self.constant(0, x.type) - x
        return self.emit(f"{self.UNARY[name]} {x.data} : {x.type}", x.type)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        op = self.BINARY[name][0 if x.type in INT_OF else 1]
        if op is None:
            raise TypeError(f"{name} is not defined for {x.type}")
        return self.emit(f"{op} {x.data}, {y.data} : {x.type}", x.type)

    def compare(self, name: str, x: Value, y: Value) -> Value:
        if x.type in INT_OF:
            predicate = "une" if name == "ne" else "o" + name
            return self.emit(f"arith.cmpf {predicate}, {x.data}, {y.data} : {x.type}", "i1")
        predicate = name if name in ("eq", "ne") else "s" + name
        return self.emit(f"arith.cmpi {predicate}, {x.data}, {y.data} : {x.type}", "i1")

    def _select(self, condition: Value, x: Value, y: Value) -> Value:
        return self.emit(f"arith.select {condition.data}, {x.data}, {y.data} : {x.type}", x.type)

    def _fma(self, x: Value, y: Value, z: Value) -> Value:
        return self.emit(f"math.fma {x.data}, {y.data}, {z.data} : {x.type}", x.type)

    def cast(self, name: str, x: Value, type_: str) -> Value:
        return self.emit(f"arith.{name} {x.data} : {x.type} to {type_}", type_)

    def repeat_while(
        self,
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
        initial: Sequence[Value],
    ) -> list[Value]:
        types = ", ".join(v.type for v in initial)
        number = len(self.lines)

        def arguments(region: str) -> list[Value]:
            return [Value(self, v.type, f"%{region}{number}_{i}") for i, v in enumerate(initial)]

        def listed(values: Sequence[Value]) -> str:
            return ", ".join(v.data for v in values)

        outer = dict(self.known)  # what a region defines is not visible outside of it
        before, after = arguments("before"), arguments("after")
        pairs = ", ".join(f"{a.data} = {v.data}" for a, v in zip(before, initial))
        results = f"%while{number}"
        self.lines.append(
            f"    {results}:{len(initial)} = scf.while ({pairs}) : ({types}) -> ({types}) {{"
        )
        more = condition(*before)
        self.lines.append(f"    scf.condition({more.data}) {listed(before)} : {types}")
        self.lines.append("    } do {")
        self.lines.append(f"    ^bb0({', '.join(f'{a.data}: {a.type}' for a in after)}):")
        self.known = dict(outer)
        changed = body(*after)
        self.lines.append(f"    scf.yield {listed(changed)} : {types}")
        self.lines.append("    }")
        self.known = outer
        return [Value(self, v.type, f"{results}#{i}") for i, v in enumerate(initial)]

    def load(self, table: str, values: Callable[[], Sequence[float]], index: Value) -> Value:
        self.tables[table] = values
        base = self.emit(f"llvm.mlir.addressof @{table} : !llvm.ptr", "ptr")
        pointer = self.emit(
            f"llvm.getelementptr inbounds {base.data}[{index.data}] "
            ": (!llvm.ptr, i64) -> !llvm.ptr, f64",
            "ptr",
        )
        return self.emit(f"llvm.load {pointer.data} invariant : !llvm.ptr -> f64", "f64")


def _float_literal(value: float, type_: str) -> str:
    if type_ == "f64":
        return "0x" + struct.pack(">d", value).hex().upper()
    try:
        return "0x" + struct.pack(">f", value).hex().upper()
    except OverflowError:
        raise OverflowError(f"the constant {value!r} does not fit f32") from None


def table_text(name: str, values: Sequence[float]) -> str:
    """An `llvm.mlir.global` that holds f64 `values`."""
    literals = ", ".join(_float_literal(v, "f64") for v in values)
    type_ = f"tensor<{len(values)}xf64>"
    return (
        f"  llvm.mlir.global private constant @{name}(dense<[{literals}]> : {type_}) "
        f"{{addr_space = 0 : i32, dso_local}} : !llvm.array<{len(values)} x f64>\n"
    )


class NumpyBuilder(Builder):
    """Evaluates on NumPy arrays. Every operation rounds as the machine's does."""

    def __init__(self, float_type: str) -> None:
        super().__init__(float_type)
        import numpy

        self.np = numpy
        self.dtypes = {
            "f32": numpy.float32,
            "f64": numpy.float64,
            "i32": numpy.int32,
            "i64": numpy.int64,
            "i1": numpy.bool_,
        }

    def constant(self, value: Any, type_: str) -> Value:
        if isinstance(value, Value):
            return value
        if type_ in ("i32", "i64"):
            bits = WIDTH[type_]
            value = ((int(value) + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1))
        return Value(self, type_, self.dtypes[type_](value))

    def unary(self, name: str, x: Value) -> Value:
        np = self.np
        function = {
            "neg": np.negative,
            "abs": np.abs,
            "sqrt": np.sqrt,
            "floor": np.floor,
            "trunc": np.trunc,
            "round_even": np.rint,
        }[name]
        return Value(self, x.type, function(x.data))

    def binary(self, name: str, x: Value, y: Value) -> Value:
        np = self.np
        if name == "lshr":
            unsigned = {"i32": np.uint32, "i64": np.uint64}[x.type]
            data = np.right_shift(x.data.astype(unsigned), y.data.astype(unsigned))
            return Value(self, x.type, data.astype(self.dtypes[x.type]))
        function = {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "div": np.divide,
            "copysign": np.copysign,
            "and": np.bitwise_and,
            "or": np.bitwise_or,
            "xor": np.bitwise_xor,
            "shl": np.left_shift,
            "ashr": np.right_shift,
        }[name]
        return Value(self, x.type, function(x.data, y.data))

    def compare(self, name: str, x: Value, y: Value) -> Value:
        np = self.np
        function = {
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
            "eq": np.equal,
            "ne": np.not_equal,
        }[name]
        return Value(self, "i1", function(x.data, y.data))

    def _select(self, condition: Value, x: Value, y: Value) -> Value:
        return Value(self, x.type, self.np.where(condition.data, x.data, y.data))

    def _fma(self, x: Value, y: Value, z: Value) -> Value:
        function = fma_f32 if x.type == "f32" else fma_f64
        return Value(self, x.type, function(x.data, y.data, z.data))

    def cast(self, name: str, x: Value, type_: str) -> Value:
        data = self.np.asarray(x.data)
        if name == "bitcast":
            return Value(self, type_, data.view(self.dtypes[type_]))
        return Value(self, type_, data.astype(self.dtypes[type_]))

    def repeat_while(
        self,
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
        initial: Sequence[Value],
    ) -> list[Value]:
        state = list(initial)
        while True:
            more = condition(*state)
            if not self.np.any(more.data):
                return state
            state = [self._select(more, new, old) for new, old in zip(body(*state), state)]

    def load(self, table: str, values: Callable[[], Sequence[float]], index: Value) -> Value:
        return Value(self, "f64", self.np.array(values(), self.np.float64)[index.data])


def _round_to_odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in f64, rounded to odd: a following rounding to fewer bits is then correct."""
    import numpy as np

    total = a + b
    bb = total - a
    error = (a - (total - bb)) + (b - bb)
    bits = np.atleast_1d(np.asarray(total)).view(np.int64).reshape(np.shape(total))
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error) & ((bits & 1) == 0)
    # towards the error: away from zero if it has the sum's sign
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.asarray(np.where(inexact, bits + step, bits)).view(np.float64)


def fma_f32(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x*y + z in f32, rounded once: the product is exact in f64, the sum rounded to odd there."""
    import numpy as np

    product = np.float64(x) * np.float64(y)
    return np.asarray(_round_to_odd_sum(product, np.float64(z))).astype(np.float32)


_LIBM: list[Any] = []


def _exact_fma(x: float, y: float, z: float) -> float:
    if not _LIBM:
        import ctypes.util

        library = ctypes.CDLL(ctypes.util.find_library("m"))
        library.fma.restype = ctypes.c_double
        library.fma.argtypes = [ctypes.c_double] * 3
        _LIBM.append(library.fma)
    return _LIBM[0](x, y, z)


def fma_f64(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x*y + z in f64, rounded once, by error-free transformations.

    The sum of the exact product (two_product) and z follows Boldo and Melquiond, "Emulation of a
    FMA and correctly rounded sums", 2008. Extreme exponents are left to the C library.
    """
    import numpy as np

    x, y, z = np.broadcast_arrays(np.float64(x), np.float64(y), np.float64(z))
    high = x * y

    def split(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c = 134217729.0 * a
        big = c - (c - a)
        return big, a - big

    xh, xl = split(x)
    yh, yl = split(y)
    low = xl * yl - (((high - xh * yh) - xl * yh) - xh * yl)

    def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = a + b
        bb = s - a
        return s, (a - (s - bb)) + (b - bb)

    th, tl = two_sum(z, low)
    vh, vl = two_sum(high, th)
    result = np.asarray(vh + _round_to_odd_sum(tl, vl))
    ax, ay, az, ah = np.abs(x), np.abs(y), np.abs(z), np.abs(high)
    normal = (ax < 1e290) & (ay < 1e290) & (az < 1e300) & (ah < 1e300) & (ah > 1e-270)
    # a zero product adds nothing; the sign of a zero sum is the plain sum's
    simple = (x == 0) | (y == 0) | ~np.isfinite(x) | ~np.isfinite(y) | ~np.isfinite(z)
    result = np.where(simple, high + z, result)
    # an exact zero result loses its sign above
    result = np.where((result == 0) & normal & (low == 0), high + z, result)
    rest = ~(normal | simple)
    if rest.any():
        flat = np.array(result, np.float64).reshape(-1)
        picked = np.flatnonzero(rest.reshape(-1))
        fx, fy, fz = (a.reshape(-1)[picked].tolist() for a in (x, y, z))
        flat[picked] = [_exact_fma(*t) for t in zip(fx, fy, fz)]
        result = flat.reshape(result.shape)
    return result
