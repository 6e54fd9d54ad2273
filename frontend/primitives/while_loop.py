"""while: a loop that carries values as long as a predicate of them holds.

Operands are `(*cond_consts, *body_consts, *init)`; `cond_jaxpr` maps `(*cond_consts, *carry)` to
the predicate and `body_jaxpr` `(*body_consts, *carry)` to the new carry. Both are without constants.

A batched predicate has the axes of its batch. The loop then goes on while it holds for any element,
and values of elements for which it does not hold stay as they are; its axes lead every carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core import config, eager
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Var, axis_names, close_with_vars
from ..core.primitive import Absent, Primitive, Sample
from ..core.rules import Zero, instantiate
from ..core.staging import trace_to_closed
from ..core.trace import set_trace
from ..transforms.batching import batch_flat, batch_jaxpr, batched, move_batch_axis
from ..transforms.checkify import (
    CheckifyTrace,
    checks_in,
    has_checks,
    moved_inputs,
    through,
    without_checks,
)
from ..transforms.jvp import jvp_jaxpr
from ..transforms.partial_eval import dce_jaxpr, partial_eval_jaxpr
from ..transforms.programs import run_structured
from ..transforms.residuals import split_free
from .cond import retyped
from .declare import ops
from .scan_autodiff import parts
from .structure import broadcast_in_dim


def bind_while(
    primitive: Primitive,
    cond: ClosedJaxpr,
    cond_consts: Sequence[Any],
    body: ClosedJaxpr,
    body_consts: Sequence[Any],
    init: Sequence[Any],
) -> list[Any]:
    """Bind a while loop; arrays that the jaxprs hold become operands."""
    cond_consts, body_consts = [*cond.consts, *cond_consts], [*body.consts, *body_consts]
    return primitive.bind(
        *cond_consts,
        *body_consts,
        *init,
        cond_jaxpr=_opened(cond),
        cond_nconsts=len(cond_consts),
        body_jaxpr=_opened(body),
        body_nconsts=len(body_consts),
    )


def _opened(closed: ClosedJaxpr) -> ClosedJaxpr:
    if not closed.consts:
        return closed
    return closed.derived("opened", lambda: close_with_vars(closed.jaxpr))


def _parts(items: Sequence[Any], params: dict) -> list[list[Any]]:
    """`(cond_consts, body_consts, init)` of a list of operands."""
    return parts(items, params["cond_nconsts"], params["body_nconsts"])


# --- types and values ----------------------------------------------------------------------


def _abstract(
    *avals: Any,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> list[Any]:
    cond_consts, body_consts, init = parts(avals, cond_nconsts, body_nconsts)
    for what, have, want in (
        ("operands of cond_jaxpr", [*cond_consts, *init], cond_jaxpr.in_avals),
        ("operands of body_jaxpr", [*body_consts, *init], body_jaxpr.in_avals),
        ("results of body_jaxpr", body_jaxpr.out_avals, body_jaxpr.in_avals[body_nconsts:]),
    ):
        if len(have) != len(want) or not all(
            a == w or w.same_type(a) for a, w in zip(have, want, strict=True)
        ):
            raise TypeError(
                f"while: the {what} are {[str(a) for a in have]} where "
                f"{[str(w) for w in want]} are due"
            )
    return body_jaxpr.out_avals


def run(
    *args: Any,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> list[Any]:
    """Run the loop on concrete operands, operation by operation."""
    cond_consts, body_consts, carry = parts(args, cond_nconsts, body_nconsts)
    while True:
        (holds,) = eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *cond_consts, *carry)
        if not np.any(np.asarray(eager.to_numpy(holds))):
            return carry
        new = eval_jaxpr(body_jaxpr.jaxpr, body_jaxpr.consts, *body_consts, *carry)
        if get_aval(holds).shape:
            new = [_where(holds, n, c) for n, c in zip(new, carry, strict=True)]
        carry = new


def _where(holds: Any, new: Any, old: Any) -> Any:
    shape = get_aval(new).shape
    n = len(get_aval(holds).shape)
    if len(shape) > n:
        holds = broadcast_in_dim(holds, shape, tuple(range(n)))
    return ops["select_n"].bind(holds, old, new)


def _reference(*args: Any, **params: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in run(*args, **params)]


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    if config.disable_jit.value:
        outs = run(*args, **params)
        return [retyped(o, a) for o, a in zip(outs, params["body_jaxpr"].out_avals, strict=True)]
    return run_structured(primitive, args, params)


# --- differentiation -----------------------------------------------------------------------


def _with_inputs(closed: ClosedJaxpr, invars: Sequence[Var]) -> ClosedJaxpr:
    return closed.replace(jaxpr=closed.jaxpr.replace(invars=list(invars)))


def _jvp_parts(params: dict, nonzero: tuple[bool, ...]) -> Any:
    """The body and the predicate with tangents, and which carries have one."""
    cond, body, n = params["cond_jaxpr"], params["body_jaxpr"], params["body_nconsts"]
    m = params["cond_nconsts"]

    def make() -> Any:
        consts, live = list(nonzero[:n]), list(nonzero[n:])
        while True:
            new, out = jvp_jaxpr(body, (*consts, *live), tuple(live))
            if out == live:
                break
            live = [a or b for a, b in zip(live, out, strict=True)]
        primals, tangents = parts(new.jaxpr.invars, len(body.in_avals))
        c, k = parts(primals, n)
        ct, kt = parts(tangents, sum(consts))
        more = [Var(v.aval) for v in kt]
        test = _with_inputs(cond, [*cond.jaxpr.invars, *more])
        return _with_inputs(new, [*c, *ct, *k, *kt]), test, live

    return body.derived(("while jvp", nonzero, n, m, id(cond)), lambda: (make(), cond))[0]


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """Tangents are carried beside their values."""
    cond_consts, body_consts, init = _parts(primals, params)
    _, body_t, init_t = _parts(tangents, params)
    nonzero = tuple(type(t) is not Zero for t in [*body_t, *init_t])
    body, cond, live = _jvp_parts(params, nonzero)
    body_consts += [t for t in body_t if type(t) is not Zero]
    init += [instantiate(t) for t, nz in zip(init_t, live, strict=True) if nz]
    outs = bind_while(primitive, cond, cond_consts, body, body_consts, init)
    n = len(live)
    it = iter(outs[n:])
    return outs[:n], [next(it) if nz else Zero.of(o) for o, nz in zip(outs[:n], live, strict=True)]


class _Split:
    """A loop of which some operands are unknown: the loop over those carries that are known, and
    what of the body does not change from one iteration to the next (`invariant`)."""

    __slots__ = ("body", "carry_unknown", "cond", "invariant", "staged")

    def __init__(self, params: dict, unknown: tuple[bool, ...]):
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        _, consts, carry = _parts(unknown, params)
        while True:
            out = partial_eval_jaxpr(body, (*consts, *carry), (*carry,)).unknown_out
            if out == carry:
                break
            carry = out
        self.carry_unknown = carry
        self.body = self.cond = self.invariant = None
        m = params["cond_nconsts"]
        known_body, _ = dce_jaxpr(body.jaxpr, [not u for u in carry], keep_inputs=True)
        test = cond.jaxpr.invars
        reads = {a for e in cond.eqns for a in e.invars if type(a) is Var} | {
            a for a in cond.jaxpr.outvars if type(a) is Var
        }
        depends = any(unknown[:m]) or any(
            u and v in reads for u, v in zip(carry, test[m:], strict=True)
        )
        if depends or body.effects or cond.effects:
            self.carry_unknown = [True] * len(carry)
        elif not all(carry):
            keep = [not u for u in (*consts, *carry)]
            self.body = body.replace(
                jaxpr=known_body.replace(
                    invars=[v for v, k in zip(known_body.invars, keep, strict=True) if k]
                )
            )
            self.cond = _with_inputs(
                cond,
                [*test[:m], *[v for v, u in zip(test[m:], carry, strict=True) if not u]],
            )
        # once more with nothing of the carry known: what is left depends on constants alone
        flags = (*consts, *(True,) * len(carry))
        halves = split_free(
            partial_eval_jaxpr(body, flags, (True,) * len(carry)), [True] * consts.count(False)
        )
        if halves.known.eqns and not halves.known.effects:
            self.invariant, self.staged = halves.known, halves.staged


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    """Carries that are known, and on which alone the predicate depends, are computed now; the
    staged loop computes them again beside the unknown ones, with what is invariant taken out."""
    unknown = tuple(map(trace.is_unknown, args))
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    key = ("while split", unknown, params["cond_nconsts"], id(cond))
    s: _Split = body.derived(key, lambda: (_Split(params, unknown), cond))[0]
    cond_consts, body_consts, init = _parts(args, params)
    _, consts_u, _ = _parts(unknown, params)
    known_out: list[Any] = []
    if s.body is not None:
        assert s.cond is not None
        with set_trace(trace.parent):
            known_out = bind_while(
                primitive,
                s.cond,
                cond_consts,
                s.body,
                [x for x, u in zip(body_consts, consts_u, strict=True) if not u],
                [x for x, u in zip(init, s.carry_unknown, strict=True) if not u],
            )
        if not any(s.carry_unknown):
            return known_out
    if s.invariant is not None:
        known_consts = [x for x, u in zip(body_consts, consts_u, strict=True) if not u]
        with set_trace(trace.parent):
            made = eval_jaxpr(s.invariant.jaxpr, s.invariant.consts, *known_consts)
        body = s.staged
        body_consts = [
            *made,
            *[x for x, u in zip(body_consts, consts_u, strict=True) if u],
        ]
    with set_trace(trace.staging):
        outs = bind_while(primitive, cond, cond_consts, body, body_consts, init)
    known = iter(known_out)
    return [o if u else next(known) for o, u in zip(outs, s.carry_unknown, strict=True)]


REVERSE = (
    "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic "
    "start/stop values: the number of iterations is not known, and so is not the memory for what "
    "the backward pass needs. Try using lax.scan, or using fori_loop with static start/stop, or "
    "give a bound with lax.bounded_while_loop."
)


class _ForwardOnly(Absent):
    """The transpose that does not exist, with JAX's type of error."""

    def __call__(self, primitive: Primitive, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(self.reason)


# --- batching ------------------------------------------------------------------------------


def _batched_at(
    closed: ClosedJaxpr,
    axis: Any,
    dims: tuple[int | None, ...],
    want: tuple[bool, ...],
    at: int,
) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr over batched inputs, with the batch axes of its outputs at position `at`; and
    which outputs are batched. Those `want`ed are, in any case. Remembered with `closed`."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        found: list[bool] = []

        def f(*args: Any) -> list[Any]:
            outs, ds = batch_flat(
                lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis, args, dims
            )
            found[:] = [w or d is not None for w, d in zip(want, ds, strict=True)]
            return [
                move_batch_axis(axis.size, d, at, o) if b else o
                for o, d, b in zip(outs, ds, found, strict=True)
            ]

        avals = [
            a if d is None else batched(a, d, axis.size)
            for a, d in zip(closed.in_avals, dims, strict=True)
        ]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info), found

    return closed.derived(("while batch", axis, dims, want, at), make)


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """Carries that come to be batched are batched from the start; all are, if the predicate is.

    A predicate that had batch axes already keeps them in front: new ones of the carry follow them.
    """
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, init = _parts(list(zip(args, dims, strict=True)), params)
    cond_dims = tuple(None if d is None else 0 for _, d in cond_consts)
    body_dims = tuple(None if d is None else 0 for _, d in body_consts)
    rank = len(cond.out_avals[0].shape)
    carry = [d is not None for _, d in init]
    at, predicate = rank, False
    while True:
        carry_dims = tuple(at if b else None for b in carry)
        new_body, found = _batched_at(body, axis, (*body_dims, *carry_dims), tuple(carry), at)
        if found != carry:
            carry = found
            continue
        if predicate:
            break
        ds = (*cond_dims, *carry_dims)
        if batch_jaxpr(cond, axis, ds)[1][0] is None:
            break
        # a new axis of the predicate leads all others, there and in the carry
        at, predicate, carry = 0, True, [True] * len(carry)
    new_cond, _ = batch_jaxpr(cond, axis, (*cond_dims, *carry_dims), predicate)
    size = axis.size
    outs = bind_while(
        primitive,
        new_cond,
        [x if d is None else move_batch_axis(size, d, 0, x) for x, d in cond_consts],
        new_body,
        [x if d is None else move_batch_axis(size, d, 0, x) for x, d in body_consts],
        [
            move_batch_axis(size, d, at, x) if b else x
            for (x, d), b in zip(init, carry, strict=True)
        ],
    )
    return outs, [at if b else None for b in carry]


