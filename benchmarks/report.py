"""Makes the tables of the documentation from the figures of several runs.

    python benchmarks/run.py --json one.json; python benchmarks/run.py --json two.json
    python benchmarks/report.py one.json two.json --table docs/benchmark_table.md

Prints the means of the families and the programs that are slower than jax; `--table` writes all
programs to a file. Times are medians over the runs that have the program, so runs may be of
different families.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import run

HEAD = """# Benchmark table

Times and ratios of every program of `benchmarks/run.py`, as [performance](performance.md) describes them: a ratio above 1 says that lingon is
faster. {machine} `missing` programs use functions that lingon does not have.
"""

Figures = dict[str, list[dict[str, Any]]]


def combined(runs: list[Figures]) -> Figures:
    """One record of each program, in the order of the families: its medians over the runs."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for figures in runs:
        for name, records in figures.items():
            for record in records:
                found.setdefault(name, {}).setdefault(record["name"], []).append(record)
    out: Figures = {}
    for name in ("start", *run.FAMILIES):
        for records in found.get(name, {}).values():
            good = [r for r in records if "seconds" in r]
            record = dict((good or records)[0])
            if good:
                record["seconds"] = {
                    lib: statistics.median(r["seconds"][lib] for r in good) for lib in run.LIBRARIES
                }
            out.setdefault(name, []).append(record)
    return out


def row(record: dict[str, Any]) -> tuple[str, ...]:
    if "seconds" not in record:
        return (record["name"], "missing" if "missing" in record else "error", "", "")
    times = (run.shown(record["seconds"][lib]) for lib in run.LIBRARIES)
    return (record["name"], *times, f"{run.ratio(record):.2f}")


def tables(figures: Figures) -> str:
    """All programs, a table for each family."""
    head = ("program", *run.LIBRARIES, "ratio")
    parts = [
        f"## {name}\n\n{run.table(head, [row(r) for r in records])}\n"
        for name, records in figures.items()
    ]
    return "\n".join(parts)


def slower(figures: Figures) -> str:
    """The programs with a ratio below 1, worst first in each family."""
    rows = []
    for name, records in figures.items():
        below = [r for r in records if "seconds" in r and run.ratio(r) < 1]
        rows += [
            (f"{name}: {r['name']}", f"{run.ratio(r):.2f}") for r in sorted(below, key=run.ratio)
        ]
    return run.table(("program", "ratio"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="FILE", help="figures that run.py --json wrote")
    parser.add_argument("--table", metavar="FILE", help="write the tables of all programs there")
    parser.add_argument("--machine", default="", metavar="TEXT",
        help="a sentence about the machine, for the head of the file")  # fmt: skip
    options = parser.parse_args()
    figures = combined([json.loads(Path(path).read_text()) for path in options.runs])
    if options.table:
        head = HEAD.format(machine=options.machine)
        Path(options.table).write_text(f"{head}\n{tables(figures)}")
    print(run.summary(figures))
    print("\nThe programs that are slower than jax:\n")
    print(slower(figures))


if __name__ == "__main__":
    main()
