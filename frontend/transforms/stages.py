"""Ahead-of-time stages of a jitted function: traced, lowered, compiled, saved to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeAlias, runtime_checkable

from ... import lowering
from ...runtime import ArrayImpl
from ..core import devices, dtypes, pytree
from ..core.avals import NotAnArrayError, ShapedArray, get_aval
from ..core.trace import Tracer
from ..core.tree_differences import structure_differences
from ..core.tree_json import tree_from_json, tree_to_json
from . import spmd
from .abstract import ShapeDtypeStruct, abstract_args, struct_of
from .jit import Call, Jitted, TracedProgram
from .programs import Program, check_compiler_options, program_of

CompilerOptions: TypeAlias = dict[str, str | bool]


@dataclass(frozen=True)
class ArgInfo:
    """Shape, dtype and donation of one flat argument."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype


@dataclass(frozen=True)
class CompiledMemoryStats:
    """Bytes that a compiled program needs."""

    generated_code_size_in_bytes: int = 0
    argument_size_in_bytes: int = 0
    output_size_in_bytes: int = 0
    alias_size_in_bytes: int = 0
    temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0


@dataclass(frozen=True)
class _Signature:
    """What a stage knows about the arguments and results of its function."""

    name: str
    in_tree: Any
    out_tree: Any
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    donated: tuple[bool, ...]
    arg_names: tuple[str, ...]


class Stage:
    """What all stages have in common."""

    def __init__(self, signature: _Signature):
        self._signature = signature

    @property
    def in_tree(self) -> Any:
        """Tree of `(args, kwargs)` without static arguments."""
        return self._signature.in_tree

    @property
    def out_tree(self) -> Any:
        """Tree of the result."""
        return self._signature.out_tree

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, as `(args, kwargs)`."""
        return pytree.tree_unflatten(self.in_tree, self._signature.in_avals)

    @property
    def args_info(self) -> Any:
        """ArgInfo of every argument, as `(args, kwargs)`."""
        pairs = zip(self._signature.in_avals, self._signature.donated, strict=True)
        return pytree.tree_unflatten(self.in_tree, [ArgInfo(a, d) for a, d in pairs])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Numbers of the donated flat arguments."""
        return tuple(i for i, d in enumerate(self._signature.donated) if d)

    @property
    def out_info(self) -> Any:
        """Pytree of ShapeDtypeStructs of the outputs."""
        outs = [struct_of(a) for a in self._signature.out_avals]
        return pytree.tree_unflatten(self.out_tree, outs)


@runtime_checkable
class Wrapped(Protocol):
    """A function ready to be traced, lowered and compiled: what `jit` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced: ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...


class Traced(Stage):
    """A function traced for given arguments."""

    def __init__(self, jitted: Jitted, program: TracedProgram, donated: tuple[bool, ...]):
        info = jitted.info
        debug = program.closed.jaxpr.debug_info
        names = getattr(debug, "arg_names", None) or ()
        leaves = len(program.in_avals)
        names = tuple(names)[-leaves:] if leaves else ()
        if len(names) != leaves:
            names = tuple(f"{i}" for i in range(leaves))
        super().__init__(
            _Signature(
                info.name,
                program.in_tree,
                program.out_tree,
                tuple(program.in_avals),
                tuple(program.closed.out_avals),
                donated,
                names,
            )
        )
        self._info, self._program = info, program

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr."""
        return self._program.closed

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._signature.name

    @property
    def out_avals(self) -> Any:
        """Avals of the outputs, as the result's tree."""
        return pytree.tree_unflatten(self.out_tree, self._signature.out_avals)

    def lower(
        self,
        *,
        lowering_platforms: tuple[str, ...] | None = None,
        _private_parameters: Any = None,
    ) -> Lowered:
        """Lower to MLIR.

        `lowering_platforms` may name "cpu" alone. Raises ValueError for another platform, TypeError
        for a function that closes over values that are being traced.
        """
        if isinstance(lowering_platforms, str):
            lowering_platforms = (lowering_platforms,)
        for platform in lowering_platforms or ():
            if platform != "cpu":
                raise ValueError(
                    f"lowering_platforms={lowering_platforms!r}: programs cannot be lowered for "
                    f"platform {platform!r}; the platforms are: cpu"
                )
        if self._program.hoisted:
            raise TypeError(
                f"the function {self.fun_name} closes over values that are being traced; lower it "
                "outside of the transformation, or pass them as arguments"
            )
        return Lowered(self, ())


