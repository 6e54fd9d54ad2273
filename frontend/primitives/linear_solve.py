"""custom_linear_solve: the solution of a linear equation by any solver, differentiated implicitly.

Operands are the constants of the four functions, in their order, and the right-hand side `b`;
results are the solution and whatever else the solver returns. `jaxprs` has the functions:
`matvec` and its transpose `vecmat` map `(*consts, *x)` to the like of b, `solve` and
`transpose_solve` map `(*consts, *b)` to the solution of matvec and of vecmat. The latter two of each
pair are None where reverse mode is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import eager
from ..core.avals import ShapedArray
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, axis_names, close_with_vars
from ..core.primitive import Primitive, Sample
from ..core.rules import Zero, add_tangents, instantiate
from ..core.staging import trace_to_closed
from ..transforms.batching import batch_jaxpr, move_batch_axis
from ..transforms.checkify import CheckifyTrace, has_checks, through, without_checks
from ..transforms.jvp import jvp_jaxpr
from ..transforms.transpose import backward_pass
from .declare import ops
from .scan_autodiff import parts


class LinearSolveTuple(NamedTuple):
    """One of something for each of the four functions."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self) -> LinearSolveTuple:
        """That of the transposed equation."""
        return LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


def bind_solve(
    jaxprs: LinearSolveTuple, consts: Sequence[Sequence[Any]], b: Sequence[Any]
) -> list[Any]:
    """Bind the primitive; arrays that the jaxprs hold become constants of theirs."""
    opened, operands = [], []
    for closed, c in zip(jaxprs, consts, strict=True):
        if closed is not None and closed.consts:
            c = [*closed.consts, *c]
            closed = closed.derived("opened", lambda j=closed: close_with_vars(j.jaxpr))
        opened.append(closed)
        operands.append(list(c))
    return linear_solve_p.bind(
        *[x for c in operands for x in c],
        *b,
        const_lengths=LinearSolveTuple(*map(len, operands)),
        jaxprs=LinearSolveTuple(*opened),
    )


def transposed_map(closed: ClosedJaxpr, n: int) -> ClosedJaxpr:
    """The transpose of a jaxpr `(*n constants, *x) -> y` that is linear in x: `(*constants, *y) ->
    x`. Remembered with `closed`."""

    def make() -> ClosedJaxpr:
        linear = [i >= n for i in range(len(closed.in_avals))]

        def f(*args: Any) -> list[Any]:
            outs = backward_pass(closed.jaxpr, closed.consts, linear, args[:n], args[n:])
            return [instantiate(o) for o in outs]

        avals = [*closed.in_avals[:n], *closed.out_avals]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info)

    return closed.derived(("transposed map", n), make)


def _split(args: Sequence[Any], lengths: LinearSolveTuple) -> tuple[list[list[Any]], list[Any]]:
    *consts, b = parts(args, *lengths)
    return consts, b


def _abstract(*avals: Any, const_lengths: LinearSolveTuple, jaxprs: LinearSolveTuple) -> list[Any]:
    consts, b = _split(avals, const_lengths)
    want = jaxprs.solve.in_avals
    have = [*consts[2], *b]
    if len(have) != len(want) or not all(
        a == w or w.same_type(a) for a, w in zip(have, want, strict=True)
    ):
        raise TypeError(
            f"custom_linear_solve: the solver's operands are {[str(a) for a in have]} where "
            f"{[str(w) for w in want]} are due"
        )
    return jaxprs.solve.out_avals


def _run(args: Sequence[Any], params: dict) -> list[Any]:
    consts, b = _split(args, params["const_lengths"])
    solve = params["jaxprs"].solve
    return eval_jaxpr(solve.jaxpr, solve.consts, *consts[2], *b)


