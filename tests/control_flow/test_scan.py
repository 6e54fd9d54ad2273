"""scan and map under every transformation, beside jax."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from both import OURS, assert_leaf, same
from scan_programs import PROGRAMS, XS, C, W, floats, line, scalar

import lingon

NAMES = sorted(PROGRAMS)
all_programs = pytest.mark.parametrize("name", NAMES)


@all_programs
def test_values(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: make(m)(*args))


@all_programs
@pytest.mark.sampled(6)
def test_compiled(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(make(m))(*args))


@all_programs
def test_interpreter(name: str) -> None:
    """What the jaxpr means by the primitives' references is what the compiled program does."""
    make, args = PROGRAMS[name]
    closed = lingon.make_jaxpr(make(OURS))(*args)
    from lingon.frontend.core.interpreter import eval_closed

    with lingon.disable_jit():
        interpreted = eval_closed(closed, *args)
    compiled = lingon.tree_util.tree_leaves(make(OURS)(*args))
    for a, b in zip(interpreted, compiled, strict=True):
        assert_leaf(np.asarray(a), np.asarray(b), name, 1e-5, False)


@all_programs
@pytest.mark.sampled(4)
def test_without_jit(name: str) -> None:
    """Under disable_jit the loop is Python's."""
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        with m.jax.disable_jit():
            return make(m)(*args)

    same(program, weak=False)


@all_programs
@pytest.mark.sampled(4)
def test_gradient_without_jit(name: str) -> None:
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        with m.jax.disable_jit():
            return m.jax.grad(scalar(m, make(m)), argnums=(0, 1))(*args)

    same(program, tol=1e-4)


def test_collective_over_vmapped_axis() -> None:
    """A named axis is seen from within the body, also where nothing is batched yet."""

    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            def body(c: Any, _: Any) -> Any:
                return c + m.lax.axis_index("i"), m.lax.psum(c + x, "i")

            return m.lax.scan(body, 0, None, length=3), m.lax.scan(
                lambda c, _: (c * 0.5 + m.lax.psum(x, "i"), None), 0.0, None, length=2
            )

        return m.jax.vmap(f, axis_name="i")(line(4))

    same(program)


