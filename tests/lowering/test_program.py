"""compile_jaxpr: execution, texts, counts, and the on-disk cache as a user meets it."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest

from lingon import runtime
from lingon.lowering import CompilationError, UsageError, compile_jaxpr
from lingon.lowering.cache import CacheWarning
from lingon.lowering.locations import strip_locations

OFF = {"compilation_cache": False}


def aval(shape, dtype="float32", weak_type=False):
    return types.SimpleNamespace(shape=shape, dtype=np.dtype(dtype), weak_type=weak_type)


def equation(name, inputs, output, **params):
    return types.SimpleNamespace(
        primitive=types.SimpleNamespace(name=name),
        invars=inputs,
        outvars=[output],
        params=params,
        source_info=None,
        effects=frozenset(),
    )


class Var:
    def __init__(self, shape, dtype="float32"):
        self.aval = aval(shape, dtype)


def closed(invars, outvars, eqns, constvars=(), consts=()):
    jaxpr = types.SimpleNamespace(
        constvars=list(constvars),
        invars=list(invars),
        outvars=list(outvars),
        eqns=list(eqns),
        effects=frozenset(),
    )
    return types.SimpleNamespace(jaxpr=jaxpr, consts=list(consts))


def sin_plus(shape=(4, 300), const=None):
    """sin(x) + y, or sin(x) + const."""
    x, y, s, r = (Var(shape) for _ in range(4))
    eqns = [equation("sin", [x], s, accuracy=None), equation("add", [s, y], r)]
    if const is None:
        return closed([x, y], [r], eqns)
    return closed([x], [r], eqns, [y], [const])


def arrays(*values):
    return [runtime.from_numpy(np.ascontiguousarray(v)) for v in values]


def test_it_executes():
    program = compile_jaxpr(sin_plus(), name="f", options=OFF)
    x = np.linspace(-10, 10, 1200, dtype=np.float32).reshape(4, 300)
    (out,) = program.execute(arrays(x, x[::-1]))
    np.testing.assert_allclose(out._numpy(), np.sin(x) + x[::-1], rtol=1e-6, atol=1e-6)
    assert program.cache_hit is False
    assert {"emit", "linalg", "llvm-opt", "asm", "load", "total"} <= set(program.compile_ms)


def test_large_constants_are_inputs():
    const = np.arange(1200, dtype=np.float32).reshape(4, 300)
    program = compile_jaxpr(sin_plus(const=const), name="f", options=OFF)
    x = np.zeros((4, 300), np.float32)
    (out,) = program.execute(arrays(x))
    np.testing.assert_array_equal(out._numpy(), const)


def test_a_donated_argument_is_deleted():
    program = compile_jaxpr(sin_plus(), name="f", donated=(True, False), options=OFF)
    x, y = arrays(np.ones((4, 300), np.float32), np.ones((4, 300), np.float32))
    program.execute([x, y])
    assert x.is_deleted()
    assert not y.is_deleted()


def test_stage_texts():
    program = compile_jaxpr(sin_plus(), name="f", options=OFF)
    assert "linalg.generic" in program.stage_text("linalg")
    assert "tensor<" not in program.stage_text(3)
    assert "define" in program.stage_text("llvm")
    assert "lingon_entry" in program.stage_text("asm")
    with pytest.raises(UsageError, match="unknown stage"):
        program.stage_text("machine")


def test_analyses():
    program = compile_jaxpr(sin_plus(), name="f", options=OFF)
    cost = program.cost_analysis()
    assert cost["flops"] == 1200
    assert cost["transcendentals"] == 1200
    assert cost["bytes accessed"] == 3 * 4800
    memory = program.memory_analysis()
    assert memory["argument_size_in_bytes"] == 2 * 4800
    assert memory["output_size_in_bytes"] == 4800
    assert memory["temp_size_in_bytes"] == 0
    assert memory["generated_code_size_in_bytes"] > 0


def test_unknown_options_and_pipelines():
    with pytest.raises(TypeError, match="unknown compile option 'fast'; accepted: pipeline, "):
        compile_jaxpr(sin_plus(), name="f", options={"fast": True})
    with pytest.raises(UsageError, match="unknown target 'gpu'"):
        compile_jaxpr(sin_plus(), name="f", options={"pipeline": "gpu"})


def test_an_unknown_primitive_is_named():
    x, r = Var((3,)), Var((3,))
    with pytest.raises(NotImplementedError, match="no_such_thing"):
        compile_jaxpr(closed([x], [r], [equation("no_such_thing", [x], r)]), name="f")


def test_the_code_dies_with_its_program():
    program = compile_jaxpr(sin_plus(), name="f", options=OFF)
    loaded = weakref.ref(program.executable.keepalive)
    assert loaded() is not None
    del program
    gc.collect()
    assert loaded() is None


def test_strip_locations():
    text = '#loc0 = loc("a.py":1:2)\n%0 = arith.addf %a, %b : f32 loc(#loc0)\nreturn\n'
    assert strip_locations(text) == "%0 = arith.addf %a, %b : f32\nreturn\n"


# ----------------------------------------------------------------------------------------- cache


def test_a_second_compilation_hits(tmp_path):
    options = {"compilation_cache_dir": tmp_path / "c"}
    first = compile_jaxpr(sin_plus(), name="f", options=options)
    second = compile_jaxpr(sin_plus(), name="g", options=options)
    other = compile_jaxpr(sin_plus((4, 301)), name="f", options=options)
    fast = compile_jaxpr(sin_plus(), name="f", options={**options, "pipeline": "cpu-fast"})
    assert [p.cache_hit for p in (first, second, other, fast)] == [False, True, False, False]
    x = np.ones((4, 300), np.float32)
    for program in (first, second, fast):
        np.testing.assert_allclose(
            program.execute(arrays(x, x))[0]._numpy(), np.sin(x) + x, rtol=1e-6
        )


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-7], lambda d: d[:200] + bytes([d[200] ^ 1]) + d[201:]]
)
def test_a_damaged_entry_is_compiled_anew(tmp_path, damage):
    options = {"compilation_cache_dir": tmp_path / "c"}
    compile_jaxpr(sin_plus(), name="f", options=options)
    (path,) = (tmp_path / "c").glob("*.lgo")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(CacheWarning, match="damaged"):
        program = compile_jaxpr(sin_plus(), name="f", options=options)
    assert not program.cache_hit
    assert compile_jaxpr(sin_plus(), name="f", options=options).cache_hit


def test_the_setting_turns_it_off(tmp_path, monkeypatch):
    monkeypatch.setenv("LINGON_CACHE_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("LINGON_COMPILATION_CACHE", "0")
    compile_jaxpr(sin_plus(), name="f")
    assert not (tmp_path / "c").exists()


SECOND_PROCESS = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, sys.argv[1])
    from test_program import arrays, compile_jaxpr, np, sin_plus
    from lingon.lowering import program
    program.toolchain_fingerprint = lambda: "fixed"  # a source edited meanwhile is no failure
    options = {"compilation_cache_dir": sys.argv[2]}
    programs = [compile_jaxpr(sin_plus((4, 300 + i)), name="f", options=options) for i in range(4)]
    x = np.ones((4, 303), np.float32)
    np.testing.assert_allclose(programs[3].execute(arrays(x, x))[0]._numpy(), np.sin(x) + x, 1e-6)
    loaded = [m for m in sys.modules if m.split(".")[0] in ("mlir", "llvmlite", "scipy", "jax")]
    print([p.cache_hit for p in programs], loaded)
    """
)


def second_process(request, folder) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SECOND_PROCESS, str(request.path.parent), folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_several_processes_fill_it_and_the_next_hits_without_mlir(request, tmp_path):
    together = [second_process(request, str(tmp_path / "c")) for _ in range(3)]
    for process in together:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    process = second_process(request, str(tmp_path / "c"))
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert out.strip() == "[True, True, True, True] []"


def test_importing_loads_no_compiler():
    program = (
        "import sys, lingon.lowering; "
        "print([m for m in sys.modules if m.split('.')[0] in ('mlir', 'llvmlite', 'scipy')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_compilation_failure_is_one_exception(monkeypatch):
    from lingon.lowering import driver

    def fail(self):
        raise CompilationError("no luck", stage="asm")

    monkeypatch.setattr(driver.Lowering, "object_code", fail)
    with pytest.raises(CompilationError, match="no luck"):
        compile_jaxpr(sin_plus(), name="f", options=OFF)
