"""Taylor-mode differentiation: a trace that carries a truncated power series with each value.

A primitive may have a `jet` rule. Without one its derivative rule serves: the series of
y = f(x(t)) is the integral of that of y'(t) = Df(x(t)) x'(t), which is the tangent output of the
rule, run on series of one order less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive
from ..core.rules import Zero, instantiate, linear_jvp, zero_jvp
from ..core.series import Series, differentiate, integrate, linear_jet, scale
from ..core.staging import trace_to_closed
from ..core.trace import Trace, Tracer, current_trace, set_trace
from .api_util import FlatFun, check_callable, check_results


class JetTracer(Tracer):
    """A value with the coefficients of its series."""

    __slots__ = ("primal", "series")

    def __init__(self, trace: JetTrace, primal: Any, series: Series):
        self._trace, self.primal, self.series = trace, primal, series

    @property
    def aval(self) -> Any:
        return get_aval(self.primal)

    def _concrete(self) -> Any:
        return self.primal._concrete() if isinstance(self.primal, Tracer) else self.primal

    def _origin_message(self) -> str:
        return self.primal._origin_message() if isinstance(self.primal, Tracer) else ""


class JetTrace(Trace):
    """Pushes series forward; their computation goes to the parent trace."""

    def __init__(self, parent: Trace):
        self.parent = parent
        self.alive = True

    def split(self, x: Any) -> tuple[Any, Series | None]:
        if type(x) is JetTracer and x._trace is self:
            return x.primal, x.series
        return x, None

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        pairs = [self.split(x) for x in args]
        primals = [p for p, _ in pairs]
        series = [s for _, s in pairs]
        with set_trace(self.parent):
            if all(s is None for s in series):
                return primitive.bind(*primals, **params)
            out, terms = push(primitive, primals, series, params)
        if primitive.multiple_results:
            return [self.wrap(o, s) for o, s in zip(out, terms, strict=True)]
        return self.wrap(out, terms)

    def wrap(self, primal: Any, series: Series | None) -> Any:
        return primal if not series else JetTracer(self, primal, series)


def push(
    primitive: Primitive, primals: Sequence[Any], series: Sequence[Series | None], params: dict
) -> Any:
    """Value(s) and series of one application of a primitive."""
    if not getattr(primitive.jet, "discrete", False):
        series = [None if _is_discrete(p) else s for p, s in zip(primals, series, strict=True)]
        if all(s is None for s in series):
            out = primitive.bind(*primals, **params)
            return out, [None] * len(out) if primitive.multiple_results else None
    if primitive.jet is not None:
        return primitive.jet(primitive, primals, series, params)
    if primitive.jvp is zero_jvp:
        out = primitive.bind(*primals, **params)
        return out, [None] * len(out) if primitive.multiple_results else None
    if primitive.jvp is linear_jvp:
        return linear_jet(primitive, primals, series, params)
    return by_derivative(primitive, primals, series, params)


def by_derivative(
    primitive: Primitive, primals: Sequence[Any], series: Sequence[Series | None], params: dict
) -> Any:
    """The series by the primitive's jvp rule."""
    order = max(len(s) for s in series if s is not None)
    many = primitive.multiple_results

    def derivative(*xs: Any) -> list[Any]:
        n = len(primals)
        it = iter(xs[n:])
        tangents = [
            Zero.of(p) if s is None else next(it) for p, s in zip(primals, series, strict=True)
        ]
        if all(type(t) is Zero for t in tangents):
            out = primitive.bind(*xs[:n], **params)
            out = out if many else [out]
            return [*out, *[Zero.of(o) for o in out]]
        out, touts = primitive.jvp(primitive, list(xs[:n]), tangents, params)
        return [*out, *touts] if many else [out, touts]

    slopes = [differentiate(s) for s in series if s is not None]
    outs, terms = jet_flat(
        derivative,
        [*primals, *[s[0] for s in slopes]],
        [*[s and s[: order - 1] for s in series], *[s[1:] for s in slopes]],
    )
    n = len(outs) // 2
    result: list[Series | None] = []
    for t, rest in zip(outs[n:], terms[n:], strict=True):
        if type(t) is Zero:
            result.append(None)
            continue
        more = [instantiate(Zero.of(t))] * (order - 1) if rest is None else rest
        result.append(integrate([t, *more]))
    return (outs[:n], result) if many else (outs[0], result[0])


def _is_discrete(x: Any) -> bool:
    return not dtypes.is_inexact(get_aval(x).dtype)


def jet_flat(
    f: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Series | None]
) -> tuple[list[Any], list[Series | None]]:
    """Values and series of a flat function; empty series are those of constants."""
    trace = JetTrace(current_trace())
    ins = [trace.wrap(p, s) for p, s in zip(primals, series, strict=True)]
    try:
        with set_trace(trace):
            outs = f(*ins)
        pairs = [trace.split(o) for o in outs]
    finally:
        trace.alive = False
    return [p for p, _ in pairs], [s for _, s in pairs]