@pytest.mark.parametrize("length", [0, 1, 2])
@pytest.mark.parametrize("unroll", [1, 3, True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.sampled(7)
def test_short(length: int, unroll: Any, reverse: bool) -> None:
    xs = line(length, 3) if length else np.zeros((0, 3), np.float32)

    def program(m: Any) -> Any:
        def f(c: Any, xs: Any) -> Any:
            body = lambda c, x: (c * x, (c, m.jnp.arange(3)))
            return m.lax.scan(body, c, xs, unroll=unroll, reverse=reverse)

        g = lambda c, xs: m.jnp.sum(f(c, xs)[0] + m.jnp.sum(f(c, xs)[1][0]))
        return f(C, xs), m.jax.jit(f)(C, xs), m.jax.grad(g, argnums=(0, 1))(C, xs)

    same(program)


@pytest.mark.parametrize("unroll", [1, 2, 3, 7, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.sampled(5)
def test_unroll(unroll: Any, reverse: bool) -> None:
    """Whatever the number of steps at a time, the results are the same."""

    def program(m: Any) -> Any:
        def f(c: Any, xs: Any) -> Any:
            body = lambda c, x: (m.jnp.sin(c) + x, c * x)
            return m.lax.scan(body, c, xs, unroll=unroll, reverse=reverse)

        g = lambda c, xs: m.jnp.sum(f(c, xs)[0] * f(c, xs)[1])
        return m.jax.jit(f)(C, XS), m.jax.jit(m.jax.grad(g, argnums=(0, 1)))(C, XS)

    same(program)


def test_no_inputs() -> None:
    """xs may be None, an empty container, or have leaves that are not used."""
    same(lambda m: m.lax.scan(lambda c, x: (c + 1, x), 0, None, length=4))
    same(lambda m: m.lax.scan(lambda c, x: (c + 1, c), 0, (), length=4))
    same(lambda m: m.lax.scan(lambda c, x: (c + 1, c), 0, {}, length=np.int64(4)))
    same(lambda m: m.lax.scan(lambda c, x: (c + 1, c), 0, {"a": XS, "b": None}))


def test_no_carry_and_no_outputs() -> None:
    same(lambda m: m.lax.scan(lambda c, x: (c, x), (), XS))
    same(lambda m: m.lax.scan(lambda c, x: ((), None), (), XS))
    same(lambda m: m.lax.scan(lambda c, x: (c, None), 3, XS))
    same(lambda m: m.lax.scan(lambda c, x: [c, x], 0, XS))


# --- dtypes --------------------------------------------------------------------------------

DTYPES = ["int8", "uint8", "int32", "uint32", "bool", "float16", "bfloat16", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled(5)
def test_dtypes(dtype: str) -> None:
    """Carries, inputs and outputs of every kind."""

    def program(m: Any) -> Any:
        xs = m.jnp.asarray(np.arange(8).reshape(4, 2) % 3, dtype)
        body = lambda c, x: (c * x if dtype != "bool" else c ^ x, (c, x + x))
        f = lambda c, xs: m.lax.scan(body, c, xs)
        return f(xs[1], xs), m.jax.jit(f)(xs[1], xs), m.jax.vmap(f)(xs[:2], xs[:2, :, None])

    same(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_derivatives_of_dtypes(dtype: str) -> None:
    def program(m: Any) -> Any:
        xs = m.jnp.asarray(line(4, 2, low=0.5), dtype)
        f = lambda c, xs: m.lax.scan(lambda c, x: (c * x, (c, x * x)), c, xs)
        out, pull = m.jax.vjp(f, xs[0], xs)
        return m.jax.jvp(f, (xs[0], xs), (xs[1], xs)), pull(out)

    same(program)


def test_double_precision() -> None:
    def program(m: Any) -> Any:
        with m.jax.enable_x64(True):
            xs = m.jnp.linspace(0.0, 1.0, 6)
            f = lambda c, xs: m.lax.scan(lambda c, x: (m.jnp.sin(c) + x, c), c, xs)[0]
            return m.jax.grad(f, argnums=(0, 1))(m.jnp.float64(0.5), xs)

    same(program, tol=1e-13)


def test_key_carry() -> None:
    """Typed keys are carried, scanned and stacked."""

    def program(m: Any) -> Any:
        def body(key: Any, _: Any) -> Any:
            key, sub = m.random.split(key)
            return key, (sub, m.random.normal(sub, (2,)))

        f = lambda k: m.lax.scan(body, k, None, length=3)
        key, (subs, xs) = f(m.random.key(3))
        _, (more, ys) = m.jax.jit(f)(key)
        _, zs = m.lax.scan(lambda c, k: (c, m.random.uniform(k)), 0, subs)
        data = m.random.key_data
        return data(key), data(subs), xs, data(more), ys, zs

    same(program)


def test_gradient_through_random_numbers() -> None:
    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            def body(carry: Any, _: Any) -> Any:
                key, c = carry
                key, sub = m.random.split(key)
                return (key, c * m.random.normal(sub)), None

            return m.lax.scan(body, (m.random.key(0), x), None, length=4)[0][1]

        return m.jax.value_and_grad(f)(1.5), m.jax.vmap(m.jax.grad(f))(line(3))

    same(program)


# --- weak types ----------------------------------------------------------------------------


def test_weak_carries() -> None:
    """Weakly typed carries take the type that the loop gives them, also through one another."""
    same(lambda m: m.lax.scan(lambda c, x: (c + x, c), 0, XS[:, 0]))
    same(lambda m: m.lax.scan(lambda c, x: (c + 1, c), 0, XS[:, 0]))
    same(lambda m: m.lax.scan(lambda c, x: (c + 1.5, c), 0, XS[:, 0]))
    same(lambda m: m.lax.scan(lambda c, x: (c + x, c), 0.0, XS[:, 0].astype(np.float16)))
    same(lambda m: m.lax.scan(lambda c, x: (m.jnp.int8(3), c), 0, XS[:, 0]))
    same(lambda m: m.lax.scan(lambda c, x: (1.0, c), m.jnp.float32(2), XS[:, 0]))
    same(lambda m: m.lax.scan(lambda c, x: (c * 1j, c), 1.0, None, length=3))


def test_weak_carries_that_depend_on_each_other() -> None:
    """One carry takes the type of the other (where jax raises)."""
    (a, b), _ = lingon.lax.scan(lambda c, x: ((c[1], c[0] + x), None), (0, 1), XS[:, 0])
    assert a.dtype == b.dtype == np.float32
    same(lambda m: m.lax.scan(lambda c, x: ((c[1], c[0] + x), None), (0.0, 1.0), XS[:, 0]))


def test_python_scalars_as_outputs() -> None:
    same(lambda m: m.lax.scan(lambda c, x: (c, (1, 2.0, True, 3j)), 0, XS))


# --- loops in other things -----------------------------------------------------------------


def test_scan_in_cond_in_vmap() -> None:
    def program(m: Any) -> Any:
        def f(p: Any, x: Any) -> Any:
            loop = lambda v: m.lax.scan(lambda c, y: (m.jnp.sin(c) * y, c), v, XS)[0]
            return m.lax.cond(p > 0, loop, lambda v: 2.0 * v, x)

        p, x = line(4), line(4, 3)
        total = lambda p, x: m.jnp.sum(m.jax.vmap(f)(p, x))
        return m.jax.vmap(f)(p, x), m.jax.jit(m.jax.grad(total, argnums=1))(p, x)

    same(program)


def test_cond_in_scan() -> None:
    def program(m: Any) -> Any:
        def f(c: Any, xs: Any) -> Any:
            def body(c: Any, x: Any) -> Any:
                c = m.lax.cond(x[0] > 0, lambda: m.jnp.sin(c) * x, lambda: c + x)
                return c, c[1]

            return m.lax.scan(body, c, xs)

        total = lambda c, xs: m.jnp.sum(f(c, xs)[0] ** 2) + m.jnp.sum(f(c, xs)[1])
        out = f(C, XS), m.jax.grad(total, argnums=(0, 1))(C, XS)
        return out, m.jax.vmap(m.jax.grad(total))(np.stack([C, -C]), np.stack([XS, -XS]))

    same(program)


def test_while_in_scan() -> None:
    def program(m: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            n = m.lax.while_loop(lambda s: s[0] < x, lambda s: (s[0] * 2 + 1, s[1] + 1), (c, 0))[1]
            return n, n

        xs = np.array([3, 100, 0, 7], np.int32)
        return m.lax.scan(body, 0, xs), m.jax.vmap(lambda v: m.lax.scan(body, v, xs))(xs)

    same(program)


def test_linear_transpose() -> None:
    """Transposition on its own, with carries that are not linear and a start that is known."""

    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            def body(carry: Any, y: Any) -> Any:
                i, c = carry
                return (i + 1, c * m.jnp.sin(i * 1.0) + y * (i + 2)), c

            (_, c), ys = m.lax.scan(body, (0, m.jnp.zeros(3)), x)
            return c, ys

        return m.jax.linear_transpose(f, XS)((C, 2 * XS))

    same(program)


def test_linearize() -> None:
    def program(m: Any) -> Any:
        make, args = PROGRAMS["counter"]
        out, lin = m.jax.linearize(lambda *a: floats(m, make(m)(*a)), *args)
        return out, lin(*args), lin(*[2 * a for a in args])

    same(program)


def test_checkpoint() -> None:
    """A rematerialised body, and a rematerialised loop."""

    def program(m: Any) -> Any:
        def f(w: Any, xs: Any) -> Any:
            body = lambda c, x: (m.jnp.sin(c @ w) + x, m.jnp.tanh(c))
            one = m.lax.scan(m.jax.checkpoint(body), m.jnp.ones(3), xs)
            two = m.jax.checkpoint(lambda v: m.lax.scan(body, m.jnp.ones(3), v))(xs)
            return one, two

        return m.jax.jit(m.jax.grad(scalar(m, f), argnums=(0, 1)))(W, XS)

    same(program)


def test_updates_of_an_array() -> None:
    """A carried array that the body indexes and updates."""

    def program(m: Any) -> Any:
        def f(x: Any, v: Any) -> Any:
            def body(x: Any, iv: Any) -> Any:
                i, u = iv
                x = x.at[i].set(u * x[i - 1])
                return x, x[2]

            return m.lax.scan(body, x, (m.jnp.arange(1, 5), v))

        x, v = line(5, low=1, high=2), line(4, low=0.5)
        total = lambda x, v: m.jnp.sum(f(x, v)[0] ** 2) + m.jnp.sum(f(x, v)[1])
        return f(x, v), m.jax.jit(f)(x, v), m.jax.jit(m.jax.grad(total, argnums=(0, 1)))(x, v)

    same(program)


def test_large_scan() -> None:
    def program(m: Any) -> Any:
        xs = line(1000, 4)
        f = lambda c, xs: m.lax.scan(lambda c, x: (0.9 * c + x, m.jnp.max(c)), c, xs)
        g = lambda c, xs: m.jnp.sum(f(c, xs)[1])
        return m.jax.jit(f)(xs[0], xs), m.jax.jit(m.jax.grad(g, argnums=1))(xs[0], xs)

    same(program, tol=1e-4)


def test_split_transpose_is_accepted() -> None:
    def program(m: Any) -> Any:
        f = lambda w: m.jnp.sum(
            m.lax.scan(lambda c, x: (m.jnp.sin(c @ w) + x, None), C, XS, _split_transpose=True)[0]
        )
        return m.jax.grad(f)(W)

    same(program)


def test_operands_may_be_numpy_arrays_and_scalars() -> None:
    """Results that are passed on are what was given: the carry itself, inputs as arrays."""
    carry, ys = lingon.lax.scan(lambda c, x: (c, x), 3, XS)
    expected, zs = jax.lax.scan(lambda c, x: (c, x), 3, XS)
    assert carry == expected == 3
    assert isinstance(ys, lingon.Array) and isinstance(zs, jax.Array)
    source = XS.copy()
    _, ys = lingon.lax.scan(lambda c, x: (c, x), 3, source)
    source[:] = 7
    np.testing.assert_array_equal(np.asarray(ys), XS)


# --- effects -------------------------------------------------------------------------------


def printed(m: Any, capsys: pytest.CaptureFixture, f: Any, *args: Any) -> list[str]:
    out = m.jax.tree_util.tree_map(np.asarray, f(*args))
    m.jax.effects_barrier()
    assert out is not None
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("transform", ["plain", "jit", "grad", "vmap"])
def test_printing_in_the_body(transform: str, capsys: pytest.CaptureFixture) -> None:
    """Effects happen once in every step, also where nobody reads a result, and never before the
    loop though what is printed does not change."""

    def lines(m: Any) -> list[str]:
        def body(c: Any, x: Any) -> Any:
            m.jax.debug.print("{} {}", x, 7, ordered=transform != "vmap")
            return c * x, None

        f = lambda c: m.lax.scan(body, c, np.arange(1.0, 4.0, dtype=np.float32))[0]
        wrap = {"plain": lambda g: g, "jit": m.jax.jit, "grad": m.jax.grad, "vmap": m.jax.vmap}
        return printed(m, capsys, wrap[transform](f), line(2) if transform == "vmap" else 2.0)

    from both import JAX

    assert sorted(lines(OURS)) == sorted(lines(JAX))
    assert len(lines(OURS)) in (3, 6)


def test_dead_scan_with_effects_is_kept(capsys: pytest.CaptureFixture) -> None:
    def program(x: Any) -> Any:
        def body(c: Any, y: Any) -> Any:
            lingon.debug.print("step {}", y, ordered=True)
            return c, None

        lingon.lax.scan(body, x, np.arange(3))
        return x * 2

    assert printed(OURS, capsys, lingon.jit(program), 1.0) == ["step 0", "step 1", "step 2"]


@pytest.mark.parametrize(
    "transform", [lambda m: m.jax.jit, lambda m: lambda f: m.jax.jit(m.jax.grad(f))]
)
def test_many_kernels_on_slices(transform: Any) -> None:
    """Operands of more kernel calls than stay in place are parts of buffers."""

    def program(m: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            for i in range(9):
                c = c + m.jnp.tanh(x @ w) @ (w.T * (i + 1)) + m.jnp.sort(x, axis=0)[::-1] * 0.1
            return c, x @ w

        def f(x: Any) -> Any:
            c, ys = m.lax.scan(body, m.jnp.zeros((16, 5)), x)
            return m.jnp.sum(c**2) + m.jnp.sum(ys)

        w = np.linspace(-0.5, 0.5, 80, dtype=np.float32).reshape(5, 16)
        return transform(m)(f)(np.sin(np.arange(240, dtype=np.float32)).reshape(3, 16, 5))

    same(program, 1e-4)
