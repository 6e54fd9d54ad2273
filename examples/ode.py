"""Solves differential equations by the classical Runge-Kutta method, under vmap and grad.

Predators and prey (Lotka and Volterra): many initial populations at once by vmap; the parameters of
the equation from measurements by the gradient through the solver. Run as

    python examples/ode.py [--steps N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax


def rk4(f, y, times, *args):
    """The solution of dy/dt = f(y, t, *args) at `times`, of shape (T,); y is any pytree.

    Formula: Kutta (1901), the method of order four.
    """

    def along(y, h, k):
        return jax.tree.map(lambda a, b: a + h * b, y, k)

    def step(y, interval):
        t, h = interval
        k1 = f(y, t, *args)
        k2 = f(along(y, h / 2, k1), t + h / 2, *args)
        k3 = f(along(y, h / 2, k2), t + h / 2, *args)
        k4 = f(along(y, h, k3), t + h, *args)
        y = jax.tree.map(
            lambda y, a, b, c, d: y + h / 6 * (a + 2 * b + 2 * c + d), y, k1, k2, k3, k4
        )
        return y, y

    _, ys = lax.scan(step, y, (times[:-1], jnp.diff(times)))
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), y, ys)


def populations(y, t, parameters):
    """Lotka-Volterra: growth of prey, loss to predators, their growth and loss."""
    prey, predators = y
    a, b, c, d = parameters
    return a * prey - b * prey * predators, c * prey * predators - d * predators


def solve(start, parameters, times):
    """Prey and predators at the times, as one array of shape (T, 2)."""
    return jnp.stack(rk4(populations, (start[0], start[1]), times, parameters), axis=1)


def conserved(y, parameters):
    """A quantity that the exact solution keeps."""
    a, b, c, d = parameters
    prey, predators = y[..., 0], y[..., 1]
    return c * prey - d * jnp.log(prey) + b * predators - a * jnp.log(predators)


def fit(starts, measured, times, guess, steps):
    """Parameters from measurements of shape (N, T, 2), by descent on the logarithms."""

    def loss(log_parameters):
        ys = jax.vmap(solve, in_axes=(0, None, None))(starts, jnp.exp(log_parameters), times)
        return jnp.mean((jnp.log(ys) - jnp.log(measured)) ** 2)

    def descend(carry, _):
        p, momentum = carry
        value, slope = jax.value_and_grad(loss)(p)
        momentum = 0.8 * momentum - 0.05 * slope
        return (p + momentum, momentum), value

    (p, _), losses = lax.scan(descend, (jnp.log(guess), jnp.zeros(4)), None, length=steps)
    return jnp.exp(p), losses


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args(argv)

    true = jnp.array([1.1, 0.4, 0.1, 0.4])
    times = jnp.linspace(0.0, 10.0, 101)
    starts = jnp.stack([jnp.linspace(5.0, 12.0, 8), jnp.linspace(4.0, 6.0, 8)], axis=1)
    ys = jax.jit(jax.vmap(solve, in_axes=(0, None, None)))(starts, true, times)
    energy = conserved(ys, true)
    drift = float(jnp.max(jnp.abs(energy - energy[:, :1])))
    print(f"largest drift of the conserved quantity: {drift:.2e}")

    slope = jax.jacfwd(lambda p: solve(starts[0], p, times)[-1])(true)
    print("change of the last populations with each parameter:")
    print(slope)

    found, losses = jax.jit(fit, static_argnums=4)(
        starts, ys, times, jnp.array([0.9, 0.3, 0.15, 0.5]), options.steps
    )
    print(f"loss {float(losses[0]):.4f} -> {float(losses[-1]):.2e}")
    print("parameters found", found, "true", true)
    return drift, float(losses[0]), float(losses[-1])


if __name__ == "__main__":
    main()
