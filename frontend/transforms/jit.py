"""jit: the primitive that calls a jaxpr, its rules, and the user's `jit`.

A call of a jitted function with arrays goes through the compiled call path of the runtime; the
Python code here runs only when a signature is new, or when the call itself is being traced.
"""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...runtime import EagerFunction, JitDispatch
from ..core import config, devices, dtypes, eager, pytree
from ..core.avals import ShapedArray
from ..core.bounded_cache import BoundedCache
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, JaxprEqn, axis_names
from ..core.log import log
from ..core.primitive import Primitive
from ..core.rules import Zero, is_undefined
from ..core.staging import DebugInfo, trace_to_closed, trace_to_jaxpr
from ..core.trace import Tracer, eval_trace, set_trace, state
from ..core.tracebacks import boundary
from . import spmd
from .api_util import (
    FlatFun,
    Hashed,
    check_arguments,
    check_callable,
    check_results,
    debug_info,
    fun_name,
    fun_where,
    resolve_argnums,
)
from .batching import batch_jaxpr
from .cache_misses import explain
from .checkify import checkify_call
from .eager_functions import eager_function
from .function_traces import traces_of
from .jet import jet_call
from .jvp import jvp_jaxpr
from .partial_eval import dce_closed, partial_eval_jaxpr
from .programs import (
    check_compiler_options,
    clear_eager_programs,
    mark_by_primitives,
    program_of,
)
from .recompute import split_call
from .transpose import transpose_jaxpr

if TYPE_CHECKING:
    from .stages import Lowered, Traced

# --- the primitive -------------------------------------------------------------------------


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return jaxpr.out_avals


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    closed = params["jaxpr"]
    if config.disable_jit.value:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return program_of_call(params, args)(args)


def program_of_call(params: dict, args: Sequence[Any] = ()) -> Any:
    """The program of a jit equation for concrete arguments: one for several devices where they, or
    the jaxpr, are on several."""
    placed = spmd.program_for(
        params["jaxpr"],
        params["name"],
        args,
        params["donated_invars"],
        params.get("compiler_options_kvs", ()),
    )
    if placed is not None:
        return placed
    if devices.many:
        info = params["jaxpr"].jaxpr.debug_info
        names = getattr(info, "arg_names", None)
        names = names if names and len(names) == len(args) else None
        eager.check_one_place(params["name"], args, names)
    return program_of(
        params["jaxpr"],
        params["name"],
        params["donated_invars"],
        params["keep_unused"],
        params.get("compiler_options_kvs", ()),
    )


def _reference(*args: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)]


def _call_params(params: dict, jaxpr: ClosedJaxpr, n: int, staged: bool) -> dict:
    return {**params, "jaxpr": jaxpr, "donated_invars": (False,) * n}


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
    donated = params["donated_invars"]
    donated = [*donated, *[d for d, nz in zip(donated, nonzero, strict=True) if nz]]
    outs = _rebind(params, jaxpr, args, donated)
    n = len(nonzero_out)
    it = iter(outs[n:])
    return outs[:n], [
        next(it) if nz else Zero.of(o) for o, nz in zip(outs[:n], nonzero_out, strict=True)
    ]


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    unknown = tuple(trace.is_unknown(a) for a in args)
    parts = partial_eval_jaxpr(params["jaxpr"], unknown)
    known_args = [a for a, u in zip(args, unknown, strict=True) if not u]
    donated = [d for d, u in zip(params["donated_invars"], unknown, strict=True) if not u]
    for kind, i in [*parts.residuals, *parts.known_out]:
        if kind == "in":  # still read afterwards
            donated[i] = False
    with set_trace(trace.parent):
        outs = _rebind(params, parts.known, known_args, donated)
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
    return _rebind(params, jaxpr, args, params["donated_invars"]), out_dims


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
    split=split_call("jaxpr", _call_params),
    jet=jet_call("jaxpr", lambda params, jaxpr, n: _call_params(params, jaxpr, n, False)),
    stage=_stage,
    dce=_dce,
    checkify=checkify_call(
        "jaxpr", lambda p, n: {**p, "donated_invars": (False,) * n + tuple(p["donated_invars"])}
    ),
    axis_names=lambda params: axis_names(params["jaxpr"]),
    effects=lambda jaxpr, **_: jaxpr.effects,
    params_text=_params_text,
    calls="jaxpr",
)


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
        for kind in ("argnames", "argnums"):
            static = getattr(self, f"static_{kind}")
            both = set(static) & set(getattr(self, f"donate_{kind}"))
            if both:
                what = "Argument names" if kind == "argnames" else "Argument numbers"
                raise ValueError(
                    f"static_{kind} and donate_{kind} cannot intersect. {what} {both} appear in "
                    f"both static_{kind} and donate_{kind}"
                )
        self.keep_unused, self.inline = options["keep_unused"], options["inline"]
        self.compiler_options = check_compiler_options(options.get("compiler_options"))
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