def _reference(*args: Any, **params: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in _run(args, params)]


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    return _run(args, params)


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """From A x = b follows A dx = db - dA x."""
    jaxprs: LinearSolveTuple = params["jaxprs"]
    consts, b = _split(primals, params["const_lengths"])
    consts_t, b_t = _split(tangents, params["const_lengths"])
    outs = primitive.bind(*primals, **params)
    x, aux = outs[: len(b)], outs[len(b) :]
    rhs = list(b_t)
    nonzero = [type(t) is not Zero for t in consts_t[0]]
    if any(nonzero):
        flags = (*nonzero, *(False,) * len(x))
        pushed, live = jvp_jaxpr(jaxprs.matvec, flags)
        given = [t for t in consts_t[0] if type(t) is not Zero]
        result = eval_jaxpr(pushed.jaxpr, pushed.consts, *consts[0], *x, *given)
        change = iter(result[len(b) :])
        rhs = [
            add_tangents(t, ops["neg"].bind(next(change))) if nz else t
            for t, nz in zip(rhs, live, strict=True)
        ]
    if all(type(t) is Zero for t in rhs):
        return outs, [Zero.of(o) for o in outs]
    dx = bind_solve(jaxprs, consts, [instantiate(t) for t in rhs])[: len(b)]
    return outs, [*dx, *[Zero.of(a) for a in aux]]


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    jaxprs: LinearSolveTuple = params["jaxprs"]
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of "
            "custom_linear_solve"
        )
    lengths: LinearSolveTuple = params["const_lengths"]
    consts, b = _split(args, lengths)
    ct_x = cts[: len(b)]
    n = sum(lengths)
    if all(type(c) is Zero for c in ct_x):
        return [*[None] * n, *[Zero(v.aval) for v in b]]
    consts = list(LinearSolveTuple(*consts).transpose())
    ct_b = bind_solve(jaxprs.transpose(), consts, [instantiate(c) for c in ct_x])
    return [*[None] * n, *ct_b[: len(b)]]


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """All of b and x becomes batched, if anything is."""
    jaxprs: LinearSolveTuple = params["jaxprs"]
    pairs = [
        (x if d is None else move_batch_axis(axis.size, d, 0, x), None if d is None else 0)
        for x, d in zip(args, dims, strict=True)
    ]
    consts, b = _split(pairs, params["const_lengths"])
    new = []
    for closed, c in zip(jaxprs, consts, strict=True):
        at = (*[d for _, d in c], *[0] * len(b))
        new.append(None if closed is None else batch_jaxpr(closed, axis, at, True)[0])
    rhs = [x if d == 0 else move_batch_axis(axis.size, None, 0, x) for x, d in b]
    outs = bind_solve(LinearSolveTuple(*new), [[x for x, _ in c] for c in consts], rhs)
    return outs, [0] * len(outs)


def _checkify(
    primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
) -> list[Any]:
    """The solver takes the error as constants and returns it behind its results; the other
    functions, which are not run here, look for nothing."""
    jaxprs: LinearSolveTuple = params["jaxprs"]
    consts, b = _split(args, params["const_lengths"])
    threaded = through(trace, jaxprs.solve)
    if threaded is None:
        error, solve, apart = [], jaxprs.solve, list
    else:
        error, (solve,), apart = threaded
        solve = solve.derived(("error behind", len(error)), lambda: _rotated(solve, len(error)))
    new = [
        without_checks(c, trace.enabled) if c is not None and has_checks(c) else c for c in jaxprs
    ]
    new[2] = solve
    consts[2] = [*error, *consts[2]]
    outs = bind_solve(LinearSolveTuple(*new), consts, b)
    n = len(outs) - len(error)
    return apart([*outs[n:], *outs[:n]])


def _rotated(closed: ClosedJaxpr, n: int) -> ClosedJaxpr:
    """The jaxpr with its first n results last."""
    outs = closed.jaxpr.outvars
    return closed.replace(jaxpr=closed.jaxpr.replace(outvars=[*outs[n:], *outs[:n]]))


def _axis_names(params: dict) -> tuple:
    return tuple(n for j in params["jaxprs"] if j is not None for n in axis_names(j))


def _samples() -> Iterator[Sample]:
    f = np.dtype(np.float32)
    vector = ShapedArray((3,), f)
    mul, div = ops["mul"].bind, ops["div"].bind
    times = trace_to_closed(lambda a, x: [mul(a, x)], [vector, vector])
    over = trace_to_closed(lambda a, b: [div(b, a)], [vector, vector])
    a = np.asarray([0.5, 2.0, 3.0], f)
    yield Sample(
        a,
        a,
        a,
        a,
        ((3,), f),
        const_lengths=LinearSolveTuple(1, 1, 1, 1),
        jaxprs=LinearSolveTuple(times, times, over, over),
        grad=False,  # the four functions must be given the same constants
    )


linear_solve_p = Primitive(
    "custom_linear_solve",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    effects=lambda jaxprs, **_: jaxprs.solve.effects,
    axis_names=_axis_names,
    checkify=_checkify,
    # compiled, only the solver is left
    structure=lambda p: {"solve": p["jaxprs"].solve, "lengths": p["const_lengths"]},
    samples=_samples,
)

__all__ = ["LinearSolveTuple", "bind_solve", "linear_solve_p", "transposed_map"]