def jet_jaxpr(closed: ClosedJaxpr, orders: tuple[int, ...]) -> tuple[ClosedJaxpr, list[int]]:
    """The jaxpr `(*primals, *coefficients) -> (*outs, *coefficients of the outs)`.

    `orders` gives the number of coefficients of each input. Returns it with the same numbers for
    the outputs. Remembered with `closed`.
    """

    def make() -> tuple[ClosedJaxpr, list[int]]:
        n = len(closed.in_avals)
        out_orders: list[int] = []

        def f(*args: Any) -> list[Any]:
            it = iter(args[n:])
            series = [[next(it) for _ in range(k)] or None for k in orders]
            outs, terms = jet_flat(
                lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args[:n], series
            )
            out_orders[:] = [len(s or ()) for s in terms]
            return [*outs, *[c for s in terms for c in s or ()]]

        avals = list(closed.in_avals)
        avals += [a for a, k in zip(closed.in_avals, orders, strict=True) for _ in range(k)]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info), out_orders

    return closed.derived(("jet", orders), make)


def jet_call(param: str, call: Callable[[dict, ClosedJaxpr, int], dict]) -> Callable[..., Any]:
    """The `jet` rule of a primitive that calls the jaxpr `params[param]` with its operands.

    `call(params, jaxpr, n)` gives the parameters of a call of another jaxpr of n operands.
    """

    def rule(
        primitive: Primitive, primals: Sequence[Any], series: Sequence[Series | None], params: dict
    ) -> Any:
        orders = tuple(len(s or ()) for s in series)
        jaxpr, out_orders = jet_jaxpr(params[param], orders)
        args = [*primals, *[c for s in series for c in s or ()]]
        outs = primitive.bind(*args, **call(params, jaxpr, len(args)))
        n = len(out_orders)
        it = iter(outs[n:])
        return outs[:n], [[next(it) for _ in range(k)] or None for k in out_orders]

    return rule


# --- as users call it ----------------------------------------------------------------------


def jet(
    fun: Callable, primals: Any, series: Any, factorial_scaled: bool = True, **_: Any
) -> tuple[Any, Any]:
    """The truncated Taylor series of `fun` along a path.

    Args:
      fun: function of arrays; returns a pytree of arrays.
      primals: tuple or list with one array for each argument: the path's start.
      series: for each argument, the list of its derivatives along the path, orders 1 to n.
      factorial_scaled: coefficients are derivatives (default), or else Taylor coefficients,
        derivatives divided by k!.

    Returns (output, its series): the output's structure with a list of n arrays at each leaf. The
    cost grows polynomially in n where all primitives have rules for it, else up to 2**n times.
    Raises ValueError where the series have different lengths or a primal is no array.
    """
    check_callable(fun)
    leaves, terms = _checked(list(primals), list(series))
    order = len(terms[0]) if terms else 0
    if factorial_scaled:
        terms = [[scale(c, 1 / math.factorial(k + 1)) for k, c in enumerate(s)] for s in terms]
    flat = FlatFun(fun, pytree.tree_structure((tuple(leaves), {})))

    def checked(*xs: Any) -> list[Any]:
        outs = flat(*xs)
        check_results(fun, "jet", outs, flat.out_tree)
        return outs

    outs, found = jet_flat(checked, leaves, terms)
    result = []
    for o, s in zip(outs, found, strict=True):
        if s is None:
            result.append([instantiate(Zero(_zero_aval(get_aval(o))))] * order)
        elif factorial_scaled:
            result.append([scale(c, math.factorial(k + 1)) for k, c in enumerate(s)])
        else:
            result.append(s)
    tree = flat.out_tree
    return pytree.tree_unflatten(tree, outs), pytree.tree_unflatten(tree, result)


def _zero_aval(aval: Any) -> ShapedArray:
    if dtypes.is_inexact(aval.dtype):
        return aval
    return ShapedArray(aval.shape, dtypes.canonicalize_dtype(np.dtype(np.float64)), True)


def _checked(primals: list[Any], series: list[Any]) -> tuple[list[Any], list[Series]]:
    """Primals and coefficients as arrays of the same types. Raises as `jet` says."""
    if len(primals) != len(series):
        raise ValueError(
            f"jet got {len(primals)} primals and {len(series)} series; each argument needs one"
        )
    lengths = {len(s) for s in series}
    if len(lengths) > 1:
        raise ValueError(
            "jet terms have inconsistent lengths for different arguments: "
            f"{[len(s) for s in series]}"
        )
    out = []
    for i, (p, s) in enumerate(zip(primals, series, strict=True)):
        if not pytree.treedef_is_leaf(pytree.tree_structure(p)):
            raise ValueError(f"primal value at position {i} is not an array")
        aval = get_aval(p)
        terms = []
        for k, c in enumerate(s):
            if not pytree.treedef_is_leaf(pytree.tree_structure(c)):
                raise ValueError(f"term {k} for argument {i} is not an array")
            terms.append(_as_term(c, aval, i, k))
        out.append(terms)
    return primals, out


def _as_term(x: Any, aval: Any, i: int, k: int) -> Any:
    got: Any = get_aval(x)
    # integers may have a path, too: they become floats when they are converted
    dtype = aval.dtype if dtypes.is_inexact(aval.dtype) else _zero_aval(aval).dtype
    if got.dtype != dtype or not isinstance(x, (ArrayImpl, Tracer)):
        x = conversion.convert(x, dtype)
    if got.shape == aval.shape:
        return x
    if got.shape == ():
        return conversion.broadcast(x, aval.shape)
    raise TypeError(
        f"jet: term {k} of the series for argument {i} has shape {got.shape}, but the primal has "
        f"shape {aval.shape}"
    )


class Conversion:
    """Conversions of the coefficients that users give; set by the primitives' modules."""

    convert: Callable[[Any, Any], Any]
    broadcast: Callable[[Any, Sequence[int]], Any]


conversion = Conversion()

__all__ = ["conversion", "jet", "jet_call"]
