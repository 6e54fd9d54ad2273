"""Which pass makes a random program wrong: the first one without which the result is right.

Each trial runs in a process of its own, since a pipeline that lacks a pass may end the process.

    python culprit.py STAGE INDEX < program.json     exit status 0: right without that pass
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from checking import differences
from random_programs import CATALOGUE, Op, Program, inputs, run

import lingon
from lingon import lowering
from lingon.lowering import passes, pipelines
from lingon.runtime import from_numpy

_PLANTED = "swap-subtractions"


def _index_of_floats(name: str) -> int:
    """The first sample whose operands are two arrays of float32."""
    for i, s in enumerate(CATALOGUE[name]):
        if all(isinstance(a, tuple) and a[0] and np.dtype(a[1]) == np.float32 for a in s.args):
            return i
    raise LookupError(name)


SUBTRACTION = Op("sub", _index_of_floats("sub"), (0, 1))


def _swap_subtractions(module: Any) -> None:
    from mlir.ir import WalkResult

    def visit(op: Any) -> Any:
        if op.name == "arith.subf":
            a, b = op.operands
            op.operands[0], op.operands[1] = b, a
        return WalkResult.ADVANCE

    module.walk(visit)


@contextlib.contextmanager
def planted_fault() -> Iterator[None]:
    """The pipeline with a pass that computes b - a where a - b is written."""
    saved = pipelines.PIPELINES["cpu"]
    stages = {**saved.passes, "fused": (*saved.passes["fused"], _PLANTED)}
    pipelines.PIPELINES["cpu"] = saved._replace(passes=stages)
    passes.PYTHON_PASSES[_PLANTED] = _swap_subtractions
    os.environ["LINGON_TEST_PLANTED_FAULT"] = "1"
    try:
        yield
    finally:
        del os.environ["LINGON_TEST_PLANTED_FAULT"]
        del passes.PYTHON_PASSES[_PLANTED]
        pipelines.PIPELINES["cpu"] = saved


LLVM = "llvm-opt"


def _pass_lists() -> dict[str, tuple[str, ...]]:
    p = pipelines.PIPELINES["cpu"]
    return {**p.passes, LLVM: tuple(pipelines.split_passes(p.llvm_passes))}


def _without(stage: str, index: int) -> pipelines.Pipeline:
    p = pipelines.PIPELINES["cpu"]
    kept = [q for i, q in enumerate(_pass_lists()[stage]) if i != index]
    if stage == LLVM:
        return p._replace(name="trial", llvm_passes=",".join(kept))
    return p._replace(name="trial", passes={**p.passes, stage: tuple(kept)})


def report(program: Program) -> str:
    """One line: the first pass whose removal makes the failure go away."""
    for stage, names in _pass_lists().items():
        for i, name in enumerate(names):
            done = subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), stage, str(i)],
                input=program.to_json(),
                text=True,
                capture_output=True,
                timeout=300,
            )
            if done.returncode == 0:
                return f"without the pass {name!r} of stage {stage} the result is right"
    return "no single pass can be removed to make the result right"


def _trial(stage: str, index: int, program: Program) -> bool:
    args = inputs(len(program.steps))
    closed = lingon.make_jaxpr(lambda *xs: run(program, xs))(*args)
    made = lowering.compile_jaxpr(
        closed,
        name="trial",
        options={"pipeline": _without(stage, index), "compilation_cache": False},
    )
    outs = [o._numpy() for o in made.execute([from_numpy(a) for a in args])]
    return not differences(outs, closed, args)


if __name__ == "__main__":
    planted = (
        planted_fault() if "LINGON_TEST_PLANTED_FAULT" in os.environ else contextlib.nullcontext()
    )
    with planted:
        right = _trial(sys.argv[1], int(sys.argv[2]), Program.from_json(sys.stdin.read()))
    sys.exit(0 if right else 1)
