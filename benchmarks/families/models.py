"""Parts of models: attention and its gradient, training steps, an optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Made, Program, integers, mlp, normal, size

TARGETS = {"": 1.5}


def attention(jax: Any, causal: bool = False) -> Callable[..., Any]:
    jnp = jax.numpy

    def f(q: Any, k: Any, v: Any) -> Any:
        scores = q @ jnp.swapaxes(k, -1, -2) / np.float32(q.shape[-1] ** 0.5)
        if causal:
            n, m = scores.shape[-2:]
            scores = jnp.where(jnp.arange(n)[:, None] >= jnp.arange(m), scores, -1e9)
        return jax.nn.softmax(scores, axis=-1) @ v

    return f


def layernorm(jax: Any, x: Any, scale: Any, bias: Any) -> Any:
    jnp = jax.numpy
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(var + 1e-5) * scale + bias


def transformer_params(d: int, seed: int = 0) -> dict[str, np.ndarray]:
    def w(m: int, n: int, i: int) -> np.ndarray:
        return normal(m, n, seed=10 * seed + i) * np.float32(m**-0.5)

    one, zero = np.ones(d, np.float32), np.zeros(d, np.float32)
    return {
        "qkv": w(d, 3 * d, 1), "o": w(d, d, 2), "up": w(d, 4 * d, 3), "down": w(4 * d, d, 4),
        "b_up": np.zeros(4 * d, np.float32), "b_down": zero,
        "s1": one, "b1": zero, "s2": one, "b2": zero,
    }  # fmt: skip


def transformer(jax: Any, heads: int) -> Callable[..., Any]:
    """A block: attention of several heads and an MLP, each behind a layernorm, with residuals."""
    jnp = jax.numpy

    def block(p: Any, x: Any) -> Any:
        b, t, d = x.shape
        y = layernorm(jax, x, p["s1"], p["b1"]) @ p["qkv"]
        q, k, v = (
            part.reshape(b, t, heads, d // heads).transpose(0, 2, 1, 3)
            for part in jnp.split(y, 3, axis=-1)
        )
        y = attention(jax)(q, k, v).transpose(0, 2, 1, 3).reshape(b, t, d)
        x = x + y @ p["o"]
        y = layernorm(jax, x, p["s2"], p["b2"])
        return x + jax.nn.gelu(y @ p["up"] + p["b_up"]) @ p["down"] + p["b_down"]

    return block


def transformer_step(jax: Any, layers: int, heads: int, b: int, t: int, d: int) -> Made:
    jnp = jax.numpy
    block = transformer(jax, heads)

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = block(p, x)
        return jnp.mean((x - y) ** 2)

    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - 1e-2 * g, params, grads), value

    params = [transformer_params(d, i) for i in range(layers)]
    return step, (params, normal(b, t, d), normal(b, t, d, seed=1))


def lstm_step(jax: Any, steps: int, batch: int, features: int, hidden: int) -> Made:
    """Value, gradient and a step of gradient descent of an LSTM that is a scan."""
    jnp, lax = jax.numpy, jax.lax

    def loss(params: Any, xs: Any, ys: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(x @ params["x"] + h @ params["h"] + params["b"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((batch, hidden), jnp.float32)
        _, hs = lax.scan(cell, (zero, zero), xs)
        return jnp.mean((hs @ params["out"] - ys) ** 2)

    def step(params: Any, xs: Any, ys: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, xs, ys)
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), value

    scale = np.float32(hidden**-0.5)
    params = {
        "x": normal(features, 4 * hidden) * scale,
        "h": normal(hidden, 4 * hidden, seed=1) * scale,
        "b": np.zeros(4 * hidden, np.float32),
        "out": normal(hidden, 1, seed=2) * scale,
    }
    return step, (params, normal(steps, batch, features), normal(steps, batch, 1, seed=3))


def adam(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def step(state: Any, grads: Any) -> Any:
        params, m, v, count = state
        tree_map = jax.tree_util.tree_map
        count = count + 1
        m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        a, b = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)
        params = tree_map(
            lambda p, m, v: p - 1e-3 * (m * a) / (jnp.sqrt(v * b) + 1e-8), params, m, v
        )
        return params, m, v, count

    return step


def adam_state(leaves: int, total: int) -> tuple[Any, Any]:
    n = size(total // leaves)
    params = {f"p{i}": normal(n, seed=i) for i in range(leaves)}
    zeros = {k: np.zeros(n, np.float32) for k in params}
    grads = {f"p{i}": normal(n, seed=50 + i) for i in range(leaves)}
    return (params, zeros, dict(zeros), np.float32(0)), grads


def programs(jax: Any) -> list[Program]:
    jnp = jax.numpy
    out: list[Program] = []

    def heads(*shape: int) -> tuple[np.ndarray, ...]:
        return tuple(normal(*map(size, shape), seed=i) for i in range(3))

    for shape in ((8, 128, 64), (8, 512, 64), (2, 2048, 64), (1, 8192, 64), (64, 64, 32)):
        label = "x".join(map(str, shape))
        out.append(
            Program(f"attention, {label}", lambda shape=shape: (attention(jax), heads(*shape)))
        )
    for shape in ((8, 512, 64), (2, 2048, 64)):
        label = "x".join(map(str, shape))
        out.append(
            Program(
                f"causal attention, {label}",
                lambda shape=shape: (attention(jax, causal=True), heads(*shape)),
            )
        )
    for causal in (False, True):
        for shape in ((8, 128, 64), (8, 512, 64), (2, 2048, 64)):
            label = "x".join(map(str, shape))

            def make(shape: tuple[int, ...] = shape, causal: bool = causal) -> Made:
                f = attention(jax, causal)
                loss = lambda q, k, v: jnp.sum(f(q, k, v) ** 2)  # noqa: E731
                return jax.grad(loss, argnums=(0, 1, 2)), heads(*shape)

            out.append(
                Program(f"gradient of {'causal ' * causal}attention, {label}", make, tolerance=1e-3)
            )
    out.append(
        Program(
            "library attention, 4x256x8x64",
            lambda: (
                lambda q, k, v: jax.nn.dot_product_attention(q, k, v),
                heads(4, 256, 8, 64),
            ),
        )
    )
    for sizes, batch in (
        ([64, 64, 10], 32), ([784, 128, 10], 64), ([784, 256, 256, 10], 128),
        ([784, 1024, 1024, 10], 256),
    ):  # fmt: skip
        label = f"{batch}x{'-'.join(map(str, sizes))}"
        out.append(
            Program(
                f"MLP training step, {label}",
                lambda sizes=sizes, batch=batch: mlp(jax, sizes, size(batch)),
                tolerance=1e-3,
            )
        )
    for b, t, d, h in ((1, 32, 64, 4), (4, 128, 128, 4), (8, 128, 256, 8)):
        out.append(
            Program(
                f"transformer block, {b}x{t}x{d}",
                lambda b=b, t=t, d=d, h=h: (
                    transformer(jax, h),
                    (transformer_params(size(d) // h * h), normal(b, size(t), size(d) // h * h)),
                ),
                tolerance=1e-3,
            )
        )
        out.append(
            Program(
                f"transformer training step, {b}x{t}x{d}",
                lambda b=b, t=t, d=d, h=h: transformer_step(
                    jax, 1, h, b, size(t), size(d) // h * h
                ),
                tolerance=1e-3,
            )
        )
    for steps, batch, features, hidden in (
        (20, 8, 16, 32),
        (50, 32, 32, 128),
        (100, 16, 64, 256),
    ):
        out.append(
            Program(
                f"LSTM training step, {steps} of {batch}x{features}-{hidden}",
                lambda a=(steps, batch, features, hidden): lstm_step(
                    jax, size(a[0]), a[1], a[2], size(a[3])
                ),
                tolerance=1e-3,
            )
        )
    for leaves in (1, 40):
        out.append(
            Program(
                f"Adam, 4e6 parameters in {leaves} arrays",
                lambda leaves=leaves: (adam(jax), adam_state(leaves, 4_000_000)),
                tolerance=1e-3,
            )
        )
        out.append(
            Program(
                f"Adam, 4e6 parameters in {leaves} arrays, donated",
                lambda leaves=leaves: (adam(jax), adam_state(leaves, 4_000_000)),
                kind="carry",
                tolerance=1e-3,
            )
        )
    out.append(
        Program(
            "embedding, mean, dense: training step, 64x100 of 1e4x64",
            lambda: (
                jax.value_and_grad(lambda p, i, y: jnp.mean((p["e"][i].mean(1) @ p["w"] - y) ** 2)),
                (
                    {"e": normal(size(10_000), 64), "w": normal(64, 8)},
                    integers(0, size(10_000), 64, size(100)),
                    normal(64, 8, seed=1),
                ),
            ),
            tolerance=1e-3,
        )
    )
    return out