class Lowered(Stage):
    """A function lowered to MLIR for given arguments."""

    def __init__(self, traced: Traced, options: tuple[tuple[str, Any], ...]):
        super().__init__(traced._signature)
        self._traced = traced
        self._info = traced._info
        self._lowered = self._program(self._info.compiler_options)

    def _program(self, options: tuple[tuple[str, Any], ...]) -> Any:
        closed = self._traced.jaxpr
        anywhere = (None,) * len(closed.in_avals)
        placed = spmd.program_for(
            closed, self._signature.name, anywhere, self._signature.donated, options
        )
        if placed is not None:
            return placed
        return program_of(
            self._traced.jaxpr,
            self._signature.name,
            self._signature.donated,
            self._info.keep_unused,
            options,
        )

    def compile(
        self, compiler_options: CompilerOptions | None = None, *, device_assignment: Any = None
    ) -> Compiled:
        """Compile to machine code.

        `compiler_options` are as for `jit`, and go before those given there. `device_assignment` may
        name the one device to run on.
        """
        options = {**dict(self._info.compiler_options), **dict(compiler_options or {})}
        if device_assignment is not None and len(device_assignment) != 1:
            raise ValueError(
                f"device_assignment={device_assignment!r}: a program is compiled for one device"
            )
        program = self._program(check_compiler_options(options))
        _ = program.compiled
        device = device_assignment[0] if device_assignment else devices.device_of(0)
        return Compiled(self._signature, program, device)

    def as_text(
        self, dialect: str | None = None, *, stage: str = "linalg", debug_info: bool = False
    ) -> str:
        """The program's text at a stage (see `stages`); `dialect` is another name for `stage`.

        `debug_info` adds the source locations to MLIR. Raises ValueError for an unknown one.
        """
        return _text(self._lowered.lowered, dialect or stage, debug_info, self._traced)

    @property
    def stages(self) -> dict[str, str]:
        """All stages' texts by name, from the jaxpr to the assembly."""
        return {s.name: self.as_text(s.name) for s in lowering.STAGES}

    def compiler_ir(self, dialect: str | None = None) -> str:
        """The text of a stage; MLIR on tensors by default."""
        return self.as_text(dialect)

    def why(self) -> lowering.Remarks:
        """Why the program is not as fast as it could be, as records that print one a line.

        Each has `kind` ("not fused", "copy", "serial loop", "not vectorised", "not partitioned"),
        `reason`, `source` (the user's line, `file.py:12`), `stage`, `pass_name` and `count`. Lowers
        the program to find out.
        """
        return self._lowered.why()

    def cost_analysis(self) -> dict[str, float]:
        """Floating-point operations and bytes accessed."""
        return self._lowered.lowered.cost_analysis()


def _text(program: Any, stage: str, debug_info: bool, traced: Traced | None = None) -> str:
    try:
        stage = lowering.stage(stage).name
    except lowering.UsageError:
        names = ", ".join(s.name for s in lowering.STAGES)
        raise ValueError(f"unknown dialect: {stage}; a program has these stages: {names}") from None
    if stage == "jaxpr" and traced is not None:
        return str(traced.jaxpr)
    return program.stage_text(stage, debug_info=debug_info)


