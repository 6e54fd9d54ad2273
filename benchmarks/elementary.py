"""Throughput of the elementary functions on one thread, beside jax: nanoseconds per element.

    python benchmarks/elementary.py [FUNCTION ...] [--size N] [--no-jax]

Each figure is the best of several loops over an array; jax runs in this process with one thread
(XLA_FLAGS is set before it is imported), interleaved with ours.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64}
RANGES = {
    "log": (0.01, 100), "log2": (0.01, 100), "log10": (0.01, 100), "log1p": (-0.9, 100),
    "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "acosh": (1, 100), "powf": (0.1, 10),
    "erf_inv": (-1, 1), "rsqrt": (0.1, 100),
}  # fmt: skip
JAX_NAMES = {"powf": "pow", "fmod": "rem"}


def jax_function(name: str) -> Callable | None:
    """The jitted jax function of that name, None if there is none."""
    import jax

    if name == "hypot":
        return jax.jit(jax.numpy.hypot)
    if name in ("log2", "log10"):
        return jax.jit(getattr(jax.numpy, name))
    function = getattr(jax.lax, JAX_NAMES.get(name, name), None)
    return None if function is None else jax.jit(function)


def times(run: Callable[[], object], repetitions: int) -> list[float]:
    run()
    result = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        result.append(time.perf_counter() - start)
    return result


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("functions", nargs="*")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args(arguments)
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    os.environ["JAX_ENABLE_X64"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from lingon.lowering.elementary import ARITY
    from lingon.lowering.elementary.compiled import compile_loop

    print("| function | f32 | jax | ratio | f64 | jax | ratio |\n|---|---|---|---|---|---|---|")
    for name in options.functions or list(ARITY):
        cells = []
        for float_type, dtype in DTYPES.items():
            generator = np.random.default_rng(0)
            low, high = RANGES.get(name, (-10, 10))
            arrays = [
                generator.uniform(low, high, options.size).astype(dtype) for _ in range(ARITY[name])
            ]
            loop = compile_loop(name, float_type)
            out = np.empty_like(arrays[0])
            ours, theirs = [], []
            other = None if options.no_jax else jax_function(name)
            if other is not None:
                import jax

                given = [jax.numpy.asarray(a) for a in arrays]
            for _ in range(3):
                ours += times(lambda: loop(*arrays, out=out), 5)  # noqa: B023
                if other is not None:
                    theirs += times(lambda: other(*given).block_until_ready(), 3)  # noqa: B023
            mine = min(ours) * 1e9 / options.size
            if theirs:
                their = min(theirs) * 1e9 / options.size
                cells += [f"{mine:.2f}", f"{their:.2f}", f"{their / mine:.1f}"]
            else:
                cells += [f"{mine:.2f}", "", ""]
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
