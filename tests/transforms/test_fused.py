"""Transformations of jitted functions as one program: when they are, and that nothing else changes."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon.frontend.transforms import fused


def loss(p: Any, x: Any) -> Any:
    return jnp.sum(jnp.tanh(x @ p["w"] + p["b"]))


def parameters() -> tuple:
    p = {"w": jnp.linspace(0.0, 1.0, 6).reshape(3, 2), "b": jnp.ones(2)}
    return p, jnp.linspace(-1.0, 1.0, 12).reshape(4, 3)


def programs(f: Any) -> int:
    """How many programs the fused form of a transformed function has."""
    return len(fused.fused_form(f).cache)


TRANSFORMS: dict[str, Any] = {
    "grad": lambda f: lingon.grad(f),
    "grad of both": lambda f: lingon.grad(f, argnums=(0, 1)),
    "value_and_grad": lambda f: lingon.value_and_grad(f, argnums=[1]),
    "vmap": lambda f: lingon.vmap(f, in_axes=(None, 0)),
    "vmap of grad": lambda f: lingon.vmap(lingon.grad(f), in_axes=(None, 0)),
    "grad of grad": lambda f: lingon.grad(
        lambda p, x: jnp.sum(lingon.grad(f, argnums=1)(p, x) ** 2)
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_same_values(name: str) -> None:
    p, x = parameters()
    plain = TRANSFORMS[name](loss)(p, x)
    f = TRANSFORMS[name](lingon.jit(loss))
    for _ in range(2):
        got = f(p, x)
        assert lingon.tree_util.tree_structure(got) == lingon.tree_util.tree_structure(plain)
        for a, b in zip(
            lingon.tree_util.tree_leaves(got), lingon.tree_util.tree_leaves(plain), strict=True
        ):
            assert a.dtype == b.dtype and a.weak_type == b.weak_type
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_one_program_for_each_signature() -> None:
    traced = []

    @lingon.jit
    def f(x: Any) -> Any:
        traced.append(x.shape)
        return jnp.sum(x * x)

    g = lingon.grad(f)
    for n in (3, 4, 3, 4):
        np.testing.assert_array_equal(g(jnp.ones(n)), np.full(n, 2.0))
    assert programs(g) == 2 and traced == [(3,), (4,)]
    h = lingon.grad(f)  # another one of the same function
    h(jnp.ones(3))
    assert programs(h) == 2 and traced == [(3,), (4,)]
    v = lingon.vmap(g)
    v(jnp.ones((2, 3)))
    assert programs(v) == 1


def test_not_for_other_functions() -> None:
    for f in (loss, lingon.jit(loss, donate_argnums=0), lingon.jit(loss, keep_unused=True)):
        assert fused.fused_form(lingon.grad(f)) is None
    vmapped = lingon.vmap(lingon.jit(lambda d: d["a"]), in_axes=({"a": 0},))
    assert fused.fused_form(vmapped) is None  # its options have no hash
    np.testing.assert_array_equal(vmapped({"a": jnp.arange(3)}), [0, 1, 2])


def test_copies_of_attributes_do_not_count() -> None:
    g = lingon.grad(lingon.jit(lambda x: jnp.sum(x * x)))

    @functools.wraps(g)
    def other(x: Any) -> Any:
        return jnp.sum(g(x))

    assert fused.fused_form(g) is not None and fused.fused_form(other) is None
    np.testing.assert_array_equal(lingon.grad(other)(jnp.ones(3)), np.full(3, 2.0))


def test_static_arguments_and_aux() -> None:
    @lingon.jit(static_argnames="power")
    def f(x: Any, power: int) -> Any:
        return jnp.sum(x**power), {"double": 2 * x}

    f_static = lingon.jit(lambda k, x: jnp.sum(x**k), static_argnums=0)
    x = jnp.arange(3.0)
    g = lingon.grad(f, has_aux=True)
    for power in (2, 3):
        grads, aux = g(x, power=power)
        np.testing.assert_allclose(grads, power * np.arange(3.0) ** (power - 1))
        np.testing.assert_allclose(aux["double"], 2 * np.arange(3.0))
        got = lingon.grad(f_static, argnums=1)(power, x)
        np.testing.assert_allclose(got, power * np.arange(3.0) ** (power - 1))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: lingon.grad(lingon.jit(lambda x: x))(jnp.ones(3)), TypeError, "scalar-output"),
        (lambda: lingon.grad(lingon.jit(lambda x: x))(1), TypeError, "real- or complex-valued"),
        (lambda: lingon.grad(lingon.jit(lambda x: x))("s"), TypeError, "'s'"),
        (lambda: lingon.vmap(lingon.jit(lambda x: x))(1.0), ValueError, "rank"),
        (
            lambda: lingon.vmap(lingon.jit(lambda x, y: x))(jnp.ones(2), jnp.ones(3)),
            ValueError,
            "inconsistent sizes",
        ),
    ],
)
def test_errors_are_those_of_the_transformation(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_inside_of_other_transformations_and_modes() -> None:
    f = lingon.jit(lambda x: jnp.sum(jnp.sin(x)))
    g = lingon.grad(f)
    x = jnp.arange(3.0)
    want = np.cos(np.arange(3.0))
    np.testing.assert_allclose(lingon.jit(g)(x), want, rtol=1e-6)
    assert "jit" in str(lingon.make_jaxpr(g)(x))
    with lingon.disable_jit():
        np.testing.assert_allclose(g(x), want, rtol=1e-6)
    with lingon.debug_nans(True):
        np.testing.assert_allclose(g(x), want, rtol=1e-6)
        with pytest.raises(FloatingPointError):
            lingon.grad(lingon.jit(lambda x: jnp.sum(jnp.log(x))))(-jnp.ones(2))
    assert (
        lingon.grad(f)(2.0).weak_type == lingon.grad(lambda x: jnp.sum(jnp.sin(x)))(2.0).weak_type
    )


def test_functions_are_freed() -> None:
    f = lingon.jit(lambda x: jnp.sum(x))
    lingon.grad(f)(jnp.ones(2))
    lingon.vmap(lingon.grad(f))(jnp.ones((2, 2)))
    alive = weakref.ref(f._jit)
    del f
    gc.collect()
    assert alive() is None
