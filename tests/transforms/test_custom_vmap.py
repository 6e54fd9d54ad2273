"""custom_vmap and sequential_vmap against jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.custom_batching
import numpy as np
import pytest
from both import JAX, OURS, fails, same

import lingon
import lingon.custom_batching

V = np.array([0.5, -1.5, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3) / 4

Program = Callable[[Any], Any]


def cb(m: Any) -> Any:
    return (jax if m is JAX else lingon).custom_batching


def made(m: Any, rule: Callable, fun: Callable = lambda x, y: x * y) -> Any:
    f = cb(m).custom_vmap(fun)
    assert f.def_vmap(rule) is rule
    return f


def plus_seven(m: Any) -> Any:
    """Vectorized, it is another function, which shows that the rule is used."""
    return made(m, lambda n, b, x, y: (x * y + 7, True))


def trig(m: Any) -> Any:
    return made(
        m,
        lambda n, b, x, d: (
            (m.jnp.cos(x) * 2, {"s": d["a"] * n}),
            (b[0], {"s": b[1]["a"]}),
        ),
        lambda x, d: (m.jnp.sin(x), {"s": d["a"] * 3}),
    )


def recorded(m: Any, seen: list) -> Any:
    def rule(n: int, batched: Any, x: Any, y: Any) -> Any:
        seen.append((n, batched, x["a"].shape, y.shape))
        return x["a"] * y, True

    return made(m, rule, lambda x, y: x["a"] * y)


PROGRAMS: dict[str, Program] = {
    "call": lambda m: plus_seven(m)(1.0, 2.0),
    "keyword": lambda m: plus_seven(m)(1.0, y=2.0),
    "vmap": lambda m: m.jax.vmap(plus_seven(m))(m.jnp.asarray(V), m.jnp.asarray(V)),
    "vmap of vmap": lambda m: m.jax.vmap(m.jax.vmap(plus_seven(m)))(m.jnp.asarray(M), m.jnp.asarray(M)),
    "one argument": lambda m: m.jax.vmap(plus_seven(m), (0, None))(m.jnp.asarray(V), 2.0),
    "other axes": lambda m: m.jax.vmap(plus_seven(m), (1, None), 1)(m.jnp.asarray(M), m.jnp.ones(2)),
    "pytrees": lambda m: m.jax.vmap(trig(m), (0, None))(m.jnp.asarray(V), {"a": 1.0}),
    "pytrees, all": lambda m: m.jax.vmap(trig(m))(m.jnp.asarray(V), {"a": m.jnp.asarray(V)}),
    "not batched output": lambda m: m.jax.vmap(made(m, lambda n, b, x, y: (x[0] * y[0], False)))(m.jnp.asarray(V), m.jnp.asarray(V)),
    "other dtype": lambda m: m.jax.vmap(made(m, lambda n, b, x, y: ((x * y).astype(int), True)))(m.jnp.asarray(V), m.jnp.asarray(V)),
    "jit": lambda m: m.jax.jit(plus_seven(m))(1.0, 2.0),
    "jit of vmap": lambda m: m.jax.jit(m.jax.vmap(plus_seven(m)))(m.jnp.asarray(V), m.jnp.asarray(V)),
    "vmap of jit": lambda m: m.jax.vmap(m.jax.jit(plus_seven(m)))(m.jnp.asarray(V), m.jnp.asarray(V)),
    "jvp": lambda m: m.jax.jvp(plus_seven(m), (1.0, 2.0), (3.0, 4.0)),
    "jvp of vmap": lambda m: m.jax.jvp(m.jax.vmap(plus_seven(m)), (m.jnp.asarray(V), m.jnp.asarray(V)), (m.jnp.ones(3), m.jnp.ones(3))),
    "vmap of jvp": lambda m: m.jax.vmap(lambda x, t: m.jax.jvp(plus_seven(m), (x, 2.0), (t, 1.0)))(m.jnp.asarray(V), m.jnp.ones(3)),
    "vmap of jvp, primals only": lambda m: m.jax.vmap(lambda x: m.jax.jvp(plus_seven(m), (x, 2.0), (1.0, 1.0)))(m.jnp.asarray(V)),
    "vmap of jvp of vmap": lambda m: m.jax.vmap(lambda x: m.jax.jvp(m.jax.vmap(plus_seven(m)), (x, x), (x, x)))(m.jnp.asarray(M)),
    "jacfwd": lambda m: m.jax.jacfwd(m.jax.vmap(trig(m), (0, None)))(m.jnp.asarray(V), {"a": 1.0}),
    "inside custom_vjp": lambda m: _inside_vjp(m),
    "captured": lambda m: m.jax.jit(lambda z: m.jax.vmap(made(m, lambda n, b, x: (x * z, True), lambda x: x + z))(m.jnp.ones(3)))(2.0),
    "used output only": lambda m: m.jax.vmap(m.jax.jit(lambda x: m.jax.jit(trig(m))(x, {"a": x})[1]))(m.jnp.asarray(V)),
}  # fmt: skip


def _inside_vjp(m: Any) -> Any:
    f = m.jax.custom_vjp(made(m, lambda n, b, x, y: (m.jnp.cos(x) * y, True)))
    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda res, g: (g * res[1], g * res[0]))
    a = m.jax.vmap(f)(m.jnp.zeros(3), m.jnp.ones(3))
    return a, m.jax.grad(f)(3.0, 4.0)


@pytest.mark.parametrize("case", PROGRAMS)
def test_program(case: str) -> None:
    same(PROGRAMS[case])


def test_second_derivative() -> None:
    def program(m: Any) -> Any:
        f = plus_seven(m)
        first = lambda x: m.jax.jvp(lambda z: f(z, z), (x,), (1.0,))
        return m.jax.vmap(lambda x: m.jax.jvp(first, (x,), (1.0,)))(m.jnp.asarray(V))

    same(program, weak=False)


def test_batched_tangents_of_other_primals() -> None:
    """jax fails in this case."""
    f = plus_seven(OURS)
    out, tangent = lingon.vmap(lambda t: lingon.jvp(f, (3.0, 2.0), (t, 1.0)))(V)
    np.testing.assert_allclose(out, np.full(3, 13.0))
    np.testing.assert_allclose(tangent, 2 * V + 3)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0), ({"a": 0}, None)])
def test_what_the_rule_sees(in_axes: tuple) -> None:
    seen: dict[str, list] = {}
    for m in (OURS, JAX):
        seen[m.name] = []
        x, y = m.jnp.ones((3, 2)), m.jnp.ones((3, 2))
        m.jax.vmap(recorded(m, seen[m.name]), in_axes)({"a": x}, y)
    assert seen["lingon"] == seen["jax"]


def test_jaxpr() -> None:
    texts = []
    for m in (OURS, JAX):
        f = made(m, lambda n, b, x, y: (x, True), lambda x, y: x * y)
        texts.append(str(m.jax.make_jaxpr(f)(1.0, 2.0)).split("rule=")[0])
    assert texts[0] == texts[1]


def test_reference_and_compiled_code_agree() -> None:
    f = trig(OURS)
    eager, compiled = f(0.5, {"a": 2.0}), lingon.jit(f)(0.5, {"a": 2.0})
    np.testing.assert_allclose(eager[0], compiled[0], rtol=1e-6)
    np.testing.assert_allclose(eager[1]["s"], compiled[1]["s"], rtol=1e-6)


ERRORS: dict[str, tuple[Program, tuple[str, ...]]] = {
    "no rule": (lambda m: cb(m).custom_vmap(lambda x: x)(1.0), ("No batching rule", "def_vmap")),
    "no rule, vmap": (lambda m: m.jax.vmap(cb(m).custom_vmap(lambda x: x))(m.jnp.ones(3)), ("No batching rule",)),
    "no pair": (lambda m: m.jax.vmap(made(m, lambda n, b, x, y: (x, y, True)))(m.jnp.ones(3), m.jnp.ones(3)), ()),
    "specification": (
        lambda m: m.jax.vmap(made(m, lambda n, b, x, y: (x * y, (True,))))(m.jnp.ones(3), m.jnp.ones(3)),
        ("batching specification", "do not match"),
    ),
    "structure": (
        lambda m: m.jax.vmap(made(m, lambda n, b, x, y: ((x * y,), (True,))))(m.jnp.ones(3), m.jnp.ones(3)),
        ("Original output", "Rule output"),
    ),
    "grad": (lambda m: m.jax.grad(plus_seven(m))(1.0, 2.0), ("reverse-mode",)),
    "grad of jit": (lambda m: m.jax.grad(m.jax.jit(plus_seven(m)))(1.0, 2.0), ("reverse-mode",)),
    "linearize": (lambda m: m.jax.linearize(plus_seven(m), 1.0, 2.0), ("reverse-mode",)),
    "vjp": (lambda m: m.jax.vjp(plus_seven(m), 1.0, 2.0), ("reverse-mode",)),
    "no array": (lambda m: plus_seven(m)(1.0, "a"), ("'a'",)),
    "output no array": (lambda m: made(m, lambda n, b, x, y: (x, True), lambda x, y: "a")(1.0, 2.0), ("<class 'str'>",)),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str) -> None:
    program, words = ERRORS[case]
    fails(program, *words)


def test_batched_value_in_the_closure() -> None:
    def program(m: Any) -> Any:
        def f(z: Any) -> Any:
            return made(m, lambda n, b, x: (x, True), lambda x: x + z)(1.0)

        return m.jax.vmap(f)(m.jnp.ones(2))

    fails(program, "closes over a value that is batched", theirs=ValueError)


# --- sequential_vmap ------------------------------------------------------------------------

SEQUENTIAL: dict[str, Program] = {
    "one argument": lambda m: m.jax.vmap(cb(m).sequential_vmap(m.jnp.sin))(m.jnp.asarray(V)),
    "one of two": lambda m: m.jax.vmap(cb(m).sequential_vmap(lambda x, y: x * y), (0, None))(m.jnp.asarray(V), 2.0),
    "nested": lambda m: m.jax.vmap(m.jax.vmap(cb(m).sequential_vmap(lambda x, y: x * y)))(m.jnp.asarray(M), m.jnp.asarray(M)),
    "pytrees": lambda m: m.jax.vmap(cb(m).sequential_vmap(lambda d: (d["a"], {"b": d["a"] + d["c"]})), ({"a": 0, "c": None},))({"a": m.jnp.asarray(V), "c": 1.0}),
    "jit": lambda m: m.jax.jit(m.jax.vmap(cb(m).sequential_vmap(m.jnp.sin)))(m.jnp.asarray(V)),
    "jvp": lambda m: m.jax.jvp(m.jax.vmap(cb(m).sequential_vmap(m.jnp.sin)), (m.jnp.asarray(V),), (m.jnp.asarray(V),)),
    "no vmap": lambda m: cb(m).sequential_vmap(m.jnp.sin)(1.0),
}  # fmt: skip


@pytest.mark.parametrize("case", SEQUENTIAL)
def test_sequential(case: str) -> None:
    same(SEQUENTIAL[case])


def test_sequential_is_a_loop() -> None:
    f = lingon.vmap(lingon.custom_batching.sequential_vmap(lingon.numpy.sin))
    text = str(lingon.make_jaxpr(f)(lingon.numpy.asarray(V)))
    assert "scan[" in text and "length=3" in text
