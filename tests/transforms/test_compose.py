"""Random stacks of transformations over small programs, compared with jax."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import same

X = np.array([0.4, -0.7, 1.1], np.float32)
W = np.array([[0.5, -0.2, 0.3], [0.1, 0.4, -0.6], [-0.3, 0.2, 0.7]], np.float32)

# --- programs: from a vector of three to a vector of three ----------------------------------------


def custom(m: Any) -> Callable:
    f = m.jax.custom_jvp(lambda x: m.jnp.sin(x) * x)
    f.defjvps(lambda t, out, x: t * (m.jnp.cos(x) * x + m.jnp.sin(x)))
    return f


PROGRAMS: dict[str, Callable[[Any], Callable]] = {
    "elementwise": lambda m: lambda x: m.jnp.sin(x) * m.jnp.exp(-x * x) + 2,
    "dense": lambda m: lambda x: m.jnp.tanh(W @ x + 1),
    "quadratic": lambda m: lambda x: x * (x @ W @ x),
    "softmax": lambda m: lambda x: m.nn.softmax(x) * x,
    "normalized": lambda m: lambda x: (x - x.mean()) / m.jnp.sqrt(x.var() + 0.1),
    "indexed": lambda m: lambda x: x[np.array([2, 0, 0])] * x.at[1].set(x[0] * x[2]),
    "sorted": lambda m: lambda x: m.jnp.sort(x * x) * x,
    "where": lambda m: lambda x: m.jnp.where(x > 0, x * x, m.jnp.log1p(x * x)),
    "cumulative": lambda m: lambda x: m.jnp.cumsum(x) * m.jnp.cumprod(x + 2),
    "concatenated": lambda m: lambda x: m.jnp.concatenate([x[1:], x[:1]]) ** 2 * x,
    "constants": lambda m: lambda x: x * m.jnp.arange(3.0) + m.jnp.outer(x, X).sum(0),
    "inner jit": lambda m: lambda x: m.jax.jit(lambda y: m.jnp.cos(y) * x)(x * 2),
    "inner grad": lambda m: lambda x: m.jax.grad(lambda y: m.jnp.sum(y**3 * x))(x),
    "inner vmap": lambda m: lambda x: m.jax.vmap(lambda y: m.jnp.sum(y * x) * y)(x),
    "custom rule": custom,
    "reductions": lambda m: lambda x: x * m.jnp.max(x) + m.jnp.prod(x) * m.jnp.min(x),
    "einsum": lambda m: lambda x: m.jnp.einsum("ij,j,k->i", W, x, x),
    "logsumexp": lambda m: lambda x: m.nn.logsumexp(x) * m.nn.relu(x),
}

# --- transformations: from such a function to another one -----------------------------------------

TRANSFORMS: dict[str, Callable[[Any, Callable], Callable]] = {
    "jit": lambda m, f: m.jax.jit(f),
    "grad": lambda m, f: m.jax.grad(lambda x: m.jnp.sum(f(x))),
    "value_and_grad": lambda m, f: (
        lambda x: (lambda r: r[0] * r[1])(m.jax.value_and_grad(lambda y: m.jnp.sum(f(y) ** 2))(x))
    ),
    "vmap": lambda m, f: lambda x: m.jax.vmap(f)(m.jnp.stack([x, x * 0.5])).sum(0),
    "vmap of columns": lambda m, f: (
        lambda x: m.jax.vmap(f, 1, 1)(m.jnp.outer(x, m.jnp.arange(1.0, 3.0))) @ m.jnp.ones(2)
    ),
    "jvp": lambda m, f: lambda x: m.jax.jvp(f, (x,), (m.jnp.cos(x),))[1],
    "linearize": lambda m, f: lambda x: (lambda r: r[0] + r[1](x))(m.jax.linearize(f, x)),
    "vjp": lambda m, f: lambda x: (lambda r: r[1](r[0])[0])(m.jax.vjp(f, x)),
    "jacfwd": lambda m, f: lambda x: m.jax.jacfwd(f)(x) @ x,
    "jacrev": lambda m, f: lambda x: x @ m.jax.jacrev(f)(x),
    "hessian": lambda m, f: lambda x: m.jax.hessian(lambda y: m.jnp.sum(f(y)))(x) @ x,
    "checkpoint": lambda m, f: m.jax.checkpoint(f),
    "stop": lambda m, f: lambda x: f(x) + m.lax.stop_gradient(f(x)) * x,
}  # fmt: skip
HEAVY = {"hessian", "jacfwd", "jacrev"}


def stacks(full: bool) -> list[tuple[str, tuple[str, ...]]]:
    """Programs with stacks of one to four transformations, few of them second-order."""
    rng = random.Random(7)
    names = list(TRANSFORMS)
    result = []
    for program in PROGRAMS:
        for depth in (2, 2, 3, 3, 4) * 8 if full else (2, 3):
            while True:
                stack = tuple(rng.choice(names) for _ in range(depth))
                if sum(s in HEAVY for s in stack) <= 1:
                    break
            result.append((program, stack))
    return list(dict.fromkeys(result))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_one(transform: str, full: bool) -> None:
    programs = list(PROGRAMS)
    for program in programs if full else random.Random(transform).sample(programs, 2):
        same(
            lambda m, p=program: TRANSFORMS[transform](m, PROGRAMS[p](m))(m.jnp.asarray(X)),
            tol=2e-4,
        )


def _run(program: str, stack: tuple[str, ...], outer_jit: bool) -> None:
    def run(m: Any) -> Any:
        f = PROGRAMS[program](m)
        for name in stack:
            f = TRANSFORMS[name](m, f)
        return (m.jax.jit(f) if outer_jit else f)(m.jnp.asarray(X))

    same(run, tol=2e-3)


@pytest.mark.parametrize(
    ("program", "stack"), stacks(False), ids=lambda v: v if isinstance(v, str) else ".".join(v)
)
@pytest.mark.sampled(18)
def test_stacks(program: str, stack: tuple[str, ...]) -> None:
    _run(program, stack, len(stack) == 4)


def test_all_stacks(full: bool) -> None:
    if not full:
        pytest.skip("a long run; --full does it")
    for program, stack in stacks(True):
        _run(program, stack, True)
