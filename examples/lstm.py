"""Trains an LSTM through scan to go on with a wave of two frequencies.

The network reads one sample a step and predicts the next; all steps of a sequence are one scan, and
the gradient is a scan backwards. Training is a scan, too: many steps of Adam in one program. Run as

    python examples/lstm.py [--width N] [--steps N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax


def waves(key, count, length):
    """Sequences of shape (length + 1, count): two sines of random phases."""
    phase = jax.random.uniform(key, (2, count), maxval=6.28)
    t = jnp.arange(length + 1.0)[:, None]
    return 0.6 * jnp.sin(0.3 * t + phase[0]) + 0.3 * jnp.sin(1.1 * t + phase[1])


def init(key, width):
    """Weights of the four gates, as one matrix, and of the output."""
    a, b = jax.random.split(key)
    return {
        "gates": jax.random.normal(a, (1 + width, 4 * width)) / jnp.sqrt(1.0 + width),
        "bias": jnp.zeros(4 * width).at[width : 2 * width].set(1.0),
        "out": jax.random.normal(b, (width,)) / jnp.sqrt(1.0 * width),
    }


def step(params, state, x):
    """One step for a batch: state and prediction (Hochreiter and Schmidhuber, 1997)."""
    h, c = state
    z = jnp.concatenate([x[:, None], h], axis=1) @ params["gates"] + params["bias"]
    i, f, g, o = jnp.split(z, 4, axis=1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h @ params["out"]


def loss(params, sequences):
    """Mean squared error of all predictions of the next sample."""
    width = params["out"].shape[0]
    zero = jnp.zeros((sequences.shape[1], width))
    _, predicted = lax.scan(lambda s, x: step(params, s, x), (zero, zero), sequences[:-1])
    return jnp.mean((predicted - sequences[1:]) ** 2)


def adam(params, moments, grads, t, rate=0.01):
    """One step of Adam (Kingma and Ba, 2015)."""

    def update(p, m, v, g):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        p = p - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return p, m, v

    new = {k: update(p, *moments[k], grads[k]) for k, p in params.items()}
    return {k: v[0] for k, v in new.items()}, {k: v[1:] for k, v in new.items()}


def train(params, key, steps, batch=16, length=40):
    """Train for a number of steps; the parameters and the loss of every step."""

    def one(carry, t):
        params, moments, key = carry
        key, sub = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(params, waves(sub, batch, length))
        params, moments = adam(params, moments, grads, t)
        return (params, moments, key), value

    moments = {k: (jnp.zeros_like(p), jnp.zeros_like(p)) for k, p in params.items()}
    (params, _, _), losses = lax.scan(one, (params, moments, key), jnp.arange(1.0, steps + 1.0))
    return params, losses


def continue_wave(params, beginning, count):
    """Feed the network its own predictions after a beginning of shape (length,)."""
    width = params["out"].shape[0]
    zero = jnp.zeros((1, width))
    state, outs = lax.scan(lambda s, x: step(params, s, x[None]), (zero, zero), beginning)

    def own(carry, _):
        state, x = carry
        state, y = step(params, state, x)
        return (state, y), y[0]

    return lax.scan(own, (state, outs[-1]), None, length=count)[1]


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args(argv)

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = init(keys[0], options.width)
    params, losses = jax.jit(train, static_argnums=2)(params, keys[1], options.steps)
    for i in range(0, options.steps, max(1, options.steps // 8)):
        print(f"step {i:4d}  loss {float(losses[i]):.5f}")
    wave = waves(keys[2], 1, 60)[:, 0]
    ahead = continue_wave(params, wave[:40], 10)
    print("ten samples ahead:", " ".join(f"{float(x):+.2f}" for x in ahead))
    print("the wave itself:  ", " ".join(f"{float(x):+.2f}" for x in wave[41:51]))
    return float(losses[0]), float(losses[-1])


if __name__ == "__main__":
    main()
