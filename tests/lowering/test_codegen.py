"""Code generation: emitters that are kept, and which functions are generated the quick way."""

import re

import pytest

from lingon.lowering.cpu import LlvmModule
from lingon.lowering.loader import ENTRY_SYMBOL
from lingon.lowering.object_file import undefined_symbols
from lingon.lowering.pipelines import CPU, CPU_FAST
from lingon.lowering.target_machine import host_target

PASSES_ON = """
declare void @kernel(ptr, i64)
define void @passes_on(ptr %p) {
  %a = load ptr, ptr %p
  %b = getelementptr i8, ptr %p, i64 8
  %c = load ptr, ptr %b
  call void @kernel(ptr %a, i64 3)
  call void @kernel(ptr %c, i64 4)
  ret void
}"""
LOOPS = """
declare void @kernel(ptr, i64)
define void @loops(ptr %p, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %b = getelementptr i8, ptr %p, i64 %i
  call void @kernel(ptr %b, i64 3)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}"""
COMPUTES = """
define void @computes(ptr %p) {
  %a = load float, ptr %p
  %b = fmul float %a, %a
  store float %b, ptr %p
  ret void
}"""
MIXES = """
define void @mixes(ptr %p) {
  %a = load i32, ptr %p
  %b = shl i32 %a, 13
  %c = xor i32 %b, %a
  %d = lshr i32 %c, 17
  %e = xor i32 %d, %c
  store i32 %e, ptr %p
  ret void
}"""
ALL = (PASSES_ON, LOOPS, COMPUTES, MIXES)


def code(text, pipeline=CPU):
    module = LlvmModule.parse(text)
    try:
        return module.object_code(pipeline, host_target())
    finally:
        module.close()


@pytest.mark.parametrize("pipeline", [CPU, CPU_FAST], ids=lambda p: p.name)
def test_an_emitter_gives_the_same_code_for_a_module_each_time(pipeline):
    first = [code(text, pipeline) for text in ALL]
    for _ in range(3):
        assert [code(text, pipeline) for text in ALL] == first
    assert len(set(first)) == len(ALL)


def test_code_holds_what_its_module_calls_and_no_more():
    assert undefined_symbols(code(PASSES_ON)) in (["kernel"], None)
    assert undefined_symbols(code(COMPUTES)) in ([], None)


@pytest.mark.parametrize("text, quick", list(zip(ALL, (True, False, False, False), strict=True)))
def test_functions_that_only_pass_on_are_generated_the_quick_way(text, quick):
    module = LlvmModule.parse(text)
    assembly = module.assembly(CPU, host_target())
    assert bool(re.search(r"\boptnone\b", module.text())) == quick
    assert re.search(r"^\s*ret", assembly, re.MULTILINE)
    module.close()


def test_a_main_of_many_arguments_that_only_passes_them_on_is_inlined():
    n = 150
    names = [f"%a{i}" for i in range(n)]
    body = "".join(f"  call void @kernel(ptr {a}, i64 3)\n" for a in names)
    loads = "".join(
        f"  %p{i} = getelementptr i8, ptr %p, i64 {8 * i}\n  %v{i} = load ptr, ptr %p{i}\n"
        for i in range(n)
    )
    arguments = ", ".join(f"ptr noalias {a}" for a in names)
    module = LlvmModule.parse(
        f"""
declare void @kernel(ptr, i64)
define void @main({arguments}) {{
{body}  ret void
}}
define void @{ENTRY_SYMBOL}(ptr %p) {{
{loads}  call void @main({", ".join(f"ptr %v{i}" for i in range(n))})
  ret void
}}"""
    )
    module.prepare(host_target())
    assert not re.search(r"@main\(.*noalias", module.text())
    module.optimize(CPU, host_target())
    assert "@main" not in module.text()
    assert module.text().count("call void @kernel") == n
    assert "noalias.scope" not in module.text()
    module.close()
