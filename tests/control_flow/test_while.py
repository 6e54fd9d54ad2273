"""while_loop and fori_loop under every transformation, beside jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import OURS, assert_leaf, fails, same
from scan_programs import floats, line, scalar
from while_programs import PROGRAMS, X, Y

import lingon
from lingon.frontend.core.interpreter import eval_closed

NAMES = sorted(PROGRAMS)
all_programs = pytest.mark.parametrize("name", NAMES)
counts = pytest.mark.parametrize("n", [0, 1, 4])


@counts
@all_programs
def test_values(name: str, n: int) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(make(m))(n, *args))
    if n != 1:
        same(lambda m: make(m)(n, *map(m.jnp.asarray, args)))


@pytest.mark.parametrize("n", [0, 3])
@all_programs
def test_interpreter(name: str, n: int) -> None:
    """What the jaxpr means by the primitives' references is what the compiled program does."""
    make, args = PROGRAMS[name]
    closed = lingon.make_jaxpr(make(OURS))(n, *args)
    with lingon.disable_jit():
        interpreted = eval_closed(closed, n, *args)
    compiled = lingon.tree_util.tree_leaves(lingon.jit(make(OURS))(n, *args))
    for a, b in zip(interpreted, compiled, strict=True):
        assert_leaf(np.asarray(a), np.asarray(b), name, 1e-5, False)


@all_programs
def test_without_jit(name: str) -> None:
    """Under disable_jit the loop is Python's, and so is its derivative in reverse."""
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        with m.jax.disable_jit():
            f = make(m)
            return f(3, *args), m.jax.jvp(lambda *a: floats(m, f(3, *a)), args, args)

    same(program, tol=1e-4, weak=False)


@counts
@all_programs
def test_jvp(name: str, n: int) -> None:
    make, args = PROGRAMS[name]
    tangents = tuple(np.cos(a) for a in args)

    def program(m: Any) -> Any:
        g = lambda a, t: m.jax.jvp(lambda *b: floats(m, make(m)(n, *b)), a, t)
        return (g if n == 4 else m.jax.jit(g))(args, tangents)

    same(program, tol=1e-4)


@all_programs
def test_linearize(name: str) -> None:
    """The known carries are computed once, and the tangents afterwards."""
    make, args = PROGRAMS[name]
    tangents = tuple(np.cos(a) for a in args)

    def program(m: Any) -> Any:
        out, push = m.jax.linearize(lambda *a: floats(m, make(m)(4, *a)), *args)
        return out, push(*tangents), m.jax.jit(push)(*args)

    same(program, tol=1e-4)


@all_programs
def test_jacfwd(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(m.jax.jacfwd(lambda *a: floats(m, make(m)(3, *a))))(*args), tol=1e-4)


@pytest.mark.parametrize("name", ["count", "closure", "until", "nested", "branching"])
def test_second_derivatives(name: str) -> None:
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        f = scalar(m, lambda *a: make(m)(3, *a))
        return m.jax.jit(m.jax.jacfwd(m.jax.jacfwd(f)))(*args)

    same(program, tol=2e-3)


AXES: list[Any] = [(None, 0, None), (None, -1, 0)]
COUNT_AXES: list[Any] = [(0, 0, 0), (0, None, None), (0, 1, None)]


def spread(x: Any, axis: int | None) -> Any:
    if axis is None:
        return x
    if np.ndim(x) == 0:
        return np.asarray([x, 0, x + 2], np.int32)
    return np.stack([x, 0.5 * x, -x], axis=axis)


