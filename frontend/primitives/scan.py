"""scan: a loop that carries values, reads a slice of its inputs and writes one of its outputs.

Operands are `(*consts, *init, *xs)`, results `(*carry, *ys)`; the body is a closed jaxpr
`(*consts, *carry, *slices of xs) -> (*carry, *slices of ys)`. `unroll` says how many steps the
compiled loop does at a time.

`scan_autodiff.py` has the rules of differentiation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import config, dtypes, eager
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, axis_names
from ..core.primitive import Primitive, Sample
from ..core.staging import trace_to_closed
from ..transforms.batching import batch_jaxpr, move_batch_axis
from ..transforms.checkify import CheckifyTrace, moved_inputs, through
from ..transforms.partial_eval import dce_closed
from ..transforms.programs import run_structured
from .declare import ops, reshape
from .scan_autodiff import (
    jvp_scan,
    partial_eval_scan,
    parts,
    rebind,
    split_scan,
    stacked,
    transpose_scan,
)

# --- types ---------------------------------------------------------------------------------


def _abstract(
    *avals: Any,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    unroll: int,
) -> list[Any]:
    want = operand_avals(jaxpr, length, num_consts, num_carry)
    if len(avals) != len(want):
        raise TypeError(f"scan: {len(avals)} operands for a body that takes {len(want)}")
    for i, (a, w) in enumerate(zip(avals, want, strict=True)):
        if not (a == w or w.same_type(a)):
            kind = (
                "const" if i < num_consts else "carry" if i < num_consts + num_carry else "scanned"
            )
            raise TypeError(f"scan: operand {i} ({kind}) is {a} where the body needs {w}")
    carry, ys = parts(jaxpr.out_avals, num_carry)
    return [*carry, *[stacked(a, length) for a in ys]]


def operand_avals(jaxpr: ClosedJaxpr, length: int, num_consts: int, num_carry: int) -> list[Any]:
    """The avals of a scan's operands."""
    n = num_consts + num_carry
    avals = jaxpr.in_avals
    return [*avals[:n], *[stacked(a, length) for a in avals[n:]]]


# --- running -------------------------------------------------------------------------------


def element(x: Any, i: int) -> Any:
    """`x[i]` of a concrete array of any dtype, a static index along the first axis."""
    shape = get_aval(x).shape
    piece = ops["slice"].bind(
        x,
        start_indices=(i, *(0,) * (len(shape) - 1)),
        limit_indices=(i + 1, *shape[1:]),
        strides=None,
    )
    return ops["squeeze"].bind(piece, dimensions=(0,))


def stack(elements: Sequence[Any], aval: ShapedArray) -> Any:
    """Arrays of the type `aval` along a new first axis."""
    if not elements:
        empty = stacked(aval, 0)
        if dtypes.is_extended(aval.dtype):
            shape = (*empty.shape, *aval.dtype.physical_shape)
            return eager.from_numpy(np.zeros(shape, aval.dtype.physical_dtype), empty)
        return eager.from_numpy(np.zeros(empty.shape, aval.dtype), empty)
    rows = [reshape_row(e) for e in elements]
    return ops["concatenate"].bind(*rows, dimension=0) if len(rows) > 1 else rows[0]


def reshape_row(x: Any) -> Any:
    """`x` with a first axis of size 1."""
    return reshape(eager.as_array(x), (1, *get_aval(x).shape))


def run(
    args: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    unroll: int = 1,
) -> list[Any]:
    """The loop step by step on concrete arguments."""
    consts, carry, xs = parts(args, num_consts, num_carry)
    ys: list[list[Any]] = []
    for i in steps(length, reverse):
        slices = [element(x, i) for x in xs]
        outs = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *consts, *carry, *slices)
        carry, y = parts(outs, num_carry)
        ys.append(y)
    if reverse:
        ys.reverse()
    avals = jaxpr.out_avals[num_carry:]
    columns = [stack([row[k] for row in ys], a) for k, a in enumerate(avals)]
    return [*carry, *columns]


def steps(length: int, reverse: bool) -> Iterator[int]:
    """The positions in the order in which they are visited."""
    return iter(range(length - 1, -1, -1) if reverse else range(length))


def _reference(*args: Any, **params: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in run(args, **params)]


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    if config.disable_jit.value:
        outs = run(args, **params)
        avals = primitive.abstract_eval(*[get_aval(a) for a in args], **params)
        return [_typed(o, a) for o, a in zip(outs, avals, strict=True)]
    return run_structured(primitive, args, params)


def _typed(x: Any, aval: Any) -> Any:
    """A result of the interpreter with the weak type that was promised."""
    x = eager.as_array(x)
    if type(x) is ArrayImpl and x.weak_type != aval.weak_type:
        return eager.from_numpy(x._numpy(), aval)
    return x


