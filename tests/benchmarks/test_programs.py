"""The programs of the benchmarks: each runs in both libraries, at small sizes, with the same results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
try:
    import run
    from families import FAMILIES, common, family, programs
    from worker import Worker
finally:
    sys.path.remove(str(BENCHMARKS))

# Seconds of machine time each, or threads: not here.
LARGE = (
    "threads: ",
    "growth: ",
    "1000 unrolled",
    "transformer gradient, 4",
    "600 mixed",
    "100 unrolled",
)
CASES = [
    (name, program.name)
    for name in FAMILIES
    for program in programs(name, jax)
    if not program.name.startswith(LARGE)
]


@pytest.fixture(scope="module")
def workers() -> Any:
    before = sys.path[:]
    sys.path.insert(0, str(BENCHMARKS))
    common.small = True
    made = {library: Worker(library) for library in run.LIBRARIES}
    yield made
    common.small = False
    sys.path[:] = before
    for worker in made.values():
        worker.jax.config.update("jax_enable_x64", False)


@pytest.mark.sampled(90)
@pytest.mark.parametrize(("name", "program"), CASES)
def test_results_agree(workers: Any, tmp_path: Path, name: str, program: str) -> None:
    paths = {library: str(tmp_path / f"{library}.npz") for library in workers}
    answers = {}
    for library, worker in workers.items():
        try:
            answers[library] = worker.prepare(name, program, paths[library])
        except AttributeError as e:
            if library == "jax" or "lingon" not in str(e):
                raise
            pytest.skip(f"a function that lingon lacks: {e}")
    assert run.difference(paths, answers) is None
    for worker in workers.values():
        assert min(worker.time(0.0)["times"]) > 0


def test_every_program_has_a_target() -> None:
    for name in FAMILIES:
        groups = {p.group for p in programs(name, jax)}
        assert groups == set(family(name).TARGETS)


def test_difference(tmp_path: Path) -> None:
    """Results that differ in a value, a dtype or a shape are noticed; roundings are none."""
    import numpy as np

    worker = object.__new__(Worker)
    worker.jax = jax
    x = np.linspace(1, 2, 100, dtype=np.float32)
    paths = {library: str(tmp_path / f"{library}.npz") for library in run.LIBRARIES}

    def compared(other: Any, **answer: Any) -> str | None:
        answers = {}
        for library, result in zip(run.LIBRARIES, (other, x), strict=True):
            answers[library] = {"dtypes": worker.save(result, paths[library])}
            answers[library] |= {"tolerance": None, "differing": 0.0, **answer}
        return run.difference(paths, answers)

    wrong = x.copy()
    wrong[7] = 0
    assert compared(x) is None
    assert compared(np.nextafter(x, np.float32(2))) is None
    assert "1.0% of the elements" in (compared(wrong) or "")
    assert compared(wrong, differing=0.02) is None
    assert "100.0%" in (compared(x * np.nan) or "")
    assert "float64" in (compared(x.astype(np.float64)) or "")
    assert "[50]" in (compared(x[:50]) or "")


def test_table(tmp_path: Path) -> None:
    """The runner: both libraries in processes of their own, a table, and the family's mean."""
    table = tmp_path / "table.md"
    command = [sys.executable, "run.py", "--small", "--budget", "0.001", "--family", "sorting"]
    done = subprocess.run(
        [*command, "--only", "argsort", "1e4", "--markdown", str(table)],
        cwd=BENCHMARKS, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    text = table.read_text()
    assert text[text.index("## sorting") :].strip() in done.stdout
    number = r" +[\d.]+"
    assert re.search(
        rf"\| argsort 1e4 .*\|{number} \w+ \|{number} \w+ \|{number} \|{number} \|", text
    )
    assert re.search(r"Geometric mean: \*\*[\d.]+\*\* over \d programs; to reach: 6", text)
    assert "## sorting" in text
    assert "## random" not in text


def test_report(tmp_path: Path) -> None:
    """Medians over runs, of which one lacks a family."""
    import json

    def record(name: str, ours: float) -> dict[str, Any]:
        return {"name": name, "group": "", "seconds": {"lingon": ours, "jax": 1e-3}}

    files = []
    for i, ours in enumerate((4e-3, 5e-4, 2e-3)):
        figures = {"sorting": [record("sort", ours), {"name": "x", "group": "", "missing": "y"}]}
        if i == 1:
            figures["random"] = [record("bits", 1e-4)]
        files.append(tmp_path / f"{i}.json")
        files[-1].write_text(json.dumps(figures))
    table = tmp_path / "table.md"
    done = subprocess.run(
        [sys.executable, "report.py", *map(str, files), "--table", str(table)],
        cwd=BENCHMARKS, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    lines = [" ".join(line.split()) for line in table.read_text().splitlines()]
    assert "| sort | 2 ms | 1 ms | 0.50 |" in lines
    assert "| x | missing | | |" in lines
    assert "| bits | 100 us | 1 ms | 10.00 |" in lines
    said = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "| sorting | 2 | 0.50 | 6 | 1 | 1 |" in said
    assert "| sorting: sort | 0.50 |" in said
    assert not any(line.startswith("| random: bits") for line in said)
