"""The library kernels for lesser CPUs pass the same tests.

A process uses one instruction set, the best one or what LINGON_KERNEL_LEVEL asks for. A build in
the source tree has only that of its machine.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEVELS = {"baseline": 0, "avx2": 3}


def run(level: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "LINGON_KERNEL_LEVEL": level},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("level", LEVELS)
def test_kernels(level):
    code = "from lingon.runtime._runtime import kernel_level; print(kernel_level('dot_general'))"
    found, best = (int(run(name, "-c", code).stdout) for name in (level, "best"))
    if found != LEVELS[level] or found == best:
        pytest.skip("not among the kernels of this build, or the ones that all tests use")
    here = Path(__file__).parent
    done = run(
        level, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(here / "test_kernels.py")
    )
    assert done.returncode == 0, done.stdout[-4000:]
