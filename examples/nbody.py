"""Simulates bodies that attract each other, with a method that keeps energy for long.

The forces are the gradient of the potential energy; steps are a scan. Run as

    python examples/nbody.py [--bodies N] [--steps N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax

SOFTENING = 0.05


def potential(positions, masses):
    """Energy of gravitation between bodies at `positions` (N, 3), softened at short distances."""
    apart = positions[:, None, :] - positions[None, :, :]
    distance = jnp.sqrt(jnp.sum(apart**2, axis=-1) + SOFTENING**2)
    pairs = jnp.triu(masses[:, None] * masses[None, :] / distance, k=1)
    return -jnp.sum(pairs)


def energy(positions, velocities, masses):
    """Potential and kinetic energy."""
    return potential(positions, masses) + 0.5 * jnp.sum(masses[:, None] * velocities**2)


def simulate(positions, velocities, masses, dt, steps, every):
    """Leapfrog steps (Verlet, 1967); the positions and the energy after each `every` steps."""

    def acceleration(x):
        return -jax.grad(potential)(x, masses) / masses[:, None]

    def step(state, _):
        x, v, a = state
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = acceleration(x)
        return (x, v + 0.5 * dt * a, a), None

    def record(state, _):
        state, _ = lax.scan(step, state, None, length=every)
        x, v, _ = state
        return state, (x, energy(x, v, masses))

    start = (positions, velocities, acceleration(positions))
    (x, v, _), (path, energies) = lax.scan(record, start, None, length=steps // every)
    return x, v, path, energies


def cluster(key, count):
    """Bodies in a ball, each moving so that the whole turns; centre and momentum are zero."""
    a, b, c = jax.random.split(key, 3)
    masses = jax.random.uniform(a, (count,), minval=0.5, maxval=1.5) / count
    x = jax.random.normal(b, (count, 3))
    v = jnp.stack([-x[:, 1], x[:, 0], jnp.zeros(count)], axis=1) * 0.3
    v = v + 0.1 * jax.random.normal(c, (count, 3))
    share = masses[:, None] / jnp.sum(masses)
    return x - jnp.sum(share * x, axis=0), v - jnp.sum(share * v, axis=0), masses


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bodies", type=int, default=40)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args(argv)

    x, v, masses = cluster(jax.random.PRNGKey(2), options.bodies)
    every = max(1, options.steps // 10)
    run = jax.jit(simulate, static_argnums=(4, 5))
    _, speed, _, energies = run(x, v, masses, 0.005, options.steps, every)
    before = float(energy(x, v, masses))
    for i, e in enumerate(energies):
        print(f"after {(i + 1) * every:5d} steps: energy {float(e):+.6f}")
    momentum = float(jnp.max(jnp.abs(jnp.sum(masses[:, None] * speed, axis=0))))
    error = float(jnp.max(jnp.abs(energies - before))) / abs(before)
    print(f"relative error of the energy {error:.1e}, momentum {momentum:.1e}")

    # How sensitive the end is to the beginning: the gradient through all steps.
    def where(x):
        return run(x, v, masses, 0.005, min(options.steps, 200), every)[0][0, 0]

    slope = jax.grad(where)(x)
    print(f"gradient of the first body's place by its start: {slope[0]}")
    return error, momentum


if __name__ == "__main__":
    main()
