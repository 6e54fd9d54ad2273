"""debug.print and debug.callback print, and are ordered, as in jax."""

from __future__ import annotations

import functools
import gc
import logging
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lingon
import lingon.lax as lax
import lingon.numpy as jnp


def arange(m: Any, n: int = 3) -> Any:
    return m.jnp.arange(n, dtype=np.float32)


def formats(m: Any) -> None:
    show = functools.partial(m.jax.debug.print, ordered=True)

    def f(x: Any) -> None:
        show("{} {a}", x, a=x[0])
        show("{:.2f} {x:>8} {z!r} {w[0]} {y.shape}", x[0], x=1, z=x, w=[x, x], y=x)
        show("{0} {0} {1}", x[0], x)
        show("no fields")
        show("{} {} {a}", x, "static", a=[None, "t", x])
        show("{} {}", x > 0, x.astype(np.int8))
        show("{} {} {} {}", x + 1j, True, 2.5, 7)
        show("{}", x.astype(m.jnp.bfloat16))
        show("{}", m.jnp.zeros((0, 3)))
        show("{}", m.jnp.arange(10000).reshape(100, 100))

    f(arange(m))
    m.jax.jit(f)(arange(m))


def print_options(m: Any) -> None:
    with np.printoptions(precision=2, suppress=True):
        m.jax.jit(lambda x: m.jax.debug.print("{}", x))(m.jnp.asarray([1.23456, 1e-5]))


def keys(m: Any) -> None:
    m.jax.jit(lambda k: m.jax.debug.print("{}", k))(m.random.key(3))


def in_order(m: Any) -> None:
    def f(x: Any) -> Any:
        for i in range(5):
            m.jax.debug.print("{} {}", i, x[i % 3], ordered=True)
            x = m.jnp.sin(x)
        return x

    for _ in range(3):
        m.jax.jit(f)(arange(m))


def vmapped(m: Any) -> None:
    x = arange(m)
    m.jax.vmap(lambda x: m.jax.debug.print("e {}", x, ordered=True))(x)
    m.jax.jit(m.jax.vmap(lambda x, y: m.jax.debug.print("j {} {}", x, y), (0, None)))(x, 2.0)
    m.jax.jit(m.jax.vmap(lambda: m.jax.debug.print("once"), axis_size=3))()
    m.jax.jit(m.jax.vmap(lambda x: m.jax.debug.print("k {}", x, ordered=True), in_axes=1))(
        m.jnp.arange(6).reshape(2, 3)
    )


def in_loops(m: Any) -> None:
    def body(c: Any, a: Any) -> Any:
        m.jax.debug.print("scan {} {}", c, a, ordered=True)
        c = m.lax.cond(
            a > 0,
            lambda c: (m.jax.debug.print("yes {}", c, ordered=True), c + 1)[1],
            lambda c: (m.jax.debug.print("no", ordered=True), c)[1],
            c,
        )
        return c, m.lax.while_loop(
            lambda i: i < 2, lambda i: (m.jax.debug.print("w {}", i, ordered=True), i + 1)[1], 0
        )

    def f(x: Any) -> Any:
        m.jax.debug.print("first", ordered=True)
        out = m.lax.scan(body, 0.0, x)
        m.jax.debug.print("last", ordered=True)
        m.lax.fori_loop(0, 2, lambda i, c: (m.jax.debug.print("f {}", i, ordered=True), c)[1], 0)
        m.lax.switch(2, [lambda i=i: m.jax.debug.print("s {}", i, ordered=True) for i in range(4)])
        return out

    m.jax.jit(f)(arange(m))
    f(arange(m))


def differentiated(m: Any) -> None:
    def f(x: Any) -> Any:
        m.jax.debug.print("x {}", x, ordered=True)
        y = m.jnp.sin(x)
        m.jax.debug.print("y {:.4f}", y, ordered=True)
        return y * y

    m.jax.grad(f)(1.0)
    m.jax.jit(m.jax.grad(f))(1.0)
    m.jax.jvp(f, (1.0,), (1.0,))
    m.jax.jit(m.jax.value_and_grad(lambda x: m.lax.scan(lambda c, a: (f(c) * a, a), x, x * arange(m))[0]))(2.0)  # fmt: skip


