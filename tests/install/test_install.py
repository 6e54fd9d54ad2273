"""`python -m lingon` and `install_as_jax`: programs that import jax run on lingon."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def run(args: list[str], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        cwd=cwd, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **env},
    )  # fmt: skip


def script(tmp_path: Path, text: str, name: str = "program.py") -> Path:
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    return path


def output(tmp_path: Path, text: str, *args: str) -> str:
    r = run(["-m", "lingon", str(script(tmp_path, text)), *args], tmp_path)
    assert r.returncode == 0, r.stderr
    return r.stdout.strip()


REGRESSION = """
    import jax
    import jax.numpy as jnp
    from jax import grad, jit, random

    key = random.PRNGKey(42)
    k1, k2, k3 = random.split(key, 3)
    x = random.normal(k1, (100, 3))
    w_true = random.normal(k2, (3,))
    y = x @ w_true + 0.1 * random.normal(k3, (100,))

    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)

    @jit
    def step(p):
        g = grad(loss)(p)
        return jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, p, g)

    p = {"w": jnp.zeros(3), "b": 0.0}
    for i in range(20):
        print("%.7f" % loss(p))
        p = step(p)
    """


def test_regression_has_the_losses_of_jax(tmp_path: Path) -> None:
    ours = output(tmp_path, REGRESSION).split()
    theirs = run([str(tmp_path / "program.py")], tmp_path)
    assert theirs.returncode == 0, theirs.stderr
    assert len(ours) == 20
    assert [float(a) for a in ours] == pytest.approx(
        [float(a) for a in theirs.stdout.split()], rel=1e-5
    )
    assert float(ours[-1]) < float(ours[0]) / 10


def test_import_lingon_as_jax(tmp_path: Path) -> None:
    text = textwrap.dedent(REGRESSION)
    text = text.replace("import jax\n", "import lingon as jax\n", 1)
    text = text.replace("import jax.numpy", "import lingon.numpy").replace(
        "from jax", "from lingon"
    )
    r = run([str(script(tmp_path, text))], tmp_path)
    assert r.returncode == 0, r.stderr
    assert r.stdout.split() == output(tmp_path, REGRESSION).split()


def test_all_kinds_of_imports(tmp_path: Path) -> None:
    text = """
        import sys
        import jax
        import jax.numpy as jnp
        import jax.numpy
        import jax.tree_util as tu, jax.random
        from jax import jit, grad, vmap, random, lax, nn, numpy as np2, tree_util
        from jax.nn import relu
        from jax.numpy import sin as s
        from jax.nn.initializers import normal
        from jax.tree_util import tree_map
        import lingon, lingon.numpy
        assert jax is lingon and jnp is lingon.numpy and np2 is jnp and jax.random is random
        assert sys.modules["jax"] is lingon and sys.modules["jax.numpy"] is lingon.numpy
        assert jax.numpy.sin is s and jax.__version__
        import importlib
        assert importlib.import_module("jax.lax") is lax is lingon.lax
        f = vmap(jit(grad(lambda x: jnp.sum(relu(x) ** 2))))
        print(f(jnp.array([[1.0, -2.0]])))
        print(isinstance(jnp.ones(1), jax.Array))
        """
    assert output(tmp_path, text).splitlines() == ["[[2. 0.]]", "True"]


def test_modules_that_do_not_exist(tmp_path: Path) -> None:
    names = ["jax.nothing", "jax.frontend", "jax._src", "jax.lowering", "jax.numpy.nothing"]
    text = f"""
        import importlib
        for name in {names}:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as e:
                assert isinstance(e, ImportError) and e.name == name, e.name
                print(e)
        """
    lines = output(tmp_path, text).splitlines()
    assert len(lines) == len(names)
    assert all(repr(n) in x for n, x in zip(names, lines, strict=True))
    assert all("lingon" in x for x in lines[:4])


def test_names_that_do_not_exist(tmp_path: Path) -> None:
    text = """
        import jax
        for f in (lambda: jax.nothing, lambda: jax.numpy.nothing, lambda: jax.lax.nothing):
            try:
                f()
            except AttributeError as e:
                print(e)
        try:
            from jax import nothing
        except ImportError as e:
            print(e)
        """
    lines = output(tmp_path, text).splitlines()
    assert len(lines) == 4 and all("nothing" in x for x in lines)


def test_arguments_and_main(tmp_path: Path) -> None:
    text = """
        import sys, os
        import helper
        print(sys.argv[1:], __name__, os.path.basename(sys.argv[0]), helper.X, __file__ == sys.argv[0])
        """
    (tmp_path / "helper.py").write_text("import jax.numpy as jnp\nX = int(jnp.arange(4).sum())\n")
    expected = "['-x', 'a b', '--help'] __main__ program.py 6 True"
    assert output(tmp_path, text, "-x", "a b", "--help") == expected


def test_modules(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    script(
        package,
        "import sys, jax\nfrom . import other\nprint(jax.__name__, sys.argv[1:], other.Y)",
        "main.py",
    )
    (package / "other.py").write_text("Y = 5\n")
    r = run(["-m", "lingon", "-m", "package.main", "a"], tmp_path)
    assert (r.returncode, r.stdout.strip()) == (0, "lingon ['a'] 5"), r.stderr


def test_exit_codes_and_errors(tmp_path: Path) -> None:
    r = run(["-m", "lingon", str(script(tmp_path, "import sys; sys.exit(3)"))], tmp_path)
    assert r.returncode == 3
    r = run(["-m", "lingon", str(script(tmp_path, "x = 1\nraise KeyError('k')"))], tmp_path)
    assert r.returncode == 1 and "KeyError: 'k'" in r.stderr and "line 2" in r.stderr
    r = run(["-m", "lingon", "missing.py"], tmp_path)
    assert r.returncode != 0 and "missing.py" in r.stderr and "Traceback" not in r.stderr
    r = run(["-m", "lingon"], tmp_path)
    assert r.returncode == 2 and "usage" in r.stdout + r.stderr
    r = run(["-m", "lingon", "--help"], tmp_path)
    assert r.returncode == 0 and "SCRIPT" in r.stdout
    r = run(["-m", "lingon", "-m"], tmp_path)
    assert r.returncode != 0 and "module" in r.stderr
    r = run(["-m", "lingon", "-m", "no_such_module_here"], tmp_path)
    assert r.returncode != 0 and "no_such_module_here" in r.stderr


def test_install_as_jax(tmp_path: Path) -> None:
    text = """
        import lingon
        lingon.install_as_jax()
        lingon.install_as_jax()
        import jax
        assert jax is lingon
        import sys
        assert "jaxlib" not in sys.modules
        print("ok")
        """
    r = run([str(script(tmp_path, text))], tmp_path)
    assert r.stdout.strip() == "ok", r.stderr


def test_install_after_the_real_jax(tmp_path: Path) -> None:
    text = """
        import jax, lingon
        try:
            lingon.install_as_jax()
        except RuntimeError as e:
            print(e)
        """
    r = run([str(script(tmp_path, text))], tmp_path)
    assert "already imported" in r.stdout, r.stderr


def test_nothing_of_jax_is_imported(tmp_path: Path) -> None:
    text = """
        import sys
        import jax, jax.numpy as jnp, jax.lax, jax.random, jax.nn
        print(jax.jit(lambda x: x + 1)(1.0))
        print([m for m in sys.modules if m.split(".")[0] == "jaxlib" or m.startswith("jax._")])
        """
    assert output(tmp_path, text).splitlines() == ["2.0", "[]"]


PROGRAMS = {
    "every order": """
        import itertools
        import jax, jax.numpy as jnp
        def loss(w, x, y):
            return jnp.mean((jnp.tanh(x @ w) - y) ** 2)
        w, xs, ys = jnp.ones((3, 2)) * 0.1, jnp.arange(12.0).reshape(2, 2, 3) / 10, jnp.ones((2, 2, 2))
        axes = (None, 0, 0)
        for f in (jax.vmap(jax.jit(jax.grad(loss)), in_axes=axes),
                  jax.jit(jax.vmap(jax.grad(loss), in_axes=axes)),
                  jax.vmap(jax.grad(jax.jit(loss)), in_axes=axes)):
            print([round(float(v), 5) for v in f(w, xs, ys).ravel()])
        print(jax.grad(jax.jit(lambda w: jax.vmap(loss, axes)(w, xs, ys).sum()))(w).shape)
        """,
    "compiled once": """
        import jax, jax.numpy as jnp
        n = 0
        @jax.jit
        def f(x, y):
            global n
            n += 1
            return jnp.sin(x + y)
        f(1.0, 2.0); f(3.0, 4.0)
        print(n)
        """,
    "at": """
        import jax.numpy as jnp
        x = jnp.zeros(3)
        print(x.at[1].set(5.0), x)
        try:
            x[0] = 1
        except TypeError as e:
            print("immutable" in str(e), ".at[" in str(e))
        """,
}


def test_programs_print_the_same(tmp_path: Path) -> None:
    ours = output(tmp_path, "".join(PROGRAMS.values()))
    theirs = run([str(tmp_path / "program.py")], tmp_path)
    assert theirs.returncode == 0, theirs.stderr
    assert ours == theirs.stdout.strip()


def test_line_of_a_branch(tmp_path: Path) -> None:
    text = """
        import jax
        @jax.jit
        def f(x):
            if x > 0:
                return x
            return -x
        f(1.0)
        """
    r = run(["-m", "lingon", str(script(tmp_path, text))], tmp_path)
    assert r.returncode == 1 and "TracerBoolConversionError" in r.stderr
    assert f'"{tmp_path / "program.py"}", line 5, in f' in r.stderr


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"]])
def test_errors_look_as_python_shows_them(tmp_path: Path, how: list[str]) -> None:
    text = """
        import os
        import jax

        print(os.path.isabs(__file__))
        def fail():
            raise KeyError("no such thing")
        fail()
        """
    script(tmp_path, text)
    ours, plain = run(["-m", "lingon", *how], tmp_path), run(["program.py"], tmp_path)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout) == (1, "True\n")
    assert ours.stderr == plain.stderr
    assert "KeyError" in ours.stderr


def test_exit_codes_of_programs(tmp_path: Path) -> None:
    program = str(script(tmp_path, "import sys; sys.exit(3)"))
    assert run(["-m", "lingon", program], tmp_path).returncode == 3
    broken = run(["-m", "lingon", str(script(tmp_path, "x = (", "broken.py"))], tmp_path)
    assert broken.returncode == 1
    assert broken.stderr.lstrip().startswith('File "') and "SyntaxError" in broken.stderr


def test_a_source_tree_that_is_not_built_says_so(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    built = shutil.ignore_patterns("*.so", "*.dylib", "*.pyd", "__pycache__", "*.cpp", "*.h")
    for name in ("lingon", "frontend", "lowering", "dialect", "runtime"):
        shutil.copytree(root / name, tmp_path / name, ignore=built)
    code = (
        "import importlib.machinery as m, sys\n"
        "sys.meta_path[:] = [m.BuiltinImporter, m.FrozenImporter, m.PathFinder]\n"  # no hooks
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import lingon\n"
    )
    r = run(["-c", code], tmp_path)
    assert r.returncode == 1
    last = r.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ModuleNotFoundError: lingon is imported from {tmp_path}")
    assert "Run tools/build_inplace there" in last
