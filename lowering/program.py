"""compile_jaxpr: from a closed jaxpr to a program that can be executed and looked into."""

from __future__ import annotations

import functools
import importlib
import math
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .. import runtime
from .cache import Entry, compile_cache, entry_key
from .emit import EmittedModule, emit_module
from .emit.types import buffer_form, element_type
from .errors import CompilationError
from .llvm_c import libllvm_path, libmlir_path
from .loader import load_object
from .pipelines import Pipeline, pipeline
from .target_machine import Target, host_target

if TYPE_CHECKING:
    from .remarks import Remarks
    from .stages import Stage
    from .stats import Stats

ENTRY_FUNCTION = "main"
OPTIONS = (
    "pipeline",
    "compilation_cache",
    "compilation_cache_dir",
    "compilation_cache_max_bytes",
    "threefry_partitionable",
    "mesh_axes",
)


class ProgramText:
    """A program that can be looked into: its texts by stage, and counts of what it does.

    Attributes:
        name: the function's name, for messages.
        in_types, out_types: (shape, dtype) of its buffers, constants among the inputs.
        pipeline: the passes that it goes through.
    """

    name: str
    in_types: tuple[tuple[tuple[int, ...], Any], ...]
    out_types: tuple[tuple[tuple[int, ...], Any], ...]
    pipeline: Pipeline

    def jaxpr_text(self) -> str:
        """The program as a jaxpr."""
        raise NotImplementedError

    def linalg_text(self) -> str:
        """The program as it was emitted, with source locations where they are known."""
        raise NotImplementedError

    def stage_text(self, name: str | int | Stage, *, debug_info: bool = False) -> str:
        """The program's text at a stage, by name or number, with source locations if wanted.

        Raises UsageError if there is no such stage.
        """
        from .stages import stage

        goal = stage(name)
        if goal.form == "jaxpr":
            return self.jaxpr_text()
        from .driver import lower_text

        return lower_text(self.linalg_text(), goal, pipeline=self.pipeline, debug_info=debug_info)

    def stats(self) -> Stats:
        """Counts of what the compiled program does: see `lowering.stats`."""
        from .stats import program_stats

        return program_stats(self.linalg_text(), pipeline=self.pipeline)

    def why(self) -> Remarks:
        """What keeps the program from being faster: see `lowering.remarks`."""
        from .remarks import explain

        return explain(self.linalg_text(), pipeline=self.pipeline)

    def cost_analysis(self) -> dict[str, float]:
        """`flops`, `transcendentals` and `bytes accessed` of one execution, from static counts."""
        stats = self.stats()
        return {
            "flops": float(stats.flops),
            "transcendentals": float(stats.transcendentals),
            "bytes accessed": float(stats.bytes_accessed),
        }


class LoweredProgram(ProgramText):
    """A closed jaxpr emitted as linalg, to be compiled by `compile`."""

    def __init__(
        self,
        closed_jaxpr: Any,
        name: str,
        donated: tuple[bool, ...],
        options: Mapping[str, Any],
        chosen: Pipeline,
    ) -> None:
        started = time.perf_counter()
        self.closed_jaxpr, self.name, self.donated = closed_jaxpr, name, donated
        self.pipeline = chosen
        self._options = options
        self._emitted: EmittedModule | None = None
        emitted = self.emitted()
        self._emitted = emitted
        self.in_types, self.out_types = emitted.in_types, emitted.out_types
        self._emit_ms = 1e3 * (time.perf_counter() - started)

    def emitted(self) -> EmittedModule:
        """The module without source locations, written anew where its text was forgotten.

        Moving code in its file does not compile it anew.
        """
        return self._emitted or self._emit(locations=False)

    def _emit(self, *, locations: bool) -> EmittedModule:
        return emit_module(
            self.closed_jaxpr,
            name=ENTRY_FUNCTION,
            donated=self.donated,
            options=self._options,
            locations=locations,
        )

    def jaxpr_text(self) -> str:
        """The program as a jaxpr."""
        return str(self.closed_jaxpr)

    def linalg_text(self) -> str:
        """The program as it was emitted, with source locations."""
        return self._emit(locations=True).text

    def compile(self) -> CompiledProgram:
        """Machine code for the CPU, from the compile cache if it is there.

        Raises CompilationError if a pass failed.
        """
        started = time.perf_counter()
        emitted = self.emitted()
        times = {"emit": self._emit_ms}
        entry, hit = _object(self, emitted.text, host_target(), self._options, times)
        closed = self.closed_jaxpr
        result = CompiledProgram(
            self,
            entry,
            [_buffer_aval(v.aval) for v in closed.jaxpr.invars],
            [_buffer_aval(v.aval) for v in closed.jaxpr.outvars],
            [
                _as_array(closed.consts[i], closed.jaxpr.constvars[i].aval)
                for i in emitted.const_inputs
            ],
            self.donated,
            emitted.callbacks,
            times,
            hit,
        )
        times["total"] = self._emit_ms + 1e3 * (time.perf_counter() - started)
        # The text of a large program is large; it is seldom looked at.
        self._emitted = None
        return result


