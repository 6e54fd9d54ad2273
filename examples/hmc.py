"""Samples the posterior of a Bayesian logistic regression with Hamiltonian Monte Carlo.

The gradient of the log density drives leapfrog steps in a scan; the chain is a scan over them, and
vmap runs several chains at once. Run as

    python examples/hmc.py [--samples N] [--chains N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax

TRUE = (1.5, -2.0, 0.5)


def data(key, count):
    """Inputs (count, 3), the last of which is constant, and labels drawn from the model."""
    k1, k2 = jax.random.split(key)
    x = jax.random.normal(k1, (count, 3)).at[:, 2].set(1.0)
    p = jax.nn.sigmoid(x @ jnp.array(TRUE))
    return x, (jax.random.uniform(k2, (count,)) < p).astype(jnp.float32)


def log_density(w, x, y):
    """Log posterior of the weights, up to a constant: prior N(0, 3**2)."""
    logits = x @ w
    return jnp.sum(y * logits - jax.nn.softplus(logits)) - 0.5 * jnp.sum((w / 3.0) ** 2)


def leapfrog(gradient, w, p, size, steps):
    """Follow Hamilton's equations for unit masses (formula: Neal, 2011)."""

    def move(state, _):
        w, p = state
        w = w + size * p
        p = p + size * gradient(w)
        return (w, p), None

    p = p + 0.5 * size * gradient(w)
    (w, p), _ = lax.scan(move, (w, p), None, length=steps - 1)
    w = w + size * p
    return w, p + 0.5 * size * gradient(w)


def transition(density, key, w, size=0.15, steps=10):
    """One step of the chain: the new weights and whether the proposal was accepted.

    The step size is drawn anew each time, so that no trajectory is a full period.
    """
    k1, k2, k3 = jax.random.split(key, 3)
    p = jax.random.normal(k1, w.shape)
    size = size * jax.random.uniform(k3, minval=0.2, maxval=1.0)

    def energy(w, p):
        return 0.5 * jnp.sum(p**2) - density(w)

    new_w, new_p = leapfrog(jax.grad(density), w, p, size, steps)
    accept = jnp.log(jax.random.uniform(k2)) < energy(w, p) - energy(new_w, new_p)
    return jnp.where(accept, new_w, w), accept


def chain(key, x, y, samples):
    """Samples of one chain (samples, 3) and which proposals were accepted."""

    def density(w):
        return log_density(w, x, y)

    def one(w, key):
        w, accepted = transition(density, key, w)
        return w, (w, accepted)

    return lax.scan(one, jnp.zeros(3), jax.random.split(key, samples))[1]


def main(arguments=None):
    """Sample, print the posterior's moments, return its means and the acceptance rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    options = parser.parse_args(arguments)
    x, y = data(jax.random.PRNGKey(3), 300)
    keys = jax.random.split(jax.random.PRNGKey(1), options.chains)
    run = jax.jit(jax.vmap(lambda k: chain(k, x, y, options.samples)))
    samples, accepted = run(keys)
    kept = samples[:, options.samples // 5 :].reshape(-1, 3)
    mean, deviation = kept.mean(0), kept.std(0)
    for name, m, s, t in zip("abc", mean, deviation, TRUE, strict=True):
        print(f"{name}: {float(m):6.2f} +- {float(s):.2f}   (data drawn with {t})")
    rate = float(accepted.mean())
    print(f"accepted: {rate:.0%}")
    return mean, deviation, rate


if __name__ == "__main__":
    main()
