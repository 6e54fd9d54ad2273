"""Movement of data: transposes, concatenations, pads, rolls, slices, stencils, outer operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import BF16, Program, integers, normal, size

TARGETS = {"": 1.5}


def programs(jax: Any) -> list[Program]:
    jnp, lax = jax.numpy, jax.lax
    out: list[Program] = []

    def add(
        name: str, f: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = np.float32
    ) -> None:
        def make() -> Any:
            if np.dtype(dtype).kind in "iu":
                xs = [
                    integers(0, 100, *map(size, s), dtype=dtype, seed=i)
                    for i, s in enumerate(shapes)
                ]
            else:
                xs = [normal(*map(size, s), dtype=dtype, seed=i) for i, s in enumerate(shapes)]
            return f, tuple(xs)

        out.append(Program(name, make, x64=np.dtype(dtype) == np.float64))

    for label, dtype in (
        ("f32", np.float32),
        ("f64", np.float64),
        ("bf16", BF16),
        ("u8", np.uint8),
    ):
        add(f"transpose 3000x2500 {label}", lambda x: x.T.copy(), (3000, 2500), dtype=dtype)
    add("transpose 256x256", lambda x: x.T.copy(), (256, 256))
    add("transpose 1e6x3", lambda x: x.T.copy(), (1_000_000, 3))
    add("transpose 3x1e6", lambda x: x.T.copy(), (3, 1_000_000))
    add("transpose + 1, 2048x2048", lambda x: x.T + 1, (2048, 2048))
    add("x + transpose, 2048x2048", lambda x: x + x.T, (2048, 2048))
    for p in ((0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0)):
        add(
            f"transpose 100x200x150 to {p}",
            lambda x, p=p: jnp.transpose(x, p).copy(),
            (100, 200, 150),
        )
    add(
        "NHWC to NCHW, 16x64x64x32",
        lambda x: jnp.transpose(x, (0, 3, 1, 2)).copy(),
        (16, 64, 64, 32),
    )
    add("split heads, 16x256x512", lambda x: x.reshape(*x.shape[:2], 4, -1).transpose(0, 2, 1, 3).copy(),
        (16, 256, 512))  # fmt: skip

    add(
        "concatenate 2 x 2048x1024, rows",
        lambda x, y: jnp.concatenate([x, y]),
        (2048, 1024),
        (2048, 1024),
    )
    add(
        "concatenate 2 x 2048x1024, columns",
        lambda x, y: jnp.concatenate([x, y], 1),
        (2048, 1024),
        (2048, 1024),
    )
    add("concatenate 8 x 1e5", lambda *x: jnp.concatenate(x), *[(100_000,)] * 8)
    add("concatenate 3 x 100x7, columns", lambda *x: jnp.concatenate(x, 1), *[(100, 7)] * 3)
    add("stack 3 x 1e6, last axis", lambda *x: jnp.stack(x, -1), *[(1_000_000,)] * 3)
    add("concatenate of computed parts, 2 x 1e6",
        lambda x, y: jnp.concatenate([jnp.exp(x), x * y]), (1_000_000,), (1_000_000,))  # fmt: skip

    add("pad 2000x1000 by 1", lambda x: jnp.pad(x, 1), (2000, 1000))
    add("pad 2000x1000 by edges", lambda x: jnp.pad(x, 2, mode="edge"), (2000, 1000))
    add("pad 2000x1000, reflected", lambda x: jnp.pad(x, 2, mode="reflect"), (2000, 1000))
    add(
        "pad 1000x1000 inside",
        lambda x: lax.pad(x, np.float32(0), [(0, 0, 1), (0, 0, 1)]),
        (1000, 1000),
    )
    add("pad 2000x1000 and scale", lambda x: jnp.pad(x, 1) * 2 + 1, (2000, 1000))

    add("roll 1e6", lambda x: jnp.roll(x, 1), (1_000_000,))
    add("roll 2000x1000, rows", lambda x: jnp.roll(x, 7, axis=0), (2000, 1000))
    add("roll 2000x1000, columns", lambda x: jnp.roll(x, 7, axis=1), (2000, 1000))
    add("roll 2000x1000, both", lambda x: jnp.roll(x, (3, 5), axis=(0, 1)), (2000, 1000))
    add(
        "roll 1e6 by a traced number",
        lambda x, n: jnp.roll(x, n[0]),
        (1_000_000,),
        (1,),
        dtype=np.int32,
    )
    add("flip 2000x1000, rows", lambda x: x[::-1], (2000, 1000))
    add("flip 2000x1000, columns", lambda x: x[:, ::-1], (2000, 1000))
    add("x[::2], 4e6", lambda x: x[::2], (4_000_000,))
    add("x[1::3], 4e6", lambda x: x[1::3], (4_000_000,))
    add("x[::2, ::2], 2000x2000", lambda x: x[::2, ::2], (2000, 2000))
    add("x[:, 3], 2000x2000", lambda x: x[:, 3], (2000, 2000))
    add("x[10:-10, 10:-10], 2000x2000", lambda x: x[10:-10, 10:-10], (2000, 2000))
    add("dynamic slice 500x500 of 2000x2000",
        lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (size(500) - 9, size(500) - 9)), (2000, 2000), (2,), dtype=np.int32)  # fmt: skip
    add("dynamic update 500x500 in 2000x2000",
        lambda x, y: lax.dynamic_update_slice(x, y, (7, 9)), (2000, 2000), (500, 500))  # fmt: skip
    add("even minus odd, 4e6", lambda x: x[::2] - x[1::2], (4_000_000,))

    add("stencil of 3, 4e6", lambda x: x[:-2] - 2 * x[1:-1] + x[2:], (4_000_000,))
    add(
        "stencil of 3 by rolls, 4e6",
        lambda x: jnp.roll(x, 1) - 2 * x + jnp.roll(x, -1),
        (4_000_000,),
    )
    add("differences, 4e6", lambda x: jnp.diff(x), (4_000_000,))
    add("stencil of 5, 2000x2000",
        lambda x: x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1], (2000, 2000))  # fmt: skip

    def laplace(x: Any) -> Any:
        return (
            jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4 * x
        )

    add("stencil of 5 by rolls, 2000x2000", laplace, (2000, 2000))
    add("two steps of a stencil by rolls, 1000x1000", lambda x: laplace(laplace(x)), (1000, 1000))
    add("stencil of 5, padded, 2000x2000",
        lambda x: (lambda p: p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)(jnp.pad(x, 1)), (2000, 2000))  # fmt: skip

    def blur(x: Any) -> Any:
        rows, columns = x.shape[0] - 2, x.shape[1] - 2
        return sum(x[i : i + rows, j : j + columns] for i in range(3) for j in range(3)) / 9

    add("stencil of 9, 2000x2000", blur, (2000, 2000))

    def seven(x: Any) -> Any:
        c = slice(1, -1)
        return (
            x[2:, c, c] + x[:-2, c, c] + x[c, 2:, c] + x[c, :-2, c] + x[c, c, 2:] + x[c, c, :-2]
            - 6 * x[c, c, c]
        )  # fmt: skip

    add("stencil of 7, 150x150x150", seven, (150, 150, 150))
    add("central differences, 2000x2000",
        lambda x: ((x[2:, 1:-1] - x[:-2, 1:-1]) / 2, (x[1:-1, 2:] - x[1:-1, :-2]) / 2), (2000, 2000))  # fmt: skip
    add("2x2 mean pooling, 2000x2000",
        lambda x: x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2).mean((1, 3)), (2000, 2000))  # fmt: skip
    add("moving maximum of 5, 1e6",
        lambda x: jnp.maximum(jnp.maximum(jnp.maximum(x[:-4], x[1:-3]), jnp.maximum(x[2:-2], x[3:-1])), x[4:]), (1_000_000,))  # fmt: skip
    add("windows of 5, maximum, 1e6", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (5,), (1,), "VALID"),
        (1_000_000,))  # fmt: skip

    add("outer product, 2000x2000", lambda x, y: x[:, None] * y[None], (2000,), (2000,))
    add("outer difference, 2000x2000", lambda x, y: jnp.abs(x[:, None] - y[None]), (2000,), (2000,))
    add("outer of 3, 150x150x150",
        lambda x, y, z: x[:, None, None] + y[None, :, None] * z, (150,), (150,), (150,))  # fmt: skip
    add(
        "outer exp, 1000x1000",
        lambda x, y: jnp.exp(-((x[:, None] - y[None]) ** 2)),
        (1000,),
        (1000,),
    )
    add(
        "add rows and columns, 2000x2000",
        lambda x, r, c: x + r + c[:, None],
        (2000, 2000),
        (2000,),
        (2000,),
    )
    add(
        "broadcast to 1000x1000x4",
        lambda x: jnp.broadcast_to(x[..., None], (*x.shape, 4)).copy(),
        (1000, 1000),
    )
    add("tile 1000 by 1000", lambda x: jnp.tile(x, 1000), (1000,))
    add("repeat 1e6 by 4", lambda x: jnp.repeat(x, 4), (1_000_000,))
    add("repeat rows 1000x1000 by 3", lambda x: jnp.repeat(x, 3, axis=0), (1000, 1000))
    add("lower triangle, 2000x2000", lambda x: jnp.tril(x), (2000, 2000))
    add("causal mask, 2000x2000",
        lambda x: jnp.where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[1]), x, -1e9), (2000, 2000))  # fmt: skip
    add("arange 4e6", lambda x: jnp.arange(size(4_000_000)) * x[0], (1,))
    add("diagonal, 2000x2000", lambda x: jnp.diagonal(x) * 2, (2000, 2000))
    add("reshape and add, 2000x2000", lambda x: x.reshape(-1) + 1, (2000, 2000))
    return out
