"""add-entry: gives a program of the llvm dialect its uniform entry point.

Adds `void lingon_entry_<digits>(void **pointers)`, which loads each pointer and calls @main, and
marks the pointers of @main `noalias`: results never share memory with arguments or each other.
If @main wants scratch memory (`lingon.scratch_bytes`, set by lingon-plan-buffers), its last
argument is a block that the entry point takes from the runtime's pool and gives back.
"""

from __future__ import annotations

from typing import Any

from ..errors import CompilationError
from ..loader import ENTRY_SYMBOL

_ALLOC = "lingon_rt_alloc"
_FREE = "lingon_rt_free"


def add_entry(module: Any) -> None:
    """Run the pass on `module`, an `mlir.ir.Operation` that holds an llvm.func @main."""
    from mlir import ir

    block = module.regions[0].blocks[0]
    main = _find(block, "main")
    if main is None:
        raise CompilationError("no function @main", step="add-entry", ir=str(module))
    arguments = [str(a.type) for a in main.regions[0].blocks[0].arguments]
    if any(t != "!llvm.ptr" for t in arguments):
        raise CompilationError(
            f"@main takes {arguments}, not only pointers", step="add-entry", ir=str(module)
        )
    main.attributes["arg_attrs"] = _noalias(main, len(arguments), ir)
    scratch = (
        main.attributes["lingon.scratch_bytes"].value
        if "lingon.scratch_bytes" in main.attributes
        else 0
    )
    passed = len(arguments) - (1 if scratch else 0)
    lines = [f"llvm.func @{ENTRY_SYMBOL}(%pointers: !llvm.ptr) {{"]
    if scratch:
        lines.append(f"  %size = llvm.mlir.constant({scratch} : i64) : i64")
        lines.append(f"  %p{passed} = llvm.call @{_ALLOC}(%size) : (i64) -> !llvm.ptr")
    for i in range(passed):
        lines.append(
            f"  %a{i} = llvm.getelementptr %pointers[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr"
        )
        lines.append(f"  %p{i} = llvm.load %a{i} : !llvm.ptr -> !llvm.ptr")
    values = ", ".join(f"%p{i}" for i in range(len(arguments)))
    lines.append(f"  llvm.call @main({values}) : ({', '.join(arguments)}) -> ()")
    if scratch:
        lines.append(f"  llvm.call @{_FREE}(%p{passed}) : (!llvm.ptr) -> ()")
    lines.append("  llvm.return")
    lines.append("}")
    lines.append(f"llvm.func @main({', '.join(arguments)})")
    if scratch:
        lines.append(f"llvm.func @{_ALLOC}(i64) -> !llvm.ptr")
        lines.append(f"llvm.func @{_FREE}(!llvm.ptr)")
    source = ir.Module.parse("\n".join(lines))
    for op in list(source.body.operations):
        name = op.operation.attributes["sym_name"].value
        if name != "main" and _find(block, name) is None:
            op.operation.detach_from_parent()
            block.append(op)


def _find(block: Any, name: str) -> Any:
    for op in block.operations:
        attributes = op.operation.attributes
        if "sym_name" in attributes and attributes["sym_name"].value == name:
            return op.operation
    return None


def _noalias(main: Any, count: int, ir: Any) -> Any:
    existing = (
        list(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else [None] * count
    )
    unit = ir.UnitAttr.get()
    merged = []
    for attributes in existing:
        entries = {} if attributes is None else {a.name: a.attr for a in attributes}
        if entries.pop("lingon.may_alias", None) is None:
            entries["llvm.noalias"] = unit
        entries.setdefault("llvm.nonnull", unit)
        merged.append(ir.DictAttr.get(entries))
    return ir.ArrayAttr.get(merged)
