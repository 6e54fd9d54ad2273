"""The examples on derivative rules, sampling and while loops: as with jax, and as they promise."""

from __future__ import annotations

from pathlib import Path
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


# --- Newton's method ------------------------------------------------------------------------


def test_newton() -> None:
    e = Example("newton")

    def solved(m: Any) -> Any:
        f = lambda x: m.equations(x, 2.0)
        x, steps, residual = m.newton(f, m.jnp.array([2.0, 0.2]))
        return (
            x,
            steps,
            m.jax.jit(lambda r: m.crossing(r))(1.5),
            m.jnp.max(m.jnp.abs(residual)) < 1e-5,
        )

    def derived(m: Any) -> Any:
        return m.main(["--parameters", "4"]), m.sensitivity(1.2)

    e.agree(solved)
    e.agree(derived, tol=2e-4)
    e.agree(lambda m: m.square_roots(m.jnp.array([1.0, 2.0, 100.0, 1e6, 0.25])))


def test_newton_derivatives_are_those_of_differences() -> None:
    m = Example("newton").ours
    r, h = 1.7, 1e-2
    x, dx, _ = m.sensitivity(r)
    up, down = (np.asarray(m.crossing(r + s), np.float64) for s in (h, -h))
    np.testing.assert_allclose(dx, (up - down) / (2 * h), atol=2e-3)
    assert np.max(np.abs(m.equations(x, r))) < 1e-5


# --- Mandelbrot set -------------------------------------------------------------------------


def test_mandelbrot() -> None:
    e = Example("mandelbrot")

    def near_the_set(m: Any) -> Any:
        c = m.points(24, 10)
        times = m.picture(c, 40)
        # where rounding decides when a point escapes, one step more or less is right, too
        return c, m.jnp.where(times < 20, times, 0), m.jax.jit(m.picture, static_argnums=1)(c, 15)

    e.agree(near_the_set)
    e.agree(lambda m: m.distance(m.points(12, 6) * 2, 12), tol=1e-3)


def test_mandelbrot_escape_times() -> None:
    """Against a loop in Python with the same precision."""
    m = Example("mandelbrot").ours
    c = np.asarray(m.points(16, 8))
    times = np.asarray(m.picture(c, 25))
    for index, point in np.ndenumerate(c):
        z, n = np.complex64(0), 0
        while z.real**2 + z.imag**2 <= 4 and n < 25:
            z, n = np.complex64(z * z + point), n + 1
        assert abs(int(times[index]) - n) <= (n > 12), (index, point)


def test_mandelbrot_picture_file(tmp_path: Path) -> None:
    m = Example("mandelbrot").ours
    file = tmp_path / "set.pgm"
    m.main(["--width", "20", "--steps", "10", "--file", str(file)])
    head, pixels = file.read_bytes().split(b"255\n", 1)
    assert head == b"P5 20 16 " and len(pixels) == 20 * 16
