"""The passes that lead from each stage to the next, as data, for each target."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from .errors import UsageError


class Pipeline(NamedTuple):
    """How a target lowers a program.

    Attributes:
        name: what `options` and `mlir-dump --target` call it.
        passes: stage name -> the passes that produce that stage from the one before it, each an
            MLIR pass in textual notation anchored on the module, or the name of a Python pass.
        llvm_passes: LLVM's passes in the notation of `opt -passes`.
        for_scalar_loops: parts of these that only loops need which lingon-vectorize left alone.
        codegen_level: 0 to 3, LLVM's effort in code generation.
    """

    name: str
    description: str
    passes: dict[str, tuple[str, ...]]
    llvm_passes: str
    codegen_level: int
    for_scalar_loops: tuple[str, ...] = ()

    def for_target(self, stage: str, *, masks: bool, bits: int) -> tuple[str, ...]:
        """The passes of `stage` for a target with vectors of `bits`, which can mask accesses or not."""
        value = str(masks).lower()
        return tuple(
            [p.replace("%masks", value).replace("%bits", str(bits)) for p in self.passes[stage]]
        )

    def until(self, name: str) -> Pipeline:
        """The pipeline whose stages end in front of the pass `name`."""
        passes = {}
        for stage, names in self.passes.items():
            kept = itertools.takewhile(lambda p: p.partition("{")[0] != name, names)
            passes[stage] = tuple(kept)
        return self._replace(passes=passes)

    def without_scalar_loops(self) -> Pipeline:
        """The pipeline for modules in which lingon-vectorize left no loop to LLVM."""
        passes = self.llvm_passes
        for part in self.for_scalar_loops:
            passes = passes.replace(part, "", 1)
        return self._replace(llvm_passes=passes)

    def describe(self) -> str:
        """The whole pipeline as text, one pass a line."""
        lines = [f"{self.name}: {self.description}"]
        for stage, passes in self.passes.items():
            lines.append(f"  {stage}:")
            lines += [f"    {p}" for p in passes]
        lines.append("  llvm-opt:")
        lines += [f"    {p}" for p in _split_top_level(self.llvm_passes)]
        lines.append(f"  asm: code generation level {self.codegen_level}")
        return "\n".join(lines)


# Regions have one block, which canonicalization would look through for blocks to merge.
_CANONICALIZE = "canonicalize{region-simplify=disabled}"
_FUSED = (
    _CANONICALIZE,
    "cse",
    "func.func(lingon-fuse)",
    _CANONICALIZE,
    "cse",
    "func.func(lingon-inline-reads,lingon-fuse-products,lingon-fuse-rows)",
)
_BUFFERIZED = (
    "func.func(lingon-loop-copies)",
    "func.func(lingon-own-destinations)",
    "func.func(lingon-bufferizable-form,lingon-cut-updates,lingon-function-results)",
    "eliminate-empty-tensors",
    "func.func(lingon-loop-destinations)",
    "func.func(lingon-result-order)",
    "one-shot-bufferize{allow-return-allocs-from-loops}",
    "func.func(lingon-loop-buffers)",
    _CANONICALIZE,
    "cse",
    "func.func(lingon-results-in-place,lingon-donate,lingon-compute-in-place)",
)
_LOOPS = (
    "func.func(lingon-loops,lingon-stack-buffers,lingon-extrema)",
    _CANONICALIZE,
    "cse",
    "lingon-allow-contraction",
    "lingon-plan-buffers",
    "lingon-lower-calls",
    "lingon-parallelize",
    "lingon-outline-loops",
    "lingon-outline-kernels",
    "lingon-merge-functions",
    "lingon-expand-math",
    "func.func(lingon-transpose-tiles{bits=%bits})",
    "lingon-vectorize{bits=%bits masks=%masks}",
    "lingon-loop-hints{masks=%masks}",
)
_LLVM_DIALECT = (
    "func.func(lingon-expand-maximum)",
    "lingon-lower-kernels",
    "lingon-expand-views",
    "lingon-if-any{dialect=affine pass=lower-affine}",
    "convert-scf-to-cf",
    "lingon-if-any{dialect=complex pass=convert-complex-to-standard}",
    "lingon-to-llvm",
    "lingon-bf16-as-bits",
    "reconcile-unrealized-casts",
    "lingon-add-entry",
)

_STAGES = {
    "fused": _FUSED,
    "bufferized": _BUFFERIZED,
    "loops": _LOOPS,
    "llvm-dialect": _LLVM_DIALECT,
}

_LLVM_PASSES = (
    # Descriptors are folded first: only then does inlining keep what `noalias` says.
    "function(instsimplify),always-inline,globaldce,"
    "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-simplify,lcssa,loop-mssa(loop-rotate,licm),loop(indvars),"
    "loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg,early-cse)"
)

_FOR_SCALAR_LOOPS = (
    "loop-simplify,lcssa,",
    "loop(indvars),loop-vectorize,instcombine<no-verify-fixpoint>,",
)

CPU = Pipeline(
    name="cpu",
    description="the host CPU, for speed of the result",
    passes=_STAGES,
    llvm_passes=_LLVM_PASSES,
    codegen_level=2,
    for_scalar_loops=_FOR_SCALAR_LOOPS,
)

# Code generation at level 0 takes a quarter of the time; vectorised loops lose 20 to 50 % by it.
CPU_FAST = Pipeline(
    name="cpu-fast",
    description="the host CPU, for the quickest compilation",
    passes=_STAGES,
    llvm_passes=_LLVM_PASSES,
    codegen_level=0,
    for_scalar_loops=_FOR_SCALAR_LOOPS,
)

PIPELINES = {p.name: p for p in (CPU, CPU_FAST)}


def pipeline(name: str | Pipeline) -> Pipeline:
    """The pipeline called `name`.

    Raises:
        UsageError: there is none; the message lists all of them.
    """
    if isinstance(name, Pipeline):
        return name
    if name in PIPELINES:
        return PIPELINES[name]
    import difflib

    near = difflib.get_close_matches(str(name), list(PIPELINES), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise UsageError(f"unknown target {name!r}{hint}; the targets are: {', '.join(PIPELINES)}")


def _split_top_level(passes: str) -> list[str]:
    """Split a pass list at its outermost commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(passes):
        if c in "({<":
            depth += 1
        elif c in ")}>":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(passes[start:i])
            start = i + 1
    parts.append(passes[start:])
    return [p.strip() for p in parts if p.strip()]


split_passes = _split_top_level
