"""Symbolic zeros, undefined primals, and the common forms of jvp, transpose and batching rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .avals import ShapedArray, get_aval, tangent_dtype
from .primitive import Primitive


class Zero:
    """A tangent or cotangent known to be zero. `aval` is its (tangent) aval."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval

    @staticmethod
    def of(x: Any) -> Zero:
        """The symbolic zero in the tangent space of `x`."""
        return Zero(get_aval(x).at_least_vspace())

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """Stands for a linear argument in a transpose rule."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined(x: Any) -> bool:
    return type(x) is UndefinedPrimal


class VectorSpace:
    """Zeros and sums of tangents; the two operations that differentiation itself needs.

    They are set by the modules that declare the primitives they use.
    """

    zeros: Callable[[ShapedArray], Any]
    add: Callable[[Any, Any], Any]


vspace = VectorSpace()


def instantiate(t: Any) -> Any:
    """A symbolic zero as an array; other tangents as they are."""
    return vspace.zeros(t.aval) if type(t) is Zero else t


def add_tangents(a: Any, b: Any) -> Any:
    """Sum of two tangents or cotangents, of which either may be symbolic zero."""
    if type(a) is Zero:
        return b
    if type(b) is Zero:
        return a
    return vspace.add(a, b)


# --- jvp -----------------------------------------------------------------------------------


def zero_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """For primitives whose results have no tangent: comparisons, integer operations, rounding."""
    out = primitive.bind(*primals, **params)
    if primitive.multiple_results:
        return out, [Zero.of(o) for o in out]
    return out, Zero.of(out)


def linear_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """For primitives linear in all their operands together."""
    out = primitive.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents):
        zeros = [Zero.of(o) for o in out] if primitive.multiple_results else Zero.of(out)
        return out, zeros
    return out, primitive.bind(*map(instantiate, tangents), **params)


def operand_jvps(*rules: Callable[..., Any] | None) -> Callable[..., Any]:
    """For single-result primitives: `rules[i](t, out, *primals, **params)` is the contribution of
    operand i's tangent `t`; None where the operand has none."""

    def jvp(
        primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
    ) -> Any:
        out = primitive.bind(*primals, **params)
        terms = [
            rule(t, out, *primals, **params)
            for rule, t in zip(rules, tangents, strict=True)
            if rule is not None and type(t) is not Zero
        ]
        if not terms:
            return out, Zero.of(out)
        total = terms[0]
        for term in terms[1:]:
            total = add_tangents(total, term)
        return out, total

    return jvp


def linear_operands(*which: int) -> Callable[..., Any]:
    """For primitives linear in the operands `which` together, the others being held fixed: the
    tangent is the primitive applied to those tangents."""

    def jvp(
        primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
    ) -> Any:
        out = primitive.bind(*primals, **params)
        if all(type(tangents[i]) is Zero for i in which):
            return out, Zero.of(out)
        args = [
            instantiate(t) if i in which else p
            for i, (p, t) in enumerate(zip(primals, tangents, strict=True))
        ]
        return out, primitive.bind(*args, **params)

    return jvp


def jvp_rule(f: Callable[..., Any]) -> Callable[..., Any]:
    """A rule written as `f(primals, tangents, **params) -> (out, tangent_out)`."""

    def jvp(
        primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
    ) -> Any:
        return f(primals, tangents, **params)

    return jvp


# --- transpose -----------------------------------------------------------------------------


def unary_transpose(f: Callable[..., Any]) -> Callable[..., Any]:
    """For primitives linear in their only operand: `f(ct, operand_aval, **params)`."""

    def transpose(primitive: Primitive, ct: Any, args: Sequence[Any], params: dict) -> list[Any]:
        (x,) = args
        if type(ct) is Zero:
            return [Zero(x.aval)]
        return [f(ct, x.aval, **params)]

    return transpose


def operand_transposes(*rules: Callable[..., Any] | None) -> Callable[..., Any]:
    """For single-result primitives: `rules[i](ct, *args, **params)` is the cotangent of operand i
    when it is linear (its entry in `args` is an `UndefinedPrimal`)."""

    def transpose(primitive: Primitive, ct: Any, args: Sequence[Any], params: dict) -> list[Any]:
        out: list[Any] = []
        for rule, a in zip(rules, args, strict=True):
            if not is_undefined(a):
                out.append(None)
            elif type(ct) is Zero:
                out.append(Zero(a.aval))
            elif rule is None:
                raise NotImplementedError(f"{primitive.name} is not linear in that operand")
            else:
                out.append(rule(ct, *args, **params))
        return out

    return transpose


def transpose_rule(f: Callable[..., Any]) -> Callable[..., Any]:
    """A rule written as `f(ct, *args, **params) -> list of cotangents`."""

    def transpose(primitive: Primitive, ct: Any, args: Sequence[Any], params: dict) -> Any:
        return f(ct, *args, **params)

    return transpose


# --- batching ------------------------------------------------------------------------------


def batch_rule(f: Callable[..., Any]) -> Callable[..., Any]:
    """A rule written as `f(axis_size, args, dims, **params) -> (out, dim)`."""

    def batch(
        primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
    ) -> Any:
        return f(axis.size, args, dims, **params)

    return batch


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(aval.shape, tangent_dtype(aval.dtype), aval.weak_type, aval.vma)
