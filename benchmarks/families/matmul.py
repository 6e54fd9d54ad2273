"""Products of matrices: sizes, shapes, batches, transposed operands, epilogues, narrow types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import BF16, Program, integers, normal, size

TARGETS = {"": 1.3}


def programs(jax: Any) -> list[Program]:
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    out: list[Program] = []

    def add(
        name: str, f: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = np.float32
    ) -> None:
        def make() -> Any:
            if np.dtype(dtype).kind in "iu":
                xs = [
                    integers(-100, 100, *map(size, s), dtype=dtype, seed=i)
                    for i, s in enumerate(shapes)
                ]
            else:
                xs = [normal(*map(size, s), dtype=dtype, seed=i) for i, s in enumerate(shapes)]
            return f, tuple(xs)

        out.append(Program(name, make, x64=np.dtype(dtype) == np.float64))

    for dtype, label in ((np.float32, "f32"), (np.float64, "f64")):
        for n in (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048):
            add(f"{n}x{n} {label}", jnp.matmul, (n, n), (n, n), dtype=dtype)
        for m, k, n in (
            (10_000, 64, 64), (10_000, 16, 16), (64, 10_000, 64), (64, 64, 10_000),
            (1024, 32, 1024), (32, 1024, 1024), (1000, 7, 33),
        ):  # fmt: skip
            add(f"{m}x{k} by {k}x{n} {label}", jnp.matmul, (m, k), (k, n), dtype=dtype)
        for n in (16, 128, 1024, 4096):
            add(f"matrix {n}x{n} by vector {label}", jnp.matmul, (n, n), (n,), dtype=dtype)
        for n in (128, 1024, 4096):
            add(f"vector by matrix {n}x{n} {label}", jnp.matmul, (n,), (n, n), dtype=dtype)
        for n in (1_000, 1_000_000):
            add(f"vector by vector, {n} {label}", jnp.dot, (n,), (n,), dtype=dtype)
        for b, n in ((1000, 4), (128, 8), (1000, 16), (64, 32), (16, 128)):
            add(f"{b} of {n}x{n} {label}", jnp.matmul, (b, n, n), (b, n, n), dtype=dtype)
        for n in (64, 512):
            add(f"A^T B, {n} {label}", lambda a, b: a.T @ b, (n, n), (n, n), dtype=dtype)
            add(f"A B^T, {n} {label}", lambda a, b: a @ b.T, (n, n), (n, n), dtype=dtype)
            add(f"A^T B^T, {n} {label}", lambda a, b: a.T @ b.T, (n, n), (n, n), dtype=dtype)
    add("100 matrices 64x64 by vectors", jnp.matvec if hasattr(jnp, "matvec") else
        lambda a, x: jnp.einsum("bij,bj->bi", a, x), (100, 64, 64), (100, 64))  # fmt: skip
    add("shared right operand, 64 of 32x64 by 64x64", jnp.matmul, (64, 32, 64), (64, 64))
    add("scores, 8x8 heads, 128x64", lambda q, k: jnp.einsum("bhid,bhjd->bhij", q, k),
        (8, 8, 128, 64), (8, 8, 128, 64))  # fmt: skip
    add("scores, heads inside, 8x128x8x64", lambda q, k: jnp.einsum("bihd,bjhd->bhij", q, k),
        (8, 128, 8, 64), (8, 128, 8, 64))  # fmt: skip
    add("outer product by matmul, 1000", lambda x, y: x[:, None] @ y[None], (1000,), (1000,))
    add("chain of three, 256", lambda a, b, c: a @ b @ c, (256, 256), (256, 256), (256, 256))
    add("Gram matrix, 2000x128", lambda a: a.T @ a, (2000, 128))
    add("quadratic form, 1024", lambda a, x: x @ a @ x, (1024, 1024), (1024,))
    add(
        "bilinear, 500x64",
        lambda x, w, y: jnp.einsum("bi,ij,bj->b", x, w, y),
        (500, 64),
        (64, 64),
        (500, 64),
    )

    for m, k, n in ((32, 64, 64), (256, 512, 512), (1024, 1024, 256)):
        shapes = ((m, k), (k, n), (n,))
        shape = f"{m}x{k}x{n}"
        add(f"+ bias, {shape}", lambda x, w, b: x @ w + b, *shapes)
        add(f"+ bias, relu, {shape}", lambda x, w, b: nn.relu(x @ w + b), *shapes)
        add(f"+ bias, gelu, {shape}", lambda x, w, b: nn.gelu(x @ w + b), *shapes)
        add(f"+ bias, tanh, {shape}", lambda x, w, b: jnp.tanh(x @ w + b), *shapes)
        add(f"+ bias, softmax, {shape}", lambda x, w, b: nn.softmax(x @ w + b), *shapes)
        add(f"scaled sum, {shape}", lambda x, w, c: 0.5 * (x @ w) + c, (m, k), (k, n), (m, n))
        add(
            f"gradient of a dense layer, {shape}",
            jax.grad(lambda x, w, b: jnp.sum(nn.relu(x @ w + b) ** 2), argnums=(0, 1, 2)),
            *shapes,
        )

    for n in (16, 64, 256, 1024):
        add(f"{n}x{n} bf16", jnp.matmul, (n, n), (n, n), dtype=BF16)
        add(f"{n}x{n} i8 to i32",
            lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), (n, n), (n, n), dtype=np.int8)  # fmt: skip
    add("512x512 bf16 to f32", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
        (512, 512), (512, 512), dtype=BF16)  # fmt: skip
    add("+ bias, relu, 256x512x512 bf16", lambda x, w, b: nn.relu(x @ w + b),
        (256, 512), (512, 512), (512,), dtype=BF16)  # fmt: skip
    add("16 of 128x128 bf16", jnp.matmul, (16, 128, 128), (16, 128, 128), dtype=BF16)
    add("matrix 1024x1024 by vector bf16", jnp.matmul, (1024, 1024), (1024,), dtype=BF16)
    add("256x256 f16", jnp.matmul, (256, 256), (256, 256), dtype=np.float16)
    add("256x256 i32", jnp.matmul, (256, 256), (256, 256), dtype=np.int32)
    out.append(
        Program(
            "256x256 c64",
            lambda: (
                jnp.matmul,
                tuple(
                    (
                        normal(size(256), size(256), seed=i)
                        + 1j * normal(size(256), size(256), seed=9 + i)
                    ).astype(np.complex64)
                    for i in (0, 1)
                ),
            ),
        )
    )
    return out
