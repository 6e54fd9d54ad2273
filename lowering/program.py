"""compile_jaxpr: from a closed jaxpr to a program that can be executed and looked into."""

from __future__ import annotations

import functools
import importlib
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .. import runtime
from .cache import Entry, compile_cache, entry_key
from .emit import EmittedModule, emit_module
from .emit.types import buffer_form, element_type
from .errors import CompilationError
from .llvm_c import libllvm_path, libmlir_path
from .loader import LoadedObject, load_object
from .locations import strip_locations
from .pipelines import Pipeline, pipeline
from .stages import Stage, stage
from .target_machine import Target, host_target

if TYPE_CHECKING:
    from .stats import Stats

ENTRY_FUNCTION = "main"
OPTIONS = (
    "pipeline",
    "compilation_cache",
    "compilation_cache_dir",
    "compilation_cache_max_bytes",
    "threefry_partitionable",
)


class CompiledProgram:
    """Machine code of one closed jaxpr.

    Attributes:
        name: the function's name, for messages.
        executable: the runtime's Executable, which the call path of jit uses directly.
        compile_ms: milliseconds of each step of the compilation.
        cache_hit: whether the object code came from the on-disk cache.
        donated: for each input, whether a call deletes it.
        aliases: pairs (input, output): the output is made in the buffer of the donated input where
            nobody else sees that buffer, else in a copy of it.
    """

    def __init__(
        self,
        closed_jaxpr: Any,
        name: str,
        donated: tuple[bool, ...],
        chosen: Pipeline,
        emitted: EmittedModule,
        entry: Entry,
        loaded: LoadedObject,
        compile_ms: dict[str, float],
        cache_hit: bool,
        options: Mapping[str, Any],
    ) -> None:
        self._options = options
        self.name = name
        self.donated = donated
        self.compile_ms = compile_ms
        self.cache_hit = cache_hit
        self._closed_jaxpr = closed_jaxpr
        self._pipeline = chosen
        self._code_bytes = loaded.nbytes
        jaxpr = closed_jaxpr.jaxpr
        consts = [_as_array(closed_jaxpr.consts[i]) for i in emitted.const_inputs]
        inputs, outputs = len(consts), len(emitted.in_types)
        pairs = entry.metadata["aliases"]
        self.aliases = tuple(
            (i - inputs, o - outputs) for i, o in zip(pairs[::2], pairs[1::2], strict=True)
        )
        self.executable = runtime.Executable(
            loaded.entry,
            [_buffer_aval(v.aval) for v in jaxpr.invars],
            [_buffer_aval(v.aval) for v in jaxpr.outvars],
            consts,
            loaded,
            donated=[i for i, given in enumerate(donated) if given],
            aliases=self.aliases,
            overwritten=[i - inputs for i in entry.metadata["overwritten"]],
            callbacks=emitted.callbacks,
        )

    def execute(self, arguments: Sequence[Any]) -> list[Any]:
        """Run on `arguments`, arrays of the input avals; gives the list of results."""
        return self.executable.execute(arguments)

    def stage_text(self, name: str | int | Stage) -> str:
        """The program's text at a stage, by name or number. Raises UsageError if there is none."""
        goal = stage(name)
        if goal.form == "jaxpr":
            return str(self._closed_jaxpr)
        from .driver import lower_text

        return lower_text(self._text(), goal, pipeline=self._pipeline)

    def stats(self) -> Stats:
        """Counts of what the compiled program does: see `lowering.stats`."""
        from .stats import program_stats

        return program_stats(self._text(), pipeline=self._pipeline)

    def cost_analysis(self) -> dict[str, float]:
        """`flops`, `transcendentals` and `bytes accessed` of one execution, from static counts."""
        stats = self.stats()
        return {
            "flops": float(stats.flops),
            "transcendentals": float(stats.transcendentals),
            "bytes accessed": float(stats.bytes_accessed),
        }

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of arguments, results, temporaries and code."""
        emitted = self._emit()
        stats = self.stats()

        def total(types: Iterable[tuple[tuple[int, ...], Any]]) -> int:
            return sum(int(_prod(shape)) * dtype.itemsize for shape, dtype in types)

        return {
            "argument_size_in_bytes": total(emitted.in_types),
            "output_size_in_bytes": total(emitted.out_types),
            "temp_size_in_bytes": stats.allocated_bytes + stats.stack_bytes,
            "alias_size_in_bytes": total(emitted.out_types[o] for _, o in self.aliases),
            "generated_code_size_in_bytes": self._code_bytes,
        }

    def _emit(self) -> EmittedModule:
        return emit_module(
            self._closed_jaxpr, name=ENTRY_FUNCTION, donated=self.donated, options=self._options
        )

    def _text(self) -> str:
        return self._emit().text


def compile_jaxpr(
    closed_jaxpr: Any,
    *,
    name: str,
    donated: Sequence[bool] = (),
    options: Mapping[str, Any] | None = None,
) -> CompiledProgram:
    """Compile a closed jaxpr for the CPU, or load it from the compile cache.

    Args:
        closed_jaxpr: the traced program.
        name: the function's name, for messages.
        donated: for each input, whether the call deletes it; empty for none.
        options: `pipeline` (a name of `pipelines.PIPELINES`), the options of
            `cache.compile_cache` and those of `emit.emit_module`.

    Raises:
        NotImplementedError: a primitive cannot be compiled.
        CompilationError: a pass failed.
        UsageError: an unknown pipeline.
        TypeError: an unknown option.
    """
    options = {} if options is None else options
    for option in options:
        if option not in OPTIONS:
            raise TypeError(f"unknown compile option {option!r}; accepted: {', '.join(OPTIONS)}")
    started = time.perf_counter()
    chosen = pipeline(options.get("pipeline") or os.environ.get("LINGON_PIPELINE", "cpu"))
    target = host_target()
    emitted = emit_module(closed_jaxpr, name=ENTRY_FUNCTION, donated=donated, options=options)
    times = {"emit": 1e3 * (time.perf_counter() - started)}
    entry, hit = _object(emitted, chosen, target, name, options, times)
    loading = time.perf_counter()
    runtime.prepare_kernels(set(re.findall(r'lingon\.kernel_call "(\w+)"', emitted.text)))
    loaded = load_object(entry.code, runtime.symbols())
    times["load"] = 1e3 * (time.perf_counter() - loading)
    times["total"] = 1e3 * (time.perf_counter() - started)
    return CompiledProgram(
        closed_jaxpr, name, tuple(donated), chosen, emitted, entry, loaded, times, hit, options
    )


def _object(
    emitted: EmittedModule,
    chosen: Pipeline,
    target: Target,
    name: str,
    options: Mapping[str, Any],
    times: dict[str, float],
) -> tuple[Entry, bool]:
    text = strip_locations(emitted.text)
    cache = compile_cache(options)
    if cache is None:
        return _compile(text, emitted, chosen, target, name, times), False
    key = entry_key(
        {
            "program": text,
            "pipeline": chosen.describe(),
            "toolchain": toolchain_fingerprint(),
            "triple": target.triple,
            "cpu": target.cpu,
            "features": target.features,
        }
    )
    entry = cache.get(key)
    if entry is not None:
        return entry, True
    entry = _compile(text, emitted, chosen, target, name, times)
    cache.put(key, entry)
    return entry, False


def _compile(
    text: str,
    emitted: EmittedModule,
    chosen: Pipeline,
    target: Target,
    name: str,
    times: dict[str, float],
) -> Entry:
    from .driver import Lowering
    from .object_file import check_imports

    try:
        with Lowering(text, pipeline=chosen, target=target) as lowering:
            code = lowering.object_code()
            donation = {"aliases": lowering.aliases, "overwritten": lowering.overwritten}
            times.update(lowering.record.by_stage())
    except CompilationError:
        # Once more with the user's source locations, for a message that names the line.
        with Lowering(emitted.text, pipeline=chosen, target=target) as lowering:
            lowering.object_code()
        raise
    check_imports(code, runtime.symbols())
    return Entry(code, {"name": name, "compile_ms": round(sum(times.values()), 3), **donation})


@functools.cache
def toolchain_fingerprint() -> str:
    """Name, size and time of change of every file that determines what a program compiles to."""
    here = Path(__file__).resolve().parent
    files = sorted(p for p in here.rglob("*.py") if "__pycache__" not in p.parts)
    # Not beside `here` alone: an editable install keeps what was built apart from the sources.
    for layer in ("dialect", "runtime"):
        folders = importlib.import_module(f"..{layer}", __package__).__path__
        files += sorted(p for folder in folders for p in Path(folder).glob("*.so"))
    files += [Path(libllvm_path()), Path(libmlir_path())]
    lines = []
    for path in files:
        status = path.stat()
        lines.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(lines)


def _buffer_aval(aval: Any) -> Any:
    """The aval of the runtime's array that holds `aval`: two uint32 for each typed key."""
    t = element_type(aval.dtype)
    shape, dtype = buffer_form(tuple(aval.shape), t)
    if dtype == t.dtype:
        return aval
    return SimpleNamespace(shape=shape, dtype=dtype, weak_type=False)


def _as_array(value: Any) -> Any:
    if isinstance(value, runtime.ArrayImpl):
        return value
    import numpy as np

    return runtime.from_numpy(np.asarray(value))


def _prod(shape: tuple[int, ...]) -> int:
    result = 1
    for n in shape:
        result *= n
    return result
