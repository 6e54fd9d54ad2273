"""Compiled programs of closed jaxprs, and of single primitives that have no reference."""

from __future__ import annotations

import functools
import math
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ... import lowering
from ...runtime import ArrayImpl
from ..core import config, dtypes, eager
from ..core.avals import get_aval
from ..core.bounded_cache import BoundedCache
from ..core.errors import JaxRuntimeError
from ..core.interpreter import jaxpr_as_fun
from ..core.jaxpr import ClosedJaxpr, subjaxprs
from ..core.log import log
from ..core.primitive import Primitive
from ..core.staging import trace_to_closed
from ..core.structure_key import Unkeyed, equation_key
from ..core.trace import state
from .partial_eval import dce_jaxpr

CompilerOptions: TypeAlias = tuple[tuple[str, Any], ...]


class _Blaming(threading.local):
    """Whether this thread is running a program's operations one by one to find a bad value."""

    on = False


_blaming = _Blaming()


def _kept(x: Any) -> Any:
    """Another array with the same contents, for a program that deletes its argument."""
    return ArrayImpl.from_numpy(x._numpy(), x.weak_type, copy=True) if type(x) is ArrayImpl else x


def _physical(x: Any, aval: Any) -> Any:
    """The array that a program takes for a value that is no array of ours."""
    if aval.dtype == dtypes.float0:
        return eager.from_numpy(np.zeros(aval.shape, bool), aval.update(dtype=np.dtype(bool)))
    return eager.from_numpy(eager.to_numpy(x), aval)


class Program:
    """A closed jaxpr compiled; calls take and return flat lists of concrete arrays.

    `kept` are the indices of the inputs that the compiled code reads, `donated` says for each
    input whether a call deletes it; typed keys and the like are passed and returned as their
    physical arrays. `single` says that it is one primitive alone. A UserWarning names the donated
    inputs that no result is as large as.
    """

    def __init__(
        self,
        closed: ClosedJaxpr,
        name: str,
        donated: Sequence[bool],
        keep_unused: bool,
        single: bool = False,
        options: CompilerOptions = (),
    ):
        _check_compilable(closed.jaxpr)
        closed = _without_dead_code(closed)
        self.name, self.single = name, single
        self.closed: ClosedJaxpr | None = closed
        self.in_avals: Sequence[Any] = closed.in_avals
        self.out_avals: Sequence[Any] = closed.out_avals
        if keep_unused:
            self.kept: tuple[int, ...] = tuple(range(len(closed.in_avals)))
        else:
            live = {id(a) for e in closed.eqns for a in e.invars}
            live |= {id(a) for a in closed.jaxpr.outvars}
            self.kept = tuple(i for i, v in enumerate(closed.jaxpr.invars) if id(v) in live)
        kept_vars = [closed.jaxpr.invars[i] for i in self.kept]
        offered = [i for i in self.kept if donated and donated[i]]
        usable = _usable_donations(closed, offered) if offered else set()
        self.donated = tuple([i in usable for i in range(len(closed.in_avals))])
        if config.log_compiles.value:
            log.warning(
                "Compiling jit(%s) with global shapes and types (%s).",
                name,
                ", ".join([str(a) for a in closed.in_avals]),
            )
        self.lowered = lowering.lower_jaxpr(
            closed.replace(jaxpr=closed.jaxpr.replace(invars=kept_vars)),
            name=name,
            donated=[self.donated[i] for i in self.kept],
            options={**compile_options(), **dict(options)},
        )
        self.plain_out = _plain(self.out_avals)

    @classmethod
    def of_compiled(
        cls,
        compiled: Any,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        kept: Sequence[int],
        donated: Sequence[bool],
    ) -> Program:
        """A program that was compiled before, by another process maybe."""
        self = cls.__new__(cls)
        self.name, self.closed, self.single = compiled.name, None, True
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)
        self.kept, self.donated = tuple(kept), tuple(donated)
        self.lowered, self.compiled = compiled.text, compiled
        self.plain_out = _plain(self.out_avals)
        return self

    @functools.cached_property
    def compiled(self) -> Any:
        """The machine code; made when it is first wanted."""
        compiled = self.lowered.compile()
        if config.log_compiles.value:
            log.warning(
                "Finished compilation of jit(%s) in %.6f sec%s",
                self.name,
                compiled.compile_ms["total"] / 1e3,
                " (found in the compile cache)" if compiled.cache_hit else "",
            )
        return compiled

    def why(self) -> lowering.Remarks:
        """What keeps the program from being faster: see `lowering.Remark`."""
        return remarks_of(self.lowered)

    def __call__(self, args: Sequence[Any], again: Callable[..., Any] | None = None) -> list[Any]:
        """Run on concrete arrays.

        With debug_nans or debug_infs, `again` computes the same by single operations; by default
        the program's equations are run one by one.
        """
        check = config.debug_nans.value or config.debug_infs.value
        spare = args
        if check and any(self.donated):
            # the arguments are needed once more if a result is not finite
            spare = [_kept(x) if d else x for x, d in zip(args, self.donated, strict=True)]
        ins = []
        for i in self.kept:
            x = args[i]
            if type(x) is not ArrayImpl:
                x = getattr(x, "_base_array", None)
                if x is None:
                    x = _physical(args[i], self.in_avals[i])
            ins.append(x)
        outs = self.compiled.execute(ins)
        if not self.plain_out:
            outs = [_from_physical(o, a) for o, a in zip(outs, self.out_avals, strict=True)]
        if check and eager.not_finite(outs) is not None:
            self._blame(spare, outs, again)
        return outs

    def _blame(
        self, args: Sequence[Any], outs: list[Any], again: Callable[..., Any] | None
    ) -> None:
        """Raise the FloatingPointError that names the first operation with a bad result."""
        if not _blaming.on and not self.single:
            if again is None:
                # a program that was loaded has no jaxpr, and is `single`
                assert self.closed is not None
                again = jaxpr_as_fun(self.closed)
            _blaming.on = True
            try:
                with config.disable_jit(True):
                    again(*args)
            finally:
                _blaming.on = False
        try:
            eager.check_finite(
                self.name if self.single else f"the jitted function {self.name}", outs
            )
        except FloatingPointError as e:
            if self.single or _blaming.on:
                raise
            raise FloatingPointError(
                f"{e}. Its operations, run one by one, give no such value: it is among the "
                "arguments or constants, or arises where the compiled code rounds differently."
            ) from None


