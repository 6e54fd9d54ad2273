"""Global arrays, pmap and multihost_utils in two processes, beside jax in two processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import launch
import pytest

PROGRAM = "arrays_program.py"
#: Lines that differ, and why.
DIFFERENT = {
    "wrong global shape": "both raise ValueError; the check of jax is another one",
}


def read(path: Path) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line)


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> dict[str, str]:
    seen = tmp_path_factory.mktemp("ours") / "seen"
    launch.check(PROGRAM, "lingon", str(seen), processes=2, devices=2)
    return read(seen)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> dict[str, str]:
    seen = tmp_path_factory.mktemp("theirs") / "seen"
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = s.getsockname()[1]
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, str(launch.HERE / PROGRAM), "jax", str(seen), str(port)]
    children = [
        subprocess.Popen(
            [*command, str(p)], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for p in range(2)
    ]
    try:
        outputs = [c.communicate(timeout=150) for c in children]
    finally:
        for c in children:
            c.kill()
            c.wait()
    assert all(c.returncode == 0 for c in children), outputs
    return read(seen)


def test_everything_is_seen_alike(ours, theirs):
    assert len(ours) > 65
    assert list(ours) == list(theirs)
    differing = {k: (ours[k], theirs[k]) for k in ours if ours[k] != theirs[k]}
    assert set(differing) <= set(DIFFERENT), "\n".join(f"{k}: {v}" for k, v in differing.items())
