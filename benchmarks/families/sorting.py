"""Sorting: sort, argsort, top_k, median, quantile, unique."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import BF16, Program, add_to, integers, normal, size, thousands

TARGETS = {"": 6.0}


def programs(jax: Any) -> list[Program]:
    jnp, lax = jax.numpy, jax.lax
    out: list[Program] = []

    add = functools.partial(add_to, out)

    def floats(*shape: int, dtype: Any = np.float32) -> Callable[[], tuple]:
        return lambda: (normal(*map(size, shape), dtype=dtype),)

    for n in (10, 100, 1_000, 10_000, 100_000, 1_000_000):
        add(f"sort {thousands(n)}", jnp.sort, floats(n))
    for n in (100, 10_000, 1_000_000):
        add(f"argsort {thousands(n)}", jnp.argsort, floats(n))
    for label, dtype in (("f64", np.float64), ("bf16", BF16), ("f16", np.float16)):
        add(f"sort 1e5 {label}", jnp.sort, floats(100_000, dtype=dtype), x64=label == "f64")
    for label, dtype in (("i32", np.int32), ("i64", np.int64), ("u8", np.uint8), ("i16", np.int16)):
        info = np.iinfo(dtype)
        ints = lambda dtype=dtype, info=info: (  # noqa: E731
            integers(info.min, info.max, size(100_000), dtype=dtype),
        )
        add(f"sort 1e5 {label}", jnp.sort, ints, x64=label == "i64")
        add(f"argsort 1e5 {label}", jnp.argsort, ints, x64=label == "i64")
    add("argsort 1e5 f64", jnp.argsort, floats(100_000, dtype=np.float64), x64=True)
    add("sort 1e6 sorted", jnp.sort, lambda: (np.sort(normal(size(1_000_000))),))
    add("sort 1e6 of 100 values", jnp.sort, lambda: (integers(0, 100, size(1_000_000)),))
    add("sort 1e5, descending", lambda x: jnp.sort(x, descending=True), floats(100_000))
    for shape in ((1000, 1000), (100_000, 8), (10_000, 33)):
        label = "x".join(thousands(n) for n in shape)
        add(f"sort {label}, rows", lambda x: jnp.sort(x, axis=1), floats(*shape))
        add(f"argsort {label}, rows", lambda x: jnp.argsort(x, axis=1), floats(*shape))
    add("sort 1000x1000, columns", lambda x: jnp.sort(x, axis=0), floats(1000, 1000))
    add("argsort 1000x1000, columns", lambda x: jnp.argsort(x, axis=0), floats(1000, 1000))
    add("lexsort of two keys, 1e5", lambda x, y: jnp.lexsort((x, y)),
        lambda: (normal(size(100_000)), integers(0, 100, size(100_000))))  # fmt: skip
    add("sort pairs by key, 1e5", lambda k, v: lax.sort((k, v), num_keys=1),
        lambda: (integers(0, 1 << 30, size(100_000)), normal(size(100_000))))  # fmt: skip
    add("sort pairs by two keys, 1e5", lambda k, v: lax.sort((k, v), num_keys=2),
        lambda: (integers(0, 100, size(100_000)), normal(size(100_000))))  # fmt: skip
    add("rank: argsort of argsort, 1e5", lambda x: jnp.argsort(jnp.argsort(x)), floats(100_000))
    for k, shape in (
        (1, (1000, 1000)),
        (10, (1000, 1000)),
        (100, (1000, 1000)),
        (10, (1_000_000,)),
        (5, (100_000, 20)),
    ):
        label = "x".join(thousands(n) for n in shape)
        add(
            f"top_k {k} of {label}",
            lambda x, k=k: lax.top_k(x, min(k, x.shape[-1])),
            floats(*shape),
        )
    for name, f in (
        ("median", jnp.median),
        ("quantile 0.9", lambda x, **kw: jnp.quantile(x, 0.9, **kw)),
        (
            "percentile 25, 50, 75",
            lambda x, **kw: jnp.percentile(x, np.float32([25, 50, 75]), **kw),
        ),
    ):
        add(f"{name} of 1e6", f, floats(1_000_000))
        add(f"{name} of 1000x1000, rows", lambda x, f=f: f(x, axis=1), floats(1000, 1000))
    add("median of 1000x1000, columns", lambda x: jnp.median(x, axis=0), floats(1000, 1000))
    add("nanmedian of 1e5", jnp.nanmedian, floats(100_000))
    many = lambda: (integers(0, 1000, size(100_000)),)  # noqa: E731
    add("unique of 1e5, size 1000", lambda x: jnp.unique(x, size=size(1000)), many)
    add(
        "unique with counts of 1e5, size 1000",
        lambda x: jnp.unique(x, size=size(1000), return_counts=True),
        many,
    )
    add(
        "unique with inverse of 1e5, size 1000",
        lambda x: jnp.unique(x, size=size(1000), return_inverse=True),
        many,
    )
    add("unique of 1e5, not jitted", jnp.unique, many, kind="call")
    add("partition 1e5", lambda x: jnp.sort(jnp.partition(x, 20)[:20]), floats(100_000))
    add("gradient of a sort, 1e5", jax.grad(lambda x, w: jnp.sum(jnp.sort(x) * w)),
        lambda: (normal(size(100_000)), normal(size(100_000), seed=1)))  # fmt: skip
    return out
