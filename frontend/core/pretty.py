"""Jaxprs as text, in JAX's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes
from .avals import AbstractValue
from .jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs

WIDTH = 80


def name_of(i: int) -> str:
    """The i-th variable name: a, b, ..., z, ba, bb, ..."""
    s = ""
    while i or not s:
        i, r = divmod(i, 26)
        s = chr(ord("a") + r) + s
    return s


class Names:
    """Names of variables, given out in order of appearance; one object for a whole text."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.shared: dict[int, str] = {}
        self._next = 0

    def of(self, v: Any) -> str:
        if isinstance(v, DropVar):
            return "_"
        n = self.names.get(v)
        if n is None:
            n = self.names[v] = name_of(self._next)
            self._next += 1
        return n

    def alias(self, v: Var, name: str) -> None:
        if v not in self.names and not isinstance(v, DropVar):
            self.names[v] = name


def aval_text(aval: AbstractValue) -> str:
    return aval.str_short()


def literal_text(x: Literal) -> str:
    val, aval = x.val, x.aval
    dt = getattr(aval, "dtype", None)
    if dt is not None and isinstance(dt, np.dtype) and dt != dtypes.float0:
        v = np.asarray(val)
        if not v.shape:
            v = v.astype(dt)
            item: Any = v.item() if v.dtype.kind in "biufc" else v.astype(np.float32).item()
            if dtypes.is_integer(dt):
                item = int(item)
            return f"{item}:{aval_text(aval)}"
    return f"{val}:{aval_text(aval)}"


def _block(head: str, lines: Sequence[str], tail: str) -> str:
    return (
        head
        + "".join("\n" + "\n".join("  " + s for s in line.split("\n")) for line in lines)
        + tail
    )


