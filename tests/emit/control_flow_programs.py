"""Random programs of nested loops and conditionals whose carries cross, overlap and change in place.

A program is a function of a seed; everything it draws comes from one generator.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

# The types of values that a program works on.
KINDS = ((), (6,), (2, 3), (3, 2), (4,))


def program(seed: int) -> tuple[Callable, tuple[np.ndarray, ...]]:
    """A function of several arrays to several arrays, and its arguments."""
    random = np.random.default_rng(seed)
    arguments = tuple(random.uniform(-1, 1, shape).astype(np.float32) for shape in KINDS)
    count = int(random.integers(0, 3))
    extra = tuple(random.uniform(-1, 1, KINDS[k]).astype(np.float32) for k in range(1, 1 + count))
    draw = _Draw(random.integers(0, 2**31))

    def function(*values):
        return draw.body(list(values), [v.shape for v in values], depth=2)

    return function, (*arguments, *extra)


class _Draw:
    def __init__(self, seed: int):
        self.seed = seed

    def body(self, values: list, wanted: list, depth: int) -> list:
        """Computes with `values` and returns values of the shapes `wanted`."""
        self.random = np.random.default_rng(self.seed)
        return self._block(values, wanted, depth)

    def _block(self, values: list, wanted: list, depth: int) -> list:
        pool = list(values)
        fresh: list = []
        for _ in range(int(self.random.integers(1, 4))):
            made = self._step(pool, depth)
            pool += made
            fresh += made
        if self.random.random() < 0.3:
            # The old values once more, after the new ones are there.
            late = self._pick(values, None)
            made = [jnp.tanh(late.sum() + fresh[-1].sum())]
            pool += made
            fresh += made
        return [self._pick(pool, shape, fresh) for shape in wanted]

    def _pick(self, pool: list, shape, preferred: list = ()):
        """A value of `pool` (of `shape` if given), rather one of `preferred`."""
        for source in (preferred, pool):
            found = [v for v in source if shape is None or v.shape == shape]
            if found and (source is pool or self.random.random() < 0.7):
                return found[int(self.random.integers(len(found)))]
        return jnp.zeros(shape, jnp.float32)

    def _step(self, pool: list, depth: int) -> list:
        r = self.random
        steps = [self._elementwise] * 3 + [self._move, self._put, self._reduce, self._updates]
        if depth > 0:
            steps += [self._scan, self._while, self._cond, self._switch]
        return steps[int(r.integers(len(steps)))](pool, depth)

    def _elementwise(self, pool: list, depth: int) -> list:
        x = self._pick(pool, None)
        y = self._pick(pool, x.shape)
        kind = int(self.random.integers(4))
        return [(x * 0.5 + y, jnp.sin(x) - y * 0.5, jnp.maximum(x, -y), x * np.float32(0.9))[kind]]

    def _move(self, pool: list, depth: int) -> list:
        x = self._pick(pool, None)
        kind = int(self.random.integers(3))
        if x.ndim == 2:
            return [(x.T, x[::-1], x.reshape(-1))[kind]]
        if x.shape == (6,):
            return [(x.reshape(2, 3), x[::-1], x[1:5])[kind]]
        return [jnp.roll(x, 1) if x.ndim else x + 1]

    def _put(self, pool: list, depth: int) -> list:
        x = self._pick(pool, (6,))
        y = self._pick(pool, ())
        at = int(self.random.integers(-2, 7))
        kind = int(self.random.integers(4))
        if kind == 0:
            return [x.at[at].set(y)]
        if kind == 1:
            return [x.at[at].add(x[2] * y)]
        if kind == 2:
            return [lax.dynamic_update_slice(x, self._pick(pool, (4,)), (at,))]
        i = jnp.where(y > 0, 3, 1)
        return [x.at[i].set(y), x[i]]

    def _updates(self, pool: list, depth: int) -> list:
        """Many updates in a row, of the newest version or, seldom, of an older one; parts of old
        versions are read late."""
        r = self.random
        versions, parts = [self._pick(pool, (6,))], []
        late = float(r.choice([0.0, 0.05, 0.3]))
        for _ in range(int(r.integers(5, 25))):
            old = r.random() < late
            x = versions[int(r.integers(len(versions)))] if old else versions[-1]
            source = versions[int(r.integers(len(versions)))] if r.random() < late else x
            start, size = int(r.integers(0, 5)), int(r.integers(1, 3))
            part = source[start : start + size]
            kept = bool(parts) and r.random() < 0.3
            value = parts[int(r.integers(len(parts)))] if kept else part
            parts.append(part)
            at = int(r.integers(0, 5))
            if r.random() < 0.5:
                versions.append(lax.dynamic_update_slice(x, jnp.tanh(value * 1.25 + 0.1), (at,)))
            else:
                versions.append(x.at[at].set(value[0] * 0.5 + 0.1))
        return [versions[-1], jnp.tanh(parts[int(r.integers(len(parts)))].sum())]

    def _reduce(self, pool: list, depth: int) -> list:
        x = self._pick(pool, None)
        if x.shape == (2, 3):
            return [jnp.tanh(x.T @ x).sum(), jnp.tanh(x @ self._pick(pool, (3, 2))).sum()]
        return [jnp.tanh(x.sum())]

    def _carry(self, pool: list) -> list:
        size = int(self.random.integers(1, 5))
        return [self._pick(pool, None) for _ in range(size)]

    def _seeded(self) -> int:
        return int(self.random.integers(2**31))

    def _scan(self, pool: list, depth: int) -> list:
        init, seed = self._carry(pool), self._seeded()
        length = int(self.random.integers(0, 5))
        xs = jnp.arange(length, dtype=jnp.float32)
        if self.random.random() < 0.5:
            xs = (xs, jnp.ones((length, 6), jnp.float32) * self._pick(pool, (6,)))
        outer = self._pick(pool, None)
        shapes = [v.shape for v in init]

        def step(carry, x):
            rows = list(x) if isinstance(x, tuple) else [x]
            found = _Draw(seed).body([*carry, *rows, outer], [*shapes, (6,), ()], depth - 1)
            return found[: len(init)], tuple(found[len(init) :])

        carry, stacked = lax.scan(
            step,
            init,
            xs,
            length=length,
            reverse=bool(self.random.random() < 0.3),
            unroll=int(self.random.integers(1, 4)),
        )
        results = list(carry)
        if length:
            results += [stacked[0].sum(0) * 0.25, stacked[1].sum()]
        return results

    def _while(self, pool: list, depth: int) -> list:
        init, seed = self._carry(pool), self._seeded()
        limit = jnp.int32(jnp.abs(self._pick(pool, ())) * 4) if self.random.random() < 0.5 else 3
        shapes = [v.shape for v in init]

        def body(state):
            i, carry = state
            return i + 1, _Draw(seed).body(list(carry), shapes, depth - 1)

        def cond(state):
            i, carry = state
            return (i < limit) & (jnp.abs(carry[0]).sum() < 50)

        return list(lax.while_loop(cond, body, (0, init))[1])

    def _cond(self, pool: list, depth: int) -> list:
        values, seed = self._carry(pool), self._seeded()
        shapes = [v.shape for v in values]
        return list(
            lax.cond(
                self._pick(pool, ()) > 0,
                lambda *v: _Draw(seed).body(list(v), shapes, depth - 1),
                lambda *v: list(v),
                *values,
            )
        )

    def _switch(self, pool: list, depth: int) -> list:
        values, seed = self._carry(pool), self._seeded()
        shapes = [v.shape for v in values]
        branches = [
            lambda *v, s=seed + k: _Draw(s).body(list(v), shapes, depth - 1) for k in range(3)
        ]
        index = jnp.int32(self._pick(pool, ()) * 4)
        return list(lax.switch(index, branches, *values))
