"""The programs that are measured, written once against JAX's API.

`programs(jax)` gives them for a module that is jax or lingon. A program is (function, arguments);
functions are not jitted yet.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _mlp(jax: Any, sizes: list[int], batch: int) -> Program:
    jnp = jax.numpy
    rng = np.random.default_rng(0)
    params = [
        {
            "w": rng.normal(0, (2 / m) ** 0.5, (m, n)).astype(np.float32),
            "b": np.zeros(n, np.float32),
        }
        for m, n in itertools.pairwise(sizes)
    ]
    x = rng.normal(size=(batch, sizes[0])).astype(np.float32)
    y = rng.integers(0, sizes[-1], batch).astype(np.int32)

    def loss(params: Any, x: Any, y: Any) -> Any:
        for layer in params[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        logits = x @ params[-1]["w"] + params[-1]["b"]
        log_p = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(log_p, y[:, None], axis=1))

    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        new = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
        return new, value

    return step, (params, x, y)


def _attention(jax: Any, n: int, d: int) -> Program:
    jnp = jax.numpy

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / np.float32(d**0.5)) @ v

    rng = np.random.default_rng(0)
    return attention, tuple(rng.normal(size=(8, n, d)).astype(np.float32) for _ in range(3))


def _layernorm(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def layernorm(x: Any, scale: Any, bias: Any) -> Any:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        centred = x - mean
        var = jnp.mean(centred * centred, axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt(var + 1e-5) * scale + bias

    return layernorm


def _chain(jax: Any, n: int) -> Callable[..., Any]:
    jnp = jax.numpy

    def chain(x: Any) -> Any:
        for i in range(n):
            x = (
                x * np.float32(1 + 1e-3 * i) + jnp.tanh(x)
                if i % 5 == 0
                else x * np.float32(0.99) + np.float32(0.1)
            )
        return x

    return chain


def _deep_chain(jax: Any, n: int) -> Callable[..., Any]:
    def chain(x: Any) -> Any:
        for i in range(n // 2):
            x = x * np.float32(1.0 + 1e-4 * i) + np.float32(1e-3)
        return x

    return chain


def programs(jax: Any) -> dict[str, Program]:
    """All programs by name."""
    jnp = jax.numpy
    rng = np.random.default_rng(0)

    def f32(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    big, rows = f32(4_000_000), f32(4096, 1024)
    out: dict[str, Program] = {
        "call: 1 argument": (lambda x: x + 1, (f32(3),)),
        "call: 8 arguments": (lambda *xs: sum(xs[1:], xs[0]), tuple(f32(3) for _ in range(8))),
        "call: dict of 100 leaves": (
            lambda d: d["k0"] + d["k1"],
            ({f"k{i}": f32(3) for i in range(100)},),
        ),
    }
    for name in ("exp", "log1p", "tanh", "sin", "arctan", "sqrt", "cbrt"):
        out[f"{name}, 4e6 f32"] = (getattr(jnp, name), (np.abs(big),))
    out |= {
        "power, 2e6 f32": (jnp.power, (np.abs(big[:2_000_000]), big[2_000_000:])),
        "exp(x+b)+(x+b)^3, 4096x1024": (
            lambda x, b: jnp.exp(x + b) + (x + b) ** 3,
            (rows, f32(1024)),
        ),
        "20-operation chain, 1e6": (_chain(jax, 20), (f32(1_000_000),)),
        "softmax, 4096x1024": (lambda x: jax.nn.softmax(x), (rows,)),
        "logsumexp, 4096x1024": (lambda x: jax.nn.logsumexp(x, axis=-1), (rows,)),
        "layernorm, 4096x1024": (_layernorm(jax), (rows, f32(1024), f32(1024))),
        "sum all, 4096x1024": (jnp.sum, (rows,)),
        "sum rows, 4096x1024": (lambda x: jnp.sum(x, axis=1), (rows,)),
        "sum columns, 4096x1024": (lambda x: jnp.sum(x, axis=0), (rows,)),
        "max rows, 4096x1024": (lambda x: jnp.max(x, axis=1), (rows,)),
        "argmax rows, 4096x1024": (lambda x: jnp.argmax(x, axis=1), (rows,)),
        "variance rows, 4096x1024": (lambda x: jnp.var(x, axis=1), (rows,)),
        "cumsum, 2e6": (jnp.cumsum, (big[:2_000_000],)),
        "transpose, 3000x2500": (lambda x: x.T + 0, (f32(3000, 2500),)),
        "concatenate, 2 x 2048x1024": (
            lambda x, y: jnp.concatenate([x, y]),
            (rows[:2048], rows[2048:]),
        ),
        "pairwise distances, 1000x1000x16": (
            lambda x, y: jnp.sum((x[:, None] - y[None]) ** 2, axis=-1),
            (f32(1000, 16), f32(1000, 16)),
        ),
        "matmul, 64": (jnp.matmul, (f32(64, 64), f32(64, 64))),
        "matmul, 1024": (jnp.matmul, (f32(1024, 1024), f32(1024, 1024))),
        "matmul, 128 x 8x8 batch": (jnp.matmul, (f32(128, 8, 8), f32(128, 8, 8))),
        "dense + bias + relu, 256x512x512": (
            lambda x, w, b: jax.nn.relu(x @ w + b),
            (f32(256, 512), f32(512, 512), f32(512)),
        ),
        "attention, 8 x 512 x 64": _attention(jax, 512, 64),
        "MLP training step, 128x784-256-256-10": _mlp(jax, [784, 256, 256, 10], 128),
        "MLP training step, 32x64-64-10": _mlp(jax, [64, 64, 10], 32),
        "gather rows, 1e5 of 1e4x64": (
            lambda x, i: x[i],
            (f32(10_000, 64), rng.integers(0, 10_000, 100_000).astype(np.int32)),
        ),
        "scatter-add, 1e6 into 1e4": (
            lambda x, i, u: x.at[i].add(u),
            (f32(10_000), rng.integers(0, 10_000, 1_000_000).astype(np.int32), f32(1_000_000)),
        ),
        "sort, 1e6 f32": (jnp.sort, (big[:1_000_000],)),
        "argsort, 1000x1000": (jnp.argsort, (f32(1000, 1000),)),
        "top_k 10, 1000x1000": (lambda x: jax.lax.top_k(x, 10), (f32(1000, 1000),)),
        "random normal, 4e6": (
            lambda k: jax.random.normal(k, (4_000_000,)),
            (np.array([0, 42], np.uint32),),
        ),
        "random bits, 4e6": (
            lambda k: jax.random.bits(k, (4_000_000,), np.uint32),
            (np.array([0, 42], np.uint32),),
        ),
        "600-operation chain, 1e4": (_deep_chain(jax, 600), (f32(10_000),)),
    }
    return out
