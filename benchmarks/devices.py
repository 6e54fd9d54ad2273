"""Measures programs of several CPU devices in lingon and in jax, side by side, and prints a table.

    python benchmarks/devices.py [--only TEXT] [--budget SECONDS] [--markdown FILE]

Each (library, number of devices, program) runs in a process of its own, so that one that does not
end costs no more than its time limit. Times are those of calls whose results are waited for: the
least, and the median. A ratio above 1 says that lingon is faster.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TIMEOUT = 120


def _mlp(jax: Any, devices: int) -> tuple[Callable[..., Any], Any]:
    jnp, lax = jax.numpy, jax.lax
    rng = np.random.default_rng(0)
    sizes = [64, 256, 256, 10]
    params = [
        (rng.normal(0, (2 / m) ** 0.5, (m, n)).astype(np.float32), np.zeros(n, np.float32))
        for m, n in itertools.pairwise(sizes)
    ]
    x = rng.normal(size=(devices, 256 // devices, 64)).astype(np.float32)
    y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, (devices, 256 // devices))]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(x @ w + b), axis=1))

    def step(params: Any, x: Any, y: Any) -> Any:
        grads = lax.pmean(jax.grad(loss)(params, x, y), "i")
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    mapped = jax.pmap(step, "i")
    stacked = jax.tree_util.tree_map(lambda p: np.stack([p] * devices), params)
    # Data stay on their devices, as in training.
    place = jax.pmap(lambda v: v * 1)
    x, y = place(x), place(y)
    return lambda params: mapped(params, x, y), jax.tree_util.tree_map(place, stacked)


def programs(jax: Any, devices: int) -> dict[str, Callable[[], tuple[Callable[..., Any], Any]]]:
    """By name, what makes (function, argument); the function's result is its next argument."""
    jnp, lax = jax.numpy, jax.lax

    def tiny(f: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: (jax.pmap(f, "i"), jnp.ones((devices, 4)))

    def total(n: int) -> Callable[[], Any]:
        return lambda: (jax.pmap(lambda v: lax.pmean(v, "i"), "i"), jnp.ones((devices, n)))

    out = {
        "call, 4 floats": tiny(lambda v: v * 0.5),
        "call with pmean, 4 floats": tiny(lambda v: lax.pmean(v, "i")),
        "data-parallel MLP step": lambda: _mlp(jax, devices),
    }
    for n in (10**3, 10**4, 10**5, 10**6, 10**7):
        out[f"pmean of {n:.0e} floats"] = total(n)
    return out


def measure(library: str, devices: int, name: str, budget: float) -> dict[str, float]:
    """Seconds of a call: least and median."""
    jax = importlib.import_module(library)
    for part in ("numpy", "lax", "nn", "tree_util"):
        importlib.import_module(f"{library}.{part}")
    f, value = programs(jax, devices)[name]()
    for _ in range(20):
        value = jax.block_until_ready(f(value))
    times = []
    end = time.perf_counter() + budget
    while len(times) < 20 or time.perf_counter() < end:
        start = time.perf_counter()
        value = jax.block_until_ready(f(value))
        times.append(time.perf_counter() - start)
    times.sort()
    return {"least": times[0], "median": times[len(times) // 2]}


def one(library: str, devices: int, name: str, budget: float) -> dict[str, float] | str:
    """`measure` in a process of its own; a word where it fails or takes too long."""
    env = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    command = [sys.executable, str(Path(__file__).resolve()), "--one", library, str(devices), name]
    with tempfile.TemporaryDirectory() as cwd:
        try:
            done = subprocess.run(
                [*command, "--budget", str(budget)],
                env=env,
                cwd=cwd,
                timeout=TIMEOUT,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return "does not end"
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else "fails"


def show(record: dict[str, float] | str, key: str) -> str:
    if isinstance(record, str):
        return record
    t = record[key]
    return f"{1e6 * t:.1f} µs" if t < 1e-3 else f"{1e3 * t:.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each")
    parser.add_argument("--markdown", help="also write the table to this file")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        library, devices, name = options.one
        print(json.dumps(measure(library, int(devices), name, options.budget)))
        return
    lines = [
        "| program | devices | lingon, least | jax, least | ratio | lingon, median | jax, median | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    import lingon

    for devices in (2, 8):
        for name in programs(lingon, devices):
            if options.only not in name or (devices == 8 and "e+07" in name):
                continue
            ours, theirs = (one(lib, devices, name, options.budget) for lib in ("lingon", "jax"))
            cells = [name, str(devices)]
            for key in ("least", "median"):
                both = isinstance(ours, dict) and isinstance(theirs, dict)
                ratio = f"{theirs[key] / ours[key]:.1f}" if both else ""
                cells += [show(ours, key), show(theirs, key), ratio]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if options.markdown:
        Path(options.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
