"""Rules of scan's differentiation: tangents, partial evaluation, transposition.

Each needs to know which carries have a tangent (or are unknown, or linear), which depends on itself
through the loop: the smallest answer is found by iteration from what the operands say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr, jaxpr_as_fun
from ..core.jaxpr import ClosedJaxpr, Literal, Var, close_with_vars
from ..core.primitive import Primitive
from ..core.rules import Zero, instantiate, is_undefined
from ..core.staging import trace_to_closed
from ..core.trace import set_trace
from ..transforms.jvp import jvp_jaxpr
from ..transforms.partial_eval import dce_closed, partial_eval_jaxpr
from ..transforms.recompute import Pair, Splitter, split_jaxpr
from ..transforms.residuals import split_free
from ..transforms.transpose import backward_pass
from .declare import ops


def parts(items: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Consecutive pieces of the given sizes, and what remains."""
    out, i = [], 0
    for n in sizes:
        out.append(list(items[i : i + n]))
        i += n
    return [*out, list(items[i:])]


def chosen(items: Sequence[Any], flags: Sequence[bool], value: bool = True) -> list[Any]:
    """The items whose flag is `value`."""
    return [x for x, f in zip(items, flags, strict=True) if f == value]


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """The aval of `length` values along a new first axis."""
    return aval.update(shape=(length, *aval.shape))


def rebind(primitive: Primitive, body: ClosedJaxpr, args: Sequence[Any], params: dict) -> list[Any]:
    """Bind with another body; arrays that the body holds become operands.

    `params` has the new `num_consts` and `num_carry`, those arrays not counted.
    """
    if body.consts:
        opened = body.derived("opened", lambda: close_with_vars(body.jaxpr))
        params = {**params, "num_consts": params["num_consts"] + len(body.consts)}
        return primitive.bind(*body.consts, *args, **{**params, "jaxpr": opened})
    return primitive.bind(*args, **{**params, "jaxpr": body})


def permuted(closed: ClosedJaxpr, invars: Sequence[Any], outvars: Sequence[Any]) -> ClosedJaxpr:
    """A jaxpr with other lists of inputs and outputs."""
    return closed.replace(jaxpr=closed.jaxpr.replace(invars=list(invars), outvars=list(outvars)))


# --- tangents ------------------------------------------------------------------------------


