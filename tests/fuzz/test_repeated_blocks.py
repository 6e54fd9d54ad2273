"""Random blocks, repeated: what is emitted once gives what the block written out each time gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon.lowering.emit import repeats

SEEDS, ALL_SEEDS = 10, 120
OPERATIONS: list[Callable[..., Any]] = [
    lambda x, y, w, c: jnp.tanh(x @ w),
    lambda x, y, w, c: x * c + y,
    lambda x, y, w, c: x - jnp.mean(y, axis=1, keepdims=True),
    lambda x, y, w, c: jnp.sin(x) * jnp.max(y),
    lambda x, y, w, c: jnp.roll(x, 1, 0) + y[::-1],
    lambda x, y, w, c: jnp.where(y > 0, x, -x) * 0.9,
    lambda x, y, w, c: jnp.concatenate([x[:2], y[2:]], 0),
    lambda x, y, w, c: jnp.cumsum(x, axis=1) * 0.1,
    lambda x, y, w, c: x.at[1].set(y[0]),
    lambda x, y, w, c: x @ w.T * 0.3,
    lambda x, y, w, c: lingon.nn.softmax(x + y, axis=-1),
    lambda x, y, w, c: jnp.sort(x, axis=1),
    lambda x, y, w, c: x + jnp.broadcast_to(w[0], x.shape),
    lambda x, y, w, c: lingon.lax.fori_loop(0, 3, lambda _, v: jnp.tanh(v @ w) + v * 0.1, x),
]


def block(rng: random.Random) -> Callable[..., Any]:
    rows = [
        (rng.choice(OPERATIONS), rng.randrange(3), rng.randrange(3), rng.random(), rng.randrange(6))
        for _ in range(rng.randint(2, 9))
    ]

    def f(state: Any, w: Any) -> Any:
        state, outs = list(state), []
        for operation, a, b, c, hands_on in rows:
            state[a] = operation(state[a], state[b], w, c)
            if hands_on == 0:
                outs.append(jnp.sum(state[a]))
            elif hands_on == 1:
                outs.append(state[a].T)
        return tuple(state), outs

    return f


def program(seed: int) -> tuple[Callable[..., Any], int]:
    rng = random.Random(seed)
    f, other = block(rng), block(rng)
    count, own, collect = rng.randint(3, 14), rng.random() < 0.6, rng.random() < 0.5
    between, numbered = rng.random() < 0.3, rng.random() < 0.2
    if rng.random() < 0.4:
        f = lingon.jit(f)

    def run(ws: Any, x: Any) -> Any:
        state, out = (x, x * 0.5, jnp.cos(x)), []
        for i in range(count):
            state, made = f(state, ws[i] if own else ws[0])
            if collect:
                out += [*made, state[1]]
            if numbered:
                state = (state[0] * (1 + i * 0.01), *state[1:])
            if between and i % 2:
                state, _ = other(state, ws[0])
        return state, out

    return run, count


@pytest.mark.parametrize("part", range(SEEDS))
def test_repeated_blocks(part: int, request: pytest.FixtureRequest, monkeypatch: Any) -> None:
    full = request.config.getoption("--full", default=False)
    for seed in range(part, ALL_SEEDS if full else SEEDS, SEEDS):
        run, count = program(seed)
        numbers = np.random.default_rng(seed)
        ws = numbers.standard_normal((count, 4, 4)).astype(np.float32) * 0.4
        x = numbers.standard_normal((4, 4)).astype(np.float32)

        def loss(ws: Any, x: Any, run: Any = run) -> Any:
            return sum([jnp.sum(v * v) for v in lingon.tree.leaves(run(ws, x))]) * 1e-2

        for f in (run, lingon.grad(loss)) if seed % 2 == 0 else (run,):
            found = []
            for least in (4 + 13 * (seed % 3), 10**9):
                monkeypatch.setattr(repeats, "LEAST_SAVING", least)
                results = lingon.jit(lambda *a, f=f: f(*a))(list(ws) if seed % 3 else ws, x)
                found.append([np.asarray(v) for v in lingon.tree.leaves(results)])
            for got, expected in zip(*found, strict=True):
                if np.isfinite(expected).all() and np.abs(expected).max(initial=0) < 1e4:
                    np.testing.assert_allclose(got, expected, 2e-3, 2e-3)
