"""Solves systems of equations with Newton's method in a while_loop, and differentiates the answer.

The loop stops when the residual is small. Derivatives of the solution come from the implicit
function theorem through custom_jvp, not from the loop. Run as

    python examples/newton.py [--parameters N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax


def solve2(a, b):
    """The solution of a linear system with two unknowns, by Cramer's rule."""
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    top = jnp.stack([b[0] * a[1, 1] - a[0, 1] * b[1], a[0, 0] * b[1] - b[0] * a[1, 0]])
    return top / det


def newton(f, x, tolerance=1e-6, most=50):
    """A root of `f` near `x`, the number of steps, and the residual."""

    def unfinished(state):
        _, residual, steps = state
        return (jnp.max(jnp.abs(residual)) > tolerance) & (steps < most)

    def step(state):
        x, residual, steps = state
        x = x - solve2(jax.jacfwd(f)(x), residual)
        return x, f(x), steps + 1

    x, residual, steps = lax.while_loop(unfinished, step, (x, f(x), 0))
    return x, steps, residual


def equations(x, r):
    """A circle of radius r, cut by an exponential curve."""
    return jnp.stack([x[0] ** 2 + x[1] ** 2 - r**2, x[1] - jnp.exp(-x[0]) * r])


@jax.custom_jvp
def crossing(r):
    """Where the two curves cross, for one radius."""
    return newton(lambda x: equations(x, r), jnp.stack([r, 0.1 * r]))[0]


@crossing.defjvp
def crossing_jvp(primals, tangents):
    """f(x(r), r) = 0 gives x'(r) = -(df/dx)^-1 df/dr (implicit function theorem)."""
    (r,), (dr,) = primals, tangents
    x = crossing(r)
    along = jax.jvp(lambda s: equations(x, s), (r,), (dr,))[1]
    return x, -solve2(jax.jacfwd(lambda y: equations(y, r))(x), along)


def sensitivity(r):
    """The crossing, its derivative and its second derivative with respect to the radius."""
    slope = jax.jacrev(crossing)
    return crossing(r), slope(r), jax.jacfwd(slope)(r)


def square_roots(values):
    """Square roots by Newton's method, each element with a loop of its own: roots and steps."""

    def one(v):
        def step(state):
            x, _, n = state
            return 0.5 * (x + v / x), x, n + 1

        start = jnp.maximum(v, 1.0)
        x, _, n = lax.while_loop(
            lambda s: (jnp.abs(s[0] - s[1]) > 1e-6 * s[0]) & (s[2] < 60), step, (start, 0.0 * v, 0)
        )
        return x, n

    return jax.vmap(one)(values)


def main(arguments=None):
    """Print crossings for several radii; return them with their derivatives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parameters", type=int, default=5)
    count = parser.parse_args(arguments).parameters
    radii = jnp.linspace(1.0, 3.0, count)
    x, dx, ddx = jax.jit(jax.vmap(sensitivity))(radii)
    for r, p, d in zip(radii, x, dx, strict=True):
        print(f"r = {float(r):.2f}: x = ({p[0]:.5f}, {p[1]:.5f}), dx/dr = ({d[0]:.5f}, {d[1]:.5f})")
    roots, steps = square_roots(jnp.array([1.0, 2.0, 100.0, 1e6]))
    print(f"square roots {roots} in {steps} steps")
    return radii, x, dx, ddx


if __name__ == "__main__":
    main()
