"""Loops: scan and while with small bodies, many scalar carries, small products, updates in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Program, add_to, integers, normal, size, uniform

TARGETS = {"": 1.5}


def programs(jax: Any) -> list[Program]:
    jnp, lax = jax.numpy, jax.lax
    out: list[Program] = []

    add = functools.partial(add_to, out)

    def vector(n: int, seed: int = 0) -> Callable[[], tuple]:
        return lambda: (uniform(size(n), low=0.1, high=1, seed=seed),)

    # Small bodies.
    for n in (100, 10_000):
        add(
            f"scan: running sum, {n}",
            lambda x: lax.scan(lambda c, a: (c + a, c), 0.0, x),
            vector(n),
            tolerance=1e-3,
        )
    add("scan: exponential average, 1e5",
        lambda x: lax.scan(lambda c, a: ((0.9 * c + 0.1 * a),) * 2, x[0], x)[1], vector(100_000))  # fmt: skip
    add(
        "scan: no outputs, 1e5",
        lambda x: lax.scan(lambda c, a: (c * 0.99 + a, None), x[0], x)[0],
        vector(100_000),
    )
    add("scan: logistic map, 1000",
        lambda x: lax.scan(lambda c, _: (2.9 * c * (1 - c), c), x, None, length=1000), vector(16))  # fmt: skip
    add("scan: vector of 1000, 1000 steps",
        lambda x: lax.scan(lambda c, _: (jnp.sin(c) * 0.5 + x, None), x, None, length=size(1000))[0], vector(1000))  # fmt: skip
    add("scan: reversed sum, 1e4",
        lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x, reverse=True), vector(10_000))  # fmt: skip
    add("scan: pair of outputs, 1e4",
        lambda x: lax.scan(lambda c, a: (c * 0.9 + a, (c, c * a)), 0.0, x), vector(10_000))  # fmt: skip
    add("gradient of a scan, 1000",
        jax.grad(lambda x: lax.scan(lambda c, a: (jnp.sin(c * a), c), 0.5, x)[1].sum()),
        lambda: (uniform(size(1000), low=0.9, high=1.3),))  # fmt: skip
    add("gradient of a scan of vectors, 200 x 64",
        jax.grad(lambda x: lax.scan(lambda c, a: (jnp.tanh(c + a), None), x[0], x)[0].sum()),
        lambda: (normal(size(200), 64),))  # fmt: skip
    add("fori: integers, 1e5", lambda x: lax.fori_loop(0, 100_000, lambda i, c: (c * 5 + i) % 1013, x[0]),
        lambda: (integers(0, 9, 1),))  # fmt: skip
    add("while: Newton's square root, scalar",
        lambda x: lax.while_loop(lambda s: jnp.abs(s * s - x[0]) > 1e-3, lambda s: 0.5 * (s + x[0] / s), x[0] * 9),
        vector(1))  # fmt: skip
    add("while: greatest common divisor",
        lambda x: lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (x[0], x[1])),
        lambda: (np.array([1134903170, 701408733], np.int32),))  # fmt: skip
    add("while: Collatz lengths, 1000 numbers",
        jax.vmap(lambda n: lax.while_loop(lambda s: s[0] > 1,
            lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]),
        lambda: (np.arange(1, size(1000) + 1, dtype=np.int32),))  # fmt: skip

    def mandelbrot(c: Any) -> Any:
        def body(s: Any) -> Any:
            z, n, i = s
            inside = jnp.abs(z) <= 2
            return jnp.where(inside, z * z + c, z), n + inside, i + 1

        return lax.while_loop(
            lambda s: s[2] < 50, body, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32), 0)
        )[1]

    add("while: Mandelbrot set, 200x200, 50 steps", mandelbrot,
        lambda: ((np.linspace(-2, 1, size(200), dtype=np.float32)
            + 1j * np.linspace(-1.5, 1.5, size(200), dtype=np.float32)[:, None]).astype(np.complex64),),
        differing=0.01)  # fmt: skip
    add("while: bisection, 1000 roots, 40 steps",
        lambda x: lax.fori_loop(0, 40, lambda i, s: (
            lambda m: (jnp.where(m**3 + m < x, m, s[0]), jnp.where(m**3 + m < x, s[1], m)))(0.5 * (s[0] + s[1])),
            (jnp.zeros_like(x), jnp.ones_like(x))), vector(1000))  # fmt: skip

    # Many scalar carries.
    for k in (16, 60):

        def many(x: Any, k: int = k) -> Any:
            def body(state: Any, _: Any) -> Any:
                return tuple(
                    0.5 * a + 0.5 * b for a, b in zip(state, state[1:] + state[:1], strict=True)
                ), None

            return lax.scan(body, tuple(x[i] for i in range(k)), None, length=1000)[0]

        add(f"scan: {k} scalar carries, 1000 steps", many, lambda k=k: (uniform(k),))

        def many_while(x: Any, k: int = k) -> Any:
            def body(state: Any) -> Any:
                n, *s = state
                return (
                    n + 1,
                    *(jnp.sin(a) + 0.1 * b for a, b in zip(s, s[1:] + s[:1], strict=True)),
                )

            return lax.while_loop(lambda s: s[0] < 200, body, (0, *(x[i] for i in range(k))))

        add(
            f"while: {k} scalar carries with sine, 200 steps", many_while, lambda k=k: (uniform(k),)
        )

    def lorenz(x: Any) -> Any:
        def field(s: Any) -> Any:
            a, b, c = s
            return 10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c

        def body(s: Any, _: Any) -> Any:
            add = lambda s, k, h: tuple(u + h * v for u, v in zip(s, k, strict=True))  # noqa: E731
            k1 = field(s)
            k2 = field(add(s, k1, 5e-4))
            k3 = field(add(s, k2, 5e-4))
            k4 = field(add(s, k3, 1e-3))
            for k, w in ((k1, 1), (k2, 2), (k3, 2), (k4, 1)):
                s = add(s, k, 1e-3 * w / 6)
            return s, s[0]

        return lax.scan(body, (x[0], x[1], x[2]), None, length=1000)

    add(
        "scan: Runge-Kutta of the Lorenz system, 1000 steps",
        lorenz,
        lambda: (uniform(3),),
        tolerance=1e-2,
    )

    # Small products.
    for n in (4, 8, 32, 64):
        add(f"scan: x = tanh(A x), {n}x{n}, 1000 steps",
            lambda a, x: lax.scan(lambda c, _: (jnp.tanh(a @ c), None), x, None, length=1000)[0],
            lambda n=n: (_rotation(n) * np.float32(1.1), normal(n)), tolerance=1e-2)  # fmt: skip
        add(f"fori: powers of a matrix, {n}x{n}, 200 steps",
            lambda a: lax.fori_loop(0, 200, lambda i, c: (a @ c) * 0.999, a),
            lambda n=n: (_rotation(n),), tolerance=1e-2)  # fmt: skip
    add("scan: recurrent network, 100 x 16x32-64",
        lambda xs, w, u: lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u),) * 2,
            jnp.zeros((16, 64), jnp.float32), xs)[1],
        lambda: (normal(size(100), 16, 32), normal(32, 64) * np.float32(0.1), normal(64, 64) * np.float32(0.1)))  # fmt: skip
    add("scan: Kalman filter, 4 states, 200 steps",
        _kalman(jax), lambda: (normal(size(200)), _rotation(4)), tolerance=1e-2)  # fmt: skip

    # Updates in place.
    add("fori: x[i] = f(x[i-1]), 1e4",
        lambda x: lax.fori_loop(1, x.shape[0], lambda i, x: x.at[i].set(x[i - 1] * 0.5 + x[i]), x), vector(10_000))  # fmt: skip
    add("fori: rows of a table, 1000x1000",
        lambda x: lax.fori_loop(1, x.shape[0], lambda i, x: x.at[i].set(x[i] + 0.5 * x[i - 1]), x),
        lambda: (normal(size(1000), size(1000)),))  # fmt: skip
    add("fori: bins x[i[k]] += 1, 1e5",
        lambda x, i: lax.fori_loop(0, i.shape[0], lambda k, x: x.at[i[k]].add(1.0), x),
        lambda: (np.zeros(100, np.float32), integers(0, 100, size(100_000))))  # fmt: skip
    add("scan: ring buffer of 64, 1e4",
        lambda x: lax.scan(lambda s, a: ((s[0].at[s[1] % 64].set(a), s[1] + 1), s[0][(s[1] + 7) % 64]),
            (jnp.zeros(64), 0), x)[1], vector(10_000))  # fmt: skip
    add("fori: sieve of primes, 1e5", _sieve(jax), lambda: (np.int32(0),))
    add("scan: edit distance, 300x300", _edit_distance(jax),
        lambda: (integers(0, 4, size(300)), integers(0, 4, size(300), seed=1)))  # fmt: skip
    add("fori: dynamic slices, 1000 of 64",
        lambda x: lax.fori_loop(0, 1000, lambda i, c: c + lax.dynamic_slice(x, (i,), (64,)), jnp.zeros(64)),
        lambda: (normal(2000),))  # fmt: skip

    # Stencils, and control flow inside.
    add("fori: heat equation, 256x256, 100 steps",
        lambda x: lax.fori_loop(0, 100, lambda i, x: x + 0.1 * (
            jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4 * x), x),
        lambda: (normal(size(256), size(256)),))  # fmt: skip
    add("fori: heat equation by slices, 1e5, 100 steps",
        lambda x: lax.fori_loop(0, 100, lambda i, x: x.at[1:-1].add(0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])), x),
        vector(100_000))  # fmt: skip
    add(
        "fori: game of life, 128x128, 50 steps",
        _life(jax),
        lambda: (integers(0, 2, size(128), size(128)),),
    )
    add(
        "scan: leapfrog of 100 bodies, 20 steps",
        _leapfrog(jax),
        lambda: (normal(size(100), 3),),
        tolerance=1e-2,
    )
    add("scan with a conditional, 1e4",
        lambda x: lax.scan(lambda c, a: (lax.cond(a > 0.5, lambda c: c * 0.9, lambda c: c + a, c), c), 0.0, x),
        vector(10_000), tolerance=1e-3)  # fmt: skip
    add("scan with a switch, 1e4",
        lambda x, i: lax.scan(lambda c, a: (lax.switch(
            a[1], [lambda c: c * 0.9, lambda c: c + 0.1, lambda c: -c, jnp.sin], c) + a[0] * 0.1, c), 0.5, (x, i)),
        lambda: (uniform(size(10_000)), integers(0, 4, size(10_000))), tolerance=1e-2)  # fmt: skip
    add("map over 1000 rows of 100", lambda x: lax.map(lambda r: jnp.sum(jnp.exp(r)), x),
        lambda: (normal(size(1000), 100),))  # fmt: skip
    add("associative scan, linear recurrence, 1e5",
        lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)),
        lambda: (uniform(size(100_000), low=0.5, high=0.9), normal(size(100_000))), tolerance=1e-3)  # fmt: skip
    add("nested fori, 100 x 100",
        lambda x: lax.fori_loop(0, 100, lambda i, c: lax.fori_loop(0, 100, lambda j, c: c * 0.99 + i * j * 1e-4, c), x[0]),
        vector(1))  # fmt: skip
    return out


def _rotation(n: int) -> np.ndarray:
    """An orthogonal matrix, so that what it is applied to again and again stays as large as it is."""
    return np.linalg.qr(normal(n, n, dtype=np.float64))[0].astype(np.float32)


def _kalman(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def f(ys: Any, a: Any) -> Any:
        eye = jnp.eye(4, dtype=jnp.float32)

        def body(state: Any, y: Any) -> Any:
            x, p = state
            x, p = a @ x, a @ p @ a.T + 0.1 * eye
            gain = p[0] / (p[0, 0] + 1.0)
            return (x + gain * (y - x[0]), p - gain[:, None] * p[0]), x

        return jax.lax.scan(body, (jnp.zeros(4), eye), ys)[1]

    return f


def _sieve(jax: Any) -> Callable[..., Any]:
    jnp, lax = jax.numpy, jax.lax
    n = 100_000

    def f(zero: Any) -> Any:
        def outer(i: Any, prime: Any) -> Any:
            def strike(s: Any) -> Any:
                j, prime = s
                return j + i, prime.at[j].set(False)

            start = (i * i, prime)
            return lax.cond(
                prime[i],
                lambda s: lax.while_loop(lambda s: s[0] < n, strike, s)[1],
                lambda s: s[1],
                start,
            )

        return lax.fori_loop(2, 317, outer, jnp.ones(n, bool).at[:2].set(False) & (zero == 0))

    return f


def _edit_distance(jax: Any) -> Callable[..., Any]:
    jnp, lax = jax.numpy, jax.lax

    def f(a: Any, b: Any) -> Any:
        def row(previous: Any, letter: Any) -> Any:
            def cell(left: Any, args: Any) -> Any:
                up, diagonal, other = args
                new = jnp.minimum(jnp.minimum(left, up) + 1, diagonal + (letter != other))
                return new, new

            first = previous[0] + 1
            _, rest = lax.scan(cell, first, (previous[1:], previous[:-1], b))
            return jnp.concatenate([first[None], rest]), None

        return lax.scan(row, jnp.arange(b.shape[0] + 1, dtype=jnp.int32), a)[0][-1]

    return f


def _life(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def step(_: Any, x: Any) -> Any:
        n = sum(jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((n == 3) | ((x == 1) & (n == 2))).astype(jnp.int32)

    return lambda x: jax.lax.fori_loop(0, 50, step, x)


def _leapfrog(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def forces(x: Any) -> Any:
        d = x[None] - x[:, None]
        r2 = jnp.sum(d * d, axis=-1) + 0.1
        return jnp.sum(d * (r2**-1.5)[..., None], axis=1)

    def body(state: Any, _: Any) -> Any:
        x, v = state
        v = v + 0.5e-3 * forces(x)
        x = x + 1e-3 * v
        return (x, v + 0.5e-3 * forces(x)), None

    return lambda x: jax.lax.scan(body, (x, jnp.zeros_like(x)), None, length=20)[0]
