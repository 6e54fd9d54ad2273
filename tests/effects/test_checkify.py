"""checkify: messages, values and error types are those of jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.lax as lax
import lingon.numpy as jnp
from lingon.experimental import checkify as ck

x3 = np.arange(3, dtype=np.float32)


def f32(x: float) -> Any:
    return np.float32(x)


def user(m: Any, x: Any) -> Any:
    m.checkify.check(x[0] > 1, "first bad: {} {y}", x[0], y=x)
    return m.jnp.sin(x)


def scanned(m: Any, x: Any) -> Any:
    def body(s: Any, a: Any) -> Any:
        m.checkify.check(a < 1, "scan {a} {s}", a=a, s=s)
        return s + a, s

    return m.lax.scan(body, 0.0, x)


def looped(m: Any, x: Any) -> Any:
    def body(s: Any) -> Any:
        m.checkify.check(s < 2, "while {s}", s=s)
        return s + 1

    return m.lax.while_loop(lambda s: s < 4, body, x)


def in_predicate(m: Any, x: Any) -> Any:
    def cond(s: Any) -> Any:
        m.checkify.check(s < 2, "predicate {s}", s=s)
        return s < 4

    return m.lax.while_loop(cond, lambda s: s + 1, x)


def branched(m: Any, x: Any) -> Any:
    def one(x: Any) -> Any:
        m.checkify.check(x < 0, "one {}", x)
        return x

    def two(x: Any) -> Any:
        m.checkify.check(x > 3, "two")
        return x * 2

    return m.lax.cond(x > 0, one, two, x)


def nested(m: Any, x: Any) -> Any:
    def body(c: Any, a: Any) -> Any:
        def yes(a: Any) -> Any:
            m.checkify.check(c < 1, "c {}", c)
            return a * 2

        y = m.lax.cond(a > 1, yes, lambda a: a, a)
        return c + y, m.jax.jit(lambda v: m.jnp.log(v - 2))(a)

    return m.lax.scan(body, 0.0, x)


def batched_check(m: Any, x: Any) -> Any:
    def f(x: Any) -> Any:
        m.checkify.check(x < 1, "V {}", x)
        return x

    return m.jax.vmap(f)(x)


def differentiated(m: Any, x: Any) -> Any:
    def f(x: Any) -> Any:
        m.checkify.check(x < 0, "G {}", x)
        return x * x

    return m.jax.grad(f)(x)


def two_kinds(m: Any, x: Any) -> Any:
    m.checkify.check(x > 0, "first")
    y = m.jnp.log(x - 10)
    m.checkify.check(x < 0, "second {}", x)
    return y


USER = [
    (user, x3), (user, x3 + 5), (scanned, x3), (scanned, x3[:1]), (looped, f32(0)),
    (looped, f32(3.5)), (in_predicate, f32(0)), (in_predicate, f32(-9)), (branched, f32(1)),
    (branched, f32(-1)), (nested, x3), (nested, x3 + 1), (batched_check, x3),
    (batched_check, x3 - 5), (differentiated, f32(1)), (differentiated, f32(-1)),
]  # fmt: skip


def same_error(program: Callable, x: Any, ours: Any, theirs: Any, errors: str, *more: Any) -> None:
    def run(m: Any, wrap: Any) -> tuple[Any, list[Any]]:
        f = wrap(
            m, m.checkify.checkify(lambda *a: program(m, *a), errors=getattr(m.checkify, errors))
        )
        err, out = f(*map(m.jnp.asarray, (x, *more)))
        return err.get(), [np.asarray(o) for o in m.jax.tree.leaves(out)]

    due, values = run(theirs, lambda m, f: f)
    for wrap in (lambda m, f: f, lambda m, f: m.jax.jit(f)):
        got, mine = run(ours, wrap)
        assert got == due
        for a, b in zip(mine, values, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize(("program", "x"), USER)
def test_user_checks(program: Callable, x: Any, ours: Any, theirs: Any) -> None:
    same_error(program, x, ours, theirs, "user_checks")


@pytest.mark.parametrize(("program", "x"), USER)
def test_checks_that_are_not_enabled(program: Callable, x: Any, ours: Any, theirs: Any) -> None:
    same_error(program, x, ours, theirs, "div_checks")


NAN: list[Callable] = [
    lambda m, x: m.jnp.log(x - 1),
    lambda m, x: m.jnp.sqrt(x - 1).sum(),
    lambda m, x: (x - x) / (x - x),
    lambda m, x: m.jax.jit(lambda x: m.jnp.arcsin(x * 9))(x),
    lambda m, x: x @ (x * m.jnp.nan),
    lambda m, x: m.jnp.cumsum(x * m.jnp.inf),
    lambda m, x: m.jnp.where(x > 0, x, 0.0) ** -0.5,
    lambda m, x: m.jax.nn.softplus(x) * m.jnp.nan,
    lambda m, x: m.jax.vmap(m.jnp.log)(-x),
    lambda m, x: m.jax.grad(lambda x: m.jnp.sqrt(x).sum() * 0.0)(x),
    lambda m, x: m.lax.scan(lambda c, a: (m.jnp.log(c), a), x[1] * 0.5, x),
    lambda m, x: m.lax.while_loop(lambda s: s > -1, lambda s: m.jnp.log(s), x[2]),
    lambda m, x: m.lax.cond(x[0] > 0, lambda x: x, lambda x: m.jnp.log(x - 5), x),
    lambda m, x: -x + abs(x),
]


@pytest.mark.parametrize("program", NAN)
@pytest.mark.parametrize("errors", ["nan_checks", "float_checks"])
def test_nan_and_division_checks(program: Callable, errors: str, ours: Any, theirs: Any) -> None:
    same_error(program, x3, ours, theirs, errors)


DIVISION: list[Callable] = [
    lambda m, x: 1 / x,
    lambda m, x: x / 2,
    lambda m, x: x.astype(np.int32) // x.astype(np.int32),
    lambda m, x: (x + 0j) / (x + 0j),
    lambda m, x: m.lax.rem(x, x),
]


@pytest.mark.parametrize("program", DIVISION)
def test_division_checks(program: Callable, ours: Any, theirs: Any) -> None:
    same_error(program, x3, ours, theirs, "div_checks")


INDEX: list[Callable] = [
    lambda m, x, i: x[i],
    lambda m, x, i: x.at[i].set(1.0),
    lambda m, x, i: x.at[i].add(1.0),
    lambda m, x, i: x.at[i].max(1.0),
    lambda m, x, i: m.jnp.take(x, i, axis=0),
    lambda m, x, i: x[:, i],
    lambda m, x, i: x[i, i],
    lambda m, x, i: m.lax.dynamic_slice(x, (m.jnp.max(i), 0), (2, 2)),
    lambda m, x, i: m.lax.dynamic_update_slice(x, x[:1, :1], (0, m.jnp.max(i))),
    lambda m, x, i: m.jax.vmap(lambda j: x[0, j])(i.reshape(-1)),
]


@pytest.mark.parametrize("program", INDEX)
@pytest.mark.parametrize("index", [[0, 1], [1, 7], [-9, 2], 2, 5])
def test_index_checks(program: Callable, index: Any, ours: Any, theirs: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    same_error(program, x, ours, theirs, "index_checks", np.array(index, np.int32))


def test_small_unsigned_indices(ours: Any, theirs: Any) -> None:
    x = np.arange(300, dtype=np.float32)
    same_error(lambda m, x, i: x[i], x, ours, theirs, "index_checks", np.array([3, 255], np.uint8))


def test_all_checks(ours: Any, theirs: Any) -> None:
    same_error(user, x3, ours, theirs, "all_checks")
    same_error(lambda m, x: m.jnp.log(x - 5), x3, ours, theirs, "all_checks")
    # what fails first while the program runs
    err, _ = ck.checkify(lambda x: two_kinds(ours, x), errors=ck.all_checks)(jnp.float32(1))
    assert err.get() == "nan generated by primitive: log."
    err, _ = ck.checkify(lambda x: two_kinds(ours, x), errors=ck.all_checks)(jnp.float32(-1))
    assert err.get() == "first (`check` failed)"


def test_the_first_failure_wins() -> None:
    """Of two checks in a loop the one that failed first is reported, not the first in the text."""

    def body(c: Any, a: Any) -> Any:
        ck.check(a < 3, "late {}", a)
        ck.check(a < 1, "early {}", a)
        return c, a

    err, _ = ck.checkify(lambda x: lax.scan(body, 0, x))(jnp.arange(5))
    assert err.get() == "early 1 (`check` failed)"


def test_mapped_errors(ours: Any, theirs: Any) -> None:
    def run(m: Any) -> list[Any]:
        one = m.checkify.checkify(lambda x: (m.checkify.check(x < 1, "V {}", x), x)[1])
        nan = m.checkify.checkify(m.jnp.log, errors=m.checkify.nan_checks)
        x = m.jnp.arange(4.0)
        return [
            m.jax.vmap(one)(x)[0].get(),
            m.jax.jit(m.jax.vmap(m.jax.vmap(one)))(x.reshape(2, 2))[0].get(),
            m.jax.vmap(nan)(x - 1)[0].get(),
            m.jax.vmap(one)(x - 5)[0].get(),
        ]

    assert run(ours) == run(theirs)
    loop = lingon.vmap(ck.checkify(lambda x: looped(ours, x)))
    assert loop(jnp.array([-9.0, 3.0, 1.0, 5.0]))[0].get() == (
        "at mapped index 0: while 2.0 (`check` failed)\n"
        "at mapped index 1: while 3.0 (`check` failed)\n"
        "at mapped index 2: while 2.0 (`check` failed)"
    )


def test_mapped_while_loops_inside() -> None:
    with pytest.raises(ValueError, match="batched while-loops"):
        ck.checkify(lingon.vmap(lambda x: looped(OURS, x)))(jnp.zeros(3))


class OURS:
    jax, jnp, lax, checkify = lingon, jnp, lax, ck


def test_eager_checks() -> None:
    ck.check(True, "fine")
    ck.check(jnp.array(True), "fine {}", jnp.ones(2))
    with pytest.raises(ck.JaxRuntimeError, match=r"bad 0.0") as info:
        ck.check(jnp.array(False), "bad {}", jnp.float32(0))
    assert isinstance(info.value, ValueError)
    assert "test_checkify.py" in str(info.value)
    with pytest.raises(ck.JaxRuntimeError, match=r"d 1\.0"):
        lingon.vmap(lambda x: ck.check(x > 1, "d {}", x))(jnp.arange(3.0))


def test_throw_says_where() -> None:
    err, _ = lingon.jit(ck.checkify(lambda x: jnp.log(x), errors=ck.nan_checks))(-1.0)
    with pytest.raises(ck.JaxRuntimeError, match="nan generated by primitive: log") as info:
        err.throw()
    assert "test_checkify.py" in str(info.value)
    assert isinstance(info.value.__cause__, ck.NaNError)
    assert isinstance(err.get_exception(), ck.NaNError)
    ok, _ = ck.checkify(jnp.sin)(1.0)
    ok.throw()
    assert ok.get() is None and ok.get_exception() is None and ck.init_error.get() is None


def test_not_functionalised() -> None:
    f = lambda x: (ck.check(x > 0, "no"), x)[1]
    with pytest.raises(ValueError, match="not functionalized"):
        lingon.jit(f)(1.0)
    lingon.make_jaxpr(f)(1.0)
    with pytest.raises(ValueError, match="not functionalized"):
        lingon.jit(lambda x: lax.scan(lambda c, a: (f(c), a), x, jnp.ones(2)))(1.0)


def test_debug_checks_are_left_out() -> None:
    f = lambda x: (ck.debug_check(x > 1, "d"), x * 2)[1]
    assert float(f(jnp.float32(0))) == 0 and float(lingon.jit(f)(0.0)) == 0
    assert ck.checkify(f)(0.0)[0].get() == "d (`check` failed)"


def test_check_error(ours: Any, theirs: Any) -> None:
    err, _ = lingon.jit(ck.checkify(lambda x: user(ours, x)))(jnp.asarray(x3))
    with pytest.raises(ck.JaxRuntimeError, match="first bad"):
        ck.check_error(err)
    again, _ = ck.checkify(lambda e: ck.check_error(e))(err)
    assert again.get() == err.get()
    with pytest.raises(ValueError, match="not functionalized"):
        lingon.jit(ck.check_error)(err)
    ck.check_error(ck.init_error)
    with pytest.raises(TypeError, match="takes an Error"):
        ck.check_error(3)
    mapped, _ = lingon.vmap(ck.checkify(lambda x: two_kinds(ours, x)))(jnp.array([-1.0, 11.0]))
    with pytest.raises(ck.JaxRuntimeError):
        ck.check_error(mapped)


def test_errors_are_pytrees() -> None:
    err, _ = ck.checkify(lambda x: ck.check(x > 0, "neg {}", x))(jnp.float32(-1))
    leaves, tree = lingon.tree.flatten(err)
    assert lingon.tree.unflatten(tree, leaves).get() == err.get()
    assert lingon.jit(lambda e: e)(err).get() == err.get()


def test_custom_rules_are_kept() -> None:
    @lingon.custom_jvp
    def a(x: Any) -> Any:
        return jnp.log(x)

    a.defjvp(lambda p, t: (a(p[0]), 5 * t[0]))

    @lingon.custom_vjp
    def b(x: Any) -> Any:
        return jnp.log(x)

    b.defvjp(lambda x: (b(x), x), lambda r, g: (g * 7,))
    for f, slope in ((a, 5.0), (b, 7.0)):
        checked = ck.checkify(f, errors=ck.nan_checks)
        for g in (checked, lingon.jit(checked)):
            assert g(-1.0)[0].get() == "nan generated by primitive: log."
            assert float(lingon.grad(lambda x, g=g: g(x)[1])(3.0)) == slope
        err, d = ck.checkify(lingon.grad(f), errors=ck.nan_checks)(-1.0)
        assert err.get() == "nan generated by primitive: log." and float(d) == slope


def test_checkpoint() -> None:
    r = lingon.checkpoint(lambda x: (ck.check(x < 0, "r {}", x), jnp.sin(jnp.sin(x)))[1])
    for f in (r, lingon.grad(r), lingon.jit(lingon.grad(r))):
        assert ck.checkify(f)(1.0)[0].get() == "r 1.0 (`check` failed)"
        assert ck.checkify(f)(-1.0)[0].get() is None


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="scalar pred"):
        ck.check(jnp.ones(2) > 0, "x")
    with pytest.raises(TypeError, match="scalar pred"):
        ck.check(1, "x")
    with pytest.raises(TypeError, match="PyTrees of arrays"):
        ck.check(True, "{}", "s")
    with pytest.raises(TypeError, match="not iterable"):
        ck.checkify(lambda x: x, errors=5)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        ck.checkify(lambda x: "s")(1.0)


def test_nothing_is_added_where_nothing_can_fail() -> None:
    f = lingon.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x))
    plain = lingon.make_jaxpr(f)(1)
    checked = lingon.make_jaxpr(ck.checkify(f))(1)
    assert str(plain) == str(checked)


# --- custom solves -------------------------------------------------------------------------

MATRIX = np.array([[2, 1], [1, 4]], np.float32)
INVERSE = np.array([[4, -1], [-1, 2]], np.float32) / 7


def solved(matrix: Any, b: Any) -> Any:
    def solve(matvec: Any, b: Any) -> Any:
        ck.check(jnp.all(b < 5), "b is {b}", b=jnp.max(b))
        return INVERSE @ b / jnp.sign(b[0])

    return lax.custom_linear_solve(lambda x: matrix @ x, b, solve, solve, symmetric=True)


@pytest.mark.parametrize("how", ["eager", "jit", "inner jit", "vmap", "grad"])
def test_custom_linear_solve(how: str) -> None:
    """Checks of the solver are reported; jax reports none of them, or cannot run them."""

    def run(b: list[float], errors: frozenset) -> str | None:
        rhs = np.asarray(b, np.float32)
        f = solved
        if how == "inner jit":
            f = lingon.jit(solved)
        elif how == "grad":
            f = lingon.grad(lambda a, b: jnp.sum(solved(a, b)))
        elif how == "vmap":
            f, rhs = lingon.vmap(solved, (None, 0)), np.stack([np.ones_like(rhs), rhs])
        checked = ck.checkify(f, errors)
        error, out = (lingon.jit(checked) if how == "jit" else checked)(MATRIX, rhs)
        if b == [1, 2] and how != "grad":
            np.testing.assert_allclose(out, rhs @ INVERSE, rtol=1e-5)
        return error.get()

    assert run([1, 2], ck.all_checks) is None
    found = run([1, 7], ck.user_checks)
    assert found is not None and found.startswith("b is 7.0")
    assert run([0, 2], ck.user_checks) is None
    found = run([0, 2], ck.all_checks)
    assert found is not None and ("nan" in found or "division" in found)


def test_derivative_of_checked_linear_solve() -> None:
    """The error is carried along; derivatives are those of the solution."""

    def f(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.sin(solved(a, b)))

    def g(a: Any, b: Any) -> Any:
        error, out = ck.checkify(f)(a, b)
        return out, error

    b = np.array([1, 2], np.float32)
    got, error = lingon.grad(g, argnums=(0, 1), has_aux=True)(MATRIX, b)
    assert error.get() is None
    x = INVERSE @ b
    ct = INVERSE @ np.cos(x)
    np.testing.assert_allclose(got[1], ct, rtol=1e-5)
    np.testing.assert_allclose(got[0], -np.outer(ct, x), rtol=1e-5)
    _, moved, error = lingon.jvp(g, (MATRIX, b), (np.zeros_like(MATRIX), b), has_aux=True)
    np.testing.assert_allclose(moved, np.cos(x) @ x, rtol=1e-5)
    assert error.get() is None
    assert lingon.grad(g, 1, has_aux=True)(MATRIX, b * 3)[1].get().startswith("b is 6.0")