# --- errors --------------------------------------------------------------------------------


def _checkify(
    primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
) -> list[Any]:
    """The error is carried; what fails in the predicate is noted where it is computed, once before
    the loop and then at the end of the body."""
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    in_cond = bool(checks_in(trace.enabled, cond).sites) or has_checks(cond)
    cond_consts, body_consts, init = _parts(args, params)
    m, n = len(cond_consts), len(body_consts)
    if in_cond:
        with set_trace(trace):
            eval_jaxpr(cond.jaxpr, cond.consts, *cond_consts, *init)

        def step() -> ClosedJaxpr:
            def f(*xs: Any) -> list[Any]:
                outs = eval_jaxpr(body.jaxpr, body.consts, *xs[m:])
                eval_jaxpr(cond.jaxpr, cond.consts, *xs[:m], *outs)
                return outs

            avals = [*cond.in_avals[:m], *body.in_avals]
            return trace_to_closed(f, avals, body.jaxpr.debug_info)

        key = ("while step", id(cond), m)
        body = body.derived(key, lambda: (step(), cond))[0]
        body_consts = [*cond_consts, *body_consts]
        n += m
    threaded = through(trace, body)
    if threaded is None:
        return primitive.bind(*args, **params)
    if cond.out_avals[0].shape:
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while). \n"
            "Hint: if possible, move the vmap to the outer level to get "
            "vmap-of-checkify-of-while."
        )
    error, (new,), apart = threaded
    more = [Var(get_aval(e)) for e in error]
    clean = without_checks(cond, trace.enabled)
    v = clean.jaxpr.invars
    test = _with_inputs(clean, [*v[:m], *more, *v[m:]])
    return apart(
        bind_while(
            primitive,
            test,
            cond_consts,
            moved_inputs(new, len(error), n),
            body_consts,
            [*error, *init],
        )
    )


