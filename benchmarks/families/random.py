"""Random numbers: bits, distributions, permutations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Program, normal, size, thousands, uniform

TARGETS = {"": 4.0}
KEY = np.array([0, 42], np.uint32)


def programs(jax: Any) -> list[Program]:
    jnp, random = jax.numpy, jax.random
    out: list[Program] = []

    def add(name: str, f: Callable[..., Any], *arguments: Callable[[], Any], **kwargs: Any) -> None:
        out.append(Program(name, lambda: (f, (KEY, *(a() for a in arguments))), **kwargs))

    for n in (1_000, 100_000, 4_000_000):
        label = thousands(n)
        shape = lambda n=n: (size(n),)  # noqa: E731
        add(f"bits {label}", lambda k, s=shape: random.bits(k, s(), np.uint32))
        add(f"uniform {label}", lambda k, s=shape: random.uniform(k, s()))
        add(f"normal {label}", lambda k, s=shape: random.normal(k, s()), tolerance=1e-3)
    shape = lambda: (size(1_000_000),)  # noqa: E731
    add("bits u8 1e6", lambda k: random.bits(k, shape(), np.uint8))
    add("bits u64 1e6", lambda k: random.bits(k, shape(), np.uint64), x64=True)
    add("uniform f64 1e6", lambda k: random.uniform(k, shape(), np.float64), x64=True)
    add("normal f64 1e6", lambda k: random.normal(k, shape(), np.float64), x64=True)
    add("normal bf16 1e6", lambda k: random.normal(k, shape(), jnp.bfloat16), tolerance=0.1)
    add("integers 1e6", lambda k: random.randint(k, shape(), 0, 1000))
    add("bernoulli 1e6", lambda k: random.bernoulli(k, 0.3, shape()))
    add("exponential 1e6", lambda k: random.exponential(k, shape()), tolerance=1e-3)
    add("gumbel 1e6", lambda k: random.gumbel(k, shape()), tolerance=1e-3)
    add("laplace 1e6", lambda k: random.laplace(k, shape()), tolerance=1e-3)
    add("logistic 1e6", lambda k: random.logistic(k, shape()), tolerance=1e-3)
    add("cauchy 1e6", lambda k: random.cauchy(k, shape()), tolerance=1e-2)
    add(
        "truncated normal 1e6", lambda k: random.truncated_normal(k, -1, 2, shape()), tolerance=1e-3
    )
    close = {"tolerance": 1e-2, "differing": 0.01}
    add("gamma 1e5", lambda k: random.gamma(k, 2.5, (size(100_000),)), **close)
    add("beta 1e4", lambda k: random.beta(k, 2.0, 3.0, (size(10_000),)), **close)
    add("Dirichlet 1e3 x 10", lambda k: random.dirichlet(k, jnp.ones(10), (size(1000),)), **close)
    add("Poisson 1e5", lambda k: random.poisson(k, 4.0, (size(100_000),)), **close)
    add("binomial 1e4", lambda k: random.binomial(k, 20.0, 0.3, (size(10_000),)), **close)
    add("t 1e4", lambda k: random.t(k, 5.0, (size(10_000),)), **close)
    add("categorical 1e4 of 100", lambda k, x: random.categorical(k, x),
        lambda: normal(size(10_000), 100), differing=0.01)  # fmt: skip
    add("categorical 1e5 of 10, one distribution", lambda k, x: random.categorical(k, x, shape=(size(100_000),)),
        lambda: normal(10), differing=0.01)  # fmt: skip
    add("choice 1e5 of 1e4", lambda k: random.choice(k, size(10_000), (size(100_000),)))
    add("choice 1e4 of 1e4 with weights", lambda k, p: random.choice(k, p.shape[0], (size(10_000),), p=p / p.sum()),
        lambda: uniform(size(10_000), low=0.1, high=1), differing=0.05)  # fmt: skip
    add(
        "choice 1e3 of 1e5 without replacement",
        lambda k: random.choice(k, size(100_000), (size(1000),), replace=False),
    )
    for n in (1_000, 100_000, 1_000_000):
        add(f"permutation {thousands(n)}", lambda k, n=n: random.permutation(k, size(n)))
    add(
        "permutation of rows, 1e4x64",
        lambda k, x: random.permutation(k, x),
        lambda: normal(size(10_000), 64),
    )
    add("independent permutation, 1000x100", lambda k, x: random.permutation(k, x, axis=1, independent=True),
        lambda: normal(size(1000), 100))  # fmt: skip
    add("split in 2", lambda k: random.split(k))
    add("split in 1e4", lambda k: random.split(k, size(10_000)))
    add("fold_in", lambda k: random.fold_in(k, 7))
    add(
        "vmap of normal over 1e3 keys, 100",
        lambda k: jax.vmap(lambda k: random.normal(k, (100,)))(random.split(k, size(1000))),
        tolerance=1e-3,
    )
    add("dropout, 1000x1000", lambda k, x: jnp.where(random.bernoulli(k, 0.9, x.shape), x / 0.9, 0),
        lambda: normal(size(1000), size(1000)))  # fmt: skip
    add(
        "x + 0.1 normal, 1e6",
        lambda k, x: x + 0.1 * random.normal(k, x.shape),
        lambda: normal(size(1_000_000)),
        tolerance=1e-3,
    )
    add("multivariate normal, 1e4 x 10", lambda k, c: random.multivariate_normal(k, jnp.zeros(10), c @ c.T + jnp.eye(10), (size(10_000),), method="cholesky"),
        lambda: normal(10, 10), tolerance=1e-2)  # fmt: skip
    add(
        "Monte Carlo of pi, 1e6",
        lambda k: 4 * jnp.mean(jnp.sum(random.uniform(k, (size(1_000_000), 2)) ** 2, 1) < 1),
    )
    add("random walk by scan, 1000", lambda k: jax.lax.scan(
        lambda s, k: (s + random.normal(k), s), 0.0, random.split(k, size(1000)))[1], tolerance=1e-2)  # fmt: skip
    return out