@pytest.mark.parametrize("axes", [*AXES, *COUNT_AXES], ids=str)
@all_programs
def test_vmap(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    ins = [spread(a, d) for a, d in zip((2, *args), axes, strict=True)]

    def program(m: Any) -> Any:
        return m.jax.jit(m.jax.vmap(make(m), in_axes=axes))(*ins)

    same(program, tol=1e-4)


@pytest.mark.parametrize("axes", [(None, 0, None), (0, None, 0)], ids=str)
@pytest.mark.parametrize("name", ["count", "weak", "nested", "fori"])
def test_vmap_without_jit(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    ins = [spread(a, d) for a, d in zip((2, *args), axes, strict=True)]
    same(
        lambda m: m.jax.vmap(make(m), in_axes=axes)(*map(m.jnp.asarray, ins)),
        tol=1e-4,
    )


@pytest.mark.parametrize("axes", [(None, 0, 0), (0, 0, None)], ids=str)
@all_programs
def test_vmap_of_jvp(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    ins = [spread(a, d) for a, d in zip((2, *args), axes, strict=True)]

    def program(m: Any) -> Any:
        def g(n: Any, *a: Any) -> Any:
            return m.jax.jvp(lambda *b: floats(m, make(m)(n, *b)), a, a)

        return m.jax.jit(m.jax.vmap(g, in_axes=axes))(*ins)

    same(program, tol=1e-4)


@pytest.mark.parametrize("axes", [(None, 0, 0), (0, 0, None)], ids=str)
@all_programs
def test_jvp_of_vmap(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    n, *ins = [spread(a, d) for a, d in zip((2, *args), axes, strict=True)]

    def program(m: Any) -> Any:
        f = lambda *a: floats(m, m.jax.vmap(make(m), in_axes=axes)(n, *a))
        return m.jax.jit(lambda *a: m.jax.jvp(f, a, a))(*ins)

    same(program, tol=1e-4)


VV = [((None, 0, None), (0, None, None)), ((0, None, None), (None, 0, None))]


@pytest.mark.parametrize("axes", [*VV, ((0, 0, None), (0, None, 0))], ids=str)
@pytest.mark.parametrize("name", ["count", "until", "nested", "fori", "branching"])
def test_nested_vmap(name: str, axes: Any) -> None:
    """One axis batches the predicate, the other one does not, and both do."""
    make, args = PROGRAMS[name]
    n: Any = np.asarray([[1, 3], [0, 2]], np.int32)
    n = n if axes[0][0] == axes[1][0] == 0 else n[0]
    ins = [
        np.stack([a, 0.5 * a]) if any(d[k + 1] == 0 for d in axes) else a
        for k, a in enumerate(args)
    ]

    def program(m: Any) -> Any:
        f = m.jax.vmap(m.jax.vmap(make(m), in_axes=axes[0]), in_axes=axes[1])
        return m.jax.jit(f)(n, *ins)

    same(program, tol=1e-4)


def test_lanes_stop_by_themselves() -> None:
    """A lane that has stopped stays as it is, even where going on would make it infinite."""

    def program(m: Any) -> Any:
        def f(n: Any, x: Any) -> Any:
            return m.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, 1 / c[1]), (0, x))

        n = np.asarray([0, 1, 4], np.int32)
        x = np.asarray([0.0, 2.0, 4.0], np.float32)
        g = lambda x: m.jax.jvp(lambda x: m.jax.vmap(f)(n, x)[1], (x,), (x,))
        return m.jax.vmap(f)(n, x), m.jax.jit(m.jax.vmap(f))(n, x), g(x + 1)

    same(program)


def test_collective_in_a_body() -> None:
    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            body = lambda c: (c[0] + 1, c[1] * 0.5 + m.lax.psum(c[1], "i"))
            return m.lax.while_loop(lambda c: c[0] < 3, body, (0, x))

        return m.jax.vmap(f, axis_name="i")(X)

    same(program)


# --- reverse mode --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in NAMES if n != "swap"])
def test_reverse_mode_is_refused(name: str) -> None:
    make, args = PROGRAMS[name]
    fails(
        lambda m: m.jax.jit(
            lambda n, *a: m.jax.grad(scalar(m, lambda *b: make(m)(n, *b)), (0, 1))(*a)
        )(2, *args),
        "Reverse-mode differentiation does not work for lax.while_loop",
        "bounded_while_loop",
    )


def test_reverse_mode_around_a_loop() -> None:
    """A loop on which the differentiated values do not depend is no obstacle."""

    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            n = m.lax.while_loop(lambda c: c < 10, lambda c: c * 2, 3)
            stopped = m.lax.stop_gradient(x)
            y = m.lax.while_loop(lambda c: m.jnp.sum(c) < 9, lambda c: c + 1, stopped)
            return m.jnp.sum(x * n * y)

        return m.jax.grad(f)(X), m.jax.jit(m.jax.grad(f))(X)

    same(program)


@pytest.mark.parametrize("unroll", [None, 1, 2, True])
@pytest.mark.parametrize("limits", [(0, 5), (2, 4), (3, 3), (4, 1), (-2, 2)])
def test_static_limits(limits: tuple[int, int], unroll: Any) -> None:
    """With limits that are known the loop is a scan, which reverse mode goes through."""

    def program(m: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            body = lambda i, v: m.jnp.sin(v) * (i + 1.5) + y
            return m.lax.fori_loop(*limits, body, x, unroll=unroll)

        g = lambda x, y: m.jnp.sum(f(x, y) ** 2)
        return f(X, Y), m.jax.jit(m.jax.grad(g, (0, 1)))(X, Y), m.jax.jit(m.jax.hessian(g))(X, Y)

    same(program, tol=2e-3)


@pytest.mark.parametrize(
    "limits",
    [
        (np.int8(0), np.int8(3)),
        (np.int8(0), 3),
        (np.int32(1), np.int32(3)),
        (0.0, 3.0),
        (False, True),
    ],
)
def test_types_of_limits(limits: Any) -> None:
    def program(m: Any) -> Any:
        return m.lax.fori_loop(*limits, lambda i, v: v + i, 0.0)

    same(program)


@pytest.mark.parametrize(
    "limits", [(np.int8(0), 3), (0, np.int8(3)), (np.uint8(1), np.uint8(4)), (0.0, 2.5)]
)
def test_types_of_traced_limits(limits: Any) -> None:
    def program(m: Any) -> Any:
        f = lambda a, b: m.lax.fori_loop(a, b, lambda i, v: (v[0] + i, i), (0.0, a))
        return m.jax.jit(f)(*limits)

    same(program)


# --- dtypes, weak types, forms -------------------------------------------------------------


def test_weak_types() -> None:
    """Weakly typed carries take the types that the body gives them."""

    def program(m: Any) -> Any:
        x = m.jnp.float32(1)
        go = lambda c: c[0] < 3
        return [
            m.lax.while_loop(go, lambda c: (c[0] + 1, c[1] + x, c[2] + c[1]), (0, 1.0, 2.0)),
            m.lax.while_loop(go, lambda c: (c[0] + 1, c[1] + x), (0, 1)),
            m.lax.while_loop(go, lambda c: (c[0] + 1, 1.0), (0, x)),
            m.lax.while_loop(go, lambda c: (c[0] + 1, c[2], c[1]), (0, x, 1.0)),
            m.lax.while_loop(go, lambda c: (c[0] + 1, c[2], c[1]), (0, x, 1)),
            m.lax.while_loop(go, lambda c: (c[0] + 1, c[2], c[1]), (0, 1, x)),
            m.lax.while_loop(go, lambda c: (c[0] + m.jnp.int8(1), 1.0), (0, x)),
            m.lax.while_loop(lambda s: s < 3, lambda s: s + 1.5, 1),
        ]

    same(program)


def test_weak_types_that_follow_one_another() -> None:
    """One promotion makes another one necessary; jax asks for the second one to be written."""
    f = lambda: lingon.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 1.5, c[1]), (0, 1, 2)
    )
    assert [float(v) for v in f()] == [3, 5.5, 4.0]
    assert [v.dtype.name for v in f()] == ["int32", "float32", "float32"]


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "bool", "float16", "bfloat16", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    def program(m: Any) -> Any:
        x = m.jnp.asarray([0, 1, 1], dtype)
        body = lambda c: (c[0] + 1, m.jnp.roll(c[1], 1) * (c[1] if dtype != "bool" else True))
        f = lambda n, x: m.lax.while_loop(lambda c: c[0] < n, body, (0, x))
        n = np.asarray([0, 2], np.int32)
        both = m.jnp.stack([x, x[::-1]])
        return f(2, x), m.jax.jit(f)(3, x), m.jax.vmap(f)(n, both)

    same(program)


def test_keys() -> None:
    def program(m: Any) -> Any:
        def body(c: Any) -> Any:
            i, k, v = c
            k, sub = m.random.split(k)
            return i + 1, k, v + m.random.normal(sub, (2,))

        def f(n: Any, seed: Any) -> Any:
            k = m.random.key(seed)
            _, k, v = m.lax.while_loop(lambda c: c[0] < n, body, (0, k, m.jnp.zeros(2)))
            return m.random.key_data(k), v

        n = np.asarray([1, 3], np.int32)
        return f(3, 0), m.jax.jit(f)(2, 1), m.jax.vmap(f, in_axes=(0, None))(n, 5)

    same(program)


def test_no_elements_and_no_leaves() -> None:
    e = np.zeros((0, 3), np.float32)

    def program(m: Any) -> Any:
        f = lambda x: m.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))
        return f(e), m.jax.jit(f)(e), m.lax.while_loop(lambda c: False, lambda c: c, ())

    same(program)


