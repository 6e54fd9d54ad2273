"""mlir-dump: shows a program at every stage of its compilation.

    mlir-dump FILE.py::FUNCTION --args 'f32[8,128],f32[128]' [--to STAGE]
    mlir-dump FILE.mlir [--from STAGE] [--to STAGE] [--passes 'PASS,PASS(...)']
    mlir-dump FILE.ll [--passes 'PASS,...'] [--to STAGE]
    mlir-dump FILE.py::FUNCTION --args 'f32[8,128]' --why

Stages, by name or number: 0 jaxpr, 1 linalg, 2 fused, 3 bufferized, 4 loops, 5 llvm-dialect,
6 llvm, 7 llvm-opt, 8 asm.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .argument_spec import is_leaf, parse_args
from .driver import Lowering
from .errors import CompilationError, UsageError
from .pipelines import PIPELINES, Pipeline, pipeline, split_passes
from .remarks import explain
from .stages import STAGES, Stage, stage

_SUFFIXES = {"jaxpr": ".jaxpr", "mlir": ".mlir", "llvm": ".ll", "asm": ".s"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0, or 1 after printing an error, or 2 on wrong usage."""
    try:
        options = _parser().parse_args(arguments)
        return _run(options)
    except UsageError as error:
        print(f"mlir-dump: error: {error}", file=sys.stderr)
        return 2
    except (CompilationError, NotImplementedError) as error:
        print(f"mlir-dump: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mlir-dump",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("input", nargs="?", help="FILE.py::FUNCTION, FILE.mlir or FILE.ll; - for MLIR on stdin")
    add("--args", help="shapes and dtypes of the arguments, as 'f32[8,128],i32'")
    add("--to", metavar="STAGE", help="stage to print (default: asm, or what --from names)")
    add(
        "--from",
        dest="start",
        metavar="STAGE",
        help="stage that a .mlir or .ll file is in (default: linalg or llvm); for a Python "
        "function, the first of several stages to print",
    )
    add("--passes", help="run just these passes on a .mlir or .ll file, and print the result")
    add(
        "--transform",
        action="append",
        default=[],
        metavar="NAME",
        help="apply a transformation of the public API (grad, vmap, value_and_grad, jacfwd, ...) "
        "before tracing; several apply in order",
    )
    add("--target", default="cpu", help=f"pipeline: {', '.join(PIPELINES)} (default: cpu)")
    add("--dir", help="write every stage up to --to into this folder, one file each")
    add("--changed", action="store_true", help="print after each pass that changed the program")
    add("--timing", action="store_true", help="print the milliseconds of each pass")
    add("--stats", action="store_true", help="print counts: allocations, copies, kernels, flops")
    add(
        "--why",
        action="store_true",
        help="print what was not fused, copied, left serial, scalar or whole, with the source line "
        "and the reason",
    )
    add("--locations", action="store_true", help="keep source locations in the text")
    add("--list-stages", action="store_true", help="list the stages and exit")
    add("--show-pipeline", action="store_true", help="print the passes of --target and exit")
    return parser


def _run(options: argparse.Namespace) -> int:
    chosen = pipeline(options.target)
    if options.list_stages:
        print("\n".join(f"{s.number} {s.name:13s} {s.description}" for s in STAGES))
        return 0
    if options.show_pipeline:
        print(chosen.describe())
        return 0
    if options.why and (options.to or options.passes or options.dir or options.changed):
        raise UsageError(
            "--why prints no program: it goes without --to, --passes, --dir, --changed"
        )
    if options.input is None:
        raise UsageError("nothing to dump: give FILE.py::FUNCTION, FILE.mlir or FILE.ll")
    start = stage(options.start) if options.start is not None else None
    goal = stage(options.to) if options.to is not None else None
    name, _, function = options.input.partition("::")
    if function or name.endswith(".py"):
        return _dump_function(options, chosen, name, function, start, goal)
    if options.args is not None or options.transform:
        raise UsageError("--args and --transform go with FILE.py::FUNCTION")
    if name.endswith((_SUFFIXES["jaxpr"], _SUFFIXES["asm"])):
        raise UsageError(f"{name} cannot be read back: give a .mlir or .ll file of another stage")
    text = sys.stdin.read() if name == "-" else _read(name)
    if start is None:
        start = stage("llvm" if name.endswith(".ll") else "linalg")
    if options.why:
        print(explain(text, start=start, pipeline=chosen))
        return 0
    if options.passes is not None:
        goal = goal or start
    return _dump_text(options, chosen, text, start, goal or stage("asm"))


def _dump_function(
    options: argparse.Namespace,
    chosen: Pipeline,
    file: str,
    function: str,
    start: Stage | None,
    goal: Stage | None,
) -> int:
    if options.passes is not None:
        raise UsageError("--passes goes with a .mlir or .ll file")
    if start is not None and goal is not None and start.number > goal.number:
        raise UsageError(f"--from {start} lies behind --to {goal}")
    if options.why:
        import lingon

        target, avals = function_and_avals(file, function, options.args, options.transform)
        jitted = lingon.jit(target, compiler_options={"pipeline": chosen.name})
        print(jitted.lower(*avals).why())
        return 0
    goal = goal or start or stage("asm")
    closed = trace_function(file, function, options.args, options.transform)
    folder = _folder(options.dir)
    shown = [s for s in STAGES if start is not None and start.number <= s.number <= goal.number]
    shown = shown or [goal]
    headed = len(shown) > 1
    if shown[0].form == "jaxpr" or folder is not None:
        _show(stage("jaxpr"), str(closed), folder, headed)
        shown = [s for s in shown if s.form != "jaxpr"]
    if goal.form == "jaxpr":
        return 0
    from .emit import emit_module
    from .locations import strip_locations

    emitted = emit_module(closed, name="main").text
    if not options.locations:
        emitted = strip_locations(emitted)
    return _dump_text(options, chosen, emitted, stage("linalg"), goal, shown, headed)


def _dump_text(
    options: argparse.Namespace,
    chosen: Pipeline,
    text: str,
    start: Stage,
    goal: Stage,
    shown: Sequence[Stage] = (),
    headed: bool = False,
) -> int:
    folder = _folder(options.dir)
    if folder is not None:
        shown = STAGES[start.number : goal.number + 1]
    shown = shown or [goal]
    changes = _Changes() if options.changed else None
    with Lowering(
        text,
        start=start,
        pipeline=chosen,
        observer=changes,
        step_by_step=True,  # verifies after each pass
    ) as lowering:
        if changes is not None:
            changes.last = lowering.text()
        if options.passes is not None:
            lowering.run_passes(split_passes(options.passes))
        for each in shown:
            lowering.advance(each)
            if changes is None and not (options.stats and folder is None):
                _show(each, lowering.text(debug_info=options.locations), folder, headed)
    if options.timing:
        _print_timing(lowering)
    if options.stats:
        from .stats import program_stats

        print(program_stats(text, start=start, pipeline=chosen))
    return 0


class _Changes:
    """Prints the program after each pass that changed it."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, stage_name: str, step: str, text: Callable[[], str]) -> None:
        now = text()
        if now != self.last:
            print(f"// ----- {stage_name}: {step} -----\n{now.rstrip()}\n")
            self.last = now


def _show(each: Stage, text: str, folder: Path | None, headed: bool) -> None:
    if folder is not None:
        path = folder / f"{each.number}-{each.name}{_SUFFIXES[each.form]}"
        path.write_text(text.rstrip() + "\n")
        print(path)
        return
    if headed:
        comment = {"mlir": "//", "llvm": ";", "asm": "#", "jaxpr": "#"}[each.form]
        print(f"{comment} ===== {each} =====")
    print(text.rstrip())


def _print_timing(lowering: Lowering) -> None:
    total = sum(ms for _, _, ms in lowering.record.steps)
    print(f"{'stage':13s} {'ms':>8s}  step")
    for stage_name, step, ms in lowering.record.steps:
        print(f"{stage_name:13s} {ms:8.3f}  {step}")
    print(f"{'total':13s} {total:8.3f}")


def _folder(name: str | None) -> Path | None:
    if name is None:
        return None
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--dir {name}: {error.strerror}") from None
    return folder


def _read(name: str) -> str:
    try:
        return Path(name).read_text()
    except FileNotFoundError:
        raise UsageError(f"there is no file {name!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} cannot be read: {error}") from None


def trace_function(file: str, function: str, args: str | None, transforms: Sequence[str]) -> Any:
    """The closed jaxpr of FILE.py::FUNCTION. Raises as `function_and_avals` does."""
    import lingon

    target, avals = function_and_avals(file, function, args, transforms)
    return lingon.make_jaxpr(target)(*avals)


def function_and_avals(
    file: str, function: str, args: str | None, transforms: Sequence[str]
) -> tuple[Callable[..., Any], list[Any]]:
    """FILE.py::FUNCTION, transformed, and what stands for its arguments.

    Raises:
        UsageError: no such file, function or transformation, or bad or missing `args`.
    """
    import lingon

    target = original = _find_function(_load(file), file, function)
    for name in transforms:
        wrap = getattr(lingon, name, None)
        if name.startswith("_") or not callable(wrap):
            known = [n for n in lingon.__all__ if n[0].islower() and callable(getattr(lingon, n))]
            raise UsageError(f"unknown transformation {name!r}{_near(name, known)}")
        target = wrap(target)
    if args is None:
        raise UsageError("--args is missing: give shapes and dtypes, as --args 'f32[8,128],i32'")
    avals = [_shaped(lingon, item) for item in parse_args(args)]
    if target is original:
        _check_number(target, function, avals)
    return target, avals


def _check_number(target: Callable[..., Any], name: str, avals: Sequence[Any]) -> None:
    """Raises UsageError where a function does not take as many arguments."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):  # one of C may have none
        return
    try:
        signature.bind(*avals)
    except TypeError as error:
        raise UsageError(
            f"--args names {len(avals)}, {name} is {name}{signature}: {error}"
        ) from None


def _shaped(lingon: Any, item: Any) -> Any:
    if is_leaf(item):
        import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16, int4, ...)
        import numpy as np

        return lingon.ShapeDtypeStruct(item[1], np.dtype(item[0]))
    return type(item)(_shaped(lingon, part) for part in item)


def _load(file: str) -> Any:
    path = Path(file)
    if not path.exists():
        raise UsageError(f"there is no file {file!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _find_function(module: Any, file: str, function: str) -> Callable[..., Any]:
    functions = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
    if not function:
        raise UsageError(f"which function of {file}? give {file}::FUNCTION{_listing(functions)}")
    target: Any = module
    for part in function.split("."):
        target = getattr(target, part, None)
        if target is None:
            raise UsageError(
                f"{file} has no function {function!r}{_near(function, functions)}"
                f"{_listing(functions)}"
            )
    if not callable(target):
        raise UsageError(f"{function} in {file} is a {type(target).__name__}, not a function")
    return target


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f" (did you mean {', '.join(map(repr, near))}?)" if near else ""


def _listing(names: Sequence[str]) -> str:
    return f"; it has: {', '.join(names)}" if names else "; it has none"


if __name__ == "__main__":
    sys.exit(main())
