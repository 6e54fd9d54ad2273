"""Printed jaxprs of scan and its transformations are jax's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS
from jax_oracle import jaxpr_text
from scan_programs import XS, C, W


def text(jaxpr: Any) -> str:
    """A jaxpr without equations whose results are dropped (some are zeros that only jax makes),
    and with variables renumbered."""
    lines = [s for s in str(jaxpr).split("\n") if not re.match(r"\s*_:\S+ = broadcast_in_dim", s)]
    plain = jaxpr_text("\n".join(lines))
    names: dict[str, str] = {}

    def rename(match: re.Match) -> str:
        return names.setdefault(match[0], f"v{len(names)}")

    return re.sub(r"(?<![\w=.])(?!in\b|let\b)[a-z]{1,2}(?=[: ),;]|$)", rename, plain)


def agree(program: Callable[[Any], Any]) -> None:
    ours, theirs = program(OURS), program(JAX)
    assert text(ours) == text(theirs), f"\n{ours}\nwhere this is due:\n{theirs}"


def rnn(m: Any, **options: Any) -> Callable:
    def f(w: Any, xs: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            c = m.jnp.sin(c @ w) + x
            return c, c * 2

        c, ys = m.lax.scan(body, m.jnp.ones(3), xs, **options)
        return c.sum() + ys.sum()

    return f


@pytest.mark.parametrize(
    "options", [{}, {"reverse": True}, {"unroll": 2}, {"unroll": True}, {"unroll": False}], ids=str
)
def test_options(options: dict) -> None:
    agree(lambda m: m.jax.make_jaxpr(rnn(m, **options))(W, XS))


def test_jvp() -> None:
    agree(lambda m: m.jax.make_jaxpr(lambda *a: m.jax.jvp(rnn(m), a, a))(W, XS))
    agree(
        lambda m: m.jax.make_jaxpr(lambda w, xs, t: m.jax.jvp(lambda v: rnn(m)(v, xs), (w,), (t,)))(
            W, XS, W
        )
    )


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize("options", [{}, {"reverse": True, "unroll": 2}], ids=str)
def test_grad(argnums: Any, options: dict) -> None:
    agree(lambda m: m.jax.make_jaxpr(m.jax.grad(rnn(m, **options), argnums))(W, XS))


@pytest.mark.parametrize("axes", [(0, None), (None, 1), (0, 0), (1, 2)], ids=str)
def test_vmap(axes: Any) -> None:
    args = [a if d is None else np.stack([a, a], d) for a, d in zip((W, XS), axes, strict=True)]
    agree(lambda m: m.jax.make_jaxpr(m.jax.vmap(rnn(m), axes))(*args))


def test_closed_over_values_become_operands() -> None:
    def program(m: Any) -> Any:
        w, n = m.jnp.asarray(C), C.copy()

        def body(c: Any, x: Any) -> Any:
            c = m.jnp.sin(c * w) + x + n
            return c, (c * 2, 1.0, 3, w)

        return m.jax.make_jaxpr(lambda xs: m.lax.scan(body, m.jnp.ones(3), xs))(XS)

    agree(program)


def test_what_is_passed_on_stays_outside() -> None:
    def program(m: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            return (c[0], c[1] * c[0], c[0]), (x, c[0], c[1])

        return m.jax.make_jaxpr(lambda c, xs: m.lax.scan(body, (c, c, c), xs))(np.float32(2), C)

    agree(program)


def test_carries_of_other_types() -> None:
    agree(lambda m: m.jax.make_jaxpr(lambda x: m.lax.scan(lambda c, y: (c + y, c), 0, x))(C))
    agree(lambda m: m.jax.make_jaxpr(lambda x: m.lax.scan(lambda c, y: (c + 1, y), x, C))(1.0))
    agree(
        lambda m: m.jax.make_jaxpr(
            lambda: m.lax.scan(lambda c, _: (c + 1, None), 0, None, length=0)
        )()
    )


def test_weakly_typed_carry_in_reverse() -> None:
    agree(
        lambda m: m.jax.make_jaxpr(
            m.jax.grad(lambda x: m.lax.scan(lambda c, y: (c * y, None), x, m.jnp.asarray(C))[0])
        )(0.7)
    )


def test_map() -> None:
    xs = np.arange(5, dtype=np.float32)
    for size in (None, 1, 2, 5, 7):
        agree(
            lambda m, size=size: m.jax.make_jaxpr(
                lambda x: m.lax.map(lambda y: (y + 1.0, m.jnp.sin(y)), x, batch_size=size)
            )(xs)
        )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n: int, reverse: bool) -> None:
    x = np.ones((2, n), np.float32)
    agree(
        lambda m: m.jax.make_jaxpr(
            lambda v: m.lax.associative_scan(m.jnp.multiply, v, reverse=reverse, axis=1)
        )(x)
    )
    agree(
        lambda m: m.jax.make_jaxpr(
            lambda v: m.lax.associative_scan(m.jnp.logical_or, v, reverse=reverse)
        )(x[0] > 0)
    )