def check_may_trace(fun: Callable[..., Any], traced_for: str) -> None:
    """Raises RuntimeError where the option no_tracing forbids to trace a function."""
    if config.no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {fun_name(fun)} at {fun_where(fun)} for `{traced_for}`, but "
            "'no_tracing' is set"
        )


def trace_call(info: JitInfo, call: Call) -> TracedProgram:
    """Trace the function for the signature of a call."""
    check_may_trace(info.fun, "jit")
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

    def __init__(self, info: JitInfo, cache: BoundedCache[TracedProgram] | None = None):
        self.info = info
        self.cache: BoundedCache[TracedProgram] = BoundedCache(4096) if cache is None else cache

    def traced(self, call: Call) -> TracedProgram:
        """The traced program for a call, from the cache if its signature is known."""
        program = self.cache.get(call.key)
        if program is None:
            if config.explain_cache_misses.value:
                explain(self.info.fun, call.function(self.info), call.key, self.cache.keys())
            started = time.perf_counter()
            program = trace_call(self.info, call)
            if config.log_compiles.value:
                seconds = time.perf_counter() - started
                log.warning("Finished tracing %s for jit in %.6f sec", self.info.name, seconds)
            if not program.hoisted:
                self.cache.put(call.key, program)
        return program

    def params(self, program: TracedProgram, call: Call) -> dict:
        donated = call.donated(self.info)
        params = {
            "jaxpr": program.closed,
            "name": self.info.name,
            "donated_invars": (False,) * len(program.hoisted) + donated,
            "keep_unused": self.info.keep_unused,
            "inline": self.info.inline,
        }
        if self.info.compiler_options:
            params["compiler_options_kvs"] = self.info.compiler_options
        return params

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
        compiled = program_of_call(params, [*program.hoisted, *call.leaves])
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
        return executable, program.out_tree, compiled.kept, ()  # it deletes what is donated


def make_jit(fun: Callable[..., Any], **options: Any) -> Any:
    """The jitted function object."""
    check_callable(fun)
    info = JitInfo(fun, **options)
    traces = traces_of(fun)
    jitted = Jitted(info, traces)
    wrapped = JitDispatch(jitted.miss, fun, info.static_argnums, info.static_argnames)
    traces.serve(wrapped)
    register(wrapped, fun, jitted)
    return wrapped


def register(wrapped: Any, fun: Callable[..., Any], jitted: Jitted) -> None:
    """Make a dispatch object look like `fun`, and give it what users of jit expect."""
    functools.update_wrapper(wrapped, fun, updated=())
    wrapped._jit = jitted
    _all_jitted.add(jitted)
    _attach_stages(wrapped, jitted)