class Compiled(Stage):
    """A compiled function, callable with arguments of the signature it was compiled for."""

    def __init__(self, signature: _Signature, program: Program, device: Any):
        super().__init__(signature)
        self._program, self._device = program, device

    def as_text(self, stage: str = "asm") -> str:
        """The program's text at a stage; assembly by default."""
        return _text(self._program.compiled, stage, False)

    @property
    def stages(self) -> dict[str, str]:
        """All stages' texts by name, from the jaxpr to the assembly."""
        return {s.name: self.as_text(s.name) for s in lowering.STAGES}

    def cost_analysis(self) -> dict[str, float]:
        """Floating-point operations and bytes accessed."""
        return self._program.compiled.cost_analysis()

    def memory_analysis(self) -> CompiledMemoryStats:
        """Sizes in bytes of arguments, outputs, temporaries and code."""
        return CompiledMemoryStats(**self._program.compiled.memory_analysis())

    def runtime_executable(self) -> Any:
        """The compiled program itself."""
        return self._program.compiled

    @property
    def input_shardings(self) -> Any:
        """Sharding of every argument, as `(args, kwargs)`."""
        return pytree.tree_unflatten(self.in_tree, self._shardings("in_shardings", self.in_tree))

    @property
    def output_shardings(self) -> Any:
        """Sharding of every output, as the result's tree."""
        return pytree.tree_unflatten(self.out_tree, self._shardings("out_shardings", self.out_tree))

    def _shardings(self, which: str, tree: Any) -> list[Any]:
        """Those of a program on several devices, or the one device's."""
        one = [devices.SingleDeviceSharding(self._device)] * tree.num_leaves
        return getattr(self._program, which, one)

    @property
    def out_info(self) -> Any:
        """Pytree of ShapeDtypeStructs of the outputs, with their shardings."""
        shardings = self._shardings("out_shardings", self.out_tree)
        outs = [
            struct_of(a).update(sharding=s)
            for a, s in zip(self._signature.out_avals, shardings, strict=True)
        ]
        return pytree.tree_unflatten(self.out_tree, outs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run. The arguments must have the structure and types that were compiled for.

        Raises TypeError where they differ, naming the arguments, and for tracers: a compiled
        function cannot be transformed.
        """
        leaves, tree = pytree.tree_flatten((args, kwargs))
        known = self._signature
        if tree != known.in_tree:
            self._wrong_structure(tree)
        for x, want in zip(leaves, known.in_avals, strict=True):
            if type(x) is ArrayImpl and x.aval is want:
                continue
            if isinstance(x, Tracer):
                raise TypeError(
                    "Cannot apply JAX transformations to a function lowered and compiled for a "
                    f"particular signature. Detected argument of Tracer type {type(x)}."
                )
            if not want.same_type(_aval_of_argument(x)):
                self._wrong_types(leaves)
        return pytree.tree_unflatten(known.out_tree, self._program(leaves))

    call = __call__

    def _wrong_structure(self, tree: Any) -> NoReturn:
        lines = []
        for path, seen, given, why in structure_differences(self.in_tree, tree):
            where = f"args{path[3:]}" if path.startswith("[0]") else f"kwargs{path[3:]}"
            lines.append(f"    * at {where}, seen {seen} but now given {given}, so {why}")
        raise TypeError(
            "Function compiled with input pytree does not match the input pytree it was called "
            f"with. There are {len(lines)} mismatches, including:\n" + "\n".join(lines)
        )

    def _wrong_types(self, leaves: Sequence[Any]) -> NoReturn:
        known = self._signature
        lines = [
            f"Argument '{name}' compiled with {want.str_short(long=True)} and called with "
            f"{got.str_short(long=True)}"
            for name, want, got in zip(
                known.arg_names, known.in_avals, map(_aval_of_argument, leaves), strict=True
            )
            if not want.same_type(got)
        ]
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled. "
            "Perhaps you are calling the compiled executable with a different enable_x64 mode than "
            "when it was AOT compiled? The mismatches are:\n" + "\n".join(lines)
        )

    def serialize(self) -> bytes:
        """The compiled function as bytes, for `Compiled.deserialize` on the same kind of CPU.

        Raises ValueError for a program that calls Python functions, or for a tree whose nodes
        cannot be named in a file.
        """
        known, program = self._signature, self._program
        extra = {
            "name": known.name,
            "in_tree": tree_to_json(known.in_tree),
            "out_tree": tree_to_json(known.out_tree),
            "in_avals": [_aval_to_json(a) for a in known.in_avals],
            "out_avals": [_aval_to_json(a) for a in known.out_avals],
            "donated": list(known.donated),
            "arg_names": list(known.arg_names),
            "kept": list(program.kept),
            "deleted": list(program.donated),
        }
        return lowering.save_program(program.compiled, extra)

    @staticmethod
    def deserialize(data: bytes) -> Compiled:
        """The compiled function that `serialize` wrote.

        It runs machine code out of `data`: load only what you trust. Raises ValueError, saying why,
        for bytes that are damaged or were made for another CPU or by another version.
        """
        compiled, extra = lowering.load_program(data)
        in_avals = tuple(_aval_from_json(a) for a in extra["in_avals"])
        out_avals = tuple(_aval_from_json(a) for a in extra["out_avals"])
        signature = _Signature(
            extra["name"],
            tree_from_json(extra["in_tree"]),
            tree_from_json(extra["out_tree"]),
            in_avals,
            out_avals,
            tuple(extra["donated"]),
            tuple(extra["arg_names"]),
        )
        program = Program.of_compiled(
            compiled, in_avals, out_avals, extra["kept"], extra["deleted"]
        )
        return Compiled(signature, program, devices.device_of(0))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the compiled function to a file, for `stages.load`. Raises as `serialize` does."""
        data = self.serialize()
        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise


def load(path: str | os.PathLike[str]) -> Compiled:
    """The compiled function in a file that `Compiled.save` wrote.

    It runs machine code out of the file: load only what you trust. Raises OSError if the file
    cannot be read, and ValueError, saying why, if it is damaged or was made for another CPU or by
    another version.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return Compiled.deserialize(data)
    except ValueError as e:
        raise type(e)(f"{os.fspath(path)}: {e}") from None


def _aval_of_argument(x: Any) -> Any:
    try:
        return get_aval(x)
    except NotAnArrayError:
        raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type") from None


def _aval_to_json(aval: Any) -> list[Any]:
    return [list(aval.shape), dtypes.dtype_name(aval.dtype), bool(aval.weak_type)]


def _aval_from_json(json: Sequence[Any]) -> ShapedArray:
    shape, name, weak = json
    return ShapedArray(tuple(shape), dtypes.dtype_named(name), weak)


def traced_stage(jitted: Jitted, args: tuple, kwargs: dict) -> Traced:
    """The first stage of a jitted function, for arrays or ShapeDtypeStructs."""
    a, k = abstract_args(args, kwargs)
    call = Call(jitted.info, a, k)
    return Traced(jitted, jitted.traced(call), call.donated(jitted.info))


__all__ = [
    "ArgInfo",
    "Compiled",
    "CompiledMemoryStats",
    "CompilerOptions",
    "Lowered",
    "ShapeDtypeStruct",
    "Stage",
    "Traced",
    "Wrapped",
    "load",
    "traced_stage",
]
