"""Starts programs of this folder as MPI processes."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TIMEOUT = 150


@functools.cache
def mpiexec() -> tuple[str, ...]:
    """The launcher, the one beside the interpreter first, with what it needs on a small machine."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("mpiexec", path=path)
    assert found, "the tests need mpiexec: it comes with the extra 'test'"
    version = subprocess.run(
        [found, "--version"], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    if "Open MPI" in version or "PRRTE" in version:
        return (found, "--oversubscribe", "--allow-run-as-root")
    # The launcher would end all processes when one fails; here the others are to notice.
    return (found, "-disable-auto-cleanup")


def run(
    program: str, *args: str, processes: int, devices: int = 1, timeout: float = TIMEOUT, **env: str
) -> subprocess.CompletedProcess[str]:
    """A program's exit code and output. Nothing of it is left running."""
    # The shell hides from the launcher that a process is killed, upon which it would end the others;
    # MPICH's sends them a signal when a process ends otherwise than it should.
    shell = ("sh", "-c", 'trap "" USR1; "$@" || exit $(( $? % 128 ))', "sh")
    command = [*mpiexec(), "-n", str(processes), *shell, sys.executable, str(HERE / program), *args]
    variables = {
        **{k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")},
        "LINGON_NUM_CPU_DEVICES": str(devices),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
        **env,
    }
    child = subprocess.Popen(
        command,
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.terminate()  # mpiexec ends its processes
        try:
            output, _ = child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            output, _ = child.communicate()
        raise AssertionError(f"{program} {args} still runs after {timeout} s:\n{output}") from None
    return subprocess.CompletedProcess(command, child.returncode, output)


def check(program: str, *args: str, **options) -> str:
    """The output of a program that must succeed in all processes."""
    done = run(program, *args, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout
