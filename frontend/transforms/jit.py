"""jit: the primitive that calls a jaxpr, its rules, and the user's `jit`.

A call of a jitted function with arrays goes through the compiled call path of the runtime; the
Python code here runs only when a signature is new, or when the call itself is being traced.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ... import lowering
from ...runtime import ArrayImpl, JitDispatch
from ..core import config, dtypes, eager, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr, jaxpr_as_fun
from ..core.jaxpr import ClosedJaxpr, JaxprEqn, subjaxprs
from ..core.primitive import Primitive, absent
from ..core.rules import Zero, is_undefined
from ..core.staging import DebugInfo, trace_to_closed, trace_to_jaxpr
from ..core.trace import Tracer, eval_trace, set_trace, state
from ..core.tracebacks import boundary
from .api_util import (
    FlatFun,
    Hashed,
    check_arguments,
    check_callable,
    check_results,
    debug_info,
    fun_name,
    resolve_argnums,
)
from .batching import batch_jaxpr
from .jvp import jvp_jaxpr
from .partial_eval import dce_closed, partial_eval_jaxpr
from .transpose import transpose_jaxpr

log = logging.getLogger("lingon")

# --- compiled programs ---------------------------------------------------------------------


class Program:
    """A closed jaxpr compiled; calls take and return flat lists of concrete arrays.

    `kept` are the indices of the inputs that the compiled code reads; typed keys and the like
    are passed and returned as their physical arrays.
    """

    def __init__(self, closed: ClosedJaxpr, name: str, donated: Sequence[bool], keep_unused: bool):
        _check_compilable(closed.jaxpr)
        self.name = name
        self.in_avals, self.out_avals = closed.in_avals, closed.out_avals
        if keep_unused:
            self.kept: tuple[int, ...] = tuple(range(len(closed.in_avals)))
        else:
            live = {id(a) for e in closed.eqns for a in e.invars}
            live |= {id(a) for a in closed.jaxpr.outvars}
            self.kept = tuple(i for i, v in enumerate(closed.jaxpr.invars) if id(v) in live)
        kept_vars = [closed.jaxpr.invars[i] for i in self.kept]
        self.donated = tuple(donated)
        kept_donated = [bool(donated[i]) if donated else False for i in self.kept]
        if config.log_compiles.value:
            log.warning("Compiling %s with %s", name, [str(a) for a in closed.in_avals])
        self.compiled = lowering.compile_jaxpr(
            closed.replace(jaxpr=closed.jaxpr.replace(invars=kept_vars)),
            name=name,
            donated=kept_donated,
            options=compile_options(),
        )
        self.plain_out = all(
            type(getattr(a, "dtype", None)) is not None
            and not dtypes.is_extended(a.dtype)
            and a.dtype != dtypes.float0
            for a in self.out_avals
        )

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        ins = []
        for i in self.kept:
            x = args[i]
            if type(x) is not ArrayImpl:
                x = getattr(x, "_base_array", None)
                if x is None:
                    x = eager.from_numpy(eager.to_numpy(args[i]), self.in_avals[i])
            ins.append(x)
        outs = self.compiled.execute(ins)
        if any(self.donated):
            for x, d in zip(args, self.donated, strict=True):
                if d and type(x) is ArrayImpl and not x.is_deleted():
                    x.delete()
        if not self.plain_out:
            outs = [_from_physical(o, a) for o, a in zip(outs, self.out_avals, strict=True)]
        if config.debug_nans.value or config.debug_infs.value:
            eager.check_finite(f"the jitted function {self.name}", outs)
        return outs


def compile_options() -> dict[str, Any]:
    """What the configuration says about compiling, by the names of `lowering.compile_jaxpr`.

    An option left at its default leaves the choice to the environment.
    """
    options: dict[str, Any] = {"threefry_partitionable": config.threefry_partitionable.value}
    if not config.enable_compilation_cache.value:
        options["compilation_cache"] = False
    if config.compilation_cache_dir.value is not None:
        options["compilation_cache_dir"] = config.compilation_cache_dir.value
    if config.compilation_cache_max_size.value >= 0:
        options["compilation_cache_max_bytes"] = config.compilation_cache_max_size.value
    return options


def _check_compilable(jaxpr: Any) -> None:
    for eqn in jaxpr.eqns:
        if eqn.primitive.forbidden is not None:
            raise eqn.primitive.forbidden()
        for sub in subjaxprs(eqn.params):
            _check_compilable(sub)


def _from_physical(x: Any, aval: Any) -> Any:
    if dtypes.is_extended(aval.dtype):
        return aval.dtype.wrap(x)
    if aval.dtype == dtypes.float0:
        return eager.from_numpy(None, aval)
    return x


def program_of(
    closed: ClosedJaxpr, name: str, donated: tuple[bool, ...] = (), keep_unused: bool = False
) -> Program:
    """The compiled program of a closed jaxpr, compiled once for as long as the jaxpr lives."""
    return closed.derived(
        ("program", donated, keep_unused), lambda: Program(closed, name, donated, keep_unused)
    )


# --- the primitive -------------------------------------------------------------------------


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return jaxpr.out_avals


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    closed = params["jaxpr"]
    if config.disable_jit.value:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return program_of(closed, params["name"], params["donated_invars"], params["keep_unused"])(args)


def _reference(*args: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)]


def _rebind(
    params: dict, jaxpr: ClosedJaxpr, args: Sequence[Any], donated: Sequence[bool] | None = None
) -> list[Any]:
    donated_invars = tuple(donated) if donated is not None else (False,) * len(args)
    return jit_p.bind(*args, **{**params, "jaxpr": jaxpr, "donated_invars": donated_invars})


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    jaxpr, nonzero_out = jvp_jaxpr(params["jaxpr"], nonzero)
    args = [*primals, *[t for t in tangents if type(t) is not Zero]]
    outs = _rebind(params, jaxpr, args)
    n = len(nonzero_out)
    it = iter(outs[n:])
    return outs[:n], [
        next(it) if nz else Zero.of(o) for o, nz in zip(outs[:n], nonzero_out, strict=True)
    ]


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    unknown = tuple(trace.is_unknown(a) for a in args)
    parts = partial_eval_jaxpr(params["jaxpr"], unknown)
    known_args = [a for a, u in zip(args, unknown, strict=True) if not u]
    with set_trace(trace.parent):
        outs = _rebind(params, parts.known, known_args)
    values = {"in": known_args, "out": outs}
    residuals = [values[kind][i] for kind, i in parts.residuals]
    unknown_args = [a for a, u in zip(args, unknown, strict=True) if u]
    staged_out: list[Any] = []
    if any(parts.unknown_out):
        with set_trace(trace.staging):
            staged_out = _rebind(params, parts.staged, [*residuals, *unknown_args])
    known, staged = iter(parts.known_out), iter(staged_out)
    result = []
    for u in parts.unknown_out:
        if u:
            result.append(next(staged))
        else:
            kind, i = next(known)
            result.append(values[kind][i])
    return result


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    linear = tuple(is_undefined(a) for a in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    jaxpr, used, nonzero_out = transpose_jaxpr(params["jaxpr"], linear, nonzero)
    ins = [a for a in args if not is_undefined(a)] + [c for c in cts if type(c) is not Zero]
    outs = iter(_rebind(params, jaxpr, [x for x, u in zip(ins, used, strict=True) if u]))
    nz = iter(nonzero_out)
    return [
        (next(outs) if next(nz) else Zero(a.aval)) if lin else None
        for a, lin in zip(args, linear, strict=True)
    ]


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    jaxpr, out_dims = batch_jaxpr(params["jaxpr"], axis, tuple(dims))
    return _rebind(params, jaxpr, args), out_dims


def _dce(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    jaxpr, used_in = dce_closed(eqn.params["jaxpr"], tuple(used))
    if not jaxpr.eqns and not jaxpr.jaxpr.outvars and not jaxpr.effects:
        return None
    donated = tuple(d for d, u in zip(eqn.params["donated_invars"], used_in, strict=True) if u)
    return eqn.replace(
        invars=[a for a, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={**eqn.params, "jaxpr": jaxpr, "donated_invars": donated},
    )


def _axis_names(params: dict) -> tuple:
    """All axis names used by collectives inside."""

    def make() -> tuple:
        names: set[Any] = set()
        for e in params["jaxpr"].eqns:
            if e.primitive.axis_names is not None:
                names.update(e.primitive.axis_names(e.params))
        return tuple(names)

    return params["jaxpr"].derived("axis_names", make)


def _stage(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> Any:
    if params["inline"]:
        return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)
    return trace.default_process(primitive, args, params)


def _params_text(eqn: JaxprEqn) -> dict:
    shown: dict[str, Any] = {"name": eqn.params["name"], "jaxpr": eqn.params["jaxpr"]}
    if any(eqn.params["donated_invars"]):
        shown["donated_invars"] = eqn.params["donated_invars"]
    if eqn.params["keep_unused"]:
        shown["keep_unused"] = True
    if eqn.params["inline"]:
        shown["inline"] = True
    return shown


jit_p = Primitive(
    "jit",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    partial_eval=_partial_eval,
    stage=_stage,
    dce=_dce,
    axis_names=_axis_names,
    effects=lambda jaxpr, **_: jaxpr.effects,
    params_text=_params_text,
    calls="jaxpr",
)


# --- primitives without a reference, eagerly -----------------------------------------------

_eager_programs: dict[Any, Program] = {}


def _run_compiled(
    primitive: Primitive, args: Sequence[Any], avals: tuple, out: Any, params: dict
) -> Any:
    """Compile the primitive alone as a program, and keep it."""
    try:
        key: Any = (primitive, avals, tuple(params.items()), config.trace_key())
        program = _eager_programs.get(key)
    except TypeError:
        key, program = None, None
    if program is None:

        def f(*xs: Any) -> Any:
            r = primitive.bind(*xs, **params)
            return r if primitive.multiple_results else [r]

        program = Program(trace_to_closed(f, avals), primitive.name, (), True)
        if key is not None:
            if len(_eager_programs) >= 1024:
                _eager_programs.pop(next(iter(_eager_programs)))
            _eager_programs[key] = program
    outs = program([eager.as_array(a) for a in args])
    return outs if primitive.multiple_results else outs[0]


eager.run_compiled = _run_compiled


# --- the user's jit ------------------------------------------------------------------------


class TracedProgram:
    """What tracing a function for one signature gave."""

    __slots__ = ("__weakref__", "closed", "hoisted", "in_avals", "in_tree", "out_tree")

    def __init__(
        self, closed: ClosedJaxpr, hoisted: list[Any], in_tree: Any, out_tree: Any, in_avals: Any
    ):
        self.closed, self.hoisted = closed, hoisted
        self.in_tree, self.out_tree, self.in_avals = in_tree, out_tree, in_avals


def hoist_tracers(jaxpr: Any, consts: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """Close a jaxpr over its concrete constants; tracers among them become leading inputs."""
    traced = [isinstance(c, Tracer) for c in consts]
    if not any(traced):
        return ClosedJaxpr(jaxpr, consts), []
    lead = [v for v, t in zip(jaxpr.constvars, traced, strict=True) if t]
    keep = [v for v, t in zip(jaxpr.constvars, traced, strict=True) if not t]
    closed = ClosedJaxpr(
        jaxpr.replace(constvars=keep, invars=[*lead, *jaxpr.invars]),
        [c for c, t in zip(consts, traced, strict=True) if not t],
    )
    return closed, [c for c, t in zip(consts, traced, strict=True) if t]


class JitInfo:
    """The options of a jitted function."""

    def __init__(self, fun: Callable[..., Any], **options: Any):
        self.fun = fun
        self.static_argnums, self.static_argnames = resolve_argnums(
            fun, options["static_argnums"], options["static_argnames"], "static"
        )
        self.donate_argnums, self.donate_argnames = resolve_argnums(
            fun, options["donate_argnums"], options["donate_argnames"], "donate"
        )
        both = set(self.static_argnums) & set(self.donate_argnums)
        if both:
            raise ValueError(
                f"static_argnums {self.static_argnums} and donate_argnums {self.donate_argnums} "
                f"cannot intersect, but both have {sorted(both)}"
            )
        self.keep_unused, self.inline = options["keep_unused"], options["inline"]
        self.name = fun_name(fun)


class Call:
    """The arguments of one call, split into static values and flat dynamic leaves."""

    __slots__ = (
        "args",
        "avals",
        "bound",
        "in_tree",
        "key",
        "kwargs",
        "leaves",
        "static_args",
        "static_kwargs",
    )

    def __init__(self, info: JitInfo, args: tuple, kwargs: dict):
        n = len(args)
        nums = {i + n if i < 0 else i for i in info.static_argnums}
        self.static_args = {i: Hashed(args[i]) for i in sorted(nums) if i < n}
        self.static_kwargs = {k: Hashed(kwargs[k]) for k in info.static_argnames if k in kwargs}
        dynamic = [a for i, a in enumerate(args) if i not in self.static_args]
        dynamic_kw = {k: v for k, v in kwargs.items() if k not in self.static_kwargs}
        self.leaves, self.in_tree = pytree.tree_flatten((tuple(dynamic), dynamic_kw))
        self.avals = tuple(check_arguments(info.fun, self.leaves, self.in_tree))
        self.key = (
            self.in_tree,
            self.avals,
            n,
            tuple(self.static_args.items()),
            tuple(sorted(self.static_kwargs.items())),
            config.trace_key(),
            state.axis_env,
        )

    def function(self, info: JitInfo) -> Callable[..., Any]:
        """The user's function with the static values filled in."""
        if not self.static_args and not self.static_kwargs:
            return info.fun
        fixed = {i: h.value for i, h in self.static_args.items()}
        fixed_kw = {k: h.value for k, h in self.static_kwargs.items()}

        def f(*dynamic: Any, **kwargs: Any) -> Any:
            it = iter(dynamic)
            args = [fixed[i] if i in fixed else next(it) for i in range(len(fixed) + len(dynamic))]
            return info.fun(*args, **kwargs, **fixed_kw)

        functools.update_wrapper(f, info.fun, assigned=("__name__", "__qualname__"), updated=())
        f.__wrapped__ = info.fun  # type: ignore[attr-defined]
        return f

    def donated(self, info: JitInfo) -> tuple[bool, ...]:
        """Which leaves are donated."""
        if not info.donate_argnums and not info.donate_argnames:
            return (False,) * len(self.leaves)
        dynamic, kwargs = pytree.tree_unflatten(self.in_tree, range(len(self.leaves)))
        total = len(dynamic) + len(self.static_args)
        positions = [i for i in range(total) if i not in self.static_args]
        nums = {i + total if i < 0 else i for i in info.donate_argnums}
        marked = set()
        for i, a in zip(positions, dynamic, strict=True):
            if i in nums:
                marked.update(pytree.tree_leaves(a))
        for k, a in kwargs.items():
            if k in info.donate_argnames:
                marked.update(pytree.tree_leaves(a))
        return tuple(i in marked for i in range(len(self.leaves)))


