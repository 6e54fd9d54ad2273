"""Finds the most likely states of a hidden Markov model by associative_scan.

Viterbi's algorithm (1967) is a product of matrices, with + for the product and max for the sum. That
is associative, so that all prefixes come from a tree of depth log T instead of T steps. Run as

    python examples/viterbi.py [--length N] [--states N]
"""

from __future__ import annotations

import argparse

import lingon as jax
import lingon.numpy as jnp
from lingon import lax


def compose(a, b):
    """Product of matrices (..., S, S) of logarithms, over (max, +)."""
    return jnp.max(a[..., :, :, None] + b[..., None, :, :], axis=-2)


def viterbi_parallel(log_start, log_move, log_emit, observed):
    """The most likely states (T,) and the logarithm of their probability.

    `log_start` (S,), `log_move` (S, S) from row to column, `log_emit` (S, O); `observed` (T,) ints.
    """
    seen = log_emit[:, observed].T
    first = jnp.broadcast_to(log_start + seen[0], log_move.shape)
    factors = jnp.concatenate([first[None], log_move + seen[1:, None, :]])
    # best probability of what was before and ends in a state, and of what comes after it
    before = lax.associative_scan(compose, factors)[:, 0, :]
    suffixes = lax.associative_scan(lambda a, b: compose(b, a), factors[1:], reverse=True)
    after = jnp.concatenate([jnp.max(suffixes, axis=-1), jnp.zeros((1, log_start.shape[0]))])
    total = before + after
    return jnp.argmax(total, axis=1), jnp.max(total[-1])


def viterbi_sequential(log_start, log_move, log_emit, observed):
    """The same by two scans: forwards with back-pointers, and back along them."""
    seen = log_emit[:, observed].T

    def forward(best, row):
        scores = best[:, None] + log_move
        return jnp.max(scores, axis=0) + row, jnp.argmax(scores, axis=0)

    best, pointers = lax.scan(forward, log_start + seen[0], seen[1:])
    last = jnp.argmax(best)

    def back(state, row):
        state = row[state]
        return state, state

    _, states = lax.scan(back, last, pointers, reverse=True)
    return jnp.concatenate([states, last[None]]), jnp.max(best)


def random_model(key, states, symbols):
    """A model whose states tend to stay and have symbols of their own."""
    a, b, c = jax.random.split(key, 3)
    start = jax.nn.log_softmax(jax.random.normal(a, (states,)))
    move = jax.nn.log_softmax(jax.random.normal(b, (states, states)) + 3.0 * jnp.eye(states))
    emit = jax.nn.log_softmax(2.0 * jax.random.normal(c, (states, symbols)), axis=1)
    return start, move, emit


def sample(key, model, length):
    """States and observations of shape (length,)."""
    start, move, emit = model

    def step(state, key):
        a, b = jax.random.split(key)
        seen = jax.random.categorical(a, emit[state])
        return jax.random.categorical(b, move[state]), (state, seen)

    first, rest = jax.random.split(key)
    state = jax.random.categorical(first, start)
    return lax.scan(step, state, jax.random.split(rest, length))[1]


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--states", type=int, default=6)
    options = parser.parse_args(argv)

    model = random_model(jax.random.PRNGKey(0), options.states, 10)
    states, observed = sample(jax.random.PRNGKey(1), model, options.length)
    found, value = jax.jit(viterbi_parallel)(*model, observed)
    again, check = jax.jit(viterbi_sequential)(*model, observed)
    right = float(jnp.mean(found == states))
    same = float(jnp.mean(found == again))
    print(f"log probability {float(value):.3f} by a tree, {float(check):.3f} step by step")
    print(f"the two agree in {same:.1%} of the states; {right:.1%} of them are right")
    return right, same, float(value), float(check)


if __name__ == "__main__":
    main()
