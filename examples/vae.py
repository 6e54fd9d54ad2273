"""Trains a variational autoencoder on pictures of bars.

Two functions have reverse rules of their own (custom_vjp): the reconstruction loss, whose gradient
is sigmoid(logits) - picture and needs no logarithm, and an identity that clips the gradient which
flows from the decoder into the encoder. Run as

    python examples/vae.py [--steps N]
"""

from __future__ import annotations

import argparse
from functools import partial

import lingon as jax
import lingon.numpy as jnp

SIDE, LATENT, HIDDEN = 6, 3, 32


@jax.custom_vjp
def cross_entropy(logits, pictures):
    """Sum of the binary cross entropies of `pictures` in [0, 1] under sigmoid(logits)."""
    return jnp.sum(
        jnp.maximum(logits, 0) - logits * pictures + jnp.log1p(jnp.exp(-jnp.abs(logits)))
    )


def cross_entropy_fwd(logits, pictures):
    return cross_entropy(logits, pictures), (logits, pictures)


def cross_entropy_bwd(saved, ct):
    logits, pictures = saved
    return ct * (jax.nn.sigmoid(logits) - pictures), -ct * logits


cross_entropy.defvjp(cross_entropy_fwd, cross_entropy_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def clip_gradient(limit, x):
    """`x`; its cotangent is clipped to [-limit, limit]."""
    return x


def clip_gradient_fwd(limit, x):
    return x, None


def clip_gradient_bwd(limit, _, ct):
    return (jnp.clip(ct, -limit, limit),)


clip_gradient.defvjp(clip_gradient_fwd, clip_gradient_bwd)


def bars(key, count):
    """Pictures (count, SIDE**2) in which each row or each column is a bar with probability 0.3."""
    k1, k2 = jax.random.split(key)
    on = jax.random.uniform(k1, (count, SIDE)) < 0.3
    upright = jax.random.uniform(k2, (count,)) < 0.5
    across = jnp.broadcast_to(on[:, :, None], (count, SIDE, SIDE))
    pictures = jnp.where(upright[:, None, None], jnp.swapaxes(across, 1, 2), across)
    return pictures.reshape(count, -1).astype(jnp.float32)


def init(key):
    """Encoder and decoder, each of two dense layers."""
    pixels = SIDE * SIDE
    sizes = {
        "encode": (pixels, HIDDEN),
        "latent": (HIDDEN, 2 * LATENT),
        "decode": (LATENT, HIDDEN),
        "logits": (HIDDEN, pixels),
    }
    keys = jax.random.split(key, len(sizes))
    return {
        name: (jax.random.normal(k, shape) / jnp.sqrt(shape[0]), jnp.zeros(shape[1]))
        for k, (name, shape) in zip(keys, sizes.items(), strict=True)
    }


def dense(layer, x):
    w, b = layer
    return x @ w + b


def encode(params, pictures):
    """Mean and log variance of the latent variables."""
    out = dense(params["latent"], jnp.tanh(dense(params["encode"], pictures)))
    return out[:, :LATENT], out[:, LATENT:]


def decode(params, z):
    return dense(params["logits"], jnp.tanh(dense(params["decode"], z)))


def loss(params, key, pictures):
    """The negative evidence lower bound for one sample of z for each picture.

    Formula: Kingma and Welling (2014), with the divergence to N(0, 1) in closed form.
    """
    mean, log_var = encode(params, pictures)
    z = mean + jnp.exp(0.5 * log_var) * jax.random.normal(key, mean.shape)
    logits = decode(params, clip_gradient(5.0, z))
    divergence = 0.5 * jnp.sum(jnp.exp(log_var) + mean**2 - 1 - log_var)
    return (cross_entropy(logits, pictures) + divergence) / pictures.shape[0]


@jax.jit
def step(state, key):
    """One step of Adam on 64 new pictures."""
    params, m, v, n = state
    data_key, noise_key = jax.random.split(key)
    value, grad = jax.value_and_grad(loss)(params, noise_key, bars(data_key, 64))
    n = n + 1
    tree_map = jax.tree_util.tree_map
    m = tree_map(lambda a, g: 0.9 * a + 0.1 * g, m, grad)
    v = tree_map(lambda a, g: 0.99 * a + 0.01 * g * g, v, grad)
    rate = 0.01 * jnp.sqrt(1 - 0.99**n) / (1 - 0.9**n)
    params = tree_map(lambda p, a, b: p - rate * a / (jnp.sqrt(b) + 1e-8), params, m, v)
    return (params, m, v, n), value


def start(key):
    params = init(key)
    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    return params, zeros, zeros, 0.0


def main(arguments=None):
    """Train, show a reconstruction, and return the first and the last losses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args(arguments).steps
    state = start(jax.random.PRNGKey(0))
    losses = []
    for i, key in enumerate(jax.random.split(jax.random.PRNGKey(1), steps)):
        state, value = step(state, key)
        losses.append(float(value))
        if i % 100 == 0 or i == steps - 1:
            print(f"step {i:4}: loss {losses[-1]:.2f}")
    picture = bars(jax.random.PRNGKey(7), 1)
    again = jax.nn.sigmoid(decode(state[0], encode(state[0], picture)[0]))
    for row, new in zip(picture.reshape(SIDE, SIDE), again.reshape(SIDE, SIDE), strict=True):
        print("".join("#" if p > 0.5 else "." for p in row), end="  ")
        print("".join("#" if p > 0.5 else "." for p in new))
    return losses[0], sum(losses[-10:]) / 10


if __name__ == "__main__":
    main()