def jvp_scan(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """Tangents of carries are carried beside them."""
    closed, nc, nk = params["jaxpr"], params["num_consts"], params["num_carry"]
    nonzero = tuple(type(t) is not Zero for t in tangents)
    body, live, ys_live = closed.derived(
        ("scan jvp", nonzero, nc, nk), lambda: _jvp_body(closed, nonzero, nc, nk)
    )
    consts, init, xs = parts(primals, nc, nk)
    consts_t, init_t, xs_t = parts(tangents, nc, nk)
    consts += [t for t in consts_t if type(t) is not Zero]
    init += [instantiate(t) for t in chosen(init_t, live)]
    xs += [t for t in xs_t if type(t) is not Zero]
    new = {**params, "num_consts": len(consts), "num_carry": len(init)}
    outs = rebind(primitive, body, [*consts, *init, *xs], new)
    carry, carry_t, ys, ys_t = parts(outs, nk, sum(live), len(ys_live))
    out = [*carry, *ys]
    it = iter([*carry_t, *ys_t])
    return out, [
        next(it) if nz else Zero.of(o) for o, nz in zip(out, [*live, *ys_live], strict=True)
    ]


def _jvp_body(closed: ClosedJaxpr, nonzero: tuple[bool, ...], nc: int, nk: int) -> Any:
    consts, live, xs = parts(nonzero, nc, nk)
    ys = len(closed.out_avals) - nk
    while True:
        body, out = jvp_jaxpr(closed, (*consts, *live, *xs), (*live, *(False,) * ys))
        new = [a or b for a, b in zip(live, out[:nk], strict=True)]
        if new == live:
            break
        live = new
    primals, tangents = parts(body.jaxpr.invars, len(closed.in_avals))
    c, k, x = parts(primals, nc, nk)
    ct, kt, xt = parts(tangents, sum(consts), sum(live))
    k_out, y_out, kt_out, yt_out = parts(body.jaxpr.outvars, nk, ys, sum(live))
    body = permuted(body, [*c, *ct, *k, *kt, *x, *xt], [*k_out, *kt_out, *y_out, *yt_out])
    return body, live, out[nk:]


# --- partial evaluation --------------------------------------------------------------------


class _Halves:
    """A scan split in two, with what is the same in all steps of the known one taken out of it.

    `prelude` maps the known consts to values that do not change; the lists say where others find
    them: ("const", i) the i-th known const, ("prelude", i) the i-th result of the prelude,
    ("xs", i) the i-th known xs, ("ys", i) the i-th stacked result of the known loop, ("value", v) a
    literal.
    """

    __slots__ = (
        "carry_unknown", "known", "known_consts", "known_ys", "prelude", "staged",
        "staged_consts", "staged_xs", "ys_unknown",
    )  # fmt: skip
    prelude: ClosedJaxpr
    known: ClosedJaxpr
    staged: ClosedJaxpr
    carry_unknown: list[bool]
    ys_unknown: list[bool]
    known_consts: list[tuple[str, Any]]
    #: of the known ys that the program itself has: which stacked result is it
    known_ys: list[int]
    staged_consts: list[tuple[str, Any]]
    staged_xs: list[tuple[str, Any]]


def split_body(closed: ClosedJaxpr, unknown: tuple[bool, ...], nc: int, nk: int) -> _Halves:
    """Split a body by which operands are unknown. Remembered with `closed`, which has no consts."""
    return closed.derived(("scan split", unknown, nc, nk), lambda: _split(closed, unknown, nc, nk))


def _split(closed: ClosedJaxpr, unknown: tuple[bool, ...], nc: int, nk: int) -> _Halves:
    h = _Halves()
    consts, carry, xs = parts(unknown, nc, nk)
    ny = len(closed.out_avals) - nk
    while True:
        flags = (*consts, *carry, *xs)
        pieces = partial_eval_jaxpr(closed, flags, (*carry, *(False,) * ny))
        new = pieces.unknown_out[:nk]
        if new == carry:
            break
        carry = new
    h.carry_unknown, h.ys_unknown = carry, pieces.unknown_out[nk:]
    kc, kk, kx = (flags_.count(False) for flags_ in (consts, carry, xs))
    at_hand = [True] * kc + [False] * kk + [True] * kx
    first = split_free(pieces, at_hand)
    outputs, ys = kk, len(first.known_outs)
    # What depends on consts alone is computed before the loop, unless it is free.
    known = first.known
    loop_outs = [True] * ys + [False] * len(first.residuals)
    second = split_free(
        partial_eval_jaxpr(
            known, (*(False,) * kc, *(True,) * (kk + kx)), tuple(loop_outs), effects_later=True
        ),
        [True] * kc,
    )
    _describe(h, first, second, kc, kk, kx, outputs)
    n = len(first.residuals)
    const_in, unknown_in = parts(h.staged.jaxpr.invars, n)
    uc, uk, ux = parts(unknown_in, consts.count(True), carry.count(True))
    sources = h.staged_consts
    same = [kind in ("const", "prelude", "value") for kind, _ in sources]
    invars = [*chosen(const_in, same), *uc, *uk, *chosen(const_in, same, False), *ux]
    h.staged_consts, h.staged_xs = chosen(sources, same), chosen(sources, same, False)
    h.staged = permuted(h.staged, invars, h.staged.jaxpr.outvars)
    return h


def _describe(h: _Halves, first: Any, second: Any, kc: int, kk: int, kx: int, nk: int) -> None:
    """Fill in the prelude, the known loop, and where the staged loop finds its residuals."""
    # the prelude: residuals of the second split, and values that are no result of the loop
    before = second.known.jaxpr
    place: dict[Any, int] = {}
    consts = {v: i for i, v in enumerate(before.invars)}

    def source(a: Any) -> tuple[str, Any]:
        if isinstance(a, Literal):
            return ("value", a.val)
        if a in consts:
            return ("const", consts[a])
        return ("prelude", place.setdefault(a, len(place)))

    h.known_consts = [source(a) for a in second.residuals]
    fixed = iter([source(a) for a in second.known_outs])

    # the known loop: carries and ys that are results of the program, then stacked residuals
    loop = second.staged.jaxpr
    r = len(second.residuals)
    loop_consts = {v: h.known_consts[i] for i, v in enumerate(loop.invars[:r])}
    scanned = {v: i for i, v in enumerate(loop.invars[r + kk :])}
    n_results = len(first.known_outs)
    carry_out, rest = list(loop.outvars[:nk]), iter(loop.outvars[nk:])
    columns: dict[Any, int] = {}
    ys: list[Any] = []

    def column(a: Any) -> int:
        key = id(a) if isinstance(a, Literal) else a
        if key not in columns:
            columns[key] = len(ys)
            ys.append(a)
        return columns[key]

    h.known_ys = [column(next(rest)) for _ in range(n_results - nk)]
    sources: list[tuple[str, Any]] = []
    for u in second.unknown_out[n_results:]:
        if not u:
            sources.append(next(fixed))
            continue
        a = next(rest)
        if isinstance(a, Literal):
            sources.append(("value", a.val))
        elif a in loop_consts:
            sources.append(loop_consts[a])
        elif a in scanned:
            sources.append(("xs", scanned[a]))
        else:
            sources.append(("ys", column(a)))
    h.staged_consts = sources
    h.staged = first.staged
    h.known = permuted(second.staged, loop.invars, [*carry_out, *ys])
    h.prelude, _ = dce_closed(
        permuted(second.known, before.invars, list(place)), (True,) * len(place)
    )
    h.prelude = permuted(h.prelude, before.invars, h.prelude.jaxpr.outvars)


def run_known(
    primitive: Primitive, h: _Halves, args: Sequence[Any], unknown: Sequence[bool], params: dict
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Run prelude and known loop: known carries, known ys, and the staged loop's residuals."""
    nc, nk = params["num_consts"], params["num_carry"]
    consts, init, xs = parts(args, nc, nk)
    consts_u, _, xs_u = parts(unknown, nc, nk)
    known_consts, known_xs = chosen(consts, consts_u, False), chosen(xs, xs_u, False)
    values: dict[str, list[Any]] = {"const": known_consts, "xs": known_xs}
    values["prelude"] = eval_jaxpr(h.prelude.jaxpr, h.prelude.consts, *known_consts)

    def find(source: tuple[str, Any]) -> Any:
        kind, i = source
        return i if kind == "value" else values[kind][i]

    loop_consts = [find(s) for s in h.known_consts]
    known_init = chosen(init, h.carry_unknown, False)
    outs: list[Any] = []
    if h.known.jaxpr.outvars or h.known.effects:
        new = {**params, "num_consts": len(loop_consts), "num_carry": len(known_init)}
        outs = rebind(primitive, h.known, [*loop_consts, *known_init, *known_xs], new)
    carry, values["ys"] = parts(outs, len(known_init))
    ys = [values["ys"][i] for i in h.known_ys]
    return carry, ys, [find(s) for s in h.staged_consts], [find(s) for s in h.staged_xs]


def opened(args: Sequence[Any], params: dict) -> tuple[list[Any], dict]:
    """Operands and parameters with a body that holds no arrays."""
    closed = params["jaxpr"]
    if not closed.consts:
        return list(args), params
    body = closed.derived("opened", lambda: close_with_vars(closed.jaxpr))
    more = {"jaxpr": body, "num_consts": params["num_consts"] + len(closed.consts)}
    return [*closed.consts, *args], {**params, **more}


def partial_eval_scan(
    primitive: Primitive, trace: Any, args: Sequence[Any], params: dict
) -> list[Any]:
    """A known loop now, and a staged one that reads what the known one stored."""
    args, params = opened(args, params)
    nc, nk = params["num_consts"], params["num_carry"]
    unknown = tuple(trace.is_unknown(a) for a in args)
    h = split_body(params["jaxpr"], unknown, nc, nk)
    with set_trace(trace.parent):
        carry, ys, residuals, residual_xs = run_known(primitive, h, args, unknown, params)
    consts, init, xs = parts(args, nc, nk)
    consts_u, _, xs_u = parts(unknown, nc, nk)
    staged_consts = [*residuals, *chosen(consts, consts_u)]
    staged_init = chosen(init, h.carry_unknown)
    staged_xs = [*residual_xs, *chosen(xs, xs_u)]
    new = {**params, "num_consts": len(staged_consts), "num_carry": len(staged_init)}
    staged_carry: list[Any] = []
    staged_ys: list[Any] = []
    if h.staged.jaxpr.outvars or h.staged.effects:
        with set_trace(trace.staging):
            outs = rebind(primitive, h.staged, [*staged_consts, *staged_init, *staged_xs], new)
        staged_carry, staged_ys = parts(outs, len(staged_init))
    return [
        *merged(h.carry_unknown, staged_carry, carry),
        *merged(h.ys_unknown, staged_ys, ys),
    ]


def split_scan(
    primitive: Primitive, splitter: Splitter, ins: Sequence[Pair], params: dict
) -> list[Pair]:
    """Partial evaluation under a policy: the known loop gives what the policy saves in each step,
    the staged one is the whole loop, which reads that instead of computing it."""
    holds = len(params["jaxpr"].consts)
    known_args, params = opened([k for k, _ in ins], params)
    args = [*known_args[:holds], *[s for _, s in ins]]
    closed, nc, nk = params["jaxpr"], params["num_consts"], params["num_carry"]
    consts_u, carry_u, xs_u = parts([k is None for k in known_args], nc, nk)
    while True:
        p = split_jaxpr(closed, (*consts_u, *carry_u, *xs_u), splitter.policy, "all")
        new = [a or b for a, b in zip(carry_u, p.unknown_out[:nk], strict=True)]
        if new == carry_u:
            break
        carry_u = new

    # the known loop: carries, ys, and residuals that are none of them as more ys
    places = [i for i, u in enumerate(p.unknown_out) if not u]
    atoms = p.known.jaxpr.outvars
    carry_at = [n for n, i in enumerate(places) if i < nk and not carry_u[i]]
    ys_at = [n for n, i in enumerate(places) if i >= nk]
    ys_at += [n for n in dict.fromkeys(p.residuals) if n not in ys_at]
    body = permuted(p.known, p.known.jaxpr.invars, [atoms[n] for n in (*carry_at, *ys_at)])
    consts, init, xs = parts(known_args, nc, nk)
    kc, kk, kx = (
        chosen(consts, consts_u, False),
        chosen(init, carry_u, False),
        chosen(xs, xs_u, False),
    )
    with set_trace(splitter.known):
        outs = rebind(
            primitive,
            body,
            [*kc, *kk, *kx],
            {**params, "num_consts": len(kc), "num_carry": len(kk)},
        )
    carry, ys = parts(outs, len(carry_at))
    columns = dict(zip(ys_at, ys, strict=True))

    # the staged loop has all carries, also those that its body does not read
    r = len(p.residuals)
    used = iter(p.staged.jaxpr.invars[r:])
    variables = [next(used) if u else None for u in p.used_inputs]
    c, k, x = parts(variables, nc, nk)
    k = [v or Var(a) for v, a in zip(k, parts(closed.in_avals, nc, nk)[1], strict=True)]
    consts, init, xs = parts(args, nc, nk)
    sc = [a for a, v in zip(consts, c, strict=True) if v is not None]
    sx = [columns[i] for i in p.residuals]
    sx += [a for a, v in zip(xs, x, strict=True) if v is not None]
    invars = [v for v in (*c, *k, *p.staged.jaxpr.invars[:r], *x) if v is not None]
    late = permuted(p.staged, invars, p.staged.jaxpr.outvars)
    with set_trace(splitter.staged):
        again = rebind(
            primitive, late, [*sc, *init, *sx], {**params, "num_consts": len(sc), "num_carry": nk}
        )
    early: dict[int, Any] = dict(zip([places[n] for n in carry_at], carry, strict=True))
    early |= {places[n]: y for n, y in columns.items() if n < len(places) and places[n] >= nk}
    return [
        (early.get(i), early[i] if i in early and p.saved_out[i] else s)
        for i, s in enumerate(again)
    ]


def merged(flags: Sequence[bool], yes: Sequence[Any], no: Sequence[Any]) -> list[Any]:
    """Two lists in one, by flags."""
    a, b = iter(yes), iter(no)
    return [next(a) if f else next(b) for f in flags]


# --- transposition -------------------------------------------------------------------------


def transpose_scan(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    """Cotangents of carries flow through a loop in the other direction, in which cotangents of
    consts are summed and those of xs stacked."""
    if len(params["jaxpr"].consts):
        n = len(params["jaxpr"].consts)
        return transpose_scan(primitive, cts, *opened(args, params))[n:]
    nc, nk = params["num_consts"], params["num_carry"]
    linear = [is_undefined(a) for a in args]
    if not all(linear[nc : nc + nk]):
        h = split_body(params["jaxpr"], tuple(linear), nc, nk)
        if not all(h.carry_unknown):
            return _transpose_linear_part(primitive, cts, args, linear, h, params)
    return _transpose(primitive, cts, args, linear, params)


def _transpose_linear_part(
    primitive: Primitive,
    cts: Sequence[Any],
    args: Sequence[Any],
    linear: list[bool],
    h: _Halves,
    params: dict,
) -> list[Any]:
    """For a loop in which something that is not linear is carried along: that runs first."""
    nc, nk = params["num_consts"], params["num_carry"]
    _, _, residuals, residual_xs = run_known(primitive, h, args, linear, params)
    consts, init, xs = parts(args, nc, nk)
    consts_l, _, xs_l = parts(linear, nc, nk)
    staged_init = chosen(init, h.carry_unknown)
    staged = [*residuals, *chosen(consts, consts_l), *staged_init, *residual_xs, *chosen(xs, xs_l)]
    new = {
        **params,
        "jaxpr": h.staged,
        "num_consts": len(residuals) + sum(consts_l),
        "num_carry": len(staged_init),
    }
    ct_carry, ct_ys = parts(cts, nk)
    ct = [*chosen(ct_carry, h.carry_unknown), *chosen(ct_ys, h.ys_unknown)]
    out = transpose_scan(primitive, ct, staged, new)
    _, c, k, _, x = parts(out, len(residuals), sum(consts_l), len(staged_init), len(residual_xs))
    return [
        *merged(consts_l, c, [None] * consts_l.count(False)),
        *merged(h.carry_unknown, k, [None] * h.carry_unknown.count(False)),
        *merged(xs_l, x, [None] * xs_l.count(False)),
    ]


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], linear: list[bool], params: dict
) -> list[Any]:
    nc, nk = params["num_consts"], params["num_carry"]
    closed = strong(params["jaxpr"])
    nonzero = tuple(type(c) is not Zero for c in cts)
    lin = (*linear[:nc], *(True,) * nk, *linear[nc + nk :])
    body, reads, flags = closed.derived(
        ("scan transpose", lin, nonzero, nc, nk),
        lambda: _transposed_body(closed, lin, nonzero, nc, nk),
    )
    consts_nz, carry_nz, xs_nz = flags
    consts, init, xs = parts(args, nc, nk)
    consts_l, _, xs_l = parts(lin, nc, nk)
    ct_carry, ct_ys = parts(cts, nk)
    known = chosen(consts, consts_l, False)
    sums = [instantiate(Zero(a.aval)) for a in chosen(chosen(consts, consts_l), consts_nz)]
    carried = [instantiate(c) for c in chosen(ct_carry, carry_nz)]
    scanned = [c for c in ct_ys if type(c) is not Zero] + chosen(xs, xs_l, False)
    consts_read, xs_read = reads
    operands = [*chosen(known, consts_read), *sums, *carried, *chosen(scanned, xs_read)]
    new = {
        **params,
        "reverse": not params["reverse"],
        "num_consts": sum(consts_read),
        "num_carry": len(sums) + len(carried),
    }
    outs = rebind(primitive, body, operands, new) if body.jaxpr.outvars or body.effects else []
    sums, carried, columns = parts(outs, len(sums), len(carried))
    zero = lambda a: Zero(a.aval)  # noqa: E731
    ct_consts = merged(
        consts_nz, sums, [zero(a) for a in chosen(chosen(consts, consts_l), consts_nz, False)]
    )
    ct_init = merged(carry_nz, carried, [Zero.of(a) if not is_undefined(a) else zero(a)
                                         for a in chosen(init, carry_nz, False)])  # fmt: skip
    ct_xs = merged(xs_nz, columns, [zero(a) for a in chosen(chosen(xs, xs_l), xs_nz, False)])
    cts = [
        *merged(consts_l, ct_consts, [None] * consts_l.count(False)),
        *[c if is_undefined(a) else None for c, a in zip(ct_init, init, strict=True)],
        *merged(xs_l, ct_xs, [None] * xs_l.count(False)),
    ]
    # A carry's cotangent has the type of that of the carry's last value.
    last = [a.weak_type for a in parts(params["jaxpr"].out_avals, nk)[0]]
    weak = [*(True,) * nc, *last, *(True,) * (len(args) - nc - nk)]
    return [_weak_as(c, a) if w else c for c, a, w in zip(cts, args, weak, strict=True)]


def _weak_as(ct: Any, linear: Any) -> Any:
    """The cotangent of an operand, weakly typed if the operand is."""
    if ct is None or type(ct) is Zero or not getattr(linear.aval, "weak_type", False):
        return ct
    if get_aval(ct).weak_type:
        return ct
    return ops["convert_element_type"].bind(
        ct, new_dtype=linear.aval.dtype, weak_type=True, sharding=None
    )


def strong(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr for inputs that are not weakly typed: cotangents are carried in one type."""
    if not any(getattr(a, "weak_type", False) for a in closed.in_avals):
        return closed

    def make() -> ClosedJaxpr:
        avals = [a.strip_weak_type() for a in closed.in_avals]
        return trace_to_closed(jaxpr_as_fun(closed), avals, closed.jaxpr.debug_info)

    return closed.derived("strong", make)


def _transposed_body(
    closed: ClosedJaxpr, lin: tuple[bool, ...], nonzero: tuple[bool, ...], nc: int, nk: int
) -> Any:
    """The body `(*consts, *sums, *carry cts, *ys cts, *xs) -> (*sums, *carry cts, *xs cts)`.

    Returns it with (which consts it reads, which xs), and which cotangents of linear consts,
    carries and linear xs are not zero.
    """
    consts_l, _, xs_l = parts(lin, nc, nk)
    consts, _, xs = parts(closed.in_avals, nc, nk)
    carry_out, ys_out = parts(closed.out_avals, nk)
    known_consts, known_xs = chosen(consts, consts_l, False), chosen(xs, xs_l, False)
    n_lin = sum(consts_l)
    carry_nz, ys_nz = list(nonzero[:nk]), list(nonzero[nk:])
    while True:
        cts = [*chosen(carry_out, carry_nz), *chosen(ys_out, ys_nz)]
        avals = [*known_consts, *cts, *known_xs]
        step, out_nz = _backward_step(
            closed, lin, avals, len(known_consts), [False] * n_lin, [*carry_nz, *ys_nz], nk
        )
        consts_nz, new, xs_nz = parts(out_nz, n_lin, nk)
        if new == carry_nz:
            break
        carry_nz = new
    sums = chosen(chosen(consts, consts_l), consts_nz)
    n, m = len(known_consts), len(sums)
    if m:
        avals = [*known_consts, *sums, *cts, *known_xs]
        step, _ = _backward_step(closed, lin, avals, n, consts_nz, [*carry_nz, *ys_nz], nk)
    body, read = dce_closed(step, (True,) * len(step.out_avals))
    c_read, _, x_read = parts(read, n, m + sum(carry_nz))
    keep = [*c_read, *(True,) * (m + sum(carry_nz)), *x_read]
    body = permuted(body, chosen(step.jaxpr.invars, keep), body.jaxpr.outvars)
    return body, (c_read, x_read), (consts_nz, carry_nz, xs_nz)


def _backward_step(
    closed: ClosedJaxpr,
    lin: tuple[bool, ...],
    avals: Sequence[Any],
    num_consts: int,
    summed: Sequence[bool],
    nonzero: Sequence[bool],
    num_carry: int,
) -> tuple[ClosedJaxpr, list[bool]]:
    """One step backwards, `(*known consts, *sums, *nonzero cts, *known xs) -> nonzero cts of linear
    inputs`, and which these are.

    `summed` says to which linear consts a sum is added. Carries that have a cotangent after the
    step have one before it.
    """
    out_nz: list[bool] = []
    zero_sums = [Zero(a) for a in chosen(closed.in_avals, lin)][: len(summed)]

    def backward(*args: Any) -> list[Any]:
        c, s, some, x = parts(args, num_consts, sum(summed), sum(nonzero))
        cts = merged(nonzero, some, [Zero(a) for a in chosen(closed.out_avals, nonzero, False)])
        sums = merged(summed, s, chosen(zero_sums, summed, False))
        outs = backward_pass(closed.jaxpr, closed.consts, lin, [*c, *x], cts, sums)
        for i in range(num_carry):
            if nonzero[i]:
                outs[len(summed) + i] = instantiate(outs[len(summed) + i])
        out_nz[:] = [type(o) is not Zero for o in outs]
        return [o for o in outs if type(o) is not Zero]

    return trace_to_closed(backward, avals, closed.jaxpr.debug_info), out_nz
