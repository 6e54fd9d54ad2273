"""The examples built on while loops: as with jax, and as they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from example import Example

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
