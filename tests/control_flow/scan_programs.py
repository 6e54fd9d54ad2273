"""Programs with scan for the tests: functions of a library, and their arguments.

Each `make(m)` returns a function of float arrays, written with the library `m`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def line(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    n = int(np.prod(shape))
    return np.linspace(low, high, n).reshape(shape).astype(np.float32)


W, XS, C = line(3, 3), line(5, 3, low=-2, high=2), line(3)


def rnn(m: Any) -> Callable:
    """Closed-over weights, carry and outputs."""

    def f(w: Any, xs: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            c = m.jnp.sin(c @ w) + x
            return c, c * 2

        return m.lax.scan(body, m.jnp.ones(3), xs)

    return f


def backwards(m: Any) -> Callable:
    """From the end, several steps at a time, not a divisor of the length."""

    def f(c: Any, xs: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            return m.jnp.tanh(c) * x, (c, m.jnp.cos(c + x))

        return m.lax.scan(body, c, xs, reverse=True, unroll=2)

    return f


def unrolled(m: Any) -> Callable:
    """All steps at once."""

    def f(c: Any, xs: Any) -> Any:
        return m.lax.scan(lambda c, x: (m.jnp.sin(c) + x * c, c), c, xs, unroll=True)

    return f


def counter(m: Any) -> Callable:
    """An integer carry that indexes, and a boolean and a float one."""

    def f(c: Any, w: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            i, flag, c = carry
            row = m.jnp.asarray(w)[i]
            c = m.jnp.where(flag, c * row, c + m.jnp.sin(row))
            return (i + 1, m.jnp.logical_not(flag), c), (m.jnp.int32(i), m.jnp.asarray(flag))

        (i, flag, c), ys = m.lax.scan(body, (0, True, c), None, length=3)
        return c, i, flag, ys

    return f


def trees(m: Any) -> Callable:
    """Pytrees everywhere; a carry and inputs that are only passed on."""

    def f(c: Any, w: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            a, b = carry["a"], carry["b"]
            out = {"a": a * b[0] + x[0], "b": (b[0], b[1] + m.jnp.sum(a))}
            return out, {"x": x[1], "y": [a, b[1]]}

        return m.lax.scan(body, {"a": c, "b": (c + 1.0, 0.5)}, (w, w[0]))

    return f


def nested(m: Any) -> Callable:
    """A scan in a scan."""

    def f(w: Any, c: Any) -> Any:
        def outer(c: Any, row: Any) -> Any:
            def inner(d: Any, e: Any) -> Any:
                d = d * m.jnp.cos(e) + row
                return d, d.sum() * e

            d, out = m.lax.scan(inner, c, row)
            return d, out

        return m.lax.scan(outer, c, w)

    return f


def jitted(m: Any) -> Callable:
    """Calls of jitted functions in the body, half of whose results are invariant."""

    def f(w: Any, xs: Any) -> Any:
        @m.jax.jit
        def step(w: Any, c: Any, x: Any) -> Any:
            return m.jnp.exp(-w * w).sum(0), m.jnp.tanh(c) * x

        def body(c: Any, x: Any) -> Any:
            a, b = step(w, c, x)
            return a * b + x, b

        return m.lax.scan(body, m.jnp.ones(3), xs)

    return f


def custom(m: Any) -> Callable:
    """A custom derivative in the body."""

    def f(c: Any, xs: Any) -> Any:
        @m.jax.custom_vjp
        def g(x: Any) -> Any:
            return m.jnp.sin(x)

        g.defvjp(lambda x: (g(x), x), lambda x, ct: (ct * m.jnp.cos(x) * 2.0,))
        return m.lax.scan(lambda c, x: (g(c) + x, g(c * x)), c, xs)

    return f


def custom_forward(m: Any) -> Callable:
    """A custom forward derivative in the body."""

    def f(c: Any, xs: Any) -> Any:
        @m.jax.custom_jvp
        def g(x: Any) -> Any:
            return m.jnp.sin(x)

        g.defjvp(lambda ps, ts: (g(ps[0]), ts[0] * m.jnp.cos(ps[0]) * 3.0))
        return m.lax.scan(lambda c, x: (g(c) + x, g(c * x)), c, xs)

    return f


def mapped(m: Any) -> Callable:
    """map, also of batches."""

    def f(w: Any, xs: Any) -> Any:
        a = m.lax.map(lambda x: m.jnp.sin(w @ x), xs)
        b = m.lax.map(lambda x: (w @ x, x, 1.0), xs, batch_size=2)
        return a, b

    return f


def outputs_only(m: Any) -> Callable:
    """No carry; an output that does not depend on the input, and one that is the input."""

    def f(xs: Any, c: Any) -> Any:
        return m.lax.scan(lambda _, x: (None, (x * x, c, x, 2.0)), None, xs)

    return f


def carry_that_stops(m: Any) -> Callable:
    """A carry without a derivative in between: stop_gradient, rounding, comparison."""

    def f(c: Any, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            a, b = carry
            a = a * m.lax.stop_gradient(x) + m.jnp.floor(b)
            return (a, b + x), a > b

        return m.lax.scan(body, (c, 2.0 * c), xs)

    return f


def swap(m: Any) -> Callable:
    """Tangents reach carries one after the other: fixpoints take several rounds."""

    def f(c: Any, x: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            a, b, d, e = carry
            return (a * 1.5, a, m.jnp.sin(b), d * x), e

        zero = m.jnp.zeros(3)
        return m.lax.scan(body, (c, zero, zero, zero), None, length=6)

    return f


PROGRAMS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "rnn": (rnn, (W, XS)),
    "backwards": (backwards, (C, XS)),
    "unrolled": (unrolled, (C, XS)),
    "counter": (counter, (C, W)),
    "trees": (trees, (C, W)),
    "nested": (nested, (W, C)),
    "jitted": (jitted, (W, XS)),
    "custom": (custom, (C, XS)),
    "custom_forward": (custom_forward, (C, XS)),
    "mapped": (mapped, (W, XS)),
    "outputs_only": (outputs_only, (XS, C)),
    "carry_that_stops": (carry_that_stops, (C, XS)),
    "swap": (swap, (C, line(3, low=0.5, high=1.5))),
}


def floats(m: Any, tree: Any) -> list[Any]:
    """The leaves that have derivatives."""
    leaves = m.jax.tree_util.tree_leaves(tree)
    return [x for x in leaves if m.jnp.issubdtype(m.jnp.result_type(x), np.floating)]


def scalar(m: Any, f: Callable) -> Callable:
    """A function whose result is one number that depends on all of f's results."""

    def g(*args: Any) -> Any:
        outs = floats(m, f(*args))
        return sum(m.jnp.sum(m.jnp.sin(o) * (i + 1.0)) for i, o in enumerate(outs))

    return g
