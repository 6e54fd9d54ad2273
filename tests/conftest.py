"""Options of the whole test suite."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        help="run every sample of the generated tests instead of a seeded choice of them",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "sampled(n): of the parametrized cases only n are run, a seeded choice; all with --full",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of tests marked `sampled` that are not drawn.

    They are drawn so that each value of each parameter occurs, as far as n allows.
    """
    if config.getoption("--full"):
        return
    groups: dict[tuple, list[Any]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            key = (item.parent.nodeid, item.originalname)  # type: ignore[union-attr, attr-defined]
            groups.setdefault(key, []).append(item)
    left_out: list[pytest.Item] = []
    for (_, name), cases in groups.items():
        n = cases[0].get_closest_marker("sampled").args[0]
        drawn = _drawn(random.Random(f"{cases[0].path.name} {name}"), cases, n)
        left_out += [c for c in cases if c not in drawn]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [i for i in items if i not in gone]


def _drawn(choice: random.Random, cases: list[Any], n: int) -> list[Any]:
    """n cases in random order; each next one has as many values as possible that are new."""
    rest = choice.sample(cases, len(cases))
    drawn: list[Any] = []
    seen: set[tuple] = set()
    while rest and len(drawn) < n:
        best = max(rest, key=lambda c: len(set(c.callspec.indices.items()) - seen))
        rest.remove(best)
        drawn.append(best)
        seen |= set(best.callspec.indices.items())
    return drawn


@pytest.fixture(autouse=True)
def _away_from_the_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that tests start import the package as it is installed, not the folder beside."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether generated tests run all of their samples."""
    return request.config.getoption("--full")
