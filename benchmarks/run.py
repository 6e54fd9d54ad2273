"""Measures the same programs in lingon and in jax and prints a table of medians and ratios.

    python benchmarks/run.py [--only TEXT] [--budget SECONDS] [--repeat N] [--markdown FILE]

Each library runs in processes of its own, in turn; a ratio above 1 says that lingon is faster. The
on-disk compile cache is off, so that the first call includes the compilation.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def run(library: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """One process of one library: its records by program."""
    env = {**os.environ, "LINGON_COMPILATION_CACHE": "0"}
    # OpenBLAS variables of the machine would slow one of the two down.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        env.pop(name, None)
    command = [sys.executable, str(HERE / "worker.py"), library]
    command += ["--only", options.only, "--budget", str(options.budget)]
    with tempfile.TemporaryDirectory() as cwd:
        done = subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{library} failed with code {done.returncode}")
    return {r["name"]: r for r in map(json.loads, done.stdout.splitlines())}


def merged(runs: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Medians over several processes."""
    out: dict[str, dict[str, Any]] = {}
    for name in runs[0]:
        records = [r[name] for r in runs]
        out[name] = dict(records[0])
        for key in ("seconds", "first", "steady", "peak_mib"):
            if all(key in r for r in records):
                out[name][key] = statistics.median(r[key] for r in records)
    return out


def shown(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds to time each program")
    parser.add_argument("--repeat", type=int, default=1, help="processes of each library")
    parser.add_argument("--markdown", help="also write the table to this file")
    options = parser.parse_args()

    ours, theirs = [], []
    for _ in range(options.repeat):
        ours.append(run("lingon", options))
        theirs.append(run("jax", options))
    a, b = merged(ours), merged(theirs)

    head = ("program", "lingon first", "jax first", "ratio", "lingon steady", "jax steady", "ratio")
    rows = []
    ratios = []
    for name, r in a.items():
        s = b.get(name, {})
        if "error" in r or "error" in s:
            rows.append((name, r.get("error", "ok"), s.get("error", "ok"), "", "", "", ""))
            continue
        if name == "import":
            rows.append(
                (
                    name,
                    shown(r["seconds"]),
                    shown(s["seconds"]),
                    f"{s['seconds'] / r['seconds']:.2f}",
                    "",
                    "",
                    "",
                )
            )
            continue
        ratio = s["steady"] / r["steady"]
        ratios.append(ratio)
        rows.append(
            (
                name, shown(r["first"]), shown(s["first"]), f"{s['first'] / r['first']:.2f}",
                shown(r["steady"]), shown(s["steady"]), f"{ratio:.2f}",
            )
        )  # fmt: skip
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(("geometric mean", "", "", "", "", "", f"{mean:.2f}"))
    last = list(a)[-1]
    memory = f"peak memory: lingon {a[last].get('peak_mib', 0):.0f} MiB, jax {b[last].get('peak_mib', 0):.0f} MiB"
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    lines = []
    for row in (head, tuple("-" * w for w in widths), *rows):
        cells = [
            str(c).ljust(w) if i == 0 else str(c).rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("| " + " | ".join(cells) + " |")
    table = "\n".join(lines)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(table)
    print(memory)
    if options.markdown:
        Path(options.markdown).write_text(f"{table}\n\n{memory}\n")


if __name__ == "__main__":
    main()
