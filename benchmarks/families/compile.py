"""Compilation: tracing, lowering and compiling programs, which are made anew each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Made, Program, mlp, normal, size, uniform
from .models import lstm_step, transformer_step

TARGETS = {"": 3.0, "growth": 3.0}


def chain(jax: Any, operations: int) -> Callable[..., Any]:
    """A chain of so many elementwise operations."""

    def f(x: Any) -> Any:
        for i in range(size(operations) // 2):
            x = x * np.float32(1.0 - 1e-4 * (i % 7)) + np.float32(1e-3)
        return x

    return f


def mixed_chain(jax: Any, operations: int) -> Callable[..., Any]:
    jnp = jax.numpy

    def f(x: Any, y: Any) -> Any:
        for i in range(size(operations) // 6):
            x = jnp.sin(x) * y + jnp.maximum(y - x, 0.1)
            y = y * np.float32(0.99)
            if i % 10 == 9:
                x = x - jnp.mean(x)
        return x

    return f


def unrolled(jax: Any, steps: int) -> Made:
    """A recurrent network whose steps are a Python loop."""
    jnp = jax.numpy

    def f(w: Any, x: Any) -> Any:
        for _ in range(size(steps)):
            x = jnp.tanh(x @ w)
        return x

    return f, (normal(16, 16) * np.float32(0.2), normal(4, 16))


def repeated(jax: Any, layers: int) -> Made:
    """The same jitted layer again and again."""
    jnp = jax.numpy

    @jax.jit
    def layer(p: Any, x: Any) -> Any:
        return x + jnp.tanh(x @ p["w"] + p["b"]) @ p["v"]

    def f(params: Any, x: Any) -> Any:
        for p in params:
            x = layer(p, x)
        return x

    p = {"w": normal(32, 64) * 0.1, "b": np.zeros(64, np.float32), "v": normal(64, 32) * 0.1}
    p = {k: v.astype(np.float32) for k, v in p.items()}
    return f, ([p] * layers, normal(8, 32))


def carried(jax: Any, arrays: int, gradient: bool) -> Made:
    """A loop that carries so many arrays, each of which needs a neighbour of the step before."""
    jnp = jax.numpy

    def step(c: Any, _: Any) -> Any:
        return tuple(jnp.sin(a) * b for a, b in zip(c, c[1:] + c[:1], strict=True)), None

    def f(*arrays: Any) -> Any:
        return jax.lax.scan(step, arrays, None, length=10)[0]

    def total(*arrays: Any) -> Any:
        return sum(jnp.sum(a) for a in f(*arrays))

    made = jax.grad(total, argnums=tuple(range(arrays))) if gradient else f
    return made, tuple(uniform(8, low=0.1, high=1) for _ in range(arrays))


def programs(jax: Any) -> list[Program]:
    jnp = jax.numpy
    out: list[Program] = []

    def add(name: str, make: Callable[[], Made], group: str = "") -> None:
        out.append(Program(name, make, kind="compile", group=group, tolerance=1e-2))

    vector = lambda n: (uniform(n, low=0.1, high=1),)  # noqa: E731
    add("x + 1", lambda: (lambda x: x + 1, vector(10)))
    add("softmax, 256x1024", lambda: (lambda x: jax.nn.softmax(x), (normal(256, 1024),)))
    add("600-operation chain, 1e4", lambda: (chain(jax, 600), vector(10_000)))
    add("600 mixed operations, 1e4", lambda: (mixed_chain(jax, 600), vector(10_000) * 2))
    add("MLP training step, 32x64-64-10", lambda: mlp(jax, [64, 64, 10], 32))
    add("MLP training step, 128x784-256-256-10", lambda: mlp(jax, [784, 256, 256, 10], 128))
    add("transformer gradient, 1 layer", lambda: transformer_step(jax, 1, 4, 2, 64, 64))
    add("transformer gradient, 4 layers", lambda: transformer_step(jax, 4, 4, 2, 64, 64))
    add("LSTM gradient", lambda: lstm_step(jax, 50, 16, 32, 64))
    add("100 unrolled steps", lambda: unrolled(jax, 100))
    add("1000 unrolled steps", lambda: unrolled(jax, 1000))
    add("50 calls of a jitted layer", lambda: repeated(jax, 50))
    add("sort, gather, cumsum", lambda: (lambda x, i: jnp.cumsum(jnp.sort(x)[i]),
        (normal(1000), np.arange(1000, dtype=np.int32))))  # fmt: skip
    add("while loop", lambda: (
        lambda x: jax.lax.while_loop(lambda s: s[1] < 10, lambda s: (jnp.sin(s[0]), s[1] + 1), (x, 0))[0],
        vector(100)))  # fmt: skip
    add(
        "random normal",
        lambda: (lambda k: jax.random.normal(k, (1000,)), (np.array([0, 42], np.uint32),)),
    )
    for n in (10, 100, 1000, 10_000):
        add(f"growth: chain of {n}", lambda n=n: (chain(jax, n), vector(1000)), "growth")
    for n in (12, 120, 1200, 6000):
        add(f"growth: {n} mixed", lambda n=n: (mixed_chain(jax, n), vector(1000) * 2), "growth")
    for n in (10, 100, 400):
        add(f"growth: scan, {n} carries", lambda n=n: carried(jax, n, False), "growth")
    for n in (10, 100):
        add(f"growth: gradient, {n} carries", lambda n=n: carried(jax, n, True), "growth")
    return out
