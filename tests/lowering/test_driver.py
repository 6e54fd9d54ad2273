"""The driver: stages, failures as exceptions, and what a compilation leaves behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from programs import call, elementwise

from lingon import runtime
from lingon.lowering import STAGES, CompilationError, UsageError, stage
from lingon.lowering.driver import Lowering, lower_text
from lingon.lowering.loader import load_object
from lingon.lowering.object_file import check_imports, undefined_symbols
from lingon.lowering.pipelines import CPU, CPU_FAST, PIPELINES, pipeline, split_passes
from lingon.lowering.target_machine import Target, host_target


def compiled(text: str, chosen=CPU):
    with Lowering(text, pipeline=chosen) as lowering:
        return lowering.object_code()


# ---------------------------------------------------------------------------------------- stages


def test_stages_by_name_number_and_digit():
    assert [s.number for s in STAGES] == list(range(9))
    assert stage("fused") is stage(2) is stage("2") is stage(STAGES[2])


@pytest.mark.parametrize("bad", ["fusd", "9", 9, -1, True, ""])
def test_unknown_stage_lists_all(bad):
    with pytest.raises(UsageError, match=r"unknown stage.*0 jaxpr, .*8 asm"):
        stage(bad)


def test_every_stage_is_read_back_and_leads_to_the_same_assembly():
    source = elementwise((8, 128))
    texts = {s: lower_text(source, s) for s in STAGES[1:]}
    for start in STAGES[1:8]:
        assert lower_text(texts[start], "asm", start=start) == texts[STAGES[8]], start


def test_going_back_is_refused():
    with (
        Lowering(elementwise((4,)), start="fused") as lowering,
        pytest.raises(UsageError, match="cannot go back"),
    ):
        lowering.advance("linalg")


@pytest.mark.parametrize("start", ["jaxpr", "asm"])
def test_starting_from_what_is_not_read(start):
    with pytest.raises(UsageError, match="cannot start from"):
        Lowering("", start=start)


def test_pipelines_by_name():
    assert pipeline("cpu") is CPU
    assert pipeline(CPU_FAST) is CPU_FAST
    with pytest.raises(UsageError, match=r"unknown target 'cpu-fats' \(did you mean 'cpu-fast'"):
        pipeline("cpu-fats")
    for each in PIPELINES.values():
        for passes in each.passes.values():
            for name in passes:
                assert name in each.describe()


def test_split_passes():
    assert split_passes("a,b(c,d{e=1 f}),g<x;y>") == ["a", "b(c,d{e=1 f})", "g<x;y>"]
    assert split_passes("") == []


# ------------------------------------------------------------------------------------- execution


@pytest.mark.parametrize("chosen", [CPU, CPU_FAST], ids=lambda p: p.name)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (64, 33)])
def test_compiled_code_computes(chosen, shape):
    x = np.linspace(-3, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    y = np.empty_like(x)
    call(load_object(compiled(elementwise(shape), chosen), runtime.symbols()), x, y)
    np.testing.assert_allclose(y, x * 2 + np.exp(x), rtol=1e-6, atol=1e-6)


def test_steps_are_timed():
    with Lowering(elementwise((16,)), step_by_step=True) as lowering:
        lowering.advance("asm")
    stages = lowering.record.by_stage()
    assert list(stages) == [s.name for s in STAGES[1:]]
    assert all(ms > 0 for ms in stages.values())
    names = [step for _, step, _ in lowering.record.steps]
    assert any(n.startswith("one-shot-bufferize") for n in names)


def test_the_observer_sees_each_pass_and_its_text():
    seen = []
    with Lowering(
        elementwise((16,)), observer=lambda s, p, text: seen.append((s, p, len(text())))
    ) as lowering:
        lowering.advance("llvm-opt")
    assert any(s == "bufferized" and p.startswith("one-shot-bufferize") for s, p, _ in seen)
    assert all(n > 0 for _, _, n in seen)


def test_threads_compile_at_once():
    results: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        x = np.ones(50 + i, np.float32)
        y = np.empty_like(x)
        code = compiled(elementwise((50 + i,), float(i)))
        call(load_object(code, runtime.symbols()), x, y)
        results[i] = y

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(8):
        np.testing.assert_allclose(results[i], i + np.exp(np.float32(1)), rtol=1e-6)


def test_the_same_object_can_be_loaded_twice():
    code = compiled(elementwise((4,)))
    first, second = (load_object(code, runtime.symbols()) for _ in range(2))
    assert first.entry != second.entry
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    del first
    gc.collect()
    call(second, x, y)
    assert y[0] > 4


# -------------------------------------------------------------------------------------- failures


def test_bad_text_is_an_exception_with_the_place():
    with (
        pytest.raises(CompilationError, match="custom op 'nonsense' is unknown") as caught,
        Lowering("func.func @main() {\n  nonsense\n}"),
    ):
        pass
    assert caught.value.stage == "linalg"
    assert caught.value.step == "parse"


def test_a_failing_pass_is_named_and_the_program_before_it_attached():
    # exp of an integer register type that the library has no function for
    text = elementwise((4,)).replace("f32", "f80").replace("e+00 : f80", "e+00 : f80")
    with pytest.raises(CompilationError) as caught:
        compiled(text)
    assert caught.value.step == "lingon-expand-math"
    assert caught.value.stage == "loops"
    assert "math.exp" in caught.value.ir
    assert "f80" in str(caught.value)


def test_unknown_pass():
    with (
        Lowering(elementwise((4,))) as lowering,
        pytest.raises(UsageError, match="bad pass list 'no-such-pass'"),
    ):
        lowering.run_passes(["no-such-pass"])


LEFT_OVER = {
    "cast": "%0 = builtin.unrealized_conversion_cast %a : !llvm.ptr to memref<4xf32>",
    "arith": "%0 = arith.constant 1 : index",
    "tensor": "%0 = tensor.empty() : tensor<4xf32>",
    "scf": "%c = arith.constant 0 : index scf.for %i = %c to %c step %c { }",
    "vector": "%0 = vector.constant_mask [1] : vector<4xi1>",
    "index": "%0 = llvm.mlir.undef : index",
}


@pytest.mark.parametrize("kind", LEFT_OVER)
def test_what_has_no_llvm_form_is_an_exception_and_not_an_abort(kind):
    program = textwrap.dedent(
        f"""
        from lingon.lowering import CompilationError
        from lingon.lowering.driver import Lowering
        text = '''llvm.func @main(%a: !llvm.ptr) {{
          {LEFT_OVER[kind]}
          llvm.return
        }}'''
        try:
            with Lowering(text, start="llvm-dialect") as lowering:
                lowering.object_code()
        except CompilationError as error:
            print("raised:", error)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("raised: compilation failed (stage ll"), done.stdout


