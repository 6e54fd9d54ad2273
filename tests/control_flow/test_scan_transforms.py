"""scan and map differentiated and batched, beside jax."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from both import same
from scan_programs import PROGRAMS, XS, floats, scalar

NAMES = sorted(PROGRAMS)
all_programs = pytest.mark.parametrize("name", NAMES)


def chosen(items: list[Any], name: str, full: bool, count: int) -> list[Any]:
    """All items, or a choice that is the same in every run."""
    if full:
        return items
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [items[i] for i in sorted(rng.choice(len(items), count, replace=False))]


@pytest.mark.parametrize("name", [n for n in NAMES if n != "custom"])
@pytest.mark.sampled(6)
def test_jvp(name: str) -> None:
    make, args = PROGRAMS[name]
    tangents = tuple(np.cos(a) for a in args)

    def program(m: Any) -> Any:
        primals, ts = m.jax.tree_util.tree_map(m.jnp.asarray, (args, tangents))
        return m.jax.jvp(lambda *a: floats(m, make(m)(*a)), primals, ts)

    same(program, tol=1e-4)


@all_programs
@pytest.mark.sampled(6)
def test_grad(name: str, full: bool) -> None:
    make, args = PROGRAMS[name]
    for which in chosen([(0,), (1,), (0, 1)], name, full, 1):
        same(lambda m, which=which: m.jax.grad(scalar(m, make(m)), argnums=which)(*args), tol=1e-4)


@all_programs
@pytest.mark.sampled(4)
def test_grad_compiled(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(m.jax.grad(scalar(m, make(m)), argnums=(0, 1)))(*args), tol=1e-4)


@all_programs
@pytest.mark.sampled(4)
def test_jacrev(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jacrev(lambda *a: floats(m, make(m)(*a)))(*args), tol=1e-4)


@pytest.mark.parametrize("name", ["rnn", "counter", "nested", "trees", "swap"])
@pytest.mark.sampled(2)
def test_jacfwd(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jacfwd(lambda *a: floats(m, make(m)(*a)))(*args), tol=1e-4)


@pytest.mark.parametrize("name", ["rnn", "backwards", "counter", "nested", "jitted", "swap"])
@pytest.mark.sampled(2)
def test_hessian(name: str) -> None:
    """Forward over reverse."""
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(m.jax.hessian(scalar(m, make(m))))(*args), tol=2e-3)


@pytest.mark.parametrize("name", ["rnn", "backwards", "counter", "nested", "mapped", "swap"])
@pytest.mark.sampled(2)
def test_reverse_over_reverse(name: str) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(m.jax.jacrev(m.jax.grad(scalar(m, make(m)))))(*args), tol=2e-3)


def test_third_derivative() -> None:
    def program(m: Any) -> Any:
        f = lambda x: m.lax.scan(lambda c, y: (m.jnp.sin(c * y), None), x, XS[:, 0] * 0.3)[0]
        return m.jax.jit(m.jax.grad(m.jax.grad(m.jax.grad(f))))(0.7)

    same(program, tol=1e-3)


AXES: list[Any] = [(0, 0), (0, None), (None, 0), (1, -1), (-1, None)]


def spread(x: np.ndarray, axis: int | None) -> np.ndarray:
    return x if axis is None else np.stack([x, 0.5 * x], axis=axis)


@all_programs
@pytest.mark.sampled(5)
def test_vmap(name: str, full: bool) -> None:
    make, args = PROGRAMS[name]
    for axes in chosen(AXES, name, full, 2):
        ins = [spread(a, d) for a, d in zip(args, axes, strict=True)]
        same(lambda m, axes=axes, ins=ins: m.jax.jit(m.jax.vmap(make(m), axes))(*ins), tol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(4)
def test_vmap_of_grad(name: str) -> None:
    make, args = PROGRAMS[name]
    ins = [np.stack([a, 0.5 * a]) for a in args]
    same(lambda m: m.jax.vmap(m.jax.grad(scalar(m, make(m))))(*ins), tol=1e-4)


@pytest.mark.parametrize("name", ["rnn", "counter", "nested", "jitted", "custom"])
@pytest.mark.sampled(2)
def test_grad_of_vmap(name: str) -> None:
    make, args = PROGRAMS[name]
    batch = np.stack([args[1], 0.5 * args[1]])

    def program(m: Any) -> Any:
        f = m.jax.vmap(make(m), in_axes=(None, 0))
        return m.jax.jit(m.jax.grad(scalar(m, f)))(args[0], batch)

    same(program, tol=1e-4)


@pytest.mark.parametrize("place", ["const", "init", "strong", "xs", "fori"])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.sampled(5)
def test_cotangents_of_weakly_typed_operands(place: str, compiled: bool) -> None:
    """They are weakly typed, but for a carry that comes out with a strong type."""

    def program(m: Any) -> Any:
        def f(s: Any) -> Any:
            one = np.ones(3, np.float32)
            if place == "fori":
                return m.lax.fori_loop(0, 3, lambda i, c: c * s, one).sum()
            if place == "strong":
                return m.lax.scan(lambda c, x: (c + x, None), s, one)[0]
            if place == "init":
                c, ys = m.lax.scan(lambda c, x: (c * 2, x * c), s, one)
                return c + ys.sum()
            if place == "xs":
                xs = m.jnp.broadcast_to(s, (3,))
                return m.lax.scan(lambda c, x: (c * x, x * c), one, xs)[0].sum()
            return m.lax.scan(lambda c, x: (c + s * x, c * s), 0.0 * one, one)[0].sum()

        return m.jax.grad(m.jax.jit(f) if compiled else f)(0.5)

    same(program)
