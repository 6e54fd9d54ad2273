"""Measures programs in one library, in a process of its own; prints one JSON object per program."""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any


def median_seconds(f: Callable[[], Any], budget: float) -> float:
    """Median time of a call; short calls are timed in loops."""
    f()
    start = time.perf_counter()
    f()
    once = time.perf_counter() - start
    inner = max(1, int(2e-3 / max(once, 1e-7)))
    times = []
    end = time.perf_counter() + budget
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 200):
        start = time.perf_counter()
        for _ in range(inner):
            f()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=("lingon", "jax"))
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", type=float, default=0.5)
    options = parser.parse_args()

    start = time.perf_counter()
    jax = importlib.import_module(options.library)
    importlib.import_module(f"{options.library}.numpy")
    imported = time.perf_counter() - start
    for part in ("nn", "lax", "random", "tree_util"):
        importlib.import_module(f"{options.library}.{part}")
    from programs import programs

    print(json.dumps({"name": "import", "seconds": imported}), flush=True)
    for name, (f, args) in programs(jax).items():
        if options.only not in name:
            continue
        record: dict[str, Any] = {"name": name}
        try:
            leaves, tree = jax.tree_util.tree_flatten(args)
            arrays = jax.tree_util.tree_unflatten(tree, [jax.numpy.asarray(x) for x in leaves])
            jitted = jax.jit(f)
            start = time.perf_counter()
            jax.block_until_ready(jitted(*arrays))
            record["first"] = time.perf_counter() - start
            record["steady"] = median_seconds(
                lambda jitted=jitted, arrays=arrays: jax.block_until_ready(jitted(*arrays)),
                options.budget,
            )
        except Exception as e:
            record["error"] = f"{type(e).__name__}: {str(e).splitlines()[0][:200]}"
        record["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    main()
