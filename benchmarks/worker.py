"""Runs programs in one library; told what to do by lines of JSON on standard input.

    {"do": "prepare", "family": F, "name": N, "save": PATH}   first call, results saved
    {"do": "time", "seconds": S}                              times of calls
    {"do": "list", "family": F}                               names of the programs

Each answer is one line of JSON. Standard output is for answers only: what programs print goes to
standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SAVED = 200_000  # elements of a result that are compared


class Worker:
    def __init__(self, library: str) -> None:
        self.jax = importlib.import_module(library)
        for part in ("numpy", "nn", "lax", "random", "tree_util", "ops", "scipy.linalg"):
            # What a library lacks is an AttributeError of the programs that use it.
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{library}.{part}")
        self.listed: dict[str, dict[str, Any]] = {}
        self.program: Any = None
        self.call: Callable[[], Any] | None = None
        self.once: Callable[[], Any] | None = None

    def programs(self, family: str) -> dict[str, Any]:
        if family not in self.listed:
            from families import programs

            self.listed[family] = {p.name: p for p in programs(family, self.jax)}
        return self.listed[family]

    def list(self, family: str) -> dict[str, Any]:
        return {"names": [[p.name, p.group] for p in self.programs(family).values()]}

    def arrays(self, made: tuple) -> tuple:
        """Arguments as arrays of the library, which share no memory with NumPy's."""
        one = lambda x: self.jax.numpy.array(x) if isinstance(x, np.ndarray | np.generic) else x  # noqa: E731
        return self.jax.tree_util.tree_map(one, made)

    def prepare(self, family: str, name: str, save: str, memory: bool = False) -> dict[str, Any]:
        self.program = self.call = self.once = None
        program = self.programs(family)[name]
        self.jax.config.update("jax_enable_x64", program.x64)
        f, made = program.make()
        args = self.arrays(made)
        self.wait(args)
        record: dict[str, Any] = {"kind": program.kind}
        start = time.perf_counter()
        if program.kind == "compile":
            result = self.jax.jit(f).lower(*args).compile()
            record["first"] = time.perf_counter() - start
            result = result(*args)
        elif program.kind == "call":
            result = f(*args)
        else:
            donated = (0,) if program.kind == "carry" else ()
            jitted = self.jax.jit(f, donate_argnums=donated)
            result = jitted(*args)
        self.wait(result)
        record.setdefault("first", time.perf_counter() - start)
        record["dtypes"] = self.save(result, save)
        if memory and program.kind == "jit":
            analysis = self.jax.jit(f).lower(*args).compile().memory_analysis()
            record["temporary"] = getattr(analysis, "temp_size_in_bytes", None)
        record["tolerance"], record["differing"] = program.tolerance, program.differing
        self.program = program
        if program.kind == "carry":
            self.state, rest = result, args[1:]
            if isinstance(made[0], tuple | dict) is False and isinstance(result, tuple):
                raise TypeError("the result of a program that carries is its first argument")

            def carried() -> Any:
                self.state = jitted(self.state, *rest)
                return self.state

            self.call = carried
        elif program.kind == "jit":
            self.call = lambda: jitted(*args)
        elif program.kind == "call":
            self.call = lambda: f(*args)
        return record

    def wait(self, result: Any) -> Any:
        return self.jax.block_until_ready(result)

    def save(self, result: Any, path: str) -> list[str]:
        """Writes the leaves, or evenly spaced elements of large ones; their dtypes."""
        out, dtypes = {}, []
        for i, leaf in enumerate(self.jax.tree_util.tree_leaves(result)):
            x = np.asarray(leaf)
            dtypes.append(f"{x.dtype}{list(x.shape)}")
            x = x.ravel()[:: max(1, x.size // SAVED)]
            out[f"leaf{i}"] = (
                x.astype(np.float32) if x.dtype.kind == "V" or x.dtype.name == "bfloat16" else x
            )
        np.savez(path, **out)
        return dtypes

    def time(self, seconds: float) -> dict[str, Any]:
        """Seconds of a call, several times; short calls are timed in loops."""
        if self.program.kind == "compile":
            return {"times": self.compilations(seconds)}
        call = self.call
        assert call is not None
        if self.once is None:
            self.once = self.waited(call)
            self.once()
        once, clock = self.once, time.perf_counter
        times: list[float] = []
        end = clock() + seconds
        inner = 1
        while len(times) < 2 or clock() < end:
            start = clock()
            for _ in range(inner):
                once()
            times.append((clock() - start) / inner)
            if inner == 1 and times[0] < 5e-4:
                # The first one tells how many it takes to fill a millisecond.
                inner = min(10_000, int(1e-3 / max(times.pop(), 1e-7)))
        return {"times": times}

    def waited(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """`call` with what waits for its result at the least cost."""
        result = call()
        self.wait(result)
        if hasattr(result, "block_until_ready"):
            return lambda: call().block_until_ready()
        if isinstance(result, float | int | np.ndarray):
            return call
        wait = self.jax.block_until_ready
        return lambda: wait(call())

    def compilations(self, seconds: float) -> list[float]:
        times = []
        end = time.perf_counter() + seconds
        while not times or (time.perf_counter() < end and len(times) < 50):
            f, made = self.program.make()
            args = self.arrays(made)
            start = time.perf_counter()
            self.jax.jit(f).lower(*args).compile()
            times.append(time.perf_counter() - start)
        return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=("lingon", "jax"))
    parser.add_argument("--small", action="store_true", help="all sizes are small")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from families import common

    common.small = options.small
    worker = Worker(options.library)
    for line in sys.stdin:
        told = json.loads(line)
        try:
            answer = getattr(worker, told.pop("do"))(**told)
        except Exception as e:
            text = (str(e).splitlines() or [""])[0][:200]
            missing = isinstance(e, AttributeError | NotImplementedError | ImportError)
            answer = {"error": f"{type(e).__name__}: {text}", "missing": missing}
        answer["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
