# RUN: %python %s | FileCheck %s
"""Refused fusions say why."""

from pathlib import Path

from mlir import ir
from mlir.passmanager import PassManager

from lingon import dialect

TEXT = (Path(__file__).parent / "Inputs" / "softmax.mlir").read_text()


def show(diagnostic: ir.Diagnostic) -> bool:
    print(diagnostic.message)
    return True


def run(passes: str) -> None:
    context = ir.Context()
    dialect.register(context)
    with context, ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        context.attach_diagnostic_handler(show)
        PassManager.parse(f"builtin.module(func.func({passes}))").run(module.operation)


# CHECK: fuse
print("fuse")
# CHECK-NEXT: not fused with its producer: a reduction is complete only after its loop
run("lingon-fuse{remarks}")
# CHECK: rows
print("rows")
# CHECK-NEXT: not in the row loop of its producers: rows would cut the contiguous dimension
run("lingon-fuse-rows{remarks}")