def trace_call(info: JitInfo, call: Call) -> TracedProgram:
    """Trace the function for the signature of a call."""
    fun = call.function(info)
    flat = FlatFun(fun, call.in_tree)
    debug: DebugInfo = debug_info("jit", fun, call.in_tree)

    def checked(*leaves: Any) -> list[Any]:
        outs = flat(*leaves)
        check_results(info.fun, "jit", outs, flat.out_tree)
        return outs

    jaxpr, consts = trace_to_jaxpr(checked, call.avals, debug)
    closed, hoisted = hoist_tracers(jaxpr, consts)
    return TracedProgram(closed, hoisted, call.in_tree, flat.out_tree, call.avals)


_all_jitted: weakref.WeakSet = weakref.WeakSet()


class Jitted:
    """The Python side of a jitted function: tracing, caching, and calls that are traced."""

    def __init__(self, info: JitInfo):
        self.info = info
        self.cache: dict[Any, TracedProgram] = {}

    def traced(self, call: Call) -> TracedProgram:
        """The traced program for a call, from the cache if its signature is known."""
        program = self.cache.get(call.key)
        if program is None:
            program = trace_call(self.info, call)
            if not program.hoisted:
                if len(self.cache) >= 4096:
                    self.cache.pop(next(iter(self.cache)))
                self.cache[call.key] = program
        return program

    def params(self, program: TracedProgram, call: Call) -> dict:
        donated = call.donated(self.info)
        return {
            "jaxpr": program.closed,
            "name": self.info.name,
            "donated_invars": (False,) * len(program.hoisted) + donated,
            "keep_unused": self.info.keep_unused,
            "inline": self.info.inline,
        }

    @boundary
    def miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        """Called where the fast path has no entry: (result, entry for the fast path or None)."""
        if config.disable_jit.value:
            return self.info.fun(*args, **kwargs), None
        call = Call(self.info, args, kwargs)
        program = self.traced(call)
        params = self.params(program, call)
        outs = jit_p.bind(*program.hoisted, *call.leaves, **params)
        result = pytree.tree_unflatten(program.out_tree, outs)
        if state.trace is not eval_trace or program.hoisted:
            return result, None
        return result, self.entry(program, call, params)

    def entry(self, program: TracedProgram, call: Call, params: dict) -> Any:
        """What the runtime needs to run this signature by itself, or None if it cannot."""
        compiled = program_of(
            program.closed, params["name"], params["donated_invars"], params["keep_unused"]
        )
        plain = all(
            isinstance(a, ShapedArray)
            and not dtypes.is_extended(a.dtype)
            and a.dtype != dtypes.float0
            for a in call.avals
        )
        executable = getattr(compiled.compiled, "executable", None)
        if not (plain and compiled.plain_out) or executable is None:
            return None
        if config.debug_nans.value or config.debug_infs.value:
            return None
        return executable, program.out_tree, compiled.kept, compiled.donated


