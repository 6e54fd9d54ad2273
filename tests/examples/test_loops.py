"""The examples built on scan give what they give with jax, and do what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example import Example


@pytest.fixture(scope="module", params=["lstm", "kalman", "ode", "viterbi", "nbody", "maml"])
def any_example(request: pytest.FixtureRequest) -> Example:
    return Example(request.param)


SMALL = {
    "lstm": ["--steps", "60", "--width", "8"],
    "kalman": ["--steps", "60"],
    "ode": ["--steps", "150"],
    "viterbi": ["--length", "60"],
    "nbody": ["--steps", "100", "--bodies", "10"],
    "maml": ["--steps", "200"],
}


def test_runs(any_example: Example, capsys: pytest.CaptureFixture) -> None:
    """The whole program runs and prints."""
    name = any_example.ours.__name__.split("_")[0]
    any_example.ours.main(SMALL[name])
    assert len(capsys.readouterr().out.splitlines()) >= 2


def key(m: Any, seed: int) -> Any:
    return m.jax.random.PRNGKey(seed)


def test_lstm() -> None:
    e = Example("lstm")

    def gradient(m: Any) -> Any:
        params = m.init(key(m, 0), 6)
        return m.jax.value_and_grad(m.loss)(params, m.waves(key(m, 1), 4, 12))

    def training(m: Any) -> Any:
        run = m.jax.jit(m.train, static_argnums=(2, 3, 4))
        return run(m.init(key(m, 0), 6), key(m, 1), 5, 4, 12)

    e.agree(gradient)
    e.agree(training, tol=2e-3)
    e.agree(
        lambda m: m.continue_wave(m.init(key(m, 0), 6), m.waves(key(m, 1), 1, 9)[:, 0], 4), tol=1e-3
    )
    first, last = e.ours.main(["--steps", "150", "--width", "12"])
    assert last < 0.4 * first


def test_ode() -> None:
    e = Example("ode")
    parameters = np.array([1.1, 0.4, 0.1, 0.4], np.float32)
    times = np.linspace(0, 4, 21).astype(np.float32)
    starts = np.array([[10, 5], [6, 4], [12, 6]], np.float32)

    def solutions(m: Any) -> Any:
        f = m.jax.vmap(m.solve, in_axes=(0, None, None))
        jacobian = m.jax.jit(m.jax.jacrev(lambda p: f(starts, p, times)[:, -1]))(parameters)
        return f(starts, parameters, times), jacobian

    def fitting(m: Any) -> Any:
        ys = m.jax.vmap(m.solve, in_axes=(0, None, None))(starts, parameters, times)
        guess = np.array([0.9, 0.3, 0.15, 0.5], np.float32)
        return m.jax.jit(m.fit, static_argnums=4)(starts, ys, times, guess, 5)

    e.agree(solutions)
    e.agree(fitting, tol=1e-3)
    drift, first, last = e.ours.main(["--steps", "200"])
    assert drift < 1e-4 and last < 1e-3 * first


def test_order_of_the_solver() -> None:
    """Half the step, a sixteenth of the error."""
    m = Example("ode").ours
    with m.jax.enable_x64(True):
        errors = []
        for n in (10, 20, 40):
            t = m.jnp.linspace(0.0, 2.0, n + 1)
            y = m.rk4(lambda y, t: -y * m.jnp.cos(t), m.jnp.float64(1.0), t)
            errors.append(abs(float(y[-1]) - np.exp(-np.sin(2.0))))
    assert 12 < errors[0] / errors[1] < 20 and 12 < errors[1] / errors[2] < 20


def test_nbody() -> None:
    e = Example("nbody")

    def simulated(m: Any) -> Any:
        x, v, masses = m.cluster(key(m, 2), 7)
        run = m.jax.jit(m.simulate, static_argnums=(4, 5))
        f = lambda x: run(x, v, masses, 0.01, 20, 5)[0][0, 0]
        return run(x, v, masses, 0.01, 20, 5), m.jax.grad(f)(x), m.energy(x, v, masses)

    e.agree(simulated, tol=1e-3)
    error, momentum = e.ours.main(["--steps", "500", "--bodies", "20"])
    assert error < 5e-3 and momentum < 1e-5


def test_maml() -> None:
    e = Example("maml")

    def derivatives(m: Any) -> Any:
        params = m.init(key(m, 0), (1, 6, 1))
        tasks, tests = m.waves(key(m, 1), 3, 4)
        value = m.jax.value_and_grad(m.meta_loss)(params, tasks, tests)
        adapted = m.adapt(params, m.jax.tree.map(lambda a: a[0], tasks))
        return value, m.jax.jit(m.jax.grad(m.meta_loss))(params, tasks, tests), adapted

    def training(m: Any) -> Any:
        run = m.jax.jit(m.train, static_argnums=(2, 3, 4))
        return run(m.init(key(m, 0), (1, 6, 1)), key(m, 1), 4, 3, 4)

    e.agree(derivatives, tol=1e-3)
    e.agree(training, tol=2e-3)
    first, learned = e.ours.main(["--steps", "400"])
    assert learned < 0.6 * first
