"""Start: import, the first calls in a fresh process, and whole fresh processes.

Every figure is of a process of its own, lingon's and jax's in turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TARGETS = {
    "import": 4.0,
    "first call": 2.0,
    "fresh process": 2.0,
    "fresh process, filled cache": 3.0,
}

_PRELUDE = """
import time, numpy as np
import {library} as jax, {library}.numpy as jnp, {library}.nn, {library}.tree_util
x = jnp.array(np.ones((4, 3), np.float32))
"""
_WARM = "jax.block_until_ready(jax.jit(lambda x: jnp.tanh(x) * 3 - 1)(x))\n"
_TRIVIAL = "f, args = jax.jit(lambda x: x + 1), (x,)\n"
_SOFTMAX = "f, args = jax.jit(lambda x: jax.nn.softmax(x)), (jnp.array(np.ones((256, 1024), np.float32)),)\n"
_MLP = """
def loss(p, x, y):
    h = jax.nn.relu(x @ p["w"] + p["b"])
    return jnp.mean((h @ p["v"] - y) ** 2)
p = {{"w": np.ones((3, 8), np.float32), "b": np.zeros(8, np.float32), "v": np.ones((8, 2), np.float32)}}
p = {{k: jnp.array(v) for k, v in p.items()}}
f, args = jax.jit(jax.grad(loss)), (p, x, jnp.array(np.ones((4, 2), np.float32)))
"""
_CALL = """
start = time.perf_counter()
jax.block_until_ready(f(*args))
print(time.perf_counter() - start)
"""
_WHOLE = """
import {library} as jax, {library}.numpy as jnp
f = jax.jit(lambda x: jnp.sum(jnp.sin(x) * x))
print(f(jnp.arange(8.0)))
"""
_WHOLE_MLP = _PRELUDE + _MLP + "print(f(*args)['b'])\n"

# Name, group, program; the time is that which it prints, or the whole process's, and its cache.
ENTRIES: list[tuple[str, str, str, str, str]] = [
    ("import", "import", "import time\nstart = time.perf_counter()\nimport {library}.numpy\nprint(time.perf_counter() - start)\n", "printed", "off"),
    ("first call after a compilation: x + 1", "first call", _PRELUDE + _WARM + _TRIVIAL + _CALL, "printed", "off"),
    ("first call after a compilation: softmax", "first call", _PRELUDE + _WARM + _SOFTMAX + _CALL, "printed", "off"),
    ("first call after a compilation: MLP gradient", "first call", _PRELUDE + _WARM + _MLP + _CALL, "printed", "off"),
    ("fresh process, printed result, empty cache", "fresh process", _WHOLE, "whole", "empty"),
    ("fresh process, MLP gradient, empty cache", "fresh process", _WHOLE_MLP, "whole", "empty"),
    ("fresh process, printed result, filled cache", "fresh process, filled cache", _WHOLE, "whole", "filled"),
    ("fresh process, MLP gradient, filled cache", "fresh process, filled cache", _WHOLE_MLP, "whole", "filled"),
]  # fmt: skip


def environment(library: str, cache: str, folder: str) -> dict[str, str]:
    """The environment of a process: whether and where it has a disk cache. JAX keeps everything in it."""
    env = dict(os.environ)
    for name in ("LINGON_COMPILATION_CACHE", "LINGON_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR"):
        env.pop(name, None)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its compiled files
    env["JAX_PLATFORMS"] = "cpu"
    if cache == "off":
        env["LINGON_COMPILATION_CACHE"] = "0"
    else:
        env["LINGON_CACHE_DIR"] = env["JAX_COMPILATION_CACHE_DIR"] = folder
        env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        env["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    return env


def run(library: str, text: str, what: str, cache: str, folder: str) -> float:
    """Seconds of the process, or those that it printed."""
    env = environment(library, cache, folder)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", text.format(library=library)],
        env=env, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    whole = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
    return float(done.stdout) if what == "printed" else whole


def measure(
    only: Callable[[str], bool], budget: float, keep: Callable[[dict[str, Any]], None]
) -> None:
    """Gives `keep` a record of each entry, which runs for twenty times the budget, at least 3 times."""
    for name, group, text, what, cache in ENTRIES:
        if not only(name):
            continue
        record: dict[str, Any] = {"name": name, "group": group, "times": {"lingon": [], "jax": []}}
        try:
            with tempfile.TemporaryDirectory() as folder:
                folders = {lib: str(Path(folder, lib)) for lib in ("lingon", "jax")}
                for library, at in folders.items():
                    Path(at).mkdir()
                    run(library, text, what, cache, at)
                end = time.perf_counter() + 20 * budget
                turns = 0
                while turns < 3 or (time.perf_counter() < end and turns < 15):
                    turns += 1
                    for library, at in folders.items():
                        new = tempfile.mkdtemp(dir=folder) if cache == "empty" else at
                        seconds = run(library, text, what, cache, new)
                        record["times"][library].append(seconds)
        except RuntimeError as e:
            record["error"] = str(e)
        keep(record)
