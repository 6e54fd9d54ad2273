"""What is imported when: names that come late are as real as others, and little is loaded early."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import lingon
import lingon.lax
import lingon.numpy as jnp
from lingon.frontend import lax, primitives
from lingon.frontend.core.primitive import Primitive, registry
from lingon.frontend.core.trace import Tracer
from lingon.frontend.numpy import array_methods, late_methods, operators

ROOT = Path(__file__).resolve().parents[2]
LATE = ("lingon", "lingon.numpy", "lingon.lax")


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        cwd=Path(__file__).parent,  # not where the source tree would be found
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def typed(module: str) -> dict[str, tuple[str, str]]:
    """name -> (module, its name there), of the imports that only type checkers see."""
    parts = module.split(".")
    path = ROOT / "lingon" / (f"{parts[1]}.py" if len(parts) > 1 else "__init__.py")
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.Assign):  # another name for one of them
                    found[line.targets[0].id] = found[line.value.id]
                    continue
                assert isinstance(line, ast.ImportFrom)
                for alias in line.names:
                    assert alias.asname, (
                        f"{module}: {alias.name} is no public name to type checkers"
                    )
                    found[alias.asname] = (line.module, alias.name)
    return {name: source for name, source in found.items() if not name.startswith("_")}


@pytest.mark.parametrize("module", LATE)
def test_the_table_and_the_imports_for_type_checkers_agree(module: str) -> None:
    names = typed(module)
    assert len(names) > 50
    public = importlib.import_module(module)
    at_once = {n for n in public.__all__ if n in vars(public)} - set(names)
    assert set(public.__all__) == set(names) | at_once
    assert len(public.__all__) == len(set(public.__all__))
    for name, (source, other) in names.items():
        assert getattr(public, name) is getattr(importlib.import_module(source), other), name


@pytest.mark.parametrize("module", LATE)
def test_late_names_are_as_others(module: str) -> None:
    public = importlib.import_module(module)
    assert set(public.__all__) <= set(dir(public))
    scope: dict = {}
    exec(f"from {module} import *", scope)
    assert set(public.__all__) <= set(scope)
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec(f"from {module} import no_such_name")
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'") as caught:
        public.no_such_name
    assert caught.value.name == "no_such_name" and caught.value.obj is public
    assert not hasattr(public, "__wrapped__")


def test_late_functions_are_pickled_by_name() -> None:
    for f in (jnp.sin, jnp.linspace, lingon.grad, lingon.lax.scan):
        assert pickle.loads(pickle.dumps(f)) is f


def test_names_of_lax_are_not_those_of_its_modules() -> None:
    files = {p.stem for p in (ROOT / "frontend" / "lax").glob("*.py")} - {"__init__"}
    offered = [
        n
        for f in files
        for n in getattr(importlib.import_module(f"lingon.frontend.lax.{f}"), "__all__", ())
    ]
    assert len(offered) == len(set(offered)) and not files & set(offered)
    assert files - set(lax._modules) == {"control_flow_util"}
    assert all(getattr(lax, n) is not None for n in offered)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        lax.no_such_name


def test_the_registry_is_whole_for_whoever_asks() -> None:
    program = """
from lingon.frontend.core.primitive import registry
early = dict.__len__(registry)
{}
assert dict.__len__(registry) > early
"""
    for ask in (
        "assert 'scan' in registry and 'no_such_name' not in registry",
        "assert registry['scan'].name == 'scan'",
        "assert registry.get('scan') is not None and registry.get('no_such_name', 1) == 1",
        "assert len(list(registry)) == len(registry)",
        "assert {*registry.keys()} == {p.name for p in registry.values()}",
        "assert len(registry.items()) > 100",
    ):
        run(program.format(ask))
    primitives.import_all()
    assert all(isinstance(p, Primitive) for p in registry.values())


def test_dtypes_of_keys_are_known_by_name() -> None:
    named = "from lingon.frontend.core.dtypes import dtype_named; print(dtype_named('key<fry>'))"
    assert run(f"import lingon; {named}") == "key<fry>\n"


def test_operators_and_methods_have_their_names_from_the_start() -> None:
    assert array_methods
    own = set(vars(Tracer))
    assert set(operators.operators) == set(late_methods.NAMES["operators"])
    for names in late_methods.NAMES.values():
        assert set(names) <= own
        for name in names:
            assert not isinstance(vars(Tracer)[name], late_methods.Late)


@pytest.mark.parametrize(
    "use",
    [
        "x + 1", "2 - x", "x @ x", "x[1]", "-x", "x == 1", "x.sum()", "x.T", "x.at[0].set(5)", "1 in x",
        "round(x)", "x.nbytes", "type(x).sum(x)", "x.astype('int32')", "divmod(x, 2)", "abs(x)",
    ],
)  # fmt: skip
def test_the_first_use_of_an_operator_or_method(use: str) -> None:
    program = f"""
