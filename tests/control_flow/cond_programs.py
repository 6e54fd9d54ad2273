"""Programs with cond and switch for the tests: functions of a library, and their arguments.

Each `make(m)` returns a function of an index and float arrays, written with the library `m`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scan_programs import line

X, Y = line(3, low=0.2), line(3, low=-1.5, high=0.9)


def two(m: Any) -> Callable:
    """Functions of operands, with several results."""

    def f(i: Any, x: Any, y: Any) -> Any:
        return m.lax.cond(
            i > 0,
            lambda x, y: (m.jnp.sin(x) * y, x * 2),
            lambda x, y: (x * x * y, y * 3),
            x,
            y,
        )

    return f


def closure(m: Any) -> Callable:
    """No operands, all closed over, different in the branches."""
    w = m.jnp.arange(3.0)

    def f(i: Any, x: Any, y: Any) -> Any:
        z = m.jnp.exp(-x * x)
        return m.lax.cond(i > 0, lambda: z * w + x, lambda: m.jnp.cos(z) * y)

    return f


def three(m: Any) -> Callable:
    def f(i: Any, x: Any, y: Any) -> Any:
        def last(x: Any, y: Any) -> Any:
            return m.jnp.sum(x) * y

        branches = [lambda x, y: m.jnp.tanh(x), lambda x, y: m.jnp.sin(y) * x, last]
        return m.lax.switch(i, branches, x, y)

    return f


def trees(m: Any) -> Callable:
    """Structured operands and results, integers and booleans among them."""

    def f(i: Any, x: Any, y: Any) -> Any:
        def a(p: Any) -> Any:
            return {"u": (p["x"] * 2, m.jnp.asarray(i + 1)), "v": None, "b": m.jnp.bool_(True)}

        def b(p: Any) -> Any:
            return {"u": (p["x"] + p["y"][0], m.jnp.asarray(0)), "v": None, "b": p["x"][0] > 0}

        return m.lax.cond(i > 0, a, b, {"x": x, "y": [y]})

    return f


def constant(m: Any) -> Callable:
    """A branch that does not depend on its operands, and one that returns one of them."""

    def f(i: Any, x: Any, y: Any) -> Any:
        return m.lax.switch(i, [lambda x: m.jnp.zeros(3), lambda x: x, lambda x: x + y], x)

    return f


def nested(m: Any) -> Callable:
    def f(i: Any, x: Any, y: Any) -> Any:
        def inner(x: Any) -> Any:
            return m.lax.cond(i > 1, lambda x: x * x * y, lambda x: m.jnp.sin(x), x)

        return m.lax.cond(i > 0, inner, lambda x: m.lax.cond(i < 0, lambda: x, lambda: y), x)

    return f


def jitted(m: Any) -> Callable:
    g = m.jax.jit(lambda x, y: m.jnp.sin(x) @ y)

    def f(i: Any, x: Any, y: Any) -> Any:
        return m.lax.cond(i > 0, g, lambda x, y: g(y, x) * 2, x, y)

    return f


def scanned(m: Any) -> Callable:
    """A choice in every step of a loop, by what it carries."""

    def f(i: Any, x: Any, y: Any) -> Any:
        def body(c: Any, t: Any) -> Any:
            c = m.lax.cond(m.jnp.sum(c) > 1, lambda c: c * 0.5, lambda c: c * y + t, c)
            return c, m.lax.switch(i, [lambda: c * 2, lambda: m.jnp.sin(c)])

        return m.lax.scan(body, x, y)

    return f


def loops(m: Any) -> Callable:
    """A loop in one branch."""

    def f(i: Any, x: Any, y: Any) -> Any:
        def loop(x: Any) -> Any:
            return m.lax.fori_loop(0, 3, lambda k, v: m.jnp.sin(v) * y + k, x)

        return m.lax.cond(i > 0, loop, lambda x: x / (2 + y), x)

    return f


def masked(m: Any) -> Callable:
    """The derivative of the branch that is not taken is not finite."""

    def f(i: Any, x: Any, y: Any) -> Any:
        def one(x: Any) -> Any:
            p = x > 0.1
            return m.lax.cond(p, lambda x: m.jnp.sqrt(x - 0.1), lambda x: x * 0 + i, x)

        return m.jax.vmap(one)(x) + y

    return f


PROGRAMS: dict[str, tuple[Callable, tuple]] = {
    f.__name__: (f, (X, Y))
    for f in (two, closure, three, trees, constant, nested, jitted, scanned, loops, masked)
}
