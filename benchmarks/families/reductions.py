"""Reductions: axis patterns, row lengths from 7 to 1e6, argmax, cumulative operations, normalisation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import BF16, Program, add_to, integers, normal, size, thousands, uniform

TARGETS = {"": 1.5, "argmax, cumsum": 4.0}
TOTAL = 4_000_000
SLOW = "argmax, cumsum"


def layernorm(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def f(x: Any, scale: Any, bias: Any) -> Any:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        var = jnp.mean(centred * centred, axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt(var + 1e-5) * scale + bias

    return f


def _by_rows(jax: Any) -> dict[str, tuple[Callable[..., Any], tuple[int, ...], str]]:
    """Functions of the rows of a matrix, and the row lengths they are measured with."""
    jnp, nn = jax.numpy, jax.nn
    every = (7, 33, 100, 1_000, 10_000, 100_000, 1_000_000)
    some = (7, 100, 1_000, 100_000, 1_000_000)
    return {
        "sum": (lambda x: jnp.sum(x, axis=1), every, ""),
        "max": (lambda x: jnp.max(x, axis=1), some, ""),
        "mean": (lambda x: jnp.mean(x, axis=1), (1_000,), ""),
        "prod": (lambda x: jnp.prod(x, axis=1), (100,), ""),
        "logsumexp": (lambda x: nn.logsumexp(x, axis=1), some, ""),
        "softmax": (lambda x: nn.softmax(x, axis=1), some, ""),
        "log_softmax": (lambda x: nn.log_softmax(x, axis=1), (10, 1_000), ""),
        "gradient of log_softmax": (
            jax.grad(lambda x: jnp.sum(nn.log_softmax(x, axis=1)[:, 0])),
            (10, 1_000),
            "",
        ),
        "variance": (lambda x: jnp.var(x, axis=1), some, ""),
        "standardise": (
            lambda x: (x - jnp.mean(x, 1, keepdims=True)) / (jnp.std(x, 1, keepdims=True) + 1e-6),
            (100, 1_000),
            "",
        ),
        "1-norm": (lambda x: jnp.sum(jnp.abs(x), axis=1), (1_000,), ""),
        "2-norm": (lambda x: jnp.sqrt(jnp.sum(x * x, axis=1)), some, ""),
        "linalg.norm": (lambda x: jnp.linalg.norm(x, axis=1), (1_000,), ""),
        "max-norm": (lambda x: jnp.max(jnp.abs(x), axis=1), (1_000,), ""),
        "normalise": (
            lambda x: x * jax.lax.rsqrt(jnp.sum(x * x, axis=1, keepdims=True)),
            (7, 1_000),
            "",
        ),
        "min and max": (lambda x: (jnp.min(x, 1), jnp.max(x, 1)), (1_000,), ""),
        "any": (lambda x: jnp.any(x > 4, axis=1), (1_000,), ""),
        "count": (lambda x: jnp.sum(x > 0, axis=1), (1_000,), ""),
        "nansum": (lambda x: jnp.nansum(x, axis=1), (1_000,), ""),
        "sum of exp": (lambda x: jnp.sum(jnp.exp(x), axis=1), (7, 1_000), ""),
        "argmax": (lambda x: jnp.argmax(x, axis=1), every, SLOW),
        "argmin": (lambda x: jnp.argmin(x, axis=1), (1_000,), SLOW),
        "cumsum": (lambda x: jnp.cumsum(x, axis=1), some, SLOW),
        "cumprod": (lambda x: jnp.cumprod(x, axis=1), (1_000,), SLOW),
        "cummax": (lambda x: jax.lax.cummax(x, axis=1), (1_000, 1_000_000), SLOW),
        "cumlogsumexp": (lambda x: jax.lax.cumlogsumexp(x, axis=1), (1_000,), SLOW),
    }


def programs(jax: Any) -> list[Program]:
    jnp = jax.numpy
    out: list[Program] = []

    add = functools.partial(add_to, out)

    for name, (f, lengths, group) in _by_rows(jax).items():
        for n in lengths:
            add(
                f"{name}, rows of {thousands(n)}",
                f,
                lambda n=n: (normal(max(1, size(TOTAL // n)), size(n)),),
                group=group,
                tolerance=1e-3 if name.startswith("cum") else None,
            )
    for n in (7, 100, 1_000, 100_000):
        add(
            f"layernorm, rows of {thousands(n)}",
            layernorm(jax),
            lambda n=n: (
                normal(max(1, size(TOTAL // n)), size(n)),
                normal(size(n)),
                normal(size(n)),
            ),
        )
    add(
        "gradient of layernorm, rows of 1000",
        jax.grad(lambda x, s, b, w: jnp.sum(layernorm(jax)(x, s, b) * w), argnums=(0, 1, 2)),
        lambda: (
            normal(size(4000), size(1000)), normal(size(1000)), normal(size(1000), seed=1),
            normal(size(4000), size(1000), seed=2),
        ),
    )  # fmt: skip

    cube = (64, 128, 512)
    for name, f in (("sum", jnp.sum), ("max", jnp.max), ("mean", jnp.mean), ("var", jnp.var)):
        for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
            if name in ("mean", "var") and len(axes) == 1 and axes != (0,):
                continue
            add(
                f"{name} of 64x128x512 over {axes}",
                lambda x, f=f, axes=axes: f(x, axis=axes),
                lambda: (normal(*map(size, cube)),),
            )
    matrix = lambda: (normal(size(4096), size(1024)),)  # noqa: E731
    for axis, where in ((0, "columns"), (1, "rows")):
        for name, f, group in (
            ("softmax", lambda x, axis: jax.nn.softmax(x, axis=axis), ""),
            ("logsumexp", lambda x, axis: jax.nn.logsumexp(x, axis=axis), ""),
            ("variance", lambda x, axis: jnp.var(x, axis=axis), ""),
            ("sum", lambda x, axis: jnp.sum(x, axis=axis), ""),
            ("argmax", lambda x, axis: jnp.argmax(x, axis=axis), SLOW),
            ("cumsum", lambda x, axis: jnp.cumsum(x, axis=axis), SLOW),
        ):
            add(
                f"{name} of 4096x1024, {where}",
                lambda x, f=f, axis=axis: f(x, axis),
                matrix,
                group=group,
                tolerance=1e-3,
            )
    wide = lambda dtype: (  # noqa: E731
        lambda: (uniform(size(1000), size(1000), low=0.5, high=2, dtype=dtype),)
    )
    for label, dtype in (("f64", np.float64), ("bf16", BF16), ("f16", np.float16)):
        for name, f in (
            ("sum of rows", lambda x: jnp.sum(x, axis=1)),
            ("sum of columns", lambda x: jnp.sum(x, axis=0)),
            ("max of rows", lambda x: jnp.max(x, axis=1)),
            ("softmax of rows", lambda x: jax.nn.softmax(x, axis=1)),
        ):
            add(f"{name} of 1000x1000 {label}", f, wide(dtype), x64=label == "f64")
    for label, dtype in (("i32", np.int32), ("i8", np.int8), ("u8", np.uint8)):
        whole = lambda dtype=dtype: (  # noqa: E731
            integers(0, 100, size(2000), size(1000), dtype=dtype),
        )
        add(f"sum of rows of 2000x1000 {label}", lambda x: jnp.sum(x, axis=1), whole)
        add(f"max of all of 2000x1000 {label}", jnp.max, whole)
    for n in (1_000, 1_000_000):
        one = lambda n=n: (normal(size(n)),)  # noqa: E731
        add(f"sum of {thousands(n)}", jnp.sum, one)
        add(f"argmax of {thousands(n)}", jnp.argmax, one, group=SLOW)
        add(f"cumsum of {thousands(n)}", jnp.cumsum, one, group=SLOW, tolerance=1e-3)
        add(f"softmax of {thousands(n)}", jax.nn.softmax, one)
    add(
        "sum of x*y, 4e6",
        lambda x, y: jnp.sum(x * y),
        lambda: (normal(size(TOTAL)), normal(size(TOTAL), seed=1)),
    )
    add(
        "mean squared error and gradient, 4e6",
        jax.value_and_grad(lambda x, y: jnp.mean((x - y) ** 2)),
        lambda: (normal(size(TOTAL)), normal(size(TOTAL), seed=1)),
    )
    add("sum, max, and mean of squares, 4e6", lambda x: (x.sum(), x.max(), (x * x).mean()),
        lambda: (normal(size(TOTAL)),))  # fmt: skip
    return out