def not_removed(m: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2  # read by nothing else
        m.jax.debug.print("{}", y, ordered=True)
        m.jax.jit(lambda z: (m.jax.debug.print("inner {}", z, ordered=True), z)[1])(x)
        return 1

    m.jax.jit(f)(2.0)


PROGRAMS = [
    formats, print_options, keys, in_order, vmapped, in_loops, differentiated, not_removed
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_output(program: Callable[[Any], None], both: Any) -> None:
    """What is printed, and in which order, is jax's."""
    mine, theirs = both(program)
    assert mine == theirs


def test_braces(capsys: pytest.CaptureFixture) -> None:
    """Doubled braces are braces wherever they are."""
    lingon.debug.print("{{}} {} }}", 1)
    assert capsys.readouterr().out == "{} 1 }\n"


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p("{} {}", 1),
        lambda p: p("{}", 1, 2),
        lambda p: p("{a}", b=2),
        lambda p: p("{a}", a=1, b=2),
        lambda p: p("{x", 1),
        lambda p: p("hello", 1),
        lambda p: p(3, 1),
    ],
)
def test_errors_of_print(call: Callable) -> None:
    """Wrong calls raise jax's type of error at the call, with its words."""
    errors = []
    for library in (lingon, jax):
        with pytest.raises(Exception) as info:
            call(library.debug.print)
        errors.append(info.value)
    mine, theirs = errors
    assert type(mine) is type(theirs)
    assert str(mine)[:40] == str(theirs)[:40]


def test_format_of_a_value_is_checked_when_it_runs() -> None:
    f = lingon.jit(lambda x: lingon.debug.print("{:d}", x))
    with pytest.raises(lingon.errors.JaxRuntimeError, match="ValueError"):
        f(1.5)


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    """debug.log writes records with the user's line."""
    with caplog.at_level(logging.INFO):
        lingon.jit(lambda x: lingon.debug.log("value {}", x))(3)
    (record,) = [r for r in caplog.records if "value" in r.getMessage()]
    assert record.getMessage() == "value 3"
    assert record.filename == "test_print.py"
    assert record.levelno == logging.INFO


def normalized(jaxpr: Any) -> str:
    text = re.sub(r"0x[0-9a-fX]+", "0x", str(jaxpr))
    text = re.sub(r"callback=.*", "callback", text)
    return re.sub(r"<LogRecord.*>", "", text)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.jax.debug.print("x {} {y}", x, y=x + 1),
        lambda m, x: m.jax.debug.print("x {} {y}", x, y=[x, "s"], ordered=True),
        lambda m, x: m.jax.debug.callback(print, x, k=x),
        lambda m, x: m.jax.debug.callback(print, x, ordered=True),
        lambda m, x: m.jax.vmap(lambda x: m.jax.debug.print("{}", x))(x),
    ],
)
def test_jaxprs(f: Callable, ours: Any, theirs: Any) -> None:
    x = np.arange(3.0, dtype=np.float32)
    mine = lingon.make_jaxpr(lambda x: f(ours, x))(x)
    due = jax.make_jaxpr(lambda x: f(theirs, x))(x)
    assert normalized(mine) == normalized(due)
    printed = due.pretty_print(print_effects=True)
    assert normalized(mine.pretty_print(print_effects=True)) == normalized(printed)


def test_callback_gets_arrays_that_it_may_keep() -> None:
    kept: list[Any] = []

    @lingon.jit
    def f(x: Any) -> Any:
        lingon.debug.callback(kept.append, x * 2)
        return lax.fori_loop(
            0, 3, lambda i, x: (lingon.debug.callback(kept.append, x), x + 1)[1], x
        )

    f(jnp.arange(3))
    f(jnp.arange(3) + 10)
    values = [k.tolist() for k in kept]
    assert values == [
        [0, 2, 4], [0, 1, 2], [1, 2, 3], [2, 3, 4],
        [20, 22, 24], [10, 11, 12], [11, 12, 13], [12, 13, 14],
    ]  # fmt: skip
    assert all(isinstance(k, lingon.Array) for k in kept)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(kept[0])[0] = 1


