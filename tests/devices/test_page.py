"""The code of docs/devices.md runs, and the examples of several devices reach one device's loss."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from on_devices import run

ROOT = Path(__file__).resolve().parents[2]


def test_the_page() -> None:
    page = (ROOT / "docs" / "devices.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 4
    run("\n".join(blocks), XLA_FLAGS="")


@pytest.mark.parametrize("name", ["digits_pmap", "digits_shard_map"])
def test_example(name: str) -> None:
    pytest.importorskip("sklearn")
    env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--steps", "40", "--check"],
        env=env,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    losses = re.findall(r"loss (\S+),", done.stdout)
    assert len(losses) == 2 and losses[0] == losses[1]