class CompiledProgram:
    """Machine code of one program.

    Attributes:
        text: the program to look into.
        name: the function's name, for messages.
        executable: the runtime's Executable, which the call path of jit uses directly.
        compile_ms: milliseconds of each step of the compilation.
        cache_hit: whether the object code came from the on-disk cache.
        entry: the object code and what goes with it.
        donated: for each input, whether a call deletes it.
        aliases: pairs (input, output): the output is made in the buffer of the donated input where
            nobody else sees that buffer, else in a copy of it.
    """

    def __init__(
        self,
        text: ProgramText,
        entry: Entry,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        consts: Sequence[Any],
        donated: Sequence[bool],
        callbacks: Sequence[Any],
        compile_ms: dict[str, float],
        cache_hit: bool,
    ) -> None:
        loading = time.perf_counter()
        runtime.prepare_kernels(entry.metadata["kernels"])
        loaded = load_object(entry.code, runtime.symbols())
        compile_ms["load"] = 1e3 * (time.perf_counter() - loading)
        self.text, self.name = text, text.name
        self.donated = tuple(donated)
        self.compile_ms = compile_ms
        self.cache_hit = cache_hit
        self.entry = entry
        self.in_avals, self.out_avals = list(in_avals), list(out_avals)
        self.consts, self.callbacks = list(consts), list(callbacks)
        inputs, outputs = len(consts), len(text.in_types)
        pairs = entry.metadata["aliases"]
        self.aliases = tuple(
            (i - inputs, o - outputs) for i, o in zip(pairs[::2], pairs[1::2], strict=True)
        )
        self.executable = runtime.Executable(
            loaded.entry,
            self.in_avals,
            self.out_avals,
            self.consts,
            loaded,
            donated=[i for i, given in enumerate(donated) if given],
            aliases=self.aliases,
            overwritten=[i - inputs for i in entry.metadata["overwritten"]],
            callbacks=self.callbacks,
        )

    def execute(self, arguments: Sequence[Any]) -> list[Any]:
        """Run on `arguments`, arrays of the input avals; gives the list of results."""
        return self.executable.execute(arguments)

    def stage_text(self, name: str | int | Stage, *, debug_info: bool = False) -> str:
        """The program's text at a stage: see `ProgramText.stage_text`."""
        return self.text.stage_text(name, debug_info=debug_info)

    def stats(self) -> Stats:
        """Counts of what the compiled program does: see `lowering.stats`."""
        return self.text.stats()

    def cost_analysis(self) -> dict[str, float]:
        """See `ProgramText.cost_analysis`."""
        return self.text.cost_analysis()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of arguments, results, temporaries and code."""
        stats = self.stats()

        def total(types: Iterable[tuple[tuple[int, ...], Any]]) -> int:
            return sum(math.prod(shape) * dtype.itemsize for shape, dtype in types)

        out_types = self.text.out_types
        return {
            "argument_size_in_bytes": total(self.text.in_types),
            "output_size_in_bytes": total(out_types),
            "temp_size_in_bytes": stats.allocated_bytes + stats.stack_bytes,
            "alias_size_in_bytes": total(out_types[o] for _, o in self.aliases),
            "generated_code_size_in_bytes": len(self.entry.code),
        }


def lower_jaxpr(
    closed_jaxpr: Any,
    *,
    name: str,
    donated: Sequence[bool] = (),
    options: Mapping[str, Any] | None = None,
) -> LoweredProgram:
    """Emit a closed jaxpr for the CPU.

    Args:
        closed_jaxpr: the traced program.
        name: the function's name, for messages.
        donated: for each input, whether the call deletes it; empty for none.
        options: `pipeline` (a name of `pipelines.PIPELINES`), the options of
            `cache.compile_cache` and those of `emit.emit_module`.

    Raises:
        NotImplementedError: a primitive cannot be compiled, or a dimension is no integer.
        UsageError: an unknown pipeline.
        TypeError: an unknown option.
    """
    options = {} if options is None else options
    for option in options:
        if option not in OPTIONS:
            raise TypeError(f"unknown compile option {option!r}; accepted: {', '.join(OPTIONS)}")
    for i, variable in enumerate(closed_jaxpr.jaxpr.invars):
        if not all(hasattr(n, "__index__") for n in getattr(variable.aval, "shape", ())):
            raise NotImplementedError(
                f"argument {i} of the program {name!r} is {variable.aval}: programs are compiled "
                "for fixed shapes"
            )
    chosen = pipeline(options.get("pipeline") or os.environ.get("LINGON_PIPELINE", "cpu"))
    return LoweredProgram(closed_jaxpr, name, tuple(donated), options, chosen)


def compile_jaxpr(
    closed_jaxpr: Any,
    *,
    name: str,
    donated: Sequence[bool] = (),
    options: Mapping[str, Any] | None = None,
) -> CompiledProgram:
    """Compile a closed jaxpr for the CPU, or load it from the compile cache.

    Takes and raises what `lower_jaxpr` does, and CompilationError if a pass failed.
    """
    return lower_jaxpr(closed_jaxpr, name=name, donated=donated, options=options).compile()


def _object(
    program: LoweredProgram,
    text: str,
    target: Target,
    options: Mapping[str, Any],
    times: dict[str, float],
) -> tuple[Entry, bool]:
    cache = compile_cache(options)
    if cache is None:
        return _compile(program, text, target, times), False
    key = entry_key(
        {
            "program": text,
            "pipeline": program.pipeline.describe(),
            "toolchain": toolchain_fingerprint(),
            "triple": target.triple,
            "cpu": target.cpu,
            "features": target.features,
        }
    )
    entry = cache.get(key)
    if entry is not None:
        return entry, True
    entry = _compile(program, text, target, times)
    cache.put(key, entry)
    return entry, False


def _compile(program: LoweredProgram, text: str, target: Target, times: dict[str, float]) -> Entry:
    from .driver import Lowering
    from .object_file import check_imports

    try:
        with Lowering(text, pipeline=program.pipeline, target=target) as lowering:
            code = lowering.object_code()
            donation = {"aliases": lowering.aliases, "overwritten": lowering.overwritten}
            times.update(lowering.record.by_stage())
    except CompilationError:
        # Once more with the user's source locations, for a message that names the line.
        located = program.linalg_text()
        with Lowering(located, pipeline=program.pipeline, target=target) as lowering:
            lowering.object_code()
        raise
    check_imports(code, runtime.symbols())
    metadata = {
        "name": program.name,
        "compile_ms": round(sum(times.values()), 3),
        "kernels": sorted(set(re.findall(r'lingon\.kernel_call "(\w+)"', text))),
        **donation,
    }
    return Entry(code, metadata)


@functools.cache
def toolchain_fingerprint() -> str:
    """Name, size and time of change of every file that determines what a program compiles to."""
    files = _files(os.path.dirname(os.path.realpath(__file__)), ".py")
    # Not beside this file alone: an editable install keeps what was built apart from the sources.
    for layer in ("dialect", "runtime"):
        for folder in importlib.import_module(f"..{layer}", __package__).__path__:
            files += [f for f in _files(folder, ".so") if os.path.dirname(f) == folder]
    files += [libllvm_path(), libmlir_path()]
    lines = []
    for path in files:
        status = os.stat(path)
        lines.append(f"{os.path.basename(path)} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(lines)


def _files(folder: str, suffix: str) -> list[str]:
    """The files in a folder and its subfolders whose names end in `suffix`, in order."""
    found = []
    for item in os.scandir(folder):
        if item.is_dir():
            if item.name != "__pycache__":
                found += _files(item.path, suffix)
        elif item.name.endswith(suffix):
            found.append(item.path)
    return sorted(found)


def _buffer_aval(aval: Any) -> Any:
    """The aval of the runtime's array that holds `aval`: two uint32 for each typed key, booleans
    for a dtype without contents."""
    shape, dtype = buffer_form(tuple(aval.shape), element_type(aval.dtype))
    if dtype == aval.dtype:
        return aval
    return SimpleNamespace(shape=shape, dtype=dtype, weak_type=False)


def _as_array(value: Any, aval: Any) -> Any:
    """A captured array of the type `aval`. NumPy arrays are copied: they may change later."""
    value = getattr(value, "_base_array", value)
    if isinstance(value, runtime.ArrayImpl):
        return value
    import numpy as np

    return runtime.from_numpy(np.array(value, aval.dtype, order="C"))