# --- batching ------------------------------------------------------------------------------


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """Carries that come to be batched are batched from the start."""
    closed, nc, nk = params["jaxpr"], params["num_consts"], params["num_carry"]
    const_dims, init_dims, xs_dims = parts([d is not None for d in dims], nc, nk)

    def make() -> Any:
        carry = list(init_dims)
        ys: list[bool] = [False] * (len(closed.out_avals) - nk)
        while True:
            flags = [*const_dims, *carry, *xs_dims]
            body, outs = batch_jaxpr(
                closed, axis, tuple(0 if b else None for b in flags), (*carry, *ys)
            )
            new = [a or d is not None for a, d in zip([*carry, *ys], outs, strict=True)]
            if new == [*carry, *ys]:
                return body, carry, ys
            carry, ys = new[:nk], new[nk:]

    body, carry, ys = closed.derived(
        ("scan batch", axis, nc, nk, *[d is not None for d in dims]), make
    )
    consts, init, xs = parts(list(zip(args, dims, strict=True)), nc, nk)
    size = axis.size
    ins = [x if d is None else move_batch_axis(size, d, 0, x) for x, d in consts]
    ins += [move_batch_axis(size, d, 0, x) if b else x for (x, d), b in zip(init, carry)]
    ins += [x if d is None else move_batch_axis(size, d, 1, x) for x, d in xs]
    outs = rebind(primitive, body, ins, params)
    return outs, [0 if b else None for b in carry] + [1 if b else None for b in ys]


# --- errors --------------------------------------------------------------------------------


def _checkify(
    primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
) -> list[Any]:
    """The error is carried."""
    threaded = through(trace, params["jaxpr"])
    if threaded is None:
        return primitive.bind(*args, **params)
    error, (jaxpr,), apart = threaded
    k, n = len(error), params["num_consts"]
    moved = moved_inputs(jaxpr, k, n)
    new = {**params, "jaxpr": moved, "num_carry": params["num_carry"] + k}
    return apart(primitive.bind(*args[:n], *error, *args[n:], **new))


# --- dead code -----------------------------------------------------------------------------


def _dce(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    """Drop results that nothing reads, carries that only feed themselves, operands not read."""
    closed, nc, nk = eqn.params["jaxpr"], eqn.params["num_consts"], eqn.params["num_carry"]
    carry, ys = list(used[:nk]), list(used[nk:])
    while True:
        body, read = dce_closed(closed, (*carry, *ys))
        new = [a or b for a, b in zip(carry, read[nc : nc + nk], strict=True)]
        if new == carry:
            break
        carry = new
    if not any(carry) and not any(ys) and not body.effects:
        return None
    keep = [*read[:nc], *carry, *read[nc + nk :]]
    kept = [v for v, k in zip(closed.jaxpr.invars, keep, strict=True) if k]
    body = closed.derived(
        ("scan dce", *carry, *ys, nc, nk),
        lambda: body.replace(jaxpr=body.jaxpr.replace(invars=kept)),
    )
    return eqn.replace(
        invars=[a for a, k in zip(eqn.invars, keep, strict=True) if k],
        outvars=[
            v if u else DropVar(v.aval)
            for v, u, k in zip(eqn.outvars, used, [*carry, *ys], strict=True)
            if k
        ],
        params={**eqn.params, "jaxpr": body, "num_consts": sum(read[:nc]), "num_carry": sum(carry)},
    )


# --- the primitive -------------------------------------------------------------------------


def _body(f: Any, *avals: tuple) -> ClosedJaxpr:
    return trace_to_closed(f, [ShapedArray(s, np.dtype(d)) for s, d in avals])


def _samples() -> Iterator[Sample]:
    f, i = "float32", "int32"
    add, mul, sin = ops["add"].bind, ops["mul"].bind, ops["sin"].bind

    def sine(x: Any) -> Any:
        return sin(x, accuracy=None)

    one = _body(
        lambda w, c, x: [sine(add(mul(c, w), x)), mul(c, x)], ((3,), f), ((3,), f), ((3,), f)
    )
    count = _body(lambda n, c, x: [add(n, np.int32(1)), mul(c, x), n], ((), i), ((), f), ((), f))
    only = _body(lambda x: [mul(x, x)], ((2,), f))
    for length, reverse, unroll in [(4, False, 1), (5, True, 2), (1, False, 1), (0, True, 1)]:
        more: Any = {"length": length, "reverse": reverse, "unroll": unroll}
        yield Sample(
            ((3,), f), ((3,), f), ((length, 3), f), jaxpr=one, num_consts=1, num_carry=1, **more
        )
        yield Sample(
            ((), i), ((), f), ((length,), f), jaxpr=count, num_consts=0, num_carry=2, **more
        )
        yield Sample(((length, 2), f), jaxpr=only, num_consts=0, num_carry=0, **more)


scan_p = Primitive(
    "scan",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=jvp_scan,
    transpose=transpose_scan,
    batch=_batch,
    partial_eval=partial_eval_scan,
    split=split_scan,
    dce=_dce,
    checkify=_checkify,
    effects=lambda jaxpr, **_: jaxpr.effects,
    axis_names=lambda params: axis_names(params["jaxpr"]),
    samples=_samples,
)
