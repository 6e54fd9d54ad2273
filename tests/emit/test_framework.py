"""Grouping, lazy values, results, constants, locations and errors of the framework."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import check, emitted, normal, trace
from jax import lax

from lingon.lowering.emit import emit_module
from lingon.lowering.emit.registry import elementwise

X = normal("float32", (4, 6))


def generics(fn, *args) -> int:
    return emitted(fn, *args).count("linalg.generic")


def test_a_chain_is_one_generic():
    def chain(x):
        for k in range(20):
            x = (x * 1.5 + k) / (x + 2)
        return x

    assert generics(chain, X) == 1


def test_long_chains_are_cut_into_loops_of_bounded_cost():
    def chain(x):
        for _ in range(60):
            x = jnp.sin(x) * 1.5 + x
        return x

    assert 3 <= generics(chain, X) <= 20
    check(chain, X[:1], rtol=2e-4)


def test_several_results_share_a_generic():
    def fn(x):
        y = jnp.exp(x)
        return y, y + 1

    assert generics(fn, X) == 1
    check(fn, X, rtol=1e-6)


def test_unrelated_equations_do_not_share_a_generic():
    assert generics(lambda x, y: (x + 1, y * 2), X, X) == 2


def test_groups_that_meet_are_merged():
    def fn(x, y):
        return jnp.sin(x) + 1, jnp.cos(y) - 1, jnp.sin(x) * jnp.cos(y)

    check(fn, X, X, rtol=1e-6)
    assert generics(lambda x, y: jnp.sin(x) * jnp.cos(y), X, X) == 1


def test_broadcasts_are_maps():
    text = emitted(lambda x, b: x * b + b[::1], X, normal("float32", (6,)))
    assert text.count("linalg.generic") == 1
    assert "affine_map<(d0, d1) -> (d1)>" in text


def test_scalars_are_captured():
    text = emitted(lambda x, s: x * (s * 2 + 1), X, np.float32(3))
    assert text.count("linalg.generic") == 1
    assert "tensor<f32>" not in text
    check(lambda x, s: x * (s * 2 + 1), X, np.float32(3), rtol=1e-6)


def test_dead_equations_are_not_emitted():
    assert "math.sin" not in emitted(lambda x: (jnp.sin(x), x + 1)[1], X)


def test_an_equation_between_groups_keeps_the_order():
    def fn(x):
        y = jnp.exp(x)
        total = y.sum(1, keepdims=True)
        return y / total, total

    check(fn, X, rtol=1e-6)


def test_results_that_are_inputs_constants_or_repeated():
    constant = normal("float32", (5, 5))
    check(lambda x: (x, x, x + 1, x + 1, 1.0, jnp.arange(4), jnp.zeros((2, 2)), constant), X)
    check(lambda a, b: (a, b, a, jnp.array([1, 2, 3])), np.float32(2), np.bool_(True))


def test_large_constants_become_inputs():
    large, small = np.arange(30, dtype=np.float32), np.arange(6, dtype=np.float32)
    module = emit_module(trace(lambda x: (x + small, large), X))
    assert [shape for shape, _ in module.in_types] == [(30,), (4, 6)]
    assert len(module.const_inputs) == 1
    check(lambda x: (x + small, large), X)


def test_zero_sizes_and_ones():
    empty = np.ones((0, 3), np.float32)
    check(lambda e: (jnp.sin(e) + 1, e.sum(), e.sum(0), e > 0, e.T), empty)
    check(lambda x, y: lax.add(x, y), normal("float32", (1, 6)), normal("float32", (4, 1)))
    check(lambda x: x * 2 + x, normal("float32", (1, 1)))


def test_nested_calls_have_their_own_scope():
    def inner(y):
        return jax.jit(jnp.sin)(y) + y, y * 2

    check(
        lambda x: jax.jit(inner)(x * 2)[0] + jax.jit(jnp.sin)(x) + jax.jit(inner)(x)[1],
        X,
        rtol=1e-5,
    )

    @jax.custom_vjp
    def twice(x):
        return x * 2

    twice.defvjp(lambda x: (x * 2, None), lambda r, g: (g,))
    check(lambda x: (jax.nn.relu(x), twice(x), jax.checkpoint(jnp.sin)(x)), X, rtol=1e-6)


def test_gradients():
    check(
        jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) ** 2 * jnp.tanh(x))), X, rtol=1e-4, atol=1e-7
    )


def with_source(closed, line: int):
    """The closed jaxpr with our kind of source info on each equation."""
    info = SimpleNamespace(file="user.py", line=line, column=5)
    eqns = [
        SimpleNamespace(
            primitive=e.primitive, invars=e.invars, outvars=e.outvars, params=e.params,
            effects=e.effects, source_info=info,
        )
        for e in closed.jaxpr.eqns
    ]  # fmt: skip
    j = closed.jaxpr
    jaxpr = SimpleNamespace(constvars=j.constvars, invars=j.invars, outvars=j.outvars, eqns=eqns)
    return SimpleNamespace(jaxpr=jaxpr, consts=closed.consts)


def test_locations():
    text = emit_module(with_source(trace(lambda x: jnp.sin(x) + 1, X), 12)).text
    assert '#loc0 = loc("user.py":12:5)' in text
    assert "math.sin" in text
    assert all("loc(#loc0)" in line for line in text.splitlines() if "math.sin" in line)


def test_unknown_primitive_names_itself_and_the_line():
    closed = with_source(trace(lambda x: jnp.fft.fft(x), X), 7)
    with pytest.raises(NotImplementedError, match=r"'fft'.*user\.py:7|'jit'|'fft'"):
        emit_module(closed)


def test_a_rule_is_registered_once():
    with pytest.raises(ValueError, match="add"):
        elementwise("add", f="arith.addf")
