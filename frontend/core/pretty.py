"""Jaxprs as text, in JAX's form.

A jaxpr that occurs more than once, or that is long, is written once in front as
`let name = {...} in`. The variables of a jaxpr that an equation calls take the names of the
equation's operands and results where the primitive says so (`Primitive.calls`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import dtypes
from .jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from .layout import Doc, concat, fill, group, join, line, nest, render, text

WIDTH = 80
#: A jaxpr with more equations than this is written in front of the program.
LONG = 10


def name_of(i: int) -> str:
    """The i-th variable name: a, b, ..., z, ba, bb, ..."""
    s = ""
    while i or not s:
        i, r = divmod(i, 26)
        s = chr(ord("a") + r) + s
    return s


class Names:
    """Names of variables, given out in order of appearance; one object for a whole text."""

    def __init__(self, reserved: set[str]) -> None:
        self.names: dict[Var, str] = {}
        self._reserved = reserved
        self._next = 0

    def of(self, v: Var) -> str:
        n = self.names.get(v)
        if n is None:
            n = "_" if isinstance(v, DropVar) else self._fresh()
            self.names[v] = n
        return n

    def _fresh(self) -> str:
        while True:
            n = name_of(self._next)
            self._next += 1
            if n not in self._reserved:
                return n

    def share(self, inner: Jaxpr, eqn: JaxprEqn) -> None:
        """Give a called jaxpr's variables the names of what they stand for, each name once."""
        taken: set[str] = set()
        outside = (*eqn.invars, *eqn.outvars)
        for v, a in zip((*inner.invars, *inner.outvars), outside, strict=True):
            if not isinstance(a, Var) or not isinstance(v, Var) or v in self.names:
                continue
            n = self.of(a)
            if n == "_" or n not in taken:
                self.names[v] = n
                taken.add(n)


def literal_text(x: Literal) -> str:
    val, aval = x.val, x.aval
    dt = getattr(aval, "dtype", None)
    if isinstance(dt, np.dtype) and dt != dtypes.float0:
        v = np.asarray(val)
        if not v.shape:
            v = v.astype(dt)
            item: Any = v.item() if v.dtype.kind in "biufc" else v.astype(np.float32).item()
            if dtypes.is_integer(dt):
                item = int(item)
            return f"{item}:{aval.str_short()}"
    return f"{val}:{aval.str_short()}"


def occurrences(jaxpr: Jaxpr) -> Iterator[tuple[Jaxpr, str, bool]]:
    """The nested jaxprs, breadth first: (jaxpr, name, whether it occurs more than once).

    What occurs inside of something that occurs twice does so, too.
    """
    count: Counter[int] = Counter()
    found: dict[int, tuple[Jaxpr, str]] = {}
    queue = deque([(jaxpr, 1)])
    while queue:
        outer, times = queue.popleft()
        for eqn in outer.eqns:
            for sub in subjaxprs(eqn.params):
                called = eqn.primitive.calls is not None
                name = str(eqn.params["name"]).strip("<>") if called else "jaxpr"
                found.setdefault(id(sub), (sub, name))
                before = count[id(sub)]
                count[id(sub)] = min(2, before + times)
                # a second visit, with what is known then, is enough for everything below
                if count[id(sub)] != before:
                    queue.append((sub, count[id(sub)]))
    for key, (sub, name) in found.items():
        yield sub, name, count[key] > 1


