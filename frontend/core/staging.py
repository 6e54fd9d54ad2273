"""Staging: a trace that records the primitives applied to its tracers as a jaxpr."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import config, errors, source_info
from .avals import AbstractValue, ShapedArray, get_aval
from .jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from .primitive import Primitive
from .trace import Trace, Tracer, check_leaks, set_trace, state


class DebugInfo:
    """What is being traced, for messages: purpose, function, names of the flat arguments."""

    __slots__ = ("arg_names", "function", "result_paths", "traced_for", "where")

    def __init__(
        self,
        traced_for: str,
        function: str,
        where: str = "",
        arg_names: Sequence[str] | None = None,
        result_paths: Sequence[str] | None = None,
    ):
        self.traced_for, self.function, self.where = traced_for, function, where
        self.arg_names, self.result_paths = arg_names, result_paths

    @property
    def func_name(self) -> str:
        return self.function

    @property
    def func_src_info(self) -> str:
        return f"{self.function} at {self.where}" if self.where else self.function


class JaxprTracer(Tracer):
    """A variable of the jaxpr being recorded."""

    __slots__ = ("_source", "_var")
    _trace: JaxprTrace

    def __init__(self, trace: JaxprTrace, var: Var, source: Any = None):
        self._trace, self._var, self._source = trace, var, source

    @property
    def aval(self) -> Any:
        return self._var.aval

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"

    def _made_at(self) -> str:
        return self._source.summary() if self._source is not None else ""

    def _origin_message(self) -> str:
        info = self._trace.debug
        if info is None:
            return ""
        text = f"{info.func_src_info} for {info.traced_for}."
        made = self._made_at()
        if made:
            text += f" The value was computed at {made}."
        names = self._trace.argument_dependences(self._var)
        if names:
            args = "the argument" if len(names) == 1 else "the arguments"
            text += (
                " This concrete value was not available in Python because it depends on the value"
                f"{'' if len(names) == 1 else 's'} of {args} {', '.join(names)}."
            )
        return text


class JaxprTrace(Trace):
    """Records every primitive, whatever its arguments, as an equation."""

    def __init__(self, debug: DebugInfo | None = None):
        self.debug = debug
        self.invars: list[Var] = []
        self.eqns: list[JaxprEqn] = []
        self.alive = True
        self._const_vars: dict[int, Var] = {}
        self._const_values: list[Any] = []
        self._results: dict[tuple, Any] = {}

    def new_arg(self, aval: AbstractValue) -> JaxprTracer:
        """A tracer for the next input."""
        var = Var(aval)
        self.invars.append(var)
        return JaxprTracer(self, var)

    def atom(self, x: Any) -> Atom:
        """The variable or literal for an argument of an equation."""
        if type(x) is JaxprTracer and x._trace is self:
            return x._var
        if isinstance(x, Tracer):
            if not x._trace.alive:
                raise errors.leaked(x)
        elif type(x) in _literal_types:
            return Literal(x, get_aval(x))
        elif not getattr(x, "shape", True) and isinstance(get_aval(x), ShapedArray):
            aval = get_aval(x)
            if isinstance(aval.dtype, np.dtype):
                return Literal(x, aval)
        var = self._const_vars.get(id(x))
        if var is None:
            var = Var(get_aval(x))
            self._const_vars[id(x)] = var
            self._const_values.append(x)
        return var

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        if primitive.stage is not None:
            return primitive.stage(primitive, self, args, params)
        return self.default_process(primitive, args, params)

    def default_process(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """Add an equation and return tracers for its results."""
        atoms = [self.atom(a) for a in args]
        avals = tuple([a.aval for a in atoms])
        out = self._result_avals(primitive, avals, params)
        if state.check_vma:
            out = varying(primitive, avals, out, params)
        return self.emit(primitive, atoms, out, params)

    def _result_avals(self, primitive: Primitive, avals: tuple, params: dict) -> Any:
        """What `primitive.abstract_eval` says, asked once for equations that are alike."""
        if primitive.axis_names is not None or primitive.effects is not None:
            return primitive.abstract_eval(*avals, **params)
        key = (primitive, config.x64_enabled(), avals, *params.items())
        try:
            out = self._results.get(key)
        except TypeError as e:
            if "unhashable" not in str(e):
                raise
            return primitive.abstract_eval(*avals, **params)
        if out is None:
            out = primitive.abstract_eval(*avals, **params)
            self._results[key] = out = tuple(out) if primitive.multiple_results else out
        return out

    def emit(self, primitive: Primitive, atoms: list[Atom], out: Any, params: dict) -> Any:
        """Add an equation whose result avals are known."""
        info = source_info.current()
        effects = primitive.effects(**params) if primitive.effects is not None else frozenset()
        if primitive.multiple_results:
            outvars = [Var(a) for a in out]
            self.eqns.append(JaxprEqn(atoms, outvars, primitive, params, effects, info))
            return [JaxprTracer(self, v, info) for v in outvars]
        var = Var(out)
        self.eqns.append(JaxprEqn(atoms, [var], primitive, params, effects, info))
        return JaxprTracer(self, var, info)

    def argument_dependences(self, var: Var) -> list[str]:
        """Names of the arguments that a variable's value depends on."""
        if self.debug is None or self.debug.arg_names is None:
            return []
        needed = {var}
        for eqn in reversed(self.eqns):
            if any(v in needed for v in eqn.outvars):
                needed.update(v for v in eqn.invars if isinstance(v, Var))
        return [n for n, v in zip(self.debug.arg_names, self.invars, strict=False) if v in needed]

    def finish(self, outs: Sequence[Any], drop: bool = False) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr that returns `outs`, and the values of its constvars. Ends the trace.

        With `drop`, results that nothing uses become `DropVar`s, which print as `_`.
        """
        outvars = [self.atom(o) for o in outs]
        self.alive = False
        used: set[Var] = {a for a in outvars if isinstance(a, Var)}
        for eqn in self.eqns:
            used.update(a for a in eqn.invars if isinstance(a, Var))
        constvars, consts = [], []
        for var, value in zip(self._const_vars.values(), self._const_values, strict=True):
            if var in used:
                constvars.append(var)
                consts.append(value)
        for eqn in self.eqns if drop else ():
            if not all(v in used for v in eqn.outvars):
                eqn.outvars = [v if v in used else DropVar(v.aval) for v in eqn.outvars]
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns, debug_info=self.debug)
        return jaxpr, consts


def varying(primitive: Primitive, avals: Sequence[Any], out: Any, params: dict) -> Any:
    """The avals of an equation's results with the axes along which they vary.

    Those of equations that hold jaxprs are the jaxprs' own.
    """
    if primitive.varies is not None:
        vma = primitive.varies(primitive, avals, params)[1]
    elif next(subjaxprs(params), None) is not None:
        return out
    else:
        vma = frozenset().union(*(getattr(a, "vma", frozenset()) for a in avals))
    if not primitive.multiple_results:
        return out.update(vma=vma) if isinstance(out, ShapedArray) and out.vma != vma else out
    return [o.update(vma=vma) if isinstance(o, ShapedArray) and o.vma != vma else o for o in out]


_literal_types = {bool, int, float, complex}


def trace_to_jaxpr(
    f: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug: DebugInfo | None = None,
    drop: bool = False,
) -> tuple[Jaxpr, list[Any]]:
    """Trace a function of flat arguments to a jaxpr.

    Returns the jaxpr and the values it closes over, which may be tracers of enclosing traces.
    With `drop`, results that nothing uses become `DropVar`s.
    """
    jaxpr, consts, trace = _trace(f, in_avals, debug, drop)
    if config.check_tracer_leaks.value:
        check_leaks(trace)
    return jaxpr, consts


def _trace(
    f: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug: DebugInfo | None,
    drop: bool,
) -> tuple[Jaxpr, list[Any], weakref.ref]:
    trace = JaxprTrace(debug)
    try:
        with set_trace(trace):
            outs = f(*[trace.new_arg(a) for a in in_avals])
            for o in outs:
                get_aval(o)
        return *trace.finish(outs, drop), weakref.ref(trace)
    finally:
        trace.alive = False


def trace_to_closed(
    f: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug: DebugInfo | None = None,
    drop: bool = False,
) -> ClosedJaxpr:
    """Like `trace_to_jaxpr`, as a closed jaxpr."""
    jaxpr, consts = trace_to_jaxpr(f, in_avals, debug, drop)
    return ClosedJaxpr(jaxpr, consts)
