"""What linear programs keep of the values they depend on: as little as is free to do without.

A primitive whose result takes no work (`Primitive.free`: a reshape, a broadcast, an iota, a
conversion) is run again where its result is needed, rather than have the result stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .partial_eval import PartialJaxpr, dce_jaxpr


class Split:
    """A jaxpr split into what is known and what is staged, in terms of the known part's variables.

    `known` is the known part with outputs `(*known outputs, *residuals)`; `staged` maps residuals
    and unknown inputs to the unknown outputs. A residual may be an input of `known`.
    """

    __slots__ = ("known", "known_outs", "residuals", "staged", "unknown_out")

    def __init__(
        self,
        known: ClosedJaxpr,
        known_outs: list[Atom],
        residuals: list[Atom],
        staged: ClosedJaxpr,
        unknown_out: list[bool],
    ):
        self.known, self.known_outs, self.residuals = known, known_outs, residuals
        self.staged, self.unknown_out = staged, unknown_out


def nbytes(aval: Any) -> int:
    """Size of a value; a token has none."""
    size = getattr(aval, "size", 0)
    return size * getattr(aval.dtype, "itemsize", 1) if size else 0


def split_free(parts: PartialJaxpr, at_hand: Sequence[bool]) -> Split:
    """The split with results of free operations recomputed from what is stored anyway.

    `at_hand` says which inputs of the known part the staged part can have without storing them.
    A chain of free operations is also moved where its inputs are smaller than its result.
    """
    known = parts.known.jaxpr
    atoms: dict[str, list[Atom]] = {"in": list(known.invars), "out": list(known.outvars)}
    known_outs = [atoms[kind][i] for kind, i in parts.known_out]
    residuals = [atoms[kind][i] for kind, i in parts.residuals]
    made_by = {v: eqn for eqn in known.eqns for v in eqn.outvars if _is_free(eqn)}
    given = {v for v, h in zip(known.invars, at_hand, strict=True) if h}

    stored: dict[Atom, None] = {}
    moved: list[Var] = []
    chains: list[Var] = []
    for r in residuals:
        if isinstance(r, Var) and r in made_by:
            chains.append(r)
        else:
            stored[r] = None
    for r in chains:
        bases = _bases(r, made_by)
        more = [b for b in bases if b not in given and b not in stored]
        if not more or sum(nbytes(b.aval) for b in more) < nbytes(r.aval):
            moved.append(r)
            stored.update(dict.fromkeys(bases))
        else:
            stored[r] = None
    if moved:
        staged = _recompute(parts, residuals, stored, moved, made_by, known.eqns)
        residuals = list(stored)
    else:
        staged = parts.staged
    outs = [*known_outs, *residuals]
    jaxpr, _ = dce_jaxpr(known.replace(outvars=outs), [True] * len(outs), keep_inputs=True)
    return Split(parts.known.replace(jaxpr=jaxpr), known_outs, residuals, staged, parts.unknown_out)


def _is_free(eqn: JaxprEqn) -> bool:
    return eqn.primitive.free and not eqn.effects


def _bases(v: Var, made_by: dict[Var, JaxprEqn]) -> list[Var]:
    """The variables that a chain of free operations starts from."""
    found: dict[Var, None] = {}
    todo = [v]
    while todo:
        a = todo.pop()
        eqn = made_by.get(a)
        if eqn is None:
            found[a] = None
        else:
            todo += [x for x in reversed(eqn.invars) if isinstance(x, Var)]
    return list(found)


def _recompute(
    parts: PartialJaxpr,
    residuals: list[Atom],
    stored: dict[Atom, None],
    moved: list[Var],
    made_by: dict[Var, JaxprEqn],
    order: list[JaxprEqn],
) -> ClosedJaxpr:
    """The staged part with inputs `stored` in place of `residuals`."""
    staged = parts.staged.jaxpr
    n = len(residuals)
    rename: dict[Any, Atom] = {}
    for r, v in zip(residuals, staged.invars[:n], strict=True):
        rename[r] = v if r in stored else Var(v.aval)
    for s in stored:
        if s not in rename:
            rename[s] = Var(s.aval)
    inputs: list[Any] = [rename[s] for s in stored]
    needed: set[JaxprEqn] = set()
    todo: list[Atom] = list(moved)
    while todo:
        eqn = made_by.get(todo.pop())  # type: ignore[arg-type]
        if eqn is not None and eqn not in needed:
            needed.add(eqn)
            todo += [a for a in eqn.invars if isinstance(a, Var) and a not in stored]
    again: list[JaxprEqn] = []
    for eqn in order:
        if eqn not in needed:
            continue
        outs = [rename.setdefault(v, Var(v.aval)) for v in eqn.outvars]
        ins = [a if isinstance(a, Literal) else rename[a] for a in eqn.invars]
        again.append(eqn.replace(invars=ins, outvars=outs))
    inner = {v: rename[r] for r, v in zip(residuals, staged.invars[:n], strict=True)}
    eqns = [
        e.replace(invars=[inner.get(a, a) if isinstance(a, Var) else a for a in e.invars])
        for e in staged.eqns
    ]
    outvars = [inner.get(a, a) if isinstance(a, Var) else a for a in staged.outvars]
    return parts.staged.replace(
        jaxpr=Jaxpr(
            staged.constvars,
            [*inputs, *staged.invars[n:]],
            outvars,
            [*again, *eqns],
            debug_info=staged.debug_info,
        )
    )
