"""Global arrays, pmap and multihost_utils in two processes, beside jax in two processes."""

import os
import socket
import subprocess
import sys

import launch
import pytest

PROGRAM = "arrays_program.py"
#: Lines that differ, and why.
DIFFERENT = {
    "wrong global shape": "both raise ValueError; the check of jax is another one",
}


def lines(text: str) -> dict[str, str]:
    found = [line.split(": ", 1) for line in text.splitlines() if ": " in line]
    return {parts[0]: parts[1] for parts in found if not parts[0].startswith("[")}


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    return lines(launch.check(PROGRAM, "lingon", processes=2, devices=2))


@pytest.fixture(scope="module")
def theirs() -> dict[str, str]:
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = s.getsockname()[1]
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, str(launch.HERE / PROGRAM), "jax", str(port)]
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
    return lines(outputs[1][0])


def test_everything_is_seen_alike(ours, theirs):
    assert len(ours) > 65
    assert list(ours) == list(theirs)
    differing = {k: (ours[k], theirs[k]) for k in ours if ours[k] != theirs[k]}
    assert set(differing) <= set(DIFFERENT), "\n".join(f"{k}: {v}" for k, v in differing.items())
