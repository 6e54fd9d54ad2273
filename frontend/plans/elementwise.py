"""Plans of elementwise primitives whose reference is no ufunc."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime import has_plan_loop
from .builder import Builder, NoPlan, View, plans

_INTEGERS = "iu"


def _wide(ins: list[View], kinds: str = "biufc") -> None:
    """Only dtypes in which the references compute as they are."""
    for v in ins:
        if v.dtype.kind not in kinds or (v.dtype.kind == "f" and v.dtype.itemsize < 4):
            raise NoPlan(f"elements of {v.dtype}")


def _direct(name: str, ufunc: np.ufunc) -> None:
    @plans(name)
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        _wide(ins)
        return b.elementwise(ufunc, ins, outs[0].dtype)


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "neg": np.negative, "add_any": np.add,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}.items():  # fmt: skip
    _direct(_name, _ufunc)


def _product(b: Builder, x: View, y: View) -> View:
    if x.dtype.kind == "c":
        return _named(b, "product", [x, y], x.dtype)
    return b.elementwise(np.multiply, [x, y], x.dtype)


@plans("mul")
def _mul(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins)
    if params.get("out_dtype") not in (None, ins[0].dtype):
        raise NoPlan("another dtype for the result")
    return _product(b, *ins)


@plans("square")
def _square(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins)
    return _product(b, ins[0], ins[0])


@plans("div")
def _div(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins)
    dtype = outs[0].dtype
    if dtype.kind in _INTEGERS:
        return _named(b, "quotient", ins, dtype)
    return b.elementwise(np.true_divide, ins, dtype)


@plans("rem")
def _rem(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins)
    return _named(b, "remainder", ins, outs[0].dtype)


def _named(b: Builder, name: str, ins: list[View], dtype: Any) -> View:
    """A loop of runtime/plan_loops.cpp."""
    full = f"{name}_{dtype.name}"
    if not has_plan_loop(full):
        raise NoPlan(f"no loop {full}")
    return b.elementwise(full, ins, dtype)


def _loop(name: str) -> None:
    """The rule of a primitive that has a loop of its own name for each dtype."""

    @plans(name)
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        return _named(b, name, ins, outs[0].dtype)


for _name in (
    "max", "min", "sign", "shift_left", "shift_right_logical", "shift_right_arithmetic",
):  # fmt: skip
    _loop(_name)


@plans("clamp")
def _clamp(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins, "biuf")
    low, x, high = ins
    dtype = outs[0].dtype
    return b.elementwise(np.minimum, [b.elementwise(np.maximum, [low, x], dtype), high], dtype)


@plans("select_n")
def _select(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    which, *cases = ins
    if which.dtype != np.bool_:
        raise NoPlan("a choice of several")
    if len(cases) == 1:
        return cases[0]
    return b.elementwise(f"select_{cases[0].dtype.itemsize}", ins, cases[0].dtype)


@plans("convert_element_type")
def _convert(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    """16-bit floats by way of float32, where that is what the reference does, or the same."""
    (x,) = ins
    dtype, wide = outs[0].dtype, np.dtype(np.float32)
    narrow = [d.itemsize == 2 and d.kind in "fV" for d in (x.dtype, dtype)]
    if narrow[1] and (x.dtype.kind not in "biufV" or (x.dtype.itemsize == 8)):
        raise NoPlan("a second rounding")
    if any(narrow) and x.dtype != dtype:
        x = b.cast(x, wide)
    return b.cast(x, dtype)


@plans("logistic")
def _logistic(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins, "f")
    dtype = outs[0].dtype
    one = b.const(1, dtype)
    e = b.elementwise(np.exp, [b.elementwise(np.negative, ins, dtype)], dtype)
    return b.elementwise(np.true_divide, [one, b.elementwise(np.add, [one, e], dtype)], dtype)


@plans("exp2")
def _exp2(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins, "f")
    return b.elementwise(np.exp2, ins, outs[0].dtype)


@plans("pow")
def _pow(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    x, y = ins
    _wide([x], "f")
    _wide([y], "iuf")
    if y.dtype != x.dtype:
        y = _convert(b, [y], {}, outs)
    return b.elementwise(np.power, [x, y], outs[0].dtype)


@plans("integer_pow")
def _integer_pow(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    """By repeated squaring, as the reference."""
    _wide(ins, "iufc")
    x, dtype, y = ins[0], outs[0].dtype, params["y"]
    n, out = abs(y), None
    while n:
        if n & 1:
            out = x if out is None else _product(b, out, x)
        n >>= 1
        if n:
            x = _product(b, x, x)
    if out is None:
        return b.const(1, dtype).broadcast(x.shape)
    return b.elementwise(np.true_divide, [b.const(1, dtype), out], dtype) if y < 0 else out


@plans("round")
def _round(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    """Halves to even, or away from zero as the reference does that."""
    _wide(ins, "f")
    (x,), dtype, flag = ins, outs[0].dtype, np.dtype(bool)
    if int(params["rounding_method"]) == 1:
        return b.elementwise(np.rint, ins, dtype)
    whole = b.elementwise(np.trunc, [x], dtype)
    rest = b.elementwise(np.absolute, [b.elementwise(np.subtract, [x, whole], dtype)], dtype)
    away = b.elementwise(np.greater_equal, [rest, b.const(0.5, dtype)], flag)
    one = b.elementwise(np.copysign, [b.const(1, dtype), x], dtype)
    more = b.elementwise(f"select_{dtype.itemsize}", [away, b.const(0, dtype), one], dtype)
    return b.elementwise(np.copysign, [b.elementwise(np.add, [whole, more], dtype), x], dtype)


@plans("rsqrt")
def _rsqrt(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins, "f")
    dtype = outs[0].dtype
    root = b.elementwise(np.sqrt, ins, dtype)
    return b.elementwise(np.true_divide, [b.const(1, dtype), root], dtype)


@plans("erf_inv")
def _erf_inv(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _wide(ins, "f")
    from scipy import special

    dtype = outs[0].dtype
    zero = b.elementwise(np.equal, [ins[0], b.const(0, dtype)], np.dtype(bool))
    made = b.elementwise(special.erfinv, ins, dtype)
    return b.elementwise(f"select_{dtype.itemsize}", [zero, made, ins[0]], dtype)


def _special(name: str, function: str) -> None:
    @plans(name)
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        _wide(ins, "f")
        from scipy import special

        return b.elementwise(getattr(special, function), ins, outs[0].dtype)


_special("erf", "erf")
_special("erfc", "erfc")

__all__: list[str] = []
