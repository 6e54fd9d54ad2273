"""Broadcast, then reduce: programs whose M x N intermediate should never exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Program, normal, size

TARGETS = {"": 2.0}


def programs(jax: Any) -> list[Program]:
    jnp = jax.numpy
    out: list[Program] = []

    def add(
        name: str,
        f: Callable[..., Any],
        *shapes: tuple[int, ...],
        dtype: Any = np.float32,
        tolerance: float | None = None,
    ) -> None:
        out.append(
            Program(
                name,
                lambda: (
                    f,
                    tuple(
                        normal(*map(size, s), dtype=dtype, seed=i) for i, s in enumerate(shapes)
                    ),
                ),
                x64=dtype == np.float64,
                tolerance=tolerance,
            )
        )  # fmt: skip

    def squares(x: Any, y: Any) -> Any:
        return jnp.sum((x[:, None] - y[None]) ** 2, axis=-1)

    add("pairwise distances, 1000x1000x16", squares, (1000, 16), (1000, 16))
    add("pairwise distances, 2000x2000x3", squares, (2000, 3), (2000, 3))
    add("pairwise distances, 300x300x300", squares, (300, 300), (300, 300))
    add("pairwise distances, 1000x1000x16 f64", squares, (1000, 16), (1000, 16), dtype=np.float64)
    add("pairwise 1-norms, 1000x1000x16",
        lambda x, y: jnp.sum(jnp.abs(x[:, None] - y[None]), axis=-1), (1000, 16), (1000, 16))  # fmt: skip
    add("pairwise distances, from the product, 2000x2000x64",
        lambda x, y: (x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T, (2000, 64), (2000, 64))  # fmt: skip
    add("RBF kernel times a vector, 2000x2000x3",
        lambda x, y, w: jnp.sum(jnp.exp(-0.5 * squares(x, y)) * w, axis=1), (2000, 3), (2000, 3), (2000,))  # fmt: skip
    add(
        "RBF kernel matrix, 1000x1000x8",
        lambda x, y: jnp.exp(-0.5 * squares(x, y)),
        (1000, 8),
        (1000, 8),
    )
    add("sum of a 1-d kernel, 4000x4000",
        lambda x, y: jnp.sum(jnp.exp(-((x[:, None] - y[None]) ** 2)), axis=1), (4000,), (4000,))  # fmt: skip
    add("kernel density, 1e5 points at 100",
        lambda x, y: jnp.mean(jnp.exp(-50 * (x[:, None] - y[None]) ** 2), axis=1), (100,), (100_000,))  # fmt: skip
    add("matrix of products, summed, 3000x3000",
        lambda x, y: jnp.sum(x[:, None] * jnp.abs(y[None]), axis=1), (3000,), (3000,))  # fmt: skip
    add("nearest neighbour, 1000x1000x3",
        lambda x, y: jnp.argmin(squares(x, y), axis=1), (1000, 3), (1000, 3))  # fmt: skip
    add("distance to the nearest, 2000x2000x3",
        lambda x, y: jnp.sqrt(jnp.min(squares(x, y), axis=1)), (2000, 3), (2000, 3))  # fmt: skip
    add("Hausdorff distance, 1000x1000x2",
        lambda x, y: jnp.maximum(squares(x, y).min(1).max(), squares(x, y).min(0).max()), (1000, 2), (1000, 2))  # fmt: skip
    add("k-means assignment, 1e5 x 16 x 4",
        lambda x, c: jnp.argmin(squares(x, c), axis=1), (100_000, 4), (16, 4))  # fmt: skip
    add("logsumexp of a cost, 1000x1000",
        lambda x, y, g: jax.nn.logsumexp(g[None] - (x[:, None] - y[None]) ** 2 / 0.1, axis=1),
        (1000,), (1000,), (1000,))  # fmt: skip

    def forces(x: Any, m: Any) -> Any:
        d = x[None] - x[:, None]
        r2 = jnp.sum(d * d, axis=-1) + 1e-2
        return jnp.sum(d * (m / (r2 * jnp.sqrt(r2)))[..., None], axis=1)

    add("n-body accelerations, 1000", forces, (1000, 3), (1000,), tolerance=1e-3)
    add("n-body accelerations, 2000", forces, (2000, 3), (2000,), tolerance=1e-3)

    def energy(x: Any, m: Any) -> Any:
        d2 = squares(x, x) + 1e-2
        return -jnp.sum(m[:, None] * m / jnp.sqrt(d2)) / 2

    add("n-body energy, 2000", energy, (2000, 3), (2000,), tolerance=1e-3)
    add("gradient of the n-body energy, 1000", jax.grad(energy), (1000, 3), (1000,), tolerance=1e-3)
    add("n-body by vmap, 1000",
        jax.vmap(
            lambda p, x, m: jnp.sum((x - p) * (m / (jnp.sum((x - p) ** 2, -1) + 1e-2) ** 1.5)[:, None], 0),
            (0, None, None),
        ),
        (1000, 3), (1000, 3), (1000,), tolerance=1e-3)  # fmt: skip
    add("gradient of an RBF mean, 1000x1000x3",
        jax.grad(lambda x, y: jnp.mean(jnp.exp(-0.5 * squares(x, y)))), (1000, 3), (1000, 3))  # fmt: skip
    add("histogram by comparisons, 1e5 x 64",
        lambda x, e: jnp.sum(x[:, None] < e[None], axis=0), (100_000,), (64,))  # fmt: skip
    add("ranks by comparisons, 2000", lambda x: jnp.sum(x[:, None] > x[None], axis=1), (2000,))
    add("correlation of columns, 500x100",
        lambda x: jnp.mean((x[:, :, None] - x.mean(0)[:, None]) * (x[:, None] - x.mean(0)), axis=0), (500, 100))  # fmt: skip
    add("polynomial features, summed, 1e5 x 8",
        lambda x, c: jnp.sum(c * x[:, None] ** jnp.arange(8), axis=1), (100_000,), (8,))  # fmt: skip
    return out