def test_arguments_of_callback() -> None:
    seen: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> None:
        seen.append((args, kwargs))

    def f(x: Any) -> None:
        lingon.debug.callback(note, x, 3, [x, "s"], a=x, b="b", c=None)

    for call in (f, lingon.jit(f)):
        call(jnp.arange(2))
        (x, three, (y, s)), kw = seen.pop()
        assert [x.tolist(), int(three), y.tolist(), s] == [[0, 1], 3, [0, 1], "s"]
        assert kw["a"].tolist() == [0, 1] and kw["b"] == "b" and kw["c"] is None


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int4", "uint4", "int8", "uint16", "int32", "float16", "bfloat16", "float32",
     "complex64", "float8_e4m3fn", "float8_e5m2"],
)  # fmt: skip
def test_dtypes_and_shapes(dtype: str) -> None:
    seen: list[Any] = []
    for shape in [(), (3,), (2, 0), (2, 3)]:
        x = jnp.ones(shape, dtype)
        lingon.jit(lambda x: lingon.debug.callback(seen.append, x))(x)
        got = seen.pop()
        assert (got.shape, got.dtype) == (shape, x.dtype)
        assert np.asarray(got).tobytes() == np.asarray(x).tobytes()


def test_not_callable() -> None:
    with pytest.raises(TypeError, match="must be callable"):
        lingon.debug.callback(3, 1)


def test_errors_of_callbacks() -> None:
    """Eagerly the user's exception; out of programs a JaxRuntimeError that it caused."""

    def bad(x: Any) -> None:
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        lingon.debug.callback(bad, 1)
    f = lingon.jit(lambda x: (lingon.debug.callback(bad, x), x)[1])
    for _ in range(3):  # the fast path as well
        with pytest.raises(lingon.errors.JaxRuntimeError, match="boom") as info:
            f(1)
        assert isinstance(info.value.__cause__, ValueError)
    assert "test_print.py" in str(info.value)


def test_exits_pass_through() -> None:
    for error in (KeyboardInterrupt, SystemExit):

        def leave(x: Any, error: type = error) -> None:
            raise error

        with pytest.raises(error):
            lingon.jit(lambda x, f=leave: lingon.debug.callback(f, x))(1)


def test_threads() -> None:
    """Programs with callbacks run on several threads at once, and call themselves."""
    counts = {}
    inner = lingon.jit(lambda x: (x * x).sum())

    @lingon.jit
    def f(i: Any, x: Any) -> Any:
        def note(i: Any, x: Any) -> None:
            counts.setdefault(int(i), []).append(float(inner(x)))

        lingon.debug.callback(note, i, x)
        return jnp.sin(x).sum()

    def work(i: int) -> None:
        for _ in range(50):
            f(i, jnp.full(100, i, np.float32))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert counts == {i: [100.0 * i * i] * 50 for i in range(4)}


def test_programs_die_with_their_functions() -> None:
    """10,000 calls leave nothing behind, and neither do programs in cycles with their callbacks."""
    f = lingon.jit(lambda x: (lingon.debug.callback(lambda x: None, x), x + 1)[1])
    x = jnp.arange(64)
    f(x)
    gc.collect()
    live = lingon.runtime.pool_stats()["live_blocks"]
    for _ in range(10_000):
        f(x)
    gc.collect()
    assert lingon.runtime.pool_stats()["live_blocks"] <= live + 2

    class Owner:
        def __init__(self) -> None:
            self.f = lingon.jit(lambda x: (lingon.debug.callback(self.note, x), x)[1])

        def note(self, x: Any) -> None:
            self.x = x

    owner = Owner()
    owner.f(1)
    owner.f(2)
    assert int(owner.x) == 2
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_the_code_knows_no_addresses(tmp_path: Any) -> None:
    """Object code from the on-disk cache calls the functions of the program that loads it."""
    seen: list[str] = []

    def program(name: str) -> Any:
        return lingon.jit(lambda x: (lingon.debug.callback(lambda x: seen.append(name), x), x)[1])

    lingon.config.update("jax_compilation_cache_dir", str(tmp_path / "cache"))
    try:
        program("a")(1)
        files = list((tmp_path / "cache").iterdir())
        program("b")(1)
        assert seen == ["a", "b"]
        assert list((tmp_path / "cache").iterdir()) == files
    finally:
        lingon.config.update("jax_compilation_cache_dir", None)


def test_disable_jit_is_ordinary_python(capsys: pytest.CaptureFixture) -> None:
    @lingon.jit
    def f(x: Any) -> Any:
        print("python", float(x))
        lingon.debug.print("debug {}", x)
        return lax.cond(x > 0, lambda x: (print("branch"), x)[1], lambda x: x, x)

    with lingon.disable_jit():
        f(1.0)
        f(2.0)
    out = capsys.readouterr().out
    assert out.startswith("python 1.0\ndebug 1.0\nbranch\n")
    assert "python 2.0\ndebug 2.0\nbranch\n" in out
