"""Calls: of jitted functions on small arrays, of eager operations, of transformed functions, from threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .common import Made, Program, normal, uniform

TARGETS = {"jitted calls": 3.0, "eager": 3.0, "eager transformations": 5.0, "threads": 1.0}


def programs(jax: Any) -> list[Program]:
    jnp, lax, random = jax.numpy, jax.lax, jax.random
    out: list[Program] = []

    def jitted(
        name: str, f: Callable[..., Any], arguments: Callable[[], tuple], **options: Any
    ) -> None:
        make = lambda: (jax.jit(f, **options), arguments())  # noqa: E731
        out.append(Program(f"jitted: {name}", make, kind="call", group="jitted calls"))

    def eager(name: str, f: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
        make = lambda: (f, tuple(normal(*s, seed=i) for i, s in enumerate(shapes)))  # noqa: E731
        out.append(Program(f"eager: {name}", make, kind="call", group="eager"))

    three = lambda n: lambda: tuple(normal(3, seed=i) for i in range(n))  # noqa: E731
    leaves = {f"k{i}": normal(3, seed=i) for i in range(100)}
    jitted("1 argument", lambda x: x + 1, three(1))
    jitted("2 arguments", lambda x, y: x * y, three(2))
    jitted("8 arguments", lambda *xs: sum(xs[1:], xs[0]), three(8))
    jitted("8 results", lambda x: tuple(x * i for i in range(8)), three(1))
    jitted("dict of 100 leaves", lambda d: d["k0"] + d["k1"], lambda: (leaves,))
    jitted(
        "dict of 100 leaves, and back",
        lambda d: {k: v + 1 for k, v in d.items()},
        lambda: (leaves,),
    )
    jitted("Python scalar", lambda x, s: x * s, lambda: (normal(3), 2.0))

    def through(name: str, make: Callable[[], Made]) -> None:
        out.append(Program(f"jitted: {name}", make, kind="call", group="jitted calls"))

    through("keyword argument",
        lambda: (_keyword(jax.jit(lambda x, *, y: x * y)), (normal(3), normal(3, seed=1))))  # fmt: skip
    through("static arguments",
        lambda: (_with(jax.jit(lambda x, how, n: x + n, static_argnums=(1, 2)), "add", 3), (normal(3),)))  # fmt: skip
    through("static argument names",
        lambda: (_keywords(jax.jit(lambda x, n: x + n, static_argnames="n"), n=3), (normal(3),)))  # fmt: skip
    jitted("small MLP", lambda w, v, x: jnp.tanh(x @ w) @ v,
        lambda: (normal(8, 8), normal(8, 2), normal(4, 8)))  # fmt: skip
    jitted("donated argument", lambda x, y: x * y, lambda: (normal(3), normal(3)))

    eager("x + y", lambda x, y: x + y, (3,), (3,))
    eager("x + 1", lambda x: x + 1, (3,))
    eager("x * y, 100x100", lambda x, y: x * y, (100, 100), (100, 100))
    eager("x > y", lambda x, y: x > y, (3,), (3,))
    eager("-x", lambda x: -x, (3,))
    eager("jnp.add", lambda x, y: jnp.add(x, y), (3,), (3,))
    eager("jnp.sin", lambda x: jnp.sin(x), (3,))
    eager("jnp.exp, 1000", lambda x: jnp.exp(x), (1000,))
    eager("lax.add", lambda x, y: lax.add(x, y), (3,), (3,))
    eager("x[1]", lambda x: x[1], (10,))
    eager("x[1:3]", lambda x: x[1:3], (10,))
    eager("x[:, 0]", lambda x: x[:, 0], (10, 3))
    eager("x[-1, ::2]", lambda x: x[-1, ::2], (10, 6))
    eager("x.at[0].set(1)", lambda x: x.at[0].set(1.0), (10,))
    eager("jnp.sum", lambda x: jnp.sum(x), (10,))
    eager("jnp.mean", lambda x: jnp.mean(x), (10,))
    eager("x.mean(axis=0)", lambda x: x.mean(axis=0), (4, 3))
    eager("jnp.var", lambda x: jnp.var(x), (10,))
    eager("jnp.max", lambda x: jnp.max(x), (10,))
    eager("jnp.argmax", lambda x: jnp.argmax(x), (10,))
    eager("x @ y", lambda x, y: x @ y, (8, 8), (8, 8))
    eager("jnp.dot", lambda x, y: jnp.dot(x, y), (8,), (8,))
    eager("jnp.einsum", lambda x, y: jnp.einsum("ij,kj->ik", x, y), (8, 8), (8, 8))
    eager("jnp.where", lambda x, y: jnp.where(x > 0, x, y), (10,), (10,))
    eager("jnp.maximum", lambda x: jnp.maximum(x, 0), (10,))
    eager("jnp.clip", lambda x: jnp.clip(x, -1, 1), (10,))
    eager("jnp.concatenate", lambda x, y: jnp.concatenate([x, y]), (3,), (3,))
    eager("jnp.stack", lambda x, y: jnp.stack([x, y]), (3,), (3,))
    eager("x.reshape", lambda x: x.reshape(3, 4), (12,))
    eager("x.T", lambda x: x.T, (3, 4))
    eager("x.astype", lambda x: x.astype(np.int32), (3,))
    eager("x[None]", lambda x: x[None], (3,))
    eager("jnp.zeros", lambda: jnp.zeros(3))
    eager("jnp.arange", lambda: jnp.arange(10))
    eager("jnp.asarray of a list", lambda: jnp.asarray([1.0, 2.0, 3.0]))
    eager("jnp.sort", lambda x: jnp.sort(x), (10,))
    eager("jnp.cumsum", lambda x: jnp.cumsum(x), (10,))
    eager("jnp.linalg.norm", lambda x: jnp.linalg.norm(x), (10,))
    eager("nn.relu", lambda x: jax.nn.relu(x), (10,))
    eager("nn.softmax", lambda x: jax.nn.softmax(x), (10,))
    eager("nn.gelu", lambda x: jax.nn.gelu(x), (10,))
    for name, f in (
        ("random.split", lambda k: random.split(k)),
        ("random.normal", lambda k: random.normal(k, (3,))),
        ("random.uniform", lambda k: random.uniform(k, (3,))),
        ("random.fold_in", lambda k: random.fold_in(k, 3)),
    ):
        out.append(
            Program(
                f"eager: {name}",
                lambda f=f: (f, (np.array([0, 42], np.uint32),)),
                kind="call",
                group="eager",
                tolerance=1e-3,
            )
        )
    out.append(
        Program(
            "eager: float(x)", lambda: (_scalar(float), (normal(1)[0],)), kind="call", group="eager"
        )
    )
    out.append(
        Program(
            "eager: np.asarray(x)",
            lambda: (lambda x: np.asarray(x), (normal(10),)),
            kind="call",
            group="eager",
        )
    )
    eager("for row in x", lambda x: list(x), (8, 3))

    def transformed(name: str, make: Callable[[], Made]) -> None:
        out.append(Program(f"eager: {name}", make, kind="call", group="eager transformations"))

    loss = lambda x: jnp.sum(jnp.sin(x) * x)  # noqa: E731
    transformed("grad(jit(f))", lambda: (jax.grad(jax.jit(loss)), (normal(10),)))
    transformed(
        "value_and_grad(jit(f))", lambda: (jax.value_and_grad(jax.jit(loss)), (normal(10),))
    )
    transformed("grad(f)", lambda: (jax.grad(loss), (normal(10),)))
    transformed(
        "vmap(jit(f))", lambda: (jax.vmap(jax.jit(lambda x: jnp.sin(x) @ x)), (normal(4, 10),))
    )
    transformed("vmap(f)", lambda: (jax.vmap(lambda x: jnp.sin(x) @ x), (normal(4, 10),)))
    transformed("vmap(grad(jit(f)))", lambda: (jax.vmap(jax.grad(jax.jit(loss))), (normal(4, 10),)))
    transformed(
        "jvp(jit(f))",
        lambda: ((lambda f: lambda x: jax.jvp(f, (x,), (x,)))(jax.jit(loss)), (normal(10),)),
    )
    transformed("vjp(jit(f)) and its call",
        lambda: ((lambda f: lambda x: (lambda y, back: back(y))(*jax.vjp(f, x)))(jax.jit(loss)), (normal(10),)))  # fmt: skip
    transformed("jit(grad(f))", lambda: (jax.jit(jax.grad(loss)), (normal(10),)))

    cores = os.cpu_count() or 1
    for label, n, calls in (("3", 3, 500), ("1e4", 10_000, 200), ("1e5", 100_000, 20)):
        for threads in sorted({1, cores}):
            out.append(
                Program(
                    f"threads: {threads} x {calls} calls of a sine on {label}",
                    lambda n=n, calls=calls, threads=threads: (
                        _threads(jax, threads, calls),
                        (uniform(n),),
                    ),
                    kind="call",
                    group="threads",
                )
            )
    return out


def _keyword(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: f(x, y=y)


def _with(f: Callable[..., Any], *rest: Any) -> Callable[..., Any]:
    return lambda x: f(x, *rest)


def _keywords(f: Callable[..., Any], **rest: Any) -> Callable[..., Any]:
    return lambda x: f(x, **rest)


def _scalar(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: kind(x)


def _threads(jax: Any, threads: int, calls: int) -> Callable[..., Any]:
    """Calls of a jitted function from so many threads at once; the last result."""
    f = jax.jit(lambda x: jax.numpy.sin(x) * 2)
    pool = ThreadPoolExecutor(threads)

    def work(x: Any) -> Any:
        for _ in range(calls):
            y = f(x)
            y.block_until_ready()
        return y

    def run(x: Any) -> Any:
        return [t.result() for t in [pool.submit(work, x) for _ in range(threads)]][-1]

    return run
