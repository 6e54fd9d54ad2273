"""README.md and docs/: commands print what the pages show, code runs, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import lingon

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
READMES = sorted(p for p in ROOT.glob("**/README.md") if ".pytest_cache" not in p.parts)
ELLIPSIS = "[...]"


def commands() -> list[tuple[str, str, list[str]]]:
    """(page, command, shown lines) of the console blocks."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
            first, *shown = block.splitlines()
            assert first.startswith("$ mlir-dump ")
            found.append((page.name, first[2:], shown))
    return found


def excerpt_problem(shown: list[str], printed: list[str]) -> str | None:
    """Where `shown` is no excerpt of `printed`; lines between two ellipses are consecutive."""
    at, free = 0, False
    for line in shown:
        if line.strip() == ELLIPSIS:
            free = True
            continue
        if free:
            while at < len(printed) and printed[at].strip() != line.strip():
                at += 1
        if at >= len(printed) or printed[at].strip() != line.strip():
            return line
        at, free = at + 1, False
    return None


def instructions(lines: list[str]) -> set[str]:
    """The mnemonics, with the kind of vector register if there is one."""
    found = (re.match(r"\s+([a-z]\w+)\s.*?(%[xyz]mm)?\d*$", line) for line in lines)
    return {f"{m.group(1)} {m.group(2) or ''}" for m in found if m}


def test_excerpts_are_compared() -> None:
    assert excerpt_problem(["a", ELLIPSIS, "c"], ["a", "b", "c"]) is None
    assert excerpt_problem(["a", "c"], ["a", "b", "c"]) == "c"
    assert excerpt_problem([ELLIPSIS, "c", "a"], ["a", "b", "c"]) == "a"
    code = ["\tvdivps\t%zmm1, %zmm3, %zmm3", "\tcallq\tf@PLT", ".LBB0_5:"]
    assert instructions(code) == {"vdivps %zmm", "callq "}


def test_there_are_commands() -> None:
    assert {page for page, _, _ in commands()} == {"README.md", "architecture.md"}


@pytest.mark.parametrize(("page", "command", "shown"), commands())
def test_commands_print_what_the_page_shows(page: str, command: str, shown: list[str]) -> None:
    words = command.replace("examples/tour.py", shlex.quote(str(ROOT / "examples" / "tour.py")))
    done = subprocess.run(
        [sys.executable, "-m", "lingon.lowering.dump", *shlex.split(words)[1:]],
        cwd=ROOT / "examples",  # in the root an installed lingon would be hidden by the sources
        env={**os.environ, "LINGON_COMPILATION_CACHE": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    if command.endswith("--to asm"):
        if "%zmm" not in done.stdout:
            pytest.skip("the page shows the code of a CPU with AVX-512")
        # Registers and order differ from one such CPU to another.
        assert instructions(shown) <= instructions(done.stdout.splitlines())
        return
    problem = excerpt_problem(shown, done.stdout.splitlines())
    assert problem is None, f"{page}: {command} does not print {problem!r}"


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_programs_of_the_pages_run(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {"__name__": "page"})
    tour = (ROOT / "examples" / "tour.py").read_text()
    assert any(block in tour for block in blocks)


def test_stages_from_python() -> None:
    lowered = lingon.jit(lambda x: x * 2).lower(1.0)
    stages = lowered.stages
    assert list(stages) == [
        "jaxpr", "linalg", "fused", "bufferized", "loops", "llvm-dialect", "llvm", "llvm-opt", "asm",
    ]  # fmt: skip
    assert all(stages.values())
    assert stages["fused"] == lowered.as_text("fused")
    assert list(lowered.compile().stages) == list(stages)


def exists(name: str) -> bool:
    """Whether `lingon.<name>` can be had; submodules are imported on the way."""
    value = lingon
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def test_the_table_of_what_works() -> None:
    table = (ROOT / "README.md").read_text().split("## What works today\n")[1].split("\n## ")[0]
    works, missing = set(), set()
    for line in table.splitlines():
        cells = [c.strip() for c in line.split("|")[1:-1]]
        if len(cells) == 3 and not cells[1].startswith("---"):
            works |= set(re.findall(r"`([\w.]+)`", cells[0] + cells[1]))
            missing |= set(re.findall(r"`([\w.]+)`", cells[2]))
    works.remove(".at")
    assert len(works) > 40 and len(missing) > 5
    assert [n for n in sorted(works) if not exists(n)] == []
    assert [n for n in sorted(missing) if exists(n)] == []
    assert hasattr(lingon.numpy.zeros(1), "at")


def test_what_lingon_lists_exists() -> None:
    assert [n for n in dir(lingon) if not exists(n)] == []


@pytest.mark.parametrize("page", sorted({*PAGES, *READMES}), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
    tops = ("lingon", "frontend", "lowering", "dialect", "runtime", "tests", "tools", "docs")
    for name in re.findall(r"`((?:{}|examples|benchmarks)/[\w./-]+)`".format("|".join(tops)), text):
        here = [ROOT / name, page.parent / name]
        if name == "tests/lit/frontend/softsign_demo.py":  # made by the walk-through
            continue
        assert any(p.exists() for p in here), f"{page}: {name}"


def test_every_pass_has_a_row_and_a_test() -> None:
    folder = ROOT / "lowering" / "passes"
    rows = re.findall(r"^\| `([\w-]+)` \|", (folder / "README.md").read_text(), re.MULTILINE)
    files = [
        p
        for p in sorted(folder.glob("*.*"))
        if p.suffix == ".cpp" or (p.suffix == ".py" and p.stem != "__init__")
    ]
    names = {p: p.stem.replace("_", "-") for p in files}
    assert sorted(n.removeprefix("lingon-") for n in rows) == sorted(names.values())
    tests = {p.stem for p in (ROOT / "tests" / "lit" / "passes").iterdir()}
    assert [p.stem for p in files if p.stem not in tests] == []
