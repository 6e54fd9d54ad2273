"""Programs with while_loop and fori_loop for the tests: functions of a library, and arguments.

Each `make(m)` returns a function of a number of iterations and float arrays, written with the
library `m`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scan_programs import line

X, Y = line(3, low=0.2), line(3, low=-1.5, high=0.9)


def count(m: Any) -> Callable:
    """A counter beside arrays; one of them does not change."""

    def f(n: Any, x: Any, y: Any) -> Any:
        def body(c: Any) -> Any:
            i, v, w = c
            return i + 1, m.jnp.sin(v) * w + i, w

        return m.lax.while_loop(lambda c: c[0] < n, body, (0, x, y))

    return f


def closure(m: Any) -> Callable:
    """Values closed over by the predicate and by the body, invariants among them."""

    def f(n: Any, x: Any, y: Any) -> Any:
        k = n + 1

        def body(c: Any) -> Any:
            return {"v": c["v"] * m.jnp.cos(y) + m.jnp.sum(m.jnp.exp(x)), "i": c["i"] + 1}

        return m.lax.while_loop(lambda c: c["i"] * 2 < k, body, {"i": 0, "v": x})["v"]

    return f


def until(m: Any) -> Callable:
    """The number of iterations depends on the values."""

    def f(n: Any, x: Any, y: Any) -> Any:
        def go_on(c: Any) -> Any:
            return (m.jnp.sum(c[0]) < 20 + n) & (c[1] < 50)

        def body(c: Any) -> Any:
            v, i = c
            return v * 1.25 + 0.1 * m.jnp.tanh(y) + 0.3, i + 1

        return m.lax.while_loop(go_on, body, (x, 0))

    return f


def weak(m: Any) -> Callable:
    """Carries that begin as Python numbers."""

    def f(n: Any, x: Any, y: Any) -> Any:
        def body(c: Any) -> Any:
            i, a, b, t = c
            return i + 1, a + m.jnp.sum(x), b * 1.5, t + a

        return m.lax.while_loop(lambda c: c[0] < n, body, (0, 0, 1, 0.0)), y

    return f


def swap(m: Any) -> Callable:
    """Carries that change places."""

    def f(n: Any, x: Any, y: Any) -> Any:
        body = lambda c: (c[0] + 1, c[2], c[1] * 0.5 + c[2])
        return m.lax.while_loop(lambda c: c[0] < n, body, (0, x, y))

    return f


def nested(m: Any) -> Callable:
    """A loop within a loop, with its own number of iterations."""

    def f(n: Any, x: Any, y: Any) -> Any:
        def outer(c: Any) -> Any:
            i, v = c
            inner = lambda d: (d[0] + 1, d[1] * 0.9 + m.jnp.sin(y * i))
            _, v = m.lax.while_loop(lambda d: d[0] < i, inner, (0, v))
            return i + 1, v

        return m.lax.while_loop(lambda c: c[0] < n, outer, (0, x))[1]

    return f


def branching(m: Any) -> Callable:
    """Conditionals and scans in the body."""

    def f(n: Any, x: Any, y: Any) -> Any:
        def body(c: Any) -> Any:
            i, v = c
            v = m.lax.cond(m.jnp.sum(v) > 1, lambda v: v * 0.5, lambda v: v + y * y, v)
            v, _ = m.lax.scan(lambda a, b: (m.jnp.sin(a) + b, None), v, y)
            return i + 1, m.jax.jit(lambda v: v * 1.5)(v)

        return m.lax.while_loop(lambda c: c[0] < n, body, (0, x))

    return f


def update(m: Any) -> Callable:
    """An element is set in every iteration."""

    def f(n: Any, x: Any, y: Any) -> Any:
        start, x = m.jnp.zeros(5), m.jnp.asarray(x)
        return m.lax.fori_loop(0, n, lambda i, a: a.at[i].set(a[i - 1] + x[i % 3] * y[0]), start)

    return f


def fori(m: Any) -> Callable:
    """Limits that are known only when the program runs."""

    def f(n: Any, x: Any, y: Any) -> Any:
        v = m.lax.fori_loop(1, n, lambda i, v: m.jnp.sin(v) * i + y, x)
        return v, m.lax.fori_loop(n, 2 * n, lambda i, v: v + i, 0)

    return f


PROGRAMS: dict[str, tuple[Callable, tuple]] = {
    f.__name__: (f, (X, Y))
    for f in (count, closure, until, weak, swap, nested, branching, update, fori)
}
