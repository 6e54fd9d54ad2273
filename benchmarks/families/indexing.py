"""Indexing: gathers, scatters, segments, one-hot, searches, counts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Program, add_to, integers, normal, permutation, size, uniform

TARGETS = {"": 1.3}


def programs(jax: Any) -> list[Program]:
    jnp, lax = jax.numpy, jax.lax
    out: list[Program] = []

    add = functools.partial(add_to, out)

    # Gathers.
    take = lambda x, i: x[i]  # noqa: E731
    for n, m, label in (
        (10_000, 1_000_000, "1e6 of 1e4"),
        (1_000_000, 1_000_000, "1e6 of 1e6"),
        (100, 1_000, "1e3 of 100"),
    ):
        add(
            f"gather {label}",
            take,
            lambda n=n, m=m: (normal(size(n)), integers(0, size(n), size(m))),
        )
    add(
        "gather 1e6 of 1e4, negative indices",
        take,
        lambda: (normal(size(10_000)), integers(-32, 32, size(1_000_000))),
    )
    add("gather 1e6 of 1e4, clipped",
        lambda x, i: jnp.take(x, i, mode="clip"), lambda: (normal(size(10_000)), integers(0, 20_000, size(1_000_000))))  # fmt: skip
    add("gather 1e6 of 1e4, filled",
        lambda x, i: jnp.take(x, i, mode="fill", fill_value=0), lambda: (normal(size(10_000)), integers(0, 20_000, size(1_000_000))))  # fmt: skip
    for d in (4, 64, 512):
        add(
            f"gather rows, 2e4 of 1e4x{d}",
            take,
            lambda d=d: (normal(size(10_000), d), integers(0, size(10_000), size(20_000))),
        )
    add(
        "gather rows, 1e5 of 1e4x64",
        take,
        lambda: (normal(size(10_000), 64), integers(0, size(10_000), size(100_000))),
    )
    add(
        "gather columns, 500 of 1000x1000",
        lambda x, i: x[:, i],
        lambda: (normal(size(1000), size(1000)), integers(0, size(1000), size(500))),
    )
    add("gather x[i, j], 1e6 of 1000x1000", lambda x, i, j: x[i, j],
        lambda: (normal(size(1000), size(1000)), integers(0, size(1000), size(1_000_000)), integers(0, size(1000), size(1_000_000), seed=1)))  # fmt: skip
    add("gather and compute, 1e6 of 1e4", lambda x, i: jnp.sum(jnp.exp(x[i]) * 2),
        lambda: (normal(size(10_000)), integers(0, size(10_000), size(1_000_000))), tolerance=1e-3)  # fmt: skip
    add("permute 1e6", take, lambda: (normal(size(1_000_000)), permutation(size(1_000_000))))
    add("take_along_axis 1000x1000, rows", lambda x, i: jnp.take_along_axis(x, i, 1),
        lambda: (normal(size(1000), size(1000)), integers(0, size(1000), size(1000), size(1000))))  # fmt: skip
    add("take_along_axis 1000x1000, columns", lambda x, i: jnp.take_along_axis(x, i, 0),
        lambda: (normal(size(1000), size(1000)), integers(0, size(1000), size(1000), size(1000))))  # fmt: skip
    add("take_along_axis, one of each row, 1e5x10", lambda x, i: jnp.take_along_axis(x, i, 1),
        lambda: (normal(size(100_000), 10), integers(0, 10, size(100_000), 1)))  # fmt: skip
    add("batched gather by vmap, 100 x 1000 of 1000", jax.vmap(take),
        lambda: (normal(100, size(1000)), integers(0, size(1000), 100, size(1000))))  # fmt: skip
    add("linear interpolation, 1e5 in 1e3", lambda x, p, v: jnp.interp(x, p, v),
        lambda: (uniform(size(100_000)), np.linspace(-1, 1, size(1000), dtype=np.float32), normal(size(1000))), tolerance=1e-3)  # fmt: skip
    add(
        "bilinear samples, 1e5 of 500x500",
        _bilinear(jax),
        lambda: (
            normal(size(500), size(500)),
            uniform(size(100_000), 2, low=1, high=size(500) - 2),
        ),
        tolerance=1e-3,
    )
    add("gradient of a gather of rows, 1e4 of 1e4x64",
        jax.grad(lambda x, i, w: jnp.sum(x[i] * w)),
        lambda: (normal(size(10_000), 64), integers(0, size(10_000), size(10_000)), normal(size(10_000), 64, seed=1)))  # fmt: skip

    # Scatters.
    into = lambda n, m: (  # noqa: E731
        lambda: (normal(size(n)), integers(0, size(n), size(m)), normal(size(m), seed=1))
    )
    for n, m, label in (
        (10_000, 1_000_000, "1e6 into 1e4"),
        (1_000_000, 1_000_000, "1e6 into 1e6"),
        (100, 100_000, "1e5 into 100"),
        (100, 1000, "1e3 into 100"),
    ):
        add(f"scatter-add {label}", lambda x, i, u: x.at[i].add(u), into(n, m), tolerance=1e-3)
    add("scatter-max 1e6 into 1e4", lambda x, i, u: x.at[i].max(u), into(10_000, 1_000_000))
    add(
        "scatter-multiply 1e5 into 1e5", lambda x, i, u: x.at[i].multiply(u), into(100_000, 100_000)
    )
    add("scatter 1e6, a permutation", lambda x, i, u: x.at[i].set(u),
        lambda: (normal(size(1_000_000)), permutation(size(1_000_000)), normal(size(1_000_000), seed=1)))  # fmt: skip
    add("scatter-add of rows, 2e4 into 1e3x64", lambda x, i, u: x.at[i].add(u),
        lambda: (normal(size(1000), 64), integers(0, size(1000), size(20_000)), normal(size(20_000), 64)), tolerance=1e-3)  # fmt: skip
    add("scatter-add x[i, j], 1e6 into 1000x1000", lambda x, i, j, u: x.at[i, j].add(u),
        lambda: (normal(size(1000), size(1000)), integers(0, size(1000), size(1_000_000)), integers(0, size(1000), size(1_000_000), seed=1), normal(size(1_000_000))), tolerance=1e-3)  # fmt: skip
    add("x[0].set, 1e6", lambda x: x.at[0].set(1.0), lambda: (normal(size(1_000_000)),))
    add(
        "x[5].add(1), 1e6, donated",
        lambda x: x.at[5].add(1.0),
        lambda: (normal(size(1_000_000)),),
        kind="carry",
    )
    add(
        "x[i].add(1), 1e3 of 1e6, donated",
        lambda x, i: x.at[i].add(1.0),
        lambda: (normal(size(1_000_000)), integers(0, size(1_000_000), size(1000))),
        kind="carry",
    )
    add("x[100:200].set, 1e6", lambda x: x.at[10:20].set(1.0), lambda: (normal(size(1_000_000)),))
    add(
        "x[:, 3].add, 1000x1000",
        lambda x, u: x.at[:, 3].add(u),
        lambda: (normal(size(1000), size(1000)), normal(size(1000))),
    )

    # Segments, one-hot, searches and counts.
    for n, m, label in (
        (1_000_000, 1000, "1e6 in 1e3"),
        (1_000_000, 100_000, "1e6 in 1e5"),
        (1000, 10, "1e3 in 10"),
    ):
        add(f"segment_sum {label}", lambda x, i, m=m: jax.ops.segment_sum(x, i, size(m)),
            lambda n=n, m=m: (normal(size(n)), integers(0, size(m), size(n))), tolerance=1e-3)  # fmt: skip
    add("segment_sum 1e6 in 1e3, sorted", lambda x, i: jax.ops.segment_sum(x, i, size(1000), indices_are_sorted=True),
        lambda: (normal(size(1_000_000)), np.sort(integers(0, size(1000), size(1_000_000)))), tolerance=1e-3)  # fmt: skip
    add("segment_sum of rows, 2e4x64 in 1e3", lambda x, i: jax.ops.segment_sum(x, i, size(1000)),
        lambda: (normal(size(20_000), 64), integers(0, size(1000), size(20_000))), tolerance=1e-3)  # fmt: skip
    add("segment_max 1e6 in 1e3", lambda x, i: jax.ops.segment_max(x, i, size(1000)),
        lambda: (normal(size(1_000_000)), integers(0, size(1000), size(1_000_000))))  # fmt: skip
    add("segment mean, 1e5 in 1e3",
        lambda x, i: jax.ops.segment_sum(x, i, size(1000)) / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(x), i, size(1000)), 1),
        lambda: (normal(size(100_000)), integers(0, size(1000), size(100_000))), tolerance=1e-3)  # fmt: skip
    add("message passing, 2e4 edges, 1e3 nodes x 32",
        lambda x, s, t: jax.ops.segment_sum(jnp.tanh(x[s] - x[t]), t, x.shape[0]),
        lambda: (normal(size(1000), 32), integers(0, size(1000), size(20_000)), integers(0, size(1000), size(20_000), seed=1)), tolerance=1e-3)  # fmt: skip
    add("sparse matrix by vector, 1e6 entries of 1e4",
        lambda v, r, c, x: jax.ops.segment_sum(v * x[c], r, x.shape[0]),
        lambda: (normal(size(1_000_000)), np.sort(integers(0, size(10_000), size(1_000_000))), integers(0, size(10_000), size(1_000_000), seed=1), normal(size(10_000))), tolerance=1e-3)  # fmt: skip
    add(
        "one-hot 1e5 x 100",
        lambda i: jax.nn.one_hot(i, 100),
        lambda: (integers(0, 100, size(100_000)),),
    )
    add("one-hot by matrix, 2e4 x 100 x 64", lambda i, w: jax.nn.one_hot(i, 100) @ w,
        lambda: (integers(0, 100, size(20_000)), normal(100, 64)))  # fmt: skip
    add("cross entropy with labels, 2e4x100",
        lambda x, y: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1)),
        lambda: (normal(size(20_000), 100), integers(0, 100, size(20_000))))  # fmt: skip
    for n, m, label in (
        (1_000, 100_000, "1e5 in 1e3"),
        (1_000_000, 100_000, "1e5 in 1e6"),
        (100, 1_000, "1e3 in 100"),
    ):
        add(f"searchsorted {label}", lambda x, v: jnp.searchsorted(x, v),
            lambda n=n, m=m: (np.sort(normal(size(n))), normal(size(m), seed=1)))  # fmt: skip
    add(
        "digitize 1e5 in 100",
        lambda v, x: jnp.digitize(v, x),
        lambda: (normal(size(100_000)), np.sort(normal(100))),
    )
    for m in (100, 100_000):
        add(
            f"bincount 1e6 in {m}",
            lambda i, m=m: jnp.bincount(i, length=m),
            lambda m=m: (integers(0, m, size(1_000_000)),),
        )
    add("weighted bincount 1e6 in 1000", lambda i, w: jnp.bincount(i, w, length=1000),
        lambda: (integers(0, 1000, size(1_000_000)), normal(size(1_000_000))), tolerance=1e-3)  # fmt: skip
    add(
        "histogram 1e6 in 50",
        lambda x: jnp.histogram(x, 50)[0],
        lambda: (normal(size(1_000_000)),),
        differing=0.5,
        tolerance=1e-4,
    )
    add(
        "nonzero, size 1000, 1e5",
        lambda x: jnp.nonzero(x > 2, size=1000, fill_value=0)[0],
        lambda: (normal(size(100_000)),),
    )
    add(
        "boolean mask by where, 1e6",
        lambda x: jnp.where(x > 0, x, 0).sum(),
        lambda: (normal(size(1_000_000)),),
        tolerance=1e-3,
    )
    add(
        "dynamic rows, x[i] of 1e4x1e3, i traced",
        lambda x, i: x[i[0]],
        lambda: (normal(size(10_000), size(1000)), integers(0, 30, 1)),
    )
    add("dynamic_update_index, 1e3x1e3, donated",
        lambda x, i: lax.dynamic_update_index_in_dim(x, x[0], i[0], 0), lambda: (normal(size(1000), size(1000)), integers(0, 30, 1)), kind="carry")  # fmt: skip
    return out


def _bilinear(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def f(image: Any, at: Any) -> Any:
        corner = jnp.floor(at).astype(jnp.int32)
        (u, v), (i, j) = (at - corner).T, corner.T
        return (
            image[i, j] * (1 - u) * (1 - v) + image[i + 1, j] * u * (1 - v)
            + image[i, j + 1] * (1 - u) * v + image[i + 1, j + 1] * u * v
        )  # fmt: skip

    return f
