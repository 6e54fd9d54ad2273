"""Jaxprs: typed programs in A-normal form, with effects, literals and source lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .avals import AbstractValue, get_aval
from .config import trace_key
from .primitive import Primitive
from .source_info import SourceInfo
from .trace import state

_counter = itertools.count()


class Var:
    """A variable of a jaxpr, known by identity."""

    __slots__ = ("aval", "count")

    def __init__(self, aval: Any):
        self.aval = aval
        self.count = next(_counter)

    def __repr__(self) -> str:
        return f"Var(id={self.count}):{self.aval.str_short(long=True)}"


class DropVar(Var):
    """The result of an equation that nothing reads; printed as `_`."""

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant written into an equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: AbstractValue | None = None):
        self.val = val
        self.aval = get_aval(val) if aval is None else aval

    def __repr__(self) -> str:
        return f"Literal({self.val})"

    def __hash__(self) -> int:
        return id(self)


Atom = Var | Literal


class JaxprEqn:
    """One application of a primitive."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: frozenset = frozenset(),
        source_info: SourceInfo | None = None,
    ):
        self.invars, self.outvars, self.primitive = invars, outvars, primitive
        self.params, self.effects, self.source_info = params, effects, source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        values = {k: changes.get(k, getattr(self, k)) for k in self.__slots__}
        return JaxprEqn(**values)

    def __repr__(self) -> str:
        from .pretty import eqn_text

        return eqn_text(self)


class Jaxpr:
    """`{ lambda constvars ; invars. let eqns in outvars }`."""

    __slots__ = ("__weakref__", "constvars", "debug_info", "effects", "eqns", "invars", "outvars")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
        effects: frozenset | None = None,
        debug_info: Any = None,
    ):
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        if effects is None:
            effects = (
                frozenset().union(*(e.effects for e in self.eqns)) if self.eqns else frozenset()
            )
        self.effects = effects
        self.debug_info = debug_info

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        names = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")
        values = {k: changes.get(k, getattr(self, k)) for k in names}
        if "eqns" in changes and "effects" not in changes:
            values["effects"] = None
        return Jaxpr(**values)

    def pretty_print(self, **options: Any) -> str:
        from .pretty import jaxpr_text

        return jaxpr_text(self, **options)

    def __str__(self) -> str:
        return self.pretty_print()

    __repr__ = __str__


class ClosedJaxpr:
    """A jaxpr with the values of its constvars."""

    __slots__ = ("__weakref__", "cache", "consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(f"{len(consts)} constants for {len(jaxpr.constvars)} constvars")
        self.jaxpr = jaxpr
        self.consts = list(consts)
        # What transformations derive from this jaxpr lives and dies with it.
        self.cache: dict[Any, Any] = {}

    @property
    def in_avals(self) -> list[Any]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[Any]:
        return self.jaxpr.out_avals

    @property
    def literals(self) -> list[Any]:
        return self.consts

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset:
        return self.jaxpr.effects

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """`make()`, remembered under `key` and what tracing depends on, while this jaxpr lives."""
        key = (key, state.axis_env, trace_key())
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts
        )

    def pretty_print(self, **options: Any) -> str:
        return self.jaxpr.pretty_print(**options)

    def __str__(self) -> str:
        return str(self.jaxpr)

    __repr__ = __str__


def close_with_vars(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Make the constvars leading invars."""
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars]), ())


def subjaxprs(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's parameters, in tuples and lists too."""
    for v in params.values():
        for x in v if isinstance(v, (tuple, list)) else (v,):
            if isinstance(x, Jaxpr):
                yield x
            elif isinstance(x, ClosedJaxpr):
                yield x.jaxpr


def axis_names(closed: ClosedJaxpr) -> tuple[Any, ...]:
    """The names of axes that the equations of a jaxpr, at any depth, refer to."""

    def make() -> tuple[Any, ...]:
        names: dict[Any, None] = {}
        for eqn in closed.eqns:
            if eqn.primitive.axis_names is not None:
                names.update(dict.fromkeys(eqn.primitive.axis_names(eqn.params)))
        return tuple(names)

    return closed.derived("axis_names", make)


class JaxprTypeError(TypeError):
    """A jaxpr is ill-typed."""


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check that every variable is bound before use and every equation is well typed.

    Raises JaxprTypeError.
    """
    bound: set[Var] = {*jaxpr.constvars, *jaxpr.invars}
    for eqn in jaxpr.eqns:
        for a in eqn.invars:
            if isinstance(a, Var) and a not in bound:
                raise JaxprTypeError(f"unbound variable {a!r} in {eqn}")
        out = eqn.primitive.abstract_eval(*(a.aval for a in eqn.invars), **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        if len(outs) != len(eqn.outvars):
            raise JaxprTypeError(f"{len(outs)} results for {len(eqn.outvars)} variables in {eqn}")
        for aval, v in zip(outs, eqn.outvars, strict=True):
            if not (aval == v.aval or aval.same_type(v.aval)):
                raise JaxprTypeError(f"{v.aval} is not {aval}, the type of the result in {eqn}")
        for sub in subjaxprs(eqn.params):
            check_jaxpr(sub)
        bound.update(eqn.outvars)
    for a in jaxpr.outvars:
        if isinstance(a, Var) and a not in bound:
            raise JaxprTypeError(f"unbound output variable {a!r}")