def test_predicate_that_is_constant() -> None:
    same(lambda m: m.lax.while_loop(lambda c: False, lambda c: c + 1, 0))
    same(lambda m: m.lax.while_loop(lambda c: np.bool_(False), lambda c: c + 1, X))


def test_double_precision() -> None:
    def program(m: Any) -> Any:
        with m.jax.enable_x64(True):
            f = lambda x: m.lax.while_loop(
                lambda c: c[0] < 3, lambda c: (c[0] + 1, m.jnp.sin(c[1])), (0, x)
            )
            return f(0.5), m.jax.jvp(lambda x: f(x)[1], (0.5,), (1.0,))

    same(program, tol=1e-13)


def test_unused_carries_are_dropped() -> None:
    """Neither a carry that nothing reads, nor what only it needs, is left in compiled programs."""
    lnp = lingon.numpy

    def f(x: Any, y: Any) -> Any:
        body = lambda c: (c[0] + 1, lnp.sin(c[1]), lnp.cos(c[2]) * y)
        return lingon.lax.while_loop(lambda c: c[0] < 5, body, (0, x, x))[1]

    text = lingon.jit(f).lower(X, Y).as_text("linalg")
    assert "math.sin" in text and "math.cos" not in text
    np.testing.assert_allclose(lingon.jit(f)(X, Y), f(X, Y), rtol=1e-6)


