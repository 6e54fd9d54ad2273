"""Measures the same programs in lingon and in jax, side by side, and prints tables of times and ratios.

    python benchmarks/run.py [--family NAME ...] [--only TEXT] [--budget SECONDS] [--repeat N]
                             [--markdown FILE] [--list]

Each library runs in a process of its own; for each program the two are timed in turn. A ratio,
jax's time by lingon's, is above 1 where lingon is faster. The results of the two are compared once:
a program whose results differ is reported as `differs`, one that lingon cannot run as `missing`.
On-disk compile caches are off, except where the line is about them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import start
from families import FAMILIES, family

HERE = Path(__file__).resolve().parent
LIBRARIES = ("lingon", "jax")
LONG = 4.0  # seconds of a compilation that is measured once
LIMIT = 150  # seconds until a worker that does not answer is ended
TURNS = 3
MEMORY = ("broadcast_reduce", "models")  # families whose temporary memory is shown
# Relative differences that rounding explains, by the type of the results.
TOLERANCES = {"float64": 1e-8, "complex128": 1e-8, "float16": 2e-2, "bfloat16": 5e-2}


class Process:
    """A worker; started again where it ends by a crash."""

    def __init__(self, library: str, small: bool) -> None:
        self.library, self.small = library, small
        self.process: subprocess.Popen[str] | None = None
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.peak_mib = 0.0

    def start(self) -> subprocess.Popen[str]:
        env = {**os.environ, "LINGON_COMPILATION_CACHE": "0", "JAX_PLATFORMS": "cpu"}
        # OpenBLAS variables of the machine would slow one of the two down.
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            env.pop(name, None)
        command = [sys.executable, str(HERE / "worker.py"), self.library]
        self.process = subprocess.Popen(
            command + ["--small"] * self.small,
            env=env, cwd=tempfile.gettempdir(), text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
        )  # fmt: skip
        return self.process

    def ask(self, do: str, **told: Any) -> dict[str, Any]:
        process = self.process or self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        try:
            process.stdin.write(json.dumps({"do": do, **told}) + "\n")
            process.stdin.flush()
            if select.select([process.stdout], [], [], LIMIT)[0]:
                line = process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            return {"error": self.end()}
        answer = json.loads(line)
        self.peak_mib = max(self.peak_mib, answer.get("peak_mib", 0))
        return answer

    def close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        self.end()

    def end(self) -> str:
        """Ends the process; why it had ended, if it had."""
        if self.process is None:
            return ""
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        self.process = None
        self.said.seek(0)
        last = (self.said.read().strip().splitlines() or [""])[-1]
        return "does not end" if code is None else f"ended with {code}: {last}"


def difference(paths: dict[str, str], answers: dict[str, dict[str, Any]]) -> str | None:
    """What is different about the two results, None if nothing is."""
    ours, theirs = (answers[lib]["dtypes"] for lib in LIBRARIES)
    if ours != theirs:
        return f"results are {ours}, jax's are {theirs}"[:200]
    with np.load(paths["lingon"]) as a, np.load(paths["jax"]) as b:
        for i, dtype in enumerate(theirs):
            x, y = a[f"leaf{i}"], b[f"leaf{i}"]
            if x.dtype.kind in "biu":
                wrong = x != y
            else:
                tolerance = answers["jax"]["tolerance"] or TOLERANCES.get(dtype.split("[")[0], 1e-4)
                wide = np.complex128 if x.dtype.kind == "c" else np.float64
                x, y = x.astype(wide), y.astype(wide)
                finite = np.isfinite(y)
                scale = np.sqrt(np.mean(np.abs(y[finite]) ** 2)) if finite.any() else 0.0
                with np.errstate(invalid="ignore"):
                    near = np.abs(x - y) <= tolerance * (np.abs(y) + scale)
                wrong = ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))
            if wrong.size and wrong.mean() > answers["jax"]["differing"]:
                return f"{wrong.mean():.1%} of the elements of result {i} differ"
    return None


def measured(
    workers: dict[str, Process], name: str, family_name: str, budget: float, folder: str
) -> dict[str, Any]:
    """The record of a program."""
    paths = {lib: str(Path(folder, f"{lib}.npz")) for lib in LIBRARIES}
    record: dict[str, Any] = {"name": name}
    answers = {}
    for lib, worker in workers.items():
        answers[lib] = worker.ask(
            "prepare", family=family_name, name=name, save=paths[lib], memory=family_name in MEMORY
        )
    for lib in LIBRARIES:
        if "error" in answers[lib]:
            kind = "missing" if answers[lib].get("missing") and lib == "lingon" else "error"
            record[kind] = f"{lib}: {answers[lib]['error']}"
            return record
    record["first"] = {lib: answers[lib]["first"] for lib in LIBRARIES}
    record["temporary"] = {lib: answers[lib].get("temporary") for lib in LIBRARIES}
    record["differs"] = difference(paths, answers)
    times: dict[str, list[float]] = {lib: [] for lib in LIBRARIES}
    long = max(record["first"].values()) > LONG and answers["jax"]["kind"] == "compile"
    if long:
        times = {lib: [seconds] for lib, seconds in record["first"].items()}
    for _ in range(0 if long else TURNS):
        for lib, worker in workers.items():
            answer = worker.ask("time", seconds=budget / TURNS)
            if "error" in answer:
                record["error"] = f"{lib}: {answer['error']}"
                return record
            times[lib] += answer["times"]
    record["times"] = times
    return record


def finished(record: dict[str, Any], statistic: str) -> dict[str, Any]:
    """The record with one time of each library in place of all."""
    if "error" not in record and "missing" not in record:
        one = min if statistic == "least" else statistics.median
        record["seconds"] = {lib: one(t) for lib, t in record.pop("times").items()}
    return record


def merged(runs: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Medians over several runs."""
    out = []
    for records in zip(*runs, strict=True):
        bad = [r for r in records if "seconds" not in r]
        record = dict((bad or records)[0])
        for key in () if bad else ("seconds", "first"):
            if key in record:
                record[key] = {
                    lib: statistics.median(r[key][lib] for r in records) for lib in LIBRARIES
                }
        out.append(record)
    return out


