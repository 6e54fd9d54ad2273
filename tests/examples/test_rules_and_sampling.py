"""The examples on derivative rules and sampling, as with jax and as they promise; all of them run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example import Example

SMALL = {
    "vae": ["--steps", "12"],
    "hmc": ["--samples", "40", "--chains", "2"],
    "newton": ["--parameters", "3"],
    "mandelbrot": ["--width", "20", "--steps", "30"],
}


@pytest.mark.parametrize("name", SMALL)
def test_runs(name: str, capsys: pytest.CaptureFixture) -> None:
    """The whole program runs and prints."""
    Example(name).ours.main(SMALL[name])
    assert len(capsys.readouterr().out.splitlines()) >= 2


def key(m: Any, seed: int) -> Any:
    return m.jax.random.PRNGKey(seed)


# --- variational autoencoder ----------------------------------------------------------------


def test_vae() -> None:
    e = Example("vae")

    def gradient(m: Any) -> Any:
        params = m.init(key(m, 0))
        pictures = m.bars(key(m, 1), 5)
        f = m.jax.value_and_grad(m.loss)
        return pictures, f(params, key(m, 2), pictures), m.jax.jit(f)(params, key(m, 2), pictures)

    def steps(m: Any) -> Any:
        state, values = m.start(key(m, 0)), []
        for i in range(3):
            state, value = m.step(state, key(m, i))
            values.append(value)
        return state[0], values

    e.agree(gradient)
    e.agree(steps, tol=2e-3)
    first, last = e.ours.main(["--steps", "200"])
    assert last < 0.8 * first


def test_vae_rules() -> None:
    """The rules of the loss are its derivatives; the other one clips."""
    m = Example("vae").ours
    logits = np.linspace(-3, 3, 8, dtype=np.float32)
    pictures = np.linspace(0, 1, 8, dtype=np.float32)
    plain = lambda x, p: m.jnp.sum(m.jax.nn.softplus(x) - x * p)
    for i in (0, 1):
        got, want = (m.jax.grad(f, i)(logits, pictures) for f in (m.cross_entropy, plain))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    clipped = m.jax.grad(lambda x: m.jnp.sum(m.clip_gradient(0.5, x) ** 2))(logits)
    np.testing.assert_allclose(clipped, np.clip(2 * logits, -0.5, 0.5))


# --- Hamiltonian Monte Carlo ----------------------------------------------------------------


def test_hmc() -> None:
    e = Example("hmc")

    def short(m: Any) -> Any:
        x, y = m.data(key(m, 0), 50)
        run = lambda k: m.chain(k, x, y, 6)
        return x, y, run(key(m, 1)), m.jax.jit(m.jax.vmap(run))(m.jax.random.split(key(m, 1), 3))

    e.agree(short, tol=2e-3)


def test_hmc_leapfrog_is_reversible_and_keeps_energy() -> None:
    m = Example("hmc").ours
    density = lambda w: -0.5 * m.jnp.sum(w**2 * m.jnp.array([1.0, 4.0]))
    gradient = m.jax.grad(density)
    w, p = m.jnp.array([1.0, 0.5]), m.jnp.array([0.3, -0.2])
    w1, p1 = m.leapfrog(gradient, w, p, 0.05, 20)
    w0, p0 = m.leapfrog(gradient, w1, -p1, 0.05, 20)
    np.testing.assert_allclose(w0, w, atol=1e-5)
    np.testing.assert_allclose(-p0, p, atol=1e-5)
    energy = lambda w, p: float(0.5 * m.jnp.sum(p**2) - density(w))
    assert abs(energy(w1, p1) - energy(w, p)) < 2e-3


def test_hmc_finds_the_posterior() -> None:
    """Its mean and deviation are near those of the Gaussian at the posterior's maximum."""
    m = Example("hmc").ours
    mean, deviation, rate = m.main(["--samples", "500"])
    x, y = (np.asarray(a, np.float64) for a in m.data(key(m, 3), 300))
    w = np.zeros(3)
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ w))
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.eye(3) / 9
        w = w + np.linalg.solve(curvature, x.T @ (y - p) - w / 9)
    spread = np.sqrt(np.diag(np.linalg.inv(curvature)))
    assert rate > 0.6
    assert np.all(np.abs(np.asarray(mean) - w) < 0.4 * spread)
    assert np.all(np.abs(np.log(np.asarray(deviation) / spread)) < 0.25)
