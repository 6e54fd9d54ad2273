"""Options of the whole test suite."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        help="run every sample of the generated tests instead of a seeded choice of them",
    )


@pytest.fixture(autouse=True)
def _away_from_the_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that tests start import the package as it is installed, not the folder beside."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether generated tests run all of their samples."""
    return request.config.getoption("--full")
