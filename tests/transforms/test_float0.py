"""Derivatives of integers and booleans: float0 tangents through all transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import OURS, Failed, fails, run, same

import lingon

V = np.array([0.5, -1.5, 2.0], np.float32)
N = np.arange(3, dtype=np.int32)

Program = Callable[[Any], Any]


def zero(m: Any, *shape: int) -> Any:
    return np.zeros(shape, m.jax.float0)


def plain(tree: Any, m: Any) -> Any:
    """float0 leaves as text, which compares their shapes too."""
    return m.jax.tree_util.tree_map(
        lambda x: (
            f"float0{tuple(x.shape)}"
            if getattr(x, "dtype", None) == m.jax.float0
            else np.asarray(x)
        ),
        tree,
    )


PROGRAMS: dict[str, Program] = {
    "jvp": lambda m: m.jax.jvp(lambda x, n: (x * n, n), (2.0, 3), (1.0, zero(m))),
    "jvp of arrays": lambda m: m.jax.jvp(lambda x, n: (x * n, n, n > 1), (2.0, m.jnp.asarray(N)), (1.0, zero(m, 3))),
    "jvp of a bool": lambda m: m.jax.jvp(lambda x, b: m.jnp.where(b, x, -x), (2.0, True), (1.0, zero(m))),
    "jvp of an index": lambda m: m.jax.jvp(lambda x, i: x[i], (m.jnp.asarray(V), 1), (m.jnp.asarray(V), zero(m))),
    "jvp of integers only": lambda m: m.jax.jvp(lambda n: n * 2, (3,), (zero(m),)),
    "jvp of an integer to a float": lambda m: m.jax.jvp(lambda n: n * 2.0, (3,), (zero(m),)),
    "jvp of a tree": lambda m: m.jax.jvp(lambda d: d["x"] * d["n"], ({"x": 2.0, "n": 3},), ({"x": 1.0, "n": zero(m)},)),
    "jvp in jit": lambda m: m.jax.jit(lambda t: m.jax.jvp(lambda n: n * 2, (3,), (t,)))(zero(m)),
    "jvp of jit": lambda m: m.jax.jvp(m.jax.jit(lambda x, n: (x * n, n)), (2.0, 3), (1.0, zero(m))),
    "jvp of jvp": lambda m: m.jax.jvp(lambda x: m.jax.jvp(lambda y, n: (y * y * n, n), (x, 3), (1.0, zero(m)))[1][0], (2.0,), (1.0,)),
    "vmap of jvp": lambda m: m.jax.vmap(lambda n: m.jax.jvp(lambda x, k: (x * k, k), (2.0, n), (1.0, zero(m))))(m.jnp.asarray(N)),
    "vjp": lambda m: m.jax.vjp(lambda x, n: x * n, 2.0, 3)[1](1.0),
    "vjp of arrays": lambda m: m.jax.vjp(lambda x, n: x * n, 2.0, m.jnp.asarray(N))[1](m.jnp.ones(3)),
    "vjp with an integer output": lambda m: m.jax.vjp(lambda x, n: (x * n, n), 2.0, m.jnp.asarray(N))[1]((m.jnp.ones(3), zero(m, 3))),
    "vjp with integer outputs only": lambda m: m.jax.vjp(lambda x: m.jnp.argmax(x), m.jnp.asarray(V))[1](zero(m)),
    "vjp of a comparison": lambda m: m.jax.vjp(lambda x: x > 0, 1.0)[1](zero(m)),
    "cotangent of an integer": lambda m: m.jax.vjp(lambda x: m.jnp.int32(x), 1.0)[1](1),
    "cotangent of an integer, a float": lambda m: m.jax.vjp(lambda x: m.jnp.int32(x), 1.0)[1](1.0),
    "vjp in jit": lambda m: m.jax.jit(lambda n: m.jax.vjp(lambda x, k: x * k, 2.0, n)[1](1.0))(3),
    "vjp in vmap": lambda m: m.jax.vmap(lambda n: m.jax.vjp(lambda x, k: x * k, 2.0, n)[1](1.0))(m.jnp.asarray(N)),
    "grad, allow_int": lambda m: m.jax.grad(lambda n: n * 2.0, allow_int=True)(3),
    "grad, allow_int of a bool": lambda m: m.jax.grad(lambda n: n * 2.0, allow_int=True)(True),
    "grad, allow_int of an array": lambda m: m.jax.grad(lambda n: (n * 2.0).sum(), allow_int=True)(m.jnp.asarray(N)),
    "grad, allow_int in jit": lambda m: m.jax.jit(m.jax.grad(lambda n: n * 2.0, allow_int=True))(3),
    "grad, allow_int in vmap": lambda m: m.jax.vmap(m.jax.grad(lambda n: n * 2.0, allow_int=True))(m.jnp.asarray(N)),
    "grad, allow_int in vmap, constant": lambda m: m.jax.vmap(lambda x: m.jax.grad(lambda n: n * 2.0, allow_int=True)(3), axis_size=2, in_axes=None)(1.0),
    "value_and_grad, both": lambda m: m.jax.value_and_grad(lambda n, x: x * n, (0, 1), allow_int=True)(3, 2.0),
    "grad of jit, allow_int": lambda m: m.jax.grad(m.jax.jit(lambda d: d["x"] * d["n"]), allow_int=True)({"x": 2.0, "n": 3}),
    "grad of checkpoint": lambda m: m.jax.grad(m.jax.checkpoint(lambda d: m.jnp.sin(d["x"]) * d["n"]), allow_int=True)({"x": 2.0, "n": 3}),
    "linearize": lambda m: m.jax.linearize(lambda x, n: (x * n, n), 2.0, 3)[1](1.0, zero(m)),
    "jacrev, allow_int": lambda m: m.jax.jacrev(lambda n, x: x * n, (0, 1), allow_int=True)(m.jnp.asarray(N), m.jnp.ones(3)),
    "jacfwd with an integer output": lambda m: m.jax.jacfwd(lambda x: (x, m.jnp.int32(x)))(m.jnp.asarray(V)),
    "custom_jvp": lambda m: m.jax.jvp(_custom_jvp(m), (2.0, 3), (1.0, zero(m))),
    "custom_vjp": lambda m: m.jax.grad(_custom_vjp(m), (0, 1), allow_int=True)(2.0, 3),
    "cond": lambda m: m.jax.grad(lambda x, n: m.lax.cond(n > 2, lambda x, n: x * n, lambda x, n: x, x, n), (0, 1), allow_int=True)(2.0, 3),
    "scan": lambda m: m.jax.grad(lambda x, n: m.lax.scan(lambda c, k: (c * x, k), x * 1.0, n)[0], (0, 1), allow_int=True)(2.0, m.jnp.asarray(N)),
    "switch": lambda m: m.jax.jvp(lambda x, i: m.lax.switch(i, [m.jnp.sin, m.jnp.cos], x), (2.0, 1), (1.0, zero(m))),
    "identity in jit": lambda m: m.jax.jit(lambda z: z)(zero(m, 3)),
    "identity in vmap": lambda m: m.jax.vmap(lambda z: z)(zero(m, 3)),
    "stack of tangents": lambda m: m.jax.jit(lambda a, z: {"a": a * 2, "z": z})(1.0, zero(m, 2, 0)),
}  # fmt: skip


def _custom_jvp(m: Any) -> Callable:
    f = m.jax.custom_jvp(lambda x, n: x * n)

    def rule(primals: Any, tangents: Any) -> Any:
        assert tangents[1].dtype == m.jax.float0
        return primals[0] * primals[1], tangents[0] * 10

    f.defjvp(rule)
    return f


def _custom_vjp(m: Any) -> Callable:
    f = m.jax.custom_vjp(lambda x, n: x * n)
    f.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n, zero(m)))
    return f


@pytest.mark.parametrize("case", PROGRAMS)
def test_program(case: str) -> None:
    same(lambda m: plain(PROGRAMS[case](m), m))


def test_jaxpr() -> None:
    texts = []
    for m in (OURS,):
        f = lambda t: m.jax.jvp(lambda x, n: x * n, (1.0, 2), (1.0, t))
        texts.append(str(m.jax.make_jaxpr(f)(zero(m))))
    assert "a:float0[]" in texts[0]


def test_shapes_without_values() -> None:
    out = lingon.eval_shape(lingon.grad(lambda n: (n * 2.0).sum(), allow_int=True), N)
    assert out.shape == (3,) and out.dtype == lingon.float0


ERRORS: dict[str, tuple[Program, tuple[str, ...]]] = {
    "tangent of an integer": (lambda m: m.jax.jvp(lambda n: n, (1,), (1,)), ("float0",)),
    "tangent of a float": (lambda m: m.jax.jvp(lambda x: x, (1.0,), (zero(m),)), ("float0", "float32")),
    "shape of a tangent": (lambda m: m.jax.jvp(lambda n: n, (1,), (zero(m, 3),)), ("(3,)",)),
    "tangent of a linear map": (lambda m: m.jax.linearize(lambda x, n: x * n, 1.0, 2)[1](1.0, 2), ("float0",)),
    "shape of a cotangent": (lambda m: m.jax.vjp(lambda x: m.jnp.int32(x), 1.0)[1](zero(m, 3)), ("float0[3]", "int32[]")),
    "sine": (lambda m: m.jnp.sin(zero(m, 3)), ("float0",)),
    "sum": (lambda m: m.jnp.add(zero(m, 3), 1.0), ("float0",)),
    "sum of two": (lambda m: m.jnp.ones(3) + zero(m, 3), ("float0",)),
    "lax": (lambda m: m.lax.sin(zero(m, 3)), ("float0",)),
    "grad": (lambda m: m.jax.grad(lambda x: x)(zero(m)), ("grad",)),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str) -> None:
    program, words = ERRORS[case]
    fails(program, *words)


def test_errors_leave_no_trace_behind() -> None:
    for program, _ in ERRORS.values():
        assert isinstance(run(program, OURS), Failed)
    assert float(lingon.numpy.asarray(1.0) + 1) == 2.0