def test_bad_llvm_ir_is_an_exception():
    with (
        pytest.raises(CompilationError, match="undefined value"),
        Lowering("define i32 @f(i32 %a) {\n ret i32 %b\n}", start="llvm"),
    ):
        pass
    # Well-formed text that breaks a rule of the IR.
    text = "define i32 @f(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 2\n"
    text += "  br label %b\nb:\n  ret i32 %x\n}"
    with (
        pytest.raises(CompilationError, match="does not dominate"),
        Lowering(text, start="llvm"),
    ):
        pass


def test_bad_llvm_passes_are_an_exception():
    with (
        Lowering("define void @f() {\n ret void\n}", start="llvm") as lowering,
        pytest.raises(CompilationError, match="unknown pass name 'nonsense'"),
    ):
        lowering.run_passes(["nonsense"])


def test_an_unknown_target_is_an_exception():
    target = Target("martian-unknown-none", "generic", "")
    with (
        pytest.raises(CompilationError, match="no code generator for martian"),
        Lowering("define void @f() {\n ret void\n}", start="llvm", target=target) as lowering,
    ):
        lowering.advance("asm")


def test_a_program_without_main_or_with_values_for_arguments():
    with pytest.raises(CompilationError, match="no function @main"):
        lower_text("func.func @other() { return }", "asm")
    with pytest.raises(CompilationError, match="not only pointers"):
        lower_text("func.func @main(%a: f32) { return }", "asm")


def test_garbage_is_not_loaded():
    with pytest.raises(CompilationError, match="entry point"):
        load_object(b"\x7fELF not an object", {})
    code = compiled(elementwise((4,)))
    if sys.platform.startswith("linux"):  # a table of sections that lies beyond the end
        with pytest.raises(CompilationError, match="reading object code"):
            load_object(code[:0x28] + b"\xff" * 8 + code[0x30:], {})


def test_a_missing_symbol_is_named():
    text = """
    declare void @lingon_kernel_no_such(ptr)
    define void @lingon_entry_0000000000000000(ptr %p) {
      call void @lingon_kernel_no_such(ptr %p)
      ret void
    }"""
    with Lowering(text, start="llvm") as lowering:
        code = lowering.object_code()
    if undefined_symbols(code) is not None:
        assert undefined_symbols(code) == ["lingon_kernel_no_such"]
        with pytest.raises(CompilationError, match="lingon_kernel_no_such"):
            check_imports(code, runtime.symbols())
    with pytest.raises(CompilationError, match="lingon_kernel_no_such"):
        load_object(code, runtime.symbols())


def test_host_target_features_follow_the_setting(monkeypatch):
    before = host_target()
    monkeypatch.setenv("LINGON_CPU_FEATURES", "-avx512f")
    host_target.cache_clear()
    try:
        assert host_target() != before
        assert host_target().features.endswith("-avx512f")
    finally:
        monkeypatch.undo()
        host_target.cache_clear()


# ---------------------------------------------------------------------------------------- memory

GROWTH = textwrap.dedent(
    """
    import sys, gc
    sys.path.insert(0, sys.argv[1])
    from programs import elementwise
    from lingon import runtime
    from lingon.lowering.driver import Lowering
    from lingon.lowering.loader import load_object

    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def compile_some(first, count):
        for i in range(first, first + count):
            # Different shapes and constants: different types and attributes in the context.
            with Lowering(elementwise((3 + i, 5), i / 7)) as lowering:
                code = lowering.object_code()
            load_object(code, runtime.symbols())
        gc.collect()

    compile_some(0, 150)
    before = rss()
    compile_some(1000, 500)
    print((rss() - before) / 2**20)
    """
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_over_500_functions(request):
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(request.path.parent)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    # The stated bound: one context's worth of types and attributes, and code that was not freed
    # would be 500 * 12 KiB.
    assert float(done.stdout) < 5.0, f"grew by {done.stdout} MiB"