def _plain(avals: Sequence[Any]) -> bool:
    """Whether arrays of these avals are what the compiled code returns."""
    return all(
        type(getattr(a, "dtype", None)) is not None
        and not dtypes.is_extended(a.dtype)
        and a.dtype != dtypes.float0
        for a in avals
    )


def _nbytes(aval: Any) -> int:
    if dtypes.is_extended(aval.dtype):
        item = math.prod(aval.dtype.physical_shape) * aval.dtype.physical_dtype.itemsize
    else:
        item = aval.dtype.itemsize
    return math.prod(aval.shape) * item


def _usable_donations(closed: ClosedJaxpr, offered: Sequence[int]) -> set[int]:
    """Those of the `offered` inputs whose buffers can each become another result's.

    Input after input gets the first result of its size that is left. Warns about the others.
    """
    results = [_nbytes(a) for a in closed.out_avals]
    usable, refused = set(), []
    for i in offered:
        size = _nbytes(closed.in_avals[i])
        if size in results:
            results.remove(size)
            usable.add(i)
        else:
            refused.append(closed.in_avals[i].str_short(long=True))
    if refused:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(refused)}.\n"
            "A donated array is used where a result of the same size in bytes is left for it.",
            stacklevel=2,
        )
    return usable


def remarks_of(lowered: Any, reasons: Sequence[Any] = ()) -> lowering.Remarks:
    """What the passes say about a program, after why operations of it were not partitioned.

    `reasons` have an operation's name, its source info and `why`.
    """
    whole = [
        lowering.Remark(
            "not partitioned",
            f"the operands of {r.operation} are gathered: {r.why}",
            f"{r.source.file}:{r.source.line}" if r.source.file else "",
            "jaxpr",
            "partition",
        )
        for r in reasons
    ]
    return lowering.Remarks([*whole, *lowered.why()])


