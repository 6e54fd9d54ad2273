"""pure_callback and io_callback: values, vmap methods, orders, errors, jaxprs, against jax."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lingon
import lingon.lax as lax
import lingon.numpy as jnp
from lingon.experimental import io_callback

F = lingon.ShapeDtypeStruct((), np.float32)
METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


def spec(*shape: int, dtype: Any = np.float32) -> Any:
    return lingon.ShapeDtypeStruct(shape, dtype)


def test_values() -> None:
    def f(x: Any, y: Any) -> Any:
        def host(x: Any, y: Any, *, z: Any) -> Any:
            return {"a": np.asarray(x) + np.asarray(y["b"]), "n": np.asarray(z).sum()}

        out = lingon.pure_callback(host, {"a": spec(3), "n": F}, x, {"b": y}, z=x * y)
        return out["a"] * 2, out["n"]

    x, y = jnp.arange(3.0), jnp.ones(3)
    for call in (f, lingon.jit(f)):
        for _ in range(2):
            a, n = call(x, y)
            np.testing.assert_array_equal(a, [2, 4, 6])
            assert n == 3


def test_inside_of_loops_conditionals_and_calls() -> None:
    def host(i: Any, x: Any) -> Any:
        return np.asarray(x) + np.asarray(i)

    @lingon.jit
    def f(x: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            x = lingon.pure_callback(host, spec(4), i, x)
            x = lax.cond(
                i % 2 == 0, lambda x: lingon.pure_callback(host, spec(4), 10, x), jnp.sin, x
            )
            return lingon.jit(lambda x: lingon.pure_callback(host, spec(4), 100, x))(x)

        return lax.fori_loop(0, 3, body, x)

    x = np.arange(4, dtype=np.float32)
    due = x
    for i in range(3):
        due = due + i
        due = due + 10 if i % 2 == 0 else np.sin(due)
        due = due + 100
    np.testing.assert_allclose(f(x), due, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int4", "int8", "uint32", "bfloat16", "float32", "complex64"])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
def test_results_of_all_dtypes(dtype: str, shape: tuple[int, ...]) -> None:
    x = jnp.ones(shape, dtype)

    @lingon.jit
    def f(x: Any) -> Any:
        y = lingon.pure_callback(lambda x: x, spec(*shape, dtype=x.dtype), x)
        z = io_callback(lambda: np.zeros((2, 2), np.int32), spec(2, 2, dtype=np.int32))
        return y, z

    y, z = f(x)
    assert (y.shape, y.dtype, z.shape) == (shape, x.dtype, (2, 2))
    assert np.asarray(y).tobytes() == np.asarray(x).tobytes()


def test_several_results_and_none() -> None:
    seen: list[Any] = []

    @lingon.jit
    def f(x: Any) -> Any:
        a, (b, c) = lingon.pure_callback(
            lambda x: (np.float32(1), [np.zeros((0, 3), np.int32), np.asarray(x)]),
            (F, [spec(0, 3, dtype=np.int32), spec(2)]),
            x,
        )
        io_callback(lambda: seen.append(1), None)
        return a, b, c

    a, b, c = f(jnp.arange(2.0))
    assert (float(a), b.shape, c.tolist(), seen) == (1.0, (0, 3), [0.0, 1.0], [1])


def test_pure_callbacks_may_be_removed_others_not() -> None:
    calls: list[str] = []

    @lingon.jit
    def f(x: Any) -> Any:
        lingon.pure_callback(lambda x: (calls.append("pure"), x)[1], F, x)
        io_callback(lambda x: (calls.append("io"), x)[1], F, x)
        return x

    f(1.0)
    assert calls == ["io"]


@pytest.mark.parametrize("method", METHODS)
def test_vmap_methods(method: str) -> None:
    """Values, and the shapes that the callback sees, are jax's."""

    def run(m: Any) -> Any:
        shapes: list[Any] = []

        def host(x: Any, y: Any) -> Any:
            shapes.append((np.shape(x), np.shape(y)))
            return np.asarray(x) + np.asarray(y).reshape(np.shape(y) + (1,) * (np.ndim(x) - np.ndim(y)))  # fmt: skip

        def f(x: Any, y: Any) -> Any:
            return m.pure_callback(
                host, m.ShapeDtypeStruct(x.shape, x.dtype), x, y, vmap_method=method
            )

        x = m.numpy.arange(6.0).reshape(2, 3)
        out = [
            m.vmap(f, (0, None))(x, 1.0),
            m.jit(m.vmap(f))(x, m.numpy.arange(2.0)),
            m.jit(m.vmap(f, (1, 0), 1))(x, m.numpy.arange(3.0)),
        ]
        return [np.asarray(o).tolist() for o in out], shapes

    assert run(lingon) == run(jax)


def test_vmap_needs_a_method() -> None:
    f = lambda x: lingon.pure_callback(lambda x: x, F, x)
    with pytest.raises(NotImplementedError, match="vmap_method=None"):
        lingon.vmap(f)(jnp.ones(3))
    with pytest.raises(ValueError, match="but got: foo"):
        lingon.pure_callback(lambda x: x, F, 1.0, vmap_method="foo")


def test_vmap_of_io_callback() -> None:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return x

    f = lingon.vmap(lambda x: io_callback(note, F, x))
    lingon.jit(f)(jnp.arange(3.0))
    f(jnp.arange(2.0))
    assert seen == [0, 1, 2, 0, 1]
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        lingon.vmap(lambda x: io_callback(note, F, x, ordered=True))(jnp.ones(2))


