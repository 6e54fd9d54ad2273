"""Learns to learn: a network that fits a new sine wave after a few steps on ten points.

Model-agnostic meta-learning (Finn, Abbeel and Levine, 2017). The inner steps of gradient descent are
a scan with a gradient in it; the outer gradient goes through that scan: a gradient of a gradient.
Run as

    python examples/maml.py [--steps N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax


def init(key, sizes=(1, 32, 32, 1)):
    """Weights and biases of a perceptron."""
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (m, n)) / jnp.sqrt(1.0 * m), jnp.zeros(n))
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def predict(params, x):
    """The network's value for every element of `x`."""
    h = x[:, None]
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return (h @ w + b)[:, 0]


def loss(params, task):
    """Mean squared error on a task: points and values."""
    x, y = task
    return jnp.mean((predict(params, x) - y) ** 2)


def adapt(params, task, steps=5, rate=0.03):
    """Gradient descent on one task, as a scan; the new parameters."""

    def step(params, _):
        grads = jax.grad(loss)(params, task)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), None

    return lax.scan(step, params, None, length=steps)[0]


def after_adapting(params, task, test):
    """The loss on other points of the task after adapting to it."""
    return loss(adapt(params, task), test)


def meta_loss(params, tasks, tests):
    """Mean of the losses after adapting, over a batch of tasks."""
    return jnp.mean(jax.vmap(after_adapting, in_axes=(None, 0, 0))(params, tasks, tests))


def waves(key, count, points):
    """Tasks: for each of `count` waves, `points` points to adapt to and as many to test."""
    a, b, c = jax.random.split(key, 3)
    height = jax.random.uniform(a, (count, 1), minval=0.5, maxval=2.0)
    phase = jax.random.uniform(b, (count, 1), maxval=3.14)
    x = jax.random.uniform(c, (count, 2 * points), minval=-3.0, maxval=3.0)
    y = height * jnp.sin(x - phase)
    return (x[:, :points], y[:, :points]), (x[:, points:], y[:, points:])


def train(params, key, steps, count=16, points=10):
    """Meta-training with momentum; the parameters and the meta-loss of every step."""

    def step(carry, key):
        params, momentum = carry
        value, grads = jax.value_and_grad(meta_loss)(params, *waves(key, count, points))
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), grads)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        params = jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum)
        return (params, momentum), value

    start = (params, jax.tree.map(jnp.zeros_like, params))
    (params, _), losses = lax.scan(step, start, jax.random.split(key, steps))
    return params, losses


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args(argv)

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    before = init(keys[0])
    params, losses = jax.jit(train, static_argnums=2)(before, keys[1], options.steps)
    for i in range(0, options.steps, max(1, options.steps // 8)):
        print(f"step {i:4d}  meta-loss {float(losses[i]):.4f}")
    tasks, tests = waves(keys[2], 50, 10)
    first = float(meta_loss(before, tasks, tests))
    learned = float(meta_loss(params, tasks, tests))
    print(f"loss on new waves after five steps: {first:.3f} before, {learned:.3f} after learning")
    return first, learned


if __name__ == "__main__":
    main()
