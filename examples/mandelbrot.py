"""Draws the Mandelbrot set, each point with a while_loop of its own that stops when it escapes.

Run as

    python examples/mandelbrot.py [--width N] [--file out.pgm]
"""

from __future__ import annotations

import argparse

import numpy as np

import lingon as jax
import lingon.numpy as jnp
from lingon import lax


def escape_time(c, most):
    """The number of steps of z -> z**2 + c from 0 until |z| > 2, at most `most`."""

    def inside(state):
        z, n = state
        return (jnp.real(z) ** 2 + jnp.imag(z) ** 2 <= 4.0) & (n < most)

    def step(state):
        z, n = state
        return z * z + c, n + 1

    return lax.while_loop(inside, step, (jnp.zeros_like(c), 0))[1]


def points(width, height, left=-2.2, right=0.8, top=1.2):
    """The complex numbers of a grid (height, width)."""
    x = jnp.linspace(left, right, width)
    y = jnp.linspace(top, -top, height)
    return lax.complex(*jnp.meshgrid(x, y))


def picture(c, most):
    """Escape times of all points: while_loop under vmap under vmap."""
    return jax.vmap(jax.vmap(lambda z: escape_time(z, most)))(c)


def distance(c, most):
    """An estimate of the distance to the set: the derivative dz/dc is carried along in a scan.

    Formula: d = |z| log |z| / |dz/dc| for the last z before |z| exceeds a large bound.
    """

    def step(state, _):
        z, dz = state
        small = jnp.abs(z) < 1e3
        return (jnp.where(small, z * z + c, z), jnp.where(small, 2 * z * dz + 1, dz)), None

    zero = jnp.zeros_like(c)
    (z, dz), _ = lax.scan(step, (zero, zero), None, length=most)
    size = jnp.abs(z)
    return jnp.where(size > 2, size * jnp.log(jnp.maximum(size, 1)) / jnp.abs(dz), 0.0)


def main(arguments=None):
    """Draw the set as text, or as a grey picture in a file; returns the escape times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=72)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--file")
    options = parser.parse_args(arguments)
    width = options.width
    height = width * 4 // 5 if options.file else width * 2 // 5
    times = np.asarray(jax.jit(picture, static_argnums=1)(points(width, height), options.steps))
    shades = np.log1p(times) / np.log1p(options.steps)
    if options.file:
        with open(options.file, "wb") as f:
            f.write(f"P5 {width} {height} 255\n".encode())
            f.write((255 * (1 - shades)).astype(np.uint8).tobytes())
        print(f"{options.file}: {width} x {height}")
    else:
        for row in shades:
            print("".join(" .:-=+*#%@"[int(9.99 * s)] for s in row))
    print(f"{(times == options.steps).mean():.1%} of the points do not escape")
    return times


if __name__ == "__main__":
    main()
