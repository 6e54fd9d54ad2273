"""The Kalman filter and the Viterbi decoder give what they give with jax, and are right."""

from __future__ import annotations

from typing import Any

import numpy as np
from example import Example


def key(m: Any, seed: int) -> Any:
    return m.jax.random.PRNGKey(seed)


def test_kalman() -> None:
    e = Example("kalman")

    def filtered(m: Any) -> Any:
        noise = m.jnp.log(m.jnp.array([2.0, 0.3]))
        path, z = m.simulate(key(m, 1), noise, 30)
        return path, z, m.filter(noise, z), m.jax.jit(m.filter)(noise, z)

    def derivatives(m: Any) -> Any:
        noise = m.jnp.log(m.jnp.array([1.0, 0.5]))
        z = m.simulate(key(m, 1), noise, 10)[1]
        f = lambda n: m.filter(n, z)[1]
        return m.jax.grad(f)(noise), m.jax.hessian(f)(noise)

    e.agree(filtered, tol=1e-3)
    e.agree(derivatives, tol=5e-3)
    measured, after = e.ours.main(["--steps", "150"])
    assert after < 0.7 * measured


def test_kalman_filter_is_the_matrix_form() -> None:
    """Scalar updates give what the textbook's matrix inverse gives."""
    m = Example("kalman").ours
    noise = np.log(np.array([2.0, 0.3], np.float32))
    z = np.asarray(m.simulate(key(m, 4), noise, 20)[1], np.float64)
    move, q, r = (np.asarray(x, np.float64) for x in m.model(noise))
    h, mean, cov, expected = np.eye(2, 4), np.zeros(4), 10 * np.eye(4), []
    for value in z:
        mean, cov = move @ mean, move @ cov @ move.T + q
        s = h @ cov @ h.T + r * np.eye(2)
        gain = cov @ h.T @ np.linalg.inv(s)
        mean, cov = mean + gain @ (value - h @ mean), cov - gain @ h @ cov
        expected.append(mean)
    np.testing.assert_allclose(m.filter(noise, z.astype(np.float32))[0], expected, 1e-3, 1e-3)


def test_viterbi() -> None:
    e = Example("viterbi")

    def decoded(m: Any) -> Any:
        model = m.random_model(key(m, 0), 4, 5)
        states, seen = m.sample(key(m, 1), model, 37)
        parallel = m.jax.jit(m.viterbi_parallel)(*model, seen)
        return states, seen, m.viterbi_parallel(*model, seen), parallel, (
            m.viterbi_sequential(*model, seen)
        )  # fmt: skip

    e.agree(decoded)
    right, same, a, b = e.ours.main(["--length", "300"])
    assert same == 1.0 and abs(a - b) < 1e-2 and right > 0.6


def test_viterbi_finds_the_best_of_all_paths() -> None:
    m = Example("viterbi").ours
    start, move, emit = (np.asarray(x) for x in m.random_model(key(m, 5), 3, 4))
    seen = np.array([0, 3, 1, 1, 2, 0])
    best = (-np.inf, None)
    for path in np.ndindex(*(3,) * len(seen)):
        score = start[path[0]] + emit[path[0], seen[0]]
        for i in range(1, len(seen)):
            score += move[path[i - 1], path[i]] + emit[path[i], seen[i]]
        best = max(best, (float(score), path))
    states, value = m.viterbi_parallel(start, move, emit, seen)
    assert tuple(np.asarray(states)) == best[1]
    np.testing.assert_allclose(float(value), best[0], rtol=1e-5)