# --- dead code -----------------------------------------------------------------------------


def _dce(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    """Drop carries that neither a used result nor the predicate depends on, and unread operands."""
    p = eqn.params
    cond, body, m, n = p["cond_jaxpr"], p["body_jaxpr"], p["cond_nconsts"], p["body_nconsts"]
    if not any(used) and not cond.effects and not body.effects:
        return None
    test, test_reads = dce_jaxpr(cond.jaxpr, [True], keep_inputs=True)
    keep = [u or r for u, r in zip(used, test_reads[m:], strict=True)]
    while True:
        step, reads = dce_jaxpr(body.jaxpr, keep, keep_inputs=True)
        new = [a or b for a, b in zip(keep, reads[n:], strict=True)]
        if new == keep:
            break
        keep = new
    test_keep, step_keep = [*test_reads[:m], *keep], [*reads[:n], *keep]

    def restricted(closed: ClosedJaxpr, jaxpr: Any, flags: list[bool]) -> ClosedJaxpr:
        kept = [v for v, k in zip(jaxpr.invars, flags, strict=True) if k]
        return closed.derived(
            ("while dce", *flags), lambda: closed.replace(jaxpr=jaxpr.replace(invars=kept))
        )

    flags = [*test_reads[:m], *reads[:n], *keep]
    return eqn.replace(
        invars=[a for a, k in zip(eqn.invars, flags, strict=True) if k],
        outvars=[
            v if u else DropVar(v.aval)
            for v, u, k in zip(eqn.outvars, used, keep, strict=True)
            if k
        ],
        params={
            "cond_jaxpr": restricted(cond, test, test_keep),
            "cond_nconsts": sum(test_reads[:m]),
            "body_jaxpr": restricted(body, step, step_keep),
            "body_nconsts": sum(reads[:n]),
        },
    )


# --- the primitive -------------------------------------------------------------------------


def _samples() -> Iterator[Sample]:
    f, i = np.dtype(np.float32), np.dtype(np.int32)
    vector, scalar, index = ShapedArray((3,), f), ShapedArray((), f), ShapedArray((), i)
    add, mul, sin, lt = (ops[n].bind for n in ("add", "mul", "sin", "lt"))

    def loop(cond: Any, cond_avals: list, body: Any, body_avals: list, carry: list) -> dict:
        return {
            "cond_jaxpr": trace_to_closed(lambda *xs: [cond(*xs)], [*cond_avals, *carry]),
            "cond_nconsts": len(cond_avals),
            "body_jaxpr": trace_to_closed(lambda *xs: list(body(*xs)), [*body_avals, *carry]),
            "body_nconsts": len(body_avals),
        }

    count = loop(
        lambda n, k, x: lt(k, n),
        [index],
        lambda w, k, x: [add(k, np.int32(1)), mul(sin(x, accuracy=None), w)],
        [vector],
        [index, vector],
    )
    for n in (0, 1, 4):
        yield Sample(np.int32(n), ((3,), f), np.int32(0), ((3,), f), **count)
    grow = loop(
        lambda x, y: lt(x, np.float32(20)),
        [],
        lambda x, y: [add(mul(x, x), np.float32(1)), mul(x, y)],
        [],
        [scalar, scalar],
    )
    yield Sample(((), f), ((), f), low=1.0, high=2.0, **grow)


while_p = Primitive(
    "while",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    partial_eval=_partial_eval,
    transpose=_ForwardOnly(REVERSE),
    batch=_batch,
    dce=_dce,
    checkify=_checkify,
    effects=lambda cond_jaxpr, body_jaxpr, **_: cond_jaxpr.effects | body_jaxpr.effects,
    axis_names=lambda p: (*axis_names(p["cond_jaxpr"]), *axis_names(p["body_jaxpr"])),
    samples=_samples,
)

__all__ = ["REVERSE", "bind_while", "while_p"]
