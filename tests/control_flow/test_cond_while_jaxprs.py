"""The printed jaxprs of conditionals and loops that count are jax's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS
from jax_oracle import jaxpr_text

X = np.ones(3, np.float32)
N3 = np.arange(3, dtype=np.int32)


def texts(make: Callable, args: tuple) -> list[str]:
    found = []
    for m in (OURS, JAX):
        arrays = [m.jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
        found.append(jaxpr_text(m.jax.make_jaxpr(make(m))(*arrays)))
    return found


def cases(*rows: tuple) -> Any:
    return pytest.mark.parametrize("make,args", [r[1:] for r in rows], ids=[r[0] for r in rows])


def sin_or_double(m: Any) -> Callable:
    return lambda p, x: m.lax.cond(p, lambda x: m.jnp.sin(x), lambda x: x * 2, x)


def powers(m: Any) -> Callable:
    return lambda p, x: m.lax.cond(p, lambda x: m.jnp.sin(x) * m.jnp.sin(x), lambda x: x * x * x, x)


def with_numbers(m: Any) -> Callable:
    return lambda p, x: m.lax.cond(p, lambda x: (m.jnp.sin(x), 1.0), lambda x: (x * x, 2.0), x)


def three(m: Any) -> Callable:
    return lambda i, x: m.lax.switch(i, [m.jnp.sin, lambda x: x * 2, m.jnp.cos], x)


def closed_over(m: Any) -> Callable:
    y, c = m.jnp.ones(3), np.arange(3.0)
    return lambda p, x: m.lax.cond(p, lambda x: x + y, lambda x: x * 2 + m.jnp.array(c), x)


def closed_over_scalars(m: Any) -> Callable:
    one = lambda x: x * np.float32(3) * np.ones(3)
    two = lambda x: x * m.jnp.float32(4) * np.ones(3, np.float32)
    return lambda p: m.lax.cond(p, one, two, 2.0)


def jvp_of(f: Callable, *which: int) -> Callable:
    """`f(m)` differentiated with respect to its last argument."""

    def make(m: Any) -> Callable:
        return lambda *a: m.jax.jvp(lambda x: f(m)(*a[:-2], x), (a[-2],), (a[-1],))

    return make


def vmap_of(f: Callable, *axes: Any) -> Callable:
    return lambda m: m.jax.vmap(f(m), in_axes=axes)


def psum_in_branch(m: Any) -> Callable:
    def f(x: Any) -> Any:
        return m.lax.cond(x.sum() > 0, lambda x: m.lax.psum(x, "i"), lambda x: x, x)

    return m.jax.vmap(f, axis_name="i")


@cases(
    ("bool", sin_or_double, (True, X)),
    ("int", sin_or_double, (1, X)),
    ("float", sin_or_double, (1.0, X)),
    ("known", lambda m: lambda x: sin_or_double(m)(True, x), (X,)),
    ("numpy", lambda m: lambda x: sin_or_double(m)(np.int32(3), x), (X,)),
    ("constants", closed_over, (True, X)),
    ("scalar constants", closed_over_scalars, (True,)),
    (
        "tracers",
        lambda m: lambda p, x, z: m.lax.cond(p, lambda x: x + z + p, lambda x: x * 2 * z, x),
        (True, X, X),
    ),
    (
        "different tracers",
        lambda m: lambda p, x, z, w: m.lax.cond(p, lambda x: x + z, lambda x: x * 2 * w, x),
        (True, X, X, X),
    ),
    ("switch", three, (1, X)),
    ("unsigned index", three, (np.uint8(1), X)),
    ("known index", lambda m: lambda x: three(m)(1, x), (X,)),
    ("one branch", lambda m: lambda i, x: m.lax.switch(i, [m.jnp.sin], x), (1, X)),
    (
        "results that are operands",
        lambda m: lambda p, x: m.lax.cond(p, lambda x: (x, x, 1.0), lambda x: (x, x * 2, 2.0), x),
        (True, X),
    ),
    (
        "no results",
        lambda m: lambda p, x: m.lax.cond(p, lambda x: (x, None), lambda x: (x, None), x),
        (True, X),
    ),
    ("same branches", lambda m: lambda p, x: m.lax.cond(p, m.jnp.sin, m.jnp.sin, x), (True, X)),
    (
        "platform",
        lambda m: lambda x: m.lax.platform_dependent(x, cpu=m.jnp.sin, default=m.jnp.cos),
        (X,),
    ),
    ("jvp", jvp_of(powers), (True, 1.0, 1.0)),
    ("jvp of numbers", jvp_of(with_numbers), (True, X, X)),
    ("vmap", vmap_of(powers, None, 0), (True, X)),
    ("vmap of predicate", vmap_of(with_numbers, 0, 0), (X > 0, X)),
    ("vmap of predicate alone", vmap_of(with_numbers, 0, None), (X > 0, 1.0)),
    ("vmap of index", vmap_of(three, 0, 0), (N3, X)),
    ("vmap at another axis", vmap_of(sin_or_double, 0, 1), (X > 0, np.ones((2, 3), np.float32))),
    (
        "vmap twice",
        lambda m: m.jax.vmap(m.jax.vmap(powers(m), in_axes=(None, 0))),
        (np.array([True, False]), np.ones((2, 3), np.float32)),
    ),
    ("collective", psum_in_branch, (X,)),
)
def test_cond(make: Callable, args: tuple) -> None:
    ours, theirs = texts(make, args)
    assert ours == theirs


def counted(m: Any) -> Callable:
    return lambda x, n: m.lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, m.jnp.sin(s[1]) * x), (0, x)
    )


def doubled(m: Any) -> Callable:
    return lambda x, n: m.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, x))


def five(body: Callable, *init: Any) -> Callable:
    """A loop of five iterations over `init(x)`."""

    def make(m: Any) -> Callable:
        step = body(m)
        return lambda x: m.lax.while_loop(lambda s: s[0] < 5, step, (0, *(f(x) for f in init)))

    return make


def same_x(x: Any) -> Any:
    return x


def constant_loop(m: Any) -> Callable:
    y = m.jnp.ones(3)
    return lambda x: m.lax.while_loop(
        lambda s: s[0] < m.jnp.sum(y), lambda s: (s[0] + 1, m.jnp.sin(s[1]) * y), (0.0, x)
    )


def third(m: Any) -> Callable:
    return lambda x, n, z: m.lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2, s[2] + z), (0, x, 0.0)
    )


@cases(
    ("closed over", counted, (X, 5)),
    ("constants", constant_loop, (X,)),
    (
        "unchanged carry",
        five(lambda m: lambda s: (s[0] + 1, s[1], s[2] * s[1]), same_x, same_x),
        (X,),
    ),
    ("all unchanged", five(lambda m: lambda s: s, same_x), (X,)),
    ("swapped", five(lambda m: lambda s: (s[0] + 1, s[2], s[1] * s[1]), same_x, same_x), (X,)),
    (
        "unchanged, read by the predicate",
        lambda m: (
            lambda x: m.lax.while_loop(
                lambda s: s[0] < s[1].sum(),
                lambda s: (s[0] + 1, s[1], s[2], s[3] + s[1] + s[2]),
                (0, x, x, x),
            )
        ),
        (X,),
    ),
    ("weak", five(lambda m: lambda s: (s[0] + 1, s[1] * m.jnp.float32(1)), lambda x: 1.0), (X,)),
    (
        "promoted",
        five(lambda m: lambda s: (s[0] + 1, s[2], s[1]), lambda x: 1, same_x),
        (np.float32(1),),
    ),
    ("promoted array", five(lambda m: lambda s: (s[0] + 1, s[1] * 1.5), same_x), (1,)),
    (
        "jvp",
        lambda m: lambda x, t: m.jax.jvp(lambda x: counted(m)(x, 5)[1], (x,), (t,)),
        (X, X),
    ),
    (
        "jvp of the carry alone",
        lambda m: lambda x, t: m.jax.jvp(lambda x: doubled(m)(x, 5)[1], (x,), (t,)),
        (X, X),
    ),
    ("vmap", vmap_of(counted, 0, None), (X, 5)),
    ("vmap of predicate", vmap_of(doubled, 0, 0), (np.ones((3, 2), np.float32), N3)),
    ("vmap of predicate alone", vmap_of(doubled, None, 0), (np.ones(2, np.float32), N3)),
    ("vmap at another axis", vmap_of(doubled, 1, 0), (np.ones((2, 3), np.float32), N3)),
    (
        "vmap twice",
        lambda m: m.jax.vmap(m.jax.vmap(doubled(m), in_axes=(None, 0)), in_axes=(0, None)),
        (np.ones(4, np.float32), N3),
    ),
    (
        "vmap twice of predicate",
        lambda m: m.jax.vmap(m.jax.vmap(doubled(m), in_axes=(None, 0)), in_axes=(None, 0)),
        (np.float32(1), np.ones((4, 3), np.int32)),
    ),
    (
        "vmap twice with constants",
        lambda m: m.jax.vmap(m.jax.vmap(third(m), in_axes=(None, 0, None)), in_axes=(0, None, 0)),
        (np.ones(4, np.float32), N3, np.ones(4, np.float32)),
    ),
    (
        "vmap of a part",
        lambda m: m.jax.vmap(
            five(lambda m: lambda s: (s[0] + 1, s[1] * 2, s[1] + s[2]), same_x, lambda x: 1.0)(m)
        ),
        (X,),
    ),
)
def test_while(make: Callable, args: tuple) -> None:
    ours, theirs = texts(make, args)
    assert ours == theirs


def fori(lower: Any, upper: Any, **options: Any) -> Callable:
    return lambda m: lambda x: m.lax.fori_loop(lower, upper, lambda i, x: x * i, x, **options)


def constant_fori(m: Any) -> Callable:
    y = m.jnp.ones(3)
    return lambda n: m.lax.fori_loop(0, n, lambda i, x: x * n + y, y)


@cases(
    ("static", fori(0, 5), (X,)),
    ("unrolled", fori(0, 5, unroll=2), (X,)),
    ("all unrolled", fori(0, 5, unroll=True), (X,)),
    ("none", fori(5, 2), (X,)),
    ("numpy", fori(np.int32(0), np.int32(3)), (X,)),
    ("narrow", fori(np.int8(0), 3), (X,)),
    ("floats", fori(0.0, 3.5), (X,)),
    ("upper", lambda m: lambda x, n: fori(0, n)(m)(x), (X, 3)),
    ("lower", lambda m: lambda x, n: fori(n, 5)(m)(x), (X, np.int8(3))),
    ("both", lambda m: lambda x, n, k: fori(k, n)(m)(x), (X, np.int8(3), 0)),
    ("float limit", lambda m: lambda n: m.lax.fori_loop(n, 3.0, lambda i, x: x + i, 0.0), (1.0,)),
    ("constants", constant_fori, (3,)),
    ("promoted", lambda m: lambda n: m.lax.fori_loop(0, n, lambda i, x: x + 1.5, 0), (3,)),
    (
        "unchanged",
        lambda m: lambda x, n: m.lax.fori_loop(0, n, lambda i, c: (c[0] * c[1], c[1]), (x, 2 * x)),
        (X, 3),
    ),
)
def test_fori(make: Callable, args: tuple) -> None:
    ours, theirs = texts(make, args)
    assert ours == theirs
