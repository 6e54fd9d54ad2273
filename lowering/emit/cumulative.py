"""Emission of running sums, products, extremes and log-sum-exps along one axis."""

from __future__ import annotations

import numpy as np

from .kernels import kernel_call
from .registry import ELEMENTWISE, emits
from .structure import concatenated, extract_slice
from .types import ElementType, element_type
from .values import Value

__all__: list[str] = []

# The operations of the kernel "cumulative".
_OPERATION = {"cumsum": 0, "cumprod": 1, "cummax": 2, "cummin": 3}
_RECURRENCE = 4


def _kernel_type(t: ElementType) -> ElementType:
    """The dtype that the kernel scans `t` in. Narrow integers wrap when they are cut back."""
    if t.narrow:
        return element_type(np.dtype("float32"))
    if t.kind in "iub" and t.bits < 32:
        return element_type(np.dtype("int32" if t.kind == "i" else "uint32"))
    return t


def _scan(ctx, inputs, operation: int, axis: int, reverse: bool) -> Value:
    t = inputs[0].type
    (made,) = kernel_call(
        ctx, "cumulative", inputs, [(inputs[0].shape, t)], [operation, axis, int(reverse)]
    )
    return made


@emits(*_OPERATION, loops=True)
def _cumulative(ctx, eqn, operand):
    t = operand.type
    wide = _kernel_type(t)
    made = _scan(
        ctx,
        [ctx.converted(operand, wide)],
        _OPERATION[eqn.primitive.name],
        eqn.params["axis"],
        eqn.params["reverse"],
    )
    return ctx.converted(made, t)


@emits("cumlogsumexp", loops=True)
def _cumlogsumexp(ctx, eqn, operand):
    """With m the running maximum: ``s[i] = exp(m[i-1] - m[i]) s[i-1] + exp(x[i] - m[i])`` and
    ``y = m + log(s)``. The exponentials are elementwise, so only the recurrence is sequential.

    Where m is infinite, 0 takes its place in the differences: -inf then contributes exp(-inf) = 0,
    and +inf makes s infinite.
    """
    axis, reverse = eqn.params["axis"], eqn.params["reverse"]
    t, shape = operand.type, operand.shape
    wide = element_type(np.dtype("float32")) if t.narrow else t
    x = ctx.converted(operand, wide)
    part = wide.part or wide
    real = (
        x
        if wide.kind != "c"
        else ctx.elementwise(lambda b, xs: b.re(xs[0], wide), [x], shape, part)
    )
    ctx.tensor(real)
    top = _scan(ctx, [real], _OPERATION["cummax"], axis, reverse)
    infinity = ctx.register_constant(np.inf, part)

    def finite(b, m):
        size = b.unary("math.absf", m, part.register)
        infinite = b.cmpf("oeq", size, infinity, part.register)
        return b.select(infinite, b.const(0.0, part.register), m, part.register)

    base = ctx.elementwise(lambda b, xs: finite(b, xs[0]), [top], shape, part)
    before = _shifted(ctx, base, axis, reverse)
    exp, log = (ELEMENTWISE[name].by_kind for name in ("exp", "log"))

    def apply(row, b, t, x):
        return (
            b.unary(row[t.kind], x, t.wide)
            if isinstance(row[t.kind], str)
            else row[t.kind](b, t, x)
        )

    def factor(b, xs):
        decay = apply(exp, b, part, b.binary("arith.subf", xs[0], xs[1], part.register))
        return decay if wide is part else b.make_complex(decay, b.const(0.0, part.register), wide)

    def term(b, xs):
        if wide is part:
            return apply(exp, b, part, b.binary("arith.subf", xs[0], xs[1], part.register))
        re = b.binary("arith.subf", b.re(xs[0], wide), xs[1], part.register)
        return apply(exp, b, wide, b.make_complex(re, b.im(xs[0], wide), wide))

    factors = ctx.elementwise(factor, [before, base], shape, wide)
    terms = ctx.elementwise(term, [x, base], shape, wide)
    sums = _scan(ctx, [factors, terms], _RECURRENCE, axis, reverse)

    def result(b, xs):
        logs = apply(log, b, wide, xs[0])
        if wide is part:
            return b.binary("arith.addf", logs, xs[1], part.register)
        re = b.binary("arith.addf", b.re(logs, wide), xs[1], part.register)
        return b.make_complex(re, b.im(logs, wide), wide)

    return ctx.converted(ctx.elementwise(result, [sums, base], shape, wide), t)


def _shifted(ctx, x: Value, axis: int, reverse: bool) -> Value:
    """`x` moved by one along `axis` in scan order; the first element, which the recurrence does
    not use, stays."""
    n = x.shape[axis]
    if n == 1:
        return x
    sizes = [list(x.shape), list(x.shape)]
    first, rest = [0] * x.ndim, [0] * x.ndim
    if reverse:
        sizes[0][axis], sizes[1][axis] = n - 1, 1
        first[axis] = 1
        rest[axis] = n - 1
    else:
        sizes[0][axis], sizes[1][axis] = 1, n - 1
    ctx.tensor(x)
    parts = [extract_slice(ctx, x, o, s) for o, s in zip((first, rest), sizes, strict=True)]
    return concatenated(ctx, parts, axis, x.shape)