def lower_on_devices(
    closed: ClosedJaxpr, name: str, options: CompilerOptions, axes: tuple[tuple[Any, int], ...]
) -> Any:
    """The emitted program that each device of a mesh with these axes runs."""
    return lowering.lower_jaxpr(
        closed, name=name, options={**compile_options(), **dict(options), "mesh_axes": axes}
    )


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


def _without_dead_code(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Without the equations, and the carries of loops, that no result depends on."""
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), keep_inputs=True)
    return closed.replace(jaxpr=jaxpr)


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
    closed: ClosedJaxpr,
    name: str,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    options: CompilerOptions = (),
) -> Program:
    """The program of a closed jaxpr, lowered and compiled once for as long as the jaxpr lives."""
    return closed.derived(
        ("program", donated, keep_unused, options),
        lambda: Program(closed, name, donated, keep_unused, options=options),
    )


def mark_by_primitives(closed: ClosedJaxpr) -> None:
    """Note that the call of a jaxpr, made eagerly, runs its primitives one by one."""
    closed.derived(("by primitives",), lambda: True)


def goes_by_primitives(closed: ClosedJaxpr) -> bool:
    """Whether `mark_by_primitives` was called for a jaxpr; others are compiled when called."""
    return closed.derived(("by primitives",), lambda: False)


COMPILER_OPTIONS = ("pipeline",)


def check_compiler_options(options: Mapping[str, Any] | None) -> CompilerOptions:
    """`compiler_options` of the user as a hashable value.

    Accepted: `pipeline`, the name of a list of passes ("cpu", "cpu-fast"). XLA's own options are
    left out with a warning. Raises JaxRuntimeError for any other name, ValueError for a bad value.
    """
    checked = []
    for name, value in sorted((options or {}).items()):
        if name.startswith("xla_"):
            warnings.warn(f"the compiler option {name!r} of XLA has no effect", stacklevel=3)
        elif name not in COMPILER_OPTIONS:
            raise JaxRuntimeError(
                f"INVALID_ARGUMENT: No such compile option: {name!r}; accepted: "
                f"{', '.join(COMPILER_OPTIONS)}"
            )
        elif not isinstance(value, str):
            raise ValueError(f"compiler option {name!r} must be a string, got {value!r}")
        else:
            checked.append((name, value))
    return tuple(checked)


_eager_programs: BoundedCache[Program] = BoundedCache(1024)


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

        program = Program(trace_to_closed(f, avals), primitive.name, (), True, single=True)
        if key is not None:
            _eager_programs.put(key, program)
    outs = program([eager.as_array(a) for a in args])
    return outs if primitive.multiple_results else outs[0]


eager.run_compiled = _run_compiled


def run_structured(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    """Run a primitive that carries jaxprs as a program of its own.

    Programs are kept by what they compute, so that jaxprs made anew in every call, from functions
    that do the same, are compiled once.
    """
    avals = tuple([a.aval if type(a) is ArrayImpl else get_aval(a) for a in args])
    try:
        key: Any = (equation_key(primitive, params), avals, config.trace_key(), state.axis_env)
    except Unkeyed:
        key = None
    program = _eager_programs.get(key) if key is not None else None
    if program is None:
        closed = trace_to_closed(lambda *xs: primitive.bind(*xs, **params), avals)
        program = Program(closed, primitive.name, (), True)
        if key is not None:
            _eager_programs.put(key, program)
    arrays = [eager.as_array(a) for a in args]
    return program(arrays, again=lambda *xs: primitive.bind(*xs, **params))


def clear_eager_programs() -> None:
    """Forget the programs of single primitives."""
    _eager_programs.clear()


__all__ = [
    "COMPILER_OPTIONS",
    "CompilerOptions",
    "Program",
    "check_compiler_options",
    "clear_eager_programs",
    "compile_options",
    "goes_by_primitives",
    "mark_by_primitives",
    "program_of",
    "run_structured",
]