def test_newton() -> None:
    """A root, and its derivative with respect to what is closed over."""

    def program(m: Any) -> Any:
        def root(a: Any) -> Any:
            go = lambda x: m.jnp.abs(x * x - a) > 1e-5 * a
            return m.lax.while_loop(go, lambda x: 0.5 * (x + a / x), a)

        a = line(4, low=1.0, high=9.0)
        return m.jax.vmap(root)(a), m.jax.jvp(m.jax.vmap(root), (a,), (a,))

    same(program, tol=1e-4)


def test_many_carries() -> None:
    def program(m: Any) -> Any:
        def f(xs: Any) -> Any:
            body = lambda c: (c[0] + 1, [a * 0.9 + b for a, b in zip(c[1], c[1][1:] + c[1][:1])])
            return m.lax.while_loop(lambda c: c[0] < 4, body, (0, xs))

        return m.jax.jit(f)([m.jnp.float32(k) for k in range(60)])

    same(program)


# --- how often it is traced and compiled ---------------------------------------------------


def test_traced_once() -> None:
    count = {"body": 0, "cond": 0}

    def go(c: Any) -> Any:
        count["cond"] += 1
        return c[0] < 3

    def body(c: Any) -> Any:
        count["body"] += 1
        return c[0] + 1, c[1] * 2

    for x in (X, Y, X):
        lingon.lax.while_loop(go, body, (0, x))
    assert count == {"body": 1, "cond": 1}
    f = lingon.jit(lambda x: lingon.lax.while_loop(go, body, (0, x)))
    f(X)
    lingon.jvp(f, (X,), (Y,))
    lingon.vmap(f)(np.stack([X, Y]))
    assert count == {"body": 1, "cond": 1}
    f(1.0)
    assert count == {"body": 2, "cond": 2}


def test_body_of_fori_loop_is_traced_once() -> None:
    count = [0]

    def body(i: Any, v: Any) -> Any:
        count[0] += 1
        return v + i

    for n in (3, 3, 4, 5):
        lingon.lax.fori_loop(0, n, body, 0.0)
    assert count == [1]
    f = lingon.jit(lambda n: lingon.lax.fori_loop(0, n, body, 0.0))
    assert [float(f(n)) for n in (2, 3)] == [1.0, 3.0]
    assert count[0] <= 2


def test_compiled_once(caplog: pytest.LogCaptureFixture) -> None:
    """Eager calls with functions made anew in every call share one program."""
    x = np.linspace(0.1, 0.7, 13, dtype=np.float32)
    with lingon.log_compiles(), caplog.at_level("WARNING", logger="lingon"):
        for k in range(4):
            y = lingon.lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (k, x))
            assert float(y[1][0]) == pytest.approx(0.1 * 2 ** (5 - k))
    compiled = [r for r in caplog.records if "Compiling jit(while)" in r.getMessage()]
    assert len(compiled) == 1, [r.getMessage() for r in compiled]
