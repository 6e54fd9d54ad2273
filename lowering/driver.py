"""Takes a program from any stage to any later one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import math_library
from .context import MlirContext, mlir_context
from .errors import CompilationError, UsageError
from .passes import PYTHON_PASSES
from .pipelines import CPU, Pipeline, split_passes
from .stages import STAGES, Stage, stage

if TYPE_CHECKING:
    from .cpu import LlvmModule
    from .target_machine import Target


class Record:
    """What happened on the way: (stage, step, milliseconds) in order."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, float]] = []

    def add(self, stage_name: str, step: str, started: float) -> None:
        """Append a step that began at `started` (time.perf_counter) and ends now."""
        self.steps.append((stage_name, step, 1e3 * (time.perf_counter() - started)))

    def by_stage(self) -> dict[str, float]:
        """Milliseconds of each stage."""
        totals: dict[str, float] = {}
        for stage_name, _, ms in self.steps:
            totals[stage_name] = totals.get(stage_name, 0.0) + ms
        return totals


Observer = Callable[[str, str, Callable[[], str]], None]


class Lowering:
    """One program on its way through the stages.

    Use as a context manager. `advance(stage)` lowers up to a stage, `text()` prints where it is.
    From stage llvm on, `aliases` are the pairs of arguments that lingon-donate made one, one after
    the other, and `overwritten` the other donated arguments that are written to.

    Args:
        text: the program in the notation of `start`.
        start: the stage that `text` is in (not jaxpr).
        pipeline: the target's passes.
        observer: called after each pass as `observer(stage, pass, text_function)`; passes then run
            one at a time.
    """

    def __init__(
        self,
        text: str,
        *,
        start: str | int | Stage = "linalg",
        pipeline: Pipeline = CPU,
        target: Target | None = None,
        observer: Observer | None = None,
        step_by_step: bool = False,
    ) -> None:
        self.source = text
        self.at = stage(start)
        self.start = self.at
        if self.at.form not in ("mlir", "llvm"):
            raise UsageError(f"cannot start from stage {self.at}: its text is not read back")
        self.pipeline = pipeline
        self._target = target
        self.observer = observer
        self.step_by_step = step_by_step or observer is not None
        self.record = Record()
        self._held: MlirContext | None = None
        self._lender: Any = None
        self.module: Any = None
        self._llvm: LlvmModule | None = None
        self._assembly: str | None = None
        self.aliases: list[int] = []
        self.overwritten: list[int] = []

    @property
    def target(self) -> Target:
        """The machine that code is generated for; the host's if not given."""
        if self._target is None:
            from .target_machine import host_target

            self._target = host_target()
        return self._target

    def __enter__(self) -> Lowering:
        started = time.perf_counter()
        if self.at.form == "mlir":
            math_library.provide(self.source)
            self._lender = mlir_context()
            self._held = self._lender.__enter__()
            try:
                self.module = parse_mlir(self.source, self._held, self.at.name)
            except BaseException:
                self._lender.__exit__(None, None, None)
                raise
        else:
            from .cpu import LlvmModule

            self._llvm = LlvmModule.parse(self.source)
        self.record.add(self.at.name, "parse", started)
        return self

    def __exit__(self, *error: Any) -> None:
        self.module = None
        if self._llvm is not None:
            self._llvm.close()
            self._llvm = None
        if self._lender is not None:
            self._lender.__exit__(*error)
            self._lender = self._held = None

    def text(self, *, debug_info: bool = False) -> str:
        """The program as text of the stage it is in; MLIR with source locations if wanted."""
        if self._assembly is not None:
            return self._assembly
        if self._llvm is not None:
            return self._llvm.text()
        if debug_info:
            return self.module.operation.get_asm(enable_debug_info=True)
        return str(self.module)

    def advance(self, to: str | int | Stage) -> Lowering:
        """Lower up to `to`.

        Raises:
            UsageError: `to` lies before the stage the program is in.
            CompilationError: a step failed; the exception carries the program before it.
        """
        goal = stage(to)
        if goal.number < self.at.number:
            raise UsageError(f"cannot go back from stage {self.at} to stage {goal}")
        while self.at.number < goal.number:
            following = STAGES[self.at.number + 1]
            if following.form == "mlir":
                # Translation verifies its operand.
                translated = STAGES[following.number + 1].form != "mlir"
                self._run_stage_passes(following, verify=not translated or goal is following)
            elif following.name == "llvm":
                self._translate()
            elif following.name == "llvm-opt":
                self._optimize()
            else:
                self._assemble()
            self.at = following
        return self

    def object_code(self) -> bytes:
        """Optimised object code; ends the lowering."""
        if self.at.number <= stage("llvm").number and not self.step_by_step:
            self.advance("llvm")
            assert self._llvm is not None
            from .. import runtime
            from .parts import compile_parts

            started = time.perf_counter()
            pipeline = self._llvm.needed_of(self.pipeline)
            parts = compile_parts(self._llvm, pipeline, self.target, runtime.num_threads())
            if parts is not None:
                self.record.add("asm", "parts", started)
                return parts
        self.advance("llvm-opt")
        assert self._llvm is not None
        started = time.perf_counter()
        code = self._llvm.object_code(self.pipeline, self.target)
        self.record.add("asm", "codegen", started)
        return code

    @property
    def llvm_module(self) -> int:
        """Handle (an LLVMModuleRef) of the LLVM module, from stage llvm on."""
        assert self._llvm is not None
        return self._llvm.module

    def imports(self) -> list[str]:
        """Names of the functions that the LLVM module calls and does not define."""
        assert self._llvm is not None
        return self._llvm.imports()

    def run_passes(self, passes: Sequence[str], stage_name: str | None = None) -> None:
        """Run MLIR passes (or LLVM ones, on an LLVM module) without changing the stage."""
        name = stage_name or self.at.name
        if self._llvm is not None:
            started = time.perf_counter()
            self._llvm.run_passes(",".join(passes), self.target)
            self._llvm.verify("passes")
            self._after(name, ",".join(passes), started)
            return
        for group in _groups(passes, self.step_by_step):
            self._run_group(name, group)

    def _run_group(self, stage_name: str, group: tuple[str, ...], verify: bool = True) -> None:
        assert self._held is not None
        step = ",".join(group)
        before = str(self.module) if self.step_by_step else None
        started = time.perf_counter()
        if group[0] in PYTHON_PASSES:
            PYTHON_PASSES[group[0]](self.module.operation)
        else:
            try:
                # Verifying after each pass costs a third of the time: once after a group will do,
                # since a failure is looked into pass by pass.
                manager = self._held.pass_manager(step, verify=self.step_by_step)
            except ValueError as error:
                raise UsageError(f"bad pass list {step!r}: {error}") from error
            try:
                manager.run(self.module.operation)
                if verify and not self.step_by_step:
                    self.module.operation.verify()
            except self._held.ir.MLIRError as error:
                if before is None:
                    self._explain_failure(stage_name, step, error)
                raise CompilationError(
                    str(error), stage=stage_name, step=step, ir=before
                ) from error
        self._after(stage_name, step, started)

    def _explain_failure(self, stage_name: str, step: str, error: Exception) -> None:
        # A group of passes failed: run again from the start, one by one, to name the one and show
        # the program before it.
        retry = Lowering(
            self.source,
            start=self.start,
            pipeline=self.pipeline,
            target=self._target,
            step_by_step=True,
        )
        with retry:
            retry.advance(stage_name)
        raise CompilationError(str(error), stage=stage_name, step=step) from error

    def _after(self, stage_name: str, step: str, started: float) -> None:
        self.record.add(stage_name, step, started)
        if self.observer is not None:
            self.observer(stage_name, step, self.text)

    def _run_stage_passes(self, following: Stage, verify: bool) -> None:
        passes = self.pipeline.for_target(
            following.name, masks=self.target.masks, bits=self.target.vector_bits
        )
        for group in _groups(passes, self.step_by_step):
            self._run_group(following.name, group, verify)

    def _translate(self) -> None:
        from .cpu import LlvmModule

        started = time.perf_counter()
        operation = self.module.operation
        self.aliases = _numbers(operation, "lingon.aliases")
        self.overwritten = _numbers(operation, "lingon.overwritten")
        try:
            operation.verify()
            self._llvm = LlvmModule.from_mlir(operation)
        except (CompilationError, self._held.ir.MLIRError) as error:
            raise CompilationError(
                f"{error}{_left_over(operation)}",
                stage="llvm",
                step="translate",
                ir=str(operation),
            ) from error
        self._llvm.prepare(self.target)
        self._llvm.verify("translate")
        self._after("llvm", "translate", started)

    def _optimize(self) -> None:
        assert self._llvm is not None
        if not self.step_by_step:
            started = time.perf_counter()
            self._llvm.optimize(self._llvm.needed_of(self.pipeline), self.target)
            self._after("llvm-opt", "llvm-passes", started)
            return
        for step in split_passes(self._llvm.needed_of(self.pipeline).llvm_passes):
            started = time.perf_counter()
            self._llvm.run_passes(step, self.target)
            self._after("llvm-opt", step, started)

    def _assemble(self) -> None:
        assert self._llvm is not None
        started = time.perf_counter()
        self._assembly = self._llvm.assembly(self.pipeline, self.target)
        self._after("asm", "codegen", started)