class Printer:
    """Prints one jaxpr and those nested in it."""

    def __init__(
        self,
        *,
        source_info: bool = False,
        name_stack: bool = False,
        print_shapes: bool = True,
        print_effects: bool = False,
        custom_pp_eqn_rules: bool = True,
    ):
        self.source_info, self.name_stack = source_info, name_stack
        self.shapes, self.effects, self.custom = print_shapes, print_effects, custom_pp_eqn_rules
        self.shared: dict[int, str] = {}
        self.names = Names(set())

    def program(self, jaxpr: Jaxpr) -> str:
        """The text of a whole program."""
        shared = [
            (sub, name) for sub, name, many in occurrences(jaxpr) if many or len(sub.eqns) > LONG
        ]
        used: set[str] = set()
        for sub, name in shared:
            unique, i = name, 0
            while unique in used:
                i += 1
                unique = f"{name}{i}"
            used.add(unique)
            self.shared[id(sub)] = unique
        self.names = Names(used)
        docs = [
            concat([text(f"let {self.shared[id(sub)]} = "), self.jaxpr(sub), text(" in"), line()])
            for sub, _ in shared
        ]
        return render(concat([*docs, self.jaxpr(jaxpr)]), WIDTH)

    def atom(self, a: Any) -> Doc:
        if isinstance(a, Literal):
            return text(literal_text(a))
        return text(self.names.of(a))

    def binder(self, v: Var) -> Doc:
        return text(self.names.of(v) + (f":{v.aval.str_short()}" if self.shapes else ""))

    def jaxpr(self, jaxpr: Jaxpr) -> Doc:
        consts = [self.binder(v) for v in jaxpr.constvars]
        ins = [self.binder(v) for v in jaxpr.invars]
        head = [text("{ lambda "), nest(4, fill(consts)), text("; "), nest(4, fill(ins))]
        eqns = join(line("; "), [self.eqn(e) for e in jaxpr.eqns])
        outs = [self.atom(o) for o in jaxpr.outvars]
        return group(
            concat(
                [
                    *head,
                    text(". let"),
                    nest(4, concat([line(), eqns])),
                    nest(2, line()),
                    text("in ("),
                    nest(4, fill(_with_commas(outs))),
                    text(f"){self._effects(jaxpr)} }}"),
                ]
            )
        )

    def _effects(self, jaxpr: Jaxpr) -> str:
        if not self.effects:
            return ""
        return f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}"

    def eqn(self, eqn: JaxprEqn) -> Doc:
        primitive, params = eqn.primitive, eqn.params
        if self.custom and primitive.params_text is not None:
            params = primitive.params_text(eqn)
        if self.custom and primitive.calls is not None:
            inner = eqn.params[primitive.calls].jaxpr
            if id(inner) not in self.shared:
                self.names.share(inner, eqn)
        out = [self.binder(v) for v in eqn.outvars]
        name = text((" = " if out else "") + primitive.name, self.note(eqn))
        rest = [text(" "), nest(2, fill([self.atom(a) for a in eqn.invars]))]
        if params:
            rest.insert(0, self.params(params))
        return concat([nest(2, fill(out)), name, *rest])

    def params(self, params: dict[str, Any]) -> Doc:
        items = sorted(params.items(), key=lambda kv: (kv[0] != "name" or not self.custom, kv[0]))
        docs = [concat([text(f"{k}="), self.value(v)]) for k, v in items]
        body = nest(2, concat([line(""), join(line(), docs)]))
        return group(concat([text("["), body, line(""), text("]")]))

    def note(self, eqn: JaxprEqn) -> str:
        info = eqn.source_info
        notes = []
        if self.source_info:
            notes.append(info.summary() if info is not None else "")
        if self.name_stack:
            notes.append(f"[{'/'.join(info.name_stack) if info is not None else ''}]")
        return "\n".join(n for n in notes if n)

    def value(self, v: Any) -> Doc:
        if isinstance(v, ClosedJaxpr):
            v = v.jaxpr
        if isinstance(v, Jaxpr):
            shared = self.shared.get(id(v))
            return self.jaxpr(v) if shared is None else text(shared)
        if isinstance(v, (tuple, list)) and any(isinstance(x, (Jaxpr, ClosedJaxpr)) for x in v):
            items = join(line(), [self.value(x) for x in v])
            body = nest(2, concat([line(""), items]))
            return group(concat([text("("), body, line(""), text(")")]))
        if isinstance(v, np.dtype):
            return text(dtypes.dtype_name(v))
        if isinstance(v, type) and issubclass(v, np.generic):
            return text(v.__name__)
        return text(str(v))


def _with_commas(outs: list[Doc]) -> list[Doc]:
    """`a, b` and `a,`: the form of a tuple."""
    last = len(outs) - 1
    return [concat([o, text("," if i < last or last == 0 else "")]) for i, o in enumerate(outs)]


def jaxpr_text(jaxpr: Jaxpr, **options: Any) -> str:
    """The jaxpr in JAX's text form.

    Options, all booleans: `source_info` and `name_stack` add each equation's user line and named
    scopes, `print_shapes` (on) the types, `print_effects` the effects; `custom_pp_eqn_rules` (on)
    leaves out parameters that have their usual value.
    """
    return Printer(**options).program(jaxpr)


def eqn_text(eqn: JaxprEqn) -> str:
    """One equation in JAX's text form."""
    return render(Printer().eqn(eqn), WIDTH)
