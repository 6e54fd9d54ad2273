"""debug_nans, debug_infs, log_compiles, explain_cache_misses, breakpoint, names of equations."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lingon
import lingon.lax as lax
import lingon.numpy as jnp


def line_of(f: Callable, text: str) -> int:
    """The line of this file in which `f` has `text`."""
    import inspect

    lines, start = inspect.getsourcelines(f)
    return start + next(i for i, line in enumerate(lines) if text in line)


def straight(x: Any) -> Any:
    y = jnp.sin(x)
    z = jnp.log(y - 2.0)  # here
    return z * 2


def scanned(x: Any) -> Any:
    def body(c: Any, a: Any) -> Any:
        b = lingon.jit(lambda a: a + 1)(a)
        return jnp.sqrt(c - b), b  # here

    return lax.scan(body, 1.0, x)


def looped(x: Any) -> Any:
    def body(c: Any) -> Any:
        return c[0] + 1, lax.cond(
            c[0] > 1,
            lambda v: jnp.arcsin(v * 5),  # here
            lambda v: v + 1,
            c[1],
        )

    return lax.while_loop(lambda c: c[0] < 4, body, (0, x))


@pytest.mark.parametrize(
    ("f", "primitive"), [(straight, "log"), (scanned, "sqrt"), (looped, "asin")]
)
@pytest.mark.parametrize(
    ("wrap", "shape"),
    [
        (lambda f: f, (3,)),
        (lingon.jit, (3,)),
        (lambda f: lingon.jit(lingon.jit(f)), (3,)),
        (lambda f: lingon.jit(f, donate_argnums=0), (3,)),
        (lambda f: lingon.vmap(lingon.jit(f)), (2, 3)),
    ],
    ids=["eager", "jit", "nested", "donated", "vmap"],
)
@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_debug_nans_names_operation_and_line(
    f: Callable, primitive: str, wrap: Callable, shape: tuple[int, ...]
) -> None:
    with lingon.debug_nans(True), pytest.raises(FloatingPointError) as info:
        wrap(f)(jnp.ones(shape))
    text = str(info.value)
    assert f"invalid value (nan) encountered in {primitive} at " in text
    assert f"test_debugging.py:{line_of(f, '# here')}:" in text


def test_debug_infs() -> None:
    f = lingon.jit(lambda x: 1 / x)
    with lingon.debug_infs(True), pytest.raises(FloatingPointError, match=r"\(inf\).* in div at"):
        f(jnp.zeros(2))
    with lingon.debug_nans(True):
        f(jnp.zeros(2))  # an infinity is no NaN
    f(jnp.zeros(2))


def test_debug_nans_in_gradients() -> None:
    with lingon.debug_nans(True):
        for wrap in (lambda f: f, lingon.jit):
            with pytest.raises(FloatingPointError, match="nan"):
                wrap(lingon.grad(lambda x: jnp.sqrt(x) * 0.0))(0.0)


def test_debug_nans_lets_good_programs_through() -> None:
    with lingon.debug_nans(True):
        f = lingon.jit(lambda x: jnp.where(x > 5, jnp.log(-x - 1), x), donate_argnums=0)
        x = jnp.arange(3.0)
        assert f(x).tolist() == [0, 1, 2]
        assert x.is_deleted()
        assert jnp.arange(3).sum() == 3


def test_nans_among_the_arguments() -> None:
    with lingon.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        lingon.jit(lambda x: (x, x + 1))(jnp.float32(float("nan")))
    with lingon.debug_nans(True), pytest.raises(FloatingPointError, match="among the arguments"):
        lingon.jit(lambda x: x)(jnp.float32(float("nan")))


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records]


def test_log_compiles(caplog: pytest.LogCaptureFixture) -> None:
    f = lingon.jit(lambda some_name: some_name + 1)
    f.__wrapped__.__name__ = "g"
    with lingon.log_compiles(), caplog.at_level(logging.WARNING):
        lingon.jit(straight)(jnp.ones(7))
        lingon.jit(straight)(jnp.ones(7))
    text = messages(caplog)
    assert any(re.match(r"Finished tracing straight for jit in [\d.]+ sec", t) for t in text)
    assert any("Compiling jit(straight) with global shapes and types (float32[7])" in t for t in text)  # fmt: skip
    assert any(re.match(r"Finished compilation of jit\(straight\) in", t) for t in text)
    caplog.clear()
    lingon.jit(straight)(jnp.ones(8))
    assert messages(caplog) == []


def misses(caplog: pytest.LogCaptureFixture, call: Callable) -> str:
    caplog.clear()
    with lingon.explain_cache_misses(True), caplog.at_level(logging.WARNING):
        call()
    return "\n".join(messages(caplog))


def test_explain_cache_misses(caplog: pytest.LogCaptureFixture) -> None:
    f = lingon.jit(lambda a, n, *, k=1: a["x"] * n, static_argnums=1, static_argnames="k")
    x = jnp.arange(3.0)
    first = misses(caplog, lambda: f({"x": x}, 2))
    assert "TRACING CACHE MISS" in first and "never seen function" in first
    assert "test_debugging.py" in first
    assert misses(caplog, lambda: f({"x": x}, 2)) == ""
    assert "argument 1, now 3 and before 2" in misses(caplog, lambda: f({"x": x}, 3))
    tree = misses(caplog, lambda: f({"x": x, "y": x}, 3))
    assert "different input pytree" in tree and "now with args[0]['y']" in tree
    assert "argument k, now 2 and before not given" in misses(caplog, lambda: f({"x": x}, 3, k=2))
    types = misses(caplog, lambda: f({"x": jnp.arange(4)}, 3, k=2))
    assert "at a['x'], now i32[4] and before f32[3]" in types
    weak = misses(caplog, lambda: f({"x": 1.0}, 3, k=2))
    assert "f32[]{weak_type=True}" in weak
    with lingon.numpy_dtype_promotion("strict"):
        options = misses(caplog, lambda: f({"x": x}, 3))
    assert "jax_numpy_dtype_promotion, now 'strict' and before 'standard'" in options


def test_functions_made_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    def call() -> None:
        for _ in range(2):
            lingon.jit(lambda x: x + 1)(1)

    assert "another function defined on the same line" in misses(caplog, call)


def dialogue(commands: str, f: Callable, *args: Any, wrap: Callable = lingon.jit) -> list[str]:
    """What the debugger answers to each command."""
    out = io.StringIO()
    kwargs = {"stdin": io.StringIO(commands + "\nc\n"), "stdout": out}
    wrap(lambda *a: f(*a, **kwargs))(*args)
    text = out.getvalue()
    assert text.startswith("Entering jdb:\n(jdb) ")
    return [t.strip("\n") for t in text.removeprefix("Entering jdb:\n(jdb) ").split("(jdb) ")]


def stopped(x: Any, **io_files: Any) -> Any:
    y = jnp.sin(x)
    tree = {"a": y * 2, "b": "text"}
    lingon.debug.breakpoint(**io_files)  # stop
    return tree["a"]


@pytest.mark.parametrize("wrap", [lingon.jit, lambda f: f], ids=["jit", "eager"])
def test_breakpoint(wrap: Callable) -> None:
    commands = "p y\np tree\npp tree['a'] + 1\ny.sum()\np [y for _ in range(1)]\nl\na\nbt\np nope\nx = 3\nhelp p"  # fmt: skip
    y, tree, pp, total, inside, source, args, where, name, syntax, about, _ = dialogue(
        commands, stopped, jnp.arange(3.0), wrap=wrap
    )
    assert y.startswith("Array([0.") and "dtype=float32" in y
    assert tree.startswith("{'a': Array(") and "'b': 'text'" in tree
    assert pp.startswith("Array([1.")
    assert total.startswith("Array(1.75")
    assert inside.startswith("[Array(")
    assert f"test_debugging.py({line_of(stopped, '# stop')})" in source
    assert "->      lingon.debug.breakpoint(**io_files)  # stop" in source
    assert "        y = jnp.sin(x)" in source
    assert args.startswith("x = Array([0., 1., 2.], dtype=float32)")
    assert where.startswith("Traceback:") and where.count("test_debugging.py") > 1
    assert name == "*** NameError: name 'nope' is not defined"
    assert syntax.startswith("*** SyntaxError")
    assert "Evaluates and prints the value" in about


def outer(x: Any, **io_files: Any) -> Any:
    factor = x + 1
    return stopped(factor, **io_files)


def test_frames() -> None:
    up, local, down, again, *_ = dialogue("u\np factor\nd\np y", outer, jnp.float32(1))
    assert "->      return stopped(factor, **io_files)" in up
    assert local == "Array(2., dtype=float32)"
    assert "# stop" in down
    assert again.startswith("Array(0.909")
    at_top, *_ = dialogue("u\nu", lambda x, **k: lingon.debug.breakpoint(num_frames=1, **k), 1)
    assert at_top.startswith("At topmost frame.")


def test_breakpoint_in_loops_and_branches() -> None:
    out = io.StringIO()

    def body(i: Any, c: Any) -> Any:
        def stop(c: Any) -> Any:
            lingon.debug.breakpoint(stdin=io.StringIO("p c\nc\n"), stdout=out)
            return c * 2

        return lax.cond(i == 1, stop, lambda c: c, c)

    assert int(lingon.jit(lambda x: lax.fori_loop(0, 3, body, x))(5)) == 10
    assert out.getvalue().count("Entering jdb") == 1
    assert "Array(5, dtype=int32)" in out.getvalue()


def test_quit_and_end_of_input_leave_the_program() -> None:
    for commands in ("q\n", "exit\n", ""):
        with pytest.raises(SystemExit):
            lingon.jit(
                lambda x, c=commands: lingon.debug.breakpoint(
                    stdin=io.StringIO(c), stdout=io.StringIO()
                )
            )(1)


def test_breakpoint_options() -> None:
    with pytest.raises(ValueError, match="unknown backend"):
        lingon.debug.breakpoint(backend="foo")
    with pytest.raises(TypeError, match="unexpected keyword"):
        lingon.debug.breakpoint(foo=1)


def test_terminal(tmp_path: Path) -> None:
    """A program that stops reads its commands from standard input."""
    script = tmp_path / "program.py"
    script.write_text(
        "import jax\nimport jax.numpy as jnp\n\n@jax.jit\ndef f(x):\n    y = x * 2\n"
        "    jax.debug.breakpoint()\n    return y\n\nprint('result', f(jnp.float32(4)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "lingon", str(script)],
        input="p y\nc\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Array(8., dtype=float32)" in done.stdout
    assert "result 8.0" in done.stdout


def test_names_of_equations() -> None:
    @lingon.named_call
    def inner(x: Any) -> Any:
        return jnp.sin(x)

    def f(x: Any) -> Any:
        with lingon.named_scope("first"):
            y = inner(x)
            with lingon.named_scope("second"):
                return jnp.cos(y)

    text = lingon.make_jaxpr(f)(1.0).pretty_print(name_stack=True)
    names = [e.source_info.name_stack for e in lingon.make_jaxpr(f)(1.0).eqns]
    assert names == [("first", "inner"), ("first", "second")]
    assert "first/inner" in text and "first/second" in text
    with pytest.raises(TypeError):
        lingon.named_scope(3)


def test_import_as_jax(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import jax.experimental.checkify as checkify\n"
        "from jax.experimental import io_callback\n"
        "from jax.experimental import checkify as again\n"
        "import jax\n"
        "assert checkify is again and checkify is jax.experimental.checkify\n"
        "assert jax.debug.print and jax.pure_callback and io_callback\n"
        "print(checkify.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "lingon", str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "lingon.experimental.checkify\n", done.stderr


def test_names_in_the_locations_of_mlir() -> None:
    from lingon.lowering.emit import emit_module
    from lingon.lowering.locations import strip_locations
    from lingon.lowering.program import compile_jaxpr

    def f(x: Any) -> Any:
        with lingon.named_scope('a "quoted" name'), lingon.named_scope("second"):
            return jnp.cos(x)

    closed = lingon.make_jaxpr(f)(1.0)
    text = emit_module(closed).text
    assert re.search(
        r'= loc\("a \\"quoted\\" name/second"\(".*test_debugging.py":\d+:\d+\)\)', text
    )
    assert "quoted" not in strip_locations(text)
    lines = compile_jaxpr(closed, name="f", options={"compilation_cache": False})
    assert "math.cos" in lines.stage_text("linalg")