def parse_mlir(text: str, held: MlirContext, stage_name: str) -> Any:
    """Parse and verify MLIR text. Raises CompilationError with MLIR's diagnostics."""
    try:
        return held.ir.Module.parse(text)
    except held.ir.MLIRError as error:
        raise CompilationError(str(error), stage=stage_name, step="parse", ir=text) from error


def _numbers(operation: Any, attribute: str) -> list[int]:
    """Argument numbers that lingon-donate found, and lingon-add-entry left at the module."""
    attributes = operation.attributes
    return list(attributes[attribute]) if attribute in attributes else []


def _left_over(operation: Any) -> str:
    """Names the operations that have no LLVM form, to explain why translation failed."""
    from mlir.ir import WalkResult

    foreign: list[str] = []

    def visit(op: Any) -> Any:
        if not op.name.startswith("llvm.") and op.name != "builtin.module":
            foreign.append(f"{op.name} at {op.location}")
        return WalkResult.ADVANCE

    operation.walk(visit)
    if not foreign:
        return ""
    listing = "\n  ".join(foreign[:10])
    return f"; {len(foreign)} operations are left that have no LLVM form:\n  {listing}"


def _groups(passes: Sequence[str], one_by_one: bool) -> list[tuple[str, ...]]:
    """Passes to run in one go: Python ones, and all ones when asked, stand alone."""
    groups: list[tuple[str, ...]] = []
    current: list[str] = []
    for name in passes:
        if one_by_one or name in PYTHON_PASSES:
            if current:
                groups.append(tuple(current))
                current = []
            groups.append((name,))
        else:
            current.append(name)
    if current:
        groups.append(tuple(current))
    return groups


def lower_text(
    text: str,
    to: str | int | Stage,
    *,
    start: str | int | Stage = "linalg",
    pipeline: Pipeline = CPU,
    debug_info: bool = False,
) -> str:
    """Text of the program at stage `to`. Raises as `Lowering` does."""
    with Lowering(text, start=start, pipeline=pipeline) as lowering:
        return lowering.advance(to).text(debug_info=debug_info)
