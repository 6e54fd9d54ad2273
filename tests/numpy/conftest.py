"""Makes the helpers of this folder and of the one above importable, and the `full` option known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

here = Path(__file__).parent
for folder in (here, here.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether every combination is to be tested."""
    return bool(request.config.getoption("--full"))