import numpy as np
from lingon.runtime import from_numpy
import lingon, sys
x = from_numpy(np.arange(1.0, 4.0, dtype=np.float32))
assert not {{"operators", "array_methods"}} & {{m.rsplit(".", 1)[-1] for m in sys.modules}}
print({use})
"""
    x = jnp.arange(1.0, 4.0)
    assert run(program) == f"{eval(use, {'x': x})}\n"


def test_the_first_thing_done_with_a_traced_array_is_iteration() -> None:
    program = """
import lingon as jax, numpy as np
def f(x):
    a, b = x
    return (a, *list(b))
print(*jax.jit(f)(np.arange(6.0, dtype=np.float32).reshape(2, 3))[1:])
try:
    jax.jit(list)(1.0)
except TypeError as e:
    print(e)
"""
    assert run(program) == "3.0 4.0 5.0\niteration over a 0-d array\n"


def test_threads_may_import_at_once() -> None:
    program = """
import threading
import lingon
start, failed = threading.Barrier(8), []
def work(i):
    try:
        start.wait()
        import lingon.numpy as jnp
        x = jnp.arange(4.0)
        f = [lambda: x + 1, lambda: lingon.grad(lambda y: jnp.sum(y * y))(x), lambda: x.sum(),
             lambda: lingon.lax.scan(lambda c, y: (c + y, c), 0.0, x)[1], lambda: lingon.vmap(jnp.sin)(x),
             lambda: lingon.lax.add_p.bind(x, x), lambda: jnp.add(x, 1), lambda: x @ x][i]
        f()
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
if failed:
    raise failed[0]
"""
    for _ in range(3):
        run(program)


UNWANTED = (
    "dataclasses logging pathlib tempfile json hashlib difflib zlib scipy mlir importlib.resources "
    "lingon.lowering.program lingon.dialect lingon.frontend.numpy.operators "
    "lingon.frontend.primitives.scan lingon.frontend.lax.elementwise lingon.frontend.pmap"
).split()


def test_what_an_import_does_not_load() -> None:
    base = run("import sys, numpy, ml_dtypes; print(*sys.modules)").split()
    loaded = run("import sys, lingon.numpy; print(*sys.modules)").split()
    assert "lingon.numpy" in loaded
    assert not (set(UNWANTED) - set(base)) & set(loaded)
    assert len([m for m in loaded if m.startswith("lingon")]) < 75


def test_what_a_program_found_in_the_compile_cache_does_not_load(tmp_path: Path) -> None:
    program = """
import lingon
import lingon.numpy as jnp
print(lingon.jit(lambda x: jnp.sin(x) * 2.0 + jnp.sum(x))(jnp.arange(8.0)))
import sys
loaded = list(sys.modules)
maps = open("/proc/self/maps").read() if sys.platform == "linux" else ""
print(*loaded, *{line.rsplit("/", 1)[-1] for line in maps.splitlines() if "/" in line})
"""
    unwanted = {*UNWANTED} - {
        "lingon.lowering.program",
        "lingon.dialect",
        "lingon.frontend.numpy.operators",
        "lingon.frontend.lax.elementwise",
    }
    unwanted |= {
        "lingon.lowering.driver",
        "lingon.frontend.numpy.array_methods",
        "libMLIRPythonCAPI.so",
    }
    unwanted -= set(run("import sys, numpy, ml_dtypes; print(*sys.modules)").split())
    first, second = (run(program, LINGON_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    assert first.splitlines()[:-1] == second.splitlines()[:-1]
    assert "mlir" in first.split() and not unwanted & set(second.split())