class Printer:
    """Prints one jaxpr and those nested in it."""

    def __init__(self, source_info: bool = False, name_stack: bool = False, width: int = WIDTH):
        self.names = Names()
        self.source_info, self.name_stack, self.width = source_info, name_stack, width

    def atom(self, a: Any) -> str:
        return literal_text(a) if isinstance(a, Literal) else self.names.of(a)

    def binder(self, v: Var) -> str:
        return f"{self.names.of(v)}:{aval_text(v.aval)}"

    # An element of a layout is (one-line text, multi-line text); the one-line form is taken
    # where it fits.

    def jaxpr(self, jaxpr: Jaxpr, indent: int) -> str:
        """The text of a jaxpr whose first line starts at column `indent`."""
        consts = " ".join(self.binder(v) for v in jaxpr.constvars)
        ins = " ".join(self.binder(v) for v in jaxpr.invars)
        head = "{ lambda " + (consts + " " if consts else "") + "; " + ins + ". let"
        head = head.replace("lambda " + consts + " ;", "lambda " + consts + ";") if consts else head
        flat: str | None = None
        saved = dict(self.names.names), self.names._next
        flat_eqns = [self.eqn(e, 0, flat=True) for e in jaxpr.eqns]
        outs = self.outvars(jaxpr)
        if all(e is not None for e in flat_eqns):
            body = "; ".join(flat_eqns)  # type: ignore[arg-type]
            flat = f"{head} {body} in {outs} }}" if body else f"{head}  in {outs} }}"
            if indent + len(flat) <= self.width and "\n" not in flat:
                return flat
        self.names.names, self.names._next = saved[0], saved[1]
        for v in (*jaxpr.constvars, *jaxpr.invars):
            self.names.of(v)
        lines = [self.eqn(e, indent + 4) for e in jaxpr.eqns]
        pad = " " * (indent + 4)
        text = head + "".join("\n" + pad + line for line in lines)  # type: ignore[operator]
        return text + "\n" + " " * (indent + 2) + f"in {self.outvars(jaxpr)} }}"

    def outvars(self, jaxpr: Jaxpr) -> str:
        outs = [self.atom(o) for o in jaxpr.outvars]
        return f"({', '.join(outs)}{',' if len(outs) == 1 else ''})"

    def eqn(self, eqn: JaxprEqn, indent: int, flat: bool = False) -> Any:
        lhs = " ".join(self.binder(v) for v in eqn.outvars)
        rhs_args = " ".join(self.atom(a) for a in eqn.invars)
        params = eqn.params
        if eqn.primitive.params_text is not None:
            params = eqn.primitive.params_text(eqn)  # type: ignore[assignment]
        lead = f"{lhs} = {eqn.primitive.name}"
        note = ""
        if self.source_info and eqn.source_info is not None:
            note = f" # {eqn.source_info.summary()}" if eqn.source_info.summary() else ""
        if not params:
            return f"{lead} {rhs_args}{note}"
        parts: list[tuple[str, Any]] = sorted(params.items(), key=lambda p: (p[0] != "name", p[0]))
        self.share_names(eqn)
        has_jaxpr = any(True for _ in subjaxprs(params))
        one = None
        saved = dict(self.names.names), self.names._next
        texts = [f"{k}={self.value(v, 0, True)}" for k, v in parts]
        if not any("\n" in t for t in texts):
            one = f"{lead}[{' '.join(texts)}] {rhs_args}{note}"
            if (
                flat
                or ((indent + len(one) - len(note) <= self.width)
                and (len(parts) == 1 or not has_jaxpr or len(one) + indent <= self.width))
            ):
                return one
        elif flat:
            return None
        self.names.names, self.names._next = saved[0], saved[1]
        pad = "\n" + " " * (indent + 2)
        texts = [f"{k}={self.value(v, indent + 2 + len(k) + 1 - (len(k) + 1))}" for k, v in parts]
        return f"{lead}[{''.join(pad + t for t in texts)}\n{' ' * indent}] {rhs_args}{note}"

    def share_names(self, eqn: JaxprEqn) -> None:
        """Variables of an inner jaxpr that is called with the equation's operands take their names."""
        inner = eqn.params.get("jaxpr")
        if eqn.primitive.name != "jit" or not isinstance(inner, ClosedJaxpr):
            return
        for v, a in zip(inner.jaxpr.invars, eqn.invars, strict=True):
            if isinstance(a, Var):
                self.names.alias(v, self.names.of(a))
        for o, v in zip(inner.jaxpr.outvars, eqn.outvars, strict=True):
            if isinstance(o, Var) and not isinstance(v, DropVar):
                self.names.alias(o, self.names.of(v))

    def value(self, v: Any, indent: int, flat: bool = False) -> str:
        if isinstance(v, ClosedJaxpr):
            v = v.jaxpr
        if isinstance(v, Jaxpr):
            return self.jaxpr(v, 0 if flat else indent)
        if isinstance(v, (tuple, list)) and any(isinstance(x, (Jaxpr, ClosedJaxpr)) for x in v):
            inner = " ".join(self.value(x, indent + 2, flat) for x in v)
            return f"({inner},)" if len(v) == 1 else f"({inner})"
        if isinstance(v, np.dtype):
            return dtypes.dtype_name(v)
        if isinstance(v, type) and issubclass(v, np.generic):
            return v.__name__
        if callable(v) and hasattr(v, "__name__") and not isinstance(v, type):
            return v.__name__
        return str(v)


def jaxpr_text(
    jaxpr: Jaxpr, *, source_info: bool = False, name_stack: bool = False, **_: Any
) -> str:
    """The jaxpr in JAX's text form; `source_info=True` adds each equation's user line."""
    return Printer(source_info, name_stack).jaxpr(jaxpr, 0)


def eqn_text(eqn: JaxprEqn) -> str:
    """One equation in JAX's text form."""
    return Printer().eqn(eqn, 0)


def count_uses(jaxpr: Jaxpr) -> Counter:
    """How often each nested jaxpr (by identity) occurs."""
    c: Counter = Counter()

    def walk(j: Jaxpr) -> None:
        for e in j.eqns:
            for s in subjaxprs(e.params):
                c[id(s)] += 1
                if c[id(s)] == 1:
                    walk(s)

    walk(jaxpr)
    return c