def make_jit(fun: Callable[..., Any], **options: Any) -> Any:
    """The jitted function object."""
    check_callable(fun)
    info = JitInfo(fun, **options)
    jitted = Jitted(info)
    wrapped = JitDispatch(jitted.miss, fun, info.static_argnums, info.static_argnames)
    functools.update_wrapper(wrapped, fun, updated=())
    wrapped._jit = jitted
    _all_jitted.add(jitted)
    from . import stages

    stages.attach(wrapped, jitted)
    return wrapped


def runs_eagerly(trace: Any) -> bool:
    """Whether a trace only transforms what is then evaluated at once, recording no program."""
    while trace is not eval_trace:
        trace = getattr(trace, "parent", None)
        if trace is None:
            return False
    return True


def library_jit(fun: Any = None, **options: Any) -> Any:
    """jit for functions of the library itself.

    In programs that are traced they are calls under their own name, as a user of jit would have
    it; run eagerly, also below grad or vmap, they go primitive by primitive, and nothing waits for
    the compiler.
    """
    if fun is None:
        return lambda f: library_jit(f, **options)
    settings = {
        "static_argnums": None,
        "static_argnames": None,
        "donate_argnums": None,
        "donate_argnames": None,
        "keep_unused": False,
        "inline": False,
        **options,
    }
    jitted = Jitted(JitInfo(fun, **settings))
    _all_jitted.add(jitted)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.trace is eval_trace or runs_eagerly(state.trace) or config.disable_jit.value:
            return fun(*args, **kwargs)
        return jitted.miss(args, kwargs)[0]

    call._jit = jitted  # type: ignore[attr-defined]
    return call


def make_closed_jaxpr(f: Callable[..., Any], call: Call, traced_for: str = "make_jaxpr") -> Any:
    """Trace for `make_jaxpr`: the closed jaxpr and the output tree."""
    flat = FlatFun(f, call.in_tree)

    def checked(*leaves: Any) -> list[Any]:
        outs = flat(*leaves)
        check_results(f, traced_for, outs, flat.out_tree)
        return outs

    debug = debug_info(traced_for, f, call.in_tree)
    closed = trace_to_closed(checked, call.avals, debug, drop=True)
    return closed, flat.out_tree


def clear_caches() -> None:
    """Forget all traced and compiled programs."""
    _eager_programs.clear()
    for j in list(_all_jitted):
        j.cache.clear()
    JitDispatch.clear_all()


__all__ = ["absent", "clear_caches", "get_aval", "jaxpr_as_fun", "jit_p", "make_jit", "program_of"]