def _attach_stages(wrapped: Any, jitted: Jitted) -> None:
    """Give a jitted function the methods that lead to its stages."""

    def trace(*args: Any, **kwargs: Any) -> Traced:
        """Trace for arguments that may be arrays or ShapeDtypeStructs."""
        from .stages import traced_stage

        return traced_stage(jitted, args, kwargs)

    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for arguments that may be arrays or ShapeDtypeStructs."""
        return trace(*args, **kwargs).lower()

    def eval_shape(*args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the result for arguments that may be ShapeDtypeStructs."""
        return trace(*args, **kwargs).out_info

    def clear_cache() -> None:
        """Forget this function's traced and compiled programs."""
        jitted.cache.clear()
        wrapped.clear_fast_cache()

    wrapped.trace, wrapped.lower, wrapped.eval_shape = trace, lower, eval_shape
    wrapped.clear_cache, wrapped._cache_size = clear_cache, lambda: len(jitted.cache)


def runs_eagerly(trace: Any) -> bool:
    """Whether a trace only transforms what is then evaluated at once, recording no program."""
    while trace is not eval_trace:
        trace = getattr(trace, "parent", None)
        if trace is None:
            return False
    return True


class _LibraryJitted(Jitted):
    """Run eagerly, its calls go by primitives."""

    def traced(self, call: Call) -> TracedProgram:
        program = super().traced(call)
        mark_by_primitives(program.closed)
        return program


def library_jit(fun: Any = None, *, compiled: bool = False, **options: Any) -> Any:
    """jit for functions of the library itself.

    In programs that are traced they are calls under their own name, as a user of jit would have
    it; run eagerly, also below grad or vmap, they go primitive by primitive, and nothing waits for
    the compiler. With `compiled` they are compiled eagerly too: for results that must have the
    same bits in and out of programs.
    """
    if fun is None:
        return lambda f: library_jit(f, compiled=compiled, **options)
    settings = {
        "static_argnums": None,
        "static_argnames": None,
        "donate_argnums": None,
        "donate_argnames": None,
        "keep_unused": False,
        "inline": False,
        **options,
    }
    if compiled:
        return make_jit(fun, **settings)
    jitted: Jitted | None = None  # made when the function is first traced

    def call(*args: Any, **kwargs: Any) -> Any:
        if state.trace is eval_trace or runs_eagerly(state.trace) or config.disable_jit.value:
            return fun(*args, **kwargs)
        nonlocal jitted
        if jitted is None:
            jitted = _LibraryJitted(JitInfo(fun, **settings))
            _all_jitted.add(jitted)
        return jitted.miss(args, kwargs)[0]

    return eager_function(functools.wraps(fun)(call))


def make_closed_jaxpr(f: Callable[..., Any], call: Call, traced_for: str = "make_jaxpr") -> Any:
    """Trace for `make_jaxpr`: the closed jaxpr and the output tree."""
    check_may_trace(f, traced_for)
    flat = FlatFun(f, call.in_tree)

    def checked(*leaves: Any) -> list[Any]:
        outs = flat(*leaves)
        check_results(f, traced_for, outs, flat.out_tree)
        return outs

    debug = debug_info(traced_for, f, call.in_tree)
    closed = trace_to_closed(checked, call.avals, debug, drop=True)
    return closed, flat.out_tree


#: Called by `clear_caches`: what modules above this one remember of functions.
forgetters: list[Callable[[], Any]] = []


def clear_caches() -> None:
    """Forget all traced and compiled programs."""
    clear_eager_programs()
    for forget in forgetters:
        forget()
    for j in list(_all_jitted):
        j.cache.clear()
    JitDispatch.clear_all()
    EagerFunction.clear_all()


__all__ = [
    "Call",
    "JitInfo",
    "Jitted",
    "TracedProgram",
    "clear_caches",
    "hoist_tracers",
    "jit_p",
    "library_jit",
    "make_closed_jaxpr",
    "make_jit",
    "program_of",
    "program_of_call",
    "runs_eagerly",
    "trace_call",
]
