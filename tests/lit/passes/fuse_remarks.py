# RUN: %python %s | FileCheck %s
"""Refused fusions say why, and a later pass takes back what it achieves."""

from pathlib import Path

from mlir import ir
from mlir.passmanager import PassManager

from lingon import dialect
from lingon.lowering import remarks

TEXT = (Path(__file__).parent / "Inputs" / "softmax.mlir").read_text()


def run(passes: str) -> None:
    print(passes)
    context = ir.Context()
    context.enable_multithreading(False)
    dialect.register(context)
    ear = remarks.Ear()
    with context, ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        with remarks.listening(context, ear.hear):
            PassManager.parse(f"builtin.module(func.func({passes}))").run(module.operation)
    for remark in ear.missed():
        print(f"{remark.pass_name}: {remark.kind}: {remark.reason}")


# CHECK: {{^}}lingon-fuse{{$}}
# CHECK-NEXT: lingon-fuse: not fused: not in the loop of its producer: a reduction is complete only after its loop
run("lingon-fuse")
# CHECK: {{^}}lingon-fuse-rows{{$}}
# CHECK-NEXT: lingon-fuse-rows: not fused: not in the row loop of its producers: rows would cut the contiguous dimension
run("lingon-fuse-rows")
# Of the first function's two refusals nothing is left, the second function's stays.
# CHECK: {{^}}lingon-fuse,canonicalize,cse,lingon-fuse-rows{{$}}
# CHECK-NEXT: lingon-fuse: not fused
# CHECK-NEXT: lingon-fuse-rows: not fused
# CHECK-NEXT: end
run("lingon-fuse,canonicalize,cse,lingon-fuse-rows")
print("end")