def test_order_of_io_callbacks() -> None:
    """State in Python is read and written in the program's order, through loops as well."""
    state = {"x": 0}

    def read() -> Any:
        return np.int32(state["x"])

    def write(x: Any) -> None:
        state["x"] = int(x)

    @lingon.jit
    def f(n: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            x = io_callback(read, spec(dtype=np.int32), ordered=True)
            io_callback(write, None, x + i, ordered=True)
            return total + x

        return lax.fori_loop(0, n, body, 0)

    assert int(f(5)) == sum(sum(range(i)) for i in range(5))
    assert state["x"] == 10


def test_derivatives() -> None:
    with pytest.raises(ValueError, match="do not support JVP"):
        lingon.grad(lambda x: lingon.pure_callback(np.sin, F, x))(1.0)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        lingon.grad(lambda x: io_callback(np.sin, F, x))(1.0)

    @lingon.custom_jvp
    def sin(x: Any) -> Any:
        return lingon.pure_callback(np.sin, F, x)

    sin.defjvp(lambda primals, tangents: (sin(*primals), jnp.cos(primals[0]) * tangents[0]))
    assert abs(float(lingon.jit(lingon.grad(sin))(1.0)) - np.cos(1.0)) < 1e-6


def boom(*args: Any) -> Any:
    raise ValueError("boom")


BAD = {
    "raises": boom,
    "shape": lambda x: np.zeros(4, np.float32),
    "dtype": lambda x: np.zeros(3, np.int32),
    "number": lambda x: (x, x),
    "none": lambda x: None,
    "no array": lambda x: object(),
    "not callable": 3,
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name: str) -> None:
    """What the callback does wrong comes out of the call with its cause, as often as it is called;
    the program is not left in a bad state."""
    bad: Any = BAD[name]

    def f(m: Any, x: Any) -> Any:
        y = m.jax.numpy.sin(x)
        return m.jax.pure_callback(bad, m.jax.ShapeDtypeStruct((3,), np.float32), y) * 2

    class M:
        jax = lingon

    class J:
        jax = jax

    with pytest.raises(jax.errors.JaxRuntimeError):
        jax.jit(lambda x: f(J, x))(np.ones(3, np.float32))
    g = lingon.jit(lambda x: f(M, x))
    live = None
    for _ in range(20):
        with pytest.raises(lingon.errors.JaxRuntimeError, match="pure_callback") as info:
            g(jnp.ones(3))
        assert info.value.__cause__ is not None
        del info
        now = lingon.runtime.pool_stats()["live_blocks"]
        live = now if live is None else live
        assert now <= live + 1
    with pytest.raises(lingon.errors.JaxRuntimeError):
        f(M, jnp.ones(3))


def test_64_bits_are_made_32() -> None:
    f = lingon.jit(lambda x: lingon.pure_callback(lambda x: np.zeros(3), spec(3), x))
    assert f(1.0).dtype == np.float32
    with pytest.raises(ValueError, match="64-bit"):
        lingon.pure_callback(lambda x: x, spec(dtype=np.float64), 1.0)
    with lingon.enable_x64(True):
        out = lingon.pure_callback(lambda x: np.zeros(3), spec(3, dtype=np.float64), 1.0)
        assert out.dtype == np.float64


def test_bad_specs_and_arguments() -> None:
    with pytest.raises(AttributeError):
        lingon.pure_callback(lambda x: x, 3, 1.0)
    with pytest.raises(TypeError, match="position 1"):
        lingon.pure_callback(lambda x, y: x, F, 1.0, "s")


def test_an_error_in_a_loop_leaves_it() -> None:
    calls: list[int] = []

    def host(i: Any, x: Any) -> Any:
        calls.append(int(i))
        if int(i) == 3:
            raise RuntimeError("stop")
        return x

    @lingon.jit
    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            big = jnp.outer(c, c)  # memory of the loop
            return lingon.pure_callback(host, spec(100), i, big[0] + c)

        return lax.fori_loop(0, 10, body, x)

    for _ in range(3):
        calls.clear()
        with pytest.raises(lingon.errors.JaxRuntimeError, match="stop"):
            f(jnp.ones(100))
        assert calls == [0, 1, 2, 3]


def normalized(jaxpr: Any) -> str:
    return re.sub(r"0x[0-9a-fX]+", "0x", str(jaxpr))


@pytest.mark.parametrize("case", ["pure", "method", "io", "ordered", "seq", "dims", "all", "vio"])
def test_jaxprs(case: str) -> None:
    def program(m: Any, io: Any) -> Callable:
        s = m.ShapeDtypeStruct((), np.float32)
        add = np.add
        return {
            "pure": lambda x: m.pure_callback(add, s, x, 1.0),
            "method": lambda x: m.pure_callback(add, s, x, 1.0, vmap_method="expand_dims"),
            "io": lambda x: io(add, s, x, 1.0),
            "ordered": lambda x: io(add, s, x, 1.0, ordered=True),
            "seq": lambda x: m.vmap(
                lambda a: m.pure_callback(add, s, a, x, vmap_method="sequential")
            )(m.numpy.ones(3)),
            "dims": lambda x: m.vmap(
                lambda a: m.pure_callback(add, s, a, x, vmap_method="expand_dims")
            )(m.numpy.ones(3)),
            "all": lambda x: m.vmap(
                lambda a: m.pure_callback(add, s, a, x, vmap_method="broadcast_all")
            )(m.numpy.ones(3)),
            "vio": lambda x: m.vmap(lambda a: io(add, s, a, x))(m.numpy.ones(3)),
        }[case]

    mine = lingon.make_jaxpr(program(lingon, io_callback))(1.0)
    theirs = jax.make_jaxpr(program(jax, jax.experimental.io_callback))(1.0)
    assert normalized(mine) == normalized(theirs)
    effects = [j.pretty_print(print_effects=True) for j in (mine, theirs)]
    assert normalized(effects[0]) == normalized(effects[1])
