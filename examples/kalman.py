"""Follows an object from noisy positions with a Kalman filter, and learns how noisy they are.

The filter is a scan over time. In every step, the coordinates of the measurement are taken up one
after the other, which needs no matrix inverse: a scan in the scan. The likelihood of the
measurements is differentiable, and its gradient fits the noise levels. Run as

    python examples/kalman.py [--steps N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax

DT = 0.1


def model(log_noise):
    """Transition and noise of a motion with nearly constant velocity; state (x, y, vx, vy)."""
    process, measured = jnp.exp(log_noise)
    move = jnp.eye(4) + DT * jnp.eye(4, k=2)
    kick = jnp.concatenate([0.5 * DT**2 * jnp.eye(2), DT * jnp.eye(2)])
    return move, process**2 * kick @ kick.T, measured**2


def filter(log_noise, measurements):
    """Filtered means (T, 4) and the log likelihood of measurements of shape (T, 2).

    Formulas: Kalman (1960), with the measurement's coordinates as successive scalar updates.
    """
    move, q, r = model(log_noise)

    def update(carry, row_and_value):
        mean, cov, likelihood = carry
        row, value = row_and_value
        s = row @ cov @ row + r
        gain = cov @ row / s
        error = value - row @ mean
        likelihood = likelihood - 0.5 * (error**2 / s + jnp.log(2 * jnp.pi * s))
        return (mean + gain * error, cov - jnp.outer(gain, row @ cov), likelihood), None

    def step(carry, z):
        mean, cov, likelihood = carry
        predicted = (move @ mean, move @ cov @ move.T + q, likelihood)
        carry, _ = lax.scan(update, predicted, (jnp.eye(2, 4), z))
        return carry, carry[0]

    start = (jnp.zeros(4), 10.0 * jnp.eye(4), 0.0)
    (_, _, likelihood), means = lax.scan(step, start, measurements)
    return means, likelihood


def simulate(key, log_noise, steps):
    """A path of shape (steps, 4) and noisy measurements of its positions."""
    move, _, r = model(log_noise)
    kick = jnp.concatenate([0.5 * DT**2 * jnp.eye(2), DT * jnp.eye(2)])

    def step(state, key):
        a, b = jax.random.split(key)
        state = move @ state + jnp.exp(log_noise[0]) * kick @ jax.random.normal(a, (2,))
        return state, (state, state[:2] + jnp.sqrt(r) * jax.random.normal(b, (2,)))

    start = jnp.array([0.0, 0.0, 1.0, 0.5])
    return lax.scan(step, start, jax.random.split(key, steps))[1]


def fit(measurements, log_noise, steps):
    """Noise levels of greater likelihood, by gradient ascent with normalised steps."""

    def climb(log_noise, _):
        value, slope = jax.value_and_grad(lambda n: filter(n, measurements)[1])(log_noise)
        return log_noise + 0.05 * slope / (1.0 + jnp.sqrt(jnp.sum(slope**2))), value

    return lax.scan(climb, log_noise, None, length=steps)


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args(argv)

    true = jnp.log(jnp.array([2.0, 0.3]))
    path, measured = simulate(jax.random.PRNGKey(1), true, options.steps)
    guess = jnp.log(jnp.array([0.5, 1.0]))
    found, likelihoods = jax.jit(fit, static_argnums=2)(measured, guess, 100)
    means, _ = jax.jit(filter)(found, measured)

    def error(x):
        return float(jnp.sqrt(jnp.mean((x - path[:, :2]) ** 2)))

    print(f"log likelihood {float(likelihoods[0]):.1f} -> {float(likelihoods[-1]):.1f}")
    print("noise (process, measurement): found", jnp.exp(found), "true", jnp.exp(true))
    print(f"error of the measurements {error(measured):.3f}, filtered {error(means[:, :2]):.3f}")
    return error(measured), error(means[:, :2])


if __name__ == "__main__":
    main()
