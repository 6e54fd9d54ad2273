"""cond: one of several programs, chosen by an index.

Operands are `(index, *operands)`; the index, an int32 scalar, is clamped to the branches there are.
Each branch is a closed jaxpr without constants, `(*operands) -> results`, and all have the same
types. Where the index is batched, all branches run and their results are selected from.

`branches_platforms`, where it is given, says for each branch the platforms that it is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core import config, eager
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, JaxprEqn, Var, axis_names
from ..core.primitive import Primitive, Sample
from ..core.rules import Zero, instantiate, is_undefined, vspace
from ..core.staging import trace_to_closed
from ..core.trace import set_trace
from ..transforms.batching import batch_jaxpr, move_batch_axis
from ..transforms.checkify import CheckifyTrace, through
from ..transforms.jvp import jvp_jaxpr
from ..transforms.partial_eval import dce_jaxpr, partial_eval_jaxpr
from ..transforms.programs import run_structured
from ..transforms.recompute import Pair, Splitter, split_jaxpr
from ..transforms.residuals import Split, split_free
from ..transforms.transpose import backward_pass
from .conversion import stop_gradient_p
from .declare import ops
from .structure import broadcast_in_dim

Branches = tuple[ClosedJaxpr, ...]


def clear_of_consts(branches: Sequence[ClosedJaxpr]) -> tuple[Branches, list[Any]]:
    """Branches whose constants have become leading operands common to all, and those operands."""
    consts = [c for b in branches for c in b.consts]
    if not consts:
        return tuple(branches), []
    avals = [get_aval(c) for c in consts]
    new, start = [], 0
    for b in branches:
        n = len(b.consts)
        lead = [Var(a) for a in avals]
        lead[start : start + n] = b.jaxpr.constvars
        new.append(ClosedJaxpr(b.jaxpr.replace(constvars=[], invars=[*lead, *b.jaxpr.invars]), ()))
        start += n
    return tuple(new), consts


def _bind(
    primitive: Primitive, index: Any, operands: Sequence[Any], branches: Any, params: dict
) -> list[Any]:
    branches, consts = clear_of_consts(branches)
    return primitive.bind(index, *consts, *operands, **{**params, "branches": branches})


def _same(branches: Branches, make: Any) -> list[Any]:
    """`make` of each branch, once for branches that are the same object."""
    done: dict[int, Any] = {}
    for b in branches:
        if id(b) not in done:
            done[id(b)] = make(b)
    return [done[id(b)] for b in branches]


def _union(flags: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple(any(f) for f in zip(*flags, strict=True))


# --- types and values ----------------------------------------------------------------------


def _abstract(index: ShapedArray, *operands: Any, branches: Branches, **_: Any) -> list[Any]:
    if index.shape or index.dtype != np.dtype(np.int32):
        raise TypeError(f"cond: the index must be an int32 scalar, got {index}")
    first = branches[0]
    for i, b in enumerate(branches):
        for what, have, want in (
            ("operands", operands, b.in_avals),
            ("results", b.out_avals, first.out_avals),
        ):
            if len(have) != len(want) or not all(
                a == w or w.same_type(a) for a, w in zip(have, want, strict=True)
            ):
                raise TypeError(
                    f"cond: the {what} of branch {i} are {[str(a) for a in have]} where "
                    f"{[str(w) for w in want]} are due"
                )
    return first.out_avals


def _chosen(index: Any, branches: Branches) -> ClosedJaxpr:
    i = int(np.asarray(eager.to_numpy(index)))
    return branches[min(max(i, 0), len(branches) - 1)]


def run(index: Any, *operands: Any, branches: Branches, **_: Any) -> list[Any]:
    """Run the chosen branch on concrete operands, operation by operation."""
    b = _chosen(index, branches)
    return eval_jaxpr(b.jaxpr, b.consts, *operands)


def _reference(*args: Any, **params: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in run(*args, **params)]


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    if config.disable_jit.value:
        outs = run(*args, **params)
        return [retyped(o, a) for o, a in zip(outs, params["branches"][0].out_avals, strict=True)]
    return run_structured(primitive, args, params)


def retyped(x: Any, aval: Any) -> Any:
    """A concrete result with the weak type that was promised."""
    x = eager.as_array(x)
    if getattr(x, "weak_type", None) != aval.weak_type and hasattr(x, "_numpy"):
        return eager.from_numpy(x._numpy(), aval)
    return x


# --- differentiation -----------------------------------------------------------------------


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """A result has a tangent if it has one in any branch."""
    index, *operands = primals
    nonzero = tuple(type(t) is not Zero for t in tangents[1:])
    branches: Branches = params["branches"]
    live = _union(_same(branches, lambda b: jvp_jaxpr(b, nonzero)[1]))
    new = _same(branches, lambda b: jvp_jaxpr(b, nonzero, live)[0])
    given = [t for t in tangents[1:] if type(t) is not Zero]
    outs = _bind(primitive, index, [*operands, *given], new, params)
    n = len(live)
    it = iter(outs[n:])
    return outs[:n], [next(it) if nz else Zero.of(o) for o, nz in zip(outs[:n], live, strict=True)]


class _Split:
    """A conditional split in two.

    `known_out` says for each known result, ("in", i) or ("out", i), which known operand or which
    result of the known branches it is; `residuals` the same for the leading operands of the staged
    branches.
    """

    __slots__ = ("known", "known_out", "residuals", "staged", "unknown_out")

    def __init__(self, branches: Branches, unknown: tuple[bool, ...]):
        at_hand = [True] * unknown.count(False)
        first = _same(branches, lambda b: partial_eval_jaxpr(b, unknown))
        self.unknown_out = _union([p.unknown_out for p in first])
        parts = _same(
            branches,
            lambda b: split_free(partial_eval_jaxpr(b, unknown, self.unknown_out), at_hand),
        )
        numbers = [{v: i for i, v in enumerate(p.known.jaxpr.invars)} for p in parts]
        # a known result is an operand if it is the same operand in all branches
        outs: list[list[Any]] = [[] for _ in parts]
        self.known_out: list[tuple[str, int]] = []
        for atoms in zip(*[p.known_outs for p in parts], strict=True):
            sources = {
                n.get(a, -1) if type(a) is Var else -1 for a, n in zip(atoms, numbers, strict=True)
            }
            i = sources.pop()
            if i >= 0 and not sources:
                self.known_out.append(("in", i))
                continue
            self.known_out.append(("out", len(outs[0])))
            for mine, a in zip(outs, atoms, strict=True):
                mine.append(a)
        # what a branch needs of the operands are operands of the staged branches, too; other
        # residuals share places with those of the same type in the other branches
        avals: list[Any] = []
        self.residuals: list[tuple[str, int]] = []
        places = [
            [
                self._place(a, n.get(a) if type(a) is Var else None, avals, taken)
                for a in p.residuals
            ]
            for p, n, taken in zip(parts, numbers, [set() for _ in parts], strict=True)
        ]
        made = iter(range(len(outs[0]), len(outs[0]) + len(avals)))
        self.residuals = [(kind, next(made) if kind == "out" else i) for kind, i in self.residuals]
        self.known = tuple(
            _known_branch(p, mine, where, self.residuals, avals)
            for p, mine, where in zip(parts, outs, places, strict=True)
        )
        self.staged = tuple(
            _staged_branch(p, where, avals) for p, where in zip(parts, places, strict=True)
        )

    def _place(self, a: Any, operand: int | None, avals: list[Any], taken: set[int]) -> int:
        """The place of a residual of one branch, of which the places `taken` are in use."""
        source = ("out", -1) if operand is None else ("in", operand)
        for k, (have, aval) in enumerate(zip(self.residuals, avals, strict=True)):
            if have == source and aval == a.aval and k not in taken:
                break
        else:
            k = len(avals)
            self.residuals.append(source)
            avals.append(a.aval)
        taken.add(k)
        return k


def _known_branch(
    p: Split, outs: list[Any], where: list[int], residuals: list[tuple[str, int]], avals: list[Any]
) -> ClosedJaxpr:
    """The known part of a branch, with zeros for the residuals of others."""
    jaxpr = p.known.jaxpr
    mine = dict(zip(where, p.residuals, strict=True))
    due = [k for k, (kind, _) in enumerate(residuals) if kind == "out"]
    missing = [k for k in due if k not in mine]
    eqns = list(jaxpr.eqns)
    if missing:
        zeros = trace_to_closed(lambda: [vspace.zeros(avals[k]) for k in missing], [])
        eqns += zeros.jaxpr.eqns
        mine.update(zip(missing, zeros.jaxpr.outvars, strict=True))
    new = jaxpr.replace(eqns=eqns, outvars=[*outs, *[mine[k] for k in due]])
    return p.known.replace(jaxpr=new)


def _staged_branch(p: Split, where: list[int], avals: list[Any]) -> ClosedJaxpr:
    """The staged part of a branch, with the residuals of all branches in front."""
    jaxpr, n = p.staged.jaxpr, len(where)
    lead: list[Var] = [Var(a) for a in avals]
    for k, v in zip(where, jaxpr.invars[:n], strict=True):
        lead[k] = v
    return p.staged.replace(jaxpr=jaxpr.replace(invars=[*lead, *jaxpr.invars[n:]]))


def split(branches: Branches, unknown: tuple[bool, ...]) -> _Split:
    """Split a conditional by which operands are unknown. Remembered with its first branch."""
    key = ("cond split", unknown, *map(id, branches))
    # the branches are kept with the answer, so that their ids stay theirs
    return branches[0].derived(key, lambda: (_Split(branches, unknown), branches[1:]))[0]


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    """Both halves choose by the same index; where that is unknown, everything is staged."""
    index, *operands = args
    if trace.is_unknown(index):
        with set_trace(trace.staging):
            return trace.staging.process_primitive(primitive, args, params)
    unknown = tuple(map(trace.is_unknown, operands))
    s = split(params["branches"], unknown)
    known_args = [a for a, u in zip(operands, unknown, strict=True) if not u]
    outs: list[Any] = []
    if s.known[0].out_avals or any(b.effects for b in s.known):
        with set_trace(trace.parent):
            outs = _bind(primitive, index, known_args, s.known, params)
    values = {"in": known_args, "out": outs}
    staged_out: list[Any] = []
    if any(s.unknown_out) or any(b.effects for b in s.staged):
        ins = [values[kind][i] for kind, i in s.residuals]
        ins += [a for a, u in zip(operands, unknown, strict=True) if u]
        with set_trace(trace.staging):
            staged_out = _bind(primitive, index, ins, s.staged, params)
    known, staged = iter(s.known_out), iter(staged_out)
    result = []
    for u in s.unknown_out:
        if u:
            result.append(next(staged))
        else:
            kind, i = next(known)
            result.append(values[kind][i])
    return result


def _split_under_policy(
    primitive: Primitive, splitter: Splitter, ins: Sequence[Pair], params: dict
) -> list[Pair]:
    """Partial evaluation under a policy: the known conditional gives what the policy saves in the
    branch that is taken, the staged one is the whole conditional, which reads that."""
    (index, index_again), *operands = ins
    if index is None:
        return splitter.mixed(primitive, list(ins), params)
    unknown = tuple(k is None for k, _ in operands)
    branches: Branches = params["branches"]
    pieces = _same(branches, lambda b: split_jaxpr(b, unknown, splitter.policy, "all"))
    unknown_out = _union([p.unknown_out for p in pieces])
    # what the branches save shares places of one type
    avals: list[Any] = []
    own_places: list[list[int]] = []
    for p in pieces:
        mine: list[int] = []
        for i in p.residuals:
            aval = p.known.out_avals[i]
            free = [k for k, a in enumerate(avals) if a == aval and k not in mine]
            if not free:
                free = [len(avals)]
                avals.append(aval)
            mine.append(free[0])
        own_places.append(mine)
    known_avals = [a for a, u in zip(branches[0].in_avals, unknown, strict=True) if not u]

    def early(p: Any, mine: list[int]) -> ClosedJaxpr:
        def f(*xs: Any) -> list[Any]:
            outs = eval_jaxpr(p.known.jaxpr, p.known.consts, *xs)
            each = iter(outs)
            results = [None if u else next(each) for u in p.unknown_out]
            held = {k: outs[i] for k, i in zip(mine, p.residuals, strict=True)}
            return [
                *[o for o, u in zip(results, unknown_out, strict=True) if not u],
                *[held[k] if k in held else vspace.zeros(a) for k, a in enumerate(avals)],
            ]

        return trace_to_closed(f, known_avals)

    def late(p: Any, mine: list[int], b: ClosedJaxpr) -> ClosedJaxpr:
        def f(*xs: Any) -> list[Any]:
            saved, rest = xs[: len(avals)], xs[len(avals) :]
            used = [x for x, u in zip(rest, p.used_inputs, strict=True) if u]
            args = [*[saved[k] for k in mine], *used]
            return eval_jaxpr(p.staged.jaxpr, p.staged.consts, *args)

        return trace_to_closed(f, [*avals, *b.in_avals])

    pairs = list(zip(pieces, own_places, strict=True))
    first = [k for k, _ in operands if k is not None]
    with set_trace(splitter.known):
        now = _bind(primitive, index, first, tuple(early(p, m) for p, m in pairs), params)
    results, saved = now[: len(now) - len(avals)], now[len(now) - len(avals) :]
    again = [*saved, *[s for _, s in operands]]
    staged = tuple(late(p, m, b) for (p, m), b in zip(pairs, branches, strict=True))
    with set_trace(splitter.staged):
        outs = _bind(primitive, index_again, again, staged, params)
    known = iter(results)
    return [(None if u else next(known), s) for u, s in zip(unknown_out, outs, strict=True)]


def _transposed(
    closed: ClosedJaxpr,
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
    want: tuple[bool, ...] | None,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """`(*other operands, *nonzero cotangents) -> cotangents of linear operands`, those `want`ed or
    (None) those that are not zero; and which are not zero. Remembered with `closed`."""

    def make() -> tuple[ClosedJaxpr, tuple[bool, ...]]:
        n = linear.count(False)
        found: list[bool] = []

        def f(*xs: Any) -> list[Any]:
            it = iter(xs[n:])
            cts = [
                next(it) if nz else Zero(a) for a, nz in zip(closed.out_avals, nonzero, strict=True)
            ]
            outs = backward_pass(closed.jaxpr, closed.consts, linear, xs[:n], cts)
            found[:] = [type(o) is not Zero for o in outs]
            return [instantiate(o) for o, w in zip(outs, want or found, strict=True) if w]

        avals = [a for a, lin in zip(closed.in_avals, linear, strict=True) if not lin]
        avals += [a for a, nz in zip(closed.out_avals, nonzero, strict=True) if nz]
        return trace_to_closed(f, avals, closed.jaxpr.debug_info), tuple(found)

    return closed.derived(("cond transpose", linear, nonzero, want), make)


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    index, *operands = args
    linear = tuple(map(is_undefined, operands))
    nonzero = tuple(type(c) is not Zero for c in cts)
    branches: Branches = params["branches"]
    want = _union(_same(branches, lambda b: _transposed(b, linear, nonzero, None)[1]))
    new = _same(branches, lambda b: _transposed(b, linear, nonzero, want)[0])
    ins = [a for a, lin in zip(operands, linear, strict=True) if not lin]
    ins += [c for c in cts if type(c) is not Zero]
    outs = iter(_bind(primitive, index, ins, new, params)) if any(want) else iter(())
    wanted = iter(want)
    return [
        None,
        *[
            (next(outs) if next(wanted) else Zero(a.aval)) if lin else None
            for a, lin in zip(operands, linear, strict=True)
        ],
    ]


# --- batching ------------------------------------------------------------------------------


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    index, *operands = args
    branches: Branches = params["branches"]
    if dims[0] is not None:
        index = move_batch_axis(axis.size, dims[0], 0, index)
        ins = [move_batch_axis(axis.size, d, 0, x) for x, d in zip(operands, dims[1:], strict=True)]
        return _select(axis, index, ins, branches)
    ins = [
        x if d is None else move_batch_axis(axis.size, d, 0, x)
        for x, d in zip(operands, dims[1:], strict=True)
    ]
    at = tuple(None if d is None else 0 for d in dims[1:])
    found = _same(branches, lambda b: [d is not None for d in batch_jaxpr(b, axis, at)[1]])
    want = _union(found)
    new = _same(branches, lambda b: batch_jaxpr(b, axis, at, want)[0])
    outs = _bind(primitive, index, ins, new, params)
    return outs, [0 if w else None for w in want]


def _select(axis: Any, index: Any, operands: Sequence[Any], branches: Branches) -> Any:
    """Run all branches and select by the batched index.

    To a branch's derivative only the lanes that chose it contribute, so that what is infinite in
    the others does not spoil them.
    """
    results = []
    for i, b in enumerate(branches):
        mine = ops["eq"].bind(index, np.int32(i))
        ins = []
        for x in operands:
            fixed = stop_gradient_p.bind(x)
            ins.append(ops["select_n"].bind(_spread(mine, x), fixed, x))
        new, _ = batch_jaxpr(b, axis, (0,) * len(ins), True)
        results.append(eval_jaxpr(new.jaxpr, new.consts, *ins))
    outs = [
        ops["select_n"].bind(_spread(index, column[0]), *column)
        for column in zip(*results, strict=True)
    ]
    return outs, [0] * len(outs)


def _spread(x: Any, like: Any) -> Any:
    """A vector along the first axis of `like`, broadcast to its shape."""
    shape = get_aval(like).shape
    return x if len(shape) == 1 else broadcast_in_dim(x, shape, (0,))


# --- errors --------------------------------------------------------------------------------


def _checkify(
    primitive: Primitive, trace: CheckifyTrace, args: Sequence[Any], params: dict
) -> list[Any]:
    threaded = through(trace, *params["branches"])
    if threaded is None:
        return primitive.bind(*args, **params)
    error, branches, apart = threaded
    return apart(_bind(primitive, args[0], [*error, *args[1:]], branches, params))


# --- dead code -----------------------------------------------------------------------------


def _dce(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    """Drop results that nothing reads and operands that no branch reads."""
    branches: Branches = eqn.params["branches"]
    wanted = tuple(used)

    def prune(b: ClosedJaxpr) -> Any:
        return b.derived(("cond dce", wanted), lambda: dce_jaxpr(b.jaxpr, wanted, keep_inputs=True))

    pruned = _same(branches, prune)
    if not any(wanted) and not any(j.effects for j, _ in pruned):
        return None
    read = _union([r for _, r in pruned])

    def restrict(b: ClosedJaxpr) -> ClosedJaxpr:
        jaxpr, _ = prune(b)
        kept = [v for v, r in zip(jaxpr.invars, read, strict=True) if r]
        return b.derived(
            ("cond dce", wanted, read), lambda: b.replace(jaxpr=jaxpr.replace(invars=kept))
        )

    return eqn.replace(
        invars=[
            eqn.invars[0],
            *[a for a, r in zip(eqn.invars[1:], read, strict=True) if r],
        ],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={**eqn.params, "branches": tuple(_same(branches, restrict))},
    )


def _effects(branches: Branches, **_: Any) -> frozenset:
    return frozenset().union(*[b.effects for b in branches])


def _axis_names(params: dict) -> tuple:
    return tuple({n: None for b in params["branches"] for n in axis_names(b)})


# --- the primitive -------------------------------------------------------------------------


def _samples() -> Iterator[Sample]:
    f = np.dtype(np.float32)
    vector, scalar = ShapedArray((3,), f), ShapedArray((), f)
    mul, add, sin, cos = (ops[n].bind for n in ("mul", "add", "sin", "cos"))

    def branch(g: Any, *avals: ShapedArray) -> ClosedJaxpr:
        return trace_to_closed(g, avals)

    def scaled(x: Any, y: Any) -> Any:
        return mul(x, broadcast_in_dim(y, (3,), ()))

    two = (
        branch(lambda x, y: [scaled(sin(x, accuracy=None), y), y], vector, scalar),
        branch(lambda x, y: [x, mul(y, y)], vector, scalar),
    )
    three = (
        *two,
        branch(
            lambda x, y: [scaled(mul(x, x), cos(y, accuracy=None)), np.float32(1)], vector, scalar
        ),
    )
    for i in (0, 1, -3, 7):
        yield Sample(np.int32(i), ((3,), f), ((), f), branches=two)
        yield Sample(np.int32(i), ((3,), f), ((), f), branches=three)
    one = branch(lambda x: [add(x, x)], vector)
    yield Sample(np.int32(0), ((3,), f), branches=(one,))
    yield Sample(np.int32(1), ((3,), f), branches=(one, one))


cond_p = Primitive(
    "cond",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    partial_eval=_partial_eval,
    split=_split_under_policy,
    transpose=_transpose,
    batch=_batch,
    dce=_dce,
    checkify=_checkify,
    effects=_effects,
    axis_names=_axis_names,
    samples=_samples,
)

__all__ = ["Branches", "clear_of_consts", "cond_p", "retyped", "run", "split"]