def shown(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ratio(record: dict[str, Any], key: str = "seconds") -> float:
    return record[key]["jax"] / record[key]["lingon"]


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    rule = ("-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:]))
    lines = []
    for row in (head, rule, *rows):
        cells = [
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def row(record: dict[str, Any]) -> tuple[str, ...]:
    name = record["name"]
    for kind in ("missing", "error"):
        if kind in record:
            return (name, kind, "", "", "", "")
    first = f"{ratio(record, 'first'):.2f}" if "first" in record else ""
    note = "differs" if record.get("differs") else ""
    if record.get("temporary", {}).get("lingon") is not None:
        note += " / ".join(f"{(record['temporary'][lib] or 0) / 2**20:.1f}" for lib in LIBRARIES)
    times = (shown(record["seconds"][lib]) for lib in LIBRARIES)
    return (name, *times, f"{ratio(record):.2f}", first, note)


def report(name: str, records: list[dict[str, Any]]) -> str:
    """A family's text: its table, means by group, and what is slower, missing or different."""
    module = start if name == "start" else family(name)
    note = "MiB" if name in MEMORY else ""
    head = ("program", "lingon", "jax", "ratio", "first call", note)
    lines = [f"## {name}", "", table(head, [row(r) for r in records]), ""]
    good = [r for r in records if "seconds" in r]
    for group, target in module.TARGETS.items():
        ratios = [ratio(r) for r in good if r["group"] == group]
        if ratios:
            verdict = "reached" if mean(ratios) >= target else "NOT reached"
            of = f" of {group}" if group else ""
            lines.append(
                f"Geometric mean{of}: **{mean(ratios):.2f}** over {len(ratios)} programs;"
                f" to reach: {target:g}, {verdict}."
            )
    lines += scaling(good)
    slower = sorted((r for r in good if ratio(r) < 1), key=ratio)
    if slower:
        lines += ["", f"Slower than jax ({len(slower)} of {len(good)}):", ""]
        lines += [
            f"- {r['name']}: {ratio(r):.2f} ({shown(r['seconds']['lingon'])}"
            f" against {shown(r['seconds']['jax'])})"
            for r in slower
        ]
    for kind in ("missing", "error", "differs"):
        found = [r for r in records if r.get(kind)]
        if found:
            lines += ["", f"{kind.capitalize()}:", ""]
            lines += [f"- {r['name']}: {r[kind]}" for r in found]
    return "\n".join(lines) + "\n"


def summary(figures: dict[str, list[dict[str, Any]]]) -> str:
    """A table of the families and their groups."""
    head = ("family", "programs", "ratio, geometric mean", "to reach", "slower than jax", "missing")
    rows = []
    for name, records in figures.items():
        module = start if name == "start" else family(name)
        for group, target in module.TARGETS.items():
            mine = [r for r in records if r["group"] == group]
            ratios = [ratio(r) for r in mine if "seconds" in r]
            if not mine:
                continue
            rows.append(
                (
                    f"{name}: {group}" if group else name,
                    str(len(mine)),
                    f"{mean(ratios):.2f}" if ratios else "",
                    f"{target:g}",
                    str(sum(r < 1 for r in ratios)),
                    str(len(mine) - len(ratios)),
                )
            )
    return table(head, rows)


def scaling(records: list[dict[str, Any]]) -> list[str]:
    """How throughput grows with threads, for programs `threads: N x ...`."""
    one, out = {}, []
    for r in records:
        threads, _, what = r["name"].removeprefix("threads: ").partition(" x ")
        if not r["name"].startswith("threads: "):
            continue
        if threads == "1":
            one[what] = r["seconds"]
        else:
            grows = [
                f"{lib} {int(threads) * one[what][lib] / r['seconds'][lib]:.2f}"
                for lib in LIBRARIES
            ]
            out.append(
                f"Throughput of {threads} threads by that of one, {what}: {', '.join(grows)}."
            )
    return out


def run_family(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The records of a family, medians over the repetitions."""

    def wanted(program: str) -> bool:
        return all(part in program for part in options.only)

    def show(record: dict[str, Any]) -> None:
        text = "  ".join(c for c in row(record) if c)
        print(f"{name}: {text}", file=sys.stderr, flush=True)

    runs = []
    for _ in range(options.repeat):
        if name == "start":
            done: list[dict[str, Any]] = []

            def keep(record: dict[str, Any], done: list[dict[str, Any]] = done) -> None:
                done.append(finished(record, options.statistic))
                show(done[-1])

            start.measure(wanted, options.budget, keep)
            runs.append(done)
            continue
        workers = {lib: Process(lib, options.small) for lib in LIBRARIES}
        records = []
        try:
            listed = workers["jax"].ask("list", family=name)
            if "error" in listed:
                sys.exit(f"{name}: {listed['error']}")
            with tempfile.TemporaryDirectory() as folder:
                for program, group in listed["names"]:
                    if wanted(program):
                        record = measured(workers, program, name, options.budget, folder)
                        records.append(finished({**record, "group": group}, options.statistic))
                        show(records[-1])
        finally:
            for worker in workers.values():
                worker.close()
        if records:
            memory = ", ".join(f"{lib} {w.peak_mib:.0f} MiB" for lib, w in workers.items())
            print(f"{name}: peak memory {memory}", file=sys.stderr)
        runs.append(records)
    return merged(runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    everything = ("start", *FAMILIES)
    parser.add_argument("--family", nargs="+", choices=everything, default=everything, metavar="NAME",
        help=f"only these families, of {', '.join(everything)}")  # fmt: skip
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT",
        help="only programs whose name contains all of these")  # fmt: skip
    parser.add_argument(
        "--budget", type=float, default=0.1, help="seconds of each library for each program"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        help="processes of each library; medians over them are shown",
    )
    parser.add_argument(
        "--statistic",
        choices=("median", "least"),
        default="median",
        help="of the times of a process",
    )
    parser.add_argument("--markdown", help="also write the tables to this file, after each family")
    parser.add_argument("--json", help="also write all figures to this file")
    parser.add_argument(
        "--small", action="store_true", help="all sizes small: shows that all programs run"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the programs only")
    options = parser.parse_args()
    if options.list:
        import jax
        from families import programs

        for name in options.family:
            listed = (
                [e[0] for e in start.ENTRIES]
                if name == "start"
                else [p.name for p in programs(name, jax)]
            )
            print("\n".join(f"{name}: {n}" for n in listed if all(t in n for t in options.only)))
        return

    began = time.perf_counter()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    texts, figures = [machine + "\n"], {}
    print(machine)
    for name in options.family:
        records = run_family(name, options)
        if not records:
            continue
        figures[name] = records
        texts.append(report(name, records))
        print(texts[-1], flush=True)
        if options.markdown:
            Path(options.markdown).write_text(
                "\n".join([texts[0], summary(figures), "", *texts[1:]])
            )
        if options.json:
            Path(options.json).write_text(json.dumps(figures, indent=1))
    if figures:
        print(summary(figures))
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
