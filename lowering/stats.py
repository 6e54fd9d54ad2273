"""Static counts of what a program does: operations, memory traffic, allocations, loops."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import prod
from typing import Any

from .driver import Lowering
from .pipelines import CPU, Pipeline
from .stages import Stage, stage

_FLOAT_OPS = frozenset(
    (
        "arith.addf",
        "arith.subf",
        "arith.mulf",
        "arith.divf",
        "arith.remf",
        "arith.negf",
        "arith.maximumf",
        "arith.minimumf",
        "arith.maxnumf",
        "arith.minnumf",
        "math.fma",
        "math.sqrt",
        "math.rsqrt",
        "math.absf",
    )
)
# Not counted as elementary functions: an instruction or two each.
_CHEAP_MATH = frozenset(
    (
        "math.absf",
        "math.absi",
        "math.copysign",
        "math.floor",
        "math.ceil",
        "math.trunc",
        "math.round",
        "math.roundeven",
        "math.sqrt",
        "math.rsqrt",
        "math.fma",
        "math.isnan",
        "math.isinf",
        "math.isfinite",
        "math.isnormal",
        "math.ctpop",
        "math.ctlz",
        "math.cttz",
    )
)
# Floating-point operations of a complex one.
_COMPLEX_FLOPS = {"complex.add": 2, "complex.sub": 2, "complex.mul": 6, "complex.div": 11}
# What is executed one operation after the other; anything else counts as one access of its buffers.
_SEQUENTIAL = frozenset(("scf.for", "scf.while", "scf.if", "scf.index_switch"))
_LOOPS = frozenset(("scf.for", "scf.while", "scf.forall", "scf.parallel", "affine.for"))
_VIEWS = frozenset(
    (
        "memref.subview",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
        "memref.view",
        "memref.transpose",
        "memref.memory_space_cast",
    )
)
_CALL = "lingon.call"
_VECTOR = re.compile(r"<(\d+) x (float|double|half|bfloat|i\d+)>")
_LLVM_BITS = {
    "float": ("f32", 32),
    "double": ("f64", 64),
    "half": ("f16", 16),
    "bfloat": ("bf16", 16),
}


@dataclass
class Stats:
    """Counts for one execution; a loop with an unknown number of iterations counts as one.

    Attributes:
        flops: floating-point additions, multiplications, comparisons and such; a fused
            multiply-add counts two.
        transcendentals: elementary functions evaluated.
        bytes_accessed: for each loop nest, copy and kernel, as often as it is executed: the bytes of
            the parts of buffers it touches; both branches of a conditional count.
        kernels: outermost loop nests.
        library_kernels: calls of the runtime's library.
        allocations, allocated_bytes: temporaries from the pool.
        stack_buffers, stack_bytes: temporaries on the stack.
        copies: buffer-to-buffer copies.
        vector_width: widest vector type of the optimised code, or "scalar".
    """

    flops: int = 0
    transcendentals: int = 0
    bytes_accessed: int = 0
    kernels: int = 0
    library_kernels: int = 0
    allocations: int = 0
    allocated_bytes: int = 0
    stack_buffers: int = 0
    stack_bytes: int = 0
    copies: int = 0
    vector_width: str = "scalar"

    def __str__(self) -> str:
        return "\n".join(f"{f.name}: {getattr(self, f.name)}" for f in fields(self))


def program_stats(
    text: str, *, start: str | int | Stage = "linalg", pipeline: Pipeline = CPU
) -> Stats:
    """Lower `text` and count on the way. What lies before `start` is not counted."""
    stats = Stats()
    first = stage(start)
    # Vector code has loops of its own for the last elements, or none.
    with Lowering(text, start=first, pipeline=pipeline.until("lingon-vectorize")) as lowering:
        if first.number <= 1:
            for root, times in _called(lowering.module):
                _count_flops(root, times, stats)
        if first.number <= 3:
            lowering.advance("bufferized")
            for root, times in _called(lowering.module):
                _count_traffic(root, times, stats)
        if first.number <= 4:
            lowering.advance("loops")
            for root in _functions(lowering.module):
                _count_buffers(root, True, stats)
                stats.allocated_bytes += _scratch_bytes(root)
    with Lowering(text, start=first, pipeline=pipeline) as lowering:
        stats.vector_width = vector_width(lowering.advance("llvm-opt").text())
    return stats


def vector_width(llvm_text: str) -> str:
    """The widest vector type in LLVM IR text, as `16 x f32`; "scalar" if there is none."""
    best, name = 0, "scalar"
    for count, element in set(_VECTOR.findall(llvm_text)):
        label, bits = _LLVM_BITS.get(
            element, (element, int(element[1:] or 0) if element[0] == "i" else 0)
        )
        if bits >= 8 and int(count) * bits > best:
            best, name = int(count) * bits, f"{count} x {label}"
        elif int(count) * bits == best and not label.startswith("i"):
            name = f"{count} x {label}"
    return name


def _functions(module: Any) -> Iterator[Any]:
    """The functions of the program, without those of the elementary library."""
    for op in module.body.operations:
        operation = op.operation
        if operation.name == "func.func" and "passthrough" not in operation.attributes:
            yield operation


def _called(module: Any) -> list[tuple[Any, int]]:
    """The functions of the program, and how often each is called: those that nobody calls, once."""
    functions = {f.attributes["sym_name"].value: f for f in _functions(module)}
    calls: dict[str, Counter[str]] = {name: Counter() for name in functions}

    def visit(operation: Any, times: int, found: Counter[str]) -> None:
        for op in _children(operation):
            if op.name == _CALL:
                found[op.attributes["callee"].value] += times
            elif len(op.regions):
                inner = times * _trip_count(op) if op.name == "scf.for" else times
                visit(op, inner, found)

    for name, function in functions.items():
        visit(function, 1, calls[name])
    callers: dict[str, list[tuple[str, int]]] = {}
    for name, found in calls.items():
        for callee, times in found.items():
            callers.setdefault(callee, []).append((name, times))

    @functools.cache
    def total(name: str) -> int:
        if name not in callers:
            return 1
        return sum([total(caller) * times for caller, times in callers[name]])

    return [(function, total(name)) for name, function in functions.items()]


def _scratch_bytes(function: Any) -> int:
    """Bytes that temporaries need together: those that live at different times share bytes."""
    attributes = function.attributes
    # A private function works in a part of its caller's memory.
    if "lingon.scratch_bytes" not in attributes or "sym_visibility" in attributes:
        return 0
    return attributes["lingon.scratch_bytes"].value


def _children(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation


def _count_flops(operation: Any, times: int, stats: Stats) -> None:
    for op in _children(operation):
        name = op.name
        if name in _FLOAT_OPS:
            stats.flops += times * (2 if name == "math.fma" else 1)
        elif name in _COMPLEX_FLOPS:
            stats.flops += times * _COMPLEX_FLOPS[name]
        elif name.startswith(("math.", "complex.")):
            if name.startswith("math.") and name not in _CHEAP_MATH:
                stats.transcendentals += times
        elif name == "lingon.kernel_call":
            stats.flops += times * _kernel_flops(op)
        if len(op.regions):
            inner = times
            if name.startswith("linalg."):
                inner *= _iterations(op)
            elif name == "scf.for":
                inner *= _trip_count(op)
            _count_flops(op, inner, stats)


def _iterations(op: Any) -> int:
    """The size of a linalg operation's iteration space, from its indexing maps and shapes."""
    from mlir import ir

    if "indexing_maps" not in op.attributes:
        return prod(_shape(op.operands[len(op.operands) - 1].type))
    ranges: dict[int, int] = {}
    for operand, attribute in zip(op.operands, op.attributes["indexing_maps"], strict=True):
        results = ir.AffineMapAttr(attribute).value.results
        for size, expression in zip(_shape(operand.type), results, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                ranges.setdefault(expression.position, size)
    return prod(ranges.values())


def _trip_count(op: Any) -> int:
    bounds = [_constant(op.operands[i]) for i in range(3)]
    if None in bounds or bounds[2] <= 0:
        return 1
    return max(0, -(-(bounds[1] - bounds[0]) // bounds[2]))


def _constant(value: Any) -> int | None:
    owner = value.owner
    if getattr(owner, "name", None) != "arith.constant":
        return None
    return int(owner.attributes["value"].value)


def _kernel_flops(op: Any) -> int:
    """A multiplication and an addition for each product of a matrix product's elements.

    Its config says how many dimensions are batched and contracted, and which of them: those of the
    left operand's batch, of the right one's, those contracted of the left operand, of the right one.
    """
    if op.attributes["callee"].value != "dot_general":
        return 0
    config = [int(x) for x in op.attributes["config"]]
    batched, contracted = config[:2]
    first = 2 + 2 * batched
    shape = _shape(op.operands[0].type)
    result = op.operands[len(op.operands) - 1].type
    depth = prod(shape[d] for d in config[first : first + contracted])
    each = 8 if str(result.element_type).startswith("complex") else 2
    return each * prod(_shape(result)) * depth


def _shape(type_: Any) -> list[int]:
    from mlir import ir

    if isinstance(type_, (ir.RankedTensorType, ir.MemRefType)):
        return list(type_.shape)
    return []


def _nbytes(type_: Any) -> int:
    return prod(type_.shape) * _element_bytes(type_) if type_.has_static_shape else 0


def _element_bytes(type_: Any) -> int:
    from mlir import ir

    element = type_.element_type
    if isinstance(element, ir.ComplexType):
        return 2 * (element.element_type.width // 8)
    if isinstance(element, ir.IndexType):
        return 8
    return max(1, element.width // 8)


def _is_memref(type_: Any) -> bool:
    from mlir import ir

    return isinstance(type_, ir.MemRefType)


def _root(value: Any) -> Any:
    """The buffer that a view looks at; a part of the scratch memory is a buffer of its own."""
    owner = value.owner
    while getattr(owner, "name", None) in _VIEWS and owner.name != "memref.view":
        value = owner.operands[0]
        owner = value.owner
    return value


def _count_traffic(operation: Any, times: int, stats: Stats) -> None:
    for op in _children(operation):
        name = op.name
        # What a function does is counted there.
        if (
            name == _CALL
            or name in _VIEWS
            or name in ("memref.alloc", "memref.alloca", "memref.dealloc")
        ):
            continue
        if name in _SEQUENTIAL:
            inner = times * _trip_count(op) if name == "scf.for" else times
            _count_traffic(op, inner, stats)
        elif name in ("memref.load", "memref.store"):
            (buffer,) = [v for v in op.operands if _is_memref(v.type)]
            stats.bytes_accessed += times * _element_bytes(buffer.type)
        else:
            touched: dict[int, int] = {}
            _touch(op, touched)
            stats.bytes_accessed += times * sum(touched.values())


def _touch(op: Any, touched: dict[int, int]) -> None:
    """The bytes of each buffer that an operation works on, or of the largest view of it."""
    for operand in op.operands:
        if _is_memref(operand.type):
            root = _root(operand)
            if getattr(root.owner, "name", "") != "memref.alloca":
                key = hash(root)
                touched[key] = max(touched.get(key, 0), _nbytes(operand.type))
    for child in _children(op):
        if child.name not in ("memref.dealloc", "scf.yield"):
            _touch(child, touched)


def _count_buffers(operation: Any, outermost: bool, stats: Stats) -> None:
    for op in _children(operation):
        name = op.name
        if name == "memref.alloc":
            stats.allocations += 1
            stats.allocated_bytes += _nbytes(op.results[0].type)
        elif name == "memref.view":
            stats.allocations += 1
        elif name == "memref.alloca":
            stats.stack_buffers += 1
            stats.stack_bytes += _nbytes(op.results[0].type)
        elif name == "memref.copy":
            stats.copies += 1
        elif name == "lingon.kernel_call":
            stats.library_kernels += 1
        is_loop = name in _LOOPS or name.startswith("linalg.")
        if is_loop and outermost:
            stats.kernels += 1
        _count_buffers(op, outermost and not is_loop, stats)
