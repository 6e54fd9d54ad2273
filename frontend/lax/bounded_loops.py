"""while_loop with a bound on the number of iterations, which can be differentiated in reverse."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..core import errors, pytree
from ..core.interpreter import eval_closed
from ..core.trace import Tracer
from ..core.tracebacks import boundary
from ..transforms.autodiff import jvp
from ..transforms.custom_rules import SymbolicZero, custom_jvp, zero_from_primal
from ..transforms.remat import checkpoint
from .bits import bitwise_and
from .conditionals import cond
from .control_flow_util import check_leaves
from .conversion import asarray
from .elementwise import add, lt
from .loops import trace_loop, while_loop
from .scanning import scan

T = TypeVar("T")

__all__ = ["bounded_while_loop"]


@boundary
def bounded_while_loop(
    cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T, max_trip_count: int
) -> T:
    """`while_loop` that ends after `max_trip_count` iterations, whether `cond_fun` holds or not.

    Args:
      cond_fun, body_fun, init_val: as for `while_loop`.
      max_trip_count: an int, the bound on the number of iterations.

    Without differentiation it is a while loop. Differentiated, in either mode, it is a scan over
    segments of about sqrt(max_trip_count) iterations, of which those after the end are skipped;
    reverse mode stores the carry at the begin of each segment and runs the segments again, so that
    it needs memory for about 2 sqrt(max_trip_count) iterations and computes the body twice.

    Raises ValueError for a negative bound, TypeError for one that is no int, and what `while_loop`
    raises.
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError(
            "lax.bounded_while_loop: body_fun and cond_fun arguments should be callable."
        )
    n = _bound(max_trip_count)
    init, tree = pytree.tree_flatten(init_val)
    check_leaves(init)
    loop = trace_loop(cond_fun, body_fun, init, tree, "bounded_while_loop")
    test, step = loop.cond.hoisted, loop.body.hoisted
    operands = [*loop.cond.consts, *loop.body.consts, *loop.init]
    if n == 0:
        return pytree.tree_unflatten(tree, [asarray(x) for x in loop.init])
    a, b = len(loop.cond.consts), len(loop.body.consts)

    def go_on(args: Sequence[Any], state: Any) -> Any:
        i, carry = state
        (holds,) = eval_closed(test, *args[:a], *carry)
        return bitwise_and(lt(i, np.int32(n)), holds)

    def once(args: Sequence[Any], state: Any) -> Any:
        i, carry = state
        return add(i, np.int32(1)), eval_closed(step, *args[a : a + b], *carry)

    def run(*args: Any) -> list[Any]:
        start = (np.int32(0), list(args[a + b :]))
        _, out = while_loop(lambda s: go_on(args, s), lambda s: once(args, s), start)
        return out

    run.__name__ = "bounded_while_loop"
    looped = custom_jvp(run)

    def tangents(primals: Sequence[Any], given: Sequence[Any]) -> Any:
        live = [type(t) is not SymbolicZero for t in given]
        if not any(live):
            out = looped(*primals)
            return out, [zero_from_primal(o, symbolic_zeros=True) for o in out]

        def scanned(*xs: Any) -> list[Any]:
            it = iter(xs)
            args = [next(it) if f else p for p, f in zip(primals, live, strict=True)]
            return _segments(args, a + b, go_on, once, n)

        ps, ts = ([x for x, f in zip(xs, live, strict=True) if f] for xs in (primals, given))
        return jvp(scanned, ps, ts)

    looped.defjvp(tangents, symbolic_zeros=True)
    return pytree.tree_unflatten(tree, looped(*operands))


def _segments(args: Sequence[Any], lead: int, go_on: Callable, once: Callable, n: int) -> list[Any]:
    """The loop as a scan over segments that are scans, recomputed when they are differentiated."""
    inner = math.isqrt(n - 1) + 1
    outer = -(-n // inner)

    def stay(args: Any, state: Any) -> Any:
        return state

    @checkpoint
    def segment(args: Any, state: Any) -> Any:
        def body(state: Any, _: Any) -> Any:
            return cond(go_on(args, state), once, stay, args, state), None

        return scan(body, state, None, length=inner)[0]

    def body(state: Any, _: Any) -> Any:
        return cond(go_on(args, state), segment, stay, args, state), None

    start = (np.int32(0), list(args[lead:]))
    args = list(args)
    (_, out), _ = scan(body, start, None, length=outer)
    return out


def _bound(n: Any) -> int:
    if isinstance(n, Tracer):
        raise errors.ConcretizationTypeError(
            n, "bounded_while_loop needs to know max_trip_count when it is traced."
        )
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"max_trip_count must be an int, got {n!r} of type {type(n)}") from None
    if n < 0:
        raise ValueError(f"max_trip_count must not be negative, got {n}")
    return n
